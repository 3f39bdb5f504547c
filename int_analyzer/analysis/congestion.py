"""Which queues were congested, and when: buckets of which the mean is above a threshold, joined to episodes.

A queue is judged by its depth. Where no depth is reported, or it is 0 in every queue of the node, it is judged by its hop latency,
and then asked for more: slow packets are everyday life in software switches, so only a long unbroken run of slow buckets counts.

Bursts make deep queues in a healthy network too. What is usual is taken from the other queues of the fabric and from the queue's own
calm time; congestion is several times that, for some time or to a great height. The mean of a bucket is compared, not its largest
value: a short burst at line rate is many packets and lifts the mean, a lone deep packet is not. A queue that stays high without a
break, and was low at another time, is congested even if most of the fabric is: then what is usual there is itself congestion.

Where the unit of depth is a guess, hop latency, if there is one, has to agree: a depth at which nobody waits is no queue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from int_analyzer.analysis.units import RAW, QueueUnits
from int_analyzer.fold.view import BucketView, View
from int_analyzer.profile import ABSENT, Thresholds

Array = Any
"""A one-dimensional numpy array."""

CALM, BUSY = 0.1, 0.9
"""Of a queue's bucket means, what it is like when calm, and what it reaches as a matter of course."""
COMPARABLE_QUEUES = 4
"""With fewer other queues nothing is "usual in this fabric"."""
COLD_BUCKETS = 2
"""So many calm buckets with packets do not end an episode of depth."""
LASTING_BUCKETS = 5
"""An episode counts when it has so many hot buckets, or in a shorter capture all (more than one, and densely seen) …"""
OUTSTANDING = 4.0
"""… or one whose mean is so many times the threshold. A threshold that the profile gives needs neither."""
SURELY_SEEN = 10
"""A queue of which so many packets are seen in a bucket, when any are, sent nothing in buckets without one."""
SUSTAINED_BUCKETS = 20
"""So many hot buckets without a cold one are no burst, however usual such depths are in the fabric."""
LATENCY_FACTOR = 5.0
RISEN = 1.5
"""Hop latency while the queue is deep ÷ in its own calm time, from which it agrees that packets wait."""
EMPTY_GAP = 100
"""So many times the usual distance without a bucket in any queue: nothing was captured then."""
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
    """A queue (row) that was congested: judged by "depth" or "latency", raw baseline and threshold, its episodes, its hot buckets.

    `calm`: it has calm time of its own; `rise`: hop latency while hot ÷ in its calm time, else that of the others; None if unknown.
    """

    queue: int
    measure: str
    baseline: float
    threshold: float
    compared: bool
    episodes: tuple[Episode, ...]
    rows: Array
    calm: bool = True
    rise: float | None = None

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

    def overlap(self, *others: Congestion) -> float:
        """Share of this queue's congested time in which another was congested too, whichever."""
        shared = mine = theirs = reached = 0
        episodes = sorted((episode for other in others for episode in other.episodes), key=lambda episode: episode.start_ns)
        while mine < len(self.episodes) and theirs < len(episodes):
            a, b = self.episodes[mine], episodes[theirs]
            shared += max(0, min(a.end_ns, b.end_ns) - max(a.start_ns, b.start_ns, reached))
            reached = max(reached, min(a.end_ns, b.end_ns))
            if a.end_ns < b.end_ns:
                mine += 1
            else:
                theirs += 1
        return shared / self.duration_ns


class Congestions(NamedTuple):
    """All congested queues, in the order of the queues; those that would be, did their hop latency not speak against it; and those of
    which too little is seen, or too short, to be called congested, but deep: with them it can be explained what others wait for."""

    found: list[Congestion]
    refuted: list[Congestion]
    faint: list[Congestion]


def find_congestion(view: View, units: QueueUnits, thresholds: Thresholds) -> Congestions:
    """Every queue that is deep, or slow, at some time."""
    deep, faint = _by_depth(view, units, thresholds)
    found = sorted([*deep, *_by_latency(view, units, thresholds)], key=lambda congestion: congestion.queue)
    refuted = {entry.queue for entry in found if _contradicted_by_latency(units, entry)}
    return Congestions(
        [entry for entry in found if entry.queue not in refuted],
        [entry for entry in found if entry.queue in refuted],
        [entry for entry in faint if not _contradicted_by_latency(units, entry)],
    )


def contradicted(view: View) -> Array:
    """Mask of queues whose hop latency differs from the node's own timestamps for most hops: it is not a latency."""
    queues = view.queues
    return (queues.latency_count > 0) & (queues.latency_contradicted > CONTRADICTED_SHARE * queues.latency_count)


def latency_judged(view: View, units: QueueUnits) -> Array:
    """Mask of queues without a depth that means anything, but with a latency that does."""
    queues = view.queues
    # A node whose other queues do fill shows that its zeros are measured: then a late packet was not late for this queue.
    nodes_with_depth = np.unique(queues.node_id[(queues.depth_count > 0) & (queues.depth_max > 0)])
    silent = ~np.isin(queues.node_id, nodes_with_depth)
    # So does a profile that says what the depth is counted in.
    silent &= (queues.depth_count == 0) | np.array([unit == RAW for unit in units.depth_unit], dtype=np.bool_)
    return silent & (queues.latency_count > 0) & ~contradicted(view)


def active_times(buckets: BucketView) -> tuple[Array, Array]:
    """Starts and ends of the time in which anything was seen: not the long gaps in which the capture holds nothing at all."""
    starts = np.unique(buckets.start_ns)
    gaps = np.diff(starts)
    limit = EMPTY_GAP * max(buckets.width_ns, float(np.median(gaps)) if len(gaps) else 0.0)
    breaks = np.flatnonzero(gaps > limit)
    firsts, lasts = np.concatenate(([0], breaks + 1)), np.concatenate((breaks, [len(starts) - 1]))
    return starts[firsts], starts[lasts] + buckets.width_ns


def bucket_range(buckets: BucketView, queue: int) -> tuple[int, int]:
    """First row of a queue's buckets, and the row after its last."""
    # In the type of the column: else all of it is converted for every queue.
    first, last = np.searchsorted(buckets.queue, np.array((queue, queue + 1), dtype=buckets.queue.dtype))
    return int(first), int(last)


@dataclass(frozen=True)
class _Measure:
    """Depth or latency of all queues: which are judged by it, their bucket means, and what these are when calm and when busy."""

    name: str
    judged: Array
    means: Array
    calm: Array
    busy: Array
    unit: Array

    @cached_property
    def usual_busy(self) -> Array:
        """What the others of the fabric reach as a matter of course, by queue; NaN where too few are judged by it in the same unit."""
        return others_median(self.busy, self.judged, self.unit, COMPARABLE_QUEUES)

    @cached_property
    def usual_calm(self) -> Array:
        """What the others of the fabric are like when calm, by queue; NaN where too few are judged by it in the same unit."""
        return others_median(self.calm, self.judged, self.unit, COMPARABLE_QUEUES)


def _by_depth(view: View, units: QueueUnits, thresholds: Thresholds) -> tuple[list[Congestion], list[Congestion]]:
    queues, buckets = view.queues, view.buckets
    judged = queues.depth_count > 0
    candidates = np.flatnonzero(judged & (queues.depth_max > units.depth_floor))
    if len(candidates) == 0:
        return [], []
    unit = np.unique(
        np.array([f"{name} {factor}" for name, factor in zip(units.depth_unit, units.depth_factor, strict=True)]), return_inverse=True
    )[1]
    measure = _measure(view, DEPTH, judged, buckets.depth_sum, buckets.depth_count, unit)
    low = queues.depth_histograms.quantiles((CALM,), rows=candidates)[:, 0]
    watched, silent, least = _watched(view)
    latency: _Latency | None = None
    # Of most queues no bucket is above the lowest threshold that there can be.
    above = _highest(view, measure.means)[candidates] > units.depth_floor[candidates]
    found: list[Congestion] = []
    faint: list[Congestion] = []
    for queue, low_depth in zip(candidates[above].tolist(), low[above].tolist(), strict=True):
        floor = float(units.depth_floor[queue])
        # A queue that hardly ever empties has no calm time of its own to be measured by.
        calm = low_depth <= floor and not (bool(watched[queue]) and float(measure.calm[queue]) > floor)
        settled = calm and not bool(silent[queue])
        own = float(measure.calm[queue]) if settled else 0.0
        fabric = float((measure.usual_busy if calm else measure.usual_calm)[queue])
        compared = not np.isnan(fabric)
        first, last = bucket_range(buckets, queue)
        means = measure.means[first:last]
        baseline, threshold = own, max(floor, own * thresholds.factor)
        if not (calm and _longest(means > threshold) >= SUSTAINED_BUCKETS):
            baseline = max(own, fabric if compared else 0.0)
            threshold = max(floor, baseline * thresholds.factor)
        hot = means > threshold
        episodes: list[Episode] = []
        others: list[Episode] = []
        for run in _runs(hot, COLD_BUCKETS):
            episode = _depth_episode(view, (first + run[0], first + run[1]), threshold)
            in_run = means[run[0] : run[1] + 1]
            long = int((in_run > threshold).sum()) >= (least if watched[queue] else LASTING_BUCKETS)
            lasting = long or in_run.max() >= OUTSTANDING * threshold
            enough = episode.above >= thresholds.minimum_packets and (lasting or units.depth_given)
            (episodes if enough else others).append(episode)
        if not episodes and not others:
            continue
        congestion = _congestion(view, queue, measure, baseline, threshold, compared, episodes or others, first + np.flatnonzero(hot))
        latency = latency if latency is not None else _Latency(view, units)
        (found if episodes else faint).append(replace(congestion, calm=calm, rise=latency.rise(congestion.rows, queue, settled)))
    return found, faint


def _highest(view: View, means: Array) -> Array:
    """The largest bucket mean of every queue: float64[queues], −1 without a bucket."""
    buckets = view.buckets
    highest = np.full(len(view.queues.packets), -1.0)
    if len(means):
        begins = np.flatnonzero(np.diff(buckets.queue, prepend=-1))
        highest[buckets.queue[begins]] = np.maximum.reduceat(means, begins)
    return highest


def _watched(view: View) -> tuple[Array, Array, int]:
    """Masks of queues of which so much is seen that their buckets tell what they are like, always or nearly, and of those that sent
    nothing for so long that their calm time must be there, where no bucket shows it; and how many buckets last, in a capture so long."""
    buckets = view.buckets
    starts, ends = active_times(buckets)
    active_ns = float((ends - starts).sum())
    least = min(LASTING_BUCKETS, max(2, round(active_ns / buckets.width_ns)))
    seen = np.bincount(buckets.queue, minlength=len(view.queues.packets))
    without = 1 - seen * buckets.width_ns / active_ns
    dense = view.queues.packets >= SURELY_SEEN * seen
    return dense & (without < CALM) & (seen >= least), dense & (without >= CALM), least


class _Latency:
    """Hop latency as a witness of depth."""

    def __init__(self, view: View, units: QueueUnits) -> None:
        self._buckets = view.buckets
        self._usable = (view.queues.latency_count > 0) & ~contradicted(view)
        unit = np.unique(np.array(units.latency_unit), return_inverse=True)[1]
        measure = _measure(view, LATENCY, self._usable, view.buckets.latency_sum, view.buckets.latency_count, unit)
        self._calm, self._others = measure.calm, others_median(measure.calm, self._usable, unit, 1)

    def rise(self, rows: Array, queue: int, calm: bool) -> float | None:
        """Mean latency in these buckets ÷ that of the queue's calm time, else of the others'; None where there is nothing to compare."""
        packets = int(self._buckets.latency_count[rows].sum())
        usual = float((self._calm if calm else self._others)[queue])
        if not self._usable[queue] or packets == 0 or np.isnan(usual):
            return None
        return float(self._buckets.latency_sum[rows].sum()) / packets / max(usual, 1.0)


def _contradicted_by_latency(units: QueueUnits, congestion: Congestion) -> bool:
    """Nobody waits longer although the depth, of which the unit is a guess, is high."""
    queue = congestion.queue
    if congestion.rise is None or units.depth_given or not units.depth_assumed[queue] or units.depth_unit[queue] != RAW:
        return False
    # Bytes of a few frames delay a little too; and against other queues, what they are built like differs.
    return congestion.rise < (RISEN if congestion.calm and not units.depth_ambiguous[queue] else LATENCY_FACTOR)


def _by_latency(view: View, units: QueueUnits, thresholds: Thresholds) -> list[Congestion]:
    queues, buckets = view.queues, view.buckets
    judged = latency_judged(view, units)
    candidates = np.flatnonzero(judged & (queues.latency_max > units.latency_floor))
    if len(candidates) == 0:
        return []
    unit = np.unique(np.array(units.latency_unit), return_inverse=True)[1]
    measure = _measure(view, LATENCY, judged, buckets.latency_sum, buckets.latency_count, unit)
    # Only ports of the same node have the same pipeline: what is usual there shows that a queue is slow all the time.
    known = judged & (queues.node_id != ABSENT)
    neighbours_busy = others_median(measure.busy, known, queues.node_id, 1)
    found = []
    for queue in candidates.tolist():
        fabric = float(measure.usual_busy[queue])
        own = float(np.fmin(measure.calm[queue], neighbours_busy[queue]))
        first, last = bucket_range(buckets, queue)
        floor, factor = float(units.latency_floor[queue]), max(LATENCY_FACTOR, thresholds.factor)
        baseline, threshold = own, max(floor, own * factor)
        if _longest(measure.means[first:last] > threshold) < SUSTAINED_BUCKETS:
            baseline = float(np.fmax(own, fabric))
            threshold = max(floor, baseline * factor)
        hot = measure.means[first:last] > threshold
        runs = [(first + a, first + b) for a, b in _runs(hot, 0) if b - a + 1 >= LASTING_BUCKETS]
        episodes = [episode for run in runs if (episode := _latency_episode(view, run)).above >= thresholds.minimum_packets]
        if episodes:
            compared = not (np.isnan(fabric) and np.isnan(neighbours_busy[queue]))
            found.append(_congestion(view, queue, measure, baseline, threshold, compared, episodes, first + np.flatnonzero(hot)))
    return found


def _measure(view: View, name: str, judged: Array, sums: Array, counts: Array, unit: Array) -> _Measure:
    means = np.where(counts > 0, sums / np.maximum(counts, 1), -1.0)
    calm, busy = np.zeros(len(judged)), np.zeros(len(judged))
    rows = np.flatnonzero(counts > 0)
    rows = rows[np.lexsort((means[rows], view.buckets.queue[rows]))]
    queue, starts, lengths = np.unique(view.buckets.queue[rows], return_index=True, return_counts=True)
    for share, target in ((CALM, calm), (BUSY, busy)):
        target[queue] = means[rows[starts + (share * (lengths - 1)).astype(np.int64)]]
    return _Measure(name, judged, means, calm, busy, unit)


def others_median(values: Array, among: Array, group: Array, least: int) -> Array:
    """For each of the rows in `among` the median of the others of its group; NaN where there are fewer than `least` others."""
    medians = np.full(len(values), np.nan)
    for name in np.unique(group[among]).tolist():
        rows = np.flatnonzero(among & (group == name))
        others = len(rows) - 1
        if others < max(1, least):
            continue
        order = np.argsort(values[rows], kind="stable")
        rows = rows[order]
        rank = np.arange(len(rows))
        low, high = (others - 1) // 2, others // 2
        # Without the one at `rank`, what stood behind it moves up by one.
        medians[rows] = (values[rows[low + (rank <= low)]] + values[rows[high + (rank <= high)]]) / 2
    return medians


def _longest(hot: Array) -> int:
    """Buckets in the longest unbroken run of hot ones."""
    return max((last - first + 1 for first, last in _runs(hot, 0)), default=0)


def _congestion(
    view: View, queue: int, measure: _Measure, baseline: float, threshold: float, compared: bool, episodes: list[Episode], hot: Array
) -> Congestion:
    starts = np.array([episode.start_ns for episode in episodes])
    ends = np.array([episode.end_ns for episode in episodes])
    rows = hot[within(view.buckets.start_ns[hot], starts, ends)]
    return Congestion(queue, measure.name, baseline, threshold, compared, tuple(episodes), rows)


def within(times: Array, starts: Array, ends: Array) -> Array:
    """Mask of times that lie in one of the intervals [start, end), which are sorted and apart."""
    if len(starts) == 0:
        return np.zeros(len(times), dtype=np.bool_)
    interval = np.searchsorted(starts, times, side="right") - 1
    return (interval >= 0) & (times < ends[interval])


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
