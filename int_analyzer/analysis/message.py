"""Messages of RoCEv2 connections with the times of their first and last packet, from the marks of the journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.fold.transport import READ, SEND, WRITE
from int_analyzer.fold.view import JournalView

_WRAP = 1 << 24


@dataclass(frozen=True)
class Messages:
    """Whole messages, and responses to READs, of a direction in order of their PSNs, one direction behind the other: int64[n] each.

    `psn` counts on where the wire's wraps; `direction` is a row of ConnectionView; `packets` are PSNs; `first` and `last` are
    the rows of its marks in the journal.
    """

    direction: Any
    kind: Any
    response: Any
    begin_ns: Any
    end_ns: Any
    psn: Any
    packets: Any
    bytes: Any
    first: Any
    last: Any

    def of(self, rows: Any) -> Messages:
        """Some of them (a mask, or rows)."""
        return Messages(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    @property
    def sends(self) -> Any:
        """bool[n]: SENDs."""
        return ~self.response & (self.kind == SEND)

    @property
    def writes(self) -> Any:
        """bool[n]: WRITEs."""
        return ~self.response & (self.kind == WRITE)

    @property
    def reads(self) -> Any:
        """bool[n]: requests to READ."""
        return ~self.response & (self.kind == READ)


def match_marks(journal: JournalView) -> Messages:
    """Messages of which the first and the last packet were seen, with none of another message between them."""
    stream = 2 * journal.direction + journal.response
    order = np.lexsort((journal.time_ns, stream))
    psn = unwrap(journal.psn[order], stream[order])
    # within a stream by PSN: packets may overtake each other
    again = np.lexsort((psn, stream[order]))
    order, psn = order[again], psn[again]
    begins, ends, kind = journal.begins[order], journal.ends[order], journal.kind[order]
    stream = stream[order]
    first = np.nonzero(begins)[0]
    last = np.where(ends[first], first, np.minimum(first + 1, len(order) - 1))
    whole = ends[last] & (stream[first] == stream[last]) & (kind[first] == kind[last]) & ((first == last) | ~begins[last])
    first, last = first[whole], last[whole]
    time, size = journal.time_ns[order], journal.bytes[order]
    packets = psn[last] - psn[first] + 1
    announced = (kind[first] == WRITE) | (first == last)
    return Messages(
        direction=stream[first] >> 1,
        kind=kind[first],
        response=(stream[first] & 1) != 0,
        begin_ns=time[first],
        end_ns=np.maximum(time[last], time[first]),
        psn=psn[first],
        packets=packets,
        bytes=np.where(announced, size[first], (packets - 1) * size[first] + size[last]),
        first=order[first],
        last=order[last],
    )


def unwrap(psn: Any, stream: Any) -> Any:
    """PSNs that go on beyond 2^24, by serial arithmetic from one to the next of a stream (they lie together): int64[n]."""
    if len(psn) == 0:
        return psn
    steps = np.diff(psn, prepend=psn[:1])
    steps = (steps + _WRAP // 2) % _WRAP - _WRAP // 2
    begins = np.diff(stream, prepend=-1) != 0
    steps[begins] = psn[begins]
    total = np.cumsum(steps)
    start = np.nonzero(begins)[0]
    before = total[start] - steps[start]
    return total - np.repeat(before, np.diff(np.append(start, len(psn))))
