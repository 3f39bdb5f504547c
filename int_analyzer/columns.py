"""The columns of one batch: fixed-capacity arrays that the decode kernel fills and the next batch reuses.

All columns live in one arena at offsets known when the kernel is compiled, so that storing a value is one instruction and a kernel
takes one array instead of a hundred. `put` and `get` name a column by its place in the schema ("hops.node_id").
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from int_analyzer import schema
from int_analyzer._jit import reader

PACKETS_PER_BATCH = 8192
HOPS_PER_BATCH = 8 * PACKETS_PER_BATCH
REPORTS_PER_BATCH = OPTIONS_PER_BATCH = PACKETS_PER_BATCH
_CAPACITY = {
    "packets": PACKETS_PER_BATCH,
    "hops": HOPS_PER_BATCH,
    "roce": PACKETS_PER_BATCH,
    "reports": REPORTS_PER_BATCH,
    "mirrors": 5 * PACKETS_PER_BATCH,
    "options": OPTIONS_PER_BATCH,
}
_STAGGER = 192
"""Bytes by which column base addresses are shifted against each other: page-aligned columns collide in one L1 set."""

# What the kernel reports beside the columns: indices into `Columns.counts`.
N_PACKETS, N_HOPS, N_ROCE, N_REPORTS, N_MIRRORS, N_OPTIONS = 0, 1, 2, 3, 4, 5
NEXT, STOP, STOP_DETAIL, N_RECORDS = 6, 7, 8, 9
N_COUNTS = 16


class Place(NamedTuple):
    """Where a column lies in the arena: byte offset, dtype, rows."""

    offset: int
    dtype: str
    rows: int


def _places(capacity: dict[str, int]) -> tuple[dict[str, Place], int]:
    places: dict[str, Place] = {}
    used = 0
    for name, table in schema.TABLES.items():
        for column in schema.kernel_columns(table):
            dtype = next(entry.dtype for entry in table if entry.name == column)
            start = used + (len(places) % 32) * _STAGGER
            start += -start % 64
            places[f"{name}.{column}"] = Place(start, dtype, capacity[name])
            used = start + capacity[name] * np.dtype(dtype).itemsize
    return places, used


PLACES, ARENA_BYTES = _places(_CAPACITY)


class Columns(NamedTuple):
    """Column arrays by table, `counts` (int64[16]: rows used in each table, where and why the kernel stopped), and their arena."""

    packets: Any
    hops: Any
    roce: Any
    reports: Any
    mirrors: Any
    options: Any
    counts: Any
    arena: Any = None

    def rows(self, table: str) -> int:
        """Rows in use of one table."""
        return int(self.counts[list(schema.TABLES).index(table)])

    def records(self) -> Any:
        """Number of each packet row's record, counted from that of the first row: parts of one record have the same."""
        first = self.packets.part[: self.rows("packets")] == 0
        return np.cumsum(first) - first[:1]

    def by_name(self) -> dict[str, Any]:
        """Views of the columns for uncompiled kernels: {"hops.node_id": memoryview, …}."""
        return {
            f"{name}.{column}": memoryview(getattr(getattr(self, name), column))
            for name, table in schema.TABLES.items()
            for column in schema.kernel_columns(table)
        }


def allocate(packets: int = PACKETS_PER_BATCH) -> Columns:
    """Columns for up to `packets` packets and 8 hops of each. The decode kernel takes the default size only."""
    places, size = PLACES, ARENA_BYTES
    if packets != PACKETS_PER_BATCH:
        places, size = _places({name: max(rows * packets // PACKETS_PER_BATCH, 512) for name, rows in _CAPACITY.items()})
    arena = np.zeros(size, dtype=np.uint8)
    tables: dict[str, Any] = {}
    for name, table in schema.TABLES.items():
        arrays = []
        for column in schema.kernel_columns(table):
            place = places[f"{name}.{column}"]
            end = place.offset + place.rows * np.dtype(place.dtype).itemsize
            arrays.append(arena[place.offset : end].view(place.dtype))
        tables[name] = schema.COLUMN_CLASSES[name](*arrays)
    return Columns(**tables, counts=np.zeros(N_COUNTS, dtype=np.int64), arena=arena)


def _compiled_put() -> Any:
    from int_analyzer import _load

    return _load.column_put()


def _compiled_get() -> Any:
    from int_analyzer import _load

    return _load.column_get()


@reader(_compiled_put)
def put(columns: Any, column: str, row: int, value: int) -> None:
    """Store `value` in row `row` of a column, narrowed to its dtype."""
    columns[column][row] = value


@reader(_compiled_get)
def get(columns: Any, column: str, row: int) -> int:
    """Value of a column in row `row`, as int64."""
    return columns[column][row]
