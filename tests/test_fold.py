"""The fold against its twin: what a state knows of packets, and how states merge."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
from fold_reference import MS, START, Hop, Packet, expected, fill, folded, latency_of, merged
from hypothesis import given, settings
from hypothesis import strategies as st
from known_view import known

from int_analyzer import _jit, schema
from int_analyzer.fold import hashing, histogram
from int_analyzer.fold.state import Capacity, State
from int_analyzer.status import STATUSES, WARNINGS

LIVES = [pytest.param(False, id="plain"), pytest.param(True, id="compiled")]


def traffic(count: int, seed: int, step: int = 50_000, shuffle: float = 0) -> list[Packet]:
    """Random packets; `shuffle` is how far back (ns) times may go."""
    random = np.random.default_rng(seed)

    def maybe(low: int, high: int, share: float = 0.7) -> int | None:
        return int(random.integers(low, high)) if random.random() < share else None

    def hop() -> Hop:
        begin = maybe(0, 1 << 34)
        end = None if begin is None or random.random() < 0.2 else begin + int(random.integers(-100, 1 << int(random.integers(1, 42))))
        latency = int(random.integers(0, 1 << int(random.integers(1, 33)))) if random.random() < 0.7 else None
        flags = int(random.choice([0, 0, 0, 0, schema.HOP_TRUNCATED_PATH, schema.HOP_FROM_REPORT]))
        depth = maybe(0, 1 << int(random.integers(1, 24)))
        zero = random.random() < 0.05
        return Hop(
            maybe(0, 3, 0.9),
            maybe(0, 3, 0.9),
            maybe(0, 2),
            maybe(0, 2),
            0 if zero else latency,
            0 if zero else depth,
            None if zero else begin,
            None if zero else max(end, 0) if end is not None else None,
            maybe(0, 100),
            flags,
        )

    routes = [tuple(hop() for _ in range(int(random.integers(0, 6)))) for _ in range(20)]

    def measured(route: tuple[Hop, ...]) -> tuple[Hop, ...]:
        fresh = [hop() for _ in route]
        return tuple(
            dataclasses.replace(new, node=old.node, port=old.port, queue=old.queue, ingress=old.ingress)
            for old, new in zip(route, fresh, strict=True)
        )

    return [
        Packet(
            time=START + number * step - int(random.random() * shuffle),
            hops=measured(routes[int(random.integers(0, 20))]),
            flow=int(random.integers(1, 9)),
            size=int(random.integers(60, 9000)),
            roce=None if random.random() < 0.2 else (int(random.choice([7, 10, 17, 0x81])), int(random.integers(16, 19))),
            ecn=int(random.integers(0, 4)),
            ip=int(random.choice([0, 4, 6])),
            protocol=int(random.choice([6, 17, 89])),
            telemetry=int(random.choice([0, schema.FORMAT_INT_MD_2])),
            status=int(random.integers(0, 60)),
            formats=int(random.choice([0, 2, 10, 256])),
            warnings=int(random.choice([0, 0, 1, 1 << 19, 5])),
            dialect=int(random.integers(1, 4)),
            reports=int(random.choice([0, 0, 0, 1, 3])),
            tunnels=int(random.choice([0, 0, 0x20, 0x02, 0x0A, 0x10])),
            ip_bytes=int(random.integers(28, 3000)),
            captured=int(random.integers(20, 200)),
            telemetry_bytes=int(random.integers(0, 300)),
            icrc=int(random.integers(0, 8)),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize("shuffle", [0, 5 * MS])
def test_a_state_knows_what_the_twin_knows(compiled: bool, shuffle: float) -> None:
    packets = traffic(1500, seed=5, shuffle=shuffle)
    assert known(folded(packets, compiled, batch=400).view()) == expected(packets)


def test_compiled_and_plain_give_the_same_arrays() -> None:
    packets = traffic(800, seed=6)
    plain, compiled = folded(packets, False), folded(packets, True)
    for one, two in (
        (plain.queues.table, compiled.queues.table),
        (plain.paths.table, compiled.paths.table),
        (plain.flows.table, compiled.flows.table),
        (plain.pairs.table, compiled.pairs.table),
    ):
        np.testing.assert_array_equal(one.data, two.data)
    np.testing.assert_array_equal(plain.quality.counters, compiled.quality.counters)


def test_plain_and_compiled_batches_may_alternate() -> None:
    packets = traffic(600, seed=7)
    state = State()
    for number, begin in enumerate(range(0, 600, 100)):
        state.fold(fill(packets[begin : begin + 100]), compiled=number % 2 == 0)
    assert known(state.view()) == expected(packets)


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-(1 << 63), (1 << 63) - 1))
@settings(max_examples=200, deadline=None)
def test_hashing_is_the_same_in_both_lives(a: int, b: int) -> None:
    assert int(_jit.compiled(hashing.product)(a, b)) == hashing.product(a, b)


@given(st.integers(64, 1 << 45))
@settings(max_examples=200, deadline=None)
def test_histogram_places_are_the_same_in_both_lives(value: int) -> None:
    place = histogram.place(value)
    assert int(_jit.compiled(histogram.place)(value)) == place
    assert int(histogram.lowest(np.array(place))) <= value < int(histogram.lowest(np.array(place + 1)))


def test_quality_counts_every_packet_by_what_was_read() -> None:
    view = folded([*traffic(300, seed=8), Packet(0, formats=0, telemetry=0, status=1, roce=None)], batch=100).view()
    packets = [*traffic(300, seed=8), Packet(0, formats=0, telemetry=0, status=1, roce=None)]
    counts = view.counts
    assert counts["packets"] == 301
    assert counts["bytes"] == sum(packet.size for packet in packets)
    assert counts["hops"] == sum(len(packet.hops) for packet in packets)
    assert counts["telemetry_packets"] == sum(packet.telemetry != 0 for packet in packets)
    assert counts["telemetry_bytes"] == sum(packet.overhead for packet in packets)
    assert counts["roce_packets"] == sum(packet.roce is not None for packet in packets)
    assert counts["roce_with_telemetry"] == sum(packet.roce is not None and packet.telemetry != 0 for packet in packets)
    assert counts["ce_packets"] == sum(packet.ecn == 3 for packet in packets if packet.ip)
    assert counts["cnp_packets"] == sum(packet.roce is not None and packet.roce[0] == 0x81 for packet in packets)
    assert (counts["first_ns"], counts["last_ns"]) == (START, START + 299 * 50_000)
    for status in STATUSES:
        assert view.statuses.get(status.name, 0) == sum(packet.status == status.code for packet in packets)
    for warning in WARNINGS:
        assert view.warnings.get(warning.name, 0) == sum(packet.warnings >> warning.bit & 1 for packet in packets)
    assert view.formats["roce"] == sum(packet.formats in (2, 10) for packet in packets)
    assert view.status_by_format["", "not-ip"] == sum(packet.formats == 0 and packet.status == 1 for packet in packets)
    assert view.dialects["int-2.x"] == sum(packet.formats == 10 and packet.dialect == 1 for packet in packets)
    assert view.opcodes == {
        code: sum(packet.roce is not None and packet.roce[0] == code for packet in packets) for code in (7, 10, 17, 0x81)
    }


def test_time_going_backwards_is_counted_and_spoils_nothing() -> None:
    packets = [Packet(START + at, (Hop(depth=9),)) for at in (0, 5 * MS, 2 * MS, 2 * MS, 0, 7 * MS)]
    view = folded(packets, batch=2).view()
    assert view.counts["time_backwards"] == 2
    assert known(view) == expected(packets)


def test_packets_without_a_time_have_none() -> None:
    view = folded([Packet(0, (Hop(depth=3),)), Packet(START, (Hop(depth=1),)), Packet(0, (Hop(depth=2),))]).view()
    assert (view.queues.first_ns[0], view.queues.last_ns[0]) == (START, START)
    assert (view.flows.first_ns[0], view.counts["first_ns"], view.counts["time_backwards"]) == (START, START, 0)
    assert folded([Packet(0, (Hop(),))]).view().queues.first_ns[0] == 0


@pytest.mark.parametrize(
    ("hop", "latency", "how"),
    [
        (Hop(begin=100, end=350), 250, "times"),
        (Hop(begin=0xFFFFFF00, end=0x10), 0x110, "times"),  # 32-bit wrap
        (Hop(begin=1 << 40, end=(1 << 40) + 5), 5, "times"),
        (Hop(begin=(1 << 40) + 5, end=1 << 40), None, ""),  # backwards
        (Hop(begin=5, end=1 << 50), None, ""),  # a broken clock
        (Hop(begin=-5, end=-2), 3, "times"),  # unsigned values with the top bit
        (Hop(latency=7, begin=100, end=7100), 7, ""),  # µs against ns
        (Hop(latency=7000, begin=100, end=107), 7000, ""),
        (Hop(latency=1000, begin=100, end=1000), 1000, ""),  # within 10 %
        (Hop(latency=1000, begin=100, end=500), 1000, "contradicted"),
    ],
)
def test_latency_is_the_devices_own_else_of_its_times(hop: Hop, latency: int | None, how: str) -> None:
    assert latency_of(hop) == (latency, how)
    queues = folded([Packet(START, (hop,))]).view().queues
    assert queues.latency_max[0] == (-1 if latency is None else latency)
    assert (queues.latency_from_times[0], queues.latency_contradicted[0]) == (how == "times", how == "contradicted")


def test_opaque_hops_make_no_queue() -> None:
    view = folded([Packet(START, (Hop(flags=schema.HOP_OPAQUE), Hop(flags=schema.HOP_OPAQUE)))]).view()
    assert (len(view.queues.node_id), len(view.paths.queues), view.counts["hops"]) == (0, 0, 2)


def test_a_hole_or_a_postcard_is_no_path_change() -> None:
    whole, other = (Hop(1), Hop(2)), (Hop(1), Hop(3))
    cut = (Hop(2, flags=schema.HOP_TRUNCATED_PATH),)
    postcard = (Hop(2, flags=schema.HOP_FROM_REPORT),)
    view = folded([Packet(START + at, hops) for at, hops in enumerate([whole, cut, whole, postcard, whole, other])]).view()
    assert (view.flows.path_changes[0], view.flows.path_change_ns[0]) == (1, START + 5)
    assert view.paths.holes.sum() == 1


# ------------------------------------------------------------------------------------------------------------------ merging

values = st.none() | st.integers(0, 1 << 20)
hops = st.builds(
    Hop,
    node=st.integers(1, 3) | st.none(),
    port=st.integers(1, 2),
    ingress=st.integers(1, 2) | st.none(),
    latency=values,
    depth=values,
    utilisation=values,
    flags=st.sampled_from([0, 0, 0, schema.HOP_TRUNCATED_PATH]),
)
packets_at = st.builds(
    Packet,
    time=st.integers(START, START + 20 * MS),
    hops=st.lists(hops, max_size=3).map(tuple),
    flow=st.integers(1, 3),
    ecn=st.integers(0, 3),
    ip=st.sampled_from([0, 4, 6]),
    warnings=st.sampled_from([0, 1 << 19]),
    icrc=st.sampled_from([0, *schema.ICRC_STATES]),
)
unordered = st.lists(packets_at, max_size=12)
ordered = unordered.map(lambda packets: sorted(packets, key=lambda packet: packet.time))


def exact(state: State, *left_out: str) -> dict[str, Any]:
    """What a merge has to keep exactly; pairs are not among it, for which hops are elevated depends on what was seen before."""
    view = state.view()
    told = known(view) | {"counts": view.counts, "statuses": view.statuses, "formats": view.status_by_format, "warnings": view.warnings}
    told["icrc"] = view.icrc
    told["counts"] = {name: count for name, count in view.counts.items() if name not in left_out}
    return {name: value for name, value in told.items() if name not in ("pairs", *left_out)}


@given(ordered, st.integers(0, 12))
@settings(max_examples=60, deadline=None)
def test_merging_pieces_in_a_row_gives_the_whole(packets: list[Packet], cut: int) -> None:
    assert exact(merged(folded(packets[:cut]), folded(packets[cut:]))) == exact(folded(packets))


@given(unordered, unordered)
@settings(max_examples=40, deadline=None)
def test_merging_gives_the_whole_whatever_the_times(one: list[Packet], two: list[Packet]) -> None:
    both, backwards = merged(folded(one), folded(two)), [folded(packets).view().counts["time_backwards"] for packets in (one, two)]
    assert exact(both, "moves", "time_backwards") == exact(folded([*one, *two]), "moves", "time_backwards")
    # they may have been captured side by side: where they meet, no time goes back
    assert both.view().counts["time_backwards"] == sum(backwards)


_ways = st.lists(st.sampled_from([(1,), (1, 2), (1, 2, 3), (1, 4), (1, 4, 3)]), min_size=2, max_size=9)


@given(_ways, st.integers(1, 8))
@settings(max_examples=200, deadline=None)
def test_a_flow_seen_halfway_has_not_moved_in_pieces_or_whole(ways: list[tuple[int, ...]], cut: int) -> None:
    packets = [Packet(START + at, tuple(Hop(node) for node in way)) for at, way in enumerate(ways)]

    def move(told: dict[str, Any]) -> tuple[Any, int, Any]:
        ((last, changes, _, before),) = told["moves"].values()
        return last, changes, before

    right = move(expected(packets))
    assert move(known(folded(packets).view())) == right
    assert move(known(merged(folded(packets[:cut]), folded(packets[cut:])).view())) == right


def test_another_priority_is_no_path_change() -> None:
    view = folded([Packet(START + at, (Hop(1, queue=at % 2), Hop(2))) for at in range(4)]).view()
    assert len(view.paths.queues) == 2
    assert view.flows.path_changes[0] == 0


def test_packets_seen_at_two_mirror_points_are_no_path_change() -> None:
    half, whole, other = (Hop(1), Hop(2)), (Hop(1), Hop(2), Hop(3)), (Hop(1), Hop(4), Hop(3))
    view = folded([Packet(START + at, hops) for at, hops in enumerate([half, whole, half, whole, half, other])]).view()
    assert (view.flows.path_changes[0], view.flows.path_change_ns[0]) == (1, START + 5)
    assert [view.paths.queues[path] for path in (view.flows.path_before[0], view.flows.path[0])] == [(0, 1, 2), (0, 3, 2)]


@given(ordered, st.lists(st.booleans(), min_size=12, max_size=12))
@settings(max_examples=40, deadline=None)
def test_merging_interleaved_pieces_gives_the_whole(packets: list[Packet], choice: list[bool]) -> None:
    one = [packet for packet, first in zip(packets, choice, strict=False) if first]
    two = [packet for packet, first in zip(packets, choice, strict=False) if not first]
    left_out = ("moves", "counts")  # which piece is later has no answer here
    assert exact(merged(folded(one), folded(two)), *left_out) == exact(folded(packets), *left_out)


@given(ordered, ordered, ordered)
@settings(max_examples=40, deadline=None)
def test_merging_is_associative(one: list[Packet], two: list[Packet], three: list[Packet]) -> None:
    a, b, c = folded(one), folded(two), folded(three)
    left_out = "moves"  # of pieces of one time, how often and when a flow moved has no answer
    assert exact(merged(merged(a, b), c), left_out) == exact(merged(a, merged(b, c)), left_out)


@given(ordered, ordered)
@settings(max_examples=20, deadline=None)
def test_merging_leaves_the_other_as_it_was(one: list[Packet], two: list[Packet]) -> None:
    a, b = folded(one), folded(two)
    before = known(b.view())
    a.merge(b)
    a.merge(b)
    assert known(b.view()) == before


def test_a_merged_state_folds_on() -> None:
    packets = traffic(900, seed=9)
    state = merged(folded(packets[:300]), folded(packets[300:600]))
    state.fold(fill(packets[600:]), compiled=True)
    assert exact(state) == exact(folded(packets))


def test_pairs_of_merged_states_are_added() -> None:
    calm, busy = Packet(START, (Hop(latency=10),)), Packet(START + 1, (Hop(latency=1000),))
    state = merged(folded([calm, busy]), folded([calm, busy, busy]))
    view = state.view()
    assert (view.pairs.packets.tolist(), view.pairs.latency_excess_sum.tolist()) == ([3], [3 * 990.0])


def test_states_of_different_bucket_widths_do_not_merge() -> None:
    with pytest.raises(ValueError, match="bucket widths"):
        State().merge(State(Capacity(bucket_ns=100_000)))


def test_a_copy_goes_its_own_way() -> None:
    packets = traffic(200, seed=10)
    state = folded(packets[:100])
    before = known(state.view())
    other = pickle.loads(pickle.dumps(state.copy()))
    other.fold(fill(packets[100:]), compiled=False)
    assert known(state.view()) == before
    assert known(other.view()) == expected(packets)
    assert state.empty().view().counts["packets"] == 0
