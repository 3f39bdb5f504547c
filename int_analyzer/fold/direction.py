"""A direction of a connection: the row of (source, destination, destination queue pair), with all that is kept of it.

    key | counters | order of its requests | order of its responses | windows of both | runs of packets that are open messages

UDP ports are no part of the key: the source port is the entropy of the path, and may change under a connection.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined
from int_analyzer.columns import get
from int_analyzer.fold.buckets import NEVER
from int_analyzer.fold.hashing import FACTOR_0, FACTOR_1, FACTOR_2, FACTOR_3, FACTOR_4, mixed, product
from int_analyzer.fold.table import KEY, find

# Words of a row.
SRC_HI, SRC_LO, DST_HI, DST_LO, QUEUE_PAIR, PEER, MATCHES, MISSES = 0, 1, 2, 3, 4, 5, 6, 7
PACKETS, BYTES, FIRST_NS, LAST_NS, CE, CNP, MARKED_NS, TRANSPORTS = 8, 9, 10, 11, 12, 13, 14, 15
REQUESTS, RESPONSES = 16, 32
MTU, PENDING, REFUSED, NAKS, RNRS, RNR_WAIT_NS, OTHER_NAKS, TIMEOUTS = 48, 49, 50, 51, 52, 53, 54, 55
MESSAGES, IMMEDIATES, INVALIDATES, ACKS, ACKED = 56, 60, 61, 62, 63
OLDEST, OPEN, COMPLETED, ONE_SIDED, PARTIAL, FORGOTTEN = 64, 65, 66, 67, 68, 69
FCT_SUM, FCT_MAX, ONE_SIDED_SUM, ONE_SIDED_MAX, COMPLETED_BYTES = 70, 71, 72, 73, 74
RTT_COUNT, RTT_SUM, RTT_MIN, RTT_MAX, CNP_DELAYS, CNP_DELAY_SUM, CNP_DELAY_MAX = 75, 76, 77, 78, 79, 80, 81
HOST_PAIR, TOWARDS, BACK, RESPONDING, SLACK = 82, 83, 84, 85, 86
"""PEER is the row of the other direction + 1; QUEUE_PAIR is IP version · 2^40 + number; MESSAGES are four words, by kind; PENDING is the
NAK that no retransmission has answered yet and REFUSED its PSN + 1; ACKED is the highest acknowledged PSN + 1; TOWARDS and BACK are hashes
of (source, destination) and of (destination, source); SLACK: so many PSNs a READ may have taken beyond those counted."""

# Words of an order (order.py), counted from REQUESTS or RESPONSES. PSNs are kept + 1, 0 where there is none.
NEXT, DATA, RETRANSMITTED, OUT_OF_ORDER, DUPLICATES, UNFILLED, LAST, FILLS = 0, 1, 2, 3, 4, 5, 6, 7
REWINDING, REWINDS, RESTARTS, EXPECTED, IDENTITY, STATIC, BEGIN = 8, 9, 10, 11, 12, 13, 14

WINDOW = 128
"""PSNs behind the highest of which is known whether they came."""
REQUEST_WINDOW, RESPONSE_WINDOW = 96, 96 + WINDOW

# Words of a run (messages.py), and how many a direction has at most.
RUNS, RUN_WORDS, OPEN_RUNS = 96 + 2 * WINDOW, 8, 16
HASH = RUNS + RUN_WORDS * OPEN_RUNS + 7
WIDTH, KEY_WORDS = HASH + 1, 5

PSN_MASK = 0xFFFFFF
VERSION_SHIFT = 40

# Words of `work` (int64[32]), the scratch of this kernel's calls: rows in use.
DIRECTIONS, HOST_PAIRS, SAMPLE_BLOCKS, MAXIMUM_HOST_PAIRS = 0, 1, 2, 3


@inlined
def distance(later: int, earlier: int) -> int:
    """PSN − PSN by serial arithmetic: −2^23 … 2^23 − 1."""
    return ((later - earlier + 0x800000) & PSN_MASK) - 0x800000


@inlined
def find_direction(rows: Any, index: Any, pairs: Any, pair_index: Any, work: Any, columns: Any, packet: int, queue_pair: int) -> int:
    """Row of the packet's direction, made if it is new; there is room for it."""
    src_hi, src_lo = get(columns, "packets.src_hi", packet), get(columns, "packets.src_lo", packet)
    dst_hi, dst_lo = get(columns, "packets.dst_hi", packet), get(columns, "packets.dst_lo", packet)
    version = get(columns, "packets.ip_version", packet)
    numbered = (version << VERSION_SHIFT) | queue_pair
    towards = _of_addresses(src_hi, src_lo, dst_hi, dst_lo)
    _set_key(work, src_hi, src_lo, dst_hi, dst_lo, numbered)
    before = work[DIRECTIONS]
    row = find(rows, index, work, DIRECTIONS, KEY_WORDS, mixed(towards ^ product(numbered, FACTOR_4)))
    if work[DIRECTIONS] != before:
        rows[row, FIRST_NS] = NEVER
        rows[row, TOWARDS] = mixed(towards)
        rows[row, BACK] = mixed(_of_addresses(dst_hi, dst_lo, src_hi, src_lo))
        _set_key(work, src_hi, src_lo, dst_hi, dst_lo, version)
        # −1 where the table is full: then it is row 0 of the histograms, that of all others.
        rows[row, HOST_PAIR] = find(pairs, pair_index, work, HOST_PAIRS, KEY_WORDS, rows[row, TOWARDS]) + 1
    return row


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
