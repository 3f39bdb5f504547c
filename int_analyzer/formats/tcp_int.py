"""TCP-INT: an option in which every switch leaves its values if it is the bottleneck so far (p4lang/p4app-TCP-INT).

| kind 0x72 | length 12 | tag frequency 4, link speed 4 | value 8 | hop id 8 | latency 24 | echoes of the other direction 32 |
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import N_OPTIONS, put
from int_analyzer.formats.option import add_option
from int_analyzer.schema import FORMAT_NONE, FORMAT_TCP_INT, HAS_OPTION_FLAGS, HAS_OPTION_HOP
from int_analyzer.wire.read import Buffer, u8, u24

KIND, LENGTH = 0x72, 12
KIND_END, KIND_NONE = 0, 1
FIXED_BYTES, MAXIMUM_OPTIONS = 20, 40


@kernel
def tcp_int(buffer: Buffer, at: int, limit: int, columns: Any, counts: Any, row: int) -> int:
    """The option of a TCP header at `at` into a row of options: its format, FORMAT_NONE if there is none."""
    if limit - at < FIXED_BYTES:
        return FORMAT_NONE
    end = at + (u8(buffer, at + 12) >> 4) * 4
    if end > limit:
        return FORMAT_NONE
    option = at + FIXED_BYTES
    for _ in range(MAXIMUM_OPTIONS):
        if option >= end or u8(buffer, option) == KIND_END:
            break
        if u8(buffer, option) == KIND_NONE:
            option += 1
            continue
        if option + 2 > end or u8(buffer, option + 1) < 2 or option + u8(buffer, option + 1) > end:
            break
        if u8(buffer, option) == KIND and u8(buffer, option + 1) == LENGTH:
            out = counts[N_OPTIONS]
            put(columns, "options.flags", out, u8(buffer, option + 2) >> 4)
            put(columns, "options.utilisation_raw", out, u8(buffer, option + 3))
            put(columns, "options.hop_id", out, u8(buffer, option + 4))
            put(columns, "options.hop_latency_raw", out, u24(buffer, option + 5))
            put(columns, "options.present", out, HAS_OPTION_FLAGS | HAS_OPTION_HOP)
            add_option(columns, counts, row, FORMAT_TCP_INT)
            return FORMAT_TCP_INT
        option += u8(buffer, option + 1)
    return FORMAT_NONE
