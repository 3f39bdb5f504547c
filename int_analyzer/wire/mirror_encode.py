"""Writing of GRE and ERSPAN headers, types I, II and III (RFC 2890, draft-foschiano-erspan-03)."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.schema import HAS_MIRROR_PLATFORM, HAS_MIRROR_SEQUENCE
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.tunnel import GRE_ERSPAN, GRE_ERSPAN_3
from int_analyzer.wire.write import put_u16, put_u32, put_u64

_GRE_SEQUENCE = 0x1000
_ERSPAN_2, _ERSPAN_3 = 0x1000, 0x2000


@kernel
def erspan_bytes(columns: Any, mirror: int) -> int:
    """Bytes of GRE and ERSPAN headers of row `mirror`. Type II always has a sequence number: it is what tells it from type I."""
    present, kind = get(columns, "mirrors.present", mirror), get(columns, "mirrors.kind", mirror)
    size = 8 if present & HAS_MIRROR_SEQUENCE != 0 else 4
    if kind == 2:
        return size + 8
    if kind == 3:
        return size + (20 if present & HAS_MIRROR_PLATFORM != 0 else 12)
    return size


@kernel
def put_erspan(buffer: Buffer, at: int, columns: Any, mirror: int) -> None:
    """GRE and ERSPAN headers of row `mirror`; an Ethernet frame follows."""
    present, kind = get(columns, "mirrors.present", mirror), get(columns, "mirrors.kind", mirror)
    put_u16(buffer, at, _GRE_SEQUENCE if present & HAS_MIRROR_SEQUENCE != 0 else 0)
    put_u16(buffer, at + 2, GRE_ERSPAN_3 if kind == 3 else GRE_ERSPAN)
    at += 4
    if present & HAS_MIRROR_SEQUENCE != 0:
        put_u32(buffer, at, get(columns, "mirrors.sequence", mirror))
        at += 4
    if kind == 1:
        return
    put_u16(buffer, at, (_ERSPAN_3 if kind == 3 else _ERSPAN_2) | get(columns, "mirrors.vlan_id", mirror))
    put_u16(
        buffer,
        at + 2,
        get(columns, "mirrors.cos", mirror) << 13
        | get(columns, "mirrors.encapsulation", mirror) << 11
        | get(columns, "mirrors.truncated", mirror) << 10
        | get(columns, "mirrors.session_id", mirror),
    )
    if kind == 2:
        put_u32(buffer, at + 4, get(columns, "mirrors.index", mirror))
        return
    platform = 1 if present & HAS_MIRROR_PLATFORM != 0 else 0
    put_u32(buffer, at + 4, get(columns, "mirrors.timestamp_raw", mirror))
    put_u16(buffer, at + 8, get(columns, "mirrors.security_group", mirror))
    put_u16(
        buffer,
        at + 10,
        get(columns, "mirrors.hw_id", mirror) << 4
        | get(columns, "mirrors.direction", mirror) << 3
        | get(columns, "mirrors.granularity", mirror) << 1
        | platform,
    )
    if platform == 1:
        put_u64(buffer, at + 12, get(columns, "mirrors.platform_id", mirror) << 58 | get(columns, "mirrors.platform_info", mirror))
