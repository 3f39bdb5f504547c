"""RoCEv2 transport: BTH and the extension headers of every opcode (IBTA Vol.1 ch. 9, Annex A17).

 0                   1                   2                   3
|    opcode     |S|M|pad| TVer  |            P_Key              |
|F|B|  reserved |              destination QP                   |
|A|  reserved   |                    PSN                        |
extension headers by opcode | data | pad | ICRC (last 4 bytes inside the UDP length)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.columns import put
from int_analyzer.schema import HAS_AETH, HAS_ATOMIC, HAS_ATOMIC_ACK, HAS_DETH, HAS_ICRC, HAS_IMMEDIATE, HAS_PAYLOAD, HAS_RETH, HAS_RKEY
from int_analyzer.status import STATUS_CODE, WARNING_BIT
from int_analyzer.wire.icrc import ICRC_BYTES
from int_analyzer.wire.read import Buffer, u8, u16, u24, u32, u64

BTH_BYTES = 12
OPCODE_CNP = 0x81

OK = STATUS_CODE["ok"]
TRUNCATED = STATUS_CODE["bth-truncated"]
EXTENSION_TRUNCATED = STATUS_CODE["bth-extension-truncated"]
OPCODE_UNKNOWN = STATUS_CODE["bth-opcode-unknown"]
PAYLOAD_NEGATIVE = STATUS_CODE["bth-payload-negative"]
VERSION = WARNING_BIT["bth-version"]

# What an opcode carries behind the BTH, in wire order, one bit each; the low byte of the table entry is the size of it all.
RDETH, DETH, XRCETH, FETH, RETH, ATOMIC, AETH, ATOMIC_ACK, IMMEDIATE, INVALIDATE, CNP, KNOWN = (1 << (8 + bit) for bit in range(12))
_SIZES = {
    RDETH: 4,
    DETH: 8,
    XRCETH: 4,
    FETH: 4,
    RETH: 16,
    ATOMIC: 28,
    AETH: 4,
    ATOMIC_ACK: 8,
    IMMEDIATE: 4,
    INVALIDATE: 4,
    CNP: 16,
}

_RELIABLE = {
    0x00: 0,
    0x01: 0,
    0x02: 0,
    0x03: IMMEDIATE,
    0x04: 0,
    0x05: IMMEDIATE,
    0x06: RETH,
    0x07: 0,
    0x08: 0,
    0x09: IMMEDIATE,
    0x0A: RETH,
    0x0B: RETH | IMMEDIATE,
    0x0C: RETH,
    0x0D: AETH,
    0x0E: 0,
    0x0F: AETH,
    0x10: AETH,
    0x11: AETH,
    0x12: AETH | ATOMIC_ACK,
    0x13: ATOMIC,
    0x14: ATOMIC,
    0x16: INVALIDATE,
    0x17: INVALIDATE,
    0x1C: FETH | RETH,
    0x1D: RETH,
}
_RESPONSES = range(0x0D, 0x13)


def _opcode_table() -> Any:
    carries: dict[int, int] = dict(_RELIABLE)
    carries |= {0x20 | op: bits for op, bits in _RELIABLE.items() if op <= 0x0B}
    for op, bits in _RELIABLE.items():
        if op <= 0x14:
            carries[0x40 | op] = bits | RDETH | (0 if op in _RESPONSES else DETH)
        if op <= 0x17:
            carries[0xA0 | op] = bits | (0 if op in _RESPONSES else XRCETH)
    carries[0x55] = RDETH | DETH  # RESYNC
    carries |= {0x64: DETH, 0x65: DETH | IMMEDIATE, OPCODE_CNP: CNP}
    table = np.zeros(256, dtype=np.int64)
    for opcode, bits in carries.items():
        table[opcode] = bits | KNOWN | sum(size for bit, size in _SIZES.items() if bits & bit)
    return table


OPCODES = _opcode_table()


@inlined
def plausible(buffer: Buffer, at: int, limit: int) -> bool:
    """Whether the bytes can be a BTH: 12 are there, the reserved bits are zero, the opcode is known."""
    if limit - at < BTH_BYTES:
        return False
    return u8(buffer, at + 4) & 0x3F == 0 and u8(buffer, at + 8) & 0x7F == 0 and OPCODES[u8(buffer, at)] != 0


@inlined
def bth(buffer: Buffer, at: int, limit: int, declared: int, columns: Any, row: int, packet: int) -> tuple[int, int, int]:
    """BTH and extension headers into row `row`: (status, where, warnings). Without a whole BTH the row is not used (bth-truncated)."""
    if limit - at < BTH_BYTES:
        return TRUNCATED, at, 0
    first, flags, last = u16(buffer, at), u32(buffer, at + 4), u32(buffer, at + 8)
    opcode = first >> 8
    pad = (first >> 4) & 3
    warnings = VERSION if first & 0xF != 0 else 0
    put(columns, "roce.packet", row, packet)
    put(columns, "roce.opcode", row, opcode)
    put(columns, "roce.se", row, (first >> 7) & 1)
    put(columns, "roce.migreq", row, (first >> 6) & 1)
    put(columns, "roce.pad", row, pad)
    put(columns, "roce.transport_version", row, first & 0xF)
    put(columns, "roce.pkey", row, u16(buffer, at + 2))
    put(columns, "roce.fecn", row, flags >> 31)
    put(columns, "roce.becn", row, (flags >> 30) & 1)
    put(columns, "roce.dest_qp", row, flags & 0xFFFFFF)
    put(columns, "roce.ack_req", row, last >> 31)
    put(columns, "roce.psn", row, last & 0xFFFFFF)
    carries = OPCODES[opcode]
    at_extension = at + BTH_BYTES
    payload = declared - at_extension - (carries & 0xFF) - pad - ICRC_BYTES
    present = 0
    if declared <= limit and (payload >= 0 or (carries == 0 and declared - at_extension >= ICRC_BYTES)):
        put(columns, "roce.icrc_raw", row, u32(buffer, declared - ICRC_BYTES))
        present = HAS_ICRC
    if carries == 0:
        put(columns, "roce.present", row, present)
        return OPCODE_UNKNOWN, at, warnings
    if payload >= 0:
        put(columns, "roce.payload_bytes", row, payload)
        present |= HAS_PAYLOAD
    whole, at_extension, present = _extensions(buffer, at_extension, limit, carries, present, columns, row)
    put(columns, "roce.present", row, present)
    if payload < 0:
        return PAYLOAD_NEGATIVE, at, warnings
    if not whole:
        return EXTENSION_TRUNCATED, at_extension, warnings
    return OK, at, warnings


@inlined
def _extensions(buffer: Buffer, at: int, limit: int, carries: int, present: int, columns: Any, row: int) -> tuple[bool, int, int]:
    """Extension headers in wire order, each only if it is whole: (all whole, where reading ended, presence bits)."""
    if carries & (RDETH | DETH | XRCETH | FETH) != 0:
        if carries & RDETH != 0:
            if limit - at < 4:
                return False, at, present
            at += 4
        if carries & DETH != 0:
            if limit - at < 8:
                return False, at, present
            put(columns, "roce.queue_key", row, u32(buffer, at))
            put(columns, "roce.source_qp", row, u24(buffer, at + 5))
            present |= HAS_DETH
            at += 8
        if carries & (XRCETH | FETH) != 0:
            if limit - at < 4:
                return False, at, present
            at += 4
    if carries & RETH != 0:
        if limit - at < 16:
            return False, at, present
        put(columns, "roce.virtual_address", row, u64(buffer, at))
        put(columns, "roce.rkey", row, u32(buffer, at + 8))
        put(columns, "roce.dma_bytes", row, u32(buffer, at + 12))
        present |= HAS_RETH | HAS_RKEY
        at += 16
    if carries & AETH != 0:
        if limit - at < 4:
            return False, at, present
        word = u32(buffer, at)
        put(columns, "roce.syndrome", row, word >> 24)
        put(columns, "roce.msn", row, word & 0xFFFFFF)
        present |= HAS_AETH
        at += 4
    if carries & (ATOMIC | ATOMIC_ACK | IMMEDIATE | INVALIDATE | CNP) != 0:
        if carries & ATOMIC != 0:
            if limit - at < 28:
                return False, at, present
            put(columns, "roce.virtual_address", row, u64(buffer, at))
            put(columns, "roce.rkey", row, u32(buffer, at + 8))
            put(columns, "roce.swap_add", row, u64(buffer, at + 12))
            put(columns, "roce.compare", row, u64(buffer, at + 20))
            present |= HAS_ATOMIC | HAS_RKEY
            at += 28
        if carries & ATOMIC_ACK != 0:
            if limit - at < 8:
                return False, at, present
            put(columns, "roce.original_data", row, u64(buffer, at))
            present |= HAS_ATOMIC_ACK
            at += 8
        if carries & (IMMEDIATE | INVALIDATE) != 0:
            if limit - at < 4:
                return False, at, present
            if carries & IMMEDIATE != 0:
                put(columns, "roce.immediate", row, u32(buffer, at))
                present |= HAS_IMMEDIATE
            else:
                put(columns, "roce.rkey", row, u32(buffer, at))
                present |= HAS_RKEY
            at += 4
        if carries & CNP != 0:
            if limit - at < 16:
                return False, at, present
            at += 16
    return True, at, present
