"""Scenarios of storage I/O: commands, data by READ or WRITE, completions, between hosts and targets."""

from __future__ import annotations

from int_analyzer.synth.scene import Scene

COMMAND_BYTES, COMPLETION_BYTES, BLOCK_BYTES = 64, 16, 131_072
PREPARE_NS, SERVE_NS = 8_000, 60_000
"""A host until its data is ready, a target until it acts on a command, as they are when all is well."""
TARGET_LOAD = 0.12
"""Of a target's link: a host waits so long before its next command."""
CARD_SHARE = 0.12
"""A storage stack moves one block with this share of its link."""
QUEUE_PAIRS = 2
"""Of a host at every target."""


def storage_slow(scene: Scene) -> None:
    """Write and read I/O; one target answers late."""
    hosts, targets = _divide(scene)
    slow = int(scene.chance.choice(targets))
    start, late = _trouble(scene)
    first = _serve(scene, hosts, targets, "both", slow, start, late)
    scene.hosts.append({"host": slow, "cause": "storage-slow", "message": first, "waited_ns": late, "late_ns": late})


def prepare_slow(scene: Scene) -> None:
    """Write I/O; one host prepares its data late."""
    hosts, targets = _divide(scene)
    slow = int(scene.chance.choice(hosts))
    start, late = _trouble(scene)
    first = _serve(scene, hosts, targets, "write", slow, start, late)
    scene.hosts.append({"host": slow, "cause": "prepare-slow", "message": first, "waited_ns": 0, "late_ns": late})


def _divide(scene: Scene) -> tuple[list[int], list[int]]:
    """Hosts, and a fifth of them targets; the rest of the fabric carries a little of other things."""
    scene.background(scene.load)
    taking_part = scene.chance.permutation(scene.pick(min(scene.fabric.hosts, 20))).tolist()
    targets = max(len(taking_part) // 5, 2)
    return taking_part[targets:], taking_part[:targets]


def _trouble(scene: Scene) -> tuple[int, int]:
    return int(scene.end_ns * scene.chance.uniform(0.3, 0.5)), int(scene.chance.uniform(400_000, 800_000))


def _serve(scene: Scene, hosts: list[int], targets: list[int], kinds: str, slow: int, start_ns: int, late_ns: int) -> int | None:
    """One I/O after the other on every queue pair; who is `slow` takes `late_ns` more from about `start_ns` on.

    Returns the first message that was late, None if there is none.
    """
    late_messages = []
    usual = len(hosts) * QUEUE_PAIRS * BLOCK_BYTES * 8e9 / scene.host_bps / TARGET_LOAD
    rest = usual - BLOCK_BYTES * 8e9 / (CARD_SHARE * scene.host_bps) - PREPARE_NS - SERVE_NS
    for pair in range(len(hosts) * len(targets) * QUEUE_PAIRS):
        host, target = hosts[pair % len(hosts)], targets[pair // len(hosts) % len(targets)]
        flow = scene.traffic.connect(host, target, CARD_SHARE * scene.host_bps)
        expected = scene.chance.uniform(0, usual)
        command = scene.traffic.send_at(expected, flow, COMMAND_BYTES, "send")
        while expected < scene.end_ns:
            late = late_ns if expected >= start_ns and slow in (host, target) else 0
            reads = kinds == "both" and scene.chance.random() < 0.5
            served, done = _transfer(scene, flow, command, reads, late if slow == target else 0, late if slow == host else 0)
            if late:
                late_messages.append((expected, served))
            command = scene.traffic.send_after([done], flow, COMMAND_BYTES, "send", delay_ns=scene.chance.uniform(0.5, 1.5) * rest)
            expected += usual + late
    return min(late_messages)[1] if late_messages else None


def _transfer(scene: Scene, flow: int, command: int, reads: bool, serve_late: int, prepare_late: int) -> tuple[int, int]:
    """One I/O after its command: (first message of the target, completion)."""
    serve = scene.chance.uniform(0.8, 1.2) * SERVE_NS + serve_late
    prepare = scene.chance.uniform(0.8, 1.2) * PREPARE_NS + prepare_late
    back = flow + 1
    if reads:
        moved = scene.traffic.send_after([command], back, BLOCK_BYTES, "write", delay_ns=serve)
    else:
        moved = scene.traffic.send_after([command], back, BLOCK_BYTES, "read", delay_ns=serve, think_ns=prepare)
    return moved, scene.traffic.send_after([moved], back, COMPLETION_BYTES, "send", delay_ns=PREPARE_NS)
