"""That it makes no difference when hops are counted: at once, a few at a time, or all at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fold_reference import MS, START, Hop, Packet, expected, folded, merged
from known_view import known
from test_fold import LIVES, traffic
from test_fold_copies import folded_on, mirrored, sent

from benchmarks.batches import LARGE, Batches
from int_analyzer import _jit
from int_analyzer.fold.state import Capacity, State

AT_ONCE = Capacity(at_once=1 << 16)


def put_off(most: int, **rest: int) -> Capacity:
    """So many hops of 64 queues are put off, however small the fabric."""
    return Capacity(at_once=0, backlog=most, **rest)


def queues_and_links(state: State) -> dict[str, Any]:
    """Every array of queues, buckets and links; a histogram as its counters by place."""
    view = state.view()
    arrays: dict[str, Any] = {}
    for name in ("queues", "buckets", "links"):
        for word, value in vars(getattr(view, name)).items():
            arrays[f"{name}.{word}"] = value.pool[value.blocks] if word.endswith("histograms") else value
    return arrays


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize("most", [6, 61, 1 << 14])
def test_a_state_that_puts_hops_off_knows_what_the_twin_knows(most: int, compiled: bool) -> None:
    packets = traffic(1500, seed=11, shuffle=5 * MS)
    state = folded(packets, compiled, put_off(most), batch=400)
    assert state.hops_put_off > 0
    assert known(state.view()) == expected(packets)
    assert state.hops_put_off == 0


@pytest.mark.parametrize("most", [8, 1 << 12])
def test_a_large_fabric_counts_the_same_at_once_and_later(most: int) -> None:
    states = [State(AT_ONCE), State(put_off(most))]
    for state in states:
        batches = Batches(LARGE, whole_messages=False)
        for _ in range(1 if _jit.DISABLED else 3):
            state.fold(batches.next())
    at_once, later = map(queues_and_links, states)
    assert at_once.keys() == later.keys()
    for name, value in at_once.items():
        np.testing.assert_array_equal(value, later[name], err_msg=name)
    np.testing.assert_array_equal(states[0].pairs.table.data, states[1].pairs.table.data)


@pytest.mark.parametrize("compiled", LIVES)
def test_what_several_mirror_points_saw_counts_the_same_at_once_and_later(compiled: bool) -> None:
    packets = sent(600)
    seen = mirrored(packets, (1, 2, 9))
    at_once, later = (folded_on(State(capacity), seen, compiled) for capacity in (AT_ONCE, put_off(61)))
    assert later.hops_put_off > 0 and at_once.view().counts["copies"] > 0
    for name, value in queues_and_links(at_once).items():
        np.testing.assert_array_equal(value, queues_and_links(later)[name], err_msg=name)
    pairs = int(folded_on(State(), packets, compiled).view().links.packets.sum())
    # a link is between two hops: of most packets it shows at the second mirror point first
    assert pairs <= int(at_once.view().links.packets.sum()) < 1.1 * pairs


@pytest.mark.parametrize("compiled", LIVES)
def test_a_packet_of_more_hops_than_are_put_off_makes_room(compiled: bool) -> None:
    packets = [Packet(START + number, tuple(Hop(port, latency=number) for port in range(1, 2 + number))) for number in range(40)]
    assert known(folded(packets, compiled, put_off(4)).view()) == expected(packets)


def test_histograms_and_buckets_grow_while_hops_are_counted_late() -> None:
    packets = [Packet(START + number * MS // 2, (Hop(depth=1 << number % 32, latency=1 << number % 32),)) for number in range(3000)]
    state = folded(packets, capacity=put_off(1 << 12, bucket_rows=64))
    assert len(state.queues.buckets.log) <= 64
    view = state.view()
    assert len(state.queues.buckets.log) <= 64 and view.buckets.width_ns > MS
    assert known(view) == expected(packets, view.buckets.width_ns)


def test_copies_and_merges_count_what_was_put_off_and_leave_both_pieces_as_they_are() -> None:
    packets = traffic(900, seed=12)
    one, two = (folded(part, capacity=put_off(1 << 12)) for part in (packets[:500], packets[500:]))
    assert one.hops_put_off > 0 and two.hops_put_off > 0
    whole = merged(one, two)
    for name in ("queues", "buckets"):
        assert known(whole.view())[name] == expected(packets)[name]
    assert known(one.view()) == expected(packets[:500])
    assert known(two.view()) == expected(packets[500:])
