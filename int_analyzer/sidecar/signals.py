"""Signals as answers to a wait, not as interruptions: nothing happens in the middle of something else."""

from __future__ import annotations

import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

_STOP = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """While inside `with`, SIGHUP calls `on_reload` from the next wait on, one that came before and was blocked, too.

    SIGTERM ends the process with exit code 0; inside `with` of `stops` it stops a wait, as SIGINT does. What takes long before the first
    wait can so be ended, and told to read again, at any time. For the main thread.
    A reader or a browser that goes away is an error of that write, not the end of the process (SIGPIPE).
    """

    def __init__(self, on_reload: Callable[[], None]) -> None:
        self._on_reload = on_reload
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        self._arrived, self._wakeup = socket.socketpair()
        self._arrived.setblocking(False)
        self._wakeup.setblocking(False)
        self._fd_before = signal.set_wakeup_fd(self._wakeup.fileno())
        self._before[signal.SIGHUP] = signal.signal(signal.SIGHUP, _leave_to_wait)
        self._before[signal.SIGPIPE] = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        self._before[signal.SIGTERM] = signal.signal(signal.SIGTERM, _end)
        self._blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._fd_before)
        self._arrived.close()
        self._wakeup.close()

    @contextmanager
    def stops(self) -> Iterator[None]:
        """Leave SIGTERM and SIGINT to the wait."""
        before = {number: signal.signal(number, _leave_to_wait) for number in _STOP}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def stopping(self, seconds: float) -> bool:
        """Wait so many seconds: whether somebody asked to stop meanwhile."""
        end = time.monotonic() + seconds
        while select.select([self._arrived], [], [], max(end - time.monotonic(), 0))[0]:
            numbers = self._arrived.recv(64)
            if any(number in numbers for number in _STOP):
                return True
            if signal.SIGHUP in numbers:
                self._on_reload()
        return False


def _end(number: int, frame: FrameType | None) -> None:
    """Close what is open. Where somebody catches this, the first wait has been told as well."""
    raise SystemExit(0)


def _leave_to_wait(number: int, frame: FrameType | None) -> None:
    """Python writes the number of every signal that has a handler to the wakeup socket; there is nothing else to do."""
