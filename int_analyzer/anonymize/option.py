"""Options and routing headers: what of them is kept, and the addresses in it.

Sources: RFC 791 §3.1 (IPv4 options), RFC 8200 §4.2, RFC 6275 §6.3 (home address), RFC 5095 and 8754 (routing headers).
"""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer.wire.ip import OPTION_IOAM, OPTION_IOAM_DIRECT, OPTION_MRI, OPTION_PAD1
from int_analyzer.wire.read import Buffer, u8

_END, _NO_OPERATION, _RECORD_ROUTE, _TIMESTAMP, _ROUTER_ALERT = 0, 1, 7, 68, 148
_SOURCE_ROUTES = (131, 137)
_HOME_ADDRESS = 0xC9
_PLAIN = (OPTION_IOAM, OPTION_IOAM_DIRECT, 0x05, 0xC2)
"""IPv6 options kept as they are: telemetry, router alert, jumbo payload."""

_ROUTES, _SEGMENT_ROUTING = (0, 2), 4

Part = tuple[tuple[int, int], list[int]]
"""An interval that is kept, and where addresses begin in it."""


def ipv4_options(data: Buffer, at: int, end: int) -> Iterator[Part]:
    """Parts of the options in [at, end) that are kept. Of an unknown option that is its type and length."""
    while at < end:
        kind = u8(data, at)
        if kind in (_END, _NO_OPERATION):
            yield (at, at + 1), []
            at += 1
            if kind == _END:
                return
            continue
        length = u8(data, at + 1) if at + 1 < end else 0
        following = min(at + length, end)
        yield (at, min(at + 2, end)), []
        if length < 2:
            return
        if kind & 0x1F == OPTION_MRI or kind == _ROUTER_ALERT:
            yield (at, following), []
        elif kind in (_RECORD_ROUTE, *_SOURCE_ROUTES):
            yield (at, min(at + 3, following)), []
            yield from _addresses(at + 3, following, 4)
        elif kind == _TIMESTAMP and following - at >= 4:
            yield (at, at + 4), []
            yield from _addresses(at + 4, following, 8) if u8(data, at + 3) & 0xF else [((at + 4, following), [])]
        at += length


def _addresses(at: int, end: int, step: int) -> Iterator[Part]:
    """Slots of an address and, in 8 bytes, a time."""
    while at + step <= end:
        yield (at, at + step), [at]
        at += step


def ipv6_options(data: Buffer, at: int, end: int) -> Iterator[Part]:
    """Parts of the options in [at, end) that are kept."""
    while at < end:
        kind = u8(data, at)
        if kind == OPTION_PAD1:
            yield (at, at + 1), []
            at += 1
            continue
        yield (at, min(at + 2, end)), []
        if at + 1 >= end:
            return
        length = u8(data, at + 1)
        following = min(at + 2 + length, end)
        if kind in _PLAIN:
            yield (at, following), []
        elif kind == _HOME_ADDRESS and length == 16 and following == at + 18:
            yield (at, following), [at + 2]
        at += 2 + length


def routing_addresses(data: Buffer, at: int, end: int) -> tuple[list[int], int]:
    """Where the whole addresses of a routing header stand, and the one that the packet goes to in the end (0: not there)."""
    if end - at < 8:
        return [], 0
    kind, left = u8(data, at + 2), u8(data, at + 3)
    found = list(range(at + 8, end - 15, 16))
    if kind == _SEGMENT_ROUTING:
        found = found[: u8(data, at + 4) + 1]
    elif kind not in _ROUTES:
        return [], 0
    if not found or left == 0:
        return found, 0
    return found, found[0] if kind == _SEGMENT_ROUTING else found[-1]
