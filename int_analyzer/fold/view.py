"""What the analysis sees of a state: plain arrays, one row per queue, bucket, path, flow or pair. Made by `State.view()`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from int_analyzer.fold.ragged import Ragged

Array = Any
"""A one-dimensional numpy array."""


@dataclass(frozen=True)
class QueueView:
    """One row per (node, egress port, queue); all values raw (device units). −1 in `port` or `queue_id` means absent."""

    node_id: Array  # int64
    port: Array  # int64
    queue_id: Array  # int64
    packets: Array  # int64: hops seen
    bytes: Array  # int64: what crossed the port: bytes on the wire; of a packet in a report or mirror, its IP bytes
    latency_count: Array  # int64: hops with a latency
    latency_from_times: Array  # int64: of these, computed as egress time − ingress time
    latency_sum: Array  # float64
    latency_max: Array  # int64, −1 if never reported
    latency_contradicted: Array  # int64: device latency differs from egress − ingress, whether both are in one unit or 1000 apart
    depth_count: Array  # int64: hops with a queue depth
    depth_sum: Array  # float64
    depth_max: Array  # int64, −1 if never reported
    utilisation_max: Array  # int64, −1 if never reported
    all_zero: Array  # int64: hops whose latency, depth and times are all zero
    truncated: Array  # int64: hops of a packet whose stack was cut
    first_ns: Array  # int64: capture time of the first hop
    last_ns: Array  # int64
    latency_histograms: Any  # fold.histogram.Histograms, row i = queue i
    depth_histograms: Any


@dataclass(frozen=True)
class BucketView:
    """One row per (queue, time bucket) that saw a hop, ordered by queue, then time. `width_ns` is common to all."""

    width_ns: int
    queue: Array  # int32: row in QueueView
    start_ns: Array  # int64: capture time, a multiple of width_ns
    packets: Array
    bytes: Array
    latency_count: Array  # hops with a latency: what the sum is of
    latency_sum: Array
    latency_max: Array  # −1 if none had one
    depth_count: Array
    depth_sum: Array
    depth_max: Array  # −1 if none had one
    depth_max_ns: Array  # capture time of the largest depth (the first of equals), 0 if none


@dataclass(frozen=True)
class PathView:
    """One row per distinct sequence of (node, ingress port, egress port, queue). Exact, not by hash."""

    queues: Ragged  # rows in QueueView, source side first
    ingress_ports: Ragged  # of the same lengths; −1 where absent
    packets: Array
    bytes: Array
    holes: Array  # packets with E, M or O set, or a cut stack
    carried: Array  # packets that carried the path in a stack of their own: of these are the next three
    ce_packets: Array
    icrc_right: Array
    icrc_wrong: Array
    first_ns: Array
    last_ns: Array


@dataclass(frozen=True)
class FlowView:
    """One row per directed flow (addresses, protocol, ports, destination QP; −1 where absent)."""

    src: list[str]
    dst: list[str]
    protocol: Array
    src_port: Array
    dst_port: Array
    dest_qp: Array
    packets: Array
    bytes: Array
    ce_packets: Array  # ECN CE marked
    cnp_packets: Array
    telemetry_packets: Array
    path: Array  # int64: row in PathView of the last path, −1 if never seen with telemetry
    path_changes: Array
    path_change_ns: Array  # capture time of the last change, 0 if none
    path_before: Array  # int64: row in PathView of the path before the last change, −1 if none
    first_ns: Array
    last_ns: Array
    evicted: int  # flows forgotten because there were too many


@dataclass(frozen=True)
class PairView:
    """Flows in a queue while it was well above its own low water mark: who fills and who waits.

    One row per (queue, flow, slot of time), so that a row tells of a short time: from first_ns to last_ns. A slot is a time bucket or
    (after many such rows) several.
    """

    queue: Array
    flow: Array  # row in FlowView
    packets: Array
    bytes: Array
    latency_excess_sum: Array  # float64: Σ (latency − the queue's lowest), raw
    depth_sum: Array  # float64
    first_ns: Array
    last_ns: Array
    evicted: int


@dataclass(frozen=True)
class TrackingView:
    """Of how much of the RoCEv2 traffic connections tell: of all, unless they are polled."""

    polled: bool = False
    time_share: float = 1.0  # of the time in which a connection is followed
    connections_share: float = 1.0  # of connections, by their hosts, that were followed at some time
    packets_share: float | None = 1.0  # of packets that were followed; None without any


@dataclass(frozen=True)
class ConnectionView:
    """One row per direction of a RoCEv2 connection: (source, destination, destination queue pair), whatever the UDP source port.

    `peer` is the row of the other direction, found by acknowledged PSNs. NAKs, RTTs and completions are of this direction's requests,
    told by the answers that came back; CNPs are those that travelled this way, for marked packets of the peer.
    """

    src: list[str]
    dst: list[str]
    dest_qp: Array
    peer: Array  # int64: row of the other direction, −1 if none was found: one-sided
    verified: Array  # bool: further acknowledgements confirmed the peer
    flow: Array  # int64: row in FlowView of its heaviest flow, −1 if that was forgotten
    transport: list[str]  # "RC", "UC", "UD", "XRC", …; several joined by "+", "" if only CNPs were seen
    packets: Array  # all that travelled this way, copies from other mirror points too
    bytes: Array  # payload of requests and responses, copies left out, retransmissions not
    data: Array  # requests and READ responses without copies: what the retransmission ratio is of
    retransmitted: Array
    out_of_order: Array  # behind a higher PSN, and no retransmission
    duplicates: Array  # copies from another mirror point
    unfilled: Array  # PSNs that never came within the window: lost before the mirror, or by it
    first_gap_ns: Array  # capture time of the packets behind the first and the last of these gaps, to 1 µs; 0 if none
    last_gap_ns: Array
    longest_gap_ns: Array  # longest time from the packet before a gap to the one behind it: a packet was lost so long before at most
    rewinds: Array  # go-back-N or selective: how often retransmission began
    first_rewind_ns: Array  # capture time, 0 if none
    last_rewind_ns: Array
    restarts: Array  # how often PSNs began anew: another connection on the same queue pair
    timeouts: Array  # rewinds that no NAK had asked for, 0 without a peer
    naks: Array  # PSN sequence errors
    rnr_naks: Array
    rnr_wait_ns: Array  # what these asked to wait, together
    other_naks: Array  # invalid request, access or operation error
    acks: Array  # acknowledgements that travelled this way
    ce_packets: Array
    cnp_packets: Array
    cnp_delay_count: Array  # CNPs with a marked packet before them
    cnp_delay_sum: Array  # float64: ns from the first marked packet since the last CNP
    cnp_delay_min: Array  # 0 where cnp_delay_count is
    cnp_delay_max: Array
    cnp_peak: Array  # CNPs in the densest window of notification.WINDOW_NS
    icrc_right: Array  # of the sample, copies too
    icrc_wrong: Array
    icrc_unchecked: Array  # of the sample, not checkable
    resent_messages: Array  # whole SENDs and WRITEs of which packets were sent again
    resent_share_max: Array  # float64: the largest share of packets sent again in one of these
    messages: dict[str, Array]  # begun, by kind: send, write, read, atomic
    immediates: Array
    invalidates: Array
    completed: Array  # whole messages with their answer
    completed_bytes: Array
    fct_sum: Array  # float64, ns
    fct_max: Array
    one_sided: Array  # whole messages of which no answer was seen: from the first to the last packet
    one_sided_sum: Array  # float64, ns
    one_sided_max: Array
    partial: Array  # messages with packets missing, or with damaged times: not measured
    unanswered: Array  # of a direction with a peer: no answer seen, or not yet
    rtt_count: Array
    rtt_sum: Array  # float64, ns
    rtt_min: Array  # 0 where rtt_count is
    rtt_max: Array
    first_ns: Array
    last_ns: Array
    host_pair: Array  # row in HostPairView
    evicted: int  # directions forgotten because there were too many
    tracking: TrackingView = TrackingView()


@dataclass(frozen=True)
class HostPairView:
    """One row per (source, destination) of requests; row 0, without addresses, is all for which there was no room."""

    src: list[str]
    dst: list[str]
    fct: Any  # fold.histogram.Histograms, ns: completion times of messages with an answer
    fct_one_sided: Any  # ns: first to last packet of those without
    rtt: Any  # ns
    fet: Any  # bit/s


@dataclass(frozen=True)
class JournalView:
    """When messages began and ended, in order of time: one row per first or last packet of a message or of the response to a READ.

    The row of a packet that is both begins and ends.

    `waited` tells where that was: of a first packet, all that it waited before it was seen (the last queue first), of a last one, what
    its message waited since the first (waits.py). `untold`: of a last packet, so many ns of its message passed before packets that do not
    tell of their hops; of others 1 if they do not, else 0; −1 where it is not known (packets overtook each other, the first did not tell).
    """

    time_ns: Array
    direction: Array  # row in ConnectionView
    kind: Array  # 0 SEND, 1 WRITE, 2 READ, 3 ATOMIC
    response: Array  # bool: of the response to a READ
    begins: Array  # bool
    ends: Array  # bool
    psn: Array
    bytes: Array  # of the message where its RETH announces them, else of the packet
    forgotten: int  # rows of earlier times, or of directions that were forgotten
    untold: Array
    begin_psn: Array  # of the message, as `untold` and `waited` understand it
    waited_queue: Any  # int64[n, 4]: rows in QueueView, −1: none
    waited: Any  # int64[n, 4]: as the devices count hop latency; of a last packet believed to be ns


def no_journal() -> JournalView:
    """The journal where there are no messages."""
    none = np.zeros(0, dtype=np.int64)
    slots = np.zeros((0, 4), dtype=np.int64)
    return JournalView(none, none, none, none > 0, none > 0, none > 0, none, none, 0, none, none, slots, slots)


@dataclass(frozen=True)
class SequenceView:
    """One row per report stream (node, hw_id, collector) or mirror stream (source, session)."""

    kind: list[str]  # "report-1.0", "report-2.0", "erspan"
    node_id: Array  # reporting node, or mirror session (−1 if the mirror has none)
    stream: Array  # hw_id, or 0
    received: Array
    lost: Array  # gaps, by serial arithmetic
    reordered: Array
    duplicated: Array
    static: Array  # bool: the sequence never moved, so loss is unknown
    source: list[str] = field(default_factory=list)  # address that the mirror sends from, "" for reports


@dataclass(frozen=True)
class LinkView:
    """One row per link (node, egress port → next node, its ingress port) over which packets came that have the times of both.

    Values are ingress time of the next − egress time of the one before: raw, of two clocks, and not below 0 by nature. Of 32-bit times
    (`narrow`) they are known modulo 2^32. In the arrays of slots, [link, slot], what is not `seen` is 0.
    """

    node_id: Array
    port: Array  # −1 if absent
    next_node_id: Array
    next_port: Array  # −1 if absent
    packets: Array
    stray: Array  # packets left out: a clock far off the link's others
    narrow: Array  # bool
    mean: Array  # float64
    mean_ns: Array  # float64: mean capture time of the packets
    seen: Any  # bool
    lowest: Any  # int64: least value of each slot
    lowest_ns: Any  # int64: its capture time
    slot_ns: int


def no_links() -> LinkView:
    """Links where no packet has the times of two nodes."""
    none = np.zeros(0, dtype=np.int64)
    table = np.zeros((0, 1), dtype=np.int64)
    return LinkView(none, none, none, none, none, none, none > 0, none / 1.0, none / 1.0, table > 0, table, table, 1)


@dataclass(frozen=True)
class View:
    """Everything that a state knows."""

    queues: QueueView
    buckets: BucketView
    paths: PathView
    flows: FlowView
    pairs: PairView
    sequences: SequenceView
    connections: ConnectionView
    host_pairs: HostPairView
    counts: dict[str, int] = field(default_factory=dict)
    """packets, bytes, telemetry_packets, hops, roce_packets, roce_with_telemetry, reports, mirrors, first_ns, last_ns,
    time_backwards (packets older than their predecessor), ce_packets, cnp_packets, telemetry_bytes (of reports, the whole
    frame); bytes are of all frames as captured, those of reports and mirrors too; and what was left out because a
    table was full: hops_ignored (no room for their queue), paths_ignored (packets on a path that was not kept), streams_ignored
    (report or mirror rows whose sequence or drop reason was not counted), links_ignored (pairs of hops of which no clock was compared)"""
    statuses: dict[str, int] = field(default_factory=dict)
    icrc: dict[str, int] = field(default_factory=dict)
    """RoCEv2 packets of the sample by the state of their ICRC (schema.ICRC_STATES)"""
    warnings: dict[str, int] = field(default_factory=dict)
    formats: dict[str, int] = field(default_factory=dict)
    status_by_format: dict[tuple[str, str], int] = field(default_factory=dict)
    dialects: dict[str, int] = field(default_factory=dict)
    opcodes: dict[int, int] = field(default_factory=dict)
    drops: dict[tuple[int, int], int] = field(default_factory=dict)  # (node, drop reason) → reports
    links: LinkView = field(default_factory=no_links)
    journal: JournalView = field(default_factory=no_journal)
    answers: JournalView = field(default_factory=no_journal)
    """The same of the answers that completed messages (no READs: their responses stand in the journal): `direction` and `psn` are those of
    the requests, up to which all are covered. One that `begins` is the first of its direction: only the last message that it covers is sure
    to be answered by it; of one that `ends`, packets of these messages were sent again."""
    postcards: dict[str, int] = field(default_factory=dict)
    """Reports of one node about one packet: total; joined with those of other nodes to a path (of these by_arrival: in the order of
    their arrival, as the TTL did not tell); and why not: alone (no other node's was seen; of these early: the table was full before
    it could come), unordered, duplicated (the node told of it before), unidentified (nothing tells the packet from others)"""
