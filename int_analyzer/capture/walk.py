"""Records one at a time, in plain Python objects: for the display of single packets and for tests. The decode does not use it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from int_analyzer import _jit
from int_analyzer.capture.records import (
    CAPTURED,
    DAMAGE,
    DAMAGES,
    DATA,
    INTERFACE,
    IS_DAMAGED,
    IS_RECORD,
    LINK,
    NEEDS_CONTROL,
    NEXT_RECORD,
    ORIGINAL,
    RECORD_SIZE,
    TIME_NS,
    next_record,
)
from int_analyzer.capture.source import Source


class Record(NamedTuple):
    """A packet as captured: its bytes, capture time, captured and original bytes, interface of its section, link type."""

    data: bytes
    time_ns: int
    captured: int
    original: int
    interface: int
    link: int


def records(source: Source, compiled: bool = False) -> Iterator[Record]:
    """All records of a source in order; `compiled` walks with the machine-code kernel. Damage is in `source.damages`."""
    for view, record in walk(source, compiled):
        start, captured = int(record[DATA]), int(record[CAPTURED])
        yield Record(
            bytes(view[start : start + captured]),
            int(record[TIME_NS]),
            captured,
            int(record[ORIGINAL]),
            int(record[INTERFACE]),
            int(record[LINK]),
        )


def walk(source: Source, compiled: bool = False) -> Iterator[tuple[memoryview, Any]]:
    """The bytes at hand and what `next_record` found in them, record by record; both hold until the next is asked for."""
    step = _jit.compiled(next_record) if compiled else next_record
    # a list keeps Python integers as they are, the compiled kernel wants an array
    record: Any = np.zeros(RECORD_SIZE, dtype=np.int64) if compiled else [0] * RECORD_SIZE
    for window in source.windows():
        view = memoryview(window.buffer)
        buffer = window.buffer if compiled else view
        while True:
            result = step(buffer, window.position, window.stop, window.framing, window.interfaces, record)
            window.position = int(record[NEXT_RECORD])
            if result == IS_RECORD:
                yield view, record
            elif result == NEEDS_CONTROL:
                if not source.control(window):
                    break
            else:
                if result == IS_DAMAGED:
                    source.damage(window.base + window.position, DAMAGES[int(record[DAMAGE])])
                break
