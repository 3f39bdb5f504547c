"""Pauses of hosts: time that messages lost at a host's own port, which the node next to it had told to wait.

Pauses (IEEE 802.1Qbb) go backwards: a node that may not send fills, and pauses those that send to it, in the end the hosts. No hop tells of
what stands in a host. What tells is the first node behind it: while a queue there that traffic of the host goes into is held up (root.py),
time that a message of this host lost nowhere else, it lost at the host's port. A queue there that is congested, but not held up, may have
paused the host or not; that is said, unless the node counted pauses that it sent to this host in that time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from int_analyzer.analysis.cause import PAUSED
from int_analyzer.analysis.congestion import Congestion, Episode
from int_analyzer.analysis.delays.delay import Delays, blame
from int_analyzer.analysis.root import VICTIM
from int_analyzer.analysis.summary import Finding
from int_analyzer.evidence.series import Counters
from int_analyzer.fold.view import View

_SURE = 1 << 62
"""What is sure comes before what is longer."""


@dataclass(frozen=True)
class Hold:
    """A queue (row) that traffic of a host (address) goes into first, and when it was congested. sure: it then pauses the host."""

    host: str
    queue: int
    sure: bool
    episodes: tuple[Episode, ...]

    def overlap(self, begin_ns: Any, end_ns: Any) -> Any:
        """ns in which it was congested, of each of these times: int64[n]."""
        edges = np.array([edge for episode in self.episodes for edge in (episode.start_ns, episode.end_ns)])
        steps = np.diff(edges, prepend=edges[0])
        steps[::2] = 0
        before = np.cumsum(steps)
        begin, end = (np.interp(times - edges[0], edges - edges[0], before) for times in (begin_ns, end_ns))
        return (end - begin).astype(np.int64)


def find_holds(
    view: View, congestions: Sequence[Congestion], finding_of: Mapping[int, Finding], counters: Counters | None = None
) -> list[Hold]:
    """The congested queues that traffic of each host goes into first. finding_of: by queue."""
    ports: dict[tuple[str, int], set[int]] = defaultdict(set)
    episodes_of = {entry.queue: entry.episodes for entry in congestions if entry.queue in finding_of}
    queues, ingress_ports = view.paths.queues, view.paths.ingress_ports
    flows = np.flatnonzero(view.flows.path >= 0)
    first = queues.starts[view.flows.path[flows]]
    into = np.isin(queues.values[first], list(episodes_of))
    flows, first = flows[into], first[into]
    for flow, queue, port in zip(flows.tolist(), queues.values[first].tolist(), ingress_ports.values[first].tolist(), strict=True):
        ports[view.flows.src[flow], queue].add(port)
    holds = []
    for (host, queue), ingress in ports.items():
        finding, node = finding_of[queue], int(view.queues.node_id[queue])
        sure = holds_back(finding) or _are_counted(counters, node, ingress, finding)
        holds.append(Hold(host, queue, sure, episodes_of[queue]))
    return holds


def holds_back(finding: Finding) -> bool:
    """Whether the finding's queue was held up, so that it holds up those who send to it."""
    return finding.role == VICTIM or finding.cause == PAUSED


def _are_counted(counters: Counters | None, node: int, ports: set[int], finding: Finding) -> bool:
    """Whether the node counted pauses that it sent by one of these ports while its queue was congested."""
    series = counters.of_ports("pfc_pauses_sent", [(node, port) for port in ports]) if counters is not None else ()
    rises = [one.rise(finding.start_ns, finding.end_ns) for one in series]
    return any(rise is not None and rise.amount > 0 for rise in rises)


def with_pauses(view: View, delays: Delays, holds: Sequence[Hold]) -> Delays:
    """What slow messages lost elsewhere, told of their hosts while these were held up: the sender to the last packet, then the other."""
    rows = delays.told[delays.elsewhere[delays.told] > 0]
    messages, seen = delays.messages.of(delays.rows[rows]), view.connections
    end = delays.completions.end_ns[delays.rows[rows]]
    of_sender = _longest(holds, seen.src, messages.direction, end - delays.time[rows], messages.end_ns)
    of_other = _longest(holds, seen.dst, messages.direction, messages.end_ns, end)
    sure = sum(np.where(rank >= _SURE, rank - _SURE, 0) for _, rank in (of_sender, of_other))
    paused, held, held_sender = (np.copy(column) for column in (delays.paused, delays.held, delays.held_sender))
    paused[rows] = np.minimum(delays.elsewhere[rows], sure)
    held_sender[rows] = of_sender[1] >= of_other[1]
    held[rows] = np.where(held_sender[rows], of_sender[0], of_other[0])
    return blame(replace(delays, elsewhere=delays.elsewhere - paused, paused=paused, held=held, held_sender=held_sender))


def _longest(holds: Sequence[Hold], hosts: Sequence[str], direction: Any, begin_ns: Any, end_ns: Any) -> tuple[Any, Any]:
    """Of each time the queue that held its host up longest, −1 for none, and for how many ns (_SURE more where it is sure): int64[n] each.

    hosts: by direction.
    """
    queue, rank = np.full(len(direction), -1, dtype=np.int64), np.zeros(len(direction), dtype=np.int64)
    numbers = {host: number for number, host in enumerate(sorted({*hosts}))}
    number = np.array([numbers[host] for host in hosts], dtype=np.int64)[direction]
    for hold in holds:
        mine = np.flatnonzero(number == numbers.get(hold.host, -1))
        ns = hold.overlap(begin_ns[mine], end_ns[mine])
        own = np.where(ns > 0, ns + hold.sure * _SURE, 0)
        longer = own > rank[mine]
        queue[mine[longer]], rank[mine[longer]] = hold.queue, own[longer]
    return queue, rank
