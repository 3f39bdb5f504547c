"""Ragged: rows of different lengths in one array."""

from __future__ import annotations

import numpy as np
import pytest

from int_analyzer.fold.ragged import Ragged

ROWS = [(3, 1), (), (4,), (3, 3, 0)]


def test_rows_come_back_as_they_went_in() -> None:
    ragged = Ragged.of(ROWS)
    assert (list(ragged), len(ragged), ragged[3], ragged[-1], ragged[1:3]) == (ROWS, 4, (3, 3, 0), (3, 3, 0), ROWS[1:3])
    assert ragged.index((4,)) == 2 and (3, 2) not in ragged
    with pytest.raises(IndexError):
        ragged[4]


def test_rows_are_equal_where_values_and_lengths_are() -> None:
    assert Ragged.of(ROWS) == Ragged.of(ROWS)
    assert Ragged.of(ROWS) != Ragged.of([(3,), (1,), (4,), (3, 3, 0)])
    assert Ragged.of([]) == Ragged.of([])


def test_every_value_knows_its_row_its_place_and_whether_it_is_the_last() -> None:
    ragged = Ragged.of(ROWS)
    assert ragged.row_of.tolist() == [0, 0, 2, 3, 3, 3]
    assert ragged.position_of.tolist() == [0, 1, 0, 0, 1, 2]
    assert ragged.is_last.tolist() == [False, True, True, False, False, True]


def test_a_mask_holds_for_a_row_where_it_holds_for_all_of_it() -> None:
    assert Ragged.of(ROWS).all_of(np.array([False, True, False, True, True])).tolist() == [True, True, True, False]
