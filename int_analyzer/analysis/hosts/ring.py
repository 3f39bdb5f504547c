"""Rings: hosts that each send to one successor, step by step, as a ring AllReduce does; who waits for whom, and who is late.

A member sends a chunk when the chunk before has come from its predecessor and its own last one is sent. What it takes beyond that is its
own (`gap`); what it waits for the predecessor longer than for itself makes it a victim (`wait`); from the first to the last packet of the
chunk it is its link (`transfer`). A gap that all members have in the same step is the computation between two iterations.

Steps are counted by PSN, so that a chunk that was not seen is a hole, not a shift. Which chunk of the predecessor a chunk waits for is not
on the wire: it is the latest that had always come before. Around the ring these must add up to one step a member; if they add up to more,
one member is always behind, and that is the one with the longest gaps.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.hosts.message import UNSEEN, Messages
from int_analyzer.fold.view import ConnectionView

FEWEST_MEMBERS = 3
MAIN_SHARE = 0.5
"""Of what a member sends, more than this goes to its successor."""
FEWEST_STEPS = 8
EQUAL_SHARE = 0.8
"""Of the chunks of a member so many have the same length: else they are no steps."""
PAUSE_FACTOR, PAUSE_NS = 8.0, 50_000
"""A gap of all members that is so much longer than their usual one, and at least so long, is a computation."""


@dataclass(frozen=True)
class Ring:
    """Members in the order in which chunks go round; float64[members, steps] each, NaN where a chunk was not seen; times from `origin_ns`.

    begin and end: of the chunk that a member sends in a step. gap, wait and transfer: see above. longest: what the gap is at most, where it
    is known when one of both had come. pauses: bool[steps], gaps of all.
    """

    members: list[str]
    chunk_bytes: int
    origin_ns: int
    begin: Any
    end: Any
    gap: Any
    longest: Any
    wait: Any
    pauses: Any

    @property
    def transfer(self) -> Any:
        """First to last packet of the chunk."""
        return self.end - self.begin

    def lateness_of(self, place: int) -> Any:
        """What a member's gap is longer than that of the others in the same step, or, where none of theirs is known, than it can have been.

        float64[steps], NaN where its own gap is not known, or nothing of the others': then it may be the pause of all.
        """
        others = median(np.delete(self.gap, place, axis=0), 0)
        at_most = np.fmin.reduce(np.delete(self.longest, place, axis=0), axis=0)
        return self.gap[place] - np.where(np.isnan(others), at_most, others)

    def pairs_of(self, place: int) -> list[tuple[str, str]]:
        """A member with its predecessor and with its successor."""
        size = len(self.members)
        return [(self.members[place - 1], self.members[place]), (self.members[place], self.members[(place + 1) % size])]

    @property
    def step_ns(self) -> Any:
        """End to end of successive chunks; NaN over a pause."""
        steps = np.diff(self.end, axis=1)
        steps[:, self.pauses[1:]] = np.nan
        return steps


@dataclass(frozen=True)
class _Edge:
    """Chunks from a member to its successor by number: float64[chunks], NaN where one was not seen."""

    begin: Any
    end: Any
    chunk_bytes: int


def find_rings(seen: ConnectionView, messages: Messages) -> list[Ring]:
    """All rings, those with most members first."""
    data = messages.of(messages.writes | messages.sends)
    origin = int(data.begin_ns[data.whole].min()) if data.whole.any() else 0
    rings = [_ring(seen, data, members, directions, origin) for members, directions in _circles(seen, data)]
    return sorted((ring for ring in rings if ring is not None), key=lambda ring: -len(ring.members))


def _circles(seen: ConnectionView, data: Messages) -> list[tuple[list[str], list[int]]]:
    """Hosts that each send most to one other, and come back to the first; with each, the direction that carries most of it."""
    sent = np.bincount(data.direction, np.maximum(data.bytes, 0), len(seen.src))
    by_pair: dict[tuple[str, str], tuple[float, float, int]] = {}
    total: dict[str, float] = {}
    for row in np.nonzero(sent)[0].tolist():
        pair = (seen.src[row], seen.dst[row])
        whole, most, direction = by_pair.get(pair, (0.0, 0.0, -1))
        by_pair[pair] = (whole + sent[row], max(most, sent[row]), row if sent[row] > most else direction)
        total[pair[0]] = total.get(pair[0], 0.0) + sent[row]
    successor = {src: (dst, row) for (src, dst), (whole, _, row) in by_pair.items() if whole > MAIN_SHARE * total[src]}
    circles, placed = [], set[str]()
    for start in sorted(successor):
        walk: list[str] = []
        host = start
        while host in successor and host not in placed:
            placed.add(host)
            walk.append(host)
            host = successor[host][0]
        members = walk[walk.index(host) :] if host in walk else []
        if len(members) >= FEWEST_MEMBERS:
            circles.append((members, [successor[member][1] for member in members]))
    return circles


def _ring(seen: ConnectionView, data: Messages, members: list[str], directions: list[int], origin: int) -> Ring | None:
    edges = [_edge(data, direction, origin) for direction in directions]
    if any(edge is None for edge in edges):
        return None
    chains = [edge for edge in edges if edge is not None]
    leads = [_lead(chains[place], chains[place - 1]) for place in range(len(chains))]
    excess = sum(leads) + len(leads)
    if excess < 0:
        # A chunk went before any that it could have waited for: no ring of steps.
        return None
    if excess > 0:
        slowest = int(np.argmax([_mean(_gap(chains[place], chains[place - 1], leads[place])) for place in range(len(chains))]))
        leads[slowest] -= excess
    first = np.cumsum([0, *(lead + 1 for lead in leads[1:])])
    first -= first.min()
    steps = max(int(first[place]) + len(chain.begin) for place, chain in enumerate(chains))
    begin, end = np.full((len(chains), steps), np.nan), np.full((len(chains), steps), np.nan)
    for place, chain in enumerate(chains):
        here = slice(int(first[place]), int(first[place]) + len(chain.begin))
        begin[place, here], end[place, here] = chain.begin, chain.end
    own = np.concatenate([np.full((len(chains), 1), np.nan), end[:, :-1]], axis=1)
    before = np.roll(own, 1, axis=0)
    gap = begin - np.maximum(own, before)
    common = median(gap, 0)
    usual = median(common, 0)
    return Ring(
        members=members,
        chunk_bytes=chains[0].chunk_bytes,
        origin_ns=origin,
        begin=begin,
        end=end,
        gap=gap,
        longest=begin - np.fmax(own, before),
        wait=np.maximum(before - own, 0),
        pauses=common > max(PAUSE_FACTOR * usual, usual + PAUSE_NS),
    )


def _edge(data: Messages, direction: int, origin: int) -> _Edge | None:
    """The chunks of a direction by number; None if they are few, or of different length. Where only one end was seen, the other is NaN."""
    own = data.of(data.direction == direction)
    whole = own.of(own.whole)
    if len(whole.psn) < FEWEST_STEPS:
        return None
    lengths, counts = np.unique(whole.packets, return_counts=True)
    length = int(lengths[np.argmax(counts)])
    equal = whole.of(whole.packets == length)
    even = (equal.psn - equal.psn[0]) % length == 0
    if even.sum() < max(EQUAL_SHARE * len(whole.psn), FEWEST_STEPS):
        return None
    begun, ended = own.of(own.begin_ns != UNSEEN), own.of(own.end_ns != UNSEEN)
    firsts, lasts = begun.psn - equal.psn[0], ended.last_psn + 1 - length - equal.psn[0]
    begun, ended = begun.of(firsts % length == 0), ended.of(lasts % length == 0)
    firsts, lasts = firsts[firsts % length == 0] // length, lasts[lasts % length == 0] // length
    least = min(firsts.min(), lasts.min())
    begin, end = np.full((2, max(firsts.max(), lasts.max()) - least + 1), np.nan)
    begin[firsts - least], end[lasts - least] = begun.begin_ns - origin, ended.end_ns - origin
    return _Edge(begin, end, int(np.median(equal.bytes)))


def _lead(chain: _Edge, before: _Edge) -> int:
    """The largest number l so that chunk k never began before the predecessor's chunk k + l had come."""
    arrived = np.nonzero(~np.isnan(before.end))[0]
    sent = np.nonzero(~np.isnan(chain.begin))[0]
    latest = np.searchsorted(before.end[arrived], chain.begin[sent], side="right") - 1
    # Nothing is told where the next that arrived is not the next chunk: one between them, not seen, may have come in time.
    following = arrived[np.minimum(latest + 1, len(arrived) - 1)]
    telling = (latest >= 0) & (following == arrived[np.maximum(latest, 0)] + 1)
    if not telling.any():
        return -len(chain.begin) - len(before.begin)
    return int((arrived[latest[telling]] - sent[telling]).min())


def _gap(chain: _Edge, before: _Edge, lead: int) -> Any:
    """From the end of what a chunk waited for to its begin, for every chunk: float64[chunks]."""
    number = np.arange(len(chain.begin)) + lead
    known = (number >= 0) & (number < len(before.end))
    came = np.where(known, before.end[np.clip(number, 0, len(before.end) - 1)], np.nan)
    own = np.concatenate([[np.nan], chain.end[:-1]])
    return chain.begin - np.fmax(own, came)


def _mean(values: Any) -> float:
    """Mean without NaNs; 0 where there is nothing else."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0


def median(values: Any, axis: int) -> Any:
    """Median without NaNs; NaN where there is nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmedian(values, axis=axis)
