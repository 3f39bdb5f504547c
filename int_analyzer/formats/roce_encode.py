"""Writing of BTH, extension headers and data of RoCEv2 (the layout: formats/roce.py)."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.formats.roce import (
    AETH,
    ATOMIC,
    ATOMIC_ACK,
    BTH_BYTES,
    CNP,
    DETH,
    FETH,
    IMMEDIATE,
    INVALIDATE,
    OPCODES,
    RDETH,
    RETH,
    XRCETH,
)
from int_analyzer.wire.icrc import ICRC_BYTES
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u8, put_u16, put_u24, put_u32, put_u64, put_zeros


@kernel
def roce_bytes(columns: Any, row: int) -> int:
    """Bytes from the BTH to the end of the ICRC. An unknown opcode has no extension headers."""
    size = OPCODES[get(columns, "roce.opcode", row)] & 0xFF
    return BTH_BYTES + size + get(columns, "roce.payload_bytes", row) + get(columns, "roce.pad", row) + ICRC_BYTES


@kernel
def put_roce(buffer: Buffer, at: int, end: int, columns: Any, row: int) -> None:
    """BTH, extension headers and data of row `row`, these as zeros up to `end`."""
    carries = OPCODES[get(columns, "roce.opcode", row)]
    put_u8(buffer, at, get(columns, "roce.opcode", row))
    put_u8(
        buffer,
        at + 1,
        get(columns, "roce.se", row) << 7
        | get(columns, "roce.migreq", row) << 6
        | get(columns, "roce.pad", row) << 4
        | get(columns, "roce.transport_version", row),
    )
    put_u16(buffer, at + 2, get(columns, "roce.pkey", row))
    put_u32(
        buffer,
        at + 4,
        get(columns, "roce.fecn", row) << 31 | get(columns, "roce.becn", row) << 30 | get(columns, "roce.dest_qp", row),
    )
    put_u32(buffer, at + 8, get(columns, "roce.ack_req", row) << 31 | get(columns, "roce.psn", row))
    put_zeros(buffer, _extensions(buffer, at + BTH_BYTES, carries, columns, row), end)


@kernel
def _extensions(buffer: Buffer, at: int, carries: int, columns: Any, row: int) -> int:
    """Extension headers in wire order: where they end. Those that no column tells of are zeros."""
    if carries & RDETH != 0:
        put_u32(buffer, at, 0)
        at += 4
    if carries & DETH != 0:
        put_u32(buffer, at, get(columns, "roce.queue_key", row))
        put_u8(buffer, at + 4, 0)
        put_u24(buffer, at + 5, get(columns, "roce.source_qp", row))
        at += 8
    if carries & (XRCETH | FETH) != 0:
        put_u32(buffer, at, 0)
        at += 4
    if carries & RETH != 0:
        put_u64(buffer, at, get(columns, "roce.virtual_address", row))
        put_u32(buffer, at + 8, get(columns, "roce.rkey", row))
        put_u32(buffer, at + 12, get(columns, "roce.dma_bytes", row))
        at += 16
    if carries & ATOMIC != 0:
        put_u64(buffer, at, get(columns, "roce.virtual_address", row))
        put_u32(buffer, at + 8, get(columns, "roce.rkey", row))
        put_u64(buffer, at + 12, get(columns, "roce.swap_add", row))
        put_u64(buffer, at + 20, get(columns, "roce.compare", row))
        at += 28
    if carries & AETH != 0:
        put_u32(buffer, at, get(columns, "roce.syndrome", row) << 24 | get(columns, "roce.msn", row))
        at += 4
    if carries & ATOMIC_ACK != 0:
        put_u64(buffer, at, get(columns, "roce.original_data", row))
        at += 8
    if carries & IMMEDIATE != 0:
        put_u32(buffer, at, get(columns, "roce.immediate", row))
        at += 4
    if carries & INVALIDATE != 0:
        put_u32(buffer, at, get(columns, "roce.rkey", row))
        at += 4
    if carries & CNP != 0:
        put_zeros(buffer, at, at + 16)
        at += 16
    return at
