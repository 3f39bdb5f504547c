"""The slow, obvious twin of the connection tracker: unwrapped PSNs, dictionaries and lists, nothing shared with the kernel but limits.

Written from the rules of the transport (IBTA Vol.1 ch. 9, Annex A17) and the definitions of the measures. `fill` puts packets into columns
that are full of garbage wherever nothing was given; `expected` says what a state must know, `known` brings a view into the same form.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from int_analyzer import schema
from int_analyzer.columns import N_HOPS, N_PACKETS, N_ROCE, Columns, allocate
from int_analyzer.fold.state import Capacity, State
from int_analyzer.fold.transport import KINDS
from int_analyzer.fold.view import View

START = 1_700_000_000_000_000_000
US = 1_000
WRAP = 1 << 24

# The limits that the tracker declares.
WINDOW, REORDER_NS, FAR, OPEN_RUNS, HINT_NS, OUTSTANDING, VERIFIED = 128, 1_000_000, 1 << 16, 16, 10_000_000, 1 << 12, 3
CNP_WINDOW_NS = 10_000_000
FATAL = 4
"""A kind of NAK that syndromes do not have: the connection has failed."""

OPERATIONS = {
    "send first": 0x00,
    "send middle": 0x01,
    "send last": 0x02,
    "send last immediate": 0x03,
    "send only": 0x04,
    "send only immediate": 0x05,
    "write first": 0x06,
    "write middle": 0x07,
    "write last": 0x08,
    "write last immediate": 0x09,
    "write only": 0x0A,
    "write only immediate": 0x0B,
    "read request": 0x0C,
    "response first": 0x0D,
    "response middle": 0x0E,
    "response last": 0x0F,
    "response only": 0x10,
    "acknowledge": 0x11,
    "atomic acknowledge": 0x12,
    "compare swap": 0x13,
    "fetch add": 0x14,
    "send last invalidate": 0x16,
    "send only invalidate": 0x17,
    "datagram": 0x64,
    "datagram immediate": 0x65,
    "notification": 0x81,
}
NAMES = {code: name for name, code in OPERATIONS.items()}
TRANSPORTS = {"RC": 0x00, "UC": 0x20, "XRC": 0xA0}


@dataclass(frozen=True)
class Packet:
    """A RoCEv2 packet; hosts are small numbers, `identification` is that of IPv4, `what` an operation by name."""

    time: int
    src: int
    dst: int
    dest_qp: int
    what: str
    psn: int
    size: int = 0
    ask: bool = False
    syndrome: int = 0
    dma: int | None = None
    identification: int = 0
    ttl: int = 63
    ecn: int = 2
    ip: int = 4
    transport: str = "RC"
    icrc: int = schema.ICRC_UNSAMPLED
    hops: tuple[int, ...] = ()
    """Hop latencies at nodes 1, 2, … on the way."""

    @property
    def opcode(self) -> int:
        code = OPERATIONS[self.what]
        return code if code >= 0x60 else code | TRANSPORTS[self.transport]

    @property
    def key(self) -> tuple[str, str, int]:
        return name(self.src, self.ip), name(self.dst, self.ip), self.dest_qp

    def at(self, time: int, **changes: Any) -> Packet:
        """The same packet at another time."""
        return replace(self, time=time, **changes)


def name(host: int, ip: int = 4) -> str:
    """The address of a host."""
    return f"10.0.0.{host}" if ip == 4 else f"2001::{host:x}"


_COLUMNS = allocate()
_COLUMNS.arena[:] = np.random.default_rng(2).integers(0, 256, _COLUMNS.arena.size)
_AETH = ("response first", "response last", "response only", "acknowledge", "atomic acknowledge")


def fill(packets: Sequence[Packet]) -> Columns:
    """The columns of one batch; they are the same arrays in every call."""
    table, roce = _COLUMNS.packets, _COLUMNS.roce
    first_hop = 0
    for row, packet in enumerate(packets):
        high = 0x2001 << 48 if packet.ip == 6 else 0
        base = 0 if packet.ip == 6 else 0x0A000000
        values = {
            "time_ns": packet.time,
            "original_bytes": 100 + packet.size,
            "captured_bytes": 100,
            "ip_bytes": 86 + packet.size,
            "ip_version": packet.ip,
            "src_hi": high,
            "src_lo": base + packet.src,
            "dst_hi": high,
            "dst_lo": base + packet.dst,
            "protocol": 17,
            "src_port": 50000 + packet.src,
            "dst_port": 4791,
            "ecn": packet.ecn,
            "ttl": packet.ttl,
            "ip_id": packet.identification,
            "formats": 1 << schema.FORMAT_ROCE,
            "telemetry": 0,
            "hop_count": 0,
            "first_hop": 0,
            "roce_row": row,
            "report_count": 0,
            "status": 0,
            "warnings": 0,
            "tunnels": 0,
        }
        if packet.hops:
            values |= {"telemetry": schema.FORMAT_INT_MD_2, "hop_count": len(packet.hops), "first_hop": first_hop}
            first_hop = _fill_hops(packet, first_hop)
        for column, value in values.items():
            getattr(table, column)[row] = value
        roce.packet[row], roce.opcode[row], roce.dest_qp[row], roce.psn[row] = row, packet.opcode, packet.dest_qp, packet.psn
        roce.ack_req[row], roce.payload_bytes[row], roce.icrc_check[row] = packet.ask, packet.size, packet.icrc
        present = schema.HAS_PAYLOAD
        if packet.what in _AETH:
            present |= schema.HAS_AETH
            roce.syndrome[row] = packet.syndrome
        if packet.dma is not None:
            present |= schema.HAS_RETH
            roce.dma_bytes[row] = packet.dma
        roce.present[row] = present
    _COLUMNS.counts[:] = 0
    _COLUMNS.counts[[N_PACKETS, N_ROCE]] = len(packets)
    _COLUMNS.counts[N_HOPS] = first_hop
    return _COLUMNS


def _fill_hops(packet: Packet, row: int) -> int:
    """Add its hops from this row on; returns the row behind them. The way back leaves the same nodes by other ports."""
    for number, latency in enumerate(packet.hops, row):
        hops = _COLUMNS.hops
        hops.present[number] = schema.HAS_NODE | schema.HAS_EGRESS_PORT | schema.HAS_LATENCY
        hops.node_id[number], hops.egress_port[number] = 1 + number - row, 1 if packet.src < packet.dst else 2
        hops.hop_latency_raw[number] = latency
    return row + len(packet.hops)


def folded(packets: Sequence[Packet], compiled: bool = False, capacity: Capacity | None = None, batch: int = 1000) -> State:
    """A state of these packets, `batch` at a time."""
    state = State(capacity)
    for begin in range(0, len(packets), batch):
        state.fold(fill(packets[begin : begin + batch]), compiled)
    return state


# ------------------------------------------------------------------------------------------------------------ the tracker


@dataclass
class Run:
    """Packets of what may be one message: first and next PSN (unwrapped), and what was seen of them."""

    first: int
    next: int
    kind: str
    started: bool
    ended: bool
    size: int
    times: list[int]
    length: int = 0
    timed: tuple[int, int] | None = None
    again: int = 0

    def takes(self, other: Run) -> bool:
        """Whether nothing but packets of this message can lie between this run and the next."""
        if self.ended or other.started or self.kind != other.kind:
            return False
        return other.first - self.next <= 1 or other.first - self.first < self.length

    def take(self, other: Run) -> None:
        self.next = other.next
        self.ended |= other.ended
        self.size += other.size
        self.times += other.times
        self.again += other.again
        self.timed = self.timed or other.timed


@dataclass
class Order:
    """PSNs of one kind in one direction: what was seen of each (unwrapped)."""

    counters: Counter[str] = field(default_factory=Counter)
    next: int | None = None
    seen: dict[int, tuple[int, int]] = field(default_factory=dict)  # identification, TTL of the last packet
    holes: dict[int, int] = field(default_factory=dict)  # when it arose
    taken: set[int] = field(default_factory=set)
    previous: tuple[int, int, int] | None = None
    static: bool = False
    stray: int | None = None
    last_behind: int | None = None
    late_run: int = 0
    rewinding: bool = False
    rewound: list[int] = field(default_factory=list)

    def unwrap(self, psn: int) -> int:
        """The number nearest to the next one that has this PSN."""
        assert self.next is not None
        return self.next + (psn - self.next + WRAP // 2) % WRAP - WRAP // 2

    def forget(self, before: int) -> None:
        """Holes below this PSN will not be filled any more."""
        gone = [psn for psn in self.holes if psn < before]
        self.counters["unfilled"] += len(gone)
        for psn in gone:
            del self.holes[psn]

    def restart(self) -> None:
        """What comes next is the first packet of a new connection."""
        self.forget(1 << 62)
        self.seen, self.taken, self.next = {}, set(), None
        self.counters["restarts"] += 1

    def advance(self, packet: Packet, psn: int, count: int) -> None:
        identity = (packet.identification, packet.ttl, packet.ip)
        self.static = self.previous is not None and self.previous[0] == identity[0]
        self.previous = identity
        self.seen[psn] = identity[:2]
        self.taken |= set(range(psn + 1, psn + count))
        self.next = psn + count
        self.forget(self.next - WINDOW)
        self.counters["data"] += 1
        self.last_behind, self.late_run, self.rewinding, self.stray = None, 0, False, None

    def place(self, packet: Packet, count: int, holes: bool, pending: bool) -> tuple[str, int, bool]:
        """What the packet is, its unwrapped PSN, and whether it begins a rewind."""
        if self.next is None:
            psn = packet.psn + WRAP
            self.advance(packet, psn, count)
            return "new", psn, False
        psn = self.unwrap(packet.psn)
        if not -FAR <= psn - self.next < FAR:
            if self.stray != packet.psn:
                self.stray = (packet.psn + count) % WRAP
                return "stray", psn, False
            self.forget(1 << 62)
            self.seen, self.taken = {}, set()
            self.counters["restarts"] += 1
            self.advance(packet, psn, count)
            return "restarted", psn, False
        if psn >= self.next:
            if holes:
                self.holes |= dict.fromkeys(range(self.next, psn), packet.time)
            self.advance(packet, psn, count)
            return "new", psn, False
        return self._behind(packet, psn, pending)

    def is_copy(self, packet: Packet, psn: int) -> bool:
        """Whether this very packet was seen before, at another mirror point."""
        if psn not in self.seen:
            return False
        by_identification = packet.ip == 4 and not self.static
        before = self.seen[psn]
        return before[0] == packet.identification if by_identification else before[1] != packet.ttl

    def _behind(self, packet: Packet, psn: int, pending: bool) -> tuple[str, int, bool]:
        assert self.next is not None
        goes_on = self.last_behind is not None and psn == self.last_behind + 1
        what = "repeated"
        if psn >= self.next - WINDOW:
            if psn in self.seen:
                if self.is_copy(packet, psn):
                    self.counters["duplicates"] += 1
                    return "copy", psn, False
            elif psn not in self.taken:
                old = psn in self.holes and (packet.time >> 10) - (self.holes[psn] >> 10) << 10 > REORDER_NS
                what = "filled" if pending or old or (goes_on and self.rewinding) else "late"
            self.holes.pop(psn, None)
            self.taken.discard(psn)
            self.seen[psn] = (packet.identification, packet.ttl)
        self.counters["data"] += 1
        self.stray = None
        last, self.last_behind = self.last_behind, psn
        if what == "late":
            self.counters["out_of_order"] += 1
            self.late_run = self.late_run + 1 if goes_on else 1
            return what, psn, False
        rewound = not self.rewinding or last is None or psn <= last
        if goes_on and not self.rewinding:
            self.counters["out_of_order"] -= self.late_run
            self.counters["retransmitted"] += self.late_run
        self.counters["retransmitted"] += 1
        self.counters["rewinds"] += rewound
        if rewound:
            self.rewound.append(packet.time)
        self.late_run, self.rewinding = 0, True
        return what, psn, rewound


class Direction:
    """All of one (source, destination, queue pair)."""

    def __init__(self, key: tuple[str, str, int]) -> None:
        self.key = key
        self.counters: Counter[Any] = Counter()
        self.requests, self.responses = Order(), Order()
        self.runs: list[Run] = []
        self.peer: Direction | None = None
        self.matches = self.misses = 0
        self.acked: int | None = None
        self.pending: tuple[int, int] | None = None
        self.mtu = 0
        self.slack = 0
        self.responding = False
        self.marked: int | None = None
        self.notified: list[Packet] = []
        self.delays: list[int] = []
        self.resent: list[float] = []
        self.hinted: dict[int, int] = {}  # PSN → when it was sent, while there was no peer
        self.fct: list[int] = []
        self.one_sided: list[int] = []
        self.rtt: list[int] = []

    def close(self, run: Run, time: int | None) -> None:
        self.runs.remove(run)
        if not (run.started and run.ended):
            self.counters["partial"] += 1
            return
        if run.again and run.kind in ("send", "write"):
            self.resent.append(run.again / (run.next - run.first + run.again))
        if time is None:
            self.one_sided.append(max(run.times) - min(run.times))
        else:
            self.fct.append(max(time - min(run.times), 0))
            self.counters["completed_bytes"] += run.size

    def resend(self, psn: int, packets: int) -> None:
        """A packet was sent again: none from it on is timed, and its message had so many more of these."""
        for run in self.runs:
            run.again += packets if run.first <= psn < run.next else 0
            if run.timed is not None and run.timed[0] >= psn:
                run.timed = None

    def notify(self, packet: Packet) -> None:
        """A CNP, unless it is a copy from another mirror point."""
        if self.notified:
            last = self.notified[-1]
            same = packet.ip == last.ip and (packet.ip == 6 or packet.identification == last.identification)
            if same and packet.ttl != last.ttl and abs(packet.time - last.time) < REORDER_NS:
                return
        self.notified.append(packet)
        if self.peer is None:
            return
        if self.peer.marked is not None and packet.time >= self.peer.marked:
            self.delays.append(packet.time - self.peer.marked)
        self.peer.marked = None

    def take_slack(self, psn: int) -> None:
        """The READ before takes the PSNs up to this one, if it can be so long."""
        order = self.requests
        assert order.next is not None
        if 0 < psn - order.next <= self.slack:
            order.taken |= set(range(order.next, psn))
            self.slack -= psn - order.next
            order.next = psn
            order.forget(psn - WINDOW)

    def abandon(self, psn: int) -> None:
        """What lies before the first PSN that is seen to be answered is closed."""
        while self.runs and self.runs[0].next <= psn:
            self.close(self.runs[0], None)

    def drop(self) -> None:
        if self.peer is None:
            self.close(self.runs[0], None)
        else:
            self.runs.pop(0)
            self.counters["unanswered"] += 1

    def add(self, run: Run, late: bool) -> None:
        """Put a packet into its place and let neighbours become one."""
        for other in self.runs:
            if late and other.first <= run.first < other.next:
                other.size += run.size
                other.times += run.times
                return
        if not late and self.runs and self.runs[-1].takes(run):
            self.runs[-1].take(run)
            return
        if len(self.runs) == OPEN_RUNS:
            if run.first < self.runs[0].first:
                self.counters["partial"] += 1
                return
            self.drop()
        self.runs.append(run)
        self.runs.sort(key=lambda entry: entry.first)
        at = self.runs.index(run)
        for first in (at, at - 1):
            if late and 0 <= first < len(self.runs) - 1 and self.runs[first].takes(self.runs[first + 1]):
                self.runs[first].take(self.runs.pop(first + 1))

    def cover(self, psn: int, time: int, explicit: bool) -> None:
        for run in list(self.runs):
            if run.timed is not None and psn >= run.timed[0]:
                if explicit and time >= run.timed[1]:
                    self.rtt.append(time - run.timed[1])
                run.timed = None
            if psn < run.next - 1 or (not run.ended and run is self.runs[-1]):
                return
            if run.kind == "read":
                if psn - run.next < WINDOW:
                    continue
                run.started = False
            self.close(run, time)


class Tracker:
    """Directions by key, packet by packet."""

    def __init__(self) -> None:
        self.directions: dict[tuple[str, str, int], Direction] = {}
        self.marks: list[tuple[Any, ...]] = []

    def count(self, packet: Packet) -> None:
        direction = self.directions.setdefault(packet.key, Direction(packet.key))
        direction.counters["packets"] += 1
        if packet.ecn == 3:
            direction.counters["ce"] += 1
            if direction.marked is None:
                direction.marked = packet.time
        direction.counters["icrc", min(packet.icrc, schema.ICRC_CUT)] += 1
        kind = packet.what.split()[0]
        if packet.what == "notification":
            direction.notify(packet)
        elif kind == "datagram":
            direction.counters["send"] += 1
            direction.counters["immediates"] += "immediate" in packet.what
            direction.counters["bytes"] += packet.size
        elif kind == "response":
            self._response(direction, packet)
        elif "acknowledge" in packet.what:
            self._acknowledge(direction, packet)
        else:
            self._request(direction, packet, {"compare": "atomic", "fetch": "atomic"}.get(kind, kind))

    def _request(self, direction: Direction, packet: Packet, kind: str) -> None:
        words = packet.what.split()
        starts = kind in ("read", "atomic") or "only" in words or "first" in words
        ends = kind in ("read", "atomic") or "only" in words or "last" in words
        if not ends and packet.size:
            direction.mtu = packet.size
        count, length, slack = 1, 0, 0
        if kind == "read":
            least, most = (max(-(-packet.dma // size), 1) for size in (direction.mtu or 4096, direction.mtu or 256))  # type: ignore[operator]
            count, slack = least, most - least
        elif packet.dma is not None and not ends and direction.mtu:
            length = max(-(-packet.dma // direction.mtu), 1)
        order = direction.requests
        if direction.slack and order.next is not None:
            direction.take_slack(order.unwrap(packet.psn))
            direction.slack = 0
        if direction.pending == (FATAL, packet.psn) and not order.is_copy(packet, order.unwrap(packet.psn)):
            while direction.runs:
                direction.drop()
            order.restart()
            direction.pending = None
        pending, sent_again = direction.pending is not None, order.counters["retransmitted"]
        what, psn, rewound = order.place(packet, count, True, pending)
        if what in ("copy", "stray"):
            return
        direction.counters["bytes"] += packet.size
        if rewound:
            direction.counters["timeouts"] += not pending and direction.peer is not None
            direction.pending = None
        sent_again = order.counters["retransmitted"] - sent_again
        if what == "repeated":
            direction.resend(psn, sent_again)
            return
        self.note(packet, kind, starts, ends, packet.size if packet.dma is None else packet.dma)
        if what == "restarted":
            while direction.runs:
                direction.drop()
        run = Run(psn, psn + count, kind, starts, ends, packet.size, [packet.time], length)
        if what in ("new", "restarted"):
            direction.slack = slack
            if (packet.ask or ends) and kind in ("send", "write"):
                run.timed = (psn, packet.time)
            if direction.peer is None and packet.transport != "UC":
                direction.hinted[packet.psn] = packet.time
        direction.add(run, what in ("late", "filled"))
        if what == "filled":
            direction.resend(psn, sent_again)
        direction.counters[kind] += starts
        direction.counters["immediates"] += "immediate" in words
        direction.counters["invalidates"] += "invalidate" in words

    def note(self, packet: Packet, kind: str, starts: bool, ends: bool, size: int) -> None:
        """Mark the first and the last packet of a message."""
        if starts or ends:
            self.marks.append((packet.time, packet.key, kind, starts, ends, packet.psn, size))

    def _peer(self, direction: Direction, packet: Packet) -> tuple[Direction | None, bool]:
        if direction.peer is None:
            back = (direction.key[1], direction.key[0])
            fit = [
                other
                for key, other in self.directions.items()
                if key[:2] == back and other.peer is None and other is not direction and packet.psn in other.hinted
            ]
            fit.sort(key=lambda other: -other.hinted[packet.psn])
            if not fit or (len(fit) > 1 and fit[0].hinted[packet.psn] - fit[1].hinted[packet.psn] < HINT_NS):
                return None, False
            peer = fit[0]
            direction.peer, peer.peer = peer, direction
            for side in (direction, peer):
                side.matches = side.misses = 0
            self._match(direction, peer, packet.psn)
            return peer, True
        peer = direction.peer
        if peer.requests.next is not None:
            behind = peer.requests.next - 1 - peer.requests.unwrap(packet.psn)
            if -WINDOW - peer.slack <= behind < OUTSTANDING:
                self._match(direction, peer, packet.psn)
                return peer, False
        for side in (direction, peer):
            side.misses += 1
        if 4 * direction.misses > direction.matches + 4:
            for side in (direction, peer):
                side.peer = side.acked = None
        return None, False

    @staticmethod
    def _match(direction: Direction, peer: Direction, psn: int) -> None:
        if peer.acked is None or 0 < (psn - peer.acked) % WRAP < WRAP // 2:
            direction.matches += 1
            peer.matches += 1
            peer.acked = psn

    def _response(self, direction: Direction, packet: Packet) -> None:
        peer, paired = self._peer(direction, packet)
        if paired and peer is not None:
            peer.abandon(peer.requests.unwrap(packet.psn))
        starts, ends = packet.what in ("response first", "response only"), packet.what in ("response last", "response only")
        what, _, _ = direction.responses.place(packet, 1, direction.responding and not starts, False)
        if what not in ("copy", "stray"):
            direction.counters["bytes"] += packet.size
            if what != "repeated":
                self.note(packet, "response", starts, ends, packet.size)
        if what in ("new", "restarted"):
            direction.responding = not ends
        if peer is None or peer.requests.next is None:
            return
        if not ends and packet.size and not peer.mtu:
            peer.mtu = packet.size
        psn = peer.requests.unwrap(packet.psn)
        if peer.slack:
            peer.take_slack(psn + 1)
        peer.cover(psn - 1, packet.time, False)
        if ends:
            before = [run for run in peer.runs if run.first <= psn]
            if before and before[-1].kind in ("read", "atomic"):
                before[-1].next = psn + 1
                peer.close(before[-1], packet.time)

    def _acknowledge(self, direction: Direction, packet: Packet) -> None:
        peer, paired = self._peer(direction, packet)
        if paired and peer is not None:
            peer.abandon(peer.requests.unwrap(packet.psn))
        direction.counters["acks"] += 1
        if peer is None:
            return
        assert peer.requests.next is not None
        psn = peer.requests.unwrap(packet.psn)
        kind, value = packet.syndrome >> 5 & 3, packet.syndrome & 31
        peer.cover(psn if kind == 0 else psn - 1, packet.time, True)
        counter = "rnr" if kind == 1 else "nak" if kind == 3 and value == 0 else "other"
        kind = FATAL if kind != 0 and counter == "other" else kind
        if kind == 0 or peer.pending == (kind, packet.psn):
            return
        peer.counters[counter] += 1
        peer.pending = (kind, packet.psn)


def expected(packets: Sequence[Packet]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """What a state must know after these packets, in the form of `known`."""
    return expected_in_turns([packets])


def _told(packets: Sequence[Packet]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """The same, and how many acknowledgements made each pair."""
    tracker = _tracked(packets)
    result = {}
    for key, direction in tracker.directions.items():
        while direction.peer is None and direction.runs:
            direction.close(direction.runs[0], None)
        counters, requests, responses = direction.counters, direction.requests.counters, direction.responses.counters
        last = max(packet.time for packet in packets if packet.key == key)
        for order in (direction.requests, direction.responses):
            order.counters["unfilled"] += sum((last >> 10) - (time >> 10) << 10 > REORDER_NS for time in order.holes.values())
        result[key] = {
            "peer": direction.peer.key if direction.peer is not None else None,
            "matches": direction.matches if direction.peer is not None else 0,
            **{
                what: requests[what] + responses[what]
                for what in ("data", "retransmitted", "out_of_order", "duplicates", "unfilled", "rewinds", "restarts")
            },
            **{what: counters[what] for what in ("packets", "bytes", "timeouts", "nak", "rnr", "other", "acks", "ce", "partial")},
            **{what: counters[what] for what in ("send", "write", "read", "atomic", "immediates", "invalidates", "completed_bytes")},
            "rewound": _span([*direction.requests.rewound, *direction.responses.rewound]),
            "cnp": (len(direction.notified), _densest(direction.notified)),
            "cnp_delays": (len(delays := direction.delays), sum(delays), min(delays, default=0), max(delays, default=0)),
            "icrc": tuple(counters["icrc", state] for state in (schema.ICRC_OK, schema.ICRC_BAD, schema.ICRC_CUT)),
            "resent": (len(direction.resent), math.floor(1e6 * max(direction.resent, default=0))),
            "unanswered": counters["unanswered"] + len(direction.runs),
            "fct": (len(direction.fct), sum(direction.fct), max(direction.fct, default=0)),
            "one_sided": (len(direction.one_sided), sum(direction.one_sided), max(direction.one_sided, default=0)),
            "rtt": (len(direction.rtt), sum(direction.rtt), min(direction.rtt, default=0), max(direction.rtt, default=0)),
        }
    return result


def _tracked(packets: Sequence[Packet]) -> Tracker:
    tracker = Tracker()
    for packet in packets:
        tracker.count(packet)
    return tracker


_PEERS = ("peer", "matches")


def expected_in_turns(turns: Sequence[Sequence[Packet]]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """What a state must know after turns of which nothing goes on in the next: each is a capture of its own, and counts add up."""
    whole: dict[tuple[str, str, int], dict[str, Any]] = {}
    for turn in turns:
        for key, now in _told(turn).items():
            before = whole.get(key, now)
            if before is not now:
                now = {what: _added(what, before[what], now[what]) for what in now} | _later_peer(before, now)
            whole[key] = now
    # two turns may have paired them differently
    parted = [key for key, direction in whole.items() if direction["peer"] is not None and whole[direction["peer"]]["peer"] != key]
    for key, direction in whole.items():
        if key in parted:
            direction |= {"peer": None, "matches": 0}
        direction["verified"] = direction.pop("matches") >= VERIFIED and direction["peer"] is not None
    return whole


def _later_peer(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    if now["peer"] is None:
        return {what: before[what] for what in _PEERS}
    return {"matches": now["matches"] + (before["matches"] if before["peer"] == now["peer"] else 0)}


def _added(what: str, before: Any, now: Any) -> Any:
    if what in _PEERS:
        return now
    if what == "rewound":
        return _span([time for time in (*before, *now) if time])
    if what in ("fct", "one_sided"):
        return before[0] + now[0], before[1] + now[1], max(before[2], now[2])
    if what in ("resent", "cnp"):
        return before[0] + now[0], max(before[1], now[1])
    if what in ("rtt", "cnp_delays"):
        least = min((times[2] for times in (before, now) if times[0]), default=0)
        return before[0] + now[0], before[1] + now[1], least, max(before[3], now[3])
    return tuple(map(sum, zip(before, now, strict=True))) if isinstance(now, tuple) else before + now


def expected_marks(packets: Sequence[Packet]) -> list[tuple[Any, ...]]:
    """What the journal must hold: time, direction, kind, whether a message begins and ends, PSN, bytes."""
    return sorted(_tracked(packets).marks)


def known_marks(view: View) -> list[tuple[Any, ...]]:
    """What it holds, in the same form."""
    seen, journal = view.connections, view.journal
    keys = list(zip(seen.src, seen.dst, seen.dest_qp.tolist(), strict=True))
    kinds = ["response" if response else KINDS[kind] for kind, response in zip(journal.kind, journal.response, strict=True)]
    columns = (journal.begins, journal.ends, journal.psn, journal.bytes)
    rows = zip(journal.time_ns.tolist(), journal.direction.tolist(), kinds, *(column.tolist() for column in columns), strict=True)
    return sorted((time, keys[direction], *rest) for time, direction, *rest in rows)


def _densest(notified: list[Packet]) -> int:
    """CNPs in the window that has most of them without a break: one that comes back to a window begins it anew."""
    runs = itertools.groupby(packet.time // CNP_WINDOW_NS for packet in notified)
    return max((len(list(run)) for _, run in runs), default=0)


def _span(times: list[int]) -> tuple[int, int]:
    """The first and the last, 0 if there is none."""
    return min(times, default=0), max(times, default=0)


def known(view: View) -> dict[tuple[str, str, int], dict[str, Any]]:
    """What a view says of each direction."""
    seen = view.connections
    keys = list(zip(seen.src, seen.dst, seen.dest_qp.tolist(), strict=True))
    names = {"nak": "naks", "rnr": "rnr_naks", "other": "other_naks", "ce": "ce_packets"}
    plain = (
        *("data", "retransmitted", "out_of_order", "duplicates", "unfilled", "rewinds", "restarts"),
        *("packets", "bytes", "timeouts", "nak", "rnr", "other", "acks", "ce", "partial"),
        *("immediates", "invalidates", "completed_bytes", "unanswered"),
    )

    def at(row: int, *columns: Any) -> tuple[int, ...]:
        return tuple(int(column[row]) for column in columns)

    return {
        key: {
            "peer": keys[int(seen.peer[row])] if seen.peer[row] >= 0 else None,
            "verified": bool(seen.verified[row]),
            **{what: int(getattr(seen, names.get(what, what))[row]) for what in plain},
            **{kind: int(counts[row]) for kind, counts in seen.messages.items()},
            "rewound": at(row, seen.first_rewind_ns, seen.last_rewind_ns),
            "cnp": at(row, seen.cnp_packets, seen.cnp_peak),
            "cnp_delays": at(row, seen.cnp_delay_count, seen.cnp_delay_sum, seen.cnp_delay_min, seen.cnp_delay_max),
            "icrc": at(row, seen.icrc_right, seen.icrc_wrong, seen.icrc_unchecked),
            "resent": at(row, seen.resent_messages, np.round(1e6 * seen.resent_share_max)),
            "fct": at(row, seen.completed, seen.fct_sum, seen.fct_max),
            "one_sided": at(row, seen.one_sided, seen.one_sided_sum, seen.one_sided_max),
            "rtt": at(row, seen.rtt_count, seen.rtt_sum, seen.rtt_min, seen.rtt_max),
        }
        for row, key in enumerate(keys)
    }
