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
SURE = 0.05
"""Of what packets wait on average, how uncertain the latency of an empty queue may be."""
FIT_BUCKETS = 8
"""Fewer do not tell how far a line through them may be off."""


@dataclass(frozen=True)
class Drain:
    """Rate at which a queue empties ÷ speed of its link; `at_least`: it may be faster."""

    share: float
    at_least: bool


@dataclass(frozen=True)
class Drains:
    """Drain rates of queues, those of which the depth is known in bytes and the latency in ns.

    A packet that finds `depth` bytes before it waits until these have left: the wait is what its latency is above that in an empty queue.
    """

    view: View
    profile: Profile
    units: QueueUnits

    def find(self, congestion: Congestion, rows: Any = None) -> Drain | None:
        """How fast a queue empties while it is congested, or in these of its buckets; None if unknown.

        Where it is unknown what of the latency is wait, all of it is the most: if even that makes it `FULL`, it is at least so fast.
        """
        measured = self._measured(congestion)
        if measured is None:
            return None
        depth, waited, known = self._emptied(congestion, congestion.rows if rows is None else rows)
        share = measured * depth / waited if waited > 0 else None
        return Drain(share, not known) if share is not None and (known or share >= FULL) else None

    def compare(self, congestion: Congestion, other: Congestion) -> float | None:
        """How fast a queue empties ÷ how fast another does, whatever the speeds of their links; None if unknown, or in other units."""
        units = self.units
        unit, unit_of_other = (
            (units.depth_unit[queue], float(units.depth_factor[queue]), units.latency_unit[queue], float(units.latency_factor[queue]))
            for queue in (congestion.queue, other.queue)
        )
        if unit != unit_of_other or congestion.measure != DEPTH or other.measure != DEPTH:
            return None
        (depth, waited, known), (depth_of_other, waited_of_other, known_too) = (self._emptied(one, one.rows) for one in (congestion, other))
        if not (known and known_too and waited > 0 and waited_of_other > 0 and depth_of_other > 0):
            return None
        return depth / waited / (depth_of_other / waited_of_other)

    def _emptied(self, congestion: Congestion, rows: Any) -> tuple[float, float, bool]:
        """Depth and wait of these buckets of a queue, raw sums; and whether it is known what of its latency is wait, or all is taken."""
        empty, buckets, rows = self._when_empty(congestion), self.view.buckets, self._with_both(rows)
        waited = float((buckets.latency_sum[rows] - buckets.latency_count[rows] * (empty or 0.0)).sum())
        return float(buckets.depth_sum[rows].sum()), waited, empty is not None

    def _measured(self, congestion: Congestion) -> float | None:
        """What (raw depth ÷ raw latency) is to be multiplied with; None where it says nothing."""
        queue, units, queues = congestion.queue, self.units, self.view.queues
        speed = self.profile.port_speed_bps(int(queues.node_id[queue]), int(queues.port[queue]))
        if not speed or congestion.measure != DEPTH or units.depth_unit[queue] != "bytes" or units.latency_unit[queue] != "ns":
            return None
        return 8e9 * float(units.depth_factor[queue]) / float(units.latency_factor[queue]) / speed

    def _with_both(self, rows: Any) -> Any:
        """Of these buckets those of whose packets all have both: a sum of one over the packets of the other would be no mean."""
        buckets = self.view.buckets
        return rows[buckets.depth_count[rows] == buckets.latency_count[rows]]

    def _when_empty(self, congestion: Congestion) -> float | None:
        """Latency where nothing waits, raw: the lowest of the queue, unless it is never nearly empty, else of those of its node that are.

        Where there is none: what a line through latency over depth leaves at depth 0; None if that is uncertain.
        """
        queues, queue, rows = self.view.queues, congestion.queue, congestion.rows
        mean = float(self.view.buckets.depth_sum[rows].sum()) / max(1, int(self.view.buckets.depth_count[rows].sum()))
        alike = np.flatnonzero((queues.node_id == queues.node_id[queue]) & (queues.latency_count > 0) & (queues.depth_count > 0))
        emptied = alike[queues.depth_histograms.quantiles((0.0,), rows=alike)[:, 0] <= NEARLY_EMPTY * mean]
        if queue in emptied:
            emptied = np.array([queue])
        if len(emptied) == 0:
            return self._fitted_empty(congestion)
        return float(queues.latency_histograms.quantiles((0.0,), rows=np.append(emptied, queue)).min())

    def _fitted_empty(self, congestion: Congestion) -> float | None:
        """Latency at depth 0 of the line through the means of the buckets; None unless it is known to SURE of the mean wait.

        It lies between 0 and the lowest latency, or else the line is not that of a queue: how far it is off counts as its error.
        """
        buckets, rows = self.view.buckets, self._with_both(congestion.rows)
        rows = rows[buckets.depth_count[rows] > 0]
        count = buckets.depth_count[rows].astype(np.float64)
        depth, latency = buckets.depth_sum[rows] / count, buckets.latency_sum[rows] / count
        if len(rows) < FIT_BUCKETS or float(np.ptp(depth)) == 0:
            return None
        mean_depth, mean_latency = float(np.average(depth, weights=count)), float(np.average(latency, weights=count))
        varied = float((count * (depth - mean_depth) ** 2).sum())
        slope = float((count * (depth - mean_depth) * (latency - mean_latency)).sum()) / varied
        intercept = mean_latency - slope * mean_depth
        left = float((count * (latency - intercept - slope * depth) ** 2).sum()) / (len(rows) - 2)
        error = float(np.sqrt(left * (1 / count.sum() + mean_depth**2 / varied)))
        lowest = float(self.view.queues.latency_histograms.quantile(congestion.queue, 0.0))
        empty = min(max(intercept, 0.0), lowest)
        return empty if error + abs(empty - intercept) <= SURE * (mean_latency - empty) else None
