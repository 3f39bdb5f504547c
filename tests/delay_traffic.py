"""Messages by hand whose packets tell how long they were in the queues of two nodes."""

from __future__ import annotations

import dataclasses

from roce_reference import Packet
from roce_traffic import Wire

from int_analyzer.profile import Profile, Units

IN_NS = Profile(units=Units(hop_latency="ns"))
CALM = (500, 500)


def calm(wire: Wire, count: int = 6, packets: int = 4) -> None:
    """So many messages that did not wait: each takes 3 µs for its packets and 1 µs until it is acknowledged."""
    for _ in range(count):
        send(wire, [CALM] * packets)


def send(wire: Wire, hops: list[tuple[int, ...]], answer: tuple[int, ...] = CALM, gap: int = 0) -> list[Packet]:
    """A WRITE whose packets tell of these hops, `gap` more than 1 µs apart, and its acknowledgement."""
    first = len(wire.packets)
    wire.message("write", len(hops))
    for number, latencies in enumerate(hops):
        packet = wire.packets[first + number]
        wire.packets[first + number] = dataclasses.replace(packet, hops=latencies, time=packet.time + number * gap)
    wire.wait((len(hops) - 1) * gap)
    wire.packets.append(dataclasses.replace(wire.acknowledge(wire.psn - 1), hops=answer))
    del wire.packets[-2]
    return wire.packets[first:]
