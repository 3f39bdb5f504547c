"""How low queues were before something was found there: a slice in which one is never low cannot tell by itself that it is filled.

Which flows fill a queue is noted for hops well above the queue's low-water mark (fold.queues). A whole capture has seen the queue low
at some time, a slice of one second need not have. So the marks of queues with findings are kept from the minute before, and slices
judge by them too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from int_analyzer.fold import queues
from int_analyzer.fold.state import State

_LOW = [queues.LATENCY_LOW, queues.DEPTH_LOW]
MOST = 64
"""Queues at once; what further ones hold is known where they are low now and then."""

Place = tuple[int | None, int | None, int | None]
"""Node id, egress port and queue id; None where absent."""


class Marks:
    """rows: int64[n, 8], as those of fold.queues; they stay what they are."""

    def __init__(self) -> None:
        self.rows = np.zeros((0, queues.WIDTH), dtype=np.int64)
        self._known: dict[Place, Any] = {}

    def update(self, places: Iterable[Place], states: Sequence[State]) -> None:
        """Keep the marks of these queues: those that are known, or the lowest of these states."""
        wanted = list(dict.fromkeys(places))[:MOST]
        if not wanted and not self._known:
            return
        known = {place: self._known[place] for place in wanted if place in self._known}
        self._known = known | _lowest([place for place in wanted if place not in known], states)
        self.rows = np.array(list(self._known.values()), dtype=np.int64).reshape(-1, queues.WIDTH)


def _lowest(places: Sequence[Place], states: Sequence[State]) -> dict[Place, Any]:
    """The lowest marks that these states have of each place: int64[8]; none of a place that they have not."""
    keys = {place: queues.key_of(*place) for place in places}
    nodes = [node for node, _ in keys.values()]
    tables = (state.queues.table.data for state in states if places)
    # of a large fabric the few nodes first
    rows = np.concatenate([np.zeros((0, queues.WIDTH), np.int64), *(table[np.isin(table[:, queues.NODE], nodes)] for table in tables)])
    lowest = {}
    for place, (node, port) in keys.items():
        of_place = rows[(rows[:, queues.NODE] == node) & (rows[:, queues.PORT] == port)]
        if len(of_place):
            lowest[place] = of_place[0].copy()
            lowest[place][_LOW] = of_place[:, _LOW].min(axis=0)
    return lowest
