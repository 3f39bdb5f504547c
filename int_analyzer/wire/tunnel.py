"""Tunnels: GRE (RFC 2784, 2890), VXLAN (RFC 7348), VXLAN-GPE (draft -12), Geneve (RFC 8926), NSH (RFC 8300)."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.settings import GPE_ETHERNET, GPE_IPV4, GPE_IPV6, GPE_NSH
from int_analyzer.status import STATUS_CODE, WARNING_BIT
from int_analyzer.wire import layer
from int_analyzer.wire.ethernet import ETHERTYPE_BRIDGED, ETHERTYPE_IPV4, ETHERTYPE_IPV6, of_ethertype
from int_analyzer.wire.read import Buffer, u8, u16

GRE_ERSPAN, GRE_ERSPAN_3 = 0x88BE, 0x22EB
GENEVE_CLASS_INT = 0x0103
"""IANA: INT (P4.org INT v2.1 §5.7.4)."""

GPE_PROTOCOL_ETHERNET = 3
NSH_IPV4, NSH_IPV6, NSH_ETHERNET, NSH_NSH, NSH_MPLS, NSH_IOAM = range(1, 7)
NSH_FIXED_CONTEXT, NSH_FIXED_WORDS = 1, 6
"""Metadata type 1 and the length that goes with it (RFC 8300 §2.4)."""
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
GENEVE_UNKNOWN = STATUS_CODE["geneve-protocol-unknown"]
NSH_TRUNCATED = STATUS_CODE["nsh-truncated"]
NSH_VERSION = STATUS_CODE["nsh-version"]
NSH_LENGTH = STATUS_CODE["nsh-length"]

VXLAN_FLAG = WARNING_BIT["vxlan-flag"]
GENEVE_CRITICAL = WARNING_BIT["geneve-critical"]

_END, _ETHERNET, _IPV4, _IPV6, _MPLS = layer.END, layer.ETHERNET, layer.IPV4, layer.IPV6, layer.MPLS
_ERSPAN, _INT, _NSH = layer.ERSPAN, layer.INT, layer.NSH


@kernel
def gre(buffer: Buffer, at: int, limit: int, int_protocols: Any) -> tuple[int, int, int, int, int]:
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
    for i in range(int_protocols.shape[0]):
        if int_protocols[i] == protocol:
            return _INT, at + header, OK, protocol, sequence
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
def vxlan_gpe(buffer: Buffer, at: int, limit: int) -> tuple[int, int, int, int]:
    """VXLAN-GPE header: (next protocol or −1, where, status, warnings). Without the P bit it is plain VXLAN."""
    if limit - at < 8:
        return -1, at, VXLAN_TRUNCATED, 0
    flags = u8(buffer, at)
    if (flags >> 4) & 3 != 0:
        return -1, at, GPE_VERSION, 0
    warnings = VXLAN_FLAG if flags & 0x08 == 0 else 0
    return u8(buffer, at + 3) if flags & 0x04 != 0 else GPE_PROTOCOL_ETHERNET, at + 8, OK, warnings


@inlined
def of_gpe_role(role: int) -> int:
    """The layer that a VXLAN-GPE next protocol of this role (settings.gpe_roles) announces, or END."""
    if role == GPE_ETHERNET:
        return _ETHERNET
    if role == GPE_IPV4:
        return _IPV4
    if role == GPE_NSH:
        return _NSH
    return _IPV6 if role == GPE_IPV6 else _END


@kernel
def geneve(buffer: Buffer, at: int, limit: int) -> tuple[int, int, int]:
    """Geneve header with all its options there: (next layer or END, where its payload begins, status)."""
    if limit - at < 8:
        return _END, at, GENEVE_TRUNCATED
    first = u8(buffer, at)
    if first >> 6 != 0:
        return _END, at, GENEVE_VERSION
    end = at + 8 + (first & 0x3F) * 4
    if end > limit:
        return _END, at, GENEVE_TRUNCATED
    protocol = u16(buffer, at + 2)
    if protocol == ETHERTYPE_BRIDGED:
        return _ETHERNET, end, OK
    if protocol == ETHERTYPE_IPV4:
        return _IPV4, end, OK
    if protocol == ETHERTYPE_IPV6:
        return _IPV6, end, OK
    return _END, end, GENEVE_UNKNOWN


@kernel
def nsh(buffer: Buffer, at: int, limit: int) -> tuple[int, int, int]:
    """NSH with its metadata: (next protocol or −1, where, status)."""
    if limit - at < 8:
        return -1, at, NSH_TRUNCATED
    if u8(buffer, at) >> 6 != 0:
        return -1, at, NSH_VERSION
    words = u8(buffer, at + 1) & 0x3F
    if words < 2 or (u8(buffer, at + 2) & 0xF == NSH_FIXED_CONTEXT and words != NSH_FIXED_WORDS):
        return -1, at, NSH_LENGTH
    if at + 4 * words > limit:
        return -1, at, NSH_TRUNCATED
    return u8(buffer, at + 3), at + 4 * words, OK


@inlined
def of_nsh_protocol(protocol: int) -> int:
    """The layer of an NSH next protocol, or END."""
    if protocol == NSH_ETHERNET:
        return _ETHERNET
    if protocol == NSH_IPV4:
        return _IPV4
    if protocol == NSH_IPV6:
        return _IPV6
    if protocol == NSH_MPLS:
        return _MPLS
    return _NSH if protocol == NSH_NSH else _END
