"""Jobs: the collectives that the traffic shows, summed up member by member, with a label for schedulers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from int_analyzer.analysis.hosts.all_to_all import AllToAll, find_all_to_all
from int_analyzer.analysis.hosts.clearance import Clearance
from int_analyzer.analysis.hosts.message import Messages
from int_analyzer.analysis.hosts.ring import Ring, find_rings, median
from int_analyzer.analysis.hosts.trouble import Trouble, clears, find_hot_expert, find_late_chunks, find_slow_member, micro
from int_analyzer.analysis.hosts.work_summary import JobMember, JobSummary
from int_analyzer.analysis.quantiles import Quantiles, quantiles_of
from int_analyzer.fold.view import ConnectionView
from int_analyzer.profile import Profile

RING, ALL_TO_ALL = "ring", "all-to-all"
HEALTHY, SLOW, SUSPECT = "healthy", "slow", "suspect"
FEWEST_ITERATIONS = 3
"""The first and the last iteration are cut: fewer have no duration to compare."""


def find_jobs(
    seen: ConnectionView, messages: Messages, profile: Profile, clearance: Clearance, forgotten: int
) -> tuple[list[JobSummary], list[Trouble]]:
    """The jobs, and what is wrong with their hosts. forgotten: marks of the journal that have gone."""
    notes = [f"{forgotten} earlier messages were forgotten: only the latest are judged"] if forgotten else []
    jobs, troubles = [], []
    for ring in find_rings(seen, messages):
        slow = [find_slow_member(ring, place, clearance) for place in range(len(ring.members))]
        jobs.append(_ring_job(ring, slow, profile, clearance, notes))
        troubles += [trouble for trouble in slow if trouble is not None]
    for exchange in _exchanges(seen, messages, profile):
        hot = find_hot_expert(exchange)
        jobs.append(_exchange_job(exchange, hot, profile, notes))
        troubles += [hot] if hot is not None else []
    return _named(jobs), troubles


def _named(jobs: list[JobSummary]) -> list[JobSummary]:
    """Each job by its group where no other has it, else by its kind, with a number."""
    groups, kinds = Counter(job.group for job in jobs), Counter[str]()
    named = []
    for job in jobs:
        kinds[job.kind] += 1
        alone = job.group is not None and groups[job.group] == 1
        named.append(replace(job, name=job.group if alone and job.group is not None else f"{job.kind} {kinds[job.kind]}"))
    return named


def _exchanges(seen: ConnectionView, messages: Messages, profile: Profile) -> list[AllToAll]:
    """The all-to-all of every group of the profile; without groups that of the hosts whose traffic is one."""
    addresses = sorted(set(seen.src) | set(seen.dst))
    groups = [{address for address in addresses if name in profile.hosts.groups_of(address)} for name in profile.hosts.groups]
    found = [find_all_to_all(seen, messages, hosts) for hosts in groups] or [find_all_to_all(seen, messages)]
    return [exchange for exchange in found if exchange is not None]


def _group(profile: Profile, members: Sequence[str]) -> str | None:
    """The smallest group of the profile with all these members."""
    names = [name for name in profile.hosts.groups if all(name in profile.hosts.groups_of(member) for member in members)]
    return min(names, key=lambda name: sum(network.num_addresses for network in profile.hosts.groups[name])) if names else None


def _ring_job(ring: Ring, slow: list[Trouble | None], profile: Profile, clearance: Clearance, notes: list[str]) -> JobSummary:
    steps = ring.step_ns
    group = _group(profile, ring.members)
    count, length, jitter, share = _iterations(ring)
    return JobSummary(
        name="",
        kind=RING,
        group=group,
        inferred=group is None,
        steps=ring.begin.shape[1],
        step=_quantiles(steps),
        step_variance_ns=_number(np.median(_deviations(steps))),
        iterations=count,
        iteration_ns=length,
        iteration_jitter_ns=jitter,
        communication_share=share,
        chunk_bytes=ring.chunk_bytes,
        balance=None,
        members=[_ring_member(ring, place, slow[place], clearance) for place in range(len(ring.members))],
        notes=notes,
    )


def _deviations(steps: Any) -> Any:
    """Standard deviation over the members of every step that at least two were seen in; 0 without any."""
    known = (~np.isnan(steps)).sum(axis=0) >= 2
    return np.nanstd(steps[:, known], axis=0) if known.any() else np.array([np.nan])


def _iterations(ring: Ring) -> tuple[int | None, float | None, float | None, float | None]:
    """How many begin with a pause of all, their mean duration, its jitter, and the share that is no pause; None where they are too few."""
    starts = np.nonzero(ring.pauses)[0]
    if len(starts) < FEWEST_ITERATIONS:
        return None, None, None, None
    durations = np.diff(median(ring.begin[:, starts], 0))
    paused = median(ring.gap[:, starts], 0)[1:]
    jitter = float(np.std(np.diff(durations))) if len(durations) > 1 else None
    return len(starts), float(durations.mean()), jitter, 1 - float(paused.sum() / durations.sum())


def _ring_member(ring: Ring, place: int, trouble: Trouble | None, clearance: Clearance) -> JobMember:
    label, reason, since_ns = HEALTHY, "", None
    successor = ring.members[(place + 1) % len(ring.members)]
    lateness_of_chunks = ring.lateness_of(place)
    own = find_late_chunks(lateness_of_chunks)
    link = find_late_chunks(ring.transfer[place] - median(ring.transfer, 0))
    if trouble is not None:
        label, since_ns = SLOW, trouble.start_ns
        reason = f"its own chunks are {micro(trouble.excess)} late, {trouble.times} times"
    elif link is not None:
        lateness, rows = link
        label, since_ns = SUSPECT, ring.origin_ns + int(ring.begin[place, rows[lateness.first]])
        reason = f"its chunks take {micro(lateness.excess_ns)} longer than others' to come to {successor}, {lateness.late} times"
        if clears(clearance, [(ring.members[place], successor)]) is False:
            reason += ": a hop on that path is congested"
    elif own is not None:
        lateness, rows = own
        label, since_ns = SUSPECT, ring.origin_ns + int(ring.begin[place, rows[lateness.first]])
        reason = f"its own chunks are late, {lateness.late} times, and a hop on its paths is congested"
    return JobMember(
        host=ring.members[place],
        label=label,
        reason=reason,
        since_ns=since_ns,
        own_ns=float(np.nansum(np.maximum(lateness_of_chunks, 0))),
        wait_ns=float(np.nansum(ring.wait[place])),
        transfer_ns=float(np.nansum(ring.transfer[place])),
        step=_quantiles(ring.step_ns[place]),
        received_bytes=None,
        received_share=None,
        stall_ns=_stall(ring.wait[place]),
    )


def _stall(wait: Any) -> float:
    """What a member waited for its predecessor beyond the median of its steps, in ns."""
    known = wait[~np.isnan(wait)]
    return float(np.maximum(known - np.median(known), 0).sum()) if len(known) else 0.0


def _exchange_job(exchange: AllToAll, hot: Trouble | None, profile: Profile, notes: list[str]) -> JobSummary:
    group = _group(profile, exchange.members)
    durations = (exchange.end_ns - exchange.begin_ns).astype(np.float64)
    periods = np.diff(exchange.begin_ns).astype(np.float64)
    received = exchange.received.sum(axis=0)
    return JobSummary(
        name="",
        kind=ALL_TO_ALL,
        group=group,
        inferred=group is None,
        steps=len(durations),
        step=_quantiles(durations),
        step_variance_ns=None,
        iterations=len(durations),
        iteration_ns=float(periods.mean()),
        iteration_jitter_ns=float(np.std(np.diff(periods))) if len(periods) > 1 else None,
        communication_share=float(durations[:-1].sum() / periods.sum()),
        chunk_bytes=None,
        balance=float(received.max() / received.mean()),
        members=[
            JobMember(
                host=member,
                label=SLOW if hot is not None and hot.host == member else HEALTHY,
                reason=hot.evidence[0] if hot is not None and hot.host == member else "",
                since_ns=hot.start_ns if hot is not None and hot.host == member else None,
                own_ns=None,
                wait_ns=None,
                transfer_ns=None,
                step=Quantiles(0, None, None, None, None, "ns", "rounds are of all members together"),
                received_bytes=int(received[place]),
                received_share=float(received[place] / received.sum()),
            )
            for place, member in enumerate(exchange.members)
        ],
        notes=notes,
    )


def _quantiles(steps: Any) -> Quantiles:
    return quantiles_of(steps[~np.isnan(steps)], "no two successive steps were seen")


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
