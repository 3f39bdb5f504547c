"""How fast a queue empties: by Little's law, depth ÷ wait. It needs no counters, and not that all packets are seen."""

from __future__ import annotations

import numpy as np

from int_analyzer.analysis.congestion import DEPTH, Congestion
from int_analyzer.analysis.units import QueueUnits
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile

FULL, SLOW = 0.8, 0.6
"""Drain rate ÷ link speed: from when a port does what it can, and below which something keeps it from that."""


def drain_bps(view: View, units: QueueUnits, congestion: Congestion) -> float | None:
    """Bit/s that left a queue while it was congested; None unless its depth is known in bytes and its latency in ns.

    A packet that finds `depth` bytes before it waits until these have left: the wait is what its latency is above the queue's lowest.
    """
    queue, rows, buckets = congestion.queue, congestion.rows, view.buckets
    if congestion.measure != DEPTH or units.depth_unit[queue] != "bytes" or units.latency_unit[queue] != "ns":
        return None
    # Packets with both: a sum of one over the packets of the other would be no mean.
    if not np.array_equal(buckets.depth_count[rows], buckets.latency_count[rows]):
        return None
    least = view.queues.latency_histograms.quantile(queue, 0.0)
    waited = float(buckets.latency_sum[rows].sum()) - float(buckets.latency_count[rows].sum()) * least
    waited_ns = waited * float(units.latency_factor[queue])
    depth_bytes = float(buckets.depth_sum[rows].sum()) * float(units.depth_factor[queue])
    return 8e9 * depth_bytes / waited_ns if waited_ns > 0 else None


def drain_share(view: View, profile: Profile, units: QueueUnits, congestion: Congestion) -> float | None:
    """Drain rate ÷ speed of the link, None if either is unknown."""
    queue = congestion.queue
    rate = drain_bps(view, units, congestion)
    speed = profile.port_speed_bps(int(view.queues.node_id[queue]), int(view.queues.port[queue]))
    return rate / speed if rate is not None and speed else None
