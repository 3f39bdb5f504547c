"""What a poller would have read of the switches' symbol error counters meanwhile, as the text of a file of counters."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from int_analyzer.counter import COLUMNS
from int_analyzer.synth.clock import EPOCH_NS
from int_analyzer.synth.fabric import Fabric
from int_analyzer.synth.fault import LOSS_UNIT
from int_analyzer.synth.scene import Scene
from int_analyzer.synth.state import SET_LOSS

ERRORS_PER_SECOND = 200_000
"""On a cable that loses every packet; of one that loses a share of them, that share of it. Links that carry nothing have errors too."""
USUAL_PER_SECOND = 0.3
"""No port is quite without."""
AROUND = 5
"""Readings before and after the capture."""


def write_counters(scene: Scene) -> str:
    """Readings of all ports of switches, every `scene.counted_every_ns`; "" for a scene that nobody counts in."""
    every = scene.counted_every_ns
    if not every:
        return ""
    chance = np.random.default_rng((scene.seed, 5))
    fabric = scene.fabric
    times = np.arange(-AROUND, scene.end_ns // every + AROUND + 1) * every
    rows = [",".join(COLUMNS)]
    for link in np.flatnonzero(fabric.links.target >= fabric.hosts).tolist():
        mean = USUAL_PER_SECOND * every / 1e9 + ERRORS_PER_SECOND * np.diff(_lossy_seconds(scene, link, times))
        # a counter has counted long before
        values = int(chance.integers(1000)) + np.concatenate(([0], np.cumsum(chance.poisson(mean))))
        node, port = fabric.site_name(int(fabric.links.target[link])), _port_name(fabric, link)
        rows += [
            f"{_seconds(time)},{node},{port},,symbol_errors,{value}" for time, value in zip(times.tolist(), values.tolist(), strict=True)
        ]
    return "\n".join(rows) + "\n"


def _port_name(fabric: Fabric, link: int) -> str:
    """The port at which a link ends is that which its other direction begins at."""
    return fabric.port_name(link ^ 1)


def _lossy_seconds(scene: Scene, link: int, times: Any) -> Any:
    """Σ loss × seconds on a link up to each time: float64[n]."""
    actions = [action for action in scene.actions if action.kind == SET_LOSS and action.link == link]
    changes = sorted((action.at_ns, action.value / LOSS_UNIT) for action in actions)
    total = np.zeros(len(times))
    for (begin, loss), (end, _) in itertools.pairwise(changes):
        total += loss * (np.clip(times, begin, end) - begin) / 1e9
    return total


def _seconds(time_ns: int) -> str:
    """A time of the simulation as seconds since 1970."""
    whole, rest = divmod(EPOCH_NS + time_ns, 1_000_000_000)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")
