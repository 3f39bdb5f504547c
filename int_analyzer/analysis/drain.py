"""How fast a queue empties: by Little's law, depth ÷ wait. It needs no counters, and not that all packets are seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.congestion import DEPTH, Congestion
from int_analyzer.analysis.units import QueueUnits
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile

FULL, SLOW = 0.8, 0.6
"""Drain rate ÷ link speed: from when a port does what it can, and below which something keeps it from that."""
NEARLY_EMPTY = 0.05
"""Of the mean depth of a congested queue, the depth at which packets hardly wait."""
STEADY = 0.002
"""So near to their median are the drain rates of most buckets of a link that is slow. Those of a paused port differ by more: it stops and
goes on some 30 times in a bucket of 1 ms, and only because a bucket may begin with a stop or not they differ by a hundredth or two."""
STEADY_BUCKETS = 8
"""Rates of fewer buckets may agree by chance."""
STEADY_WIDTH_NS = 1_000_000
"""In wider buckets pauses are averaged away."""


@dataclass(frozen=True)
class Drains:
    """Drain rates of queues, those of which the depth is known in bytes and the latency in ns.

    A packet that finds `depth` bytes before it waits until these have left: the wait is what its latency is above that in an empty queue.
    """

    view: View
    profile: Profile
    units: QueueUnits

    def share(self, congestion: Congestion, rows: Any = None) -> float | None:
        """Rate at which a queue empties while it is congested, or in these of its buckets, ÷ speed of its link; None if unknown."""
        measured, rows = self._measured(congestion), congestion.rows if rows is None else rows
        if measured is None:
            return None
        depth, waited = (float(values.sum()) for values in self._sums(congestion, rows))
        return measured * depth / waited if waited > 0 else None

    def steady_share(self, congestion: Congestion) -> float | None:
        """The share of its link speed at which a queue empties in most of its buckets, whatever waits in it; None if there is none.

        A slow link sends all the time and at one rate; a port that is paused stops and goes on at full speed.
        """
        measured = self._measured(congestion)
        if measured is None or self.view.buckets.width_ns > STEADY_WIDTH_NS:
            return None
        depth, waited = self._sums(congestion, congestion.rows)
        rates = measured * depth[waited > 0] / waited[waited > 0]
        if len(rates) < STEADY_BUCKETS:
            return None
        usual = float(np.median(rates))
        return usual if float(np.median(np.abs(rates - usual))) <= STEADY * usual else None

    def _measured(self, congestion: Congestion) -> float | None:
        """What (raw depth ÷ raw latency) is to be multiplied with; None where it says nothing."""
        queue, units, queues = congestion.queue, self.units, self.view.queues
        speed = self.profile.port_speed_bps(int(queues.node_id[queue]), int(queues.port[queue]))
        if not speed or congestion.measure != DEPTH or units.depth_unit[queue] != "bytes" or units.latency_unit[queue] != "ns":
            return None
        return 8e9 * float(units.depth_factor[queue]) / float(units.latency_factor[queue]) / speed

    def _sums(self, congestion: Congestion, rows: Any) -> tuple[Any, Any]:
        """Depth and wait of the packets of each bucket, raw."""
        buckets, least = self.view.buckets, self._when_empty(congestion)
        # Packets with both: a sum of one over the packets of the other would be no mean.
        both = buckets.depth_count[rows] == buckets.latency_count[rows]
        waited = buckets.latency_sum[rows] - buckets.latency_count[rows] * least
        return np.where(both, buckets.depth_sum[rows], 0.0), np.where(both, waited, 0.0)

    def _when_empty(self, congestion: Congestion) -> float:
        """Latency where nothing waits, raw: the lowest of the queue, unless it is never nearly empty, else of its node; 0 if unknown."""
        queues, queue, rows = self.view.queues, congestion.queue, congestion.rows
        lowest = float(queues.latency_histograms.quantile(queue, 0.0))
        mean = float(self.view.buckets.depth_sum[rows].sum()) / max(1, int(self.view.buckets.depth_count[rows].sum()))
        if float(queues.depth_histograms.quantile(queue, 0.0)) <= NEARLY_EMPTY * mean:
            return lowest
        alike = (queues.node_id == queues.node_id[queue]) & (queues.latency_count > 0) & (np.arange(len(queues.node_id)) != queue)
        return min(lowest, float(queues.latency_histograms.quantiles((0.0,), rows=np.flatnonzero(alike)).min())) if alike.any() else 0.0
