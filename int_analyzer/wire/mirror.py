"""How mirrored frames are marked: ERSPAN types I, II and III around them (draft-foschiano-erspan-03, Linux erspan.h), or fields of the
frame itself that Lumina rewrites (SIGCOMM 2023)."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get, put
from int_analyzer.schema import (
    HAS_MIRROR_EVENT,
    HAS_MIRROR_INDEX,
    HAS_MIRROR_OUTER,
    HAS_MIRROR_PLATFORM,
    HAS_MIRROR_SEQUENCE,
    HAS_MIRROR_SESSION,
    HAS_MIRROR_TIMESTAMP,
    HAS_MIRROR_TYPE_3,
)
from int_analyzer.status import STATUS_CODE, WARNING_BIT
from int_analyzer.wire import layer
from int_analyzer.wire.read import Buffer, u8, u16, u32, u48, u64
from int_analyzer.wire.tunnel import GRE_ERSPAN_3

OK = STATUS_CODE["ok"]
TRUNCATED = STATUS_CODE["erspan-truncated"]
VERSION = STATUS_CODE["erspan-version"]
OPAQUE = STATUS_CODE["erspan-payload-opaque"]
VERSION_PROTOCOL = WARNING_BIT["erspan-version-protocol"]
CUT_FLAG = WARNING_BIT["erspan-truncated-flag"]
LUMINA_BIT_ERROR = 3
"""An event that also inverts the IPv4 identification."""

_END, _ETHERNET, _IPV4, _IPV6 = layer.END, layer.ETHERNET, layer.IPV4, layer.IPV6
_TYPE_1, _TYPE_2, _TYPE_3 = layer.TUNNEL_ERSPAN_1, layer.TUNNEL_ERSPAN_2, layer.TUNNEL_ERSPAN_3


@kernel
def erspan(buffer: Buffer, at: int, limit: int, protocol: int, sequence: int, columns: Any, mirror: int) -> tuple[int, int, int, int, int]:
    """ERSPAN header into row `mirror`: (next layer, where, status, warnings, tunnel bit). Without a tunnel bit the row is not used.

    Type I has no header of its own; only the GRE sequence bit (0x88BE without it) tells it from type II.
    """
    present = HAS_MIRROR_OUTER
    if sequence != 0:
        put(columns, "mirrors.sequence", mirror, u32(buffer, sequence))
        present |= HAS_MIRROR_SEQUENCE
    if sequence == 0 and protocol != GRE_ERSPAN_3:
        put(columns, "mirrors.kind", mirror, 1)
        put(columns, "mirrors.present", mirror, present)
        return _ETHERNET, at, OK, 0, _TYPE_1
    if limit - at < 8:
        return _END, at, TRUNCATED, 0, 0
    first, second = u16(buffer, at), u16(buffer, at + 2)
    version = first >> 12
    if version != 1 and version != 2:
        return _END, at, VERSION, 0, 0
    warnings = VERSION_PROTOCOL if (version == 2) != (protocol == GRE_ERSPAN_3) else 0
    if version == 2 and limit - at < 12:
        return _END, at, TRUNCATED, 0, 0
    if second & 0x0400 != 0:
        warnings |= CUT_FLAG
    put(columns, "mirrors.vlan_id", mirror, first & 0xFFF)
    put(columns, "mirrors.cos", mirror, second >> 13)
    put(columns, "mirrors.encapsulation", mirror, (second >> 11) & 3)
    put(columns, "mirrors.truncated", mirror, (second >> 10) & 1)
    put(columns, "mirrors.session_id", mirror, second & 0x3FF)
    present |= HAS_MIRROR_SESSION
    if version == 1:
        put(columns, "mirrors.kind", mirror, 2)
        put(columns, "mirrors.index", mirror, u32(buffer, at + 4) & 0xFFFFF)
        put(columns, "mirrors.present", mirror, present | HAS_MIRROR_INDEX)
        return _ETHERNET, at + 8, OK, warnings, _TYPE_2
    put(columns, "mirrors.kind", mirror, 3)
    put(columns, "mirrors.timestamp_raw", mirror, u32(buffer, at + 4))
    put(columns, "mirrors.security_group", mirror, u16(buffer, at + 8))
    last = u16(buffer, at + 10)
    put(columns, "mirrors.hw_id", mirror, (last >> 4) & 0x3F)
    put(columns, "mirrors.direction", mirror, (last >> 3) & 1)
    put(columns, "mirrors.granularity", mirror, (last >> 1) & 3)
    present |= HAS_MIRROR_TIMESTAMP | HAS_MIRROR_TYPE_3
    frame_type = (last >> 10) & 0x1F
    header = 12
    if last & 1 != 0:
        if limit - at < 20:
            return _END, at, TRUNCATED, 0, 0
        platform = u64(buffer, at + 12)
        put(columns, "mirrors.platform_id", mirror, (platform >> 58) & 0x3F)
        put(columns, "mirrors.platform_info", mirror, platform & 0x03FFFFFFFFFFFFFF)
        present |= HAS_MIRROR_PLATFORM
        header = 20
    put(columns, "mirrors.present", mirror, present)
    if frame_type == 0:
        return _ETHERNET, at + header, OK, warnings, _TYPE_3
    if frame_type == 2 and limit - at > header:
        nibble = u8(buffer, at + header) >> 4
        if nibble == 4:
            return _IPV4, at + header, OK, warnings, _TYPE_3
        if nibble == 6:
            return _IPV6, at + header, OK, warnings, _TYPE_3
    return _END, at + header, OPAQUE, warnings, _TYPE_3


@kernel
def lumina(buffer: Buffer, udp: int, frame: int, columns: Any, mirror: int, row: int) -> int:
    """Row `mirror` and the packet's restored columns from a UDP header that Lumina rewrote at `udp`: the original source port.

    Switch time and sequence number stand in the addresses of the Ethernet header at `frame` (−1: there is none), the event in the TTL.
    """
    event, present = get(columns, "packets.ttl", row), HAS_MIRROR_EVENT
    put(columns, "mirrors.packet", mirror, row)
    put(columns, "mirrors.kind", mirror, 4)
    put(columns, "mirrors.event", mirror, event)
    if frame >= 0:
        put(columns, "mirrors.timestamp_raw", mirror, u48(buffer, frame))
        put(columns, "mirrors.sequence", mirror, u32(buffer, frame + 8))
        present |= HAS_MIRROR_TIMESTAMP | HAS_MIRROR_SEQUENCE
    put(columns, "mirrors.present", mirror, present)
    if event == LUMINA_BIT_ERROR:
        put(columns, "packets.ip_id", row, get(columns, "packets.ip_id", row) ^ 0xFFFF)
    return u16(buffer, udp + 6)
