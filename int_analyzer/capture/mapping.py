"""A capture that lies in a plain file: mapped into memory, never copied, and let go of behind the reader."""

from __future__ import annotations

import mmap
from typing import Any, BinaryIO

import numpy as np

STEP = 64 * 1024 * 1024
"""Bytes handed out at a time, after which the pages before are released."""


class MappedFile:
    """The bytes `[start, stop)` of `buffer` (uint8, read-only, contiguous): a moving part of the whole file. `base` is always 0.

    `last`: nothing follows. The map lives as long as anybody holds the buffer. A file that somebody shortens meanwhile ends the
    process (SIGBUS), as with every mapped file; one that grows, or is renamed or deleted, does no harm.
    """

    failure = ""
    base = 0

    def __init__(self, file: BinaryIO, step: int = STEP) -> None:
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if hasattr(self._map, "madvise"):
            self._map.madvise(mmap.MADV_SEQUENTIAL)
        self._step = self._reach = step
        self._released = 0
        self.buffer: Any = np.frombuffer(self._map, dtype=np.uint8)
        self.start = 0
        self.stop = min(step, len(self.buffer))

    @property
    def last(self) -> bool:
        """Whether the file ends at `stop`."""
        return self.stop == len(self.buffer)

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return len(self.buffer)

    def extend(self, position: int) -> bool:
        """Go on from `position`, with more bytes behind it."""
        self._reach = 2 * self._reach if position == self.start else self._step
        self.start = position
        self.stop = min(position + self._reach, len(self.buffer))
        self._release(position)
        return True

    def find(self, pattern: bytes, start: int, stop: int) -> int:
        """Where `pattern` stands in the file, −1 if nowhere in [start, stop)."""
        return self._map.find(pattern, start, stop)

    def close(self) -> None:
        """Nothing to do: closing the map under a buffer that is still in use is not possible."""

    def _release(self, position: int) -> None:
        # resident memory would grow to the size of the file; a page needed again is read again
        whole = position // mmap.PAGESIZE * mmap.PAGESIZE
        if whole > self._released and hasattr(self._map, "madvise"):
            self._map.madvise(mmap.MADV_DONTNEED, self._released, whole - self._released)
            self._released = whole
