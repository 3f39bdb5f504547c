"""Paths as a graph: which queue feeds which, the links between nodes, and the networkx graph for files and pictures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from int_analyzer.analysis.clocks.link_latency import LinkKey
from int_analyzer.analysis.congestion import contradicted
from int_analyzer.analysis.latency import QueueQuantiles
from int_analyzer.analysis.summary import Link, LinkLatency, PathSummary, Port, Quantiles, Summary
from int_analyzer.analysis.units import QueueUnits
from int_analyzer.fold.sorting import order_by
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


def list_ports(view: View, profile: Profile) -> list[Port]:
    """The names and ids of all queues."""
    return [port_of(view, profile, queue) for queue in range(len(view.queues.node_id))]


def crossings(view: View, wanted: Iterable[int]) -> dict[int, list[tuple[int, int]]]:
    """For each of these queues, (path, position on it) where it stands."""
    queues = view.paths.queues
    at = np.flatnonzero(np.isin(queues.values, list(wanted)))
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    columns = (queues.values[at], queues.row_of[at], queues.position_of[at])
    for queue, path, position in zip(*(column.tolist() for column in columns), strict=True):
        found[queue].append((path, position))
    return found


def reach_of_ports(view: View) -> dict[tuple[int, int], Reach]:
    """Where each (node, port) leads to."""
    queues, packets = view.paths.queues, view.paths.packets
    names, port_of_queue = _numbered(view.queues.node_id, view.queues.port)
    port, node = port_of_queue[queues.values], view.queues.node_id[queues.values]
    goes_on = np.flatnonzero(~queues.is_last)
    path, port_before = queues.row_of[goes_on], port[goes_on]
    onward, ending = np.zeros(len(names), dtype=np.int64), np.zeros(len(names), dtype=np.int64)
    np.add.at(onward, port_before, packets[path])
    np.add.at(ending, port[queues.is_last], packets[queues.row_of[queues.is_last]])
    next_nodes = _sets(port_before, node[goes_on + 1], len(names))
    last_nodes = _sets(port_before, node[queues.ends[path] - 1], len(names))
    crossed = np.unique(port).tolist()
    return {names[row]: Reach(next_nodes[row], last_nodes[row], int(onward[row]), int(ending[row])) for row in crossed}


def _numbered(nodes: Any, ports: Any) -> tuple[list[tuple[int, int]], Any]:
    """The distinct (node, port)s, and which of them each is: int64[n]."""
    order = order_by(nodes, ports)
    nodes, ports = nodes[order], ports[order]
    begins = _begins(nodes, ports)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(begins) - 1
    return list(zip(nodes[begins].tolist(), ports[begins].tolist(), strict=True)), number


def _begins(*words: Any) -> Any:
    """Where rows in order differ from those before them: bool[n]."""
    begins = np.ones(len(words[0]), dtype=bool)
    begins[1:] = np.any([word[1:] != word[:-1] for word in words], axis=0)
    return begins


def _sets(rows: Any, members: Any, count: int) -> list[frozenset[int]]:
    """The members of each of `count` rows."""
    order = order_by(rows, members)
    rows, members = rows[order], members[order]
    begins = _begins(rows, members)
    found: list[list[int]] = [[] for _ in range(count)]
    for row, member in zip(rows[begins].tolist(), members[begins].tolist(), strict=True):
        found[row].append(member)
    return [frozenset(row) for row in found]


def build_links(
    view: View, profile: Profile, ports: Sequence[Port], quantiles: QueueQuantiles, latencies: dict[LinkKey, LinkLatency]
) -> list[Link]:
    """Links, most packets first: an egress port (by queue) and the ingress port of the next node; None where no next one is seen."""
    node_ids, port_ids = view.queues.node_id.tolist(), view.queues.port.tolist()
    links = [
        Link(
            source=ports[queue],
            to_node=profile.node_name(node) if node is not None else None,
            to_node_id=node,
            to_port=profile.port_name(node, port) if node is not None else None,
            packets=packets,
            bytes=size,
            latency=quantiles.latency[queue],
            depth=quantiles.depth[queue],
            link_latency=latencies.get((node_ids[queue], port_ids[queue], node, port)) if node is not None else None,
        )
        for queue, node, port, packets, size in _crossed_links(view)
        if packets
    ]
    return sorted(links, key=lambda link: (-link.packets, _ids(link.source), link.to_node_id or 0, link.to_port or ""))


def _crossed_links(view: View) -> Iterator[tuple[int, int | None, int, int, int]]:
    """Every queue with the next node (None: not seen) and its ingress port, packets and bytes; in the order in which paths name them."""
    queues, is_last = view.paths.queues, view.paths.queues.is_last
    node = np.where(is_last, 0, view.queues.node_id[np.roll(queues.values, -1)])
    port = np.where(is_last, ABSENT, np.roll(view.paths.ingress_ports.values, -1))
    order = order_by(queues.values, is_last.astype(np.int64), node, port)
    if len(order) == 0:
        return
    begins = np.flatnonzero(_begins(*(word[order] for word in (queues.values, is_last, node, port))))
    packets, size = (np.add.reduceat(column[queues.row_of[order]], begins) for column in (view.paths.packets, view.paths.bytes))
    first = order[begins]
    columns = (queues.values[first], is_last[first], node[first], port[first], packets, size)
    by_path = np.argsort(first)
    for queue, ends, to_node, to_port, count, bytes_ in zip(*(column[by_path].tolist() for column in columns), strict=True):
        yield queue, None if ends else to_node, to_port, count, bytes_


def build_paths(view: View, ports: Sequence[Port], units: QueueUnits) -> list[PathSummary]:
    """Paths, most packets first. `share_of_latency` is by the mean latency of each queue, of all its packets."""
    seen, queues = view.paths, view.paths.queues
    hops = [ports[queue] for queue in queues.values.tolist()]
    shares, known = _shares_of_latency(view, units)
    columns = [seen.packets, seen.bytes, seen.holes, seen.first_ns, seen.last_ns]
    columns += [seen.ce_packets, seen.carried, seen.icrc_right, seen.icrc_wrong]
    rows = zip(queues.starts.tolist(), queues.ends.tolist(), known.tolist(), *(column.tolist() for column in columns), strict=True)
    paths = [
        PathSummary(
            hops=hops[start:end],
            packets=packets,
            bytes=size,
            holes=holes,
            first_ns=first_ns,
            last_ns=last_ns,
            share_of_latency=shares[start:end] if told else None,
            ce_ratio=marked / carried if carried else None,
            icrc_ok=right,
            icrc_bad=wrong,
        )
        for start, end, told, packets, size, holes, first_ns, last_ns, marked, carried, right, wrong in rows
    ]
    # All that were seen halfway were seen further on as well.
    return [paths[row] for row in _ordered_paths(view) if paths[row].packets]


def _ordered_paths(view: View) -> list[int]:
    """Paths by packets, those with as many by their ports, then by time."""
    seen, queues = view.paths, view.paths.queues
    rank = np.empty(len(view.queues.node_id), dtype=">u4")
    rank[order_by(view.queues.node_id, view.queues.port, view.queues.queue_id)] = np.arange(len(rank))
    # Bytes of big-endian numbers compare as these do, one after the other.
    names = rank[queues.values].tobytes()
    width = rank.itemsize
    spans = zip((width * queues.starts).tolist(), (width * queues.ends).tolist(), strict=True)
    columns = ((-seen.packets).tolist(), [names[start:end] for start, end in spans], seen.first_ns.tolist())
    keys = list(zip(*columns, strict=True))
    return sorted(range(len(keys)), key=keys.__getitem__)


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


def _shares_of_latency(view: View, units: QueueUnits) -> tuple[list[float], Any]:
    """The share of each hop in the mean latencies of its path; and of which paths all are known, in one unit: bool[paths]."""
    queues, paths = view.queues, view.paths.queues
    known = (queues.latency_count > 0) & ~contradicted(view)
    total = np.where(known, queues.latency_sum * np.asarray(units.latency_factor, dtype=np.float64), np.nan)
    means = (total / np.maximum(queues.latency_count, 1))[paths.values]
    whole = np.bincount(paths.row_of, means, len(paths))
    unit = np.unique(np.array(units.latency_unit), return_inverse=True)[1][paths.values]
    other = np.bincount(paths.row_of[unit != unit[paths.starts[paths.row_of]]], minlength=len(paths))
    usable = (whole > 0) & (other == 0)
    shares: list[float] = (means / np.where(usable, whole, 1.0)[paths.row_of]).tolist()
    return shares, usable
