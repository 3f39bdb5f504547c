"""Writing of IOAM traces (the layout: formats/ioam_trace.py): pre-allocated in a hop-by-hop header of IPv6 (RFC 9486 §3), incremental
behind NSH (RFC 9452 §3), as the option cannot grow on its way."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.formats.dialect import bits_set
from int_analyzer.formats.ioam import TYPE_INCREMENTAL, TYPE_PREALLOCATED
from int_analyzer.formats.ioam_trace import NOT_POPULATED, SNAPSHOT
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
from int_analyzer.wire.write import put_u8, put_u16, put_u24, put_u32, put_u56, put_u64, put_zeros

_EXTENSION, _CARRIER, _TRACE = 4, 4, 8
"""The extension header with the padding that aligns the option to 4 bytes; what stands before a trace, option or shim; its header."""
_PADDING = 0x0100
"""PadN of two bytes; of four with two zeros."""
_NO_SCHEMA = 0x00FFFFFF


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
    """One node's data, fields in the order of their bits; what is not present is all ones."""
    present = get(columns, "hops.present", hop)
    node = get(columns, "hops.node_id", hop) if present & HAS_NODE != 0 else -1
    limit = get(columns, "hops.hop_limit", hop) if present & HAS_HOP_LIMIT != 0 else 0xFF
    ingress = get(columns, "hops.ingress_port", hop) if present & HAS_INGRESS_PORT != 0 else NOT_POPULATED
    egress = get(columns, "hops.egress_port", hop) if present & HAS_EGRESS_PORT != 0 else NOT_POPULATED
    time = get(columns, "hops.ingress_time_raw", hop) if present & HAS_INGRESS_TIME != 0 else -1
    data = get(columns, "hops.namespace_data", hop) if present & HAS_DATA != 0 else -1
    if trace_type & 0x800000 != 0:
        put_u8(buffer, at, limit)
        put_u24(buffer, at + 1, node)
        at += 4
    if trace_type & 0x400000 != 0:
        put_u16(buffer, at, ingress)
        put_u16(buffer, at + 2, egress)
        at += 4
    if trace_type & 0x200000 != 0:
        put_u32(buffer, at, time >> 32)
        at += 4
    if trace_type & 0x100000 != 0:
        put_u32(buffer, at, time)
        at += 4
    if trace_type & 0x080000 != 0:
        put_u32(buffer, at, get(columns, "hops.hop_latency_raw", hop) if present & HAS_LATENCY != 0 else NOT_POPULATED)
        at += 4
    if trace_type & 0x040000 != 0:
        put_u32(buffer, at, data)
        at += 4
    if trace_type & 0x020000 != 0:
        put_u32(buffer, at, get(columns, "hops.queue_depth_raw", hop) if present & HAS_DEPTH != 0 else NOT_POPULATED)
        at += 4
    if trace_type & 0x010000 != 0:
        put_u32(buffer, at, NOT_POPULATED)
        at += 4
    if trace_type & 0x008000 != 0:
        put_u8(buffer, at, limit)
        put_u56(buffer, at + 1, node)
        at += 8
    if trace_type & 0x004000 != 0:
        put_u32(buffer, at, ingress)
        put_u32(buffer, at + 4, egress)
        at += 8
    if trace_type & 0x002000 != 0:
        put_u64(buffer, at, data)
        at += 8
    if trace_type & 0x001000 != 0:
        put_u32(buffer, at, get(columns, "hops.buffer_depth_raw", hop) if present & HAS_BUFFER != 0 else NOT_POPULATED)
        at += 4
    for _ in range(bits_set((trace_type >> 2) & 0x3FF)):
        put_u32(buffer, at, NOT_POPULATED)
        at += 4
    if trace_type & SNAPSHOT != 0:
        put_u32(buffer, at, _NO_SCHEMA)
