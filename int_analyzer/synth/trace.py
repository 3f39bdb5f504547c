"""What a simulation leaves: the packets that a mirror saw, their hops, their flows. Flat arrays, one row each.

Every value is what stands on the wire, but for lengths and checksums, which the encoder makes. Nothing here tells the truth: that is
in `Trace.truth`, which is written beside a capture and never into it.

    packets.first_hop, hop_count ──► rows of hops, in path order, 0 nearest the source
    packets.flow                 ──► row of flows (a directed flow; its reverse is row `flow ^ 1`)
    hops.node_id, packets.mirror_node ──► node ids as in fabric.node_id()
"""

from __future__ import annotations

from typing import Any, NamedTuple

from int_analyzer.synth.fabric import Fabric

# BTH opcodes, reliable connection (IBTA Vol.1 §9.2, table 35), and the congestion notification (Annex A17.9).
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0x00, 0x01, 0x02, 0x04
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 0x06, 0x07, 0x08, 0x0A
READ_REQUEST = 0x0C
RESPONSE_FIRST, RESPONSE_MIDDLE, RESPONSE_LAST, RESPONSE_ONLY = 0x0D, 0x0E, 0x0F, 0x10
ACKNOWLEDGE = 0x11
CNP = 0x81

SYNDROME_ACK = 0x1F
"""ACK without end-to-end credits (IBTA Vol.1 §9.7.5.2.2)."""
SYNDROME_SEQUENCE_ERROR = 0x60
"""NAK, PSN sequence error."""

UTILISATION_FULL = 10_000
"""`tx_utilisation` of a port that sends without a gap: hundredths of a percent."""

DSCP_DATA, DSCP_CNP = 26, 48


class Packets(NamedTuple):
    """Packets in order of capture, length n.

    A packet is mirrored where its last switch sends it to a host, and with several mirror points at others on its way; one with `dropped`
    is a drop report by the switch that dropped it (its last hop: egress port and queue where it found no room; its egress time is that of
    the drop).
    """

    time_ns: Any
    """int64: capture time since 1970, by the collector's clock."""
    flow: Any
    """int32: row of flows."""
    opcode: Any
    """uint8: BTH opcode."""
    psn: Any
    """uint32: 24 bit."""
    ack_req: Any
    """uint8"""
    payload_bytes: Any
    """int32: data, without pad and ICRC."""
    ecn: Any
    """uint8: 2 ECT(0), 3 CE, 0 for packets that are not ECN capable (CNP)."""
    dscp: Any
    """uint8"""
    ttl: Any
    """uint8: as captured."""
    ip_id: Any
    """uint16: counted per sending host."""
    syndrome: Any
    """uint8: AETH; of ACKs and of READ responses first, last, only."""
    msn: Any
    """uint32: AETH, 24 bit."""
    virtual_address: Any
    """int64: RETH; of WRITE first and only, and of READ requests."""
    rkey: Any
    """uint32: RETH."""
    dma_bytes: Any
    """uint32: RETH; the whole message, or what is asked for."""
    first_hop: Any
    """int64: row of hops."""
    hop_count: Any
    """uint8: hops that the packet tells of; 0 without telemetry."""
    telemetry: Any
    """uint8: 1 if the packet was chosen to carry telemetry (even if no node on its way inserts any)."""
    hop_exceeded: Any
    """uint8: 1 if a node found no hop left to insert (E bit): the newest hops are missing."""
    dropped: Any
    """uint8: 1 for a drop report."""
    mirror_node: Any
    """int32: id of the switch that mirrored or reported it."""
    mirror_sequence: Any
    """int64: counted per mirror node over all that it mirrored, before loss, from 0; drop reports are counted apart."""
    report_sequence: Any
    """int64: the same over packets with telemetry only; of others stale."""


class Hops(NamedTuple):
    """Hops of the packets, length m. Times are those of the node's own clock."""

    node_id: Any
    """int32"""
    ingress_port: Any
    """uint16"""
    egress_port: Any
    """uint16"""
    queue_id: Any
    """uint8"""
    ingress_time_ns: Any
    """int64: since 1970, first bit in."""
    egress_time_ns: Any
    """int64: since 1970, first bit out."""
    latency_ns: Any
    """int64: between the two, by the node's clock."""
    queue_depth_bytes: Any
    """int64: what waited in the queue when the packet came, without the packet."""
    queue_depth_cells: Any
    """int64: the same in cells of fabric.CELL_BYTES, rounded up."""
    tx_utilisation: Any
    """uint16: of the egress port over the last 10 to 20 µs, in hundredths of a percent."""
    sent_bytes: Any
    """int64: what the egress port had sent before, from the beginning."""


class Flows(NamedTuple):
    """Directed flows. Rows 2c and 2c + 1 are the two directions of a connection."""

    src_host: Any
    """int32: row of fabric.hosts."""
    dst_host: Any
    """int32"""
    src_ip: Any
    """uint32: IPv4 address."""
    dst_ip: Any
    """uint32"""
    udp_source_port: Any
    """uint16: the flow's entropy."""
    source_qp: Any
    """uint32: 24 bit."""
    dest_qp: Any
    """uint32: 24 bit."""
    first_psn: Any
    """uint32: 24 bit; of the first packet ever sent on the flow."""


class Trace(NamedTuple):
    """A simulated capture. `truth` is a JSON-ready dict (synth/truth.py), `counters` what a poller read of its switches as CSV text,
    "" if none did."""

    packets: Packets
    hops: Hops
    flows: Flows
    fabric: Fabric
    truth: dict[str, Any]
    counters: str = ""
