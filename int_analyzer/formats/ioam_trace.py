"""IOAM traces, pre-allocated and incremental (RFC 9197 §4.4, RFC 9322; values as Linux net/ipv6/ioam6.c writes them).

    header | namespace 16 | NodeLen 5 | O L A - | RemainingLen 7 | trace type 24 | reserved 8 |
    data   | free room: RemainingLen words, if pre-allocated | newest node | … | first node |
    node   | fields in the order of their bits | length 8, schema 24, opaque state |

4 bytes of a carrier stand before the header (ioam.py).
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import put
from int_analyzer.formats.dialect import bits_set
from int_analyzer.schema import (
    HAS_BUFFER,
    HAS_DATA,
    HAS_DEPTH,
    HAS_EGRESS_PORT,
    HAS_HOP_LIMIT,
    HAS_INGRESS_PORT,
    HAS_INGRESS_TIME,
    HAS_LATENCY,
    HAS_NODE,
    HAS_SNAPSHOT,
    HOP_TRUNCATED_PATH,
)
from int_analyzer.status import STATUS_CODE, WARNING_BIT
from int_analyzer.wire.read import Buffer, u8, u16, u24, u32, u56, u64

FLAG_OVERFLOW, FLAG_LOOPBACK, FLAG_ACTIVE = 8, 4, 2
LOOPBACK_TRACE = 0x800000
SNAPSHOT, UNASSIGNED = 0x000002, 0x000FFC
NO_SNAPSHOT = 0x00FFFFFF
"""Length 0 and schema of ones: the node had nothing to say."""
NOT_POPULATED = 0xFFFFFFFF
DELAY_OVERFLOW = 0x80000000

OK = STATUS_CODE["ok"]
NODE_LENGTH = STATUS_CODE["ioam-node-length"]
REMAINING_LENGTH = STATUS_CODE["ioam-remaining-length"]
NOT_WHOLE_NODES = STATUS_CODE["ioam-not-whole-nodes"]
SNAPSHOT_OVERRUN = STATUS_CODE["ioam-snapshot-overrun"]
STACK_TRUNCATED = STATUS_CODE["ioam-stack-truncated"]
LOOPBACK_TYPE = STATUS_CODE["ioam-loopback-type"]

OVERFLOW = WARNING_BIT["ioam-overflow"]
UNASSIGNED_BITS = WARNING_BIT["ioam-unassigned-bits"]
SPACE_REST = WARNING_BIT["ioam-space-rest"]


@kernel
def trace(
    buffer: Buffer, option: int, end: int, limit: int, incremental: bool, columns: Any, row: int, hop: int
) -> tuple[int, int, int, int]:
    """Trace whose 4 + 8 bytes of headers at `option` are there, to `end`: (status, status at, warnings, hops added or −1).

    Fills the packet's telemetry columns and rows of hops, unless the trace is rejected.
    """
    lengths = u16(buffer, option + 6)
    trace_type = u24(buffer, option + 8)
    flags, node_words, remaining = (lengths >> 7) & 0xF, lengths >> 11, lengths & 0x7F
    space = end - option - 12
    expected = bits_set(trace_type >> 16) + bits_set((trace_type >> 2) & 0x7FF) + 2 * bits_set((trace_type >> 13) & 7)
    if node_words != expected or (node_words == 0 and trace_type & SNAPSHOT == 0 and space > 0):
        return NODE_LENGTH, option, 0, -1
    if not incremental and 4 * remaining > space:
        return REMAINING_LENGTH, option, 0, -1
    if flags & FLAG_LOOPBACK != 0 and trace_type != LOOPBACK_TRACE:
        return LOOPBACK_TYPE, option, 0, -1
    begin = option + 12 + (0 if incremental else 4 * remaining)
    node_bytes = 4 * node_words
    status, status_at, warnings, count, whole = OK, option, 0, 0, 0
    if trace_type & SNAPSHOT != 0:
        # Nodes of different sizes: walk once to count them, once more to fill the rows in path order.
        at = begin
        while at < end:
            if at + node_bytes + 4 > end:
                return SNAPSHOT_OVERRUN, option, 0, -1
            if at + node_bytes + 4 > limit:
                status, status_at = STACK_TRUNCATED, at
                break
            following = at + node_bytes + 4 + 4 * u8(buffer, at + node_bytes)
            if following > end:
                return SNAPSHOT_OVERRUN, option, 0, -1
            if following > limit:
                status, status_at = STACK_TRUNCATED, at
                break
            whole += 1
            at = following
        count = whole
    elif node_bytes > 0:
        rest = space % node_bytes
        unfilled = (end - begin) % node_bytes
        if unfilled != 0 and unfilled != rest:
            return NOT_WHOLE_NODES, option, 0, -1
        if rest != 0:
            warnings |= SPACE_REST
        count = (end - begin) // node_bytes
        whole = count
        if count > 0 and begin + count * node_bytes > limit:
            whole = max(0, (limit - begin) // node_bytes)
            status, status_at = STACK_TRUNCATED, begin + whole * node_bytes
    if flags & FLAG_OVERFLOW != 0:
        warnings |= OVERFLOW
    if trace_type & UNASSIGNED != 0:
        warnings |= UNASSIGNED_BITS
    put(columns, "packets.dialect", row, 0)
    put(columns, "packets.telemetry_flags", row, flags)
    put(columns, "packets.instructions", row, trace_type)
    put(columns, "packets.namespace", row, u16(buffer, option + 4))
    put(columns, "packets.remaining_hops", row, remaining)
    put(columns, "packets.telemetry_bytes", row, end - option)
    if whole == 0:
        put(columns, "hops.hop", hop, count)
    at = begin
    for wire in range(whole):
        _node(buffer, at, trace_type, node_bytes, columns, hop + whole - 1 - wire, row, count - 1 - wire, status != OK)
        at += node_bytes
        if trace_type & SNAPSHOT != 0:
            at += 4 + 4 * u8(buffer, at)
    return status, status_at, warnings, whole


@kernel
def _node(buffer: Buffer, at: int, trace_type: int, node_bytes: int, columns: Any, out: int, packet: int, position: int, cut: bool) -> None:
    """One node's data into row `out`; fields in the order of their bits."""
    present = HOP_TRUNCATED_PATH if cut else 0
    if trace_type & SNAPSHOT != 0:
        word = u32(buffer, at + node_bytes)
        if word != NO_SNAPSHOT:
            put(columns, "hops.snapshot_schema", out, word & 0xFFFFFF)
            put(columns, "hops.snapshot_bytes", out, 4 * (word >> 24))
            present |= HAS_SNAPSHOT
    put(columns, "hops.packet", out, packet)
    put(columns, "hops.hop", out, position)
    if trace_type & 0x800000 != 0:
        word = u32(buffer, at)
        at += 4
        if word >> 24 != 0xFF:
            put(columns, "hops.hop_limit", out, word >> 24)
            present |= HAS_HOP_LIMIT
        if word & 0xFFFFFF != 0xFFFFFF:
            put(columns, "hops.node_id", out, word & 0xFFFFFF)
            present |= HAS_NODE
    if trace_type & 0x400000 != 0:
        ingress, egress = u16(buffer, at), u16(buffer, at + 2)
        at += 4
        if ingress != 0xFFFF:
            put(columns, "hops.ingress_port", out, ingress)
            present |= HAS_INGRESS_PORT
        if egress != 0xFFFF:
            put(columns, "hops.egress_port", out, egress)
            present |= HAS_EGRESS_PORT
    seconds = NOT_POPULATED
    if trace_type & 0x200000 != 0:
        seconds = u32(buffer, at)
        at += 4
    if trace_type & 0x100000 != 0:
        fraction = u32(buffer, at)
        at += 4
        if seconds != NOT_POPULATED and fraction != NOT_POPULATED:
            put(
                columns,
                "hops.ingress_time_raw",
                out,
                (seconds << 32) | fraction if seconds < 0x80000000 else ((seconds - 0x100000000) << 32) | fraction,
            )
            present |= HAS_INGRESS_TIME
    if trace_type & 0x080000 != 0:
        delay = u32(buffer, at)
        at += 4
        if delay < DELAY_OVERFLOW:
            put(columns, "hops.hop_latency_raw", out, delay)
            present |= HAS_LATENCY
    if trace_type & 0x040000 != 0:
        data = u32(buffer, at)
        at += 4
        if data != NOT_POPULATED:
            put(columns, "hops.namespace_data", out, data)
            present |= HAS_DATA
    if trace_type & 0x020000 != 0:
        depth = u32(buffer, at)
        at += 4
        if depth != NOT_POPULATED:
            put(columns, "hops.queue_depth_raw", out, depth)
            present |= HAS_DEPTH
    if trace_type & 0x010000 != 0:
        at += 4
    if trace_type & 0x008000 != 0:
        limit, wide = u8(buffer, at), u56(buffer, at + 1)
        at += 8
        if limit != 0xFF:
            put(columns, "hops.hop_limit", out, limit)
            present |= HAS_HOP_LIMIT
        if wide != 0xFFFFFFFFFFFFFF:
            put(columns, "hops.node_id", out, wide)
            present |= HAS_NODE
    if trace_type & 0x004000 != 0:
        ingress, egress = u32(buffer, at), u32(buffer, at + 4)
        at += 8
        if ingress != NOT_POPULATED:
            put(columns, "hops.ingress_port", out, ingress)
            present |= HAS_INGRESS_PORT
        if egress != NOT_POPULATED:
            put(columns, "hops.egress_port", out, egress)
            present |= HAS_EGRESS_PORT
    if trace_type & 0x002000 != 0:
        data = u64(buffer, at)
        at += 8
        if data != -1:
            put(columns, "hops.namespace_data", out, data)
            present |= HAS_DATA
    if trace_type & 0x001000 != 0:
        occupancy = u32(buffer, at)
        if occupancy != NOT_POPULATED:
            put(columns, "hops.buffer_id", out, 0)
            put(columns, "hops.buffer_depth_raw", out, occupancy)
            present |= HAS_BUFFER
    put(columns, "hops.present", out, present)
