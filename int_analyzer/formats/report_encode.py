"""Writing of telemetry report headers v0.5, v1.0 and v2.0; the reported packet follows them.

The layouts: formats/report_05.py, report_1.py, report_2.py.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.formats.dialect import SEQUENCE_FIELD, bits_set
from int_analyzer.formats.report_2 import TO_THE_END, metadata_words
from int_analyzer.formats.report_item import INNER_ETHERNET
from int_analyzer.schema import (
    FORMAT_REPORT_05,
    FORMAT_REPORT_1,
    HAS_REPORT_BUFFER,
    HAS_REPORT_DROP,
    HAS_REPORT_EGRESS_TIME,
    HAS_REPORT_INGRESS_TIME,
    HAS_REPORT_L2,
    HAS_REPORT_LATENCY,
    HAS_REPORT_PORTS,
    HAS_REPORT_QUEUE,
    HAS_REPORT_UTILISATION,
)
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u8, put_u16, put_u32, put_u64

_ONES = 0xFFFFFFFF
_WITH_METADATA = 1
"""Report type of v2.0 with metadata bits and metadata; type 0 has the reported packet only."""


@kernel
def report_bytes(columns: Any, report: int) -> int:
    """Bytes of the headers of a report."""
    version = get(columns, "reports.version", report)
    if version == FORMAT_REPORT_05:
        kind = get(columns, "reports.report_type", report)
        return 12 if kind == 0 else (24 if kind == 1 else 28)
    if version == FORMAT_REPORT_1:
        return 16 + 4 * bits_set(get(columns, "reports.metadata_bits", report))
    return 12 + _contents_2(columns, report)


@kernel
def put_report(buffer: Buffer, at: int, columns: Any, report: int) -> None:
    """The headers of a report."""
    version = get(columns, "reports.version", report)
    if version == FORMAT_REPORT_05:
        _put_05(buffer, at, columns, report)
    elif version == FORMAT_REPORT_1:
        _put_1(buffer, at, columns, report)
    else:
        _put_2(buffer, at, columns, report)


@kernel
def has_link_header(columns: Any, report: int) -> bool:
    """Whether the reported packet of a row begins with an Ethernet header; else it begins with IP."""
    version = get(columns, "reports.version", report)
    if version == FORMAT_REPORT_05:
        return True
    if version == FORMAT_REPORT_1:
        return get(columns, "reports.report_type", report) == 0
    return get(columns, "reports.inner_type", report) == INNER_ETHERNET


@kernel
def _put_05(buffer: Buffer, at: int, columns: Any, report: int) -> None:
    kind = get(columns, "reports.report_type", report)
    put_u32(buffer, at, kind << 24 | _flags(columns, report) << 21 | get(columns, "reports.hw_id", report))
    put_u32(buffer, at + 4, get(columns, "reports.sequence", report))
    put_u32(buffer, at + 8, get(columns, "reports.ingress_time_raw", report))
    if kind == 0:
        return
    put_u32(buffer, at + 12, get(columns, "reports.node_id", report))
    put_u32(buffer, at + 16, _ports(columns, report))
    if kind == 1:
        put_u32(buffer, at + 20, _drop(columns, report))
    else:
        put_u32(buffer, at + 20, _queue(columns, report))
        put_u32(buffer, at + 24, _egress_time(columns, report))


@kernel
def _put_1(buffer: Buffer, at: int, columns: Any, report: int) -> None:
    bits = get(columns, "reports.metadata_bits", report)
    words = 4 + bits_set(bits)
    put_u32(
        buffer,
        at,
        1 << 28
        | words << 24
        | get(columns, "reports.report_type", report) << 21
        | bits << 15
        | _flags(columns, report) << 6
        | get(columns, "reports.hw_id", report),
    )
    put_u32(buffer, at + 4, get(columns, "reports.node_id", report))
    put_u32(buffer, at + 8, get(columns, "reports.sequence", report))
    put_u32(buffer, at + 12, get(columns, "reports.ingress_time_raw", report))
    at += 16
    if bits & 0x20 != 0:
        put_u32(buffer, at, _ports(columns, report))
        at += 4
    if bits & 0x10 != 0:
        put_u32(buffer, at, _latency(columns, report))
        at += 4
    if bits & 0x08 != 0:
        put_u32(buffer, at, _queue(columns, report))
        at += 4
    if bits & 0x04 != 0:
        put_u32(buffer, at, _egress_time(columns, report))
        at += 4
    if bits & 0x02 != 0:
        put_u32(buffer, at, _drop(columns, report))
        at += 4
    if bits & 0x01 != 0:
        put_u32(buffer, at, _utilisation(columns, report))


@kernel
def _contents_2(columns: Any, report: int) -> int:
    """Bytes behind the individual header of a v2.0 report, without the reported packet."""
    if get(columns, "reports.report_type", report) != _WITH_METADATA:
        return 0
    return 8 + 4 * metadata_words(get(columns, "reports.metadata_bits", report))


@kernel
def _put_2(buffer: Buffer, at: int, columns: Any, report: int) -> None:
    kind, contents = get(columns, "reports.report_type", report), _contents_2(columns, report)
    sequence = get(columns, "reports.sequence", report) << (SEQUENCE_FIELD - get(columns, "reports.sequence_bits", report))
    put_u32(buffer, at, 2 << 28 | get(columns, "reports.hw_id", report) << 22 | sequence)
    put_u32(buffer, at + 4, get(columns, "reports.node_id", report))
    put_u8(buffer, at + 8, kind << 4 | get(columns, "reports.inner_type", report))
    # to the end, whatever that is: a frame need not be a whole number of words, nor fit into 254 of them
    put_u8(buffer, at + 9, TO_THE_END)
    put_u8(buffer, at + 10, (contents - 8) // 4 if kind == _WITH_METADATA else 0)
    put_u8(buffer, at + 11, _flags(columns, report) << 5 | get(columns, "reports.intermediate", report) << 4)
    if kind == _WITH_METADATA:
        put_u16(buffer, at + 12, get(columns, "reports.metadata_bits", report))
        put_u16(buffer, at + 14, 0)
        put_u32(buffer, at + 16, 0)
        _put_metadata_2(buffer, at + 20, columns, report)


@kernel
def _put_metadata_2(buffer: Buffer, at: int, columns: Any, report: int) -> None:
    """Baseline metadata in bit order; what is not present is all ones."""
    bits, present = get(columns, "reports.metadata_bits", report), get(columns, "reports.present", report)
    if bits & 0x4000 != 0:
        put_u32(buffer, at, _ports(columns, report))
        at += 4
    if bits & 0x2000 != 0:
        put_u32(buffer, at, _latency(columns, report))
        at += 4
    if bits & 0x1000 != 0:
        put_u32(buffer, at, _queue(columns, report))
        at += 4
    if bits & 0x0800 != 0:
        put_u64(buffer, at, get(columns, "reports.ingress_time_raw", report) if present & HAS_REPORT_INGRESS_TIME != 0 else -1)
        at += 8
    if bits & 0x0400 != 0:
        put_u64(buffer, at, _egress_time(columns, report))
        at += 8
    if bits & 0x0200 != 0:
        known = present & HAS_REPORT_L2 != 0
        put_u32(buffer, at, get(columns, "reports.ingress_port_2", report) if known else _ONES)
        put_u32(buffer, at + 4, get(columns, "reports.egress_port_2", report) if known else _ONES)
        at += 8
    if bits & 0x0100 != 0:
        put_u32(buffer, at, _utilisation(columns, report))
        at += 4
    if bits & 0x0080 != 0:
        occupancy = get(columns, "reports.buffer_id", report) << 24 | get(columns, "reports.buffer_depth_raw", report)
        put_u32(buffer, at, occupancy if present & HAS_REPORT_BUFFER != 0 else _ONES)
        at += 4
    for _ in range(bits_set(bits & 0x007E)):
        put_u32(buffer, at, _ONES)
        at += 4
    if bits & 0x0001 != 0:
        put_u32(buffer, at, _drop(columns, report))


@kernel
def _flags(columns: Any, report: int) -> int:
    """D 4, Q 2, F 1."""
    dropped, congested = get(columns, "reports.dropped", report), get(columns, "reports.congested", report)
    return dropped << 2 | congested << 1 | get(columns, "reports.tracked", report)


@kernel
def _ports(columns: Any, report: int) -> int:
    if get(columns, "reports.present", report) & HAS_REPORT_PORTS == 0:
        return _ONES
    return get(columns, "reports.ingress_port", report) << 16 | get(columns, "reports.egress_port", report)


@kernel
def _latency(columns: Any, report: int) -> int:
    known = get(columns, "reports.present", report) & HAS_REPORT_LATENCY != 0
    return get(columns, "reports.hop_latency_raw", report) if known else _ONES


@kernel
def _queue(columns: Any, report: int) -> int:
    if get(columns, "reports.present", report) & HAS_REPORT_QUEUE == 0:
        return _ONES
    return get(columns, "reports.queue_id", report) << 24 | get(columns, "reports.queue_depth_raw", report)


@kernel
def _egress_time(columns: Any, report: int) -> int:
    known = get(columns, "reports.present", report) & HAS_REPORT_EGRESS_TIME != 0
    return get(columns, "reports.egress_time_raw", report) if known else -1


@kernel
def _drop(columns: Any, report: int) -> int:
    if get(columns, "reports.present", report) & HAS_REPORT_DROP == 0:
        return _ONES
    return get(columns, "reports.queue_id", report) << 24 | get(columns, "reports.drop_reason", report) << 16


@kernel
def _utilisation(columns: Any, report: int) -> int:
    known = get(columns, "reports.present", report) & HAS_REPORT_UTILISATION != 0
    return get(columns, "reports.tx_utilisation_raw", report) if known else _ONES
