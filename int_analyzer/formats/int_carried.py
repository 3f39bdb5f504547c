"""INT outside UDP and TCP: the shims of VXLAN-GPE and GRE, and the Geneve option (P4.org INT v2.1 §5.7.1, §5.7.3, §5.7.4, INT v1.0 §4.6).

    VXLAN-GPE | type 4 | 0 4 | length 8 (without shim) | G 1, reserved 7 | next protocol 8 |        next protocol 0x80, 0x82
    v0.5, 1.0 | type 8 | reserved 8 | length 8 (with shim) | next protocol 8 |                      next protocol 0x08, or a profile's
    GRE       | type 4 | G 1, reserved 3 | length 8 (without shim) | EtherType 16 |
    Geneve    | class 16 | type 8 | reserved 3, length 5 (without these 4 bytes) |

In each, 4 bytes stand before the metadata header, as the shim does over UDP.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import put
from int_analyzer.formats.int_05 import fitting_05, int_05
from int_analyzer.formats.int_md import (
    BEYOND_UDP,
    DESTINATION,
    SHIM_TRUNCATED,
    SHIM_TYPE,
    TOO_SMALL,
    TYPE_DESTINATION,
    TYPE_HOP_BY_HOP,
    TYPE_MX,
    VERSION_UNKNOWN,
    mx,
)
from int_analyzer.formats.int_stack import OK, STACK_TRUNCATED, stack
from int_analyzer.schema import ABSENT8, FORMAT_INT_05, FORMAT_INT_MD_1, FORMAT_INT_MD_2, FORMAT_INT_MX
from int_analyzer.settings import INT_DIALECT
from int_analyzer.wire.read import Buffer, u8

IN_GPE, IN_GPE_1, IN_GRE, IN_GENEVE = 0, 1, 2, 3
NO_TAIL = -1


@kernel
def int_carried(
    buffer: Buffer, at: int, limit: int, declared: int, carrier: int, settings: Any, columns: Any, row: int, hop: int
) -> tuple[int, int, int, int, int, int]:
    """(status, status at, warnings, hops added or −1, where the payload begins or 0, format). Fills as formats/int_md.int_md does."""
    if limit - at < 4:
        return SHIM_TRUNCATED, at, 0, -1, 0, 0
    layout, kind, length = 2, u8(buffer, at) >> 4, u8(buffer, at + 1)
    payload, begin = at + 4 + 4 * length, at + 16
    if carrier == IN_GPE_1:
        layout, kind, length = 1, u8(buffer, at), u8(buffer, at + 2)
        payload, begin = at + 4 * length, at + 12
    elif carrier == IN_GENEVE:
        kind, length = u8(buffer, at + 2), u8(buffer, at + 3) & 0x1F
        payload = at + 4 + 4 * length
    if kind < TYPE_HOP_BY_HOP or kind > TYPE_MX or (layout == 1 and kind == TYPE_MX):
        return SHIM_TYPE, at, 0, -1, 0, 0
    least = 3 if kind != TYPE_DESTINATION else (1 if layout == 1 else 0)
    if length < least:
        return TOO_SMALL, at, 0, -1, 0, 0
    if payload > declared:
        return BEYOND_UDP, at, 0, -1, 0, 0
    if kind == TYPE_DESTINATION:
        return DESTINATION, at, 0, -1, payload, 0
    if begin > limit:
        return SHIM_TRUNCATED, at, 0, -1, 0, 0
    version = u8(buffer, at + 4) >> 4
    if (layout == 2 and version != 2) or (layout == 1 and version > 1):
        return VERSION_UNKNOWN, at, 0, -1, payload, 0
    if kind == TYPE_MX:
        mx(buffer, at, payload - at, columns, row)
        put(columns, "packets.original_dscp", row, ABSENT8)
        return OK, at, 0, 0, payload, FORMAT_INT_MX
    found = FORMAT_INT_MD_1 if layout == 1 else FORMAT_INT_MD_2
    status, status_at, warnings, added = stack(buffer, at, begin, payload, layout, limit, settings, columns, row, hop)
    if layout == 1 and status != OK and status != STACK_TRUNCATED:
        dialect = fitting_05(buffer, at, limit, NO_TAIL, settings.numbers[INT_DIALECT])
        if dialect != 0:
            warnings, added = int_05(buffer, at, dialect, False, 0, columns, row, hop)
            return OK, at, warnings, added, payload, FORMAT_INT_05
    if added < 0:
        return status, status_at, 0, -1, 0, found
    put(columns, "packets.original_dscp", row, ABSENT8)
    put(columns, "packets.telemetry_bytes", row, payload - at)
    return status, status_at, warnings, added, payload, found
