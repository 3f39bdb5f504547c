"""Telemetry report v0.5 (P4.org Telemetry Report v0.5, Telemetry Report Fixed Header).

| ver 4 | NProto 4 | D Q F | reserved 15 | hw 6 | sequence 32 | ingress time 32 | drop (12) or local (16) header |
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import put
from int_analyzer.formats.report_item import LENGTH, OK, TRUNCATED, TYPE, drop, egress_time, head, plausible, ports, queue
from int_analyzer.schema import FORMAT_REPORT_05, HAS_REPORT_INGRESS_TIME
from int_analyzer.wire import layer
from int_analyzer.wire.read import Buffer, u8, u32

_END, _ETHERNET = layer.END, layer.ETHERNET


@inlined
def size_05(kind: int) -> int:
    """Bytes of a v0.5 header by its NProto."""
    return 12 if kind == 0 else (24 if kind == 1 else 28)


@kernel
def looks_like_05(buffer: Buffer, at: int, limit: int, settings: Any) -> bool:
    """Whether a v0.5 report begins here: the reported frame is one (12 bytes are there)."""
    kind = u8(buffer, at) & 0xF
    return kind <= 2 and plausible(buffer, at + size_05(kind), limit, _ETHERNET, settings)


@kernel
def report_05(
    buffer: Buffer, at: int, limit: int, declared: int, settings: Any, columns: Any, out: int, packet: int
) -> tuple[int, int, int, bool]:
    """v0.5 report into row `out`: (status, next layer, where, whether its metadata is a hop). Without OK the row is not used."""
    if limit - at < 1:
        return (LENGTH if declared - at < 1 else TRUNCATED), _END, at, False
    kind = u8(buffer, at) & 0xF
    if kind > 2:
        return TYPE, _END, at, False
    size = size_05(kind)
    if limit - at < size:
        return (LENGTH if declared - at < size else TRUNCATED), _END, at, False
    if not plausible(buffer, at + size, limit, _ETHERNET, settings):
        return TYPE, _END, at, False
    word = u32(buffer, at)
    head(columns, out, packet, FORMAT_REPORT_05, kind, (word >> 21) & 7, word & 0x3F, u32(buffer, at + 4), 32)
    put(columns, "reports.metadata_bits", out, 0)
    put(columns, "reports.ingress_time_raw", out, u32(buffer, at + 8))
    put(columns, "reports.node_id", out, 0)
    present = HAS_REPORT_INGRESS_TIME
    if kind != 0:
        put(columns, "reports.node_id", out, u32(buffer, at + 12))
        present |= ports(buffer, at + 16, columns, out)
        if kind == 1:
            present |= drop(buffer, at + 20, present, columns, out)
        else:
            present |= queue(buffer, at + 20, columns, out) | egress_time(buffer, at + 24, columns, out)
    put(columns, "reports.present", out, present)
    return OK, _ETHERNET, at + size, kind != 0
