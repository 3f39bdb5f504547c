"""Ragged: rows of different lengths in one array, which can be read row by row or all at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np


class Ragged(Sequence[tuple[int, ...]]):
    """Tuples of int, one after the other in `values` (int64); lengths: int64[rows]."""

    def __init__(self, values: Any, lengths: Any) -> None:
        self.values, self.lengths = values, lengths
        self.ends = np.cumsum(lengths)
        self.starts = self.ends - lengths

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> Ragged:
        """These rows."""
        listed = list(rows)
        values = np.array([value for row in listed for value in row], dtype=np.int64)
        return cls(values, np.array([len(row) for row in listed], dtype=np.int64))

    @cached_property
    def row_of(self) -> Any:
        """The row of each value: int64[values]."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def position_of(self) -> Any:
        """Where in its row each value stands: int64[values]."""
        return np.arange(len(self.values)) - np.repeat(self.starts, self.lengths)

    @cached_property
    def is_last(self) -> Any:
        """Whether each value is the last of its row: bool[values]."""
        last = np.zeros(len(self.values), dtype=bool)
        last[self.ends[self.lengths > 0] - 1] = True
        return last

    def all_of(self, mask: Any) -> Any:
        """Whether `mask` (bool, by value) holds for all values of each row: bool[rows]."""
        missing = np.bincount(self.row_of[~mask[self.values]], minlength=len(self))
        return missing == 0

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[at] for at in range(*row.indices(len(self)))]
        return tuple(self.values[self.starts[row] : self.ends[row]].tolist())

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        values = self.values.tolist()
        for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True):
            yield tuple(values[start:end])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        return np.array_equal(self.lengths, other.lengths) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]
