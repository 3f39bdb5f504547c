"""MRI, the IPv4 option of the P4 tutorials: node and queue depth of every hop, newest first (p4lang/tutorials, exercise mri).

| option 31 8 | length 8 | count 16 | node 32 | depth 32 | …
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import put
from int_analyzer.schema import HAS_DEPTH, HAS_NODE
from int_analyzer.wire.read import Buffer, u8, u16, u32


@kernel
def mri(buffer: Buffer, option: int, columns: Any, row: int, hop: int) -> int:
    """Rows of hops and telemetry columns of an option whose length fits its count: hops added."""
    count = u16(buffer, option + 2)
    put(columns, "packets.telemetry_bytes", row, u8(buffer, option + 1))
    put(columns, "packets.telemetry_flags", row, 0)
    put(columns, "packets.instructions", row, 0)
    put(columns, "packets.namespace", row, 0)
    put(columns, "packets.remaining_hops", row, 0)
    put(columns, "packets.dialect", row, 0)
    for wire in range(count):
        at, out = option + 4 + 8 * wire, hop + count - 1 - wire
        put(columns, "hops.packet", out, row)
        put(columns, "hops.hop", out, count - 1 - wire)
        put(columns, "hops.node_id", out, u32(buffer, at))
        put(columns, "hops.queue_depth_raw", out, u32(buffer, at + 4))
        put(columns, "hops.present", out, HAS_NODE | HAS_DEPTH)
    return count
