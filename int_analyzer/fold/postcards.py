"""Postcards: reports of one node about one packet, kept until those of the other nodes on its path have come.

A packet is known by its flow and what is the same all along its path: PSN and opcode of RoCEv2 with the IPv4 identification, else the
identification alone (RFC 6864: 0 says nothing). Reports with one identity and no long gap between them are of one packet.

The kernel appends rows to a log. When that is full, the oldest become trajectories, and these packets on paths. But a sample, the same
at every collector because it goes by the hash of the packet (trajectory sampling), stays until the end: so captures of
several collectors, each folded by itself, still have packets in common when they merge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.columns import get
from int_analyzer.fold.flows import Flows
from int_analyzer.fold.hashing import FACTOR_3, mixed, product
from int_analyzer.fold.paths import INGRESS_MASK, QUEUE_SHIFT, Paths
from int_analyzer.fold.queues import NODE
from int_analyzer.fold.table import POSTCARDS, UNIDENTIFIED
from int_analyzer.fold.trajectory import BYTES, FLOW, HOP, IDENTITY, PACKET, TIME, TTL, WIDTH, Trajectories, find_trajectories
from int_analyzer.schema import ABSENT32, FORMAT_INT_MX, FORMAT_REPORT_05, FORMAT_REPORT_1, FORMAT_REPORT_2

FORMATS = (1 << FORMAT_REPORT_05) | (1 << FORMAT_REPORT_1) | (1 << FORMAT_REPORT_2) | (1 << FORMAT_INT_MX)
"""Telemetry of which each node reports its own hop, a bit each: XD and MX. A stack with one hop left is none."""

ROCE = 1 << 48
"""A bit of an identity: it has a PSN."""

APART_NS, APART_ROCE_NS = 100_000_000, 1_000_000_000
"""Reports with one identity that are further apart are of two packets: the identification of a fast flow comes again after 65536
packets, a PSN after 2^24."""

KEPT = 0.5
"""A full log keeps at most so much of itself: sample, and the newest of what is not complete yet."""
NEWEST = 0.25

COUNTS = ("joined", "by_arrival", "alone", "unordered", "duplicated", "unidentified", "early")
"""What became of the reports; `by_arrival` are of the joined, `early` of those alone: they left a full log before the time was over."""


@inlined
def identify(columns: Any, packet: int, version: int, roce_row: int) -> int:
    """What tells a packet from the others of its flow, −1 if nothing does."""
    number = 0
    if version == 4:
        number = get(columns, "packets.ip_id", packet)
    if roce_row != ABSENT32:
        return ROCE | (number << 32) | (get(columns, "roce.opcode", roce_row) << 24) | get(columns, "roce.psn", roce_row)
    return number if number != 0 else -1


@inlined
def keep(
    log: Any, work: Any, columns: Any, packet: int, version: int, roce_row: int, flow: int, flow_hash: int, time: int, word: int, size: int
) -> bool:
    """Append a postcard to the log (int64[capacity, 7]), which has room for it; false, and counted, if its packet has no identity."""
    identity = identify(columns, packet, version, roce_row)
    if identity < 0:
        work[UNIDENTIFIED] += 1
        return False
    at = work[POSTCARDS]
    log[at, PACKET] = mixed(flow_hash ^ product(identity, FACTOR_3))
    log[at, IDENTITY] = identity
    log[at, FLOW] = flow
    log[at, TIME] = time
    log[at, HOP] = word
    log[at, TTL] = get(columns, "packets.ttl", packet)
    log[at, BYTES] = size
    work[POSTCARDS] = at + 1
    return True


class Postcards:
    """The log, at most `maximum` rows, and what became of the postcards that left it.

    doublings: one packet of 2^doublings is in the sample.
    """

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self.used = 0
        self.doublings = 0
        self.log = np.zeros((0, WIDTH), dtype=np.int64)
        self.counts = dict.fromkeys(COUNTS, 0)

    @property
    def data(self) -> Any:
        return self.log[: self.used]

    def reserve(self, more: int, queue_rows: Any, paths: Paths, flows: Flows) -> int:
        """Make room for `more` postcards: grow, or let packets go to their paths and flows; returns how many had no room for their path."""
        ignored = self._shrink(queue_rows, paths, flows) if self.used > 0 and self.used + more > self.maximum else 0
        if self.used + more > self.log.shape[0]:
            grown = np.zeros((min(max(2 * (self.used + more), 1024), max(self.maximum, self.used + more)), WIDTH), dtype=np.int64)
            grown[: self.used] = self.data
            self.log = grown
        return ignored

    def follow_flows(self, moved: Any) -> None:
        """Renumber the flows: `moved` is the new row of each, −1 for one that was forgotten."""
        flow = self.data[:, FLOW]
        flow[flow >= 0] = moved[flow[flow >= 0]]

    def finish(self, queue_rows: Any, paths: Paths, flows: Flows) -> int:
        """Let all packets go; returns how many had no room for their path."""
        rows, packet = self._packets()
        self.used = 0
        return self._release(rows, packet, queue_rows, paths, flows)

    def merge(self, other: Postcards, queues: Any, flows: Any) -> int:
        """Absorb other postcards, whose queue and flow rows are `queues` and `flows` here; returns how many had no room for their queue.

        The log may then hold more than its maximum: `reserve` comes next.
        """
        theirs = other.data.copy()
        queue = queues[theirs[:, HOP] >> QUEUE_SHIFT]
        theirs[:, HOP] = (queue << QUEUE_SHIFT) | (theirs[:, HOP] & INGRESS_MASK)
        known = theirs[:, FLOW] >= 0
        theirs[known, FLOW] = flows[theirs[known, FLOW]]
        self.log = np.concatenate([self.data, theirs[queue >= 0]])
        self.used = len(self.log)
        self.doublings = max(self.doublings, other.doublings)
        for name in COUNTS:
            self.counts[name] += other.counts[name]
        return int((queue < 0).sum())

    def copy(self) -> Postcards:
        """An independent copy."""
        other = Postcards(self.maximum)
        other.log, other.used, other.doublings = self.data.copy(), self.used, self.doublings
        other.counts = dict(self.counts)
        return other

    def view(self) -> dict[str, int]:
        """Postcards of packets that left, by what became of them."""
        total = sum(self.counts[name] for name in ("joined", "alone", "unordered", "duplicated", "unidentified"))
        return {"total": total, **self.counts}

    def _packets(self) -> tuple[Any, Any]:
        """All rows ordered by packet, then time, and the number of each row's packet: int64[n, 7], int64[n]."""
        rows = self.data[np.lexsort((self.data[:, TIME], self.data[:, PACKET]))]
        if len(rows) == 0:
            return rows, np.zeros(0, dtype=np.int64)
        apart = np.where(rows[1:, IDENTITY] & ROCE != 0, APART_ROCE_NS, APART_NS)
        same = (np.diff(rows[:, PACKET]) == 0) & (np.diff(rows[:, IDENTITY]) == 0) & (np.diff(rows[:, FLOW]) == 0)
        return rows, np.concatenate([[0], np.cumsum(~(same & (np.diff(rows[:, TIME]) <= apart)))])

    def _shrink(self, queue_rows: Any, paths: Paths, flows: Flows) -> int:
        """Let go of all but the newest packets and a sample; returns how many had no room for their path."""
        rows, packet = self._packets()
        last = np.maximum.reduceat(rows[:, TIME], np.flatnonzero(np.diff(packet, prepend=-1)))[packet]
        newest = int(last.max())
        border = np.partition(last, int((1 - NEWEST) * (len(last) - 1)))[int((1 - NEWEST) * (len(last) - 1))]
        young = last > border
        staying = young | self._sampled(rows)
        while staying.sum() > KEPT * self.maximum and self.doublings < 62:
            self.doublings += 1
            staying = young | self._sampled(rows)
        leaving = ~staying
        early = leaving & (last > newest - APART_NS) & (np.bincount(packet)[packet] == 1)
        self.counts["early"] += int(early.sum())
        kept = rows[staying]
        self.log[: len(kept)] = kept
        self.used = len(kept)
        return self._release(rows[leaving], packet[leaving], queue_rows, paths, flows)

    def _sampled(self, rows: Any) -> Any:
        return rows[:, PACKET] & ((1 << self.doublings) - 1) == 0

    def _release(self, rows: Any, packet: Any, queue_rows: Any, paths: Paths, flows: Flows) -> int:
        """Put packets on their paths and into their flows; returns how many had no room for their path."""
        if len(rows) == 0:
            return 0
        found = find_trajectories(rows, packet, queue_rows[rows[:, HOP] >> QUEUE_SHIFT, NODE])
        for name in ("joined", "by_arrival", "alone", "unordered", "duplicated"):
            self.counts[name] += getattr(found, name)
        return put_on_paths(found, queue_rows, paths, flows)


def put_on_paths(found: Trajectories, queue_rows: Any, paths: Paths, flows: Flows) -> int:
    """Count packets in their paths, and let their flows follow; returns how many had no room for their path."""
    path = paths.find_all(found.hops, queue_rows)
    fits = path >= 0
    paths.count_all(path[fits], found.time[fits], found.bytes[fits], found.hole[fits])
    known = fits & (found.flow >= 0)
    flows.follow_all(found.flow[known], path[known], found.time[known], found.whole[known], paths)
    return int((~fits).sum())
