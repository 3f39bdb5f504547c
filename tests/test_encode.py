"""Encoders against decoders: what is written reads as the same rows; checksums and ICRC against independent computations."""

from __future__ import annotations

from typing import Any

import kernel
import numpy as np
import pytest
from row_factory import CASES, Case, random_columns
from test_naive import icrc as independent_icrc

from int_analyzer import _jit, schema
from int_analyzer.capture.records import KIND_PCAPNG
from int_analyzer.columns import N_PACKETS, Columns, allocate
from int_analyzer.encode import Encoder
from int_analyzer.packet_encode import AS_OPTION, IN_PACKET
from int_analyzer.settings import IFA_PROTOCOL

EXPECTED_WARNINGS = {
    "captured-short",
    "report-inner-cut",
    "int-dialect",
    "int-hop-exceeded",
    "int-mtu-exceeded",
    "ioam-overflow",
    "ioam-unassigned-bits",
}
"""What the rows themselves ask for: a cut packet, a dialect, a flag, a bit that no specification assigns."""

PACKETS = 64
IP_AT = 14
both_lives = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])


def encoded(columns: Columns, case: Case, compiled: bool = False, **options: Any) -> bytes:
    """A whole capture of these rows."""
    encoder = Encoder(case.surroundings, compiled=compiled, **options)
    return encoder.head() + b"".join(bytes(piece) for _, piece in encoder.pieces(columns))


def decoded(content: bytes, case: Case, compiled: bool = False) -> list[dict[str, Any]]:
    return [
        kernel.rows(columns, row)
        for columns in kernel.batches(content, 1, case.profile, compiled)
        for row in range(int(columns.counts[N_PACKETS]))
    ]


def frames(content: bytes) -> list[bytes]:
    """The packets of a classic pcap."""
    found, at = [], 24
    while at < len(content):
        size = int.from_bytes(content[at + 8 : at + 12], "little")
        found.append(content[at + 16 : at + 16 + size])
        at += 16 + size
    return found


def behind_nsh(frame: bytes) -> bytes:
    """The frame inside, if scapy cannot follow what is around it: NSH, and IOAM of so many words."""
    return frame[22 + 4 * frame[23] :] if frame[12:14] == b"\x89\x4f" else frame


def without_csig(frame: bytes) -> bytes:
    """The frame without a CSIG tag, which scapy does not know: it stands behind the addresses, or behind a VLAN tag."""
    at = next((at for at in (12, 16) if frame[at : at + 2] == b"\x99\x00"), None)
    return frame if at is None else frame[:at] + frame[at + 4 :]


def without_ifa(payload: bytes) -> bytes:
    """The UDP datagram that its sender sent, of the bytes from the IFA header on."""
    return payload[4:12] + payload[16 + 4 * payload[15] :]


def differences(got: Any, wanted: Any, name: str = "") -> dict[str, tuple[Any, Any]]:
    """Where two trees of rows differ, by path."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        parts = [differences(got.get(key), wanted.get(key), f"{name}.{key}") for key in wanted.keys() | got.keys()]
        return {path: pair for part in parts for path, pair in part.items()}
    if isinstance(wanted, list) and isinstance(got, list) and len(got) == len(wanted):
        return differences(dict(enumerate(got)), dict(enumerate(wanted)), name)
    return {} if got == wanted else {name: (got, wanted)}


def case_of(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


# ------------------------------------------------------------------------------------------------------------------- contract


@both_lives
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_is_encoded_decodes_to_the_same_rows(case: Case, compiled: bool) -> None:
    columns = random_columns(case, 1, PACKETS)
    found = decoded(encoded(columns, case, compiled), case, compiled)
    assert len(found) == PACKETS
    for row, got in enumerate(found):
        got["packet"]["warnings"] -= EXPECTED_WARNINGS
        if got["roce"] is not None:
            assert got["roce"].pop("icrc_check") == (schema.ICRC_CUT if got["roce"]["icrc_raw"] is None else schema.ICRC_OK)
        assert differences(got, kernel.rows(columns, row)) == {}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_machine_code_writes_the_bytes_that_plain_python_writes(case: Case) -> None:
    columns = random_columns(case, 2, PACKETS)
    assert encoded(columns, case, True) == encoded(columns, case, False)


def test_every_telemetry_that_is_written_has_a_case() -> None:
    assert {case.telemetry for case in CASES} == {schema.FORMAT_NONE, *IN_PACKET}
    assert {case.option for case in CASES} == {schema.FORMAT_NONE, *AS_OPTION}
    assert {case.report for case in CASES if case.report} == {schema.FORMAT_REPORT_05, schema.FORMAT_REPORT_1, schema.FORMAT_REPORT_2}


def test_a_pcapng_holds_the_same_packets() -> None:
    case = case_of("INT-MD 2.1 by port")
    columns = random_columns(case, 3, PACKETS)
    wanted = frames(encoded(columns, case))
    content = encoded(columns, case, kind=KIND_PCAPNG)
    at, found = 28 + 32, []
    while at < len(content):
        length, size = (int.from_bytes(content[place : place + 4], "little") for place in (at + 4, at + 20))
        found.append(content[at + 28 : at + 28 + size])
        assert (
            content[at : at + 4] == b"\x06\0\0\0" and length % 4 == 0 and content[at + length - 4 : at + length] == content[at + 4 : at + 8]
        )
        at += length
    assert found == wanted


def test_a_snap_length_cuts_what_is_captured_and_not_what_is_told() -> None:
    case = case_of("roce")
    columns = random_columns(case, 4, PACKETS)
    whole = frames(encoded(columns, case))
    original = columns.packets.original_bytes[:PACKETS].tolist()
    cut = frames(encoded(columns, case, snaplen=100))
    assert [frame[:100] for frame in whole] == cut
    assert columns.packets.original_bytes[:PACKETS].tolist() == original == [len(frame) for frame in whole]
    assert columns.packets.captured_bytes[:PACKETS].tolist() == [len(frame) for frame in cut]


def test_rows_beyond_one_piece_are_written_in_several() -> None:
    case = case_of("roce")
    columns = random_columns(case, 5, PACKETS)
    columns.roce.payload_bytes[:PACKETS] = 60_000
    columns.roce.pad[:PACKETS] = 0
    for name in columns.packets._fields:
        column = getattr(columns.packets, name)
        column[:512] = np.tile(column[:PACKETS], 8)
    columns.counts[N_PACKETS] = 512
    pieces = [(packets, len(piece)) for packets, piece in Encoder(case.surroundings).pieces(columns)]
    assert len(pieces) > 1 and sum(packets for packets, _ in pieces) == 512


def test_columns_of_another_size_are_refused_by_machine_code() -> None:
    if _jit.DISABLED:
        pytest.skip("there is no machine code")
    with pytest.raises(ValueError, match="default size"):
        next(Encoder(case_of("roce").surroundings).pieces(allocate(64)))


# ------------------------------------------------------------------------------------------------------------------ checksums


@pytest.mark.parametrize("name", ["roce", "roce over IPv6"])
def test_the_icrc_is_what_an_independent_computation_gives(name: str) -> None:
    case = case_of(name)
    columns = random_columns(case, 6, PACKETS)
    columns.packets.vlan_id[:PACKETS] = schema.ABSENT16
    for frame in frames(encoded(columns, case)):
        assert int.from_bytes(frame[-4:], "big") == independent_icrc(frame, IP_AT, len(frame) - 4)


@pytest.mark.parametrize("name", ["roce", "roce over IPv6"])
def test_scapy_reads_the_packets_and_computes_the_same_icrc(name: str) -> None:
    from scapy.contrib.roce import BTH
    from scapy.layers.l2 import Ether

    case = case_of(name)
    columns = random_columns(case, 7, PACKETS)
    for row, frame in enumerate(frames(encoded(columns, case))):
        packet = Ether(frame)
        assert packet[BTH].dqpn == columns.roce.dest_qp[row]
        assert packet[BTH].psn == columns.roce.psn[row]
        assert int.from_bytes(packet[BTH].compute_icrc(b""), "big") == packet[BTH].icrc == columns.roce.icrc_raw[row]


@pytest.mark.parametrize("name", [case.name for case in CASES if case.telemetry and not case.report])
def test_telemetry_leaves_the_icrc_as_it_was(name: str) -> None:
    case = case_of(name)
    columns = random_columns(case, 8, PACKETS)
    encoded(columns, case)
    with_telemetry = columns.roce.icrc_raw[:PACKETS].tolist()
    columns.packets.formats[:PACKETS] = 1 << schema.FORMAT_ROCE
    columns.packets.hop_count[:PACKETS] = 0
    encoded(columns, case)
    assert with_telemetry == columns.roce.icrc_raw[:PACKETS].tolist()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_scapy_finds_every_checksum_right(case: Case) -> None:
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether
    from scapy.utils import checksum as scapy_checksum

    checked = 0
    for frame in frames(encoded(random_columns(case, 9, PACKETS), case)):
        packet: Any = Ether(without_csig(behind_nsh(frame)))
        while packet:
            if isinstance(packet, IP):
                assert scapy_checksum(bytes(packet)[: 4 * packet.ihl]) == 0
                assert packet.len == len(bytes(packet))
                checked += 1
            if isinstance(packet, IPv6):
                udp = without_ifa(bytes(packet.payload)) if packet.nh == IFA_PROTOCOL else bytes(packet[UDP])
                length = len(udp).to_bytes(4, "big")
                pseudo = bytes(packet)[8:40] + length + (17).to_bytes(4, "big")
                assert scapy_checksum(pseudo + udp) == 0
                checked += 1
            packet = packet.payload
    assert checked >= PACKETS
