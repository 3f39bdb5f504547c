"""Foresight: ask for the memory of the packets that come next, so that a large fabric's packets do not wait for it.

A packet's flow tells its path, and the path its queues: each has to be there before the next can be asked for. So each is asked for
some packets before it is read, in five steps that are in flight at the same time, for packets ever closer. What does not fit (a new flow,
another path) is found by the fold itself: nothing here is more than a guess. Where queues count is asked for later (backlog.py).
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined
from int_analyzer.columns import get
from int_analyzer.fold import flows, paths, queues
from int_analyzer.fold.flows import hash_flow
from int_analyzer.fold.paths import LENGTH, OFFSET, QUEUE_SHIFT
from int_analyzer.fold.table import HASHES, RING, ROWS_AHEAD, guess
from int_analyzer.schema import ABSENT32
from int_analyzer.wire.read import prefetch

AHEAD = 24
"""Packets from the first step to the fold; a ring has to hold as many."""
_FLOW, _PATH, _HOPS, _QUEUES = 19, 14, 9, 4
"""Packets from each further step to the fold."""

_LINE = 8
"""Words of a line of the cache."""
_GUESS, _FLOW_WIDTH, _PATH_WIDTH, _QUEUE_WIDTH = flows.GUESS, flows.WIDTH, paths.WIDTH, queues.WIDTH

CACHED = 1 << 20
"""Bytes of flows and queues that a processor's own cache holds: up to here nothing is gained by asking."""


@inlined
def is_large(flow_rows: Any, queue_rows: Any) -> bool:
    """Whether the state is larger than a processor's own cache."""
    return 8 * (flow_rows.shape[0] * _FLOW_WIDTH + queue_rows.shape[0] * _QUEUE_WIDTH) > CACHED


@inlined
def look_ahead(
    row: int,
    begin: int,
    stop: int,
    columns: Any,
    flow_rows: Any,
    flow_index: Any,
    path_rows: Any,
    path_hops: Any,
    path_links: Any,
    queue_rows: Any,
    work: Any,
) -> None:
    """Take a step for each packet of `begin` … `stop` − 1 that stands at its distance behind `row`; HASHES has the hash of its flow."""
    at = row + AHEAD
    if begin <= at < stop:
        dest_qp = -1
        roce_row = get(columns, "packets.roce_row", at)
        if roce_row != ABSENT32:
            dest_qp = get(columns, "roce.dest_qp", roce_row)
        hashed = hash_flow(columns, at, dest_qp)
        work[HASHES + (at & (RING - 1))] = hashed
        prefetch(flow_index, hashed & (flow_index.shape[0] - 1))
    at = row + _FLOW
    if begin <= at < stop:
        flow = guess(flow_index, work[HASHES + (at & (RING - 1))])
        work[ROWS_AHEAD + (at & (RING - 1))] = flow
        if flow >= 0:
            prefetch(flow_rows, flow * _FLOW_WIDTH)
            prefetch(flow_rows, flow * _FLOW_WIDTH + _LINE)
    at = row + _PATH
    if begin <= at < stop:
        flow = work[ROWS_AHEAD + (at & (RING - 1))]
        path = -1
        if flow >= 0:
            path = flow_rows[flow, _GUESS] - 1
        work[ROWS_AHEAD + (at & (RING - 1))] = path
        if path >= 0:
            prefetch(path_rows, path * _PATH_WIDTH)
    at = row + _HOPS
    if begin <= at < stop:
        path = work[ROWS_AHEAD + (at & (RING - 1))]
        if path >= 0:
            offset, end = path_rows[path, OFFSET], path_rows[path, OFFSET] + path_rows[path, LENGTH] - 1
            prefetch(path_hops, offset)
            prefetch(path_links, offset)
            # They may lie on two lines.
            prefetch(path_hops, end)
            prefetch(path_links, end)
    at = row + _QUEUES
    if begin <= at < stop:
        path = work[ROWS_AHEAD + (at & (RING - 1))]
        if path >= 0:
            offset = path_rows[path, OFFSET]
            for i in range(min(path_rows[path, LENGTH], get(columns, "packets.hop_count", at))):
                prefetch(queue_rows, (path_hops[offset + i] >> QUEUE_SHIFT) * _QUEUE_WIDTH)
