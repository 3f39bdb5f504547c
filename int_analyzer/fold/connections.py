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
from int_analyzer.fold.direction import KEY_WORDS, REQUESTS, RESPONSES, VERSION_SHIFT, WIDTH, WINDOW
from int_analyzer.fold.flows import address
from int_analyzer.fold.histogram import Histograms
from int_analyzer.fold.joining import PLACED, join_all
from int_analyzer.fold.journal import Journal
from int_analyzer.fold.messages import HISTOGRAMS, SAMPLES
from int_analyzer.fold.order import give_up_old
from int_analyzer.fold.pairing import HINTS, VERIFIED
from int_analyzer.fold.polling import FIRST_SUBSET, FOLLOWED, PASSED, SUBSETS, Turns
from int_analyzer.fold.table import N_WORK, Table
from int_analyzer.fold.view import ConnectionView, FlowView, HostPairView

MAXIMUM_HOST_PAIRS = 1 << 12
_PAIR_WIDTH = 6

_UNDER_WAY = [words.OPEN, words.OLDEST, words.PENDING, words.REFUSED, words.ACKED, words.SLACK, words.MARKED_NS, words.RESPONDING]
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
        known = np.flatnonzero(~new)
        if len(known):
            theirs[known, words.PEER] = to_row[theirs[known, words.PEER]]
            _jit.run(join_all, self._fast, self.directions.rows, rows, theirs, known)
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
            rows[:, [order + word for word in PLACED]] = 0
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
        """Compile what `merge` and `view` would compile only when there is something to join or to close."""
        self._close(self.directions.rows, 0, True)
        none = np.zeros(0, dtype=np.int64)
        _jit.run(join_all, True, self.directions.rows, none, self.directions.rows, none)


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
