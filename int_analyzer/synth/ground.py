"""What really was in the queues, whether or not a mirror saw it: by link and stretches of 50 µs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from int_analyzer.synth.state import G_BYTES, G_DEPTH, G_DROPS, G_PAUSED, GROUND_BUCKETS, GROUND_WIDTH, GROUND_WORDS, PICOSECONDS, World


class Ground(NamedTuple):
    """Arrays (links, stretches): deepest queue in bytes, bytes that began to be sent, ns paused, packets lost; width of a stretch."""

    depth_bytes: Any
    sent_bytes: Any
    paused_ns: Any
    drops: Any
    width_ns: int

    def stretches(self, start_ns: int, end_ns: int) -> slice:
        """The stretches that touch a time."""
        return slice(max(start_ns // self.width_ns, 0), end_ns // self.width_ns + 1)

    def filled(self, link: int, least_bytes: int, start_ns: int, end_ns: int) -> tuple[int, int] | None:
        """First and last moment, within a time, at which a link's queue held so much; None if it never did."""
        within = self.stretches(start_ns, end_ns)
        deep = np.flatnonzero(self.depth_bytes[link, within] >= least_bytes) + within.start
        if len(deep) == 0:
            return None
        return int(deep[0]) * self.width_ns, (int(deep[-1]) + 1) * self.width_ns


def read_ground(world: World, links: int) -> Ground:
    """The ground truth of a simulation that is over."""
    state = world.state
    ground = world.ground.reshape(links, int(state[GROUND_BUCKETS]), GROUND_WORDS)
    return Ground(
        ground[:, :, G_DEPTH],
        ground[:, :, G_BYTES],
        ground[:, :, G_PAUSED] // PICOSECONDS,
        ground[:, :, G_DROPS],
        int(state[GROUND_WIDTH]) // PICOSECONDS,
    )
