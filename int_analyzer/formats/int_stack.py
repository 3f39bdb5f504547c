"""INT-MD metadata header and hop stack, v1.0 and v2.x, whatever carries them (P4.org INT v1.0 §4.7, INT v2.1 §5.8, §6.17).

v1.0 header | ver 4 | rep 2 | C E M | reserved 10 | hop words 5 | remaining 8 | bitmap 16 | reserved 16 |
v2.x header | ver 4 | D E M | reserved 12 | hop words 5 | remaining 8 | bitmap 16 | domain 16 | DS bits 16 | DS flags 16 |
stack       | newest hop | … | source's hop | source-only domain data |
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import get, put
from int_analyzer.formats.dialect import (
    DOMAIN,
    FLAGS_AT,
    LEVEL2_WORDS,
    RESERVED_1,
    RESERVED_2,
    SOURCE_WORDS,
    TIME_WORDS,
    UNUSED,
    bits_set,
    fitting,
    words_per_hop,
)
from int_analyzer.schema import (
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
)
from int_analyzer.settings import INT_DIALECT
from int_analyzer.status import STATUS_CODE, WARNING_BIT
from int_analyzer.wire.branch import likely, unlikely
from int_analyzer.wire.read import Buffer, u16, u32, u64

FLAG_DISCARD, FLAG_EXCEEDED, FLAG_MTU, FLAG_COPY = 1, 2, 4, 8
ONES_4, ONES_8 = 0xFFFFFFFF, -1

OK = STATUS_CODE["ok"]
BITMAP_ZERO = STATUS_CODE["int-bitmap-zero"]
HOP_LENGTH_ZERO = STATUS_CODE["int-hop-length-zero"]
HOP_LENGTH_MISMATCH = STATUS_CODE["int-hop-length-mismatch"]
NOT_WHOLE_HOPS = STATUS_CODE["int-stack-not-whole-hops"]
STACK_TRUNCATED = STATUS_CODE["int-stack-truncated"]

DIALECT_USED = WARNING_BIT["int-dialect"]
DIALECT_AMBIGUOUS = WARNING_BIT["int-dialect-ambiguous"]
DOMAIN_DEFAULT = WARNING_BIT["int-domain-default"]
HOP_EXCEEDED = WARNING_BIT["int-hop-exceeded"]
MTU_EXCEEDED = WARNING_BIT["int-mtu-exceeded"]
METADATA_ZERO = WARNING_BIT["metadata-zero"]
MAYBE_REPEATED = WARNING_BIT["node-repeated"]
"""Two nodes of a stack share a hash: packet.py looks again."""

_SPECIFICATION_2, _SPECIFICATION_1 = 1, 2
_LATENCY_ITEM = 0x2000
_NODE_BITS = HAS_NODE
_PORT_BITS = HAS_INGRESS_PORT | HAS_EGRESS_PORT
_QUEUE_BITS = HAS_QUEUE | HAS_DEPTH


@kernel
def domain_data(domain: int, settings: Any) -> tuple[int, int]:
    """What the profile, or its dialect, says of an INT domain: (bytes of source-only data, words of domain data in every hop)."""
    source_only, words, dialect = 0, 0, settings.numbers[INT_DIALECT]
    if dialect >= 1 and SOURCE_WORDS[dialect] != 0 and DOMAIN[dialect] == domain:
        source_only = 4 * SOURCE_WORDS[dialect]
    for i in range(settings.domains.shape[0]):
        if settings.domains[i, 0] == domain:
            source_only = 4 * settings.domains[i, 1]
            words = settings.domains[i, 2]
    return source_only, words


@inlined
def stack(
    buffer: Buffer, at: int, begin: int, payload: int, layout: int, limit: int, settings: Any, columns: Any, row: int, hop: int
) -> tuple[int, int, int, int]:
    """Metadata header 4 bytes behind `at`, stack from `begin` to `payload`: (status, status at, warnings, hops added or −1).

    Fills telemetry columns and hops if the checks pass (hops ≥ 0).
    """
    word = u32(buffer, at + 4)
    instructions = u16(buffer, at + 8)
    version, hop_words, size = word >> 28, (word >> 8) & 0x1F, payload - begin
    warnings, source_only, domain_words, domain = 0, 0, 0, 0
    if layout == 2:
        domain = u16(buffer, at + 10)
        flags = ((word >> 27) & 1) | ((word >> 25) & 2) | ((word >> 23) & 4)
        if unlikely(u16(buffer, at + 12) != 0):
            if unlikely(domain == 0):
                warnings |= DOMAIN_DEFAULT
            source_only, domain_words = domain_data(domain, settings)
    else:
        flags = ((word >> 23) & 2) | ((word >> 21) & 4) | ((word >> 22) & 8)
    if unlikely(size > 0 and instructions == 0):
        return BITMAP_ZERO, at, 0, -1
    hop_bytes = 4 * hop_words
    rest, count = size, 0
    if unlikely(hop_bytes == 0):
        if unlikely(size != 0 and size != source_only):
            return HOP_LENGTH_ZERO, at, 0, -1
        rest = 0
    else:
        if likely(size >= source_only and (size - source_only) % hop_bytes == 0):
            rest = size - source_only
        elif size % hop_bytes != 0:
            return NOT_WHOLE_HOPS, at, 0, -1
        count = rest // hop_bytes

    dialect, reserved_words, readings = (_SPECIFICATION_2 if layout == 2 else _SPECIFICATION_1), 1, 1
    if unlikely(
        words_per_hop(instructions, 1 if layout == 1 else 2, 2) + domain_words != hop_words
        or instructions & 0x02FE != 0
        or version != layout
        or settings.numbers[INT_DIALECT] >= 1
    ):
        dialect, reserved_words, readings = fitting(layout, version, instructions, hop_words, domain_words, settings.numbers[INT_DIALECT])
        if unlikely(readings > 1):
            warnings |= DIALECT_AMBIGUOUS
    whole = count
    if unlikely(begin + rest > limit):
        whole = max(0, (limit - begin) // hop_bytes)
    if unlikely(dialect > _SPECIFICATION_1) and layout == 2 and FLAGS_AT[dialect] != FLAGS_AT[_SPECIFICATION_2]:
        shifted = word << (FLAGS_AT[dialect] - FLAGS_AT[_SPECIFICATION_2])
        flags = ((shifted >> 27) & 1) | ((shifted >> 25) & 2) | ((shifted >> 23) & 4)
    put(columns, "packets.telemetry_flags", row, flags)
    put(columns, "packets.instructions", row, instructions)
    put(columns, "packets.namespace", row, domain)
    put(columns, "packets.remaining_hops", row, word & 0xFF)
    put(columns, "packets.dialect", row, dialect)
    if unlikely(flags & FLAG_EXCEEDED != 0):
        warnings |= HOP_EXCEEDED
    if unlikely(flags & FLAG_MTU != 0):
        warnings |= MTU_EXCEEDED
    if unlikely(dialect == 0):
        cut = HOP_TRUNCATED_PATH if whole < count else 0
        for i in range(whole):
            put(columns, "hops.packet", hop + i, row)
            put(columns, "hops.hop", hop + i, count - whole + i)
            put(columns, "hops.present", hop + i, HOP_OPAQUE | cut)
        if whole == 0:
            put(columns, "hops.hop", hop, count)
        return HOP_LENGTH_MISMATCH, at, warnings, whole
    if unlikely(dialect > _SPECIFICATION_1):
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
    if unlikely(dialect > _SPECIFICATION_1) and UNUSED[dialect] & _LATENCY_ITEM != 0:
        for out in range(hop, hop + whole):
            put(columns, "hops.present", out, get(columns, "hops.present", out) & ~HAS_LATENCY)
    if unlikely(whole < count):
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
            if likely(node != ONES_4):
                put(columns, "hops.node_id", out, node)
                present |= _NODE_BITS
                bit = 1 << ((node ^ (node >> 6) ^ (node >> 13)) & 63)
                if unlikely(seen & bit != 0):
                    warnings |= MAYBE_REPEATED
                seen |= bit
        if instructions & 0x4000 != 0:
            ports = u32(buffer, at)
            at += 4
            busy |= ports
            if likely(ports != ONES_4):
                put(columns, "hops.ingress_port", out, ports >> 16)
                put(columns, "hops.egress_port", out, ports & 0xFFFF)
                present |= _PORT_BITS
        if instructions & 0x2000 != 0:
            latency = u32(buffer, at)
            at += 4
            busy |= latency
            if likely(latency != ONES_4):
                put(columns, "hops.hop_latency_raw", out, latency)
                present |= HAS_LATENCY
        if instructions & 0x1000 != 0:
            queue = u32(buffer, at)
            at += 4
            busy |= queue
            if likely(queue != ONES_4):
                put(columns, "hops.queue_id", out, queue >> 24)
                put(columns, "hops.queue_depth_raw", out, queue & 0xFFFFFF)
                present |= _QUEUE_BITS
        if instructions & 0x0800 != 0:
            time, at, absent = _time(buffer, at, time_words)
            busy |= time
            if likely(not absent):
                put(columns, "hops.ingress_time_raw", out, time)
                present |= HAS_INGRESS_TIME
        if instructions & 0x0400 != 0:
            time, at, absent = _time(buffer, at, time_words)
            busy |= time
            if likely(not absent):
                put(columns, "hops.egress_time_raw", out, time)
                present |= HAS_EGRESS_TIME
        if unlikely(instructions & 0x03FF != 0):
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
                if likely(queue != ONES_4):
                    put(columns, "hops.buffer_id", out, queue >> 24)
                    put(columns, "hops.buffer_depth_raw", out, queue & 0xFFFFFF)
                    present |= HAS_BUFFER
            for _ in range(spare_words):
                busy |= u32(buffer, at)
                at += 4
        if unlikely(busy == 0 and instructions & 0x6C00 != 0):
            warnings |= METADATA_ZERO
        put(columns, "hops.present", out, present)
    return warnings


@inlined
def _time(buffer: Buffer, at: int, words: int) -> tuple[int, int, bool]:
    """A time of so many words: (value, where it ends, whether it is absent)."""
    if words == 2:
        time = u64(buffer, at)
        return time, at + 8, time == ONES_8
    time = u32(buffer, at)
    return time, at + 4, time == ONES_4
