"""Which queues were congested, and when: buckets above a threshold, joined to episodes.

A queue is judged by its depth. Where no depth is reported, or it is 0 in every queue of the node, it is judged by its hop latency,
and then asked for more: slow packets are everyday life in software switches, so only a long unbroken run of slow buckets counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from int_analyzer.analysis.units import QueueUnits
from int_analyzer.fold.view import View
from int_analyzer.profile import Thresholds

Array = Any
"""A one-dimensional numpy array."""

BASELINE_QUANTILE = 0.1
COMPARABLE_QUEUES = 4
"""With fewer other queues "usual in this fabric" means nothing, and an empty queue is the baseline."""
COLD_BUCKETS = 2
"""So many calm buckets with packets do not end an episode of depth."""
LATENCY_FACTOR = 5.0
LATENCY_BUCKETS = 5
"""Latency alone is believed after so many consecutive buckets (with packets) of which the mean is above the threshold."""
CONTRADICTED_SHARE = 0.5

DEPTH, LATENCY = "depth", "latency"


@dataclass(frozen=True)
class Episode:
    """A run of hot buckets: capture times, packets at least above the threshold, largest value (raw) and when."""

    start_ns: int
    end_ns: int
    above: int
    peak: int
    peak_ns: int


@dataclass(frozen=True)
class Congestion:
    """A queue (row) that was congested: judged by "depth" or "latency", raw baseline and threshold, its episodes, its hot buckets."""

    queue: int
    measure: str
    baseline: float
    threshold: float
    compared: bool
    episodes: tuple[Episode, ...]
    rows: Array

    @cached_property
    def start_ns(self) -> int:
        """Start of the first episode."""
        return self.episodes[0].start_ns

    @cached_property
    def end_ns(self) -> int:
        """End of the last episode."""
        return self.episodes[-1].end_ns

    @cached_property
    def duration_ns(self) -> int:
        """Time within episodes."""
        return sum(episode.end_ns - episode.start_ns for episode in self.episodes)

    @cached_property
    def above(self) -> int:
        """Packets that were at least above the threshold."""
        return sum(episode.above for episode in self.episodes)

    @cached_property
    def peak(self) -> Episode:
        """The episode with the largest value."""
        return max(self.episodes, key=lambda episode: episode.peak)

    def overlap(self, other: Congestion) -> float:
        """Share of this queue's congested time in which the other was congested too."""
        shared = 0
        for mine in self.episodes:
            for theirs in other.episodes:
                shared += max(0, min(mine.end_ns, theirs.end_ns) - max(mine.start_ns, theirs.start_ns))
        return shared / self.duration_ns


def find_congestion(view: View, units: QueueUnits, thresholds: Thresholds) -> list[Congestion]:
    """All congested queues, in the order of the queues."""
    found = [*_by_depth(view, units, thresholds), *_by_latency(view, units, thresholds)]
    return sorted(found, key=lambda congestion: congestion.queue)


def contradicted(view: View) -> Array:
    """Mask of queues whose hop latency differs from the node's own timestamps for most hops: it is not a latency."""
    queues = view.queues
    return (queues.latency_count > 0) & (queues.latency_contradicted > CONTRADICTED_SHARE * queues.latency_count)


def latency_judged(view: View) -> Array:
    """Mask of queues without a depth that means anything, but with a latency that does."""
    queues = view.queues
    # A node whose other queues do fill shows that its zeros are measured: then a late packet was not late for this queue.
    nodes_with_depth = np.unique(queues.node_id[(queues.depth_count > 0) & (queues.depth_max > 0)])
    silent = ~np.isin(queues.node_id, nodes_with_depth)
    return silent & (queues.latency_count > 0) & ~contradicted(view)


def _by_depth(view: View, units: QueueUnits, thresholds: Thresholds) -> list[Congestion]:
    queues, buckets = view.queues, view.buckets
    found = []
    candidates = np.flatnonzero((queues.depth_count > 0) & (queues.depth_max > units.depth_floor))
    low, medians = _low_and_median(queues.depth_histograms, len(candidates) and len(queues.node_id))
    for queue in candidates.tolist():
        others = _same_unit(units.depth_unit, units.depth_factor, queue) & (queues.depth_count > 0)
        others[queue] = False
        compared = int(others.sum()) >= COMPARABLE_QUEUES
        baseline = 0.0
        if compared:
            baseline = min(float(low[queue]), float(np.median(medians[others])))
        threshold = max(float(units.depth_floor[queue]), baseline * thresholds.factor)
        first, last = _bucket_range(buckets, queue)
        hot = buckets.depth_max[first:last] > threshold
        runs = [(first + a, first + b) for a, b in _runs(hot, COLD_BUCKETS)]
        episodes = [episode for run in runs if (episode := _depth_episode(view, run, threshold)).above >= thresholds.minimum_packets]
        if episodes:
            found.append(_congestion(view, queue, DEPTH, baseline, threshold, compared, episodes, first + np.flatnonzero(hot)))
    return found


def _by_latency(view: View, units: QueueUnits, thresholds: Thresholds) -> list[Congestion]:
    queues, buckets = view.queues, view.buckets
    judged = latency_judged(view)
    factor = max(LATENCY_FACTOR, thresholds.factor)
    found = []
    candidates = np.flatnonzero(judged & (queues.latency_max > units.latency_floor))
    low, medians = _low_and_median(queues.latency_histograms, len(candidates) and len(queues.node_id))
    for queue in candidates.tolist():
        # Only ports of the same node have the same pipeline to compare with.
        others = judged & (queues.node_id == queues.node_id[queue])
        others[queue] = False
        baseline = float(low[queue])
        if others.any():
            baseline = min(baseline, float(np.median(medians[others])))
        threshold = max(float(units.latency_floor[queue]), baseline * factor)
        first, last = _bucket_range(buckets, queue)
        hot = buckets.latency_sum[first:last] > threshold * buckets.latency_count[first:last]
        runs = [(first + a, first + b) for a, b in _runs(hot, 0) if b - a + 1 >= LATENCY_BUCKETS]
        episodes = [episode for run in runs if (episode := _latency_episode(view, run)).above >= thresholds.minimum_packets]
        if episodes:
            rows = first + np.flatnonzero(hot)
            found.append(_congestion(view, queue, LATENCY, baseline, threshold, bool(others.any()), episodes, rows))
    return found


def _congestion(
    view: View, queue: int, measure: str, baseline: float, threshold: float, compared: bool, episodes: list[Episode], hot: Array
) -> Congestion:
    starts = np.array([episode.start_ns for episode in episodes])
    ends = np.array([episode.end_ns for episode in episodes])
    rows = hot[within(view.buckets.start_ns[hot], starts, ends)]
    return Congestion(queue, measure, baseline, threshold, compared, tuple(episodes), rows)


def within(times: Array, starts: Array, ends: Array) -> Array:
    """Mask of times that lie in one of the intervals [start, end), which are sorted and apart."""
    if len(starts) == 0:
        return np.zeros(len(times), dtype=np.bool_)
    interval = np.searchsorted(starts, times, side="right") - 1
    return (interval >= 0) & (times < ends[interval])


def _bucket_range(buckets: Any, queue: int) -> tuple[int, int]:
    first, last = np.searchsorted(buckets.queue, (queue, queue + 1))
    return int(first), int(last)


def _runs(hot: Array, cold_allowed: int) -> list[tuple[int, int]]:
    """First and last index of the runs of hot buckets, with up to `cold_allowed` cold ones between."""
    indices = np.flatnonzero(hot)
    if len(indices) == 0:
        return []
    breaks = np.flatnonzero(np.diff(indices) > cold_allowed + 1)
    firsts = indices[np.concatenate(([0], breaks + 1))]
    lasts = indices[np.concatenate((breaks, [len(indices) - 1]))]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _depth_episode(view: View, run: tuple[int, int], threshold: float) -> Episode:
    buckets = view.buckets
    rows = slice(run[0], run[1] + 1)
    packets, largest = buckets.depth_count[rows], buckets.depth_max[rows]
    hot = largest > threshold
    # Of a bucket, sum and largest are known. If k packets are above, sum ≤ k × largest + (packets − k) × threshold.
    least = np.ceil((buckets.depth_sum[rows] - packets * threshold)[hot] / (largest[hot] - threshold))
    above = int(np.clip(least, 1, packets[hot]).sum())
    at = run[0] + int(np.argmax(largest))
    end = int(buckets.start_ns[run[1]]) + view.buckets.width_ns
    return Episode(int(buckets.start_ns[run[0]]), end, above, int(buckets.depth_max[at]), int(buckets.depth_max_ns[at]))


def _latency_episode(view: View, run: tuple[int, int]) -> Episode:
    buckets = view.buckets
    rows = slice(run[0], run[1] + 1)
    at = run[0] + int(np.argmax(buckets.latency_max[rows]))
    end = int(buckets.start_ns[run[1]]) + buckets.width_ns
    packets = int(buckets.latency_count[rows].sum())
    return Episode(int(buckets.start_ns[run[0]]), end, packets, int(buckets.latency_max[at]), int(buckets.start_ns[at]))


def _low_and_median(histograms: Any, queues: int) -> tuple[Array, Array]:
    """Low quantile and median of every queue: what it is like when calm, and what is usual. NaN where nothing was reported."""
    values = histograms.quantiles((BASELINE_QUANTILE, 0.5), rows=np.arange(queues)) if queues else np.empty((0, 2))
    return values[:, 0], values[:, 1]


def _same_unit(names: list[str], factors: Array, queue: int) -> Array:
    return (np.array(names) == names[queue]) & (factors == factors[queue])
