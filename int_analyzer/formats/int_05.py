"""INT v0.5: the header with a total hop count, and the tail behind the stack (P4.org INT v0.5).

shim   | type 8 | reserved 8 | length 8 (with shim and tail) | reserved 8 |
header | ver 4 | rep 2 | C E | reserved 3 | instructions 5 | max hops 8 | total hops 8 | bitmap 16 | reserved 16 |
stack  | newest hop | … | source's hop |        every item is 4 bytes (times 8 in dialect geant04)
tail   | protocol 8 | destination port 16 | pad 2, DSCP 6 |        not behind VXLAN-GPE
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import put
from int_analyzer.formats.dialect import (
    FLAGS_AT,
    INT_05,
    LAYOUT,
    LAYOUT_05,
    LEVEL2_WORDS,
    N_DIALECTS,
    TIME_WORDS,
    bits_set,
    words_per_hop,
)
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
)
from int_analyzer.status import WARNING_BIT
from int_analyzer.wire.read import Buffer, u8, u16, u32, u64

TYPE_HOP_BY_HOP = 1
FLAG_EXCEEDED, FLAG_COPY = 2, 8
ONES_4, ONES_8 = 0xFFFFFFFF, -1

HOP_EXCEEDED = WARNING_BIT["int-hop-exceeded"]
DIALECT_USED = WARNING_BIT["int-dialect"]
METADATA_ZERO = WARNING_BIT["metadata-zero"]


@kernel
def fitting_05(buffer: Buffer, at: int, limit: int, transport: int, configured: int) -> int:
    """The dialect whose v0.5 header begins here, 0 if none: instruction count, total hops and length agree (12 bytes are there).

    The tail names the IP protocol that carries all this: `transport`, 17 or 6; −1 where there is no tail. `configured`: the only
    dialect tried, if it has a v0.5 header.
    """
    word, instructions = u32(buffer, at + 4), u16(buffer, at + 8)
    count, most, total = (word >> 16) & 0x1F, (word >> 8) & 0xFF, word & 0xFF
    behind = at + 4 * u8(buffer, at + 2)
    size = behind - at - (16 if transport >= 0 else 12)
    if behind > limit or u8(buffer, at) != TYPE_HOP_BY_HOP or size < 0 or count < 1 or total > most or count != bits_set(instructions):
        return 0
    if transport >= 0 and u8(buffer, behind - 4) != transport:
        return 0
    only = configured >= 1 and LAYOUT[configured] == LAYOUT_05
    for number in range(INT_05, N_DIALECTS):
        if LAYOUT[number] != LAYOUT_05 or (only and number != configured):
            continue
        # With a version of 2 bits the next two are for copies, and used only where a profile says that they are.
        version = word >> (30 if only and FLAGS_AT[number] == 4 else 28)
        if version == 0 and size == 4 * total * words_per_hop(instructions, TIME_WORDS[number], LEVEL2_WORDS[number]):
            return number
    return 0


@kernel
def int_05(buffer: Buffer, at: int, dialect: int, has_tail: bool, marker_bytes: int, columns: Any, row: int, hop: int) -> tuple[int, int]:
    """Header, stack and tail that `dialect` fits: (warnings, hops added). Fills telemetry columns and hops."""
    word, instructions = u32(buffer, at + 4), u16(buffer, at + 8)
    most, total = (word >> 8) & 0xFF, word & 0xFF
    hop_bytes = 4 * words_per_hop(instructions, TIME_WORDS[dialect], LEVEL2_WORDS[dialect])
    size = 4 * u8(buffer, at + 2)
    shift = 28 - FLAGS_AT[dialect]
    flags = ((word >> shift) & FLAG_COPY) | ((word >> (shift + 1)) & FLAG_EXCEEDED)
    stored = u8(buffer, at + size - 1) & 0x3F if has_tail else 0
    put(columns, "packets.telemetry_flags", row, flags)
    put(columns, "packets.instructions", row, instructions)
    put(columns, "packets.namespace", row, 0)
    put(columns, "packets.remaining_hops", row, most - total)
    put(columns, "packets.dialect", row, dialect)
    put(columns, "packets.telemetry_bytes", row, size + marker_bytes)
    put(columns, "packets.original_dscp", row, stored if stored != 0 else ABSENT8)
    warnings = HOP_EXCEEDED if flags & FLAG_EXCEEDED != 0 else 0
    if dialect != INT_05:
        warnings |= DIALECT_USED
    for wire in range(total):
        item = at + 12 + wire * hop_bytes
        out = hop + total - 1 - wire
        present, busy = 0, 0
        put(columns, "hops.packet", out, row)
        put(columns, "hops.hop", out, total - 1 - wire)
        for bit in range(16):
            if instructions & (0x8000 >> bit) == 0:
                continue
            if TIME_WORDS[dialect] == 2 and (bit == 4 or bit == 5):
                value = u64(buffer, item)
                item += 8
                absent = value == ONES_8
            else:
                value = u32(buffer, item)
                item += 4
                absent = value == ONES_4
            if bit != 0:
                busy |= value
            if absent:
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
