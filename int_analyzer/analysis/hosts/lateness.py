"""Lateness: the stretch of time in which nearly every value is far above what is usual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

FACTOR = 3.0
"""What takes so many times as long as usual is late,"""
LEAST_NS = 50_000
"""if it takes so much longer: less is what queues that are not congested, and clocks, make of it."""
FEWEST = 4
"""Fewer late values are no trend."""
PENALTY = 2.0
"""A value in time outweighs so many late ones: at least two of three values of the stretch are late."""


@dataclass(frozen=True)
class Lateness:
    """Rows [first, last] of the values in order of time; how many of them are late, their median, and what is usual, in ns."""

    first: int
    last: int
    late: int
    median_ns: float
    usual_ns: float

    @property
    def limit_ns(self) -> float:
        """What is longer is late."""
        return latest(self.usual_ns)

    @property
    def share(self) -> float:
        """Of the stretch's values, so many are late."""
        return self.late / (self.last - self.first + 1)

    @property
    def excess_ns(self) -> float:
        """By how much what is late takes longer."""
        return self.median_ns - self.usual_ns


def latest(usual_ns: float) -> float:
    """How long something may take that usually takes so long, in ns."""
    return max(FACTOR * usual_ns, usual_ns + LEAST_NS)


def find_lateness(values: Any, usual_ns: float) -> Lateness | None:
    """The stretch of `values` (float64[n] in order of time, no NaN) that holds most late ones; None if nothing lasts."""
    is_late = values > latest(usual_ns)
    stretch = find_stretch(is_late)
    if stretch is None:
        return None
    here = slice(stretch[0], stretch[1] + 1)
    late = values[here][is_late[here]]
    return Lateness(*stretch, len(late), float(np.median(late)), usual_ns) if len(late) >= FEWEST else None


def find_stretch(told: Any) -> tuple[int, int] | None:
    """First and last row of the stretch in which most of `told` (bool[n]) is true; None where nothing is."""
    if not told.any():
        return None
    # The stretch with the largest sum of weights.
    sums = np.cumsum(np.where(told, 1.0, -PENALTY))
    before = np.concatenate([[0.0], sums[:-1]])
    last = int(np.argmax(sums - np.minimum.accumulate(before)))
    return int(np.argmin(before[: last + 1])), last
