"""The part of the fold that a group-by can be compared with: hops into queues with histograms and 10 ms buckets, no flows or paths."""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import compiled, kernel
from int_analyzer.columns import Columns, get
from int_analyzer.fold.queues import Queues, count_hop, find_queue, hop_key, judge_hop
from int_analyzer.fold.table import BLOCKS, BUCKET_NS, BUCKETS, MAXIMUM_QUEUES, N_WORK, QUEUES

BUCKET_WIDTH_NS = 10_000_000
_MORE = 64
"""New queues, histogram blocks and buckets that there is room for when the kernel is called."""


@kernel
def fold_hops(hop: int, stop: int, columns: Any, rows: Any, index: Any, counters: Any, blocks: Any, pool: Any, log: Any, work: Any) -> int:
    """Absorb hops `hop` … `stop` − 1; returns the hop before which a table has to grow, or `stop`."""
    while hop < stop:
        if work[QUEUES] == rows.shape[0] or work[BLOCKS] + 2 > pool.shape[0] or work[BUCKETS] == log.shape[0]:
            break
        packet = get(columns, "hops.packet", hop)
        time = get(columns, "packets.time_ns", packet)
        node, port, _ = hop_key(columns, hop)
        queue = find_queue(rows, index, work, node, port)
        latency, depth, _, said = judge_hop(rows, work, columns, hop, queue)
        size = get(columns, "packets.original_bytes", packet)
        count_hop(counters, blocks, pool, log, work, queue, time, size, latency, depth, said)
        hop += 1
    return hop


class QueueFold:
    """Queues and nothing else, folded from batches."""

    def __init__(self) -> None:
        self.queues = Queues(1 << 17, BUCKET_WIDTH_NS, 1 << 17)
        self._kernel = compiled(fold_hops)

    def fold(self, columns: Columns) -> None:
        """Absorb the hops of a batch."""
        queues = self.queues
        hop, stop = 0, columns.rows("hops")
        while hop < stop:
            queues.reserve(_MORE)
            work = np.zeros(N_WORK, dtype=np.int64)
            work[[QUEUES, BLOCKS, BUCKETS]] = len(queues.table), queues.histograms.used, queues.buckets.used
            work[[MAXIMUM_QUEUES, BUCKET_NS]] = queues.table.maximum, queues.buckets.width_ns
            tables = (queues.table.rows, queues.table.index(True), queues.counters)
            histograms = (queues.histograms.blocks, queues.histograms.pool)
            hop = self._kernel(hop, stop, columns.arena, *tables, *histograms, queues.buckets.log, work)
            queues.table.used = int(work[QUEUES])
            queues.histograms.used, queues.buckets.used = int(work[BLOCKS]), int(work[BUCKETS])

    def quantiles(self, shares: tuple[float, ...]) -> int:
        """Compute the quantiles of every queue's latency and depth; returns the number of queues."""
        queues, _ = self.queues.view()
        queues.latency_histograms.quantiles(shares)
        queues.depth_histograms.quantiles(shares)
        return len(queues.node_id)
