"""A capture replayed: its records in pieces of a tenth of a second, handed out when their time has come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from int_analyzer import _jit
from int_analyzer._jit import kernel
from int_analyzer.capture import records
from int_analyzer.capture.records import next_record
from int_analyzer.capture.source import Source, Window
from int_analyzer.live.intake import Losses, Stopping
from int_analyzer.wire.read import Buffer

PIECE_NS = 100_000_000
"""Capture time in one piece: what a ring's block holds at most before the kernel retires it."""
BACK_NS = 2_000_000_000
"""A record so much older than the one before is of a clock that was set back, or of another capture: no wait is derived from it."""
GAP_NS = 60_000_000_000
"""A longer silence is not waited for."""


@kernel
def walk_piece(buffer: Buffer, position: int, stop: int, framing: Any, interfaces: Any, record: Any, begin_ns: int, end_ns: int) -> int:
    """Walk the records with a time in [begin_ns, end_ns) or none: IS_RECORD if one outside stopped the walk, else next_record's answer.

    record[NEXT_RECORD]: where the piece ends; record[TIME_NS]: time of the record that stopped it.
    """
    while True:
        found = next_record(buffer, position, stop, framing, interfaces, record)
        time_ns = record[records.TIME_NS]
        if found != records.IS_RECORD:
            return found
        if time_ns != 0 and (time_ns < begin_ns or time_ns >= end_ns):
            record[records.NEXT_RECORD] = position
            return found
        position = record[records.NEXT_RECORD]


class Replay:
    """A capture as a live source. speed: capture seconds per second, inf for as fast as it can be read.

    on_time is called with the capture time reached whenever a piece has been consumed.
    """

    def __init__(self, source: Source, speed: float, on_time: Callable[[int], None], compiled: bool = True) -> None:
        if not speed > 0:
            raise ValueError(f"a capture cannot be replayed at speed {speed}")
        self.name = "replay"
        self.clock = "capture"
        self.losses = Losses()
        self.fault = ""
        self.unmet = ""
        self._source = source
        self._speed = speed
        self._on_time = on_time
        self._fast = compiled and not _jit.DISABLED
        self._walk = _jit.compiled(walk_piece) if compiled else walk_piece
        self._record: Any = np.zeros(records.RECORD_SIZE, dtype=np.int64)
        self._stopping = Stopping()
        self._end_ns = 0
        self._began = time.monotonic()
        self._behind_ns = 0
        """Capture time that has to have passed, at `speed`, since `_began`."""

    def stop(self) -> None:
        """End the replay at the next piece."""
        self._stopping.ask()

    def control(self, window: Window) -> bool:
        """Never needed: pieces hold records only."""
        raise AssertionError(f"a control block at {window.position} of a piece")

    def damage(self, offset: int, reason: str) -> None:
        """Pass on what the decoder found."""
        self._source.damage(offset, reason)

    def finish(self, window: Window) -> None:
        """Nothing to do: the end of the capture is reported where it is read."""

    def windows(self) -> Iterator[Window]:
        """Pieces, each when its time is over."""
        for window in self._source.windows():
            yield from self._pieces(window)
            if self._stopping:
                return
            if window.last:
                self._source.finish(window)

    def _pieces(self, window: Window) -> Iterator[Window]:
        buffer = window.buffer if self._fast else memoryview(window.buffer)
        while not self._stopping:
            begin = window.position
            found = self._walk(
                buffer,
                begin,
                window.stop,
                window.framing,
                window.interfaces,
                self._record,
                self._end_ns - PIECE_NS - BACK_NS,
                self._end_ns,
            )
            window.position = int(self._record[records.NEXT_RECORD])
            if window.position > begin:
                self._wait()
                yield Window(window.buffer, begin, window.position, window.base, False, window.framing, window.interfaces, begin)
                self._on_time(self._end_ns)
            if found == records.IS_RECORD:
                self._begin_piece(int(self._record[records.TIME_NS]))
            elif found == records.NEEDS_CONTROL:
                if not self._source.control(window):
                    return
            else:
                if found == records.IS_DAMAGED:
                    self._source.damage(window.base + window.position, records.DAMAGES[int(self._record[records.DAMAGE])])
                return

    def _begin_piece(self, time_ns: int) -> None:
        """The next piece is the one that holds this time."""
        end = time_ns // PIECE_NS * PIECE_NS + PIECE_NS
        passed = end - self._end_ns
        self._behind_ns += passed if 0 < passed < GAP_NS else PIECE_NS
        self._end_ns = end

    def _wait(self) -> None:
        due = self._began + self._behind_ns / 1e9 / self._speed
        while (left := due - time.monotonic()) > 0 and not self._stopping:
            self._stopping.sleep(left)
