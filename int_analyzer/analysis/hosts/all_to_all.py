"""All-to-all in rounds, as experts exchange tokens: each member sends to each other, then all are silent; who gets how much.

A round is what lies between two silences. Traffic of each to each without common silences is no job that could be told from any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from int_analyzer.analysis.hosts.message import UNSEEN, Messages
from int_analyzer.fold.view import ConnectionView

FEWEST_MEMBERS = 4
PARTNERS = 0.75
"""A member sends to, and receives from, so many of the others at least."""
QUIET_NS = 50_000
"""Nobody sends for so long between two rounds."""
FEWEST_ROUNDS = 3
COMPLETE = 0.6
"""Of all pairs so many send in a round, and so many of all messages lie in such rounds. Where half of the packets are missing in the
capture, three of four messages are still known by one packet at least."""


@dataclass(frozen=True)
class AllToAll:
    """Members, and of every round its begin and end (int64[rounds]) and the bytes that each member received (float64[rounds, members])."""

    members: list[str]
    begin_ns: Any
    end_ns: Any
    received: Any

    @property
    def balance(self) -> Any:
        """Expert load: bytes received ÷ mean over the members, float64[rounds, members]."""
        return self.received / self.received.mean(axis=1, keepdims=True)


def find_all_to_all(seen: ConnectionView, messages: Messages, hosts: set[str] | None = None) -> AllToAll | None:
    """The all-to-all of these hosts, or of those that the traffic shows to be its members; None if there are no rounds."""
    data = _estimated(messages.of(messages.writes | messages.sends))
    names = sorted(set(seen.src) | set(seen.dst)) if hosts is None else sorted(hosts)
    number = {name: place for place, name in enumerate(names)}
    source = np.array([number.get(name, -1) for name in seen.src], dtype=np.int64)[data.direction]
    target = np.array([number.get(name, -1) for name in seen.dst], dtype=np.int64)[data.direction]
    members = _members(source, target, len(names))
    if members.sum() < FEWEST_MEMBERS:
        return None
    inside = (source >= 0) & (target >= 0)
    inside[inside] = members[source[inside]] & members[target[inside]]
    place = np.cumsum(members) - 1
    chosen = [name for name, taken in zip(names, members.tolist(), strict=True) if taken]
    return _rounds(data.of(inside), place[source[inside]], place[target[inside]], chosen)


def _estimated(data: Messages) -> Messages:
    """With the one time that is known for both, and bytes as is usual for the direction, or for all, where they are not known."""
    told = data.bytes != UNSEEN
    if not told.any():
        return data.of(told)
    size = int(data.direction.max()) + 1
    number = np.bincount(data.direction[told], minlength=size)
    total = np.bincount(data.direction[told], data.bytes[told], size)
    usual = np.where(number > 0, total / np.maximum(number, 1), total.sum() / number.sum())
    return replace(
        data,
        begin_ns=np.where(data.begin_ns != UNSEEN, data.begin_ns, data.end_ns),
        end_ns=np.where(data.end_ns != UNSEEN, data.end_ns, data.begin_ns),
        bytes=np.where(told, data.bytes, usual[data.direction]),
    )


def _members(source: Any, target: Any, count: int) -> Any:
    """bool[count]: hosts that send to and receive from nearly all of each other."""
    known = (source >= 0) & (target >= 0)
    pairs = np.unique(source[known] * count + target[known])
    one, other = pairs // max(count, 1), pairs % max(count, 1)
    few = np.minimum(np.bincount(one, minlength=count), np.bincount(other, minlength=count)) < PARTNERS * (FEWEST_MEMBERS - 1)
    place = np.cumsum(~few) - 1
    talking = ~few[one] & ~few[other]
    talks = np.zeros((np.count_nonzero(~few),) * 2, dtype=bool)
    talks[place[one[talking]], place[other[talking]]] = True
    members = np.zeros(count, dtype=bool)
    members[~few] = _core(talks)
    return members


def _core(talks: Any) -> Any:
    """bool[n]: the largest set of which each talks to, and hears, so many of the others. talks bool[n, n]: from → to."""
    members = np.ones(len(talks), dtype=bool)
    while members.any():
        partners = np.minimum(talks[:, members].sum(axis=1), talks[members].sum(axis=0))
        kept = members & (partners >= PARTNERS * (members.sum() - 1))
        if (kept == members).all():
            break
        members = kept
    return members


def _rounds(data: Messages, source: Any, target: Any, members: list[str]) -> AllToAll | None:
    order = np.argsort(data.begin_ns, kind="stable")
    data, source, target = data.of(order), source[order], target[order]
    quiet = np.concatenate([[0], data.begin_ns[1:] - np.maximum.accumulate(data.end_ns)[:-1]])
    round_of = np.cumsum(quiet >= QUIET_NS)
    rounds, size = int(round_of[-1]) + 1, len(members)
    pairs = np.zeros((rounds, size * size), dtype=bool)
    pairs[round_of, source * size + target] = True
    complete = pairs.sum(axis=1) >= COMPLETE * size * (size - 1)
    if complete.sum() < FEWEST_ROUNDS or complete[round_of].mean() < COMPLETE:
        return None
    received = np.bincount(round_of * size + target, data.bytes, rounds * size).reshape(rounds, size)
    begin, end = np.full(rounds, np.iinfo(np.int64).max), np.zeros(rounds, dtype=np.int64)
    np.minimum.at(begin, round_of, data.begin_ns)
    np.maximum.at(end, round_of, data.end_ns)
    return AllToAll(members, begin[complete], end[complete], received[complete])
