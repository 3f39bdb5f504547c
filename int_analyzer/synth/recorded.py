"""Cases as operators tell them: a fault over seconds with what was read from the switches' counters meanwhile, and a configuration that
differs. Not among the scenarios that are scored: their answers are a chain of evidence, and an event."""

from __future__ import annotations

from int_analyzer.synth.address import hash_flow, spine_of
from int_analyzer.synth.fault import LOSS_UNIT
from int_analyzer.synth.scene import MILLISECOND, Root, Scene
from int_analyzer.synth.state import SET_LOSS
from int_analyzer.synth.world import Action

STORED_BYTES, STORED_BPS = 65_536, 2e9
"""Hosts write so much at once, at this speed …"""
STORED_EVERY_NS, SELDOM_EVERY_NS = 80 * MILLISECOND, 400 * MILLISECOND
"""… so often on the flows that are steered over the cable, and to others."""
OTHERS = 4
"""Hosts that a host writes to now and then."""
COUNTED_EVERY_NS = 1_000_000_000
PARTNERS, QUEUE_PAIRS = 4, 6
"""Hosts of other leaves that a host sends to, and queue pairs for each of them."""


def failing_cable(scene: Scene) -> None:
    """A cable from a leaf to a spine loses packets, now more and now less; symbol errors show at the spine; then it is switched off."""
    fabric, chance = scene.fabric, scene.chance
    leaf, spine = int(chance.integers(fabric.leaves)), int(chance.integers(fabric.spines))
    link = fabric.to_spine(leaf, spine)
    for source in range(fabric.hosts):
        for target in scene.pick(OTHERS, {source}):
            _write(scene, source, target, SELDOM_EVERY_NS)
    near = [host for host in range(fabric.hosts) if fabric.leaf_of(host) == leaf]
    for number in range(12):
        source, target = near[number % len(near)], scene.pick(1, leaves_apart={leaf})[0]
        _write(scene, source, target, STORED_EVERY_NS, scene.steer(source, target, spine))
    start, off = (int(scene.end_ns * chance.uniform(*share)) for share in ((0.25, 0.35), (0.6, 0.7)))
    at = start
    while at < off:
        until = min(at + int(chance.uniform(0.02, 0.06) * scene.end_ns), off)
        scene.actions += [
            Action(at, SET_LOSS, link, int(chance.uniform(0.02, 0.15) * LOSS_UNIT)),
            Action(until, SET_LOSS, link, 0),
        ]
        at = until + int(chance.uniform(0.005, 0.03) * scene.end_ns)
    scene.cut_cable(link, off)
    scene.roots.append(Root(link, "degraded-link", start, off, fills=False))
    scene.events.append({"kind": "path-change", "start": off, "end": off, "links": [link, link ^ 1]})
    scene.counted_every_ns = COUNTED_EVERY_NS


def _write(scene: Scene, source: int, target: int, every_ns: int, port: int | None = None) -> None:
    """Writes of a host to another until the end, not quite evenly."""
    flow = scene.traffic.connect(source, target, STORED_BPS, port)
    at = scene.chance.uniform(0, every_ns)
    while at < scene.end_ns:
        scene.traffic.send_at(at, flow, STORED_BYTES)
        at += every_ns * scene.chance.uniform(0.8, 1.2)


def uneven_spines(scene: Scene) -> None:
    """One leaf chooses spines by addresses alone, the others by ports too; one spine gets most of what it sends."""
    fabric, chance = scene.fabric, scene.chance
    leaf, spine = int(chance.integers(fabric.leaves)), int(chance.integers(fabric.spines))
    scene.options["hash_without_ports"] = leaf
    flows = PARTNERS * QUEUE_PAIRS
    for host in range(fabric.hosts):
        own = fabric.leaf_of(host)
        others = [other for other in chance.permutation(fabric.hosts).tolist() if fabric.leaf_of(other) != own]
        if own == leaf:
            others = _mostly_over(scene, host, others, spine)
        for target in others[:PARTNERS]:
            for _ in range(QUEUE_PAIRS):
                scene.stream(host, target, scene.host_bps * scene.load / flows, 0, scene.end_ns)
    links = [fabric.to_spine(leaf, other) for other in range(fabric.spines)]
    last = scene.end_ns - MILLISECOND
    scene.events.append({"kind": "configuration-difference", "start": 0, "end": last, "links": links})


def _mostly_over(scene: Scene, host: int, others: list[int], spine: int) -> list[int]:
    """Hosts, first those to which a choice by addresses leads over one spine, but for one of PARTNERS."""
    fabric = scene.fabric
    along = [other for other in others if spine_of(hash_flow(fabric.address(host), fabric.address(other), 0), fabric.spines) == spine]
    rest = [other for other in others if other not in along]
    return [*rest[:1], *along, *rest[1:]]
