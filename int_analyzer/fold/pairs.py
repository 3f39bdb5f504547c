"""Pairs: which flows were in a queue while it was well above its own low-water mark, so that a finding can name its culprits.

Only hops that `queues.count_hop` calls elevated come here. When the table is full, each queue keeps its heaviest flows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.fold.buckets import NEVER
from int_analyzer.fold.table import KEY, PAIRS, Table, find
from int_analyzer.fold.view import PairView

# Words of a row. Its hash is that of its queue xor that of its flow, so that it survives a renumbering of both.
QUEUE, FLOW, PACKETS, BYTES, EXCESS_SUM, DEPTH_SUM, FIRST_NS, LAST_NS, HASH = 0, 1, 2, 3, 4, 5, 6, 7, 9
WIDTH, KEY_WORDS = 10, 2


@inlined
def count_pair(rows: Any, index: Any, work: Any, queue: int, flow: int, hashed: int, excess: int, depth: int, time: int, size: int) -> None:
    """Add an elevated hop to its queue and flow; there is room for a new pair.

    excess: latency above the queue's lowest, 0 if there is none; depth: −1 if absent; hashed: hash of the queue xor that of the flow.
    """
    work[KEY + QUEUE] = queue
    work[KEY + FLOW] = flow
    before = work[PAIRS]
    pair = find(rows, index, work, PAIRS, KEY_WORDS, hashed)
    if work[PAIRS] != before:
        rows[pair, FIRST_NS] = NEVER
    rows[pair, PACKETS] += 1
    rows[pair, BYTES] += size
    rows[pair, EXCESS_SUM] += excess
    rows[pair, DEPTH_SUM] += max(depth, 0)
    rows[pair, LAST_NS] = max(rows[pair, LAST_NS], time)
    if time < rows[pair, FIRST_NS] and time > 0:
        rows[pair, FIRST_NS] = time


class Pairs:
    """The heaviest flows of each queue, at most `maximum` pairs; those forgotten are counted."""

    def __init__(self, maximum: int) -> None:
        self.table = Table(WIDTH, KEY_WORDS, maximum)
        self.evicted = 0

    def of_flows(self, flows: int) -> Any:
        """Which of the first `flows` flows have a pair: bool[flows]."""
        wanted = np.zeros(flows, dtype=bool)
        wanted[self.table.data[:, FLOW]] = True
        return wanted

    def reserve(self, hops: int) -> None:
        """Make room for a packet of so many hops: grow, or forget the half."""
        # One packet has to fit, whatever the maximum.
        self.table.maximum = max(self.table.maximum, 2 * hops)
        if not self.table.reserve(hops):
            self.evict(self.table.maximum // 2)

    def evict(self, keep: int) -> None:
        """Forget all but `keep` pairs: every queue keeps as many of its heaviest flows as any other."""
        rows = self.table.data
        order = np.lexsort((-rows[:, BYTES], rows[:, QUEUE]))
        queue = rows[order, QUEUE]
        begins = np.nonzero(np.diff(queue, prepend=-1))[0]
        rank = np.arange(len(queue)) - np.repeat(begins, np.diff(begins, append=len(queue)))
        kept = np.sort(order[np.argsort(rank, kind="stable")[:keep]])
        self.evicted += len(rows) - len(kept)
        self.table.replace(rows[kept])

    def follow_flows(self, moved: Any) -> None:
        """Renumber the flows: `moved` is the new row of each, −1 for one that was forgotten, and its pairs with it."""
        rows = self.table.data.copy()
        rows[:, FLOW] = moved[rows[:, FLOW]]
        kept = rows[rows[:, FLOW] >= 0]
        self.evicted += len(rows) - len(kept)
        self.table.replace(kept)

    def merge(self, other: Pairs, queues: Any, flows: Any) -> None:
        """Absorb other pairs, whose queue and flow rows are `queues` and `flows` here."""
        theirs = other.table.data.copy()
        theirs[:, QUEUE] = queues[theirs[:, QUEUE]]
        theirs[:, FLOW] = flows[theirs[:, FLOW]]
        kept = (theirs[:, QUEUE] >= 0) & (theirs[:, FLOW] >= 0)
        self.evicted += other.evicted + int(np.count_nonzero(~kept))
        theirs = theirs[kept]
        maximum, self.table.maximum = self.table.maximum, len(self.table) + len(theirs)
        rows, new = self.table.match(theirs)
        self.table.maximum = maximum
        target, theirs = rows[~new], theirs[~new]
        mine = self.table.data[target]
        mine[:, PACKETS : DEPTH_SUM + 1] += theirs[:, PACKETS : DEPTH_SUM + 1]
        mine[:, FIRST_NS] = np.minimum(mine[:, FIRST_NS], theirs[:, FIRST_NS])
        mine[:, LAST_NS] = np.maximum(mine[:, LAST_NS], theirs[:, LAST_NS])
        self.table.data[target] = mine
        if len(self.table) > maximum:
            self.evict(maximum)

    def copy(self) -> Pairs:
        """An independent copy."""
        other = Pairs(self.table.maximum)
        other.table = self.table.copy()
        other.evicted = self.evicted
        return other

    def view(self) -> PairView:
        """Counters of every pair, ordered by queue, the heaviest flow first."""
        rows = self.table.data
        rows = rows[np.lexsort((-rows[:, BYTES], rows[:, QUEUE]))]
        return PairView(
            queue=rows[:, QUEUE].copy(),
            flow=rows[:, FLOW].copy(),
            packets=rows[:, PACKETS].copy(),
            bytes=rows[:, BYTES].copy(),
            latency_excess_sum=rows[:, EXCESS_SUM].astype(np.float64),
            depth_sum=rows[:, DEPTH_SUM].astype(np.float64),
            first_ns=np.where(rows[:, FIRST_NS] == NEVER, 0, rows[:, FIRST_NS]),
            last_ns=rows[:, LAST_NS].copy(),
            evicted=self.evicted,
        )
