"""How the flows of a simulation are called on the wire: addresses, UDP source ports, queue pairs, first PSNs."""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer.synth.chance import mix
from int_analyzer.synth.fabric import Fabric
from int_analyzer.synth.trace import Flows
from int_analyzer.synth.traffic import Traffic

FIRST_PORT, PORTS = 0xC000, 0x4000
"""UDP source ports of RoCEv2 (IBTA Annex A17.9.2 asks for the dynamic range)."""
QUEUE_PAIRS = 1 << 20
PSNS = 1 << 24


def address_flows(fabric: Fabric, traffic: Traffic, seed: int) -> Flows:
    """The directed flows of a traffic. Queue pairs of a host are consecutive numbers, as network cards give them."""
    chance = np.random.default_rng((seed, 1))
    source = np.array([connection.source for connection in traffic.connections], dtype=np.int64)
    target = np.array([connection.target for connection in traffic.connections], dtype=np.int64)
    src_host, dst_host = np.column_stack((source, target)).ravel(), np.column_stack((target, source)).ravel()
    address = np.array([fabric.address(host) for host in range(fabric.hosts)], dtype=np.uint32)
    queue_pair = (chance.integers(0x100, QUEUE_PAIRS, fabric.hosts)[src_host] + _count_before(src_host)).astype(np.uint32)
    port = chance.integers(FIRST_PORT, FIRST_PORT + PORTS, len(src_host))
    for number, connection in enumerate(traffic.connections):
        if connection.port is not None:
            port[2 * number] = connection.port
    return Flows(
        src_host=src_host.astype(np.int32),
        dst_host=dst_host.astype(np.int32),
        src_ip=address[src_host],
        dst_ip=address[dst_host],
        udp_source_port=port.astype(np.uint16),
        source_qp=queue_pair,
        dest_qp=queue_pair.reshape(-1, 2)[:, ::-1].ravel(),
        first_psn=chance.integers(0, PSNS, len(src_host)).astype(np.uint32),
    )


def hash_flow(src_ip: Any, dst_ip: Any, port: Any) -> Any:
    """What switches choose equal-cost links by: 32 bits of what tells flows apart (arrays, or integers)."""
    return mix(mix(mix(src_ip) + dst_ip) + port)


def spine_of(entropy: Any, spines: int) -> Any:
    """The spine that the hash chooses while all links are up (as switch.choose_spine does)."""
    return mix(entropy) % spines


def _count_before(values: Any) -> Any:
    """How often each value stood before its place."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counted = np.empty(len(values), dtype=np.int64)
    counted[order] = np.arange(len(values)) - np.repeat(begins, np.diff(np.append(begins, len(values))))
    return counted
