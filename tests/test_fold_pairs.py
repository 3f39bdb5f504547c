"""Pairs by slots of time, and the culprits of an episode that are made of them; what counts as the bytes of a packet."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from fold_reference import MS, START, Hop, Packet, fill, folded, merged

from int_analyzer.analysis.congestion import DEPTH, Congestion, Episode
from int_analyzer.analysis.shares import culprits, victims
from int_analyzer.analysis.summarise import summarise
from int_analyzer.fold.state import Capacity
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile


def packet(at: int, flow: int, depth: int, size: int = 1000) -> Packet:
    return Packet(START + at * MS, (Hop(depth=depth),), flow=flow, size=size)


def congested(view: View, *episodes: tuple[int, int]) -> Congestion:
    """Congestion of the only queue in these episodes (ms)."""
    spans = tuple(Episode(START + begin * MS, START + end * MS, 1, 100, START + begin * MS) for begin, end in episodes)
    return Congestion(0, DEPTH, 0.0, 8.0, False, spans, np.arange(len(view.buckets.queue)))


def of(view: View, *episodes: tuple[int, int]) -> list[tuple[str, int, int]]:
    return [(entry.src, entry.packets, entry.bytes) for entry in culprits(view, Profile(), congested(view, *episodes))]


CALM = [packet(at, 1, 0) for at in range(200)]
MODERATE = [packet(at, 1, 7) for at in range(200, 2000)]
BURST = [packet(6000 + at, 2, 100) for at in range(100)]
AFTER = [packet(6200 + at, 1, 7) for at in range(100)]


def test_who_was_there_at_another_time_is_no_culprit() -> None:
    view = folded([*CALM, *MODERATE, *BURST, *AFTER]).view()
    assert of(view, (6000, 6100)) == [("10.0.0.2", 100, 100_000)]
    assert [entry.src for entry in victims(view, Profile(), congested(view, (6000, 6100)), [])] == ["10.0.0.2"]
    assert of(view, (500, 600), (6000, 6050)) == [("10.0.0.1", 100, 100_000), ("10.0.0.2", 50, 50_000)]
    assert of(view, (3000, 3100)) == []


def test_a_flow_cut_before_its_queue_pair_is_counted_under_the_known_one() -> None:
    cut = [dataclasses.replace(entry, roce=None) for entry in BURST[::2]]
    view = folded([*CALM, *(pair for both in zip(BURST, cut, strict=False) for pair in both)]).view()
    assert len(np.unique(view.pairs.flow)) == 2
    assert of(view, (6000, 6100)) == [("10.0.0.2", 100, 100_000)]


def test_slots_widen_when_there_are_too_many_and_lose_nothing() -> None:
    packets = [*CALM, *MODERATE, *BURST, *AFTER]
    state = folded(packets, capacity=Capacity(pairs=64))
    view = state.view()
    assert len(state.pairs.table) <= 64 and state.pairs.slot_ns > MS and view.pairs.evicted == 0
    assert view.pairs.packets.sum() == folded(packets).view().pairs.packets.sum()
    assert [entry[0] for entry in of(view, (6000, 6100))] == ["10.0.0.2"]
    assert (view.pairs.last_ns - view.pairs.first_ns).max() < state.pairs.slot_ns


@pytest.mark.parametrize("swap", [False, True])
def test_slots_of_different_width_merge_at_the_wider(swap: bool) -> None:
    calm = [packet(0, flow, 0) for flow in (1, 2)]
    parts = [folded([*calm, *MODERATE, *AFTER], capacity=Capacity(pairs=64)), folded([*calm, *BURST])]
    widths = [part.pairs.slot_ns for part in parts]
    assert widths[0] > widths[1]
    state = merged(*(reversed(parts) if swap else parts))
    assert state.pairs.slot_ns >= widths[0]
    assert state.view().pairs.packets.sum() == len(MODERATE) + len(AFTER) + len(BURST)


def test_a_merged_state_finds_its_pairs_again() -> None:
    packets = [*CALM, *MODERATE, *BURST, *AFTER]
    small = Capacity(pairs=64)
    state = folded(packets, capacity=small)
    more = merged(state, folded([packet(0, 1, 0)], capacity=small))
    rows = len(more.pairs.table)
    more.fold(fill(MODERATE[-100:]), compiled=True)
    assert len(more.pairs.table) == rows
    assert more.view().pairs.packets.sum() == state.view().pairs.packets.sum() + 100


@pytest.mark.parametrize("maximum", [1, 2, 3, 5])
def test_very_little_room_is_room_enough(maximum: int) -> None:
    packets = [packet(at, 1 + at % 7, 50 * (at % 2)) for at in range(300)]
    state = folded(packets, capacity=Capacity(pairs=maximum))
    state.merge(folded(packets, capacity=Capacity(pairs=maximum)))
    assert len(state.pairs.table) <= max(maximum, 2)


@pytest.mark.parametrize(
    ("given", "crossed", "telemetry"),
    [
        (Packet(START, (Hop(),), size=500), 500, 16),
        (Packet(START, (Hop(),), size=500, reports=2, ip_bytes=300), 300, 500),
        (Packet(START, (Hop(),), size=500, tunnels=0x0A, ip_bytes=300), 300, 16),  # ERSPAN in GRE
        (Packet(START, (Hop(),), size=500, tunnels=0x20, ip_bytes=300), 500, 16),  # VXLAN crosses the ports as it is
        (Packet(START, (Hop(),), size=500, tunnels=0x08, ip=0), 500, 16),
        (Packet(START, (Hop(),), size=500, captured=60, telemetry_bytes=100), 500, 60),
    ],
)
def test_bytes_are_those_of_what_crossed_the_port(given: Packet, crossed: int, telemetry: int) -> None:
    view = folded([given]).view()
    assert (view.queues.bytes[0], view.buckets.bytes[0], view.paths.bytes[0]) == (crossed, crossed, crossed)
    assert view.flows.bytes.tolist() == ([crossed] if given.ip else [])
    assert (view.counts["bytes"], view.counts["telemetry_bytes"]) == (given.size, telemetry)


def test_who_fills_a_queue_that_is_never_low_is_told_by_all_that_leads_through_it() -> None:
    def hops(depth: int) -> tuple[Hop, ...]:
        return Hop(1, depth=0, latency=10), Hop(2, depth=depth, latency=6400)

    packets = [Packet(START + at * 100_000, hops(62 + at % 3), flow=1 + at % 2) for at in range(400)]
    view = folded(packets).view()
    assert len(view.pairs.queue) == 0
    (finding,) = summarise(view).findings
    assert finding.node_id == 2
    assert sorted((flow.packets, flow.share) for flow in finding.culprits) == [(200, 0.5), (200, 0.5)]


def test_the_first_packets_of_a_queue_are_held_against_what_is_usual_in_the_fabric() -> None:
    noise = [0, 7, 3, 9, 0, 8, 5, 1]
    usual = [Packet(START + at, (Hop(depth=noise[at % 8]),), flow=1) for at in range(5000)]

    def pairs(depths: list[int]) -> int:
        new = [Packet(START + 5000 + at, (Hop(node=2, depth=depth),), flow=2) for at, depth in enumerate(depths)]
        view = folded([*usual, *new]).view()
        return int(view.pairs.packets[view.queues.node_id[view.pairs.queue] == 2].sum())

    assert pairs(noise) == 4  # 7, 9, 8 and 5 are above the mean of all
    assert pairs([0, 3, 2, 3, 1, 3, 2, 3]) == 0
    assert pairs([0, 90, 90, 90]) == 3
