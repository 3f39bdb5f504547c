"""The last minute as states that merge: slices of one second, and stretches of ten of them.

    lanes (open states, one thread each) ──advance──► slices: those of the stretch that runs ──► tails: those of the one before
                                                   └─► stretches: the last minute

    the last ten slices = the tail that begins ten slices ago + the stretch that runs

A packet belongs to the slice of its batch's median time, also when it is late; within a state its own time counts.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from int_analyzer.columns import Columns
from int_analyzer.fold.quality import MISSED
from int_analyzer.fold.state import Capacity, State

SECOND_NS = 1_000_000_000
SLICES = 10
"""Slices in a stretch, and in the piece of time that is judged."""
STRETCHES = 6
"""Stretches kept beside the one that runs."""
GRACE_NS = 200_000_000
"""A slice is closed so long after its end: the kernel hands packets out in blocks of a tenth of a second."""
STEP_NS = 2 * SECOND_NS
"""Time that goes back further is a clock that was set; less is lateness."""
OPEN = 16
"""Slices that a lane holds open at most: packets of still other times have damaged clocks."""
JUMP_NS = 60 * SECOND_NS
"""Time that goes on by more between two looks, with nothing of it left in what is kept."""

CAPACITY = Capacity(queues=1 << 14, paths=1 << 16, flows=1 << 15, pairs=1 << 15)
"""Of one slice and of what is merged from slices: what it cannot hold is forgotten and counted."""


class Lane:
    """Where the thread of one source folds: states of slices that are still open.

    followed: subsets of the connections that slices opened from now on follow, None: as many as usual; marks: low-water marks by which
    hops are judged too (fold.Queues.lower), None: none; packets: folded; late: of these,
    into a slice that was closed already; lost: too old, or of a time that is not now.
    """

    def __init__(self, capacity: Capacity, compiled: bool) -> None:
        self.followed: int | None = None
        self.marks: Any = None
        self.packets = 0
        self.late = 0
        self.lost = 0
        self.closed = 0
        """Slices below this number have been taken."""
        self._capacity = capacity
        self._compiled = compiled
        self._open: dict[int, State] = {}
        self._lock = threading.Lock()

    def fold(self, columns: Columns, oldest: int, newest: int, missed: int = 0) -> bool:
        """Fold a batch into its slice, if that is not before `oldest` or behind `newest`: whether it was.

        missed: so many packets before it were lost.
        """
        packets = columns.rows("packets")
        number = int(np.median(columns.packets.time_ns[:packets])) // SECOND_NS
        if not oldest <= number <= newest:
            self.lost += packets
            return False
        with self._lock:
            state = self._open.get(number)
            if state is None and len(self._open) == OPEN:
                self.lost += packets
                return False
            if state is None:
                state = self._open[number] = State(self._capacity, turn=number, followed=self.followed)
            if number < self.closed:
                self.late += packets
            self.packets += packets
            state.fold(columns, self._compiled)
            if self.marks is not None:
                state.queues.lower(self.marks, self._compiled)
            state.quality.counters[MISSED] += missed
        return True

    def take(self, end: int) -> dict[int, State]:
        """The states of slices before `end`; what comes for them from now on is late."""
        with self._lock:
            self.closed = max(self.closed, end)
            return {number: self._open.pop(number) for number in sorted(self._open) if number < end}

    def clear(self) -> None:
        """Forget everything: time begins anew."""
        with self._lock:
            self.closed = 0
            self._open.clear()


class Sliding:
    """The lanes, and what they left in the last minute.

    end: number of the slice that is not closed yet; steps: how often the clock was set; slices and stretches: states by number; tails:
    what was captured from a slice on to the end of the stretch before the one that runs, by that slice's number.
    """

    def __init__(self, capacity: Capacity = CAPACITY, compiled: bool = True) -> None:
        self.capacity = capacity
        self.compiled = compiled
        self.end = 0
        self.steps = 0
        self.lanes: list[Lane] = []
        self.slices: dict[int, State] = {}
        self.tails: dict[int, State] = {}
        self.stretches: dict[int, State] = {}
        self._cut = 0
        """Slices below this number have become tails."""
        self._ten: State | None = None
        self._ended: State | None = None

    def lane(self) -> Lane:
        """A new lane, for one thread."""
        lane = Lane(self.capacity, self.compiled)
        self.lanes.append(lane)
        return lane

    def follow(self, subsets: int) -> None:
        """Follow so many subsets of the connections in slices that are opened from now on."""
        for lane in self.lanes:
            lane.followed = subsets

    def judge_by(self, marks: Any) -> None:
        """Judge the hops that come by these low-water marks too."""
        for lane in self.lanes:
            lane.marks = marks

    @property
    def oldest(self) -> int:
        """First slice that is still kept in a stretch."""
        return max(self.end // SLICES - STRETCHES, 0) * SLICES

    def stepped(self, now_ns: int) -> bool:
        """Whether the clock was set since the last `advance`: forget everything if it was."""
        behind = self.end * SECOND_NS + GRACE_NS - now_ns
        if self.end == 0 or -JUMP_NS <= behind <= STEP_NS:
            return False
        self.steps += 1
        self.end = 0
        self._cut = 0
        for kept in (self.slices, self.tails, self.stretches):
            kept.clear()
        self._ten = self._ended = None
        for lane in self.lanes:
            lane.clear()
        return True

    def advance(self, now_ns: int) -> list[State]:
        """Close the slices that have ended, and take in what came late: the pieces, which the sliding states have absorbed."""
        end = max(self.end, (now_ns - GRACE_NS) // SECOND_NS)
        pieces: list[State] = []
        if end != self.end:
            self._ten = None
        if end // SLICES != self.end // SLICES:
            self._ended = None
        self.end = end
        for lane in self.lanes:
            for number, state in lane.take(end).items():
                if number >= self.oldest:
                    self._absorb(number, state)
                    pieces.append(state)
        for kept, oldest in ((self.slices, end - SLICES), (self.tails, end - SLICES), (self.stretches, self.oldest // SLICES)):
            for number in [number for number in kept if number < oldest]:
                del kept[number]
        return pieces

    def last_ten(self) -> State:
        """What was captured in the last ten closed slices. It stays what it is."""
        if self._ten is None:
            self._cut_tails()
            begin, running = self.end - SLICES, self.end // SLICES
            if begin % SLICES == 0:
                found = [self.stretches.get(running - 1)]
            else:
                tail = min((number for number in self.tails if number >= begin), default=None)
                found = [None if tail is None else self.tails[tail], self.stretches.get(running)]
            self._ten = self._merged(found)
        return self._ten

    def last_minute(self) -> State:
        """What was captured in the stretch that runs and the six before."""
        running = self.end // SLICES
        if self._ended is None:
            self._ended = self._merged([self.stretches[stretch] for stretch in sorted(self.stretches) if stretch < running])
        return self._merged([self._ended, self.stretches.get(running)])

    def slice(self, number: int) -> State:
        """What was captured in a slice that the last `advance` closed; nothing if it was captured before."""
        return self.slices.get(number) or State(self.capacity)

    def _absorb(self, number: int, state: State) -> None:
        self._ten = None
        if number // SLICES < self.end // SLICES:
            self._ended = None
        _add(self.stretches, number // SLICES, state)
        if number >= self._cut:
            _add(self.slices, number, state)
            return
        if number not in self.tails:
            after = min((tail for tail in self.tails if tail > number), default=None)
            self.tails[number] = State(self.capacity) if after is None else self.tails[after].copy()
        for tail in self.tails:
            if tail <= number:
                self.tails[tail].merge(state)

    def _cut_tails(self) -> None:
        """Make tails of the slices of the stretch that has ended: the later come to the earlier."""
        begin = self.end // SLICES * SLICES
        after: State | None = None
        for number in sorted((number for number in self.slices if number < begin), reverse=True):
            tail = self.slices.pop(number)
            if after is not None:
                tail.merge(after)
            self.tails[number] = after = tail
        self._cut = begin

    def _merged(self, states: Sequence[State | None]) -> State:
        """A state of its own."""
        whole: State | None = None
        for state in states:
            if whole is None:
                whole = state.copy() if state is not None else None
            elif state is not None:
                whole.merge(state)
        return whole or State(self.capacity)


def _add(kept: dict[int, State], number: int, state: State) -> None:
    if number in kept:
        kept[number].merge(state)
    else:
        kept[number] = state.copy()
