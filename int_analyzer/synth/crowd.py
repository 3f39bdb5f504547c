"""Scenarios in which too much is sent to one place."""

from __future__ import annotations

from int_analyzer.synth.scene import MILLISECOND, Root, Scene


def healthy(scene: Scene) -> None:
    """All-to-all at 60 % load."""
    scene.background(scene.load)


def incast(scene: Scene) -> None:
    """8 to 64 senders to one host."""
    scene.background(scene.load)
    _incast(scene)


def _incast(scene: Scene, fewest: int = 8, most: int = 64) -> Root:
    target = scene.pick(1)[0]
    senders = int(scene.chance.integers(fewest, most + 1))
    return scene.incast(scene.pick(min(senders, scene.fabric.hosts - 1), {target}), target, *scene.window())


def two_roots(scene: Scene) -> None:
    """Two unrelated congested ports at once: hosts of two leaves, their senders apart."""
    scene.background(scene.load)
    fabric = scene.fabric
    first = scene.pick(1)[0]
    second = scene.pick(1, leaves_apart={fabric.leaf_of(first)})[0]
    senders = scene.chance.permutation(scene.pick(fabric.hosts, {first, second})).tolist()
    each = min(len(senders) // 2, 8)
    scene.incast(senders[:each], first, *scene.window())
    scene.incast(senders[each : 2 * each], second, *scene.window())


def pfc_chain(scene: Scene) -> None:
    """Without ECN, pauses carry an incast's queue two tiers up."""
    scene.options["ecn"] = False
    scene.background(scene.load)
    target = scene.pick(1)[0]
    leaf = scene.fabric.leaf_of(target)
    senders = scene.pick(int(scene.chance.integers(6, 13)), leaves_apart={leaf})
    scene.incast(senders, target, *scene.window(longest=0.35))


def microburst(scene: Scene) -> None:
    """Bursts of 50 to 500 µs to a host that gets nothing else."""
    fabric, chance = scene.fabric, scene.chance
    target = scene.pick(1)[0]
    scene.background(scene.load, [host for host in range(fabric.hosts) if host != target])
    senders = scene.pick(int(chance.integers(4, 9)), {target})
    count = int(chance.integers(3, 7))
    gap = scene.end_ns * 0.8 / count
    root = Root(fabric.to_host(target), "overload", 0, scene.end_ns)
    flows = [scene.traffic.connect(sender, target) for sender in senders]
    for burst in range(count):
        start = scene.end_ns * 0.1 + gap * (burst + chance.uniform(0, 0.6))
        duration = chance.uniform(60_000, 450_000)
        size = int(scene.host_bps / 8e9 * duration / len(senders))
        root.bursts.append([scene.traffic.send_at(start + chance.uniform(0, 2000), flow, size) for flow in flows])
    root.culprits = flows
    scene.roots.append(root)


def storm(scene: Scene) -> None:
    """1 000 short flows a millisecond; three elephants fill the link to one host."""
    fabric, chance = scene.fabric, scene.chance
    flows = int(1000 * scene.end_ns / MILLISECOND)
    at = chance.uniform(0, scene.end_ns, flows)
    source = chance.integers(0, fabric.hosts, flows)
    target = (source + chance.integers(1, fabric.hosts, flows)) % fabric.hosts
    size = chance.integers(256, 4096, flows)
    for row in range(flows):
        scene.traffic.send_at(at[row], scene.traffic.connect(int(source[row]), int(target[row])), int(size[row]))
    victim = scene.pick(1)[0]
    scene.incast(scene.pick(3, {victim}), victim, *scene.window())


def polarised(scene: Scene) -> None:
    """The hash of one leaf sends most flows to one of its uplinks."""
    fabric, chance = scene.fabric, scene.chance
    scene.background(scene.load)
    leaf, spine = int(chance.integers(fabric.leaves)), int(chance.integers(fabric.spines))
    scene.options["polarised"] = (leaf, spine, 0.94)
    start, end = scene.window()
    link = fabric.to_spine(leaf, spine)
    near = [host for host in range(fabric.hosts) if fabric.leaf_of(host) == leaf]
    offered = min(1.5 * float(fabric.links.speed_bps[link]), 0.85 * scene.host_bps * len(near))
    flows = 6 * len(near)
    targets = scene.pick(flows, leaves_apart={leaf})
    made = [scene.stream(near[row % len(near)], targets[row % len(targets)], offered / flows, start, end) for row in range(flows)]
    scene.roots.append(Root(link, "imbalance", start, end, made))


def skewed_clocks(scene: Scene) -> None:
    """Incast, with clocks off by up to 50 ms and drifting by up to 20 ppm."""
    scene.clock_offset_ns, scene.clock_drift_ppb = 50 * MILLISECOND, 20_000
    incast(scene)


def holes(scene: Scene) -> None:
    """Incast, and a third of the switches insert no telemetry; the one with the congested port does."""
    scene.background(scene.load)
    root = _incast(scene)
    fabric = scene.fabric
    switches = [site for site in range(fabric.hosts, fabric.sites) if site != int(fabric.links.source[root.link])]
    silent = scene.chance.permutation(switches)[: max(round((fabric.leaves + fabric.spines) / 3), 1)]
    scene.options["silent_sites"] = frozenset(silent.tolist())


def sampled(scene: Scene) -> None:
    """Incast; one packet in 100 carries telemetry, and half of the reports are lost."""
    scene.options |= {"telemetry_every": 100, "report_loss": 0.5, "mirror_all": False}
    incast(scene)
