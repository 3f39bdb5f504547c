"""Directions joined from two pieces: compiled and plain alike, whichever comes first, and with no more runs than there is room for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from roce_reference import US, folded, known
from roce_traffic import Wire, traffic

from int_analyzer.fold.direction import FIRST_GAP_NS, LAST_GAP_NS, OPEN, OPEN_RUNS, PARTIAL, UNFILLED
from int_analyzer.fold.direction import REQUESTS as ORDER
from int_analyzer.fold.state import State

LIVES = [pytest.param(False, id="plain"), pytest.param(True, id="compiled")]


def merged(pieces: list[Any], compiled: bool) -> State:
    """These packets, folded piece by piece."""
    whole = folded(pieces[0], compiled)
    for piece in pieces[1:]:
        whole.merge(folded(piece, compiled))
    return whole


@pytest.mark.parametrize("seed", range(4))
def test_compiled_and_plain_join_to_the_same_rows(seed: int) -> None:
    packets = traffic(seed, connections=8, loss=0.1, late=0.1, copies=0.1)
    pieces = [packets[begin : begin + 170] for begin in range(0, len(packets), 170)]
    plain, compiled = merged(pieces, False).connections, merged(pieces, True).connections
    assert len(pieces) > 3 and plain.directions.data[:, PARTIAL].sum() > 0
    np.testing.assert_array_equal(plain.directions.data, compiled.directions.data)


@pytest.mark.parametrize("compiled", LIVES)
def test_which_piece_absorbs_the_other_does_not_matter(compiled: bool) -> None:
    packets = traffic(5, connections=8, loss=0.1)
    one, other = folded(packets[:300], compiled), folded(packets[300:600], compiled)
    forth, back = one.copy(), other.copy()
    forth.merge(other)
    back.merge(one)
    assert known(forth.view()) == known(back.view())


@pytest.mark.parametrize("compiled", LIVES)
def test_the_latest_runs_stay_where_both_pieces_have_too_many(compiled: bool) -> None:
    wire, pieces = Wire(), []
    for _ in range(2):
        for _ in range(10):
            wire.message("send", 2)
        pieces.append(wire.packets)
        wire.packets = []
    whole = merged(pieces, compiled)
    rows = whole.connections.directions.data
    assert (rows[0, OPEN], rows[0, PARTIAL]) == (OPEN_RUNS, 4)
    # the messages that stay are whole: each from its first packet to its second
    assert whole.view().connections.one_sided_sum.tolist() == [OPEN_RUNS * US]


@pytest.mark.parametrize("compiled", LIVES)
def test_what_is_missing_between_two_pieces_and_in_the_earlier_is_unfilled(compiled: bool) -> None:
    wire = Wire()
    wire.message("write", 6, lost=(2,))
    before = wire.packets
    wire.packets = []
    wire.message("write", 6, lost=(0, 1))
    rows = merged([before, wire.packets], compiled).connections.directions.data
    assert rows[0, ORDER + UNFILLED] == 3
    assert 0 < rows[0, FIRST_GAP_NS] <= before[-1].time < rows[0, LAST_GAP_NS] == wire.packets[0].time
