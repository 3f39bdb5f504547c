"""The order of PSNs in one direction: what is new, late, sent again, seen at a second mirror point, or never came.

A window behind the highest PSN holds for each what was seen of it: its IPv4 identification and TTL, or when the hole arose.

* A PSN that was seen is a copy from another mirror point if its identification is the same. Where there is none (IPv6) or it never
  changes, a copy is what has another TTL. Else it is a retransmission.
* A PSN that fills a hole is late (out of order, as adaptive routing makes it), but a retransmission if a NAK waits for it, if the hole is
  older than REORDER_NS, or if it goes on where a retransmission was. If what follows it was seen before, it was a go-back-N.
* A hole that leaves the window is unfilled; in a view, so is one that is older than REORDER_NS.
* A PSN far off is a new connection on the same queue pair when the next one confirms it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined, kernel
from int_analyzer.fold.direction import (
    BEGIN,
    DATA,
    DUPLICATES,
    EXPECTED,
    FILLS,
    FIRST_GAP_NS,
    FIRST_REWIND_NS,
    IDENTITY,
    LAST,
    LAST_GAP_NS,
    LAST_NS,
    LAST_REWIND_NS,
    LONGEST_GAP_NS,
    NEXT,
    OUT_OF_ORDER,
    PSN_MASK,
    RESTARTS,
    RETRANSMITTED,
    REWINDING,
    REWINDS,
    STATIC,
    UNFILLED,
    WINDOW,
    distance,
)

NEW, LATE, FILLED, REPEATED, COPY, STRAY, RESTARTED = 0, 1, 2, 3, 4, 5, 6
"""What a packet is to its direction. FILLED is the first sight of a PSN by its retransmission."""

FAR = 1 << 16
"""PSNs apart that no window of a connection spans."""
REORDER_NS = 1_000_000
"""Paths of one fabric differ by less: 1 ms is more than a switch's buffer holds at 10 Gbit/s."""

GAP_STEP_NS = 1 << 10
"""The time of a hole is known in steps of this."""

# A word of the window: PSN, state, and by state the identity or 2^-10 × the time of the hole.
_SEEN, _HOLE, _TAKEN = 1 << 24, 2 << 24, 3 << 24
_STATE = 3 << 24
_SHIFT = 26
_TIME = (1 << 36) - 1

# An identity: IPv4 identification, TTL, and whether there is an identification.
TTL_SHIFT, IDENTIFIED = 16, 1 << 24
_IDENTIFICATION = 0xFFFF


def give_up_old(rows: Any, order: int, window: int) -> None:
    """Count holes (of rows int64[n, WIDTH]) as unfilled that are so old when the last packet came that they will hardly be filled."""
    words = rows[:, window : window + WINDOW]
    age = ((rows[:, LAST_NS, None] >> 10) - (words >> _SHIFT)) & _TIME
    old = (words & _STATE == _HOLE) & (age << 10 > REORDER_NS)
    for at, slot in np.argwhere(old).tolist():
        _give_up(rows, at, order, int(words[at, slot]))
        words[at, slot] = 0


@inlined
def note_gap(rows: Any, at: int, time: int) -> None:
    """A packet that came at this time is behind a hole that stays unfilled."""
    if time > 0 and (rows[at, FIRST_GAP_NS] == 0 or time < rows[at, FIRST_GAP_NS]):
        rows[at, FIRST_GAP_NS] = time
    rows[at, LAST_GAP_NS] = max(rows[at, LAST_GAP_NS], time)


@kernel
def _give_up(rows: Any, at: int, order: int, word: int) -> None:
    """Count a hole as unfilled, at the time when it arose, which its word tells to 1 µs."""
    rows[at, order + UNFILLED] += 1
    latest = rows[at, LAST_NS] >> 10
    age = (latest - (word >> _SHIFT)) & _TIME
    note_gap(rows, at, max(latest - age, 0) << 10)


@inlined
def _set(rows: Any, at: int, order: int, window: int, psn: int, word: int) -> None:
    """Put a word into the window; a hole that it pushes out was never filled."""
    slot = window + (psn & (WINDOW - 1))
    if rows[at, slot] & _STATE == _HOLE:
        _give_up(rows, at, order, rows[at, slot])
    rows[at, slot] = word | psn


@kernel
def forget_window(rows: Any, at: int, order: int, window: int) -> None:
    """Forget the window: holes in it stay unfilled."""
    for slot in range(window, window + WINDOW):
        if rows[at, slot] & _STATE == _HOLE:
            _give_up(rows, at, order, rows[at, slot])
        rows[at, slot] = 0


@kernel
def restart(rows: Any, at: int, order: int, window: int) -> None:
    """Let the next PSN be the first of a new connection, whatever it is."""
    forget_window(rows, at, order, window)
    rows[at, order + RESTARTS] += 1
    rows[at, order + NEXT] = 0


@kernel
def _leave_gap(rows: Any, at: int, order: int, window: int, psn: int, missing: int, holes: bool, before: int, time: int) -> None:
    """Note that so many PSNs before `psn` did not come yet, or (not `holes`) that nothing is known of them."""
    if holes and before > 0:
        rows[at, LONGEST_GAP_NS] = max(rows[at, LONGEST_GAP_NS], time - before)
    word = _HOLE | (((time >> 10) & _TIME) << _SHIFT) if holes else 0
    if missing > WINDOW:
        if holes:
            rows[at, order + UNFILLED] += missing - WINDOW
            note_gap(rows, at, time)
        missing = WINDOW
    for back in range(missing, 0, -1):
        _set(rows, at, order, window, (psn - back) & PSN_MASK, word)


@inlined
def place(
    rows: Any, at: int, order: int, window: int, psn: int, count: int, holes: bool, identity: int, pending: bool, before: int, time: int
) -> tuple[int, bool]:
    """What this packet is to its direction, and whether it begins a rewind.

    order and window: first words of both in row `at`; count: PSNs that the packet takes; holes: a gap before it means that packets are
    missing; pending: a NAK waits for a retransmission; before and time: of the last packet in this direction, and of this one.
    """
    known = rows[at, order + NEXT]
    if known == 0:
        rows[at, order + BEGIN] = psn + 1
        _advance(rows, at, order, window, psn, count, identity)
        return NEW, False
    ahead = distance(psn, known - 1)
    if ahead >= FAR or ahead < -FAR:
        if rows[at, order + EXPECTED] != psn + 1:
            rows[at, order + EXPECTED] = ((psn + count) & PSN_MASK) + 1
            return STRAY, False
        forget_window(rows, at, order, window)
        rows[at, order + RESTARTS] += 1
        rows[at, order + BEGIN] = psn + 1
        _advance(rows, at, order, window, psn, count, identity)
        return RESTARTED, False
    if ahead >= 0:
        if ahead > 0:
            _leave_gap(rows, at, order, window, psn, ahead, holes, before, time)
        _advance(rows, at, order, window, psn, count, identity)
        return NEW, False
    return _place_behind(rows, at, order, window, psn, -ahead, identity, pending, time)


@inlined
def take(rows: Any, at: int, order: int, window: int, count: int) -> None:
    """Let the next PSNs be those of a READ's response."""
    known = rows[at, order + NEXT] - 1
    for more in range(max(0, count - WINDOW), count):
        _set(rows, at, order, window, (known + more) & PSN_MASK, _TAKEN)
    rows[at, order + NEXT] = ((known + count) & PSN_MASK) + 1


@inlined
def _advance(rows: Any, at: int, order: int, window: int, psn: int, count: int, identity: int) -> None:
    _set(rows, at, order, window, psn, _SEEN | (identity << _SHIFT))
    rows[at, order + NEXT] = ((psn + 1) & PSN_MASK) + 1
    if count > 1:
        take(rows, at, order, window, count - 1)
    rows[at, order + DATA] += 1
    rows[at, order + STATIC] = 1 if (rows[at, order + IDENTITY] ^ identity) & (IDENTIFIED | _IDENTIFICATION) == 0 else 0
    rows[at, order + IDENTITY] = identity
    rows[at, order + LAST] = 0
    rows[at, order + FILLS] = 0
    rows[at, order + REWINDING] = 0
    rows[at, order + EXPECTED] = 0


@inlined
def is_copy(rows: Any, at: int, order: int, window: int, psn: int, identity: int) -> bool:
    """Whether this packet was seen before, at another mirror point: by its identification, or where that says nothing by its TTL."""
    word = rows[at, window + (psn & (WINDOW - 1))]
    if word & PSN_MASK != psn or word & _STATE != _SEEN:
        return False
    differs = (word >> _SHIFT) ^ identity
    if identity & IDENTIFIED != 0 and rows[at, order + STATIC] == 0:
        copied: bool = differs & _IDENTIFICATION == 0
    else:
        copied = differs >> TTL_SHIFT != 0
    return copied


@kernel
def _place_behind(
    rows: Any, at: int, order: int, window: int, psn: int, behind: int, identity: int, pending: bool, time: int
) -> tuple[int, bool]:
    """The same for a PSN below the highest."""
    last = rows[at, order + LAST]
    goes_on = last != 0 and distance(psn, last - 1) == 1
    seen = REPEATED
    if behind <= WINDOW:
        slot = window + (psn & (WINDOW - 1))
        word = rows[at, slot]
        state = word & _STATE if word & PSN_MASK == psn else 0
        if state == _SEEN:
            if is_copy(rows, at, order, window, psn, identity):
                rows[at, order + DUPLICATES] += 1
                return COPY, False
        elif state != _TAKEN:
            # Without a hole it was sent before the first packet that was seen.
            age = ((time >> 10) - (word >> _SHIFT)) & _TIME if state == _HOLE else 0
            again = pending or age << 10 > REORDER_NS or (goes_on and rows[at, order + REWINDING] != 0)
            seen = FILLED if again else LATE
        if state == 0:
            _set(rows, at, order, window, psn, _SEEN | (identity << _SHIFT))
        else:
            rows[at, slot] = _SEEN | (identity << _SHIFT) | psn
    rows[at, order + DATA] += 1
    rows[at, order + EXPECTED] = 0
    if seen == LATE:
        rows[at, order + OUT_OF_ORDER] += 1
        rows[at, order + FILLS] = rows[at, order + FILLS] + 1 if goes_on else 1
        rows[at, order + LAST] = psn + 1
        return LATE, False
    rewound = rows[at, order + REWINDING] == 0 or distance(psn, last - 1) <= 0
    if goes_on and rows[at, order + REWINDING] == 0:
        # What seemed late was the beginning of this.
        rows[at, order + OUT_OF_ORDER] -= rows[at, order + FILLS]
        rows[at, order + RETRANSMITTED] += rows[at, order + FILLS]
    rows[at, order + FILLS] = 0
    rows[at, order + RETRANSMITTED] += 1
    if rewound:
        rows[at, order + REWINDS] += 1
        if rows[at, order + FIRST_REWIND_NS] == 0:
            rows[at, order + FIRST_REWIND_NS] = time
        rows[at, LAST_REWIND_NS] = max(rows[at, LAST_REWIND_NS], time)
    rows[at, order + REWINDING] = 1
    rows[at, order + LAST] = psn + 1
    return seen, rewound
