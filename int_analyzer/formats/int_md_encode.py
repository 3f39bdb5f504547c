"""Writing of INT over UDP: shim, metadata header and stack of INT-MD v1.0 and v2.x, and the header of INT-MX (formats/int_md, int_stack).

The layout follows the packet's dialect, so that what a vendor writes can be written too. No column keeps the data that only the source
of a domain adds: the header announces none.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.formats.dialect import FLAGS_AT, LAYOUT, VERSION
from int_analyzer.formats.int_md import TYPE_HOP_BY_HOP, TYPE_MX
from int_analyzer.formats.int_stack import FLAG_COPY, FLAG_DISCARD, FLAG_EXCEEDED, FLAG_MTU
from int_analyzer.formats.int_stack_encode import hop_words, put_hop
from int_analyzer.schema import ABSENT8
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u8, put_u16, put_u32

_SHIM, _HEADER_1, _HEADER_2 = 4, 8, 12
_NPT_ORIGINAL_PORT = 1


@kernel
def int_md_bytes(columns: Any, row: int, hops: int) -> int:
    """Bytes of shim, header and a stack of `hops` hops."""
    header = _HEADER_1 if LAYOUT[get(columns, "packets.dialect", row)] == 1 else _HEADER_2
    return _SHIM + header + 4 * hops * hop_words(columns, row)


@kernel
def put_int_md(buffer: Buffer, at: int, columns: Any, row: int, hops: int, port: int) -> None:
    """Shim, header and stack of the packet's first `hops` hops. With a `port` of INT (v2.x) the shim keeps the original one, NPT 1."""
    dialect = get(columns, "packets.dialect", row)
    words = hop_words(columns, row)
    flags, remaining = get(columns, "packets.telemetry_flags", row), get(columns, "packets.remaining_hops", row)
    size = int_md_bytes(columns, row, hops)
    if LAYOUT[dialect] == 1:
        put_u8(buffer, at, TYPE_HOP_BY_HOP)
        put_u8(buffer, at + 1, 0)
        put_u8(buffer, at + 2, size // 4)
        put_u8(buffer, at + 3, _stored_dscp(columns, row) << 2)
        first_flag = flags & FLAG_COPY
    else:
        _shim_2(buffer, at, TYPE_HOP_BY_HOP, size, columns, row, port)
        put_u16(buffer, at + 10, get(columns, "packets.namespace", row))
        put_u32(buffer, at + 12, 0)
        first_flag = (flags & FLAG_DISCARD) << 3
    bits = (first_flag | (flags & FLAG_EXCEEDED) << 1 | (flags & FLAG_MTU) >> 1) << (28 - FLAGS_AT[dialect])
    put_u32(buffer, at + 4, VERSION[dialect] << 28 | bits | words << 8 | remaining)
    put_u16(buffer, at + 8, get(columns, "packets.instructions", row))
    if LAYOUT[dialect] == 1:
        put_u16(buffer, at + 10, 0)
    first = get(columns, "packets.first_hop", row)
    for wire in range(hops):
        put_hop(buffer, at + size - 4 * words * (wire + 1), columns, row, first + wire)


@kernel
def int_mx_bytes() -> int:
    """Bytes of shim and header."""
    return _SHIM + _HEADER_2


@kernel
def put_int_mx(buffer: Buffer, at: int, columns: Any, row: int, port: int) -> None:
    """Shim and header of INT-MX; `port` as in `put_int_md`."""
    _shim_2(buffer, at, TYPE_MX, int_mx_bytes(), columns, row, port)
    put_u32(buffer, at + 4, 2 << 28 | (get(columns, "packets.telemetry_flags", row) & 1) << 27)
    put_u16(buffer, at + 8, get(columns, "packets.instructions", row))
    put_u16(buffer, at + 10, get(columns, "packets.namespace", row))
    put_u32(buffer, at + 12, 0)


@kernel
def _shim_2(buffer: Buffer, at: int, kind: int, size: int, columns: Any, row: int, port: int) -> None:
    """The shim of v2.x: NPT 1 with the original port behind a port of INT, else NPT 0 with the DSCP that the source replaced."""
    put_u8(buffer, at, kind << 4 | (_NPT_ORIGINAL_PORT << 2 if port != 0 else 0))
    put_u8(buffer, at + 1, (size - _SHIM) // 4)
    put_u16(buffer, at + 2, get(columns, "packets.dst_port", row) if port != 0 else _stored_dscp(columns, row) << 2)


@kernel
def _stored_dscp(columns: Any, row: int) -> int:
    stored = get(columns, "packets.original_dscp", row)
    return 0 if stored == ABSENT8 else stored
