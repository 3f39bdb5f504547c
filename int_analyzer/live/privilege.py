"""What a process may do, made as little as capturing needs: capabilities(7), prctl(2)."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

CAP_NET_RAW = 13
_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 24, 38, 47, 4


_TASKS = Path("/proc/self/task")
_LIBC = ctypes.CDLL(None, use_errno=True)


def forgo_library_threads() -> None:
    """Let numpy, if it is not loaded yet, begin no threads: they would keep what is dropped later, and have nothing to do here."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"


def raise_capture() -> None:
    """Make CAP_NET_RAW effective if it is permitted: where a file has it as +p, a process that may not have it begins all the same."""
    header, sets = _capabilities()
    sets[0] |= sets[1] & 1 << CAP_NET_RAW
    _call(_LIBC.capset, header, sets)


def drop_privileges() -> int:
    """Keep CAP_NET_RAW if it is there, and nothing else; never gain anything again. Of the calling thread and those it starts.

    How many threads that began before, and cannot be reached from here, keep more.
    """
    libc = _LIBC
    for capability in range(_LAST_CAPABILITY + 1):
        if capability != CAP_NET_RAW:
            # refused without CAP_SETPCAP: then there is nothing to lose either
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    _call(libc.prctl, _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    header, sets = _capabilities()
    kept = sets[1] & 1 << CAP_NET_RAW
    _call(libc.capset, header, (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0))
    return sum(_permitted(task) & ~(1 << CAP_NET_RAW) != 0 for task in _TASKS.iterdir())


def _capabilities() -> tuple[Any, Any]:
    """Header, and effective, permitted, inheritable of the lower 32 capabilities, then of the upper, of this thread."""
    header, sets = (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    _call(_LIBC.capget, header, sets)
    return header, sets


def _permitted(task: Path) -> int:
    """Capabilities of a thread; none of one that has ended meanwhile."""
    try:
        lines = (task / "status").read_text(encoding="ascii", errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next(int(line.split()[1], 16) for line in lines if line.startswith("CapPrm"))


def _call(function: object, *arguments: object) -> None:
    if function(*arguments) != 0:  # type: ignore[operator]
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
