"""One direction of a connection: its messages, and what answers them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .limit import OPEN_RUNS, REORDER_NS, WINDOW
from .order import Order
from .packet import Packet
from .run import Run


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
        self.latest = self.before = 0  # time of the last packet, and of that before
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
