"""What must be found, and what must not be claimed, where the numbers are ambiguous, missing, or high everywhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from mode import unchecked
from view_factory import MS, Hop, Traffic

from int_analyzer.analysis.paths import build_graph
from int_analyzer.analysis.quality import telemetry_share
from int_analyzer.analysis.summarise import summarise
from int_analyzer.analysis.summary import Finding, Summary
from int_analyzer.analysis.wording import plain
from int_analyzer.profile import Profile, Units
from int_analyzer.report.terminal import verdict

pytestmark = unchecked

BYTES_NS = Profile(units=Units(queue_depth="bytes", hop_latency="ns"))


def three(depth: int, latency: int | None, node: int = 2) -> tuple[Hop, ...]:
    """A queue between two calm ones."""
    return (
        Hop(1, 3, 0, 50 if latency is not None else None),
        Hop(node, 2, depth, latency),
        Hop(3, 1, 0, 50 if latency is not None else None),
    )


def only(summary: Summary) -> Finding:
    assert len(summary.findings) == 1, summary.findings
    return summary.findings[0]


def said(summary: Summary) -> str:
    assert summary.quality is not None
    return " | ".join([*summary.quality.trust_reasons, *summary.quality.assumptions, *(e for f in summary.findings for e in f.evidence)])


@pytest.mark.parametrize(("calm", "begin"), [(0, 40), (70, 0)], ids=["a burst from nothing", "full from the start"])
def test_a_depth_that_jumps_from_0_to_70_packets_is_not_called_bytes_and_passed_over(calm: int, begin: float) -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda at: three(70 + int(at) % 9, 395_000) if begin <= at < 80 or calm else three(0, 43))
    summary = summarise(traffic.view())
    assert only(summary).node_id == 2
    assert "may be packets or bytes (ambiguous)" in said(summary)
    assert "threshold 8" in said(summary)


def test_bytes_of_a_few_frames_in_an_unknown_unit_are_no_congestion() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda at: three(int(at) % 4 * 1500, 500 + int(at) % 4 * 120))
    assert summarise(traffic.view()).findings == []


def test_an_ambiguous_depth_is_trusted_the_more_the_longer_packets_wait() -> None:
    confidences = []
    for latency in (500, 50_000):
        traffic = Traffic()
        traffic.stream(0, 100, 4, lambda at, latency=latency: three(70, latency) if 40 <= at < 80 else three(0, 50))
        confidences.append(only(summarise(traffic.view())).confidence)
    assert confidences[0] < 0.75 * confidences[1]


def test_an_ambiguous_depth_without_any_latency_is_found_with_little_confidence() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda at: three(70 if 40 <= at < 80 else 0, None))
    summary = summarise(traffic.view())
    assert only(summary).confidence < 0.6
    assert "no latency confirms" in said(summary)


def storm(latency: Callable[[int], int]) -> Traffic:
    """Six of eight queues go from 1 to 200 at 10 ms and stay there."""
    traffic = Traffic()
    for number in range(8):
        traffic.stream(
            0, 100, 2, lambda at, n=number: (Hop(n, 1, depth := 200 if at >= 15 and n < 6 else 1, latency(depth)),), flow=("a", "b", number)
        )
    return traffic


def test_congestion_of_most_of_the_fabric_is_not_taken_for_what_is_usual() -> None:
    summary = summarise(storm(lambda depth: 50 + 100 * depth).view())
    assert {finding.node_id for finding in summary.findings} == set(range(6))


def test_latency_that_stays_high_in_most_of_the_fabric_is_not_taken_for_what_is_usual() -> None:
    traffic = Traffic()
    for number in range(8):
        traffic.stream(0, 100, 2, lambda at, n=number: (Hop(n, 1, None, 9000 if at >= 15 and n < 6 else 50),), flow=("a", "b", number))
    assert {finding.node_id for finding in summarise(traffic.view()).findings} == set(range(6))


def test_a_constant_depth_at_which_nobody_waits_is_no_finding() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 2, lambda _: three(50, 50))
    summary = summarise(traffic.view())
    assert summary.findings == []
    assert "node 2 port 2: depth up to 50, but hop latency does not rise with it: not taken for congestion" in said(summary)
    assert summarise(storm(lambda _: 50).view()).findings == []


def test_depth_in_bytes_at_which_latency_does_not_rise_is_doubted() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda at: three(60_000 if 40 <= at < 80 else 0, 500))
    summary = summarise(traffic.view(), BYTES_NS)
    assert only(summary).confidence < 0.5
    assert "latency does not rise" in said(summary)


def test_a_queue_that_is_always_full_is_found_without_claiming_a_calm_time() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda at: three(62 + int(at) % 3, 6400))
    summary = summarise(traffic.view())
    assert only(summary).node_id == 2 and only(summary).impact > 0
    assert "threshold 8, no calm time" in said(summary)
    alone = Traffic()
    alone.stream(0, 100, 4, lambda at: (Hop(2, 2, 62 + int(at) % 3, None),))
    assert only(summarise(alone.view())).confidence < 0.6


def test_without_capture_times_nothing_is_called_calm() -> None:
    traffic = Traffic()
    for number in range(200):
        traffic.packet(0, *three(80 if number % 3 else 1, 8000))
    summary = summarise(traffic.view())
    assert summary.findings == [] and summary.quality is not None
    assert summary.quality.trust == "none"
    assert verdict(summary).startswith("CANNOT JUDGE  no capture times: congestion cannot be judged in time; over the whole capture node 2")
    calm = Traffic()
    for _ in range(200):
        calm.packet(0, *three(0, 50))
    assert verdict(summarise(calm.view())).startswith("CANNOT JUDGE")


def test_hops_without_a_capture_time_among_others_lower_trust() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda _: three(0, 50))
    view = traffic.view()
    view.buckets.packets[::2] = 0
    summary = summarise(view)
    assert summary.quality is not None and summary.quality.trust == "low"
    assert "50 % of the hops have no capture time" in said(summary)


def test_hops_without_a_node_id_are_no_siblings_and_leave_half_of_the_confidence() -> None:
    traffic = Traffic()
    for port in (2, 3):
        traffic.stream(
            0,
            100,
            4,
            lambda at, port=port: (Hop(-1, port, 90 if port == 2 and 40 <= at < 80 else 0, 9000 if 40 <= at < 80 else 50), Hop(-1, 1)),
        )
    summary = summarise(traffic.view())
    finding = only(summary)
    assert finding.node_id is None and finding.port_id == 2 and finding.confidence <= 0.5
    assert "node id missing" in said(summary) and "have no node id" in said(summary) and "sibling" not in said(summary)
    edge = build_graph(summary).get_edge_data(-1, -1)[0]
    assert edge["finding"] == finding.id


def test_episodes_are_summed_up_and_compared_with_the_time_between_them() -> None:
    traffic = Traffic()
    traffic.stream(0, 200, 1, lambda _: three(0, 50))
    for begin in range(2, 200, 10):
        traffic.stream(begin, begin + 2, 20, lambda _: three(60, 5000), flow=("a", "b", 7))
    summary = summarise(traffic.view())
    assert only(summary).episodes == 20
    assert "in 20 episodes, 40 ms in all, within 191.95 ms from +0.002000 s" in said(summary)
    assert "(× 21)" in said(summary) and "no calm time" not in said(summary)


def test_a_stray_time_and_an_empty_gap_are_no_calm_time() -> None:
    traffic = Traffic()
    traffic.packet(-1_000_000_000 * MS, *three(0, 50))
    traffic.stream(0, 200, 4, lambda at: three(80, 8000) if 100 <= at < 150 else three(0, 50))
    summary = summarise(traffic.view())
    assert only(summary).cause == "unknown"
    assert "at +0.100000 s" in said(summary) and "(× 1)" in said(summary)


def test_a_victim_by_its_unrisen_load_only_may_be_one() -> None:
    traffic = Traffic()
    for number, (port, host) in enumerate(((2, 1), (3, 1), (3, 1))):
        traffic.stream(
            0,
            100,
            2,
            lambda at, port=port, host=host: (
                Hop(1, 9, 60 if 40 <= at < 80 else 0, 6000 if 40 <= at < 80 else 50),
                Hop(2, port, 80 if port == 2 and 40 <= at < 80 else 0, 8000 if port == 2 and 40 <= at < 80 else 50),
                Hop(3, host, 0, 50),
            ),
            flow=("a", "b", number),
        )
    summary = summarise(traffic.view())
    assert [finding.role for finding in summary.findings] == ["root", "victim"]
    assert "it may be held up as a whole" in said(summary)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(20_000, 3, "20 000"), (550, 2, "550"), (4.1e4, 4, "41 000"), (0.97, 2, "0.97"), (3.14159, 3, "3.14"), (0, 3, "0")]
    + [
        (1.7e9, 2, "1 700 000 000"),
        (999.9, 3, "1000"),
        (10.0, 3, "10"),
        (5.929e-7, 3, "0.000000593"),
        (float("inf"), 2, "∞"),
        (9000, 3, "9000"),
    ],
)
def test_numbers_in_sentences_have_no_exponent(value: float, digits: int, text: str) -> None:
    assert plain(value, digits) == text


def test_a_depth_of_zero_that_a_profile_knows_the_unit_of_is_measured_and_refutes_a_late_packet() -> None:
    def traffic() -> Traffic:
        """A slow link in front of node 2 makes its packets late, though its queue is empty; node 3 is as fast as ever."""
        made = Traffic()
        made.stream(0, 100, 4, lambda at: (Hop(2, 2, 0, 15_000 if 30 <= at < 60 else 1_000), Hop(3, 3, 0, 1_000)))
        return made

    assert [finding.node_id for finding in summarise(traffic().view(), Profile(units=Units(hop_latency="ns"))).findings] == [2]
    assert summarise(traffic().view(), BYTES_NS).findings == []


def test_what_is_sampled_or_lost_is_no_other_traffic() -> None:
    def seen(**counts: int) -> list[str]:
        traffic = Traffic(counts=counts)
        traffic.stream(0, 100, 4, lambda at: (Hop(1, 5, 60_000 * (40 <= at < 80), 300_000 * (40 <= at < 80) + 1), Hop(2, 9)))
        return [flow.src for flow in only(summarise(traffic.view(), BYTES_NS)).culprits]

    assert seen() == []
    assert seen(roce_packets=40_000, roce_with_telemetry=400) == ["10.0.0.1"]


@pytest.mark.parametrize(
    ("counts", "share"),
    [
        ({"roce_packets": 100, "roce_with_telemetry": 10}, 0.1),
        ({"roce_packets": 100, "roce_with_telemetry": 0}, 0.75),
        ({}, 0.75),
    ],
)
def test_the_share_with_telemetry_is_of_roce_if_that_has_any_else_of_the_flows_that_do(counts: dict[str, int], share: float) -> None:
    traffic = Traffic(counts=counts)
    traffic.stream(0, 30, 1, lambda _: (Hop(1, 1, 0, 1000),))
    traffic.stream(0, 10, 1, lambda _: ())
    traffic.stream(0, 50, 1, lambda _: (), flow=("10.0.0.8", "10.0.0.9", 7))
    assert telemetry_share(traffic.view()) == share


def test_without_a_flow_that_carries_telemetry_its_share_is_not_known_and_that_is_said() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda at: (Hop(1, 2, 60_000 if 40 <= at < 80 else 0, 1000),))
    view = traffic.view()
    view = dataclasses.replace(view, flows=dataclasses.replace(view.flows, telemetry_packets=0 * view.flows.packets))
    assert telemetry_share(view) is None
    assert "no flow carries telemetry: how much of what congested ports sent was seen is not known" in said(summarise(view, BYTES_NS))
