"""Links: what the clocks of two nodes say of the way between them, ingress time of the next hop − egress time of the one before.

Raw units, and of two clocks, so each value is latency + offset. Kept are count, sum, and the least in each of 32 slots of time (their
width doubles as the capture goes on): the lower envelope, from which offset and drift can be estimated. What belongs to the current slot
stands with the sums in front of the row, which is all that most packets touch.

Times are taken modulo 2^32 where both fit in 32 bits, else modulo 2^48 where both fit in that (P4.org INT v2.1 §5.8, 64-bit timestamps
of 48-bit clocks), and differences relative to the link's first one, so that neither a wrap nor a large offset tears the envelope.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined, kernel
from int_analyzer.fold.buckets import NEVER
from int_analyzer.fold.hashing import FACTOR_0, FACTOR_1, FACTOR_2, FACTOR_3, mixed, product
from int_analyzer.fold.queues import IMPLAUSIBLE
from int_analyzer.fold.table import KEY, LINKS, Table, find
from int_analyzer.fold.view import LinkView

# Words of a row. Ports are + 1, 0 if absent. What most packets touch, from RUN to LOWEST, is a line of the cache. From SLOT on: least
# difference and its capture time, slot after slot.
NODE, PORT, NEXT_NODE, NEXT_PORT, STRAY, NARROW, LOWEST_NS = 0, 1, 2, 3, 4, 5, 6
RUN, FIRST, PACKETS, SUM, TIME_SUM, REFERENCE, CURRENT, LOWEST, SLOT = 8, 9, 10, 11, 12, 13, 14, 15, 16
SLOTS = 32
HASH = 87
WIDTH, KEY_WORDS = 88, 4
"""SUM, LOWEST (of slot CURRENT) and the slots are relative to REFERENCE. FIRST is the capture time of the first packet in units of
2^20 ns, TIME_SUM the sum of all, relative to it. NARROW: packets with 32-bit times. STRAY: those with a difference that has nothing to
do with the others, RUN how many more of them than of the others there were of late."""

TICK = 20
BELIEVED = 8
"""So many more strays than others are no accident: the first was the one to be wrong, or a clock was set anew."""
_LAST = SLOT + 2 * SLOTS
_NARROW, _MIDDLE = 1 << 32, 1 << 48


@inlined
def wrapped(difference: int, modulus: int) -> int:
    """A difference of times that wrap, as the nearest to 0."""
    return ((difference + (modulus >> 1)) & (modulus - 1)) - (modulus >> 1)


@inlined
def difference_of(sent: int, arrived: int) -> tuple[int, int]:
    """Between the times of two hops, neither negative, and 1 if both are narrow, else 0."""
    difference = arrived - sent
    narrow = 0
    if (sent | arrived) >> 32 == 0:
        difference = wrapped(difference, _NARROW)
        narrow = 1
    elif (sent | arrived) >> 48 == 0:
        difference = wrapped(difference, _MIDDLE)
    return difference, narrow


@inlined
def count_in_link(rows: Any, link: int, difference: int, narrow: int, slot: int, time: int) -> None:
    """Add what a packet's two hops say (`difference_of`) to their link; `slot` is that of `time`."""
    if rows[link, PACKETS] == 0:
        _begin(rows, link, difference, time)
    difference -= rows[link, REFERENCE]
    if narrow != 0:
        difference = wrapped(difference, _NARROW)
    if difference <= -IMPLAUSIBLE or difference >= IMPLAUSIBLE:
        rows[link, STRAY] += 1
        rows[link, RUN] += 1
        if rows[link, RUN] == BELIEVED:
            rows[link, STRAY] += rows[link, PACKETS]
            rows[link, PACKETS] = 0
        return
    if rows[link, RUN] != 0:
        rows[link, RUN] -= 1
    if rows[link, CURRENT] != slot:
        _begin_slot(rows, link, slot)
    rows[link, PACKETS] += 1
    if narrow != 0:
        rows[link, NARROW] += 1
    rows[link, SUM] += difference
    rows[link, TIME_SUM] += (time >> TICK) - rows[link, FIRST]
    if difference <= rows[link, LOWEST] and (difference < rows[link, LOWEST] or time < rows[link, LOWEST_NS]):
        rows[link, LOWEST] = difference
        rows[link, LOWEST_NS] = time


@kernel
def _begin_slot(rows: Any, link: int, slot: int) -> None:
    """Put the least of the current slot to the others, and take up that of another."""
    at = SLOT + 2 * rows[link, CURRENT]
    if rows[link, CURRENT] >= 0:
        rows[link, at] = rows[link, LOWEST]
        rows[link, at + 1] = rows[link, LOWEST_NS]
    at = SLOT + 2 * slot
    rows[link, CURRENT] = slot
    rows[link, LOWEST] = rows[link, at]
    rows[link, LOWEST_NS] = rows[link, at + 1]


@kernel
def _begin(rows: Any, link: int, difference: int, time: int) -> None:
    for word in (RUN, NARROW, SUM, TIME_SUM):
        rows[link, word] = 0
    rows[link, REFERENCE] = difference
    rows[link, FIRST] = time >> TICK
    rows[link, CURRENT] = -1
    for at in range(SLOT, _LAST, 2):
        rows[link, at] = NEVER
        rows[link, at + 1] = 0


@kernel
def find_link(rows: Any, index: Any, work: Any, node: int, port: int, next_node: int, next_port: int) -> int:
    """Row of a link, made if it is new; −1 if there is no room. Ports are + 1."""
    work[KEY + NODE] = node
    work[KEY + PORT] = port
    work[KEY + NEXT_NODE] = next_node
    work[KEY + NEXT_PORT] = next_port
    hashed = mixed(product(node, FACTOR_0) ^ product(port, FACTOR_1) ^ product(next_node, FACTOR_2) ^ product(next_port, FACTOR_3))
    return find(rows, index, work, LINKS, KEY_WORDS, hashed)


class Links:
    """All links, at most `maximum`. slot_ns: width of a slot; base: number of the first one since 1970, −1 before the first packet.

    The slots cover the time from the first packet of all to the last, so that they depend on nothing else.
    """

    def __init__(self, maximum: int, slot_ns: int) -> None:
        self.table = Table(WIDTH, KEY_WORDS, maximum)
        self.slot_ns = slot_ns
        self.base = -1

    def cover(self, first_ns: int, last_ns: int) -> None:
        """Make all times from the first to the last lie within the slots: by moving their beginning, or with slots twice as wide."""
        base, doublings = self._range(first_ns, last_ns)
        if (base, doublings) != (self.base, 0):
            self._arrange(base, doublings)

    def coarsen_to(self, slot_ns: int) -> None:
        """Make slots at least so wide, which is their width times a power of two."""
        if self.slot_ns < slot_ns:
            doublings = (slot_ns // self.slot_ns).bit_length() - 1
            self._arrange(max(self.base, 0) >> doublings, doublings)

    def merge(self, other: Links, first_ns: int, last_ns: int) -> int:
        """Absorb other links, seen later than these or at the same time: packets of those for which there is no room.

        The times are those of the first and the last packet of both.
        """
        other = other.copy()
        self._settle()
        other._settle()
        self.coarsen_to(other.slot_ns)
        other.coarsen_to(self.slot_ns)
        arrangement = self._range(first_ns, last_ns)
        self._arrange(*arrangement)
        other._arrange(*arrangement)
        rows, new = self.table.match(other.table.data)
        known = (rows >= 0) & ~new
        mine, theirs = self.table.data[rows[known]], other.table.data[known]
        both = (mine[:, PACKETS] > 0) & (theirs[:, PACKETS] > 0)
        mine[mine[:, PACKETS] == 0] = theirs[mine[:, PACKETS] == 0]
        mine[both] = _joined(mine[both], theirs[both])
        self.table.data[rows[known]] = mine
        return int(other.table.data[rows < 0][:, [PACKETS, STRAY]].sum())

    def copy(self) -> Links:
        """An independent copy."""
        other = Links(self.table.maximum, self.slot_ns)
        other.table = self.table.copy()
        other.base = self.base
        return other

    def view(self) -> LinkView:
        """What is known of every link over which both clocks spoke."""
        self._settle()
        rows = self.table.data[self.table.data[:, PACKETS] > 0]
        lowest = rows[:, SLOT:_LAST:2]
        return LinkView(
            node_id=rows[:, NODE].copy(),
            port=rows[:, PORT] - 1,
            next_node_id=rows[:, NEXT_NODE].copy(),
            next_port=rows[:, NEXT_PORT] - 1,
            packets=rows[:, PACKETS].copy(),
            stray=rows[:, STRAY].copy(),
            narrow=_narrow(rows),
            mean=rows[:, REFERENCE] + rows[:, SUM] / rows[:, PACKETS],
            mean_ns=(rows[:, FIRST] + rows[:, TIME_SUM] / rows[:, PACKETS] + 0.5) * (1 << TICK),
            seen=lowest != NEVER,
            lowest=np.where(lowest != NEVER, lowest + rows[:, [REFERENCE]], 0),
            lowest_ns=rows[:, SLOT + 1 : _LAST : 2].copy(),
            slot_ns=self.slot_ns,
        )

    def _range(self, first_ns: int, last_ns: int) -> tuple[int, int]:
        """The number of the first slot if they are to hold these times, and by how many doublings they have to be wider for that."""
        first, last, doublings = first_ns // self.slot_ns, last_ns // self.slot_ns, 0
        while (last >> doublings) - (first >> doublings) >= SLOTS:
            doublings += 1
        return first >> doublings, doublings

    def _settle(self) -> None:
        """Put what belongs to the current slots where it would be if they were past."""
        rows = self.table.data
        running = np.flatnonzero((rows[:, PACKETS] > 0) & (rows[:, CURRENT] >= 0))
        at = SLOT + 2 * rows[running, CURRENT]
        rows[running, at], rows[running, at + 1] = rows[running, LOWEST], rows[running, LOWEST_NS]
        rows[running, CURRENT] = -1

    def _arrange(self, base: int, doublings: int) -> None:
        """Make slots 2^doublings as wide, beginning with number `base` of the new ones; all that are in use have to fit."""
        self._settle()
        rows = self.table.data
        # Slot by slot, so that one's values of all links stand together.
        before = np.ascontiguousarray(rows[:, SLOT:_LAST].reshape(len(rows), SLOTS, 2).swapaxes(0, 1))
        # A link of which nothing is counted yet has no slots.
        before[:, rows[:, PACKETS] == 0, 0] = NEVER
        after = np.empty_like(before)
        after[:, :, 0], after[:, :, 1] = NEVER, 0
        for slot in np.flatnonzero((before[:, :, 0] != NEVER).any(axis=1)).tolist():
            at = ((self.base + slot) >> doublings) - base
            after[at] = _lower(after[at], before[slot])
        rows[:, SLOT:_LAST] = after.swapaxes(0, 1).reshape(len(rows), 2 * SLOTS)
        self.base = base
        self.slot_ns <<= doublings


def _narrow(rows: Any) -> Any:
    """Links of which all times fit in 32 bits; a wider clock may pass there now and then."""
    return rows[:, NARROW] == rows[:, PACKETS]


def _lower(mine: Any, theirs: Any) -> Any:
    """The lower of two (difference, time) each, the earlier of equals: int64[…, 2]."""
    less = (theirs[..., 0] < mine[..., 0]) | ((theirs[..., 0] == mine[..., 0]) & (theirs[..., 1] < mine[..., 1]))
    return np.where(less[..., None], theirs, mine)


def _joined(mine: Any, theirs: Any) -> Any:
    """Rows of links from two halves of each (int64[n, 88])."""
    joined = mine.copy()
    shift = theirs[:, REFERENCE] - mine[:, REFERENCE]
    narrow = _narrow(mine) & _narrow(theirs)
    shift[narrow] = wrapped(shift[narrow], _NARROW)
    joined[:, [PACKETS, NARROW, STRAY]] += theirs[:, [PACKETS, NARROW, STRAY]]
    joined[:, SUM] += theirs[:, SUM] + shift * theirs[:, PACKETS]
    joined[:, TIME_SUM] += theirs[:, TIME_SUM] + (theirs[:, FIRST] - mine[:, FIRST]) * theirs[:, PACKETS]
    low, other = (rows[:, SLOT:_LAST].reshape(len(rows), SLOTS, 2).copy() for rows in (mine, theirs))
    other[:, :, 0] += np.where(other[:, :, 0] != NEVER, shift[:, None], 0)
    joined[:, SLOT:_LAST] = _lower(low, other).reshape(len(mine), 2 * SLOTS)
    return joined
