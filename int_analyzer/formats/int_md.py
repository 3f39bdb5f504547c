"""INT-MD v1.0 and v2.x: shim, metadata header and hop stack (P4.org INT v1.0 §4.6-4.7, INT v2.1 §5.7-5.8, §6.17).

    v1.0 shim   | type 8 | reserved 8 | length 8 (with shim) | DSCP 6, r 2 |
    v2.x shim   | type 4 | NPT 2 | r 2 | length 8 (without shim) | by NPT 16 |
    v1.0 header | ver 4 | rep 2 | C E M | reserved 10 | hop words 5 | remaining 8 | bitmap 16 | reserved 16 |
    v2.x header | ver 4 | D E M | reserved 12 | hop words 5 | remaining 8 | bitmap 16 | domain 16 | DS bits 16 | DS flags 16 |
    stack       | newest hop | … | source's hop | source-only domain data |

The same stack stands in Geneve options (header and stack only). INT-MX and INT v0.5 are recognised, skipped by their length and counted.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import get, put
from int_analyzer.formats.dialect import LEVEL2_WORDS, TIME_WORDS, bits_set, fitting, words_per_hop
from int_analyzer.schema import (
    FORMAT_INT_05,
    FORMAT_INT_MD_1,
    FORMAT_INT_MD_2,
    FORMAT_INT_MX,
    HAS_BUFFER,
    HAS_DEPTH,
    HAS_EGRESS_PORT,
    HAS_EGRESS_TIME,
    HAS_INGRESS_PORT,
    HAS_INGRESS_TIME,
    HAS_LATENCY,
    HAS_NODE,
    HAS_QUEUE,
    HAS_UTILISATION,
    HOP_OPAQUE,
    HOP_TRUNCATED_PATH,
    STATUS_CODE,
    WARNING_BIT,
)
from int_analyzer.settings import INT_DIALECT
from int_analyzer.wire.read import Buffer, u8, u16, u32, u64

TYPE_HOP_BY_HOP, TYPE_DESTINATION, TYPE_MX = 1, 2, 3
FLAG_DISCARD, FLAG_EXCEEDED, FLAG_MTU, FLAG_COPY = 1, 2, 4, 8
ONES_4, ONES_8 = 0xFFFFFFFF, -1

OK = STATUS_CODE["ok"]
SHIM_TRUNCATED = STATUS_CODE["int-shim-truncated"]
SHIM_TYPE = STATUS_CODE["int-shim-type"]
NPT_RESERVED = STATUS_CODE["int-npt-reserved"]
BEYOND_UDP = STATUS_CODE["int-length-beyond-udp"]
TOO_SMALL = STATUS_CODE["int-length-too-small"]
VERSION_UNKNOWN = STATUS_CODE["int-version-unknown"]
BITMAP_ZERO = STATUS_CODE["int-bitmap-zero"]
HOP_LENGTH_ZERO = STATUS_CODE["int-hop-length-zero"]
HOP_LENGTH_MISMATCH = STATUS_CODE["int-hop-length-mismatch"]
NOT_WHOLE_HOPS = STATUS_CODE["int-stack-not-whole-hops"]
STACK_TRUNCATED = STATUS_CODE["int-stack-truncated"]
DESTINATION = STATUS_CODE["int-destination"]

DIALECT_USED = WARNING_BIT["int-dialect"]
DIALECT_AMBIGUOUS = WARNING_BIT["int-dialect-ambiguous"]
DOMAIN_DEFAULT = WARNING_BIT["int-domain-default"]
HOP_EXCEEDED = WARNING_BIT["int-hop-exceeded"]
MTU_EXCEEDED = WARNING_BIT["int-mtu-exceeded"]
NODE_REPEATED = WARNING_BIT["node-repeated"]
METADATA_ZERO = WARNING_BIT["metadata-zero"]

_SPECIFICATION_2, _SPECIFICATION_1 = 1, 2
_NODE_BITS = HAS_NODE
_PORT_BITS = HAS_INGRESS_PORT | HAS_EGRESS_PORT
_QUEUE_BITS = HAS_QUEUE | HAS_DEPTH


@inlined
def looks_like(buffer: Buffer, at: int, limit: int, strict: bool) -> bool:
    """Whether a shim and a metadata header that explain each other begin here; `strict` also wants reserved bits to be zero.

    This is what is asked when no port, DSCP or marker of a profile says that INT is there: type, NPT, version and the per-hop
    length against the bitmap under the specification or a dialect. Lengths are judged later, by name.
    """
    if limit - at < 12:
        return False
    first = u8(buffer, at)
    word = u32(buffer, at + 4)
    instructions = u16(buffer, at + 8)
    version, hop_words = word >> 28, (word >> 8) & 0x1F
    if instructions == 0:
        return False
    if first == TYPE_HOP_BY_HOP:
        if version == 0 and _is_version_05(buffer, at, word, instructions):
            return True
        if version > 1 or (strict and word & 0x007FE000 != 0):
            return False
        return fitting(1, version, instructions, hop_words, 0, -1)[0] != 0
    if version != 2 or first & 0x03 != 0 or first & 0x0C == 0x0C:
        return False
    if first >> 4 == TYPE_MX:
        return word & 0x07FFFFFF == 0 and u8(buffer, at + 1) >= 3
    if first >> 4 != TYPE_HOP_BY_HOP or (strict and word & 0x01FFE000 != 0):
        return False
    if words_per_hop(instructions, 2, 2) == hop_words:
        return True
    return fitting(2, 2, instructions, hop_words, 0, -1)[0] != 0


@kernel
def _is_version_05(buffer: Buffer, at: int, word: int, instructions: int) -> bool:
    """Whether an 8-byte header is one of v0.5: instruction count, total hops and the length with its tail agree."""
    count = (word >> 16) & 0x1F
    return count == bits_set(instructions) and u8(buffer, at + 2) * 4 - 16 == 4 * count * (word & 0xFF)


@inlined
def int_md(
    buffer: Buffer, at: int, limit: int, declared: int, settings: Any, columns: Any, row: int, hop: int
) -> tuple[int, int, int, int, int, int, int]:
    """Shim, header and stack: (status, status at, warnings, hops added, where the payload begins or 0, NPT, format).

    Fills the packet's telemetry columns and rows of `hops` from `hop` on. The payload may be followed although the status is not OK.
    """
    if limit - at < 4:
        return SHIM_TRUNCATED, at, 0, 0, 0, 0, 0
    first = u8(buffer, at)
    if first < 16:
        layout, kind, npt = 1, first, 0
        length = u8(buffer, at + 2)
        payload = at + 4 * length
        header_end = at + 12
    else:
        layout, kind, npt = 2, first >> 4, (first >> 2) & 3
        length = u8(buffer, at + 1)
        payload = at + 4 + 4 * length
        header_end = at + 16
    if kind < TYPE_HOP_BY_HOP or kind > TYPE_MX or (layout == 1 and kind == TYPE_MX):
        return SHIM_TYPE, at, 0, 0, 0, npt, 0
    if npt == 3:
        return NPT_RESERVED, at, 0, 0, 0, npt, 0
    if length < 3:
        return TOO_SMALL, at, 0, 0, 0, npt, 0
    if payload > declared:
        return BEYOND_UDP, at, 0, 0, 0, npt, 0
    if kind == TYPE_DESTINATION:
        return DESTINATION, at, 0, 0, payload, npt, 0
    if header_end > limit:
        return SHIM_TRUNCATED, at, 0, 0, 0, npt, 0
    if npt == 0:
        stored = u8(buffer, at + 3) >> 2
        if stored != 0:
            put(columns, "packets.original_dscp", row, stored)
    word = u32(buffer, at + 4)
    instructions = u16(buffer, at + 8)
    version = word >> 28
    put(columns, "packets.telemetry_bytes", row, payload - at)
    if kind == TYPE_MX:
        if version != 2:
            return VERSION_UNKNOWN, at + 4, 0, 0, payload, npt, 0
        put(columns, "packets.instructions", row, instructions)
        put(columns, "packets.namespace", row, u16(buffer, at + 10))
        return OK, at, 0, 0, payload, npt, FORMAT_INT_MX
    if layout == 1 and version == 0 and _is_version_05(buffer, at, word, instructions):
        return OK, at, 0, 0, payload, npt, FORMAT_INT_05
    if (layout == 2 and version != 2) or (layout == 1 and version > 1):
        return VERSION_UNKNOWN, at + 4, 0, 0, payload, npt, 0
    status, status_at, warnings, added = stack(
        buffer, at + 4, header_end, payload - header_end, layout, limit, settings, columns, row, hop
    )
    found = FORMAT_INT_MD_1 if layout == 1 else FORMAT_INT_MD_2
    follow = payload if status == OK or status == HOP_LENGTH_MISMATCH else 0
    return status, status_at, warnings, added, follow, npt, found


@inlined
def stack(
    buffer: Buffer,
    header: int,
    begin: int,
    size: int,
    layout: int,
    limit: int,
    settings: Any,
    columns: Any,
    row: int,
    hop: int,
) -> tuple[int, int, int, int]:
    """Metadata header (there, its version checked) and `size` bytes of stack from `begin`: (status, status at, warnings, hops added)."""
    word = u32(buffer, header)
    instructions = u16(buffer, header + 4)
    version, hop_words = word >> 28, (word >> 8) & 0x1F
    warnings, source_only, domain_words, domain = 0, 0, 0, 0
    if layout == 2:
        domain = u16(buffer, header + 6)
        specific = u16(buffer, header + 8)
        flags = ((word >> 27) & 1) | ((word >> 25) & 2) | ((word >> 23) & 4)
        if specific != 0:
            if domain == 0:
                warnings |= DOMAIN_DEFAULT
            for i in range(settings.domains.shape[0]):
                if settings.domains[i, 0] == domain:
                    source_only = settings.domains[i, 1]
                    domain_words = settings.domains[i, 2]
    else:
        flags = ((word >> 23) & 2) | ((word >> 21) & 4) | ((word >> 22) & 8)
    put(columns, "packets.telemetry_flags", row, flags)
    put(columns, "packets.instructions", row, instructions)
    put(columns, "packets.namespace", row, domain)
    put(columns, "packets.remaining_hops", row, word & 0xFF)
    if flags & FLAG_EXCEEDED != 0:
        warnings |= HOP_EXCEEDED
    if flags & FLAG_MTU != 0:
        warnings |= MTU_EXCEEDED
    if size == 0:
        return OK, header, warnings, 0
    if instructions == 0 and domain_words == 0 and size != 4 * source_only:
        return BITMAP_ZERO, header, warnings, 0
    hop_bytes = 4 * hop_words
    if hop_bytes == 0:
        if size == 4 * source_only:
            return OK, header, warnings, 0
        return HOP_LENGTH_ZERO, header, warnings, 0
    rest = size - 4 * source_only
    if rest < 0 or rest % hop_bytes != 0:
        rest = size
        if rest % hop_bytes != 0:
            return NOT_WHOLE_HOPS, begin, warnings, 0
    count = rest // hop_bytes

    dialect = _SPECIFICATION_2 if layout == 2 else _SPECIFICATION_1
    if (
        words_per_hop(instructions, 1 if layout == 1 else 2, 2) + domain_words != hop_words
        or instructions & 0x0200 != 0
        or version != (2 if layout == 2 else 1)
        or settings.numbers[INT_DIALECT] >= 1
    ):
        dialect, readings = fitting(layout, version, instructions, hop_words, domain_words, settings.numbers[INT_DIALECT])
        if readings > 1:
            warnings |= DIALECT_AMBIGUOUS
    put(columns, "packets.dialect", row, dialect)
    if dialect == 0:
        for i in range(count):
            put(columns, "hops.packet", hop + i, row)
            put(columns, "hops.hop", hop + i, i)
            put(columns, "hops.present", hop + i, HOP_OPAQUE)
        return HOP_LENGTH_MISMATCH, header, warnings, count
    if dialect > _SPECIFICATION_1:
        warnings |= DIALECT_USED

    whole = count
    if begin + rest > limit:
        whole = max(0, (limit - begin) // hop_bytes)
    warnings |= _fill(
        buffer, begin, count, whole, hop_bytes, instructions, TIME_WORDS[dialect], LEVEL2_WORDS[dialect], layout, columns, hop, row
    )
    if begin + size > limit:
        return STACK_TRUNCATED, begin, warnings, whole
    return OK, header, warnings, count


@inlined
def _fill(
    buffer: Buffer,
    begin: int,
    count: int,
    whole: int,
    hop_bytes: int,
    instructions: int,
    time_words: int,
    level2_words: int,
    layout: int,
    columns: Any,
    first: int,
    packet: int,
) -> int:
    """Rows of the `whole` newest of `count` hops, in path order: warnings. Their bounds are proved."""
    warnings = 0
    seen = 0
    cut = HOP_TRUNCATED_PATH if whole < count else 0
    for i in range(whole):
        wire = whole - 1 - i
        at = begin + wire * hop_bytes
        out = first + i
        present = cut
        busy = 0
        node = 0
        put(columns, "hops.packet", out, packet)
        put(columns, "hops.hop", out, count - 1 - wire)
        if instructions & 0x8000 != 0:
            node = u32(buffer, at)
            at += 4
            if node != ONES_4:
                put(columns, "hops.node_id", out, node)
                present |= _NODE_BITS
                if (seen >> (node & 63)) & 1 != 0:
                    for earlier in range(first, out):
                        if get(columns, "hops.node_id", earlier) == node and get(columns, "hops.present", earlier) & HAS_NODE != 0:
                            warnings |= NODE_REPEATED
                seen |= 1 << (node & 63)
        if instructions & 0x4000 != 0:
            ports = u32(buffer, at)
            at += 4
            if ports != ONES_4:
                put(columns, "hops.ingress_port", out, ports >> 16)
                put(columns, "hops.egress_port", out, ports & 0xFFFF)
                present |= _PORT_BITS
        if instructions & 0x2000 != 0:
            latency = u32(buffer, at)
            at += 4
            busy |= latency
            if latency != ONES_4:
                put(columns, "hops.hop_latency_raw", out, latency)
                present |= HAS_LATENCY
        if instructions & 0x1000 != 0:
            queue = u32(buffer, at)
            at += 4
            busy |= queue
            if queue != ONES_4:
                put(columns, "hops.queue_id", out, queue >> 24)
                put(columns, "hops.queue_depth_raw", out, queue & 0xFFFFFF)
                present |= _QUEUE_BITS
        if instructions & 0x0800 != 0:
            if time_words == 2:
                time = u64(buffer, at)
                at += 8
                absent = time == ONES_8
            else:
                time = u32(buffer, at)
                at += 4
                absent = time == ONES_4
            busy |= time
            if not absent:
                put(columns, "hops.ingress_time_raw", out, time)
                present |= HAS_INGRESS_TIME
        if instructions & 0x0400 != 0:
            if time_words == 2:
                time = u64(buffer, at)
                at += 8
                absent = time == ONES_8
            else:
                time = u32(buffer, at)
                at += 4
                absent = time == ONES_4
            busy |= time
            if not absent:
                put(columns, "hops.egress_time_raw", out, time)
                present |= HAS_EGRESS_TIME
        if instructions & 0x03FF != 0:
            if instructions & 0x0200 != 0:
                if level2_words == 2:
                    ingress, egress = u32(buffer, at), u32(buffer, at + 4)
                    absent = ingress == ONES_4 and egress == ONES_4
                    at += 8
                else:
                    ingress, egress = u16(buffer, at), u16(buffer, at + 2)
                    absent = ingress == 0xFFFF and egress == 0xFFFF
                    at += 4
                # Level-1 ids name the physical ports; level-2 ids stand in only where there are none.
                if not absent and instructions & 0x4000 == 0:
                    put(columns, "hops.ingress_port", out, ingress)
                    put(columns, "hops.egress_port", out, egress)
                    present |= _PORT_BITS
            if instructions & 0x0100 != 0:
                utilisation = u32(buffer, at)
                at += 4
                if utilisation != ONES_4:
                    put(columns, "hops.tx_utilisation_raw", out, utilisation)
                    present |= HAS_UTILISATION
            if layout == 2 and instructions & 0x0080 != 0:
                queue = u32(buffer, at)
                if queue != ONES_4:
                    put(columns, "hops.buffer_id", out, queue >> 24)
                    put(columns, "hops.buffer_depth_raw", out, queue & 0xFFFFFF)
                    present |= HAS_BUFFER
        if busy == 0 and instructions & 0x3C00 != 0:
            warnings |= METADATA_ZERO
        put(columns, "hops.present", out, present)
    return warnings
