"""Storage I/O and collectives by hand: what hosts do, as packets of queue pairs, with every time known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from roce_reference import START, US, Packet
from roce_traffic import MTU, Wire


@dataclass
class Disk:
    """A connection of a host with a storage target: two wires, one for the requests of each side. Times in µs."""

    host: int = 1
    target: int = 9
    number: int = 0
    time: int = START
    psn: int = 1000
    packets: list[Packet] = field(default_factory=list)

    def __post_init__(self) -> None:
        ours, theirs = 16 + self.number, 512 + self.number
        self.out = Wire(psn=self.psn, here=self.host, there=self.target, here_qp=ours, there_qp=theirs)
        self.back = Wire(psn=2 * self.psn, here=self.target, there=self.host, here_qp=theirs, there_qp=ours)

    def at(self, wire: Wire, after: float) -> Wire:
        """Let time pass; the wire's next packet comes then."""
        self.time += round(after * US)
        wire.time = self.time - US
        return wire

    def _send(self, wire: Wire, kind: str, packets: int, after: float) -> None:
        """A message, the first packet `after` the last thing that happened, acknowledged 2 µs behind its last."""
        self.at(wire, after).message(kind, packets)
        self.time = wire.time
        wire.wait(US)
        wire.acknowledge(wire.psn - 1)
        self._collect()

    def command(self, after: float = 100) -> None:
        """A SEND of the host."""
        self._send(self.out, "send", 1, after)

    def fetch(self, dal: float, dpl: float, packets: int = 4) -> None:
        """The target READs the data of a write: so long after the command, so long until the first response."""
        begin = self.back.psn
        self.at(self.back, dal).send("read request", size=0, dma=packets * MTU)
        self.back.psn = begin + packets
        self.at(self.back, dpl)
        for part in range(packets):
            place = "only" if packets == 1 else "first" if part == 0 else "last" if part == packets - 1 else "middle"
            self.back.answer(f"response {place}", begin + part, MTU)
        self.time = self.back.time
        self._collect()

    def deliver(self, dal: float, packets: int = 4) -> None:
        """The target WRITEs the data of a read."""
        self._send(self.back, "write", packets, dal)

    def complete(self, after: float) -> None:
        """A SEND of the target."""
        self._send(self.back, "send", 1, after)

    def write(self, begun: float = 60, dpl: float = 8, ended: float = 7) -> None:
        """A whole write: its DAL is `begun` + `ended`."""
        self.command()
        self.fetch(begun, dpl)
        self.complete(ended)

    def read(self, dal: float = 60) -> None:
        """A whole read."""
        self.command()
        self.deliver(dal)
        self.complete(8)

    def _collect(self) -> None:
        for wire in (self.out, self.back):
            self.packets += wire.packets
            wire.packets = []


def ring(
    members: int, steps: int, late: Callable[[int, int], float], chunk: int = 3, pause_every: int = 10, begin: int = 0
) -> tuple[list[Packet], list[list[float]]]:
    """A ring of hosts 1 … members in which member m takes `late(m, step)` µs longer; and when each chunk began, in µs from START.

    Packets of a chunk are 1 µs apart; a member needs 5 µs between two chunks, and all of them 200 µs every `pause_every` steps. Packets of
    steps before `begin` are not seen.
    """
    wires = [
        Wire(psn=1000 * member, here=1 + member, there=1 + (member + 1) % members, here_qp=100 + member, there_qp=200 + member)
        for member in range(members)
    ]
    ends = [0.0] * members
    begins: list[list[float]] = []
    seen: list[Packet] = []
    for step in range(steps):
        own = 200.0 if step and step % pause_every == 0 else 5.0
        starts = [max(ends[member], ends[member - 1]) + own + late(member, step) for member in range(members)]
        begins.append(starts)
        for member, wire in enumerate(wires):
            wire.packets = []
            wire.time = START + round((starts[member] - 1) * US)
            wire.message("write", chunk)
            ends[member] = (wire.time - START) / US
            wire.acknowledge(wire.psn - 1)
            if step >= begin:
                seen += wire.packets
    return sorted(seen, key=lambda packet: packet.time), begins


def rounds(members: int, count: int, size: Callable[[int, int], int], quiet: float = 300) -> list[Packet]:
    """All-to-all of hosts 1 … members in rounds, `quiet` µs apart; target t gets messages of `size(t, round)` packets from each."""
    wires = {
        (one, other): Wire(psn=1000 * one, here=1 + one, there=1 + other, here_qp=100 * one + other, there_qp=10_000 + 100 * one + other)
        for one in range(members)
        for other in range(members)
        if one != other
    }
    packets: list[Packet] = []
    time = START
    for number in range(count):
        latest = time
        for (_, target), wire in wires.items():
            wire.packets = []
            wire.time = time
            wire.message("write", size(target, number))
            wire.acknowledge(wire.psn - 1)
            packets += wire.packets
            latest = max(latest, wire.time)
        time = latest + round(quiet * US)
    return sorted(packets, key=lambda packet: packet.time)


def together(disks: Sequence[Disk]) -> list[Packet]:
    """All packets of several connections in order of time."""
    return sorted((packet for disk in disks for packet in disk.packets), key=lambda packet: packet.time)
