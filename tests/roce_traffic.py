"""RoCEv2 traffic as queue pairs send it, from a seed: messages of all kinds, go-back-N after NAK, RNR NAK or timeout, and what mirrors do.

A `Wire` collects packets of one connection by hand; `traffic` makes random ones.
"""

from __future__ import annotations

import ipaddress
import random
import struct
from dataclasses import dataclass, field, replace

from kernel import capture_bytes
from roce_reference import START, US, WRAP, Packet, name

MTU = 1024


@dataclass
class Wire:
    """A connection: requests go from host `here` to queue pair `there_qp` of host `there`; packets are 1 µs apart unless time is moved."""

    psn: int = 1000
    here: int = 1
    there: int = 2
    here_qp: int = 17
    there_qp: int = 34
    transport: str = "RC"
    ip: int = 4
    ttl: int = 63
    time: int = START
    identification: int = 100
    packets: list[Packet] = field(default_factory=list)

    def wait(self, nanoseconds: int) -> None:
        """Let time pass."""
        self.time += nanoseconds

    def send(
        self, what: str, psn: int | None = None, size: int = MTU, *, seen: bool = True, ask: bool = False, dma: int | None = None
    ) -> Packet:
        """A request; without a PSN the next one, which it takes. What the mirror does not see is made, but not collected."""
        if psn is None:
            psn, self.psn = self.psn, (self.psn + 1) % WRAP
        return self._put(Packet(0, self.here, self.there, self.there_qp, what, psn % WRAP, size, ask, dma=dma), seen)

    def message(self, kind: str, packets: int, *, lost: tuple[int, ...] = (), size: int = MTU) -> list[Packet]:
        """A SEND or WRITE of so many packets; `lost` are those that the mirror does not see."""
        made = []
        for number in range(packets):
            part = "only" if packets == 1 else "first" if number == 0 else "last" if number == packets - 1 else "middle"
            dma = packets * size if kind == "write" and part in ("only", "first") else None
            made.append(self.send(f"{kind} {part}", size=size, seen=number not in lost, ask=number == packets - 1, dma=dma))
        return made

    def answer(self, what: str, psn: int, size: int = 0, syndrome: int = 0) -> Packet:
        """What comes back: an acknowledgement, a NAK, a READ response or a CNP."""
        return self._put(Packet(0, self.there, self.here, self.here_qp, what, psn % WRAP, size, syndrome=syndrome), True)

    def acknowledge(self, psn: int) -> Packet:
        """An ACK."""
        return self.answer("acknowledge", psn)

    def again(self, packet: Packet, **changes: int) -> Packet:
        """The same PSN in a packet that was sent anew."""
        return self._put(replace(packet, **changes), True)

    def copy(self, packet: Packet, **changes: int) -> None:
        """The same packet at another mirror point."""
        self.time += US
        self.packets.append(replace(packet, time=self.time, **changes))

    def _put(self, packet: Packet, seen: bool) -> Packet:
        self.time += US
        self.identification = (self.identification + 1) % 65536
        made = replace(
            packet, time=self.time, identification=self.identification, transport=self.transport, ip=self.ip, ttl=packet.ttl if seen else 63
        )
        if seen:
            self.packets.append(made)
        return made


def _message(rng: random.Random, wire: Wire) -> None:
    """A message with its answer, as it happens to go."""
    kind = rng.choice(("send", "write", "send", "write", "read", "atomic"))
    begin = wire.psn
    if wire.transport == "UC" or kind in ("send", "write"):
        kind = kind if kind in ("send", "write") else "send"
        sent = wire.message(kind, rng.choice((1, 1, 2, 3, 5, 20)), size=MTU)
        if rng.random() < 0.2:
            ending = "immediate" if rng.random() < 0.5 or kind == "write" or wire.transport == "UC" else "invalidate"
            last = wire.packets.pop()
            sent[-1] = replace(last, what=f"{last.what} {ending}")
            wire.packets.append(sent[-1])
        if wire.transport == "UC":
            return
        trouble = rng.random()
        if trouble < 0.25:
            back = rng.randrange(len(sent))
            if trouble < 0.2:
                syndrome = 0x60 if trouble < 0.12 else 0x20 | rng.randrange(1, 32)
                wire.answer("acknowledge", begin + back, syndrome=syndrome)
            else:
                wire.wait(rng.choice((20 * US, 4_000 * US)))
            for packet in sent[back:]:
                wire.again(packet)
        if rng.random() < 0.8:
            wire.wait(rng.randrange(50 * US))
            wire.acknowledge(wire.psn - 1)
    elif kind == "read":
        packets = rng.choice((1, 1, 3, 30))
        request = wire.send("read request", size=0, dma=packets * MTU)
        wire.psn = (begin + packets) % WRAP
        if rng.random() < 0.1:
            wire.wait(3_000 * US)
            wire.again(request)
        for number in range(packets):
            part = "only" if packets == 1 else "first" if number == 0 else "last" if number == packets - 1 else "middle"
            response = wire.answer(f"response {part}", begin + number, MTU)
            if rng.random() < 0.03:
                wire.again(response)
    else:
        wire.send(rng.choice(("compare swap", "fetch add")), size=0)
        if rng.random() < 0.9:
            wire.answer("atomic acknowledge", begin)


def traffic(
    seed: int, connections: int = 5, messages: int = 25, loss: float = 0.02, copies: float = 0.1, late: float = 0.03
) -> list[Packet]:
    """Packets of several connections, some seen from one side only, some beginning in mid-flow, near the wrap of their PSNs, or anew."""
    rng = random.Random(seed)
    packets: list[Packet] = []
    for number in range(connections):
        wire = Wire(
            psn=rng.choice((WRAP - rng.randrange(1, 200), rng.randrange(WRAP))),
            here=rng.choice((1, 2)),
            there=rng.choice((3, 4)),
            here_qp=100 + number,
            there_qp=200 + number,
            transport=rng.choice(("RC", "RC", "RC", "XRC", "UC")),
            ip=rng.choice((4, 4, 6)),
            time=START + rng.randrange(1000 * US),
            identification=rng.randrange(65536),
        )
        for _ in range(messages):
            _message(rng, wire)
            if rng.random() < 0.05:
                wire.answer("notification", 0)
            if rng.random() < 0.01:
                wire.psn = rng.randrange(WRAP)
        seen = wire.packets[rng.choice((0, 0, 7)) :]
        if rng.random() < 0.2:
            seen = [packet for packet in seen if packet.src == wire.here]
        for packet in seen:
            chance = rng.random()
            if chance < loss:
                continue
            delay = rng.randrange(30 * US) if rng.random() < late else 0
            ecn = 3 if rng.random() < 0.05 else packet.ecn
            icrc = rng.choices((0, 1, 2, 3, 5), (90, 6, 1, 2, 1))[0]
            packets.append(packet.at(packet.time + delay, ecn=ecn, icrc=icrc))
            if rng.random() < copies:
                packets.append(packet.at(packet.time + delay + rng.randrange(5 * US), ttl=packet.ttl - 1))
    return sorted(packets, key=lambda packet: packet.time)


# ---------------------------------------------------------------------------------------------------------------- on the wire


def frame(packet: Packet) -> bytes:
    """The packet as an Ethernet frame, with the extension headers of its operation (IBTA Vol.1 §9.2) and an ICRC of zeros."""
    words = packet.what.split()
    extension = b""
    if packet.transport == "XRC" and words[0] in ("send", "write", "read", "compare", "fetch"):
        extension += bytes(4)
    if words[0] == "datagram":
        extension += bytes(8)
    if packet.dma is not None:
        extension += struct.pack(">QII", 0x1000, 7, packet.dma)
    if words[0] in ("compare", "fetch"):
        extension += bytes(28)
    if (words[0] == "response" and words[1] != "middle") or "acknowledge" in words:
        extension += struct.pack(">I", packet.syndrome << 24)
    if packet.what == "atomic acknowledge":
        extension += bytes(8)
    if "immediate" in words or "invalidate" in words:
        extension += bytes(4)
    if packet.what == "notification":
        extension += bytes(16)
    base = struct.pack(">BBHII", packet.opcode, 0x40, 0xFFFF, packet.dest_qp, packet.ask << 31 | packet.psn)
    payload = base + extension + bytes(packet.size + 4)
    datagram = struct.pack(">HHHH", 50000 + packet.src, 4791, 8 + len(payload), 0) + payload
    if packet.ip == 6:
        sides = [ipaddress.ip_address(name(host, 6)).packed for host in (packet.src, packet.dst)]
        header = struct.pack(">IHBB", 6 << 28 | packet.ecn << 20, len(datagram), 17, packet.ttl) + b"".join(sides)
    else:
        sides = [ipaddress.ip_address(name(host)).packed for host in (packet.src, packet.dst)]
        size = 20 + len(datagram)
        header = struct.pack(">BBHHHBBH", 0x45, packet.ecn, size, packet.identification, 0, packet.ttl, 17, 0) + b"".join(sides)
    return bytes(12) + (b"\x86\xdd" if packet.ip == 6 else b"\x08\x00") + header + datagram


def capture(packets: list[Packet], kept: int = 96) -> bytes:
    """A pcap of these packets, of each so many bytes."""
    frames = [(packet.time, frame(packet)) for packet in packets]
    return capture_bytes((data[:kept], len(data), time) for time, data in frames)
