"""INT-MD v1.0 and v2.x: shim, metadata header and hop stack (P4.org INT v1.0 §4.6-4.7, INT v2.1 §5.7-5.8, §6.17).

    v1.0 shim   | type 8 | reserved 8 | length 8 (with shim) | DSCP 6, r 2 |
    v2.x shim   | type 4 | NPT 2 | r 2 | length 8 (without shim) | by NPT 16 |
    v1.0 header | ver 4 | rep 2 | C E M | reserved 10 | hop words 5 | remaining 8 | bitmap 16 | reserved 16 |
    v2.x header | ver 4 | D E M | reserved 12 | hop words 5 | remaining 8 | bitmap 16 | domain 16 | DS bits 16 | DS flags 16 |
    stack       | newest hop | … | source's hop | source-only domain data |

INT-MX and INT v0.5 are recognised, skipped by their length and counted.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import put
from int_analyzer.formats.dialect import LEVEL2_WORDS, RESERVED_1, RESERVED_2, TIME_WORDS, bits_set, fitting, words_per_hop
from int_analyzer.schema import (
    ABSENT8,
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
from int_analyzer.settings import INT_DIALECT, ROLE_INT
from int_analyzer.wire.read import Buffer, u8, u16, u32, u64

TYPE_HOP_BY_HOP, TYPE_DESTINATION, TYPE_MX = 1, 2, 3
FLAG_DISCARD, FLAG_EXCEEDED, FLAG_MTU, FLAG_COPY = 1, 2, 4, 8
ONES_4, ONES_8 = 0xFFFFFFFF, -1
LOCATED_BY_STRUCTURE, LOCATED_BY_PORT, LOCATED_BY_DSCP, LOCATED_BY_MARKER = 0, 1, 2, 3

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
PORT_LOOP = STATUS_CODE["int-port-loop"]

DIALECT_USED = WARNING_BIT["int-dialect"]
DIALECT_AMBIGUOUS = WARNING_BIT["int-dialect-ambiguous"]
DOMAIN_DEFAULT = WARNING_BIT["int-domain-default"]
HOP_EXCEEDED = WARNING_BIT["int-hop-exceeded"]
MTU_EXCEEDED = WARNING_BIT["int-mtu-exceeded"]
NPT_CONTRADICTS = WARNING_BIT["int-npt"]
METADATA_ZERO = WARNING_BIT["metadata-zero"]
MAYBE_REPEATED = WARNING_BIT["node-repeated"]
"""Two nodes of a stack share a hash: packet.py looks again."""

_SPECIFICATION_2, _SPECIFICATION_1 = 1, 2
_NODE_BITS = HAS_NODE
_PORT_BITS = HAS_INGRESS_PORT | HAS_EGRESS_PORT
_QUEUE_BITS = HAS_QUEUE | HAS_DEPTH


HEAD, LENGTHS, RESERVED = 0, 1, 2
"""How much `looks_like` asks: the headers explain each other; and all lengths hold; and reserved bits are zero."""


@inlined
def looks_like(buffer: Buffer, at: int, limit: int, declared: int, asks: int) -> bool:
    """Whether a shim and a metadata header that explain each other begin here.

    This is what is asked when no port, DSCP or marker of a profile says that INT is there: type, NPT, version and the per-hop length
    against the bitmap under the specification or a dialect.
    """
    if limit - at < 12:
        return False
    first = u8(buffer, at)
    word = u32(buffer, at + 4)
    instructions = u16(buffer, at + 8)
    version, hop_words = word >> 28, (word >> 8) & 0x1F
    if instructions == 0 and (asks == RESERVED or hop_words != 0):
        return False
    if first == TYPE_HOP_BY_HOP:
        length = u8(buffer, at + 2)
        size = 4 * length - 12
        if version > 1:
            return False
        if asks == RESERVED and word & 0x007FE000 != 0:
            return version == 0 and is_version_05(buffer, at, limit)
        if fitting(1, version, instructions, hop_words, 0, -1)[0] == 0:
            return version == 0 and is_version_05(buffer, at, limit)
        behind = at + 4 * length
    else:
        if version != 2 or first & 0x0C == 0x0C:
            return False
        length = u8(buffer, at + 1)
        size = 4 * length - 12
        behind = at + 4 + 4 * length
        if first >> 4 == TYPE_MX:
            if word & 0x07FFFFFF != 0 or instructions & 1 != 0 or instructions == 0:
                return False
            return asks == HEAD or (length >= 3 and behind <= declared and limit - at >= 16)
        if first >> 4 != TYPE_HOP_BY_HOP or (asks == RESERVED and word & 0x01FFE000 != 0):
            return False
        if words_per_hop(instructions, 2, 2) != hop_words and fitting(2, 2, instructions, hop_words, 0, -1)[0] == 0:
            return False
        if asks != HEAD and limit - at < 16:
            return False
    if instructions == 0 and size != 0:
        return False
    if asks == HEAD:
        return True
    return length >= 3 and behind <= declared and (size == 0 or (hop_words != 0 and size % (4 * hop_words) == 0))


@kernel
def is_version_05(buffer: Buffer, at: int, limit: int) -> bool:
    """Whether a v0.5 header begins here: instruction count, total hops and the length with its tail agree (12 bytes are there)."""
    word, instructions = u32(buffer, at + 4), u16(buffer, at + 8)
    count, most, total = (word >> 16) & 0x1F, (word >> 8) & 0xFF, word & 0xFF
    behind = at + 4 * u8(buffer, at + 2)
    size = behind - at - 16
    if behind > limit or u8(buffer, at) != TYPE_HOP_BY_HOP or size < 0 or count < 1 or total > most:
        return False
    return count == bits_set(instructions) and size == 4 * count * total and u8(buffer, behind - 4) == 17


@inlined
def int_md(
    buffer: Buffer, at: int, limit: int, declared: int, port: int, located: int, settings: Any, columns: Any, row: int, hop: int
) -> tuple[int, int, int, int, int, int, int, int]:
    """Shim, header and stack: (status, status at, warnings, hops added or −1, where the payload begins or 0, NPT, original port, format).

    Fills the packet's telemetry columns and rows of hops from `hop` on, if the checks pass (hops added ≥ 0). The payload may be followed
    although the status is not OK.
    """
    if limit - at < 4:
        return SHIM_TRUNCATED, at, 0, -1, 0, 0, port, 0
    first = u8(buffer, at)
    layout, kind, npt = 2, first >> 4, (first >> 2) & 3
    length = u8(buffer, at + 1)
    payload, begin = at + 4 + 4 * length, at + 16
    if first == TYPE_HOP_BY_HOP or first == TYPE_DESTINATION:
        layout, kind, npt = 1, first, 0
        length = u8(buffer, at + 2)
        payload, begin = at + 4 * length, at + 12
    if kind < TYPE_HOP_BY_HOP or kind > TYPE_MX:
        return SHIM_TYPE, at, 0, -1, 0, 0, port, 0
    if npt == 3:
        return NPT_RESERVED, at, 0, -1, 0, 0, port, 0
    least = 3 if kind != TYPE_DESTINATION else (1 if layout == 1 else 0)
    if length < least:
        return TOO_SMALL, at, 0, -1, 0, 0, port, 0
    if payload > declared:
        return BEYOND_UDP, at, 0, -1, 0, 0, port, 0
    original, warnings = port, 0
    written_npt = npt
    if located == LOCATED_BY_DSCP or located == LOCATED_BY_MARKER:
        if npt != 0:
            warnings |= NPT_CONTRADICTS
        npt = 0
    elif npt == 1:
        original = u16(buffer, at + 2)
    elif npt == 0 and located == LOCATED_BY_PORT and layout == 2:
        warnings |= NPT_CONTRADICTS
    if kind == TYPE_DESTINATION:
        return DESTINATION, at, warnings, -1, payload, npt, original, 0
    if begin > limit:
        return SHIM_TRUNCATED, at, 0, -1, 0, 0, port, 0
    word = u32(buffer, at + 4)
    version = word >> 28
    if (layout == 2 and version != 2) or (layout == 1 and version > 1):
        return VERSION_UNKNOWN, at, warnings, -1, payload, npt, original, 0
    found = FORMAT_INT_MD_1 if layout == 1 else (FORMAT_INT_MX if kind == TYPE_MX else FORMAT_INT_MD_2)
    if npt == 1 and (original == port or settings.port_roles[original] == ROLE_INT):
        return PORT_LOOP, at, 0, -1, 0, 0, port, found
    if kind == TYPE_MX:
        return OK, at, warnings, -1, payload, npt, original, found
    status, status_at, odd, added = _stack(buffer, at, begin, payload, layout, limit, settings, columns, row, hop)
    if status != OK and status != STACK_TRUNCATED:
        if layout == 1 and version == 0 and is_version_05(buffer, at, limit):
            _forget(columns, row)
            return OK, at, 0, -1, payload, 0, u16(buffer, payload - 3), FORMAT_INT_05
        if added < 0:
            return status, status_at, 0, -1, 0, 0, port, found
    stored = u8(buffer, at + 3) >> 2
    if layout == 2 and u8(buffer, at + 3) == 0:
        stored = u8(buffer, at + 2) >> 2  # one switch program stores it in the first of the two bytes
    put(columns, "packets.original_dscp", row, ABSENT8 if written_npt != 0 or stored == 0 else stored)
    size = payload - at
    if located == LOCATED_BY_MARKER:
        size += 8
    if npt == 2:
        size += 8
    put(columns, "packets.telemetry_bytes", row, size)
    return status, status_at, warnings | odd, added, payload, npt, original, found


@inlined
def _forget(columns: Any, row: int) -> None:
    """Take back what a first reading of the header wrote."""
    put(columns, "packets.telemetry_flags", row, 0)
    put(columns, "packets.instructions", row, 0)
    put(columns, "packets.namespace", row, 0)
    put(columns, "packets.remaining_hops", row, 0)
    put(columns, "packets.dialect", row, 0)


@inlined
def _stack(
    buffer: Buffer, at: int, begin: int, payload: int, layout: int, limit: int, settings: Any, columns: Any, row: int, hop: int
) -> tuple[int, int, int, int]:
    """Metadata header behind the shim at `at` and stack from `begin` to `payload`: (status, status at, warnings, hops added or −1)."""
    word = u32(buffer, at + 4)
    instructions = u16(buffer, at + 8)
    version, hop_words, size = word >> 28, (word >> 8) & 0x1F, payload - begin
    warnings, source_only, domain_words, domain = 0, 0, 0, 0
    if layout == 2:
        domain = u16(buffer, at + 10)
        flags = ((word >> 27) & 1) | ((word >> 25) & 2) | ((word >> 23) & 4)
        if u16(buffer, at + 12) != 0:
            if domain == 0:
                warnings |= DOMAIN_DEFAULT
            for i in range(settings.domains.shape[0]):
                if settings.domains[i, 0] == domain:
                    source_only = 4 * settings.domains[i, 1]
                    domain_words = settings.domains[i, 2]
    else:
        flags = ((word >> 23) & 2) | ((word >> 21) & 4) | ((word >> 22) & 8)
    if size > 0 and instructions == 0:
        return BITMAP_ZERO, at, 0, -1
    hop_bytes = 4 * hop_words
    rest, count = size, 0
    if hop_bytes == 0:
        if size != 0 and size != source_only:
            return HOP_LENGTH_ZERO, at, 0, -1
        rest = 0
    else:
        if size >= source_only and (size - source_only) % hop_bytes == 0:
            rest = size - source_only
        elif size % hop_bytes != 0:
            return NOT_WHOLE_HOPS, at, 0, -1
        count = rest // hop_bytes

    dialect, reserved_words, readings = (_SPECIFICATION_2 if layout == 2 else _SPECIFICATION_1), 1, 1
    if (
        words_per_hop(instructions, 1 if layout == 1 else 2, 2) + domain_words != hop_words
        or instructions & 0x02FE != 0
        or version != layout
        or settings.numbers[INT_DIALECT] >= 1
    ):
        dialect, reserved_words, readings = fitting(layout, version, instructions, hop_words, domain_words, settings.numbers[INT_DIALECT])
        if readings > 1:
            warnings |= DIALECT_AMBIGUOUS
    whole = count
    if begin + rest > limit:
        whole = max(0, (limit - begin) // hop_bytes)
    put(columns, "packets.telemetry_flags", row, flags)
    put(columns, "packets.instructions", row, instructions)
    put(columns, "packets.namespace", row, domain)
    put(columns, "packets.remaining_hops", row, word & 0xFF)
    put(columns, "packets.dialect", row, dialect)
    if flags & FLAG_EXCEEDED != 0:
        warnings |= HOP_EXCEEDED
    if flags & FLAG_MTU != 0:
        warnings |= MTU_EXCEEDED
    if dialect == 0:
        cut = HOP_TRUNCATED_PATH if whole < count else 0
        for i in range(whole):
            put(columns, "hops.packet", hop + i, row)
            put(columns, "hops.hop", hop + i, count - whole + i)
            put(columns, "hops.present", hop + i, HOP_OPAQUE | cut)
        if whole == 0:
            put(columns, "hops.hop", hop, count)
        return HOP_LENGTH_MISMATCH, at, warnings, whole
    if dialect > _SPECIFICATION_1:
        warnings |= DIALECT_USED
    spare = instructions & (RESERVED_1 if layout == 1 else RESERVED_2)
    spare_words = bits_set(spare) * reserved_words + (instructions & 1)
    warnings |= _fill(
        buffer,
        begin,
        count,
        whole,
        hop_bytes,
        instructions,
        TIME_WORDS[dialect],
        LEVEL2_WORDS[dialect],
        layout,
        spare_words,
        columns,
        hop,
        row,
    )
    if whole < count:
        if whole == 0:
            put(columns, "hops.hop", hop, count)
        return STACK_TRUNCATED, begin + whole * hop_bytes, warnings, whole
    return OK, at, warnings, count


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
    spare_words: int,
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
        put(columns, "hops.packet", out, packet)
        put(columns, "hops.hop", out, count - 1 - wire)
        if instructions & 0x8000 != 0:
            node = u32(buffer, at)
            at += 4
            if node != ONES_4:
                put(columns, "hops.node_id", out, node)
                present |= _NODE_BITS
                bit = 1 << ((node ^ (node >> 6) ^ (node >> 13)) & 63)
                if seen & bit != 0:
                    warnings |= MAYBE_REPEATED
                seen |= bit
        if instructions & 0x4000 != 0:
            ports = u32(buffer, at)
            at += 4
            busy |= ports
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
                busy |= ingress | egress
                # Level-1 ids name the physical ports; level-2 ids stand in only where there are none.
                if not absent and instructions & 0x4000 == 0:
                    put(columns, "hops.ingress_port", out, ingress)
                    put(columns, "hops.egress_port", out, egress)
                    present |= _PORT_BITS
            if instructions & 0x0100 != 0:
                utilisation = u32(buffer, at)
                at += 4
                busy |= utilisation
                if utilisation != ONES_4:
                    put(columns, "hops.tx_utilisation_raw", out, utilisation)
                    present |= HAS_UTILISATION
            if layout == 2 and instructions & 0x0080 != 0:
                queue = u32(buffer, at)
                at += 4
                busy |= queue
                if queue != ONES_4:
                    put(columns, "hops.buffer_id", out, queue >> 24)
                    put(columns, "hops.buffer_depth_raw", out, queue & 0xFFFFFF)
                    present |= HAS_BUFFER
            for _ in range(spare_words):
                busy |= u32(buffer, at)
                at += 4
        if busy == 0 and instructions & 0x6C00 != 0:
            warnings |= METADATA_ZERO
        put(columns, "hops.present", out, present)
    return warnings
