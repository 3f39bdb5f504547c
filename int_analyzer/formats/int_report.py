"""Telemetry reports v0.5, v1.0 and v2.0 (P4.org Telemetry Report specifications; v2.0 §3.2-3.4).

    v0.5 | ver 4 | NProto 4 | D Q F | reserved 15 | hw 6 | sequence 32 | ingress time 32 | drop (12) or local (16) header |
    v1.0 | ver 4 | len 4 | NProt 3 | bits 6 | reserved 6 | D Q F | hw 6 | switch 32 | sequence 32 | ingress time 32 | metadata |
    v2.0 | ver 4 | hw 6 | sequence 22 | node 32 | then reports: | type 4 | inner 4 | length 8 | metadata 8 | D Q F I | reserved 4 | …

A report's own metadata is the reporting node's hop; decode.py appends it to the path of the reported packet.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import put
from int_analyzer.formats.dialect import bits_set
from int_analyzer.schema import (
    FORMAT_NONE,
    FORMAT_REPORT_1,
    FORMAT_REPORT_2,
    FORMAT_REPORT_05,
    HAS_REPORT_DROP,
    HAS_REPORT_EGRESS_TIME,
    HAS_REPORT_INGRESS_TIME,
    HAS_REPORT_L2,
    HAS_REPORT_LATENCY,
    HAS_REPORT_PORTS,
    HAS_REPORT_QUEUE,
    HAS_REPORT_UTILISATION,
    STATUS_CODE,
    WARNING_BIT,
)
from int_analyzer.wire import ethernet, layer
from int_analyzer.wire.read import Buffer, u8, u16, u32, u64

TO_THE_END = 0xFF
MAXIMUM_REPORTS = 255
INNER_NONE, INNER_TLV, INNER_EXTENSION, INNER_ETHERNET, INNER_IPV4, INNER_IPV6 = range(6)

OK = STATUS_CODE["ok"]
TRUNCATED = STATUS_CODE["report-truncated"]
LENGTH = STATUS_CODE["report-length"]
METADATA_LENGTH = STATUS_CODE["report-metadata-length"]
TYPE = STATUS_CODE["report-type"]

LENGTH_ZERO = WARNING_BIT["report-length-zero"]
LENGTH_MISMATCH = WARNING_BIT["report-length-mismatch"]
MORE = WARNING_BIT["report-more"]

_END, _ETHERNET, _IPV4, _IPV6 = layer.END, layer.ETHERNET, layer.IPV4, layer.IPV6
_VLAN, _QINQ, _MPLS = ethernet.ETHERTYPE_VLAN, ethernet.ETHERTYPE_QINQ, ethernet.ETHERTYPE_MPLS
_ETHERTYPE_IPV4, _ETHERTYPE_IPV6 = ethernet.ETHERTYPE_IPV4, ethernet.ETHERTYPE_IPV6
_ONES = 0xFFFFFFFF


@inlined
def _frame(buffer: Buffer, at: int, limit: int, kind: int) -> bool:
    """Whether a packet of this layer begins here, by its first bytes."""
    if kind == _ETHERNET:
        if limit - at < 14:
            return False
        ethertype = u16(buffer, at + 12)
        return (
            ethertype == _ETHERTYPE_IPV4 or ethertype == _ETHERTYPE_IPV6 or ethertype == _VLAN or ethertype == _QINQ or ethertype == _MPLS
        )
    if limit - at < 20:
        return False
    first = u8(buffer, at)
    if kind == _IPV4:
        return first >> 4 == 4 and first & 0xF >= 5
    return first >> 4 == 6


@kernel
def looks_like(buffer: Buffer, at: int, limit: int, declared: int) -> int:
    """Format id of the report version that begins here by structure (lengths, types and the reported packet agree), or FORMAT_NONE."""
    if limit - at < 16:
        return FORMAT_NONE
    word = u32(buffer, at)
    version = word >> 28
    if version == 1:
        size = (word >> 24) & 0xF
        protocol = (word >> 21) & 7
        if size != 4 + bits_set((word >> 15) & 0x3F) or protocol > 2:
            return FORMAT_NONE
        kind = _ETHERNET if protocol == 0 else (_IPV4 if protocol == 1 else _IPV6)
        return FORMAT_REPORT_1 if _frame(buffer, at + 4 * size, limit, kind) else FORMAT_NONE
    if version == 0:
        kind = (word >> 24) & 0xF
        if kind > 2 or word & 0x001FFFC0 != 0 or word & 0x00E00000 == 0:
            return FORMAT_NONE
        size = 12 if kind == 0 else (24 if kind == 1 else 28)
        return FORMAT_REPORT_05 if _frame(buffer, at + size, limit, _ETHERNET) else FORMAT_NONE
    if version == 2:
        types = u8(buffer, at + 8)
        length, metadata = u8(buffer, at + 9), u8(buffer, at + 10)
        inner = types & 0xF
        if types >> 4 > 1 or inner > INNER_IPV6 or u8(buffer, at + 11) & 0xF != 0:
            return FORMAT_NONE
        fixed = 8 * (types >> 4)
        if types >> 4 == 0 and metadata != 0:
            return FORMAT_NONE
        if types >> 4 == 1:
            if limit - at < 20:
                return FORMAT_NONE
            if u16(buffer, at + 16) == 0 and metadata_words(u16(buffer, at + 12)) != metadata:
                return FORMAT_NONE
        begin = at + 12 + fixed + 4 * metadata
        if length == 0 or length == TO_THE_END:
            if inner < INNER_ETHERNET:
                return FORMAT_NONE
        elif at + 12 + 4 * length > declared or 4 * length < fixed + 4 * metadata:
            return FORMAT_NONE
        if inner >= INNER_ETHERNET:
            kind = _ETHERNET if inner == INNER_ETHERNET else (_IPV4 if inner == INNER_IPV4 else _IPV6)
            return FORMAT_REPORT_2 if _frame(buffer, begin, limit, kind) else FORMAT_NONE
        if inner == INNER_TLV:
            return FORMAT_REPORT_2 if limit - begin >= 4 and u8(buffer, begin) >> 4 <= 3 and u8(buffer, begin) & 0xF == 0 else FORMAT_NONE
        return FORMAT_NONE
    return FORMAT_NONE


@inlined
def metadata_words(bits: int) -> int:
    """4-byte words of v2.0 baseline metadata; bit 0 is reserved and carries nothing, bits 4, 5 and 6 are 8 bytes."""
    return bits_set(bits & 0x7FFF) + bits_set(bits & 0x0E00)


@kernel
def report_1(buffer: Buffer, at: int, limit: int, columns: Any, out: int, packet: int) -> tuple[int, int, int, int]:
    """v1.0 report into row `out`: (status, warnings, next layer, where)."""
    if limit - at < 16:
        return TRUNCATED, 0, _END, at
    word = u32(buffer, at)
    size = (word >> 24) & 0xF
    bits = (word >> 15) & 0x3F
    protocol = (word >> 21) & 7
    if size < 4:
        return LENGTH, 0, _END, at
    if limit - at < 4 * size:
        return TRUNCATED, 0, _END, at
    flags = (word >> 6) & 7
    if flags == 0:
        flags = (word >> 12) & 7  # the ONOS program puts D, Q, F before the reserved bits
    _head(columns, out, packet, FORMAT_REPORT_1, flags)
    put(columns, "reports.report_type", out, protocol)
    put(columns, "reports.hw_id", out, word & 0x3F)
    put(columns, "reports.metadata_bits", out, bits)
    put(columns, "reports.node_id", out, u32(buffer, at + 4))
    put(columns, "reports.sequence", out, u32(buffer, at + 8))
    put(columns, "reports.ingress_time_raw", out, u32(buffer, at + 12))
    present = HAS_REPORT_INGRESS_TIME
    warnings = 0
    item = at + 16
    if size != 4 + bits_set(bits):
        warnings = LENGTH_MISMATCH
    else:
        if bits & 0x20 != 0:
            present |= _ports(buffer, item, columns, out)
            item += 4
        if bits & 0x10 != 0:
            present |= _latency(buffer, item, columns, out)
            item += 4
        if bits & 0x08 != 0:
            present |= _queue(buffer, item, columns, out)
            item += 4
        if bits & 0x04 != 0:
            put(columns, "reports.egress_time_raw", out, u32(buffer, item))
            present |= HAS_REPORT_EGRESS_TIME
            item += 4
        if bits & 0x02 != 0:
            present |= _drop(buffer, item, present, columns, out)
            item += 4
        if bits & 0x01 != 0:
            present |= _utilisation(buffer, item, columns, out)
    put(columns, "reports.present", out, present)
    if protocol > 2:
        return TYPE, warnings, _END, at
    return OK, warnings, (_ETHERNET if protocol == 0 else (_IPV4 if protocol == 1 else _IPV6)), at + 4 * size


@kernel
def report_05(buffer: Buffer, at: int, limit: int, columns: Any, out: int, packet: int) -> tuple[int, int, int, int]:
    """v0.5 report into row `out`: (status, warnings, next layer, where)."""
    if limit - at < 12:
        return TRUNCATED, 0, _END, at
    word = u32(buffer, at)
    kind = (word >> 24) & 0xF
    if kind > 2:
        return TYPE, 0, _END, at
    size = 12 if kind == 0 else (24 if kind == 1 else 28)
    if limit - at < size:
        return TRUNCATED, 0, _END, at
    _head(columns, out, packet, FORMAT_REPORT_05, (word >> 21) & 7)
    put(columns, "reports.report_type", out, kind)
    put(columns, "reports.hw_id", out, word & 0x3F)
    put(columns, "reports.metadata_bits", out, 0)
    put(columns, "reports.sequence", out, u32(buffer, at + 4))
    put(columns, "reports.ingress_time_raw", out, u32(buffer, at + 8))
    put(columns, "reports.node_id", out, 0)
    present = HAS_REPORT_INGRESS_TIME
    if kind != 0:
        put(columns, "reports.node_id", out, u32(buffer, at + 12))
        present |= _ports(buffer, at + 16, columns, out)
        if kind == 1:
            present |= _drop(buffer, at + 20, present, columns, out)
        else:
            present |= _queue(buffer, at + 20, columns, out)
            put(columns, "reports.egress_time_raw", out, u32(buffer, at + 24))
            present |= HAS_REPORT_EGRESS_TIME
    put(columns, "reports.present", out, present)
    return OK, 0, _ETHERNET, at + size


@kernel
def reports_2(
    buffer: Buffer, at: int, limit: int, declared: int, columns: Any, first: int, packet: int
) -> tuple[int, int, int, int, int, int, int, int]:
    """v2.0 datagram into rows from `first` on: (status, status at, warnings, rows, next layer, where, its end, row of that report).

    The reported packet of the first report that has one is followed; further ones are counted with a warning.
    """
    if limit - at < 8:
        return TRUNCATED, at, 0, 0, _END, at, limit, first
    word = u32(buffer, at)
    node = u32(buffer, at + 4)
    cursor = at + 8
    rows, warnings, following, follow_at, follow_end, follow_row = 0, 0, _END, at, limit, first
    for _ in range(MAXIMUM_REPORTS):
        if cursor >= declared:
            break
        if limit - cursor < 4:
            # Up to 3 bytes of padding behind an unaligned frame are no report.
            return (OK if declared - cursor < 4 else TRUNCATED), cursor, warnings, rows, following, follow_at, follow_end, follow_row
        types, length, metadata, flags = u8(buffer, cursor), u8(buffer, cursor + 1), u8(buffer, cursor + 2), u8(buffer, cursor + 3)
        kind, inner = types >> 4, types & 0xF
        if kind > 2 or inner > INNER_IPV6:
            return TYPE, cursor, warnings, rows, following, follow_at, follow_end, follow_row
        end = cursor + 4 + 4 * length
        if length == TO_THE_END:
            end = declared
        elif length == 0 and inner >= INNER_ETHERNET and rows == 0:
            end = declared
            warnings |= LENGTH_ZERO
        fixed = 8 if kind == 1 else 0
        begin = cursor + 4 + fixed + 4 * metadata
        if end > declared or (kind <= 1 and begin > end):
            return LENGTH, cursor, warnings, rows, following, follow_at, follow_end, follow_row
        if kind != 1 and metadata != 0:
            return METADATA_LENGTH, cursor, warnings, rows, following, follow_at, follow_end, follow_row
        if kind == 1 and limit < begin:
            return TRUNCATED, cursor, warnings, rows, following, follow_at, follow_end, follow_row
        out = first + rows
        bits = 0
        present = 0
        if kind == 1:
            bits, specific = u16(buffer, cursor + 4), u16(buffer, cursor + 8)
            words = metadata_words(bits)
            if words > metadata or (specific == 0 and words != metadata):
                return METADATA_LENGTH, cursor, warnings, rows, following, follow_at, follow_end, follow_row
            present = _metadata_2(buffer, cursor + 12, bits, columns, out)
        _head(columns, out, packet, FORMAT_REPORT_2, flags >> 5)
        put(columns, "reports.intermediate", out, (flags >> 4) & 1)
        put(columns, "reports.report", out, rows)
        put(columns, "reports.report_type", out, kind)
        put(columns, "reports.inner_type", out, inner)
        put(columns, "reports.metadata_bits", out, bits)
        put(columns, "reports.hw_id", out, (word >> 22) & 0x3F)
        put(columns, "reports.sequence", out, word & 0x3FFFFF)
        put(columns, "reports.node_id", out, node)
        put(columns, "reports.present", out, present)
        rows += 1
        found, frame, frame_end = _END, begin, end
        if kind <= 1:
            if inner == INNER_ETHERNET:
                found = _ETHERNET
            elif inner == INNER_IPV4:
                found = _IPV4
            elif inner == INNER_IPV6:
                found = _IPV6
            elif inner == INNER_TLV:
                found, frame, frame_end = _tlv_frame(buffer, begin, min(end, limit))
        if found != _END:
            if following == _END:
                following, follow_at, follow_end, follow_row = found, frame, frame_end, out
            else:
                warnings |= MORE
        cursor = end
    return OK, at, warnings, rows, following, follow_at, follow_end, follow_row


@kernel
def _tlv_frame(buffer: Buffer, at: int, end: int) -> tuple[int, int, int]:
    """The reported packet among TLVs: (layer or END, where, its end)."""
    for _ in range(MAXIMUM_REPORTS):
        if end - at < 4:
            break
        kind = u8(buffer, at) >> 4
        following = at + 4 + 4 * u8(buffer, at + 1)
        if kind >= 1 and kind <= 3:
            return (_ETHERNET if kind == 1 else (_IPV4 if kind == 2 else _IPV6)), at + 4, following
        at = following
    return _END, at, end


@inlined
def _metadata_2(buffer: Buffer, item: int, bits: int, columns: Any, out: int) -> int:
    """v2.0 baseline metadata in bit order: presence bits."""
    present = 0
    if bits & 0x4000 != 0:
        present |= _ports(buffer, item, columns, out)
        item += 4
    if bits & 0x2000 != 0:
        present |= _latency(buffer, item, columns, out)
        item += 4
    if bits & 0x1000 != 0:
        present |= _queue(buffer, item, columns, out)
        item += 4
    if bits & 0x0800 != 0:
        time = u64(buffer, item)
        if time != -1:
            put(columns, "reports.ingress_time_raw", out, time)
            present |= HAS_REPORT_INGRESS_TIME
        item += 8
    if bits & 0x0400 != 0:
        time = u64(buffer, item)
        if time != -1:
            put(columns, "reports.egress_time_raw", out, time)
            present |= HAS_REPORT_EGRESS_TIME
        item += 8
    if bits & 0x0200 != 0:
        ingress, egress = u32(buffer, item), u32(buffer, item + 4)
        if ingress != _ONES or egress != _ONES:
            put(columns, "reports.ingress_port_2", out, ingress)
            put(columns, "reports.egress_port_2", out, egress)
            present |= HAS_REPORT_L2
        item += 8
    if bits & 0x0100 != 0:
        present |= _utilisation(buffer, item, columns, out)
        item += 4
    item += 4 * bits_set(bits & 0x00FE)
    if bits & 0x0001 != 0:
        present |= _drop(buffer, item, present, columns, out)
    return present


@inlined
def _head(columns: Any, out: int, packet: int, version: int, flags: int) -> None:
    """Columns that every version has; `flags` is D 4, Q 2, F 1."""
    put(columns, "reports.packet", out, packet)
    put(columns, "reports.report", out, 0)
    put(columns, "reports.version", out, version)
    put(columns, "reports.inner_type", out, 0)
    put(columns, "reports.dropped", out, (flags >> 2) & 1)
    put(columns, "reports.congested", out, (flags >> 1) & 1)
    put(columns, "reports.tracked", out, flags & 1)
    put(columns, "reports.intermediate", out, 0)


@inlined
def _ports(buffer: Buffer, item: int, columns: Any, out: int) -> int:
    ports = u32(buffer, item)
    if ports == _ONES:
        return 0
    put(columns, "reports.ingress_port", out, ports >> 16)
    put(columns, "reports.egress_port", out, ports & 0xFFFF)
    return HAS_REPORT_PORTS


@inlined
def _latency(buffer: Buffer, item: int, columns: Any, out: int) -> int:
    latency = u32(buffer, item)
    if latency == _ONES:
        return 0
    put(columns, "reports.hop_latency_raw", out, latency)
    return HAS_REPORT_LATENCY


@inlined
def _queue(buffer: Buffer, item: int, columns: Any, out: int) -> int:
    queue = u32(buffer, item)
    if queue == _ONES:
        return 0
    put(columns, "reports.queue_id", out, queue >> 24)
    put(columns, "reports.queue_depth_raw", out, queue & 0xFFFFFF)
    return HAS_REPORT_QUEUE


@inlined
def _drop(buffer: Buffer, item: int, present: int, columns: Any, out: int) -> int:
    word = u32(buffer, item)
    if word == _ONES:
        return 0
    if present & HAS_REPORT_QUEUE == 0:
        put(columns, "reports.queue_id", out, word >> 24)
    put(columns, "reports.drop_reason", out, (word >> 16) & 0xFF)
    return HAS_REPORT_DROP


@inlined
def _utilisation(buffer: Buffer, item: int, columns: Any, out: int) -> int:
    utilisation = u32(buffer, item)
    if utilisation == _ONES:
        return 0
    put(columns, "reports.tx_utilisation_raw", out, utilisation)
    return HAS_REPORT_UTILISATION
