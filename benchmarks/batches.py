"""Batches of a leaf-spine fabric of any size, as columns: what the fold costs, without writing and decoding a capture of it.

RoCEv2 WRITEs with INT-MD stacks of three hops (leaf, spine, leaf). Hosts take turns at random, and each sends message after message, every
one of another of its flows; or, which no network interface does but is the worst order for caches, each packet is of another flow than the
one before. Only what the fold reads is filled in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from int_analyzer import schema
from int_analyzer.columns import N_HOPS, N_PACKETS, N_ROCE, PACKETS_PER_BATCH, Columns, allocate

HOPS = 3
START_NS = 1_700_000_000_000_000_000
GAP_NS = 1000
"""Mean time between packets at the collector, whatever the fabric: about a million packets per second."""

PACKET_BYTES, MESSAGE_PACKETS, PAYLOAD_BYTES = 1100, 16, 1024
LINK_NS, SINK_NS, BASE_NS, NS_PER_BYTE, MEAN_BYTES, CELL = 400, 350, 500, 0.08, 2000.0, 64
LEAF_ID, SPINE_ID = 0x1000, 0x2000
_FIRST, _MIDDLE, _LAST = 6, 7, 8
"""RC RDMA WRITE First, Middle, Last (IBTA Vol.1 §9.2)."""

_PRESENT = schema.HAS_NODE | schema.HAS_INGRESS_PORT | schema.HAS_EGRESS_PORT | schema.HAS_QUEUE | schema.HAS_LATENCY | schema.HAS_DEPTH
_TIMES = schema.HAS_INGRESS_TIME | schema.HAS_EGRESS_TIME


class Size(NamedTuple):
    """A fabric and the flows in it."""

    leaves: int
    spines: int
    hosts_of_leaf: int
    flows: int

    @property
    def hosts(self) -> int:
        return self.leaves * self.hosts_of_leaf


SMALL = Size(4, 2, 4, 400)
LARGE = Size(128, 64, 32, 100_000)


class Batches:
    """Batch after batch of one fabric, the same for the same seed."""

    def __init__(self, size: Size, whole_messages: bool = True, seed: int = 1) -> None:
        self.random = np.random.default_rng(seed)
        self.columns = allocate()
        self.now = START_NS
        self.packets_of_flow = MESSAGE_PACKETS if whole_messages else 1
        self.sent = np.zeros(size.hosts, dtype=np.int64)
        random, flows = self.random, size.flows
        source = np.arange(flows) % size.hosts
        target = (source + random.integers(1, size.hosts - size.hosts_of_leaf, flows) + size.hosts_of_leaf) % size.hosts
        spine = random.integers(0, size.spines, flows)
        (leaf, port), (last_leaf, last_port) = np.divmod(source, size.hosts_of_leaf), np.divmod(target, size.hosts_of_leaf)
        # A leaf's ports 1 … h lead to its hosts, h + 1 … h + s to the spines; a spine's ports 1 … l to the leaves.
        uplink = size.hosts_of_leaf + 1 + spine
        self.node = np.stack([LEAF_ID + leaf, SPINE_ID + spine, LEAF_ID + last_leaf], axis=1)
        self.ingress = np.stack([1 + port, 1 + leaf, uplink], axis=1)
        self.egress = np.stack([uplink, 1 + last_leaf, 1 + last_port], axis=1)
        self.source, self.target = 0x0A000000 + source, 0x0A000000 + target
        self.source_port = random.integers(0xC000, 0x10000, flows)
        self.queue_pair = random.integers(0x100, 0x1000000, flows)
        self.sequence = random.integers(0, 1 << 20, flows) * MESSAGE_PACKETS
        self._fill_constants()

    def _fill_constants(self) -> None:
        packets, hops, roce = self.columns.packets, self.columns.hops, self.columns.roce
        rows = np.arange(PACKETS_PER_BATCH)
        constants = {
            "original_bytes": PACKET_BYTES,
            "captured_bytes": PACKET_BYTES,
            "ip_bytes": PACKET_BYTES - 18,
            "ip_version": 4,
            "protocol": 17,
            "dst_port": 4791,
            "ecn": 2,
            "ttl": 61,
            "formats": 1 << schema.FORMAT_ROCE | 1 << schema.FORMAT_INT_MD_2,
            "telemetry": schema.FORMAT_INT_MD_2,
            "dialect": 1,
            "telemetry_bytes": 12 + 32 * HOPS,
            "hop_count": HOPS,
            "first_hop": HOPS * rows,
            "roce_row": rows,
        }
        for name, value in constants.items():
            getattr(packets, name)[:] = value
        hops.packet[: HOPS * len(rows)] = np.repeat(rows, HOPS)
        hops.present[:] = _PRESENT | _TIMES
        hops.queue_id[:] = 3
        roce.packet[:] = rows
        roce.payload_bytes[:] = PAYLOAD_BYTES
        roce.dma_bytes[:] = MESSAGE_PACKETS * PAYLOAD_BYTES
        self.columns.counts[[N_PACKETS, N_HOPS, N_ROCE]] = len(rows), HOPS * len(rows), len(rows)

    def _choose_flows(self) -> Any:
        """Flows of the next packets: of a host at random, and of that host the one whose turn it is."""
        host = self.random.integers(0, len(self.sent), PACKETS_PER_BATCH)
        turn = (self.sent[host] + _ranks(host)) // self.packets_of_flow
        self.sent += np.bincount(host, minlength=len(self.sent))
        # Flow f is of host f mod hosts; which one of these is as good as random.
        chosen = (host * 0x9E3779B1 + turn * 0x85EBCA6B) % 0xFFFFFFFB >> 8
        return host + len(self.sent) * (chosen % ((len(self.source) - 1 - host) // len(self.sent) + 1))

    def next(self) -> Columns:
        """The next batch; the columns of the one before are used again."""
        random, count = self.random, PACKETS_PER_BATCH
        packets, hops, roce = self.columns.packets, self.columns.hops, self.columns.roce
        flow = self._choose_flows()
        packets.time_ns[:] = times = self.now + np.cumsum(random.integers(1, 2 * GAP_NS, count))
        self.now = int(times[-1])
        packets.src_lo[:], packets.dst_lo[:] = self.source[flow], self.target[flow]
        packets.src_port[:] = self.source_port[flow]
        depth = (random.exponential(MEAN_BYTES, (count, HOPS)) // CELL * CELL).astype(np.int64)
        latency = (BASE_NS + depth * NS_PER_BYTE + random.integers(0, 60, (count, HOPS))).astype(np.int64)
        # The last hop is left SINK_NS before the capture, each one before a link and the latency of the next earlier.
        later = np.cumsum(latency[:, :0:-1] + LINK_NS, axis=1)[:, ::-1]
        egress = times[:, None] - SINK_NS - np.concatenate([later, np.zeros((count, 1), dtype=np.int64)], axis=1)
        for name, values in {
            "node_id": self.node[flow],
            "ingress_port": self.ingress[flow],
            "egress_port": self.egress[flow],
            "hop_latency_raw": latency,
            "queue_depth_raw": depth,
            "ingress_time_raw": egress - latency,
            "egress_time_raw": egress,
        }.items():
            getattr(hops, name)[: count * HOPS] = values.ravel()
        psn = (self.sequence[flow] + _ranks(flow)) & 0xFFFFFF
        self.sequence += np.bincount(flow, minlength=len(self.sequence))
        place = psn % MESSAGE_PACKETS
        packets.ip_id[:] = psn & 0xFFFF
        roce.dest_qp[:], roce.psn[:] = self.queue_pair[flow], psn
        roce.opcode[:] = np.where(place == 0, _FIRST, np.where(place == MESSAGE_PACKETS - 1, _LAST, _MIDDLE))
        roce.present[:] = schema.HAS_PAYLOAD | schema.HAS_ICRC | np.where(place == 0, schema.HAS_RETH, 0)
        roce.ack_req[:] = place == MESSAGE_PACKETS - 1
        return self.columns


def _ranks(flow: Any) -> Any:
    """How many earlier packets of the batch belong to the same flow: int64[n]."""
    order = np.argsort(flow, kind="stable")
    starts = np.flatnonzero(np.diff(flow[order], prepend=-1))
    ranks = np.empty(len(flow), dtype=np.int64)
    ranks[order] = np.arange(len(flow)) - np.repeat(starts, np.diff(starts, append=len(flow)))
    return ranks
