"""Telemetry reports of all versions: which one begins here, and the report of this part of the packet."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import N_MIRRORS, N_OPTIONS, N_REPORTS, get, put
from int_analyzer.formats.report_05 import looks_like_05, report_05
from int_analyzer.formats.report_1 import looks_like_1, report_1
from int_analyzer.formats.report_2 import MAXIMUM_REPORTS, believed, report_2
from int_analyzer.formats.report_item import OK, TYPE
from int_analyzer.schema import FORMAT_NONE, FORMAT_REPORT_05, FORMAT_REPORT_1, FORMAT_REPORT_2
from int_analyzer.status import WARNING_BIT
from int_analyzer.wire import layer
from int_analyzer.wire.read import Buffer, u8

LIMIT = WARNING_BIT["report-limit"]

_END = layer.END


@kernel
def looks_like(buffer: Buffer, at: int, limit: int, declared: int, settings: Any) -> int:
    """Format id of the report version that begins here by its fixed header and the reported packets, or FORMAT_NONE."""
    if limit - at < 12:
        return FORMAT_NONE
    version = u8(buffer, at) >> 4
    if version == 1:
        return FORMAT_REPORT_1 if looks_like_1(buffer, at, limit, settings) else FORMAT_NONE
    if version == 0:
        return FORMAT_REPORT_05 if looks_like_05(buffer, at, limit, settings) else FORMAT_NONE
    return FORMAT_REPORT_2 if version == 2 and believed(buffer, at, limit, declared, settings) else FORMAT_NONE


@kernel
def of_version(buffer: Buffer, at: int, limit: int) -> int:
    """Format id of the report that a profile says is here, or FORMAT_NONE if its version is none that is read."""
    version = u8(buffer, at) >> 4 if limit > at else 1
    if version == 0:
        return FORMAT_REPORT_05
    if version == 1:
        return FORMAT_REPORT_1
    return FORMAT_REPORT_2 if version == 2 else FORMAT_NONE


@kernel
def report(
    buffer: Buffer,
    at: int,
    limit: int,
    declared: int,
    version: int,
    part: int,
    cursor: int,
    settings: Any,
    columns: Any,
    counts: Any,
    packet: int,
) -> tuple[int, int, int, int, int, int, int, int, bool, int]:
    """Report number `part` of a datagram, at `cursor` unless it is the first.

    Returns (next layer, where, its end, status, status at, warnings, rows, format found or 0, whether it has a hop, where the next
    report of the datagram begins or 0). Fills a row of reports.
    """
    out = counts[N_REPORTS]
    if version == FORMAT_REPORT_2:
        if part == 0:
            cursor = at + 8
        status, status_at, warnings, rows, kind, begin, end, following, has_hop = report_2(
            buffer, at, cursor, limit, declared, settings, columns, out, packet
        )
        put(columns, "reports.report", out, part)
        counts[N_REPORTS] = out + rows
        if following != 0 and part + 1 == MAXIMUM_REPORTS:
            following = 0
            warnings |= LIMIT
        found = version if limit - at >= 8 else FORMAT_NONE
        return kind, begin, end, status, status_at, warnings, rows, found, has_hop, following
    warnings = 0
    if version == FORMAT_REPORT_1:
        status, warnings, kind, begin, has_hop = report_1(buffer, at, limit, declared, columns, out, packet)
    elif version == FORMAT_REPORT_05:
        status, kind, begin, has_hop = report_05(buffer, at, limit, declared, settings, columns, out, packet)
    else:
        status, kind, begin, has_hop = TYPE, _END, at, False
    if status != OK:
        return kind, begin, declared, status, at, warnings, 0, FORMAT_NONE, has_hop, 0
    counts[N_REPORTS] = out + 1
    return kind, begin, declared, OK, at, warnings, 1, version, has_hop, 0


@kernel
def forget_outside(columns: Any, counts: Any, packet: int) -> None:
    """Give back the rows that layers outside a report made for this packet: they belong to the first part of its record."""
    while counts[N_MIRRORS] > 0 and get(columns, "mirrors.packet", counts[N_MIRRORS] - 1) == packet:
        counts[N_MIRRORS] -= 1
    while counts[N_OPTIONS] > 0 and get(columns, "options.packet", counts[N_OPTIONS] - 1) == packet:
        counts[N_OPTIONS] -= 1
