"""What of a fabric is drawn: all of it, or of a large one the paths through what is congested, with the rest of them gathered.

On these paths a node whose ports are told has a box of its own; others share one by their place: at the edge of the fabric or in its core,
and how many hops before or behind the congested port. Of a calm fabric it is all paths, by how many hops from their source on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from int_analyzer.analysis.paths import ONWARD_SHARE
from int_analyzer.analysis.summary import Finding, Link, PathSummary, Port, Quantiles, Summary
from int_analyzer.report import figure

MOST_NODES = 16
"""With more a picture of all is no longer read at a glance."""
_ROOTS, _TOLD = 3, 6
"""Roots that are told one by one, and findings at all."""
_FARTHEST = 4
"""Hops from a congested port: what is farther shares the box of these."""
_HIDDEN = "\u2060"
"""Between the text of a gathered port and what tells it from others: word joiner, which no name has."""

_Place = str | tuple[str, int]
"""The name of a node, or (part of the fabric, hops before the port or −1 × hops behind it)."""
_Ends = tuple[_Place, str | None, str, _Place | None]
"""Box, its port (None: several that are gathered), role of its findings, box behind it."""


@dataclass(frozen=True)
class Mark:
    """A port, or several gathered ones, with the role of their findings and what is said of them; "" if it is said once already."""

    node: str
    port: str
    role: str
    text: str


@dataclass(frozen=True)
class Excerpt:
    """Links between boxes, marks of ports with the most important last, and what is left out; "" if that is nothing."""

    links: list[Link]
    marks: list[Mark]
    left_out: str = ""


def excerpt(summary: Summary) -> Excerpt:
    """What to draw."""
    names = {name for link in summary.links for name in (link.source.node, link.to_node) if name is not None}
    if len(names) <= MOST_NODES or not summary.paths:
        return Excerpt(summary.links, [_mark(finding) for finding in reversed(summary.findings)])
    told = _told(summary.findings)
    roots = {(finding.node, finding.port) for finding in told if finding.role != "victim"}
    through = [path for path in summary.paths if any(_end(hop) in roots for hop in path.hops)]
    gathering = _Gathering(summary, told, through or summary.paths)
    links = [gathering.link(ends) for ends in gathering.edges]
    which = f"the {figure.count(len(through))} through the {'port' if len(roots) == 1 else 'ports'} in red" if through else "all"
    left_out = (
        f"{figure.count(len(names))} nodes, {figure.things(len(summary.paths), 'path')}; drawn are {which}: "
        "nodes and ports without a name here are gathered by their place, numbers are packets of these paths"
    )
    return Excerpt(links, [*gathering.marks(), *(_mark(finding) for finding in reversed(told))], left_out)


def shown(port: str) -> str:
    """The text of a port: what comes before that which only tells gathered ones apart."""
    return port.partition(_HIDDEN)[0]


def _mark(finding: Finding) -> Mark:
    text = f"port {finding.port} {figure.trouble(finding)}: {finding.cause.replace('-', ' ')}"
    if finding.peak_depth is not None:
        text += f", depth {figure.quantity(finding.peak_depth, finding.depth_unit)}"
    return Mark(finding.node, finding.port, finding.role, text)


def _told(findings: Sequence[Finding]) -> list[Finding]:
    """The first roots and what they hold up first, as far as there is room."""
    roots = [finding for finding in findings if finding.role != "victim"][:_ROOTS]
    ids = {finding.id for finding in roots}
    held_up = [finding for finding in findings if finding.role == "victim" and finding.root in ids]
    return [*roots, *held_up][:_TOLD]


@dataclass
class _Edge:
    """What leads from one box to another: its ports, those that it arrives at, packets, and the link with the deepest queue."""

    ports: set[tuple[str, str]] = field(default_factory=set)
    arrives: set[tuple[str, str]] = field(default_factory=set)
    packets: int = 0
    deepest: Link | None = None


class _Gathering:
    """The paths, with nodes of one place in one box."""

    def __init__(self, summary: Summary, told: Sequence[Finding], paths: Sequence[PathSummary]) -> None:
        self._told = {(finding.node, finding.port) for finding in told}
        self._roots = {(finding.node, finding.port) for finding in told if finding.role != "victim"}
        self._role = {(finding.node, finding.port): finding.role for finding in reversed(summary.findings)}
        self._rim = _rim(summary.paths)
        self._link = {(link.source, link.to_node): link for link in summary.links}
        self._members: dict[tuple[str, int], set[str]] = defaultdict(set)
        on_paths = [(path, self._away(path)) for path in paths]
        # Only at the place of what is told of it: what a node sends to others, among many, is not.
        self._own = {
            (hop.node, place) for path, away in on_paths for hop, place in zip(path.hops, away, strict=True) if _end(hop) in self._told
        }
        self.edges: dict[_Ends, _Edge] = defaultdict(_Edge)
        for path, away in on_paths:
            self._add(path, [self._place(hop.node, place) for hop, place in zip(path.hops, away, strict=True)])

    def _away(self, path: PathSummary) -> list[int]:
        """How many hops each stands before a root, or else behind the source. Where a path comes back to a node it is the same place."""
        at = next((place for place, hop in enumerate(path.hops) if _end(hop) in self._roots), None)
        first: dict[str, int] = {}
        for place, hop in enumerate(path.hops):
            first.setdefault(hop.node, max(-_FARTHEST, min(_FARTHEST, place if at is None else at - place)))
        return [first[hop.node] for hop in path.hops]

    def _place(self, node: str, away: int) -> _Place:
        if (node, away) in self._own:
            return node
        place = "edge" if node in self._rim else "core", away
        self._members[place].add(node)
        return place

    def _add(self, path: PathSummary, places: list[_Place]) -> None:
        for hop, here, after, after_hop in zip(path.hops, places, [*places[1:], None], [*path.hops[1:], None], strict=True):
            port = _end(hop)
            edge = self.edges[here, hop.port if port in self._told else None, self._role.get(port, ""), after]
            edge.ports.add(port)
            edge.packets += path.packets
            link = self._link.get((hop, after_hop.node if after_hop is not None else None))
            if link is not None and (edge.deepest is None or (link.depth.p99 or 0) > (edge.deepest.depth.p99 or 0)):
                edge.deepest = link
            if after_hop is not None:
                edge.arrives.add((after_hop.node, (link.to_port if link is not None else None) or "?"))

    def link(self, ends: _Ends) -> Link:
        """The edge as a link from box to box."""
        edge, (here, _, role, after) = self.edges[ends], ends
        unknown = Quantiles(0, None, None, None, None, "raw")
        return Link(
            source=Port(self._name(here), self._port(ends), None, None, None),
            to_node=None if after is None else self._name(after),
            to_node_id=None,
            to_port=_ports(edge.arrives, f"{self._name(here)} {role}") if edge.arrives else None,
            packets=edge.packets,
            bytes=0,
            latency=edge.deepest.latency if edge.deepest is not None else unknown,
            depth=edge.deepest.depth if edge.deepest is not None else unknown,
        )

    def marks(self) -> Iterator[Mark]:
        """What is said of gathered ports with findings, once for those of a box and a role."""
        ports: dict[tuple[_Place, str], set[tuple[str, str]]] = defaultdict(set)
        for (here, named, role, _), edge in self.edges.items():
            if role and named is None:
                ports[here, role] |= edge.ports
        for ends in self.edges:
            here, named, role, _ = ends
            if role and named is None:
                some = ports.pop((here, role), None)
                text = f"{figure.things(len(some), 'port')} {figure.trouble_of(role, waits=True)}" if some is not None else ""
                yield Mark(self._name(here), self._port(ends), role, text)

    def _port(self, ends: _Ends) -> str:
        _, port, role, after = ends
        return port or _ports(self.edges[ends].ports, f"{'' if after is None else self._name(after)} {role}")

    def _name(self, place: _Place) -> str:
        if isinstance(place, str):
            return place
        members = self._members[place]
        part, away = place
        more = "more " if any((node in self._rim, at) == (part == "edge", away) for node, at in self._own) else ""
        return (f"{len(members)} {more}{part} nodes" if len(members) > 1 else min(members)) + f"{_HIDDEN}{away}"


def _end(hop: Port) -> tuple[str, str]:
    return hop.node, hop.port


def _rim(paths: Sequence[PathSummary]) -> set[str]:
    """The nodes at which paths begin or end, but for a few: of a path that is cut, or goes round in circles, any node may be the last."""
    ending: dict[str, int] = defaultdict(int)
    passing: dict[str, int] = defaultdict(int)
    for path in paths:
        for hop in path.hops:
            passing[hop.node] += path.packets
        for hop in path.hops[:1] + path.hops[-1:]:
            ending[hop.node] += path.packets
    return {node for node, packets in ending.items() if packets >= ONWARD_SHARE * passing[node]}


def _ports(ports: set[tuple[str, str]], other: str) -> str:
    return min(ports)[1] if len(ports) == 1 else f"{len(ports)} ports{_HIDDEN}{other}"
