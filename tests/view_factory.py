"""Views by hand: packets with their hops go in, what a state would know of them comes out. Plain Python, slow and obvious."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from int_analyzer.fold.connections import Connections
from int_analyzer.fold.histogram import Histograms
from int_analyzer.fold.ragged import Ragged
from int_analyzer.fold.view import BucketView, FlowView, PairView, PathView, QueueView, SequenceView, View

MS = 1_000_000
START = 1_700_000_000_000_000_000
FLOW = ("10.0.0.1", "10.0.0.9", 49152)


@dataclass(frozen=True)
class Hop:
    """A hop as reported: None where the value was not there."""

    node: int
    port: int
    depth: int | None = 0
    latency: int | None = 10
    ingress: int = -1
    queue: int = 0
    contradicted: bool = False
    all_zero: bool = False


@dataclass
class Traffic:
    """Collects packets; `view` makes the view. Everything is filled that was not said (lowest water mark: 0)."""

    width_ns: int = MS
    packets: list[tuple[int, tuple[Hop, ...], tuple[str, str, int], int, bool]] = field(default_factory=list)
    formats: dict[str, int] = field(default_factory=lambda: {"int-md-2.x": 1})
    statuses: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    streams: list[tuple[str, int, int, int, bool]] = field(default_factory=list)  # kind, node, received, lost, static
    drops: dict[tuple[int, int], int] = field(default_factory=dict)
    evicted: int = 0
    connections: Connections = field(default_factory=lambda: Connections(1))

    def packet(self, at_ns: int, *hops: Hop, flow: tuple[str, str, int] = FLOW, size: int = 1000, hole: bool = False) -> None:
        """One packet, `at_ns` after the start of the capture."""
        self.packets.append((START + at_ns, hops, flow, size, hole))

    def stream(
        self, begin_ms: float, end_ms: float, per_ms: int, hops: Callable[[float], tuple[Hop, ...]], flow: tuple[str, str, int] = FLOW
    ) -> None:
        """Evenly spaced packets; `hops` gets the time in ms."""
        for number in range(round((end_ms - begin_ms) * per_ms)):
            at = begin_ms + number / per_ms
            self.packet(round(at * MS), *hops(at), flow=flow)

    def view(self) -> View:
        """The view of all packets so far."""
        queues: dict[tuple[int, int, int], int] = {}
        per_queue: dict[int, list[tuple[int, Hop, int, bool]]] = defaultdict(list)
        paths: dict[tuple[tuple[int, ...], tuple[int, ...]], list[tuple[int, int, bool]]] = defaultdict(list)
        flows: dict[tuple[str, str, int], list[tuple[int, int, int]]] = defaultdict(list)
        pairs: dict[tuple[int, int], list[tuple[int, Hop, int]]] = defaultdict(list)
        packets = sorted(self.packets, key=lambda packet: packet[0])
        for at, hops, flow, size, hole in packets:
            rows = tuple(queues.setdefault((hop.node, hop.port, hop.queue), len(queues)) for hop in hops)
            key = (rows, tuple(hop.ingress for hop in hops))
            paths[key].append((at, size, hole))
            flows[flow].append((at, size, list(paths).index(key) if hops else -1))
            for row, hop in zip(rows, hops, strict=True):
                per_queue[row].append((at, hop, size, hole))
                if (hop.depth or 0) > 4 or (hop.latency or 0) > 40:
                    pairs[row, list(flows).index(flow)].append((at, hop, size))
        flow_view = _flows(flows, self.evicted)
        connections, host_pairs = self.connections.view(flow_view)
        hops_seen = sum(len(seen) for seen in per_queue.values())
        counts = {
            "packets": len(packets),
            "first_ns": packets[0][0] if packets else 0,
            "last_ns": packets[-1][0] if packets else 0,
            "bytes": sum(packet[3] for packet in packets),
            "telemetry_packets": sum(1 for packet in packets if packet[1]),
            "hops": hops_seen,
            "telemetry_bytes": 0,
        }
        return View(
            queues=_queues(list(queues), per_queue),
            buckets=_buckets(per_queue, self.width_ns),
            paths=PathView(
                queues=Ragged.of(key[0] for key in paths),
                ingress_ports=Ragged.of(key[1] for key in paths),
                packets=_ints(len(seen) for seen in paths.values()),
                bytes=_ints(sum(size for _, size, _ in seen) for seen in paths.values()),
                holes=_ints(sum(hole for _, _, hole in seen) for seen in paths.values()),
                carried=_ints(len(seen) for seen in paths.values()),
                ce_packets=_ints(0 for _ in paths),
                icrc_right=_ints(0 for _ in paths),
                icrc_wrong=_ints(0 for _ in paths),
                first_ns=_ints(seen[0][0] for seen in paths.values()),
                last_ns=_ints(seen[-1][0] for seen in paths.values()),
            ),
            flows=flow_view,
            connections=connections,
            host_pairs=host_pairs,
            pairs=_pairs(pairs, self.evicted),
            sequences=SequenceView(
                kind=[stream[0] for stream in self.streams],
                node_id=_ints(stream[1] for stream in self.streams),
                source=["10.0.0.4" for _ in self.streams],
                stream=_ints(0 for _ in self.streams),
                received=_ints(stream[2] for stream in self.streams),
                lost=_ints(stream[3] for stream in self.streams),
                reordered=_ints(0 for _ in self.streams),
                duplicated=_ints(0 for _ in self.streams),
                static=np.array([stream[4] for stream in self.streams], dtype=np.bool_),
            ),
            counts=counts | self.counts,
            statuses=self.statuses or {"ok": len(packets)},
            formats=self.formats,
            drops=self.drops,
        )


def _ints(values: Any) -> Any:
    return np.array(list(values), dtype=np.int64)


def _floats(values: Any) -> Any:
    return np.array(list(values), dtype=np.float64)


def _histograms(rows: list[list[int]]) -> Histograms:
    made = Histograms(len(rows))
    for row, values in enumerate(rows):
        for value in values:
            made.add(row, value)
    return made


def _queues(keys: list[tuple[int, int, int]], per_queue: dict[int, list[tuple[int, Hop, int, bool]]]) -> QueueView:
    rows = [per_queue[row] for row in range(len(keys))]
    latencies = [[hop.latency for _, hop, _, _ in seen if hop.latency is not None] for seen in rows]
    depths = [[hop.depth for _, hop, _, _ in seen if hop.depth is not None] for seen in rows]
    return QueueView(
        node_id=_ints(key[0] for key in keys),
        port=_ints(key[1] for key in keys),
        queue_id=_ints(key[2] for key in keys),
        packets=_ints(len(seen) for seen in rows),
        bytes=_ints(sum(size for _, _, size, _ in seen) for seen in rows),
        latency_count=_ints(len(values) for values in latencies),
        latency_from_times=_ints(0 for _ in rows),
        latency_sum=_floats(sum(values) for values in latencies),
        latency_max=_ints(max(values, default=-1) for values in latencies),
        latency_contradicted=_ints(sum(hop.contradicted for _, hop, _, _ in seen) for seen in rows),
        depth_count=_ints(len(values) for values in depths),
        depth_sum=_floats(sum(values) for values in depths),
        depth_max=_ints(max(values, default=-1) for values in depths),
        utilisation_max=_ints(-1 for _ in rows),
        all_zero=_ints(sum(hop.all_zero for _, hop, _, _ in seen) for seen in rows),
        truncated=_ints(0 for _ in rows),
        first_ns=_ints(seen[0][0] for seen in rows),
        last_ns=_ints(seen[-1][0] for seen in rows),
        latency_histograms=_histograms(latencies),
        depth_histograms=_histograms(depths),
    )


def _buckets(per_queue: dict[int, list[tuple[int, Hop, int, bool]]], width: int) -> BucketView:
    found: dict[tuple[int, int], list[tuple[int, Hop, int]]] = defaultdict(list)
    for row in sorted(per_queue):
        for at, hop, size, _ in per_queue[row]:
            found[row, at // width * width].append((at, hop, size))
    keys = sorted(found)
    rows = [found[key] for key in keys]
    latencies = [[hop.latency for _, hop, _ in seen if hop.latency is not None] for seen in rows]
    depths = [[(hop.depth, -at) for at, hop, _ in seen if hop.depth is not None] for seen in rows]
    return BucketView(
        width_ns=width,
        queue=np.array([key[0] for key in keys], dtype=np.int32),
        start_ns=_ints(key[1] for key in keys),
        packets=_ints(len(seen) for seen in rows),
        bytes=_ints(sum(size for _, _, size in seen) for seen in rows),
        latency_count=_ints(len(values) for values in latencies),
        latency_sum=_ints(sum(values) for values in latencies),
        latency_max=_ints(max(values, default=-1) for values in latencies),
        depth_count=_ints(len(values) for values in depths),
        depth_sum=_ints(sum(depth for depth, _ in values) for values in depths),
        depth_max=_ints(max(values, default=(-1, 0))[0] for values in depths),
        depth_max_ns=_ints(-max(values, default=(-1, 0))[1] for values in depths),
    )


def _flows(flows: dict[tuple[str, str, int], list[tuple[int, int, int]]], evicted: int) -> FlowView:
    none = _ints(0 for _ in flows)
    moves = [
        [(at, before) for (_, _, before), (at, _, after) in pairwise(seen) if -1 not in (before, after) and before != after]
        for seen in flows.values()
    ]
    return FlowView(
        src=[flow[0] for flow in flows],
        dst=[flow[1] for flow in flows],
        protocol=none + 17,
        src_port=_ints(flow[2] for flow in flows),
        dst_port=none + 4791,
        dest_qp=none + 17,
        packets=_ints(len(seen) for seen in flows.values()),
        bytes=_ints(sum(size for _, size, _ in seen) for seen in flows.values()),
        ce_packets=none,
        cnp_packets=none,
        telemetry_packets=_ints(sum(path >= 0 for _, _, path in seen) for seen in flows.values()),
        path=_ints(seen[-1][2] for seen in flows.values()),
        path_changes=_ints(len(changes) for changes in moves),
        path_change_ns=_ints(changes[-1][0] if changes else 0 for changes in moves),
        path_before=_ints(changes[-1][1] if changes else -1 for changes in moves),
        first_ns=_ints(seen[0][0] for seen in flows.values()),
        last_ns=_ints(seen[-1][0] for seen in flows.values()),
        evicted=evicted,
    )


def _pairs(pairs: dict[tuple[int, int], list[tuple[int, Hop, int]]], evicted: int) -> PairView:
    return PairView(
        queue=_ints(key[0] for key in pairs),
        flow=_ints(key[1] for key in pairs),
        packets=_ints(len(seen) for seen in pairs.values()),
        bytes=_ints(sum(size for _, _, size in seen) for seen in pairs.values()),
        latency_excess_sum=_floats(sum(hop.latency or 0 for _, hop, _ in seen) for seen in pairs.values()),
        depth_sum=_floats(sum(hop.depth or 0 for _, hop, _ in seen) for seen in pairs.values()),
        first_ns=_ints(seen[0][0] for seen in pairs.values()),
        last_ns=_ints(seen[-1][0] for seen in pairs.values()),
        evicted=evicted,
    )
