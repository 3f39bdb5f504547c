"""The wait-for walk: a congested queue whose packets go on to a congested queue waits for it; where the walk ends is a root.

A pause (IEEE 802.1Qbb) stops all that waits in a port, whatever it is for, on behalf of what the port has sent before: soon most of
what waits there is for other places. So a port that hardly empties waits for the next queue that it fills, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.cause import episode_times, held_up, port_rates
from int_analyzer.analysis.congestion import Congestion, bucket_range
from int_analyzer.analysis.drain import FULL, SLOW, Drain, Drains
from int_analyzer.analysis.paths import ONWARD_SHARE
from int_analyzer.analysis.waiting import pairs_within, waiting_by_path
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT

VICTIM_SHARE = 0.5
"""A queue is a victim when so much of what waits in it goes on to a congested queue."""
HELD_SHARE = 0.2
"""With pauses a queue is held up as a whole: less of the waiting is enough when what passes did not rise although packets waited."""
OVERLAP = 0.5
"""Two queues are congested together when one is for so much of the other's congested time."""
FILLS = 0.25
"""A port fills a queue when of what waits there so much came from it as a share of the even part of all ports before the queue."""
ALONE_BUCKETS = 3
"""A queue that is slow in so many buckets while all is calm behind it is slow by itself. One held up by others is never alone for long."""
ALL_OF_IT = 0.8
"""Of what waits in a port that is overloaded too: so much goes on to the next root."""
FEWEST_WAITING = 100
"""Fewer packets that were seen to wait do not tell where what waits comes from: then all that passes does."""

ROOT, VICTIM = "root", "victim"


@dataclass(frozen=True)
class Paused:
    """A queue that hardly empties: drain rate ÷ link speed, the next queue, and which share of what waits in that one came from it."""

    drain: float
    by: int
    filled: float


@dataclass(frozen=True)
class Outpaced:
    """A queue that empties slower than the next congested one that it waits for: its rate ÷ that one's, and the most that a port of its
    node which leads on carried ÷ what it carries while packets wait."""

    rate: float
    more: float


@dataclass(frozen=True)
class Place:
    """A congested queue's place in the wait-for graph.

    `waits_for`: share of its waiting by next congested queue downstream; `root`: the queue where the walk from here ends (itself
    for a root); `last_seen`: share of its waiting for which no further hop is seen; `circle`: the walk came back to where it was.
    Of a victim that is held up as a whole: `held`, load ÷ load in calm time, `outpaced` or `paused`. `alone`: drain rate ÷ link speed while
    all is calm behind it, of a root that is slow then too. `drain`: how fast it empties, None if unknown.
    """

    role: str
    root: int
    waits_for: dict[int, float]
    last_seen: float
    held: float | None
    circle: bool
    paused: Paused | None = None
    alone: float | None = None
    drain: Drain | None = None
    outpaced: Outpaced | None = None

    @property
    def nothing_after(self) -> bool:
        """Hardly a packet that waited was seen at a further hop."""
        return self.last_seen > 1 - ONWARD_SHARE

    @property
    def waiting_share(self) -> float:
        """Share of the waiting that is for a congested queue."""
        return sum(self.waits_for.values())

    @property
    def fills(self) -> int | None:
        """Of a root that empties at full speed: the congested queue that nearly all that waits in it goes on to; None if there is none."""
        if self.role != ROOT or self.circle or self.waiting_share < ALL_OF_IT or self.alone is not None:
            return None
        return _heaviest(self.waits_for)


def place_all(
    view: View,
    congestions: list[Congestion],
    crossed: dict[int, list[tuple[int, int]]],
    drains: Drains,
    faint: Sequence[Congestion] = (),
) -> dict[int, Place]:
    """The place of every congested queue, by queue. `faint`: queues of which too little is seen to be called congested.

    A queue that empties at the speed of its link is held up by nobody, wherever its packets go on to. Nor is one that is as slow while
    all is calm behind it: two faults may lie on one path. One that is slow at one rate all the time is taken for slow by itself, too, if
    what waits in it is mostly for other places; a port that is paused for short, again and again, looks the same.
    """
    by_queue = {congestion.queue: congestion for congestion in congestions}
    drained = {congestion.queue: drains.find(congestion) for congestion in congestions}
    waits: dict[int, dict[int, float]] = {}
    last_seen: dict[int, float] = {}
    held: dict[int, float] = {}
    paused: dict[int, Paused] = {}
    alone: dict[int, float] = {}
    outpaced: dict[int, Outpaced] = {}
    following: dict[int, int] = {}
    hops = view.paths.queues
    onward = np.unique(hops.values[~hops.is_last])
    filling = _Filling(view, by_queue, crossed)
    bridges = _bridges(view, faint, by_queue, crossed)
    by_way = _Filling(view, by_queue | {entry.queue: entry for entry in faint if entry.queue in bridges}, crossed)
    for congestion in congestions:
        queue = congestion.queue
        drain = rate.share if (rate := drained[queue]) is not None else None
        waits[queue], last_seen[queue] = _waits_for(view, congestion, by_queue, crossed)
        share = sum(waits[queue].values())
        by_itself = _drain_alone(view, congestion, by_queue, crossed, drains) if drain is not None and drain < FULL else None
        if by_itself is not None and by_itself < SLOW:
            alone[queue] = by_itself
        elif share >= VICTIM_SHARE:
            if drain is None or drain < FULL:
                following[queue] = _heaviest(waits[queue])
        elif drain is not None:
            by = filling.filled_by(congestion) if drain < SLOW else None
            if by is None and drain < SLOW and congestion.above < FEWEST_WAITING:
                by = by_way.filled_by(congestion)
            if by is not None:
                paused[queue] = Paused(drain, *by)
                following[queue] = by[0]
        elif share >= HELD_SHARE:
            after = _heaviest(waits[queue])
            load = held_up(view, congestion)
            slower = _outpaced(view, congestion, by_queue[after], drains, onward) if load is None else None
            if load is not None:
                held[queue] = load
            if slower is not None:
                outpaced[queue] = slower
            if load is not None or slower is not None:
                following[queue] = after
    places = {}
    for queue, waits_for in waits.items():
        root, circle = _walk(queue, bridges | following, by_queue)
        role = ROOT if root == queue else VICTIM
        found = held.get(queue), circle, paused.get(queue), alone.get(queue), drained[queue], outpaced.get(queue)
        places[queue] = Place(role, root, waits_for, last_seen[queue], *found)
    return places


def _outpaced(view: View, congestion: Congestion, after: Congestion, drains: Drains, onward: Any) -> Outpaced | None:
    """Whether a queue empties slower than the one it waits for although ports like it have carried more; None if not, or unknown.

    `onward`: the queues that lead on. Where links differ in speed those that do are the faster ones; where not, as in an oversubscribed
    fabric, none of them carries more.
    """
    rate = drains.compare(congestion, after)
    if rate is None or rate >= FULL:
        return None
    queues, buckets = view.queues, view.buckets
    node, port = int(queues.node_id[congestion.queue]), int(queues.port[congestion.queue])
    if node == ABSENT:
        return None
    alike = onward[queues.node_id[onward] == node].tolist()
    rows = np.concatenate([np.arange(*bucket_range(buckets, queue)) for queue in alike])
    _, of = np.unique(np.stack((queues.port[buckets.queue[rows]], buckets.start_ns[rows])), axis=1, return_inverse=True)
    most = float(np.bincount(of.ravel(), buckets.bytes[rows]).max()) / buckets.width_ns * 1e9
    carried = port_rates(view, (node, port), episode_times(congestion)).bytes
    return Outpaced(rate, most / carried) if 0 < carried < FULL * most else None


def _drain_alone(
    view: View,
    congestion: Congestion,
    by_queue: dict[int, Congestion],
    crossed: dict[int, list[tuple[int, int]]],
    drains: Drains,
) -> float | None:
    """Drain rate ÷ link speed of a queue in the buckets in which no queue behind it is congested, nor in the next ones; None if too few."""
    queues, buckets = view.paths.queues, view.buckets
    behind = {after for path, position in crossed.get(congestion.queue, []) for after in queues[path][position + 1 :]}
    starts = buckets.start_ns[congestion.rows]
    calm = np.ones(len(starts), dtype=np.bool_)
    for other in behind & by_queue.keys() - {congestion.queue}:
        for episode in by_queue[other].episodes:
            calm &= (starts < episode.start_ns - buckets.width_ns) | (starts >= episode.end_ns + buckets.width_ns)
    # Where nothing behind it is ever congested there is nothing to tell it from.
    if calm.all() or int(calm.sum()) < ALONE_BUCKETS:
        return None
    drain = drains.find(congestion, congestion.rows[calm])
    return drain.share if drain is not None else None


def _bridges(
    view: View, faint: Sequence[Congestion], by_queue: dict[int, Congestion], crossed: dict[int, list[tuple[int, int]]]
) -> dict[int, int]:
    """For each of the faint queues that wait for a congested one: which."""
    found = {}
    for entry in faint:
        waits, _ = _waits_for(view, entry, by_queue, crossed)
        if sum(waits.values()) >= VICTIM_SHARE:
            found[entry.queue] = _heaviest(waits)
    return found


class _Filling:
    """Where the packets come from that wait in congested queues."""

    def __init__(self, view: View, by_queue: dict[int, Congestion], crossed: dict[int, list[tuple[int, int]]]) -> None:
        self._view, self._by_queue, self._crossed = view, by_queue, crossed
        self._known: dict[int, dict[int, float]] = {}

    def filled_by(self, congestion: Congestion) -> tuple[int, float] | None:
        """The next queue that is congested at the same time and filled by this one, and this one's share of what waits there; or None.

        It may be one after the other, of which each is for a part of the time.
        """
        queue, queues = congestion.queue, self._view.paths.queues
        following = {after for path, position in self._crossed.get(queue, []) for after in queues[path][position + 1 : position + 2]}
        found: list[tuple[float, int]] = []
        for after in following & self._by_queue.keys() - {queue}:
            shares = self._shares(after)
            share = shares.get(queue, 0.0)
            if share * len(shares) >= FILLS:
                found.append((share, after))
        if self._together(congestion, [after for _, after in found]) < OVERLAP:
            return None
        share, after = max(found, key=lambda entry: (self._together(congestion, [entry[1]]) >= OVERLAP, entry))
        return after, share

    def _together(self, congestion: Congestion, others: list[int]) -> float:
        """Share of the buckets in which a queue is seen to be congested in which one of the others is, too."""
        starts = self._view.buckets.start_ns[congestion.rows]
        both = np.zeros(len(starts), dtype=np.bool_)
        for other in others:
            for episode in self._by_queue[other].episodes:
                both |= (starts >= episode.start_ns) & (starts < episode.end_ns)
        return float(both.mean())

    def _shares(self, queue: int) -> dict[int, float]:
        """Shares of what waits in a congested queue by the queue before it."""
        if queue not in self._known:
            waiting = self._by_path(queue)
            total, position_on = sum(waiting.values()), dict(reversed(self._crossed[queue]))
            shares: dict[int, float] = defaultdict(float)
            for path, waited in waiting.items():
                if position_on[path] > 0 and waited > 0:
                    shares[self._view.paths.queues[path][position_on[path] - 1]] += waited / total
            self._known[queue] = shares
        return self._known[queue]

    def _by_path(self, queue: int) -> dict[int, float]:
        """What waits in a congested queue by path; packets of its paths where too few are seen, as in sampled telemetry."""
        paths, crossed, congestion = self._view.paths, self._crossed[queue], self._by_queue[queue]
        rows, _ = pairs_within(self._view, congestion)
        if int(self._view.pairs.packets[rows].sum()) < FEWEST_WAITING:
            return {path: float(paths.packets[path]) for path, _ in crossed}
        return waiting_by_path(self._view, congestion, crossed)


def _heaviest(waits_for: dict[int, float]) -> int:
    """The queue that most of the waiting is for."""
    return max(waits_for, key=lambda queue: waits_for[queue])


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

    In a circle nobody is last; of the congested queues in it the one that was congested first is taken for the root.
    """
    visited = [queue]
    while visited[-1] in following:
        after = following[visited[-1]]
        if after in visited:
            # what is seen too seldom to be called congested leads on to one that is, so that there is one
            congested = (member for member in visited[visited.index(after) :] if member in by_queue)
            return min(congested, key=lambda member: (by_queue[member].start_ns, member)), True
        visited.append(after)
    return visited[-1], False
