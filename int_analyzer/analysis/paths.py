"""Paths as a graph: which queue feeds which, the links between nodes, and the networkx graph for files and pictures."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from int_analyzer.analysis.clocks.link_latency import LinkKey
from int_analyzer.analysis.congestion import contradicted
from int_analyzer.analysis.latency import QueueQuantiles
from int_analyzer.analysis.summary import Link, LinkLatency, PathSummary, Port, Quantiles, Summary
from int_analyzer.analysis.units import QueueUnits
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT, Profile

if TYPE_CHECKING:
    import networkx

ONWARD_SHARE = 0.1
"""When at least this share of what passes a port is seen at a further node, what comes after the port is known."""
EDGE_ROLE, CORE_ROLE, OUTSIDE_ROLE = "leaf", "spine", "outside"


@dataclass(frozen=True)
class Reach:
    """Where a port leads to: next nodes and last nodes of the paths through it, packets that go on and that end here."""

    next_nodes: frozenset[int]
    last_nodes: frozenset[int]
    onward: int
    ending: int

    @property
    def last_hop(self) -> bool:
        """Hardly a packet was seen at a further node. A mirror before that node may hide the rest, so a few are enough."""
        return self.onward < ONWARD_SHARE * (self.onward + self.ending)

    @property
    def beyond(self) -> frozenset[int]:
        """Last nodes that are not the next node: what this port is one of several ways to."""
        return self.last_nodes - self.next_nodes


def port_of(view: View, profile: Profile, queue: int) -> Port:
    """The names and ids of a queue."""
    node_id, port = int(view.queues.node_id[queue]), int(view.queues.port[queue])
    number = int(view.queues.queue_id[queue])
    return Port(
        node=profile.node_name(node_id),
        port=profile.port_name(node_id, port),
        queue=number if number != ABSENT else None,
        node_id=node_id if node_id != ABSENT else None,
        port_id=port if port != ABSENT else None,
    )


def port_label(view: View, profile: Profile, queue: int) -> str:
    """ "node s1 port s1-l3", and the queue where it is not 0."""
    at = port_of(view, profile, queue)
    return f"node {at.node} port {at.port}" + (f" queue {at.queue}" if at.queue else "")


def crossings(view: View) -> dict[int, list[tuple[int, int]]]:
    """For every queue, (path, position on it) where it stands."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for path, queues in enumerate(view.paths.queues):
        for position, queue in enumerate(queues):
            found[queue].append((path, position))
    return found


def reach_of_ports(view: View) -> dict[tuple[int, int], Reach]:
    """Where each (node, port) leads to."""
    next_nodes: dict[tuple[int, int], set[int]] = defaultdict(set)
    last_nodes: dict[tuple[int, int], set[int]] = defaultdict(set)
    onward: dict[tuple[int, int], int] = defaultdict(int)
    ending: dict[tuple[int, int], int] = defaultdict(int)
    node_ids, ports = view.queues.node_id.tolist(), view.queues.port.tolist()
    for queues, packets in zip(view.paths.queues, view.paths.packets.tolist(), strict=True):
        for position, queue in enumerate(queues):
            port = (node_ids[queue], ports[queue])
            if position + 1 < len(queues):
                next_nodes[port].add(node_ids[queues[position + 1]])
                last_nodes[port].add(node_ids[queues[-1]])
                onward[port] += packets
            else:
                ending[port] += packets
    return {
        port: Reach(frozenset(next_nodes[port]), frozenset(last_nodes[port]), onward[port], ending[port])
        for port in {*onward.keys(), *ending.keys()}
    }


def build_links(view: View, profile: Profile, quantiles: QueueQuantiles, latencies: dict[LinkKey, LinkLatency]) -> list[Link]:
    """Links, most packets first: an egress port (by queue) and the ingress port of the next node; None where no next one is seen."""
    packets: dict[tuple[int, int | None, int], int] = defaultdict(int)
    bytes_: dict[tuple[int, int | None, int], int] = defaultdict(int)
    node_ids, ports = view.queues.node_id.tolist(), view.queues.port.tolist()
    for path, queues in enumerate(view.paths.queues):
        ingress = view.paths.ingress_ports[path]
        for position, queue in enumerate(queues):
            if position + 1 < len(queues):
                key = (queue, node_ids[queues[position + 1]], ingress[position + 1])
            else:
                key = (queue, None, ABSENT)
            packets[key] += int(view.paths.packets[path])
            bytes_[key] += int(view.paths.bytes[path])
    links = [
        Link(
            source=port_of(view, profile, queue),
            to_node=profile.node_name(node) if node is not None else None,
            to_node_id=node,
            to_port=profile.port_name(node, port) if node is not None else None,
            packets=count,
            bytes=bytes_[queue, node, port],
            latency=quantiles.latency[queue],
            depth=quantiles.depth[queue],
            link_latency=latencies.get((node_ids[queue], ports[queue], node, port)) if node is not None else None,
        )
        for (queue, node, port), count in packets.items()
        if count
    ]
    return sorted(links, key=lambda link: (-link.packets, _ids(link.source), link.to_node_id or 0, link.to_port or ""))


def build_paths(view: View, profile: Profile, units: QueueUnits) -> list[PathSummary]:
    """Paths, most packets first. `share_of_latency` is by the mean latency of each queue, of all its packets."""
    ports = [port_of(view, profile, queue) for queue in range(len(view.queues.node_id))]
    order, means = [_ids(at) for at in ports], _mean_latencies(view, units)
    seen = view.paths
    columns = [seen.packets, seen.bytes, seen.holes, seen.first_ns, seen.last_ns]
    columns += [seen.ce_packets, seen.carried, seen.icrc_right, seen.icrc_wrong]
    counters = zip(seen.queues, *(column.tolist() for column in columns), strict=True)
    paths = [
        PathSummary(
            hops=[ports[queue] for queue in queues],
            packets=packets,
            bytes=size,
            holes=holes,
            first_ns=first_ns,
            last_ns=last_ns,
            share_of_latency=_shares(units, queues, means),
            ce_ratio=marked / carried if carried else None,
            icrc_ok=right,
            icrc_bad=wrong,
        )
        for queues, packets, size, holes, first_ns, last_ns, marked, carried, right, wrong in counters
        # all that were seen halfway were seen further on as well
        if packets
    ]
    places = sorted(
        range(len(paths)),
        key=lambda at: (-paths[at].packets, [order[queue] for queue in seen.queues[at]], paths[at].first_ns),
    )
    return [paths[at] for at in places]


def build_graph(summary: Summary, profile: Profile | None = None) -> networkx.MultiDiGraph:
    """The graph of all paths: nodes by node id (−1 where none is known), an edge per link. Attributes are numbers and
    text, left out where not known.

    Nodes have name and role (the profile's, else a guess: leaf where paths begin or end, spine in between); edges egress_port,
    ingress_port, queue, packets, bytes, quantiles of latency and depth with their unit, link_latency (lowest, mean, error, unit) where the
    clocks at both ends are known, and role, cause and id of a finding.
    Where a port leads out of the telemetry the edge ends in a node "<node id>:<port>" with role outside.
    """
    import networkx

    graph = networkx.MultiDiGraph()
    ends = {_node(hop) for path in summary.paths for hop in (path.hops[:1] + path.hops[-1:])}
    names = {_node(link.source): link.source.node for link in summary.links}
    names |= {link.to_node_id: link.to_node or "" for link in summary.links if link.to_node_id is not None}
    for node_id, name in names.items():
        said = profile.node_role(node_id) if profile is not None else None
        graph.add_node(node_id, name=name, role=said or (EDGE_ROLE if node_id in ends else CORE_ROLE))
    findings = {(finding.node_id, finding.port_id, finding.queue): finding for finding in summary.findings}
    for link in summary.links:
        source = link.source
        target: int | str | None = link.to_node_id
        if target is None:
            target = f"{_node(source)}:{source.port}"
            graph.add_node(target, name="", role=OUTSIDE_ROLE)
        attributes: dict[str, Any] = {"egress_port": source.port, "packets": link.packets, "bytes": link.bytes}
        if link.to_port is not None:
            attributes["ingress_port"] = link.to_port
        if source.queue is not None:
            attributes["queue"] = source.queue
        if link.link_latency is not None:
            measured = {"lowest": link.link_latency.lowest, "mean": link.link_latency.mean, "error": link.link_latency.error}
            attributes |= {f"link_latency_{key}": value for key, value in measured.items() if value is not None}
            attributes["link_latency_unit"] = link.link_latency.unit
        attributes |= _quantile_attributes("latency", link.latency) | _quantile_attributes("depth", link.depth)
        finding = findings.get((source.node_id, source.port_id, source.queue))
        if finding is not None:
            attributes |= {"finding": finding.id, "role": finding.role, "cause": finding.cause}
        graph.add_edge(_node(source), target, **attributes)
    return graph


def _ids(at: Port) -> tuple[int, int, int]:
    """What orders ports that have as many packets."""
    return _node(at), ABSENT if at.port_id is None else at.port_id, ABSENT if at.queue is None else at.queue


def _node(at: Port) -> int:
    """The key of a node in the graph: its id, or −1 for all that have none."""
    return ABSENT if at.node_id is None else at.node_id


def _quantile_attributes(name: str, quantiles: Quantiles) -> dict[str, Any]:
    if quantiles.p50 is None:
        return {}
    values = {"p50": quantiles.p50, "p99": quantiles.p99, "p999": quantiles.p999, "max": quantiles.max}
    return {f"{name}_{key}": value for key, value in values.items() if value is not None} | {f"{name}_unit": quantiles.unit}


def _mean_latencies(view: View, units: QueueUnits) -> list[float]:
    """Mean latency of every queue in its unit, NaN where there is none or the node's own times contradict it."""
    queues = view.queues
    known = (queues.latency_count > 0) & ~contradicted(view)
    total = np.where(known, queues.latency_sum * np.asarray(units.latency_factor, dtype=np.float64), np.nan)
    means: list[float] = (total / np.maximum(queues.latency_count, 1)).tolist()
    return means


def _shares(units: QueueUnits, queues: tuple[int, ...], means: list[float]) -> list[float] | None:
    """The share of each queue in the sum of these means; None if one is not known, or if they are in several units."""
    total = sum(means[queue] for queue in queues)
    if isnan(total) or total <= 0 or len({units.latency_unit[queue] for queue in queues}) != 1:
        return None
    return [means[queue] / total for queue in queues]
