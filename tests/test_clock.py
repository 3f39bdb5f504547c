"""Clocks: simulated traffic between nodes whose clocks are known, through the fold, against what the analysis says of them."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from fold_reference import MS, START, Hop, Packet, folded
from hypothesis import given, settings
from hypothesis import strategies as st

from int_analyzer.analysis.clocks.band import Points, fit_bands, one_way_drift
from int_analyzer.analysis.clocks.clock import NO_LINE, NO_TIMES, NO_WAY_BACK, OTHER_UNIT, UNEVEN, UNIT_UNKNOWN
from int_analyzer.analysis.paths import build_graph
from int_analyzer.analysis.summarise import summarise
from int_analyzer.analysis.summary import Clock, Summary
from int_analyzer.profile import Node, Profile, Units
from int_analyzer.report.terminal import print_report

US = 1_000
NS_UNITS = Profile(units=Units(time="ns", hop_latency="ns", queue_depth="packets"))
WAY = 800
"""ns on a link, both ways."""


@dataclass(frozen=True)
class Ticking:
    """A node's clock: ns since its own zero, at a capture time; it counts in `unit` ns and modulo 2^`bits`, and is set once or more."""

    offset: float = 0
    ppm: float = 0
    steps: tuple[tuple[float, float], ...] = ()
    bits: int = 64
    unit: int = 1
    zero: int = 1 << 50

    def ahead(self, at: float) -> float:
        """How much it is ahead of true time, `at` ns after the start."""
        return self.offset + self.ppm * 1e-6 * at + sum(by for when, by in self.steps if at >= when)

    def read(self, at: float) -> int:
        return (round(at + self.zero + self.ahead(at)) // self.unit) % (1 << self.bits)


def traffic(
    clocks: dict[int, Ticking],
    routes: Sequence[Sequence[int]],
    seconds: float = 10,
    count: int = 1500,
    jitter: float = 5 * US,
    seed: int = 1,
) -> list[Packet]:
    """Packets over each route at random times, their queueing exponential."""
    dice = np.random.default_rng(seed)
    packets = []
    for flow, route in enumerate(routes, start=1):
        for begin in dice.random(count) * seconds * 1e9:
            at, hops = float(begin), []
            for node in route:
                arrived = at
                at += 500 + float(dice.exponential(200))
                clock = clocks[node]
                hops.append(
                    Hop(
                        node,
                        port=1,
                        ingress=2,
                        latency=at - arrived > 0 and round(at - arrived),
                        begin=clock.read(arrived),
                        end=clock.read(at),
                    )
                )
                # Behind the egress timestamp the packet may still wait.
                at += WAY + float(dice.exponential(jitter))
            packets.append(Packet(START + round(begin), tuple(hops), flow=flow))
    return sorted(packets, key=lambda packet: packet.time)


def summary_of(packets: Sequence[Packet], profile: Profile = NS_UNITS) -> Summary:
    return summarise(folded(packets, compiled=True).view(), profile)


def clocks_of(summary: Summary) -> dict[int, Clock]:
    return {clock.node_id: clock for clock in summary.clocks}


def check(summary: Summary, truth: dict[int, Ticking], within: float = 2 * US, ppm: float = 1) -> None:
    """Every clock is as it was made, within its own error and within what is asked for."""
    found = clocks_of(summary)
    reference = next(node for node, clock in found.items() if clock.how == "reference")
    for node, clock in found.items():
        assert clock.at_ns is not None and clock.offset is not None and clock.error is not None and clock.drift_ppm is not None
        at = clock.at_ns - START
        is_ahead = truth[node].ahead(at) - truth[reference].ahead(at)
        assert abs(clock.offset - is_ahead) <= min(within, clock.error + 1)
        assert abs(clock.drift_ppm - (truth[node].ppm - truth[reference].ppm)) < ppm


BOTH_WAYS = [(1, 2), (2, 1)]


@pytest.mark.parametrize("offset", [50 * MS, -50 * MS, 0])
@pytest.mark.parametrize("ppm", [20, -20])
def test_offset_and_drift_are_found_where_both_directions_are_seen(offset: float, ppm: float) -> None:
    truth = {1: Ticking(), 2: Ticking(offset, ppm)}
    summary = summary_of(traffic(truth, BOTH_WAYS))
    check(summary, truth)
    assert {clock.how for clock in summary.clocks} == {"reference", "both directions"}
    assert all(clock.step is None for clock in summary.clocks)


@pytest.mark.parametrize("bits", [32, 48])
def test_offset_and_drift_survive_times_that_begin_anew(bits: int) -> None:
    zero = (1 << bits) - 3_000_000_000
    truth = {1: Ticking(bits=bits, zero=zero), 2: Ticking(40 * MS, 20, bits=bits, zero=zero)}
    check(summary_of(traffic(truth, BOTH_WAYS)), truth)


def test_offsets_add_up_over_a_fabric_with_their_errors() -> None:
    truth = {1: Ticking(), 2: Ticking(3 * MS, 5), 3: Ticking(-50 * MS, -15), 4: Ticking(20 * MS, 20), 5: Ticking(-7 * MS)}
    summary = summary_of(traffic(truth, [(1, 2, 4), (4, 2, 1), (1, 3, 5), (5, 3, 1), (4, 3, 5)], count=900))
    check(summary, truth, within=5 * US)
    errors = {node: clock.error for node, clock in clocks_of(summary).items()}
    assert min(errors.values(), key=lambda error: error or 0) == 0
    assert all(error is not None and error < 6 * US for error in errors.values())


def test_microseconds_are_scaled_and_an_unknown_unit_stays_raw() -> None:
    truth = {1: Ticking(unit=1000), 2: Ticking(50 * MS, 20, unit=1000)}
    packets = traffic(truth, BOTH_WAYS)
    found = clocks_of(summary_of(packets, Profile(units=Units(time="us"))))
    assert found[2].offset == pytest.approx(50 * MS + 100 * US, abs=5 * US)
    assert found[2].drift_ppm == pytest.approx(20, abs=1)
    raw = clocks_of(summary_of(packets, Profile()))
    assert raw[2].offset == pytest.approx(50_100, abs=5)
    assert (raw[2].unit, raw[2].drift_ppm, raw[2].reason) == ("raw", None, UNIT_UNKNOWN)


def test_nodes_that_count_in_different_units_are_not_compared() -> None:
    truth = {1: Ticking(), 2: Ticking(unit=1000)}
    profile = Profile(nodes={1: Node(units=Units(time="ns")), 2: Node(units=Units(time="us"))})
    summary = summary_of(traffic(truth, BOTH_WAYS, count=50), profile)
    assert {(clock.how, clock.reason, clock.offset) for clock in summary.clocks} == {("unknown", OTHER_UNIT, None)}


def test_one_direction_gives_a_drift_and_no_offset() -> None:
    truth = {1: Ticking(), 2: Ticking(50 * MS, 20), 3: Ticking(-9 * MS, -10)}
    summary = summary_of(traffic(truth, [(1, 2, 3)], count=3000, jitter=2 * US))
    found = clocks_of(summary)
    assert {node: (clock.how, clock.offset) for node, clock in found.items() if clock.how != "reference"} == {
        1: ("one direction", None),
        3: ("one direction", None),
    }
    assert found[1].drift_ppm == pytest.approx(-20, abs=1)
    assert found[3].drift_ppm == pytest.approx(-30, abs=1)
    assert found[1].reason == NO_WAY_BACK
    assert all(link.link_latency is None for link in summary.links)


@pytest.mark.parametrize("by", [3 * MS, -3 * MS, 40 * US, -40 * US])
def test_a_clock_that_is_set_is_noticed_and_not_averaged_away(by: float) -> None:
    truth = {1: Ticking(), 2: Ticking(1 * MS, 5), 3: Ticking(50 * MS, 20, steps=((6e9, by),)), 4: Ticking(-2 * MS)}
    routes = [(a, b) for a in truth for b in truth if a != b]
    summary = summary_of(traffic(truth, routes, count=800))
    found = clocks_of(summary)
    assert {node for node, clock in found.items() if clock.step is not None} == {3}
    step, at = found[3].step, found[3].step_ns
    assert step == pytest.approx(by, abs=3 * US) and at is not None and abs(at - START - 6e9) < 700 * MS
    reference = next(node for node, clock in found.items() if clock.how == "reference")
    middle = (found[3].at_ns or 0) - START
    after = 50 * MS + 20e-6 * middle + by - truth[reference].ahead(middle)
    assert found[3].offset == pytest.approx(after, abs=2 * US)


def test_a_step_in_one_direction_spoils_the_drift_and_is_not_shown_as_one() -> None:
    truth = {1: Ticking(), 2: Ticking(0, 20, steps=((5e9, 2 * MS),))}
    found = clocks_of(summary_of(traffic(truth, [(1, 2)], count=3000, jitter=2 * US)))
    assert {(clock.drift_ppm, clock.reason) for clock in found.values() if clock.how == "one direction"} == {(None, NO_LINE)}


def test_a_clock_that_is_set_again_and_again_is_not_known() -> None:
    truth = {1: Ticking(), 2: Ticking(0, 0, steps=((2e9, 5 * MS), (5e9, -9 * MS), (8e9, 2 * MS)))}
    summary = summary_of(traffic(truth, BOTH_WAYS))
    assert {(clock.how, clock.reason) for clock in summary.clocks} == {("unknown", UNEVEN)}


def test_without_times_every_clock_is_unknown_and_says_why() -> None:
    packets = [Packet(START + at * MS, (Hop(1, latency=5), Hop(2, latency=6))) for at in range(50)]
    summary = summary_of(packets)
    assert {(clock.node_id, clock.how, clock.reason) for clock in summary.clocks} == {(1, "unknown", NO_TIMES), (2, "unknown", NO_TIMES)}
    assert summary.quality is not None and summary.quality.clock_faults == 0
    assert summarise(folded([]).view(), NS_UNITS).clocks == []


def test_without_capture_times_there_is_nothing_to_draw_a_line_through() -> None:
    packets = [Packet(0, packet.hops) for packet in traffic({1: Ticking(), 2: Ticking()}, BOTH_WAYS, count=50)]
    assert {clock.how for clock in summary_of(packets).clocks} == {"unknown"}


def test_link_latency_is_freed_of_the_clocks_and_stands_on_links_and_edges() -> None:
    truth = {1: Ticking(), 2: Ticking(50 * MS, 20), 3: Ticking(-30 * MS, -5)}
    summary = summary_of(traffic(truth, [(1, 2, 3), (3, 2, 1)]))
    inner = [link for link in summary.links if link.to_node_id is not None]
    assert len(inner) == 4
    for link in inner:
        latency = link.link_latency
        assert latency is not None and latency.mean is not None
        assert abs(latency.lowest - WAY) <= latency.error + 50 and latency.error < 2 * US
        assert latency.mean == pytest.approx(WAY + 5 * US, abs=US)
        assert (latency.unit, latency.packets) == ("ns", 1500)
    edges = [data for _, _, data in build_graph(summary, NS_UNITS).edges(data=True) if "link_latency_lowest" in data]
    assert {edge["link_latency_lowest"] for edge in edges} == {link.link_latency.lowest for link in inner if link.link_latency}


def test_a_link_seen_in_one_direction_has_a_latency_by_way_of_a_third_node() -> None:
    truth = {1: Ticking(), 2: Ticking(50 * MS, 20), 3: Ticking(-30 * MS, -5)}
    summary = summary_of(traffic(truth, [(1, 2), (2, 1), (2, 3), (3, 2), (1, 3)]))
    inner = {(link.source.node_id, link.to_node_id): link.link_latency for link in summary.links if link.to_node_id is not None}
    direct, by_way = inner[1, 2], inner[1, 3]
    assert direct is not None and by_way is not None
    assert abs(by_way.lowest - WAY) <= by_way.error + 50 and direct.error < by_way.error < 4 * US


def test_packets_that_come_before_they_were_sent_are_faults_of_clocks_and_no_finding() -> None:
    truth = {1: Ticking(), 2: Ticking(0, 0, steps=((7e9, 30 * MS),))}
    summary = summary_of(traffic(truth, BOTH_WAYS, count=3000))
    assert summary.quality is not None and summary.quality.clock_faults > 5
    assert summary.findings == []
    steady = summary_of(traffic({1: Ticking(), 2: Ticking(9 * MS, 9)}, BOTH_WAYS))
    assert steady.quality is not None and steady.quality.clock_faults == 0


@pytest.mark.parametrize("turned", [1, 2, 3])
def test_a_clock_is_the_same_in_whatever_order_the_states_were_merged(turned: int) -> None:
    truth = {1: Ticking(), 2: Ticking(50 * MS, 20)}
    packets = traffic(truth, BOTH_WAYS, count=800)
    pieces = [folded(packets[begin::4]) for begin in range(4)]
    state = pieces[turned].copy()
    for piece in pieces[turned + 1 :] + pieces[:turned]:
        state.merge(piece)
    assert clocks_of(summarise(state.view(), NS_UNITS))[2].offset == pytest.approx(clocks_of(summary_of(packets))[2].offset, abs=1)


def test_the_report_says_which_clock_is_off_and_which_was_set() -> None:
    truth = {1: Ticking(), 2: Ticking(1 * MS, 5), 3: Ticking(50 * MS, 20, steps=((6e9, 3 * MS),))}
    text = reported(summary_of(traffic(truth, [(1, 2), (2, 1), (2, 3), (3, 2), (1, 3), (3, 1)], count=600)))
    clocks = text[text.index("Clocks") : text.index("Read")]
    assert re.search(r"node 3 +5[0-9.]+ ms ± [0-9.]+ µs +[0-9.]+ ± [0-9.]+ +both directions, set by 3.00 ms at ", clocks)
    assert re.search(r"node 1 .* reference|node 2 .* reference", clocks)
    assert "windows of links packets come before they were sent" in clocks


def test_a_report_without_a_known_clock_says_nothing_of_clocks() -> None:
    assert "Clocks" not in reported(summary_of([Packet(START + at * MS, (Hop(1, latency=5), Hop(2))) for at in range(50)]))
    unsteady = {1: Ticking(), 2: Ticking(0, 0, steps=((5e9, 2 * MS),))}
    assert "Clocks" not in reported(summary_of(traffic(unsteady, [(1, 2)], count=600)))


def reported(summary: Summary) -> str:
    """The report as it is where nothing wraps."""
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "120")
        print_report(summary, stream)
    return stream.getvalue()


# -------------------------------------------------------------------------------------------------------------------- bands


def envelopes(ahead: Callable[[float], float], seed: int, slots: int = 24, jitter: float = 3 * US) -> tuple[Points, Points]:
    """Envelopes of both directions over 10 s."""
    dice = np.random.default_rng(seed)

    def envelope(sign: int) -> Points:
        time = (np.arange(slots) + dice.random(slots)) * 10e9 / slots
        return Points(time, np.array([sign * ahead(at) + WAY for at in time]) + dice.exponential(jitter, slots))

    return envelope(1), envelope(-1)


@given(st.floats(-1e8, 1e8), st.floats(-100, 100), st.integers(0, 10_000), st.integers(3, 40))
@settings(max_examples=150, deadline=None)
def test_the_true_clock_lies_in_the_band(offset: float, ppm: float, seed: int, slots: int) -> None:
    (band,) = fit_bands([envelopes(lambda at: offset + ppm * 1e-6 * at, seed, slots)])
    assert band is not None and band.step is None
    assert abs(band.at(band.centre) - offset - ppm * 1e-6 * band.centre) <= band.error + 1
    if band.drift_error is not None:
        assert abs(band.drift - ppm * 1e-6) <= band.drift_error + 1e-11


def test_a_moment_is_too_short_for_a_drift() -> None:
    points = Points(np.array([1e6, 2e6]), np.array([900.0, 1000.0]))
    (band,) = fit_bands([(points, points)])
    assert band is not None and band.drift_error is None and band.drift == 0


def test_few_points_have_no_one_way_drift() -> None:
    assert one_way_drift(Points(np.arange(5) * 1e9, np.arange(5) * 1e4)) is None
    assert one_way_drift(Points(np.arange(20) * 1e9, np.arange(20) * 1e4)) == pytest.approx(1e-5)
    assert one_way_drift(Points(np.arange(20) * 1e9, np.arange(20) * 1e7)) is None
