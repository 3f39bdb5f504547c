"""Sequence numbers of reports and mirrors: what was lost on the way to us, by serial arithmetic; and the drops that reports tell of.

After RFC 3550, A.1 and A.3: numbers are counted from the lowest to the highest seen, and lost is what of these did not come. So late
arrivals are no loss, and two states of one stream merge by the union of their ranges. 64 numbers back are remembered to tell a
late arrival from a duplicate; of merged states, what does not fit in their range came twice. A number far off is believed (the
sender restarted) when the next one confirms it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import get
from int_analyzer.fold.flows import address
from int_analyzer.fold.hashing import FACTOR_0, FACTOR_1, FACTOR_2, FACTOR_3, mixed, product
from int_analyzer.fold.quality import STREAMS_IGNORED
from int_analyzer.fold.table import DROPS, KEY, STREAMS, Table, find
from int_analyzer.fold.view import SequenceView
from int_analyzer.schema import (
    FORMAT_BY_ID,
    FORMAT_REPORT_2,
    HAS_MIRROR_OUTER,
    HAS_MIRROR_SEQUENCE,
    HAS_MIRROR_SESSION,
    HAS_REPORT_DROP,
)

# Words of a row. A stream is (kind, node id, hw id) for reports, (kind 0, source address upper and lower half, session) for mirrors.
KIND, FIRST_KEY, SECOND_KEY, THIRD_KEY = 0, 1, 2, 3
RECEIVED, UNIQUE, DUPLICATED, REORDERED, LOST, LOW, HIGH, EXTENT, SEEN, EXPECTED = 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
FIRST_NS, LAST_NS, BITS, HASH = 14, 15, 16, 17
WIDTH, KEY_WORDS = 18, 4
"""LOST is of the runs before the last restart. Of the current run: UNIQUE numbers seen, LOW and HIGH as on the wire, EXTENT from LOW
to HIGH without wrapping; bit i of SEEN says that HIGH − 1 − i was seen. EXPECTED − 1 is what confirms a restart, 0 if none. BITS is the
width of the numbers."""

_RANGE = [UNIQUE, LOW, HIGH, EXTENT, SEEN]

MIRROR = 0
WINDOW = 64
SEEN_MASK = (1 << 63) - 1

DROP_NODE, DROP_REASON, DROP_COUNT = 0, 1, 2
DROP_WIDTH, DROP_KEY_WORDS = 4, 2

MAXIMUM_STREAMS = 1 << 14


@inlined
def _count_number(rows: Any, row: int, number: int) -> None:
    """Count a sequence number in a stream that has one already."""
    span = 1 << rows[row, BITS]
    ahead = (number - rows[row, HIGH]) & (span - 1)
    if ahead >= span >> 1:
        ahead -= span
    if ahead == 0:
        rows[row, DUPLICATED] += 1
    elif 0 < ahead <= span >> 4:
        if ahead < WINDOW:
            rows[row, SEEN] = ((rows[row, SEEN] << ahead) | (1 << (ahead - 1))) & SEEN_MASK
        else:
            rows[row, SEEN] = 0
        rows[row, HIGH] = number
        rows[row, EXTENT] += ahead
        rows[row, UNIQUE] += 1
        rows[row, EXPECTED] = 0
    elif -WINDOW < ahead < 0:
        bit = 1 << (-ahead - 1)
        if rows[row, SEEN] & bit != 0:
            rows[row, DUPLICATED] += 1
        else:
            rows[row, SEEN] |= bit
            rows[row, UNIQUE] += 1
            rows[row, REORDERED] += 1
            if -ahead > rows[row, EXTENT]:
                rows[row, LOW] = number
                rows[row, EXTENT] = -ahead
    elif rows[row, EXPECTED] != 0 and (number - (rows[row, EXPECTED] - 1)) & (span - 1) < WINDOW:
        begin = rows[row, EXPECTED] - 1
        rows[row, LOST] += rows[row, EXTENT] + 1 - rows[row, UNIQUE]
        # The number before the expected one was the first of this run.
        extent = ((number - begin) & (span - 1)) + 1
        rows[row, LOW] = (begin - 1) & (span - 1)
        rows[row, HIGH] = number
        rows[row, EXTENT] = extent
        rows[row, UNIQUE] = 2
        rows[row, SEEN] = (1 << (extent - 1)) & SEEN_MASK
        rows[row, EXPECTED] = 0
    else:
        rows[row, EXPECTED] = ((number + 1) & (span - 1)) + 1


@inlined
def _count_in_stream(rows: Any, index: Any, work: Any, number: int, bits: int, time: int) -> bool:
    """Count a sequence number in the stream whose key is in `work`; false if there is no room for the stream."""
    hashed = mixed(
        product(work[KEY + KIND], FACTOR_0)
        ^ product(work[KEY + FIRST_KEY], FACTOR_1)
        ^ product(work[KEY + SECOND_KEY], FACTOR_2)
        ^ product(work[KEY + THIRD_KEY], FACTOR_3)
    )
    row = find(rows, index, work, STREAMS, KEY_WORDS, hashed)
    if row < 0:
        return False
    rows[row, RECEIVED] += 1
    if rows[row, RECEIVED] == 1:
        rows[row, LOW] = number
        rows[row, HIGH] = number
        rows[row, UNIQUE] = 1
        rows[row, FIRST_NS] = time
        rows[row, BITS] = bits
    else:
        _count_number(rows, row, number)
    rows[row, LAST_NS] = max(rows[row, LAST_NS], time)
    return True


@inlined
def _lacks_room(rows: Any, used: int) -> bool:
    return used == rows.shape[0] and used < MAXIMUM_STREAMS


@kernel
def fold_reports(
    row: int, stop: int, columns: Any, streams: Any, stream_index: Any, drops: Any, drop_index: Any, counters: Any, work: Any
) -> int:
    """Count report rows `row` … `stop` − 1; returns the row before which a table has to grow, or `stop`."""
    while row < stop:
        if _lacks_room(streams, work[STREAMS]) or _lacks_room(drops, work[DROPS]):
            return row
        # The reports of a v2.0 datagram share one number.
        version = get(columns, "reports.version", row)
        node = get(columns, "reports.node_id", row)
        if version != FORMAT_REPORT_2 or get(columns, "reports.report", row) == 0:
            work[KEY + KIND] = version
            work[KEY + FIRST_KEY] = node
            work[KEY + SECOND_KEY] = get(columns, "reports.hw_id", row)
            work[KEY + THIRD_KEY] = 0
            time = max(get(columns, "packets.time_ns", get(columns, "reports.packet", row)), 0)
            number, bits = get(columns, "reports.sequence", row), get(columns, "reports.sequence_bits", row)
            if not _count_in_stream(streams, stream_index, work, number, bits, time):
                counters[STREAMS_IGNORED] += 1
        if get(columns, "reports.present", row) & HAS_REPORT_DROP != 0:
            reason = get(columns, "reports.drop_reason", row)
            work[KEY + DROP_NODE] = node
            work[KEY + DROP_REASON] = reason
            drop = find(drops, drop_index, work, DROPS, DROP_KEY_WORDS, mixed(product(node, FACTOR_0) ^ product(reason, FACTOR_1)))
            if drop >= 0:
                drops[drop, DROP_COUNT] += 1
            else:
                counters[STREAMS_IGNORED] += 1
        row += 1
    return row


@kernel
def fold_mirrors(
    row: int, stop: int, columns: Any, streams: Any, stream_index: Any, drops: Any, drop_index: Any, counters: Any, work: Any
) -> int:
    """Count mirror rows `row` … `stop` − 1; returns the row before which a table has to grow, or `stop`."""
    while row < stop:
        if _lacks_room(streams, work[STREAMS]):
            return row
        present = get(columns, "mirrors.present", row)
        if present & HAS_MIRROR_SEQUENCE != 0:
            work[KEY + KIND] = MIRROR
            work[KEY + FIRST_KEY] = 0
            work[KEY + SECOND_KEY] = 0
            work[KEY + THIRD_KEY] = -1
            if present & HAS_MIRROR_OUTER != 0:
                work[KEY + FIRST_KEY] = get(columns, "mirrors.outer_src_hi", row)
                work[KEY + SECOND_KEY] = get(columns, "mirrors.outer_src_lo", row)
            if present & HAS_MIRROR_SESSION != 0:
                work[KEY + THIRD_KEY] = get(columns, "mirrors.session_id", row)
            time = max(get(columns, "packets.time_ns", get(columns, "mirrors.packet", row)), 0)
            if not _count_in_stream(streams, stream_index, work, get(columns, "mirrors.sequence", row), 32, time):
                counters[STREAMS_IGNORED] += 1
        row += 1
    return row


def _joined(mine: Any, theirs: Any) -> Any:
    """The row of a stream from two halves of it (int64[18] each)."""
    if theirs[FIRST_NS] < mine[FIRST_NS]:
        mine, theirs = theirs, mine
    row = mine.copy()
    span = 1 << int(mine[BITS])

    def distance(later: int, earlier: int) -> int:
        ahead = (int(later) - int(earlier)) % span
        return ahead - span if ahead >= span >> 1 else ahead

    for word in (RECEIVED, DUPLICATED, REORDERED, LOST):
        row[word] += theirs[word]
    row[LAST_NS] = max(mine[LAST_NS], theirs[LAST_NS])
    row[EXPECTED] = theirs[EXPECTED]
    # Pieces of one time have near beginnings; of two pieces in a row, the second begins near the first's end.
    if theirs[FIRST_NS] < mine[LAST_NS]:
        begin = distance(theirs[LOW], mine[LOW])
        apart = abs(begin) > span >> 4
    else:
        ahead = distance(theirs[LOW], mine[HIGH])
        begin = int(mine[EXTENT]) + ahead
        apart = not -WINDOW < ahead <= span >> 4
    if apart and theirs[UNIQUE] == 1:
        row[EXPECTED] = (int(theirs[HIGH]) + 1) % span + 1
        return row
    if apart:
        row[LOST] += mine[EXTENT] + 1 - mine[UNIQUE]
        row[_RANGE] = theirs[_RANGE]
        row[BITS] = theirs[BITS]
        return row
    if begin < 0:
        row[LOW] = theirs[LOW]
    end = begin + int(theirs[EXTENT])
    last, other, shift = (theirs, mine, end - int(mine[EXTENT])) if end > mine[EXTENT] else (mine, theirs, int(mine[EXTENT]) - end)
    # Both with the highest number itself as bit 0.
    seen, too = int(last[SEEN]) << 1 | 1, (int(other[SEEN]) << 1 | 1) << min(shift, WINDOW)
    twice = (seen & too).bit_count()
    # Two captures of one stream: of a range with the same ends, the same count and the same end piece, all is taken to be the same.
    if np.array_equal(mine[_RANGE], theirs[_RANGE]):
        twice = int(mine[UNIQUE])
    row[HIGH] = last[HIGH]
    row[SEEN] = ((seen | too) >> 1) & SEEN_MASK
    row[EXTENT] = max(int(mine[EXTENT]), end) - min(0, begin)
    both = int(mine[UNIQUE]) + int(theirs[UNIQUE])
    # There are no more numbers than fit in the range; what is beyond came twice.
    row[UNIQUE] = min(both - twice, int(row[EXTENT]) + 1)
    row[DUPLICATED] += both - row[UNIQUE]
    return row


class Sequences:
    """Streams of sequence numbers, and drops by node and reason."""

    def __init__(self) -> None:
        self.streams = Table(WIDTH, KEY_WORDS, MAXIMUM_STREAMS)
        self.drops = Table(DROP_WIDTH, DROP_KEY_WORDS, MAXIMUM_STREAMS)

    def reserve(self) -> None:
        """Make room for one more stream and one more drop reason."""
        self.streams.reserve(1)
        self.drops.reserve(1)

    def merge(self, other: Sequences) -> None:
        """Absorb other streams, later than these or of the same time."""
        theirs = other.streams.data
        rows, new = self.streams.match(theirs)
        for row, at in enumerate(rows.tolist()):
            if at >= 0 and not new[row]:
                self.streams.data[at] = _joined(self.streams.data[at], theirs[row])
        rows, new = self.drops.match(other.drops.data)
        known = (rows >= 0) & ~new
        self.drops.data[rows[known], DROP_COUNT] += other.drops.data[known, DROP_COUNT]

    def copy(self) -> Sequences:
        """An independent copy."""
        other = Sequences()
        other.streams = self.streams.copy()
        other.drops = self.drops.copy()
        return other

    def view(self) -> tuple[SequenceView, dict[tuple[int, int], int]]:
        """Streams, and the number of reports by (node, drop reason)."""
        rows = self.streams.data
        mirror = rows[:, KIND] == MIRROR
        static = (rows[:, EXTENT] == 0) & (rows[:, RECEIVED] > 1) & (rows[:, LOST] == 0)
        lost = rows[:, LOST] + rows[:, EXTENT] + 1 - rows[:, UNIQUE]
        sequences = SequenceView(
            kind=["erspan" if kind == MIRROR else FORMAT_BY_ID[kind].name for kind in rows[:, KIND].tolist()],
            node_id=np.where(mirror, rows[:, THIRD_KEY], rows[:, FIRST_KEY]),
            stream=np.where(mirror, 0, rows[:, SECOND_KEY]),
            source=[
                address(6 if high else 4, high, low) if kind == MIRROR else ""
                for kind, high, low in rows[:, [KIND, FIRST_KEY, SECOND_KEY]].tolist()
            ],
            received=rows[:, RECEIVED].copy(),
            lost=np.where(static, 0, lost),
            reordered=rows[:, REORDERED].copy(),
            duplicated=np.where(static, 0, rows[:, DUPLICATED]),
            static=static,
        )
        drops = {(node, reason): count for node, reason, count, _ in self.drops.data.tolist()}
        return sequences, drops
