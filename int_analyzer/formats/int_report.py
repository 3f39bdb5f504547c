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
    FORMAT_REPORT_05,
    FORMAT_REPORT_1,
    FORMAT_REPORT_2,
    HAS_REPORT_BUFFER,
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
from int_analyzer.wire import layer
from int_analyzer.wire.ethernet import ethernet
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

_END, _ETHERNET, _IPV4, _IPV6, _MPLS = layer.END, layer.ETHERNET, layer.IPV4, layer.IPV6, layer.MPLS
_ONES = 0xFFFFFFFF


@kernel
def plausible(buffer: Buffer, at: int, limit: int, kind: int) -> bool:
    """Whether a packet of this layer begins here: a frame that, behind its tags, holds IP or MPLS; an IP header by its first byte."""
    if kind == _ETHERNET:
        if limit - at < 14:
            return False
        kind, at, _status, _vlan, _csig = ethernet(buffer, at, limit)
        if kind == _MPLS:
            return True
    if at >= limit:
        return False
    first = u8(buffer, at)
    if kind == _IPV4:
        return first >> 4 == 4 and first & 0xF >= 5
    return kind == _IPV6 and first >> 4 == 6


@kernel
def looks_like(buffer: Buffer, at: int, limit: int) -> int:
    """Format id of the report version that begins here by its fixed header and the reported packet, or FORMAT_NONE.

    For v2.0 this is a first look; `reports_2` says whether the whole datagram can be believed.
    """
    if limit - at < 12:
        return FORMAT_NONE
    word = u32(buffer, at)
    version = word >> 28
    if version == 1:
        size, protocol = (word >> 24) & 0xF, (word >> 21) & 7
        if size != 4 + bits_set((word >> 15) & 0x3F) or protocol > 2:
            return FORMAT_NONE
        return FORMAT_REPORT_1 if plausible(buffer, at + 4 * size, limit, _layer_of(protocol + INNER_ETHERNET)) else FORMAT_NONE
    if version == 0:
        kind = (word >> 24) & 0xF
        if kind > 2:
            return FORMAT_NONE
        return FORMAT_REPORT_05 if plausible(buffer, at + _size_05(kind), limit, _ETHERNET) else FORMAT_NONE
    if version == 2 and u8(buffer, at + 8) >> 4 <= 2 and u8(buffer, at + 8) & 0xF <= INNER_IPV6:
        return FORMAT_REPORT_2
    return FORMAT_NONE


@inlined
def _layer_of(inner: int) -> int:
    """The layer of an InType, or END."""
    if inner == INNER_ETHERNET:
        return _ETHERNET
    if inner == INNER_IPV4:
        return _IPV4
    return _IPV6 if inner == INNER_IPV6 else _END


@inlined
def _size_05(kind: int) -> int:
    """Bytes of a v0.5 header by its NProto."""
    return 12 if kind == 0 else (24 if kind == 1 else 28)


@inlined
def metadata_words(bits: int) -> int:
    """4-byte words of v2.0 baseline metadata but for reserved bit 0; bits 4, 5 and 6 are 8 bytes."""
    return bits_set(bits & 0x7FFF) + bits_set(bits & 0x0E00)


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
        warnings, bits = LENGTH_MISMATCH, 0
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
        present |= _egress_time(buffer, item, columns, out)
        item += 4
    if bits & 0x02 != 0:
        present |= _drop(buffer, item, present, columns, out)
        item += 4
    if bits & 0x01 != 0:
        present |= _utilisation(buffer, item, columns, out)
    put(columns, "reports.present", out, present)
    begin = at + 4 * size
    return OK, warnings, (_layer_of(protocol + INNER_ETHERNET) if begin < declared else _END), begin, bits != 0


@kernel
def report_05(buffer: Buffer, at: int, limit: int, declared: int, columns: Any, out: int, packet: int) -> tuple[int, int, int, bool]:
    """v0.5 report into row `out`: (status, next layer, where, whether its metadata is a hop). Without OK the row is not used."""
    if limit - at < 1:
        return (LENGTH if declared - at < 1 else TRUNCATED), _END, at, False
    kind = u8(buffer, at) & 0xF
    if kind > 2:
        return TYPE, _END, at, False
    size = _size_05(kind)
    if limit - at < size:
        return (LENGTH if declared - at < size else TRUNCATED), _END, at, False
    if not plausible(buffer, at + size, limit, _ETHERNET):
        return TYPE, _END, at, False
    word = u32(buffer, at)
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
            present |= _queue(buffer, at + 20, columns, out) | _egress_time(buffer, at + 24, columns, out)
    put(columns, "reports.present", out, present)
    return OK, _ETHERNET, at + size, kind != 0


@kernel
def reports_2(
    buffer: Buffer, at: int, limit: int, declared: int, columns: Any, first: int, packet: int
) -> tuple[int, int, int, int, int, int, int, int, bool]:
    """v2.0 datagram into rows from `first` on.

    Returns (status, status at, warnings, rows, next layer, where, its end, row whose metadata is a hop or −1, whether all of it can be
    believed without a profile). The reported packet of the first report that has one is followed; further ones are warned of.
    """
    if limit - at < 8:
        return (LENGTH if declared - at < 8 else TRUNCATED), at, 0, 0, _END, at, limit, -1, False
    word, node = u32(buffer, at), u32(buffer, at + 4)
    cursor = at + 8
    status, status_at, soft, soft_at = OK, at, OK, at
    rows, warnings, following, follow_at, follow_end, hop_row, first_hop_row = 0, 0, _END, at, limit, -1, -1
    believed, strong = True, False
    while cursor + 4 <= declared and rows < MAXIMUM_REPORTS:
        status_at = cursor
        if cursor + 4 > limit:
            status = TRUNCATED
            break
        types, length, metadata, flags = u8(buffer, cursor), u8(buffer, cursor + 1), u8(buffer, cursor + 2), u8(buffer, cursor + 3)
        kind, inner = types >> 4, types & 0xF
        if kind > 2 or inner > INNER_IPV6:
            status = TYPE
            break
        begin = cursor + 4 + (8 if kind == 1 else 0) + 4 * metadata
        found = _layer_of(inner) if kind != 2 else _END
        to_the_end = length == 0 and found != _END and begin < declared and plausible(buffer, begin, limit, found)
        end = cursor + 4 + 4 * length
        if to_the_end or length == TO_THE_END:
            end = declared
        elif length == 0 and kind == 1:
            status = LENGTH
            break
        if end > declared or begin > end:
            status = LENGTH
            break
        if kind == 0 and metadata != 0:
            status = METADATA_LENGTH
            break
        out = first + rows
        bits, present = 0, 0
        if kind == 1:
            if begin > limit:
                status = TRUNCATED
                break
            bits = u16(buffer, cursor + 4)
            words, reserved = metadata_words(bits), bits >> 15
            specific = u16(buffer, cursor + 8) != 0
            if words + reserved == metadata or (specific and metadata >= words + reserved):
                present = _metadata_2(buffer, cursor + 12 + 4 * reserved, bits, columns, out)
            elif words == metadata or (specific and metadata >= words):
                present = _metadata_2(buffer, cursor + 12, bits, columns, out)
            else:
                status = METADATA_LENGTH
                break
        if to_the_end:
            warnings |= LENGTH_ZERO
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
        if bits & 0x7FFF != 0:
            strong = True
            if rows == 0:
                first_hop_row = out
        rows += 1
        frame, frame_end = begin, end
        if found != _END and begin >= end:
            found = _END
        elif found == _END and inner == INNER_TLV and kind != 2:
            found, frame, frame_end, broken, broken_at = _tlv_frame(buffer, begin, end, limit)
            if broken == TRUNCATED:
                status, status_at = TRUNCATED, broken_at
            elif broken != OK and soft == OK:
                soft, soft_at = broken, broken_at
        if found != _END:
            if plausible(buffer, frame, min(limit, frame_end), found):
                strong = True
            elif inner >= INNER_ETHERNET:
                believed = False
            if following == _END:
                following, follow_at, follow_end = found, frame, frame_end
                hop_row = out if bits & 0x7FFF != 0 else -1
            else:
                warnings |= MORE
        if status != OK:
            break
        cursor = end
    if following == _END:
        hop_row = first_hop_row
    believed = believed and strong and soft == OK and (status == OK or status == TRUNCATED)
    if soft != OK:
        status, status_at = soft, soft_at
    return status, status_at, warnings, rows, following, follow_at, follow_end, hop_row, believed


@kernel
def _tlv_frame(buffer: Buffer, at: int, end: int, limit: int) -> tuple[int, int, int, int, int]:
    """The reported packet among TLVs: (layer or END, where, its end, status, status at)."""
    found, frame, frame_end = _END, at, end
    for _ in range(MAXIMUM_REPORTS):
        if at + 4 > end:
            break
        if at + 4 > limit:
            return found, frame, frame_end, TRUNCATED, at
        kind = u8(buffer, at) >> 4
        following = at + 4 + 4 * u8(buffer, at + 1)
        if following > end:
            return found, frame, frame_end, LENGTH, at
        if found == _END and kind >= 1 and kind <= 3 and following > at + 4:
            found, frame, frame_end = _layer_of(kind + 2), at + 4, following
        at = following
    return found, frame, frame_end, OK, at


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
    if bits & 0x0080 != 0:
        word = u32(buffer, item)
        if word != _ONES:
            put(columns, "reports.buffer_id", out, word >> 24)
            put(columns, "reports.buffer_depth_raw", out, word & 0xFFFFFF)
            present |= HAS_REPORT_BUFFER
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
def _egress_time(buffer: Buffer, item: int, columns: Any, out: int) -> int:
    time = u32(buffer, item)
    if time == _ONES:
        return 0
    put(columns, "reports.egress_time_raw", out, time)
    return HAS_REPORT_EGRESS_TIME


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
