"""Trajectories: the hops that several nodes report of one packet, each in a report of its own, in the order of the path.

The inner TTL falls along the path. Where it does not (nodes that bridge), reports are taken in the order in which they came, if at
least three of four packets with the same hops say the same order; a hop that a node reports twice is one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, NamedTuple

import numpy as np

# Words of a row: one report of one packet.
PACKET, IDENTITY, FLOW, TIME, HOP, TTL, BYTES = 0, 1, 2, 3, 4, 5, 6
WIDTH = 7
"""PACKET is the hash of flow and identity, HOP a word of paths.py, FLOW −1 for a forgotten one, TIME 0 if the capture has none."""

AGREED = 0.75
"""Share of the packets with the same hops that must have been reported in one order for it to be believed."""


class Trajectories(NamedTuple):
    """A row per packet: its hops (words of paths.py as bytes), flow, time of the first report (0 if unknown), bytes, 1 if a hop is missing.

    `whole`: two hops or more in a known order with none missing. What became of the reports: `joined` (of these `by_arrival` ordered by
    arrival), `alone`, `unordered`, `duplicated`. A packet in no order has a row for each hop.
    """

    hops: list[bytes]
    flow: Any
    time: Any
    bytes: Any
    hole: Any
    whole: Any
    joined: int
    by_arrival: int
    alone: int
    unordered: int
    duplicated: int


def find_trajectories(rows: Any, packet: Any, node: Any) -> Trajectories:
    """Trajectories of reports (int64[n, 7]) ordered by packet, then time; `packet` int64[n] numbers them, `node` is that of each hop."""
    # Stable, so that reports of equal TTL stay in the order of their times.
    order = np.argsort(packet * 256 + 255 - rows[:, TTL], kind="stable")
    rows, packet, node = rows[order], packet[order], node[order]
    twice = _repeated(rows, packet, node)
    rows, packet = rows[~twice], packet[~twice]
    same = np.diff(packet, prepend=-1) == 0
    starts = np.flatnonzero(~same)
    lengths = np.diff(starts, append=len(rows))
    fallen = -np.diff(rows[:, TTL], prepend=0)
    level = same & (fallen == 0)
    hole = np.add.reduceat(same & (fallen > 1), starts) > 0
    tied = np.add.reduceat(level, starts) > 0
    timeless = np.add.reduceat(level & (np.diff(rows[:, TIME], prepend=-1) == 0), starts) > 0
    words = rows[:, HOP].tobytes()
    hops = [words[8 * begin : 8 * (begin + length)] for begin, length in zip(starts.tolist(), lengths.tolist(), strict=True)]
    disordered = _vote(hops, tied, timeless)
    split = np.repeat(disordered, lengths)
    kept = np.concatenate([starts[~disordered], np.flatnonzero(split)])
    alone = lengths == 1
    joined = ~alone & ~disordered
    return Trajectories(
        hops=[sequence for sequence, no in zip(hops, disordered.tolist(), strict=True) if not no]
        + [words[8 * at : 8 * at + 8] for at in np.flatnonzero(split).tolist()],
        flow=rows[kept, FLOW],
        time=np.concatenate([_first_time(rows, starts)[~disordered], rows[split, TIME]]),
        bytes=rows[kept, BYTES],
        hole=np.concatenate([hole[~disordered], np.zeros(int(split.sum()), dtype=bool)]).astype(np.int64),
        whole=np.concatenate([(joined & ~hole)[~disordered], np.zeros(int(split.sum()), dtype=bool)]),
        joined=int(lengths[joined].sum()),
        by_arrival=int(lengths[joined & tied].sum()),
        alone=int(alone.sum()),
        unordered=int(split.sum()),
        duplicated=int(twice.sum()),
    )


def _repeated(rows: Any, packet: Any, node: Any) -> Any:
    """Which reports tell of a hop that the same node told of before, with the same TTL: bool[n]."""
    twice = np.zeros(len(rows), dtype=bool)
    place = packet * 256 + rows[:, TTL]
    level = np.diff(place, prepend=-1) == 0
    if level.any():
        suspect = np.flatnonzero(level | np.roll(level, -1))
        order = suspect[np.lexsort((suspect, node[suspect], place[suspect]))]
        twice[order[1:]] = (np.diff(place[order]) == 0) & (np.diff(node[order]) == 0)
    return twice


def _vote(hops: list[bytes], tied: Any, timeless: Any) -> Any:
    """Give packets with equal TTLs the order in which most of those with the same hops came: which remain without one (bool[n]).

    `hops` is changed. A packet whose equal TTLs came at equal times has no vote.
    """
    orders: dict[bytes, Counter[bytes]] = defaultdict(Counter)
    members = [(at, np.sort(np.frombuffer(hops[at], dtype=np.int64)).tobytes()) for at in np.flatnonzero(tied).tolist()]
    for at, together in members:
        if not timeless[at]:
            orders[together][hops[at]] += 1
    disordered = np.zeros(len(hops), dtype=bool)
    for at, together in members:
        votes = orders[together]
        best = max(votes, key=lambda order: (votes[order], order), default=b"")
        if best and votes[best] >= AGREED * votes.total():
            hops[at] = best
        else:
            disordered[at] = True
    return disordered


def _first_time(rows: Any, starts: Any) -> Any:
    """The earliest known time of each packet's reports: int64[packets], 0 if none is known."""
    late = np.iinfo(np.int64).max
    times = np.minimum.reduceat(np.where(rows[:, TIME] > 0, rows[:, TIME], late), starts)
    return np.where(times == late, 0, times)
