"""Files that appear only when all of them is written."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from int_analyzer.errors import SourceError

STANDARD = "-"
"""Standard output, where a file is asked for."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to: it takes its place if all goes well, and is removed if not.

    What is no plain file (a device, a pipe) is written as it is. An OSError becomes a SourceError.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            yield target
            return
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            yield part
            if target.exists():
                shutil.copymode(target, part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise SourceError(path, error.strerror or str(error)) from error


@contextmanager
def opened(output: str) -> Iterator[BinaryIO]:
    """An output for bytes: standard output for "-", else a file that is compressed if its name ends in .gz or .zst."""
    if output == STANDARD:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(output)
    with replacing(path) as part, part.open("wb") as file, _compressed(file, path.suffix) as target:
        yield target


@contextmanager
def _compressed(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if suffix == ".gz":
        # without a name and a time in its header
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as target:
            yield cast(BinaryIO, target)
    elif suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as target:
            yield cast(BinaryIO, target)
    else:
        yield file
