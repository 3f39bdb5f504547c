"""A direction of a connection: the row of (source, destination, destination queue pair), with all that is kept of it.

    key | counters | order of its requests | of its responses | windows of both | runs of packets that are open messages | accounts of waits

UDP ports are no part of the key: the source port is the entropy of the path, and may change under a connection.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined
from int_analyzer.columns import get
from int_analyzer.fold.buckets import NEVER
from int_analyzer.fold.hashing import FACTOR_0, FACTOR_1, FACTOR_2, FACTOR_3, FACTOR_4, mixed, product
from int_analyzer.fold.polling import is_followed
from int_analyzer.fold.table import KEY, find, guess
from int_analyzer.wire.read import prefetch

# Words of a row, a line of the cache in a line: what every packet touches stands together.
SRC_HI, SRC_LO, DST_HI, DST_LO, QUEUE_PAIR, PEER, PACKETS, LAST_NS = 0, 1, 2, 3, 4, 5, 6, 7
BYTES, TOWARDS, MTU, PENDING, SLACK, OLDEST, OPEN, TRANSPORTS = 8, 9, 10, 11, 12, 13, 14, 15
REQUESTS, RESPONSES = 16, 32
MATCHES, MISSES, ACKED, ACKS, REFUSED, HOST_PAIR, RTT_COUNT, RTT_SUM = 48, 49, 50, 51, 52, 53, 54, 55
RTT_MIN, RTT_MAX, COMPLETED, COMPLETED_BYTES, FCT_SUM, FCT_MAX, CE, MARKED_NS = 56, 57, 58, 59, 60, 61, 62, 63
MESSAGES, IMMEDIATES, INVALIDATES, PARTIAL, FORGOTTEN = 64, 68, 69, 70, 71
ONE_SIDED, ONE_SIDED_SUM, ONE_SIDED_MAX, NAKS, RNRS, RNR_WAIT_NS, OTHER_NAKS, TIMEOUTS = 72, 73, 74, 75, 76, 77, 78, 79
CNP, CNP_DELAYS, CNP_DELAY_SUM, CNP_DELAY_MAX, FIRST_NS, BACK, RESPONDING, LAST_REWIND_NS = 80, 81, 82, 83, 84, 85, 86, 87
"""PEER is the row of the other direction + 1; QUEUE_PAIR is IP version · 2^40 + number; MESSAGES are four words, by kind; PENDING is the
NAK that no retransmission has answered yet (FATAL: none will) and REFUSED its PSN + 1; ACKED is the highest acknowledged PSN + 1; TOWARDS
and BACK are hashes of (source, destination) and of (destination, source); SLACK: so many PSNs a READ may have taken beyond those
counted."""

# Words of an order (order.py), counted from REQUESTS or RESPONSES. PSNs are kept + 1, 0 where there is none.
NEXT, DATA, LAST, FILLS, REWINDING, EXPECTED, IDENTITY, STATIC = 0, 1, 2, 3, 4, 5, 6, 7
RETRANSMITTED, OUT_OF_ORDER, DUPLICATES, UNFILLED, REWINDS, RESTARTS, BEGIN, FIRST_REWIND_NS = 8, 9, 10, 11, 12, 13, 14, 15

WINDOW = 128
"""PSNs behind the highest of which is known whether they came."""
REQUEST_WINDOW, RESPONSE_WINDOW = 88, 88 + WINDOW

# Words of a run (messages.py), and how many a direction has at most.
RUNS, RUN_WORDS, OPEN_RUNS = 88 + 2 * WINDOW, 8, 16
ACCOUNTS, ACCOUNT_WORDS = RUNS + RUN_WORDS * OPEN_RUNS, 8
"""Two (waits.py): of requests, of responses."""

# Words of what is rare, behind these.
RARE = ACCOUNTS + 2 * ACCOUNT_WORDS
CNP_WINDOW, CNP_IN_WINDOW, CNP_PEAK, CNP_DELAY_MIN, CNP_IDENTITY, CNP_NS = range(RARE, RARE + 6)
ICRC_RIGHT, ICRC_WRONG, ICRC_UNCHECKED, RESENT_MESSAGES, RESENT_PPM_MAX = range(RARE + 6, RARE + 11)
FIRST_GAP_NS, LAST_GAP_NS, LONGEST_GAP_NS = range(RARE + 11, RARE + 14)
"""CNP_NS and CNP_IDENTITY are of the last CNP, CNP_WINDOW its time ÷ notification.WINDOW_NS; RESENT_PPM_MAX: the largest share of
retransmissions in a message, in millionths. FIRST_GAP_NS and LAST_GAP_NS are of the packets behind the first and the last hole that stayed
unfilled, 0 for none; LONGEST_GAP_NS: the longest time from the packet before a hole to the one behind it."""
HASH = RARE + 15
WIDTH, KEY_WORDS = HASH + 1, 5

FATAL = 0x80
"""A PENDING that is no kind of syndrome: the queue pair that sent has failed."""

PSN_MASK = 0xFFFFFF
VERSION_SHIFT = 40

# Words of `work` (int64[96]), the scratch of this kernel's calls: rows in use, of waits too, and those of the packet at hand.
DIRECTIONS, HOST_PAIRS, SAMPLE_BLOCKS, MAXIMUM_HOST_PAIRS, MARKS = 0, 1, 2, 3, 4
LOGGED, WAIT, WAIT_END, ANSWERS = 32, 33, 34, 35
_HASHES, _FOLLOWED, _GUESSES, AHEAD = 40, 56, 72, 16
"""Rings of 16 words: hashes of the next rows, whether they are followed (polling.py, which has words of its own), and in which row of the
table their directions seem to stand."""
_ROWS, _RUNS = 8, 3
"""Rows from the further steps of `expect` to the packet."""


@inlined
def distance(later: int, earlier: int) -> int:
    """PSN − PSN by serial arithmetic: −2^23 … 2^23 − 1."""
    return ((later - earlier + 0x800000) & PSN_MASK) - 0x800000


@inlined
def expect(rows: Any, index: Any, work: Any, columns: Any, row: int, stop: int) -> None:
    """Ask for the memory of the next RoCEv2 rows, which else is waited for: the index first, and what it shows some rows later."""
    soon = row + AHEAD - 1
    if soon < stop:
        packet = get(columns, "roce.packet", soon)
        followed = is_followed(columns, packet, work)
        work[_FOLLOWED + (soon & (AHEAD - 1))] = 1 if followed else 0
        if followed:
            _expect_index(index, work, columns, soon, packet)
    soon = row + _ROWS
    if soon < stop and has_turn(work, soon):
        found = guess(index, work[_HASHES + (soon & (AHEAD - 1))])
        work[_GUESSES + (soon & (AHEAD - 1))] = found
        if found >= 0:
            at = found * WIDTH
            prefetch(rows, at)
            prefetch(rows, at + BYTES)
            prefetch(rows, at + REQUESTS)
            prefetch(rows, at + REQUEST_WINDOW + (get(columns, "roce.psn", soon) & (WINDOW - 1)))
    soon = row + _RUNS
    if soon < stop and has_turn(work, soon):
        found = work[_GUESSES + (soon & (AHEAD - 1))]
        if found >= 0:
            peer = rows[found, PEER] - 1
            newest = (rows[found, OLDEST] + rows[found, OPEN] - 1) & (OPEN_RUNS - 1)
            prefetch(rows, found * WIDTH + RUNS + RUN_WORDS * newest)
            if peer >= 0:
                prefetch(rows, peer * WIDTH + REQUESTS)
                prefetch(rows, peer * WIDTH + MATCHES)


@inlined
def has_turn(work: Any, row: int) -> bool:
    """Whether RoCEv2 row `row` (which was expected) is followed."""
    followed: bool = work[_FOLLOWED + (row & (AHEAD - 1))] != 0
    return followed


@inlined
def _expect_index(index: Any, work: Any, columns: Any, row: int, packet: int) -> None:
    numbered = (get(columns, "packets.ip_version", packet) << VERSION_SHIFT) | get(columns, "roce.dest_qp", row)
    hashed = mixed(_of_addresses_in(columns, packet) ^ product(numbered, FACTOR_4))
    work[_HASHES + (row & (AHEAD - 1))] = hashed
    prefetch(index, hashed & (index.shape[0] - 1))


@inlined
def find_direction(
    rows: Any, index: Any, pairs: Any, pair_index: Any, work: Any, columns: Any, row: int, packet: int, queue_pair: int
) -> int:
    """Row of the direction of RoCEv2 row `row` (which was expected), made if it is new; there is room for it."""
    src_hi, src_lo = get(columns, "packets.src_hi", packet), get(columns, "packets.src_lo", packet)
    dst_hi, dst_lo = get(columns, "packets.dst_hi", packet), get(columns, "packets.dst_lo", packet)
    version = get(columns, "packets.ip_version", packet)
    _set_key(work, src_hi, src_lo, dst_hi, dst_lo, (version << VERSION_SHIFT) | queue_pair)
    before = work[DIRECTIONS]
    at = find(rows, index, work, DIRECTIONS, KEY_WORDS, work[_HASHES + (row & (AHEAD - 1))])
    if work[DIRECTIONS] != before:
        rows[at, FIRST_NS] = NEVER
        rows[at, TOWARDS] = mixed(_of_addresses(src_hi, src_lo, dst_hi, dst_lo))
        rows[at, BACK] = mixed(_of_addresses(dst_hi, dst_lo, src_hi, src_lo))
        _set_key(work, src_hi, src_lo, dst_hi, dst_lo, version)
        # −1 where the table is full: then it is row 0 of the histograms, that of all others.
        rows[at, HOST_PAIR] = find(pairs, pair_index, work, HOST_PAIRS, KEY_WORDS, rows[at, TOWARDS]) + 1
    return at


@inlined
def _of_addresses_in(columns: Any, packet: int) -> int:
    return _of_addresses(
        get(columns, "packets.src_hi", packet),
        get(columns, "packets.src_lo", packet),
        get(columns, "packets.dst_hi", packet),
        get(columns, "packets.dst_lo", packet),
    )


@inlined
def _of_addresses(src_hi: int, src_lo: int, dst_hi: int, dst_lo: int) -> int:
    return product(src_hi, FACTOR_0) ^ product(src_lo, FACTOR_1) ^ product(dst_hi, FACTOR_2) ^ product(dst_lo, FACTOR_3)


@inlined
def _set_key(work: Any, src_hi: int, src_lo: int, dst_hi: int, dst_lo: int, last: int) -> None:
    work[KEY + SRC_HI] = src_hi
    work[KEY + SRC_LO] = src_lo
    work[KEY + DST_HI] = dst_hi
    work[KEY + DST_LO] = dst_lo
    work[KEY + QUEUE_PAIR] = last
