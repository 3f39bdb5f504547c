"""The kernel of connections: one pass over the RoCEv2 packets of a batch, each placed in its direction, its message and its pair."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import get
from int_analyzer.fold.direction import (
    ACCOUNT_WORDS,
    ACCOUNTS,
    ACKS,
    AHEAD,
    ANSWERS,
    BYTES,
    CE,
    COMPLETED,
    DIRECTIONS,
    FATAL,
    FIRST_NS,
    HOST_PAIRS,
    ICRC_RIGHT,
    IMMEDIATES,
    INVALIDATES,
    LAST_NS,
    MARKED_NS,
    MARKS,
    MAXIMUM_HOST_PAIRS,
    MESSAGES,
    MTU,
    NAKS,
    NEXT,
    OTHER_NAKS,
    PACKETS,
    PARTIAL,
    PEER,
    PENDING,
    PSN_MASK,
    REFUSED,
    REQUEST_WINDOW,
    REQUESTS,
    RESENT_MESSAGES,
    RESPONDING,
    RESPONSE_WINDOW,
    RESPONSES,
    RETRANSMITTED,
    RNR_WAIT_NS,
    RNRS,
    SAMPLE_BLOCKS,
    SLACK,
    TIMEOUTS,
    TRANSPORTS,
    distance,
    expect,
    find_direction,
    has_turn,
)
from int_analyzer.fold.hashing import wide
from int_analyzer.fold.journal import note, note_answer
from int_analyzer.fold.messages import SAMPLES, abandon, add_late, add_new, cover, drop_all, finish_read, follow_newest, resend
from int_analyzer.fold.notification import count_notification
from int_analyzer.fold.order import (
    COPY,
    FILLED,
    LATE,
    NEW,
    REPEATED,
    RESTARTED,
    STRAY,
    is_copy,
    place,
    restart,
    take,
)
from int_analyzer.fold.packet import LONGEST, identity_of, packets_of, payload_bytes
from int_analyzer.fold.pairing import find_peer, leave_hint
from int_analyzer.fold.polling import PASSED
from int_analyzer.fold.transport import (
    ACKNOWLEDGE,
    BEGINS,
    DATAGRAM,
    ENDS,
    IMMEDIATE,
    INVALIDATE,
    KIND,
    MEANINGS,
    NEGATIVE,
    NOTIFICATION,
    READ,
    RECEIVER_NOT_READY,
    RELIABLE,
    REQUEST,
    RESPONSE,
    RNR_NS,
    SEQUENCE_ERROR,
    SYNDROME_KIND,
    SYNDROME_VALUE,
    WRITE,
)
from int_analyzer.fold.waits import BEGIN, LATEST_NS, count_waits, find_waits, open_account, tells_of_hops
from int_analyzer.schema import HAS_AETH, HAS_RETH, ICRC_CUT, ICRC_OK, ICRC_UNSAMPLED

_CE = 3
SMALLEST_MTU, LARGEST_MTU = 256, 4096
"""Path MTUs of IBTA Vol.1 §9.4.3: what a READ of so many bytes can take in PSNs lies between these."""
_RESPONSES = ACCOUNTS + ACCOUNT_WORDS
"""The account of responses."""


@kernel
def fold_roce(
    row: int,
    stop: int,
    columns: Any,
    rows: Any,
    index: Any,
    hints: Any,
    pairs: Any,
    pair_index: Any,
    blocks: Any,
    pool: Any,
    marks: Any,
    answers: Any,
    log: Any,
    work: Any,
) -> int:
    """Absorb RoCEv2 rows `row` … `stop` − 1; returns the row before which a table has to grow, or `stop`.

    rows, pairs and their indices: table.find; hints: pairing.leave_hint; blocks and pool: histogram.count_in; marks and answers:
    journal.note; log: waits.find_waits; work int64[96]: direction.py.
    """
    for before in range(row - AHEAD + 1, row):
        expect(rows, index, work, columns, before, stop)
    while row < stop:
        expect(rows, index, work, columns, row, stop)
        if not has_turn(work, row):
            work[PASSED] += 1
            row += 1
            continue
        if (
            work[DIRECTIONS] == rows.shape[0]
            or (work[HOST_PAIRS] == pairs.shape[0] and pairs.shape[0] < work[MAXIMUM_HOST_PAIRS])
            or work[SAMPLE_BLOCKS] + SAMPLES > pool.shape[0]
            or work[MARKS] == marks.shape[0]
            or work[ANSWERS] == answers.shape[0]
        ):
            break
        packet = get(columns, "roce.packet", row)
        meaning = wide(MEANINGS[get(columns, "roce.opcode", row)])
        if meaning == 0 or get(columns, "packets.ip_version", packet) == 0:
            row += 1
            continue
        at = find_direction(rows, index, pairs, pair_index, work, columns, row, packet, get(columns, "roce.dest_qp", row))
        time = max(get(columns, "packets.time_ns", packet), 0)
        rows[at, PACKETS] += 1
        latest = rows[at, LAST_NS]
        rows[at, LAST_NS] = max(latest, time)
        # Only a packet out of order, or the first one with a time, can be the earliest: others need not look.
        if (time < latest or latest == 0) and 0 < time < rows[at, FIRST_NS]:
            rows[at, FIRST_NS] = time
        if get(columns, "packets.ecn", packet) == _CE:
            rows[at, CE] += 1
            if rows[at, MARKED_NS] == 0:
                rows[at, MARKED_NS] = time
        find_waits(log, work, packet)
        checked = get(columns, "roce.icrc_check", row)
        if checked != ICRC_UNSAMPLED:
            rows[at, ICRC_RIGHT - ICRC_OK + min(checked, ICRC_CUT)] += 1
        if meaning & NOTIFICATION == 0:
            rows[at, TRANSPORTS] |= 1 << (get(columns, "roce.opcode", row) >> 5)
        if meaning & REQUEST != 0:
            _count_request(rows, hints, blocks, pool, marks, log, work, columns, row, at, meaning, latest, time)
        elif meaning & (RESPONSE | ACKNOWLEDGE) != 0:
            _count_answer(rows, hints, blocks, pool, marks, answers, log, work, columns, row, at, meaning, latest, time)
        elif meaning & NOTIFICATION != 0:
            count_notification(rows, at, identity_of(columns, packet), time)
        else:
            rows[at, BYTES] += payload_bytes(columns, row)
            _count_message(rows, at, meaning)
        row += 1
    return row


@inlined
def _count_message(rows: Any, at: int, meaning: int) -> None:
    """A message has begun, or what its last packet carries is seen."""
    if meaning & (BEGINS | DATAGRAM) != 0:
        rows[at, MESSAGES + (meaning & KIND)] += 1
    if meaning & IMMEDIATE != 0:
        rows[at, IMMEDIATES] += 1
    if meaning & INVALIDATE != 0:
        rows[at, INVALIDATES] += 1


@inlined
def _take_slack(rows: Any, at: int, ahead: int) -> None:
    """Let the READ before have taken the PSNs up to one that is so far ahead, if it can have been so long."""
    if 0 < ahead <= rows[at, SLACK]:
        take(rows, at, REQUESTS, REQUEST_WINDOW, ahead)
        rows[at, SLACK] -= ahead


@inlined
def _count_request(
    rows: Any,
    hints: Any,
    blocks: Any,
    pool: Any,
    marks: Any,
    log: Any,
    work: Any,
    columns: Any,
    row: int,
    at: int,
    meaning: int,
    latest: int,
    time: int,
) -> None:
    packet, psn, size = get(columns, "roce.packet", row), get(columns, "roce.psn", row) & PSN_MASK, payload_bytes(columns, row)
    count, length, slack = 1, 0, 0
    told, begin = False, 0
    if meaning & (BEGINS | ENDS) < ENDS and meaning & KIND < READ and size > 0:
        rows[at, MTU] = size
    mtu = rows[at, MTU]
    if get(columns, "roce.present", row) & HAS_RETH != 0:
        announced = get(columns, "roce.dma_bytes", row)
        if meaning & KIND == READ:
            count = packets_of(announced, mtu if mtu > 0 else LARGEST_MTU)
            slack = 0 if mtu > 0 else packets_of(announced, SMALLEST_MTU) - count
        elif meaning & KIND == WRITE and meaning & ENDS == 0 and mtu > 0:
            length = packets_of(announced, mtu)
    if rows[at, SLACK] > 0:
        _take_slack(rows, at, distance(psn, rows[at, REQUESTS + NEXT] - 1))
        rows[at, SLACK] = 0
    refused = rows[at, PENDING] == FATAL and rows[at, REFUSED] == psn + 1
    if refused and not is_copy(rows, at, REQUESTS, REQUEST_WINDOW, psn, identity_of(columns, packet)):
        # A queue pair that has failed sends again only once it was set up anew, if only from where it was (IBTA Vol.1 §9.9.2.4).
        restart(rows, at, REQUESTS, REQUEST_WINDOW)
        drop_all(rows, at, blocks, pool, work)
        rows[at, PENDING] = 0
    pending = rows[at, PENDING] != 0
    # Of a PSN above all others nothing can have been sent again.
    known = rows[at, REQUESTS + NEXT]
    sent_again = rows[at, REQUESTS + RETRANSMITTED] if known != 0 and distance(psn, known - 1) < 0 else 0
    seen, rewound = place(rows, at, REQUESTS, REQUEST_WINDOW, psn, count, True, identity_of(columns, packet), pending, latest, time)
    if seen == COPY or seen == STRAY:
        return
    rows[at, BYTES] += size
    if rewound:
        if not pending and rows[at, PEER] != 0:
            rows[at, TIMEOUTS] += 1
        rows[at, PENDING] = 0
    if seen == NEW or seen == RESTARTED:
        if seen == RESTARTED:
            drop_all(rows, at, blocks, pool, work)
        rows[at, SLACK] = slack
        asked = get(columns, "roce.ack_req", row) != 0
        before = add_new(rows, at, blocks, pool, work, meaning, psn, count, size, length, asked, time)
        told = tells_of_hops(columns, packet)
        begin = follow_newest(rows, at, meaning, told)
        if begin != 0 and meaning & BEGINS == 0:
            count_waits(rows, at, ACCOUNTS, begin - 1, log, work, told, before, time)
        if rows[at, PEER] == 0 and meaning & RELIABLE != 0:
            leave_hint(rows, hints, at, psn, time)
    elif seen == LATE or seen == FILLED:
        add_late(rows, at, blocks, pool, work, meaning, psn, count, size, length, time)
    if seen == FILLED or seen == REPEATED:
        resend(rows, at, psn, rows[at, REQUESTS + RETRANSMITTED] - sent_again)
        if seen == REPEATED:
            return
    _count_message(rows, at, meaning)
    announced = get(columns, "roce.dma_bytes", row) if get(columns, "roce.present", row) & HAS_RETH != 0 else size
    note(marks, work, rows, at, ACCOUNTS, begin, log, told, meaning, psn, announced, time)


@inlined
def _count_answer(
    rows: Any,
    hints: Any,
    blocks: Any,
    pool: Any,
    marks: Any,
    answers: Any,
    log: Any,
    work: Any,
    columns: Any,
    row: int,
    at: int,
    meaning: int,
    latest: int,
    time: int,
) -> None:
    packet, psn, size = get(columns, "roce.packet", row), get(columns, "roce.psn", row) & PSN_MASK, payload_bytes(columns, row)
    peer, paired = find_peer(rows, hints, at, psn)
    if paired:
        abandon(rows, peer, blocks, pool, work, psn)
    # Of a message that began before this state only a part is here: it is answered all the same.
    closed = _closed(rows, peer) if peer >= 0 else 0
    resent = _resent(rows, peer) if peer >= 0 else 0
    if meaning & RESPONSE != 0:
        _count_response(rows, marks, log, work, columns, row, packet, at, meaning, psn, size, latest, time)
        if peer >= 0:
            if meaning & (BEGINS | ENDS) < ENDS and size > 0 and rows[peer, MTU] == 0:
                rows[peer, MTU] = size
            if rows[peer, SLACK] > 0:
                _take_slack(rows, peer, distance(psn + 1, rows[peer, REQUESTS + NEXT] - 1))
            cover(rows, peer, blocks, pool, work, (psn - 1) & PSN_MASK, time, False)
            if _closed(rows, peer) != closed:
                again = _resent(rows, peer) != resent
                note_answer(answers, work, peer, log, tells_of_hops(columns, packet), paired, again, (psn - 1) & PSN_MASK, time)
            if meaning & ENDS != 0:
                finish_read(rows, peer, blocks, pool, work, psn, LONGEST, time)
        return
    rows[at, ACKS] += 1
    if peer < 0:
        return
    syndrome = get(columns, "roce.syndrome", row) if get(columns, "roce.present", row) & HAS_AETH != 0 else 0
    kind = syndrome & SYNDROME_KIND
    # A NAK names the PSN that is expected: what stands before it has arrived (IBTA Vol.1 §9.7.5.2.8).
    covered = psn if kind == 0 else (psn - 1) & PSN_MASK
    cover(rows, peer, blocks, pool, work, covered, time, True)
    if _closed(rows, peer) != closed:
        again = _resent(rows, peer) != resent
        note_answer(answers, work, peer, log, tells_of_hops(columns, packet), paired, again, covered, time)
    if kind == 0:
        return
    value = syndrome & SYNDROME_VALUE
    if kind != RECEIVER_NOT_READY and (kind != NEGATIVE or value != SEQUENCE_ERROR):
        kind = FATAL
    # The same NAK again, before a retransmission has answered it, is a copy.
    if rows[peer, PENDING] == kind and rows[peer, REFUSED] == psn + 1:
        return
    if kind == RECEIVER_NOT_READY:
        rows[peer, RNRS] += 1
        rows[peer, RNR_WAIT_NS] += wide(RNR_NS[value])
    elif kind == NEGATIVE:
        rows[peer, NAKS] += 1
    else:
        rows[peer, OTHER_NAKS] += 1
    rows[peer, PENDING] = kind
    rows[peer, REFUSED] = psn + 1


@inlined
def _closed(rows: Any, at: int) -> int:
    """Messages of a direction that are over, whole ones and others."""
    count: int = rows[at, COMPLETED] + rows[at, PARTIAL]
    return count


@inlined
def _resent(rows: Any, at: int) -> int:
    """Whole messages of a direction of which packets were sent again; where nothing was, their count need not be looked for."""
    count: int = rows[at, RESENT_MESSAGES] if rows[at, REQUESTS + RETRANSMITTED] != 0 else 0
    return count


@inlined
def _count_response(
    rows: Any,
    marks: Any,
    log: Any,
    work: Any,
    columns: Any,
    row: int,
    packet: int,
    at: int,
    meaning: int,
    psn: int,
    size: int,
    latest: int,
    time: int,
) -> None:
    """Place a READ response; other requests take the PSNs between one READ's and the next, so that only within one a hole is a hole."""
    holes = rows[at, RESPONDING] != 0 and meaning & BEGINS == 0
    told, begin = False, 0
    seen, _ = place(rows, at, RESPONSES, RESPONSE_WINDOW, psn, 1, holes, identity_of(columns, packet), False, latest, time)
    if seen == COPY or seen == STRAY:
        return
    rows[at, BYTES] += size
    if seen == NEW or seen == RESTARTED:
        rows[at, RESPONDING] = 1 if meaning & ENDS == 0 else 0
        told = tells_of_hops(columns, packet)
        begin = _follow_response(rows, log, work, at, meaning, psn, told, time)
    if seen != REPEATED:
        note(marks, work, rows, at, _RESPONSES, begin, log, told, meaning, psn, size, time)


@inlined
def _follow_response(rows: Any, log: Any, work: Any, at: int, meaning: int, psn: int, told: bool, time: int) -> int:
    """Account for a response packet above all others: PSN of the first of its READ + 1, 0 if that did not tell of its hops."""
    if meaning & BEGINS != 0:
        open_account(rows, at, _RESPONSES, psn if told else -1)
    elif rows[at, _RESPONSES + BEGIN] != 0:
        count_waits(rows, at, _RESPONSES, rows[at, _RESPONSES + BEGIN] - 1, log, work, told, rows[at, _RESPONSES + LATEST_NS], time)
    rows[at, _RESPONSES + LATEST_NS] = time
    begin: int = rows[at, _RESPONSES + BEGIN]
    return begin
