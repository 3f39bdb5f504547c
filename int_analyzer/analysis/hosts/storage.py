"""Storage I/O over RDMA: where its time goes, at the host, in the network or at the target.

A host sends commands (SEND); the target fetches the data of a write (READ) or delivers that of a read (WRITE), and completes (SEND).

    DPL  write: READ request → first response                                                               the host
    RTT  what asks for an acknowledgement → its acknowledgement (RC does not acknowledge READ responses)     the network
    DAL  write: command → READ request, and last response → completion; read: command → first WRITE          the target

DPL is matched by PSN. To which command data belongs stands in no header: DAL is known of a command that was sent when no other was open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.hosts.message import UNSEEN, Messages
from int_analyzer.fold.direction import PSN_MASK
from int_analyzer.fold.transport import READ
from int_analyzer.fold.view import ConnectionView

FEWEST_COMMANDS = 3
"""Fewer commands make no connection one of storage."""
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Samples:
    """Times of one segment in order of time: when it ended and how long it took in ns, host and target (rows of `Storage.addresses`)."""

    time_ns: Any
    value_ns: Any
    host: Any
    target: Any


@dataclass(frozen=True)
class Storage:
    """Segments of all I/O. commands: sent; overlapping: of these, sent while others were open; inline: completed without data seen."""

    addresses: list[str]
    hosts: list[int]
    targets: list[int]
    dpl: Samples
    dal: Samples
    commands: int
    writes: int
    reads: int
    overlapping: int
    inline: int


def segment(seen: ConnectionView, messages: Messages) -> Storage | None:
    """The segments of all connections that look like storage: one side only sends commands and data that it is asked for."""
    commanding = _commanding(seen, messages)
    if not len(commanding):
        return None
    addresses = sorted({seen.src[row] for row in commanding.tolist()} | {seen.dst[row] for row in commanding.tolist()})
    number = {address: place for place, address in enumerate(addresses)}
    host = np.array([number[seen.src[row]] for row in commanding.tolist()], dtype=np.int64)
    target = np.array([number[seen.dst[row]] for row in commanding.tolist()], dtype=np.int64)
    # of every direction: its connection, −1 if it is not one of storage, and whether it is the host's side
    connection = np.full(len(seen.src), -1, dtype=np.int64)
    connection[commanding] = connection[seen.peer[commanding]] = np.arange(len(commanding))
    from_host = np.zeros(len(seen.src), dtype=bool)
    from_host[commanding] = True
    taking_part = messages.of(connection[messages.direction] >= 0)
    dpl_of, dpl_ns, dpl_value = _preparations(taking_part, connection[taking_part.direction])
    taking_part = taking_part.of(taking_part.whole)
    dal_of, dal_ns, dal_value, counts = _services(taking_part, connection[taking_part.direction], from_host[taking_part.direction])
    return Storage(
        addresses=addresses,
        hosts=sorted(set(host.tolist())),
        targets=sorted(set(target.tolist())),
        dpl=_in_time(dpl_ns, dpl_value, host[dpl_of], target[dpl_of]),
        dal=_in_time(dal_ns, dal_value, host[dal_of], target[dal_of]),
        **counts,
    )


def _commanding(seen: ConnectionView, messages: Messages) -> Any:
    """Directions from hosts to targets: SENDs only, while the other side sends SENDs, and READs or WRITEs."""
    size = len(seen.src)
    sends = np.bincount(messages.direction[messages.sends], minlength=size)
    moves = np.bincount(messages.direction[messages.reads | messages.writes], minlength=size)
    asked = (seen.peer >= 0) & (sends >= FEWEST_COMMANDS) & (moves == 0)
    return np.nonzero(asked & (sends[seen.peer] > 0) & (moves[seen.peer] > 0))[0]


def _preparations(messages: Messages, of: Any) -> tuple[Any, Any, Any]:
    """DPL of every READ: connection, time of the first response, and value. Response and request have the same PSN."""
    rows = np.nonzero((messages.reads | (messages.response & (messages.kind == READ))) & (messages.begin_ns != UNSEEN))[0]
    psn = messages.psn[rows] & PSN_MASK
    rows = rows[np.lexsort((messages.begin_ns[rows], psn, of[rows]))]
    request, response = rows[:-1], rows[1:]
    same = (of[request] == of[response]) & ((messages.psn[request] ^ messages.psn[response]) & PSN_MASK == 0)
    fits = same & ~messages.response[request] & messages.response[response]
    request, response = request[fits], response[fits]
    return of[request], messages.begin_ns[response], messages.begin_ns[response] - messages.begin_ns[request]


def _services(messages: Messages, of: Any, outward: Any) -> tuple[Any, Any, Any, dict[str, int]]:
    """DAL of every command that was alone: connection, time of the target's last move that is in it, value; and counts of commands."""
    order = np.lexsort((messages.begin_ns, of))
    taken, of, outward = messages.of(order), of[order], outward[order]
    command = taken.sends & outward
    # Of every message: the command before it on the same connection.
    number = np.cumsum(command) - 1
    began = np.nonzero(command)[0]
    known = (number >= 0) & (of == of[began[np.maximum(number, 0)]])
    size = len(began)

    def first(mask: Any, times: Any) -> Any:
        result = np.full(size, NEVER)
        np.minimum.at(result, number[mask & known], times[mask & known])
        return result

    def last(mask: Any, times: Any) -> Any:
        result = np.zeros(size, dtype=np.int64)
        np.maximum.at(result, number[mask & known], times[mask & known])
        return result

    completion = taken.sends & ~outward
    completions = np.bincount(number[completion & known], minlength=size)
    asked, delivered = first(taken.reads, taken.begin_ns), first(taken.writes, taken.begin_ns)
    answered, completed = last(taken.response, taken.end_ns), first(completion, taken.begin_ns)
    sent = taken.end_ns[began]
    alone = completions == 1
    writes = alone & (sent <= asked) & (asked < answered) & (answered <= completed) & (delivered == NEVER)
    reads = alone & (sent <= delivered) & (delivered < completed) & (asked == NEVER)
    inline = alone & (asked == NEVER) & (delivered == NEVER)
    # The last command of a connection may not be complete yet.
    latest = np.append(of[began[1:]] != of[began[:-1]], True)
    counts = {
        "commands": size,
        "writes": int(writes.sum()),
        "reads": int(reads.sum()),
        "overlapping": int((~alone & ~latest).sum()),
        "inline": int(inline.sum()),
    }
    served = writes | reads
    value = np.where(writes, (asked - sent) + (completed - answered), delivered - sent)[served]
    return of[began][served], np.where(writes, completed, delivered)[served], value, counts


def _in_time(time_ns: Any, value_ns: Any, host: Any, target: Any) -> Samples:
    order = np.argsort(time_ns, kind="stable")
    return Samples(time_ns[order], value_ns[order].astype(np.float64), host[order], target[order])
