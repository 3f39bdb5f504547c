"""A trace by hand: every kind of packet that a simulation can leave, without a simulation."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from int_analyzer.synth import trace as traces
from int_analyzer.synth.fabric import CELL_BYTES, Fabric, build_fabric
from int_analyzer.synth.trace import Flows, Hops, Packets, Trace

START_NS = 1_780_000_000_000_000_000
_DTYPES = {"time_ns": "int64", "first_hop": "int64", "virtual_address": "int64", "mirror_sequence": "int64", "report_sequence": "int64"}
_OPCODES = (
    *(traces.WRITE_FIRST, traces.WRITE_MIDDLE, traces.WRITE_LAST, traces.WRITE_ONLY, traces.SEND_ONLY, traces.READ_REQUEST),
    *(traces.RESPONSE_FIRST, traces.RESPONSE_MIDDLE, traces.RESPONSE_LAST, traces.RESPONSE_ONLY, traces.ACKNOWLEDGE, traces.CNP),
)
_WITHOUT_DATA = (traces.READ_REQUEST, traces.ACKNOWLEDGE, traces.CNP)


def small_trace(packets: int = 120, seed: int = 1) -> Trace:
    """Packets of four hosts under two leaves: with telemetry and without, dropped, over nodes that insert nothing, lost on the way."""
    draw = random.Random(seed)
    fabric = build_fabric(2, 2, 2)
    pairs = [(source, target) for source in range(fabric.hosts) for target in range(source + 1, fabric.hosts)]
    flows = _table(Flows, [flow for number, pair in enumerate(pairs) for flow in _flow_pair(fabric, number, *pair)])
    rows: list[dict[str, int]] = []
    hops: list[dict[str, int]] = []
    sequences: dict[tuple[int, str], int] = {}
    for number in range(packets):
        time = START_NS + number * 4_000 + draw.randrange(3_000)
        flow = draw.randrange(len(flows.src_host))
        path = _path(fabric, int(flows.src_host[flow]), int(flows.dst_host[flow]), draw)
        opcode = draw.choice(_OPCODES)
        telemetry, dropped = draw.random() < 0.8, draw.random() < 0.1
        if dropped:
            path = path[: draw.randint(1, len(path))]
            telemetry = True
        told = [hop for hop in path if (hop == path[-1] and dropped) or (telemetry and draw.random() < 0.9)]
        mirror_node = path[-1][0]
        rows.append(
            {
                "time_ns": time,
                "flow": flow,
                "opcode": opcode,
                "psn": draw.randrange(1 << 24),
                "ack_req": draw.randrange(2),
                "payload_bytes": 0 if opcode in _WITHOUT_DATA else draw.choice([1024, 1024, draw.randrange(1, 1024)]),
                "ecn": 0 if opcode == traces.CNP else draw.choice([2, 3]),
                "dscp": traces.DSCP_CNP if opcode == traces.CNP else traces.DSCP_DATA,
                "ttl": 64 - len(path),
                "ip_id": draw.randrange(1 << 16),
                "syndrome": draw.choice([traces.SYNDROME_ACK, traces.SYNDROME_SEQUENCE_ERROR]),
                "msn": draw.randrange(1 << 24),
                "virtual_address": draw.randrange(1 << 63),
                "rkey": draw.randrange(1 << 32),
                "dma_bytes": draw.randrange(1 << 32),
                "first_hop": len(hops),
                "hop_count": len(told),
                "telemetry": int(telemetry),
                "hop_exceeded": int(telemetry and draw.random() < 0.05),
                "dropped": int(dropped),
                "mirror_node": mirror_node,
                **_numbers(sequences, mirror_node, telemetry, dropped, draw),
            }
        )
        hops += [_hop(node, ingress, egress, time, draw) for node, ingress, egress in told]
    truth = {"scenario": "by hand", "roots": []}
    return Trace(_table(Packets, rows), _table(Hops, hops), flows, fabric, truth)


def _flow_pair(fabric: Fabric, number: int, source: int, target: int) -> list[dict[str, int]]:
    return [
        {
            "src_host": begin,
            "dst_host": end,
            "src_ip": fabric.address(begin),
            "dst_ip": fabric.address(end),
            "udp_source_port": 0xC000 + 2 * number + back,
            "source_qp": 0x100 + 2 * number + back,
            "dest_qp": 0x100 + 2 * number + 1 - back,
        }
        for back, (begin, end) in enumerate([(source, target), (target, source)])
    ]


def _path(fabric: Fabric, source: int, target: int, draw: random.Random) -> list[tuple[int, int, int]]:
    """Node id, ingress and egress port of every switch on the way."""
    first, last = fabric.leaf_of(source), fabric.leaf_of(target)
    into, out = source % fabric.hosts_per_leaf + 1, target % fabric.hosts_per_leaf + 1
    if first == last:
        return [(fabric.node_id(fabric.leaf_site(first)), into, out)]
    spine = draw.randrange(fabric.spines)
    up = fabric.hosts_per_leaf + 1 + spine
    return [
        (fabric.node_id(fabric.leaf_site(first)), into, up),
        (fabric.node_id(fabric.spine_site(spine)), first + 1, last + 1),
        (fabric.node_id(fabric.leaf_site(last)), up, out),
    ]


def _numbers(sequences: dict[tuple[int, str], int], node: int, telemetry: bool, dropped: bool, draw: random.Random) -> dict[str, int]:
    """Sequence numbers of a node's streams; now and then a copy before this one was lost."""
    numbers = {"mirror_sequence": 0, "report_sequence": 0}
    for name, counted in (("mirror_sequence", not dropped), ("report_sequence", telemetry)):
        if counted:
            stream = node, f"{name} {dropped}"
            numbers[name] = sequences.get(stream, 0) + (draw.random() < 0.1)
            sequences[stream] = numbers[name] + 1
    return numbers


def _hop(node: int, ingress: int, egress: int, time: int, draw: random.Random) -> dict[str, int]:
    depth, latency = draw.randrange(200_000), draw.randrange(400, 40_000)
    return {
        "node_id": node,
        "ingress_port": ingress,
        "egress_port": egress,
        "queue_id": 3,
        "ingress_time_ns": time - latency - 5_000,
        "egress_time_ns": time - 5_000,
        "latency_ns": latency,
        "queue_depth_bytes": depth,
        "queue_depth_cells": -(-depth // CELL_BYTES),
        "tx_utilisation": draw.randrange(traces.UTILISATION_FULL + 1),
        "sent_bytes": draw.randrange(1 << 40),
    }


def _table(kind: Any, rows: list[dict[str, int]]) -> Any:
    return kind(**{name: np.array([row.get(name, 0) for row in rows], dtype=_DTYPES.get(name, "int64")) for name in kind._fields})
