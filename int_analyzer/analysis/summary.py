"""The result of an analysis: one frozen object that every report, export and page reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from int_analyzer.analysis.delays.delay_summary import DelayPart as DelayPart
from int_analyzer.analysis.delays.delay_summary import DirectionDelay as DirectionDelay
from int_analyzer.analysis.delays.delay_summary import HostSummary as HostSummary
from int_analyzer.analysis.delays.delay_summary import MessageDelay as MessageDelay
from int_analyzer.analysis.delays.delay_summary import MessagesSummary as MessagesSummary
from int_analyzer.analysis.delays.delay_summary import QueueDelays as QueueDelays
from int_analyzer.analysis.hosts.work_summary import JobMember as JobMember
from int_analyzer.analysis.hosts.work_summary import JobSummary as JobSummary
from int_analyzer.analysis.hosts.work_summary import StoragePlace as StoragePlace
from int_analyzer.analysis.hosts.work_summary import StorageSummary as StorageSummary
from int_analyzer.analysis.outside.outside_summary import CounterRise as CounterRise
from int_analyzer.analysis.outside.outside_summary import JobBound as JobBound
from int_analyzer.analysis.outside.outside_summary import OutsideSummary as OutsideSummary
from int_analyzer.analysis.port import Port as Port
from int_analyzer.analysis.quantiles import Quantiles as Quantiles
from int_analyzer.schema import SCHEMA_VERSION


@dataclass(frozen=True)
class QueueSummary:
    """One congested or calm queue."""

    at: Port
    packets: int
    bytes: int
    latency: Quantiles
    depth: Quantiles
    tail_latency_ratio: float | None
    first_ns: int
    last_ns: int


@dataclass(frozen=True)
class LinkLatency:
    """Time on a link by the clocks of both ends, freed of their offset, ± `error`; the mean None where a clock was set meanwhile."""

    lowest: float
    mean: float | None
    error: float
    unit: str
    packets: int


@dataclass(frozen=True)
class Clock:
    """A node's clock against the reference's at `at_ns`; None, and a `reason`, where that is not known.

    `step`: by how much it was set at `step_ns`; offset and drift are those after it.
    """

    node: str
    node_id: int
    how: str  # reference | both directions | one direction | unknown
    reference: str | None = None
    offset: float | None = None
    error: float | None = None
    unit: str = "raw"
    drift_ppm: float | None = None
    drift_error_ppm: float | None = None
    at_ns: int | None = None
    step: float | None = None
    step_ns: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Link:
    """An edge of the path graph: egress port of a node to ingress port of the next (to_node None: leaves the telemetry)."""

    source: Port
    to_node: str | None
    to_node_id: int | None
    to_port: str | None
    packets: int
    bytes: int
    latency: Quantiles
    depth: Quantiles
    link_latency: LinkLatency | None = None


@dataclass(frozen=True)
class PathSummary:
    """One path: nodes and ports from the source on, its packets, and how often it had a hole."""

    hops: list[Port]
    packets: int
    bytes: int
    holes: int
    first_ns: int
    last_ns: int
    share_of_latency: list[float] | None
    ce_ratio: float | None = None
    icrc_ok: int = 0
    icrc_bad: int = 0


@dataclass(frozen=True)
class FlowShare:
    """A flow in a finding: its name "src:port > dst:port qp 0x11", share (0…1) and what the share is of."""

    flow: str
    src: str
    dst: str
    src_port: int | None
    dst_port: int | None
    dest_qp: int | None
    packets: int
    bytes: int
    share: float


@dataclass(frozen=True)
class Finding:
    """A congested port (or what the analysis found instead), with its evidence in words."""

    id: str
    role: str  # root | victim | host
    cause: str  # overload | paused-port | degraded-link | imbalance | back-pressure | unknown; slow-compute … of a host: trouble.py
    node: str
    port: str
    queue: int | None
    node_id: int | None
    port_id: int | None
    start_ns: int
    end_ns: int
    confidence: float  # 0…1
    impact: float  # packets × excess, in `impact_unit`
    impact_unit: str
    peak_depth: float | None
    peak_depth_ns: int | None
    depth_unit: str
    peak_latency: float | None
    latency_unit: str
    packets: int
    episodes: int
    root: str | None  # id of the root finding, for a victim
    culprits: list[FlowShare]
    victims: list[FlowShare]
    victim_ports: list[str]
    evidence: list[str]
    delays: QueueDelays | None = None


@dataclass(frozen=True)
class Event:
    """Something that happened on the way and is no congestion: a change of path, a loop, a node that adds no telemetry."""

    kind: str  # path-change | spraying | loop | unseen-node | configuration-difference
    node: str | None
    port: str | None
    node_id: int | None
    port_id: int | None
    start_ns: int
    end_ns: int
    flows: int | None
    packets: int | None
    evidence: list[str]


@dataclass(frozen=True)
class Postcards:
    """Reports of one node about one packet, and how many were joined with those of other nodes to the packet's path."""

    total: int
    joined: int
    joined_share: float | None
    by_arrival: int
    not_joined: dict[str, int]


@dataclass(frozen=True)
class IcrcCheck:
    """ICRCs of the sample of RoCEv2 packets by state, and those that are not checkable by reason (schema.ICRC_STATES)."""

    ok: int
    bad: int
    not_checkable: int
    reasons: dict[str, int]


@dataclass(frozen=True)
class Quality:
    """What was read and how well, and whether the findings can be trusted."""

    packets: int
    bytes: int
    telemetry_packets: int
    telemetry_share: float | None
    roce_packets: int
    roce_with_telemetry_share: float | None
    hops: int
    reports: int
    statuses: dict[str, int]
    rejects: dict[str, int]
    warnings: dict[str, int]
    formats: dict[str, int]
    dialects: dict[str, int]
    losses: list[dict[str, object]]
    drops: list[dict[str, object]]
    damages: list[dict[str, object]]
    flows_evicted: int
    pairs_evicted: int
    telemetry_overhead: float | None
    ce_packets: int
    cnp_packets: int
    assumptions: list[str]
    trust: str  # high | fair | low | none
    trust_reasons: list[str]
    statuses_by_format: dict[str, dict[str, int]] = field(default_factory=dict)
    postcards: Postcards | None = None
    clock_faults: int = 0
    icrc: IcrcCheck | None = None
    copies: int = 0


@dataclass(frozen=True)
class ConnectionSummary:
    """One direction of a RoCEv2 connection: its data, and what answered it. None where only the other direction could tell."""

    src: str
    dst: str
    dest_qp: int
    src_qp: int | None
    src_port: int | None
    transport: str
    two_sided: bool
    verified: bool
    packets: int
    bytes: int
    data_packets: int
    retransmitted: int
    retransmission_ratio: float | None
    out_of_order: int
    unfilled: int
    rewinds: int
    timeouts: int | None
    naks: int | None
    rnr_naks: int | None
    rnr_wait_ns: int | None
    other_naks: int | None
    ce_ratio: float | None
    cnps: int | None
    cnps_per_second: float | None
    cnp_peak: int | None
    cnp_delay_ns: float | None
    cnp_delay_min_ns: int | None
    cnp_delay_max_ns: int | None
    messages: dict[str, int]
    resent_messages: int
    resent_share_max: float | None
    completed: int
    fct_mean_ns: float | None
    fct_max_ns: int | None
    throughput_bps: float | None
    one_sided: int
    one_sided_mean_ns: float | None
    one_sided_max_ns: int | None
    partial: int
    unanswered: int
    rtt_count: int
    rtt_mean_ns: float | None
    rtt_min_ns: int | None
    rtt_max_ns: int | None
    delay: DirectionDelay
    icrc_ok: int
    icrc_bad: int
    icrc_not_checkable: int
    first_ns: int
    last_ns: int


@dataclass(frozen=True)
class HostPairSummary:
    """All directions from one host to another; no addresses: all pairs beyond those that are kept apart."""

    src: str | None
    dst: str | None
    directions: int
    bytes: int
    data_packets: int
    retransmitted: int
    retransmission_ratio: float | None
    resent_messages: int
    resent_share_max: float | None
    out_of_order: int
    naks: int
    rnr_naks: int
    timeouts: int
    ce_ratio: float | None
    cnps: int
    cnps_per_second: float | None
    icrc_ok: int
    icrc_bad: int
    fct: Quantiles
    fct_one_sided: Quantiles
    rtt: Quantiles
    throughput: Quantiles


@dataclass(frozen=True)
class Tracking:
    """Which connections the figures are of."""

    mode: str  # full | polling
    time_share: float
    connections_share: float
    packets_share: float | None


@dataclass(frozen=True)
class RoceSummary:
    """The RoCEv2 connections that are followed."""

    tracking: Tracking
    directions: int
    two_sided_share: float | None
    verified_share: float | None
    transports: dict[str, int]
    data_packets: int
    retransmitted: int
    retransmission_ratio: float | None
    out_of_order: int
    duplicates: int
    unfilled: int
    rewinds: int
    timeouts: int
    naks: int
    rnr_naks: int
    other_naks: int
    ce_ratio: float | None
    cnps: int
    cnp_delay_ns: float | None
    cnp_delay_min_ns: int | None
    cnp_delay_max_ns: int | None
    messages: dict[str, int]
    resent_messages: int
    completed: int
    one_sided: int
    partial: int
    unanswered: int
    fct: Quantiles
    rtt: Quantiles
    evicted: int
    worst: dict[str, list[ConnectionSummary]]
    host_pairs: list[HostPairSummary]
    notes: list[str]


@dataclass(frozen=True)
class Capture:
    """What was analysed: files, time range (without times that are astray, so many), duration, seconds of work."""

    files: list[str]
    bytes: int
    first_ns: int | None
    last_ns: int | None
    seconds: float | None
    elapsed_seconds: float
    strays: int = 0


@dataclass(frozen=True)
class Summary:
    """Everything, in the order in which it is shown."""

    schema_version: str = SCHEMA_VERSION
    capture: Capture | None = None
    quality: Quality | None = None
    findings: list[Finding] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    paths: list[PathSummary] = field(default_factory=list)
    queues: list[QueueSummary] = field(default_factory=list)
    clocks: list[Clock] = field(default_factory=list)
    roce: RoceSummary | None = None
    storage: StorageSummary | None = None
    jobs: list[JobSummary] = field(default_factory=list)
    messages: MessagesSummary | None = None
    hosts: list[HostSummary] = field(default_factory=list)
    outside: OutsideSummary | None = None
