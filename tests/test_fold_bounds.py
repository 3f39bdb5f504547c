"""That a state stays bounded, whatever the traffic, and says what it left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from fold_reference import MS, START, Hop, Packet, expected, folded, merged
from known_view import known

from int_analyzer.fold.state import Capacity, State


def test_full_buckets_double_their_width_and_lose_nothing() -> None:
    packets = [Packet(START + number * 300_000, (Hop(depth=number),)) for number in range(3000)]
    state = folded(packets, capacity=Capacity(bucket_rows=64))
    width = state.view().buckets.width_ns
    assert width > MS and width % MS == 0 and width // MS & (width // MS - 1) == 0
    assert len(state.queues.buckets.log) <= 64
    assert known(state.view()) == expected(packets, width)


@pytest.mark.parametrize("order", [lambda one, two: (one, two), lambda one, two: (two, one)])
def test_buckets_of_different_width_merge_at_the_wider(order: Callable[[State, State], tuple[State, State]]) -> None:
    packets = [Packet(START + number * 300_000, (Hop(depth=number),)) for number in range(1000)]
    small = Capacity(bucket_rows=64)
    both = order(folded(packets[:700], capacity=small), folded(packets[700:], capacity=small))
    state = merged(*both)
    width = state.view().buckets.width_ns
    assert width >= max(part.view().buckets.width_ns for part in both)
    assert known(state.view())["buckets"] == expected(packets, width)["buckets"]


def test_too_many_flows_forget_the_oldest_and_say_so() -> None:
    packets = [Packet(START + number, (Hop(),), flow=1 + number % 200) for number in range(200)]
    view = folded(packets, capacity=Capacity(flows=50)).view()
    assert len(view.flows.src) <= 50
    assert len(view.flows.src) + view.flows.evicted == 200
    assert max(view.flows.last_ns) == START + 199
    assert view.counts["packets"] == 200 == view.queues.packets.sum()


def test_a_flow_in_a_congested_queue_is_remembered_longer() -> None:
    culprit = [Packet(START, (Hop(latency=10),), flow=250), Packet(START + 1, (Hop(latency=10_000),), flow=250)]
    packets = [*culprit, *(Packet(START + 10 + number, (Hop(latency=10),), flow=1 + number) for number in range(200))]
    view = folded(packets, capacity=Capacity(flows=50)).view()
    flow = view.flows.src.index("10.0.0.250")
    assert view.pairs.flow.tolist() == [flow]


def test_too_many_pairs_keep_the_heaviest_of_each_queue() -> None:
    random = np.random.default_rng(2)
    packets = [Packet(START, (Hop(port, latency=1), Hop(9, port, latency=1))) for port in (1, 2)]
    packets += [
        Packet(START + number, (Hop(1 + number % 2, latency=9999),), flow=flow, size=5000 if flow == 3 else 60)
        for number, flow in enumerate(random.integers(1, 200, 3000).tolist())
    ]
    state = folded(packets, capacity=Capacity(pairs=64))
    view = state.view()
    assert len(view.pairs.queue) <= 64
    assert view.pairs.evicted > 0
    heaviest = view.pairs.bytes.argmax()
    assert view.flows.src[view.pairs.flow[heaviest]] == "10.0.0.3"


def test_queues_and_paths_beyond_the_maximum_are_counted_and_ignored() -> None:
    packets = [Packet(START + number, (Hop(number % 10, latency=5), Hop(number % 40, 2, latency=5))) for number in range(400)]
    few = folded(packets, capacity=Capacity(paths=5))
    assert known(few.view())["queues"] == expected(packets)["queues"]
    assert len(few.view().paths.queues) == 5
    assert few.view().counts["paths_ignored"] == 400 - few.view().paths.packets.sum()
    fewer = folded(packets, capacity=Capacity(queues=5))
    assert len(fewer.view().queues.node_id) == 5
    assert fewer.view().counts["hops_ignored"] == 800 - fewer.view().queues.packets.sum()
    state = merged(fewer, folded(packets))
    assert state.view().counts["hops_ignored"] == 1600 - state.view().queues.packets.sum()
    assert state.view().counts["paths_ignored"] == 800 - state.view().paths.packets.sum()


def test_links_beyond_the_maximum_are_counted_and_ignored() -> None:
    packets = [
        Packet(START + number, (Hop(1, number % 9, end=5 + number), Hop(2, 1, number % 9, begin=9 + number))) for number in range(90)
    ]
    few = folded(packets, capacity=Capacity(links=4))
    assert len(few.view().links.packets) == 4
    assert few.view().counts["links_ignored"] == 90 - few.view().links.packets.sum() == 50
    state = merged(few, folded(packets))
    assert state.view().counts["links_ignored"] == 180 - state.view().links.packets.sum() == 100


def test_merging_keeps_to_the_maxima() -> None:
    small = Capacity(flows=20, pairs=20, bucket_rows=64)
    parts = [
        folded(
            [Packet(START + number * MS, (Hop(latency=1 + 900 * (number % 2)),), flow=begin + number) for number in range(30)], False, small
        )
        for begin in (1, 101)
    ]
    state = merged(*parts)
    assert len(state.flows.table) <= 20 and len(state.pairs.table) <= 20 and len(state.queues.buckets.log) <= 64
    view = state.view()
    assert len(view.flows.src) + view.flows.evicted == 60
    assert set(view.pairs.flow.tolist()) <= set(range(len(view.flows.src)))


def test_tables_grow_in_the_middle_of_a_batch() -> None:
    packets = [
        Packet(START + number, (Hop(number, latency=1 << number % 32), Hop(number, 2)), flow=1 + number % 250) for number in range(700)
    ]
    assert known(folded(packets, compiled=True).view()) == expected(packets)


def test_a_packet_with_very_many_hops_fits() -> None:
    packets = [Packet(START, tuple(Hop(node, latency=(node % 2) * 999 + 1) for node in range(250)))] * 3
    assert known(folded(packets, capacity=Capacity(pairs=4)).view())["queues"] == expected(packets)["queues"]


def test_times_may_be_as_far_apart_as_they_can() -> None:
    packets = [Packet(time, (Hop(node, depth=1),)) for node in range(3) for time in (1, (1 << 62) + 5, 2, 1)]
    state = folded(packets, capacity=Capacity(bucket_ns=1))
    assert known(state.view()) == expected(packets, 1)
    crowded = folded([Packet(1 + number << 50, (Hop(depth=1),)) for number in range(1000)], capacity=Capacity(bucket_ns=1, bucket_rows=64))
    assert len(crowded.view().buckets.queue) <= 64
