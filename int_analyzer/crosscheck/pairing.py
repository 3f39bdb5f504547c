"""A run: both readings of each capture, side by side."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from int_analyzer.capture.compression import BrokenStream, Reader, is_compressed, pieces
from int_analyzer.capture.origin import STANDARD_INPUT
from int_analyzer.crosscheck.comparison import Comparison, Difference, Outcome, Row
from int_analyzer.errors import IntAnalyzerError, SourceError
from int_analyzer.profile import Profile
from int_analyzer.reading import Captures, Reading

if TYPE_CHECKING:
    from int_analyzer.crosscheck.tshark import Tshark
    from int_analyzer.reading import Batch

_UNCOMPILED = 20_000
"""Packets up to which plain Python has read ours before the kernels are loaded; tshark and pyshark need far longer for them."""

Progress = Callable[[int], None]
"""Called with the packets compared so far."""


class Run:
    """A cross-check of the first `limit` packets (0: all) of every capture. Iterating gives the differences; `outcome` counts.

    Raises IntAnalyzerError where tshark or pyshark cannot run, SourceError and CaptureError as any reading.
    """

    def __init__(
        self,
        captures: Captures,
        profile: Profile | None = None,
        *,
        limit: int = 1000,
        lua: Path | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._reading = Reading(captures, profile)
        self._tshark = _start(profile, lua)
        self._profile, self._limit, self._progress, self._lua = profile, limit, progress, lua is not None
        self.outcome = Outcome(tshark=self._tshark.version)

    def __iter__(self) -> Iterator[Difference]:
        for file in self._reading.files:
            self.outcome.files.append(file)
            with ExitStack() as stack:
                yield from self._compare(file, _plain(file, stack, self.outcome.notes))

    def _compare(self, file: str, path: str) -> Iterator[Difference]:
        reading = Reading(path, self._profile, compiled=False if 0 < self._limit <= _UNCOMPILED else None)
        comparison = Comparison(self.outcome, file, self._lua)
        ours, theirs, last = 0, 0, -1
        for row, dissection in zip_longest(rows(reading, self._limit), self._tshark.dissections(path, self._limit)):
            ours += row is not None
            theirs += dissection is not None
            if row is not None and dissection is not None:
                yield from comparison.packet(row, dissection)
                last = row.packet["packet"]
            if self._progress is not None:
                self._progress(self.outcome.packets)
        if self._tshark.complaint:
            self.outcome.notes.append(f"{file}: {self._tshark.complaint.replace(path, file)}")
        for damage in reading.damages:
            self.outcome.notes.append(f"{file}: at byte {damage['offset']}: {damage['reason']}")
        if theirs == 0 and ours > 0:
            raise IntAnalyzerError(f"{file}: tshark shows no packet: {self._tshark.complaint or 'without a word'}")
        if ours != theirs and not reading.damages:
            self.outcome.differences += 1
            yield Difference(file, last + 1, "packets", "count", ours, theirs)


def rows(reading: Reading, limit: int) -> Iterator[Row]:
    """Our rows, packet by packet, of the first `limit` packets (0: of all)."""
    for batch in reading:
        for row in _rows(batch):
            if limit and row.packet["packet"] >= limit:
                return
            yield row


def _rows(batch: Batch) -> Iterator[Row]:
    tables: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for name in ("hops", "roce", "mirrors", "reports"):
        by_packet: dict[int, list[dict[str, Any]]] = {}
        for row in batch.rows(name).to_pylist():
            # tshark has one packet where a datagram of several reports is several here; that there are several is to be seen
            if row["part"] == 0 or name == "reports":
                by_packet.setdefault(row["packet"], []).append(row)
        tables[name] = by_packet
    for packet in batch.rows("packets").to_pylist():
        number = packet["packet"]
        if packet["part"] != 0:
            continue
        hops, roce, mirrors, reports = (tables[name].get(number, []) for name in ("hops", "roce", "mirrors", "reports"))
        yield Row(packet, hops, roce[0] if roce else None, mirrors, reports)


def _start(profile: Profile | None, lua: Path | None) -> Tshark:
    try:
        from int_analyzer.crosscheck.tshark import Tshark
    except ImportError as error:
        raise IntAnalyzerError(f"crosscheck needs the Python package pyshark (pip install pyshark): {error}") from error
    return Tshark(profile, lua)


def _plain(file: str, stack: ExitStack, notes: list[str]) -> str:
    """A path where the capture lies uncompressed: its own, or that of a copy which goes when `stack` is left."""
    path = Path(file)
    try:
        if file == STANDARD_INPUT:
            if sys.stdin.isatty():
                raise SourceError(file, "standard input is not connected to a capture")
            source: BinaryIO = sys.stdin.buffer
        else:
            if path.is_file() and not _is_compressed(path):
                return file
            source = stack.enter_context(path.open("rb"))
        copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="int-analyzer-"))) / "capture"
        with copy.open("wb") as target:
            try:
                for piece in pieces(Reader(source)):
                    target.write(piece)
            except BrokenStream as error:
                notes.append(f"{file}: {error}")
    except OSError as error:
        raise SourceError(file, error.strerror or str(error)) from error
    return str(copy)


def _is_compressed(path: Path) -> bool:
    with path.open("rb") as stream:
        return is_compressed(stream.read(4))
