"""Telemetry report v1.0 (P4.org Telemetry Report v1.0, Telemetry Report Header).

| ver 4 | len 4 | NProt 3 | bits 6 | reserved 6 | D Q F | hw 6 | switch 32 | sequence 32 | ingress time 32 | metadata |
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import put
from int_analyzer.formats.dialect import bits_set
from int_analyzer.formats.report_item import (
    INNER_ETHERNET,
    LENGTH,
    OK,
    TRUNCATED,
    TYPE,
    drop,
    egress_time,
    first_items,
    head,
    layer_of,
    plausible,
    utilisation,
)
from int_analyzer.schema import FORMAT_REPORT_1, HAS_REPORT_INGRESS_TIME
from int_analyzer.status import WARNING_BIT
from int_analyzer.wire import layer
from int_analyzer.wire.read import Buffer, u32

LENGTH_MISMATCH = WARNING_BIT["report-length-mismatch"]

_END = layer.END


@kernel
def looks_like_1(buffer: Buffer, at: int, limit: int, settings: Any) -> bool:
    """Whether a v1.0 report begins here: its length and its metadata bits agree, and the reported packet is one (12 bytes are there)."""
    word = u32(buffer, at)
    size, protocol = (word >> 24) & 0xF, (word >> 21) & 7
    if size != 4 + bits_set((word >> 15) & 0x3F) or protocol > 2:
        return False
    return plausible(buffer, at + 4 * size, limit, layer_of(protocol + INNER_ETHERNET), settings)


@kernel
def report_1(buffer: Buffer, at: int, limit: int, declared: int, columns: Any, out: int, packet: int) -> tuple[int, int, int, int, bool]:
    """v1.0 report into row `out`: (status, warnings, next layer, where, whether its metadata is a hop). Without OK the row is not used."""
    if limit - at < 4:
        return (LENGTH if declared - at < 4 else TRUNCATED), 0, _END, at, False
    word = u32(buffer, at)
    size, protocol, bits = (word >> 24) & 0xF, (word >> 21) & 7, (word >> 15) & 0x3F
    if size < 4:
        return LENGTH, 0, _END, at, False
    if protocol > 2:
        return TYPE, 0, _END, at, False
    if limit - at < 4 * size:
        return (LENGTH if declared - at < 4 * size else TRUNCATED), 0, _END, at, False
    flags = (word >> 6) & 7
    if flags == 0:
        flags = (word >> 12) & 7  # the ONOS program puts D, Q, F before the reserved bits
    head(columns, out, packet, FORMAT_REPORT_1, protocol, flags, word & 0x3F, u32(buffer, at + 8), 32)
    put(columns, "reports.metadata_bits", out, bits)
    put(columns, "reports.node_id", out, u32(buffer, at + 4))
    put(columns, "reports.ingress_time_raw", out, u32(buffer, at + 12))
    warnings = 0
    if size != 4 + bits_set(bits):
        warnings, bits = LENGTH_MISMATCH, 0
    present, item = first_items(buffer, at + 16, bits >> 3, columns, out)
    present |= HAS_REPORT_INGRESS_TIME
    if bits & 0x04 != 0:
        present |= egress_time(buffer, item, columns, out)
        item += 4
    if bits & 0x02 != 0:
        present |= drop(buffer, item, present, columns, out)
        item += 4
    if bits & 0x01 != 0:
        present |= utilisation(buffer, item, columns, out)
    put(columns, "reports.present", out, present)
    begin = at + 4 * size
    return OK, warnings, (layer_of(protocol + INNER_ETHERNET) if begin < declared else _END), begin, bits != 0
