"""Writing of INT v0.5 in the packet's dialect: shim, header, stack and the tail behind it (the layout: formats/int_05.py)."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.formats.dialect import FLAGS_AT, bits_set
from int_analyzer.formats.int_05 import FLAG_COPY, FLAG_EXCEEDED, TYPE_HOP_BY_HOP
from int_analyzer.formats.int_stack_encode import hop_words, put_hop
from int_analyzer.schema import ABSENT8
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u8, put_u16, put_u32

_HEAD, _TAIL = 12, 4


@kernel
def int_05_bytes(columns: Any, row: int, hops: int) -> int:
    """Bytes of shim, header, a stack of `hops` hops and tail."""
    return _HEAD + 4 * hops * hop_words(columns, row) + _TAIL


@kernel
def put_int_05(buffer: Buffer, at: int, columns: Any, row: int, hops: int) -> None:
    """Shim, header, the stack of the packet's first `hops` hops, and the tail with the port and DSCP that the packet has without INT."""
    instructions, flags = get(columns, "packets.instructions", row), get(columns, "packets.telemetry_flags", row)
    dialect, words, size = get(columns, "packets.dialect", row), hop_words(columns, row), int_05_bytes(columns, row, hops)
    stored = get(columns, "packets.original_dscp", row)
    put_u32(buffer, at, TYPE_HOP_BY_HOP << 24 | (size // 4) << 8)
    bits = (flags & FLAG_COPY | (flags & FLAG_EXCEEDED) << 1) << (28 - FLAGS_AT[dialect])
    most = get(columns, "packets.remaining_hops", row) + hops
    put_u32(buffer, at + 4, bits | bits_set(instructions) << 16 | most << 8 | hops)
    put_u16(buffer, at + 8, instructions)
    put_u16(buffer, at + 10, 0)
    first, tail = get(columns, "packets.first_hop", row), at + size - _TAIL
    for wire in range(hops):
        put_hop(buffer, tail - 4 * words * (wire + 1), columns, row, first + wire)
    put_u8(buffer, tail, get(columns, "packets.protocol", row))
    put_u16(buffer, tail + 1, get(columns, "packets.dst_port", row))
    put_u8(buffer, tail + 3, 0 if stored == ABSENT8 else stored)
