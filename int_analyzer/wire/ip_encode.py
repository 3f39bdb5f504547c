"""Writing of IPv4, IPv6 and UDP headers (RFC 791, RFC 8200, RFC 768)."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.wire.checksum import put_ipv4_checksum
from int_analyzer.wire.ip import PROTOCOL_UDP
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u8, put_u16, put_u32, put_u64

IPV4_BYTES, IPV6_BYTES, UDP_BYTES = 20, 40, 8
OUTER_TTL = 64
_DONT_FRAGMENT = 0x4000


@kernel
def put_ipv4(buffer: Buffer, at: int, options: int, following: int, end: int, columns: Any, row: int) -> None:
    """The packet's IPv4 header with `options` bytes of options that are already written, `following` behind it, reaching to `end`."""
    service = get(columns, "packets.dscp", row) << 2 | get(columns, "packets.ecn", row)
    life, source, destination = get(columns, "packets.ttl", row), get(columns, "packets.src_lo", row), get(columns, "packets.dst_lo", row)
    _ipv4(buffer, at, options, end, service, get(columns, "packets.ip_id", row), life, following, source, destination)


@kernel
def put_outer_ipv4(buffer: Buffer, at: int, end: int, protocol: int, source: int, destination: int) -> None:
    """An IPv4 header that a switch puts in front of what it sends to a collector."""
    _ipv4(buffer, at, 0, end, 0, 0, OUTER_TTL, protocol, source, destination)


@kernel
def _ipv4(
    buffer: Buffer,
    at: int,
    options: int,
    end: int,
    service: int,
    identification: int,
    life: int,
    protocol: int,
    source: int,
    destination: int,
) -> None:
    header = IPV4_BYTES + options
    put_u8(buffer, at, 0x40 | header >> 2)
    put_u8(buffer, at + 1, service)
    put_u16(buffer, at + 2, end - at)
    put_u16(buffer, at + 4, identification)
    put_u16(buffer, at + 6, _DONT_FRAGMENT)
    put_u8(buffer, at + 8, life)
    put_u8(buffer, at + 9, protocol)
    put_u32(buffer, at + 12, source)
    put_u32(buffer, at + 16, destination)
    put_ipv4_checksum(buffer, at, header)


@kernel
def put_ipv6(buffer: Buffer, at: int, following: int, end: int, columns: Any, row: int) -> None:
    """The packet's IPv6 header, `following` the next header; the packet reaches to `end`."""
    service = get(columns, "packets.dscp", row) << 2 | get(columns, "packets.ecn", row)
    put_u32(buffer, at, 6 << 28 | service << 20)
    put_u16(buffer, at + 4, end - at - IPV6_BYTES)
    put_u8(buffer, at + 6, following)
    put_u8(buffer, at + 7, get(columns, "packets.ttl", row))
    put_u64(buffer, at + 8, get(columns, "packets.src_hi", row))
    put_u64(buffer, at + 16, get(columns, "packets.src_lo", row))
    put_u64(buffer, at + 24, get(columns, "packets.dst_hi", row))
    put_u64(buffer, at + 32, get(columns, "packets.dst_lo", row))


@kernel
def put_udp(buffer: Buffer, at: int, end: int, source: int, destination: int) -> None:
    """A UDP header without a checksum, as RoCEv2 and switches send it in IPv4; the datagram reaches to `end`."""
    put_u16(buffer, at, source)
    put_u16(buffer, at + 2, destination)
    put_u16(buffer, at + 4, end - at)
    put_u16(buffer, at + 6, 0)


@kernel
def put_outer_udp(buffer: Buffer, at: int, end: int, source: int, destination: int, source_port: int, port: int) -> None:
    """IPv4 and UDP headers at `at` of a datagram that a switch sends to a collector."""
    put_outer_ipv4(buffer, at, end, PROTOCOL_UDP, source, destination)
    put_udp(buffer, at + IPV4_BYTES, end, source_port, port)
