"""Quantiles of every queue's latency and depth in the unit shown, and its tail latency ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.congestion import contradicted
from int_analyzer.analysis.quantiles import SHARES, Quantiles
from int_analyzer.analysis.units import QueueUnits
from int_analyzer.fold.view import View

TAIL_PACKETS = 100
"""With fewer packets the 99th percentile is one packet, and its ratio says nothing."""


@dataclass(frozen=True)
class QueueQuantiles:
    """Per queue: hop latency in ns, depth in bytes, packets or cells; "raw" where the unit is unknown."""

    latency: list[Quantiles]
    depth: list[Quantiles]


def queue_quantiles(view: View, units: QueueUnits) -> QueueQuantiles:
    """Latency and depth of all queues; no latency where a node contradicts its own timestamps."""
    queues = view.queues
    latency = _quantiles(
        queues.latency_histograms,
        queues.latency_count,
        queues.latency_max,
        units.latency_factor,
        units.latency_unit,
        "no hop latency and no pair of timestamps reported",
    )
    for row in np.flatnonzero(contradicted(view)).tolist():
        latency[row] = Quantiles(0, None, None, None, None, units.latency_unit[row], "hop latency contradicts the node's own timestamps")
    depth = _quantiles(
        queues.depth_histograms, queues.depth_count, queues.depth_max, units.depth_factor, units.depth_unit, "no queue depth reported"
    )
    return QueueQuantiles(latency, depth)


def tail_latency_ratio(latency: Quantiles) -> float | None:
    """TLR = p99 ÷ p50; None with fewer than 100 packets or a p50 of 0."""
    if latency.count < TAIL_PACKETS or not latency.p50 or latency.p99 is None:
        return None
    return latency.p99 / latency.p50


def _quantiles(histograms: Any, counts: Any, largest: Any, factors: Any, names: list[str], why_absent: str) -> list[Quantiles]:
    if len(counts) == 0:
        return []
    # What stands for a sub-bucket may lie above the largest value seen.
    values = np.minimum(histograms.quantiles(SHARES, rows=np.arange(len(counts))), largest[:, None]) * factors[:, None]
    found = []
    for count, (p50, p99, p999), maximum, unit in zip(counts.tolist(), values.tolist(), (largest * factors).tolist(), names, strict=True):
        found.append(Quantiles(count, p50, p99, p999, maximum, unit) if count else Quantiles(0, None, None, None, None, unit, why_absent))
    return found
