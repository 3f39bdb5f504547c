"""One packet with its hops, picked now and then while decoding: what a trace is made of."""

from __future__ import annotations

from typing import NamedTuple

from int_analyzer import schema
from int_analyzer.columns import Columns
from int_analyzer.fold.flows import address

FEWEST_HOPS = 2


class HopSample(NamedTuple):
    """A hop as reported; None where a value was not there."""

    node_id: int | None
    ingress_port: int | None
    egress_port: int | None
    queue_id: int | None
    latency: int | None
    depth: int | None


class PacketSample(NamedTuple):
    """A packet: capture time, addresses, and hops in path order."""

    time_ns: int
    src: str
    dst: str
    src_port: int
    dst_port: int
    hops: list[HopSample]


_BITS = (
    ("node_id", schema.HAS_NODE),
    ("ingress_port", schema.HAS_INGRESS_PORT),
    ("egress_port", schema.HAS_EGRESS_PORT),
    ("queue_id", schema.HAS_QUEUE),
    ("hop_latency_raw", schema.HAS_LATENCY),
    ("queue_depth_raw", schema.HAS_DEPTH),
)


def pick(columns: Columns) -> PacketSample | None:
    """The packet of a batch that tells of the most hops, the first of equals; None if none tells of a path."""
    packets, hops = columns.packets, columns.hops
    count = columns.rows("packets")
    row = int(packets.hop_count[:count].argmax()) if count else 0
    if not count or packets.hop_count[row] < FEWEST_HOPS:
        return None
    first = int(packets.first_hop[row])
    found = []
    for hop in range(first, first + int(packets.hop_count[row])):
        present = int(hops.present[hop])
        found.append(HopSample(*(int(getattr(hops, name)[hop]) if present & bit else None for name, bit in _BITS)))
    version = int(packets.ip_version[row])
    return PacketSample(
        int(packets.time_ns[row]),
        address(version, int(packets.src_hi[row]), int(packets.src_lo[row])) if version else "",
        address(version, int(packets.dst_hi[row]), int(packets.dst_lo[row])) if version else "",
        int(packets.src_port[row]),
        int(packets.dst_port[row]),
        found,
    )
