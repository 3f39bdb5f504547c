"""What hosts do with the network, as a part of the summary: storage I/O, and the collectives of training jobs."""

from __future__ import annotations

from dataclasses import dataclass, field

from int_analyzer.analysis.delays.delay_summary import MessageDelay
from int_analyzer.analysis.quantiles import Quantiles


@dataclass(frozen=True)
class StoragePlace:
    """Segments of the I/O of a host (target None), of a target (host None), or of both; the verdict says which of them is to blame."""

    host: str | None
    target: str | None
    verdict: str  # healthy | compute | network | storage
    since_ns: int | None
    reason: str
    dpl: Quantiles
    rtt: Quantiles
    dal: Quantiles


@dataclass(frozen=True)
class StorageSummary:
    """All storage I/O: commands, and of these writes and reads that are measured, overlapping others, completed without data."""

    commands: int
    writes: int
    reads: int
    overlapping: int
    inline: int
    hosts: list[StoragePlace]
    targets: list[StoragePlace]
    pairs: list[StoragePlace]
    notes: list[str]


@dataclass(frozen=True)
class JobMember:
    """A host of a job, in the order of the job; times are sums, None where the job's kind has no such thing."""

    host: str
    label: str  # healthy | slow | suspect
    reason: str
    since_ns: int | None
    own_ns: float | None
    wait_ns: float | None
    transfer_ns: float | None
    step: Quantiles
    received_bytes: int | None
    received_share: float | None
    stall_ns: float | None = None


@dataclass(frozen=True)
class JobSummary:
    """A collective: a ring of steps, or an all-to-all of rounds. `group` is the profile's name, None where only the traffic shows it."""

    name: str
    kind: str  # ring | all-to-all
    group: str | None
    inferred: bool
    steps: int
    step: Quantiles
    step_variance_ns: float | None
    iterations: int | None
    iteration_ns: float | None
    iteration_jitter_ns: float | None
    communication_share: float | None
    chunk_bytes: int | None
    balance: float | None
    members: list[JobMember]
    notes: list[str]
    slow_messages: int = 0
    delay_ns: float = 0.0
    worst: list[MessageDelay] = field(default_factory=list)
