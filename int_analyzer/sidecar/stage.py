"""A step of the loop, timed."""

from __future__ import annotations

import time
from types import TracebackType


class Stage:
    """Times what runs inside `with`. runs: how often; seconds: all together; last_s: the last time."""

    def __init__(self) -> None:
        self.runs = 0
        self.seconds = 0.0
        self.last_s = 0.0
        self._began = 0.0

    def __enter__(self) -> Stage:
        self._began = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.last_s = time.perf_counter() - self._began
        self.seconds += self.last_s
        self.runs += 1
