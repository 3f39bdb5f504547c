"""INT over UDP and TCP: the shim, what it announces, and what follows it (P4.org INT v1.0 §4.6, INT v2.1 §5.7.2, §5.9).

    v1.0 shim   | type 8 | reserved 8 | length 8 (with shim) | DSCP 6, r 2 |
    v2.x shim   | type 4 | NPT 2 | r 2 | length 8 (without shim) | by NPT 16 |

INT-MX has no stack: its header stands where that of INT-MD would. INT v0.5 has the first byte of v1.0 and a tail (int_05).
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined
from int_analyzer.columns import put
from int_analyzer.formats.dialect import LAYOUT, LAYOUT_05, fitting, words_per_hop
from int_analyzer.formats.int_05 import fitting_05, int_05
from int_analyzer.formats.int_stack import OK, STACK_TRUNCATED, domain_data, stack
from int_analyzer.schema import ABSENT8, FORMAT_INT_05, FORMAT_INT_MD_1, FORMAT_INT_MD_2, FORMAT_INT_MX
from int_analyzer.settings import INT_DIALECT, ROLE_INT
from int_analyzer.status import STATUS_CODE, WARNING_BIT
from int_analyzer.wire.branch import unlikely
from int_analyzer.wire.read import Buffer, u8, u16, u32

TYPE_HOP_BY_HOP, TYPE_DESTINATION, TYPE_MX = 1, 2, 3
LOCATED_BY_STRUCTURE, LOCATED_BY_PORT, LOCATED_BY_DSCP, LOCATED_BY_MARKER = 0, 1, 2, 3

SHIM_TRUNCATED = STATUS_CODE["int-shim-truncated"]
SHIM_TYPE = STATUS_CODE["int-shim-type"]
NPT_RESERVED = STATUS_CODE["int-npt-reserved"]
BEYOND_UDP = STATUS_CODE["int-length-beyond-udp"]
TOO_SMALL = STATUS_CODE["int-length-too-small"]
VERSION_UNKNOWN = STATUS_CODE["int-version-unknown"]
DESTINATION = STATUS_CODE["int-destination"]
PORT_LOOP = STATUS_CODE["int-port-loop"]

NPT_CONTRADICTS = WARNING_BIT["int-npt"]

HEAD, LENGTHS, RESERVED = 0, 1, 2
"""How much `looks_like` asks: the headers explain each other; and all lengths hold; and reserved bits are zero."""


@inlined
def looks_like(buffer: Buffer, at: int, limit: int, declared: int, asks: int, transport: int, settings: Any) -> bool:
    """Whether a shim and a metadata header that explain each other begin here.

    This is what is asked when no port, DSCP or marker of a profile says that INT is there: type, NPT, version and the per-hop length
    against the bitmap under the specification or a dialect. Only where a profile gave a hint (LENGTHS) may its domains explain a length.
    """
    if limit - at < 12:
        return False
    source_only, domain_words = 0, 0
    first = u8(buffer, at)
    word = u32(buffer, at + 4)
    instructions = u16(buffer, at + 8)
    version, hop_words = word >> 28, (word >> 8) & 0x1F
    if instructions == 0 and (asks == RESERVED or hop_words != 0):
        return False
    if first == TYPE_HOP_BY_HOP:
        length = u8(buffer, at + 2)
        size = 4 * length - 12
        if version > 1 or (asks == RESERVED and word & 0x007FE000 != 0) or fitting(1, version, instructions, hop_words, 0, -1)[0] == 0:
            return fitting_05(buffer, at, limit, transport, settings.numbers[INT_DIALECT]) != 0
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
        if asks != HEAD and limit - at < 16:
            return False
        if asks == LENGTHS and u16(buffer, at + 12) != 0:
            source_only, domain_words = domain_data(u16(buffer, at + 10), settings)
        if words_per_hop(instructions, 2, 2) + domain_words != hop_words:
            if fitting(2, 2, instructions, hop_words, domain_words, -1)[0] == 0:
                return False
    if instructions == 0 and size != 0:
        return False
    if asks == HEAD:
        return True
    if length < 3 or behind > declared:
        return False
    if size == 0 or hop_words == 0:
        return size == 0 or size == source_only
    return size % (4 * hop_words) == 0 or (size >= source_only and (size - source_only) % (4 * hop_words) == 0)


@inlined
def int_md(
    buffer: Buffer,
    at: int,
    limit: int,
    declared: int,
    port: int,
    located: int,
    transport: int,
    settings: Any,
    columns: Any,
    row: int,
    hop: int,
) -> tuple[int, int, int, int, int, int, int, int]:
    """Shim, header and stack: (status, status at, warnings, hops added or −1, where the payload begins or 0, NPT, original port, format).

    Fills the packet's telemetry columns and rows of hops from `hop` on, if the checks pass (hops added ≥ 0). The payload may be followed
    although the status is not OK.
    """
    if unlikely(limit - at < 4):
        return SHIM_TRUNCATED, at, 0, -1, 0, 0, port, 0
    first = u8(buffer, at)
    layout, kind, npt = 2, first >> 4, (first >> 2) & 3
    length = u8(buffer, at + 1)
    payload, begin = at + 4 + 4 * length, at + 16
    if unlikely(first == TYPE_HOP_BY_HOP or first == TYPE_DESTINATION):
        layout, kind, npt = 1, first, 0
        length = u8(buffer, at + 2)
        payload, begin = at + 4 * length, at + 12
    if unlikely(kind < TYPE_HOP_BY_HOP or kind > TYPE_MX):
        return SHIM_TYPE, at, 0, -1, 0, 0, port, 0
    if unlikely(npt == 3):
        return NPT_RESERVED, at, 0, -1, 0, 0, port, 0
    least = 3 if kind != TYPE_DESTINATION else (1 if layout == 1 else 0)
    if unlikely(length < least):
        return TOO_SMALL, at, 0, -1, 0, 0, port, 0
    if unlikely(payload > declared):
        return BEYOND_UDP, at, 0, -1, 0, 0, port, 0
    original, warnings = port, 0
    written_npt = npt
    if located == LOCATED_BY_DSCP or located == LOCATED_BY_MARKER:
        if unlikely(npt != 0):
            warnings |= NPT_CONTRADICTS
        npt = 0
    elif npt == 1:
        original = u16(buffer, at + 2)
    elif npt == 0 and located == LOCATED_BY_PORT and layout == 2:
        warnings |= NPT_CONTRADICTS
    if unlikely(kind == TYPE_DESTINATION):
        return DESTINATION, at, warnings, -1, payload, npt, original, 0
    if unlikely(begin > limit):
        return SHIM_TRUNCATED, at, 0, -1, 0, 0, port, 0
    word = u32(buffer, at + 4)
    version = word >> 28
    marker_bytes = 8 if located == LOCATED_BY_MARKER else 0
    configured = settings.numbers[INT_DIALECT]
    if unlikely(layout == 1 and (version > 1 or (configured >= 1 and LAYOUT[configured] == LAYOUT_05))):
        dialect = fitting_05(buffer, at, limit, transport, configured)
        if dialect != 0:
            odd, added = int_05(buffer, at, dialect, True, marker_bytes, columns, row, hop)
            return OK, at, odd, added, payload, 0, u16(buffer, payload - 3), FORMAT_INT_05
    if unlikely((layout == 2 and version != 2) or (layout == 1 and version > 1)):
        return VERSION_UNKNOWN, at, warnings, -1, payload, npt, original, 0
    found = FORMAT_INT_MD_1 if layout == 1 else (FORMAT_INT_MX if kind == TYPE_MX else FORMAT_INT_MD_2)
    if unlikely(npt == 1 and (original == port or settings.port_roles[original] == ROLE_INT)):
        return PORT_LOOP, at, 0, -1, 0, 0, port, found
    size = payload - at + marker_bytes
    if unlikely(npt == 2):
        size += 8
    if unlikely(kind == TYPE_MX):
        mx(buffer, at, size, columns, row)
        return OK, at, warnings, 0, payload, npt, original, found
    status, status_at, odd, added = stack(buffer, at, begin, payload, layout, limit, settings, columns, row, hop)
    if unlikely(status != OK and status != STACK_TRUNCATED):
        dialect = fitting_05(buffer, at, limit, transport, configured) if layout == 1 else 0
        if dialect != 0:
            odd, added = int_05(buffer, at, dialect, True, marker_bytes, columns, row, hop)
            return OK, at, odd, added, payload, 0, u16(buffer, payload - 3), FORMAT_INT_05
        if unlikely(added < 0):
            return status, status_at, 0, -1, 0, 0, port, found
    stored = u8(buffer, at + 3) >> 2
    if layout == 2 and u8(buffer, at + 3) == 0:
        stored = u8(buffer, at + 2) >> 2  # one switch program stores it in the first of the two bytes
    put(columns, "packets.original_dscp", row, ABSENT8 if written_npt != 0 or stored == 0 else stored)
    put(columns, "packets.telemetry_bytes", row, size)
    return status, status_at, warnings | odd, added, payload, npt, original, found


@inlined
def mx(buffer: Buffer, at: int, size: int, columns: Any, row: int) -> None:
    """Telemetry columns of an INT-MX header behind 4 bytes of shim or option head at `at`; there are no hops."""
    put(columns, "packets.telemetry_flags", row, (u8(buffer, at + 4) >> 3) & 1)
    put(columns, "packets.instructions", row, u16(buffer, at + 8))
    put(columns, "packets.namespace", row, u16(buffer, at + 10))
    put(columns, "packets.remaining_hops", row, 0)
    put(columns, "packets.dialect", row, 0)
    put(columns, "packets.telemetry_bytes", row, size)
