"""A leaf-spine-core fabric, the paths through it and the flows on the paths: what the captures of traffic.py are about."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

PODS, LEAVES, SPINES, CORES, HOSTS = 4, 4, 2, 4, 4
"""Pods; leaves and spines of a pod; core switches (core c joins spine c % SPINES of every pod); hosts of a leaf."""

HOPS = 5
"""leaf, spine, core, spine, leaf."""

LEAF, SPINE, CORE = 0x100, 0x200, 0x300
UPLINK = 33
"""First port number towards the core; ports towards the hosts start at 1."""


class Fabric(NamedTuple):
    """Arrays by path (node, ingress, egress: [path, hop], source side first; queue: [path]) and by flow (path, addresses, …)."""

    node: Any
    ingress: Any
    egress: Any
    queue: Any
    path: Any
    source: Any  # (pod, leaf, host) by flow
    destination: Any
    source_port: Any
    queue_pair: Any
    tagged: Any  # the flow's packets carry a VLAN tag
    crossing: Any  # [path]: hop at which the path uses the congested queue, −1 if it does not
    heavy: Any  # flows that fill the congested queue


def build(random: Any, paths: int = 64, flows: int = 1000) -> Fabric:
    """A fabric with `paths` distinct paths between pods and `flows` flows, every second one with a VLAN tag."""
    source_pod = random.integers(0, PODS, paths)
    destination_pod = (source_pod + random.integers(1, PODS, paths)) % PODS
    source_leaf, destination_leaf = random.integers(0, LEAVES, paths), random.integers(0, LEAVES, paths)
    source_host, destination_host = random.integers(0, HOSTS, paths), random.integers(0, HOSTS, paths)
    core = random.integers(0, CORES, paths)
    spine = core % SPINES
    node = np.stack(
        [
            LEAF + 16 * source_pod + source_leaf,
            SPINE + 16 * source_pod + spine,
            CORE + core,
            SPINE + 16 * destination_pod + spine,
            LEAF + 16 * destination_pod + destination_leaf,
        ],
        axis=1,
    )
    ingress = np.stack([1 + source_host, 1 + source_leaf, 1 + source_pod, UPLINK + core, UPLINK + spine], axis=1)
    egress = np.stack([UPLINK + spine, UPLINK + core, 1 + destination_pod, 1 + destination_leaf, 1 + destination_host], axis=1)
    queue = np.where(random.random(paths) < 0.75, 3, 4)
    queue[0] = 3
    congested = (core == core[0]) & (destination_pod == destination_pod[0]) & (queue == 3)
    path = np.arange(flows) % paths
    random.shuffle(path)
    on_congested = np.flatnonzero(congested[path])
    return Fabric(
        node=node,
        ingress=ingress,
        egress=egress,
        queue=queue,
        path=path,
        source=(source_pod[path], source_leaf[path], source_host[path]),
        destination=(destination_pod[path], destination_leaf[path], destination_host[path]),
        source_port=random.integers(0xC000, 0x10000, flows),
        queue_pair=random.integers(0x100, 0x1000000, flows),
        tagged=random.permutation(flows) % 2 == 0,
        crossing=np.where(congested, 2, -1),
        heavy=on_congested[:3],
    )


def congestion(fraction: Any) -> Any:
    """How full the congested queue is (0…1) at a fraction (0…1) of the capture: up at 0.4, full by 0.45, empty again at 0.6."""
    return np.clip(np.minimum((fraction - 0.4) / 0.05, (0.6 - fraction) / 0.05), 0.0, 1.0)
