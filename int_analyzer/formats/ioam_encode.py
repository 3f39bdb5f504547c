"""Writing of IOAM traces (the layout: formats/ioam_trace.py): pre-allocated in a hop-by-hop header of IPv6 (RFC 9486 §3), incremental
behind NSH (RFC 9452 §3), as the option cannot grow on its way."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.formats.dialect import bits_set
from int_analyzer.formats.ioam import TYPE_INCREMENTAL, TYPE_PREALLOCATED
from int_analyzer.formats.ioam_trace import NO_SNAPSHOT, SNAPSHOT
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
)
from int_analyzer.wire.ip import OPTION_IOAM
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u8, put_u16, put_u32, put_u64, put_zeros

_EXTENSION, _CARRIER, _TRACE = 4, 4, 8
"""The extension header with the padding that aligns the option to 4 bytes; what stands before a trace, option or shim; its header."""
_PADDING = 0x0100
"""PadN of two bytes; of four with two zeros."""
_ONES = -1


@kernel
def shim_bytes(columns: Any, row: int, hops: int) -> int:
    """Bytes of a shim with `hops` nodes."""
    return _CARRIER + _TRACE + hops * _node_bytes(get(columns, "packets.instructions", row))


@kernel
def put_shim(buffer: Buffer, at: int, following: int, columns: Any, row: int, hops: int) -> None:
    """A shim behind NSH with the trace of the packet's first `hops` hops; `following` is the protocol behind it."""
    put_u8(buffer, at, TYPE_INCREMENTAL)
    put_u8(buffer, at + 1, shim_bytes(columns, row, hops) // 4)
    put_u8(buffer, at + 2, 0)
    put_u8(buffer, at + 3, following)
    _put_trace(buffer, at + _CARRIER, 0, columns, row, hops)


@kernel
def option_bytes(columns: Any, row: int, hops: int) -> int:
    """Bytes of the option with `hops` nodes and the room that is left."""
    return shim_bytes(columns, row, hops) + 4 * get(columns, "packets.remaining_hops", row)


@kernel
def extension_bytes(columns: Any, row: int, hops: int) -> int:
    """Bytes of the hop-by-hop header around it: a multiple of 8."""
    size = _EXTENSION + option_bytes(columns, row, hops)
    return size + (-size & 7)


@kernel
def put_extension(buffer: Buffer, at: int, following: int, columns: Any, row: int, hops: int) -> None:
    """A hop-by-hop header with the trace of the packet's first `hops` hops; `following` is the header behind it."""
    size, option = extension_bytes(columns, row, hops), option_bytes(columns, row, hops)
    put_u8(buffer, at, following)
    put_u8(buffer, at + 1, size // 8 - 1)
    put_u16(buffer, at + 2, _PADDING)
    if size - _EXTENSION - option == 4:
        put_u32(buffer, at + size - 4, (_PADDING | 2) << 16)
    at += _EXTENSION
    put_u8(buffer, at, OPTION_IOAM)
    put_u8(buffer, at + 1, option - 2)
    put_u16(buffer, at + 2, TYPE_PREALLOCATED)
    _put_trace(buffer, at + _CARRIER, 4 * get(columns, "packets.remaining_hops", row), columns, row, hops)


@kernel
def _put_trace(buffer: Buffer, at: int, room: int, columns: Any, row: int, hops: int) -> None:
    """Trace header, `room` bytes for nodes to come, and the nodes there are, the newest first."""
    trace_type, remaining = get(columns, "packets.instructions", row), get(columns, "packets.remaining_hops", row)
    put_u16(buffer, at, get(columns, "packets.namespace", row))
    put_u16(buffer, at + 2, _node_words(trace_type) << 11 | get(columns, "packets.telemetry_flags", row) << 7 | remaining)
    put_u32(buffer, at + 4, trace_type << 8)
    begin, first = at + _TRACE + room, get(columns, "packets.first_hop", row)
    put_zeros(buffer, at + _TRACE, begin)
    for wire in range(hops):
        _put_node(buffer, begin + _node_bytes(trace_type) * (hops - 1 - wire), trace_type, columns, first + wire)


@kernel
def _node_words(trace_type: int) -> int:
    """NodeLen: fields of bits 0 to 7 and 11 to 21 have one word, those of bits 8 to 10 two."""
    return bits_set(trace_type >> 16) + bits_set((trace_type >> 2) & 0x7FF) + 2 * bits_set((trace_type >> 13) & 7)


@kernel
def _node_bytes(trace_type: int) -> int:
    return 4 * _node_words(trace_type) + (4 if trace_type & SNAPSHOT != 0 else 0)


@kernel
def _put_node(buffer: Buffer, at: int, trace_type: int, columns: Any, hop: int) -> None:
    """One node's data, fields in the order of their bits."""
    for bit in range(22):
        if trace_type & (0x800000 >> bit) == 0:
            continue
        if bit >= 8 and bit <= 10:
            put_u64(buffer, at, _field(bit, columns, hop))
            at += 8
        else:
            put_u32(buffer, at, _field(bit, columns, hop))
            at += 4
    if trace_type & SNAPSHOT != 0:
        put_u32(buffer, at, NO_SNAPSHOT)


@kernel
def _field(bit: int, columns: Any, hop: int) -> int:
    """The field of a bit of the trace type; ones for what is not present, and for fields that no column tells of."""
    present = get(columns, "hops.present", hop)
    if bit == 0 or bit == 8:
        wide = 56 if bit == 8 else 24
        limit = get(columns, "hops.hop_limit", hop) if present & HAS_HOP_LIMIT != 0 else 0xFF
        node = get(columns, "hops.node_id", hop) if present & HAS_NODE != 0 else _ONES
        return limit << wide | node & ((1 << wide) - 1)
    if bit == 1 or bit == 9:
        wide = 32 if bit == 9 else 16
        ingress = get(columns, "hops.ingress_port", hop) if present & HAS_INGRESS_PORT != 0 else _ONES
        egress = get(columns, "hops.egress_port", hop) if present & HAS_EGRESS_PORT != 0 else _ONES
        return ingress << wide | egress & ((1 << wide) - 1)
    if bit <= 3 and present & HAS_INGRESS_TIME != 0:
        time = get(columns, "hops.ingress_time_raw", hop)
        return time >> 32 if bit == 2 else time
    if bit == 4 and present & HAS_LATENCY != 0:
        return get(columns, "hops.hop_latency_raw", hop)
    if (bit == 5 or bit == 10) and present & HAS_DATA != 0:
        return get(columns, "hops.namespace_data", hop)
    if bit == 6 and present & HAS_DEPTH != 0:
        return get(columns, "hops.queue_depth_raw", hop)
    if bit == 11 and present & HAS_BUFFER != 0:
        return get(columns, "hops.buffer_depth_raw", hop)
    return _ONES
