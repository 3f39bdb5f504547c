"""Which captures the arguments of a command name: files, folders, patterns and standard input."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from int_analyzer.errors import SourceError

_CAPTURE_NAME = re.compile(r"\.(pcap|pcapng|cap|dmp)\d*(\.(gz|zst))?$", re.IGNORECASE)
"""Names that a folder is searched for; digits because tcpdump -C numbers its files behind the extension."""

_LOOKED_FOR = ".pcap .pcapng .cap .dmp, also with .gz or .zst"


def expand(arguments: Sequence[str | Path]) -> list[str]:
    """The captures that `arguments` name, in order and each once.

    A folder gives the captures directly in it, a pattern (* ? [ ] and ** for folders below) what it matches, both sorted with
    numbers in numeric order; "-" is standard input. Raises SourceError if an argument names nothing or cannot be read.
    """
    found: dict[str, str] = {}
    for argument in arguments:
        for name in _captures(os.fspath(argument)):
            found.setdefault(name if name == "-" else os.path.realpath(name), name)
    return list(found.values())


def _captures(argument: str) -> list[str]:
    if argument in ("", "-"):
        if not argument:
            raise SourceError("''", "no such file or folder")
        return [argument]
    try:
        Path(argument).stat()
    except FileNotFoundError as error:
        if glob.has_magic(argument):
            return _pattern(argument)
        linked = Path(argument).is_symlink()
        raise SourceError(argument, "points to a file that does not exist" if linked else "no such file or folder") from error
    except (OSError, ValueError) as error:
        raise SourceError(argument, _reason(error)) from error
    return _folder(argument) if Path(argument).is_dir() else [_readable(argument)]


def _folder(folder: str) -> list[str]:
    captures = _inside(folder)
    if captures:
        return [_readable(path) for path in captures]
    if any(_inside(str(below)) for below in Path(folder).iterdir() if below.is_dir() and os.access(below, os.R_OK | os.X_OK)):
        raise SourceError(folder, "no captures directly in this folder, only in folders below: name those, or use a pattern")
    raise SourceError(folder, f"no captures in this folder (looked for {_LOOKED_FOR})")


def _inside(folder: str) -> list[str]:
    try:
        return _sorted(str(path) for path in Path(folder).iterdir() if _CAPTURE_NAME.search(path.name) and path.is_file())
    except OSError as error:
        raise SourceError(folder, _reason(error)) from error


def _pattern(pattern: str) -> list[str]:
    captures: list[str] = []
    # pathlib refuses absolute patterns
    for path in glob.glob(pattern, recursive=True):  # noqa: PTH207
        # a folder that is matched beside files need not have captures; the pattern as a whole must
        captures += _inside(path) if Path(path).is_dir() else [path]
    if not captures:
        raise SourceError(pattern, "nothing matches this pattern")
    return [_readable(path) for path in _sorted(captures)]


def _readable(path: str) -> str:
    if not os.access(path, os.R_OK):
        raise SourceError(path, "no permission to read it")
    return path


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, PermissionError):
        return "no permission to read it"
    return str(getattr(error, "strerror", None) or error)


def _sorted(paths: Iterable[str]) -> list[str]:
    def key(path: str) -> tuple[list[tuple[int, str]], str]:
        # digits stand at the odd places of a split by numbers, so like is compared with like
        parts = re.split(r"(\d+)", path)
        return [(int(part), "") if place % 2 else (0, part) for place, part in enumerate(parts)], path

    return sorted(paths, key=key)
