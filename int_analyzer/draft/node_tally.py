"""What a node's raw values look like, counted: depths, hop latency against its times, its clock against the capture's."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from int_analyzer.analysis.units import COUNTED_LIMIT, SHORTEST_FRAME
from int_analyzer.draft.hop_rows import NONE, WORD, Array, HopRows

SECOND_NS = 1_000_000_000
MICROSECONDS_LIMIT = 1_000_000
"""The fraction of a POSIX time in µs stays below this."""
NTP_EPOCH = 2_208_988_800
"""Seconds from 1900 to 1970."""

_DISTINCT = 16
"""From so many different depths on it does not matter how many there are."""
_TELLING = 5
"""Smaller latencies and differences agree by chance."""
_LOOSE = 1.5
"""Queues downstream shake the capture time of single packets; the units asked about are 1000 apart."""
_DAY = 86_400


@dataclass
class NodeTally:
    """Counts over a node's hops; sums and extremes of raw values. Two tallies merge."""

    hops: int = 0
    packet_bytes: int = 0
    depths: int = 0
    depths_above_zero: int = 0
    depths_below_frame: int = 0  # above 0, but fewer bytes than a frame has
    depths_beyond_count: int = 0  # more than a count of packets
    depth_step: int = 0  # greatest common divisor
    depth_min: int = 0  # above 0
    depth_max: int = 0
    depth_values: set[int] = field(default_factory=set)
    latencies: int = 0
    compared: int = 0  # hops with latency and both times, large enough to tell
    equal: int = 0  # latency = time difference
    thousand: int = 0  # time difference = 1000 × latency
    thousandth: int = 0  # latency = 1000 × time difference
    times: int = 0
    time_step: int = 0  # greatest common divisor
    pairs: int = 0  # of hops some time apart, by both clocks
    pairs_ns: int = 0  # of these, one unit of the node's time is about 1 ns of capture time
    pairs_us: int = 0
    captured_ns: list[int] = field(default_factory=lambda: [0, 0])  # Σ of capture time and of node time over pairs_ns
    captured_us: list[int] = field(default_factory=lambda: [0, 0])
    ioam_times: int = 0
    ioam_beyond_us: int = 0  # fraction of 10^6 or more
    ioam_beyond_ns: int = 0  # fraction of 10^9 or more
    ioam_days: list[int] = field(default_factory=lambda: [0, 0])  # seconds since 1970, since 1900: within a day of the capture

    def add(self, rows: HopRows) -> None:
        """Count hops of this node, of one capture, in their order."""
        self.hops += len(rows.node)
        self.packet_bytes += int(rows.packet_bytes.sum())
        self._add_depths(rows.depth[rows.depth != NONE])
        self.latencies += int((rows.latency != NONE).sum())
        self._add_relation(rows.latency, rows.difference)
        self._add_clock(rows)
        self._add_ioam(rows.begin[rows.from_ioam & (rows.begin != 0)], rows.time_ns[rows.from_ioam & (rows.begin != 0)])

    def _add_depths(self, depths: Array) -> None:
        above = depths[depths > 0]
        self.depths += len(depths)
        if len(above) == 0:
            return
        smallest = int(above.min())
        self.depth_min = min(self.depth_min, smallest) if self.depths_above_zero else smallest
        self.depth_max = max(self.depth_max, int(above.max()))
        self.depths_above_zero += len(above)
        self.depths_below_frame += int((above < SHORTEST_FRAME).sum())
        self.depths_beyond_count += int((above > COUNTED_LIMIT).sum())
        self.depth_step = int(np.gcd.reduce(above, initial=self.depth_step))
        if len(self.depth_values) < _DISTINCT:
            self.depth_values |= set(np.unique(above)[:_DISTINCT].tolist())

    def _add_relation(self, latency: Array, difference: Array) -> None:
        told = (latency != NONE) & (difference != NONE) & (np.maximum(latency, difference) >= _TELLING)
        latency, difference = latency[told], difference[told]
        self.compared += len(latency)
        self.equal += int(_close(latency, difference).sum())
        self.thousand += int(_close(latency, difference // 1000).sum())
        self.thousandth += int(_close(latency // 1000, difference).sum())

    def _add_clock(self, rows: HopRows) -> None:
        raw: Array = np.where(rows.end != 0, rows.end, rows.begin)
        there = (raw > 0) & ~rows.from_ioam
        raw, time = raw[there], rows.time_ns[there]
        if len(raw) == 0:
            return
        self.times += len(raw)
        self.time_step = int(np.gcd.reduce(raw, initial=self.time_step))
        # A pair is half the batch apart, but not so long that 32 bits of ns wrap.
        first = np.arange(len(raw))
        latest = np.searchsorted(np.maximum.accumulate(time), time + SECOND_NS, side="right") - 1
        second = np.minimum(np.minimum(first + len(raw) // 2, latest), len(raw) - 1)
        passed, advanced = time[second] - time, raw[second] - raw
        if int(raw.max()) <= WORD:
            advanced = advanced & WORD
        usable = (second > first) & (time > 0) & (passed > 0) & (advanced > 0)
        passed, advanced = passed[usable], advanced[usable]
        ratio = passed / advanced
        self.pairs += len(ratio)
        for unit, sums in ((1, self.captured_ns), (1000, self.captured_us)):
            near = (ratio < unit * _LOOSE) & (ratio > unit / _LOOSE)
            sums[0] += int(passed[near].sum())
            sums[1] += int(advanced[near].sum())
            if unit == 1:
                self.pairs_ns += int(near.sum())
            else:
                self.pairs_us += int(near.sum())

    def _add_ioam(self, raw: Array, time: Array) -> None:
        seconds, fraction, capture = (raw >> 32) & WORD, raw & WORD, time // SECOND_NS
        self.ioam_times += len(raw)
        self.ioam_beyond_us += int((fraction >= MICROSECONDS_LIMIT).sum())
        self.ioam_beyond_ns += int((fraction >= SECOND_NS).sum())
        for which, epoch in enumerate((0, NTP_EPOCH)):
            self.ioam_days[which] += int((np.abs(seconds - epoch - capture) < _DAY).sum())

    def merge(self, other: NodeTally) -> None:
        """Absorb the counts of another node."""
        self.depth_min = min((value for value in (self.depth_min, other.depth_min) if value), default=0)
        self.depth_max = max(self.depth_max, other.depth_max)
        self.depth_step = int(np.gcd(self.depth_step, other.depth_step))
        self.time_step = int(np.gcd(self.time_step, other.time_step))
        self.depth_values |= other.depth_values
        special = ("depth_min", "depth_max", "depth_step", "time_step", "depth_values")
        for name in [entry.name for entry in fields(self) if entry.name not in special]:
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, [a + b for a, b in zip(mine, theirs, strict=True)] if isinstance(mine, list) else mine + theirs)


def _close(a: Any, b: Any) -> Any:
    """Which latencies agree within 10 % and 2 units (as in fold/queues.py)."""
    return 10 * np.abs(a - b) <= np.maximum(a, b) + 20
