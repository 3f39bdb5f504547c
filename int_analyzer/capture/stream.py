"""A capture that comes as a stream: standard input, a pipe, a compressed file. Held in one buffer that is used again and again."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

from int_analyzer.capture.compression import BrokenStream, Reader, pieces
from int_analyzer.capture.records import MAXIMUM_RECORD

WINDOW_BYTES = 4 * 1024 * 1024
_LIMIT = MAXIMUM_RECORD + 64 * 1024
"""Bytes that the buffer grows to at most: room for the longest record that is not damage."""


class Stream:
    """The bytes `[start, stop)` of `buffer` (uint8, read-only, contiguous); `base` is the capture offset of buffer[0].

    `last`: nothing follows. `failure`: why, if that is not the regular end. Offsets count unpacked bytes.
    """

    def __init__(self, file: BinaryIO, window_bytes: int = WINDOW_BYTES) -> None:
        self._reader = Reader(file)
        self._pieces: Any = None
        self._piece = memoryview(b"")
        self._store = bytearray(window_bytes)
        self.buffer = _readonly(self._store)
        self.start = 0
        self.stop = 0
        self.base = 0
        self.last = False
        self.failure = ""
        self._fill()

    @property
    def consumed(self) -> int:
        """Bytes read from the file so far, as they lie there."""
        return self._reader.consumed

    @property
    def size(self) -> int | None:
        """Bytes of the whole capture, known at the end."""
        return self.base + self.stop if self.last else None

    def extend(self, position: int) -> bool:
        """Drop what lies before `position` and read on behind the rest; False if there is no room for more."""
        rest = self.stop - position
        if rest >= _LIMIT:
            return False
        kept = memoryview(self._store)[position : self.stop]
        size = min(2 * len(self._store), _LIMIT) if rest * 2 > len(self._store) else len(self._store)
        if size > len(self._store):
            self._store = bytearray(size)
            self.buffer = _readonly(self._store)
        memoryview(self._store)[:rest] = bytes(kept)
        self.base += position
        self.stop = rest
        self._fill()
        return True

    def find(self, pattern: bytes, start: int, stop: int) -> int:
        """Where `pattern` stands in the buffer, −1 if nowhere in [start, stop)."""
        return self._store.find(pattern, start, stop)

    def close(self) -> None:
        """Let go of what was read ahead."""
        self._pieces = iter(())

    def _fill(self) -> None:
        target = memoryview(self._store)
        while self.stop < len(target) and not self.last:
            if not self._piece:
                self._next_piece()
            count = min(len(self._piece), len(target) - self.stop)
            target[self.stop : self.stop + count] = self._piece[:count]
            self._piece = self._piece[count:]
            self.stop += count

    def _next_piece(self) -> None:
        try:
            if self._pieces is None:
                self._pieces = pieces(self._reader)
            piece = next(self._pieces, None)
        except BrokenStream as error:
            self.failure = str(error)
            piece = None
        self.last = piece is None
        self._piece = memoryview(piece or b"")


def _readonly(store: bytearray) -> Any:
    buffer = np.frombuffer(store, dtype=np.uint8)
    buffer.flags.writeable = False
    return buffer
