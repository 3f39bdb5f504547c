"""Link layer: Ethernet with VLAN, QinQ and CSIG tags, Linux cooked captures, raw IP, MPLS (IEEE 802.1Q, RFC 3032)."""

from __future__ import annotations

from int_analyzer._jit import inlined, kernel
from int_analyzer.schema import ABSENT16, STATUS_CODE
from int_analyzer.wire import layer
from int_analyzer.wire.read import Buffer, u8, u16, u32

LINK_RAW_OLD = (12, 14)
"""Numbers of raw IP in odd files."""

LINK_ETHERNET, LINK_RAW, LINK_SLL, LINK_IPV4, LINK_IPV6, LINK_SLL2 = 1, 101, 113, 228, 229, 276

ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_MPLS, ETHERTYPE_MPLS_MULTICAST = 0x0800, 0x86DD, 0x8847, 0x8848
ETHERTYPE_VLAN, ETHERTYPE_QINQ, ETHERTYPE_QINQ_OLD, ETHERTYPE_QINQ_OTHER, ETHERTYPE_CSIG = 0x8100, 0x88A8, 0x9100, 0x9200, 0x9900
ETHERTYPE_BRIDGED = 0x6558

OK = STATUS_CODE["ok"]
NOT_IP = STATUS_CODE["not-ip"]
LINK_UNKNOWN = STATUS_CODE["link-type-unknown"]
LINK_TRUNCATED = STATUS_CODE["link-truncated"]
VLAN_LIMIT = STATUS_CODE["vlan-limit"]
MPLS_TRUNCATED = STATUS_CODE["mpls-truncated"]
MPLS_LIMIT = STATUS_CODE["mpls-limit"]
MPLS_UNKNOWN = STATUS_CODE["mpls-payload-unknown"]

_END, _ETHERNET, _IPV4, _IPV6, _MPLS = layer.END, layer.ETHERNET, layer.IPV4, layer.IPV6, layer.MPLS
_MAXIMUM_TAGS, _MAXIMUM_LABELS = layer.MAXIMUM_TAGS, layer.MAXIMUM_LABELS


@inlined
def of_ethertype(ethertype: int) -> int:
    """The layer that an EtherType announces, or END."""
    if ethertype == ETHERTYPE_IPV4:
        return _IPV4
    if ethertype == ETHERTYPE_IPV6:
        return _IPV6
    if ethertype == ETHERTYPE_MPLS or ethertype == ETHERTYPE_MPLS_MULTICAST:
        return _MPLS
    return _END


@inlined
def tags(buffer: Buffer, at: int, limit: int, ethertype: int) -> tuple[int, int, int, int, int]:
    """Skip VLAN, QinQ and CSIG tags behind an EtherType: (next layer, where, status, VLAN id or ABSENT16, CSIG tag or ABSENT16)."""
    vlan, csig = ABSENT16, ABSENT16
    for count in range(_MAXIMUM_TAGS + 1):
        vlan_tag = (
            ethertype == ETHERTYPE_VLAN
            or ethertype == ETHERTYPE_QINQ
            or ethertype == ETHERTYPE_QINQ_OLD
            or ethertype == ETHERTYPE_QINQ_OTHER
        )
        if not vlan_tag and ethertype != ETHERTYPE_CSIG:
            following = of_ethertype(ethertype)
            return following, at, (OK if following != _END else NOT_IP), vlan, csig
        if count == _MAXIMUM_TAGS:
            break
        if limit - at < 4:
            return _END, at, LINK_TRUNCATED, vlan, csig
        if vlan_tag:
            vlan = u16(buffer, at) & 0xFFF
        elif csig == ABSENT16:
            csig = u16(buffer, at)
        ethertype = u16(buffer, at + 2)
        at += 4
    return _END, at, VLAN_LIMIT, vlan, csig


@inlined
def ethernet(buffer: Buffer, at: int, limit: int) -> tuple[int, int, int, int, int]:
    """Ethernet header and its tags: (next layer, where, status, VLAN id or ABSENT16, CSIG tag or ABSENT16)."""
    if limit - at < 14:
        return _END, at, LINK_TRUNCATED, ABSENT16, ABSENT16
    return tags(buffer, at + 14, limit, u16(buffer, at + 12))


@kernel
def link(buffer: Buffer, at: int, limit: int, link_type: int) -> tuple[int, int, int, int, int]:
    """Header of a link type other than Ethernet: (next layer, where, status, VLAN id or ABSENT16, CSIG tag or ABSENT16)."""
    if link_type == LINK_SLL:
        if limit - at < 16:
            return _END, at, LINK_TRUNCATED, ABSENT16, ABSENT16
        return tags(buffer, at + 16, limit, u16(buffer, at + 14))
    if link_type == LINK_SLL2:
        if limit - at < 20:
            return _END, at, LINK_TRUNCATED, ABSENT16, ABSENT16
        return tags(buffer, at + 20, limit, u16(buffer, at))
    if link_type == LINK_IPV4:
        return _IPV4, at, OK, ABSENT16, ABSENT16
    if link_type == LINK_IPV6:
        return _IPV6, at, OK, ABSENT16, ABSENT16
    if link_type == LINK_RAW or link_type == 12 or link_type == 14:
        if limit - at < 1:
            return _END, at, LINK_TRUNCATED, ABSENT16, ABSENT16
        version = u8(buffer, at) >> 4
        if version == 4:
            return _IPV4, at, OK, ABSENT16, ABSENT16
        if version == 6:
            return _IPV6, at, OK, ABSENT16, ABSENT16
        return _END, at, NOT_IP, ABSENT16, ABSENT16
    return _END, at, LINK_UNKNOWN, ABSENT16, ABSENT16


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
