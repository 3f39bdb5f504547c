"""What the command says on stderr when something is wrong: one line each."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

_SHOWN = 10
"""Damages that are said one by one."""
_OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EPIPE, errno.EBADF)


def complain(message: str) -> int:
    """Say why the command ends, and give its exit code."""
    print(f"int-analyzer: {message}", file=sys.stderr)
    return 2


def say_damages(damages: Sequence[Mapping[str, object]]) -> None:
    """Say where captures are damaged, as Reading.damages has it."""
    for damage in damages[:_SHOWN]:
        lost = damage["lost_bytes"]
        left = " (the rest was not read)" if lost is None else f" ({lost} bytes not read)" if lost else ""
        print(f"int-analyzer: {damage['file']}: at byte {damage['offset']}: {damage['reason']}{left}", file=sys.stderr)
    if len(damages) > _SHOWN:
        print(f"int-analyzer: and {len(damages) - _SHOWN} more places", file=sys.stderr)


def flush_output() -> None:
    """Write what waits for standard output, if there is one."""
    stream: TextIO | None = sys.stdout
    if stream is not None:
        stream.flush()


def complain_of_system(error: OSError) -> int:
    """Say what the operating system refused; of standard output it has no name."""
    where = f"{error.filename}: " if error.filename else "standard output: " if error.errno in _OUTPUT_ERRORS else ""
    try:
        flush_output()
    except OSError:
        # else Python complains a second time at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return complain(f"{where}{error.strerror or error}")
