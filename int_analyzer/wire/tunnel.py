"""Tunnels: GRE (RFC 2784, 2890), VXLAN (RFC 7348), VXLAN-GPE (draft -12), Geneve (RFC 8926)."""

from __future__ import annotations

from int_analyzer._jit import kernel
from int_analyzer.schema import FORMAT_INT_MD_1, FORMAT_INT_MD_2, FORMAT_INT_MX, STATUS_CODE, WARNING_BIT
from int_analyzer.wire import layer
from int_analyzer.wire.ethernet import ETHERTYPE_BRIDGED, ETHERTYPE_IPV4, ETHERTYPE_IPV6, of_ethertype
from int_analyzer.wire.read import Buffer, u8, u16, u24

GRE_ERSPAN, GRE_ERSPAN_3 = 0x88BE, 0x22EB
GENEVE_CLASS_INT = 0x0103
GPE_IPV4, GPE_IPV6, GPE_ETHERNET, GPE_INT_1, GPE_INT_20, GPE_INT_21 = 1, 2, 3, 0x08, 0x80, 0x82
MAXIMUM_OPTIONS = 64

OK = STATUS_CODE["ok"]
GRE_TRUNCATED = STATUS_CODE["gre-truncated"]
GRE_VERSION = STATUS_CODE["gre-version"]
GRE_ROUTING = STATUS_CODE["gre-routing"]
GRE_UNKNOWN = STATUS_CODE["gre-protocol-unknown"]
VXLAN_TRUNCATED = STATUS_CODE["vxlan-truncated"]
GPE_VERSION = STATUS_CODE["vxlan-gpe-version"]
GPE_UNKNOWN = STATUS_CODE["vxlan-gpe-protocol-unknown"]
GENEVE_TRUNCATED = STATUS_CODE["geneve-truncated"]
GENEVE_VERSION = STATUS_CODE["geneve-version"]
SHIM_TRUNCATED = STATUS_CODE["int-shim-truncated"]
SHIM_BEYOND = STATUS_CODE["int-length-beyond-udp"]
GENEVE_UNKNOWN = STATUS_CODE["geneve-protocol-unknown"]

VXLAN_FLAG = WARNING_BIT["vxlan-flag"]
GENEVE_CRITICAL = WARNING_BIT["geneve-critical"]

_END, _ETHERNET, _IPV4, _IPV6, _ERSPAN = layer.END, layer.ETHERNET, layer.IPV4, layer.IPV6, layer.ERSPAN


@kernel
def gre(buffer: Buffer, at: int, limit: int) -> tuple[int, int, int, int, int]:
    """GRE header: (next layer, where, status, protocol, where the sequence number stands or 0)."""
    if limit - at < 4:
        return _END, at, GRE_TRUNCATED, 0, 0
    flags, protocol = u16(buffer, at), u16(buffer, at + 2)
    if flags & 7 != 0:
        return _END, at, GRE_VERSION, protocol, 0
    if flags & 0x4000 != 0:
        return _END, at, GRE_ROUTING, protocol, 0
    header = 4
    if flags & 0x8000 != 0:
        header += 4
    if flags & 0x2000 != 0:
        header += 4
    sequence = 0
    if flags & 0x1000 != 0:
        sequence = at + header
        header += 4
    if limit - at < header:
        return _END, at, GRE_TRUNCATED, protocol, 0
    if protocol == GRE_ERSPAN or protocol == GRE_ERSPAN_3:
        return _ERSPAN, at + header, OK, protocol, sequence
    following = _ETHERNET if protocol == ETHERTYPE_BRIDGED else of_ethertype(protocol)
    if following == _END:
        return _END, at, GRE_UNKNOWN, protocol, sequence
    return following, at + header, OK, protocol, sequence


@kernel
def vxlan(buffer: Buffer, at: int, limit: int) -> tuple[int, int, int, int]:
    """VXLAN header: (next layer, where, status, warnings)."""
    if limit - at < 8:
        return _END, at, VXLAN_TRUNCATED, 0
    warnings = VXLAN_FLAG if u8(buffer, at) & 0x08 == 0 else 0
    return _ETHERNET, at + 8, OK, warnings


@kernel
def vxlan_gpe(buffer: Buffer, at: int, limit: int, declared: int) -> tuple[int, int, int, int, int]:
    """VXLAN-GPE header: (next layer, where, status, warnings, INT format found). Without the P bit it is plain VXLAN.

    An INT shim (next protocol 0x80, 0x82; 0x08 in v1.0) is recognised and skipped by its length.
    """
    if limit - at < 8:
        return _END, at, VXLAN_TRUNCATED, 0, 0
    flags = u8(buffer, at)
    if (flags >> 4) & 3 != 0:
        return _END, at, GPE_VERSION, 0, 0
    warnings = VXLAN_FLAG if flags & 0x08 == 0 else 0
    following = u8(buffer, at + 3) if flags & 0x04 != 0 else GPE_ETHERNET
    begin, found = at + 8, 0
    if following == GPE_INT_20 or following == GPE_INT_21 or following == GPE_INT_1:
        if limit - begin < 4:
            return _END, begin, SHIM_TRUNCATED, warnings, 0
        if following == GPE_INT_1:
            behind, found = begin + 4 * u8(buffer, begin + 2), FORMAT_INT_MD_1
        else:
            behind, found = begin + 4 + 4 * u8(buffer, begin + 1), FORMAT_INT_MD_2
        if behind > declared:
            return _END, begin, SHIM_BEYOND, warnings, found
        following = u8(buffer, begin + 3)
        begin = behind
    if following == GPE_ETHERNET:
        return _ETHERNET, begin, OK, warnings, found
    if following == GPE_IPV4:
        return _IPV4, begin, OK, warnings, found
    if following == GPE_IPV6:
        return _IPV6, begin, OK, warnings, found
    return _END, at, GPE_UNKNOWN, warnings, found


@kernel
def geneve(buffer: Buffer, at: int, limit: int) -> tuple[int, int, int, int, int, int]:
    """Geneve header and options: (next layer, where, status, warnings, INT formats found as bits, first broken option or 0)."""
    if limit - at < 8:
        return _END, at, GENEVE_TRUNCATED, 0, 0, 0
    first = u8(buffer, at)
    if first >> 6 != 0:
        return _END, at, GENEVE_VERSION, 0, 0, 0
    end = at + 8 + (first & 0x3F) * 4
    if end > limit:
        return _END, at, GENEVE_TRUNCATED, 0, 0, 0
    option = at + 8
    warnings, found, broken = 0, 0, 0
    for _ in range(MAXIMUM_OPTIONS):
        if option >= end:
            break
        following = option + 4 + (u8(buffer, option + 3) & 0x1F) * 4
        if following > end:
            broken = option
            break
        kind = u24(buffer, option)
        if kind == (GENEVE_CLASS_INT << 8 | 1):
            found |= 1 << FORMAT_INT_MD_2
        elif kind == (GENEVE_CLASS_INT << 8 | 3):
            found |= 1 << FORMAT_INT_MX
        if kind & 0x80 != 0:
            warnings |= GENEVE_CRITICAL
        option = following
    protocol = u16(buffer, at + 2)
    if protocol == ETHERTYPE_BRIDGED:
        return _ETHERNET, end, OK, warnings, found, broken
    if protocol == ETHERTYPE_IPV4:
        return _IPV4, end, OK, warnings, found, broken
    if protocol == ETHERTYPE_IPV6:
        return _IPV6, end, OK, warnings, found, broken
    return _END, at, GENEVE_UNKNOWN, warnings, found, broken
