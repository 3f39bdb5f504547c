"""What happened on the way besides congestion: flows that took another path, packets that ran in a loop, nodes that are not seen.

An event is no finding: it names no congested port. But it says when the network itself changed, which a finding may have to do with.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from int_analyzer.analysis.paths import port_label, port_of
from int_analyzer.analysis.shares import flow_name
from int_analyzer.analysis.summary import Event, Port
from int_analyzer.fold.sorting import order_by
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT, Profile

PATH_CHANGE, SPRAYING, LOOP, UNSEEN_NODE = "path-change", "spraying", "loop", "unseen-node"

SPRAYED_CHANGES = 8
"""A flow that moved so often is spread over paths on purpose (packet spraying, adaptive routing): it tells of no change."""
TOGETHER_NS = 50_000_000
"""Flows that moved within this time of each other moved for one reason."""
FAR_END_SHARE = 0.05
"""So much of what a port sends must arrive elsewhere than the rest, for a node in between to be concluded."""
FAR_END_PACKETS = 20
_NAMED = 3


def find_events(view: View, profile: Profile) -> list[Event]:
    """Events in the order of time."""
    events = [*_path_changes(view, profile), *_spraying(view), *_loops(view, profile), *_unseen_nodes(view, profile)]
    return sorted(events, key=lambda event: event.start_ns)


def _path_changes(view: View, profile: Profile) -> list[Event]:
    flows = view.flows
    moved = np.flatnonzero((flows.path_changes > 0) & (flows.path_changes < SPRAYED_CHANGES) & (flows.path_before >= 0) & (flows.path >= 0))
    moved = moved[np.argsort(flows.path_change_ns[moved], kind="stable")]
    groups = np.split(moved, np.flatnonzero(np.diff(flows.path_change_ns[moved]) > TOGETHER_NS) + 1)
    return [_path_change(view, profile, group) for group in groups if len(group)]


def _path_change(view: View, profile: Profile, flows: Any) -> Event:
    """Flows that moved together: from where they left their old paths, and which port all of them left."""
    table = view.flows
    left: Counter[int] = Counter()
    taken: Counter[int] = Counter()
    for flow in flows.tolist():
        old, new = view.paths.queues[int(table.path_before[flow])], view.paths.queues[int(table.path[flow])]
        parting = next((position for position, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        left.update(list(dict.fromkeys(old[parting:])))
        taken.update(new[parting : parting + 1])
    start, end = int(table.path_change_ns[flows[0]]), int(table.path_change_ns[flows[-1]])
    # The port that most of them left; of equals the one that fell silent, then the first on the way.
    abandoned = max(left, key=lambda queue: (left[queue], view.queues.last_ns[queue] <= end), default=None)
    many = f"{len(flows)} flow{'s' if len(flows) > 1 else ''}"
    evidence = [f"{many} took another path: {_named(flow_name(table, profile, flow) for flow in flows.tolist())}"]
    if abandoned is not None:
        where = port_label(view, profile, abandoned)
        silent = int(view.queues.last_ns[abandoned]) <= end
        share = f"all of them left {where}" if left[abandoned] == len(flows) else f"{left[abandoned]} of them left {where}"
        evidence.append(f"{share}{', and nothing was seen there since' if silent else ', which still carries others'}")
    if taken:
        now = ", ".join(f"{port_label(view, profile, queue)} ({count})" for queue, count in taken.most_common(_NAMED))
        evidence.append(f"they now leave by {now}")
    at = port_of(view, profile, abandoned) if abandoned is not None else None
    return _event(PATH_CHANGE, at, start, end, len(flows), None, evidence)


def _spraying(view: View) -> list[Event]:
    flows = view.flows
    sprayed = np.flatnonzero(flows.path_changes >= SPRAYED_CHANGES)
    if len(sprayed) == 0:
        return []
    changes, packets = int(flows.path_changes[sprayed].sum()), int(flows.telemetry_packets[sprayed].sum())
    evidence = [
        f"{len(sprayed)} flow{'s' if len(sprayed) > 1 else ''} changed path {changes} times in {packets} packets: "
        "spread over paths packet by packet or flowlet by flowlet, not moved by a fault"
    ]
    first, last = int(flows.first_ns[sprayed].min()), int(flows.last_ns[sprayed].max())
    return [_event(SPRAYING, None, first, last, len(sprayed), packets, evidence)]


def _loops(view: View, profile: Profile) -> list[Event]:
    """Paths with a node twice, those with the same nodes in the circle together."""
    node_ids = view.queues.node_id.tolist()
    circles: dict[frozenset[int], list[int]] = defaultdict(list)
    begins: dict[frozenset[int], int] = {}
    for path in _with_a_node_twice(view):
        queues = view.paths.queues[path]
        passed = [node_ids[queue] for queue in queues]
        seen: dict[int, int] = {}
        for position, node in enumerate(passed):
            if node != ABSENT and node in seen:
                circle = frozenset(passed[seen[node] : position])
                circles[circle].append(path)
                begins.setdefault(circle, queues[seen[node]])
                break
            seen[node] = position
    events = []
    for circle, rows in circles.items():
        paths = np.array(rows)
        packets = int(view.paths.packets[paths].sum())
        flows = int(np.isin(view.flows.path, paths).sum() + np.isin(view.flows.path_before, paths).sum())
        nodes = " and ".join(profile.node_name(node) for node in sorted(circle))
        evidence = [
            f"{packets} packet{'s' if packets > 1 else ''} passed {nodes} more than once"
            + (": a loop, or two nodes with one id" if len(circle) > 1 else ": it sent them back, or two nodes have one id")
        ]
        first, last = int(view.paths.first_ns[paths].min()), int(view.paths.last_ns[paths].max())
        events.append(_event(LOOP, port_of(view, profile, begins[circle]), first, last, flows, packets, evidence))
    return events


def _with_a_node_twice(view: View) -> list[int]:
    """The paths on which a node stands more than once."""
    queues = view.paths.queues
    node = view.queues.node_id[queues.values]
    order = order_by(queues.row_of, node)
    path, node = queues.row_of[order], node[order]
    twice = (path[1:] == path[:-1]) & (node[1:] == node[:-1]) & (node[1:] != ABSENT)
    found: list[int] = np.unique(path[1:][twice]).tolist()
    return found


def _unseen_nodes(view: View, profile: Profile) -> list[Event]:
    """Ports of which the packets arrive in several places: a link has one far end, so a node that adds no telemetry stands there."""
    far_ends: dict[tuple[int, int], Counter[tuple[int, int]]] = defaultdict(Counter)
    queue_of: dict[tuple[int, int], int] = {}
    for here, port, end, packets in _ways_on(view):
        far_ends[port][end] += packets
        queue_of.setdefault(port, here)
    events = []
    for port, counted in far_ends.items():
        total = sum(counted.values())
        ends = [end for end, packets in counted.most_common() if packets >= max(FAR_END_PACKETS, FAR_END_SHARE * total)]
        if len(ends) < 2:
            continue
        queue = queue_of[port]
        shown = ", ".join(f"{profile.node_name(node)} port {profile.port_name(node, by)}" for node, by in ends[:_NAMED])
        more = f" and {len(ends) - _NAMED} more" if len(ends) > _NAMED else ""
        evidence = [f"what leaves {port_label(view, profile, queue)} arrives at {shown}{more}: a node without telemetry stands in between"]
        same_port = (view.queues.node_id == port[0]) & (view.queues.port == port[1])
        first, last = int(view.queues.first_ns[same_port].min()), int(view.queues.last_ns[same_port].max())
        events.append(_event(UNSEEN_NODE, port_of(view, profile, queue), first, last, None, total, evidence))
    return events


def _ways_on(view: View) -> Iterator[tuple[int, tuple[int, int], tuple[int, int], int]]:
    """Where ports with several far ends lead on whole paths: queue, (node, port), (next node, its ingress port), packets of the path."""
    queues, paths = view.queues, view.paths
    at = np.flatnonzero(~paths.queues.is_last & (paths.holes == 0)[paths.queues.row_of])
    queue = paths.queues.values[at]
    words = (queues.node_id[queue], queues.port[queue], queues.node_id[paths.queues.values[at + 1]], paths.ingress_ports.values[at + 1])
    named = np.all([word != ABSENT for word in words], axis=0)
    at, queue, words = at[named], queue[named], tuple(word[named] for word in words)
    order = order_by(*words)
    node, port, next_node, by = (word[order] for word in words)
    same_port = (node[1:] == node[:-1]) & (port[1:] == port[:-1])
    parts = same_port & ((next_node[1:] != next_node[:-1]) | (by[1:] != by[:-1]))
    # Rows of one port stand together, and are told if its far end changes anywhere among them.
    group = np.concatenate(([0], np.cumsum(~same_port)))[: len(order)]
    several = np.zeros(len(order), dtype=bool)
    several[order] = np.isin(group, group[1:][parts])
    columns = (queue, *words, paths.packets[paths.queues.row_of[at]])
    for here, node_id, port_id, next_id, next_port, packets in zip(*(column[several].tolist() for column in columns), strict=True):
        yield here, (node_id, port_id), (next_id, next_port), packets


def _event(kind: str, at: Port | None, start_ns: int, end_ns: int, flows: int | None, packets: int | None, evidence: list[str]) -> Event:
    return Event(
        kind=kind,
        node=at.node if at is not None else None,
        port=at.port if at is not None else None,
        node_id=at.node_id if at is not None else None,
        port_id=at.port_id if at is not None else None,
        start_ns=start_ns,
        end_ns=end_ns,
        flows=flows,
        packets=packets,
        evidence=evidence,
    )


def _named(names: Any) -> str:
    listed = list(names)
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more
