"""INT v0.5: the header with a total hop count, and the tail behind the stack (P4.org INT v0.5).

shim   | type 8 | reserved 8 | length 8 (with shim and tail) | reserved 8 |
header | ver 4 | rep 2 | C E | reserved 3 | instructions 5 | max hops 8 | total hops 8 | bitmap 16 | reserved 16 |
stack  | newest hop | … | source's hop |        every item is 4 bytes
tail   | protocol 8 | destination port 16 | pad 2, DSCP 6 |
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import put
from int_analyzer.formats.dialect import INT_05, bits_set
from int_analyzer.schema import (
    ABSENT8,
    HAS_DEPTH,
    HAS_EGRESS_PORT,
    HAS_EGRESS_TIME,
    HAS_INGRESS_PORT,
    HAS_INGRESS_TIME,
    HAS_LATENCY,
    HAS_NODE,
    HAS_QUEUE,
    HAS_UTILISATION,
    WARNING_BIT,
)
from int_analyzer.wire.read import Buffer, u8, u16, u32

TYPE_HOP_BY_HOP = 1
FLAG_EXCEEDED, FLAG_COPY = 2, 8
ONES = 0xFFFFFFFF

HOP_EXCEEDED = WARNING_BIT["int-hop-exceeded"]
METADATA_ZERO = WARNING_BIT["metadata-zero"]


@kernel
def is_version_05(buffer: Buffer, at: int, limit: int, transport: int) -> bool:
    """Whether a v0.5 header begins here: instruction count, total hops and the length with its tail agree (12 bytes are there).

    The tail names the IP protocol that carries all this: `transport`, 17 or 6.
    """
    word, instructions = u32(buffer, at + 4), u16(buffer, at + 8)
    count, most, total = (word >> 16) & 0x1F, (word >> 8) & 0xFF, word & 0xFF
    behind = at + 4 * u8(buffer, at + 2)
    size = behind - at - 16
    if behind > limit or u8(buffer, at) != TYPE_HOP_BY_HOP or size < 0 or count < 1 or total > most:
        return False
    return count == bits_set(instructions) and size == 4 * count * total and u8(buffer, behind - 4) == transport


@kernel
def int_05(buffer: Buffer, at: int, marker_bytes: int, columns: Any, row: int, hop: int) -> tuple[int, int]:
    """Header, stack and tail of a header that `is_version_05`: (warnings, hops added). Fills telemetry columns and hops."""
    word, instructions = u32(buffer, at + 4), u16(buffer, at + 8)
    count, most, total = (word >> 16) & 0x1F, (word >> 8) & 0xFF, word & 0xFF
    size = 4 * u8(buffer, at + 2)
    flags = ((word >> 22) & FLAG_COPY) | ((word >> 23) & FLAG_EXCEEDED)
    stored = u8(buffer, at + size - 1) & 0x3F
    put(columns, "packets.telemetry_flags", row, flags)
    put(columns, "packets.instructions", row, instructions)
    put(columns, "packets.namespace", row, 0)
    put(columns, "packets.remaining_hops", row, most - total)
    put(columns, "packets.dialect", row, INT_05)
    put(columns, "packets.telemetry_bytes", row, size + marker_bytes)
    put(columns, "packets.original_dscp", row, stored if stored != 0 else ABSENT8)
    warnings = HOP_EXCEEDED if flags & FLAG_EXCEEDED != 0 else 0
    for wire in range(total):
        item = at + 12 + wire * 4 * count
        out = hop + total - 1 - wire
        present, busy = 0, 0
        put(columns, "hops.packet", out, row)
        put(columns, "hops.hop", out, total - 1 - wire)
        for bit in range(16):
            if instructions & (0x8000 >> bit) == 0:
                continue
            value = u32(buffer, item)
            item += 4
            if bit != 0:
                busy |= value
            if value == ONES:
                continue
            if bit == 0:
                put(columns, "hops.node_id", out, value)
                present |= HAS_NODE
            elif bit == 1:
                put(columns, "hops.ingress_port", out, value >> 16)
                put(columns, "hops.egress_port", out, value & 0xFFFF)
                present |= HAS_INGRESS_PORT | HAS_EGRESS_PORT
            elif bit == 2:
                put(columns, "hops.hop_latency_raw", out, value)
                present |= HAS_LATENCY
            elif bit == 3:
                put(columns, "hops.queue_id", out, value >> 24)
                put(columns, "hops.queue_depth_raw", out, value & 0xFFFFFF)
                present |= HAS_QUEUE | HAS_DEPTH
            elif bit == 4:
                put(columns, "hops.ingress_time_raw", out, value)
                present |= HAS_INGRESS_TIME
            elif bit == 5:
                put(columns, "hops.egress_time_raw", out, value)
                present |= HAS_EGRESS_TIME
            elif bit == 7:
                put(columns, "hops.tx_utilisation_raw", out, value)
                present |= HAS_UTILISATION
        if busy == 0 and instructions & 0x6C00 != 0:
            warnings |= METADATA_ZERO
        put(columns, "hops.present", out, present)
    return warnings, total
