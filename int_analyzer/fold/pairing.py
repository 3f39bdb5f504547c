"""Pairing: which two directions are one connection, found by acknowledgements whose PSN is one of the other direction's requests.

A packet names its destination queue pair only. A direction without a peer leaves a hint for each request it sends, by its hosts and the
PSN; an acknowledgement on the way back that meets the hint of one direction makes the pair. If several directions have left the same hint
lately, it decides nothing. A pair is verified when further acknowledgements fit, and parted when they do not.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.fold.direction import (
    ACKED,
    BACK,
    MATCHES,
    MISSES,
    PEER,
    REQUESTS,
    SLACK,
    TOWARDS,
    WINDOW,
    distance,
)
from int_analyzer.fold.direction import NEXT as NEXT_PSN
from int_analyzer.fold.hashing import FACTOR_5, mixed, product
from int_analyzer.fold.table import LOWER, UPPER

HINTS = 1 << 14
TAG, TIME = 0, 1
_SEVERAL = LOWER
HINT_NS = 10_000_000
"""An acknowledgement comes sooner, and what another direction sent longer ago is no rival."""
VERIFIED = 3
"""So many acknowledgements that fit make a pair certain: one fits by chance with a probability of 2^-11."""
_OUTSTANDING = 1 << 12
"""An acknowledged PSN is at most so far behind the highest that was sent."""


@inlined
def leave_hint(rows: Any, hints: Any, at: int, psn: int, time: int) -> None:
    """Note that a direction without a peer has sent this PSN. hints int64[2^k, 2]: upper half of the hash and row + 1, time."""
    hashed = mixed(rows[at, TOWARDS] ^ product(psn, FACTOR_5))
    slot = hashed & (HINTS - 1)
    tag = hints[slot, TAG]
    mine = (hashed & UPPER) | (at + 1)
    if tag != mine and (tag ^ hashed) >> 32 == 0 and time - hints[slot, TIME] < HINT_NS:
        row = tag & LOWER
        if row == _SEVERAL or (row != 0 and rows[row - 1, PEER] == 0):
            mine = (hashed & UPPER) | _SEVERAL
    hints[slot, TAG] = mine
    hints[slot, TIME] = time


@kernel
def _meet(rows: Any, hints: Any, at: int, psn: int) -> int:
    """The direction that has sent this PSN the other way, −1 if none or several did."""
    hashed = mixed(rows[at, BACK] ^ product(psn, FACTOR_5))
    tag = hints[hashed & (HINTS - 1), TAG]
    row = tag & LOWER
    if (tag ^ hashed) >> 32 != 0 or row == 0 or row == _SEVERAL:
        return -1
    # Addresses are compared by two hashes of 64 bits.
    same = rows[row - 1, TOWARDS] == rows[at, BACK] and rows[row - 1, BACK] == rows[at, TOWARDS]
    return row - 1 if same and row - 1 != at and rows[row - 1, PEER] == 0 else -1


@inlined
def find_peer(rows: Any, hints: Any, at: int, psn: int) -> tuple[int, bool]:
    """The direction whose request this answer's PSN is of (−1: unknown), and whether they were paired just now."""
    if rows[at, PEER] == 0:
        peer = _meet(rows, hints, at, psn)
        if peer < 0:
            return -1, False
        rows[at, PEER] = peer + 1
        rows[peer, PEER] = at + 1
        for side in (at, peer):
            rows[side, MATCHES] = 0
            rows[side, MISSES] = 0
        _count_match(rows, at, peer, psn)
        return peer, True
    peer = rows[at, PEER] - 1
    known = rows[peer, REQUESTS + NEXT_PSN]
    behind = distance(known - 2, psn) if known != 0 else _OUTSTANDING
    if -WINDOW - rows[peer, SLACK] <= behind < _OUTSTANDING:
        _count_match(rows, at, peer, psn)
        return peer, False
    rows[at, MISSES] += 1
    rows[peer, MISSES] += 1
    if 4 * rows[at, MISSES] > rows[at, MATCHES] + 4:
        for side in (at, peer):
            rows[side, PEER] = 0
            rows[side, ACKED] = 0
    return -1, False


@inlined
def _count_match(rows: Any, at: int, peer: int, psn: int) -> None:
    """Only a PSN that was not acknowledged before tells something."""
    acked = rows[peer, ACKED]
    if acked == 0 or distance(psn, acked - 1) > 0:
        rows[at, MATCHES] += 1
        rows[peer, MATCHES] += 1
        rows[peer, ACKED] = psn + 1
