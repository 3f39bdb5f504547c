"""A table of int64 rows found by exact key: open addressing over a growing array, for all that is kept per queue, path or flow."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from int_analyzer._jit import compiled, inlined, kernel

# Module-level: a kernel's argument (a class built in a function defeats the numba cache).
TableArrays = namedtuple("TableArrays", ["rows", "index", "used"])
"""rows int64[capacity, width], the key in front, the hash in the last word; index int64[2^k]: upper half of the hash and row + 1,
0 if empty; used int64[1]: rows in use."""

_LOWER = 0xFFFFFFFF
_UPPER = -1 << 32


@inlined
def find(table: Any, key: Any, words: int, hashed: int) -> int:
    """Row whose first `words` words equal `key`; a new one (zero behind the key) if there is none, −1 if there is no room for it."""
    mask = table.index.shape[0] - 1
    at = hashed & mask
    while True:
        slot = table.index[at]
        if slot == 0:
            break
        if (slot ^ hashed) >> 32 == 0:
            row = (slot & _LOWER) - 1
            same = 0
            while same < words and table.rows[row, same] == key[same]:
                same += 1
            if same == words:
                return row
        at = (at + 1) & mask
    row = table.used[0]
    if row == table.rows.shape[0]:
        return -1
    table.index[at] = (hashed & _UPPER) | (row + 1)
    for word in range(words):
        table.rows[row, word] = key[word]
    table.rows[row, table.rows.shape[1] - 1] = hashed
    table.used[0] = row + 1
    return row


@kernel
def _index_rows(table: Any) -> None:
    mask = table.index.shape[0] - 1
    last = table.rows.shape[1] - 1
    for row in range(table.used[0]):
        hashed = table.rows[row, last]
        at = hashed & mask
        while table.index[at] != 0:
            at = (at + 1) & mask
        table.index[at] = (hashed & _UPPER) | (row + 1)


def aligned(rows: int, width: int) -> Any:
    """Zeroed int64[rows, width] that begins at a cache line."""
    flat = np.zeros(rows * width + 8, dtype=np.int64)
    skip = (-flat.ctypes.data % 64) // 8
    return flat[skip : skip + rows * width].reshape(rows, width)


def in_memory(arrays: Any) -> Any:
    """The same arrays (in the same named tuples) as memoryviews: what an uncompiled kernel takes, for they give Python ints."""
    if isinstance(arrays, tuple):
        return type(arrays)(*map(in_memory, arrays))
    return memoryview(arrays)


def keys(words: Any) -> list[bytes]:
    """Each row of int64[n, words] as bytes: what a dictionary takes."""
    flat, size = np.ascontiguousarray(words).tobytes(), 8 * words.shape[1]
    return [flat[at : at + size] for at in range(0, len(flat), size)]


class Table:
    """Rows of `width` words (the first `words` are the key, the last the hash); room grows up to `maximum` rows."""

    def __init__(self, width: int, words: int, maximum: int, capacity: int = 64) -> None:
        self.width = width
        self.words = words
        self.maximum = maximum
        self.rows = aligned(min(capacity, maximum), width)
        self.used = np.zeros(1, dtype=np.int64)
        self._indexed = False
        self.index = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return int(self.used[0])

    @property
    def data(self) -> Any:
        """int64[rows in use, width]."""
        return self.rows[: len(self)]

    def column(self, word: int) -> Any:
        """A copy of one word of every row in use: int64[rows]."""
        return self.data[:, word].copy()

    def reserve(self, more: int) -> bool:
        """Make room for `more` rows beyond those in use, as far as the maximum allows: whether there is room now."""
        needed = len(self) + more
        if needed > self.rows.shape[0] and self.rows.shape[0] < self.maximum:
            grown = aligned(min(max(needed, 2 * self.rows.shape[0]), self.maximum), self.width)
            grown[: len(self)] = self.data
            self.rows = grown
            self._indexed = False
        return needed <= self.rows.shape[0]

    def replace(self, rows: Any) -> None:
        """Put these rows (int64[n, width], hashes included) in place of all; n may not exceed the maximum."""
        capacity = max(len(rows), self.rows.shape[0])
        self.rows = aligned(capacity, self.width)
        self.rows[: len(rows)] = rows
        self.used[0] = len(rows)
        self._indexed = False

    def arrays(self, fast: bool) -> TableArrays:
        """What a kernel takes, with the index up to date; `fast`: indexed by compiled code."""
        arrays = TableArrays(self.rows, self.index, self.used)
        if not self._indexed:
            self.index = np.zeros(1 << (2 * self.rows.shape[0] - 1).bit_length(), dtype=np.int64)
            arrays = TableArrays(self.rows, self.index, self.used)
            if fast:
                compiled(_index_rows)(arrays)
            else:
                _index_rows(in_memory(arrays))
            self._indexed = True
        return arrays

    def match(self, theirs: Any) -> tuple[Any, Any]:
        """The row here of each of `theirs` (int64[n, width]), and which of them are new: those are put behind mine as they are.

        Returns int64[n], −1 where the maximum leaves no room, and bool[n].
        """
        known = {key: row for row, key in enumerate(keys(self.data[:, : self.words]))}
        rows = np.array([known.get(key, -1) for key in keys(theirs[:, : self.words])], dtype=np.int64)
        new = rows < 0
        fresh = np.nonzero(new)[0]
        kept = fresh[: self.maximum - len(self)]
        new[fresh[len(kept) :]] = False
        rows[kept] = len(self) + np.arange(len(kept))
        self.replace(np.concatenate([self.data, theirs[kept]]))
        return rows, new

    def copy(self) -> Table:
        """An independent table with the same rows."""
        other = Table(self.width, self.words, self.maximum, capacity=max(len(self), 1))
        other.replace(self.data)
        return other
