"""Where messages lost their time, and what it cost, as a part of the summary."""

from __future__ import annotations

from dataclasses import dataclass

from int_analyzer.analysis.port import Port


@dataclass(frozen=True)
class DelayPart:
    """A part of a message's time: in a queue (`at`, and the finding of that queue), until packets were sent again, at a paused host,
    elsewhere, not seen, or as usual.

    Of what was sent again `at` is the link that loses packets, of a paused host the queue that held it up, of time elsewhere one that may
    have.
    """

    where: str  # queue | resent | host-paused | elsewhere | not-seen | usual
    at: Port | None
    finding: str | None
    host: str | None
    ns: int
    share: float  # of time_ns, 0…1
    evidence: str


@dataclass(frozen=True)
class MessageDelay:
    """A slow message: what it took, what is usual, and the parts of its time, the longest first; None, and a `reason`, if not known."""

    name: str
    src: str
    dst: str
    dest_qp: int
    kind: str
    bytes: int
    begin_ns: int
    end_ns: int
    answered: bool
    time_ns: int
    fct_ns: int
    usual_ns: int
    usual_of: str  # pair | fabric
    delay_ns: int
    job: str | None
    how: str  # packets | flow | unknown
    reason: str
    blame: str  # queue | resent | host-paused | elsewhere | not-seen | unknown
    blamed: Port | None
    parts: list[DelayPart] | None


@dataclass(frozen=True)
class DirectionDelay:
    """Where messages of one direction lost time: parts of what the slow ones took longer than usual, and the queue that cost most.

    Parts are of the slow messages that are told; None, and a `reason`, where that is not known.
    """

    judged_messages: int | None = None
    slow_messages: int | None = None
    delay_ns: int | None = None
    network_share: float | None = None
    resent_share: float | None = None
    elsewhere_share: float | None = None
    not_seen_share: float | None = None
    worst_hop: Port | None = None
    worst_hop_share: float | None = None
    delay_reason: str = ""


@dataclass(frozen=True)
class QueueDelays:
    """What a queue did to slow messages: how many of them lost time in it, of how many connections and which jobs, and how much."""

    messages: int
    connections: int
    jobs: list[str]
    sum_ns: int
    worst_ns: int


@dataclass(frozen=True)
class MessagesSummary:
    """All whole messages: how many were judged against what is usual, the slow ones, where their time went, and the worst of them."""

    messages: int
    judged: int
    slow: int
    delay_ns: int
    in_queues_ns: int
    resent_ns: int
    host_paused_ns: int
    elsewhere_ns: int
    not_seen_ns: int
    unknown: int
    worst: list[MessageDelay]
    notes: list[str]


@dataclass(frozen=True)
class HostSummary:
    """A host for a scheduler: whether to use it, why, and what its waiting cost; None where that is not known."""

    host: str
    name: str | None
    label: str  # healthy | slow | suspect
    since_ns: int | None
    evidence: list[str]
    jobs: list[str]
    slow_messages: int
    stall_ns: int | None
    stall_of: str  # ring | messages | unknown
    cost: float | None
    currency: str | None
