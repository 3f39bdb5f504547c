"""Log-linear histograms, a row per queue: 64 sub-buckets per octave, so that a quantile is off by less than 0.8 %.

Values below 128 are kept exactly. An octave's 64 counters are one block of a growing pool, allocated when its first value comes: a
queue that sees three octaves costs 1.5 kB. Merging adds counters, so merged quantiles are those of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from int_analyzer._jit import compiled, inlined, kernel, reader
from int_analyzer.fold.hashing import wide
from int_analyzer.fold.table import grown

SUB_BUCKETS = 64
BLOCKS = 58
"""Blocks of a row: 0 holds 0…63, block b ≥ 1 holds 2^(b+5)…2^(b+6) − 1."""


@kernel
def _float_place(value: int) -> int:
    # The exponent and the six upper bits of the mantissa are octave and sub-bucket; 2^6 stands at 64. Above 2^53 the float may be
    # rounded up to the next sub-bucket, never further.
    return (np.float64(value).view(np.int64) >> 46) - ((1023 + 5) << 6)  # type: ignore[return-value]


@reader(lambda: compiled(_float_place))
def place(value: int) -> int:
    """Where a value ≥ 64 is counted: 64 × block + sub-bucket."""
    shift = value.bit_length() - 7
    return ((shift + 1) << 6) + ((value >> shift) & 63)


@inlined
def place_of(value: int) -> int:
    """Where a value is counted; where 0 is if it is negative."""
    return place(value) if value >= SUB_BUCKETS else max(value, 0)


@inlined
def count_in(blocks: Any, pool: Any, used: Any, word: int, row: int, value: int) -> None:
    """Count `value` (0 … 2^62) in a row; the pool has room for one more block.

    blocks int32[rows, 58]: a row's blocks in the pool, 0 where it has none; pool int64[n, 64], its block 0 stays empty; used[word]:
    blocks in use.
    """
    at = place_of(value)
    block = wide(blocks[row, at >> 6])
    if block == 0:
        block = used[word]
        used[word] = block + 1
        blocks[row, at >> 6] = block
    pool[block, at & 63] += 1


def lowest(places: Any) -> Any:
    """Smallest value that is counted at each place (int64[n])."""
    octave = np.maximum(places >> 6, 1) - 1
    return np.where(places < 64, places, (64 + (places & 63)) << octave)


def middle(places: Any) -> Any:
    """Value that stands for a place (float64[n]): the middle of the integers counted there."""
    octave = np.maximum(places >> 6, 1) - 1
    return lowest(places) + ((1 << octave) - 1) / 2


class Histograms:
    """Histograms by row; rows come into being with `reserve_rows`."""

    def __init__(self, rows: int = 0) -> None:
        self.blocks: Any = np.zeros((max(rows, 1), BLOCKS), dtype=np.int32)
        self.pool: Any = np.zeros((16, SUB_BUCKETS), dtype=np.int64)
        self.used = 1

    def add(self, row: int, value: int) -> None:
        """Count `value` ≥ 0 in a row."""
        self.reserve_blocks(1)
        used = [self.used]
        count_in(memoryview(self.blocks), memoryview(self.pool), used, 0, row, value)
        self.used = used[0]

    def reserve_rows(self, rows: int) -> None:
        """Make room for rows 0 … rows − 1."""
        if rows > self.blocks.shape[0]:
            grown = np.zeros((rows, BLOCKS), dtype=np.int32)
            grown[: self.blocks.shape[0]] = self.blocks
            self.blocks = grown

    def reserve_blocks(self, more: int) -> None:
        """Make room for `more` blocks beyond those in use."""
        used = self.used
        if used + more > self.pool.shape[0]:
            # By half, not by two: this is the largest array of a state.
            self.pool = grown(self.pool, max(used + more, self.pool.shape[0] * 3 // 2))

    def count(self, row: int) -> int:
        """Values counted in a row."""
        return int(self.pool[self.blocks[row][self.blocks[row] > 0]].sum())

    def counts(self) -> Any:
        """Values counted in every row: int64[rows]."""
        # Block 0 of the pool is empty, so that rows may point to it.
        return self.pool.sum(axis=1)[self.blocks].sum(axis=1)

    def quantile(self, row: int, q: float) -> float:
        """The value that a share `q` (0…1) of a row's values does not exceed (nearest rank); NaN for an empty row."""
        return float(self.quantiles([q], rows=[row])[0, 0])

    def quantiles(self, shares: Sequence[float], rows: Sequence[int] | Any | None = None) -> Any:
        """Quantiles of all rows, or of those given, at each share: float64[rows, shares], NaN for an empty row."""
        chosen = np.arange(self.blocks.shape[0]) if rows is None else np.asarray(rows, dtype=np.int64)
        result = np.full((len(chosen), len(shares)), np.nan)
        # A thousand rows at a time: their counters are spread out here.
        for begin in range(0, len(chosen), 1024):
            part = chosen[begin : begin + 1024]
            row, block = np.nonzero(self.blocks[part])
            counters = self.pool[self.blocks[part[row], block]].ravel()
            # in one row of them all: numpy looks longer in two dimensions
            at = np.flatnonzero(counters)
            if at.size == 0:
                continue
            counters, where = counters[at], at >> 6
            row, places = row[where], (block[where] << 6) | (at & 63)
            reached = np.cumsum(counters)
            total = np.bincount(row, weights=counters, minlength=len(part)).astype(np.int64)
            before = np.cumsum(total) - total
            for column, share in enumerate(shares):
                rank = np.clip(np.ceil(share * total - 1e-9).astype(np.int64), 1, None)
                at = np.minimum(np.searchsorted(reached, before + rank), len(places) - 1)
                result[begin : begin + len(part), column] = np.where(total > 0, middle(places[at]), np.nan)
        return result

    def together(self, rows: Sequence[int] | Any) -> Histograms:
        """One row with all that is counted in the rows given: the queues of a port, of a node, of the fabric."""
        result = Histograms(1)
        taken = self.blocks[np.asarray(rows, dtype=np.int64)]
        for block in np.nonzero(taken.any(axis=0))[0]:
            result.reserve_blocks(1)
            at = result.used
            result.pool[at] = self.pool[taken[:, block]].sum(axis=0)
            result.blocks[0, block] = at
            result.used = at + 1
        return result

    def merge(self, other: Histograms, rows: Any) -> None:
        """Add row i of `other` to row `rows[i]` (int64[n], no row twice; −1: leave it out)."""
        if len(rows) == 0:
            return
        self.reserve_rows(int(np.max(rows)) + 1)
        theirs, block = np.nonzero(other.blocks[: len(rows)] * (np.asarray(rows) >= 0)[:, None])
        mine = np.asarray(rows)[theirs]
        new = np.nonzero(self.blocks[mine, block] == 0)[0]
        self.reserve_blocks(len(new))
        used = self.used
        self.blocks[mine[new], block[new]] = np.arange(used, used + len(new), dtype=np.int32)
        self.used = used + len(new)
        self.pool[self.blocks[mine, block]] += other.pool[other.blocks[theirs, block]]

    def copy(self) -> Histograms:
        """An independent copy."""
        return self.every(1)[0]

    def every(self, step: int, rows: int | None = None) -> list[Histograms]:
        """Copies of every `step`th of the first `rows` rows, beginning with row 0, row 1, … They share one pool, for reading."""
        pool = self.pool[: self.used].copy()
        result = []
        for first in range(step):
            part = Histograms()
            part.blocks, part.pool, part.used = self.blocks[first:rows:step].copy(), pool, self.used
            result.append(part)
        return result
