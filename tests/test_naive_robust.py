"""The naive decoder on damaged, random and wrapped packets: it never raises, and its rows always fit their columns."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mutate
import naive
import numpy as np
import pytest
from mode import twin_alone

from int_analyzer import schema
from int_analyzer.status import STATUSES, WARNINGS

pytestmark = twin_alone

PCAPS = Path(__file__).parent.parent / "pcaps"
WORKED = mutate.worked_packets()
CONFIGURED: dict[str, Any] = {**mutate.EVERYTHING, "int_ports": (mutate.INT_PORT, 555)}
CORNERS = mutate.corner_cases()
RECORDED = (
    "bmv2-geant-int-v1.0/s2-s4.pcap",
    "bmv2-geant-int-v1.0/s4-coll.pcap",
    "bmv2-onos-int-v1.0/s4-coll.pcap",
    "bmv2-laofan-int-md-v2.1/s4-coll.pcap",
    "bmv2-stratum-fabric-v1model-xd/s1-coll.pcap",
    "bmv2-tutorials-mri/s4-h3.pcap",
    "linux-ioam/zi3-w3.pcap",
    "linux-ioam/zi3-any-sll2.pcap",
    "linux-ioam-spine-to-leaf/l3-h5.pcap",
)
STATUS_NAMES = {status.name for status in STATUSES}
WARNING_NAMES = {warning.name for warning in WARNINGS}
COLUMNS = {
    name: [(column.name, column.shown or column.dtype, column.present) for column in table if column.source == "kernel"]
    for name, table in schema.TABLES.items()
}
RANGES = {name: (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in ("uint8", "uint16", "uint32", "uint64", "int64")}


def fits(table: str, row: dict[str, Any]) -> None:
    """Every value is inside its column, and `present` says exactly which values there are."""
    for name, dtype, bits in COLUMNS[table]:
        value = row[name]
        if name in ("status", "warnings"):
            continue
        if value is not None:
            low, high = RANGES[dtype]
            assert low <= value <= high, (table, name, value)
        if bits:
            assert (value is not None) == bool(row["present"] & bits), (table, name, value, row["present"])


def check(data: bytes, link_type: int = 1, original: int | None = None, profile: dict[str, Any] | None = None) -> dict[str, Any]:
    """Decode, and hold every row against what is true of every row; gives the first."""
    try:
        results = naive.decode_record(data, link_type, original, profile=profile)
    except Exception as error:
        raise AssertionError(f"{error!r} on link type {link_type}: {data.hex()}") from error
    for part, result in enumerate(results):
        assert result["packet"]["part"] == part
        check_row(data, result)
        # Only of a datagram that has reports there is more than one row, and only the last may have none.
        assert part == 0 or result["reports"] or part == len(results) - 1
    return results[0]


def check_row(data: bytes, result: dict[str, Any]) -> None:
    """What is true of every row."""
    packet = result["packet"]
    assert packet["status"] in STATUS_NAMES
    assert packet["warnings"] <= WARNING_NAMES
    assert packet["hop_count"] == len(result["hops"])
    assert packet["report_count"] == len(result["reports"])
    assert (packet["roce_row"] is None) == (result["roce"] is None)
    assert packet["part"] or bool(packet["formats"] >> schema.FORMAT_ROCE & 1) == (result["roce"] is not None)
    # A length may lead beyond what was captured, but only once: nothing is read there. IFA at the end stands where the IP length says.
    assert packet["status_at"] <= len(data) + (0xFFFF if packet["status"] == "ifa-stack-truncated" else 4 * 256)
    assert packet["part"] or bool(result["mirrors"]) == bool(packet["tunnels"] & 0x21C)
    fits("packets", packet)
    for table in ("hops", "reports", "mirrors", "options"):
        for row in result[table]:
            fits(table, row)
    if result["roce"] is not None:
        fits("roce", result["roce"])
    positions = [hop["hop"] for hop in result["hops"]]
    first = positions[0] if positions else 0
    assert positions == list(range(first, first + len(positions)))
    # Hops nearest the source are missing only where a stack was cut, which is the status if nothing was wrong before.
    # HPCC's simulator writes over its oldest hops.
    assert first == 0 or packet["status"] != "ok" or packet["telemetry"] == schema.FORMAT_HPCC
    assert packet["telemetry"] == 0 or packet["formats"] >> packet["telemetry"] & 1
    assert packet["telemetry"] or not (packet["hop_count"] or packet["telemetry_bytes"] or packet["instructions"] or packet["dialect"])
    assert packet["dialect"] == naive.DIALECT_NUMBERS[result["dialect"]]
    if packet["telemetry"] == schema.FORMAT_INT_MX:
        assert all(hop["present"] & schema.HOP_FROM_REPORT for hop in result["hops"])


def check_all(packets: Iterable[bytes], link_type: int = 1) -> None:
    """Every packet, without and with a profile."""
    for data in packets:
        check(data, link_type)
        check(data, link_type, profile=CONFIGURED)


def seed(name: str) -> int:
    """A seed that depends on the name only."""
    return zlib.crc32(name.encode())


def recorded(name: str) -> tuple[int, list[bytes]]:
    """Link type, and two packets of a capture (all of the small ones)."""
    link_type, records = naive.read_pcap(PCAPS / name)
    packets = [data for _, _, data in records]
    return link_type, packets if len(packets) < 20 else [packets[0], packets[-1]]


@pytest.mark.parametrize("name", WORKED)
def test_worked_packet_may_end_anywhere(name: str) -> None:
    data = WORKED[name]
    check_all(mutate.cuts(data))
    for cut in mutate.cuts(data):
        result = check(cut, original=len(data), profile=CONFIGURED)
        assert "captured-short" in result["packet"]["warnings"]


@pytest.mark.parametrize("name", WORKED)
def test_worked_packet_may_have_any_byte_wrong(name: str) -> None:
    check_all(mutate.byte_changes(WORKED[name], seed(name)))
    check_all(mutate.scrambled(WORKED[name], seed(name), 300))


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_packet_may_be_cut_or_damaged(name: str) -> None:
    link_type, packets = recorded(name)
    for number, data in enumerate(packets):
        short = data[:220]
        check_all(mutate.cuts(short), link_type)
        check_all(mutate.byte_changes(short, seed(name) + number), link_type)
        check_all(mutate.scrambled(short, seed(name) + number, 200), link_type)


@pytest.mark.parametrize("name", CORNERS)
def test_corner_case_gets_its_status_and_warnings(name: str) -> None:
    data, profile, status, warnings = CORNERS[name]
    result = check(data, profile=profile)
    assert (result["packet"]["status"], result["packet"]["warnings"]) == (status, warnings)
    check_all(list(mutate.cuts(data))[len(name) % 4 :: 4])
    changes = list(mutate.byte_changes(data, seed(name)))
    check_all(changes[:: max(4, len(changes) // 60)])


def test_telemetry_in_everything_that_carries_it_may_be_damaged() -> None:
    check_all(mutate.carried(1, 2000))
    check_all(mutate.ioam_mixture(1, 1500, mutate.plain_frames()))
    check_all(mutate.field_mixture(1, 1500, mutate.plain_frames()))


def test_random_bytes_are_no_reason_to_raise() -> None:
    check_all(mutate.junk(1, 6000))
    for link_type in (0, 12, 14, 101, 113, 228, 229, 276):
        check_all(mutate.junk(link_type, 200), link_type)


@pytest.mark.parametrize("name", WORKED)
def test_a_tunnel_changes_nothing_but_what_is_around_the_packet(name: str) -> None:
    data = WORKED[name]
    alone = check(data, profile=CONFIGURED)
    around = {"captured_bytes", "original_bytes", "tunnels", "vlan_id", "csig", "status_at", "status", "warnings"}
    for tunnel, wrapped in mutate.tunnels(data):
        result = check(wrapped, profile=CONFIGURED)
        assert result["hops"] == alone["hops"], tunnel
        assert result["roce"] == alone["roce"], tunnel
        assert result["reports"] == alone["reports"], tunnel
        assert {key: value for key, value in result["packet"].items() if key not in around} == {
            key: value for key, value in alone["packet"].items() if key not in around
        }, tunnel
        assert result["packet"]["status"] == alone["packet"]["status"], tunnel
        assert result["packet"]["warnings"] == alone["packet"]["warnings"], tunnel
        assert result["packet"]["csig"] == (mutate.CSIG if tunnel == "csig" else alone["packet"]["csig"]), tunnel


@pytest.mark.parametrize("name", WORKED)
def test_tunnels_in_tunnels_may_be_cut_and_damaged(name: str) -> None:
    for number, (_, wrapped) in enumerate(mutate.nested(WORKED[name], seed(name), 12)):
        check_all([wrapped])
        if number < 3:
            check_all(mutate.cuts(wrapped[:200]))
            check_all(mutate.scrambled(wrapped, seed(name) + number, 60))


def test_a_packet_is_the_same_under_every_link_type() -> None:
    for ip_version in (4, 6):
        frame = mutate.int_md_packet(mutate.random_hops(1, 3), ip_version=ip_version)
        alone = check(frame)
        for link_type, data in mutate.links(frame):
            result = check(data, link_type)
            assert (result["hops"], result["roce"]) == (alone["hops"], alone["roce"]), link_type
            check_all(mutate.cuts(data[:80]), link_type)


def test_fragments_have_their_transport_in_the_first_one_only() -> None:
    for frame in (WORKED["01_rocev2_ipv4_rc_write_only"], mutate.int_md_packet(mutate.random_hops(2, 2), ip_version=6)):
        pieces = mutate.fragments(frame)
        assert len(pieces) > 1
        first, *others = (check(piece) for piece in pieces)
        assert "fragment-first" in first["packet"]["warnings"]
        assert first["packet"]["dst_port"] == 4791
        for other in others:
            assert other["packet"]["status"] == "fragment"
            assert (other["packet"]["dst_port"], other["roce"], other["hops"]) == (0, None, [])
        for piece in pieces:
            check_all(mutate.cuts(piece))


@pytest.mark.parametrize("count", [0, 1, 2, 5, 18])
@pytest.mark.parametrize("npt", [0, 1, 2])
@pytest.mark.parametrize("ip_version", [4, 6])
def test_built_int_md_comes_back(count: int, npt: int, ip_version: int) -> None:
    hops = mutate.random_hops(count, count)
    frame = mutate.int_md_packet(hops, npt, ip_version=ip_version, instructions=0xFD80, flags=3)
    for profile in (None, CONFIGURED, {"int_ports": (mutate.INT_PORT,)} if npt else {"int_dscp": (23, 63)}):
        result = check(frame, profile=profile)
        assert result["dialect"] == "int-2.x"
        assert result["packet"]["dst_port"] == 4791
        assert result["packet"]["protocol"] == 17
        assert result["packet"]["original_dscp"] == (None if npt else 26)
        assert result["packet"]["telemetry_flags"] == 3
        assert result["packet"]["warnings"] == {"int-hop-exceeded"}
        assert len(result["hops"]) == count
        for hop, want in zip(result["hops"], hops, strict=True):
            assert {name: hop[name] for name in want} == want
        assert result["roce"]["psn"] == 0xABCDEF


@pytest.mark.parametrize(("dialect", "instructions"), [("int-1.0", 0xFF00), ("geant10", 0xFF00), ("onos-basic", 0xFC00)])
def test_built_dialects_come_back(dialect: str, instructions: int) -> None:
    hops = [{name: hop[name] for name in list(hop)[:8]} for hop in mutate.random_hops(4, 4)]
    result = check(mutate.int_md_packet(hops, dialect=dialect, instructions=instructions))
    assert result["dialect"] == dialect
    assert result["packet"]["warnings"] == (set() if dialect == "int-1.0" else {"int-dialect"})
    for hop, want in zip(result["hops"], hops, strict=True):
        assert {name: hop[name] for name in want} == want


def test_a_bitmap_that_two_dialects_explain_is_flagged() -> None:
    # Bits 4 and 6: 1 + 2 words in v1.0, 2 + 1 words in GEANT's dialect (§12).
    result = check(mutate.int_md_packet([{}, {}], dialect="int-1.0", instructions=0x0A00))
    assert (result["dialect"], result["packet"]["hop_count"]) == ("int-1.0", 2)
    assert "int-dialect-ambiguous" in result["packet"]["warnings"]


def test_domain_data_are_skipped_where_the_profile_knows_them() -> None:
    hops = mutate.random_hops(3, 3)
    frame = mutate.int_md_packet(hops, 1, domain=7, ds_instruction=0xC000, hop_extra=b"\1\2\3\4", source_only=b"\5\6\7\x08")
    known = check(frame, profile=CONFIGURED)
    assert [hop["node_id"] for hop in known["hops"]] == [hop["node_id"] for hop in hops]
    assert known["packet"]["namespace"] == 7
    unknown = check(frame, profile={"int_ports": (mutate.INT_PORT,)})
    assert unknown["packet"]["status"] == "int-stack-not-whole-hops"
    without_source = mutate.int_md_packet(hops, 1, domain=7, ds_instruction=0x4000, hop_extra=b"\1\2\3\4")
    assert check(without_source, profile=CONFIGURED)["packet"]["hop_count"] == 3
    opaque = check(without_source, profile={"int_ports": (mutate.INT_PORT,)})
    assert opaque["packet"]["status"] == "int-hop-length-mismatch"
    assert {hop["present"] for hop in opaque["hops"]} == {schema.HOP_OPAQUE}


def test_a_marker_stands_in_front_of_the_shim() -> None:
    frame = mutate.int_md_packet(mutate.random_hops(3, 3), dst_port=9999, marker=CONFIGURED["marker"], dscp=0)
    assert check(frame)["hops"] == []
    assert check(frame, profile=CONFIGURED)["packet"]["hop_count"] == 3


def test_a_cut_stack_keeps_the_newest_hops() -> None:
    frame = mutate.int_md_packet(mutate.random_hops(5, 5), instructions=0x8000)
    # 42 bytes to the shim, 16 of shim and header, 4 for each hop.
    result = check(frame[: 42 + 16 + 4 * 2 + 3], original=len(frame))
    assert (result["packet"]["status"], result["packet"]["status_at"]) == ("int-stack-truncated", 66)
    assert [(hop["hop"], hop["node_id"]) for hop in result["hops"]] == [(3, 307), (4, 407)]
    assert all(hop["present"] & schema.HOP_TRUNCATED_PATH for hop in result["hops"])


def test_plain_roce_with_the_dscp_of_int_stays_roce() -> None:
    data = bytearray(WORKED["01_rocev2_ipv4_rc_write_only"])
    data[15] = 23 << 2
    result = check(bytes(data), profile=CONFIGURED)
    assert result["packet"]["status"] == "ok"
    assert result["roce"]["psn"] == 0xABCDEF
