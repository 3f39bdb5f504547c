"""Link layer: Ethernet with VLAN, QinQ and CSIG tags, Linux cooked captures, raw IP, MPLS (IEEE 802.1Q, RFC 3032,
draft-ravi-ippm-csig-01)."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.schema import ABSENT16
from int_analyzer.settings import CSIG_TYPE, CSIG_WIDE_TYPE
from int_analyzer.status import STATUS_CODE
from int_analyzer.wire import layer
from int_analyzer.wire.read import Buffer, u8, u16, u32, u48

LINK_RAW_OLD = (12, 14)
"""Numbers of raw IP in odd files."""

LINK_ETHERNET, LINK_RAW, LINK_SLL, LINK_IPV4, LINK_IPV6, LINK_SLL2 = 1, 101, 113, 228, 229, 276

ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_MPLS, ETHERTYPE_MPLS_MULTICAST = 0x0800, 0x86DD, 0x8847, 0x8848
ETHERTYPE_VLAN, ETHERTYPE_QINQ, ETHERTYPE_QINQ_OLD, ETHERTYPE_QINQ_OTHER = 0x8100, 0x88A8, 0x9100, 0x9200
ETHERTYPE_BRIDGED, ETHERTYPE_NSH = 0x6558, 0x894F
ETHERTYPE_REPORT_IPV4, ETHERTYPE_REPORT_MPLS = 0xBF04, 0xBF05
"""Recirculated reports of fabric-tna."""
CSIG_WIDE = 1 << 48
"""Marks a wide CSIG tag among compact ones."""
ABSENT_CSIG = -1

OK = STATUS_CODE["ok"]
NOT_IP = STATUS_CODE["not-ip"]
LINK_UNKNOWN = STATUS_CODE["link-type-unknown"]
LINK_TRUNCATED = STATUS_CODE["link-truncated"]
VLAN_LIMIT = STATUS_CODE["vlan-limit"]
MPLS_TRUNCATED = STATUS_CODE["mpls-truncated"]
MPLS_LIMIT = STATUS_CODE["mpls-limit"]
MPLS_UNKNOWN = STATUS_CODE["mpls-payload-unknown"]

_END, _ETHERNET, _IPV4, _IPV6, _MPLS, _NSH = layer.END, layer.ETHERNET, layer.IPV4, layer.IPV6, layer.MPLS, layer.NSH
_MAXIMUM_TAGS, _MAXIMUM_LABELS = layer.MAXIMUM_TAGS, layer.MAXIMUM_LABELS


@inlined
def of_ethertype(ethertype: int) -> int:
    """The layer that an EtherType announces, or END."""
    if ethertype == ETHERTYPE_IPV4:
        return _IPV4
    if ethertype == ETHERTYPE_IPV6:
        return _IPV6
    if ethertype == ETHERTYPE_MPLS or ethertype == ETHERTYPE_MPLS_MULTICAST or ethertype == ETHERTYPE_REPORT_MPLS:
        return _MPLS
    if ethertype == ETHERTYPE_NSH:
        return _NSH
    return _IPV4 if ethertype == ETHERTYPE_REPORT_IPV4 else _END


@inlined
def tags(buffer: Buffer, at: int, limit: int, ethertype: int, settings: Any) -> tuple[int, int, int, int, int]:
    """Skip VLAN, QinQ and CSIG tags behind an EtherType: (next layer, where, status, VLAN id or ABSENT16, CSIG tag or ABSENT_CSIG)."""
    vlan, csig = ABSENT16, ABSENT_CSIG
    for count in range(_MAXIMUM_TAGS + 1):
        if ethertype == ETHERTYPE_IPV4:
            return _IPV4, at, OK, vlan, csig
        size = 4
        if (
            ethertype == ETHERTYPE_VLAN
            or ethertype == ETHERTYPE_QINQ
            or ethertype == ETHERTYPE_QINQ_OLD
            or ethertype == ETHERTYPE_QINQ_OTHER
        ):
            tag, signal = True, False
        else:
            tag, signal = False, ethertype == settings.numbers[CSIG_TYPE]
            if not signal and ethertype == settings.numbers[CSIG_WIDE_TYPE]:
                size, signal = 8, True
            if not signal:
                following = of_ethertype(ethertype)
                return following, at, (OK if following != _END else NOT_IP), vlan, csig
        if count == _MAXIMUM_TAGS:
            break
        if limit - at < size:
            return _END, at, LINK_TRUNCATED, vlan, csig
        if tag:
            vlan = u16(buffer, at) & 0xFFF
        elif csig == ABSENT_CSIG:
            csig = u16(buffer, at) if size == 4 else CSIG_WIDE | u48(buffer, at)
        ethertype = u16(buffer, at + size - 2)
        at += size
    return _END, at, VLAN_LIMIT, vlan, csig


@inlined
def ethernet(buffer: Buffer, at: int, limit: int, settings: Any) -> tuple[int, int, int, int, int]:
    """Ethernet header and its tags: (next layer, where, status, VLAN id or ABSENT16, CSIG tag or ABSENT_CSIG)."""
    if limit - at < 14:
        return _END, at, LINK_TRUNCATED, ABSENT16, ABSENT_CSIG
    return tags(buffer, at + 14, limit, u16(buffer, at + 12), settings)


@kernel
def link(buffer: Buffer, at: int, limit: int, link_type: int, settings: Any) -> tuple[int, int, int, int, int]:
    """Header of a link type other than Ethernet: (next layer, where, status, VLAN id or ABSENT16, CSIG tag or ABSENT_CSIG)."""
    if link_type == LINK_SLL:
        if limit - at < 16:
            return _END, at, LINK_TRUNCATED, ABSENT16, ABSENT_CSIG
        return tags(buffer, at + 16, limit, u16(buffer, at + 14), settings)
    if link_type == LINK_SLL2:
        if limit - at < 20:
            return _END, at, LINK_TRUNCATED, ABSENT16, ABSENT_CSIG
        return tags(buffer, at + 20, limit, u16(buffer, at), settings)
    if link_type == LINK_IPV4:
        return _IPV4, at, OK, ABSENT16, ABSENT_CSIG
    if link_type == LINK_IPV6:
        return _IPV6, at, OK, ABSENT16, ABSENT_CSIG
    if link_type == LINK_RAW or link_type == 12 or link_type == 14:
        if limit - at < 1:
            return _END, at, LINK_TRUNCATED, ABSENT16, ABSENT_CSIG
        version = u8(buffer, at) >> 4
        if version == 4:
            return _IPV4, at, OK, ABSENT16, ABSENT_CSIG
        if version == 6:
            return _IPV6, at, OK, ABSENT16, ABSENT_CSIG
        return _END, at, NOT_IP, ABSENT16, ABSENT_CSIG
    return _END, at, LINK_UNKNOWN, ABSENT16, ABSENT_CSIG


@kernel
def mpls(buffer: Buffer, at: int, limit: int) -> tuple[int, int, int]:
    """Label stack: (next layer, where, status). What follows is told by its first nibble and then checked by that layer."""
    for _ in range(_MAXIMUM_LABELS):
        if limit - at < 4:
            return _END, at, MPLS_TRUNCATED
        bottom = u32(buffer, at) & 0x100
        at += 4
        if bottom != 0:
            if limit - at < 1:
                return _END, at, MPLS_TRUNCATED
            first = u8(buffer, at)
            if first >> 4 == 4 and first & 0xF >= 5:
                return _IPV4, at, OK
            if first >> 4 == 6:
                return _IPV6, at, OK
            if first >> 4 == 0:
                return _ETHERNET, at + 4, OK
            return _END, at, MPLS_UNKNOWN
    return _END, at, MPLS_LIMIT
