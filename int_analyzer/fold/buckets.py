"""Time buckets: what each queue did in each millisecond, in bounded memory.

A queue's current bucket lives in the queue's own row (queues.py); when the next one begins, it is appended here. A log at its bound
is made compact: rows of one queue and one bucket become one. If it is still more than three quarters full, the width of all buckets
doubles and neighbours become one. Sums, counts and maxima stay exact, also for packets out of order and for merged states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.fold.table import BUCKETS

# Words of a row of the log. From BUCKET on they stand in the same order in the row of a queue.
QUEUE, BUCKET, PACKETS, BYTES = 0, 1, 2, 3
LATENCY_COUNT, LATENCY_SUM, LATENCY_MAX = 4, 5, 6
DEPTH_COUNT, DEPTH_SUM, DEPTH_MAX, DEPTH_MAX_NS = 7, 8, 9, 10
WIDTH = 11

NEVER = np.iinfo(np.int64).max
"""Later than every time."""


@inlined
def append(log: Any, work: Any, queue: int, rows: Any, first: int) -> None:
    """Append words `first`… of row `queue` of `rows`; the log (int64[capacity, 11]) has room for it."""
    at = work[BUCKETS]
    log[at, QUEUE] = queue
    for word in range(BUCKET, WIDTH):
        log[at, word] = rows[queue, first + word - BUCKET]
    work[BUCKETS] = at + 1


class Buckets:
    """The log: at most max(`maximum`, 64 × queues) rows.

    used: rows in use; data: int64[used, 11]; width_ns: of every bucket.
    """

    def __init__(self, width_ns: int, maximum: int) -> None:
        self.width_ns = width_ns
        self.maximum = maximum
        self.used = 0
        self.log = np.zeros((min(maximum, 1024), WIDTH), dtype=np.int64)

    @property
    def data(self) -> Any:
        return self.log[: self.used]

    def reserve(self, more: int, queues: int) -> int:
        """Make room for `more` rows; returns by how many doublings the buckets became wider, which the queues have to follow."""
        if self.used + more <= self.log.shape[0]:
            return 0
        bound = self._bound(more, queues)
        if self.log.shape[0] < bound:
            self._resize(min(bound, 2 * (self.used + more)))
            return 0
        self.compact()
        return self.fit(more, queues)

    def fit(self, more: int, queues: int) -> int:
        """Keep a compact log within its bound, with room for `more` rows; returns the doublings of the width that this took."""
        bound = self._bound(more, queues)
        doublings = 0
        # A quarter of the room has to be gained, or the next time would come too soon.
        while 4 * (self.used + more) > 3 * bound:
            self.coarsen(1)
            doublings += 1
        if 4 * (self.used + more) > 3 * self.log.shape[0] or self.log.shape[0] > bound:
            self._resize(min(bound, max(2 * (self.used + more), 1024)))
        return doublings

    def _bound(self, more: int, queues: int) -> int:
        return max(self.maximum, 64 * queues, 2 * more)

    def _resize(self, capacity: int) -> None:
        log = np.zeros((capacity, WIDTH), dtype=np.int64)
        log[: self.used] = self.data
        self.log = log

    def coarsen(self, doublings: int) -> None:
        """Make every bucket of a compact log 2^doublings as wide."""
        self.width_ns <<= doublings
        self.data[:, BUCKET] >>= doublings
        self._unite(self.data)

    def add(self, rows: Any) -> None:
        """Append rows (int64[n, 11]) and make compact, however large that gets: `fit` comes next."""
        self.log = np.concatenate([self.data, rows])
        self.used = len(self.log)
        self.compact()

    def compact(self) -> None:
        """Make one row of all rows of a queue and a bucket, ordered by queue, then time."""
        data = self.data
        if len(data) == 0:
            return
        queue, bucket = data[:, QUEUE], data[:, BUCKET] - data[:, BUCKET].min()
        span = int(bucket.max()) + 1
        if (int(queue.max()) + 1) * span < NEVER:
            # One number to sort by is several times as fast as two.
            order = np.argsort(queue * span + bucket)
        else:
            order = np.lexsort((bucket, queue))
        self._unite(data[order])

    def _unite(self, data: Any) -> None:
        """Take these rows, ordered by queue and bucket, and make one of each run of equals."""
        if len(data) == 0:
            return
        begins = np.ones(len(data), dtype=bool)
        begins[1:] = (np.diff(data[:, QUEUE]) != 0) | (np.diff(data[:, BUCKET]) != 0)
        starts = np.nonzero(begins)[0]
        united = data
        if len(starts) < len(data):
            united = data[starts]
            for word in (PACKETS, BYTES, LATENCY_COUNT, LATENCY_SUM, DEPTH_COUNT, DEPTH_SUM):
                united[:, word] = np.add.reduceat(data[:, word], starts)
            for word in (LATENCY_MAX, DEPTH_MAX):
                united[:, word] = np.maximum.reduceat(data[:, word], starts)
            highest = data[:, DEPTH_MAX] == np.repeat(united[:, DEPTH_MAX], np.diff(starts, append=len(data)))
            united[:, DEPTH_MAX_NS] = np.minimum.reduceat(np.where(highest, data[:, DEPTH_MAX_NS], NEVER), starts)
        self.log[: len(united)] = united
        self.used = len(united)

    def copy(self) -> Buckets:
        """An independent copy."""
        other = Buckets(self.width_ns, self.maximum)
        other.log = self.log.copy()
        other.used = self.used
        return other
