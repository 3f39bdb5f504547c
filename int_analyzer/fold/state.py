"""State: what a fold of many batches leaves, in memory bounded by the fabric, and how it merges with another.

    columns ──► fold ──► queues (histograms, time buckets) · paths · flows · pairs · quality · sequences ──► view

The kernels never grow an array: they stop before the packet that might need more room, and go on when Python has made some.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from int_analyzer import _jit
from int_analyzer.columns import N_MIRRORS, N_PACKETS, N_REPORTS, Columns
from int_analyzer.fold.batch import StateArrays, fold_packets
from int_analyzer.fold.flows import Flows
from int_analyzer.fold.pairs import Pairs
from int_analyzer.fold.paths import Paths
from int_analyzer.fold.quality import MIRRORS, REPORTS, Quality
from int_analyzer.fold.queues import Queues
from int_analyzer.fold.sequences import Sequences, fold_mirrors, fold_reports
from int_analyzer.fold.table import in_memory
from int_analyzer.fold.view import View


class Capacity(NamedTuple):
    """How much a state may keep: width of its time buckets to begin with, and rows of its tables."""

    bucket_ns: int = 1_000_000
    queues: int = 1 << 17
    paths: int = 1 << 20
    flows: int = 1 << 18
    pairs: int = 1 << 18
    bucket_rows: int = 1 << 17
    """Or 64 rows per queue, if that is more."""


class State:
    """All that is known of the packets folded so far."""

    def __init__(self, capacity: Capacity | None = None) -> None:
        self.capacity = capacity or Capacity()
        self.queues = Queues(self.capacity.queues, self.capacity.bucket_ns, self.capacity.bucket_rows)
        self.paths = Paths(self.capacity.paths)
        self.flows = Flows(self.capacity.flows)
        self.pairs = Pairs(self.capacity.pairs)
        self.quality = Quality()
        self.sequences = Sequences()

    def empty(self) -> State:
        """A state of nothing with the same capacity."""
        return State(self.capacity)

    def copy(self) -> State:
        """An independent copy."""
        other = self.empty()
        other.queues = self.queues.copy()
        other.paths = self.paths.copy()
        other.flows = self.flows.copy()
        other.pairs = self.pairs.copy()
        other.quality = self.quality.copy()
        other.sequences = self.sequences.copy()
        return other

    def fold(self, columns: Columns, compiled: bool = True) -> None:
        """Absorb a batch; `compiled=False` runs the kernels as plain Python, which begins at once and gives the same."""
        fast = compiled and not _jit.DISABLED
        packets, hops, roce, reports, mirrors = columns[:5] if fast else in_memory(tuple(columns[:5]))
        stop = int(columns.counts[N_PACKETS])
        run = _jit.compiled(fold_packets) if fast else fold_packets
        row = run(0, stop, packets, hops, roce, self._arrays(fast))
        while row < stop:
            self._make_room(int(columns.packets.hop_count[row]))
            row = run(row, stop, packets, hops, roce, self._arrays(fast))
        for kernel, table, rows in (
            (fold_reports, reports, int(columns.counts[N_REPORTS])),
            (fold_mirrors, mirrors, int(columns.counts[N_MIRRORS])),
        ):
            row = 0
            while row < rows:
                self.sequences.reserve()
                arrays = (packets.time_ns, self.sequences.arrays(fast), self.quality.arrays.totals)
                if fast:
                    row = _jit.compiled(kernel)(row, rows, table, *arrays)
                else:
                    row = kernel(row, rows, table, *in_memory(arrays))
        self.quality.arrays.totals[REPORTS] += int(columns.counts[N_REPORTS])
        self.quality.arrays.totals[MIRRORS] += int(columns.counts[N_MIRRORS])

    def _arrays(self, fast: bool) -> Any:
        arrays = StateArrays(
            queues=self.queues.table.arrays(fast),
            latencies=self.queues.latencies.arrays(),
            depths=self.queues.depths.arrays(),
            buckets=self.queues.buckets.arrays(),
            paths=self.paths.arrays(fast),
            flows=self.flows.table.arrays(fast),
            pairs=self.pairs.table.arrays(fast),
            quality=self.quality.arrays,
            maxima=np.array([self.queues.table.maximum, self.paths.table.maximum], dtype=np.int64),
            key=np.zeros(8, dtype=np.int64),
        )
        return arrays if fast else in_memory(arrays)

    def _make_room(self, hops: int) -> None:
        """Make room for a packet of so many hops: grow, or forget."""
        self.queues.reserve(hops)
        self.paths.reserve(hops)
        if not self.flows.table.reserve(1):
            self._evict_flows(self.flows.table.maximum // 2)
        if not self.pairs.table.reserve(hops):
            self.pairs.evict(max(self.pairs.table.maximum // 2 - hops, 0))

    def _evict_flows(self, keep: int) -> None:
        self.pairs.follow_flows(self.flows.evict(keep, self.pairs.of_flows(len(self.flows.table))))

    def merge(self, other: State) -> None:
        """Absorb another state: of packets later than these, or seen elsewhere; `other` stays what it is.

        The result is the state of the whole: exactly for everything but pairs (which hops are elevated depends on what a queue had
        seen before), path changes between pieces of one time, and what was forgotten for lack of room.
        """
        if other.capacity.bucket_ns != self.capacity.bucket_ns:
            raise ValueError(f"states of different bucket widths: {self.capacity.bucket_ns} and {other.capacity.bucket_ns} ns")
        queues = self.queues.merge(other.queues)
        paths = self.paths.merge(other.paths, queues)
        flows = self.flows.merge(other.flows, paths)
        self.pairs.merge(other.pairs, queues, flows)
        if len(self.flows.table) > self.flows.table.maximum:
            self._evict_flows(self.flows.table.maximum // 2)
        self.quality.merge(other.quality)
        self.sequences.merge(other.sequences)

    def view(self) -> View:
        """Everything as plain arrays, independent of what is folded later."""
        queues, buckets = self.queues.view()
        sequences, drops = self.sequences.view()
        return View(
            queues=queues,
            buckets=buckets,
            paths=self.paths.view(),
            flows=self.flows.view(),
            pairs=self.pairs.view(),
            sequences=sequences,
            drops=drops,
            **self.quality.view(),
        )
