"""Copies: packets that are seen again at another mirror point, told by what their first hop said of them.

Mirror points on one path tell of a packet with stacks of different lengths, which begin alike: the first hop is in all of them. Its times
alone do not name a packet: a clock may tick in milliseconds. So a copy is of the same flow, has the same number, and its first hop has
the same times, latency and depth (a retransmission crosses that port later). A packet without a number (RFC 6864: an identification of 0
says nothing, IPv6 has none), or whose first hop has no times, is never taken for a copy. The memory has one word for a packet: its
identity, when it was seen, and the path that it was last seen with. It forgets what came long ago, and all when a piece of the capture
ends; what comes later than a network holds a packet is another one, such as that of a capture that is played again and again.

Most captures have no copies, and shall not pay for them: until one is found, only one packet in eight is watched. What came before it,
while packets were already on their way to a second mirror point, is counted twice.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined
from int_analyzer.columns import get
from int_analyzer.fold.hashing import FACTOR_0, FACTOR_1, FACTOR_2, FACTOR_3, FACTOR_4, FACTOR_5, product, wide
from int_analyzer.fold.table import aligned
from int_analyzer.schema import ABSENT32, HAS_DEPTH, HAS_EGRESS_PORT, HAS_EGRESS_TIME, HAS_INGRESS_TIME, HAS_LATENCY, HAS_NODE

SETS, WAYS = 8192, 4
"""Sets of the memory, and packets of a set, the newest first. A packet is remembered until its set has taken four others: of copies that
come 1000 packets later one in 100 000 is not told, of those 8000 packets later one in 50."""
PATH_BITS, TICK_BITS = 21, 10
"""A word is row + 1 of the path, above it when the packet was first seen, in ticks modulo 1024, and above that what of the identity tells
packets of one set apart: 33 bits. The others choose the set."""
TICK_SHIFT, APART = 22, 12
"""A tick is 2^22 ns; so many, 50 ms, may lie between copies: more than a queue holds, and clocks of captures that were merged differ."""
_TAG_SHIFT = PATH_BITS + TICK_BITS
_PATH_MASK, _TICK_MASK = (1 << PATH_BITS) - 1, (1 << TICK_BITS) - 1
WATCHING = SETS * WAYS
"""Place of the word that is 1 once a copy was found."""
_WATCHED = 7
"""Bits of a packet's folded number that are 0 if it is watched all the same."""
_NUMBERED = 1 << 40
"""A bit of a number: it has a PSN."""


def memory() -> Any:
    """An empty memory: int64[SETS · WAYS + 1], a set in one line of the cache."""
    return aligned(SETS + 1, WAYS).reshape(-1)[: WATCHING + 1]


@inlined
def number_of(columns: Any, row: int, roce_row: int) -> int:
    """What tells a packet from the next one of its flow: IPv4 identification and PSN; 0 if it has neither."""
    number: int = wide(get(columns, "packets.ip_id", row))
    if roce_row != ABSENT32:
        number = _NUMBERED | number << 24 | wide(get(columns, "roce.psn", roce_row))
    return number


@inlined
def is_watched(seen: Any, number: int) -> bool:
    """Whether to look for the packet in the memory."""
    # Folded, since a source that samples by number shall not hide its copies.
    folded = number ^ (number >> 3) ^ (number >> 6) ^ (number >> 9)
    return number != 0 and (seen[WATCHING] != 0 or folded & _WATCHED == 0)


@inlined
def identify(columns: Any, flow_hash: int, number: int, hop: int) -> int:
    """Identity of the packet of this flow and number whose first hop is in row `hop`; 0 if that has no times."""
    present, times = get(columns, "hops.present", hop), 0
    hashed = flow_hash ^ product(number, FACTOR_5)
    if present & HAS_INGRESS_TIME != 0:
        times = get(columns, "hops.ingress_time_raw", hop)
        hashed ^= product(times, FACTOR_1)
    if present & HAS_EGRESS_TIME != 0:
        left = get(columns, "hops.egress_time_raw", hop)
        hashed ^= product(left, FACTOR_2)
        times |= left
    if times == 0:
        return 0
    if present & HAS_NODE != 0:
        hashed ^= product(get(columns, "hops.node_id", hop), FACTOR_0)
    if present & HAS_EGRESS_PORT != 0:
        hashed ^= product(get(columns, "hops.egress_port", hop), FACTOR_4)
    hashed = product(hashed ^ (hashed >> 32), FACTOR_3)
    if present & HAS_LATENCY != 0:
        hashed ^= product(get(columns, "hops.hop_latency_raw", hop), FACTOR_1)
    if present & HAS_DEPTH != 0:
        hashed ^= product(get(columns, "hops.queue_depth_raw", hop), FACTOR_2)
    hashed = product(hashed ^ (hashed >> 32), FACTOR_3)
    return hashed ^ (hashed >> 32)


@inlined
def find_copy(seen: Any, identity: int, time: int) -> int:
    """Where the packet stands in the memory, −1 if it does not."""
    first = (identity & (SETS - 1)) * WAYS
    for at in range(first, first + WAYS):
        if (seen[at] ^ identity) >> _TAG_SHIFT == 0 and seen[at] != 0:
            ticks = (time >> TICK_SHIFT) - (seen[at] >> PATH_BITS)
            if (ticks + APART) & _TICK_MASK <= 2 * APART:
                seen[WATCHING] = 1
                return at
    return -1


@inlined
def path_of(seen: Any, at: int) -> int:
    """Row of the path that the packet was last seen with."""
    path: int = (seen[at] & _PATH_MASK) - 1
    return path


@inlined
def remember(seen: Any, identity: int, time: int, path: int) -> None:
    """Put a packet in place of the oldest one of its set; on a path beyond what a word can hold it is not remembered."""
    if path < _PATH_MASK:
        first = (identity & (SETS - 1)) * WAYS
        for at in range(first + WAYS - 1, first, -1):
            seen[at] = seen[at - 1]
        seen[first] = (identity >> _TAG_SHIFT) << _TAG_SHIFT | ((time >> TICK_SHIFT) & _TICK_MASK) << PATH_BITS | (path + 1)


@inlined
def follow_copy(seen: Any, at: int, path: int) -> None:
    """The packet was seen with a longer path."""
    if path < _PATH_MASK:
        seen[at] = seen[at] & ~_PATH_MASK | (path + 1)
