"""The internet checksum of IPv4 headers and of UDP over IPv6 (RFC 791, RFC 1071, RFC 8200 §8.1)."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import compiled, kernel, reader
from int_analyzer.wire.read import Buffer, u8, u16, u32
from int_analyzer.wire.write import put_u16


@kernel
def _sum_of_words(buffer: Buffer, begin: int, end: int) -> int:
    # 2^32 is 1 modulo 0xFFFF: words of four bytes add up to the same. No packet is long enough to overflow the sum.
    total, at = 0, begin
    while at + 4 <= end:
        total += u32(buffer, at)
        at += 4
    if at + 2 <= end:
        total += u16(buffer, at)
        at += 2
    if at < end:
        total += u8(buffer, at) << 8
    return folded(total)


def _compiled_sum() -> Any:
    return compiled(_sum_of_words)


@reader(_compiled_sum)
def internet_sum(buffer: Buffer, begin: int, end: int) -> int:
    """Ones' complement sum of the 16-bit words of [begin, end), an odd byte padded with zero."""
    data = bytes(buffer[begin:end])
    return folded(int.from_bytes(data + b"\0" if len(data) % 2 else data, "big"))


@kernel
def folded(total: int) -> int:
    """A sum of 16-bit words in ones' complement: 0 only if all of them are 0."""
    rest = total % 0xFFFF
    return 0xFFFF if rest == 0 and total != 0 else rest


@kernel
def put_ipv4_checksum(buffer: Buffer, network: int, header: int) -> None:
    """The checksum of an IPv4 header of `header` bytes, all else of which is written."""
    put_u16(buffer, network + 10, 0)
    put_u16(buffer, network + 10, ~internet_sum(buffer, network, network + header))


@kernel
def put_udp_checksum_6(buffer: Buffer, network: int, udp: int, payload: int, end: int) -> None:
    """The checksum of a UDP datagram in IPv6, all else of which is written; its addresses stand in the header at `network`.

    What stands between the 8 bytes at `udp` and `payload` is none of the datagram.
    """
    put_u16(buffer, udp + 6, 0)
    size = 8 + end - payload
    total = internet_sum(buffer, network + 8, network + 40) + internet_sum(buffer, udp, udp + 8) + internet_sum(buffer, payload, end)
    total += size + 17
    value = ~folded(total) & 0xFFFF
    put_u16(buffer, udp + 6, value if value != 0 else 0xFFFF)
