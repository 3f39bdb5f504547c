"""Files that appear only when all of them is written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from int_analyzer.errors import SourceError


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
