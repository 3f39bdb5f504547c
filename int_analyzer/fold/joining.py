"""One direction of a connection from two pieces of it: what `Connections.merge` does with every direction that both sides know.

Counters add up. What is under way goes on from the later piece, before which what the earlier one left open is put.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.fold import direction as words
from int_analyzer.fold import transport
from int_analyzer.fold.direction import (
    ACKED,
    BEGIN,
    CNP,
    CNP_DELAY_MIN,
    CNP_DELAYS,
    CNP_IN_WINDOW,
    CNP_PEAK,
    CNP_WINDOW,
    FIRST_GAP_NS,
    FIRST_NS,
    FIRST_REWIND_NS,
    LAST_NS,
    LONGEST_GAP_NS,
    MATCHES,
    MISSES,
    MTU,
    NEXT,
    OLDEST,
    OPEN,
    OPEN_RUNS,
    PARTIAL,
    PEER,
    REQUEST_WINDOW,
    REQUESTS,
    RESPONSE_WINDOW,
    RESPONSES,
    RTT_COUNT,
    RTT_MIN,
    RUN_WORDS,
    TRANSPORTS,
    UNFILLED,
    WINDOW,
    distance,
)
from int_analyzer.fold.messages import NEXT as RUN_NEXT
from int_analyzer.fold.messages import join, run_at
from int_analyzer.fold.order import FAR, forget_window, note_gap

_COUNTED = (
    *(words.PACKETS, words.BYTES, words.CE, words.CNP, words.NAKS, words.RNRS, words.RNR_WAIT_NS, words.OTHER_NAKS, words.TIMEOUTS),
    *range(words.MESSAGES, words.MESSAGES + len(transport.KINDS)),
    *(words.IMMEDIATES, words.INVALIDATES, words.ACKS, words.COMPLETED, words.ONE_SIDED, words.PARTIAL, words.FORGOTTEN),
    *(words.ICRC_RIGHT, words.ICRC_WRONG, words.ICRC_UNCHECKED, words.RESENT_MESSAGES),
    *(words.FCT_SUM, words.ONE_SIDED_SUM, words.COMPLETED_BYTES, words.RTT_COUNT, words.RTT_SUM, words.CNP_DELAYS, words.CNP_DELAY_SUM),
)
_LARGEST = (
    *(words.LAST_NS, words.LAST_REWIND_NS, words.FCT_MAX, words.ONE_SIDED_MAX, words.RTT_MAX, words.CNP_DELAY_MAX, words.CNP_PEAK),
    *(words.RESENT_PPM_MAX, words.LAST_GAP_NS, words.LONGEST_GAP_NS),
)
_LAST_CNP = (words.CNP_WINDOW, words.CNP_IN_WINDOW, words.CNP_IDENTITY, words.CNP_NS)
_ORDER_COUNTED = (words.DATA, words.RETRANSMITTED, words.OUT_OF_ORDER, words.DUPLICATES, words.UNFILLED, words.REWINDS, words.RESTARTS)
PLACED = (words.NEXT, words.LAST, words.FILLS, words.REWINDING, words.EXPECTED, words.IDENTITY, words.STATIC, words.BEGIN)
"""Words of an order that say where it is."""


@kernel
def join_all(rows: Any, targets: Any, others: Any, known: Any) -> int:
    """Join row `known[i]` of `others` (which are used up) to row `targets[known[i]]` of `rows`, for each i: how many these are.

    rows int64[n, WIDTH], others int64[m, WIDTH], targets int64[m], known int64[k].
    """
    for number in range(known.shape[0]):
        other = known[number]
        at = targets[other]
        if others[other, FIRST_NS] < rows[at, FIRST_NS]:
            _join(others, other, rows, at)
        else:
            _join(rows, at, others, other)
            for word in range(words.WIDTH):
                rows[at, word] = others[other, word]
    return known.shape[0]


@kernel
def _join(earlier: Any, one: int, rows: Any, at: int) -> None:
    """Make row `at`, the later piece, the whole; row `one` of `earlier` is used up."""
    # All of these read what the later piece alone has counted.
    _join_runs(earlier, one, rows, at)
    _join_order(earlier, one, rows, at, REQUESTS, REQUEST_WINDOW)
    _join_order(earlier, one, rows, at, RESPONSES, RESPONSE_WINDOW)
    _join_windows(earlier, one, rows, at)
    _keep_smallest(earlier, one, rows, at, RTT_COUNT, RTT_MIN)
    _keep_smallest(earlier, one, rows, at, CNP_DELAYS, CNP_DELAY_MIN)
    if rows[at, PEER] == 0:
        rows[at, PEER] = earlier[one, PEER]
        rows[at, MATCHES] = earlier[one, MATCHES]
        rows[at, MISSES] = earlier[one, MISSES]
    elif rows[at, PEER] == earlier[one, PEER]:
        rows[at, MATCHES] += earlier[one, MATCHES]
        rows[at, MISSES] += earlier[one, MISSES]
    if rows[at, MTU] == 0:
        rows[at, MTU] = earlier[one, MTU]
    if rows[at, FIRST_GAP_NS] == 0 or 0 < earlier[one, FIRST_GAP_NS] < rows[at, FIRST_GAP_NS]:
        rows[at, FIRST_GAP_NS] = earlier[one, FIRST_GAP_NS]
    rows[at, FIRST_NS] = earlier[one, FIRST_NS]
    rows[at, TRANSPORTS] |= earlier[one, TRANSPORTS]
    for word in _COUNTED:
        rows[at, word] += earlier[one, word]
    for word in _LARGEST:
        rows[at, word] = max(rows[at, word], earlier[one, word])


@inlined
def _keep_smallest(earlier: Any, one: int, rows: Any, at: int, count: int, smallest: int) -> None:
    """Keep the smallest of values of which there are `count`."""
    if earlier[one, count] != 0 and (rows[at, count] == 0 or earlier[one, smallest] < rows[at, smallest]):
        rows[at, smallest] = earlier[one, smallest]


@inlined
def _join_windows(earlier: Any, one: int, rows: Any, at: int) -> None:
    """Go on with the later piece's window of CNPs; one that the boundary cut counts as two unless the later piece has no other."""
    if rows[at, CNP] == 0:
        for word in _LAST_CNP:
            rows[at, word] = earlier[one, word]
    elif earlier[one, CNP_WINDOW] == rows[at, CNP_WINDOW] and earlier[one, CNP] > 0:
        rows[at, CNP_IN_WINDOW] += earlier[one, CNP_IN_WINDOW]
        rows[at, CNP_PEAK] = max(rows[at, CNP_PEAK], rows[at, CNP_IN_WINDOW])


@kernel
def _join_order(earlier: Any, one: int, rows: Any, at: int, order: int, window: int) -> None:
    """Go on with the later piece's order; what the earlier one missed, or the boundary did, is unfilled."""
    if rows[at, order + NEXT] == 0:
        for word in PLACED:
            rows[at, order + word] = earlier[one, order + word]
        for slot in range(window, window + WINDOW):
            rows[at, slot] = earlier[one, slot]
    elif earlier[one, order + NEXT] != 0:
        forget_window(earlier, one, order, window)
        gap = distance(rows[at, order + BEGIN], earlier[one, order + NEXT])
        if order == REQUESTS and 0 < gap < FAR:
            rows[at, order + UNFILLED] += gap
            note_gap(rows, at, rows[at, FIRST_NS])
            rows[at, LONGEST_GAP_NS] = max(rows[at, LONGEST_GAP_NS], rows[at, FIRST_NS] - earlier[one, LAST_NS])
        rows[at, order + BEGIN] = earlier[one, order + BEGIN]
    for word in _ORDER_COUNTED:
        rows[at, order + word] += earlier[one, order + word]
    if earlier[one, order + FIRST_REWIND_NS] != 0:
        rows[at, order + FIRST_REWIND_NS] = earlier[one, order + FIRST_REWIND_NS]


@kernel
def _join_runs(earlier: Any, one: int, rows: Any, at: int) -> None:
    """Put the earlier piece's open messages before the later one's, the latest first, unless they were acknowledged meanwhile."""
    begin, acked = rows[at, REQUESTS + BEGIN] - 1, rows[at, ACKED]
    kept = 0
    for number in range(earlier[one, OPEN] - 1, -1, -1):
        run = run_at(earlier, one, number)
        end = earlier[one, run + RUN_NEXT]
        acknowledged = acked > 0 and distance(acked - 1, end) >= -1
        if not acknowledged and (begin < 0 or distance(begin, end) >= 0) and rows[at, OPEN] < OPEN_RUNS:
            rows[at, OLDEST] = (rows[at, OLDEST] - 1) & (OPEN_RUNS - 1)
            rows[at, OPEN] += 1
            target = run_at(rows, at, 0)
            for word in range(RUN_WORDS):
                rows[at, target + word] = earlier[one, run + word]
            kept += 1
    rows[at, PARTIAL] += earlier[one, OPEN] - kept
    join(rows, at, kept - 1)
