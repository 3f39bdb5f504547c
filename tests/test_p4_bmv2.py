"""The P4 program on BMv2, role by role, packet by packet. Skipped where simple_switch_grpc is not installed."""

from __future__ import annotations

import pytest
from bmv2_bench import FARTHER, H1, H2, NODE, S2, Bench, families, flow, needs_bmv2, take, towards, untouched, whole, with_byte
from mode import other_programs

from int_analyzer.errors import LabError
from int_analyzer.lab.constant import FORMAT_REPORT, INT_DSCP, INT_PORT, IOAM_NAMESPACE, IOAM_TRACE_TYPE, ROCE_PORT
from int_analyzer.lab.entry import MONITOR_PORT, Entry

pytestmark = [needs_bmv2, other_programs]

FLAG_EXCEEDED, FLAG_MTU = 2, 4
IOAM_HEADER_BYTES = 112
STACK, TRACE = 14 + 20 + 8 + 16, 14 + 40 + 4 + 12
"""Where the hops begin in a frame: of INT in IPv4, of an IOAM trace in IPv6."""


@families
@pytest.mark.parametrize("mark", ["port", "dscp"])
def test_a_source_inserts_int_md_and_its_own_hop(bench: Bench, mark: str, six: bool) -> None:
    bench.set(mark=mark)
    sent = take(flow(six=six))
    bench.send(H1, sent)
    (got,) = bench.receive(S2, 1)
    batch = bench.decode([got])
    packet, hop, roce = batch.packets.iloc[0], batch.hops.iloc[0], batch.roce.iloc[0]
    assert (packet.status, packet.hop_count, packet.dst_port, packet.instructions) == ("ok", 1, ROCE_PORT, 0xFD00)
    assert packet.remaining_hops == 7
    assert len(got) - len(sent[0]) == 16 + 36
    assert (hop.node_id, hop.ingress_port, hop.egress_port, hop.queue_id) == (NODE, H1, S2, 0)
    assert hop.egress_time_raw - hop.ingress_time_raw == hop.hop_latency_raw > 0
    assert (roce.dest_qp, roce.psn) == (17, 5)
    udp = 34 + FARTHER * six
    assert got[udp + 6 : udp + 8] == bytes(2)  # no checksum, as RoCEv2 sends it
    if mark == "port":
        assert int.from_bytes(got[udp + 2 : udp + 4], "big") == INT_PORT
        assert packet.dscp == 26
    else:
        assert (packet.dscp, packet.original_dscp) == (INT_DSCP, 26)
    assert packet.ttl == 63
    assert whole(got)
    assert got[-4:] == sent[0][-4:]


@pytest.mark.parametrize("items", [("node",), ("node", "level2", "buffer"), ("latency", "queue", "egress_time"), ("ports", "utilisation")])
def test_a_hop_has_the_items_of_the_bitmap_and_ones_for_what_is_not_known(bench: Bench, items: tuple[str, ...]) -> None:
    bench.set(items=items)
    bench.send(H1, take(flow()))
    batch = bench.decode(bench.receive(S2, 1))
    hop = batch.hops.iloc[0]
    assert batch.packets.iloc[0].status == "ok"
    for item, column in (("node", "node_id"), ("ports", "egress_port"), ("latency", "hop_latency_raw"), ("queue", "queue_depth_raw")):
        assert (not hop.isna()[column]) == (item in items)
    assert hop.isna()["buffer_depth_raw"]


@families
@pytest.mark.parametrize("mark", ["port", "dscp"])
def test_a_transit_node_adds_its_hop_in_front(bench: Bench, mark: str, six: bool) -> None:
    bench.set(mark=mark)
    bench.send(H1, take(flow(six=six)))
    bench.send(S2, bench.receive(S2, 1))  # to h3 behind s2, and so back again
    got = bench.receive(S2, 1)
    assert whole(got[0])
    batch = bench.decode(got)
    assert list(batch.hops.node_id) == [NODE, NODE]
    assert list(batch.hops.ingress_port) == [H1, S2]
    assert batch.packets.iloc[0].remaining_hops == 6


@families
@pytest.mark.parametrize("mark", ["port", "dscp"])
@pytest.mark.parametrize("mode", ["md", "mx"])
def test_a_sink_gives_the_host_what_was_sent_to_the_last_bit(bench: Bench, mode: str, mark: str, six: bool) -> None:
    bench.set(mode=mode, mark=mark)
    sent = take(flow(destination="10.0.1.2", six=six), 17)
    bench.send(H1, sent)
    got = bench.receive(H2, 17)
    assert list(untouched(got)) == list(untouched(sent))
    assert all(whole(frame) for frame in got)


@families
@pytest.mark.parametrize("mark", ["port", "dscp"])
def test_a_sink_reports_all_hops_with_its_own(bench: Bench, mark: str, six: bool) -> None:
    bench.set(mark=mark)
    sent = take(flow(destination="10.0.1.2", six=six))
    bench.send(H1, [towards(sent[0], (2, 3), six)])
    carried = bench.receive(S2, 1)[0]
    bench.send(S2, [towards(with_byte(carried, STACK + FARTHER * six + 3, 9), (1, 2), six)])  # as if from node 9 and to h2
    assert list(untouched(bench.receive(H2, 1))) == list(untouched(sent))
    batch = bench.decode(bench.receive(MONITOR_PORT, 1))
    report = batch.reports.iloc[0]
    assert (report.node_id, report.report_type, report.inner_type) == (NODE, 1, 3)
    assert (report.dropped, report.congested, report.tracked, report.intermediate) == (0, 0, 1, 0)
    assert list(batch.hops.node_id) == [9, NODE]
    assert list(batch.hops.ingress_port) == [H1, S2]
    assert list(batch.hops.egress_port) == [S2, H2]
    assert (batch.packets.iloc[0].status, batch.packets.iloc[0].dst_port) == ("ok", ROCE_PORT)


@families
def test_an_exhausted_hop_count_sets_e_and_adds_nothing(bench: Bench, six: bool) -> None:
    bench.set(hops=1)
    bench.send(H1, take(flow(six=six)))
    carried = bench.receive(S2, 1)
    bench.send(S2, carried)
    again = bench.receive(S2, 1)
    packets = bench.decode(carried + again).packets
    assert list(packets.hop_count) == [1, 1]
    assert list(packets.remaining_hops) == [0, 0]
    assert list(packets.telemetry_flags) == [0, FLAG_EXCEEDED]


@families
def test_a_hop_that_would_not_fit_the_link_sets_m_and_adds_nothing(bench: Bench, six: bool) -> None:
    frame = take(flow(six=six))[0]
    bench.set(mtu=len(frame) - 14 + 16)
    bench.send(H1, [frame])
    got = bench.receive(S2, 1)
    packet = bench.decode(got).packets.iloc[0]
    assert (packet.hop_count, packet.telemetry_flags, packet.remaining_hops) == (0, FLAG_MTU, 8)


@families
@pytest.mark.parametrize("mode", ["md", "mx"])
def test_a_packet_that_fills_the_link_is_left_alone(bench: Bench, mode: str, six: bool) -> None:
    frame = take(flow(six=six))[0]
    bench.set(mode=mode, mtu=len(frame) - 14 + 15)
    bench.send(H1, [frame])
    assert list(untouched(bench.receive(S2, 1))) == list(untouched([frame]))


@pytest.mark.parametrize(("at", "value"), [(46, 0x17), (46, 0x08)])
def test_instructions_or_words_that_are_not_known_pass_by(bench: Bench, at: int, value: int) -> None:
    """Words of a hop that do not explain the bitmap: data of another domain."""
    bench.set()
    bench.send(H1, take(flow()))
    carried = bench.receive(S2, 1)[0]
    changed = with_byte(carried, at + 2, value)
    bench.send(S2, [changed])
    (got,) = bench.receive(S2, 1)
    assert list(untouched([got])) == list(untouched([changed]))


@families
def test_int_mx_carries_instructions_only_and_every_node_reports(bench: Bench, six: bool) -> None:
    bench.set(mode="mx")
    bench.send(H1, take(flow(six=six)))
    carried = bench.receive(S2, 1)
    batch = bench.decode(carried)
    assert (batch.packets.iloc[0].hop_count, batch.packets.iloc[0].instructions) == (0, 0xFD00)
    assert whole(carried[0])
    bench.send(S2, [towards(carried[0], (1, 2), six)])
    assert len(bench.receive(H2, 1)) == 1
    reports = bench.decode(bench.receive(MONITOR_PORT, 2)).reports
    assert list(reports.egress_port) == [S2, H2]
    assert list(reports.tracked) == [1, 1]


@families
def test_int_xd_reports_and_changes_nothing(bench: Bench, six: bool) -> None:
    bench.set(mode="xd")
    sent = take(flow(six=six), 3)
    bench.send(H1, sent)
    assert list(untouched(bench.receive(S2, 3))) == list(untouched(sent))
    batch = bench.decode(bench.receive(MONITOR_PORT, 3))
    assert list(batch.roce.psn) == [5, 6, 7]
    assert list(batch.reports.egress_port) == [S2] * 3


@families
@pytest.mark.parametrize("mode", ["md", "mx"])
def test_a_packet_that_the_sink_is_to_discard_is_reported_and_goes_no_further(bench: Bench, mode: str, six: bool) -> None:
    bench.set(mode=mode)
    bench.send(H1, take(flow(six=six)))
    probe = with_byte(bench.receive(S2, 1)[0], STACK + FARTHER * six - 12, 0x28)  # version 2, D
    bench.set(mode=mode)
    bench.send(S2, [probe])
    carried = bench.receive(S2, 1)  # a transit node passes it on
    assert len(carried) == 1
    bench.set(mode=mode)
    bench.send(S2, [towards(carried[0], (1, 2), six)])
    reports = bench.decode(bench.receive(MONITOR_PORT, 1)).reports
    assert list(reports.egress_port) == [H2]
    assert bench.nothing(H2)


def test_an_ioam_source_inserts_an_option_with_its_own_node(bench: Bench) -> None:
    bench.set(mode="ioam")
    sent = take(flow(six=True))
    bench.send(H1, sent)
    (got,) = bench.receive(S2, 1)
    batch = bench.decode([got])
    packet, hop = batch.packets.iloc[0], batch.hops.iloc[0]
    assert (packet.status, packet.namespace, packet.instructions) == ("ok", IOAM_NAMESPACE, IOAM_TRACE_TYPE)
    assert (packet.hop_count, packet.remaining_hops) == (1, 20)
    assert (hop.node_id, hop.ingress_port, hop.egress_port, hop.hop_limit, hop.queue_depth_raw) == (NODE, H1, S2, 63, 0)
    assert len(got) - len(sent[0]) == IOAM_HEADER_BYTES
    assert got[54 + IOAM_HEADER_BYTES :] == sent[0][54:]


def test_an_ioam_trace_fills_up_and_then_overflows(bench: Bench) -> None:
    bench.set(mode="ioam")
    bench.send(H1, take(flow(six=True)))
    seen = []
    for _ in range(7):
        carried = bench.receive(S2, 1)
        seen += carried
        bench.send(S2, carried)
    packets = bench.decode(seen).packets
    assert list(packets.hop_count) == [1, 2, 3, 4, 5, 6, 6]
    assert list(packets.remaining_hops) == [20, 16, 12, 8, 4, 0, 0]
    assert list(packets.telemetry_flags.astype(bool)) == [False] * 6 + [True]
    bench.receive(S2, 1)


def test_an_ioam_sink_gives_back_the_packet_and_reports_the_trace(bench: Bench) -> None:
    bench.set(mode="ioam")
    sent = take(flow(destination="10.0.1.2", six=True), 3)
    bench.send(H1, sent)
    assert list(untouched(bench.receive(H2, 3))) == list(untouched(sent))
    bench.receive(MONITOR_PORT, 3)
    bench.send(H1, take(flow(six=True)))
    carried = bench.receive(S2, 1)[0]
    bench.send(S2, [with_byte(carried[:52] + b"\x01\x02" + carried[54:], TRACE + 80 + 3, 9)])  # as if from node 9 and to h2
    assert len(bench.receive(H2, 1)) == 1
    batch = bench.decode(bench.receive(MONITOR_PORT, 1))
    assert list(batch.hops.node_id) == [9, NODE]
    assert list(batch.hops.ingress_port) == [H1, S2]
    assert (batch.reports.iloc[0].tracked, batch.reports.iloc[0].metadata_bits) == (1, 0)


def test_applying_the_same_twice_changes_nothing_and_a_difference_is_all_that_changes(bench: Bench) -> None:
    bench.set()
    assert bench.apply() == (0, 0, 0)
    assert bench.apply(hops=3) == (0, 1, 0)
    assert bench.apply(hops=3, watch=()) == (0, 0, 1)
    assert bench.apply(hops=3) == (1, 0, 0)
    assert bench.apply(hops=3, snap=100) == (0, 1, 0)
    assert bench.apply(hops=3, snap=100, format="both") == (0, 1, 0)
    assert bench.apply(hops=3, snap=100, format="both") == (0, 0, 0)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (Entry("watchlists", "watch"), "s1: table watchlists: "),
        (Entry("node", "set_node", {"number": "1"}), "s1: table node: 'number' is not a valid action parameter name"),
        (Entry("egress_edge", "link", {"mtu": "70000", "to_host": "0"}, {"standard.egress_port": "1"}), "70000"),
        (Entry("egress_edge", "to_port", {}, {"standard.egress_port": "1"}), "s1: "),
    ],
)
def test_what_the_switch_cannot_take_is_one_readable_line(bench: Bench, entry: Entry, message: str) -> None:
    with pytest.raises(LabError) as caught:
        bench.switch.apply([entry], (FORMAT_REPORT,))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
