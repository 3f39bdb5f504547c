"""What jobs wait for, by how busy the GPUs of their hosts are: computation, the network, or something else in the hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from int_analyzer.analysis.confidence import BEST
from int_analyzer.analysis.finding import HOST
from int_analyzer.analysis.hosts.trouble import SLOW_COMPUTE
from int_analyzer.analysis.outside.outside_summary import JobBound
from int_analyzer.analysis.outside.testimony import REFUTED, SUPPORTED
from int_analyzer.analysis.summary import Finding, JobSummary
from int_analyzer.analysis.wording import percent
from int_analyzer.evidence.series import Counters
from int_analyzer.profile import Profile

BUSY, STALLED = "gpu_busy", "gpu_stalled"
COMPUTE_BOUND = 0.2
"""GPUs that are stalled for less of the time leave the network little to win."""
NETWORK_BOUND = 0.4
"""From so much of the time on they wait for something; it is the network if that is busy for as long."""
CLEARLY = 0.15
"""GPUs of one host are busier, or less busy, than those of the others by so much of the time."""
COMPUTE, NETWORK, HOSTS, MIXED = "compute", "network", "host", "mixed"


def find_bounds(jobs: Sequence[JobSummary], counters: Counters, start_ns: int, end_ns: int) -> list[JobBound]:
    """For each job of whose members some GPUs were read."""
    found = []
    for job in jobs:
        use = [read for member in job.members if (read := read_gpus(counters, member.host, start_ns, end_ns)) is not None]
        if use:
            busy, stalled = (float(np.mean(part)) for part in zip(*use, strict=True))
            bound, reason = _bound(stalled, job.communication_share)
            found.append(JobBound(job.kind, len(job.members), len(use), busy, stalled, job.communication_share, bound, reason))
    return found


def read_gpus(counters: Counters, host: str, start_ns: int, end_ns: int) -> tuple[float, float] | None:
    """Parts of a time in which the GPUs of a host are busy and stalled, the mean of all of them; None if nobody read that."""
    busy, stalled = (_mean(counters, metric, host, start_ns, end_ns) for metric in (BUSY, STALLED))
    if busy is None:
        return None if stalled is None else (1 - stalled, stalled)
    return busy, 1 - busy if stalled is None else stalled


def with_gpus(profile: Profile, findings: Sequence[Finding], jobs: Sequence[JobSummary], counters: Counters) -> list[Finding]:
    """Hosts that compute slowly, with what their GPUs did meanwhile against those of the other members of their job."""
    return [
        _weighed(profile, finding, jobs, counters) if finding.role == HOST and finding.cause == SLOW_COMPUTE else finding
        for finding in findings
    ]


def _weighed(profile: Profile, finding: Finding, jobs: Sequence[JobSummary], counters: Counters) -> Finding:
    members = next((hosts for job in jobs if finding.node in (hosts := {profile.host_name(one.host): one.host for one in job.members})), {})
    use = {name: read_gpus(counters, host, finding.start_ns, finding.end_ns) for name, host in members.items()}
    known = {name: read[0] for name, read in use.items() if read is not None}
    others = [busy for name, busy in known.items() if name != finding.node]
    if finding.node not in known or not others:
        return finding
    own, usual = known[finding.node], float(np.median(others))
    told = f"its GPUs are busy {percent(own)} of the time, those of {len(others)} other members {percent(usual)} in the median"
    if own >= usual + CLEARLY:
        sure = BEST - max(BEST - finding.confidence, 0) * SUPPORTED
        return replace(finding, confidence=round(sure, 3), evidence=[*finding.evidence, f"{told}: it computes while they wait"])
    if own <= usual - CLEARLY:
        against = f"against it: {told}: it is late, but not because it computes (input, CPU, its network card)"
        return replace(finding, confidence=round(finding.confidence * REFUTED, 3), evidence=[*finding.evidence, against])
    return replace(finding, evidence=[*finding.evidence, told])


def _bound(stalled: float, communication: float | None) -> tuple[str, str]:
    waits = f"GPUs are stalled {percent(stalled)} of the time"
    if stalled <= COMPUTE_BOUND:
        return COMPUTE, f"{waits}: a faster network would win no more than that"
    if communication is None:
        return MIXED, f"{waits}; how much of it is communication is not known"
    sends = f"{waits}, and messages are under way {percent(communication)} of it"
    if stalled < NETWORK_BOUND:
        return MIXED, sends
    if communication >= stalled / 2:
        return NETWORK, f"{sends}: iterations wait for the network"
    return HOSTS, f"{sends}: they wait, but mostly not for the network (input, CPU)"


def _mean(counters: Counters, metric: str, host: str, start_ns: int, end_ns: int) -> float | None:
    means = [mean for one in counters.of_host(metric, host) if (mean := one.mean(start_ns, end_ns)) is not None]
    return float(np.mean(means)) if means else None
