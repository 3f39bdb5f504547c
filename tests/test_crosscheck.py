"""int-analyzer crosscheck: where tshark and we read the same, it says so; where one of us is wrong, it says that."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import capture_bytes
import mutate
import naive
import pytest

from int_analyzer.cli import main
from int_analyzer.crosscheck import Difference, Outcome, Run, pairing, quirk, summary
from int_analyzer.crosscheck.comparison import Row
from int_analyzer.dissect import wireshark
from int_analyzer.errors import IntAnalyzerError

ROOT = Path(__file__).parent.parent
PCAPS = ROOT / "pcaps"
TSHARK = shutil.which("tshark")
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
has_lua = TSHARK is not None and "with Lua" in subprocess.run([TSHARK, "--version"], capture_output=True, text=True, check=False).stdout
needs_lua = pytest.mark.skipif(not has_lua, reason="tshark is not installed, or without Lua")

WORKED = mutate.worked_packets()
PLAIN = WORKED["01_rocev2_ipv4_rc_write_only"]
IOAM = "linux-ioam-spine-to-leaf/l3-h5.pcap"

Captured = pytest.CaptureFixture[str]


def write(path: Path, frames: Iterable[bytes], link: int = 1) -> str:
    """A capture of frames, a second apart."""
    records = (capture_bytes.pcap_record(frame, number, 0) for number, frame in enumerate(frames, 1))
    path.write_bytes(capture_bytes.pcap_header(decimals=9, link=link) + b"".join(records))
    return str(path)


def check(capture: str | list[str], **options: Any) -> tuple[list[Difference], Outcome]:
    """Differences and what was compared."""
    run = Run(capture, **options)
    return list(run), run.outcome


# ------------------------------------------------------------------------------------------------------------- no difference


@needs_tshark
@pytest.mark.parametrize(
    "name",
    [
        "bmv2-geant-int-v1.0/s2-s4.pcap",
        "bmv2-laofan-int-md-v2.1/s4-coll.pcap",
        "bmv2-onos-int-v1.0/s4-h3.pcap",
        "bmv2-stratum-fabric-v1model-xd/s1-s3.pcap",
        "bmv2-tutorials-mri/s4-h3.pcap",
        "linux-ioam/zi0-e0.pcap",
        "linux-ioam/zi3-any-sll2.pcap",
        "linux-ioam-spine-to-leaf/l3-h6.pcap",
    ],
)
def test_a_recorded_capture_is_read_as_tshark_reads_it(name: str) -> None:
    differences, outcome = check(str(PCAPS / name), limit=25)
    assert differences == []
    assert outcome.packets == min(25, len(naive.read_pcap(PCAPS / name)[1]))
    assert outcome.values["packets"] >= 4 * outcome.packets
    assert outcome.values["roce"] > 0 or outcome.unread or "linux-ioam/" in name


@needs_tshark
def test_worked_packets_are_read_alike_and_what_tshark_does_not_read_is_named(tmp_path: Path) -> None:
    differences, outcome = check(write(tmp_path / "worked.pcap", WORKED.values()))
    assert differences == [] and outcome.packets == len(WORKED)
    assert outcome.values["hops"] == 18 and outcome.values["mirrors"] == 23
    assert outcome.unread[quirk.REPORT] == 2
    assert outcome.unread[quirk.ETHERTYPE.format(value=0x9900)] == 1
    assert outcome.unread[quirk.OPCODE] == 1
    assert outcome.unread[quirk.INT_TUNNEL] == 1


@needs_tshark
def test_tunnels_nested_tunnels_and_fragments_are_read_alike(tmp_path: Path) -> None:
    frames = [wrapped for name in sorted(WORKED)[::4] for _, wrapped in mutate.tunnels(WORKED[name])]
    frames += [wrapped for _, wrapped in mutate.nested(PLAIN, 3, 40)] + mutate.fragments(PLAIN)
    differences, outcome = check(write(tmp_path / "tunnels.pcap", frames))
    assert differences == []
    assert {quirk.PSEUDOWIRE, quirk.ERSPAN_IP, quirk.FRAGMENT, quirk.REJECTED.format(status="tunnel-limit")} <= set(outcome.unread)


@needs_tshark
def test_every_opcode_is_read_alike(tmp_path: Path) -> None:
    differences, outcome = check(write(tmp_path / "opcodes.pcap", [mutate.opcode_frame(opcode) for opcode in naive.OPCODES]))
    assert differences == []
    assert outcome.unread[quirk.OPCODE] == sum(opcode not in quirk.OPCODES_READ for opcode in naive.OPCODES)


@needs_tshark
@pytest.mark.parametrize("name", ["02", "08", "11"])
def test_cut_and_damaged_packets_give_no_false_alarm(name: str, tmp_path: Path) -> None:
    data = next(packet for full, packet in WORKED.items() if full.startswith(name))
    records = [capture_bytes.pcap_record(cut, 1, 0, original=len(data)) for cut in mutate.cuts(data)]
    records += [capture_bytes.pcap_record(damaged, 1, 0) for damaged in list(mutate.byte_changes(data, 1))[::3]]
    path = tmp_path / "damaged.pcap"
    path.write_bytes(capture_bytes.pcap_header() + b"".join(records))
    differences, outcome = check(str(path), limit=0)
    assert differences == [] and outcome.packets == len(records)


@needs_tshark
def test_every_link_type_is_read_alike(tmp_path: Path) -> None:
    captures = [write(tmp_path / f"{link}.pcap", [frame], link) for link, frame in mutate.links(PLAIN)]
    differences, outcome = check(captures)
    assert differences == [] and outcome.packets == 7 and outcome.values["roce"] == 7 * 15 and outcome.unread == {}


@needs_tshark
def test_a_source_port_that_is_another_protocols_is_tsharks_choice(tmp_path: Path) -> None:
    to_tftp, reverse = bytearray(PLAIN), bytearray(PLAIN)
    to_tftp[34:36] = struct.pack("!H", 69)
    reverse[34:38] = struct.pack("!HH", 4791, 40000)
    differences, outcome = check(write(tmp_path / "ports.pcap", [bytes(to_tftp), bytes(reverse)]))
    assert differences == [] and outcome.unread == {quirk.SOURCE_PORT: 1, quirk.REVERSED: 1}


@needs_tshark
def test_pcapng_times_of_any_clock_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "clocks.pcapng"
    clocks = b"".join(capture_bytes.interface(options=capture_bytes.clock(resolution)) for resolution in (6, 9, 0x80 | 20))
    packets = b"".join(capture_bytes.enhanced(PLAIN, 1_700_000_000 + 7 * number, number) for number in range(3))
    path.write_bytes(capture_bytes.section() + clocks + packets + capture_bytes.simple(PLAIN))
    differences, outcome = check(str(path))
    assert differences == [] and outcome.packets == 4 and outcome.unread == {quirk.TIMELESS: 1}


@needs_tshark
def test_compressed_captures_and_standard_input_are_compared(tmp_path: Path, capsys: Captured) -> None:
    plain = write(tmp_path / "plain.pcap", [PLAIN] * 3)
    packed = tmp_path / "packed.pcap.gz"
    packed.write_bytes(gzip.compress(Path(plain).read_bytes()))
    assert check(str(packed))[1].packets == 3
    cut = tmp_path / "cut.pcap.gz"
    cut.write_bytes(packed.read_bytes()[:-20])
    differences, outcome = check(str(cut))
    assert differences == [] and any("gzip stream ends early" in note for note in outcome.notes)
    with packed.open("rb") as stream:
        done = process("crosscheck", "-", stdin=stream)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("compared      3 packets")


# ---------------------------------------------------------------------------------------------------------------- differences


def falsified(change: Callable[[Row], object]) -> Callable[..., Iterator[Row]]:
    """Our rows, with the one of packet 2 changed."""
    original = pairing.rows

    def rows(*arguments: Any) -> Iterator[Row]:
        for row in original(*arguments):
            if row.packet["packet"] == 2:
                change(row)
            yield row

    return rows


@needs_tshark
@pytest.mark.parametrize(
    ("table", "column", "change"),
    [
        ("packets", "src", lambda row: row.packet.update(src="10.9.9.9")),
        ("packets", "time_ns", lambda row: row.packet.update(time_ns=row.packet["time_ns"] + 1)),
        ("packets", "ecn", lambda row: row.packet.update(ecn=3 - row.packet["ecn"])),
        ("packets", "tunnels", lambda row: row.packet.update(tunnels="gre")),
        ("packets", "namespace", lambda row: row.packet.update(namespace=7)),
        ("roce", "psn", lambda row: row.roce.update(psn=row.roce["psn"] ^ 1)),
        ("roce", "icrc_raw", lambda row: row.roce.update(icrc_raw=1)),
        ("roce", "msn", lambda row: row.roce.update(msn=0)),
        ("hops[1]", "queue_depth_raw", lambda row: row.hops[1].update(queue_depth_raw=70000)),
        ("hops[0]", "node_id", lambda row: row.hops[0].update(node_id=None)),
        ("packets", "hop_count", lambda row: row.hops.pop()),
    ],
)
def test_a_falsified_row_is_one_difference_on_one_line(
    table: str, column: str, change: Callable[[Row], object], capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairing, "rows", falsified(change))
    code = main(["crosscheck", str(PCAPS / IOAM), "--limit", "5"])
    first, *rest = capsys.readouterr().out.splitlines()
    assert code == 1
    assert first.startswith(f"{PCAPS / IOAM} packet 2 (frame 3): {table}.{column} ours ") and ", tshark " in first
    assert rest[0].startswith("compared") and rest[2] == "differences   1"


@needs_tshark
def test_a_falsified_mirror_header_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = write(tmp_path / "mirrors.pcap", [PLAIN, PLAIN, WORKED["08_erspan3_subheader_vlan_rocev2_nak"]])
    monkeypatch.setattr(pairing, "rows", falsified(lambda row: row.mirrors[0].update(session_id=1)))
    (difference,), _ = check(capture)
    assert difference == Difference(capture, 2, "mirrors", "session_id", 1, 682, 0)


@needs_tshark
def test_a_packet_that_only_one_side_sees_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    original = pairing.rows
    monkeypatch.setattr(pairing, "rows", lambda *arguments: list(original(*arguments))[:-1])
    (difference,), _ = check(str(PCAPS / IOAM), limit=4)
    assert (difference.column, difference.ours, difference.theirs) == ("count", 3, 4)


@needs_tshark
def test_json_is_one_document_with_the_differences(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "rows", falsified(lambda row: row.packet.update(ttl=1)))
    assert main(["crosscheck", str(PCAPS / IOAM), "--limit", "3", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["difference_count"] == 1 and document["packets"] == 3 and document["tshark"].startswith("TShark")
    (difference,) = document["differences"]
    assert (difference["packet"], difference["column"], difference["ours"]) == (2, "ttl", 1)


# ----------------------------------------------------------------------------------------------------------------------- Lua

LUA = """
local int = Proto("int", "INT")
local hop, node = ProtoField.none("int.hop", "hop"), ProtoField.uint32("int.hop.node_id", "node")
local depth = ProtoField.uint24("int.hop.queue_depth", "depth")
local bits = ProtoField.uint16("int.md.instructions", "bits", base.HEX)
int.fields = { hop, node, depth, bits }
local ports = DissectorTable.get("udp.port")
local roce = ports:get_dissector(4791)
function int.dissector(tvb, pinfo, root)
  local tree = root:add(int, tvb(0, 68))
  tree:add(bits, tvb(8, 2))
  for _, at in ipairs({ 40, 12 }) do
    local item = tree:add(hop, tvb(at, 28))
    item:add(node, tvb(at, 4))
    item:add(depth, tvb(at + 13, 3), tvb(at + 13, 3):uint() + ERROR)
  end
  roce:call(tvb(68):tvb(), pinfo, root)
end
ports:add(4791, int)
"""


@needs_lua
@pytest.mark.parametrize("error", [0, 1])
def test_int_is_compared_where_a_lua_dissector_shows_it(error: int, tmp_path: Path) -> None:
    script = tmp_path / "int.lua"
    script.write_text(LUA.replace("ERROR", str(error)))
    capture = write(tmp_path / "int.pcap", [WORKED["02_int_v1.0_dscp_udp_rocev2"]])
    differences, outcome = check(capture, lua=script)
    assert outcome.values["roce"] == 15 and outcome.unread == {}
    found = {(difference.column, difference.row, difference.ours, difference.theirs) for difference in differences}
    depths = {("queue_depth_raw", 0, 1000, 1001), ("queue_depth_raw", 1, 0xFFFFFF, 0x1000000)}
    # fields that this dissector does not show are missing, each a difference
    assert depths & found == (depths if error else set())
    assert ("node_id", 0) not in {entry[:2] for entry in found}


@needs_lua
@pytest.mark.parametrize(
    ("name", "hops"),
    [
        ("bmv2-geant-int-v1.0/s4-coll.pcap", 60),
        ("bmv2-laofan-int-md-v2.1/s2-s4.pcap", 40),
        ("bmv2-stratum-fabric-v1model-xd/s1-coll.pcap", 0),
    ],
)
def test_int_and_reports_are_read_as_our_own_plugin_reads_them(name: str, hops: int, tmp_path: Path) -> None:
    script = tmp_path / "int.lua"
    script.write_text(wireshark.plugin(), encoding="utf-8")
    differences, outcome = check(str(PCAPS / name), lua=script, limit=20)
    assert differences == [] and quirk.INT not in outcome.unread and quirk.REPORT not in outcome.unread
    assert outcome.values["hops"] == 11 * hops and (outcome.values["reports"] > 0) == ("coll" in name)


# ------------------------------------------------------------------------------------------------------------- what is lacking


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-m", "int_analyzer", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, **options)


@needs_tshark
def test_nothing_is_said_on_stderr() -> None:
    done = process("crosscheck", str(PCAPS / IOAM), str(PCAPS / "linux-ioam"), "--limit", "10")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].startswith("compared      50 packets of 5 captures with TShark")


@needs_tshark
def test_a_capture_that_is_cut_is_compared_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes((PCAPS / "linux-ioam/zi3-w3.pcap").read_bytes()[:-30])
    differences, outcome = check(str(path))
    assert differences == [] and outcome.packets == 12
    assert any("cut short" in note for note in outcome.notes) and any("the last record is cut" in note for note in outcome.notes)


def test_without_tshark_one_line_says_what_to_install(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    code = main(["crosscheck", str(PCAPS / IOAM)])
    output = capsys.readouterr()
    assert code == 2 and output.out == "" and output.err.count("\n") == 1
    assert "needs tshark" in output.err and "package tshark" in output.err


def test_without_pyshark_one_line_says_what_to_install(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "int_analyzer.crosscheck.tshark", None)
    code = main(["crosscheck", str(PCAPS / IOAM)])
    output = capsys.readouterr()
    assert code == 2 and output.out == "" and output.err.count("\n") == 1 and "pip install pyshark" in output.err


@needs_tshark
def test_a_tshark_that_does_not_run_is_one_line(capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "tshark"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["crosscheck", str(PCAPS / IOAM)]) == 2
    assert "tshark does not run" in capsys.readouterr().err


@needs_tshark
def test_a_lua_file_that_is_not_there_is_one_line(capsys: Captured) -> None:
    assert main(["crosscheck", str(PCAPS / IOAM), "--lua", "absent.lua"]) == 2
    assert capsys.readouterr().err == "int-analyzer: absent.lua: no such file\n"


@needs_tshark
def test_a_tshark_that_shows_no_packet_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(str(PCAPS / IOAM), limit=2)
    monkeypatch.setattr(run._tshark, "_parameters", ["-o", "no.such.preference:1"])
    with pytest.raises(IntAnalyzerError, match="tshark shows no packet"):
        list(run)


def test_the_summary_names_what_was_not_compared() -> None:
    outcome = Outcome("TShark 4", ["a.pcap"], 3, differences=0)
    outcome.values.update(packets=40, roce=2)
    outcome.unread[quirk.REPORT] = 3
    outcome.notes.append("a.pcap: cut")
    assert list(summary.lines(outcome)) == [
        "compared      3 packets of 1 capture with TShark 4",
        "values        42 (packets 40, roce 2)",
        "differences   none",
        f"not compared  3 × {quirk.REPORT}",
        "note          a.pcap: cut",
    ]


def test_every_reason_for_not_comparing_has_words_of_its_own() -> None:
    reasons = [value for name, value in vars(quirk).items() if name.isupper() and isinstance(value, str)]
    assert len(reasons) > 10 and len(set(reasons)) == len(reasons)
