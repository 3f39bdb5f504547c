"""Writing of IFA 2.0: a header behind IP, and behind the transport header the metadata of every hop (the layout: formats/ifa.py).

The stack stands behind its metadata header, never at the end of the packet. A record has no way to leave a value out: what no column
tells of is zero.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.formats.ifa import GIGABIT, HOP_BYTES, SECOND_NS, SPEEDS, UNKNOWN_SPEED, VERSIONS, gigabits
from int_analyzer.schema import HAS_SPEED
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u8, put_u16, put_u32, put_zeros

HEADER_BYTES = 4
_METADATA = 4
_MOST_WORDS = 0xFF


@kernel
def put_ifa_header(buffer: Buffer, at: int, following: int, columns: Any, row: int) -> None:
    """The header in front of the transport header, whose protocol is `following`."""
    put_u8(buffer, at, VERSIONS[0] << 4 | get(columns, "packets.namespace", row))
    put_u8(buffer, at + 1, following)
    put_u8(buffer, at + 2, get(columns, "packets.telemetry_flags", row))
    put_u8(buffer, at + 3, _MOST_WORDS)


@kernel
def ifa_metadata_bytes(hops: int) -> int:
    """Bytes behind the transport header with `hops` hops."""
    return _METADATA + HOP_BYTES * hops


@kernel
def put_ifa_metadata(buffer: Buffer, at: int, columns: Any, row: int, hops: int) -> None:
    """The metadata header and the records of the packet's first `hops` hops."""
    put_u16(buffer, at, get(columns, "packets.instructions", row))
    put_u8(buffer, at + 2, get(columns, "packets.remaining_hops", row))
    put_u8(buffer, at + 3, HOP_BYTES // 4 * hops)
    first, end = get(columns, "packets.first_hop", row), at + ifa_metadata_bytes(hops)
    for wire in range(hops):
        _put_record(buffer, end - HOP_BYTES * (wire + 1), columns, first + wire)


@kernel
def _put_record(buffer: Buffer, at: int, columns: Any, hop: int) -> None:
    time = get(columns, "hops.ingress_time_raw", hop)
    put_u32(buffer, at, get(columns, "hops.node_id", hop) << 8 | get(columns, "hops.hop_limit", hop))
    put_u32(buffer, at + 4, _speed_code(columns, hop) << 28 | get(columns, "hops.queue_id", hop) << 20 | time // SECOND_NS)
    put_u16(buffer, at + 8, get(columns, "hops.egress_port", hop))
    put_u16(buffer, at + 10, get(columns, "hops.ingress_port", hop))
    put_u32(buffer, at + 12, time % SECOND_NS)
    put_u32(buffer, at + 16, get(columns, "hops.hop_latency_raw", hop))
    put_u32(buffer, at + 20, get(columns, "hops.queue_depth_raw", hop))
    put_zeros(buffer, at + 24, at + HOP_BYTES)


@kernel
def _speed_code(columns: Any, hop: int) -> int:
    if get(columns, "hops.present", hop) & HAS_SPEED != 0:
        for code in range(SPEEDS):
            if gigabits(code) * GIGABIT == get(columns, "hops.port_speed_bps", hop):
                return code
    return UNKNOWN_SPEED
