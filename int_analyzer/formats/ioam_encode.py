"""Writing of IOAM: pre-allocated traces (the layout: formats/ioam_trace.py), edge to edge and direct export (formats/ioam.py) in extension
headers of IPv6 (RFC 9486 §3), incremental traces behind NSH (RFC 9452 §3), as the option cannot grow on its way."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.formats.dialect import bits_set
from int_analyzer.formats.ioam import (
    DEX_FLOW,
    DEX_SEQUENCE,
    E2E_FRACTION,
    E2E_SECONDS,
    E2E_SEQUENCE_32,
    E2E_SEQUENCE_64,
    TYPE_DEX,
    TYPE_E2E,
    TYPE_INCREMENTAL,
    TYPE_PREALLOCATED,
)
from int_analyzer.formats.ioam_trace import NO_SNAPSHOT, SNAPSHOT
from int_analyzer.schema import (
    FORMAT_IOAM_DEX,
    FORMAT_IOAM_E2E,
    HAS_BUFFER,
    HAS_DATA,
    HAS_DEPTH,
    HAS_EGRESS_PORT,
    HAS_HOP_LIMIT,
    HAS_INGRESS_PORT,
    HAS_INGRESS_TIME,
    HAS_LATENCY,
    HAS_NODE,
    HAS_OPTION_FLOW,
    HAS_OPTION_FRACTION,
    HAS_OPTION_SECONDS,
    HAS_OPTION_SEQUENCE,
)
from int_analyzer.wire.ip import OPTION_IOAM, OPTION_IOAM_DIRECT
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u8, put_u16, put_u32, put_u64, put_zeros

_EXTENSION, _CARRIER, _TRACE = 4, 4, 8
"""The extension header with the padding that aligns the option to 4 bytes; what stands before a trace, option or shim; its header."""
_E2E, _DEX = 4, 8
"""What of an edge-to-edge and of a direct-export option is always there."""
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
    return _around(option_bytes(columns, row, hops))


@kernel
def put_extension(buffer: Buffer, at: int, following: int, columns: Any, row: int, hops: int) -> None:
    """A hop-by-hop header with the trace of the packet's first `hops` hops; `following` is the header behind it."""
    at = _put_option(buffer, at, following, option_bytes(columns, row, hops), TYPE_PREALLOCATED)
    _put_trace(buffer, at, 4 * get(columns, "packets.remaining_hops", row), columns, row, hops)


@kernel
def item_bytes(columns: Any, option: int) -> int:
    """Bytes of the extension header around an edge-to-edge or direct-export option, of a row of options."""
    return _around(_item_bytes(columns, option))


@kernel
def put_item(buffer: Buffer, at: int, following: int, columns: Any, option: int) -> None:
    """That header; `following` is the header behind it."""
    kind = TYPE_E2E if get(columns, "options.format", option) == FORMAT_IOAM_E2E else TYPE_DEX
    at = _put_option(buffer, at, following, _item_bytes(columns, option), kind)
    present, number = get(columns, "options.present", option), get(columns, "options.sequence", option)
    put_u16(buffer, at, get(columns, "options.namespace", option))
    if kind == TYPE_DEX:
        asked = (DEX_FLOW if present & HAS_OPTION_FLOW != 0 else 0) | (DEX_SEQUENCE if present & HAS_OPTION_SEQUENCE != 0 else 0)
        put_u16(buffer, at + 2, get(columns, "options.flags", option) << 8 | asked)
        put_u32(buffer, at + 4, get(columns, "options.trace_type", option) << 8)
        at += _DEX
        if present & HAS_OPTION_FLOW != 0:
            put_u32(buffer, at, get(columns, "options.flow_id", option))
            at += 4
        if present & HAS_OPTION_SEQUENCE != 0:
            put_u32(buffer, at, number)
        return
    wide = get(columns, "options.sequence_bits", option) == 64
    bitmap = 0
    if present & HAS_OPTION_SEQUENCE != 0:
        bitmap = E2E_SEQUENCE_64 if wide else E2E_SEQUENCE_32
    bitmap |= (E2E_SECONDS if present & HAS_OPTION_SECONDS != 0 else 0) | (E2E_FRACTION if present & HAS_OPTION_FRACTION != 0 else 0)
    put_u16(buffer, at + 2, bitmap)
    at += _E2E
    if present & HAS_OPTION_SEQUENCE != 0 and wide:
        put_u64(buffer, at, number)
        at += 8
    elif present & HAS_OPTION_SEQUENCE != 0:
        put_u32(buffer, at, number)
        at += 4
    if present & HAS_OPTION_SECONDS != 0:
        put_u32(buffer, at, get(columns, "options.time_seconds", option))
        at += 4
    if present & HAS_OPTION_FRACTION != 0:
        put_u32(buffer, at, get(columns, "options.time_fraction_raw", option))


@kernel
def _item_bytes(columns: Any, option: int) -> int:
    """Bytes of the option itself, with its carrier."""
    present = get(columns, "options.present", option)
    if get(columns, "options.format", option) == FORMAT_IOAM_DEX:
        return _CARRIER + _DEX + 4 * bits_set(present & (HAS_OPTION_FLOW | HAS_OPTION_SEQUENCE))
    wide = present & HAS_OPTION_SEQUENCE != 0 and get(columns, "options.sequence_bits", option) == 64
    words = bits_set(present & (HAS_OPTION_SEQUENCE | HAS_OPTION_SECONDS | HAS_OPTION_FRACTION))
    return _CARRIER + _E2E + 4 * words + (4 if wide else 0)


@kernel
def _around(option: int) -> int:
    """Bytes of an extension header around so many bytes of option: a multiple of 8."""
    size = _EXTENSION + option
    return size + (-size & 7)


@kernel
def _put_option(buffer: Buffer, at: int, following: int, option: int, kind: int) -> int:
    """An extension header with an option of so many bytes and of this IOAM type: where its data begin."""
    size = _around(option)
    put_u8(buffer, at, following)
    put_u8(buffer, at + 1, size // 8 - 1)
    put_u16(buffer, at + 2, _PADDING)
    if size - _EXTENSION - option == 4:
        put_u32(buffer, at + size - 4, (_PADDING | 2) << 16)
    at += _EXTENSION
    # nodes on the way change a trace, and nothing else (RFC 9486 §3)
    put_u8(buffer, at, OPTION_IOAM if kind == TYPE_PREALLOCATED else OPTION_IOAM_DIRECT)
    put_u8(buffer, at + 1, option - 2)
    put_u16(buffer, at + 2, kind)
    return at + _CARRIER


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
