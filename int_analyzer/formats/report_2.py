"""Telemetry report v2.0: a group header, then reports to the end of the datagram (P4.org Telemetry Report v2.0 §3.2-3.4).

    group  | ver 4 | hw 6 | sequence 22 | node 32 |
    report | type 4 | inner 4 | length 8 | metadata 8 | D Q F I | reserved 4 | metadata | reported packet |

Every report is a packet of its own (`packets.part`): it is read when its turn comes, the headers around it anew.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import put
from int_analyzer.formats.dialect import INNER_ETHERNET as INNER_ETHERNET_OF
from int_analyzer.formats.dialect import SEQUENCE_BITS, SEQUENCE_FIELD, bits_set
from int_analyzer.formats.report_item import (
    INNER_ETHERNET,
    INNER_IPV6,
    INNER_TLV,
    LENGTH,
    METADATA_LENGTH,
    OK,
    TRUNCATED,
    TYPE,
    drop,
    first_items,
    head,
    layer_of,
    plausible,
    utilisation,
)
from int_analyzer.schema import FORMAT_REPORT_2, HAS_REPORT_BUFFER, HAS_REPORT_EGRESS_TIME, HAS_REPORT_INGRESS_TIME, HAS_REPORT_L2
from int_analyzer.settings import INT_DIALECT
from int_analyzer.status import WARNING_BIT
from int_analyzer.wire import layer
from int_analyzer.wire.read import Buffer, u8, u16, u32, u64

TO_THE_END = 0xFF
MAXIMUM_REPORTS = 255
TYPE_INNER, TYPE_INT, TYPE_IOAM = range(3)

LENGTH_ZERO = WARNING_BIT["report-length-zero"]

_END = layer.END
_ONES = 0xFFFFFFFF


@inlined
def metadata_words(bits: int) -> int:
    """4-byte words of v2.0 baseline metadata but for reserved bit 0; bits 4, 5 and 6 are 8 bytes."""
    return bits_set(bits & 0x7FFF) + bits_set(bits & 0x0E00)


@kernel
def report_2(
    buffer: Buffer, at: int, cursor: int, limit: int, declared: int, settings: Any, columns: Any, out: int, packet: int
) -> tuple[int, int, int, int, int, int, int, int, bool]:
    """The report at `cursor` of the group header at `at`, both of which may be missing, into row `out`.

    Returns (status, status at, warnings, rows, next layer, where, its end, where the next report begins or 0, whether its metadata is
    a hop). Without a row the status says why.
    """
    if limit - at < 8:
        return (LENGTH if declared - at < 8 else TRUNCATED), at, 0, 0, _END, at, limit, 0, False
    if cursor + 4 > limit:
        return (OK if cursor + 4 > declared else TRUNCATED), cursor, 0, 0, _END, at, limit, 0, False
    status, kind, inner, begin, end, zero = _extent(buffer, cursor, limit, declared, settings)
    if status != OK:
        return status, cursor, 0, 0, _END, at, limit, 0, False
    bits, item = 0, 0
    if kind == TYPE_INT:
        status, bits, item = _metadata_at(buffer, cursor, begin, limit)
        if status != OK:
            return status, cursor, 0, 0, _END, at, limit, 0, False
    present = _metadata(buffer, item, bits, columns, out) if bits != 0 else 0
    word, flags = u32(buffer, at), u8(buffer, cursor + 3)
    width = SEQUENCE_BITS[max(settings.numbers[INT_DIALECT], 0)]
    number = (word & 0x3FFFFF) >> (SEQUENCE_FIELD - width)
    head(columns, out, packet, FORMAT_REPORT_2, kind, flags >> 5, (word >> 22) & 0x3F, number, width)
    put(columns, "reports.intermediate", out, (flags >> 4) & 1)
    put(columns, "reports.inner_type", out, u8(buffer, cursor) & 0xF)
    put(columns, "reports.metadata_bits", out, bits)
    put(columns, "reports.node_id", out, u32(buffer, at + 4))
    put(columns, "reports.present", out, present)
    frame, frame_end, following, status_at = begin, end, end, cursor
    found = _layer_of_report(kind, inner)
    if found != _END and begin >= end:
        found = _END
    elif inner == INNER_TLV and kind != TYPE_IOAM:
        found, frame, frame_end, status, status_at = tlv_frame(buffer, begin, end, limit)
        if status == TRUNCATED:
            following = declared
    if following + 4 > declared:
        following = 0
    return status, status_at, zero, 1, found, frame, frame_end, following, bits & 0x7FFF != 0


@kernel
def believed(buffer: Buffer, at: int, limit: int, declared: int, settings: Any) -> bool:
    """Whether a datagram is reports without a profile's word: the chain holds to its end, the reported packets that it announces are some.

    One of them, or metadata, must be there.
    """
    if limit - at < 8:
        return False
    cursor, strong = at + 8, False
    for _ in range(MAXIMUM_REPORTS):
        if cursor + 4 > declared or cursor + 4 > limit:
            return strong
        status, kind, inner, begin, end, _zero = _extent(buffer, cursor, limit, declared, settings)
        if status != OK:
            return strong and status == TRUNCATED
        if kind == TYPE_INT:
            status, bits, _item = _metadata_at(buffer, cursor, begin, limit)
            if status != OK:
                return strong and status == TRUNCATED
            strong = strong or bits & 0x7FFF != 0
        found, frame, frame_end = _layer_of_report(kind, inner), begin, end
        if found != _END and begin >= end:
            found = _END
        elif inner == INNER_TLV and kind != TYPE_IOAM:
            found, frame, frame_end, status, _at = tlv_frame(buffer, begin, end, limit)
            if status == LENGTH:
                return False
        if found != _END:
            if plausible(buffer, frame, min(limit, frame_end), found, settings):
                strong = True
            elif inner != INNER_TLV:
                return False
        if status != OK:
            return strong
        cursor = end
    return strong


@inlined
def _layer_of_report(kind: int, inner: int) -> int:
    """The layer of what a report's InType announces, END if that is no packet."""
    return layer_of(inner) if kind != TYPE_IOAM else _END


@kernel
def _extent(buffer: Buffer, cursor: int, limit: int, declared: int, settings: Any) -> tuple[int, int, int, int, int, int]:
    """Header of the report at `cursor`: (status, type, InType, where its contents begin behind the metadata, its end, warnings)."""
    types, length, metadata = u8(buffer, cursor), u8(buffer, cursor + 1), u8(buffer, cursor + 2)
    kind, inner = types >> 4, types & 0xF
    if inner == INNER_ETHERNET_OF[max(settings.numbers[INT_DIALECT], 0)]:
        inner = INNER_ETHERNET
    if kind > TYPE_IOAM or inner > INNER_IPV6:
        return TYPE, kind, inner, cursor, cursor, 0
    begin = cursor + 4 + (8 if kind == TYPE_INT else 0) + 4 * metadata
    end = cursor + 4 + 4 * length
    found = _layer_of_report(kind, inner)
    warnings = 0
    if length == 0 and found != _END and begin < declared and plausible(buffer, begin, limit, found, settings):
        end, warnings = declared, LENGTH_ZERO
    elif length == TO_THE_END:
        end = declared
    elif length == 0 and kind == TYPE_INT:
        return LENGTH, kind, inner, begin, end, 0
    if end > declared or begin > end:
        return LENGTH, kind, inner, begin, end, 0
    if kind == TYPE_INNER and metadata != 0:
        return METADATA_LENGTH, kind, inner, begin, end, 0
    return OK, kind, inner, begin, end, warnings


@kernel
def _metadata_at(buffer: Buffer, cursor: int, begin: int, limit: int) -> tuple[int, int, int]:
    """Metadata of an INT report at `cursor`: (status, RepMdBits, where the items begin). Reserved bit 0 has a word, or none."""
    if begin > limit:
        return TRUNCATED, 0, 0
    bits, metadata = u16(buffer, cursor + 4), u8(buffer, cursor + 2)
    words, reserved = metadata_words(bits), bits >> 15
    specific = u16(buffer, cursor + 8) != 0
    if words + reserved == metadata or (specific and metadata >= words + reserved):
        return OK, bits, cursor + 12 + 4 * reserved
    if words == metadata or (specific and metadata >= words):
        return OK, bits, cursor + 12
    return METADATA_LENGTH, 0, 0


@kernel
def tlv_frame(buffer: Buffer, at: int, end: int, limit: int) -> tuple[int, int, int, int, int]:
    """The reported packet among TLVs: (layer or END, where, its end, status, status at)."""
    found, frame, frame_end = _END, at, end
    while at + 4 <= end:
        if at + 4 > limit:
            return found, frame, frame_end, TRUNCATED, at
        kind = u8(buffer, at) >> 4
        following = at + 4 + 4 * u8(buffer, at + 1)
        if following > end:
            return found, frame, frame_end, LENGTH, at
        if found == _END and kind >= 1 and kind <= 3 and following > at + 4:
            found, frame, frame_end = layer_of(kind + 2), at + 4, following
        at = following
    return found, frame, frame_end, OK, at


@inlined
def _metadata(buffer: Buffer, item: int, bits: int, columns: Any, out: int) -> int:
    """v2.0 baseline metadata in bit order: presence bits."""
    present, item = first_items(buffer, item, bits >> 12, columns, out)
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
        present |= utilisation(buffer, item, columns, out)
        item += 4
    if bits & 0x0080 != 0:
        word = u32(buffer, item)
        if word != _ONES:
            put(columns, "reports.buffer_id", out, word >> 24)
            put(columns, "reports.buffer_depth_raw", out, word & 0xFFFFFF)
            present |= HAS_REPORT_BUFFER
    item += 4 * bits_set(bits & 0x00FE)
    if bits & 0x0001 != 0:
        present |= drop(buffer, item, present, columns, out)
    return present
