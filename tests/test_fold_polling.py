"""Connections followed in turns: of them is known what following all would know of these connections in these turns, and no more."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from roce_reference import US, Packet, expected_in_turns, fill, folded, known
from roce_traffic import Wire, traffic

from int_analyzer.fold.state import Capacity, State

SUBSETS = 5
TURN = 400 * US
LIVES = [pytest.param(False, id="plain"), pytest.param(True, id="compiled")]


def polled(packets: list[Packet], turn: int, followed: int = 1, compiled: bool = False) -> State:
    """A state of the connections whose turn it is."""
    state = State(Capacity(subsets=SUBSETS, subsets_followed=followed), turn)
    for begin in range(0, len(packets), 170):
        state.fold(fill(packets[begin : begin + 170]), compiled)
    return state


def hosts_of(state: State) -> set[frozenset[str]]:
    return {frozenset(key[:2]) for key in known(state.view())}


def hosts(packet: Packet) -> frozenset[str]:
    return frozenset(packet.key[:2])


def in_turns(packets: list[Packet]) -> Iterator[tuple[int, list[Packet]]]:
    """The packets of each turn, and its number."""
    first = packets[0].time
    for turn in range((packets[-1].time - first) // TURN + 1):
        yield turn, [packet for packet in packets if (packet.time - first) // TURN == turn]


@pytest.mark.parametrize("followed", [1, 2])
def test_every_connection_has_as_many_turns_as_its_share_says_and_both_its_directions_have_the_same(followed: int) -> None:
    packets = [packet for here in range(1, 40) for packet in _pair(here)]
    rounds = [hosts_of(polled(packets, turn, followed)) for turn in range(SUBSETS)]
    for pair in {hosts(packet) for packet in packets}:
        assert sum(pair in turn for turn in rounds) == followed, pair
    for turn in range(SUBSETS):
        seen = known(polled(packets, turn, followed).view())
        assert all(values["peer"] in seen for values in seen.values())
    # no turn has much more than its share
    assert max(map(len, rounds)) < 2.5 * followed * 39 / SUBSETS


def _pair(here: int) -> list[Packet]:
    wire = Wire(here=here, there=here + 50, here_qp=2 * here, there_qp=2 * here + 1)
    wire.message("write", 2)
    wire.acknowledge(wire.psn - 1)
    return wire.packets


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize("seed", range(8))
def test_what_is_known_is_what_following_all_would_know_of_these_connections_in_these_turns(seed: int, compiled: bool) -> None:
    packets = traffic(seed, connections=8)
    whole: State | None = None
    restricted = []
    for turn, sent in in_turns(packets):
        state = polled(sent, turn, followed=2, compiled=compiled)
        followed = hosts_of(state)
        restricted.append([packet for packet in sent if hosts(packet) in followed])
        if whole is None:
            whole = state
        else:
            whole.merge(state)
    assert whole is not None and len(restricted) > 2 and any(restricted)
    told, wanted = known(whole.view()), expected_in_turns(restricted)
    assert told.keys() == wanted.keys()
    for key, values in wanted.items():
        assert told[key] == values, key


def test_a_turn_without_packets_is_no_coverage() -> None:
    state = polled([], 3)
    state.connections.turns.count(0, 0)
    assert not state.connections.turns.had.any()


def test_a_message_that_is_cut_by_a_turn_is_not_measured() -> None:
    wire = Wire()
    wire.message("write", 1)
    wire.acknowledge(wire.psn - 1)
    whole = wire.packets.copy()
    wire.message("write", 4)
    wire.acknowledge(wire.psn - 1)
    turn = next(turn for turn in range(SUBSETS) if hosts_of(polled(whole, turn)))
    first, later = polled(wire.packets[:4], turn), polled(wire.packets[4:], turn + SUBSETS)
    first.merge(later)
    (there,) = (values for values in known(first.view()).values() if values["write"])
    assert (there["fct"][0], there["unanswered"], there["partial"], there["unfilled"]) == (1, 1, 1, 0)


@pytest.mark.parametrize(("later_turn", "messages"), [(0, 1), (SUBSETS, 0)])
def test_a_message_goes_on_in_another_piece_of_its_turn_and_not_in_another_turn(later_turn: int, messages: int) -> None:
    wire = Wire()
    wire.message("write", 4)
    turn = next(turn for turn in range(SUBSETS) if hosts_of(polled(wire.packets, turn)))
    state = polled(wire.packets[:2], turn)
    state.merge(polled(wire.packets[2:], turn + later_turn))
    (there,) = known(state.view()).values()
    assert there["one_sided"][0] == messages


def test_the_view_says_how_much_was_followed() -> None:
    packets = traffic(3, connections=12)
    random.Random(1).shuffle(packets)
    state = polled(packets, 2, followed=2)
    followed = sum(values["packets"] for values in known(state.view()).values())
    tracking = state.view().connections.tracking
    assert (tracking.polled, tracking.time_share, tracking.connections_share) == (True, 2 / SUBSETS, 2 / SUBSETS)
    assert tracking.packets_share == pytest.approx(followed / len(packets))
    state.merge(polled(packets, 3, followed=2))
    assert state.view().connections.tracking.connections_share == 4 / SUBSETS
    full = folded(packets).view().connections.tracking
    assert (full.polled, full.time_share, full.connections_share, full.packets_share) == (False, 1, 1, 1)


def test_states_of_other_subsets_do_not_merge() -> None:
    with pytest.raises(ValueError, match="of 1 and of 5 subsets"):
        State().merge(polled([], 0))


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize("seed", range(4))
def test_turns_that_follow_all_subsets_are_as_one_without_turns(seed: int, compiled: bool) -> None:
    packets = traffic(seed, connections=8)
    pieces, plain = State(Capacity(subsets=SUBSETS, subsets_followed=SUBSETS)), State()
    for turn, sent in in_turns(packets):
        pieces.merge(polled(sent, turn, SUBSETS, compiled))
        plain.merge(folded(sent))
    assert known(pieces.view()) == known(plain.view())
    assert pieces.view().connections.tracking == plain.view().connections.tracking


def test_a_part_that_is_polled_among_others_that_are_not_is_said_of_the_whole() -> None:
    packets = [packet for here in range(1, 40) for packet in _pair(here)]
    together = polled(packets, 0, followed=SUBSETS)
    together.merge(polled(packets, 1, followed=1))
    together.merge(polled(packets, 2, followed=SUBSETS))
    tracking = together.view().connections.tracking
    assert (tracking.polled, tracking.connections_share) == (True, 1)
    assert tracking.time_share == pytest.approx((1 + 1 / SUBSETS + 1) / 3)
    assert 2 / 3 < tracking.packets_share < 1
