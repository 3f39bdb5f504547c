"""The slow twin of delays: every message from the rows of a capture, packet by packet, with the time that it lost in each queue.

Shares nothing with the fold but the definitions: fold/waits.py, analysis/delay.py. For captures in which no packet was lost or overtook
another, with hop latency in ns.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median_high
from typing import Any

import pandas as pd

from int_analyzer import Result

BEGINS = {0x00: "send", 0x04: "send", 0x06: "write", 0x0A: "write", 0x0C: "read"}
ENDS = {0x02, 0x04, 0x08, 0x0A, 0x0C}
REQUESTS, RESPONSES, ACKNOWLEDGE = range(0x0D), range(0x0D, 0x11), 0x11
WRAP = 1 << 24
Queue = tuple[int, int, int]


@dataclass
class Message:
    """A message as it goes on."""

    src: str
    dst: str
    kind: str
    psn: int
    size: int
    begin: int
    latest: int
    whole: bool = False
    last_psn: int = 0
    before: int = 0
    done: int | None = None
    lost: dict[Queue, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def time(self) -> int:
        """From when its first packet, had it not waited, would have been seen, to its answer."""
        assert self.done is not None
        return self.done - self.begin + self.before


@dataclass
class _Water:
    low: int = 1 << 62
    shallow: int = 1 << 62
    mean: int = 0


def messages_in(result: Result) -> list[Message]:
    """All messages with their answer, in the order in which they began."""
    waits = _waits(result.hops)
    rows = (
        result.roce.merge(result.packets[["packet", "time_ns", "src", "dst"]], on="packet").sort_values("packet").astype({"psn": "int64"})
    )
    open_of: dict[tuple[str, str], list[Message]] = defaultdict(list)
    sending: dict[tuple[str, str, int], Message] = {}
    peers = _peers(rows)
    found: list[Message] = []
    for row in rows.itertuples():
        here, waited = (row.src, row.dst, row.dest_qp), waits.get(row.packet, [])
        if row.opcode in REQUESTS:
            if row.opcode in BEGINS:
                size = row.dma_bytes if not pd.isna(row.dma_bytes) else 0
                message = Message(row.src, row.dst, BEGINS[row.opcode], row.psn, int(size), row.time_ns, row.time_ns)
                message.before = _lose(message, waited, math.inf)
                open_of[here].append(message)
                sending[here] = message
                found.append(message)
            else:
                message = sending[here]
                _go_on(message, waited, row.time_ns)
            if message.kind == "send":
                message.size += int(row.payload_bytes)
            message.last_psn = row.psn
            message.whole = row.opcode in ENDS
        elif here in peers:
            waiting = open_of[peers[here]]
            if row.opcode in RESPONSES:
                message = next(one for one in waiting if one.kind == "read" and (row.psn - one.psn) % WRAP < 1 << 16)
                _go_on(message, waited, row.time_ns)
                if row.opcode in (0x0F, 0x10):
                    message.done = row.time_ns
                    waiting.remove(message)
            elif row.opcode == ACKNOWLEDGE:
                covered = [one for one in waiting if one.whole and one.kind != "read" and (row.psn - one.last_psn) % WRAP < WRAP // 2]
                for message in covered:
                    _go_on(message, waited, row.time_ns)
                    message.done = row.time_ns
                    waiting.remove(message)
    return [message for message in found if message.done is not None]


def delays_in(messages: list[Message]) -> list[tuple[Message, float, dict[Queue, float]]]:
    """Of each message what is usual (NaN: not known), and what it lost in each queue."""
    alike: dict[Any, list[int]] = defaultdict(list)
    for message in messages:
        if sum(message.lost.values()) < 0.1 * message.time:
            for key in _keys(message):
                alike[key].append(message.time)
    told = []
    for message in messages:
        usual = next((float(median_high(alike[key])) for key in _keys(message) if len(alike[key]) >= 5), math.nan)
        longer = message.time - (0 if math.isnan(usual) else usual)
        waited = sum(message.lost.values())
        part = min(1.0, max(longer, 0) / waited) if waited else 0.0
        told.append((message, usual, {queue: lost * part for queue, lost in message.lost.items()}))
    return told


def _keys(message: Message) -> tuple[Any, Any]:
    """What messages it is compared with: between the same hosts, else in the whole fabric."""
    kind = (message.kind, math.ceil(math.log2(max(message.size, 1))))
    return (message.src, message.dst, *kind), kind


def _go_on(message: Message, waited: list[tuple[Queue, int]], time: int) -> None:
    _lose(message, waited, time - message.latest)
    message.latest = time


def _lose(message: Message, waited: list[tuple[Queue, int]], room: float) -> int:
    """Tell the time before a packet of the queues that it waited in, the last first."""
    lost = 0
    for queue, wait in reversed(waited):
        part = min(wait, room - lost)
        message.lost[queue] += part
        lost += int(part)
    return lost


def _waits(hops: pd.DataFrame) -> dict[int, list[tuple[Queue, int]]]:
    """What each packet waited in queues that were well above their low-water mark then, in path order."""
    water: dict[Queue, _Water] = defaultdict(_Water)
    waits: dict[int, list[tuple[Queue, int]]] = defaultdict(list)
    for hop in hops.itertuples():
        queue = (int(hop.node_id), int(hop.egress_port), int(hop.queue_id))
        seen, latency, depth = water[queue], int(hop.hop_latency_raw), int(hop.queue_depth_raw)
        seen.low, seen.shallow = min(seen.low, latency), min(seen.shallow, depth)
        mean, seen.mean = seen.mean >> 10, seen.mean + depth - (seen.mean >> 10)
        deep = depth > 4 * seen.shallow + 4 and depth > (4 if seen.low > 0 else 1) * mean
        if (latency > 4 * seen.low + 4 or deep) and latency > seen.low:
            waits[int(hop.packet)].append((queue, latency - seen.low))
    return waits


def _peers(rows: pd.DataFrame) -> dict[tuple[str, str, int], tuple[str, str, int]]:
    """The direction that another one answers: the pairs of queue pairs between two hosts in which PSNs match."""
    last = rows[rows.opcode.isin(ENDS)]
    asked = {(row.src, row.dst, row.dest_qp, row.psn) for row in last.itertuples()}
    by_psn: dict[tuple[str, str, int], list[tuple[str, str, int]]] = defaultdict(list)
    for src, dst, queue_pair, psn in asked:
        by_psn[src, dst, psn].append((src, dst, queue_pair))
    votes: dict[Any, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows[(rows.opcode == ACKNOWLEDGE) | rows.opcode.isin([0x0D, 0x10])].itertuples():
        for asking in by_psn.get((row.dst, row.src, row.psn), []):
            votes[row.src, row.dst, row.dest_qp][asking] += 1
    return {answering: max(told, key=lambda asking: told[asking]) for answering, told in votes.items()}
