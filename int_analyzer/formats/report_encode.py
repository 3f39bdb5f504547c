"""Writing of telemetry report headers v0.5, v1.0 and v2.0; the reported packet follows them.

The layouts: formats/report_05.py, report_1.py, report_2.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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

_ONES = -1
_WITH_METADATA = 1
"""Report type of v2.0 with metadata bits and metadata; type 0 has the reported packet only."""
PORTS, LATENCY, QUEUE, INGRESS_TIME, EGRESS_TIME, LEVEL_2, UTILISATION, BUFFER, DROP = 1, 2, 3, 4, 5, 6, 7, 8, 15
"""Bits of the metadata of v2.0, 0 the most significant of 16."""
_ITEMS_1 = np.array([PORTS, LATENCY, QUEUE, EGRESS_TIME, DROP, UTILISATION], dtype=np.int64)
"""What the six bits of v1.0 ask for."""


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
    put_u32(buffer, at + 16, _item(PORTS, columns, report))
    if kind == 1:
        put_u32(buffer, at + 20, _item(DROP, columns, report))
    else:
        put_u32(buffer, at + 20, _item(QUEUE, columns, report))
        put_u32(buffer, at + 24, _item(EGRESS_TIME, columns, report))


@kernel
def _put_1(buffer: Buffer, at: int, columns: Any, report: int) -> None:
    bits, kind = get(columns, "reports.metadata_bits", report), get(columns, "reports.report_type", report)
    head = 1 << 28 | (4 + bits_set(bits)) << 24 | kind << 21 | bits << 15
    put_u32(buffer, at, head | _flags(columns, report) << 6 | get(columns, "reports.hw_id", report))
    put_u32(buffer, at + 4, get(columns, "reports.node_id", report))
    put_u32(buffer, at + 8, get(columns, "reports.sequence", report))
    put_u32(buffer, at + 12, get(columns, "reports.ingress_time_raw", report))
    at += 16
    for bit in range(len(_ITEMS_1)):
        if bits & (0x20 >> bit) != 0:
            put_u32(buffer, at, _item(_ITEMS_1[bit], columns, report))
            at += 4


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
        bits = get(columns, "reports.metadata_bits", report)
        put_u16(buffer, at + 12, bits)
        put_u16(buffer, at + 14, 0)
        put_u32(buffer, at + 16, 0)
        at += 20
        for bit in range(1, 16):
            if bits & (0x8000 >> bit) == 0:
                continue
            if bit == INGRESS_TIME or bit == EGRESS_TIME or bit == LEVEL_2:
                put_u64(buffer, at, _item(bit, columns, report))
                at += 8
            else:
                put_u32(buffer, at, _item(bit, columns, report))
                at += 4


@kernel
def _flags(columns: Any, report: int) -> int:
    """D 4, Q 2, F 1."""
    dropped, congested = get(columns, "reports.dropped", report), get(columns, "reports.congested", report)
    return dropped << 2 | congested << 1 | get(columns, "reports.tracked", report)


@kernel
def _item(bit: int, columns: Any, report: int) -> int:
    """The item of a bit of v2.0's metadata; ones for what is not present, and for items that no column tells of."""
    present = get(columns, "reports.present", report)
    if bit == PORTS and present & HAS_REPORT_PORTS != 0:
        return get(columns, "reports.ingress_port", report) << 16 | get(columns, "reports.egress_port", report)
    if bit == LATENCY and present & HAS_REPORT_LATENCY != 0:
        return get(columns, "reports.hop_latency_raw", report)
    if bit == QUEUE and present & HAS_REPORT_QUEUE != 0:
        return get(columns, "reports.queue_id", report) << 24 | get(columns, "reports.queue_depth_raw", report)
    if bit == INGRESS_TIME and present & HAS_REPORT_INGRESS_TIME != 0:
        return get(columns, "reports.ingress_time_raw", report)
    if bit == EGRESS_TIME and present & HAS_REPORT_EGRESS_TIME != 0:
        return get(columns, "reports.egress_time_raw", report)
    if bit == LEVEL_2 and present & HAS_REPORT_L2 != 0:
        return get(columns, "reports.ingress_port_2", report) << 32 | get(columns, "reports.egress_port_2", report)
    if bit == UTILISATION and present & HAS_REPORT_UTILISATION != 0:
        return get(columns, "reports.tx_utilisation_raw", report)
    if bit == BUFFER and present & HAS_REPORT_BUFFER != 0:
        return get(columns, "reports.buffer_id", report) << 24 | get(columns, "reports.buffer_depth_raw", report)
    if bit == DROP and present & HAS_REPORT_DROP != 0:
        return get(columns, "reports.queue_id", report) << 24 | get(columns, "reports.drop_reason", report) << 16
    return _ONES
