"""PSNs of one kind in one direction: new, late, repeated, a copy."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .limit import FAR, REORDER_NS, WINDOW
from .packet import WRAP, Packet


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
    gaps: list[int] = field(default_factory=list)  # when holes arose that stayed unfilled
    longest: int = 0

    def unwrap(self, psn: int) -> int:
        """The number nearest to the next one that has this PSN."""
        assert self.next is not None
        return self.next + (psn - self.next + WRAP // 2) % WRAP - WRAP // 2

    def forget(self, before: int) -> None:
        """Holes below this PSN will not be filled any more."""
        gone = [psn for psn in self.holes if psn < before]
        self.counters["unfilled"] += len(gone)
        for psn in gone:
            self.gaps.append(self.holes.pop(psn))

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

    def place(self, packet: Packet, count: int, holes: bool, pending: bool, before: int) -> tuple[str, int, bool]:
        """What the packet is, its unwrapped PSN, and whether it begins a rewind; `before`: time of the packet before."""
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
                self.longest = max(self.longest, packet.time - before) if psn > self.next and before else self.longest
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
