"""A table of int64 rows found by exact key: open addressing over a growing array, for all that is kept per queue, path or flow.

Kernels take its two arrays, and its length in a word of `work`: tuples of arrays cost more to pass than a lookup.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import compiled, inlined, kernel

# Words of `work` (int64[96]), the scratch of a kernel call: how many rows of each table are in use, and the key to look for.
QUEUES, PATHS, FLOWS, PAIRS, STREAMS, DROPS, BLOCKS, BUCKETS, PATH_HOPS = 0, 1, 2, 3, 4, 5, 6, 7, 8
MAXIMUM_QUEUES, MAXIMUM_PATHS, BUCKET_NS, SLOT_SHIFT = 9, 10, 11, 12
POSTCARDS, UNIDENTIFIED = 13, 14
LINKS, MAXIMUM_LINKS, LINK_NS, LINK_BASE = 24, 25, 26, 27
WAITS, DEPTH_OF_ALL, LONGEST, ROOM = 28, 29, 30, 31
KEY = 16
HASHES, ROWS_AHEAD, RING = 32, 64, 32
"""Two rings of 32 words: what is known already of the packets that come next (foresight.py)."""
N_WORK = 96

LOWER = 0xFFFFFFFF
UPPER = -1 << 32
"""Halves of a slot of the index: of the hash the upper one, and row + 1; an empty slot is 0."""

_PIECE = 1 << 15
"""Words that are moved at a time."""


@inlined
def find(rows: Any, index: Any, work: Any, table: int, words: int, hashed: int) -> int:
    """Row whose first words equal those from `work[KEY]` on; a new one (zero behind the key) if there is none, −1 if there is no room.

    rows int64[capacity, width], the hash in the last word; index int64[2^k]; work[table]: rows in use.
    """
    mask = index.shape[0] - 1
    at = hashed & mask
    slot = index[at]
    while slot != 0:
        if (slot ^ hashed) >> 32 == 0:
            row: int = (slot & LOWER) - 1
            same = 0
            while same < words and rows[row, same] == work[KEY + same]:
                same += 1
            if same == words:
                return row
        at = (at + 1) & mask
        slot = index[at]
    row = work[table]
    if row == rows.shape[0]:
        return -1
    index[at] = (hashed & UPPER) | (row + 1)
    for word in range(words):
        rows[row, word] = work[KEY + word]
    rows[row, rows.shape[1] - 1] = hashed
    work[table] = row + 1
    return row


@inlined
def guess(index: Any, hashed: int) -> int:
    """The row that has this hash, by what the index knows of it: 32 bits; −1 if there is none."""
    mask = index.shape[0] - 1
    at = hashed & mask
    slot = index[at]
    while slot != 0 and (slot ^ hashed) >> 32 != 0:
        at = (at + 1) & mask
        slot = index[at]
    row: int = (slot & LOWER) - 1
    return row


@kernel
def _fill_index(rows: Any, index: Any, used: int) -> None:
    mask = index.shape[0] - 1
    last = rows.shape[1] - 1
    for row in range(used):
        hashed = rows[row, last]
        at = hashed & mask
        while index[at] != 0:
            at = (at + 1) & mask
        index[at] = (hashed & UPPER) | (row + 1)


def aligned(rows: int, width: int) -> Any:
    """Zeroed int64[rows, width] that begins at a cache line."""
    flat = np.zeros(rows * width + 8, dtype=np.int64)
    skip = (-flat.ctypes.data % 64) // 8
    return flat[skip : skip + rows * width].reshape(rows, width)


def grown(rows: Any, capacity: int) -> Any:
    """These rows (int64[n, width]) with zeroed room for so many; nobody else may hold the array, which is moved rather than copied."""
    if not rows.flags.owndata:
        rows = rows.copy()
    rows.resize((capacity, rows.shape[1]), refcheck=False)
    return rows


def keys(words: Any) -> list[bytes]:
    """Each row of int64[n, words] as bytes: what a dictionary takes."""
    flat, size = np.ascontiguousarray(words).tobytes(), 8 * words.shape[1]
    return [flat[at : at + size] for at in range(0, len(flat), size)]


class Table:
    """Rows of `width` words (the first `words` are the key, the last the hash); room grows up to `maximum` rows.

    used: rows in use; data: int64[used, width].
    """

    def __init__(self, width: int, words: int, maximum: int, capacity: int = 64) -> None:
        self.width = width
        self.words = words
        self.maximum = maximum
        self.used = 0
        self.rows: Any = aligned(min(capacity, maximum), width)
        self._index: Any = None

    def __len__(self) -> int:
        return self.used

    @property
    def data(self) -> Any:
        return self.rows[: self.used]

    def reserve(self, more: int) -> bool:
        """Make room for `more` rows beyond those in use, as far as the maximum allows: whether there is room now."""
        needed = self.used + more
        if needed > self.rows.shape[0] and self.rows.shape[0] < self.maximum:
            grown = aligned(min(max(needed, 2 * self.rows.shape[0]), self.maximum), self.width)
            grown[: self.used] = self.data
            self.rows = grown
            self._index = None
        return bool(needed <= self.rows.shape[0])

    def replace(self, rows: Any) -> None:
        """Put these rows (int64[n, width], hashes included) in place of all."""
        replaced = aligned(max(len(rows), self.rows.shape[0]), self.width)
        replaced[: len(rows)] = rows
        self.rows = replaced
        self.used = len(rows)
        self._index = None

    def keep(self, kept: Any) -> None:
        """Keep these rows (int64[n], ascending), and forget all others."""
        # Where they are, some at a time: what makes room for others should not itself need room, and a processor's cache holds them.
        piece = max(_PIECE // self.width, 1)
        for begin in range(0, len(kept), piece):
            rows = kept[begin : begin + piece]
            self.rows[begin : begin + len(rows)] = self.rows[rows]
        self.rows[len(kept) : self.used] = 0
        self.used = len(kept)
        self._index = None

    def append(self, row: Any) -> None:
        """Put a row (int64[width], its hash included) that is not there yet behind those in use; there is room for it."""
        self.rows[self.used] = row
        self.used += 1
        self._index = None

    def extend(self, rows: Any) -> None:
        """Put rows (int64[n, width], hashes included) that are not there yet behind those in use, however many."""
        end = self.used + len(rows)
        if end > self.rows.shape[0]:
            wider = aligned(end, self.width)
            wider[: self.used] = self.data
            self.rows = wider
        self.rows[self.used : end] = rows
        self.used = end
        self._index = None

    def index(self, fast: bool) -> Any:
        """The index, up to date: int64[2^k], at most half full; `fast`: filled by compiled code."""
        if self._index is None:
            self._index = np.zeros(1 << (2 * self.rows.shape[0] - 1).bit_length(), dtype=np.int64)
            if fast:
                compiled(_fill_index)(self.rows, self._index, self.used)
            else:
                _fill_index(memoryview(self.rows), memoryview(self._index), self.used)
        return self._index

    def match(self, theirs: Any) -> tuple[Any, Any]:
        """The row here of each of `theirs` (int64[n, width]), and which of them are new: those are put behind mine as they are.

        Returns int64[n], −1 where the maximum leaves no room, and bool[n].
        """
        known = {key: row for row, key in enumerate(keys(self.data[:, : self.words]))}
        rows = np.array([known.get(key, -1) for key in keys(theirs[:, : self.words])], dtype=np.int64)
        new = rows < 0
        fresh = np.nonzero(new)[0]
        kept = fresh[: max(self.maximum - self.used, 0)]
        new[fresh[len(kept) :]] = False
        if len(kept):
            rows[kept] = self.used + np.arange(len(kept))
            self.extend(theirs[kept])
        return rows, new

    def copy(self) -> Table:
        """An independent table with the same rows."""
        other = Table(self.width, self.words, self.maximum, capacity=max(self.used, 1))
        other.replace(self.data)
        return other
