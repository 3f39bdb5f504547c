"""Network layer: IPv4 with options, IPv6 with extension headers, fragments (RFC 791, RFC 8200).

IOAM trace options of IPv6 and the MRI option of IPv4 are found on the way; where they stand is handed on, not read here.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import put
from int_analyzer.status import STATUS_CODE, WARNING_BIT
from int_analyzer.wire import layer
from int_analyzer.wire.read import Buffer, u8, u16, u32, u64

PROTOCOL_IPV4, PROTOCOL_TCP, PROTOCOL_UDP, PROTOCOL_IPV6, PROTOCOL_GRE = 4, 6, 17, 41, 47
IPV6_BYTES = 40
NEXT_HOP_BY_HOP, NEXT_ROUTING, NEXT_FRAGMENT, NEXT_DESTINATION = 0, 43, 44, 60

OPTION_PAD1, OPTION_IOAM, OPTION_IOAM_DIRECT = 0x00, 0x31, 0x11
OPTION_MRI = 31
MAXIMUM_OPTIONS = 2048
"""More than an extension header can hold: only a bound of the loop."""

OK = STATUS_CODE["ok"]
NOT_UDP = STATUS_CODE["not-udp"]
FRAGMENT = STATUS_CODE["fragment"]
IPV4_TRUNCATED = STATUS_CODE["ipv4-truncated"]
IPV4_HEADER_LENGTH = STATUS_CODE["ipv4-header-length"]
IPV4_TOTAL_LENGTH = STATUS_CODE["ipv4-total-length"]
IPV6_TRUNCATED = STATUS_CODE["ipv6-truncated"]
IPV6_VERSION = STATUS_CODE["ipv6-version"]
IPV6_EXTENSION_TRUNCATED = STATUS_CODE["ipv6-extension-truncated"]
IPV6_OPTION_LENGTH = STATUS_CODE["ipv6-option-length"]

TOTAL_ZERO = WARNING_BIT["ipv4-total-length-zero"]
BEYOND = WARNING_BIT["ip-length-beyond-packet"]
SHORT = WARNING_BIT["ip-length-short"]
FRAGMENT_FIRST = WARNING_BIT["fragment-first"]

_END, _IPV4, _IPV6, _UDP, _TCP, _GRE = layer.END, layer.IPV4, layer.IPV6, layer.UDP, layer.TCP, layer.GRE


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
    return _END


@inlined
def ipv4(buffer: Buffer, at: int, limit: int, declared: int, columns: Any, row: int) -> tuple[int, int, int, int, int, int, int, int]:
    """IPv4 header and options: (next layer, where, limit, declared, status, warnings, options' length, whether it is a first fragment).

    Fills the packet's IP columns once the header has passed its checks. `where` is what could not be read if the status is not OK.
    """
    if limit - at < 20:
        return _END, at, limit, declared, IPV4_TRUNCATED, 0, 0, 0
    first = u8(buffer, at)
    header = (first & 0xF) * 4
    if first >> 4 != 4 or header < 20:
        return _END, at, limit, declared, IPV4_HEADER_LENGTH, 0, 0, 0
    if limit - at < header:
        return _END, at, limit, declared, IPV4_TRUNCATED, 0, 0, 0
    total = u16(buffer, at + 2)
    warnings = 0
    end = at + total
    if total == 0:
        warnings |= TOTAL_ZERO
        end = declared
    elif total < header:
        return _END, at, limit, declared, IPV4_TOTAL_LENGTH, 0, 0, 0
    elif end > declared:
        warnings |= BEYOND
    elif end < declared:
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
    at += header
    if fragment & 0x1FFF != 0:
        return _END, at, limit, end, FRAGMENT, warnings, header - 20, 0
    first_fragment = 0
    if fragment & 0x2000 != 0:
        warnings |= FRAGMENT_FIRST
        first_fragment = 1
    following = of_protocol(protocol)
    return following, at, limit, end, (OK if following != _END else NOT_UDP), warnings, header - 20, first_fragment


@kernel
def mri_option(buffer: Buffer, at: int, end: int) -> tuple[int, int, int]:
    """MRI options of the P4 tutorials among IPv4 options: (whether there are, the first wrong one or 0, the first right one or 0)."""
    found, wrong, right = 0, 0, 0
    for _ in range(40):
        if at >= end:
            break
        kind = u8(buffer, at)
        if kind == 0:
            break
        if kind == 1:
            at += 1
            continue
        length = u8(buffer, at + 1) if at + 1 < end else 0
        if kind & 0x1F == OPTION_MRI:
            found = 1
            if length < 4 or at + length > end or length != 4 + 8 * u16(buffer, at + 2):
                if wrong == 0:
                    wrong = at
            elif right == 0:
                right = at
        if length < 2:
            break
        at += length
    return found, wrong, right


@inlined
def ipv6(buffer: Buffer, at: int, limit: int, declared: int, columns: Any, row: int) -> tuple[int, int, int, int, int, int]:
    """IPv6 fixed header: (next header or −1, where it begins, limit, declared, status, warnings). Fills the packet's IP columns."""
    if limit - at < IPV6_BYTES:
        return -1, at, limit, declared, IPV6_TRUNCATED, 0
    word = u32(buffer, at)
    if word >> 28 != 6:
        return -1, at, limit, declared, IPV6_VERSION, 0
    payload = u16(buffer, at + 4)
    warnings = 0
    end = at + 40 + payload
    following = u8(buffer, at + 6)
    if payload == 0:
        end = declared  # jumbogram (RFC 2675) or segmentation offload
    elif end > declared:
        warnings |= BEYOND
    elif end < declared:
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


@inlined
def is_extension(protocol: int) -> bool:
    """Whether an IPv6 next header is an extension header that is read."""
    return protocol == NEXT_HOP_BY_HOP or protocol == NEXT_DESTINATION or protocol == NEXT_ROUTING or protocol == NEXT_FRAGMENT


@kernel
def extension(buffer: Buffer, at: int, limit: int, declared: int, protocol: int) -> tuple[int, int, int, int]:
    """One extension header: (next header, end of the header, status, whether it marks a first fragment).

    A header that runs past the captured bytes only (not past the declared end) is TRUNCATED with its end known: its options may be walked.
    """
    if limit - at < (8 if protocol == NEXT_FRAGMENT else 2):
        return protocol, at, IPV6_EXTENSION_TRUNCATED, 0
    length = 8 if protocol == NEXT_FRAGMENT else (u8(buffer, at + 1) + 1) * 8
    if at + length > declared:
        return protocol, at, IPV6_EXTENSION_TRUNCATED, 0
    if at + length > limit:
        return protocol, at + length, IPV6_EXTENSION_TRUNCATED, 0
    following = u8(buffer, at)
    if protocol == NEXT_FRAGMENT:
        fragment = u16(buffer, at + 2)
        if fragment & 0xFFF8 != 0:
            return following, at + length, FRAGMENT, 0
        return following, at + length, OK, fragment & 1
    return following, at + length, OK, 0


@kernel
def next_ioam_option(buffer: Buffer, at: int, end: int, limit: int) -> tuple[int, int, int]:
    """Walk options from `at`: (where an IOAM option begins or 0, where to go on, status). `end` is the header's, `limit` what is there."""
    for _ in range(MAXIMUM_OPTIONS):
        if at >= end or at >= limit:
            break
        kind = u8(buffer, at)
        if kind == OPTION_PAD1:
            at += 1
            continue
        if at + 2 > end:
            return 0, at, IPV6_OPTION_LENGTH
        if at + 2 > limit:
            break
        following = at + 2 + u8(buffer, at + 1)
        if following > end:
            return 0, at, IPV6_OPTION_LENGTH
        if kind == OPTION_IOAM or kind == OPTION_IOAM_DIRECT:
            return at, following, OK
        at = following
    return 0, end, OK
