"""The band between two clocks: what the envelopes of both directions leave for offset and drift, and where a clock was set.

With latencies f = offset + way there and b = −offset + way back, the offset lies below every f and above every −b. A clock that runs
evenly is a straight line in between; the line chosen has the largest distance from both (as halving the round trip in RFC 5905 §8 does for
one packet), and the error is how far off any other line between them can be, whatever the ways are made of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

FASTEST = 500e-6
"""No oscillator is so far from its nominal rate; what changes faster was set."""
FANNED, ROUNDS = 33, 5
"""Slopes tried at once between two bounds, and how often: to 0.001 ppm."""
AGREEING = 1e-6
"""Drifts of a one-way envelope and of its halves that differ by more are no drift."""
TORN = 2
"""Least values of a slot, one in each direction, that may tell of a time in front of a step and of one behind it."""


@dataclass(frozen=True)
class Points:
    """An envelope: capture times in ns from a common origin, and the least value seen there (float64[n] each)."""

    time: Any
    value: Any

    def part(self, begin: float, end: float) -> Points:
        """The points with begin ≤ time < end."""
        inside = (self.time >= begin) & (self.time < end)
        return Points(self.time[inside], self.value[inside])


@dataclass(frozen=True)
class Band:
    """Offset at a time (`offset` + `drift` × (time − `centre`)), ± `error` at the centre.

    drift_error: how much the drift may differ, None where the drift is not known at all; step, step_time: by how much, and
    when, one of the clocks was set: the band is that of the time after it.
    """

    centre: float
    offset: float
    drift: float
    error: float
    drift_error: float | None
    step: float | None = None
    step_time: float = -np.inf

    def at(self, time: Any) -> Any:
        """The offset at a time, or at many."""
        return self.offset + self.drift * (time - self.centre)

    def error_at(self, time: Any) -> Any:
        """By how much `at` may be off: more, the further from the centre."""
        return self.error + (FASTEST if self.drift_error is None else self.drift_error) * np.abs(time - self.centre)


def fit_band(forward: Points, backward: Points) -> Band | None:
    """The band of two envelopes with points in both; None if no clock that is set once at most can have made them."""
    whole = _fit(forward, backward)
    if whole is not None:
        return whole
    times = np.unique(np.concatenate([forward.time, backward.time]))
    # Points in front of the step fit a line, and those behind it; not those of a slot in the middle of which the clock was set.
    ahead = _most(len(times), lambda count: _possible(forward.part(-np.inf, times[count - 1]), backward.part(-np.inf, times[count - 1])))
    behind = _most(len(times), lambda count: _possible(forward.part(times[-count], np.inf), backward.part(times[-count], np.inf)))
    first, last = ahead - 1, len(times) - behind
    if last - first > TORN:
        return None
    if last < first:
        first = last = (first + last) // 2
    early, late = (
        _fit(forward.part(begin, end), backward.part(begin, end)) for begin, end in ((-np.inf, times[first]), (times[last], np.inf))
    )
    if early is None or late is None:
        return None
    when = float(times[first] + times[last]) / 2
    return replace(late, step=float(late.at(when) - early.at(when)), step_time=when)


def one_way_drift(points: Points) -> float | None:
    """Drift that the lower edge of one envelope shows; None with too few points, or if its halves do not agree on one."""
    middle = (points.time.min() + points.time.max()) / 2
    parts = (points, points.part(-np.inf, middle), points.part(middle, np.inf))
    if any(len(part.time) < 4 for part in parts[1:]):
        return None
    whole, early, late = (_lower_edge(part) for part in parts)
    straight = max(abs(early - whole), abs(late - whole)) <= AGREEING
    return whole if straight and abs(whole) <= FASTEST else None


def _most(count: int, possible: Callable[[int], bool]) -> int:
    """The largest of 1 … count for which something is possible that is so for all smaller ones."""
    low, high = 1, count
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if possible(middle) else (low, middle - 1)
    return low


def _possible(forward: Points, backward: Points) -> bool:
    if len(forward.time) == 0 or len(backward.time) == 0:
        return True
    gap = _Gap(forward, backward)
    return bool(gap(gap.widest()) >= 0)


class _Gap:
    """The gap between two envelopes seen along a slope, which is concave in the slope."""

    def __init__(self, forward: Points, backward: Points) -> None:
        self.centre = float(np.mean(np.concatenate([forward.time, backward.time])))
        self._ahead, self._above = forward.time - self.centre, forward.value
        self._behind, self._below = backward.time - self.centre, -backward.value

    def edges(self, slopes: Any) -> tuple[Any, Any]:
        """Where lines with these slopes touch the envelope above and the one below, at the centre."""
        return (self._above - np.multiply.outer(slopes, self._ahead)).min(axis=-1), (
            self._below - np.multiply.outer(slopes, self._behind)
        ).max(axis=-1)

    def __call__(self, slopes: Any) -> Any:
        above, below = self.edges(slopes)
        return above - below

    def widest(self) -> float:
        """The slope of the widest gap."""
        return _peak(self, -FASTEST, FASTEST)

    def border(self, inside: float, outside: float) -> float | None:
        """The slope between these at which the gap closes; None if it is open even outside."""
        if self(outside) >= 0:
            return None
        for _ in range(ROUNDS):
            slopes = np.linspace(inside, outside, FANNED)
            closed = int(np.argmax(self(slopes) < 0))
            inside, outside = float(slopes[max(closed - 1, 0)]), float(slopes[closed])
        return inside

    def extremes(self, slowest: float, fastest: float) -> tuple[float, float]:
        """The lowest and the highest that any line with a slope between these can lie at the centre."""
        low = _peak(lambda slopes: -self.edges(slopes)[1], slowest, fastest)
        high = _peak(lambda slopes: self.edges(slopes)[0], slowest, fastest)
        return float(self.edges(low)[1]), float(self.edges(high)[0])


def _peak(concave: Callable[[Any], Any], low: float, high: float) -> float:
    """Where a concave function is largest between two bounds."""
    for _ in range(ROUNDS):
        slopes = np.linspace(low, high, FANNED)
        values = concave(slopes)
        best = np.flatnonzero(values == values.max())
        low, high = float(slopes[max(best[0] - 1, 0)]), float(slopes[min(best[-1] + 1, FANNED - 1)])
    return (low + high) / 2


def _fit(forward: Points, backward: Points) -> Band | None:
    if len(forward.time) == 0 or len(backward.time) == 0:
        return None
    gap = _Gap(forward, backward)
    drift = gap.widest()
    if gap(drift) < 0:
        return None
    slowest, fastest = gap.border(drift, -FASTEST), gap.border(drift, FASTEST)
    drift_error = None
    if slowest is not None and fastest is not None:
        drift_error = max(fastest - drift, drift - slowest)
    elif gap(0.0) >= 0:
        drift = 0.0
    offset = float(sum(gap.edges(drift))) / 2
    low, high = gap.extremes(-FASTEST if slowest is None else slowest, FASTEST if fastest is None else fastest)
    return Band(gap.centre, offset, drift, max(high - offset, offset - low), drift_error)


def _lower_edge(points: Points) -> float:
    """Slope of the line below all points that is nearest to them (the edge of their lower hull over their mean time)."""
    order = np.argsort(points.time)
    time, value = points.time[order], points.value[order]
    hull: list[int] = []
    for at in range(len(time)):
        while len(hull) >= 2 and _turns_right(time, value, hull[-2], hull[-1], at):
            hull.pop()
        hull.append(at)
    if len(hull) < 2:
        return 0.0
    centre = time.mean()
    edge = max(1, min(len(hull) - 1, int(np.searchsorted(time[hull], centre))))
    first, last = hull[edge - 1], hull[edge]
    return float((value[last] - value[first]) / (time[last] - time[first]))


def _turns_right(time: Any, value: Any, first: int, middle: int, last: int) -> bool:
    """Whether `middle` lies on or above the line from `first` to `last`."""
    rise = (value[last] - value[first]) * (time[middle] - time[first])
    return bool((value[middle] - value[first]) * (time[last] - time[first]) >= rise)
