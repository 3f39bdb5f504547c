"""Connections: all directions of RoCEv2 traffic with their peers, and histograms of times per pair of hosts.

Memory is bounded: of too many directions those seen last stay, of too many pairs of hosts the rest share one row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer import _jit
from int_analyzer.fold import direction as words
from int_analyzer.fold import messages, transport
from int_analyzer.fold.buckets import NEVER
from int_analyzer.fold.direction import (
    KEY_WORDS,
    OPEN_RUNS,
    REQUESTS,
    RESPONSES,
    RUN_WORDS,
    VERSION_SHIFT,
    WIDTH,
    WINDOW,
    distance,
)
from int_analyzer.fold.flows import address
from int_analyzer.fold.histogram import Histograms
from int_analyzer.fold.journal import Journal
from int_analyzer.fold.messages import HISTOGRAMS, SAMPLES
from int_analyzer.fold.order import FAR, give_up_all, give_up_old, note_gap
from int_analyzer.fold.pairing import HINTS, VERIFIED
from int_analyzer.fold.polling import FIRST_SUBSET, FOLLOWED, PASSED, SUBSETS, Turns
from int_analyzer.fold.table import N_WORK, Table
from int_analyzer.fold.view import ConnectionView, FlowView, HostPairView

MAXIMUM_HOST_PAIRS = 1 << 12
_PAIR_WIDTH = 6

_COUNTED = [
    *(words.PACKETS, words.BYTES, words.CE, words.CNP, words.NAKS, words.RNRS, words.RNR_WAIT_NS, words.OTHER_NAKS, words.TIMEOUTS),
    *range(words.MESSAGES, words.MESSAGES + len(transport.KINDS)),
    *(words.IMMEDIATES, words.INVALIDATES, words.ACKS, words.COMPLETED, words.ONE_SIDED, words.PARTIAL, words.FORGOTTEN),
    *(words.ICRC_RIGHT, words.ICRC_WRONG, words.ICRC_UNCHECKED, words.RESENT_MESSAGES),
    *(words.FCT_SUM, words.ONE_SIDED_SUM, words.COMPLETED_BYTES, words.RTT_COUNT, words.RTT_SUM, words.CNP_DELAYS, words.CNP_DELAY_SUM),
]
_UNDER_WAY = [words.OPEN, words.OLDEST, words.PENDING, words.REFUSED, words.ACKED, words.SLACK, words.MARKED_NS, words.RESPONDING]
_LARGEST = [words.LAST_NS, words.LAST_REWIND_NS, words.FCT_MAX, words.ONE_SIDED_MAX, words.RTT_MAX, words.CNP_DELAY_MAX]
_LARGEST += [words.CNP_PEAK, words.RESENT_PPM_MAX, words.LAST_GAP_NS, words.LONGEST_GAP_NS]
_WINDOW = [words.CNP_WINDOW, words.CNP_IN_WINDOW, words.CNP_IDENTITY, words.CNP_NS]
_ORDER_COUNTED = [words.DATA, words.RETRANSMITTED, words.OUT_OF_ORDER, words.DUPLICATES, words.UNFILLED, words.REWINDS, words.RESTARTS]
_ORDER_PLACED = [words.NEXT, words.LAST, words.FILLS, words.REWINDING, words.EXPECTED, words.IDENTITY, words.STATIC, words.BEGIN]
_ORDERS = ((REQUESTS, words.REQUEST_WINDOW), (RESPONSES, words.RESPONSE_WINDOW))


class Connections:
    """The directions seen last, at most `maximum`; those forgotten are counted. turns: which are followed at all."""

    def __init__(self, maximum: int, subsets: int = 1, followed: int = 1, turn: int = 0) -> None:
        self.turns = Turns(subsets, followed, turn)
        self.directions = Table(WIDTH, KEY_WORDS, maximum)
        self.pairs = Table(_PAIR_WIDTH, KEY_WORDS, MAXIMUM_HOST_PAIRS)
        self.times = Histograms(HISTOGRAMS)
        self.hints: Any = np.zeros((HINTS, 2), dtype=np.int64)
        self.journal, self.answers = Journal(), Journal()
        self.evicted = 0
        self._fast = False

    def arrays(self, fast: bool) -> tuple[Any, ...]:
        """What the kernel (compiled if `fast`) takes, from `rows` on; there is room for histograms of each pair of hosts that may come."""
        self._fast = fast
        self.times.reserve_rows(HISTOGRAMS * (self.pairs.rows.shape[0] + 1))
        self.times.reserve_blocks(SAMPLES)
        work = np.zeros(N_WORK, dtype=np.int64)
        work[[words.DIRECTIONS, words.HOST_PAIRS, words.SAMPLE_BLOCKS]] = len(self.directions), len(self.pairs), self.times.used
        work[[words.MAXIMUM_HOST_PAIRS, words.MARKS, words.ANSWERS]] = self.pairs.maximum, self.journal.used, self.answers.used
        work[[SUBSETS, FIRST_SUBSET, FOLLOWED]] = self.turns.subsets, self.turns.first, self.turns.followed
        return (
            self.directions.rows,
            self.directions.index(fast),
            self.hints,
            self.pairs.rows,
            self.pairs.index(fast),
            self.times.blocks,
            self.times.pool,
            self.journal.marks,
            self.answers.marks,
            work,
        )

    def take(self, work: Any, packets: int) -> None:
        """Take over how much the kernel has used, in so many packets."""
        self.turns.count(packets, int(work[PASSED]))
        self.directions.used, self.pairs.used, self.times.used = work[[words.DIRECTIONS, words.HOST_PAIRS, words.SAMPLE_BLOCKS]].tolist()
        self.journal.used, self.answers.used = work[[words.MARKS, words.ANSWERS]].tolist()

    def reserve(self) -> None:
        """Make room for one more packet: grow, or forget."""
        if not self.directions.reserve(1):
            self._evict(max(self.directions.maximum // 2, 1))
        self.pairs.reserve(1)
        self.times.reserve_blocks(8 * SAMPLES)
        self.journal.reserve()
        self.answers.reserve()

    def _evict(self, keep: int) -> None:
        """Forget all but the `keep` directions seen last, and with each its peer."""
        rows = self.directions.data
        peer = rows[:, words.PEER] - 1
        last = np.where(peer >= 0, np.maximum(rows[:, words.LAST_NS], rows[peer, words.LAST_NS]), rows[:, words.LAST_NS])
        kept = np.sort(np.argsort(last, kind="stable")[len(rows) - keep :])
        moved = np.zeros(len(rows) + 1, dtype=np.int64)
        moved[kept + 1] = np.arange(len(kept)) + 1
        self.evicted += len(rows) - len(kept)
        self.directions.keep(kept)
        rows = self.directions.data
        rows[:, words.PEER] = moved[rows[:, words.PEER]]
        self.journal.follow(moved)
        self.answers.follow(moved)
        self.hints[:] = 0

    def merge(self, other: Connections, queues: Any) -> None:
        """Absorb other connections, of packets later than these or seen elsewhere, whose queues have the rows `queues` here (−1: none).

        Counters, sums and histograms add up. An open message goes on where the other piece has not acknowledged beyond it; one that was
        cut by the boundary is counted as partial on both sides. Between different turns nothing goes on.
        """
        if not self.turns.joins(other.turns):
            other = other.copy()
            self._end_turn()
            other._end_turn()
        self._fast |= other._fast
        self.turns.merge(other.turns)
        pairs, _ = self.pairs.match(other.pairs.data)
        to_pair = np.concatenate([[0], pairs + 1])
        self.times.reserve_rows(HISTOGRAMS * (len(self.pairs) + 1))
        self._merge_times(other, to_pair)
        theirs = other.directions.data.copy()
        theirs[:, words.HOST_PAIR] = to_pair[theirs[:, words.HOST_PAIR]]
        # Of a message that the boundary has cut, where it waited is not told.
        theirs[:, words.ACCOUNTS : words.ACCOUNTS + 2 * words.ACCOUNT_WORDS] = 0
        maximum, self.directions.maximum = self.directions.maximum, len(self.directions) + len(theirs)
        rows, new = self.directions.match(theirs)
        self.directions.maximum = maximum
        self.evicted += other.evicted
        to_row = np.concatenate([[0], rows + 1])
        self.journal.merge(other.journal, to_row, queues)
        self.answers.merge(other.answers, to_row, queues)
        mine = self.directions.data
        mine[rows[new], words.PEER] = to_row[theirs[new, words.PEER]]
        for row, at in zip(theirs[~new], rows[~new].tolist(), strict=True):
            row[words.PEER] = to_row[row[words.PEER]]
            mine[at] = _joined(mine[at], row)
        _part_the_unrequited(mine)
        if len(self.directions) > maximum:
            self._evict(max(maximum // 2, 1))

    def _merge_times(self, other: Connections, to_pair: Any) -> None:
        """Add the histograms; those of pairs that have no row here to row 0, together."""
        homeless = np.nonzero(to_pair == 0)[0]
        for histogram in range(HISTOGRAMS):
            together = other.times.together(HISTOGRAMS * homeless + histogram)
            self.times.merge(together, np.array([histogram]))
        targets = HISTOGRAMS * to_pair[:, None] + np.arange(HISTOGRAMS)
        targets[to_pair == 0] = -1
        self.times.merge(other.times, targets.ravel())

    def copy(self) -> Connections:
        """An independent copy."""
        other = Connections(self.directions.maximum)
        other.turns = self.turns.copy()
        other.directions = self.directions.copy()
        other.pairs = self.pairs.copy()
        other.times = self.times.copy()
        other.hints = self.hints.copy()
        other.journal, other.answers = self.journal.copy(), self.answers.copy()
        other.evicted = self.evicted
        other._fast = self._fast
        return other

    def view(self, flows: FlowView) -> tuple[ConnectionView, HostPairView]:
        """Counters of every direction, each with its flow, and times by pair of hosts; messages of one-sided directions are closed."""
        closed = self.copy()
        closed._close_one_sided()
        rows = closed.directions.data
        for order, window in _ORDERS:
            give_up_old(rows, order, window)
        version = rows[:, words.QUEUE_PAIR] >> VERSION_SHIFT
        sources, targets = (
            _addresses(version, rows[:, [words.SRC_HI, words.SRC_LO]]),
            _addresses(version, rows[:, [words.DST_HI, words.DST_LO]]),
        )
        dest_qp = rows[:, words.QUEUE_PAIR] & ((1 << VERSION_SHIFT) - 1)
        requests, responses = rows[:, REQUESTS:], rows[:, RESPONSES:]

        def both(word: int) -> Any:
            return requests[:, word] + responses[:, word]

        connections = ConnectionView(
            src=sources,
            dst=targets,
            dest_qp=dest_qp,
            peer=rows[:, words.PEER] - 1,
            verified=(rows[:, words.PEER] > 0) & (rows[:, words.MATCHES] >= VERIFIED),
            flow=_flow_rows(flows, sources, targets, dest_qp),
            transport=[transport.name_services(mask) for mask in rows[:, words.TRANSPORTS].tolist()],
            packets=rows[:, words.PACKETS].copy(),
            bytes=rows[:, words.BYTES].copy(),
            data=both(words.DATA),
            retransmitted=both(words.RETRANSMITTED),
            out_of_order=both(words.OUT_OF_ORDER),
            duplicates=both(words.DUPLICATES),
            unfilled=both(words.UNFILLED),
            first_gap_ns=rows[:, words.FIRST_GAP_NS].copy(),
            last_gap_ns=rows[:, words.LAST_GAP_NS].copy(),
            longest_gap_ns=rows[:, words.LONGEST_GAP_NS].copy(),
            rewinds=both(words.REWINDS),
            first_rewind_ns=_earliest(requests[:, words.FIRST_REWIND_NS], responses[:, words.FIRST_REWIND_NS]),
            last_rewind_ns=rows[:, words.LAST_REWIND_NS].copy(),
            restarts=both(words.RESTARTS),
            timeouts=rows[:, words.TIMEOUTS].copy(),
            naks=rows[:, words.NAKS].copy(),
            rnr_naks=rows[:, words.RNRS].copy(),
            rnr_wait_ns=rows[:, words.RNR_WAIT_NS].copy(),
            other_naks=rows[:, words.OTHER_NAKS].copy(),
            acks=rows[:, words.ACKS].copy(),
            ce_packets=rows[:, words.CE].copy(),
            cnp_packets=rows[:, words.CNP].copy(),
            cnp_delay_count=rows[:, words.CNP_DELAYS].copy(),
            cnp_delay_sum=rows[:, words.CNP_DELAY_SUM].astype(np.float64),
            cnp_delay_min=rows[:, words.CNP_DELAY_MIN].copy(),
            cnp_delay_max=rows[:, words.CNP_DELAY_MAX].copy(),
            cnp_peak=rows[:, words.CNP_PEAK].copy(),
            icrc_right=rows[:, words.ICRC_RIGHT].copy(),
            icrc_wrong=rows[:, words.ICRC_WRONG].copy(),
            icrc_unchecked=rows[:, words.ICRC_UNCHECKED].copy(),
            resent_messages=rows[:, words.RESENT_MESSAGES].copy(),
            resent_share_max=rows[:, words.RESENT_PPM_MAX] / 1e6,
            messages={kind: rows[:, words.MESSAGES + at].copy() for at, kind in enumerate(transport.KINDS)},
            immediates=rows[:, words.IMMEDIATES].copy(),
            invalidates=rows[:, words.INVALIDATES].copy(),
            completed=rows[:, words.COMPLETED].copy(),
            completed_bytes=rows[:, words.COMPLETED_BYTES].copy(),
            fct_sum=rows[:, words.FCT_SUM].astype(np.float64),
            fct_max=rows[:, words.FCT_MAX].copy(),
            one_sided=rows[:, words.ONE_SIDED].copy(),
            one_sided_sum=rows[:, words.ONE_SIDED_SUM].astype(np.float64),
            one_sided_max=rows[:, words.ONE_SIDED_MAX].copy(),
            partial=rows[:, words.PARTIAL].copy(),
            unanswered=rows[:, words.FORGOTTEN] + rows[:, words.OPEN],
            rtt_count=rows[:, words.RTT_COUNT].copy(),
            rtt_sum=rows[:, words.RTT_SUM].astype(np.float64),
            rtt_min=rows[:, words.RTT_MIN].copy(),
            rtt_max=rows[:, words.RTT_MAX].copy(),
            first_ns=np.where(rows[:, words.FIRST_NS] == NEVER, 0, rows[:, words.FIRST_NS]),
            last_ns=rows[:, words.LAST_NS].copy(),
            host_pair=rows[:, words.HOST_PAIR].copy(),
            evicted=self.evicted,
            tracking=self.turns.view(),
        )
        hosts = closed.pairs.data
        closed.times.reserve_rows(HISTOGRAMS * (len(hosts) + 1))
        kinds = closed.times.every(HISTOGRAMS, HISTOGRAMS * (len(hosts) + 1))
        return connections, HostPairView(
            src=["", *_addresses(hosts[:, words.QUEUE_PAIR], hosts[:, [words.SRC_HI, words.SRC_LO]])],
            dst=["", *_addresses(hosts[:, words.QUEUE_PAIR], hosts[:, [words.DST_HI, words.DST_LO]])],
            fct=kinds[messages.FCT],
            fct_one_sided=kinds[messages.FCT_ONE_SIDED],
            rtt=kinds[messages.RTT],
            fet=kinds[messages.FET],
        )

    def _end_turn(self) -> None:
        """Let nothing go on: what was open stays unanswered, and what did not come yet unfilled, as at the end of a capture."""
        self._close_one_sided()
        rows = self.directions.data
        for order, window in _ORDERS:
            give_up_old(rows, order, window)
            rows[:, window : window + WINDOW] = 0
            rows[:, [order + word for word in _ORDER_PLACED]] = 0
        rows[:, words.FORGOTTEN] += rows[:, words.OPEN]
        rows[:, _UNDER_WAY] = 0
        rows[:, words.ACCOUNTS : words.ACCOUNTS + 2 * words.ACCOUNT_WORDS] = 0

    def _close_one_sided(self) -> None:
        """Close the messages that nothing will answer."""
        rows = self.directions.data
        if np.any((rows[:, words.PEER] == 0) & (rows[:, words.OPEN] > 0)):
            while self._close(self.directions.rows, len(rows), self._fast) < len(rows):
                pass

    def _close(self, rows: Any, count: int, fast: bool) -> int:
        """Close what the first `count` of these rows have open, with room for that of eight at least: where the room ended."""
        self.times.reserve_blocks(8 * SAMPLES)
        work: Any = np.zeros(N_WORK, dtype=np.int64)
        work[words.SAMPLE_BLOCKS] = self.times.used
        done = _jit.run(messages.close_unanswered, fast, rows, count, self.times.blocks, self.times.pool, work)
        self.times.used = int(work[words.SAMPLE_BLOCKS])
        return done

    def compile(self) -> None:
        """Compile what `view` would compile only when something is left to close."""
        self._close(self.directions.rows, 0, True)


def _addresses(version: Any, halves: Any) -> list[str]:
    """Addresses as text: version int64[n], halves int64[n, 2]."""
    return [address(*key) for key in zip(version.tolist(), *halves.T.tolist(), strict=True)]


def _earliest(one: Any, other: Any) -> Any:
    """The earlier of two times; 0 is none."""
    return np.where((one == 0) | ((other > 0) & (other < one)), other, one)


def _flow_rows(flows: FlowView, src: list[str], dst: list[str], dest_qp: Any) -> Any:
    """The flow of each direction that has the most packets (its source port may change): int64[n], −1 if it was forgotten."""
    heaviest: dict[tuple[str, str, int], int] = {}
    packets = flows.packets.tolist()
    for row, key in enumerate(zip(flows.src, flows.dst, flows.dest_qp.tolist(), strict=True)):
        if key not in heaviest or packets[heaviest[key]] < packets[row]:
            heaviest[key] = row
    return np.array([heaviest.get(key, -1) for key in zip(src, dst, dest_qp.tolist(), strict=True)], dtype=np.int64)


def _part_the_unrequited(rows: Any) -> None:
    """Let a direction have no peer that has another one: two pieces have paired them differently."""
    at = np.nonzero(rows[:, words.PEER] > 0)[0]
    alone = at[rows[rows[at, words.PEER] - 1, words.PEER] != at + 1]
    rows[alone, words.PEER] = 0
    rows[alone, words.MATCHES] = 0


def _joined(mine: Any, theirs: Any) -> Any:
    """The row of a direction from two pieces of it (int64[WIDTH] each)."""
    if theirs[words.FIRST_NS] < mine[words.FIRST_NS]:
        mine, theirs = theirs, mine
    row = theirs.copy()
    row[_COUNTED] += mine[_COUNTED]
    row[_LARGEST] = np.maximum(row[_LARGEST], mine[_LARGEST])
    row[words.FIRST_NS] = mine[words.FIRST_NS]
    row[words.TRANSPORTS] |= mine[words.TRANSPORTS]
    row[words.FIRST_GAP_NS] = _earliest(mine[words.FIRST_GAP_NS], theirs[words.FIRST_GAP_NS])
    row[words.MTU] = theirs[words.MTU] or mine[words.MTU]
    if mine[words.RTT_COUNT] and (not theirs[words.RTT_COUNT] or mine[words.RTT_MIN] < theirs[words.RTT_MIN]):
        row[words.RTT_MIN] = mine[words.RTT_MIN]
    if mine[words.CNP_DELAYS] and (not theirs[words.CNP_DELAYS] or mine[words.CNP_DELAY_MIN] < theirs[words.CNP_DELAY_MIN]):
        row[words.CNP_DELAY_MIN] = mine[words.CNP_DELAY_MIN]
    _join_windows(row, mine, theirs)
    if theirs[words.PEER] == 0:
        row[[words.PEER, words.MATCHES, words.MISSES]] = mine[[words.PEER, words.MATCHES, words.MISSES]]
    elif theirs[words.PEER] == mine[words.PEER]:
        row[[words.MATCHES, words.MISSES]] += mine[[words.MATCHES, words.MISSES]]
    for order, window in _ORDERS:
        _join_orders(row, mine, theirs, order, window)
    _join_runs(row, mine, theirs)
    return row


def _join_windows(row: Any, mine: Any, theirs: Any) -> None:
    """Go on with the later piece's window of CNPs; one that the boundary cut counts as two unless the later piece has no other."""
    if theirs[words.CNP] == 0:
        row[_WINDOW] = mine[_WINDOW]
    elif mine[words.CNP_WINDOW] == theirs[words.CNP_WINDOW] and mine[words.CNP] > 0:
        row[words.CNP_IN_WINDOW] += mine[words.CNP_IN_WINDOW]
        row[words.CNP_PEAK] = max(row[words.CNP_PEAK], row[words.CNP_IN_WINDOW])


def _join_orders(row: Any, mine: Any, theirs: Any, order: int, window: int) -> None:
    """Go on with the later piece's order; what the earlier one missed, or the boundary did, is unfilled."""
    counted = [order + word for word in _ORDER_COUNTED]
    row[counted] = mine[counted] + theirs[counted]
    row[order + words.FIRST_REWIND_NS] = mine[order + words.FIRST_REWIND_NS] or theirs[order + words.FIRST_REWIND_NS]
    if theirs[order + words.NEXT] == 0:
        placed = [order + word for word in _ORDER_PLACED]
        row[placed] = mine[placed]
        row[window : window + WINDOW] = mine[window : window + WINDOW]
        return
    if mine[order + words.NEXT] == 0:
        return
    row[order + words.BEGIN] = mine[order + words.BEGIN]
    given_up = mine.copy()
    give_up_all(given_up, order, window)
    row[order + words.UNFILLED] += given_up[order + words.UNFILLED] - mine[order + words.UNFILLED]
    row[words.FIRST_GAP_NS] = _earliest(row[words.FIRST_GAP_NS], given_up[words.FIRST_GAP_NS])
    row[words.LAST_GAP_NS] = max(row[words.LAST_GAP_NS], given_up[words.LAST_GAP_NS])
    gap = distance(int(theirs[order + words.BEGIN]), int(mine[order + words.NEXT]))
    if order == REQUESTS and 0 < gap < FAR:
        row[order + words.UNFILLED] += gap
        note_gap(row[None], 0, int(theirs[words.FIRST_NS]))
        row[words.LONGEST_GAP_NS] = max(row[words.LONGEST_GAP_NS], theirs[words.FIRST_NS] - mine[words.LAST_NS])


def _join_runs(row: Any, mine: Any, theirs: Any) -> None:
    """Put the earlier piece's open messages before the later one's, unless they were acknowledged meanwhile."""
    begin = int(theirs[REQUESTS + words.BEGIN]) - 1
    kept = []
    for number in range(int(mine[words.OPEN])):
        at = words.RUNS + RUN_WORDS * ((int(mine[words.OLDEST]) + number) % OPEN_RUNS)
        run = mine[at : at + RUN_WORDS]
        acknowledged = theirs[words.ACKED] > 0 and distance(int(theirs[words.ACKED]) - 1, int(run[messages.NEXT])) >= -1
        if not acknowledged and (begin < 0 or distance(begin, int(run[messages.NEXT])) >= 0):
            kept.append(run)
    later = [(int(theirs[words.OLDEST]) + number) % OPEN_RUNS for number in range(int(theirs[words.OPEN]))]
    kept = kept[max(len(kept) + len(later) - OPEN_RUNS, 0) :]
    row[words.PARTIAL] += mine[words.OPEN] - len(kept)
    runs = [*kept, *(theirs[words.RUNS + RUN_WORDS * slot :][:RUN_WORDS] for slot in later)]
    row[words.OLDEST], row[words.OPEN] = 0, len(runs)
    for number, run in enumerate(runs):
        row[words.RUNS + RUN_WORDS * number :][:RUN_WORDS] = run
    messages.join(row[None], 0, len(kept) - 1)
