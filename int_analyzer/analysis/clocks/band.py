"""The band between two clocks: what the envelopes of both directions leave for offset and drift, and where a clock was set.

With latencies f = offset + way there and b = −offset + way back, the offset lies below every f and above every −b. A clock that runs
evenly is a straight line in between; the line chosen has the largest distance from both (as halving the round trip in RFC 5905 §8 does for
one packet), and the error is how far off any other line between them can be, whatever the ways are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

FASTEST = 500e-6
"""No oscillator is so far from its nominal rate; what changes faster was set."""
FANNED, ROUNDS = 33, 5
"""Slopes tried at once between two bounds, and how often: to 0.001 ppm."""
_FAN = np.linspace(0.0, 1.0, FANNED)
TOGETHER = 48
"""Pairs of envelopes that are fitted at a time."""
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
        return self.error + self.slack * np.abs(time - self.centre)

    @property
    def slack(self) -> float:
        """How much the drift may differ at most."""
        return FASTEST if self.drift_error is None else self.drift_error


def fit_bands(pairs: Sequence[tuple[Points, Points]]) -> list[Band | None]:
    """The band of each pair of envelopes with points in both; None if no clock that is set once at most can have made them."""
    bands = _fit(pairs)
    return [_fit_around_a_step(*pair) if band is None else band for pair, band in zip(pairs, bands, strict=True)]


def _fit_around_a_step(forward: Points, backward: Points) -> Band | None:
    """The band of two envelopes behind the only time at which one of the clocks was set."""
    times = np.unique(np.concatenate([forward.time, backward.time]))
    # Points in front of the step fit a line, and those behind it; not those of a slot in the middle of which the clock was set.
    ahead = _most(len(times), lambda count: _possible(forward.part(-np.inf, times[count - 1]), backward.part(-np.inf, times[count - 1])))
    behind = _most(len(times), lambda count: _possible(forward.part(times[-count], np.inf), backward.part(times[-count], np.inf)))
    first, last = ahead - 1, len(times) - behind
    if last - first > TORN:
        return None
    if last < first:
        first = last = (first + last) // 2
    pieces = ((-np.inf, times[first]), (times[last], np.inf))
    early, late = _fit([(forward.part(begin, end), backward.part(begin, end)) for begin, end in pieces])
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
    gaps = _Gaps([(forward, backward)])
    return bool(gaps(gaps.widest())[0] >= 0)


class _Gaps:
    """The gaps between two envelopes each, seen along a slope, which are concave in the slope.

    Slopes, and what is told of them, are float64[pairs] or [pairs, n]; envelopes float64[points, pairs].
    """

    def __init__(self, pairs: Sequence[tuple[Points, Points]]) -> None:
        self.centre = np.array([np.mean(np.concatenate([forward.time, backward.time])) for forward, backward in pairs])
        self._ahead, self._above = _side_by_side([forward for forward, _ in pairs], self.centre)
        self._behind, below = _side_by_side([backward for _, backward in pairs], self.centre)
        self._below = -below

    def above(self, slopes: Any) -> Any:
        """Where lines with these slopes touch the envelope above, at the centre."""
        return _at_centre(self._ahead, self._above, slopes).min(axis=0)

    def below(self, slopes: Any) -> Any:
        """Where they touch the envelope below."""
        return _at_centre(self._behind, self._below, slopes).max(axis=0)

    def __call__(self, slopes: Any) -> Any:
        return self.above(slopes) - self.below(slopes)

    def widest(self) -> Any:
        """The slope of each widest gap."""
        return _peak(self, *self._everywhere(-FASTEST, FASTEST))

    def border(self, inside: Any, outside: float) -> Any:
        """The slope between these at which each gap closes; NaN if it is open even outside."""
        (beyond,) = self._everywhere(outside)
        is_open = self(beyond) >= 0
        pair = np.arange(len(inside))
        for _ in range(ROUNDS):
            slopes = _fan(inside, beyond)
            closed = np.argmax(self(slopes) < 0, axis=1)
            inside, beyond = slopes[pair, np.maximum(closed - 1, 0)], slopes[pair, closed]
        return np.where(is_open, np.nan, inside)

    def extremes(self, slowest: Any, fastest: Any) -> tuple[Any, Any]:
        """The lowest and the highest that any line with a slope between these can lie at the centre."""
        low = _peak(lambda slopes: -self.below(slopes), slowest, fastest)
        high = _peak(self.above, slowest, fastest)
        return self.below(low), self.above(high)

    def _everywhere(self, *slopes: float) -> list[Any]:
        return [np.full(len(self.centre), slope) for slope in slopes]


def _side_by_side(envelopes: list[Points], centre: Any) -> tuple[Any, Any]:
    """Times relative to the centre and values of each envelope, as columns of one length: behind its end infinity, at the centre."""
    longest = max(len(points.time) for points in envelopes)
    times, values = np.zeros((longest, len(envelopes))), np.full((longest, len(envelopes)), np.inf)
    for column, points in enumerate(envelopes):
        times[: len(points.time), column] = points.time - centre[column]
        values[: len(points.time), column] = points.value
    return times, values


def _at_centre(times: Any, values: Any, slopes: Any) -> Any:
    """Where lines with these slopes through each point are at the centre: float64[points, …slopes]."""
    if slopes.ndim == 2:
        times, values = times[:, :, None], values[:, :, None]
    lines = slopes * times
    return np.subtract(values, lines, out=lines)


def _fan(low: Any, high: Any) -> Any:
    """FANNED slopes from each low (float64[n]) to each high: float64[n, FANNED]."""
    return low[:, None] + _FAN * (high - low)[:, None]


def _peak(concave: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Where each concave function is largest between two bounds."""
    pair = np.arange(len(low))
    for _ in range(ROUNDS):
        slopes = _fan(low, high)
        values = concave(slopes)
        best = values == values.max(axis=1)[:, None]
        first, last = np.argmax(best, axis=1), FANNED - 1 - np.argmax(best[:, ::-1], axis=1)
        low, high = slopes[pair, np.maximum(first - 1, 0)], slopes[pair, np.minimum(last + 1, FANNED - 1)]
    return (low + high) / 2


def _fit(pairs: Sequence[tuple[Points, Points]]) -> list[Band | None]:
    """The band of each pair of envelopes; None if a point is missing on one side, or if no line lies between them."""
    bands: list[Band | None] = [None] * len(pairs)
    whole = [row for row, (forward, backward) in enumerate(pairs) if len(forward.time) and len(backward.time)]
    # As many together as stay in a processor's cache with all slopes.
    for begin in range(0, len(whole), TOGETHER):
        rows = whole[begin : begin + TOGETHER]
        for row, band in zip(rows, _fit_together([pairs[row] for row in rows]), strict=True):
            bands[row] = band
    return bands


def _fit_together(pairs: Sequence[tuple[Points, Points]]) -> Iterator[Band | None]:
    gaps = _Gaps(pairs)
    drift = gaps.widest()
    fits = gaps(drift) >= 0
    slowest, fastest = gaps.border(drift, -FASTEST), gaps.border(drift, FASTEST)
    error = np.maximum(fastest - drift, drift - slowest)
    drift = np.where(np.isnan(error) & (gaps(np.zeros(len(pairs))) >= 0), 0.0, drift)
    offset = (gaps.above(drift) + gaps.below(drift)) / 2
    low, high = gaps.extremes(np.where(np.isnan(slowest), -FASTEST, slowest), np.where(np.isnan(fastest), FASTEST, fastest))
    around = np.maximum(high - offset, offset - low)
    for row in range(len(pairs)):
        known = None if np.isnan(error[row]) else float(error[row])
        band = Band(float(gaps.centre[row]), float(offset[row]), float(drift[row]), float(around[row]), known)
        yield band if fits[row] else None


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
