"""Backlog: hops that their queues have yet to count, so that those of the same queues are counted together.

A packet's hops are of queues that have nothing to do with each other, and in a large fabric each would wait for the memory of its
counters and histograms. So a hop is judged at once (`queues.judge_hop`) and written down with those of the same 64 queues. When some queues
have so many that there may be no room for the next packet's, they are counted, one after the other: they find most of what they touch
where the one before has left it, and the rest is asked for in time. What a queue or a link counts, and in which order, is the same. Of a
small fabric nothing is put off: all is at hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined, kernel
from int_analyzer.fold import histogram, queues
from int_analyzer.fold.hashing import wide
from int_analyzer.fold.histogram import SUB_BUCKETS, place_of
from int_analyzer.fold.links import CURRENT, count_in_link
from int_analyzer.fold.queues import count_hop
from int_analyzer.fold.table import BLOCKS, BUCKETS, LINK_BASE, LINK_NS, LONGEST, ROOM, grown
from int_analyzer.wire.read import prefetch

PART_BITS = 6
"""2^6 queues of following rows share a part of the backlog: what they count in fits in a processor's own cache."""

# Words of a row. OF is queue · 2^32 + bytes; ABOUT is (link to the next hop + 1) · 2^5 + narrow · 2^4 + IS_COUNTED or what judge_hop says.
OF, TIME, LATENCY, DEPTH, ABOUT, DIFFERENCE = 0, 1, 2, 3, 4, 5
WIDTH = 6
NARROW_SHIFT, LINK_SHIFT = 4, 5
IS_COUNTED = 1 << 3
"""The queue has counted this hop of the packet before, at another mirror point; what is new is the link."""
BEGIN, END = 0, 1
"""Words of a part: which of its rows are in use."""

_POINTERS, _COUNTERS = 16, 8
"""Rows from asking for a hop's counters and pointers, and for where these point, to counting it."""
_COUNTER_WIDTH, _BLOCKS, _LINE = queues.COUNTER_WIDTH, histogram.BLOCKS, 8


@inlined
def count(
    counters: Any,
    blocks: Any,
    pool: Any,
    log: Any,
    link_rows: Any,
    work: Any,
    queue: int,
    size: int,
    time: int,
    latency: int,
    depth: int,
    about: int,
    difference: int,
) -> None:
    """Add a hop to its queue (queues.count_hop), and what it says with the next one to the link between them (links.count_in_link)."""
    if about & IS_COUNTED == 0:
        count_hop(counters, blocks, pool, log, work, queue, time, size, latency, depth, about)
    link = (about >> LINK_SHIFT) - 1
    if link >= 0:
        slot = link_rows[link, CURRENT]
        begin = (work[LINK_BASE] + slot) * work[LINK_NS]
        if time < begin or time >= begin + work[LINK_NS]:
            slot = time // work[LINK_NS] - work[LINK_BASE]
        count_in_link(link_rows, link, difference, (about >> NARROW_SHIFT) & 1, slot, time)


@inlined
def put_off(
    rows: Any, parts: Any, work: Any, queue: int, size: int, time: int, latency: int, depth: int, about: int, difference: int
) -> None:
    """Write down a hop; its part has room."""
    part = queue >> PART_BITS
    end = parts[part, END]
    row = part * work[ROOM] + end
    rows[row, OF] = queue << 32 | size
    rows[row, TIME] = time
    rows[row, LATENCY] = latency
    rows[row, DEPTH] = depth
    rows[row, ABOUT] = about
    rows[row, DIFFERENCE] = difference
    prefetch(rows, (row + 2) * WIDTH)
    parts[part, END] = end + 1
    work[LONGEST] = max(work[LONGEST], end + 1)


@kernel
def catch_up(least: int, rows: Any, parts: Any, counters: Any, blocks: Any, pool: Any, log: Any, link_rows: Any, work: Any) -> bool:
    """Count the hops of all parts that have at least so many: false if a table has to grow before. work[LONGEST]: most that one has left.

    rows int64[parts · work[ROOM], 6], parts int64[n, 2]; the others: count.
    """
    longest = 0
    for part in range(parts.shape[0]):
        if parts[part, END] >= least:
            row, end = part * work[ROOM] + parts[part, BEGIN], part * work[ROOM] + parts[part, END]
            while row < end and work[BUCKETS] < log.shape[0] and work[BLOCKS] + 2 <= pool.shape[0]:
                _look_ahead(rows, row, end, counters, blocks, pool)
                queue, size, time = rows[row, OF] >> 32, rows[row, OF] & 0xFFFFFFFF, rows[row, TIME]
                latency, depth, about, difference = rows[row, LATENCY], rows[row, DEPTH], rows[row, ABOUT], rows[row, DIFFERENCE]
                count(counters, blocks, pool, log, link_rows, work, queue, size, time, latency, depth, about, difference)
                row += 1
            if row < end:
                parts[part, BEGIN] = row - part * work[ROOM]
                return False
            parts[part, BEGIN] = 0
            parts[part, END] = 0
        longest = max(longest, parts[part, END])
    work[LONGEST] = longest
    return True


@inlined
def _look_ahead(rows: Any, row: int, end: int, counters: Any, blocks: Any, pool: Any) -> None:
    """Ask for the memory of the hops that come next."""
    at = row + _POINTERS
    if at < end:
        queue = rows[at, OF] >> 32
        prefetch(counters, queue * _COUNTER_WIDTH)
        prefetch(counters, queue * _COUNTER_WIDTH + _LINE)
        prefetch(blocks, 2 * queue * _BLOCKS + (place_of(rows[at, LATENCY]) >> 6))
        prefetch(blocks, (2 * queue + 1) * _BLOCKS + (place_of(rows[at, DEPTH]) >> 6))
    at = row + _COUNTERS
    if at < end:
        queue = rows[at, OF] >> 32
        _expect_counter(blocks, pool, 2 * queue, place_of(rows[at, LATENCY]))
        _expect_counter(blocks, pool, 2 * queue + 1, place_of(rows[at, DEPTH]))


@inlined
def _expect_counter(blocks: Any, pool: Any, row: int, at: int) -> None:
    prefetch(pool, wide(blocks[row, at >> 6]) * SUB_BUCKETS + (at & (SUB_BUCKETS - 1)))


class Backlog:
    """Hops put off, at most `most` in each part. Links and queues have to keep their rows until all are counted."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.rows: Any = np.zeros((0, WIDTH), dtype=np.int64)
        self.parts: Any = np.zeros((0, 2), dtype=np.int64)

    @property
    def room(self) -> int:
        """Rows of each part; 0 as long as there is none."""
        return self.most if len(self.parts) else 0

    def __len__(self) -> int:
        return int((self.parts[:, END] - self.parts[:, BEGIN]).sum())

    @property
    def longest(self) -> int:
        """The most hops that a part has."""
        return int(self.parts[:, END].max(initial=0))

    def reserve(self, queues: int) -> None:
        """Make room for the hops of so many queues."""
        parts = -(-queues >> PART_BITS)
        if parts > len(self.parts):
            self.rows = grown(self.rows, parts * self.most)
            self.parts = grown(self.parts, parts)

    def deepen(self, hops: int) -> None:
        """Make room for a packet of so many hops; nothing is put off at the time."""
        self.most = hops
        self.rows = np.zeros((len(self.parts) * hops, WIDTH), dtype=np.int64)
