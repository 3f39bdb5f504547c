"""Where captures come from: a path, standard input, an open file."""

from __future__ import annotations

import io
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from int_analyzer.capture.compression import is_compressed
from int_analyzer.capture.mapping import MappedFile
from int_analyzer.capture.source import Source
from int_analyzer.capture.stream import WINDOW_BYTES, Stream
from int_analyzer.errors import SourceError

STANDARD_INPUT = "-"


def open_source(path: str | os.PathLike[str] | BinaryIO, window_bytes: int | None = None) -> Source:
    """Open a capture: a path, "-" for standard input, or a binary file object (which stays the caller's to close).

    Plain files are mapped; pipes, standard input and .gz and .zst are streamed. The first bytes decide, never the name. Raises
    SourceError if it cannot be reached, CaptureError if it is not a capture. `window_bytes` is how much is handed out at a time.
    """
    if not isinstance(path, str | os.PathLike):
        return Source(str(getattr(path, "name", "stream")), Stream(path, window_bytes or WINDOW_BYTES), _file_size(path))
    name = os.fspath(path)
    if name == STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.isatty():
            raise SourceError(name, "standard input is not connected to a capture")
        return Source(name, Stream(sys.stdin.buffer, window_bytes or WINDOW_BYTES), _file_size(sys.stdin.buffer))
    try:
        if not name:
            raise SourceError("''", "no such file")
        if Path(name).is_dir():
            raise SourceError(name, "is a folder")
        # closed by the source, or below
        file = Path(name).open("rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise SourceError(name, _reason(error)) from error
    try:
        return _open_file(name, file, window_bytes)
    except BaseException:
        file.close()
        raise


def _open_file(name: str, file: BinaryIO, window_bytes: int | None) -> Source:
    size = _file_size(file)
    if size is not None:
        try:
            magic = file.read(4)
            file.seek(0)
        except OSError as error:
            raise SourceError(name, _reason(error)) from error
        if magic and not is_compressed(magic):
            mapped = _map(file, window_bytes)
            if mapped is not None:
                return Source(name, mapped, size, file)
    return Source(name, Stream(file, window_bytes or WINDOW_BYTES), size, file)


def _map(file: BinaryIO, window_bytes: int | None) -> MappedFile | None:
    try:
        return MappedFile(file, window_bytes) if window_bytes else MappedFile(file)
    except (OSError, ValueError):
        # some file systems cannot map, and files of /proc have no size: they are streamed
        return None


def _file_size(file: BinaryIO) -> int | None:
    try:
        status = os.fstat(file.fileno())
    except (AttributeError, OSError, io.UnsupportedOperation):
        # not a file of the operating system
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, PermissionError):
        return "no permission to read it"
    return str(getattr(error, "strerror", None) or error)
