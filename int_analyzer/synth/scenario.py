"""The scenarios with a known answer, declared once, and how one becomes a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from int_analyzer.errors import ScenarioError
from int_analyzer.synth import collective, crowd, fault, recorded, storage
from int_analyzer.synth.address import address_flows
from int_analyzer.synth.clock import wind_clocks
from int_analyzer.synth.counters import write_counters
from int_analyzer.synth.fabric import Fabric, build_fabric
from int_analyzer.synth.ground import Ground, read_ground
from int_analyzer.synth.observation import read_hops, read_packets
from int_analyzer.synth.scene import MILLISECOND, Scene
from int_analyzer.synth.simulation import run
from int_analyzer.synth.trace import Trace
from int_analyzer.synth.truth import tell_truth
from int_analyzer.synth.world import Settings, build_world

USUAL_HOSTS = 16
"""In a larger fabric background traffic is thinner, so that a capture has about as many packets."""
LOADS = 0.5, 1.7
"""The seed varies background traffic between these shares of what is usual."""
LEAST_LEAVES, LEAST_SPINES, LEAST_HOSTS = 3, 2, 3


@dataclass(frozen=True)
class Scenario:
    """A situation: what it is called, what happens, the right answer, who builds it, and its usual load and seconds.

    `even`: the load is what it is about, so a larger fabric gets less time instead of less load.
    """

    id: str
    answer: str
    build: Callable[[Scene], None]
    load: float = 0.2
    seconds: float = 0.03
    even: bool = False

    @property
    def doc(self) -> str:
        """What happens."""
        return (self.build.__doc__ or "").strip()


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("healthy", "no finding", crowd.healthy, load=0.6, seconds=0.02, even=True),
    Scenario("incast", "the leaf's port to that host, overload; the senders are culprits", crowd.incast),
    Scenario("slow-link", "the port that sends on that link, degraded link", fault.slow_link),
    Scenario("slow-incast", "both ports: that link's, degraded, and the leaf's to that host, overload", fault.slow_incast),
    Scenario("polarised", "that uplink, imbalance", crowd.polarised, load=0.1),
    Scenario("slow-receiver", "the leaf's port to that host, paused; spine ports are victims", fault.slow_receiver),
    Scenario("pfc-chain", "the leaf's port to the host, overload; ports before it are victims, in order", crowd.pfc_chain),
    Scenario("microburst", "that port, the times of the bursts, their flows", crowd.microburst),
    Scenario("two-roots", "both ports, and nothing else", crowd.two_roots),
    Scenario("lossy-cable", "the port that sends on that cable, degraded link; no congestion", fault.lossy_cable),
    Scenario("path-change", "the change with its time; no root", fault.path_change),
    Scenario("loop", "the loop", fault.loop),
    Scenario("skewed-clocks", "as incast; offsets within 2 µs", crowd.skewed_clocks),
    Scenario("holes", "as incast", crowd.holes),
    Scenario("sampled", "as incast; loss within 1 %", crowd.sampled, seconds=0.06),
    Scenario("storm", "the leaf's port to that host; culprits are the elephants", crowd.storm),
    Scenario("straggler-host", "that host, not the network", collective.straggler_host, load=0.05),
    Scenario("straggler-link", "the leaf's port to that member", collective.straggler_link, load=0.05),
    Scenario("hot-expert", "the leaf's port to that host, overload", collective.hot_expert, load=0.0),
    Scenario("storage-slow", "that target: DAL; no network finding", storage.storage_slow, load=0.05),
    Scenario("prepare-slow", "that host: DPL; no network finding", storage.prepare_slow, load=0.05),
)
BY_ID = {scenario.id: scenario for scenario in SCENARIOS}
CASES: tuple[Scenario, ...] = (
    Scenario(
        "failing-cable",
        "the leaf's port to that spine, with its chain of evidence",
        recorded.failing_cable,
        load=0.0,
        seconds=6.0,
    ),
    Scenario("uneven-spines", "that leaf, and that its hash leaves the ports out", recorded.uneven_spines, load=0.1, seconds=0.02),
)
"""Cases as operators tell them. They are generated and tested, but not scored."""
_KNOWN = BY_ID | {case.id: case for case in CASES}


@dataclass(frozen=True)
class Knobs:
    """What can be chosen for every scenario; None: as is usual for it.

    `hosts` of a leaf; `packets`: about so many are mirrored, by which `seconds` are chosen; `load`: of host links, by background traffic.
    `sampling`: one packet in so many carries telemetry; `loss`: share of the mirrored packets and reports that never arrive; `skew_ms`:
    the nodes' clocks are off by at most so much. mirror_points: switches that mirror a packet: 1 its last, 2 its first too, 3 all.
    """

    seed: int = 1
    leaves: int = 4
    spines: int = 2
    hosts: int = 4
    seconds: float | None = None
    packets: int | None = None
    load: float | None = None
    sampling: int | None = None
    loss: float | None = None
    skew_ms: float | None = None
    mirror_points: int = 1


class Performance(NamedTuple):
    """A scenario that was simulated: what the mirror saw, and what really was in the queues."""

    trace: Trace
    ground: Ground


def simulate_scenario(name: str, knobs: Knobs | None = None) -> Trace:
    """The trace of a scenario. Raises ScenarioError if there is none of this name, or if the knobs do not allow it."""
    return perform_scenario(name, knobs).trace


def perform_scenario(name: str, knobs: Knobs | None = None) -> Performance:
    """As `simulate_scenario`, with the ground truth of all queues."""
    knobs = knobs or Knobs()
    scenario = _KNOWN.get(name)
    if scenario is None:
        raise ScenarioError(f"no scenario is called {name!r}; there are {', '.join(_KNOWN)}")
    if knobs.leaves < LEAST_LEAVES or knobs.spines < LEAST_SPINES or knobs.hosts < LEAST_HOSTS:
        raise ScenarioError(f"a fabric needs at least {LEAST_LEAVES} leaves, {LEAST_SPINES} spines and {LEAST_HOSTS} hosts a leaf")
    fabric = build_fabric(knobs.leaves, knobs.spines, knobs.hosts)
    thinner = min(USUAL_HOSTS / fabric.hosts, 1.0)
    load = knobs.load
    if load is None:
        load = scenario.load if scenario.even else scenario.load * thinner * float(np.random.default_rng((knobs.seed, 4)).uniform(*LOADS))
    seconds = knobs.seconds or scenario.seconds * (max(thinner, 0.2) if scenario.even else 1)
    performance = _perform(scenario, fabric, knobs, load, seconds)
    if knobs.packets is None:
        return performance
    return _perform(scenario, fabric, knobs, load, seconds * knobs.packets / max(len(performance.trace.packets.time_ns), 1))


def _perform(scenario: Scenario, fabric: Fabric, knobs: Knobs, load: float, seconds: float) -> Performance:
    seed = knobs.seed
    scene = Scene(scenario.id, fabric, seed, round(seconds * 1000 * MILLISECOND), load)
    scenario.build(scene)
    if knobs.sampling is not None:
        scene.options["telemetry_every"] = knobs.sampling
    if knobs.loss is not None:
        scene.options["report_loss"] = knobs.loss
    if knobs.skew_ms is not None:
        scene.clock_offset_ns = round(knobs.skew_ms * MILLISECOND)
    settings = Settings(seed=seed, seconds=seconds, mirror_points=knobs.mirror_points, **scene.options)
    flows = address_flows(fabric, scene.traffic, seed)
    world = run(build_world(fabric, scene.traffic, flows, scene.actions, settings))
    clocks = wind_clocks(fabric.sites, scene.clock_offset_ns, scene.clock_drift_ppb, seed)
    ground = read_ground(world, len(fabric.links.source))
    truth = tell_truth(scene, settings, clocks, flows, world, ground)
    packets, hops = read_packets(world, fabric, flows), read_hops(world, fabric, clocks)
    return Performance(Trace(packets, hops, flows, fabric, truth, write_counters(scene)), ground)
