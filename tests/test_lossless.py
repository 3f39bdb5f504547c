"""The search for the highest rate without loss, on programs that are made up."""

from __future__ import annotations

import pytest
from lossless import LEAST, Step, highest


@pytest.mark.parametrize("limit", [50_000.0, 333_000.0, 1_500_000.0])
def test_the_limit_of_a_program_is_found(limit: float) -> None:
    best, limited = highest(lambda rate: Step(rate, int(rate), int(min(rate, limit)), 1.0, 0.1), 12)
    assert best is not None and not limited
    assert 0.99 * limit < best.rate <= limit


def test_where_the_sender_is_the_limit_it_says_so() -> None:
    best, limited = highest(lambda rate: Step(rate, int(min(rate, 400_000)), int(min(rate, 400_000)), 1.0, 0.1), 12)
    assert best is not None and limited and best.rate == 400_000


def test_a_program_that_always_loses_has_no_rate() -> None:
    asked: list[float] = []

    def step(rate: float) -> Step:
        asked.append(rate)
        return Step(rate, int(rate), int(rate) - 1, 1.0, 0.1)

    assert highest(step, 8) == (None, False)
    assert asked == sorted(asked, reverse=True) and asked[-1] < 1.1 * LEAST
