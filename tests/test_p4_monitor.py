"""What the monitor gets from the P4 program on BMv2, and of which packets. Skipped where simple_switch_grpc is not installed."""

from __future__ import annotations

import pytest
from bmv2_bench import H1, H2, NODE, S2, Bench, flow, needs_bmv2, sums_up, take, untouched, with_byte
from mode import other_programs

from int_analyzer.lab.constant import DROP_ROUTE_MISS, DROP_TTL_ZERO, ERSPAN_SESSION
from int_analyzer.lab.entry import MONITOR_PORT

pytestmark = [needs_bmv2, other_programs]

UDP_PROTOCOL, GRE_PROTOCOL = 17, 47


def test_reports_are_numbered_and_cut(bench: Bench) -> None:
    bench.set(snap=128)
    bench.send(H1, take(flow(destination="10.0.1.2"), 5))
    got = bench.receive(MONITOR_PORT, 5)
    numbers = list(bench.decode(got).reports.sequence)
    assert numbers == list(range(numbers[0], numbers[0] + 5))
    assert {len(frame) for frame in got} == {14 + 20 + 8 + 8 + 4 + 8 + 32 + 128}
    assert all(sums_up(frame) for frame in got)


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
        (take(flow(destination="10.0.9.9", six=True))[0], DROP_ROUTE_MISS),
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


@pytest.mark.parametrize(("mode", "six"), [("md", False), ("md", True), ("ioam", True)])
def test_erspan_mirrors_the_packet_with_all_hops_in_it(bench: Bench, mode: str, six: bool) -> None:
    bench.set(mode=mode, format="erspan", snap=2000)
    sent = take(flow(destination="10.0.1.2", six=six), 2)
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


@pytest.mark.parametrize(("mode", "six"), [("md", False), ("md", True), ("ioam", True)])
def test_the_monitor_gets_a_report_and_a_mirrored_packet_of_the_same(bench: Bench, mode: str, six: bool) -> None:
    bench.set(mode=mode, format="both")
    sent = take(flow(destination="10.0.1.2", six=six), 3)
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
