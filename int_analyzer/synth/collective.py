"""Scenarios of training jobs: ring AllReduce, and all-to-all between experts."""

from __future__ import annotations

from int_analyzer.synth.scene import Root, Scene

CHUNK_BYTES = 131_072
COMPUTE_NS = 500_000
"""Between two iterations."""
REDUCE_NS = 5_000
"""From a chunk's arrival to the next chunk's departure."""
TOKENS_BYTES = 65_536
EXPERT_SHARE = 0.45
"""Of a host's link that an even all-to-all fills."""


def straggler_host(scene: Scene) -> None:
    """One member of a ring computes slowly."""
    members = _members(scene)
    slow = int(scene.chance.choice(members))
    start = int(scene.end_ns * scene.chance.uniform(0.25, 0.45))
    late = int(scene.chance.uniform(250_000, 500_000))
    scene.background(scene.load)
    first = _ring(scene, members, slow, start, late)
    scene.hosts.append({"host": slow, "cause": "slow-compute", "message": first, "late_ns": late})


def straggler_link(scene: Scene) -> None:
    """Others fill the link to one member of a ring."""
    members = _members(scene)
    hit = int(scene.chance.choice(members))
    scene.background(scene.load)
    _ring(scene, members, None, 0, 0)
    others = scene.pick(int(scene.chance.integers(3, 6)), set(members))
    scene.incast(others, hit, *scene.window())


def hot_expert(scene: Scene) -> None:
    """All-to-all between experts; one gets four times what the others get."""
    fabric = scene.fabric
    members = scene.pick(min(fabric.hosts, 16))
    hot = int(scene.chance.choice(members))
    start, end = scene.window()
    root = Root(fabric.to_host(hot), "overload", start, end)
    cap = EXPERT_SHARE * scene.host_bps / (len(members) - 1)
    pairs = [(source, target) for source in members for target in members if source != target]
    flow_of = {pair: scene.traffic.connect(*pair, 4 * cap if hot == pair[1] else cap) for pair in pairs}
    duration = TOKENS_BYTES * 8e9 / cap
    done: list[int] = []
    for round_number in range(int(scene.end_ns / (duration + COMPUTE_NS)) + 1):
        earliest = round_number * (duration + COMPUTE_NS)
        heat = 4 if start <= earliest < end else 1
        sizes = {pair: TOKENS_BYTES * (heat if pair[1] == hot else 1) for pair in pairs}
        if done:
            done = [scene.traffic.send_after(done, flow_of[pair], size, delay_ns=COMPUTE_NS) for pair, size in sizes.items()]
        else:
            done = [scene.traffic.send_at(scene.chance.uniform(0, 20_000), flow_of[pair], size) for pair, size in sizes.items()]
    root.culprits = [flow for pair, flow in flow_of.items() if pair[1] == hot]
    scene.roots.append(root)
    scene.hosts.append({"host": hot, "cause": "hot-expert", "start": start})


def _members(scene: Scene) -> list[int]:
    """Hosts of a ring: one or two of every leaf, 16 at most, half of all at most; in the order of the ring."""
    fabric = scene.fabric
    a_leaf = max(min(fabric.hosts_per_leaf // 2, 16 // fabric.leaves), 1)
    chosen = [
        leaf * fabric.hosts_per_leaf + place
        for leaf in range(fabric.leaves)
        for place in sorted(scene.chance.permutation(fabric.hosts_per_leaf)[:a_leaf].tolist())
    ]
    return chosen[:16]


def _ring(scene: Scene, members: list[int], slow: int | None, start_ns: int, late_ns: int) -> int | None:
    """Ring AllReduce without end: a member sends a chunk on when one has come; `slow` takes `late_ns` more from about `start_ns` on.

    Returns the first message that was late.
    """
    size = len(members)
    flows = [scene.traffic.connect(members[place], members[(place + 1) % size]) for place in range(size)]
    steps = 2 * (size - 1)
    step_ns = CHUNK_BYTES * 8e9 / scene.host_bps + REDUCE_NS + 10_000
    before = [scene.traffic.send_at(scene.chance.uniform(0, 20_000), flow, CHUNK_BYTES) for flow in flows]
    expected, step, first = step_ns, 1, None
    while expected < scene.end_ns:
        pause = COMPUTE_NS if step % steps == 0 else REDUCE_NS
        slowed = expected >= start_ns
        now = []
        for place in range(size):
            late = late_ns if slowed and members[place] == slow else 0
            message = scene.traffic.send_after([before[place - 1]], flows[place], CHUNK_BYTES, delay_ns=pause + late)
            if late and first is None:
                first = message
            now.append(message)
        before, step = now, step + 1
        expected += step_ns + pause - REDUCE_NS
    return first
