"""What is run to be scored: a scenario with a seed, on a fabric of some size, under a condition.

Constants of the localisation were chosen on seeds from 1001 on, most of them on small and middle fabrics in clear conditions. Reported are
seeds below 1001, which nothing was chosen on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from int_analyzer.errors import ScenarioError

ALL = "all"


class Size(NamedTuple):
    """A fabric: leaves × spines, and hosts of a leaf."""

    leaves: int
    spines: int
    hosts: int


class Condition(NamedTuple):
    """What is bad about the telemetry: one packet in `sampling` carries it, a share `loss` never arrives, clocks are off by `skew_ms`,
    and so many switches mirror a packet (scenario.Knobs)."""

    sampling: int | None = None
    loss: float | None = None
    skew_ms: float | None = None
    mirror_points: int = 1


SIZES = {"small": Size(4, 2, 4), "middle": Size(8, 4, 4), "large": Size(32, 16, 4)}
CONDITIONS = {
    "clear": Condition(),
    "lossy": Condition(loss=0.5),
    "sampled": Condition(sampling=100),
    "skewed": Condition(skew_ms=50.0),
    "twice": Condition(mirror_points=2),
}


class Case(NamedTuple):
    """One run."""

    scenario: str
    seed: int
    size: str
    condition: str

    @property
    def label(self) -> str:
        """What its row in a table is called."""
        return " ".join((self.scenario, *(word for word in (self.size, self.condition) if word not in ("small", "clear"))))


def cases(scenarios: Iterable[str], seeds: Iterable[int], sizes: Iterable[str], conditions: Iterable[str]) -> Iterator[Case]:
    """All combinations, seeds slowest, so that a part of them is still a fair sample."""
    for seed, condition, size, scenario in itertools.product(seeds, conditions, sizes, scenarios):
        yield Case(scenario, seed, size, condition)


def chosen(text: str, known: Sequence[str], what: str) -> list[str]:
    """The names in a comma-separated list, or all. Raises ScenarioError for one that is not known."""
    names = list(known) if text == ALL else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise ScenarioError(f"no {what} is called {name!r}; there are {', '.join(known)}")
    return names
