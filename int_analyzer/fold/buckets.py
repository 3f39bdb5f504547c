"""Time buckets: what each queue did in each millisecond, in bounded memory.

A queue's current bucket lives in the queue's own row (queues.py); when the next one begins, it is appended here. A log at its bound
is made compact: rows of one queue and one bucket become one. If it is still more than three quarters full, the width of all buckets
doubles and neighbours become one. Sums, counts and maxima stay exact, also for packets out of order and for merged states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.fold.sorting import order_by
from int_analyzer.fold.table import BUCKETS, grown

# Words of a row of the log. From BUCKET on they stand in the same order in the row of a queue.
QUEUE, BUCKET, PACKETS, BYTES = 0, 1, 2, 3
LATENCY_COUNT, LATENCY_SUM, LATENCY_MAX = 4, 5, 6
DEPTH_COUNT, DEPTH_SUM, DEPTH_MAX, DEPTH_MAX_NS = 7, 8, 9, 10
WIDTH = 11

NEVER = np.iinfo(np.int64).max
"""Later than every time."""


_PIECE = 4096


@inlined
def append(log: Any, work: Any, queue: int, rows: Any, first: int) -> None:
    """Append words `first`… of row `queue` of `rows`; the log (int64[capacity, 11]) has room for it."""
    at = work[BUCKETS]
    log[at, QUEUE] = queue
    for word in range(BUCKET, WIDTH):
        log[at, word] = rows[queue, first + word - BUCKET]
    work[BUCKETS] = at + 1


def _runs(queue: Any, bucket: Any) -> Any:
    """Where each run of rows of one queue and one bucket begins: int64[runs]."""
    begins = np.ones(len(queue), dtype=bool)
    begins[1:] = (np.diff(queue) != 0) | (np.diff(bucket) != 0)
    return np.flatnonzero(begins)


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

    def reserve(self, more: int, queues: int) -> int:
        """Make room for `more` rows; returns by how many doublings the buckets became wider, which the queues have to follow."""
        if self.used + more <= self.log.shape[0]:
            return 0
        bound = self._bound(more, queues)
        if self.log.shape[0] < bound:
            self.log = grown(self.log, min(bound, 2 * (self.used + more)))
            return 0
        return self.compact(more, bound)

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
        self._unite(np.arange(self.used), self.data[:, QUEUE], self.data[:, BUCKET], self.log.shape[0])

    def compact(self, more: int, bound: int) -> int:
        """Make one row of all rows of a queue and a bucket, ordered by queue, then time, with room for `more` others.

        Buckets become so wide that these rows are within the bound; returns the doublings that this took.
        """
        order = order_by(self.data[:, QUEUE], self.data[:, BUCKET])
        queue, bucket = self.data[order, QUEUE], self.data[order, BUCKET]
        doublings = 0
        # A quarter of the room has to be gained, or the next time would come too soon.
        while 4 * ((count := len(_runs(queue, bucket))) + more) > 3 * bound:
            bucket >>= 1
            doublings += 1
        self.width_ns <<= doublings
        capacity = self.log.shape[0]
        if more == 0:
            capacity = count
        elif 4 * (count + more) > 3 * capacity or capacity > bound:
            capacity = min(bound, max(2 * (count + more), 1024))
        self._unite(order, queue, bucket, capacity)
        return doublings

    def _unite(self, order: Any, queue: Any, bucket: Any, capacity: int) -> None:
        """Make one row of each run of rows, taken in this order, that have one queue and one bucket, in a log of `capacity` rows."""
        log, starts = np.zeros((capacity, WIDTH), dtype=np.int64), _runs(queue, bucket)
        ends = np.append(starts[1:], len(order))
        # As many at a time as stay in a processor's cache.
        for begin in range(0, len(starts), _PIECE):
            piece = slice(begin, begin + _PIECE)
            first, last = starts[piece][0], ends[piece][-1]
            united = log[piece][: len(starts[piece])]
            united[:] = _united(self.log[order[first:last]], starts[piece] - first)
            united[:, BUCKET] = bucket[starts[piece]]
        self.log = log
        self.used = self._compact = len(starts)

    def copy(self) -> Buckets:
        """An independent copy."""
        other = Buckets(self.width_ns, self.maximum)
        other.log = self.data.copy()
        other.used, other._compact = self.used, self._compact
        return other
