"""Rows of options: telemetry that is no stack of hops."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import N_OPTIONS, get, put

MAXIMUM_OPTIONS = 64
"""Rows that a packet may have."""


@kernel
def add_option(columns: Any, counts: Any, row: int, found: int) -> bool:
    """Keep the row behind the last of options as one of this packet, unless the packet has too many already: whether it is kept."""
    out = counts[N_OPTIONS]
    if out >= MAXIMUM_OPTIONS and get(columns, "options.packet", out - MAXIMUM_OPTIONS) == row:
        return False
    put(columns, "options.packet", out, row)
    put(columns, "options.format", out, found)
    counts[N_OPTIONS] = out + 1
    return True
