"""Scenarios in which something of the fabric does not work."""

from __future__ import annotations

from int_analyzer.synth.scene import Root, Scene
from int_analyzer.synth.state import SET_DRAIN, SET_LOOP, SET_LOSS
from int_analyzer.synth.world import Action, byte_time

LOSS_UNIT = 1 << 24
LOOPED_SHARE = 0.02
"""Of a link's speed, into a loop: a packet runs around 30 times before it is dropped, and the loop itself shall not congest."""


def slow_link(scene: Scene) -> None:
    """A link between leaf and spine runs at a tenth of its speed."""
    scene.background(scene.load)
    link = scene.any_uplink()
    start, end = scene.window(longest=0.4)
    scene.load_link(link, 0.3 * float(scene.fabric.links.speed_bps[link]), 0, scene.end_ns)
    scene.slow_link(link, 0.1, start, end)
    scene.roots.append(Root(link, "degraded-link", start, end))


def slow_incast(scene: Scene) -> None:
    """A link between leaf and spine runs at a tenth of its speed, and a host behind it is sent to by many."""
    scene.background(scene.load)
    link = scene.any_uplink()
    start, end = scene.window(longest=0.4)
    flows = scene.load_link(link, 0.3 * float(scene.fabric.links.speed_bps[link]), 0, scene.end_ns)
    scene.slow_link(link, 0.1, start, end)
    scene.roots.append(Root(link, "degraded-link", start, end))
    target = scene.traffic.connections[int(scene.chance.choice(flows)) // 2].target
    senders = scene.pick(int(scene.chance.integers(8, 17)), {target}, {scene.fabric.leaf_of(target)})
    scene.incast(senders, target, *scene.window())


def slow_receiver(scene: Scene) -> None:
    """A host takes packets slowly and pauses its leaf; without ECN the queues fill backwards."""
    scene.options["ecn"] = False
    scene.background(scene.load)
    target = scene.pick(1)[0]
    start, end = scene.window(longest=0.35)
    for source in scene.pick(6, {target}, {scene.fabric.leaf_of(target)}):
        scene.stream(source, target, 0.4 * scene.host_bps / 6, 0, scene.end_ns)
    link = scene.fabric.to_host(target)
    speed = scene.host_bps * scene.chance.uniform(0.05, 0.15)
    scene.actions += [Action(start, SET_DRAIN, link, byte_time(speed)), Action(end, SET_DRAIN, link, 0)]
    scene.roots.append(Root(link, "paused-port", start, end))


def lossy_cable(scene: Scene) -> None:
    """One packet in 50 to 200 is lost on a cable between leaf and spine; nothing queues."""
    scene.background(scene.load)
    link = scene.any_uplink()
    start, end = scene.window(longest=0.5)
    scene.load_link(link, 0.25 * float(scene.fabric.links.speed_bps[link]), 0, scene.end_ns, flows=12)
    loss = scene.chance.uniform(0.005, 0.02)
    scene.actions += [Action(start, SET_LOSS, link, int(loss * LOSS_UNIT)), Action(end, SET_LOSS, link, 0)]
    scene.roots.append(Root(link, "degraded-link", start, end, fills=False))


def path_change(scene: Scene) -> None:
    """A cable between leaf and spine fails; the flows on it move."""
    scene.background(scene.load)
    link = scene.any_uplink()
    scene.load_link(link, 0.1 * float(scene.fabric.links.speed_bps[link]), 0, scene.end_ns)
    at = int(scene.end_ns * scene.chance.uniform(0.35, 0.65))
    scene.cut_cable(link, at)
    scene.events.append({"kind": "path-change", "start": at, "end": at, "links": [link, link ^ 1]})


def loop(scene: Scene) -> None:
    """For a moment a spine sends what is for one host to another leaf, which sends it back."""
    fabric, chance = scene.fabric, scene.chance
    host = scene.pick(1)[0]
    spine = int(chance.integers(fabric.spines))
    wrong = int(chance.choice([leaf for leaf in range(fabric.leaves) if leaf != fabric.leaf_of(host)]))
    scene.background(scene.load, [other for other in range(fabric.hosts) if other != host])
    uplink_bps = float(fabric.links.speed_bps[fabric.to_spine(wrong, spine)])
    for source in scene.pick(4, leaves_apart={fabric.leaf_of(host)}):
        scene.stream(source, host, LOOPED_SHARE * uplink_bps / 4, 0, scene.end_ns, scene.steer(source, host, spine))
    start = int(scene.end_ns * chance.uniform(0.3, 0.6))
    end = start + int(chance.uniform(400_000, 800_000))
    any_link = fabric.to_leaf(spine, wrong)
    scene.options["loop"] = (host, wrong)
    scene.actions += [Action(start, SET_LOOP, any_link, spine), Action(end, SET_LOOP, any_link, -1)]
    links = [fabric.to_leaf(spine, wrong), fabric.to_spine(wrong, spine)]
    scene.events.append({"kind": "loop", "start": start, "end": end, "links": links})
