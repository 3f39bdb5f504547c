"""Quantiles of a distribution, with its unit, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

SHARES = (0.5, 0.99, 0.999)
"""Of the values so many are not larger than p50, p99, p99.9."""


@dataclass(frozen=True)
class Quantiles:
    """Count, p50, p99, p99.9 and maximum; `unit` is "ns", "bytes", … or "raw" where unknown. None where nothing was reported."""

    count: int
    p50: float | None
    p99: float | None
    p999: float | None
    max: float | None
    unit: str
    why_absent: str = ""


def quantiles_of(values_ns: Any, why_absent: str) -> Quantiles:
    """Quantiles of times (float64[n], ns), by nearest rank."""
    if not len(values_ns):
        return Quantiles(0, None, None, None, None, "ns", why_absent)
    p50, p99, p999, largest = np.quantile(values_ns, [*SHARES, 1.0], method="inverted_cdf").tolist()
    return Quantiles(len(values_ns), p50, p99, p999, largest, "ns")
