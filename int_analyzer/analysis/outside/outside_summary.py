"""What counters from outside the capture say, as a part of the summary."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CounterRise:
    """A counter that rose during the capture: its place (node and port, or host), by how much, between which readings it did."""

    metric: str
    node: str | None
    port: str | None
    node_id: int | None
    port_id: int | None
    host: str | None
    amount: float
    first_ns: int
    last_ns: int


@dataclass(frozen=True)
class JobBound:
    """What iterations of a job wait for, by the GPUs of its members: `stalled` is the part of the time in which they do not compute."""

    kind: str
    members: int
    measured: int
    busy: float
    stalled: float
    communication_share: float | None
    bound: str  # compute | network | host | mixed
    reason: str


@dataclass(frozen=True)
class OutsideSummary:
    """Counters that were read, how finely, what of them could not be used, and what rose."""

    sources: list[str]
    series: dict[str, int]
    readings: int
    interval_ns: int | None
    strangers: int
    stranger_names: list[str]
    ignored: dict[str, int]
    rises: list[CounterRise]
    jobs: list[JobBound]
    notes: list[str]
