"""Scenarios of training jobs: ring AllReduce, and all-to-all between experts."""

from __future__ import annotations

from int_analyzer.synth.scene import Root, Scene

CHUNK_BYTES = 131_072
COMPUTE_NS = 500_000
"""Between two iterations."""
REDUCE_NS = 5_000
"""From a chunk's arrival to the next chunk's departure."""
RING_SHARE = 0.85
"""Of a host's link that a ring's chunk is sent with: what else comes to a member then fits beside it."""
TOKENS_BYTES = 65_536
EXPERT_SHARE = 0.45
"""Of a host's link that an even all-to-all fills."""
HEAT = 4
"""Times as much that a hot expert gets."""
MARGIN = 1.2
"""So much longer than the capture a ring would go on, should it be faster than expected."""


def straggler_host(scene: Scene) -> None:
    """One member of a ring computes slowly."""
    members = _members(scene)
    slow = int(scene.chance.choice(members))
    start = int(scene.end_ns * scene.chance.uniform(0.25, 0.45))
    late = int(scene.chance.uniform(250_000, 500_000))
    scene.background(scene.load)
    first = _ring(scene, members, slow, start, late)
    scene.hosts.append({"host": slow, "cause": "slow-compute", "message": first, "waited_ns": late, "late_ns": late})


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
    even = [scene.traffic.connect(*pair, cap) for pair in pairs]
    # What the hot expert gets more goes over queue pairs of its own: an application that has more to send uses more of them.
    more = [scene.traffic.connect(source, hot, cap) for source in members if source != hot for _ in range(HEAT - 1)]
    duration = TOKENS_BYTES * 8e9 / cap
    done: list[int] = []
    first = None

    def pause() -> float:
        return COMPUTE_NS * float(scene.chance.uniform(1, 1.2))

    for round_number in range(int(scene.end_ns / (duration + COMPUTE_NS)) + 1):
        earliest = round_number * (duration + COMPUTE_NS)
        hot_now = start <= earliest < end
        flows = even + more if hot_now else even
        if done:
            done = [scene.traffic.send_after(done, flow, TOKENS_BYTES, delay_ns=pause()) for flow in flows]
        else:
            done = [scene.traffic.send_at(pause(), flow, TOKENS_BYTES) for flow in flows]
        if hot_now and first is None:
            first = done[0]
    root.culprits = [flow for pair, flow in zip(pairs, even, strict=True) if pair[1] == hot] + more
    scene.roots.append(root)
    scene.hosts.append({"host": hot, "cause": "hot-expert", "message": first, "waited_ns": 0, "late_ns": None})


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
    """Ring AllReduce without end: a member sends a chunk on when one has come and its last one is there.

    `slow` takes `late_ns` more from about `start_ns` on.

    Returns the first message that was late.
    """
    size = len(members)
    flows = [scene.traffic.connect(members[place], members[(place + 1) % size], RING_SHARE * scene.host_bps) for place in range(size)]
    steps = 2 * (size - 1)
    step_ns = CHUNK_BYTES * 8e9 / (RING_SHARE * scene.host_bps) + REDUCE_NS + 10_000
    before = [scene.traffic.send_at(scene.chance.uniform(0, 20_000), flow, CHUNK_BYTES) for flow in flows]
    expected, step, first = step_ns, 1, None
    while expected < MARGIN * scene.end_ns:
        pause = COMPUTE_NS if step % steps == 0 else REDUCE_NS
        slowed = expected >= start_ns
        now = []
        for place in range(size):
            late = late_ns if slowed and members[place] == slow else 0
            needed = [before[place - 1], before[place]]
            message = scene.traffic.send_after(needed, flows[place], CHUNK_BYTES, delay_ns=pause + late)
            if late and first is None:
                first = message
            now.append(message)
        before, step = now, step + 1
        expected += step_ns + pause - REDUCE_NS
    return first
