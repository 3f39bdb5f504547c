"""IOAM options, whatever carries them: 4 bytes of the carrier, then the data of an option type (RFC 9197 §4, RFC 9326, RFC 9486).

    IPv6 option     | type 8 | length 8 (without these 2) | reserved 8 | IOAM type 8 |
    Geneve option   | class 16 | type 8, the IOAM type | length 8 in words, without these 4 bytes |
    VXLAN-GPE, NSH  | IOAM type 8 | length 8 in words, NSH with these 4 bytes | reserved 8 | next protocol 8 |

    proof of transit | namespace 16 | type 8 | flags 8 | packet id 64 | cumulative 64 |
    edge to edge     | namespace 16 | bitmap 16 | sequence 64 or 32 | seconds 32 | fraction 32 |
    direct export    | namespace 16 | flags 8 | extension flags 8 | trace type 24 | reserved 8 | flow id 32 | sequence 32 | … |

Traces give hops (ioam_trace.py); the others a row of options each.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import N_OPTIONS, put
from int_analyzer.formats.dialect import bits_set
from int_analyzer.formats.ioam_trace import OK, trace
from int_analyzer.formats.option import add_option
from int_analyzer.schema import (
    FORMAT_IOAM_DEX,
    FORMAT_IOAM_E2E,
    FORMAT_IOAM_INCREMENTAL,
    FORMAT_IOAM_POT,
    FORMAT_IOAM_TRACE,
    FORMAT_NONE,
    HAS_OPTION_EXPORT,
    HAS_OPTION_FLAGS,
    HAS_OPTION_FLOW,
    HAS_OPTION_FRACTION,
    HAS_OPTION_NAMESPACE,
    HAS_OPTION_PROOF,
    HAS_OPTION_SECONDS,
    HAS_OPTION_SEQUENCE,
)
from int_analyzer.status import STATUS_CODE
from int_analyzer.wire.read import Buffer, u8, u16, u24, u32, u64

TYPE_PREALLOCATED, TYPE_INCREMENTAL, TYPE_POT, TYPE_E2E, TYPE_DEX = range(5)
E2E_SEQUENCE_64, E2E_SEQUENCE_32, E2E_SECONDS, E2E_FRACTION = 0x8000, 0x4000, 0x2000, 0x1000
DEX_FLOW, DEX_SEQUENCE = 0x80, 0x40

TRUNCATED = STATUS_CODE["ioam-truncated"]
OPTION_TYPE = STATUS_CODE["ioam-option-type"]
OPTION_LIMIT = STATUS_CODE["ioam-option-limit"]
POT_TYPE = STATUS_CODE["ioam-pot-type"]
E2E_BOTH = STATUS_CODE["ioam-e2e-sequence"]
DEX_LENGTH = STATUS_CODE["ioam-dex-length"]
CUT = STATUS_CODE["ioam-shim-truncated"]
SHIM_LENGTH = STATUS_CODE["ioam-shim-length"]


@kernel
def ioam(
    buffer: Buffer, option: int, end: int, limit: int, kind: int, columns: Any, counts: Any, row: int, hop: int
) -> tuple[int, int, int, int, int]:
    """Option of IOAM type `kind` from its 4 bytes of carrier at `option` to `end`: (status, status at, warnings, hops or −1, format or 0).

    CUT says that the captured bytes end before something can be read. Fills rows of hops or options from their ends on.
    """
    data = option + 4
    if data > end:
        return TRUNCATED, option, 0, -1, FORMAT_NONE
    if data > limit:
        return CUT, option, 0, -1, FORMAT_NONE
    if kind > TYPE_DEX:
        return OPTION_TYPE, option, 0, -1, FORMAT_NONE
    if kind <= TYPE_INCREMENTAL:
        found = FORMAT_IOAM_INCREMENTAL if kind == TYPE_INCREMENTAL else FORMAT_IOAM_TRACE
        if data + 8 > end:
            return TRUNCATED, option, 0, -1, found
        if data + 8 > limit:
            return CUT, option, 0, -1, FORMAT_NONE
        status, status_at, warnings, added = trace(buffer, option, end, limit, kind == TYPE_INCREMENTAL, columns, row, hop)
        return status, status_at, warnings, added, found
    out = counts[N_OPTIONS]
    if kind == TYPE_POT:
        status, found = _proof(buffer, data, end, limit, columns, out), FORMAT_IOAM_POT
    elif kind == TYPE_E2E:
        status, found = _edge_to_edge(buffer, data, end, limit, columns, out), FORMAT_IOAM_E2E
    else:
        status, found = _direct_export(buffer, data, end, limit, columns, out), FORMAT_IOAM_DEX
    if status == CUT and data + (8 if kind == TYPE_DEX else 4) > limit:
        return CUT, option, 0, -1, FORMAT_NONE
    if status == OK and not add_option(columns, counts, row, found):
        status = OPTION_LIMIT
    return status, option, 0, -1, found


@kernel
def ioam_shim(
    buffer: Buffer, at: int, limit: int, declared: int, head_words: int, columns: Any, counts: Any, row: int, hop: int
) -> tuple[int, int, int, int, int, int]:
    """IOAM behind VXLAN-GPE or NSH: (status, status at, warnings, hops added or −1, where its end is or 0, format or 0).

    head_words: 1 where the length counts the shim's own 4 bytes, as in NSH, else 0.
    """
    if limit - at < 4:
        return CUT, at, 0, -1, 0, FORMAT_NONE
    words = u8(buffer, at + 1) - head_words
    end = at + 4 + 4 * words
    if words < 0 or end > declared:
        return SHIM_LENGTH, at, 0, -1, 0, FORMAT_NONE
    status, status_at, warnings, added, found = ioam(buffer, at, end, limit, u8(buffer, at), columns, counts, row, hop)
    return status, status_at, warnings, added, end, found


@kernel
def _proof(buffer: Buffer, data: int, end: int, limit: int, columns: Any, out: int) -> int:
    """Proof of transit into row `out` of options: status."""
    if data + 4 > end:
        return TRUNCATED
    if data + 4 > limit:
        return CUT
    if u8(buffer, data + 2) != 0:
        return POT_TYPE
    if data + 20 > end:
        return TRUNCATED
    if data + 20 > limit:
        return CUT
    put(columns, "options.namespace", out, u16(buffer, data))
    put(columns, "options.flags", out, u8(buffer, data + 3))
    put(columns, "options.proof_packet_id", out, u64(buffer, data + 4))
    put(columns, "options.proof_cumulative", out, u64(buffer, data + 12))
    put(columns, "options.present", out, HAS_OPTION_NAMESPACE | HAS_OPTION_FLAGS | HAS_OPTION_PROOF)
    return OK


@kernel
def _edge_to_edge(buffer: Buffer, data: int, end: int, limit: int, columns: Any, out: int) -> int:
    """Edge to edge into row `out` of options: status. Bits that are not defined are ignored."""
    if data + 4 > end:
        return TRUNCATED
    if data + 4 > limit:
        return CUT
    bitmap = u16(buffer, data + 2)
    both = E2E_SEQUENCE_64 | E2E_SEQUENCE_32
    if bitmap & both == both:
        return E2E_BOTH
    item = data + 4
    behind = item + 4 * bits_set(bitmap & 0xF000) + (4 if bitmap & E2E_SEQUENCE_64 != 0 else 0)
    if behind > end:
        return TRUNCATED
    if behind > limit:
        return CUT
    present = HAS_OPTION_NAMESPACE
    put(columns, "options.namespace", out, u16(buffer, data))
    if bitmap & E2E_SEQUENCE_64 != 0:
        put(columns, "options.sequence", out, u64(buffer, item))
        put(columns, "options.sequence_bits", out, 64)
        present |= HAS_OPTION_SEQUENCE
        item += 8
    if bitmap & E2E_SEQUENCE_32 != 0:
        put(columns, "options.sequence", out, u32(buffer, item))
        put(columns, "options.sequence_bits", out, 32)
        present |= HAS_OPTION_SEQUENCE
        item += 4
    if bitmap & E2E_SECONDS != 0:
        put(columns, "options.time_seconds", out, u32(buffer, item))
        present |= HAS_OPTION_SECONDS
        item += 4
    if bitmap & E2E_FRACTION != 0:
        put(columns, "options.time_fraction_raw", out, u32(buffer, item))
        present |= HAS_OPTION_FRACTION
    put(columns, "options.present", out, present)
    return OK


@kernel
def _direct_export(buffer: Buffer, data: int, end: int, limit: int, columns: Any, out: int) -> int:
    """Direct export into row `out` of options: status. Extension fields that are not defined are skipped."""
    if data + 8 > end:
        return TRUNCATED
    if data + 8 > limit:
        return CUT
    extensions = u8(buffer, data + 3)
    if end - data != 8 + 4 * bits_set(extensions):
        return DEX_LENGTH
    if end > limit:
        return CUT
    present = HAS_OPTION_NAMESPACE | HAS_OPTION_FLAGS | HAS_OPTION_EXPORT
    put(columns, "options.namespace", out, u16(buffer, data))
    put(columns, "options.flags", out, u8(buffer, data + 2))
    put(columns, "options.extension_flags", out, extensions)
    put(columns, "options.trace_type", out, u24(buffer, data + 4))
    item = data + 8
    if extensions & DEX_FLOW != 0:
        put(columns, "options.flow_id", out, u32(buffer, item))
        present |= HAS_OPTION_FLOW
        item += 4
    if extensions & DEX_SEQUENCE != 0:
        put(columns, "options.sequence", out, u32(buffer, item))
        put(columns, "options.sequence_bits", out, 32)
        present |= HAS_OPTION_SEQUENCE
    put(columns, "options.present", out, present)
    return OK
