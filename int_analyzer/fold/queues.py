"""Queues: the row of a (node, egress port, queue), and what a hop adds to it.

What the next hop is judged by stands in the queue's row; what hops are counted in, apart, since that can wait (backlog.py). Counters are
those of the current time bucket; a queue's totals are the sums over its buckets, which lose nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.columns import get
from int_analyzer.fold import buckets as bucket_log
from int_analyzer.fold.buckets import NEVER, Buckets, append
from int_analyzer.fold.hashing import FACTOR_0, FACTOR_1, mixed, product
from int_analyzer.fold.histogram import Histograms, count_in
from int_analyzer.fold.table import BLOCKS, BUCKET_NS, DEPTH_OF_ALL, KEY, QUEUES, Table, aligned, find, guess
from int_analyzer.fold.view import BucketView, QueueView
from int_analyzer.schema import (
    HAS_DEPTH,
    HAS_EGRESS_PORT,
    HAS_EGRESS_TIME,
    HAS_INGRESS_PORT,
    HAS_INGRESS_TIME,
    HAS_LATENCY,
    HAS_NODE,
    HAS_QUEUE,
    HAS_UTILISATION,
    HOP_TRUNCATED_PATH,
)

# Words of a row, a line of the cache: what tells a queue from others, and what its next hop is judged by.
NODE, PORT, LATENCY_LOW, DEPTH_LOW, DEPTH_AVERAGE, UTILISATION_MAX, TRUNCATED, HASH = range(8)
WIDTH, KEY_WORDS = 8, 2
"""PORT is (egress port + 1) · 512 + queue id + 1, absent ones being −1. DEPTH_AVERAGE is a moving mean of 1024 packets × 1024."""

# Words of its counters, two lines more. BUCKET … DEPTH_MAX_NS are those of buckets.py, in the same order.
BUCKET, PACKETS, BYTES, LATENCY_COUNT, LATENCY_SUM, LATENCY_MAX, DEPTH_COUNT, DEPTH_SUM, DEPTH_MAX, DEPTH_MAX_NS = range(10)
LAST_NS, FIRST_NS, FROM_TIMES, CONTRADICTED, ALL_ZERO = 10, 11, 12, 13, 14
COUNTER_WIDTH = 16

# What is said of a hop beside its latency and depth.
IS_FROM_TIMES, IS_CONTRADICTED, IS_ALL_ZERO = 1, 2, 4

QUEUE_BITS = 9
NO_BUCKET = -1
IMPLAUSIBLE = 1 << 40
"""A difference of a hop's times from here on (18 minutes in ns) is a broken clock, not a latency."""

_TIMES = HAS_INGRESS_TIME | HAS_EGRESS_TIME
_MEASURES = HAS_LATENCY | HAS_DEPTH | _TIMES


@inlined
def hop_key(columns: Any, hop: int) -> tuple[int, int, int]:
    """Node, PORT word and ingress port + 1 of a hop."""
    present = get(columns, "hops.present", hop)
    node, ingress, egress, queue = -1, 0, 0, 0
    if present & HAS_NODE != 0:
        node = get(columns, "hops.node_id", hop)
    if present & HAS_INGRESS_PORT != 0:
        ingress = get(columns, "hops.ingress_port", hop) + 1
    if present & HAS_EGRESS_PORT != 0:
        egress = get(columns, "hops.egress_port", hop) + 1
    if present & HAS_QUEUE != 0:
        queue = get(columns, "hops.queue_id", hop) + 1
    return node, (egress << QUEUE_BITS) | queue, ingress


def key_of(node: int | None, port: int | None, queue: int | None) -> tuple[int, int]:
    """NODE and PORT word of a queue by its numbers."""
    of_port = 0 if port is None else port + 1
    return -1 if node is None else node, of_port << QUEUE_BITS | (0 if queue is None else queue + 1)


@inlined
def find_queue(rows: Any, index: Any, work: Any, node: int, port: int) -> int:
    """Row of a queue, made if it is new; −1 if there is no room."""
    work[KEY] = node
    work[KEY + 1] = port
    before = work[QUEUES]
    row = find(rows, index, work, QUEUES, KEY_WORDS, mixed(product(node, FACTOR_0) ^ product(port, FACTOR_1)))
    if work[QUEUES] != before:
        rows[row, LATENCY_LOW] = NEVER
        rows[row, DEPTH_LOW] = NEVER
        rows[row, UTILISATION_MAX] = -1
    return row


@inlined
def _close(a: int, b: int) -> bool:
    """Whether two latencies agree within 10 % and 2 units."""
    return 10 * abs(a - b) <= max(a, b) + 20


@inlined
def _time_difference(columns: Any, hop: int) -> int:
    """Egress − ingress time, modulo 2^32 if both are 32-bit values; −1 if it is negative or implausible."""
    begin = get(columns, "hops.ingress_time_raw", hop)
    end = get(columns, "hops.egress_time_raw", hop)
    if (begin | end) >> 32 == 0:
        return (end - begin) & 0xFFFFFFFF
    # Times are unsigned: where one has the top bit and the other has not, they are too far apart anyway.
    if end < begin or (begin < 0 and end >= 0) or end - begin >= IMPLAUSIBLE:
        return -1
    return end - begin


@inlined
def judge_hop(rows: Any, work: Any, columns: Any, hop: int, queue: int) -> tuple[int, int, bool, int]:
    """Latency and depth of a hop (−1 if it has none), whether its queue is well above its low-water mark, and what else is said of it.

    Elevated is a latency above 4 × the lowest latency of the queue + 4, or a depth above both 4 × its lowest depth + 4 and its moving
    mean: raw units, so that a queue is compared with nothing but itself. The mean keeps out the noise of a calm queue whose lowest
    depth is 0; where a latency speaks for the queue too (not one that can be 0), depth has to be above 4 × the mean. It begins as
    that of all queues, work[DEPTH_OF_ALL]: else the first packets of every queue of a large fabric would be taken for elevated ones.
    """
    present = get(columns, "hops.present", hop)
    said = 0
    latency = -1
    if present & HAS_LATENCY != 0:
        latency = get(columns, "hops.hop_latency_raw", hop)
    if present & _TIMES == _TIMES:
        difference = _time_difference(columns, hop)
        if difference >= 0:
            if latency < 0:
                latency = difference
                said = IS_FROM_TIMES
            elif not (_close(latency, difference) or _close(latency, difference // 1000) or _close(latency // 1000, difference)):
                said = IS_CONTRADICTED
    elevated = False
    calm = 1
    if latency >= 0:
        low = min(rows[queue, LATENCY_LOW], latency)
        rows[queue, LATENCY_LOW] = low
        elevated = latency > 4 * low + 4
        if low > 0:
            calm = 4

    depth = -1
    if present & HAS_DEPTH != 0:
        depth = get(columns, "hops.queue_depth_raw", hop)
        if rows[queue, DEPTH_LOW] == NEVER:
            rows[queue, DEPTH_AVERAGE] = work[DEPTH_OF_ALL]
        low = min(rows[queue, DEPTH_LOW], depth)
        rows[queue, DEPTH_LOW] = low
        mean = rows[queue, DEPTH_AVERAGE] >> 10
        rows[queue, DEPTH_AVERAGE] += depth - mean
        work[DEPTH_OF_ALL] += depth - (work[DEPTH_OF_ALL] >> 10)
        elevated = elevated or (depth > 4 * low + 4 and depth > calm * mean)

    if present & HAS_UTILISATION != 0:
        rows[queue, UTILISATION_MAX] = max(rows[queue, UTILISATION_MAX], get(columns, "hops.tx_utilisation_raw", hop))
    if present & HOP_TRUNCATED_PATH != 0:
        rows[queue, TRUNCATED] += 1
    if latency <= 0 and depth <= 0 and _all_zero(columns, hop, present):
        said |= IS_ALL_ZERO
    return latency, depth, elevated, said


@inlined
def count_hop(
    counters: Any, blocks: Any, pool: Any, log: Any, work: Any, queue: int, time: int, size: int, latency: int, depth: int, said: int
) -> None:
    """Add a hop, as `judge_hop` found it, to its queue."""
    start = counters[queue, BUCKET] * work[BUCKET_NS]
    if time < start or time >= start + work[BUCKET_NS]:
        _begin_bucket(counters, log, work, queue, time // work[BUCKET_NS])
    counters[queue, PACKETS] += 1
    counters[queue, BYTES] += size
    counters[queue, LAST_NS] = max(counters[queue, LAST_NS], time)
    if time > 0:
        counters[queue, FIRST_NS] = min(counters[queue, FIRST_NS], time)
    if latency >= 0:
        counters[queue, LATENCY_COUNT] += 1
        counters[queue, LATENCY_SUM] += latency
        counters[queue, LATENCY_MAX] = max(counters[queue, LATENCY_MAX], latency)
        count_in(blocks, pool, work, BLOCKS, 2 * queue, latency)
    if depth >= 0:
        counters[queue, DEPTH_COUNT] += 1
        counters[queue, DEPTH_SUM] += depth
        if depth >= counters[queue, DEPTH_MAX] and (depth > counters[queue, DEPTH_MAX] or time < counters[queue, DEPTH_MAX_NS]):
            counters[queue, DEPTH_MAX] = depth
            counters[queue, DEPTH_MAX_NS] = time
        count_in(blocks, pool, work, BLOCKS, 2 * queue + 1, depth)
    if said & (IS_FROM_TIMES | IS_CONTRADICTED | IS_ALL_ZERO) != 0:
        counters[queue, FROM_TIMES] += said & IS_FROM_TIMES
        counters[queue, CONTRADICTED] += (said & IS_CONTRADICTED) >> 1
        counters[queue, ALL_ZERO] += (said & IS_ALL_ZERO) >> 2


@inlined
def _begin_bucket(counters: Any, log: Any, work: Any, queue: int, bucket: int) -> None:
    """Put the current bucket of a queue into the log and begin another."""
    if counters[queue, PACKETS] != 0:
        append(log, work, queue, counters, BUCKET)
    counters[queue, BUCKET] = bucket
    for word in range(PACKETS, DEPTH_MAX_NS + 1):
        counters[queue, word] = 0
    counters[queue, LATENCY_MAX] = -1
    counters[queue, DEPTH_MAX] = -1


@inlined
def _all_zero(columns: Any, hop: int, present: int) -> bool:
    """Whether a hop reports latency, depth or times, and nothing of it but zero."""
    if present & _MEASURES == 0:
        return False
    return not (
        (present & HAS_LATENCY != 0 and get(columns, "hops.hop_latency_raw", hop) != 0)
        or (present & HAS_DEPTH != 0 and get(columns, "hops.queue_depth_raw", hop) != 0)
        or (present & HAS_INGRESS_TIME != 0 and get(columns, "hops.ingress_time_raw", hop) != 0)
        or (present & HAS_EGRESS_TIME != 0 and get(columns, "hops.egress_time_raw", hop) != 0)
    )


_NEW = np.zeros(COUNTER_WIDTH, dtype=np.int64)
_NEW[[BUCKET, LATENCY_MAX, DEPTH_MAX, FIRST_NS]] = NO_BUCKET, -1, -1, NEVER
"""Counters of a queue that has seen no packet."""


def _new_counters(rows: int) -> Any:
    counters = aligned(rows, COUNTER_WIDTH)
    counters[:] = _NEW
    return counters


class Queues:
    """All queues with their counters, histograms and time buckets."""

    def __init__(self, maximum: int, bucket_ns: int, bucket_rows: int) -> None:
        self.table = Table(WIDTH, KEY_WORDS, maximum)
        self.counters = _new_counters(self.table.rows.shape[0])
        # Row 2 q holds the latencies of queue q, row 2 q + 1 its depths.
        self.histograms = Histograms(2 * self.table.rows.shape[0])
        self.buckets = Buckets(bucket_ns, bucket_rows)
        self.depth_of_all = 0
        """Moving mean of the depths of all queues, as DEPTH_AVERAGE."""

    def reserve(self, hops: int, fast: bool = False) -> None:
        """Make room for a packet of so many hops, each of a new queue (as far as the maximum allows); `fast`: compiled code is at hand."""
        self.table.reserve(hops)
        self._reserve_rows()
        self.histograms.reserve_blocks(2 * hops)
        self.counters[:, BUCKET] >>= self.buckets.reserve(hops, len(self.table), fast)

    def lower(self, marks: Any, fast: bool) -> None:
        """Judge what comes by these low-water marks too: int64[n, 8], rows of these queues as another table has them."""
        rows, index = self.table.rows, self.table.index(fast)
        for mark in marks:
            row = guess(index, int(mark[HASH]))
            if row >= 0 and rows[row, NODE] == mark[NODE] and rows[row, PORT] == mark[PORT]:
                for word in (LATENCY_LOW, DEPTH_LOW):
                    rows[row, word] = min(rows[row, word], mark[word])

    def _reserve_rows(self) -> None:
        """Make room for the counters and histograms of as many queues as the table has room for."""
        rows, known = self.table.rows.shape[0], self.counters.shape[0]
        if known < rows:
            counters = _new_counters(rows)
            counters[:known] = self.counters
            self.counters = counters
        self.histograms.reserve_rows(2 * rows)

    def settle(self) -> None:
        """Put every queue's current bucket into the log, which is then ordered and compact."""
        running = np.nonzero(self.counters[:, PACKETS])[0]
        current = np.empty((len(running), bucket_log.WIDTH), dtype=np.int64)
        current[:, bucket_log.QUEUE] = running
        current[:, bucket_log.BUCKET :] = self.counters[running, BUCKET : DEPTH_MAX_NS + 1]
        self.counters[:, BUCKET : DEPTH_MAX_NS + 1] = _NEW[BUCKET : DEPTH_MAX_NS + 1]
        self.buckets.fit(current, len(self.table))

    def coarsen(self, width_ns: int) -> None:
        """Widen the buckets to `width_ns`, which is theirs times a power of two."""
        self.settle()
        while self.buckets.width_ns < width_ns:
            self.buckets.coarsen(1)

    def merge(self, other: Queues) -> Any:
        """Absorb other queues, theirs later than these: the row that each of theirs has here (int64[n]), −1 where there was no room."""
        other.settle()
        log = other.buckets.copy()
        self.coarsen(log.width_ns)
        while log.width_ns < self.buckets.width_ns:
            log.coarsen(1)
        theirs = other.table.data
        rows, new = self.table.match(theirs)
        self._reserve_rows()
        known = (rows >= 0) & ~new
        theirs, target = theirs[known], rows[known]
        mine = self.table.data[target]
        mine[:, TRUNCATED] += theirs[:, TRUNCATED]
        mine[:, UTILISATION_MAX] = np.maximum(mine[:, UTILISATION_MAX], theirs[:, UTILISATION_MAX])
        mine[:, [LATENCY_LOW, DEPTH_LOW]] = np.minimum(mine[:, [LATENCY_LOW, DEPTH_LOW]], theirs[:, [LATENCY_LOW, DEPTH_LOW]])
        mine[:, DEPTH_AVERAGE] = theirs[:, DEPTH_AVERAGE]
        self.depth_of_all = other.depth_of_all or self.depth_of_all
        self.table.data[target] = mine
        counters, theirs = self.counters[rows[rows >= 0]], other.counters[: len(rows)][rows >= 0]
        counters[:, FROM_TIMES : ALL_ZERO + 1] += theirs[:, FROM_TIMES : ALL_ZERO + 1]
        counters[:, LAST_NS] = np.maximum(counters[:, LAST_NS], theirs[:, LAST_NS])
        counters[:, FIRST_NS] = np.minimum(counters[:, FIRST_NS], theirs[:, FIRST_NS])
        self.counters[rows[rows >= 0]] = counters
        twice = np.stack([2 * rows, 2 * rows + 1], axis=1)
        twice[rows < 0] = -1
        self.histograms.merge(other.histograms, twice.ravel())
        log.data[:, bucket_log.QUEUE] = rows[log.data[:, bucket_log.QUEUE]]
        self.buckets.fit(log.data[log.data[:, bucket_log.QUEUE] >= 0], len(self.table))
        return rows

    def copy(self) -> Queues:
        """An independent copy."""
        other = Queues(self.table.maximum, self.buckets.width_ns, self.buckets.maximum)
        other.table = self.table.copy()
        other.counters = self.counters.copy()
        other.histograms = self.histograms.copy()
        other.reserve(0)
        other.buckets = self.buckets.copy()
        other.depth_of_all = self.depth_of_all
        return other

    def packets(self) -> Any:
        """Hops of each queue: int64[queues]."""
        self.settle()
        log = self.buckets.data
        return np.bincount(log[:, bucket_log.QUEUE], log[:, bucket_log.PACKETS], minlength=len(self.table)).astype(np.int64)

    def view(self) -> tuple[QueueView, BucketView]:
        """Totals and time buckets of every queue; −1 where a maximum has nothing to be taken of."""
        self.settle()
        rows, log = self.table.data, self.buckets.data
        counters = self.counters[: len(rows)]
        total = np.zeros((len(rows), bucket_log.WIDTH), dtype=np.int64)
        total[:, [bucket_log.LATENCY_MAX, bucket_log.DEPTH_MAX]] = -1
        if len(log):
            starts = np.nonzero(np.diff(log[:, bucket_log.QUEUE], prepend=-1))[0]
            seen = log[starts, bucket_log.QUEUE]
            total[seen] = np.add.reduceat(log, starts)
            for word in (bucket_log.LATENCY_MAX, bucket_log.DEPTH_MAX):
                total[seen, word] = np.maximum.reduceat(log[:, word], starts)
        latencies, depths = self.histograms.every(2, 2 * len(rows))
        queues = QueueView(
            node_id=rows[:, NODE].copy(),
            port=(rows[:, PORT] >> QUEUE_BITS) - 1,
            queue_id=(rows[:, PORT] & 511) - 1,
            packets=total[:, bucket_log.PACKETS],
            bytes=total[:, bucket_log.BYTES],
            latency_count=total[:, bucket_log.LATENCY_COUNT],
            latency_from_times=counters[:, FROM_TIMES].copy(),
            latency_sum=total[:, bucket_log.LATENCY_SUM].astype(np.float64),
            latency_max=total[:, bucket_log.LATENCY_MAX],
            latency_contradicted=counters[:, CONTRADICTED].copy(),
            depth_count=total[:, bucket_log.DEPTH_COUNT],
            depth_sum=total[:, bucket_log.DEPTH_SUM].astype(np.float64),
            depth_max=total[:, bucket_log.DEPTH_MAX],
            utilisation_max=rows[:, UTILISATION_MAX].copy(),
            all_zero=counters[:, ALL_ZERO].copy(),
            truncated=rows[:, TRUNCATED].copy(),
            first_ns=np.where(counters[:, FIRST_NS] == NEVER, 0, counters[:, FIRST_NS]),
            last_ns=counters[:, LAST_NS].copy(),
            latency_histograms=latencies,
            depth_histograms=depths,
        )
        width = self.buckets.width_ns
        buckets = BucketView(
            width_ns=width,
            queue=log[:, bucket_log.QUEUE].astype(np.int32),
            start_ns=log[:, bucket_log.BUCKET] * width,
            packets=log[:, bucket_log.PACKETS].copy(),
            bytes=log[:, bucket_log.BYTES].copy(),
            latency_count=log[:, bucket_log.LATENCY_COUNT].copy(),
            latency_sum=log[:, bucket_log.LATENCY_SUM].copy(),
            latency_max=log[:, bucket_log.LATENCY_MAX].copy(),
            depth_count=log[:, bucket_log.DEPTH_COUNT].copy(),
            depth_sum=log[:, bucket_log.DEPTH_SUM].copy(),
            depth_max=log[:, bucket_log.DEPTH_MAX].copy(),
            depth_max_ns=log[:, bucket_log.DEPTH_MAX_NS].copy(),
        )
        return queues, buckets
