"""Writing of HPCC's header in the packet's dialect, the paper's or the simulator's (the layouts: formats/hpcc.py)."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.formats.dialect import HPCC_NS3
from int_analyzer.formats.hpcc import GIGABIT, HOP_BYTES, NS3_BYTES, NS3_SPEEDS, RING, SLOWEST
from int_analyzer.schema import HAS_SPEED
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_le16, put_le32, put_u16, put_u32, put_zeros

_HEAD = 2
_UNKNOWN_RATE = 7


@kernel
def hpcc_bytes(columns: Any, row: int, hops: int) -> int:
    """Bytes of a header with `hops` hops."""
    return NS3_BYTES if get(columns, "packets.dialect", row) == HPCC_NS3 else _HEAD + HOP_BYTES * hops


@kernel
def put_hpcc(buffer: Buffer, at: int, columns: Any, row: int, hops: int) -> None:
    """The header with the packet's first `hops` hops."""
    first = get(columns, "packets.first_hop", row)
    if get(columns, "packets.dialect", row) == HPCC_NS3:
        _put_ring(buffer, at, columns, first, hops)
        return
    put_u16(buffer, at, hops << 12 | get(columns, "packets.namespace", row))
    for wire in range(hops):
        item = at + _HEAD + HOP_BYTES * wire
        time, sent = get(columns, "hops.egress_time_raw", first + wire), get(columns, "hops.tx_bytes_raw", first + wire)
        # the codes of its rate are not published
        put_u32(buffer, item, time << 4 | sent >> 16)
        put_u32(buffer, item + 4, sent << 16 | get(columns, "hops.queue_depth_raw", first + wire))


@kernel
def _put_ring(buffer: Buffer, at: int, columns: Any, first: int, hops: int) -> None:
    """The simulator's ring: every hop in the place of its number."""
    put_zeros(buffer, at, at + NS3_BYTES)
    for hop in range(first, first + hops):
        number = get(columns, "hops.hop", hop)
        item, sent = at + HOP_BYTES * (number % RING), get(columns, "hops.tx_bytes_raw", hop)
        put_le32(buffer, item, sent << 27 | get(columns, "hops.egress_time_raw", hop) << 3 | _rate_code(columns, hop))
        put_le32(buffer, item + 4, get(columns, "hops.queue_depth_raw", hop) << 15 | sent >> 5)
        put_le16(buffer, at + HOP_BYTES * RING, number + 1)


@kernel
def _rate_code(columns: Any, hop: int) -> int:
    if get(columns, "hops.present", hop) & HAS_SPEED != 0:
        for code in range(NS3_SPEEDS):
            if (SLOWEST << code) * GIGABIT == get(columns, "hops.port_speed_bps", hop):
                return code
    return _UNKNOWN_RATE
