"""The journal: when messages of RoCEv2 connections began and ended, one mark per first or last packet, the latest ones.

What storage and training jobs wait for shows in the order of messages of different directions, which no counter of one direction keeps.
A mark is noted where the packet is seen first; copies and retransmissions leave none. Marks are matched when the journal is read, so that a
message cut by the boundary between two states is whole again when they merge (but for where it waited). Memory is bounded: the oldest half
goes, and is counted.

A journal of its own holds the answers that completed messages, one mark for all that an acknowledgement covers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.fold.direction import ANSWERS, MARKS, WAIT, WAIT_END
from int_analyzer.fold.transport import BEGINS, ENDS, KIND, RESPONSE
from int_analyzer.fold.view import JournalView
from int_analyzer.fold.waits import BEGIN, MOST_NS, N_SLOTS, NS_BITS, SLOTS, UNTOLD_NS, WAITED

TIME, WHAT, PLACE, UNTOLD, WAITS = 0, 1, 2, 3, 4
"""Words of a mark. WHAT: row of the direction and, in the lower half, the meaning of the packet; PLACE: bytes, and 24 bits of PSN. Bytes
are those of the message where a RETH announces them, else of the packet. UNTOLD: what is not told (view.JournalView), and the PSN of the
first packet of the message; −1 if nothing is known. WAITS: four words as in waits.py."""
_WORDS = 8
_UNKNOWN = -1
_DIRECTION_SHIFT, _MEANING_MASK = 32, 0xFFFFFFFF
_BYTES_SHIFT, _PSN_MASK = 24, 0xFFFFFF
_MOST_BYTES = (1 << 32) - 1
MAXIMUM_MARKS = 1 << 17


@inlined
def note(
    marks: Any, work: Any, rows: Any, at: int, account: int, begin: int, log: Any, told: bool, meaning: int, psn: int, size: int, time: int
) -> None:
    """Note a packet that begins or ends a message of direction `at`; there is room. marks int64[n, 8]; work[MARKS]: marks in use.

    account: first word; begin: PSN of the first packet of the message + 1, 0 if it is not known where it waited since; log:
    waits.find_waits; told: the packet tells of its hops.
    """
    if meaning & (BEGINS | ENDS) != 0 and time > 0:
        row = work[MARKS]
        marks[row, TIME] = time
        marks[row, WHAT] = (at << _DIRECTION_SHIFT) | meaning
        marks[row, PLACE] = (min(size, _MOST_BYTES) << _BYTES_SHIFT) | psn
        if meaning & BEGINS != 0:
            _put_waits(marks, work, row, log, told, psn)
        elif begin == 0:
            marks[row, UNTOLD] = _UNKNOWN
        elif rows[at, account + BEGIN] != begin:
            marks[row, UNTOLD] = begin - 1
        else:
            marks[row, UNTOLD] = (rows[at, account + UNTOLD_NS] << _BYTES_SHIFT) | (begin - 1)
            for slot in range(N_SLOTS):
                marks[row, WAITS + slot] = rows[at, account + SLOTS + slot]
            # PSNs come again: it is of no other message.
            rows[at, account + BEGIN] = 0
        work[MARKS] = row + 1


@inlined
def note_answer(answers: Any, work: Any, at: int, log: Any, told: bool, paired: bool, resent: bool, psn: int, time: int) -> None:
    """Note an answer to all messages of direction `at` up to a PSN; there is room. answers int64[n, 8]; work[ANSWERS]: marks in use.

    paired: it is the first that was seen to be one, so that messages before the last that it covers may have been answered earlier; resent:
    packets of them were sent again.
    """
    if time > 0:
        row = work[ANSWERS]
        answers[row, TIME] = time
        answers[row, WHAT] = (at << _DIRECTION_SHIFT) | (BEGINS if paired else 0) | (ENDS if resent else 0)
        answers[row, PLACE] = psn
        _put_waits(answers, work, row, log, told, psn)
        work[ANSWERS] = row + 1


@inlined
def _put_waits(marks: Any, work: Any, row: int, log: Any, told: bool, psn: int) -> None:
    """What this packet waited, the last queue first; of more than four queues it is not told."""
    number, slot = work[WAIT_END] - 1, 0
    while number >= work[WAIT] and slot < N_SLOTS:
        marks[row, WAITS + slot] = log[number, WAITED]
        number -= 1
        slot += 1
    marks[row, UNTOLD] = (0 if told and number < work[WAIT] else 1) << _BYTES_SHIFT | psn


class Journal:
    """Marks in the order in which they came, at most `maximum`; `forgotten` have gone."""

    def __init__(self, maximum: int = MAXIMUM_MARKS) -> None:
        self.maximum = maximum
        self.marks: Any = np.zeros((min(1 << 10, maximum), _WORDS), dtype=np.int64)
        self.used = 0
        self.forgotten = 0

    def reserve(self) -> None:
        """Make room for one more mark: grow, or forget the older half."""
        if self.used < len(self.marks):
            return
        if len(self.marks) < self.maximum:
            self._hold(self.marks[: self.used], min(2 * len(self.marks), self.maximum))
        else:
            self._keep_latest(self.maximum // 2)

    def follow(self, moved: Any) -> None:
        """Directions have moved, row i + 1 to `moved[i + 1]`; marks of those that went (0) go with them."""
        marks = self.marks[: self.used]
        rows = moved[(marks[:, WHAT] >> _DIRECTION_SHIFT) + 1]
        kept = marks[rows > 0]
        kept[:, WHAT] = ((rows[rows > 0] - 1) << _DIRECTION_SHIFT) | (kept[:, WHAT] & _MEANING_MASK)
        self.forgotten += self.used - len(kept)
        self._hold(kept, len(self.marks))

    def merge(self, other: Journal, moved: Any, queues: Any) -> None:
        """Absorb another journal, whose directions have here the rows that `moved` says (as in `follow`), and its queues `queues`."""
        theirs = other.copy()
        theirs.follow(moved)
        theirs._follow_queues(queues)
        marks = np.concatenate([self.marks[: self.used], theirs.marks[: theirs.used]])
        self.forgotten += theirs.forgotten
        self._hold(marks, max(len(self.marks), len(marks)))
        if self.used > self.maximum:
            self._keep_latest(self.maximum)

    def _follow_queues(self, queues: Any) -> None:
        """Queues have moved to these rows; of what waited in one for which there was no room (−1), nothing is told."""
        waits = self.marks[: self.used, WAITS:]
        moved = np.append(queues, -1)[(waits >> NS_BITS) - 1]
        lost = (waits != 0) & (moved < 0)
        waits[:] = np.where(moved >= 0, ((moved + 1) << NS_BITS) | (waits & MOST_NS), 0)
        self.marks[: self.used, UNTOLD][lost.any(axis=1)] = _UNKNOWN

    def copy(self) -> Journal:
        """An independent copy."""
        other = Journal(self.maximum)
        other._hold(self.marks[: self.used], len(self.marks))
        other.forgotten = self.forgotten
        return other

    def view(self) -> JournalView:
        """The marks in order of time."""
        marks = self.marks[: self.used]
        marks = marks[np.argsort(marks[:, TIME], kind="stable")]
        meaning = marks[:, WHAT] & _MEANING_MASK
        return JournalView(
            time_ns=marks[:, TIME].copy(),
            direction=marks[:, WHAT] >> _DIRECTION_SHIFT,
            kind=meaning & KIND,
            response=meaning & RESPONSE != 0,
            begins=meaning & BEGINS != 0,
            ends=meaning & ENDS != 0,
            psn=marks[:, PLACE] & _PSN_MASK,
            bytes=marks[:, PLACE] >> _BYTES_SHIFT,
            forgotten=self.forgotten,
            untold=marks[:, UNTOLD] >> _BYTES_SHIFT,
            begin_psn=marks[:, UNTOLD] & _PSN_MASK,
            waited_queue=(marks[:, WAITS:] >> NS_BITS) - 1,
            waited=marks[:, WAITS:] & MOST_NS,
        )

    def _keep_latest(self, count: int) -> None:
        marks = self.marks[: self.used]
        kept = np.sort(np.argsort(marks[:, TIME], kind="stable")[self.used - count :])
        self.forgotten += self.used - count
        self._hold(marks[kept], self.maximum)

    def _hold(self, marks: Any, room: int) -> None:
        """Have these marks, and room for so many."""
        held = np.zeros((max(room, len(marks)), _WORDS), dtype=np.int64)
        held[: len(marks)] = marks
        self.marks, self.used = held, len(marks)
