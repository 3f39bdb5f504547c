"""The clocks of nodes: each off by an offset that drifts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

EPOCH_NS = 1_780_000_000_000_000_000
"""When simulations start, in ns since 1970; by the collector's clock, which is right."""


class Clocks(NamedTuple):
    """Of every site: offset at the start in ns, drift in parts per billion."""

    offset_ns: Any
    drift_ppb: Any

    def read(self, site: Any, time_ns: Any) -> Any:
        """What the clocks of sites show at times since the start of the simulation."""
        return EPOCH_NS + time_ns + self.offset_ns[site] + time_ns * self.drift_ppb[site] // 1_000_000_000


def wind_clocks(sites: int, offset_ns: int, drift_ppb: int, seed: int) -> Clocks:
    """Clocks that are off by at most so much."""
    chance = np.random.default_rng((seed, 2))
    return Clocks(chance.integers(-offset_ns, offset_ns + 1, sites), chance.integers(-drift_ppb, drift_ppb + 1, sites))
