"""The check of ICRCs: three states, against an implementation that is not ours, and on a sample that does not depend on the reader."""

from __future__ import annotations

import itertools
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import kernel
import mutate
import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from typer.testing import CliRunner

from int_analyzer.analysis import integrity
from int_analyzer.analysis.delays.direction_delay import DirectionDelays
from int_analyzer.analysis.roce import sum_up_connections
from int_analyzer.analysis.summarise import examine
from int_analyzer.analysis.summary import IcrcCheck
from int_analyzer.cli import app, main
from int_analyzer.reading import Reading
from int_analyzer.result import analyze, fold_captures
from int_analyzer.schema import ICRC_ALTERED, ICRC_BAD, ICRC_CUT, ICRC_FRAGMENT, ICRC_OK, ICRC_OPCODE, ICRC_ZERO

RUNNER = CliRunner()
PCAPS = Path(__file__).parent.parent / "pcaps"
START = 1_700_000_000_000_000_000
PAYLOAD = bytes(range(64))


def frame(psn: int = 7, queue_pair: int = 0x11, opcode: int = 4, payload: bytes = PAYLOAD, **ip: Any) -> bytes:
    """A SEND as scapy writes it, with the ICRC that scapy computes."""
    header = IP(src="10.0.0.1", dst="10.0.0.2", **({"id": psn & 0xFFFF} | ip))
    made = Ether() / header / UDP(sport=50_000, dport=4791) / BTH(opcode=opcode, dqpn=queue_pair, psn=psn, migreq=True) / Raw(payload)
    return bytes(made)


def state(data: bytes, original: int | None = None, profile: dict[str, Any] | None = None) -> int:
    (result,) = kernel.decode([(data, original or len(data), 0)], profile=profile, compiled=False)
    found: int = result["roce"]["icrc_check"]
    return found


def changed(data: bytes, at: int, *values: int) -> bytes:
    return data[:at] + bytes(values) + data[at + len(values) :]


def worked(short: str) -> bytes:
    """A packet of the format reference by the number in its name."""
    return next(data for name, data in mutate.worked_packets().items() if name.startswith(short))


SOURCE_ONLY = {"int_ports": [54321], "domains": {0x5453: (2, 0)}}
"""Of packet 03: its INT port, and words of its domain that only the source adds."""
BTH_AT = 14 + 20 + 8


def test_what_scapy_writes_is_right_and_any_bit_that_no_switch_may_change_makes_it_bad() -> None:
    good = frame()
    assert state(good) == ICRC_OK
    free = {15, 22, 24, 25, 40, 41, BTH_AT + 4}  # DSCP and ECN, TTL, both checksums, FECN and BECN
    lengths = {14, 16, 17, 20, 21, 23, 36, 37, 38, 39}  # versions, lengths, fragment, protocol, port and what says where things are
    reserved = {BTH_AT, BTH_AT + 1}  # opcode and pad move what is behind them
    for at in range(14, len(good)):
        damaged = changed(good, at, good[at] ^ 0x10)
        if at in free:
            assert state(damaged) == ICRC_OK, at
        elif at not in lengths | reserved:
            assert state(damaged) == ICRC_BAD, at


def test_what_cannot_be_checked_is_not_called_bad() -> None:
    good = frame()
    assert state(good[:80], len(good)) == ICRC_CUT
    assert state(frame(flags="MF")) == ICRC_FRAGMENT
    assert state(changed(good, BTH_AT, 0x1F)) == ICRC_OPCODE
    assert state(good[:-4] + bytes(4)) == ICRC_ZERO


def test_a_packet_that_a_mirror_cut_and_whose_ip_it_mended_is_not_called_bad() -> None:
    cut = frame()[:-32]
    assert state(cut) == ICRC_CUT
    assert state(changed(cut, 16, *struct.pack(">H", len(cut) - 14))) == ICRC_ALTERED


def test_options_of_ipv4_are_right_without_them_or_not_checkable() -> None:
    plain = frame()
    router_alert = bytes.fromhex("94040000")
    header = changed(plain[14:34], 0, 0x46)
    header = changed(header, 2, *struct.pack(">H", len(plain) - 14 + 4))
    with_option = plain[:14] + header + router_alert + plain[34:]
    assert state(with_option) == ICRC_OK
    assert state(changed(with_option, len(with_option) - 1, with_option[-1] ^ 1)) == ICRC_ALTERED


@pytest.mark.parametrize(
    ("short", "profile"),
    [("02", {"int_dscp": (23, 63)}), ("03", SOURCE_ONLY), ("04", None), ("15", {"int_dscp": (23, 63)})],
    ids=["INT 1.0", "INT 2.1", "INT-MX", "INT 0.5"],
)
def test_behind_int_a_damaged_packet_is_bad(short: str, profile: dict[str, Any] | None) -> None:
    data = worked(short)
    assert state(data, profile=profile) == ICRC_OK
    assert state(changed(data, len(data) - 8, data[-8] ^ 1), profile=profile) == ICRC_BAD


@pytest.mark.parametrize("short", ["11", "12", "14"])
def test_behind_other_telemetry_a_mismatch_is_not_called_bad(short: str) -> None:
    data = worked(short)
    assert state(data) == ICRC_OK
    # packet 11 is a tunnel: the packet inside has no extension headers, and nothing excuses it
    assert state(changed(data, len(data) - 6, data[-6] ^ 1)) == (ICRC_BAD if short == "11" else ICRC_ALTERED)


def test_a_copy_of_lumina_is_never_called_bad() -> None:
    # ports are other ones, and the source's stands where the checksum was
    data = changed(frame(), 34, 1, 2, 0x30, 0x39)
    assert state(data, profile={"lumina_ports": [0x3039]}) == ICRC_ALTERED


def test_every_packet_of_a_recorded_network_that_was_kept_whole_is_right() -> None:
    recorded = ("bmv2-geant-int-v1.0/s2-s4", "bmv2-laofan-int-md-v2.1/s1-s3", "bmv2-tutorials-mri/s1-s3", "linux-ioam-spine-to-leaf/l3-h5")
    for name in recorded:
        states: Counter[str] = Counter()
        for batch in Reading(PCAPS / f"{name}.pcap", compiled=False, icrc=1):
            states.update(batch.roce.icrc_check)
        assert list(states) == ["ok"] and states["ok"] >= 391, name


# ------------------------------------------------------------------------------------------------------------------ the sample


def write(path: Path, frames: list[bytes]) -> Path:
    path.write_bytes(kernel.capture_bytes((data, len(data), START + 1000 * at) for at, data in enumerate(frames)))
    return path


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2000 packets of two queue pairs; of each hundred of the second, one has a bit changed in its payload."""
    frames = [frame(number // 2, 0x11 + number % 2) for number in range(2000)]
    for number in range(101, 2000, 200):
        frames[number] = changed(frames[number], BTH_AT + 20, frames[number][BTH_AT + 20] ^ 4)
    return write(tmp_path_factory.mktemp("icrc") / "damaged.pcap", frames)


def checked(path: Path, share: float, packets: int = 8192) -> list[int]:
    """Numbers of the packets in the sample."""
    numbers: list[int] = []
    for batch in Reading(path, compiled=False, icrc=share, packets=packets):
        numbers += batch.roce.packet[batch.roce.icrc_check.notna()].tolist()
    return numbers


def test_a_sample_has_its_share_evenly_and_is_the_same_however_it_is_read(damaged: Path) -> None:
    numbers = checked(damaged, 1 / 20)
    assert 90 <= len(numbers) <= 110
    assert max(later - earlier for earlier, later in itertools.pairwise(numbers[::2])) < 200
    assert checked(damaged, 1 / 20, packets=37) == numbers
    assert set(checked(damaged, 1 / 100)) < set(numbers)
    assert (checked(damaged, 0), len(checked(damaged, 1))) == ([], 2000)


def test_machine_code_checks_what_plain_python_checks(damaged: Path) -> None:
    def states(compiled: bool) -> list[Any]:
        return [state for batch in Reading(damaged, compiled=compiled, icrc=0.3) for state in batch.roce.icrc_check]

    assert states(True) == states(False)


# ----------------------------------------------------------------------------------------------------------------- what is told


def test_the_three_states_are_told_of_all_packets_connections_and_pairs_of_hosts(damaged: Path) -> None:
    summary = analyze(damaged, icrc=1, compiled=False).summary
    assert summary.quality is not None and summary.roce is not None
    assert summary.quality.icrc == IcrcCheck(1990, 10, 0, {})
    view, _ = fold_captures(damaged, icrc=1, compiled=False)
    by_queue_pair = {
        row.dest_qp: (row.icrc_ok, row.icrc_bad, row.icrc_not_checkable)
        for row in sum_up_connections(view, DirectionDelays(examine(view)[1]))
    }
    assert by_queue_pair == {0x11: (1000, 0, 0), 0x12: (990, 10, 0)}
    (pair,) = summary.roce.host_pairs
    assert (pair.icrc_ok, pair.icrc_bad) == (1990, 10)


def test_a_path_that_crosses_a_bad_link_has_the_bad_icrcs(tmp_path: Path) -> None:
    data = worked("02")
    found = analyze(write(tmp_path / "x.pcap", [data, data, changed(data, len(data) - 8, 0)]), icrc=1, compiled=False).summary
    assert [(path.packets, path.icrc_ok, path.icrc_bad, path.ce_ratio) for path in found.paths] == [(3, 2, 1, 0.0)]


def test_few_bad_icrcs_lower_the_trust_and_many_are_no_damage(damaged: Path, tmp_path: Path) -> None:
    def told(path: Path) -> tuple[bool, str] | None:
        view, _ = fold_captures(path, icrc=1, compiled=False)
        return integrity.doubt(view)

    assert told(damaged) == (True, "10 of 2000 checked ICRCs are wrong: these packets were damaged on the way or by the mirror")
    unwritten = write(tmp_path / "unwritten.pcap", [frame(number)[:-4] + b"none" for number in range(20)])
    found = told(unwritten)
    assert found is not None and not found[0] and "do not write them" in found[1]
    assert told(write(tmp_path / "whole.pcap", [frame(1)])) is None


def test_the_command_line_names_share_and_packets(damaged: Path) -> None:
    bad = RUNNER.invoke(app, ["decode", str(damaged), "-t", "roce", "--icrc", "all", "-f", "csv", "--columns", "packet,icrc_check"])
    assert [line.split(",")[0] for line in bad.output.splitlines() if line.endswith("bad")] == [
        str(number) for number in range(101, 2000, 200)
    ]
    report = RUNNER.invoke(app, ["analyze", str(damaged), "--icrc", "1/1"]).output
    assert "1990 right, 10 wrong, 0 not checkable" in report
    assert "ICRCs" not in RUNNER.invoke(app, ["analyze", str(damaged), "--icrc", "none"]).output
    assert main(["analyze", str(damaged), "--icrc", "some"]) == 2


def test_a_packet_that_is_shown_has_its_icrc_checked(damaged: Path) -> None:
    shown = {number: RUNNER.invoke(app, ["show", str(damaged), "-p", str(number)]).output for number in (100, 101)}
    assert "right: the packet is what its sender wrote" in shown[100]
    assert "wrong: the packet was damaged" in shown[101]
