"""How much waited in a congested queue: the pairs of queue and flow that lie within its episodes, and the paths they go on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.congestion import Congestion
from int_analyzer.fold.view import View


def pairs_within(view: View, congestion: Congestion) -> tuple[Any, Any]:
    """The rows of a queue's pairs that touch its episodes, and which part of the time that each stands for lies within them."""
    rows = np.flatnonzero(view.pairs.queue == congestion.queue)
    starts = np.array([episode.start_ns for episode in congestion.episodes], dtype=np.int64)
    ends = np.array([episode.end_ns for episode in congestion.episodes], dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(ends - starts)])

    def congested_until(times: Any) -> Any:
        begun = np.searchsorted(starts, times, side="right")
        return before[begun] - np.where(begun > 0, np.maximum(ends[begun - 1] - times, 0), 0)

    first, end = view.pairs.first_ns[rows], view.pairs.last_ns[rows] + 1
    parts = (congested_until(end) - congested_until(first)) / (end - first)
    return rows[parts > 0], parts[parts > 0]


def elevated_span(view: View, congestion: Congestion) -> tuple[int, int]:
    """When the queue was first and last seen filled within its first and last episode: finer than time buckets. Capture times in ns.

    A piece of a live capture in which the queue is never low knows no flows that filled it: what they do not reach, buckets tell.
    """
    rows, _ = pairs_within(view, congestion)
    first, last, width = congestion.episodes[0], congestion.episodes[-1], view.buckets.width_ns
    begun, ended = view.pairs.first_ns[rows], view.pairs.last_ns[rows]
    begun = begun[(begun >= first.start_ns) & (begun < first.start_ns + width)]
    ended = ended[(ended >= last.end_ns - width) & (ended < last.end_ns)]
    start = int(begun.min()) if len(begun) else first.start_ns
    end = int(ended.max()) if len(ended) else last.end_ns
    return (start, end) if start < end else (first.start_ns, last.end_ns)


def waiting_of_pairs(view: View, rows: Any) -> Any:
    """Waiting of these rows of the pairs, all of one queue: latency above its lowest, or where none is reported the depth met."""
    excess = view.pairs.latency_excess_sum[rows]
    return excess if excess.sum() > 0 else view.pairs.depth_sum[rows]


@dataclass(frozen=True)
class Passing:
    """Flows that were in a queue while it was congested; one row per flow: packets and bytes then, and how much they waited."""

    flow: Any
    packets: Any
    bytes: Any
    waiting: Any


def passing(view: View, congestion: Congestion) -> Passing:
    """Who was in the queue in its episodes.

    A queue that is never low knows no flows that made it high: then all flows that lead through it are told, with all their bytes.
    """
    rows, parts = pairs_within(view, congestion)
    if len(rows) == 0 and not congestion.calm:
        through = view.paths.queues.row_of[view.paths.queues.values == congestion.queue]
        flows = np.flatnonzero(np.isin(view.flows.path, through))
        return Passing(flows, view.flows.packets[flows], view.flows.bytes[flows], view.flows.packets[flows])
    # A flow has a row for every slot of time.
    flows, of_row = np.unique(view.pairs.flow[rows], return_inverse=True)
    values = (view.pairs.packets[rows], view.pairs.bytes[rows], waiting_of_pairs(view, rows))
    return Passing(flows, *(np.bincount(of_row, value * parts) for value in values))


def _path_then(view: View, rows: Any, through: set[int]) -> Any:
    """The path of each pair's flow at its time. Of the last two paths of a flow that moved, one that is in `through` comes first."""
    flows, flow = view.flows, view.pairs.flow[rows]
    last, before = flows.path[flow], flows.path_before[flow]
    earlier = ~np.isin(last, list(through)) | (view.pairs.last_ns[rows] < flows.path_change_ns[flow])
    return np.where(np.isin(before, list(through)) & earlier, before, last)


def waiting_by_path(view: View, congestion: Congestion, crossed: list[tuple[int, int]]) -> dict[int, float]:
    """How much waited in a queue's episodes, by path: latency above its lowest (else depth met), summed over its flows' packets.

    `crossed`: the queue's (path, position)s. Where no flow is known to have waited there: packets of the paths through it.
    """
    own_paths = {path for path, _ in crossed}
    rows, parts = pairs_within(view, congestion)
    waiting = waiting_of_pairs(view, rows) * parts
    by_path: dict[int, float] = defaultdict(float)
    for path, waited in zip(_path_then(view, rows, own_paths).tolist(), waiting.tolist(), strict=True):
        if path in own_paths:
            by_path[path] += waited
    # Of a flow that moved several times only its last two paths are known: they may not lead through this queue.
    if waiting.sum() > 0 and 2 * sum(by_path.values()) >= waiting.sum():
        return dict(by_path)
    return {path: float(view.paths.packets[path]) for path in own_paths}
