"""Messages of RoCEv2 connections with the times of their first and last packet, from the marks of the journal.

Where packets are missing in the capture, a message may be known by its first packet alone, or by its last. The first of one and the last of
the next must not be taken for one message: as many packets as it then would have do not fit what its RETH announces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.fold.transport import READ, SEND, WRITE
from int_analyzer.fold.view import JournalView

_WRAP = 1 << 24
UNSEEN = -1
"""A time, PSN or size that is not known."""
_EXACT = 1e-6
"""What a quotient that should be whole may be above it."""


@dataclass(frozen=True)
class Messages:
    """Messages, and responses to READs, of a direction in order of their PSNs, one direction behind the other: int64[n] each.

    `psn` and `last_psn` count on where the wire's wraps; `direction` is a row of ConnectionView; `first` and `last` are the rows of its
    marks in the journal. begin_ns, psn and first are UNSEEN where the first packet is, end_ns, last_psn and last where the last is, bytes
    where neither announces nor shows them.
    """

    direction: Any
    kind: Any
    response: Any
    begin_ns: Any
    end_ns: Any
    psn: Any
    last_psn: Any
    bytes: Any
    first: Any
    last: Any

    def of(self, rows: Any) -> Messages:
        """Some of them (a mask, or rows)."""
        return Messages(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    @property
    def whole(self) -> Any:
        """bool[n]: first and last packet were seen."""
        return (self.begin_ns != UNSEEN) & (self.end_ns != UNSEEN)

    @property
    def packets(self) -> Any:
        """int64[n]: PSNs of messages that are whole."""
        return self.last_psn - self.psn + 1

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
    """Messages of which the first and the last packet were seen, with none of another message between them, and those known by one."""
    stream = 2 * journal.direction + journal.response
    order = np.lexsort((journal.time_ns, stream))
    psn = unwrap(journal.psn[order], stream[order])
    # within a stream by PSN: packets may overtake each other
    again = np.lexsort((psn, stream[order]))
    order, psn = order[again], psn[again]
    begins, ends, kind = journal.begins[order], journal.ends[order], journal.kind[order]
    stream = stream[order]
    time, size = journal.time_ns[order], journal.bytes[order]
    first = np.nonzero(begins)[0]
    last = np.where(ends[first], first, np.minimum(first + 1, len(order) - 1))
    whole = ends[last] & (stream[first] == stream[last]) & (kind[first] == kind[last]) & ((first == last) | ~begins[last])
    announced = kind[first] == WRITE
    packets = psn[last] - psn[first] + 1
    whole &= ~announced | _fits(stream[first] >> 1, packets, size[first], announced & whole)
    alone = ends & ~begins
    alone[last[whole]] = False
    # Of every message the rows of its first and of its last mark, or UNSEEN.
    begin = np.concatenate([first, np.full(np.count_nonzero(alone), UNSEEN)])
    end = np.concatenate([np.where(whole, last, UNSEEN), np.nonzero(alone)[0]])
    in_order = np.argsort(np.where(begin != UNSEEN, begin, end))
    begin, end = begin[in_order], end[in_order]
    begun, ended = begin != UNSEEN, end != UNSEEN
    any_mark = np.where(begun, begin, end)
    length = np.where(kind[any_mark] == WRITE, size[begin], np.where(ended, (psn[end] - psn[begin]) * size[begin] + size[end], UNSEEN))
    return Messages(
        direction=stream[any_mark] >> 1,
        kind=kind[any_mark],
        response=(stream[any_mark] & 1) != 0,
        begin_ns=np.where(begun, time[begin], UNSEEN),
        end_ns=np.where(ended, np.maximum(time[end], time[any_mark]), UNSEEN),
        psn=np.where(begun, psn[begin], UNSEEN),
        last_psn=np.where(ended, psn[end], UNSEEN),
        bytes=np.where(begun, length, UNSEEN),
        first=np.where(begun, order[begin], UNSEEN),
        last=np.where(ended, order[end], UNSEEN),
    )


def _fits(direction: Any, packets: Any, size: Any, told: Any) -> Any:
    """bool[n]: no more packets than the announced size needs, by the largest packets of the direction's messages that are `told`.

    All packets of a message but the last carry as much as the MTU of the path allows; two messages taken for one have more than it takes.
    """
    largest = np.ones(int(direction.max(initial=0)) + 1)
    np.maximum.at(largest, direction[told], size[told] / packets[told])
    return packets <= np.maximum(np.ceil(size / largest[direction] - _EXACT), 1)


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
