"""All directions, packet by packet."""

from __future__ import annotations

from typing import Any

from int_analyzer import schema

from .direction import Direction
from .limit import HINT_NS, OUTSTANDING, WINDOW
from .packet import WRAP, Packet
from .run import Run

FATAL = 4
"""A kind of NAK that syndromes do not have: the connection has failed."""


class Tracker:
    """Directions by key, packet by packet."""

    def __init__(self) -> None:
        self.directions: dict[tuple[str, str, int], Direction] = {}
        self.marks: list[tuple[Any, ...]] = []

    def count(self, packet: Packet) -> None:
        direction = self.directions.setdefault(packet.key, Direction(packet.key))
        direction.counters["packets"] += 1
        direction.before, direction.latest = direction.latest, max(direction.latest, packet.time)
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
        what, psn, rewound = order.place(packet, count, True, pending, direction.before)
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
        what, _, _ = direction.responses.place(packet, 1, direction.responding and not starts, False, direction.before)
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
