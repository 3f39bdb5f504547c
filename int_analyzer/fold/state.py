"""State: what a fold of many batches leaves, in memory bounded by the fabric, and how it merges with another.

    columns ──► fold ──► queues (histograms, time buckets) · paths · flows · pairs · links · postcards · connections · quality · sequences
                          └──► view

The kernels never grow an array: they stop before the packet that might need more room, and go on when Python has made some.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from int_analyzer import _jit
from int_analyzer.columns import N_MIRRORS, N_PACKETS, N_REPORTS, N_ROCE, PACKETS_PER_BATCH, Columns
from int_analyzer.fold.backlog import Backlog, catch_up
from int_analyzer.fold.batch import fold_packets
from int_analyzer.fold.connections import Connections
from int_analyzer.fold.copies import memory
from int_analyzer.fold.direction import LOGGED
from int_analyzer.fold.exchange import fold_roce
from int_analyzer.fold.flows import Flows
from int_analyzer.fold.links import Links
from int_analyzer.fold.pairs import Pairs
from int_analyzer.fold.paths import PACKETS as PATH_PACKETS
from int_analyzer.fold.paths import Paths
from int_analyzer.fold.postcards import Postcards
from int_analyzer.fold.quality import FIRST_NS, HOPS_IGNORED, LAST_NS, LINKS_IGNORED, MIRRORS, PATHS_IGNORED, REPORTS, Quality
from int_analyzer.fold.queues import Queues
from int_analyzer.fold.sequences import Sequences, fold_mirrors, fold_reports
from int_analyzer.fold.table import (
    BLOCKS,
    BUCKET_NS,
    BUCKETS,
    DEPTH_OF_ALL,
    DROPS,
    FLOWS,
    LINK_BASE,
    LINK_NS,
    LINKS,
    LONGEST,
    MAXIMUM_LINKS,
    MAXIMUM_PATHS,
    MAXIMUM_QUEUES,
    N_WORK,
    PAIRS,
    PATH_HOPS,
    PATHS,
    POSTCARDS,
    QUEUES,
    ROOM,
    SLOT_SHIFT,
    STREAMS,
    UNIDENTIFIED,
    WAITS,
)
from int_analyzer.fold.view import BucketView, QueueView, View


class Capacity(NamedTuple):
    """How much a state may keep: width of its time buckets to begin with, and rows of its tables."""

    bucket_ns: int = 1_000_000
    queues: int = 1 << 16
    paths: int = 1 << 20
    flows: int = 1 << 18
    pairs: int = 1 << 17
    """Rows, of which a flow in a queue has one for every slot of time."""
    bucket_rows: int = 1 << 17
    """Or 64 rows per queue, if that is more."""
    links: int = 1 << 16
    postcards: int = 1 << 17
    """Or as many as a batch has, if that is more."""
    connections: int = 1 << 14
    """Directions of RoCEv2 connections, 4 kB each."""
    subsets: int = 1
    subsets_followed: int = 1
    """Of so many subsets of these connections so many are followed at a time: polling.py."""
    backlog: int = 1 << 11
    """Hops of 64 queues that are put off, at most, 48 bytes each; or as many as a packet has, if that is more."""
    at_once: int = 1 << 8
    """Queues up to which nothing is put off: a processor's own cache holds what they count in."""


_OF_THREAD = threading.local()


def _scratch(rows: int) -> Any:
    """The log of waits of a batch (waits.note_wait): nothing of it outlives the batch, so that a thread has one for all states."""
    log = getattr(_OF_THREAD, "log", None)
    if log is None or len(log) < rows:
        log = _OF_THREAD.log = np.zeros((rows, 2), dtype=np.int64)
    return log


class State:
    """All that is known of the packets folded so far. turn: its number, and how many subsets of connections it follows (None: as usual)."""

    def __init__(self, capacity: Capacity | None = None, turn: int = 0, followed: int | None = None) -> None:
        self.capacity = capacity or Capacity()
        self.queues = Queues(self.capacity.queues, self.capacity.bucket_ns, self.capacity.bucket_rows)
        self.paths = Paths(self.capacity.paths)
        self.flows = Flows(self.capacity.flows)
        self.pairs = Pairs(self.capacity.pairs, self.capacity.bucket_ns)
        self.links = Links(self.capacity.links, self.capacity.bucket_ns)
        self._backlog, self._fast = Backlog(self.capacity.backlog), False
        self.postcards = Postcards(self.capacity.postcards)
        followed = self.capacity.subsets_followed if followed is None else followed
        self.connections = Connections(self.capacity.connections, self.capacity.subsets, followed, turn)
        self.quality = Quality()
        self.sequences = Sequences()
        # Of the packets that came last; paths have the rows that they have here.
        self._seen = memory()

    def empty(self) -> State:
        """A state of nothing with the same capacity."""
        return State(self.capacity)

    def copy(self) -> State:
        """An independent copy."""
        other = self.empty()
        self.settle()
        other.queues = self.queues.copy()
        other.paths = self.paths.copy()
        other.flows = self.flows.copy()
        other.pairs = self.pairs.copy()
        other.links = self.links.copy()
        other.postcards = self.postcards.copy()
        other.connections = self.connections.copy()
        other.quality = self.quality.copy()
        other.sequences = self.sequences.copy()
        other._seen[:] = self._seen
        return other

    def fold(self, columns: Columns, compiled: bool = True) -> None:
        """Absorb a batch; `compiled=False` runs the kernels as plain Python, which begins at once and gives the same."""
        fast = compiled and not _jit.DISABLED
        if fast and len(columns.packets.time_ns) != PACKETS_PER_BATCH:
            raise ValueError("compiled kernels know columns of the default size only")
        given = columns.arena if fast else columns.by_name()
        self._fast = fast
        packets, roce, reports, mirrors = (int(columns.counts[rows]) for rows in (N_PACKETS, N_ROCE, N_REPORTS, N_MIRRORS))
        self._reserve_postcards(int(np.count_nonzero(columns.packets.report_count[:packets])))
        waits = _scratch(len(columns.hops.present))
        row, waited = self._fold_packets(0, packets, given, waits, 0, fast)
        while row < packets:
            self._make_room(int(columns.packets.hop_count[row]), int(columns.packets.time_ns[row]))
            row, waited = self._fold_packets(row, packets, given, waits, waited, fast)
        row = self._fold_roce(0, roce, given, waits, waited, fast)
        while row < roce:
            self.connections.reserve()
            row = self._fold_roce(row, roce, given, waits, waited, fast)
        for kernel, rows, total in ((fold_reports, reports, REPORTS), (fold_mirrors, mirrors, MIRRORS)):
            row = 0
            while row < rows:
                self.sequences.reserve()
                row = self._fold_sequences(kernel, row, rows, given, fast)
            self.quality.counters[total] += rows

    def compile(self, columns: Columns) -> None:
        """Compile what `fold` would compile only for the first report or mirror, or in a large fabric; the rest it does in any case."""
        if not _jit.DISABLED:
            for kernel in (fold_reports, fold_mirrors):
                self._fold_sequences(kernel, 0, 0, columns.arena, True)
            self._catch_up(True)
            self.queues.buckets.compact(1, self.capacity.bucket_rows, True)
            self.connections.compile()

    def _fold_packets(self, row: int, stop: int, columns: Any, waits: Any, waited: int, fast: bool) -> tuple[int, int]:
        """The row before which a table has to grow, and how many rows of `waits` are in use."""
        queues, paths, flows, pairs, links = self.queues, self.paths, self.flows, self.pairs, self.links
        work = self._work()
        work[[QUEUES, PATHS, FLOWS, PAIRS]] = len(queues.table), len(paths.table), len(flows.table), len(pairs.table)
        work[PATH_HOPS] = paths.used
        work[[MAXIMUM_QUEUES, MAXIMUM_PATHS]] = queues.table.maximum, paths.table.maximum
        work[[LINKS, MAXIMUM_LINKS]] = len(links.table), links.table.maximum
        work[[POSTCARDS, WAITS, DEPTH_OF_ALL]] = self.postcards.used, waited, queues.depth_of_all
        work[SLOT_SHIFT] = (pairs.slot_ns // queues.buckets.width_ns).bit_length() - 1
        row = _jit.run(
            fold_packets,
            fast,
            row,
            stop,
            columns,
            queues.table.rows,
            queues.table.index(fast),
            queues.counters,
            queues.histograms.blocks,
            queues.histograms.pool,
            queues.buckets.log,
            self._backlog.rows,
            self._backlog.parts,
            paths.table.rows,
            paths.table.index(fast),
            paths.hops,
            paths.links,
            flows.table.rows,
            flows.table.index(fast),
            pairs.table.rows,
            pairs.table.index(fast),
            links.table.rows,
            links.table.index(fast),
            self.postcards.log,
            waits,
            self._seen,
            self.quality.counters,
            work,
        )
        tables = {QUEUES: queues.table, PATHS: paths.table, FLOWS: flows.table, PAIRS: pairs.table, LINKS: links.table}
        for word, table in tables.items():
            table.used = int(work[word])
        queues.histograms.used, queues.buckets.used, paths.used = work[[BLOCKS, BUCKETS, PATH_HOPS]].tolist()
        queues.depth_of_all = int(work[DEPTH_OF_ALL])
        self.postcards.used = int(work[POSTCARDS])
        self.postcards.counts["unidentified"] += int(work[UNIDENTIFIED])
        return row, int(work[WAITS])

    def _work(self) -> Any:
        """Scratch of the kernels that count hops: int64[96]."""
        queues, links = self.queues, self.links
        # A slot is one bucket or several, whole ones.
        self.pairs.coarsen_to(queues.buckets.width_ns)
        links.coarsen_to(queues.buckets.width_ns)
        work = np.zeros(N_WORK, dtype=np.int64)
        work[[BLOCKS, BUCKETS, BUCKET_NS]] = queues.histograms.used, queues.buckets.used, queues.buckets.width_ns
        work[[LINK_NS, LINK_BASE]] = links.slot_ns, links.base
        work[[LONGEST, ROOM]] = self._backlog.longest, self._backlog.room
        return work

    @property
    def hops_put_off(self) -> int:
        """Hops that are not counted yet."""
        return len(self._backlog)

    def settle(self) -> None:
        """Count the hops that were put off."""
        while self.hops_put_off > 0:
            self.queues.reserve(1, self._fast)
            self._catch_up(self._fast)

    def _catch_up(self, fast: bool) -> None:
        queues, backlog, work = self.queues, self._backlog, self._work()
        arrays = (backlog.rows, backlog.parts, queues.counters, queues.histograms.blocks, queues.histograms.pool, queues.buckets.log)
        _jit.run(catch_up, fast, 1, *arrays, self.links.table.rows, work)
        queues.histograms.used, queues.buckets.used = work[[BLOCKS, BUCKETS]].tolist()

    def _fold_roce(self, row: int, stop: int, columns: Any, waits: Any, waited: int, fast: bool) -> int:
        *arrays, work = self.connections.arrays(fast)
        work[LOGGED] = waited
        after = _jit.run(fold_roce, fast, row, stop, columns, *arrays, waits, work)
        self.connections.take(work, after - row)
        return after

    def _fold_sequences(self, kernel: Any, row: int, stop: int, columns: Any, fast: bool) -> int:
        streams, drops = self.sequences.streams, self.sequences.drops
        work = np.zeros(N_WORK, dtype=np.int64)
        work[[STREAMS, DROPS]] = len(streams), len(drops)
        arrays = (streams.rows, streams.index(fast), drops.rows, drops.index(fast), self.quality.counters, work)
        row = _jit.run(kernel, fast, row, stop, columns, *arrays)
        streams.used, drops.used = work[[STREAMS, DROPS]].tolist()
        return row

    def _make_room(self, hops: int, time: int) -> None:
        """Make room for a packet of so many hops at that time: grow, or forget."""
        self.links.table.reserve(hops)
        if time > 0:
            first, last = self.quality.counters[[FIRST_NS, LAST_NS]].tolist()
            self.links.cover(min(first, time), max(last, time))
        self.queues.reserve(hops, self._fast)
        if self.queues.table.rows.shape[0] > self.capacity.at_once:
            self._backlog.reserve(self.queues.table.rows.shape[0])
        if hops > self._backlog.most:
            self.settle()
            self._backlog.deepen(hops)
        self.paths.reserve(hops)
        if not self.flows.table.reserve(1):
            self._evict_flows(self.flows.table.maximum // 2)
        self.pairs.reserve(hops)

    def _reserve_postcards(self, more: int) -> None:
        if more:
            self.quality.counters[PATHS_IGNORED] += self.postcards.reserve(more, self.queues.table.data, self.paths, self.flows)

    def _evict_flows(self, keep: int) -> None:
        moved = self.flows.evict(keep, self.pairs.of_flows(len(self.flows.table)))
        self.pairs.follow_flows(moved)
        self.postcards.follow_flows(moved)

    def merge(self, other: State) -> None:
        """Absorb another state: of packets later than these, or seen elsewhere; `other` stays what it is.

        The result is the state of the whole: exactly for everything but pairs and waits (which hops are elevated depends on what a queue
        had seen before), that time went back between pieces, the time of a path change between pieces if packets were seen halfway, path
        changes and duplicate sequence numbers between pieces of one time, messages and gaps of RoCEv2 connections that lie across the
        boundary, packets that two mirror points saw of which one is in each piece (they count twice), and what was forgotten for lack of
        room: so postcards of packets that had left a full log are joined only if they are in its sample.
        """
        self.settle()
        other.settle()
        mine, theirs = self.connections.turns.subsets, other.connections.turns.subsets
        if mine != theirs:
            raise ValueError(f"states of {mine} and of {theirs} subsets of connections")
        if other.capacity.bucket_ns != self.capacity.bucket_ns:
            raise ValueError(f"states of different bucket widths: {self.capacity.bucket_ns} and {other.capacity.bucket_ns} ns")
        queues = self.queues.merge(other.queues)
        paths = self.paths.merge(other.paths, queues)
        self.quality.counters[HOPS_IGNORED] += other.queues.packets()[queues < 0].sum()
        self.quality.counters[PATHS_IGNORED] += other.paths.table.data[paths < 0, PATH_PACKETS].sum()
        flows = self.flows.merge(other.flows, paths, self.paths, self.queues.table.data)
        self.pairs.merge(other.pairs, queues, flows)
        self.quality.counters[PATHS_IGNORED] += self.postcards.merge(other.postcards, queues, flows)
        self._reserve_postcards(1)
        if len(self.flows.table) > self.flows.table.maximum:
            self._evict_flows(self.flows.table.maximum // 2)
        self.connections.merge(other.connections, queues)
        self.quality.merge(other.quality)
        first, last = self.quality.counters[[FIRST_NS, LAST_NS]].tolist()
        if last:
            self.quality.counters[LINKS_IGNORED] += self.links.merge(other.links, first, last)
        self.sequences.merge(other.sequences)

    def view_queues(self) -> tuple[QueueView, BucketView]:
        """Totals and time buckets of every queue, which cost less than everything."""
        self.settle()
        return self.queues.view()

    def view(self) -> View:
        """Everything as plain arrays, independent of what is folded later."""
        paths, flows, postcards, quality = self.paths, self.flows, self.postcards, self.quality
        if postcards.used:
            # Here all packets are complete; in the state they are not.
            paths, flows, postcards, quality = paths.copy(), flows.copy(), postcards.copy(), quality.copy()
            quality.counters[PATHS_IGNORED] += postcards.finish(self.queues.table.data, paths, flows)
        queues, buckets = self.view_queues()
        self.pairs.coarsen_to(buckets.width_ns)
        sequences, drops = self.sequences.view()
        flow_view = flows.view()
        connections, host_pairs = self.connections.view(flow_view)
        return View(
            queues=queues,
            buckets=buckets,
            paths=paths.view(),
            flows=flow_view,
            pairs=self.pairs.view(),
            sequences=sequences,
            drops=drops,
            links=self.links.view(),
            postcards=postcards.view(),
            connections=connections,
            host_pairs=host_pairs,
            journal=self.connections.journal.view(),
            answers=self.connections.answers.view(),
            **quality.view(),
        )
