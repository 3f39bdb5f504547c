"""Where events of findings go, one JSON object a line."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from int_analyzer.errors import SourceError
from int_analyzer.sidecar.track import Event


class EventLog:
    """Lines on standard output, or behind those of a file. A line that cannot be written is counted, and the loop goes on.

    faults: lines that were not written; fault: why not, "" when the last one was.
    """

    def __init__(self, path: Path | None) -> None:
        self.faults = 0
        self.fault = ""
        self._path = path
        self._file = self._open()

    def take(self, events: Sequence[Event]) -> None:
        """Write a line for each event."""
        for event in events:
            try:
                self._write(json.dumps(event.document(), ensure_ascii=False, allow_nan=False) + "\n")
                self.fault = ""
            except OSError as error:
                self.faults += 1
                self.fault = error.strerror or str(error)

    def reopen(self) -> None:
        """Begin the file again where somebody has moved it away; if that cannot be, lines go on to where they went."""
        if self._path is None:
            return
        try:
            stream = self._open()
        except SourceError as error:
            self.faults += 1
            self.fault = error.reason
            return
        self.close()
        self._file = stream

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def _write(self, line: str) -> None:
        """All of a line, or nothing of it."""
        if self._file is None:
            sys.stdout.write(line)
            sys.stdout.flush()
            return
        data = line.encode()
        written = self._file.write(data)
        if written < len(data):
            # the disk is full: the beginning of a line is no line
            os.ftruncate(self._file.fileno(), os.fstat(self._file.fileno()).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _open(self) -> io.FileIO | None:
        if self._path is None:
            return None
        try:
            return io.FileIO(self._path, "a")
        except OSError as error:
            raise SourceError(self._path, error.strerror or str(error)) from error
