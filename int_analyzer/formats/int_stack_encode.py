"""Writing of a hop of INT, v0.5 to v2.x, in the widths of the packet's dialect (formats/int_stack.py, int_05.py).

Level-2 ids stand where there are no level-1 ids; reserved bits, the checksum complement and items that the dialect does not use are
filled with ones, as is what is not present.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.formats.dialect import LAYOUT, LAYOUT_05, LAYOUT_2, LEVEL2_WORDS, TIME_WORDS, UNUSED, words_per_hop
from int_analyzer.schema import (
    HAS_BUFFER,
    HAS_EGRESS_TIME,
    HAS_INGRESS_PORT,
    HAS_INGRESS_TIME,
    HAS_LATENCY,
    HAS_NODE,
    HAS_QUEUE,
    HAS_UTILISATION,
)
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u32, put_u64

_NODE, _PORTS, _LATENCY, _QUEUE, _INGRESS_TIME, _EGRESS_TIME, _LEVEL_2, _UTILISATION, _BUFFER = range(9)
"""Bits of the instructions, 0 the most significant of 16."""
_ONES = -1


@kernel
def hop_words(columns: Any, row: int) -> int:
    """4-byte words of every hop of a packet."""
    dialect = get(columns, "packets.dialect", row)
    return words_per_hop(get(columns, "packets.instructions", row), TIME_WORDS[dialect], LEVEL2_WORDS[dialect])


@kernel
def put_hop(buffer: Buffer, at: int, columns: Any, row: int, hop: int) -> None:
    """One hop of packet `row`, its items in the order of their bits."""
    instructions, dialect = get(columns, "packets.instructions", row), get(columns, "packets.dialect", row)
    for bit in range(16):
        if instructions & (0x8000 >> bit) == 0:
            continue
        words = 1
        if bit == _INGRESS_TIME or bit == _EGRESS_TIME:
            words = TIME_WORDS[dialect]
        elif bit == _LEVEL_2:
            words = LEVEL2_WORDS[dialect]
        value = _item(bit, 16 * words, instructions, dialect, columns, hop)
        if words == 2:
            put_u64(buffer, at, value)
        else:
            put_u32(buffer, at, value)
        at += 4 * words


@kernel
def _item(bit: int, half: int, instructions: int, dialect: int, columns: Any, hop: int) -> int:
    """The item of a bit, which has two halves of `half` bits."""
    present = get(columns, "hops.present", hop)
    if bit == _NODE and present & HAS_NODE != 0:
        return get(columns, "hops.node_id", hop)
    level_2 = bit == _LEVEL_2 and instructions & 0x4000 == 0 and LAYOUT[dialect] != LAYOUT_05
    if (bit == _PORTS or level_2) and present & HAS_INGRESS_PORT != 0:
        return get(columns, "hops.ingress_port", hop) << half | get(columns, "hops.egress_port", hop)
    if bit == _LATENCY and present & HAS_LATENCY != 0 and UNUSED[dialect] & 0x2000 == 0:
        return get(columns, "hops.hop_latency_raw", hop)
    if bit == _QUEUE and present & HAS_QUEUE != 0:
        return get(columns, "hops.queue_id", hop) << 24 | get(columns, "hops.queue_depth_raw", hop)
    if bit == _INGRESS_TIME and present & HAS_INGRESS_TIME != 0:
        return get(columns, "hops.ingress_time_raw", hop)
    if bit == _EGRESS_TIME and present & HAS_EGRESS_TIME != 0:
        return get(columns, "hops.egress_time_raw", hop)
    if bit == _UTILISATION and present & HAS_UTILISATION != 0:
        return get(columns, "hops.tx_utilisation_raw", hop)
    if bit == _BUFFER and LAYOUT[dialect] == LAYOUT_2 and present & HAS_BUFFER != 0:
        return get(columns, "hops.buffer_id", hop) << 24 | get(columns, "hops.buffer_depth_raw", hop)
    return _ONES
