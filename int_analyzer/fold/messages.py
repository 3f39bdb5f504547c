"""Messages: runs of packets without a hole, put together until what answers them comes.

A run that begins with a First (or Only) packet and ends with a Last is a whole message. Where packets are missing, what comes behind is a
run of its own; late packets extend runs, and runs that touch become one if no end or beginning lies between them. A hole of one PSN
between packets that neither end nor begin a message, or within the length that a WRITE announces, lies inside of it.

    FCT  first packet seen → the acknowledgement or last response that covers the last PSN
    FNR  packets sent again ÷ packets of the message and those sent again; of a READ it is its connection's
    FET  bytes of distinct packets ÷ FCT
    RTT  packet that asks for an acknowledgement, or the last of its message → the acknowledgement that covers it. A run times one packet
         at a time, and none that was sent again or stands behind one that was (Karn's rule).

Of a direction whose answers are not seen, and of unreliable transport, the time is that from the first to the last packet: one-sided.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.fold.direction import (
    COMPLETED,
    COMPLETED_BYTES,
    FCT_MAX,
    FCT_SUM,
    FORGOTTEN,
    HOST_PAIR,
    OLDEST,
    ONE_SIDED,
    ONE_SIDED_MAX,
    ONE_SIDED_SUM,
    OPEN,
    OPEN_RUNS,
    PARTIAL,
    PEER,
    PSN_MASK,
    RESENT_MESSAGES,
    RESENT_PPM_MAX,
    RTT_COUNT,
    RTT_MAX,
    RTT_MIN,
    RTT_SUM,
    RUN_WORDS,
    RUNS,
    SAMPLE_BLOCKS,
    WINDOW,
    distance,
)
from int_analyzer.fold.histogram import count_in
from int_analyzer.fold.transport import BEGINS, ENDS, KIND, READ

# Words of a run.
FIRST, NEXT, FIRST_NS, LAST_NS, BYTES, STATE, TIMED, TIMED_NS = 0, 1, 2, 3, 4, 5, 6, 7
"""FIRST and NEXT are PSNs, NEXT that behind the run; STATE is kind | BEGINS | ENDS, as far as seen, and from LENGTH_SHIFT on the length of
the whole message in PSNs, if it is known, and from AGAIN_SHIFT on how many of its packets were sent again; TIMED is the PSN that is
timed + 1."""
LENGTH_SHIFT, AGAIN_SHIFT = 16, 40
_LENGTH = (1 << (AGAIN_SHIFT - LENGTH_SHIFT)) - 1
_MOST_AGAIN = 1 << 20
_MUTE = 1 << 15
"""In STATE: the first packet did not tell of its hops, so that the others are not asked."""

# Histograms, so many rows per pair of hosts.
FCT, FCT_ONE_SIDED, RTT, FET = 0, 1, 2, 3
HISTOGRAMS = 4

_WHOLE = BEGINS | ENDS
_MOST_BYTES, _MOST_RATE = 1 << 32, 1 << 56
LONGEST_NS = 1 << 45
"""No message and no answer takes longer (10 h): where one seems to, a capture time is damaged, and it is not measured."""
SAMPLES = 3 * OPEN_RUNS
"""One packet cannot add more samples."""


@inlined
def run_at(rows: Any, at: int, number: int) -> int:
    """First word of an open run, 0 being the oldest."""
    slot: int = RUNS + RUN_WORDS * ((rows[at, OLDEST] + number) & (OPEN_RUNS - 1))
    return slot


@kernel
def _count_sample(rows: Any, at: int, blocks: Any, pool: Any, work: Any, histogram: int, value: int) -> None:
    count_in(blocks, pool, work, SAMPLE_BLOCKS, HISTOGRAMS * rows[at, HOST_PAIR] + histogram, value)


@kernel
def close_oldest(rows: Any, at: int, blocks: Any, pool: Any, work: Any, time: int, answered: bool) -> None:
    """Take the oldest run away: a message that is complete if it is whole; `answered`: at this time, else as far as was seen."""
    run = run_at(rows, at, 0)
    rows[at, OLDEST] = (rows[at, OLDEST] + 1) & (OPEN_RUNS - 1)
    rows[at, OPEN] -= 1
    begun = rows[at, run + FIRST_NS]
    taken = (time if answered else rows[at, run + LAST_NS]) - begun
    if rows[at, run + STATE] & _WHOLE != _WHOLE or begun == 0 or abs(taken) > LONGEST_NS:
        rows[at, PARTIAL] += 1
        return
    if rows[at, run + STATE] >> AGAIN_SHIFT != 0 and rows[at, run + STATE] & KIND < READ:
        _count_resent(rows, at, run)
    taken = max(taken, 0)
    if answered:
        size = min(rows[at, run + BYTES], _MOST_BYTES)
        rows[at, COMPLETED] += 1
        rows[at, COMPLETED_BYTES] += size
        rows[at, FCT_SUM] += taken
        rows[at, FCT_MAX] = max(rows[at, FCT_MAX], taken)
        _count_sample(rows, at, blocks, pool, work, FCT, taken)
        if size > 0 and taken > 0:
            _count_sample(rows, at, blocks, pool, work, FET, 8 * min(size * 1_000_000_000 // taken, _MOST_RATE))
    else:
        rows[at, ONE_SIDED] += 1
        rows[at, ONE_SIDED_SUM] += taken
        rows[at, ONE_SIDED_MAX] = max(rows[at, ONE_SIDED_MAX], taken)
        _count_sample(rows, at, blocks, pool, work, FCT_ONE_SIDED, taken)


@kernel
def _count_resent(rows: Any, at: int, run: int) -> None:
    """Count a message of which packets were sent again: FNR, their share of all that were sent of it."""
    again = rows[at, run + STATE] >> AGAIN_SHIFT
    sent = distance(rows[at, run + NEXT], rows[at, run + FIRST]) + again
    rows[at, RESENT_MESSAGES] += 1
    rows[at, RESENT_PPM_MAX] = max(rows[at, RESENT_PPM_MAX], 1_000_000 * again // sent)


@kernel
def drop_oldest(rows: Any, at: int, blocks: Any, pool: Any, work: Any) -> None:
    """Take the oldest run away for want of room, or because its connection has begun anew."""
    if rows[at, PEER] == 0:
        close_oldest(rows, at, blocks, pool, work, 0, False)
        return
    rows[at, OLDEST] = (rows[at, OLDEST] + 1) & (OPEN_RUNS - 1)
    rows[at, OPEN] -= 1
    rows[at, FORGOTTEN] += 1


@kernel
def drop_all(rows: Any, at: int, blocks: Any, pool: Any, work: Any) -> None:
    """Take all runs away."""
    while rows[at, OPEN] > 0:
        drop_oldest(rows, at, blocks, pool, work)


@kernel
def abandon(rows: Any, at: int, blocks: Any, pool: Any, work: Any, psn: int) -> None:
    """Close what lies before this PSN, the first that was seen to be answered: when the others were is not known."""
    while rows[at, OPEN] > 0 and distance(psn, rows[at, run_at(rows, at, 0) + NEXT]) >= 0:
        close_oldest(rows, at, blocks, pool, work, 0, False)


@inlined
def _open_run(rows: Any, at: int, number: int, meaning: int, psn: int, count: int, size: int, length: int, time: int) -> int:
    """Make a run before the one that is `number` (or behind all, if that many are open); there is room. Returns its first word."""
    newer = rows[at, OPEN]
    while newer > number:
        target, source = run_at(rows, at, newer), run_at(rows, at, newer - 1)
        for word in range(RUN_WORDS):
            rows[at, target + word] = rows[at, source + word]
        newer -= 1
    rows[at, OPEN] += 1
    run = run_at(rows, at, number)
    rows[at, run + FIRST] = psn
    rows[at, run + NEXT] = (psn + count) & PSN_MASK
    rows[at, run + FIRST_NS] = time
    rows[at, run + LAST_NS] = time
    rows[at, run + BYTES] = size
    rows[at, run + STATE] = meaning & (KIND | BEGINS | ENDS) | length << LENGTH_SHIFT
    rows[at, run + TIMED] = 0
    return run


@inlined
def _goes_on(rows: Any, at: int, run: int, state: int, psn: int) -> bool:
    """Whether what begins at this PSN, and begins no message, is of the same message as a run before it."""
    if (rows[at, run + STATE] ^ state) & KIND != 0 or rows[at, run + STATE] & ENDS != 0:
        return False
    if distance(psn, rows[at, run + NEXT]) <= 1:
        return True
    return distance(psn, rows[at, run + FIRST]) < rows[at, run + STATE] >> LENGTH_SHIFT & _LENGTH


@inlined
def _extend(rows: Any, at: int, run: int, state: int, size: int, first_ns: int, last_ns: int) -> None:
    rows[at, run + STATE] = (rows[at, run + STATE] | state & (BEGINS | ENDS)) + (state >> AGAIN_SHIFT << AGAIN_SHIFT)
    rows[at, run + BYTES] += size
    rows[at, run + FIRST_NS] = min(rows[at, run + FIRST_NS], first_ns)
    rows[at, run + LAST_NS] = max(rows[at, run + LAST_NS], last_ns)


@inlined
def add_new(
    rows: Any,
    at: int,
    blocks: Any,
    pool: Any,
    work: Any,
    meaning: int,
    psn: int,
    count: int,
    size: int,
    length: int,
    asked: bool,
    time: int,
) -> int:
    """Add a packet above all others; returns the time of the one before it in its run, or its own.

    length: PSNs of the message that it begins, 0 if not known; asked: it asks to be acknowledged.
    """
    run, before = -1, time
    if meaning & BEGINS == 0 and rows[at, OPEN] > 0:
        newest = run_at(rows, at, rows[at, OPEN] - 1)
        if _goes_on(rows, at, newest, meaning, psn):
            run = newest
            rows[at, run + NEXT] = (psn + 1) & PSN_MASK
            before = rows[at, run + LAST_NS]
            _extend(rows, at, run, meaning, size, time, time)
    if run < 0:
        if rows[at, OPEN] == OPEN_RUNS:
            drop_oldest(rows, at, blocks, pool, work)
        run = _open_run(rows, at, rows[at, OPEN], meaning, psn, count, size, length, time)
    if rows[at, run + TIMED] == 0 and (asked or meaning & ENDS != 0) and meaning & KIND < READ and time > 0:
        rows[at, run + TIMED] = psn + 1
        rows[at, run + TIMED_NS] = time
    return before


@kernel
def close_unanswered(rows: Any, count: int, blocks: Any, pool: Any, work: Any) -> int:
    """Close the messages of the first `count` directions that nothing will answer: `count`, or the first for which the pool has no room."""
    for at in range(count):
        while rows[at, PEER] == 0 and rows[at, OPEN] > 0:
            if work[SAMPLE_BLOCKS] + SAMPLES > pool.shape[0]:
                return at
            close_oldest(rows, at, blocks, pool, work, 0, False)
    return count


@inlined
def follow_newest(rows: Any, at: int, meaning: int, told: bool) -> int:
    """PSN of the first packet of the newest run + 1; 0 if it begins no message, or if that packet did not tell of its hops.

    meaning and told: of the packet that was just added to it.
    """
    run = run_at(rows, at, rows[at, OPEN] - 1)
    if meaning & BEGINS != 0 and not told:
        rows[at, run + STATE] |= _MUTE
    begin: int = rows[at, run + FIRST] + 1 if rows[at, run + STATE] & (BEGINS | _MUTE) == BEGINS else 0
    return begin


@kernel
def add_late(
    rows: Any,
    at: int,
    blocks: Any,
    pool: Any,
    work: Any,
    meaning: int,
    psn: int,
    count: int,
    size: int,
    length: int,
    time: int,
) -> None:
    """Add a packet that comes behind higher ones, and was not seen before."""
    number = rows[at, OPEN] - 1
    while number >= 0 and distance(psn, rows[at, run_at(rows, at, number) + FIRST]) < 0:
        number -= 1
    if number >= 0:
        run = run_at(rows, at, number)
        if distance(psn, rows[at, run + NEXT]) < 0:
            _extend(rows, at, run, 0, size, time, time)
            return
    elif rows[at, OPEN] == OPEN_RUNS:
        # It would be the oldest, and had to go at once.
        rows[at, PARTIAL] += 1
        return
    if rows[at, OPEN] == OPEN_RUNS:
        drop_oldest(rows, at, blocks, pool, work)
        number -= 1
    _open_run(rows, at, number + 1, meaning, psn, count, size, length, time)
    join(rows, at, number + 1)
    join(rows, at, number)


@inlined
def join(rows: Any, at: int, number: int) -> None:
    """Make one of this run and the next if nothing but packets of one message can lie between them."""
    if number < 0 or number + 1 >= rows[at, OPEN]:
        return
    run, other = run_at(rows, at, number), run_at(rows, at, number + 1)
    if rows[at, other + STATE] & BEGINS != 0 or not _goes_on(rows, at, run, rows[at, other + STATE], rows[at, other + FIRST]):
        return
    rows[at, run + NEXT] = rows[at, other + NEXT]
    _extend(rows, at, run, rows[at, other + STATE], rows[at, other + BYTES], rows[at, other + FIRST_NS], rows[at, other + LAST_NS])
    if rows[at, run + TIMED] == 0:
        rows[at, run + TIMED] = rows[at, other + TIMED]
        rows[at, run + TIMED_NS] = rows[at, other + TIMED_NS]
    for later in range(number + 1, rows[at, OPEN] - 1):
        target, source = run_at(rows, at, later), run_at(rows, at, later + 1)
        for word in range(RUN_WORDS):
            rows[at, target + word] = rows[at, source + word]
    rows[at, OPEN] -= 1


@kernel
def resend(rows: Any, at: int, psn: int, packets: int) -> None:
    """Count so many packets as sent again in the message of this PSN; time none from it on, as they may be sent again too."""
    for number in range(rows[at, OPEN]):
        run = run_at(rows, at, number)
        if distance(psn, rows[at, run + FIRST]) >= 0 > distance(psn, rows[at, run + NEXT]):
            again = min((rows[at, run + STATE] >> AGAIN_SHIFT) + packets, _MOST_AGAIN)
            rows[at, run + STATE] = rows[at, run + STATE] & ((1 << AGAIN_SHIFT) - 1) | again << AGAIN_SHIFT
        if rows[at, run + TIMED] != 0 and distance(rows[at, run + TIMED] - 1, psn) >= 0:
            rows[at, run + TIMED] = 0


@inlined
def cover(rows: Any, at: int, blocks: Any, pool: Any, work: Any, psn: int, time: int, explicit: bool) -> None:
    """Complete the messages that this PSN covers; `explicit`: by an acknowledgement, which ends RTTs too.

    A READ waits for its response, which may come late, until it is a window behind.
    """
    number = 0
    while number < rows[at, OPEN]:
        run = run_at(rows, at, number)
        timed = rows[at, run + TIMED]
        if timed != 0 and distance(psn, timed - 1) >= 0:
            rows[at, run + TIMED] = 0
            if explicit and 0 <= time - rows[at, run + TIMED_NS] <= LONGEST_NS:
                _count_rtt(rows, at, blocks, pool, work, time - rows[at, run + TIMED_NS])
        beyond = distance(psn, rows[at, run + NEXT])
        if beyond < -1 or (rows[at, run + STATE] & ENDS == 0 and number + 1 == rows[at, OPEN]):
            return
        if rows[at, run + STATE] & KIND == READ:
            if beyond < WINDOW:
                number += 1
                continue
            # It is over, but its last response was not seen.
            rows[at, run + STATE] &= ~BEGINS
        _close(rows, at, blocks, pool, work, number, time)


@inlined
def _count_rtt(rows: Any, at: int, blocks: Any, pool: Any, work: Any, taken: int) -> None:
    rows[at, RTT_MIN] = taken if rows[at, RTT_COUNT] == 0 else min(rows[at, RTT_MIN], taken)
    rows[at, RTT_MAX] = max(rows[at, RTT_MAX], taken)
    rows[at, RTT_COUNT] += 1
    rows[at, RTT_SUM] += taken
    _count_sample(rows, at, blocks, pool, work, RTT, taken)


@inlined
def _close(rows: Any, at: int, blocks: Any, pool: Any, work: Any, number: int, time: int) -> None:
    """Complete one run: it changes places with those before it until it is the oldest."""
    while number > 0:
        run, older = run_at(rows, at, number), run_at(rows, at, number - 1)
        for word in range(RUN_WORDS):
            kept = rows[at, run + word]
            rows[at, run + word] = rows[at, older + word]
            rows[at, older + word] = kept
        number -= 1
    close_oldest(rows, at, blocks, pool, work, time, True)


@inlined
def finish_read(rows: Any, at: int, blocks: Any, pool: Any, work: Any, psn: int, most: int, time: int) -> None:
    """Complete the READ (or FLUSH, ATOMIC WRITE) whose last response has this PSN; `most`: PSNs that a READ can have."""
    number = rows[at, OPEN] - 1
    while number >= 0 and distance(psn, rows[at, run_at(rows, at, number) + FIRST]) < 0:
        number -= 1
    if number < 0:
        return
    run = run_at(rows, at, number)
    if rows[at, run + STATE] & KIND >= READ and distance(psn, rows[at, run + FIRST]) < most:
        rows[at, run + NEXT] = (psn + 1) & PSN_MASK
        _close(rows, at, blocks, pool, work, number, time)
