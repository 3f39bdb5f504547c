"""Waits: where the packets of a message were held up, so that its time can be told apart by queue.

A packet waits in a queue what its hop latency is above the queue's lowest, where the queue is well above its low-water mark
(`queues.judge_hop`). The fold of hops leaves these waits in a log of the batch; the fold of messages, which knows what a packet belongs
to, takes them from there: a calm packet costs nothing but a look whether it has any.

Many packets of a message wait at the same time, so that their waits must not be added up. A message goes on when its next packet comes:
of the time from one packet to the next, that which the later one waited in queues is told of them, the last queue first, and no more
than the time between the two. So the parts of a message never exceed its whole.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined
from int_analyzer.columns import get
from int_analyzer.fold.direction import LOGGED, WAIT, WAIT_END
from int_analyzer.fold.table import WAITS

PACKET, WAITED = 0, 1
"""Words of the log: row of the packet, and what it waited where."""
NS_BITS = 44
MOST_NS = (1 << NS_BITS) - 1
"""What was waited where is one word: (row of the queue + 1) · 2^44 + raw latency (4.9 h if those are ns); 0 is nothing."""

MOST_UNTOLD_NS = (1 << 39) - 1
"""No message is believed to take longer (9 min), so that this fits in a mark beside a PSN."""

# Words of an account (direction.py), a line of the cache: the message that is under way, if a packet of it has waited.
BEGIN, LATEST_NS, UNTOLD_NS, SLOTS = 0, 1, 2, 4
N_SLOTS = 4
"""BEGIN is the PSN of its first packet + 1: of another message than that at hand the account is void; UNTOLD_NS the time before those of
its packets that do not tell of their hops, and that which was waited in more than four queues. LATEST_NS is the time of the packet before,
of responses: that of requests stands in their run."""


@inlined
def note_wait(log: Any, work: Any, packet: int, queue: int, waited: int) -> None:
    """Note that a packet waited in a queue; there is room. log int64[n, 2]; work[WAITS]: rows in use."""
    at = work[WAITS]
    log[at, PACKET] = packet
    log[at, WAITED] = ((queue + 1) << NS_BITS) | min(waited, MOST_NS)
    work[WAITS] = at + 1


@inlined
def find_waits(log: Any, work: Any, packet: int) -> None:
    """Set work[WAIT] … work[WAIT_END] to what the log has of this packet; packets are asked for in their order."""
    at = work[WAIT_END]
    while at < work[LOGGED] and log[at, PACKET] < packet:
        at += 1
    work[WAIT] = at
    while at < work[LOGGED] and log[at, PACKET] == packet:
        at += 1
    work[WAIT_END] = at


@inlined
def tells_of_hops(columns: Any, packet: int) -> bool:
    """Whether a packet tells of all its hops; a report of one hop does not: those of the others are other packets."""
    count = get(columns, "packets.hop_count", packet)
    return count > 1 or (count == 1 and get(columns, "packets.report_count", packet) == 0)


@inlined
def count_waits(rows: Any, at: int, account: int, first: int, log: Any, work: Any, told: bool, before: int, time: int) -> None:
    """Tell the time since the packet before, of a packet that goes on with a message, of the queues that it waited in.

    account: first word; first: PSN that the message began with; told: the packet tells of its hops; before and time: of the two packets;
    work[WAIT] … work[WAIT_END]: what it waited. Of a calm packet there is nothing to tell.
    """
    if not told or work[WAIT] != work[WAIT_END]:
        if rows[at, account + BEGIN] != first + 1:
            open_account(rows, at, account, first)
        left = max(time - before, 0)
        if not told:
            rows[at, account + UNTOLD_NS] = min(rows[at, account + UNTOLD_NS] + left, MOST_UNTOLD_NS)
            left = 0
        number = work[WAIT_END] - 1
        while number >= work[WAIT] and left > 0:
            waited = log[number, WAITED]
            part = min(waited & MOST_NS, left)
            left -= part
            _add(rows, at, account, waited >> NS_BITS, part)
            number -= 1


@inlined
def open_account(rows: Any, at: int, account: int, first: int) -> None:
    """Begin with nothing, for the message that began with this PSN."""
    rows[at, account + BEGIN] = first + 1
    rows[at, account + UNTOLD_NS] = 0
    for slot in range(N_SLOTS):
        rows[at, account + SLOTS + slot] = 0


@inlined
def _add(rows: Any, at: int, account: int, queue: int, part: int) -> None:
    slot = account + SLOTS
    last = slot + N_SLOTS
    while slot < last and rows[at, slot] != 0 and rows[at, slot] >> NS_BITS != queue:
        slot += 1
    if slot == last:
        rows[at, account + UNTOLD_NS] = min(rows[at, account + UNTOLD_NS] + part, MOST_UNTOLD_NS)
    elif rows[at, slot] == 0:
        rows[at, slot] = (queue << NS_BITS) | part
    else:
        rows[at, slot] = (queue << NS_BITS) | min((rows[at, slot] & MOST_NS) + part, MOST_NS)
