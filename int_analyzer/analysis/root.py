"""The wait-for walk: a congested queue whose packets go on to a congested queue waits for it; where the walk ends is a root."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from int_analyzer.analysis.cause import held_up
from int_analyzer.analysis.congestion import Congestion
from int_analyzer.analysis.drain import FULL, SLOW
from int_analyzer.analysis.paths import ONWARD_SHARE
from int_analyzer.analysis.waiting import waiting_by_path
from int_analyzer.fold.view import View

VICTIM_SHARE = 0.5
"""A queue is a victim when so much of what waits in it goes on to a congested queue."""
HELD_SHARE = 0.2
"""With pauses a queue is held up as a whole: less of the waiting is enough when what passes did not rise although packets waited."""
OVERLAP = 0.5
"""Two queues are congested together when one is for so much of the other's congested time."""

ROOT, VICTIM = "root", "victim"


@dataclass(frozen=True)
class Place:
    """A congested queue's place in the wait-for graph.

    `waits_for`: share of its waiting by next congested queue downstream; `root`: the queue where the walk from here ends (itself
    for a root); `last_seen`: share of its waiting for which no further hop is seen; `held`: load ÷ load in calm time, where that made it
    a victim; `circle`: the walk came back to where it was.
    """

    role: str
    root: int
    waits_for: dict[int, float]
    last_seen: float
    held: float | None
    circle: bool

    @property
    def nothing_after(self) -> bool:
        """Hardly a packet that waited was seen at a further hop."""
        return self.last_seen > 1 - ONWARD_SHARE

    @property
    def waiting_share(self) -> float:
        """Share of the waiting that is for a congested queue."""
        return sum(self.waits_for.values())


def place_all(
    view: View, congestions: list[Congestion], crossed: dict[int, list[tuple[int, int]]], drains: dict[int, float | None]
) -> dict[int, Place]:
    """The place of every congested queue, by queue. `drains`: drain rate ÷ link speed of each, None if unknown.

    A queue that empties at the speed of its link is held up by nobody, wherever its packets go on to.
    """
    by_queue = {congestion.queue: congestion for congestion in congestions}
    waits: dict[int, dict[int, float]] = {}
    last_seen: dict[int, float] = {}
    held: dict[int, float | None] = {}
    for congestion in congestions:
        queue = congestion.queue
        waits[queue], last_seen[queue] = _waits_for(view, congestion, by_queue, crossed)
        share = sum(waits[queue].values())
        held[queue] = _held(view, congestion, drains[queue]) if HELD_SHARE <= share < VICTIM_SHARE else None
    following = {
        queue: max(waits_for.items(), key=lambda item: item[1])[0]
        for queue, waits_for in waits.items()
        if (sum(waits_for.values()) >= VICTIM_SHARE and not _at_full_speed(drains[queue])) or held[queue] is not None
    }
    places = {}
    for queue, waits_for in waits.items():
        root, circle = _walk(queue, following, by_queue)
        places[queue] = Place(ROOT if root == queue else VICTIM, root, waits_for, last_seen[queue], held[queue], circle)
    return places


def _held(view: View, congestion: Congestion, drain: float | None) -> float | None:
    """What passed ÷ what passes at other times (or what the link could carry), if less passed than could; None if not, or unknown."""
    if drain is not None:
        return drain if drain < SLOW else None
    return held_up(view, congestion)


def _at_full_speed(drain: float | None) -> bool:
    return drain is not None and drain >= FULL


def _waits_for(
    view: View, congestion: Congestion, by_queue: dict[int, Congestion], crossed: dict[int, list[tuple[int, int]]]
) -> tuple[dict[int, float], float]:
    """Shares of the waiting by the nearest queue downstream that was congested at the same time; share without a next hop."""
    queue = congestion.queue
    waiting = waiting_by_path(view, congestion, crossed.get(queue, []))
    # On a loop a queue stands on a path more than once: what is downstream of its first place is downstream.
    position_on = dict(reversed(crossed.get(queue, [])))
    together: dict[int, bool] = {}
    waiting_for: dict[int, float] = defaultdict(float)
    ending = 0.0
    for path, waited in waiting.items():
        downstream = view.paths.queues[path][position_on[path] + 1 :]
        if not downstream:
            ending += waited
        for other in downstream:
            if other == queue or other not in by_queue:
                continue
            if other not in together:
                together[other] = congestion.overlap(by_queue[other]) >= OVERLAP
            if together[other]:
                waiting_for[other] += waited
                break
    total = sum(waiting.values())
    if total == 0:
        return {}, 1.0
    return {other: waited / total for other, waited in waiting_for.items()}, ending / total


def _walk(queue: int, following: dict[int, int], by_queue: dict[int, Congestion]) -> tuple[int, bool]:
    """Goes from queue to queue that it waits for; returns (the last, whether in a circle).

    In a circle nobody is last; the queue that was congested first is taken for the root.
    """
    visited = [queue]
    while visited[-1] in following:
        after = following[visited[-1]]
        if after in visited:
            circle = visited[visited.index(after) :]
            return min(circle, key=lambda member: (by_queue[member].start_ns, member)), True
        visited.append(after)
    return visited[-1], False
