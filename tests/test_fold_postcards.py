"""Postcards against their twin: reports of several nodes become the path of a packet, whatever order they come in and whatever is lost."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import postcard_reference as reference
import pytest
from fold_reference import MS, START, Hop, Packet, expected, folded, merged
from known_view import known

from int_analyzer import schema
from int_analyzer.analysis.losses.loss import unreported
from int_analyzer.fold.state import Capacity
from int_analyzer.result import analyze

LIVES = [pytest.param(False, id="plain"), pytest.param(True, id="compiled")]
ROUTES = [(1, 3, 2), (1, 4, 2), (5, 4, 2), (5, 3, 6, 2)]
STRATUM = Path(__file__).parent.parent / "pcaps" / "bmv2-stratum-fabric-v1model-xd"


def postcard(node: int, at: int, ttl: int, **changes: object) -> Packet:
    """What one node says of a packet."""
    hop = Hop(node, port=node % 3, ingress=node % 2, depth=node, flags=schema.HOP_FROM_REPORT)
    return dataclasses.replace(
        Packet(at, (hop,), reports=1, telemetry=schema.FORMAT_REPORT_2, ttl=ttl, roce=(7, 17), ip_id=9),
        **changes,  # type: ignore[arg-type]
    )


def journey(number: int, route: Sequence[int], flow: int = 1, falling: bool = True, **changes: object) -> list[Packet]:
    """The postcards of packet `number` of a flow: 20 µs apart, the packets 1 ms."""
    return [
        postcard(node, START + number * MS + 20_000 * at, 60 - at * falling, flow=flow, psn=number, **changes)
        for at, node in enumerate(route)
    ]


def traffic(count: int, seed: int, lost: float = 0.0, twice: float = 0.0, falling: bool = True, disorder: int = 0) -> list[Packet]:
    """Postcards of packets of four flows; `disorder` is by how many places they are out of order when they arrive."""
    dice = random.Random(seed)
    sent = [
        card
        for number in range(count)
        for card in journey(
            number,
            ROUTES[(number % 4 + (number > count * 0.7)) % 4],
            number % 4 + 1,
            falling,
            roce=None if number % 4 == 3 else (7, 17),
            ip_id=number % 5000 + 1,
            ip=6 if number % 4 == 2 else 4,
        )
    ]
    kept = [card for card in sent if dice.random() >= lost]
    kept += [dataclasses.replace(card, time=card.time + 500) for card in kept if dice.random() < twice]
    kept.sort(key=lambda card: card.time)
    order = sorted(range(len(kept)), key=lambda at: at + dice.random() * disorder)
    return [kept[at] for at in order]


def paths(packets: Sequence[Packet], **options: object) -> dict[tuple[int, ...], int]:
    """Packets by the nodes of their path."""
    view = folded(packets, **options).view()  # type: ignore[arg-type]
    node = view.queues.node_id.tolist()
    found = zip(view.paths.queues, view.paths.packets.tolist(), strict=True)
    return {tuple(node[queue] for queue in queues): count for queues, count in found}


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize("falling", [True, False])
@pytest.mark.parametrize(("lost", "twice", "disorder"), [(0, 0, 0), (0.2, 0, 0), (0, 0.3, 0), (0.2, 0.2, 200)])
def test_joined_postcards_are_what_the_twin_makes_of_them(lost: float, twice: float, disorder: int, falling: bool, compiled: bool) -> None:
    packets = traffic(300, 3, lost, twice, falling, disorder)
    view = folded(packets, compiled, batch=100).view()
    assert known(view) == expected(packets)
    counts = reference.counts(packets)
    assert {name: view.postcards[name] for name in counts} == counts
    assert counts["joined"] > 300


def test_every_packet_is_on_one_path_and_every_hop_in_one_queue() -> None:
    packets = traffic(400, 4)
    view = folded(packets).view()
    assert (view.paths.packets.sum(), view.queues.packets.sum()) == (400, len(packets))
    assert view.counts["hops"] == len(packets) == view.postcards["joined"]


def test_the_order_is_that_of_the_ttl_and_not_of_arrival() -> None:
    packets = journey(0, (1, 3, 2))
    late = [dataclasses.replace(card, time=card.time + MS * (3 - at)) for at, card in enumerate(packets)]
    assert paths(late) == {(1, 3, 2): 1}


def test_equal_ttls_are_ordered_by_arrival_where_most_packets_agree() -> None:
    steady = [card for number in range(9) for card in journey(number, (1, 3, 2), falling=False)]
    swapped = journey(9, (3, 1, 2), falling=False)
    view = folded([*steady, *swapped]).view()
    assert paths([*steady, *swapped]) == {(1, 3, 2): 10}
    assert (view.postcards["by_arrival"], view.postcards["unordered"]) == (30, 0)


def test_equal_ttls_without_a_usual_order_stay_apart() -> None:
    packets = [card for number in range(8) for card in journey(number, (1, 3) if number % 2 else (3, 1), falling=False)]
    assert paths(packets) == {(1,): 8, (3,): 8}
    assert folded(packets).view().postcards["unordered"] == 16
    timeless = [dataclasses.replace(card, time=0) for card in journey(0, (1, 3), falling=False)]
    assert paths(timeless) == {(1,): 1, (3,): 1}


def test_a_node_that_reports_a_packet_twice_is_on_its_path_once() -> None:
    view = folded([*journey(0, (1, 3, 2)), *journey(0, (1, 3, 2))]).view()
    assert view.postcards["duplicated"] == 3
    assert (view.paths.packets.tolist(), len(view.paths.queues[0])) == ([1], 3)


def test_a_loop_is_no_duplicate() -> None:
    assert paths(journey(0, (1, 3, 1, 2))) == {(1, 3, 1, 2): 1}


def test_a_missing_report_leaves_a_hole_and_changes_no_path() -> None:
    packets = [card for number in range(20) for at, card in enumerate(journey(number, (1, 3, 2))) if number != 7 or at != 1]
    view = folded(packets).view()
    assert view.paths.holes.sum() == 1
    assert view.flows.path_changes.tolist() == [0]
    ends = [card for number in range(20) for at, card in enumerate(journey(number, (1, 3, 2))) if number % 3 or at]
    assert folded(ends).view().flows.path_changes.tolist() == [0]


def test_a_flow_that_moves_has_moved_once() -> None:
    packets = [card for number in range(20) for card in journey(number, ROUTES[number >= 12])]
    flows = folded(packets).view().flows
    assert (flows.path_changes.tolist(), flows.path_change_ns.tolist()) == ([1], [START + 12 * MS])


def test_a_number_that_comes_again_is_another_packet() -> None:
    again = 2_000 * MS
    later = [dataclasses.replace(card, time=card.time + again) for card in journey(0, (1, 4, 2))]
    assert paths([*journey(0, (1, 3, 2)), *later]) == {(1, 3, 2): 1, (1, 4, 2): 1}


def test_an_identification_of_zero_identifies_nothing() -> None:
    packets = journey(0, (1, 3, 2), roce=None, ip_id=0)
    view = folded(packets).view()
    assert (view.postcards["unidentified"], view.postcards["joined"]) == (3, 0)
    assert sorted(view.paths.packets.tolist()) == [1, 1, 1]


def test_a_stack_of_which_one_hop_is_left_is_no_postcard() -> None:
    cut = journey(0, (1, 3, 2), telemetry=schema.FORMAT_INT_MD_2)
    assert folded(cut).view().postcards["total"] == 0
    assert known(folded(cut).view()) == expected(cut)


# ---------------------------------------------------------------------------------------------------------------- merging


@pytest.mark.parametrize("compiled", LIVES)
def test_collectors_that_were_folded_apart_are_joined_by_merging(compiled: bool) -> None:
    packets = traffic(200, 5)
    nodes = sorted({card.hops[0].node for card in packets})  # type: ignore[type-var]
    apart = [folded([card for card in packets if card.hops[0].node == node], compiled) for node in nodes]
    for states in (apart, apart[::-1]):
        view = merged(*states).view()
        assert known(view) == expected(packets)
        assert view.postcards == folded(packets).view().postcards


def test_pieces_of_a_capture_merge_to_the_whole_wherever_it_was_cut() -> None:
    packets = traffic(120, 6, lost=0.1, twice=0.1, disorder=20)
    whole = folded(packets)
    for cut in range(0, len(packets), 29):
        state = merged(folded(packets[:cut]), folded(packets[cut:]))
        assert known(state.view()) == known(whole.view())
        assert state.view().postcards == whole.view().postcards


def test_a_view_takes_nothing_from_the_state() -> None:
    packets = traffic(60, 7)
    state = folded(packets[:91])
    assert state.view().postcards == state.view().postcards
    assert known(merged(state, folded(packets[91:])).view()) == expected(packets)


# ----------------------------------------------------------------------------------------------------------------- bounds

SMALL = Capacity(postcards=256)


@pytest.mark.parametrize("compiled", LIVES)
def test_a_full_log_lets_the_oldest_packets_go_and_loses_none(compiled: bool) -> None:
    packets = traffic(3000, 8)
    state = folded(packets, compiled, SMALL, batch=64)
    assert len(state.postcards.log) <= 256
    assert known(state.view())["paths"] == expected(packets)["paths"]
    assert state.view().postcards["joined"] == len(packets)


def test_a_sample_of_full_logs_has_packets_in_common() -> None:
    packets = [card for number in range(4000) for card in journey(number, (1, 3, 2), number % 4 + 1)]
    apart = [folded([card for card in packets if card.hops[0].node == node], False, SMALL, batch=64) for node in (1, 3, 2)]
    view = merged(*apart).view()
    assert view.postcards["total"] == len(packets)
    assert view.postcards["joined"] > 50
    whole = [count for queues, count in zip(view.paths.queues, view.paths.packets.tolist(), strict=True) if len(queues) == 3]
    # spread over all of the time, not only its end
    assert sum(whole) == view.postcards["joined"] // 3
    long = [queues for queues in view.paths.queues if len(queues) == 3]
    assert view.paths.first_ns[view.paths.queues.index(long[0])] < START + 1000 * MS


def test_a_forgotten_flow_leaves_its_packets_on_their_paths() -> None:
    packets = [card for number in range(200) for card in journey(number, (1, 3, 2), flow=number + 1)]
    view = folded(packets, capacity=Capacity(flows=50)).view()
    assert view.flows.evicted > 100
    assert sum(view.paths.packets) >= 200
    assert view.postcards["joined"] + view.postcards["alone"] == 600


def test_paths_beyond_the_maximum_are_counted() -> None:
    packets = [card for number in range(40) for card in journey(number, (1, number + 2), flow=1)]
    view = folded(packets, capacity=Capacity(paths=5)).view()
    assert (len(view.paths.queues), view.counts["paths_ignored"]) == (5, 35)


def test_captures_without_reports_keep_nothing() -> None:
    state = folded([Packet(START + number, (Hop(1), Hop(2))) for number in range(100)])
    assert (len(state.postcards.log), state.view().postcards["total"]) == (0, 0)


# ---------------------------------------------------------------------------------------------------------------- captures


def test_the_four_collectors_together_show_the_paths_of_the_packets() -> None:
    result = analyze(sorted(str(path) for path in STRATUM.glob("s?-coll.pcap")))
    assert result.quality is not None and result.quality.postcards is not None
    lengths = {tuple(hop.node_id for hop in path.hops): 0 for path in result.summary.paths}
    for path in result.summary.paths:
        lengths[tuple(hop.node_id for hop in path.hops)] += path.packets
    # flows C and D by s3 as far as they were delivered, A and B by s2, E dropped in s1, and what s3 dropped
    assert lengths == {(1, 3, 4): 486, (1, 2, 4): 158, (1,): 27 + 76}
    first = result.findings[0]
    assert (first.node_id, first.port_id, first.role) == (3, 2, "root")
    assert "76 of 562 packets (14 %)" in " ".join(first.evidence)
    assert "downstream on the same paths is calm" in " ".join(first.evidence)
    cards = result.quality.postcards
    assert (cards.total, cards.joined, cards.by_arrival, cards.not_joined) == (2035, 1932, 1932, {"alone": 103})


def test_packets_that_are_never_reported_again_are_counted_at_the_queue_that_they_went_to() -> None:
    packets = [card for number in range(30) for card in journey(number, (1, 3, 2))[: 1 if number % 3 == 0 else 3]]
    view = folded(packets).view()
    queue = view.queues.node_id.tolist().index(3)
    assert unreported(view) == {queue: (10, 30)}
    assert unreported(folded([Packet(START, (Hop(1), Hop(3))), Packet(START, (Hop(1),))]).view()) == {}


def test_random_numbers_do_not_join_packets_of_different_flows() -> None:
    dice = np.random.default_rng(11)
    packets = [
        postcard(node, START + number * 1000, 60 - node, flow=1 + number % 50, psn=int(dice.integers(0, 40)))
        for number in range(1500)
        for node in (int(dice.integers(1, 5)),)
    ]
    assert known(folded(packets).view())["paths"] == expected(packets)["paths"]
