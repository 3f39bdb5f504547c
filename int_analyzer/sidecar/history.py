"""How each port fared, second by second: what a heat map of port × time shows."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from int_analyzer.fold.state import State

KEPT = 120
"""Seconds remembered."""
PORTS = 256
"""Ports of a second that are kept: the deepest, then the slowest."""

BEFORE = -1
"""Instead of the number of a second: before the clock was set."""


class Fare(NamedTuple):
    """A port in one second, raw: packets seen, largest depth and latency (−1: not reported)."""

    node_id: int
    port: int
    packets: int
    depth: int
    latency: int


class Second(NamedTuple):
    """One second: its number (capture clock), packets and bytes captured, and its ports."""

    number: int
    packets: int
    bytes: int
    ports: list[Fare]


class History:
    """The last seconds, oldest first. heard, measured: numbers of the last ones with a packet, and with a hop.

    0: none since the start; BEFORE: none since time began anew.
    """

    def __init__(self) -> None:
        self.heard = 0
        self.measured = 0
        self.seconds: deque[Second] = deque(maxlen=KEPT)

    def add(self, number: int, state: State) -> None:
        """Note what a second was like."""
        queues, _ = state.view_queues()
        counts = state.quality.view()["counts"]
        ports: list[Fare] = []
        if len(queues.packets):
            keys, at = np.unique(np.stack([queues.node_id, queues.port], axis=1), axis=0, return_inverse=True)
            packets, depth, latency = (np.full(len(keys), fill, dtype=np.int64) for fill in (0, -1, -1))
            at = at.ravel()
            np.add.at(packets, at, queues.packets)
            np.maximum.at(depth, at, queues.depth_max)
            np.maximum.at(latency, at, queues.latency_max)
            worst = np.lexsort((-latency, -depth))[:PORTS]
            rows: Any = zip(keys[worst].tolist(), packets[worst].tolist(), depth[worst].tolist(), latency[worst].tolist(), strict=True)
            ports = [Fare(node, port, *measured) for (node, port), *measured in rows]
        self.heard = number if counts["packets"] else self.heard
        self.measured = number if ports else self.measured
        self.seconds.append(Second(number, counts["packets"], counts["bytes"], ports))

    def clear(self) -> None:
        """Forget everything: time begins anew."""
        self.heard, self.measured = (BEFORE if number else 0 for number in (self.heard, self.measured))
        self.seconds.clear()
