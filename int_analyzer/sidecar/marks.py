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
        found = {place: self._known.get(place) for place in wanted}
        for place in wanted:
            if found[place] is None:
                found[place] = _lowest(place, states)
        self._known = {place: row for place, row in found.items() if row is not None}
        self.rows = np.array(list(self._known.values()), dtype=np.int64).reshape(-1, queues.WIDTH)


def _lowest(place: Place, states: Sequence[State]) -> Any:
    node, port = queues.key_of(*place)
    rows = np.concatenate([state.queues.table.data for state in states])
    rows = rows[(rows[:, queues.NODE] == node) & (rows[:, queues.PORT] == port)]
    if len(rows) == 0:
        return None
    row = rows[0].copy()
    row[[queues.LATENCY_LOW, queues.DEPTH_LOW]] = rows[:, [queues.LATENCY_LOW, queues.DEPTH_LOW]].min(axis=0)
    return row
