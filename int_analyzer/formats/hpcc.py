"""HPCC's INT header behind UDP, on ports of the profile (Li et al., SIGCOMM 2019; int-header.h of its ns-3 simulator).

    paper | hops 4, path id 12 | rate 4, time 24, bytes 20, queue 16 | … |        big-endian, oldest hop first
    ns-3  | queue 17, bytes 20, time 24, rate 3 | 5 of these, a ring | hops 16 |        each of them little-endian

The paper's rate codes are not published.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import put
from int_analyzer.formats.dialect import HPCC_NS3, HPCC_PAPER
from int_analyzer.schema import FORMAT_HPCC, FORMAT_NONE, HAS_DEPTH, HAS_EGRESS_TIME, HAS_SPEED, HAS_TX_BYTES, HOP_TRUNCATED_PATH
from int_analyzer.status import STATUS_CODE
from int_analyzer.wire.read import Buffer, le16, le32, u16, u32

HOP_BYTES, RING, NS3_BYTES = 8, 5, 42
MAXIMUM_HOPS = 255
SLOWEST, NS3_SPEEDS = 25, 5
"""The simulator's rates are 25 Gbit/s, doubled as often as their code says."""
GIGABIT = 1_000_000_000

OK = STATUS_CODE["ok"]
TRUNCATED = STATUS_CODE["hpcc-truncated"]
LENGTH = STATUS_CODE["hpcc-length"]

_ALWAYS = HAS_EGRESS_TIME | HAS_TX_BYTES | HAS_DEPTH


@kernel
def hpcc(buffer: Buffer, at: int, limit: int, declared: int, ns3: bool, columns: Any, row: int, hop: int) -> tuple[int, int, int, int, int]:
    """HPCC header at `at`: (status, status at, hops added or −1, where it ends or 0, format or 0). Fills telemetry columns and hops."""
    if ns3:
        return _ring(buffer, at, limit, declared, columns, row, hop)
    if at + 2 > declared:
        return LENGTH, at, -1, 0, FORMAT_NONE
    if at + 2 > limit:
        return TRUNCATED, at, -1, 0, FORMAT_NONE
    head = u16(buffer, at)
    count, begin = head >> 12, at + 2
    end = begin + HOP_BYTES * count
    if end > declared:
        return LENGTH, at, -1, 0, FORMAT_HPCC
    _describe(columns, row, HPCC_PAPER, head & 0xFFF, end - at)
    whole = min(count, (limit - begin) // HOP_BYTES)
    cut = HOP_TRUNCATED_PATH if whole < count else 0
    for out in range(hop, hop + whole):
        item = begin + HOP_BYTES * (out - hop)
        high, low = u32(buffer, item), u32(buffer, item + 4)
        put(columns, "hops.packet", out, row)
        put(columns, "hops.hop", out, out - hop)
        put(columns, "hops.egress_time_raw", out, (high >> 4) & 0xFFFFFF)
        put(columns, "hops.tx_bytes_raw", out, ((high & 0xF) << 16) | (low >> 16))
        put(columns, "hops.queue_depth_raw", out, low & 0xFFFF)
        put(columns, "hops.present", out, _ALWAYS | cut)
    if whole < count:
        return TRUNCATED, begin + HOP_BYTES * whole, whole, 0, FORMAT_HPCC
    return OK, at, count, end, FORMAT_HPCC


@kernel
def _ring(buffer: Buffer, at: int, limit: int, declared: int, columns: Any, row: int, hop: int) -> tuple[int, int, int, int, int]:
    """The simulator's header, as `hpcc`: the last five hops stand in a ring by their number."""
    if at + NS3_BYTES > declared:
        return LENGTH, at, -1, 0, FORMAT_NONE
    if at + NS3_BYTES > limit:
        return TRUNCATED, at, -1, 0, FORMAT_NONE
    total = le16(buffer, at + RING * HOP_BYTES)
    if total > MAXIMUM_HOPS:
        return LENGTH, at, -1, 0, FORMAT_HPCC
    _describe(columns, row, HPCC_NS3, 0, NS3_BYTES)
    count = min(total, RING)
    overwritten = HOP_TRUNCATED_PATH if total > RING else 0
    for out in range(hop, hop + count):
        number = total - count + out - hop
        item = at + HOP_BYTES * (number % RING)
        low, high = le32(buffer, item), le32(buffer, item + 4)
        present = _ALWAYS | overwritten
        rate = low & 7
        if rate < NS3_SPEEDS:
            put(columns, "hops.port_speed_bps", out, (SLOWEST << rate) * GIGABIT)
            present |= HAS_SPEED
        put(columns, "hops.packet", out, row)
        put(columns, "hops.hop", out, number)
        put(columns, "hops.egress_time_raw", out, (low >> 3) & 0xFFFFFF)
        put(columns, "hops.tx_bytes_raw", out, ((high & 0x7FFF) << 5) | (low >> 27))
        put(columns, "hops.queue_depth_raw", out, high >> 15)
        put(columns, "hops.present", out, present)
    return OK, at, count, at + NS3_BYTES, FORMAT_HPCC


@inlined
def _describe(columns: Any, row: int, dialect: int, path: int, size: int) -> None:
    """Telemetry columns of the packet."""
    put(columns, "packets.dialect", row, dialect)
    put(columns, "packets.telemetry_flags", row, 0)
    put(columns, "packets.instructions", row, 0)
    put(columns, "packets.namespace", row, path)
    put(columns, "packets.remaining_hops", row, 0)
    put(columns, "packets.telemetry_bytes", row, size)
