"""Situations with a known answer, for any leaf-spine: who sends how much to whom, which link is slow, who sends things the wrong way, and
which port suffers when.

Rates are fractions of what a link carries, so that one description serves fabrics of any speed. Everything random comes from a seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from int_analyzer.errors import LabError
from int_analyzer.lab.topology import Host, Topology

CALM_S, BUSY_S = 1.0, 2.0
"""When the trouble of a scenario begins and when it ends, in seconds from its start."""
END_S = 3.0
_BACKGROUND = 0.01
"""What every pair of hosts at different leaves sends all the time: enough to see every path, too little to fill a queue."""
_FAR, _NEAR = 0.85, 0.75
"""What hosts at other leaves and at the same leaf offer together: less than a link each, so that however hashes fall only their common
port is overloaded."""
_BURSTS, _BURST_PACKETS = 5, 40
"""How many bursts, and how many packets a link carries during one."""
_PACKETS_PER_LOOP = 250
"""A loop forms once in the time of so many packets, and half of that it stands: where drops are not reported, only packets that are inside
when it ends are seen behind it, fewer the faster the links are."""
_INTO_LOOP = 0.6 / 31
"""What is offered to a host behind a loop: a packet crosses both of its links some 31 times before its hop limit of 64 is used up, and the
loop itself shall not congest."""


@dataclass(frozen=True)
class Demand:
    """What one flow offers: phases of (begin, end, load), in seconds and fractions of a link."""

    source: str
    destination: str
    phases: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class Slowdown:
    """A switch's port towards a neighbour that carries only a fraction of a link's rate from some time on, in seconds."""

    node: str
    neighbour: str
    fraction: float
    from_s: float
    to_s: float


@dataclass(frozen=True)
class Detour:
    """A switch that sends what goes to a host to a neighbour from which it comes back, between two times, in seconds."""

    node: str
    host: str
    neighbour: str
    from_s: float
    to_s: float


@dataclass(frozen=True)
class Congestion:
    """The answer: a switch's port towards a neighbour, offered more than it carries between two times, in seconds."""

    node: str
    neighbour: str
    from_s: float
    to_s: float


@dataclass(frozen=True)
class Plan:
    """A scenario for one topology and one seed. `pinned` are switches that use one of their equal-cost neighbours for everything."""

    scenario: str
    how: str
    demands: tuple[Demand, ...]
    congested: tuple[Congestion, ...] = ()
    slowdowns: tuple[Slowdown, ...] = ()
    detours: tuple[Detour, ...] = ()
    pinned: Mapping[str, str] = field(default_factory=dict)


def make_plan(scenario: str, topology: Topology, packets_per_second: float, seed: int) -> Plan:
    """The plan of a scenario by its name, for links that carry so many packets."""
    if scenario not in SCENARIOS:
        raise LabError(f"no scenario {scenario}; there are: {', '.join(SCENARIOS)}")
    leaves = [name for name in topology.switches if topology.hosts_of(name)]
    if len(leaves) < 2 or all(len(topology.hosts_of(name)) < 2 for name in leaves):
        raise LabError(f"{topology.name}: scenarios need hosts at two switches at least, and one with two hosts")
    return SCENARIOS[scenario](_Cast(topology, leaves, packets_per_second, random.Random(seed)))


@dataclass(frozen=True)
class _Cast:
    """Who may play a part."""

    topology: Topology
    leaves: list[str]
    packets_per_second: float
    chance: random.Random

    def far_pairs(self) -> list[tuple[Host, Host]]:
        hosts = list(self.topology.hosts.values())
        return [(a, b) for a in hosts for b in hosts if a.switch != b.switch]

    def background(self, without: Host | None = None) -> tuple[Demand, ...]:
        return tuple(Demand(a.name, b.name, ((0.0, END_S, _BACKGROUND),)) for a, b in self.far_pairs() if b != without)

    def spines_of(self, leaf: str) -> list[str]:
        return [name for name in self.topology.switches[leaf].ports.values() if name in self.topology.switches]

    def victim(self) -> tuple[Host, list[Host], list[Host]]:
        """A host with a neighbour at its leaf; those neighbours, and the hosts at other leaves."""
        hosts = list(self.topology.hosts.values())
        host = self.chance.choice([one for one in hosts if len(self.topology.hosts_of(one.switch)) > 1])
        near = [one for one in self.topology.hosts_of(host.switch) if one != host]
        return host, near, [one for one in hosts if one.switch != host.switch]


def _idle(cast: _Cast) -> Plan:
    return Plan("idle", "every port is offered far less than it carries", cast.background())


def _incast(cast: _Cast) -> Plan:
    host, near, far = cast.victim()
    loads = {one.name: _FAR / len(far) for one in far} | {one.name: _NEAR / len(near) for one in near}
    return Plan(
        "incast",
        f"{len(loads)} hosts send to {host.name} at {_FAR + _NEAR:.1f} times the rate of its port",
        cast.background() + tuple(Demand(name, host.name, ((CALM_S, BUSY_S, load),)) for name, load in loads.items()),
        (Congestion(host.switch, host.name, CALM_S, BUSY_S),),
    )


def _slow_link(cast: _Cast) -> Plan:
    leaf = cast.chance.choice(cast.leaves)
    spine = cast.chance.choice(cast.spines_of(leaf))
    towards = [(a, b) for a, b in cast.far_pairs() if b.switch == leaf]
    # Four flows a pair, since their hashes decide which of them cross the link: a fifth of them is enough to overload it.
    flows = 4
    load = 0.5 / (flows * len(towards))
    return Plan(
        "slow-link",
        f"the link from {spine} to {leaf} runs at a tenth of its rate; traffic does not change",
        cast.background() + tuple(Demand(a.name, b.name, ((0.0, END_S, load),)) for a, b in towards for _ in range(flows)),
        (Congestion(spine, leaf, CALM_S, BUSY_S),),
        (Slowdown(spine, leaf, 0.1, CALM_S, BUSY_S),),
    )


def _polarised(cast: _Cast) -> Plan:
    leaf = cast.chance.choice(cast.leaves)
    chosen = cast.chance.choice(cast.spines_of(leaf))
    away = [(a, b) for a, b in cast.far_pairs() if a.switch == leaf]
    load = 1.5 / len(away)
    return Plan(
        "polarised",
        f"{leaf} sends all that goes to other leaves to {chosen}, and its hosts offer 1.5 times the rate of that uplink",
        cast.background() + tuple(Demand(a.name, b.name, ((CALM_S, BUSY_S, load),)) for a, b in away),
        (Congestion(leaf, chosen, CALM_S, BUSY_S),),
        pinned={leaf: chosen},
    )


def _microburst(cast: _Cast) -> Plan:
    host, near, far = cast.victim()
    times = [CALM_S + number * (BUSY_S - CALM_S) / _BURSTS for number in range(_BURSTS)]
    burst_s = _BURST_PACKETS / cast.packets_per_second
    pair = {cast.chance.choice(near).name: _NEAR, cast.chance.choice(far).name: _FAR}
    return Plan(
        "microburst",
        f"{' and '.join(pair)} send bursts of {burst_s * 1e3:.0f} ms to {host.name}, at {_FAR + _NEAR:.1f} times the rate of its port",
        cast.background()
        + tuple(Demand(name, host.name, tuple((time, time + burst_s, load) for time in times)) for name, load in pair.items()),
        tuple(Congestion(host.switch, host.name, time, time + burst_s) for time in times),
    )


def _loop(cast: _Cast) -> Plan:
    host = cast.chance.choice(list(cast.topology.hosts.values()))
    spine = cast.chance.choice(cast.spines_of(host.switch))
    towards = [(a, b) for a, b in cast.far_pairs() if b == host]
    loops = max(1, round((BUSY_S - CALM_S) * cast.packets_per_second / _PACKETS_PER_LOOP))
    loop_s = (BUSY_S - CALM_S) / loops / 2
    times = [CALM_S + number * 2 * loop_s for number in range(loops)]
    return Plan(
        "loop",
        f"{loops} times, for {loop_s * 1e3:.0f} ms each, {host.switch} believes that {host.name} is behind {spine}, which sends all back",
        cast.background(without=host) + tuple(Demand(a.name, b.name, ((0.0, END_S, _INTO_LOOP / len(towards)),)) for a, b in towards),
        detours=tuple(Detour(host.switch, host.name, spine, time, time + loop_s) for time in times),
    )


SCENARIOS: dict[str, Callable[[_Cast], Plan]] = {
    "idle": _idle,
    "incast": _incast,
    "slow-link": _slow_link,
    "polarised": _polarised,
    "microburst": _microburst,
    "loop": _loop,
}
