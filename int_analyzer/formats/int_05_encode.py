"""Writing of INT v0.5 in the packet's dialect: shim, header, stack and the tail behind it (the layout: formats/int_05.py)."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.formats.dialect import FLAGS_AT, LEVEL2_WORDS, TIME_WORDS, bits_set, words_per_hop
from int_analyzer.formats.int_05 import FLAG_COPY, FLAG_EXCEEDED, ONES_4, ONES_8, TYPE_HOP_BY_HOP
from int_analyzer.schema import (
    ABSENT8,
    HAS_EGRESS_TIME,
    HAS_INGRESS_PORT,
    HAS_INGRESS_TIME,
    HAS_LATENCY,
    HAS_NODE,
    HAS_QUEUE,
    HAS_UTILISATION,
)
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u8, put_u16, put_u32, put_u64

_HEAD, _TAIL = 12, 4


@kernel
def int_05_bytes(columns: Any, row: int, hops: int) -> int:
    """Bytes of shim, header, a stack of `hops` hops and tail."""
    return _HEAD + 4 * hops * _hop_words(columns, row) + _TAIL


@kernel
def put_int_05(buffer: Buffer, at: int, columns: Any, row: int, hops: int) -> None:
    """Shim, header, the stack of the packet's first `hops` hops, and the tail with the port and DSCP that the packet has without INT."""
    instructions, flags = get(columns, "packets.instructions", row), get(columns, "packets.telemetry_flags", row)
    dialect, words, size = get(columns, "packets.dialect", row), _hop_words(columns, row), int_05_bytes(columns, row, hops)
    stored = get(columns, "packets.original_dscp", row)
    put_u32(buffer, at, TYPE_HOP_BY_HOP << 24 | (size // 4) << 8)
    bits = (flags & FLAG_COPY | (flags & FLAG_EXCEEDED) << 1) << (28 - FLAGS_AT[dialect])
    most = get(columns, "packets.remaining_hops", row) + hops
    put_u32(buffer, at + 4, bits | bits_set(instructions) << 16 | most << 8 | hops)
    put_u16(buffer, at + 8, instructions)
    put_u16(buffer, at + 10, 0)
    first, tail = get(columns, "packets.first_hop", row), at + size - _TAIL
    for wire in range(hops):
        item = tail - 4 * words * (wire + 1)
        for bit in range(16):
            if instructions & (0x8000 >> bit) == 0:
                continue
            if TIME_WORDS[dialect] == 2 and (bit == 4 or bit == 5):
                put_u64(buffer, item, _value(bit, columns, first + wire))
                item += 8
            else:
                put_u32(buffer, item, _value(bit, columns, first + wire))
                item += 4
    put_u8(buffer, tail, get(columns, "packets.protocol", row))
    put_u16(buffer, tail + 1, get(columns, "packets.dst_port", row))
    put_u8(buffer, tail + 3, 0 if stored == ABSENT8 else stored)


@kernel
def _hop_words(columns: Any, row: int) -> int:
    dialect = get(columns, "packets.dialect", row)
    return words_per_hop(get(columns, "packets.instructions", row), TIME_WORDS[dialect], LEVEL2_WORDS[dialect])


@kernel
def _value(bit: int, columns: Any, hop: int) -> int:
    """The item of an instruction bit; ones for what is not present and for items that no column tells of."""
    present = get(columns, "hops.present", hop)
    if bit == 0 and present & HAS_NODE != 0:
        return get(columns, "hops.node_id", hop)
    if bit == 1 and present & HAS_INGRESS_PORT != 0:
        return get(columns, "hops.ingress_port", hop) << 16 | get(columns, "hops.egress_port", hop)
    if bit == 2 and present & HAS_LATENCY != 0:
        return get(columns, "hops.hop_latency_raw", hop)
    if bit == 3 and present & HAS_QUEUE != 0:
        return get(columns, "hops.queue_id", hop) << 24 | get(columns, "hops.queue_depth_raw", hop)
    if bit == 4 and present & HAS_INGRESS_TIME != 0:
        return get(columns, "hops.ingress_time_raw", hop)
    if bit == 5 and present & HAS_EGRESS_TIME != 0:
        return get(columns, "hops.egress_time_raw", hop)
    if bit == 7 and present & HAS_UTILISATION != 0:
        return get(columns, "hops.tx_utilisation_raw", hop)
    return ONES_8 if bit == 4 or bit == 5 else ONES_4
