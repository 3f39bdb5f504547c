"""What is run to be scored: a scenario with a seed, on a fabric of some size, under a condition."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Size:
    """A fabric: leaves × spines, and hosts per leaf."""

    leaves: int
    spines: int
    hosts: int


SIZES = {"small": Size(4, 2, 4), "middle": Size(8, 4, 4), "large": Size(32, 16, 2)}
TUNED_SIZES = ("small", "middle")
"""Sizes on which constants of the localisation were chosen; "large" is held out."""
TUNED_SEEDS = range(1001, 1021)
"""Seeds on which they were chosen. What is reported is from seeds below 1000."""

CONDITIONS: dict[str, dict[str, Any]] = {
    "clear": {},
    "half of the reports lost": {"loss": 0.5},
    "1 % sampled": {"sampling": 0.01},
    "clocks ± 50 ms": {"skew_ms": 50.0},
}
"""What may be bad about the telemetry, as knobs of the generator."""


@dataclass(frozen=True)
class Case:
    """One run."""

    scenario: str
    seed: int
    size: str
    condition: str = "clear"
    knobs: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def held_out(self) -> bool:
        """Nothing was tuned on this one."""
        return self.size not in TUNED_SIZES or self.seed not in TUNED_SEEDS


def cases(scenarios: Iterable[str], seeds: Iterable[int], sizes: Iterable[str], conditions: Iterable[str]) -> Iterator[Case]:
    """All combinations, seeds slowest, so that a part of them is still a fair sample."""
    for seed, condition, size, scenario in itertools.product(seeds, conditions, sizes, scenarios):
        yield Case(scenario, seed, size, condition, CONDITIONS[condition])
