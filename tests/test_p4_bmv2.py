"""The P4 program on BMv2, behaviour by behaviour, packet by packet. Skipped where simple_switch_grpc is not installed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from bmv2_bench import NODE, Bench, flow, sums_up, take, untouched
from scapy.layers.inet import IP, UDP, IPOption, IPOption_EOL, IPOption_NOP, IPOption_RR
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import Ether

from int_analyzer.errors import LabError
from int_analyzer.lab import requirement
from int_analyzer.lab.constant import (
    DROP_ROUTE_MISS,
    DROP_TTL_ZERO,
    ERSPAN_SESSION,
    FORMAT_REPORT,
    INT_DSCP,
    INT_PORT,
    IOAM_NAMESPACE,
    IOAM_TRACE_TYPE,
    ROCE_PORT,
)
from int_analyzer.lab.entry import MONITOR_PORT, Entry

MISSING = [one for one in requirement.requirements(requirement.BMV2) if not one.present]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=", ".join(f"no {one.name}" for one in MISSING))

H1, H2, S2 = 1, 2, 3
FLAG_EXCEEDED, FLAG_MTU = 2, 4
SIX = {"source": "2001:db8::a00:101", "destination": "2001:db8::a00:203"}
IOAM_HEADER_BYTES = 112
UDP_PROTOCOL, GRE_PROTOCOL = 17, 47
STACK, TRACE = 14 + 20 + 8 + 16, 14 + 40 + 4 + 12
"""Where the hops begin in a frame: of INT in IPv4, of an IOAM trace in IPv6."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("bench"))
    yield made
    made.close()


def with_byte(frame: bytes, at: int, value: int) -> bytes:
    return frame[:at] + bytes((value,)) + frame[at + 1 :]


@pytest.mark.parametrize("mark", ["port", "dscp"])
def test_a_source_inserts_int_md_and_its_own_hop(bench: Bench, mark: str) -> None:
    bench.set(mark=mark)
    sent = take(flow())
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
    if mark == "port":
        assert int.from_bytes(got[36:38], "big") == INT_PORT
        assert packet.dscp == 26
    else:
        assert (packet.dscp, packet.original_dscp) == (INT_DSCP, 26)
    assert sums_up(got)
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


def test_a_transit_node_adds_its_hop_in_front(bench: Bench) -> None:
    bench.set()
    bench.send(H1, take(flow()))
    first = bench.receive(S2, 1)
    bench.send(S2, [with_byte(first[0], 33, 3)])  # to h3 behind s2, and so back again
    batch = bench.decode(bench.receive(S2, 1))
    assert list(batch.hops.node_id) == [NODE, NODE]
    assert list(batch.hops.ingress_port) == [H1, S2]
    assert batch.packets.iloc[0].remaining_hops == 6


@pytest.mark.parametrize("mark", ["port", "dscp"])
def test_a_sink_gives_the_host_what_was_sent_to_the_last_bit(bench: Bench, mark: str) -> None:
    bench.set(mark=mark)
    sent = take(flow(destination="10.0.1.2"), 17)
    bench.send(H1, sent)
    got = bench.receive(H2, 17)
    assert list(untouched(got)) == list(untouched(sent))
    assert all(sums_up(frame) for frame in got)


@pytest.mark.parametrize("mark", ["port", "dscp"])
def test_a_sink_reports_all_hops_with_its_own(bench: Bench, mark: str) -> None:
    bench.set(mark=mark)
    bench.send(H1, take(flow()))
    carried = bench.receive(S2, 1)[0]
    bench.send(S2, [with_byte(with_byte(with_byte(carried, 32, 1), 33, 2), STACK + 3, 9)])  # as if from node 9 and to h2
    assert len(bench.receive(H2, 1)) == 1
    batch = bench.decode(bench.receive(MONITOR_PORT, 1))
    report = batch.reports.iloc[0]
    assert (report.node_id, report.report_type, report.inner_type) == (NODE, 1, 3)
    assert (report.dropped, report.congested, report.tracked, report.intermediate) == (0, 0, 1, 0)
    assert list(batch.hops.node_id) == [9, NODE]
    assert list(batch.hops.ingress_port) == [H1, S2]
    assert list(batch.hops.egress_port) == [S2, H2]
    assert (batch.packets.iloc[0].status, batch.packets.iloc[0].dst_port) == ("ok", ROCE_PORT)


def test_reports_are_numbered_and_cut(bench: Bench) -> None:
    bench.set(snap=128)
    bench.send(H1, take(flow(destination="10.0.1.2"), 5))
    got = bench.receive(MONITOR_PORT, 5)
    numbers = list(bench.decode(got).reports.sequence)
    assert numbers == list(range(numbers[0], numbers[0] + 5))
    assert {len(frame) for frame in got} == {14 + 20 + 8 + 8 + 4 + 8 + 32 + 128}
    assert all(sums_up(frame) for frame in got)


def test_an_exhausted_hop_count_sets_e_and_adds_nothing(bench: Bench) -> None:
    bench.set(hops=1)
    bench.send(H1, take(flow()))
    carried = bench.receive(S2, 1)
    bench.send(S2, carried)
    again = bench.receive(S2, 1)
    packets = bench.decode(carried + again).packets
    assert list(packets.hop_count) == [1, 1]
    assert list(packets.remaining_hops) == [0, 0]
    assert list(packets.telemetry_flags) == [0, FLAG_EXCEEDED]


def test_a_hop_that_would_not_fit_the_link_sets_m_and_adds_nothing(bench: Bench) -> None:
    frame = take(flow())[0]
    bench.set(mtu=len(frame) - 14 + 16)
    bench.send(H1, [frame])
    got = bench.receive(S2, 1)
    packet = bench.decode(got).packets.iloc[0]
    assert (packet.hop_count, packet.telemetry_flags, packet.remaining_hops) == (0, FLAG_MTU, 8)


def test_a_packet_that_fills_the_link_is_left_alone(bench: Bench) -> None:
    frame = take(flow())[0]
    bench.set(mtu=len(frame) - 14)
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


def test_int_mx_carries_instructions_only_and_every_node_reports(bench: Bench) -> None:
    bench.set(mode="mx")
    bench.send(H1, take(flow()))
    carried = bench.receive(S2, 1)
    batch = bench.decode(carried)
    assert (batch.packets.iloc[0].hop_count, batch.packets.iloc[0].instructions) == (0, 0xFD00)
    bench.send(S2, [with_byte(with_byte(carried[0], 32, 1), 33, 2)])
    assert len(bench.receive(H2, 1)) == 1
    reports = bench.decode(bench.receive(MONITOR_PORT, 2)).reports
    assert list(reports.egress_port) == [S2, H2]
    assert list(reports.tracked) == [1, 1]


def test_int_xd_reports_and_changes_nothing(bench: Bench) -> None:
    bench.set(mode="xd")
    sent = take(flow(), 3)
    bench.send(H1, sent)
    assert list(untouched(bench.receive(S2, 3))) == list(untouched(sent))
    batch = bench.decode(bench.receive(MONITOR_PORT, 3))
    assert list(batch.roce.psn) == [5, 6, 7]
    assert list(batch.reports.egress_port) == [S2] * 3


def test_a_steady_flow_is_quiet_and_a_change_of_latency_is_not(bench: Bench) -> None:
    bench.set(mode="xd", quiet=True, latency_shift=16)
    one_by_one = take(flow(source_port=51_000), 20)
    for frame in one_by_one:
        bench.send(H1, [frame])
        assert len(bench.receive(S2, 1)) == 1
    assert len(bench.receive(MONITOR_PORT, 20, 0.3)) == 1  # the first packet of a flow is news
    bench.switch.queues.set_rate(S2, 5)
    try:
        bench.send(H1, one_by_one[:4])
        assert len(bench.receive(S2, 4)) == 4
        assert bench.receive(MONITOR_PORT, 1)
    finally:
        bench.switch.queues.set_rate(S2, 100_000)


def test_a_queue_that_crosses_its_threshold_is_reported_twice(bench: Bench) -> None:
    bench.set(watch=(), queue_threshold=3)
    bench.switch.queues.set_rate(S2, 50)
    try:
        bench.send(H1, take(flow(), 10))
        assert len(bench.receive(S2, 10)) == 10
        bench.send(H1, take(flow()))
        bench.receive(S2, 1)
    finally:
        bench.switch.queues.set_rate(S2, 100_000)
    reports = bench.decode(bench.receive(MONITOR_PORT, 2)).reports
    assert list(reports.congested) == [1, 1]
    assert reports.queue_depth_raw.iloc[0] >= 3 > reports.queue_depth_raw.iloc[1]
    assert bench.nothing(MONITOR_PORT)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (with_byte(take(flow())[0], 22, 1), DROP_TTL_ZERO),
        (take(flow(destination="10.0.9.9"))[0], DROP_ROUTE_MISS),
        (take(flow(SIX["source"], "2001:db8::9"))[0], DROP_ROUTE_MISS),
    ],
)
def test_a_drop_is_reported_with_its_reason(bench: Bench, sent: bytes, reason: int) -> None:
    bench.set()
    bench.send(H1, [sent])
    batch = bench.decode(bench.receive(MONITOR_PORT, 1))
    report = batch.reports.iloc[0]
    assert (report.dropped, report.drop_reason, report.ingress_port) == (1, reason, H1)
    assert batch.roce.iloc[0].psn == 5
    assert bench.nothing(S2)


@pytest.mark.parametrize(
    "watch",
    [{"source": "10.0.1.0/24"}, {"destination": "10.0.2.3/32"}, {"dscp": 26}, {"dest_qp": 17}, {"source": "10.0.1.1/32", "dest_qp": 17}],
)
def test_the_watchlist_chooses(bench: Bench, watch: dict[str, Any]) -> None:
    bench.set(watch=(watch,))
    other = flow(source="10.0.3.1", destination="10.0.1.2", dscp=10, dest_qp=18)
    bench.send(H1, take(flow()) + take(dataclasses.replace(other, destination="10.0.2.3" if "destination" not in watch else "10.0.1.2")))
    watched = bench.receive(S2, 2 if "destination" not in watch else 1)
    assert list(bench.decode(watched).packets.hop_count) == ([1, 0] if "destination" not in watch else [1])
    if "destination" in watch:
        assert len(bench.receive(H2, 1)) == 1
        assert bench.nothing(MONITOR_PORT)


def test_sampling_takes_about_one_in_so_many_and_the_same_ones_again(bench: Bench) -> None:
    bench.set(mode="xd", sample=8)
    frames = take(flow(), 400)
    chosen = []
    for _ in range(2):
        for at in range(0, 400, 20):
            bench.send(H1, frames[at : at + 20])
            assert len(bench.receive(S2, 20)) == 20
        chosen.append(list(bench.decode(bench.receive(MONITOR_PORT, 400, 0.5)).roce.psn))
    assert chosen[0] == chosen[1]
    assert 25 <= len(chosen[0]) <= 85


def test_what_is_not_rocev2_is_left_alone(bench: Bench) -> None:
    bench.set()
    frame = take(flow())[0]
    other = [frame[:36] + b"\x00\x35" + frame[38:], frame[:40] + b"\x12\x34" + frame[42:]]  # another port; a UDP checksum
    bench.send(H1, other)
    assert list(untouched(bench.receive(S2, 2))) == list(untouched(other))


OPTIONS = [
    IPOption(b"\x94\x04\x00\x00"),  # router alert (RFC 2113)
    [IPOption_NOP()] * 3 + [IPOption_EOL()],
    IPOption_RR(routers=["0.0.0.0"] * 9),  # all 40 bytes that there are
]


@pytest.mark.parametrize("options", OPTIONS, ids=("router-alert", "nop", "record-route"))
@pytest.mark.parametrize("mode", ["md", "mx", "xd"])
def test_ipv4_with_options_passes_by_valid_and_counted(bench: Bench, mode: str, options: Any) -> None:
    bench.set(mode=mode)
    before = bench.switch.passed_by()
    made = Ether(take(flow())[0])
    made[IP].options, made[IP].ihl, made[IP].len, made[IP].chksum = options, None, None, None
    sent = bytes(made)
    assert sent[14] > 0x45
    bench.send(H1, [sent])
    (got,) = bench.receive(S2, 1)
    assert list(untouched([got])) == list(untouched([sent]))
    assert got[22] == sent[22] - 1
    assert sums_up(got)
    assert bench.nothing(MONITOR_PORT)
    assert bench.switch.passed_by() == {**before, "options": before["options"] + 1}


def test_the_checksum_of_ipv4_with_options_carries_as_it_would_be_made_anew(bench: Bench) -> None:
    """RFC 1624 §3: less TTL is more checksum, and above 0xFEFE that carries."""
    bench.set()
    made = Ether(take(flow())[0])
    made[IP].options = IPOption(b"\x94\x04\x00\x00")
    sent = []
    for checksum in (0x0001, 0xFEFE, 0xFEFF, 0xFF00, 0xFFFE):
        made[IP].id, made[IP].ihl, made[IP].len, made[IP].chksum = 0, None, None, None
        # by what the identification grows, the checksum falls
        made[IP].id = (Ether(bytes(made))[IP].chksum - checksum) % 0xFFFF
        sent.append(bytes(made))
        assert Ether(sent[-1])[IP].chksum == checksum
    bench.send(H1, sent)
    got = bench.receive(S2, len(sent))
    for frame in got:
        again = Ether(frame)
        again[IP].chksum = None
        assert bytes(again) == frame


def first_fragment(packet: Any) -> None:
    packet[IP].flags = "MF"


def later_fragment(packet: Any) -> None:
    packet[IP].flags, packet[IP].frag = 0, 8


def udp_checksum(packet: Any) -> None:
    packet[UDP].chksum = 0x1234


def destination_options(packet: Any) -> None:
    packet[IPv6].nh, packet[IPv6].payload = 60, IPv6ExtHdrDestOpt() / packet[UDP]


def fragment_header(packet: Any) -> None:
    packet[IPv6].nh, packet[IPv6].payload = 44, IPv6ExtHdrFragment() / packet[UDP]


@pytest.mark.parametrize(
    ("family", "change", "reason"),
    [
        (IP, first_fragment, "fragment"),
        (IP, later_fragment, "fragment"),
        (IP, udp_checksum, "checksum"),
        (IPv6, udp_checksum, "checksum"),
        (IPv6, destination_options, "extension"),
        (IPv6, fragment_header, "extension"),
    ],
)
def test_what_is_not_looked_into_passes_by_and_is_counted_by_its_reason(bench: Bench, family: Any, change: Any, reason: str) -> None:
    bench.set(mode="md" if family is IP else "ioam")
    before = bench.switch.passed_by()
    made = Ether(take(flow() if family is IP else flow(**SIX))[0])
    change(made)
    if family is IP:
        made[IP].chksum = None
    else:
        made[IPv6].plen = None
    sent = bytes(made)
    bench.send(H1, [sent])
    got = bench.receive(S2, 1)
    assert list(untouched(got)) == list(untouched([sent]))
    assert family is IPv6 or sums_up(got[0])
    assert bench.switch.passed_by() == {**before, reason: before[reason] + 1}


def test_an_ioam_source_inserts_an_option_with_its_own_node(bench: Bench) -> None:
    bench.set(mode="ioam")
    sent = take(flow(**SIX))
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
    bench.send(H1, take(flow(**SIX)))
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
    sent = take(flow(SIX["source"], "2001:db8::a00:102"), 3)
    bench.send(H1, sent)
    assert list(untouched(bench.receive(H2, 3))) == list(untouched(sent))
    bench.receive(MONITOR_PORT, 3)
    bench.send(H1, take(flow(**SIX)))
    carried = bench.receive(S2, 1)[0]
    bench.send(S2, [with_byte(carried[:52] + b"\x01\x02" + carried[54:], TRACE + 80 + 3, 9)])  # as if from node 9 and to h2
    assert len(bench.receive(H2, 1)) == 1
    batch = bench.decode(bench.receive(MONITOR_PORT, 1))
    assert list(batch.hops.node_id) == [9, NODE]
    assert list(batch.hops.ingress_port) == [H1, S2]
    assert (batch.reports.iloc[0].tracked, batch.reports.iloc[0].metadata_bits) == (1, 0)


@pytest.mark.parametrize("mode", ["md", "ioam"])
def test_erspan_mirrors_the_packet_with_all_hops_in_it(bench: Bench, mode: str) -> None:
    bench.set(mode=mode, format="erspan", snap=2000)
    sent = take(flow(destination="10.0.1.2") if mode == "md" else flow(SIX["source"], "2001:db8::a00:102"), 2)
    bench.send(H1, sent)
    assert list(untouched(bench.receive(H2, 2))) == list(untouched(sent))
    batch = bench.decode(bench.receive(MONITOR_PORT, 2))
    assert list(batch.mirrors.session_id) == [ERSPAN_SESSION] * 2
    assert batch.mirrors.sequence.diff().iloc[1] == 1
    assert list(batch.mirrors.truncated) == [0, 0]
    assert list(batch.packets.hop_count) == [1, 1]
    assert list(batch.hops.egress_port) == [H2, H2]
    assert list(batch.roce.psn) == [5, 6]


def either(frames: list[bytes], protocol: int) -> list[bytes]:
    """Those of a monitor's frames whose outer protocol is this."""
    return [frame for frame in frames if frame[23] == protocol]


@pytest.mark.parametrize("mode", ["md", "ioam"])
def test_the_monitor_gets_a_report_and_a_mirrored_packet_of_the_same(bench: Bench, mode: str) -> None:
    bench.set(mode=mode, format="both")
    sent = take(flow(destination="10.0.1.2") if mode == "md" else flow(SIX["source"], "2001:db8::a00:102"), 3)
    bench.send(H1, sent)
    assert list(untouched(bench.receive(H2, 3))) == list(untouched(sent))
    got = bench.receive(MONITOR_PORT, 6)
    assert all(sums_up(frame) for frame in got)
    reports, mirrors = bench.decode(either(got, UDP_PROTOCOL)), bench.decode(either(got, GRE_PROTOCOL))
    assert (len(reports.mirrors), len(mirrors.reports)) == (0, 0)
    assert list(reports.roce.psn) == list(mirrors.roce.psn) == [5, 6, 7]
    assert list(reports.hops.node_id) == list(mirrors.hops.node_id) == [NODE] * 3
    assert list(reports.hops.egress_port) == list(mirrors.hops.egress_port) == [H2] * 3
    # each kind has numbers of its own, without a gap
    assert list(reports.reports.sequence.diff().iloc[1:]) == list(mirrors.mirrors.sequence.diff().iloc[1:]) == [1, 1]


def test_a_drop_is_reported_and_mirrored_too(bench: Bench) -> None:
    bench.set(format="both")
    bench.send(H1, [with_byte(take(flow())[0], 22, 1)])
    got = bench.receive(MONITOR_PORT, 2)
    assert list(bench.decode(either(got, UDP_PROTOCOL)).reports.drop_reason) == [DROP_TTL_ZERO]
    assert list(bench.decode(either(got, GRE_PROTOCOL)).roce.psn) == [5]


def test_a_cut_mirror_says_so(bench: Bench) -> None:
    bench.set(format="erspan", snap=200)
    bench.send(H1, take(flow(destination="10.0.1.2")))
    batch = bench.decode(bench.receive(MONITOR_PORT, 1))
    assert batch.mirrors.iloc[0].truncated == 1
    assert batch.packets.iloc[0].captured_bytes == 14 + 36 + 200


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
