"""A scenario on its way to a simulation: what the hosts send, what is done to the fabric, and what the right answer will be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from int_analyzer.synth.address import FIRST_PORT, PORTS, hash_flow, spine_of
from int_analyzer.synth.fabric import Fabric
from int_analyzer.synth.state import SET_BYTE_TIME, SET_UP
from int_analyzer.synth.traffic import Traffic
from int_analyzer.synth.world import Action, byte_time

MILLISECOND = 1_000_000
MESSAGE_BYTES = 65_536
PEERS = 15
"""Hosts that a host talks to in background traffic, at most."""
PACE = 1.3
"""Background messages are sent so much faster than needed: gaps between them, but no bursts at line rate."""


@dataclass
class Root:
    """A port that is the cause: its link, why, from when to when something is done about it, the flows that fill the queue.

    `bursts`: messages that make a short burst, burst by burst. `fills`: False where nothing queues.
    """

    link: int
    cause: str
    start_ns: int
    end_ns: int
    culprits: list[int] = field(default_factory=list)
    bursts: list[list[int]] = field(default_factory=list)
    fills: bool = True


@dataclass
class Scene:
    """Filled by a scenario's build function. `options` are settings of world.Settings that it needs.

    `counted_every_ns`: counters of switches are read so often, 0: never.
    """

    name: str
    fabric: Fabric
    seed: int
    end_ns: int
    load: float
    traffic: Traffic = field(default_factory=Traffic)
    actions: list[Action] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    clock_offset_ns: int = 50
    clock_drift_ppb: int = 0
    counted_every_ns: int = 0
    roots: list[Root] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    hosts: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = np.random.default_rng((self.seed, 3, *self.name.encode()))

    @property
    def host_bps(self) -> int:
        """Speed of a host's link."""
        return int(self.fabric.links.speed_bps[0])

    def pick(self, count: int, apart_from: set[int] = frozenset(), leaves_apart: set[int] = frozenset()) -> list[int]:  # type: ignore[assignment]
        """Different hosts, at most `count`; none of those given, none on those leaves."""
        free = [host for host in range(self.fabric.hosts) if host not in apart_from and self.fabric.leaf_of(host) not in leaves_apart]
        return sorted(self.chance.permutation(free)[:count].tolist())

    def window(self, earliest: float = 0.25, latest: float = 0.4, shortest: float = 0.3, longest: float = 0.45) -> tuple[int, int]:
        """A stretch of time somewhere in the capture; arguments are shares of the capture's time."""
        start = self.chance.uniform(earliest, latest)
        return int(start * self.end_ns), int((start + self.chance.uniform(shortest, longest)) * self.end_ns)

    def background(self, load: float, hosts: list[int] | None = None) -> list[int]:
        """All-to-all traffic that gives every host's link this load. Returns its flows."""
        members = list(range(self.fabric.hosts)) if hosts is None else hosts
        # The same distances for every host: each is sent to by as many as it sends to.
        distances = (1 + self.chance.permutation(len(members) - 1)[:PEERS]).tolist()
        bps = self.host_bps * load / len(distances)
        return [
            self.stream(source, members[(place + distance) % len(members)], bps, 0, self.end_ns)
            for place, source in enumerate(members)
            for distance in distances
        ]

    def stream(self, source: int, target: int, bps: float, start_ns: int, end_ns: int, port: int | None = None) -> int:
        """Messages at random intervals, `bps` in the mean. Returns the flow."""
        flow = self.traffic.connect(source, target, PACE * bps, port)
        interval = 8e9 * MESSAGE_BYTES / bps
        shortest = interval / PACE
        at = start_ns + self.chance.uniform(0, interval)
        while at < end_ns:
            self.traffic.send_at(at, flow, MESSAGE_BYTES)
            at += shortest + self.chance.exponential(interval - shortest)
        return flow

    def rush(self, sources: list[int], target: int, size: int, start_ns: int, spread_ns: int = 20_000) -> list[int]:
        """Every source sends `size` bytes to one target as fast as it can, nearly at once. Returns the messages."""
        flows = [self.traffic.connect(source, target) for source in sources]
        return [self.traffic.send_at(start_ns + self.chance.uniform(0, spread_ns), flow, size) for flow in flows]

    def incast(self, sources: list[int], target: int, start_ns: int, end_ns: int) -> Root:
        """Sources together fill the link to a host from `start_ns` to about `end_ns`; that port is the root."""
        size = int(self.host_bps / 8e9 * (end_ns - start_ns) / len(sources))
        messages = self.rush(sources, target, size, start_ns)
        culprits = [self.traffic.messages[message].flow for message in messages]
        root = Root(self.fabric.to_host(target), "overload", start_ns, end_ns, culprits)
        self.roots.append(root)
        return root

    def steer(self, source: int, target: int, spine: int) -> int:
        """A UDP source port with which a flow between hosts of two leaves goes over a spine."""
        fabric = self.fabric
        ports = np.arange(FIRST_PORT, FIRST_PORT + PORTS)
        chosen = spine_of(hash_flow(fabric.address(source), fabric.address(target), ports), fabric.spines)
        return int(self.chance.choice(ports[chosen == spine]))

    def load_link(self, link: int, bps: float, start_ns: int, end_ns: int, flows: int = 8) -> list[int]:
        """Streams over one link between a leaf and a spine, together `bps`. Returns the flows."""
        fabric = self.fabric
        pair, down = divmod(link - 2 * fabric.hosts, 2)
        leaf, spine = divmod(pair, fabric.spines)
        near = [host for host in range(fabric.hosts) if fabric.leaf_of(host) == leaf]
        made = []
        for number in range(flows):
            here = near[number % len(near)]
            there = self.pick(1, leaves_apart={leaf})[0]
            source, target = (there, here) if down else (here, there)
            made.append(self.stream(source, target, bps / flows, start_ns, end_ns, self.steer(source, target, spine)))
        return made

    def slow_link(self, link: int, share: float, start_ns: int, end_ns: int) -> None:
        """A link runs at a share of its speed."""
        speed = int(self.fabric.links.speed_bps[link])
        self.actions += [
            Action(start_ns, SET_BYTE_TIME, link, byte_time(speed * share)),
            Action(end_ns, SET_BYTE_TIME, link, byte_time(speed)),
        ]

    def cut_cable(self, link: int, at_ns: int) -> None:
        """Both directions of a cable go down."""
        self.actions += [Action(at_ns, SET_UP, link, 0), Action(at_ns, SET_UP, link ^ 1, 0)]

    def any_uplink(self) -> int:
        """A link between a leaf and a spine, one direction of it."""
        return int(self.chance.integers(2 * self.fabric.hosts, len(self.fabric.links.source)))
