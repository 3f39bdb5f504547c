"""Delays of messages → what the summary says: of all messages, of a finding's queue, of a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from int_analyzer.analysis.delays.delay import (
    ELSEWHERE,
    FABRIC,
    LEAST_NS,
    PAIR,
    PAUSED,
    RESENT,
    UNSEEN,
    UNTOLD,
    Delays,
    usable_queues,
)
from int_analyzer.analysis.delays.delay_summary import DelayPart, MessageDelay, MessagesSummary, QueueDelays
from int_analyzer.analysis.delays.pause import holds_back
from int_analyzer.analysis.finding import findings_by_queue
from int_analyzer.analysis.hosts.job import RING
from int_analyzer.analysis.hosts.work_summary import JobSummary
from int_analyzer.analysis.losses.lossy_link import LossyLink
from int_analyzer.analysis.paths import port_of
from int_analyzer.analysis.port import Port
from int_analyzer.analysis.summary import Finding
from int_analyzer.analysis.units import QueueUnits
from int_analyzer.analysis.wording import things
from int_analyzer.fold.transport import KINDS
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile

MOST_SLOW, MOST_OF_JOB = 100, 10
"""So many slow messages are told one by one, and of a job."""
QUEUE, SENT_AGAIN, HOST_PAUSED, AT_ANOTHER_PLACE, NOT_SEEN, USUAL = (*("queue", "resent", "host-paused", "elsewhere", "not-seen", "usual"),)
MAYBE_PAUSED = "a queue next to the host was congested: whether it paused the host is not known"
_PLACES = {RESENT: SENT_AGAIN, PAUSED: HOST_PAUSED, ELSEWHERE: AT_ANOTHER_PLACE, UNSEEN: NOT_SEEN, UNTOLD: "unknown"}


@dataclass(frozen=True)
class SlowMessages:
    """The delays of a view, with the findings and jobs that they are told with, and the link that loses packets."""

    view: View
    profile: Profile
    units: QueueUnits
    delays: Delays
    findings: Sequence[Finding]
    jobs: Sequence[JobSummary]
    lossy: LossyLink | None = None

    @cached_property
    def ranked(self) -> Any:
        """Rows of the slow messages, those that were delayed most first."""
        excess = (self.delays.time - self.delays.usual)[self.delays.slow]
        return self.delays.slow[np.argsort(-excess, kind="stable")]

    @cached_property
    def direction(self) -> Any:
        """Of every judged message."""
        return self.delays.messages.direction[self.delays.rows]

    @cached_property
    def job_of_direction(self) -> list[int]:
        """The job (its number) that a direction sends for, −1 for none."""
        job_of: dict[tuple[str, str], int] = {}
        for number, job in reversed(list(enumerate(self.jobs))):
            hosts = [member.host for member in job.members]
            successors = {host: hosts[place + 1 - len(hosts)] for place, host in enumerate(hosts)}
            pairs = successors.items() if job.kind == RING else [(one, other) for one in hosts for other in hosts]
            job_of |= dict.fromkeys(pairs, number)
        seen = self.view.connections
        return [job_of.get(pair, -1) for pair in zip(seen.src, seen.dst, strict=True)]

    @cached_property
    def _usable(self) -> Any:
        return usable_queues(self.view, self.units)

    @cached_property
    def finding_of(self) -> dict[int, Finding]:
        """The finding of each queue that has one."""
        return findings_by_queue(self.view, self.findings)

    def sum_up(self) -> MessagesSummary | None:
        """All messages; None without any."""
        delays = self.delays
        if not len(delays.rows):
            return None
        told = delays.told
        return MessagesSummary(
            messages=len(delays.rows),
            judged=int((~np.isnan(delays.usual)).sum()),
            slow=len(delays.slow),
            delay_ns=int((delays.time - delays.usual)[delays.slow].sum()),
            in_queues_ns=int(delays.parts.sum_up(len(delays.rows))[told].sum()),
            resent_ns=int(delays.resent[told].sum()),
            host_paused_ns=int(delays.paused[told].sum()),
            elsewhere_ns=int(delays.elsewhere[told].sum()),
            not_seen_ns=int(delays.unseen[told].sum()),
            unknown=len(delays.slow) - len(told),
            worst=self.list_worst(MOST_SLOW),
            notes=self._notes(),
        )

    def list_worst(self, most: int | None) -> list[MessageDelay]:
        """So many slow messages (None: all), those that were delayed most first."""
        return [self._tell(row) for row in self.ranked[:most].tolist()]

    def with_jobs(self) -> list[JobSummary]:
        """The jobs with their slow messages."""
        of_job = np.array(self.job_of_direction, dtype=np.int64)[self.direction[self.ranked]]
        excess = self.delays.time - self.delays.usual
        told = []
        for number, job in enumerate(self.jobs):
            rows = self.ranked[of_job == number]
            worst = [self._tell(row) for row in rows[:MOST_OF_JOB].tolist()]
            told.append(replace(job, slow_messages=len(rows), delay_ns=float(excess[rows].sum()), worst=worst))
        return told

    def with_findings(self) -> list[Finding]:
        """The findings with what their queues did to messages."""
        delays = {finding.id: self._of_queue(queue) for queue, finding in self.finding_of.items()}
        return [replace(finding, delays=delays.get(finding.id)) for finding in self.findings]

    def _of_queue(self, queue: int) -> QueueDelays | None:
        parts = self.delays.parts
        judged = ~np.isnan(self.delays.usual[parts.message])
        here = np.flatnonzero((parts.queue == queue) & (parts.ns >= LEAST_NS) & judged)
        if not len(here):
            return None
        directions = np.unique(self.direction[parts.message[here]])
        numbers = sorted({self.job_of_direction[direction] for direction in directions.tolist()} - {-1})
        return QueueDelays(
            messages=len(here),
            connections=len(directions),
            jobs=[self.jobs[number].name for number in numbers],
            sum_ns=int(parts.ns[here].sum()),
            worst_ns=int(parts.ns[here].max()),
        )

    def _tell(self, row: int) -> MessageDelay:
        delays, seen = self.delays, self.view.connections
        message = int(delays.rows[row])
        direction = int(delays.messages.direction[message])
        job, blame = self.job_of_direction[direction], int(delays.blame[row])
        known = bool(delays.are_told[row])
        blamed = int(delays.held[row]) if blame == PAUSED else blame
        name = f"{self.profile.host_name(seen.src[direction])} > {self.profile.host_name(seen.dst[direction])}"
        return MessageDelay(
            name=f"{name} qp {int(seen.dest_qp[direction]):#x}",
            src=seen.src[direction],
            dst=seen.dst[direction],
            dest_qp=int(seen.dest_qp[direction]),
            kind=KINDS[int(delays.messages.kind[message])],
            bytes=int(delays.messages.bytes[message]),
            begin_ns=int(delays.messages.begin_ns[message]),
            end_ns=int(delays.completions.end_ns[message]),
            answered=bool(delays.completions.answered[message]),
            time_ns=int(delays.time[row]),
            fct_ns=int(delays.fct[row]),
            usual_ns=int(delays.usual[row]),
            usual_of=FABRIC if delays.usual_of[row] else PAIR,
            delay_ns=int(delays.time[row] - delays.usual[row]),
            job=self.jobs[job].name if job >= 0 else None,
            how=delays.hows[row],
            reason="" if known else self.why_unknown(direction),
            blame=_PLACES.get(blame, QUEUE),
            blamed=port_of(self.view, self.profile, blamed) if blamed >= 0 else None,
            parts=self._parts(row) if known else None,
        )

    def _parts(self, row: int) -> list[DelayPart]:
        delays, time = self.delays, int(self.delays.time[row])
        first, last = np.searchsorted(delays.parts.message, [row, row + 1]).tolist()
        queues = zip(delays.parts.queue[first:last].tolist(), delays.parts.ns[first:last].tolist(), strict=True)
        parts = [self._part(QUEUE, ns, time, queue) for queue, ns in queues]
        resent, paused = int(delays.resent[row]), int(delays.paused[row])
        elsewhere, unseen = int(delays.elsewhere[row]), int(delays.unseen[row])
        usual = time - sum(part.ns for part in parts) - resent - paused - elsewhere - unseen
        if resent:
            parts.append(self._part_resent(resent, time, int(self.direction[row])))
        if paused:
            parts.append(self._part(HOST_PAUSED, paused, time, int(delays.held[row]), self._held_host(row)))
        if elsewhere and delays.held[row] >= 0 and not paused:
            parts.append(self._part(AT_ANOTHER_PLACE, elsewhere, time, int(delays.held[row]), self._held_host(row)))
        elif elsewhere:
            parts.append(self._part(AT_ANOTHER_PLACE, elsewhere, time))
        if unseen:
            parts.append(self._part(NOT_SEEN, unseen, time))
        return [*sorted(parts, key=lambda part: -part.ns), self._part(USUAL, usual, time)]

    def _part(self, where: str, ns: int, time: int, queue: int = -1, host: str | None = None) -> DelayPart:
        finding = self.finding_of.get(queue)
        at = port_of(self.view, self.profile, queue) if queue >= 0 else None
        return DelayPart(where, at, finding.id if finding is not None else None, host, ns, ns / time, _evidence(where, finding))

    def _part_resent(self, ns: int, time: int, direction: int) -> DelayPart:
        """Told of the link that loses packets, if the direction crosses it, or its answers do."""
        seen, link = self.view.connections, self.lossy
        flows = {int(seen.flow[direction]), int(np.append(seen.flow, -1)[seen.peer[direction]])}
        evidence = "packets were sent again" + (", also as the receiver was not ready" if seen.rnr_naks[direction] else "")
        if link is None or not flows & {*link.flows}:
            return DelayPart(SENT_AGAIN, None, None, None, ns, ns / time, evidence)
        here = link.node_id, link.port_id
        finding = next((entry.id for entry in self.findings if (entry.node_id, entry.port_id) == here), None)
        at = Port(self.profile.node_name(here[0]), self.profile.port_name(*here), None, *here)
        return DelayPart(SENT_AGAIN, at, finding, None, ns, ns / time, f"{evidence}; this link loses packets of the connection")

    def _held_host(self, row: int) -> str:
        """The host of a message that a queue next to it held up, or may have."""
        seen, direction = self.view.connections, int(self.direction[row])
        return seen.src[direction] if self.delays.held_sender[row] else seen.dst[direction]

    def why_unknown(self, direction: int) -> str:
        """Why nothing tells where the time of a message went."""
        flow = int(self.view.connections.flow[direction])
        if flow < 0 or not self.view.flows.telemetry_packets[flow]:
            return "no packet of it carries telemetry"
        path = int(self.view.flows.path[flow])
        if path < 0:
            return "no whole path is known of it"
        queues = list(self.view.paths.queues[path])
        if not (self.view.queues.latency_count[queues] > 0).all():
            return "a node on its path reports no hop latency"
        if not self._usable[queues].all():
            return "the unit of hop latency is not known, or it contradicts the times of its node"
        return "nothing was seen to wait while it took so long, and too little of it is told"

    def _notes(self) -> list[str]:
        """What these figures leave out."""
        notes = []
        unjudged = int(np.isnan(self.delays.usual).sum())
        if unjudged:
            missing = ", or may be two, as packets are missing" if self.view.connections.unfilled.any() else ""
            notes.append(f"{things(unjudged, 'message')} without a like to be compared with{missing}")
        forgotten = self.view.journal.forgotten
        if forgotten:
            notes.append(f"{things(forgotten, 'mark')} of earlier messages forgotten: only the latest are told")
        return notes


def _evidence(where: str, finding: Finding | None) -> str:
    """What a pause of a host is concluded from, and why time elsewhere is told of none."""
    if where == HOST_PAUSED:
        held = finding is not None and holds_back(finding)
        return "the queue next to the host was held up" if held else "the node next to the host counted pauses that it sent to it"
    if where == AT_ANOTHER_PLACE:
        return "no queue next to its hosts was congested" if finding is None else MAYBE_PAUSED
    return ""
