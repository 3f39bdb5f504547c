"""How nodes spread flows over equal-cost ways, and the node that does it otherwise than its peers: a difference in their configuration.

Peers are nodes that send to the same next nodes, all or some of them. Two things are compared, one node with all its peers together:

* the shares of its flows that each next node gets (flows, not bytes: a large flow is no configuration);
* whether flows between the same two hosts part. Where they never do while those of the peers do, ports are not part of the hash.

Both must be far beyond chance. Where flows between two hosts stay together, all of them together count as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from int_analyzer.analysis.losses.lossy_link import CERTAIN
from int_analyzer.fold.sorting import order_by
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT

FEWEST_PEERS = 2
"""With a single peer nobody knows which of the two is the odd one."""
MOST_FLOWS = 10_000
"""So many flows tell enough."""
FEWEST_EXPECTED = 5.0
"""A next node that so few flows were to be expected at tells nothing."""
LEAST_DIFFERENCE = 0.1
"""A share has to differ by so much."""
TOGETHER = 0.95
"""Flows between two hosts stay together where so many of them do."""


@dataclass(frozen=True)
class Difference:
    """A node that differs, at the next node that gets most beyond what peers send there: its share, theirs and the deviation of theirs.

    share, elsewhere and deviation are of bytes, share_of_flows and flows_elsewhere of flows.

    together, together_elsewhere: share of the flows that go with the first one between the same two hosts; None if that is no difference.
    """

    node_id: int
    next_id: int
    port_id: int
    flows: int
    share: float
    elsewhere: float
    deviation: float
    share_of_flows: float
    flows_elsewhere: float
    peers: list[int]
    never_used: list[int]
    together: float | None
    together_elsewhere: float | None


class _Steps(NamedTuple):
    """Flows that leave a node for the next one, on their way to the last: int64[n] each, in the order of the flows."""

    next_id: Any
    last_id: Any
    port_id: Any
    flow: Any


@dataclass
class _Spread:
    """What one node does: flows and bytes by next node, flows by the next node of the first one between the same two hosts, ports.

    same: flows that go the way of the first one between the same two hosts, and all that have one before them.
    """

    flows: Counter[int]
    bytes: Counter[int]
    first: Counter[int]
    same: tuple[int, int]
    ports: dict[int, int]


def find_differences(view: View) -> list[Difference]:
    """Nodes that spread flows otherwise than their peers do."""
    steps = _steps(view)
    if not steps:
        return []
    hosts: dict[tuple[str, str], int] = {}
    names = zip(view.flows.src[:MOST_FLOWS], view.flows.dst[:MOST_FLOWS], strict=True)
    pairs = np.array([hosts.setdefault(pair, len(hosts)) for pair in names], dtype=np.int64)
    found = []
    for group in _peers(steps):
        spreads = _spreads(view.flows.bytes, pairs, {node: steps[node] for node in group})
        for node in spreads:
            others = [other for other in spreads if other != node]
            if len(others) >= FEWEST_PEERS:
                difference = _compare(spreads, node, others, len(steps))
                found += [difference] if difference is not None else []
    return [one for one in found if not _explained(one, found)]


def _explained(one: Difference, found: list[Difference]) -> bool:
    """Whether it only differs as its peers are compared with it together with another that differs more."""
    return any(other.node_id in one.peers and _extent(other) > _extent(one) for other in found)


def _extent(difference: Difference) -> float:
    return abs(difference.share - difference.elsewhere) + abs((difference.together or 0.0) - (difference.together_elsewhere or 0.0))


def _spreads(sizes: Any, pairs: Any, steps: dict[int, _Steps]) -> dict[int, _Spread]:
    """By node of a group, over flows that have a choice: there are several ways from it, or from a peer, to their last node.

    sizes, pairs: int64[flows], bytes of a flow, and the number of its pair of hosts.
    """
    open_to: set[int] = set()
    for taken in steps.values():
        lasts, ways = np.unique(np.unique(np.stack([taken.last_id, taken.next_id]), axis=1)[0], return_counts=True)
        open_to.update(lasts[ways > 1].tolist())
    spreads = {}
    for node, taken in steps.items():
        open_ = np.isin(taken.last_id, list(open_to))
        if open_.any():
            spreads[node] = _spread(sizes, pairs, _Steps(*(column[open_] for column in taken)))
    return spreads


def _spread(sizes: Any, pairs: Any, steps: _Steps) -> _Spread:
    nexts, at = np.unique(steps.next_id, return_inverse=True)
    size = np.zeros(len(nexts), dtype=np.int64)
    np.add.at(size, at, sizes[steps.flow])
    _, first, pair = np.unique(pairs[steps.flow], return_index=True, return_inverse=True)
    same = int((steps.next_id == steps.next_id[first][pair]).sum()) - len(first)
    return _Spread(
        flows=Counter(dict(zip(nexts.tolist(), np.bincount(at).tolist(), strict=True))),
        bytes=Counter(dict(zip(nexts.tolist(), size.tolist(), strict=True))),
        first=Counter(steps.next_id[first].tolist()),
        same=(same, len(pair) - len(first)),
        ports=dict(zip(steps.next_id.tolist(), steps.port_id.tolist(), strict=True)),
    )


def _steps(view: View) -> dict[int, _Steps]:
    """By node: wherever a flow goes on to a node that is not the last.

    A flow that moved once counts where it was before: a link that failed is no configuration. One that moves again and again is sprayed.
    """
    paths, changes = view.paths.queues, view.flows.path_changes[:MOST_FLOWS]
    path = np.select([changes == 0, changes == 1], [view.flows.path[:MOST_FLOWS], view.flows.path_before[:MOST_FLOWS]], ABSENT)
    nodes = view.queues.node_id[paths.values]
    # nor does a path over a node that is not known, or twice over one, tell anything
    order = order_by(paths.row_of, nodes)
    again = (np.diff(paths.row_of[order]) == 0) & (np.diff(nodes[order]) == 0)
    useless = paths.lengths <= 2
    useless[paths.row_of[order[1:][again]]] = True
    useless[paths.row_of[nodes == ABSENT]] = True
    flow = np.flatnonzero((path != ABSENT) & ~np.append(useless, True)[path])
    path = path[flow]
    taken = paths.lengths[path] - 2
    at = np.repeat(paths.starts[path] - (np.cumsum(taken) - taken), taken) + np.arange(taken.sum())
    node = nodes[at]
    last = np.repeat(nodes[paths.ends[path] - 1], taken)
    columns = (nodes[at + 1], last, view.queues.port[paths.values[at]], np.repeat(flow, taken))
    by_node = order_by(node)
    begins = np.flatnonzero(np.diff(node[by_node], prepend=node[by_node[:1]] - 1))
    parts = zip(*(np.split(column[by_node], begins[1:]) for column in columns), strict=True)
    return dict(zip(node[by_node[begins]].tolist(), (_Steps(*part) for part in parts), strict=False))


def _peers(steps: dict[int, _Steps]) -> list[list[int]]:
    """Groups of nodes that choose between the same next nodes; one that uses some of them only belongs to those that use all."""
    groups: list[tuple[set[int], list[int]]] = []
    nexts_of = {node: set(taken.next_id.tolist()) for node, taken in steps.items()}
    for node in sorted(steps, key=lambda node: (-len(nexts_of[node]), node)):
        nexts = nexts_of[node]
        for wide, members in groups:
            if nexts <= wide:
                members.append(node)
                break
        else:
            groups.append((nexts, [node]))
    return [members for nexts, members in groups if len(nexts) > 1]


def _compare(spreads: dict[int, _Spread], node: int, others: list[int], nodes: int) -> Difference | None:
    own = spreads[node]
    together, elsewhere_together, hash_differs = _hashing(own, [spreads[other] for other in others], nodes)
    nexts = sorted({following for other in [node, *others] for following in spreads[other].flows})
    mine, theirs = _shares([own], nexts), _shares([spreads[other] for other in others], nexts)
    my_flows, their_flows = _flow_shares([own], nexts)[0], _flow_shares([spreads[other] for other in others], nexts).mean(axis=0)
    effective = (
        _effective(own, nexts, together),
        np.sum([_effective(spreads[other], nexts, elsewhere_together) for other in others], axis=0),
    )
    share, elsewhere = mine[0], theirs.mean(axis=0)
    if max(np.abs(share - elsewhere).max(), np.abs(my_flows - their_flows).max()) < LEAST_DIFFERENCE:
        return None
    if not hash_differs and _surprise(*effective) < CERTAIN + np.log(nodes):
        return None
    most = max((position for position, following in enumerate(nexts) if following in own.ports), key=lambda at: share[at] - elsewhere[at])
    return Difference(
        node_id=node,
        next_id=nexts[most],
        port_id=own.ports[nexts[most]],
        flows=sum(own.flows.values()),
        share=float(share[most]),
        elsewhere=float(elsewhere[most]),
        deviation=float(theirs[:, most].std()),
        share_of_flows=float(my_flows[most]),
        flows_elsewhere=float(their_flows[most]),
        peers=others,
        never_used=[following for following in nexts if own.flows[following] == 0],
        together=together if hash_differs else None,
        together_elsewhere=elsewhere_together if hash_differs else None,
    )


def _hashing(own: _Spread, others: Iterable[_Spread], nodes: int) -> tuple[float | None, float | None, bool]:
    """How many flows go with the first between the same two hosts, here and at the peers (None without any), and whether that differs."""
    same, whole = own.same
    parts = [other.same for other in others]
    same_there, whole_there = sum(part[0] for part in parts), sum(part[1] for part in parts)
    if not whole or not whole_there:
        return (same / whole if whole else None), (same_there / whole_there if whole_there else None), False
    here, there = same / whole, same_there / whole_there
    apart = (here >= TOGETHER) != (there >= TOGETHER)
    counts = np.array([same, whole - same]), np.array([same_there, whole_there - same_there])
    # Where nearly all flows take one way, those between two hosts do so too.
    by_chance = np.square(_flow_shares([own], sorted(own.flows))).sum()
    meant = here < TOGETHER or whole * np.log(1 / by_chance) >= CERTAIN + np.log(nodes)
    return here, there, bool(apart and meant and _surprise(*counts) >= CERTAIN + np.log(nodes))


def _shares(spreads: list[_Spread], nexts: list[int]) -> Any:
    """float64[nodes, nexts]: shares of bytes."""
    return np.array([_parts(spread.bytes, nexts) for spread in spreads])


def _flow_shares(spreads: list[_Spread], nexts: list[int]) -> Any:
    """float64[nodes, nexts]: shares of flows."""
    return np.array([_parts(spread.flows, nexts) for spread in spreads])


def _parts(counts: Counter[int], nexts: list[int]) -> list[float]:
    whole = max(sum(counts.values()), 1)
    return [counts[following] / whole for following in nexts]


def _effective(spread: _Spread, nexts: list[int], together: float | None) -> Any:
    """Choices by next node: flows, or pairs of hosts where their flows stay together."""
    if together is None or together < TOGETHER:
        return np.array([spread.flows[following] for following in nexts], dtype=np.float64)
    return np.array([spread.first[following] for following in nexts], dtype=np.float64)


def _surprise(one: Any, other: Any) -> float:
    """−ln of a bound on the chance that two such counts come from the same shares: the likelihood ratio, freed of its degrees of freedom.

    Of a chi-squared variable x with d degrees, ln P(X ≥ x) ≤ −(x − d) ÷ 2 + d ÷ 2 × ln(x ÷ d) (Chernoff).
    """
    pooled = (one + other) / (one.sum() + other.sum())
    told = pooled * min(one.sum(), other.sum()) >= FEWEST_EXPECTED
    degrees = int(told.sum()) - 1
    if degrees < 1:
        return 0.0
    ratio = 2 * (_divergence(one[told], pooled[told]) + _divergence(other[told], pooled[told]))
    return float((ratio - degrees) / 2 - degrees / 2 * np.log(ratio / degrees)) if ratio > degrees else 0.0


def _divergence(counts: Any, shares: Any) -> float:
    """Σ n ln(observed ÷ expected)."""
    seen = counts > 0
    expected = shares / shares.sum() * counts.sum()
    return float((counts[seen] * np.log(counts[seen] / expected[seen])).sum())
