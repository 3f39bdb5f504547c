"""The columns of one batch: fixed-capacity arrays that the decode kernel fills and the next batch reuses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from int_analyzer import schema

PACKETS_PER_BATCH = 8192
_STAGGER = 192
"""Bytes by which column base addresses are shifted against each other: page-aligned columns collide in one L1 set."""

# What the kernel reports beside the columns: indices into `Columns.counts`.
N_PACKETS, N_HOPS, N_ROCE, N_REPORTS, N_MIRRORS = 0, 1, 2, 3, 4
NEXT, STOP, STOP_DETAIL, STOP_AT = 5, 6, 7, 8
N_COUNTS = 16


class Columns(NamedTuple):
    """Column arrays by table, and `counts` (int64[16]): rows used in each table, where and why the kernel stopped."""

    packets: Any
    hops: Any
    roce: Any
    reports: Any
    mirrors: Any
    counts: Any

    def rows(self, table: str) -> int:
        """Rows in use of one table."""
        return int(self.counts[list(schema.TABLES).index(table)])


def allocate(packets: int = PACKETS_PER_BATCH, hops_per_packet: int = 8) -> Columns:
    """Columns for up to `packets` packets and `packets * hops_per_packet` hops."""
    capacity = {
        "packets": packets,
        "hops": max(packets * hops_per_packet, 512),
        "roce": packets,
        "reports": max(packets, 512),
        "mirrors": packets * 2,
    }
    total = sum(
        capacity[name] * np.dtype(column.dtype).itemsize + 64 * _STAGGER
        for name, table in schema.TABLES.items()
        for column in table
        if column.source == "kernel"
    )
    arena = np.zeros(total, dtype=np.uint8)
    used = 0
    stagger = 0
    tables = []
    for name, table in schema.TABLES.items():
        arrays = []
        for column in table:
            if column.source != "kernel":
                continue
            size = capacity[name] * np.dtype(column.dtype).itemsize
            stagger = (stagger + 1) % 32
            start = used + stagger * _STAGGER
            start += -start % 64
            arrays.append(arena[start : start + size].view(column.dtype))
            used = start + size
        tables.append(schema.COLUMN_CLASSES[name](*arrays))
    return Columns(*tables, counts=np.zeros(N_COUNTS, dtype=np.int64))
