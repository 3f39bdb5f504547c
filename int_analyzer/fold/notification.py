"""Congestion notifications: how many, how densely, and how long after the mark that they answer (Annex A17.9.3).

A CNP travels against the marked packets, to the queue pair that sent them: it is counted in the peer of their direction.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.fold.direction import (
    CNP,
    CNP_DELAY_MAX,
    CNP_DELAY_MIN,
    CNP_DELAY_SUM,
    CNP_DELAYS,
    CNP_IDENTITY,
    CNP_IN_WINDOW,
    CNP_NS,
    CNP_PEAK,
    CNP_WINDOW,
    MARKED_NS,
    PEER,
)
from int_analyzer.fold.messages import LONGEST_NS
from int_analyzer.fold.order import REORDER_NS, TTL_SHIFT

WINDOW_NS = 10_000_000
"""The densest 10 ms are told: a network card sends a flow's CNPs some 50 µs apart at most, so that 200 fit."""


@kernel
def count_notification(rows: Any, at: int, identity: int, time: int) -> None:
    """Count a CNP of row `at`, unless it is a copy from another mirror point: the last one's identification, but another TTL."""
    before = rows[at, CNP_IDENTITY]
    same = (before ^ identity) & ((1 << TTL_SHIFT) - 1) == 0
    if rows[at, CNP] > 0 and same and before != identity and abs(time - rows[at, CNP_NS]) < REORDER_NS:
        return
    rows[at, CNP] += 1
    rows[at, CNP_IDENTITY] = identity
    rows[at, CNP_NS] = time
    window = time // WINDOW_NS
    if window != rows[at, CNP_WINDOW]:
        rows[at, CNP_WINDOW] = window
        rows[at, CNP_IN_WINDOW] = 0
    rows[at, CNP_IN_WINDOW] += 1
    rows[at, CNP_PEAK] = max(rows[at, CNP_PEAK], rows[at, CNP_IN_WINDOW])
    if rows[at, PEER] == 0:
        return
    marked = rows[rows[at, PEER] - 1, MARKED_NS]
    delay = time - marked
    if marked > 0 and 0 <= delay <= LONGEST_NS:
        rows[at, CNP_DELAY_MIN] = delay if rows[at, CNP_DELAYS] == 0 else min(rows[at, CNP_DELAY_MIN], delay)
        rows[at, CNP_DELAYS] += 1
        rows[at, CNP_DELAY_SUM] += delay
        rows[at, CNP_DELAY_MAX] = max(rows[at, CNP_DELAY_MAX], delay)
    rows[rows[at, PEER] - 1, MARKED_NS] = 0
