"""What the versions of telemetry reports have in common: the packet that they report, and items of metadata (4 bytes, ones: absent)."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import put
from int_analyzer.schema import (
    HAS_REPORT_DROP,
    HAS_REPORT_EGRESS_TIME,
    HAS_REPORT_LATENCY,
    HAS_REPORT_PORTS,
    HAS_REPORT_QUEUE,
    HAS_REPORT_UTILISATION,
)
from int_analyzer.status import STATUS_CODE
from int_analyzer.wire import layer
from int_analyzer.wire.ethernet import ethernet
from int_analyzer.wire.read import Buffer, u8, u32

INNER_NONE, INNER_TLV, INNER_EXTENSION, INNER_ETHERNET, INNER_IPV4, INNER_IPV6 = range(6)
"""InType of v2.0; NProt of v1.0 is this less INNER_ETHERNET."""

OK = STATUS_CODE["ok"]
TRUNCATED = STATUS_CODE["report-truncated"]
LENGTH = STATUS_CODE["report-length"]
METADATA_LENGTH = STATUS_CODE["report-metadata-length"]
TYPE = STATUS_CODE["report-type"]

_END, _ETHERNET, _IPV4, _IPV6, _MPLS = layer.END, layer.ETHERNET, layer.IPV4, layer.IPV6, layer.MPLS
_ONES = 0xFFFFFFFF


@kernel
def plausible(buffer: Buffer, at: int, limit: int, kind: int, settings: Any) -> bool:
    """Whether a packet of this layer begins here: a frame that, behind its tags, holds IP or MPLS; an IP header by its first byte."""
    if kind == _ETHERNET:
        if limit - at < 14:
            return False
        kind, at, _status, _vlan, _csig = ethernet(buffer, at, limit, settings)
        if kind == _MPLS:
            return True
    if at >= limit:
        return False
    first = u8(buffer, at)
    if kind == _IPV4:
        return first >> 4 == 4 and first & 0xF >= 5
    return kind == _IPV6 and first >> 4 == 6


@inlined
def layer_of(inner: int) -> int:
    """The layer of an InType, or END."""
    if inner == INNER_ETHERNET:
        return _ETHERNET
    if inner == INNER_IPV4:
        return _IPV4
    return _IPV6 if inner == INNER_IPV6 else _END


@inlined
def head(columns: Any, out: int, packet: int, version: int, kind: int, flags: int, hw_id: int, sequence: int, bits: int) -> None:
    """Columns that every version has; `flags` is D 4, Q 2, F 1, `bits` the width of the sequence number."""
    put(columns, "reports.packet", out, packet)
    put(columns, "reports.report", out, 0)
    put(columns, "reports.version", out, version)
    put(columns, "reports.report_type", out, kind)
    put(columns, "reports.inner_type", out, 0)
    put(columns, "reports.dropped", out, (flags >> 2) & 1)
    put(columns, "reports.congested", out, (flags >> 1) & 1)
    put(columns, "reports.tracked", out, flags & 1)
    put(columns, "reports.intermediate", out, 0)
    put(columns, "reports.hw_id", out, hw_id)
    put(columns, "reports.sequence", out, sequence)
    put(columns, "reports.sequence_bits", out, bits)


@inlined
def first_items(buffer: Buffer, item: int, asked: int, columns: Any, out: int) -> tuple[int, int]:
    """Ports (4), latency (2) and queue (1) as far as they are asked for, into row `out`: presence bits, where the next item is."""
    present = 0
    if asked & 4 != 0:
        present |= ports(buffer, item, columns, out)
        item += 4
    if asked & 2 != 0:
        present |= latency(buffer, item, columns, out)
        item += 4
    if asked & 1 != 0:
        present |= queue(buffer, item, columns, out)
        item += 4
    return present, item


@inlined
def ports(buffer: Buffer, item: int, columns: Any, out: int) -> int:
    """Level-1 ports into row `out`: presence bit, 0 if the word is all ones."""
    ports = u32(buffer, item)
    if ports == _ONES:
        return 0
    put(columns, "reports.ingress_port", out, ports >> 16)
    put(columns, "reports.egress_port", out, ports & 0xFFFF)
    return HAS_REPORT_PORTS


@inlined
def latency(buffer: Buffer, item: int, columns: Any, out: int) -> int:
    """Hop latency into row `out`: presence bit, 0 if the word is all ones."""
    latency = u32(buffer, item)
    if latency == _ONES:
        return 0
    put(columns, "reports.hop_latency_raw", out, latency)
    return HAS_REPORT_LATENCY


@inlined
def egress_time(buffer: Buffer, item: int, columns: Any, out: int) -> int:
    """Egress time of 32 bits into row `out`: presence bit, 0 if the word is all ones."""
    time = u32(buffer, item)
    if time == _ONES:
        return 0
    put(columns, "reports.egress_time_raw", out, time)
    return HAS_REPORT_EGRESS_TIME


@inlined
def queue(buffer: Buffer, item: int, columns: Any, out: int) -> int:
    """Queue and its occupancy into row `out`: presence bit, 0 if the word is all ones."""
    queue = u32(buffer, item)
    if queue == _ONES:
        return 0
    put(columns, "reports.queue_id", out, queue >> 24)
    put(columns, "reports.queue_depth_raw", out, queue & 0xFFFFFF)
    return HAS_REPORT_QUEUE


@inlined
def drop(buffer: Buffer, item: int, present: int, columns: Any, out: int) -> int:
    """Queue and reason of a drop into row `out`: presence bit, 0 if the word is all ones."""
    word = u32(buffer, item)
    if word == _ONES:
        return 0
    if present & HAS_REPORT_QUEUE == 0:
        put(columns, "reports.queue_id", out, word >> 24)
    put(columns, "reports.drop_reason", out, (word >> 16) & 0xFF)
    return HAS_REPORT_DROP


@inlined
def utilisation(buffer: Buffer, item: int, columns: Any, out: int) -> int:
    """Egress port utilisation into row `out`: presence bit, 0 if the word is all ones."""
    utilisation = u32(buffer, item)
    if utilisation == _ONES:
        return 0
    put(columns, "reports.tx_utilisation_raw", out, utilisation)
    return HAS_REPORT_UTILISATION
