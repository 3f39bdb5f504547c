"""Packets lost in the network: drops that nodes report, and packets that were sent on to a queue and are never reported again."""

from __future__ import annotations

from collections import defaultdict

from int_analyzer.fold.view import View

Sequence = tuple[tuple[int, int], ...]
"""A path as (queue, ingress port) of its hops."""


def drops_of_node(view: View, node_id: int) -> dict[int, int]:
    """Drop reports of a node by reason."""
    return {reason: count for (node, reason), count in view.drops.items() if node == node_id}


def unreported(view: View) -> dict[int, tuple[int, int]]:
    """For each queue that a path leads to: packets of which the report before it is the last, and all packets that were sent on to it.

    Only where every node reports each packet by itself; elsewhere a packet that is lost takes its telemetry with it. A path that
    ends where others go on tells of a loss if these all go on to one queue.
    """
    if not view.postcards.get("joined", 0):
        return {}
    packets: dict[Sequence, int] = defaultdict(int)
    following: dict[Sequence, set[int]] = defaultdict(set)
    sent_on: dict[int, int] = defaultdict(int)
    for queues, ingress, count in zip(view.paths.queues, view.paths.ingress_ports, view.paths.packets.tolist(), strict=True):
        path = tuple(zip(queues, ingress, strict=True))
        packets[path] += count
        for position in range(1, len(path)):
            following[path[:position]].add(queues[position])
            sent_on[queues[position]] += count
    lost: dict[int, int] = defaultdict(int)
    for path, count in packets.items():
        if len(following.get(path, ())) == 1:
            lost[next(iter(following[path]))] += count
    return {queue: (count, count + sent_on[queue]) for queue, count in lost.items()}
