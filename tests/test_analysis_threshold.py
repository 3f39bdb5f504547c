"""Localisation on views by hand: from when a queue is congested, by depth or by latency, and in which unit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mode import unchecked
from test_analysis import BYTES_NS, background, during, named, only, path
from view_factory import MS, START, Hop, Traffic

from int_analyzer.analysis.summarise import summarise
from int_analyzer.profile import Node, PortProfile, Profile, Thresholds, Units

pytestmark = unchecked


def test_congestion_that_never_ends_is_seen_although_it_is_the_queue_s_own_baseline() -> None:
    traffic = Traffic()
    background(traffic)
    traffic.stream(0, 100, 4, lambda _: path(1, 11, 3, 201, host=(45_000, 11_000_000)))
    finding = only(summarise(traffic.view(), BYTES_NS))
    assert (finding.node_id, finding.port_id, finding.cause) == (3, 201, "unknown")
    # The same alone, without a fabric to compare with.
    alone = Traffic()
    alone.stream(0, 100, 4, lambda _: (Hop(3, 201, 45_000, 9_000),))
    assert (only(summarise(alone.view(), BYTES_NS)).node_id, only(summarise(alone.view(), BYTES_NS)).port_id) == (3, 201)


def test_a_queue_that_empties_now_and_then_but_not_for_a_millisecond_has_no_calm_time() -> None:
    traffic = Traffic()
    background(traffic)
    for number in range(1200):
        deep = number % 12 > 1
        traffic.packet(round(number / 12 * MS), *path(1, 11, 3, 201, host=(50_000, 10_000) if deep else (0, 10)))
    finding = only(summarise(traffic.view(), BYTES_NS))
    assert (finding.node_id, finding.port_id, finding.role) == (3, 201, "root")


@pytest.mark.parametrize(("length", "found"), [(3, True), (20, False)])
def test_in_a_capture_of_a_few_milliseconds_a_queue_that_is_deep_in_all_of_them_is_congested(length: int, found: bool) -> None:
    traffic = Traffic()
    background(traffic, until_ms=length, per_ms=20)
    deep = during(0, 3, (20_000, 8_000))
    traffic.stream(0, length, 20, lambda at: path(1, 11, 3, 201, host=deep(at)))
    assert named(summarise(traffic.view(), BYTES_NS)) == ([(3, 201, "root")] if found else [])


def test_a_standing_queue_that_the_whole_fabric_has_is_not_congestion() -> None:
    traffic = Traffic()
    for number in range(6):
        traffic.stream(0, 50, 2, lambda at, n=number: (Hop(n, 1, 20_000 + int(at) % 5 * 1000, 100),), flow=("a", "b", number))
    assert summarise(traffic.view(), BYTES_NS).findings == []


def test_bursts_that_are_usual_in_the_fabric_are_not_congestion() -> None:
    traffic = Traffic()
    for number in range(8):
        traffic.stream(0, 100, 8, lambda at, n=number: (Hop(n, 1, 60_000 if (int(at) + n) % 3 == 0 and at % 1 < 0.5 else 0, 100),))
    assert summarise(traffic.view(), BYTES_NS).findings == []


def test_a_burst_of_less_than_a_millisecond_is_found_in_a_calm_fabric() -> None:
    traffic = Traffic()
    background(traffic)
    for number in range(300):
        traffic.packet(round((50.2 + number / 1000) * MS), *path(1, 11, 3, 201, host=(min(number, 300 - number) * 900, 500)))
    finding = only(summarise(traffic.view(), BYTES_NS))
    assert (finding.node_id, finding.port_id, finding.episodes) == (3, 201, 1)
    assert finding.peak_depth_ns == START + round(50.35 * MS)


def bursts(per_burst: int) -> Traffic:
    """Port 201 of leaf 3 is empty but for three bursts of a third of a millisecond, each of which fills it."""
    traffic = Traffic()
    background(traffic)
    for begin, most in ((20, 50_000), (50, 120_000), (80, 70_000)):
        for number in range(per_burst):
            part = number / per_burst
            traffic.packet(round((begin + part / 3) * MS), *path(1, 11, 3, 201, host=(round(part * most), 10 + round(part * most / 5))))
    return traffic


def test_the_calm_time_of_a_port_that_gets_nothing_but_bursts_is_that_without_packets() -> None:
    finding = only(summarise(bursts(per_burst=120).view(), BYTES_NS))
    assert (finding.node_id, finding.port_id, finding.role) == (3, 201, "root")
    assert not any("latency does not rise" in sentence for sentence in finding.evidence)


def test_of_a_port_of_which_a_packet_is_seen_now_and_then_nobody_knows_that_it_was_empty() -> None:
    assert summarise(bursts(per_burst=8).view(), BYTES_NS).findings == []


def test_too_few_packets_above_the_threshold_are_no_episode() -> None:
    traffic = Traffic()
    background(traffic)
    fill = during(50, 51, (60_000, 900))
    traffic.stream(0, 100, 4, lambda at: path(1, 11, 3, 201, host=fill(at)))
    assert summarise(traffic.view(), BYTES_NS).findings == []
    low = Profile(units=BYTES_NS.units, thresholds=Thresholds(minimum_packets=4))
    assert named(summarise(traffic.view(), low)) == [(3, 201, "root")]


def test_a_short_low_episode_counts_only_below_a_threshold_of_the_profile() -> None:
    traffic = Traffic()
    background(traffic)
    fill = during(50, 52, (12_000, 900))
    traffic.stream(0, 100, 4, lambda at: path(1, 11, 3, 201, host=fill(at)))
    assert summarise(traffic.view(), BYTES_NS).findings == []
    given = Profile(units=BYTES_NS.units, thresholds=Thresholds(depth_bytes=10_000))
    assert named(summarise(traffic.view(), given)) == [(3, 201, "root")]


def latency_only(latency: Callable[[float], int], contradicted: bool = False) -> Traffic:
    traffic = Traffic()
    for port in (1, 2):
        traffic.stream(0, 100, 2, lambda _, port=port: (Hop(7, port, None, 50),), flow=("a", "b", port))
    traffic.stream(0, 100, 2, lambda at: (Hop(7, 3, None, latency(at), contradicted=contradicted),), flow=("a", "c", 3))
    return traffic


def test_latency_alone_is_believed_when_it_lasts() -> None:
    finding = only(summarise(latency_only(lambda at: 900 if 40 <= at < 60 else 50).view()))
    assert (finding.node_id, finding.port_id, finding.depth_unit, finding.peak_depth) == (7, 3, "raw", None)
    assert (finding.peak_latency, finding.latency_unit) == (900, "raw")
    assert finding.confidence < 0.75


@pytest.mark.parametrize(
    "latency",
    [
        lambda at: 2000 if int(at) % 10 < 3 else 50,
        lambda at: 5000 if at % 2 == 0 else 60,
        lambda at: 200 if 40 <= at < 60 else 50,
    ],
    ids=["short bursts of a scheduler", "single slow packets", "a little slower"],
)
def test_latency_noise_gives_nothing(latency: Callable[[float], int]) -> None:
    assert summarise(latency_only(latency).view()).findings == []


def test_latency_says_nothing_about_a_node_whose_depth_works_and_is_zero() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 2, lambda _: (Hop(7, 1, 3, 50),), flow=("a", "b", 1))
    traffic.stream(0, 100, 2, lambda at: (Hop(7, 3, 0, 900 if 40 <= at < 60 else 50),), flow=("a", "c", 3))
    assert summarise(traffic.view()).findings == []


def test_latency_that_contradicts_its_own_timestamps_is_left_out_and_said() -> None:
    summary = summarise(latency_only(lambda at: 10_000_000 + int(at) * 1000, contradicted=True).view())
    assert summary.findings == []
    assert summary.quality is not None
    assert any("node 7 port 3" in note and "100 %" in note for note in summary.quality.assumptions)
    queue = next(queue for queue in summary.queues if queue.at.port_id == 3)
    assert queue.latency.p50 is None and "contradicts" in queue.latency.why_absent


@pytest.mark.parametrize(
    ("calm", "hot", "formats", "words", "unit"),
    [
        (1, 60, "int-md-2.x", "values up to 60 look like packets; threshold 8", "raw"),
        (5, 40_000, "int-md-2.x", "values up to 40 000 look like cells; threshold 100", "raw"),
        (1_500, 40_000, "int-md-2.x", "values up to 40 000 look like bytes; threshold 9000", "raw"),
        (294, 40_000, "ioam-trace", "taken as bytes", "bytes"),
    ],
)
def test_an_unknown_unit_is_judged_by_its_values_and_said(calm: int, hot: int, formats: str, words: str, unit: str) -> None:
    traffic = Traffic(formats={formats: 1})
    traffic.stream(0, 100, 2, lambda at: (Hop(1, 1, calm if at < 30 else hot if at < 60 else 0, None),))
    summary = summarise(traffic.view())
    finding = only(summary)
    assert finding.start_ns == START + 30 * MS
    assert (finding.peak_depth, finding.depth_unit) == (hot, unit)
    assert any(words in note for note in summary.quality.assumptions)  # type: ignore[union-attr]
    assert any("is a guess" in sentence for sentence in finding.evidence)


def test_units_of_the_profile_turn_cells_and_microseconds_into_bytes_and_ns() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda at: (Hop(1, 1, 500 if 40 <= at < 60 else 1, 30 if 40 <= at < 60 else 1),))
    profile = Profile(
        units=Units(queue_depth="cells", cell_bytes=80, hop_latency="us"), nodes={1: Node("tor", ports={1: PortProfile("up")})}
    )
    finding = only(summarise(traffic.view(), profile))
    assert (finding.node, finding.port) == ("tor", "up")
    assert (finding.peak_depth, finding.depth_unit, finding.peak_latency, finding.latency_unit) == (40_000, "bytes", 30_000, "ns")


def test_the_profile_s_raw_threshold_is_used() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda at: (Hop(1, 1, 6 if at > 50 else 1, None),))
    assert summarise(traffic.view()).findings == []
    assert named(summarise(traffic.view(), Profile(thresholds=Thresholds(depth_raw=5)))) == [(1, 1, "root")]
