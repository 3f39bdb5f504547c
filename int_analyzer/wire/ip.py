"""Network layer: IPv4 with options, IPv6 with extension headers, fragments (RFC 791, RFC 8200).

IOAM trace options of IPv6 and the MRI option of IPv4 are found on the way; where they stand is handed on, not read here.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import put
from int_analyzer.schema import STATUS_CODE, WARNING_BIT
from int_analyzer.wire import layer
from int_analyzer.wire.read import Buffer, u8, u16, u32, u64

PROTOCOL_IPV4, PROTOCOL_TCP, PROTOCOL_UDP, PROTOCOL_IPV6, PROTOCOL_GRE, PROTOCOL_ETHERNET, PROTOCOL_MPLS = 4, 6, 17, 41, 47, 143, 137
NEXT_HOP_BY_HOP, NEXT_ROUTING, NEXT_FRAGMENT, NEXT_AUTHENTICATION, NEXT_DESTINATION = 0, 43, 44, 51, 60

OPTION_PAD1, OPTION_IOAM, OPTION_IOAM_DIRECT = 0x00, 0x31, 0x11
OPTION_MRI = 31
MAXIMUM_OPTIONS = 64

OK = STATUS_CODE["ok"]
NOT_UDP = STATUS_CODE["not-udp"]
FRAGMENT = STATUS_CODE["fragment"]
IPV4_TRUNCATED = STATUS_CODE["ipv4-truncated"]
IPV4_HEADER_LENGTH = STATUS_CODE["ipv4-header-length"]
IPV4_TOTAL_LENGTH = STATUS_CODE["ipv4-total-length"]
IPV6_TRUNCATED = STATUS_CODE["ipv6-truncated"]
IPV6_VERSION = STATUS_CODE["ipv6-version"]
IPV6_EXTENSION_TRUNCATED = STATUS_CODE["ipv6-extension-truncated"]
IPV6_EXTENSION_LIMIT = STATUS_CODE["ipv6-extension-limit"]
IPV6_OPTION_LENGTH = STATUS_CODE["ipv6-option-length"]
MRI_LENGTH = STATUS_CODE["mri-length"]

TOTAL_ZERO = WARNING_BIT["ipv4-total-length-zero"]
BEYOND = WARNING_BIT["ip-length-beyond-packet"]
SHORT = WARNING_BIT["ip-length-short"]
FRAGMENT_FIRST = WARNING_BIT["fragment-first"]

_END, _IPV4, _IPV6, _UDP, _TCP, _GRE = layer.END, layer.IPV4, layer.IPV6, layer.UDP, layer.TCP, layer.GRE
_MPLS, _ETHERNET = layer.MPLS, layer.ETHERNET
_MAXIMUM_EXTENSIONS = layer.MAXIMUM_EXTENSIONS


@inlined
def of_protocol(protocol: int) -> int:
    """The layer that an IP protocol number announces, or END."""
    if protocol == PROTOCOL_UDP:
        return _UDP
    if protocol == PROTOCOL_TCP:
        return _TCP
    if protocol == PROTOCOL_GRE:
        return _GRE
    if protocol == PROTOCOL_IPV4:
        return _IPV4
    if protocol == PROTOCOL_IPV6:
        return _IPV6
    if protocol == PROTOCOL_MPLS:
        return _MPLS
    if protocol == PROTOCOL_ETHERNET:
        return _ETHERNET
    return _END


@inlined
def ipv4(buffer: Buffer, at: int, limit: int, declared: int, columns: Any, row: int) -> tuple[int, int, int, int, int, int, int]:
    """IPv4 header: (next layer, where, limit, declared, status, warnings, where an MRI option begins or 0). Fills the packet's IP columns."""
    if limit - at < 20:
        return _END, at, limit, declared, IPV4_TRUNCATED, 0, 0
    first = u8(buffer, at)
    header = (first & 0xF) * 4
    if first >> 4 != 4 or header < 20:
        return _END, at, limit, declared, IPV4_HEADER_LENGTH, 0, 0
    total = u16(buffer, at + 2)
    warnings = 0
    end = at + total
    if total == 0:
        warnings |= TOTAL_ZERO
        end = declared if declared < layer.FAR else limit
    elif total < header:
        return _END, at, limit, declared, IPV4_TOTAL_LENGTH, 0, 0
    elif end > declared:
        warnings |= BEYOND
    elif end < declared and declared < layer.FAR:
        warnings |= SHORT
    service = u8(buffer, at + 1)
    fragment = u16(buffer, at + 6)
    protocol = u8(buffer, at + 9)
    put(columns, "packets.ip_version", row, 4)
    put(columns, "packets.src_hi", row, 0)
    put(columns, "packets.src_lo", row, u32(buffer, at + 12))
    put(columns, "packets.dst_hi", row, 0)
    put(columns, "packets.dst_lo", row, u32(buffer, at + 16))
    put(columns, "packets.protocol", row, protocol)
    put(columns, "packets.dscp", row, service >> 2)
    put(columns, "packets.ecn", row, service & 3)
    put(columns, "packets.ttl", row, u8(buffer, at + 8))
    put(columns, "packets.ip_id", row, u16(buffer, at + 4))
    put(columns, "packets.ip_bytes", row, total)
    if end < limit:
        limit = end
    if at + header > limit:
        return _END, at, limit, end, IPV4_TRUNCATED, warnings, 0
    mri = 0
    if header > 20:
        mri = _mri_option(buffer, at + 20, at + header)
    if fragment & 0x1FFF != 0:
        return _END, at, limit, end, FRAGMENT, warnings, mri
    if fragment & 0x2000 != 0:
        warnings |= FRAGMENT_FIRST
    following = of_protocol(protocol)
    return following, at + header, limit, end, (OK if following != _END else NOT_UDP), warnings, mri


@kernel
def _mri_option(buffer: Buffer, at: int, end: int) -> int:
    """Where the MRI option of the P4 tutorials begins, or 0."""
    for _ in range(40):
        if at >= end:
            break
        kind = u8(buffer, at)
        if kind == 0:
            break
        if kind == 1:
            at += 1
            continue
        if end - at < 2:
            break
        length = u8(buffer, at + 1)
        if length < 2 or at + length > end:
            break
        if kind & 0x1F == OPTION_MRI and length >= 4:
            return at
        at += length
    return 0


@inlined
def ipv6(buffer: Buffer, at: int, limit: int, declared: int, columns: Any, row: int) -> tuple[int, int, int, int, int, int]:
    """IPv6 fixed header: (next header or −1, where it begins, limit, declared, status, warnings). Fills the packet's IP columns."""
    if limit - at < 40:
        return -1, at, limit, declared, IPV6_TRUNCATED, 0
    word = u32(buffer, at)
    if word >> 28 != 6:
        return -1, at, limit, declared, IPV6_VERSION, 0
    payload = u16(buffer, at + 4)
    warnings = 0
    end = at + 40 + payload
    following = u8(buffer, at + 6)
    if payload == 0 and following == NEXT_HOP_BY_HOP:
        end = declared if declared < layer.FAR else limit  # jumbogram (RFC 2675): its length stands in an option
    elif end > declared:
        warnings |= BEYOND
    elif end < declared and declared < layer.FAR:
        warnings |= SHORT
    service = (word >> 20) & 0xFF
    put(columns, "packets.ip_version", row, 6)
    put(columns, "packets.src_hi", row, u64(buffer, at + 8))
    put(columns, "packets.src_lo", row, u64(buffer, at + 16))
    put(columns, "packets.dst_hi", row, u64(buffer, at + 24))
    put(columns, "packets.dst_lo", row, u64(buffer, at + 32))
    put(columns, "packets.protocol", row, following)
    put(columns, "packets.dscp", row, service >> 2)
    put(columns, "packets.ecn", row, service & 3)
    put(columns, "packets.ttl", row, u8(buffer, at + 7))
    put(columns, "packets.ip_id", row, 0)
    put(columns, "packets.ip_bytes", row, 40 + payload)
    if end < limit:
        limit = end
    return following, at + 40, limit, end, OK, warnings


@kernel
def extensions(buffer: Buffer, at: int, limit: int, protocol: int) -> tuple[int, int, int, int, int, int, int]:
    """Extension headers: (next layer, where, status, warnings, protocol, IOAM option or 0, its end).

    The IOAM option found first with trace data is handed on; it is read by formats/ioam.
    """
    warnings = 0
    ioam = 0
    ioam_end = 0
    for _ in range(_MAXIMUM_EXTENSIONS):
        hop_or_destination = protocol == NEXT_HOP_BY_HOP or protocol == NEXT_DESTINATION
        if not hop_or_destination and protocol != NEXT_ROUTING and protocol != NEXT_FRAGMENT and protocol != NEXT_AUTHENTICATION:
            following = of_protocol(protocol)
            return following, at, (OK if following != _END else NOT_UDP), warnings, protocol, ioam, ioam_end
        if limit - at < 8:
            return _END, at, IPV6_EXTENSION_TRUNCATED, warnings, protocol, ioam, ioam_end
        length = (u8(buffer, at + 1) + 1) * 8
        if protocol == NEXT_FRAGMENT:
            length = 8
            fragment = u16(buffer, at + 2)
            if fragment >> 3 != 0:
                return _END, at, FRAGMENT, warnings, u8(buffer, at), ioam, ioam_end
            if fragment & 1 != 0:
                warnings |= FRAGMENT_FIRST
        elif protocol == NEXT_AUTHENTICATION:
            length = (u8(buffer, at + 1) + 2) * 4
        if hop_or_destination:
            # Options are walked as far as they are there, so that a cut trace still gives its most recent nodes.
            end = at + length
            option = at + 2
            for _ in range(MAXIMUM_OPTIONS):
                if option >= end or option >= limit:
                    break
                kind = u8(buffer, option)
                if kind == OPTION_PAD1:
                    option += 1
                    continue
                if limit - option < 2:
                    break
                option_end = option + 2 + u8(buffer, option + 1)
                if option_end > end:
                    return _END, option, IPV6_OPTION_LENGTH, warnings, protocol, ioam, ioam_end
                if kind == OPTION_IOAM or kind == OPTION_IOAM_DIRECT:
                    if ioam == 0 or (limit - option >= 4 and u8(buffer, option + 3) == 0):
                        ioam = option
                        ioam_end = option_end
                option = option_end
        if at + length > limit:
            return _END, at, IPV6_EXTENSION_TRUNCATED, warnings, protocol, ioam, ioam_end
        protocol = u8(buffer, at)
        at += length
    return _END, at, IPV6_EXTENSION_LIMIT, warnings, protocol, ioam, ioam_end
