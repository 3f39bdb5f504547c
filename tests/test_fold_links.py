"""Links of the fold against a slow twin: the differences of two clocks, their lower envelope, and what wraps or is broken."""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from fold_reference import MS, START, Hop, Packet, folded, merged
from known_view import known

from int_analyzer.fold.links import SLOTS
from int_analyzer.fold.state import Capacity, State

LIVES = [pytest.param(False, id="plain"), pytest.param(True, id="compiled")]
EPOCH = 1 << 35


def crossing(at: int, difference: int, nodes: tuple[int, int] = (1, 2), sent: int = EPOCH) -> Packet:
    """A packet of two hops: the second one's ingress time is so much later than the first one's egress time."""
    begin, end = nodes
    return Packet(START + at, (Hop(begin, port=begin, end=sent + at), Hop(end, ingress=5, begin=sent + at + difference)))


def traffic(count: int, seed: int) -> list[Packet]:
    """Packets over chains of up to four nodes, their clocks far apart; some times are not there."""
    dice = np.random.default_rng(seed)
    packets = []
    for number in range(count):
        time = EPOCH + number * 70_000
        hops = []
        for node in dice.permutation(5)[: int(dice.integers(0, 5))].tolist():
            clock = node * 9_000_000 + time
            time += int(dice.exponential(3000)) + 700
            hops.append(
                Hop(
                    node,
                    port=node % 2,
                    ingress=node % 3,
                    begin=clock if dice.random() < 0.8 else None,
                    end=clock + 400 if dice.random() < 0.8 else None,
                )
            )
        packets.append(Packet(START + number * 70_000 if dice.random() < 0.97 else 0, tuple(hops), flow=number % 7 + 1))
    return packets


def expected(packets: Sequence[Packet], width: int) -> dict[Any, tuple[Any, ...]]:
    """By link: packets, mean, and for each slot the least difference with the first time at which it was seen."""
    found: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for packet in packets:
        for one, two in itertools.pairwise(packet.hops):
            if packet.time and one.end is not None and two.begin is not None:
                found[one.node, one.port, two.node, two.ingress].append((two.begin - one.end, packet.time))
    result = {}
    for link, seen in found.items():
        slots: dict[int, tuple[int, int]] = {}
        for difference, time in seen:
            slots[time // width] = min(slots.get(time // width, (difference, time)), (difference, time))
        differences = [difference for difference, _ in seen]
        result[link] = (len(seen), pytest.approx(np.mean(differences)), sorted(slots.values(), key=lambda slot: slot[1]))
    return result


def measured(state: State) -> dict[Any, tuple[Any, ...]]:
    """What a state says, in the form of `expected`."""
    links = state.view().links
    result = {}
    for row in range(len(links.packets)):
        key = tuple(int(column[row]) for column in (links.node_id, links.port, links.next_node_id, links.next_port))
        seen = links.seen[row]
        slots = list(zip(links.lowest[row, seen].tolist(), links.lowest_ns[row, seen].tolist(), strict=True))
        result[key] = (int(links.packets[row]), float(links.mean[row]), sorted(slots, key=lambda slot: slot[1]))
    return result


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize("count", [30, 400, 1500])
def test_links_are_what_the_twin_says(count: int, compiled: bool) -> None:
    packets = traffic(count, count)
    state = folded(packets, compiled, batch=128)
    assert measured(state) == expected(packets, state.links.slot_ns)
    assert state.links.slot_ns * SLOTS <= 4 * max(count * 70_000, SLOTS * MS)


def test_pieces_merge_to_the_whole_wherever_the_capture_was_cut() -> None:
    packets = traffic(1200, 3)
    whole = folded(packets)
    for cut in (0, 1, 2, 300, 777, 1199):
        for state in (merged(folded(packets[:cut]), folded(packets[cut:])), merged(folded(packets[cut:]), folded(packets[:cut]))):
            assert measured(state) == measured(whole)
            assert (state.links.slot_ns, state.links.base) == (whole.links.slot_ns, whole.links.base)
            assert known(state.view())["paths"] == known(whole.view())["paths"]


def test_a_merged_state_and_a_copy_fold_on() -> None:
    packets = traffic(900, 4)
    state = merged(folded(packets[:300]), folded(packets[300:600])).copy()
    other = folded(packets[600:])
    state.merge(other)
    assert measured(state) == measured(folded(packets))


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize(
    ("sent", "wrap"),
    [((1 << 32) - 5 * MS, 1 << 32), ((1 << 48) - 5 * MS, 1 << 48)],
)
def test_times_that_begin_anew_tear_no_envelope(sent: int, wrap: int, compiled: bool) -> None:
    packets = [
        dataclasses.replace(
            packet, hops=tuple(dataclasses.replace(hop, begin=_turn(hop.begin, wrap), end=_turn(hop.end, wrap)) for hop in packet.hops)
        )
        for packet in (crossing(at, 800 + at % 7, sent=sent) for at in range(0, 10 * MS, 50_000))
    ]
    links = folded(packets, compiled).view().links
    assert (links.packets.tolist(), links.stray.tolist()) == ([200], [0])
    assert set(links.lowest[links.seen].tolist()) <= {800, 801}
    assert links.narrow.tolist() == [wrap == 1 << 32]


def _turn(time: int | None, wrap: int) -> int | None:
    return None if time is None else time % wrap


def test_clocks_half_a_turn_apart_have_one_envelope() -> None:
    apart = 1 << 31
    packets = [
        Packet(START + at, (Hop(1, end=at + 7), Hop(2, begin=(at + 7 + apart + noise - 50) % (1 << 32))))
        for at, noise in zip(range(0, 20 * MS, MS), itertools.cycle((0, 90, 40)), strict=False)
    ]
    links = folded(packets).view().links
    assert links.lowest[links.seen].max() - links.lowest[links.seen].min() <= 90


@pytest.mark.parametrize("compiled", LIVES)
def test_broken_times_are_left_out_and_counted(compiled: bool) -> None:
    packets = [crossing(number * MS, 500 if number % 5 != 3 else 1 << 44) for number in range(40)]
    links = folded(packets, compiled).view().links
    assert (links.packets.tolist(), links.stray.tolist()) == ([32], [8])
    assert set(links.lowest[links.seen].tolist()) == {500}
    first = folded([crossing(number * MS, 500 if number % 5 else 1 << 44) for number in range(40)], compiled).view().links
    assert set(first.lowest[first.seen].tolist()) == {500}
    assert first.packets[0] + first.stray[0] == 40 and first.packets[0] > 20
    negative = folded([crossing(0, 5), Packet(START + 1, (Hop(1, port=1, end=-7), Hop(2, ingress=5, begin=-2)))], compiled).view().links
    assert negative.packets.tolist() == [1]


def test_a_clock_that_was_set_anew_is_believed_after_some_packets() -> None:
    packets = [crossing(number * MS, 500 if number < 10 else 1 << 45) for number in range(40)]
    links = folded(packets).view().links
    assert (links.packets.tolist(), links.stray.tolist()) == ([22], [18])
    assert set(links.lowest[links.seen].tolist()) == {1 << 45}


def test_hops_without_times_make_no_link() -> None:
    packets = [Packet(START + at, (Hop(1, latency=5), Hop(2, begin=5), Hop(3, end=5))) for at in range(50)]
    assert len(folded(packets).view().links.packets) == 0
    assert len(folded([Packet(0, crossing(0, 5).hops)]).view().links.packets) == 0


def test_links_beyond_the_maximum_are_left_out() -> None:
    packets = [crossing(number * 1000, 5, (number % 40, 50 + number % 30)) for number in range(500)]
    state = folded(packets, capacity=Capacity(links=9))
    assert len(state.view().links.packets) == 9
    assert len(state.links.table.rows) == 9


def test_slots_cover_times_in_any_order_and_however_far_apart() -> None:
    packets = [crossing(at, 100 + at % 11) for at in (900 * MS, 0, 400 * MS, 3_000_000 * MS, 1, 5 * MS)]
    state = folded(packets, batch=2)
    assert measured(state) == expected(packets, state.links.slot_ns)


def test_slots_are_never_narrower_than_buckets() -> None:
    packets = [crossing(number * MS, 7) for number in range(600)]
    state = folded(packets, capacity=Capacity(bucket_rows=64))
    assert state.links.slot_ns % state.queues.buckets.width_ns == 0
    assert measured(state) == expected(packets, state.links.slot_ns)
