"""Pairs: which flows were in a queue while it was well above its own low-water mark, so that a finding can name its culprits.

Only hops that `queues.judge_hop` calls elevated come here, and each time slot has rows of its own: what a flow did at another time does
not make it the culprit of an episode. Slots are as wide as a time bucket. When the table is full, each queue keeps its heaviest flows
if there are too many, and then the width of all slots doubles and neighbours become one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.fold.buckets import NEVER
from int_analyzer.fold.hashing import FACTOR_5, product
from int_analyzer.fold.sorting import order_by
from int_analyzer.fold.table import KEY, PAIRS, Table, find
from int_analyzer.fold.view import PairView

# Words of a row. Its hash is made of those of its queue, its flow and its slot, so that it survives a renumbering of the first two.
QUEUE, FLOW, SLOT, PACKETS, BYTES, EXCESS_SUM, DEPTH_SUM, FIRST_NS, LAST_NS, HASH = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
WIDTH, KEY_WORDS = 10, 3


@inlined
def count_pair(
    rows: Any, index: Any, work: Any, queue: int, flow: int, slot: int, hashed: int, excess: int, depth: int, time: int, size: int
) -> None:
    """Add an elevated hop to its queue, flow and slot; there is room for a new row.

    excess: latency above the queue's lowest, 0 if there is none; depth: −1 if absent; hashed: hash of the queue xor that of the flow.
    """
    work[KEY + QUEUE] = queue
    work[KEY + FLOW] = flow
    work[KEY + SLOT] = slot
    before = work[PAIRS]
    pair = find(rows, index, work, PAIRS, KEY_WORDS, hashed ^ product(slot, FACTOR_5))
    if work[PAIRS] != before:
        rows[pair, FIRST_NS] = NEVER
    rows[pair, PACKETS] += 1
    rows[pair, BYTES] += size
    rows[pair, EXCESS_SUM] += excess
    rows[pair, DEPTH_SUM] += max(depth, 0)
    rows[pair, LAST_NS] = max(rows[pair, LAST_NS], time)
    if time < rows[pair, FIRST_NS] and time > 0:
        rows[pair, FIRST_NS] = time


def _runs(rows: Any, words: int) -> Any:
    """Where each run of rows that agree in their first `words` words begins: int64[runs]."""
    differs = np.ones(len(rows), dtype=bool)
    differs[1:] = False
    for word in range(words):
        differs[1:] |= rows[1:, word] != rows[:-1, word]
    return np.nonzero(differs)[0]


def _ordered(rows: Any) -> Any:
    """Rows by queue, flow and slot."""
    return rows[order_by(rows[:, QUEUE], rows[:, FLOW], rows[:, SLOT])]


class Pairs:
    """The heaviest flows of each queue, at most `maximum` rows; those forgotten are counted. slot_ns: width of a slot."""

    def __init__(self, maximum: int, slot_ns: int) -> None:
        self.table = Table(WIDTH, KEY_WORDS, maximum)
        self.slot_ns = slot_ns
        self.evicted = 0

    def of_flows(self, flows: int) -> Any:
        """Which of the first `flows` flows have a pair: bool[flows]."""
        wanted = np.zeros(flows, dtype=bool)
        wanted[self.table.data[:, FLOW]] = True
        return wanted

    def reserve(self, hops: int) -> None:
        """Make room for a packet of so many hops: grow, or else forget flows or widen the slots."""
        # One packet has to fit, whatever the maximum.
        self.table.maximum = max(self.table.maximum, 2 * hops)
        if not self.table.reserve(hops):
            self._fit()

    def _fit(self) -> None:
        """Make half of the room free."""
        self._evict(max(self.table.maximum // 4, 1))
        while len(self.table) > max(self.table.maximum // 2, 1):
            self.coarsen(1)

    def _evict(self, keep: int) -> None:
        """Forget all but `keep` pairs of a queue and a flow: every queue keeps as many of its heaviest flows as any other."""
        rows = _ordered(self.table.data)
        starts = _runs(rows, 2)
        if len(starts) <= keep:
            return
        total = np.add.reduceat(rows[:, BYTES], starts)
        order = order_by(rows[starts, QUEUE], -total)
        queue = rows[starts[order], QUEUE]
        begins = np.nonzero(np.diff(queue, prepend=-1))[0]
        rank = np.arange(len(queue)) - np.repeat(begins, np.diff(begins, append=len(queue)))
        kept = np.zeros(len(starts), dtype=bool)
        kept[order[order_by(rank)[:keep]]] = True
        self.evicted += len(starts) - keep
        self.table.replace(rows[np.repeat(kept, np.diff(starts, append=len(rows)))])

    def coarsen(self, doublings: int) -> None:
        """Make every slot 2^doublings as wide."""
        rows = self.table.data.copy()
        rows[:, HASH] ^= rows[:, SLOT] * FACTOR_5
        rows[:, SLOT] >>= doublings
        rows[:, HASH] ^= rows[:, SLOT] * FACTOR_5
        self.slot_ns <<= doublings
        self._unite(rows)

    def coarsen_to(self, slot_ns: int) -> None:
        """Make slots at least so wide, which is their width times or divided by a power of two."""
        if self.slot_ns < slot_ns:
            self.coarsen((slot_ns // self.slot_ns).bit_length() - 1)

    def _unite(self, rows: Any) -> None:
        """Take these rows, and make one of those with the same key."""
        rows = _ordered(rows)
        starts = _runs(rows, KEY_WORDS)
        if len(starts) < len(rows):
            united = rows[starts]
            united[:, PACKETS : DEPTH_SUM + 1] = np.add.reduceat(rows[:, PACKETS : DEPTH_SUM + 1], starts)
            united[:, FIRST_NS] = np.minimum.reduceat(rows[:, FIRST_NS], starts)
            united[:, LAST_NS] = np.maximum.reduceat(rows[:, LAST_NS], starts)
            rows = united
        self.table.replace(rows)

    def follow_flows(self, moved: Any) -> None:
        """Renumber the flows: `moved` is the new row of each, −1 for one that was forgotten, and its pairs with it."""
        rows = self.table.data.copy()
        forgotten = moved[rows[:, FLOW]] < 0
        self.evicted += len(_runs(_ordered(rows[forgotten]), 2))
        rows[:, FLOW] = moved[rows[:, FLOW]]
        self.table.replace(rows[~forgotten])

    def merge(self, other: Pairs, queues: Any, flows: Any) -> None:
        """Absorb other pairs, whose queue and flow rows are `queues` and `flows` here."""
        other = other.copy()
        self.coarsen_to(other.slot_ns)
        other.coarsen_to(self.slot_ns)
        theirs = other.table.data
        lost = (queues[theirs[:, QUEUE]] < 0) | (flows[theirs[:, FLOW]] < 0)
        self.evicted += other.evicted + len(_runs(_ordered(theirs[lost]), 2))
        theirs[:, QUEUE] = queues[theirs[:, QUEUE]]
        theirs[:, FLOW] = flows[theirs[:, FLOW]]
        self._unite(np.concatenate([self.table.data, theirs[~lost]]))
        if len(self.table) > self.table.maximum:
            self._fit()

    def copy(self) -> Pairs:
        """An independent copy."""
        other = Pairs(self.table.maximum, self.slot_ns)
        other.table = self.table.copy()
        other.evicted = self.evicted
        return other

    def view(self) -> PairView:
        """Counters of every pair and slot, ordered by queue, then time, the heaviest flow first."""
        rows = self.table.data
        rows = rows[order_by(rows[:, QUEUE], rows[:, SLOT], -rows[:, BYTES])]
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
