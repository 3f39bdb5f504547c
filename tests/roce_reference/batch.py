"""Packets → the columns of a batch, full of garbage wherever nothing was given, and a state of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from int_analyzer import schema
from int_analyzer.columns import N_HOPS, N_PACKETS, N_ROCE, Columns, allocate
from int_analyzer.fold.state import Capacity, State

from .packet import Packet

_COLUMNS = allocate()
_COLUMNS.arena[:] = np.random.default_rng(2).integers(0, 256, _COLUMNS.arena.size)
_AETH = ("response first", "response last", "response only", "acknowledge", "atomic acknowledge")


def fill(packets: Sequence[Packet]) -> Columns:
    """The columns of one batch; they are the same arrays in every call."""
    table, roce = _COLUMNS.packets, _COLUMNS.roce
    first_hop = 0
    for row, packet in enumerate(packets):
        high = 0x2001 << 48 if packet.ip == 6 else 0
        base = 0 if packet.ip == 6 else 0x0A000000
        values = {
            "time_ns": packet.time,
            "original_bytes": 100 + packet.size,
            "captured_bytes": 100,
            "ip_bytes": 86 + packet.size,
            "ip_version": packet.ip,
            "src_hi": high,
            "src_lo": base + packet.src,
            "dst_hi": high,
            "dst_lo": base + packet.dst,
            "protocol": 17,
            "src_port": 50000 + packet.src,
            "dst_port": 4791,
            "ecn": packet.ecn,
            "ttl": packet.ttl,
            "ip_id": packet.identification,
            "formats": 1 << schema.FORMAT_ROCE,
            "telemetry": 0,
            "hop_count": 0,
            "first_hop": 0,
            "roce_row": row,
            "report_count": 0,
            "status": 0,
            "warnings": 0,
            "tunnels": 0,
        }
        if packet.hops:
            values |= {"telemetry": schema.FORMAT_INT_MD_2, "hop_count": len(packet.hops), "first_hop": first_hop}
            first_hop = _fill_hops(packet, first_hop)
        for column, value in values.items():
            getattr(table, column)[row] = value
        roce.packet[row], roce.opcode[row], roce.dest_qp[row], roce.psn[row] = row, packet.opcode, packet.dest_qp, packet.psn
        roce.ack_req[row], roce.payload_bytes[row], roce.icrc_check[row] = packet.ask, packet.size, packet.icrc
        present = schema.HAS_PAYLOAD
        if packet.what in _AETH:
            present |= schema.HAS_AETH
            roce.syndrome[row] = packet.syndrome
        if packet.dma is not None:
            present |= schema.HAS_RETH
            roce.dma_bytes[row] = packet.dma
        roce.present[row] = present
    _COLUMNS.counts[:] = 0
    _COLUMNS.counts[[N_PACKETS, N_ROCE]] = len(packets)
    _COLUMNS.counts[N_HOPS] = first_hop
    return _COLUMNS


def _fill_hops(packet: Packet, row: int) -> int:
    """Add its hops from this row on; returns the row behind them. The way back leaves the same nodes by other ports."""
    for number, latency in enumerate(packet.hops, row):
        hops = _COLUMNS.hops
        hops.present[number] = schema.HAS_NODE | schema.HAS_EGRESS_PORT | schema.HAS_LATENCY
        hops.node_id[number], hops.egress_port[number] = 1 + number - row, 1 if packet.src < packet.dst else 2
        hops.hop_latency_raw[number] = latency
    return row + len(packet.hops)


def folded(packets: Sequence[Packet], compiled: bool = False, capacity: Capacity | None = None, batch: int = 1000) -> State:
    """A state of these packets, `batch` at a time."""
    state = State(capacity)
    for begin in range(0, len(packets), batch):
        state.fold(fill(packets[begin : begin + batch]), compiled)
    return state
