"""Time buckets: what each queue did in each millisecond, in bounded memory.

A queue's current bucket lives in the queue's own row (queues.py); when the next one begins, it is appended here. The log is made
compact when it is full: rows of one queue and one bucket become one. Is it still more than half full, the width of all buckets
doubles and neighbours become one. Sums, counts and maxima stay exact, also for packets out of order and for merged states.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from int_analyzer._jit import inlined

# Words of a row of the log. From BUCKET on they stand in the same order in the row of a queue.
QUEUE, BUCKET, PACKETS, BYTES = 0, 1, 2, 3
LATENCY_COUNT, LATENCY_SUM, LATENCY_MAX = 4, 5, 6
DEPTH_COUNT, DEPTH_SUM, DEPTH_MAX, DEPTH_MAX_NS = 7, 8, 9, 10
WIDTH = 11

NEVER = np.iinfo(np.int64).max
"""Later than every time."""

# Module-level: a kernel's argument.
BucketArrays = namedtuple("BucketArrays", ["log", "used", "width"])
"""log int64[capacity, 11]; used int64[1]: rows in use; width int64[1]: nanoseconds of a bucket."""


@inlined
def append(buckets: Any, queue: int, rows: Any, first: int) -> None:
    """Append what words `first`… of row `queue` of `rows` hold; the log has room for it."""
    at = buckets.used[0]
    buckets.log[at, QUEUE] = queue
    for word in range(BUCKET, WIDTH):
        buckets.log[at, word] = rows[queue, first + word - BUCKET]
    buckets.used[0] = at + 1


class Buckets:
    """The log of buckets: at most max(`rows`, 64 × queues) rows."""

    def __init__(self, width_ns: int, rows: int) -> None:
        self.rows = rows
        self.log = np.zeros((min(rows, 1024), WIDTH), dtype=np.int64)
        self.used = np.zeros(1, dtype=np.int64)
        self.width = np.array([width_ns], dtype=np.int64)

    def __len__(self) -> int:
        return int(self.used[0])

    @property
    def data(self) -> Any:
        """int64[rows in use, 11]."""
        return self.log[: len(self)]

    def arrays(self) -> BucketArrays:
        """What a kernel takes."""
        return BucketArrays(self.log, self.used, self.width)

    def reserve(self, more: int, queues: int) -> int:
        """Make room for `more` rows; returns by how many doublings the buckets became wider, which the queues have to follow."""
        if len(self) + more <= self.log.shape[0]:
            return 0
        self.compact()
        return self.fit(more, queues)

    def fit(self, more: int, queues: int) -> int:
        """Keep a compact log within its bound, with room for `more` rows; returns the doublings of the width that this took."""
        bound = max(self.rows, 64 * queues, 2 * more)
        doublings = 0
        # A quarter of the room has to be gained, or the next time would come too soon.
        while 4 * (len(self) + more) > 3 * bound:
            self.coarsen(1)
            doublings += 1
        if 4 * (len(self) + more) > 3 * self.log.shape[0] or self.log.shape[0] > bound:
            log = np.zeros((min(bound, max(2 * (len(self) + more), 1024)), WIDTH), dtype=np.int64)
            log[: len(self)] = self.data
            self.log = log
        return doublings

    def coarsen(self, doublings: int) -> None:
        """Make every bucket 2^doublings as wide."""
        self.width[0] <<= doublings
        self.data[:, BUCKET] >>= doublings
        self.compact()

    def add(self, rows: Any) -> None:
        """Append rows (int64[n, 11]) and make compact, however large that gets: `fit` comes next."""
        self.log = np.concatenate([self.data, rows])
        self.used[0] = len(self.log)
        self.compact()

    def compact(self) -> None:
        """Make one row of all rows of a queue and a bucket, ordered by queue, then time."""
        data = self.data
        if len(data) == 0:
            return
        data = data[np.lexsort((data[:, BUCKET], data[:, QUEUE]))]
        begins = np.ones(len(data), dtype=bool)
        begins[1:] = (np.diff(data[:, QUEUE]) != 0) | (np.diff(data[:, BUCKET]) != 0)
        starts = np.nonzero(begins)[0]
        merged = data[starts]
        for word in (PACKETS, BYTES, LATENCY_COUNT, LATENCY_SUM, DEPTH_COUNT, DEPTH_SUM):
            merged[:, word] = np.add.reduceat(data[:, word], starts)
        for word in (LATENCY_MAX, DEPTH_MAX):
            merged[:, word] = np.maximum.reduceat(data[:, word], starts)
        highest = data[:, DEPTH_MAX] == np.repeat(merged[:, DEPTH_MAX], np.diff(starts, append=len(data)))
        merged[:, DEPTH_MAX_NS] = np.minimum.reduceat(np.where(highest, data[:, DEPTH_MAX_NS], NEVER), starts)
        self.log[: len(merged)] = merged
        self.used[0] = len(merged)

    def copy(self) -> Buckets:
        """An independent copy."""
        other = Buckets(int(self.width[0]), self.rows)
        other.log = self.log.copy()
        other.used = self.used.copy()
        return other
