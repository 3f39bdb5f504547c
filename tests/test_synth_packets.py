"""Captures of traces: what decoding gives back, what is lost and counted, what others say of the bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kernel
import numpy as np
import pytest
from test_encode import EXPECTED_WARNINGS, differences
from trace_factory import small_trace

from int_analyzer import schema
from int_analyzer.capture import open_source
from int_analyzer.columns import N_PACKETS
from int_analyzer.decode import Decoder
from int_analyzer.packet_encode import AS_OPTION, IN_PACKET
from int_analyzer.profile import load_profile
from int_analyzer.synth.emission import EMISSIONS, UNWRITTEN, Emission
from int_analyzer.synth.packets import operator_profile, write_capture
from int_analyzer.synth.rows import MANAGEMENT, MIRRORS, Rows

TRACE = small_trace()
WRITTEN = [
    *EMISSIONS.values(),
    *(emission._replace(ip_version=6) for emission in EMISSIONS.values() if emission.ip_version == 4 and emission.name != "mri"),
]


def told(emission: Emission, mirror: int) -> list[dict[str, Any]]:
    """Rows of the trace as they are given to the encoder, but for lengths."""
    return [
        kernel.rows(columns, row) for columns in Rows(TRACE, emission, mirror).batches() for row in range(int(columns.counts[N_PACKETS]))
    ]


def read(path: Path, profile: Path) -> list[dict[str, Any]]:
    decoder = Decoder(load_profile(str(profile)).settings(), compiled=False)
    with open_source(str(path)) as source:
        return [kernel.rows(columns, row) for columns in decoder.batches(source) for row in range(int(columns.counts[N_PACKETS]))]


@pytest.mark.parametrize("mirror", MIRRORS)
@pytest.mark.parametrize("emission", WRITTEN, ids=[f"{emission.name}-ipv{emission.ip_version}" for emission in WRITTEN])
def test_a_capture_decodes_to_the_rows_of_its_trace(emission: Emission, mirror: str, tmp_path: Path) -> None:
    profile = tmp_path / "profile.toml"
    profile.write_text(operator_profile(TRACE, emission))
    write_capture(TRACE, str(tmp_path / "x.pcap"), emission, mirror=MIRRORS[mirror], compiled=False)
    found, expected = read(tmp_path / "x.pcap", profile), told(emission, MIRRORS[mirror])
    assert len(found) == len(expected) > 0
    made = ("captured_bytes", "original_bytes", "ip_bytes", "telemetry_bytes")
    for got, wanted in zip(found, expected, strict=True):
        got["packet"]["warnings"] -= EXPECTED_WARNINGS
        got["packet"] |= dict.fromkeys(made)
        wanted["packet"] |= dict.fromkeys(made)
        assert got["roce"].pop("icrc_check") in (None, schema.ICRC_CUT if got["roce"]["icrc_raw"] is None else schema.ICRC_OK)
        got["roce"] |= {"icrc_raw": None, "present": got["roce"]["present"] & ~schema.HAS_ICRC & ~schema.HAS_PAYLOAD}
        wanted["roce"] |= {"icrc_raw": None, "payload_bytes": got["roce"]["payload_bytes"]}
        wanted["roce"]["present"] &= ~schema.HAS_ICRC & ~schema.HAS_PAYLOAD
        assert differences(got, wanted) == {}


def test_every_telemetry_that_can_be_written_is_emitted() -> None:
    assert {emission.telemetry for emission in EMISSIONS.values()} == {schema.FORMAT_NONE, *IN_PACKET, *AS_OPTION}
    assert {emission.report for emission in EMISSIONS.values()} == {
        schema.FORMAT_NONE,
        schema.FORMAT_REPORT_05,
        schema.FORMAT_REPORT_1,
        schema.FORMAT_REPORT_2,
    }


def test_every_format_that_is_read_is_emitted_or_says_why_not() -> None:
    emitted = {kind for emission in EMISSIONS.values() for kind in (emission.telemetry, emission.report, emission.drop_report)}
    missing = {entry.name for entry in schema.FORMAT_LIST if entry.id not in emitted | {schema.FORMAT_ROCE}}
    assert missing == set(UNWRITTEN)


def captured(name: str, folder: Path, mirror: int = 0) -> list[dict[str, Any]]:
    """Rows of a capture of the trace, read with the operator's profile."""
    profile = folder / "profile.toml"
    profile.write_text(operator_profile(TRACE, EMISSIONS[name]))
    write_capture(TRACE, str(folder / "x.pcap"), EMISSIONS[name], mirror=mirror, compiled=False)
    return read(folder / "x.pcap", profile)


def hops_of(packet: int) -> list[dict[str, int]]:
    """What the trace says of the hops of a packet, by the names of the rows."""
    hops, first = TRACE.hops, int(TRACE.packets.first_hop[packet])
    return [
        {
            "node_id": int(hops.node_id[hop]),
            "ingress_port": int(hops.ingress_port[hop]),
            "egress_port": int(hops.egress_port[hop]),
            "queue_id": int(hops.queue_id[hop]),
            "queue_depth_raw": int(hops.queue_depth_cells[hop]),
            "hop_latency_raw": int(hops.latency_ns[hop]),
            "ingress_time_raw": int(hops.ingress_time_ns[hop]),
            "egress_time_raw": int(hops.egress_time_ns[hop]),
            "tx_utilisation_raw": int(hops.tx_utilisation[hop]),
        }
        for hop in range(first, first + int(TRACE.packets.hop_count[packet]))
    ]


def test_every_hop_of_the_trace_stands_in_the_capture(tmp_path: Path) -> None:
    found = captured("int-md-2.1", tmp_path, mirror=3)
    assert len(found) == len(TRACE.packets.time_ns)
    for packet, got in enumerate(found):
        told = hops_of(packet)
        if TRACE.packets.dropped[packet]:
            # the report on a drop tells where, and how full it was
            told[-1] |= dict.fromkeys(("hop_latency_raw", "egress_time_raw", "tx_utilisation_raw"))
        assert [{name: hop[name] for name in told[0]} for hop in got["hops"]] == told if told else got["hops"] == []
        assert got["packet"]["time_ns"] == TRACE.packets.time_ns[packet]


def test_what_is_in_no_packet_of_the_trace_is_in_none_of_the_capture(tmp_path: Path) -> None:
    for packet, got in enumerate(captured("int-md-2.1", tmp_path)):
        carries = got["packet"]["formats"] >> schema.FORMAT_INT_MD_2 & 1
        assert carries == TRACE.packets.telemetry[packet]


def test_mirror_copies_are_numbered_with_their_gaps_and_stamped(tmp_path: Path) -> None:
    packets = TRACE.packets
    for packet, got in enumerate(captured("int-md-2.1", tmp_path, mirror=3)):
        if packets.dropped[packet]:
            assert got["mirrors"] == []
            continue
        (header,) = got["mirrors"]
        assert header["outer_src_lo"] == MANAGEMENT + packets.mirror_node[packet]
        assert header["sequence"] == packets.mirror_sequence[packet]
        assert header["timestamp_raw"] == packets.time_ns[packet] // 100 % 2**32


def test_reports_are_numbered_with_their_gaps_drops_apart(tmp_path: Path) -> None:
    packets = TRACE.packets
    told = np.flatnonzero(packets.telemetry)
    for packet, got in zip(told, captured("report-2.0", tmp_path), strict=True):
        (report,) = got["reports"]
        assert report["sequence"] == packets.report_sequence[packet]
        assert (report["node_id"], report["dropped"]) == (packets.mirror_node[packet], packets.dropped[packet])
        assert report["hw_id"] == 1 + packets.dropped[packet]


def test_of_every_hop_there_is_a_postcard_counted_by_its_switch(tmp_path: Path) -> None:
    reports = [got["reports"][0] for got in captured("int-xd", tmp_path)]
    forwarded = [report for report in reports if not report["dropped"]]
    kept = np.flatnonzero((TRACE.packets.telemetry != 0) & (TRACE.packets.dropped == 0))
    assert [report["node_id"] for report in forwarded] == [hop["node_id"] for packet in kept for hop in hops_of(packet)]
    for node in {report["node_id"] for report in forwarded}:
        numbers = [report["sequence"] for report in forwarded if report["node_id"] == node]
        assert numbers == list(range(len(numbers)))


def test_a_format_with_less_room_keeps_the_first_hops() -> None:
    packet = int(np.flatnonzero(TRACE.packets.dropped == 0)[0])
    count, first = TRACE.packets.hop_count.copy(), int(TRACE.packets.first_hop[packet])
    count[packet] = 9
    (columns,) = Rows(TRACE._replace(packets=TRACE.packets._replace(hop_count=count)), EMISSIONS["mri"], 0).batches()
    # what was dropped is not told of
    row = int((TRACE.packets.dropped[:packet] == 0).sum())
    begin = int(columns.packets.first_hop[row])
    assert int(columns.packets.hop_count[row]) == EMISSIONS["mri"].most_hops == 4
    assert columns.hops.node_id[begin : begin + 4].tolist() == TRACE.hops.node_id[first : first + 4].tolist()
