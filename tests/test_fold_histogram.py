"""Histograms: quantiles within 1 %, merging by adding, room only for what was seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from int_analyzer.fold.histogram import Histograms

SHARES = (0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0)


def of(*rows: list[int]) -> Histograms:
    made = Histograms(len(rows))
    for row, values in enumerate(rows):
        for value in values:
            made.add(row, value)
    return made


def nearest_rank(values: list[int], share: float) -> int:
    return sorted(values)[max(math.ceil(share * len(values) - 1e-9), 1) - 1]


@given(st.lists(st.integers(0, 127) | st.integers(0, 1 << 20) | st.integers(0, 1 << 41), min_size=1, max_size=60))
@settings(max_examples=100, deadline=None)
def test_quantiles_are_within_one_percent(values: list[int]) -> None:
    made = of([5, 6], values)
    for share, quantile in zip(SHARES, made.quantiles(SHARES, rows=[1])[0], strict=True):
        right = nearest_rank(values, share)
        assert quantile == right if right < 128 else abs(quantile - right) <= 0.008 * right


def test_quantiles_of_many_rows_are_those_of_each() -> None:
    random = np.random.default_rng(1)
    rows = [random.integers(0, 1 << int(random.integers(1, 30)), int(random.integers(0, 6))).tolist() for _ in range(2500)]
    made = of(*rows)
    every = made.quantiles(SHARES)
    for row in random.integers(0, 2500, 100).tolist():
        for column, share in enumerate(SHARES):
            one = made.quantile(row, share)
            assert every[row, column] == one or (math.isnan(every[row, column]) and math.isnan(one) and not rows[row])
    assert made.counts().tolist() == [len(values) for values in rows] == [made.count(row) for row in range(2500)]


def test_an_empty_row_has_no_quantile() -> None:
    assert math.isnan(Histograms(3).quantile(1, 0.5))
    assert Histograms(3).quantiles(SHARES).shape == (3, len(SHARES))


@given(*[st.lists(st.integers(0, 1 << 30), max_size=30)] * 3)
@settings(max_examples=50, deadline=None)
def test_merging_adds_rows(one: list[int], two: list[int], three: list[int]) -> None:
    made = of(one, two)
    made.merge(of(three, [1, 2, 3], two), np.array([1, -1, 4]))
    whole = of(one, two + three, [], [], two)
    np.testing.assert_array_equal(made.quantiles(SHARES), whole.quantiles(SHARES))
    assert made.counts().tolist() == whole.counts().tolist()


def test_rows_together_are_one() -> None:
    made = of([1, 500, 70000], [3], [2, 80000, 90000])
    assert made.together([0, 2]).quantiles(SHARES).tolist() == of([1, 500, 70000, 2, 80000, 90000]).quantiles(SHARES).tolist()


def test_every_second_row_is_a_copy() -> None:
    made = of([1], [2], [3], [4], [5], [6])
    even, odd = made.every(2, 4)
    made.add(0, 100)
    assert (even.counts().tolist(), odd.counts().tolist()) == ([1, 1], [1, 1])
    assert [even.quantile(1, 0.5), odd.quantile(1, 0.5)] == [3, 4]


def test_a_queue_costs_only_the_octaves_that_it_saw() -> None:
    made = Histograms(20_000)
    for row in range(20_000):
        made.add(row, 1000 + row % 500)
    assert made.used <= 20_001
    assert made.pool.nbytes + made.blocks.nbytes < 25 * 1024 * 1024


@pytest.mark.parametrize("value", [0, 63, 64, 127, 128, (1 << 40) - 1, 1 << 40, (1 << 53) + 1, (1 << 61) + 12345])
def test_any_value_can_be_counted(value: int) -> None:
    assert abs(of([value]).quantile(0, 0.5) - value) <= 0.008 * value
