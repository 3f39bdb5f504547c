"""Delay: which messages took long, and in which queues, or where else, their time went.

    time    what its first packet had waited before it was seen, and from then to the answer (FCT): waits lie before the mirror
    usual   median time of calm messages of the same kind and size (within a power of two) between the same hosts, else in the whole fabric;
            calm is a message with less than a tenth of its time in queues
    slow    takes twice as long as usual, and 20 µs longer
    parts   its time by where it was spent. How that is known: `packets`, from its own packets' hops (fold/waits.py); `flow`, where those do
            not tell (sampled telemetry, latency in µs, reports of single nodes): from the mean wait of its flow in the same time
    blame   the longest part but for what is usual

Packets that wait evenly come no later one after the other: queues are told no more than the message took longer than usual. What is neither
theirs nor usual was spent until packets were sent again (if the answer covers messages of which some were), at a host's port that was
paused (pause.py), elsewhere (at hosts, on wires, in nodes that tell nothing), or is not seen.

What a packet waited is known by what others did not: in a queue that was never calm (in none of the pieces that a state was merged from)
nobody waited.

Parts are disjoint: together they are the whole time, never more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from int_analyzer.analysis.congestion import contradicted
from int_analyzer.analysis.delays.completion import Completions, complete
from int_analyzer.analysis.delays.flow_wait import FlowWaits
from int_analyzer.analysis.hosts.message import Messages
from int_analyzer.analysis.span import are_astray
from int_analyzer.analysis.units import RAW, QueueUnits
from int_analyzer.fold.direction import PSN_MASK
from int_analyzer.fold.view import JournalView, View

FACTOR, LEAST_NS = 2.0, 20_000
CALM_SHARE = 0.1
FEWEST = 5
"""Fewer calm messages tell nothing of what is usual."""
TOLD_SHARE = 0.5
"""If less of a message's time is told by its own packets, its flow tells more."""
MOST_BY_FLOW = 2000
"""So many of the slowest are told by their flow."""
PACKETS, FLOW, UNKNOWN = "packets", "flow", "unknown"
PAIR, FABRIC = "pair", "fabric"
_KIND_SHIFT = 40
"""A kind and a size as one number."""


@dataclass(frozen=True)
class Parts:
    """Time in queues: one row per message and queue, ordered by message, then the longest first: int64[m] each. `message` is a row."""

    message: Any
    queue: Any
    ns: Any

    def sum_up(self, count: int) -> Any:
        """Per message: float64[count]."""
        return np.bincount(self.message, self.ns, count)


@dataclass(frozen=True)
class Delays:
    """All judged messages, one row each, and the slow ones among them.

    rows: of `messages`; time, fct, usual (NaN where it is not known), resent, paused, elsewhere and unseen (beyond what is usual) in ns;
    usual_of: 0 the pair of hosts, 1 the fabric; hows as above; slow: rows here. held: row of the QueueView that paused the sender
    (held_sender) or the other host, or may have done so where nothing is `paused`; −1 for none. blame: row of QueueView, or RESENT,
    PAUSED, ELSEWHERE, UNSEEN, UNTOLD.
    """

    messages: Messages
    completions: Completions
    rows: Any
    time: Any
    fct: Any
    usual: Any
    usual_of: Any
    slow: Any
    hows: list[str]
    parts: Parts
    resent: Any
    paused: Any
    elsewhere: Any
    unseen: Any
    held: Any
    held_sender: Any
    blame: Any

    @cached_property
    def are_told(self) -> Any:
        """bool[n]: whether it is known where the time of a message went."""
        return np.array([how != UNKNOWN for how in self.hows], dtype=bool)

    @property
    def told(self) -> Any:
        """Rows of the slow ones of which that is known."""
        return self.slow[self.are_told[self.slow]]


ELSEWHERE, UNSEEN, UNTOLD, PAUSED, RESENT = -1, -2, -3, -4, -5


def find_delays(view: View, units: QueueUnits, messages: Messages) -> Delays:
    """Every whole message with its time, what is usual, and its parts; of pauses nothing is known yet."""
    messages = messages.of(messages.whole)
    completions = complete(view.connections, messages, view.answers)
    end_ns = completions.end_ns
    rows = np.flatnonzero(~messages.response & (end_ns >= messages.begin_ns) & ~are_astray(view, end_ns))
    measured = _Measured(view, units, messages, completions, rows)
    parts, told, before = measured.take()
    fct = (end_ns - messages.begin_ns)[rows]
    time = fct + before
    in_queues = parts.sum_up(len(rows)).astype(np.int64)
    usual, usual_of = _find_usual(view, messages.of(rows), time, in_queues)
    usual[_are_doubtful(view, messages.of(rows), completions.answer[rows])] = np.nan
    slow = time > np.maximum(FACTOR * usual, usual + LEAST_NS)
    hows = [PACKETS if known else UNKNOWN for known in (measured.exact & (told >= TOLD_SHARE * time)).tolist()]
    parts, told = _tell_by_flow(view, units, messages.of(rows), end_ns[rows], slow, time - usual, hows, parts, told)
    parts, elsewhere, unseen = _beyond_usual(parts, time, usual, np.maximum(time - told, 0))
    nothing = np.zeros(len(rows), dtype=np.int64)
    answer = completions.answer[rows]
    resent = np.where((answer >= 0) & np.append(view.answers.ends, False)[answer], elsewhere, 0)
    delays = Delays(
        messages=messages,
        completions=completions,
        rows=rows,
        time=time,
        fct=fct,
        usual=usual,
        usual_of=usual_of,
        slow=np.flatnonzero(slow),
        hows=hows,
        parts=parts,
        resent=resent,
        paused=nothing,
        elsewhere=elsewhere - resent,
        unseen=unseen,
        held=nothing - 1,
        held_sender=nothing > 0,
        blame=nothing,
    )
    return blame(delays)


def _are_doubtful(view: View, messages: Messages, answer: Any) -> Any:
    """bool[n]: as packets are missing in the capture, the answer may be that of a later message, or the last packet that of another one."""
    if not view.connections.unfilled.any():
        return np.zeros(len(answer), dtype=bool)
    later = (answer >= 0) & (np.append(view.answers.psn, 0)[answer] != messages.last_psn & PSN_MASK)
    _, alike = np.unique((messages.kind << _KIND_SHIFT) | np.maximum(messages.bytes, 0), return_inverse=True)
    fewest = np.full(int(alike.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(fewest, alike, messages.packets)
    doubtful: Any = later | (messages.packets >= 2 * fewest[alike])
    return doubtful


def usable_queues(view: View, units: QueueUnits) -> Any:
    """bool[queues]: hop latency is known in ns, or in a unit that can be turned into ns."""
    known = np.array([unit != RAW for unit in units.latency_unit], dtype=bool)
    return known & ~contradicted(view) & (view.queues.latency_count > 0)


class _Measured:
    """What the packets of messages tell themselves. `exact`: bool[rows], all queues of the direction count hop latency in ns."""

    def __init__(self, view: View, units: QueueUnits, messages: Messages, completions: Completions, rows: Any) -> None:
        self._view, self._messages, self._completions, self._rows = view, messages, completions, rows
        usable = usable_queues(view, units) & (units.latency_factor == 1.0)
        clear = view.paths.queues.all_of(usable)
        path = np.where(view.connections.flow >= 0, np.append(view.flows.path, -1)[view.connections.flow], -1)
        self._tells = (path >= 0) & np.append(clear, False)[path]
        self.exact = self._tells[messages.direction[rows]]
        self._pieces: list[tuple[Any, Any, Any]] = []

    def take(self) -> tuple[Parts, Any, Any]:
        """Parts, the time that is told, and what the first packets had waited before they were seen: int64[rows]."""
        messages, completions, rows = self._messages, self._completions, self._rows
        journal, answers = self._view.journal, self._view.answers
        told = np.zeros(len(rows), dtype=np.int64)
        every = np.arange(len(rows))
        before = self._add(journal, messages.first[rows], every, np.full(len(rows), np.iinfo(np.int64).max))
        told += before
        several = np.flatnonzero(messages.first[rows] != messages.last[rows])
        told += self._add_rest(messages.first[rows], messages.last[rows], several)
        answered = np.flatnonzero(completions.answer[rows] >= 0)
        mark = completions.answer[rows[answered]]
        gap = answers.time_ns[mark] - messages.end_ns[rows[answered]]
        told += self._add_gap(answers, mark, answered, gap)
        reading = np.flatnonzero(completions.response[rows] >= 0)
        response = completions.response[rows[reading]]
        gap = messages.begin_ns[response] - messages.end_ns[rows[reading]]
        told += self._add_gap(journal, messages.first[response], reading, gap)
        first, last = (np.zeros(len(rows), dtype=np.int64) for _ in range(2))
        first[reading], last[reading] = messages.first[response], messages.last[response]
        told += self._add_rest(first, last, reading[first[reading] != last[reading]])
        return _united(self._pieces), told, before

    def _add(self, journal: JournalView, marks: Any, at: Any, room: Any) -> Any:
        """Add the waits of these marks to messages `at`, no more than the room of each: what was added, int64[rows]."""
        added = np.zeros(len(self._rows), dtype=np.int64)
        usable = self._tells[journal.direction[marks]] if journal is self._view.journal else self._tells_of_answer(journal, marks)
        left = np.where(usable & (journal.untold[marks] >= 0), room, 0)
        for slot in range(journal.waited.shape[1]):
            part = np.minimum(journal.waited[marks, slot], left)
            left -= part
            some = part > 0
            self._pieces.append((at[some], journal.waited_queue[marks, slot][some], part[some]))
            added[at[some]] += part[some]
        return added

    def _tells_of_answer(self, answers: JournalView, marks: Any) -> Any:
        """An answer to a direction goes the other way."""
        peer = self._view.connections.peer[answers.direction[marks]]
        return (peer >= 0) & self._tells[peer]

    def _add_gap(self, journal: JournalView, marks: Any, at: Any, gap: Any) -> Any:
        """Add what a packet waited within the gap before it: the time that is told, int64[rows]."""
        gap = np.maximum(gap, 0)
        self._add(journal, marks, at, gap)
        told = np.zeros(len(self._rows), dtype=np.int64)
        told[at] = np.where(journal.untold[marks] == 0, gap, 0)
        return told

    def _add_rest(self, first: Any, last: Any, at: Any) -> Any:
        """Add what the packets behind the first waited: the time that is told, int64[rows]. first and last are marks of every message."""
        journal = self._view.journal
        known = (journal.untold[last[at]] >= 0) & (journal.begin_psn[last[at]] == journal.psn[first[at]])
        at = at[known]
        told = np.zeros(len(self._rows), dtype=np.int64)
        first, last = first[at], last[at]
        told[at] = np.maximum(journal.time_ns[last] - journal.time_ns[first] - journal.untold[last], 0)
        self._add(journal, last, at, told[at])
        return told


def _united(pieces: list[tuple[Any, Any, Any]]) -> Parts:
    """Parts in order, those of one message and queue together."""
    message, queue, ns = (np.concatenate([piece[place] for piece in pieces]) for place in range(3))
    keys, of = np.unique((message << 32) | queue, return_inverse=True)
    total = np.bincount(of, ns, len(keys)).astype(np.int64)
    message, queue = keys >> 32, keys & 0xFFFFFFFF
    order = np.lexsort((-total, message))
    return Parts(message[order], queue[order], total[order])


def _find_usual(view: View, messages: Messages, time: Any, in_queues: Any) -> tuple[Any, Any]:
    """What is usual in ns for every message (NaN: not known), and of what: float64[n], int64[n]."""
    calm = in_queues < CALM_SHARE * np.maximum(time, 1)
    size = np.ceil(np.log2(np.maximum(messages.bytes, 1))).astype(np.int64)
    kind = (messages.kind << 8) | size
    alike = (view.connections.host_pair[messages.direction] << 16) | kind
    usual, usual_of = np.full(len(time), np.nan), np.zeros(len(time), dtype=np.int64)
    for number, keys in ((1, kind), (0, alike)):
        medians = _medians(keys, time, calm)
        known = ~np.isnan(medians)
        usual[known], usual_of[known] = medians[known], number
    return usual, usual_of


def _medians(keys: Any, time: Any, calm: Any) -> Any:
    """For every row the median time of the calm ones with the same key; NaN where those are too few: float64[n]."""
    _, group = np.unique(keys, return_inverse=True)
    rows = np.flatnonzero(calm)
    rows = rows[np.lexsort((time[rows], group[rows]))]
    counts = np.bincount(group[rows], minlength=int(group.max()) + 1 if len(group) else 0)
    begins = np.cumsum(counts) - counts
    medians = np.full(len(counts), np.nan)
    enough = counts >= FEWEST
    medians[enough] = time[rows[(begins + counts // 2)[enough]]]
    return medians[group]


def _tell_by_flow(
    view: View, units: QueueUnits, messages: Messages, end_ns: Any, slow: Any, excess: Any, hows: list[str], parts: Parts, told: Any
) -> tuple[Parts, Any]:
    """Parts and told time with those of slow messages whose own packets do not tell taken from their flows; `hows` is changed."""
    silent = np.flatnonzero(slow & np.array([how == UNKNOWN for how in hows], dtype=bool))
    silent = silent[np.argsort(-excess[silent], kind="stable")[:MOST_BY_FLOW]]
    if len(silent) == 0:
        return parts, told
    waits = FlowWaits(view, usable_queues(view, units), units.latency_factor, messages.direction[silent].tolist())
    pieces, told, retold = [], told.copy(), np.zeros(len(told), dtype=bool)
    for row in silent.tolist():
        direction = int(messages.direction[row])
        if waits.visible(direction) > 0:
            begin, end = int(messages.begin_ns[row]), int(end_ns[row])
            queues, ns = waits.within(direction, begin, end)
            pieces.append((np.full(len(queues), row), queues, ns))
            hows[row], retold[row] = FLOW, True
            told[row] = end - begin if waits.visible(direction) >= TOLD_SHARE else ns.sum()
    kept = ~retold[parts.message]
    return _united([(parts.message[kept], parts.queue[kept], parts.ns[kept]), *pieces]), told


def _beyond_usual(parts: Parts, time: Any, usual: Any, untold: Any) -> tuple[Parts, Any, Any]:
    """The parts within what each message took longer than usual; what else it took longer, elsewhere and where it is not seen: int64[n]."""
    known = np.where(np.isnan(usual), 0, usual)
    excess = np.maximum(time - known, 0)
    waited = parts.sum_up(len(time))
    ns = (parts.ns * np.minimum(1, excess / np.maximum(waited, 1))[parts.message]).astype(np.int64)
    parts = Parts(parts.message[ns > 0], parts.queue[ns > 0], ns[ns > 0])
    left = (excess - parts.sum_up(len(time))).astype(np.int64)
    unseen = np.minimum(untold, left)
    return parts, left - unseen, unseen


def blame(delays: Delays) -> Delays:
    """With the queue that has the longest part, or where else most time was."""
    parts, count = delays.parts, len(delays.rows)
    blamed, most = np.full(count, ELSEWHERE, dtype=np.int64), np.zeros(count)
    first = np.flatnonzero(np.diff(parts.message, prepend=-1) != 0)
    blamed[parts.message[first]], most[parts.message[first]] = parts.queue[first], parts.ns[first]
    for place, ns in ((RESENT, delays.resent), (PAUSED, delays.paused), (ELSEWHERE, delays.elsewhere), (UNSEEN, delays.unseen)):
        blamed[ns > most] = place
        most = np.maximum(most, ns)
    blamed[~delays.are_told] = UNTOLD
    return replace(delays, blame=blamed)
