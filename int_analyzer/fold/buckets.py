"""Time buckets: what each queue did in each millisecond, in bounded memory.

A queue's current bucket lives in the queue's own row (queues.py); when the next one begins, it is appended here. A log at its bound
is made compact: rows of one queue and one bucket become one. If it is still more than three quarters full, the width of all buckets
doubles and neighbours become one. Sums, counts and maxima stay exact, also for packets out of order and for merged states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import compiled, inlined, kernel
from int_analyzer.fold.sorting import order_by
from int_analyzer.fold.table import BUCKETS, grown
from int_analyzer.wire.read import prefetch

# Words of a row of the log. From BUCKET on they stand in the same order in the row of a queue.
QUEUE, BUCKET, PACKETS, BYTES = 0, 1, 2, 3
LATENCY_COUNT, LATENCY_SUM, LATENCY_MAX = 4, 5, 6
DEPTH_COUNT, DEPTH_SUM, DEPTH_MAX, DEPTH_MAX_NS = 7, 8, 9, 10
WIDTH = 11

NEVER = np.iinfo(np.int64).max
"""Later than every time."""

_PIECE = 4096
_LINE, _AHEAD = 8, 12
"""Words of a line of the cache, and rows from asking for one to reading it."""


@inlined
def append(log: Any, work: Any, queue: int, rows: Any, first: int) -> None:
    """Append words `first`… of row `queue` of `rows`; the log (int64[capacity, 11]) has room for it."""
    at = work[BUCKETS]
    log[at, QUEUE] = queue
    for word in range(BUCKET, WIDTH):
        log[at, word] = rows[queue, first + word - BUCKET]
    work[BUCKETS] = at + 1


def _differences(queue: Any, bucket: Any) -> Any:
    """What tells the bucket of each row from that of the row before, in bits; all of them where the queue is another: int64[n]."""
    differences = np.full(len(queue), NEVER)
    np.copyto(differences[1:], bucket[1:] ^ bucket[:-1], where=queue[1:] == queue[:-1])
    return differences


def _united(data: Any, starts: Any) -> Any:
    """One row of each run of rows; `starts` are their beginnings."""
    united = data[starts]
    if len(starts) == len(data):
        return united
    for word in (PACKETS, BYTES, LATENCY_COUNT, LATENCY_SUM, DEPTH_COUNT, DEPTH_SUM):
        united[:, word] = np.add.reduceat(data[:, word], starts)
    for word in (LATENCY_MAX, DEPTH_MAX):
        united[:, word] = np.maximum.reduceat(data[:, word], starts)
    highest = data[:, DEPTH_MAX] == np.repeat(united[:, DEPTH_MAX], np.diff(starts, append=len(data)))
    united[:, DEPTH_MAX_NS] = np.minimum.reduceat(np.where(highest, data[:, DEPTH_MAX_NS], NEVER), starts)
    return united


@kernel
def unite(log: Any, order: Any, doublings: int, united: Any) -> None:
    """Make one row of each run of rows of a log, taken in this order, that have one queue and one bucket 2^doublings as wide.

    There is room for them in `united`. What `_united` does in pieces, in one pass.
    """
    end = 0
    for place in range(order.shape[0]):
        if place + _AHEAD < order.shape[0]:
            ahead = order[place + _AHEAD] * WIDTH
            prefetch(log, ahead)
            prefetch(log, ahead + _LINE)
        row = order[place]
        at = end - 1
        if at >= 0 and united[at, QUEUE] == log[row, QUEUE] and united[at, BUCKET] == log[row, BUCKET] >> doublings:
            for word in (PACKETS, BYTES, LATENCY_COUNT, LATENCY_SUM, DEPTH_COUNT, DEPTH_SUM):
                united[at, word] += log[row, word]
            united[at, LATENCY_MAX] = max(united[at, LATENCY_MAX], log[row, LATENCY_MAX])
            depth, when = log[row, DEPTH_MAX], log[row, DEPTH_MAX_NS]
            if depth > united[at, DEPTH_MAX] or (depth == united[at, DEPTH_MAX] and when < united[at, DEPTH_MAX_NS]):
                united[at, DEPTH_MAX] = depth
                united[at, DEPTH_MAX_NS] = when
        else:
            for word in range(WIDTH):
                united[end, word] = log[row, word]
            united[end, BUCKET] = log[row, BUCKET] >> doublings
            end += 1


class Buckets:
    """The log: at most max(`maximum`, 64 × queues) rows.

    used: rows in use; data: int64[used, 11]; width_ns: of every bucket.
    """

    def __init__(self, width_ns: int, maximum: int) -> None:
        self.width_ns = width_ns
        self.maximum = maximum
        self.used = 0
        self.log = np.zeros((min(maximum, 1024), WIDTH), dtype=np.int64)
        self._compact = 0
        """Rows that were in use when the log was compact."""

    @property
    def data(self) -> Any:
        return self.log[: self.used]

    def reserve(self, more: int, queues: int, fast: bool = False) -> int:
        """Make room for `more` rows; returns by how many doublings the buckets became wider, which the queues have to follow.

        fast: compiled code is at hand.
        """
        if self.used + more <= self.log.shape[0]:
            return 0
        bound = self._bound(more, queues)
        if self.log.shape[0] < bound:
            self.log = grown(self.log, min(bound, 2 * (self.used + more)))
            return 0
        return self.compact(more, bound, fast)

    def fit(self, rows: Any, queues: int) -> None:
        """Append rows (int64[n, 11]) and make compact, within the bound, with no room for others."""
        bound = self._bound(0, queues)
        if len(rows) == 0 and self.used == self._compact == len(self.log) and 4 * self.used <= 3 * bound:
            return
        self.log = np.concatenate([self.data, rows])
        self.used = len(self.log)
        self.compact(0, bound)

    def _bound(self, more: int, queues: int) -> int:
        return max(self.maximum, 64 * queues, 2 * more)

    def coarsen(self, doublings: int) -> None:
        """Make every bucket of a compact log 2^doublings as wide."""
        self.width_ns <<= doublings
        self.data[:, BUCKET] >>= doublings
        differences = _differences(self.data[:, QUEUE], self.data[:, BUCKET])
        self._unite(np.arange(self.used), differences, 0, self.log.shape[0])

    def compact(self, more: int, bound: int, fast: bool = False) -> int:
        """Make one row of all rows of a queue and a bucket, ordered by queue, then time, with room for `more` others.

        Buckets become so wide that these rows are within the bound; returns the doublings that this took.
        """
        queue, bucket = self.data[:, QUEUE].copy(), self.data[:, BUCKET].copy()
        order = order_by(queue, bucket)
        differences = _differences(queue[order], bucket[order])
        doublings = 0
        # A quarter of the room has to be gained, or the next time would come too soon.
        while 4 * ((count := int(np.count_nonzero(differences >> doublings))) + more) > 3 * bound:
            doublings += 1
        self.width_ns <<= doublings
        capacity = self.log.shape[0]
        if more == 0:
            capacity = count
        elif 4 * (count + more) > 3 * capacity or capacity > bound:
            capacity = min(bound, max(2 * (count + more), 1024))
        if fast:
            log = np.zeros((capacity, WIDTH), dtype=np.int64)
            compiled(unite)(self.log, order, doublings, log)
            self.log, self.used, self._compact = log, count, count
        else:
            self._unite(order, differences, doublings, capacity)
        return doublings

    def _unite(self, order: Any, differences: Any, doublings: int, capacity: int) -> None:
        """Make one row of each run of rows, taken in this order, of one bucket 2^doublings as wide, in a log of `capacity` rows."""
        log, starts = np.zeros((capacity, WIDTH), dtype=np.int64), np.flatnonzero(differences >> doublings)
        ends = np.append(starts[1:], len(order))
        # As many at a time as stay in a processor's cache.
        for begin in range(0, len(starts), _PIECE):
            piece = slice(begin, begin + _PIECE)
            first, last = starts[piece][0], ends[piece][-1]
            log[piece][: len(starts[piece])] = _united(self.log[order[first:last]], starts[piece] - first)
        self.log = log
        self.log[:, BUCKET] >>= doublings
        self.used = self._compact = len(starts)

    def copy(self) -> Buckets:
        """An independent copy."""
        other = Buckets(self.width_ns, self.maximum)
        other.log = self.data.copy()
        other.used, other._compact = self.used, self._compact
        return other
