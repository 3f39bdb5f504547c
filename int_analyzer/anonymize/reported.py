"""Telemetry reports v2.0: what of a report is telemetry, and the packets reported in it (P4.org Telemetry Report v2.0 §3.2-3.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from int_analyzer.formats.report_2 import TO_THE_END
from int_analyzer.formats.report_item import INNER_ETHERNET, INNER_IPV4, INNER_IPV6, INNER_TLV
from int_analyzer.wire.ethernet import LINK_ETHERNET, LINK_IPV4, LINK_IPV6
from int_analyzer.wire.read import Buffer, u8

_GROUP, _HEADER, _MAIN, _TLV = 8, 4, 8, 4
_LINKS = {INNER_ETHERNET: LINK_ETHERNET, INNER_IPV4: LINK_IPV4, INNER_IPV6: LINK_IPV6}
_WITH_MAIN, _IOAM = 1, 2


class Frame(NamedTuple):
    """A packet inside a report: its bytes [begin, end) and its link type."""

    begin: int
    end: int
    link: int


Part = tuple[tuple[int, int] | None, Frame | None]
"""An interval of telemetry, or a reported packet that the kernel has not entered."""


def report_parts(data: Buffer, at: int, cursor: int, limit: int, declared: int, is_read: bool, followed: int) -> Iterator[Part]:
    """Parts of the report at `cursor` of the group header at `at`; the kernel entered the packet at `followed` (−1: none)."""
    yield (at, min(at + _GROUP, limit)), None
    if cursor + _HEADER > min(declared, limit):
        return
    types, length, words = u8(data, cursor), u8(data, cursor + 1), u8(data, cursor + 2)
    kind, inner = types // 16, types % 16
    begin = cursor + _HEADER + (_MAIN if kind == _WITH_MAIN else 0) + 4 * words
    end = cursor + _HEADER + 4 * length
    if length == TO_THE_END or (length == 0 and inner in _LINKS and kind != _IOAM) or end > declared:
        end = declared
    yield (cursor, min(begin, end, limit)), None
    if is_read:
        yield from _contents(data, kind, inner, begin, end, limit, followed)


def _contents(data: Buffer, kind: int, inner: int, begin: int, end: int, limit: int, followed: int) -> Iterator[Part]:
    if begin == followed:
        return
    if kind == _IOAM or (inner not in _LINKS and inner != INNER_TLV):
        # data of a domain: telemetry, though nobody here knows which
        yield (begin, min(end, limit)), None
    elif inner in _LINKS:
        yield from _reported(begin, end, limit, _LINKS[inner], followed)
    else:
        while begin + _TLV <= min(end, limit):
            tlv, behind = u8(data, begin) // 16, begin + _TLV + 4 * u8(data, begin + 1)
            yield (begin, begin + _TLV), None
            stop = min(behind, end)
            if tlv + 2 in _LINKS:
                yield from _reported(begin + _TLV, stop, limit, _LINKS[tlv + 2], followed)
            else:
                yield (begin + _TLV, min(stop, limit)), None
            begin = behind


def _reported(begin: int, end: int, limit: int, link: int, followed: int) -> Iterator[Part]:
    if begin != followed and begin < min(end, limit):
        yield None, Frame(begin, min(end, limit), link)
