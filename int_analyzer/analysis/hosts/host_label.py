"""A label for every host that sends or receives RoCEv2, why, since when, and what its waiting cost: what a scheduler wants to know.

slow     a finding says that the host itself is late, or gets too much
suspect  late as a member of a job, or by the verdict on its storage, but the network may be why
stall    time in which the host waited for others: of a member of a ring, what it waited for its predecessor longer than is usual; of
         others, the time in which a message that they were to get (a READ: had asked for) was late, overlapping ones counted once
cost     stall × the profile's price of an hour
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from int_analyzer.analysis.delays.delay_summary import HostSummary
from int_analyzer.analysis.delays.slow_message import SlowMessages
from int_analyzer.analysis.hosts.job import HEALTHY, SLOW, SUSPECT
from int_analyzer.analysis.hosts.trouble import Trouble
from int_analyzer.analysis.hosts.verdict import COMPUTE, STORAGE
from int_analyzer.analysis.hosts.work_summary import JobSummary, StorageSummary
from int_analyzer.fold.transport import READ
from int_analyzer.profile import Cost

RING, MESSAGES, UNKNOWN = "ring", "messages", "unknown"
_HOUR_NS = 3_600_000_000_000
_ORDER = {SLOW: 0, SUSPECT: 1, HEALTHY: 2}


def label_hosts(
    slow: SlowMessages, jobs: Sequence[JobSummary], storage: StorageSummary | None, troubles: Sequence[Trouble]
) -> list[HostSummary]:
    """A row per host: those that are not healthy first, then by what they waited, then by address.

    None while connections are polled: nobody can be called healthy by the share of them that is followed.
    """
    if slow.view.connections.tracking.polled:
        return []
    profile = slow.profile
    of_host = _Evidence()
    for trouble in troubles:
        of_host.add(trouble.host, SLOW, trouble.start_ns, f"{trouble.cause.replace('-', ' ')}: {trouble.evidence[0]}")
    for job in jobs:
        for member in job.members:
            if member.label != HEALTHY and not of_host.has(member.host, SLOW):
                of_host.add(member.host, member.label, member.since_ns, f"{job.name}: {member.reason}")
    for place in [*storage.hosts, *storage.targets] if storage is not None else []:
        host, own = (place.host, COMPUTE) if place.host is not None else (place.target or "", STORAGE)
        if place.verdict == own and not of_host.has(host, SLOW):
            of_host.add(host, SUSPECT, place.since_ns, place.reason)
    waited = _ring_waits(jobs)
    late, counts, judged = _late_messages(slow)
    hosts = []
    for host in sorted({*slow.view.connections.src, *slow.view.connections.dst}):
        stall_ns, stall_of = None, UNKNOWN
        if host in waited:
            stall_ns, stall_of = waited[host], RING
        elif host in judged:
            stall_ns, stall_of = late.get(host, 0), MESSAGES
        label, since_ns, evidence = of_host.tell(host)
        hosts.append(
            HostSummary(
                host=host,
                name=profile.hosts.name_of(host),
                label=label,
                since_ns=since_ns,
                evidence=evidence,
                jobs=[job.name for job in jobs if any(member.host == host for member in job.members)],
                slow_messages=counts.get(host, 0),
                stall_ns=stall_ns,
                stall_of=stall_of,
                cost=_cost(profile.cost, stall_ns),
                currency=profile.cost.currency if profile.cost.host_hour is not None else None,
            )
        )
    return sorted(hosts, key=lambda entry: (_ORDER[entry.label], -(entry.stall_ns or 0)))


class _Evidence:
    """What speaks against hosts."""

    def __init__(self) -> None:
        self._said: dict[str, list[tuple[str, int | None, str]]] = defaultdict(list)

    def add(self, host: str, label: str, since_ns: int | None, sentence: str) -> None:
        """Say it."""
        self._said[host].append((label, since_ns, sentence))

    def has(self, host: str, label: str) -> bool:
        """Whether that was said of the host."""
        return any(said == label for said, _, _ in self._said[host])

    def tell(self, host: str) -> tuple[str, int | None, list[str]]:
        """The worst label, since when, and all sentences."""
        said = self._said[host]
        label = min((label for label, _, _ in said), key=_ORDER.__getitem__, default=HEALTHY)
        since = min((since_ns for said_label, since_ns, _ in said if said_label == label and since_ns is not None), default=None)
        return label, since, [sentence for _, _, sentence in said]


def _ring_waits(jobs: Sequence[JobSummary]) -> dict[str, int]:
    """What the members of rings waited longer than is usual, in ns."""
    waited: dict[str, int] = {}
    for job in jobs:
        for member in job.members:
            if member.stall_ns is not None:
                waited[member.host] = waited.get(member.host, 0) + round(member.stall_ns)
    return waited


def _late_messages(slow: SlowMessages) -> tuple[dict[str, int], dict[str, int], set[str]]:
    """Of every host: ns in which a message to it was late, how many were, and which hosts have messages to judge by."""
    delays, seen = slow.delays, slow.view.connections
    names = sorted({*seen.src, *seen.dst})
    number = {name: place for place, name in enumerate(names)}
    sources, targets = (np.array([number[name] for name in ends], dtype=np.int64) for ends in (seen.src, seen.dst))
    reads = delays.messages.kind[delays.rows] == READ
    waiting = np.where(reads, sources[slow.direction], targets[slow.direction])
    end = delays.completions.end_ns[delays.rows]
    late: dict[str, int] = {}
    counts: dict[str, int] = {}
    for host in np.unique(waiting[delays.slow]).tolist():
        rows = delays.slow[waiting[delays.slow] == host]
        lasted = (delays.time - delays.usual)[rows].astype(np.int64)
        late[names[host]], counts[names[host]] = _union(end[rows] - lasted, end[rows]), len(rows)
    return late, counts, {names[host] for host in np.unique(waiting[~np.isnan(delays.usual)]).tolist()}


def _union(begin: Any, end: Any) -> int:
    """Length of the union of intervals."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], end[order]
    reached = np.concatenate([begin[:1], np.maximum.accumulate(end)[:-1]])
    return int(np.maximum(end - np.maximum(begin, reached), 0).sum())


def _cost(cost: Cost, stall_ns: int | None) -> float | None:
    return None if cost.host_hour is None or stall_ns is None else stall_ns / _HOUR_NS * cost.host_hour
