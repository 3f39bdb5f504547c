"""Simulations for tests: small traffic on a small fabric, and what came of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from int_analyzer.synth import state as place
from int_analyzer.synth.address import address_flows
from int_analyzer.synth.clock import wind_clocks
from int_analyzer.synth.fabric import Fabric, build_fabric
from int_analyzer.synth.ground import Ground, read_ground
from int_analyzer.synth.observation import read_hops, read_packets
from int_analyzer.synth.simulation import run
from int_analyzer.synth.trace import Flows, Hops, Packets
from int_analyzer.synth.traffic import Traffic
from int_analyzer.synth.world import Action, Settings, build_world, message_order


class Simulated(NamedTuple):
    """A simulation that is over. `messages` are the records of state.py in the order in which they were made."""

    world: place.World
    packets: Packets
    hops: Hops
    flows: Flows
    ground: Ground
    messages: Any

    def count(self, number: int) -> int:
        """One of the numbers of state.py."""
        return int(self.world.state[number])


def small_fabric() -> Fabric:
    """3 leaves × 2 spines, 3 hosts a leaf, 25 and 40 Gbit/s."""
    return build_fabric(3, 2, 3)


def simulate(
    traffic: Traffic, actions: list[Action] | None = None, fabric: Fabric | None = None, compiled: bool = True, **settings: Any
) -> Simulated:
    """Run a traffic to the end of the time in the settings."""
    fabric = fabric or small_fabric()
    options = Settings(**settings)
    flows = address_flows(fabric, traffic, options.seed)
    world = run(build_world(fabric, traffic, flows, actions or [], options), compiled)
    state = world.state
    rows = state[state[place.MESSAGES] : state[place.DEPENDENTS]].reshape(-1, place.MESSAGE_WORDS)
    messages = np.empty_like(rows)
    messages[message_order(traffic)] = rows
    clocks = wind_clocks(fabric.sites, 0, 0, options.seed)
    packets, hops = read_packets(world, fabric, flows), read_hops(world, fabric, clocks)
    return Simulated(world, packets, hops, flows, read_ground(world, len(fabric.links.source)), messages)


def owners(packets: Packets) -> Any:
    """Row of packets of every hop."""
    return np.repeat(np.arange(len(packets.time_ns)), packets.hop_count)
