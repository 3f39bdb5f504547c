"""How nodes spread flows over equal-cost ways, and the node that does it otherwise than its peers: a difference in their configuration.

Peers are nodes that send to the same next nodes, all or some of them. Two things are compared, one node with all its peers together:

* the shares of its flows that each next node gets (flows, not bytes: a large flow is no configuration);
* whether flows between the same two hosts part. Where they never do while those of the peers do, ports are not part of the hash.

Both must be far beyond chance. Where flows between two hosts stay together, all of them together count as one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from int_analyzer.analysis.losses.lossy_link import CERTAIN
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


class _Step(NamedTuple):
    """A flow leaves a node for the next one, on its way to the last."""

    next_id: int
    last_id: int
    port_id: int
    flow: int


@dataclass
class _Spread:
    """What one node does: flows by next node, the same by pair of hosts, ports to the next nodes, bytes."""

    flows: Counter[int]
    bytes: Counter[int]
    pairs: dict[tuple[str, str], list[int]]
    ports: dict[int, int]

    @cached_property
    def same(self) -> tuple[int, int]:
        """Flows that go the way of the first one between the same two hosts, and all that have one before them."""
        same = sum(ways.count(ways[0]) - 1 for ways in self.pairs.values())
        return same, sum(map(len, self.pairs.values())) - len(self.pairs)


def find_differences(view: View) -> list[Difference]:
    """Nodes that spread flows otherwise than their peers do."""
    steps: dict[int, list[_Step]] = defaultdict(list)
    for node, step in _steps(view):
        steps[node].append(step)
    found = []
    for group in _peers(steps):
        spreads = _spreads(view, {node: steps[node] for node in group})
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


def _spreads(view: View, steps: dict[int, list[_Step]]) -> dict[int, _Spread]:
    """By node of a group, over flows that have a choice: there are several ways from it, or from a peer, to their last node."""
    ways: dict[tuple[int, int], set[int]] = defaultdict(set)
    for node, taken in steps.items():
        for step in taken:
            ways[node, step.last_id].add(step.next_id)
    open_to = {last for (_, last), nexts in ways.items() if len(nexts) > 1}
    sizes = view.flows.bytes.tolist()
    spreads: dict[int, _Spread] = defaultdict(lambda: _Spread(Counter(), Counter(), defaultdict(list), {}))
    for node, taken in steps.items():
        for step in taken:
            if step.last_id in open_to:
                spread = spreads[node]
                spread.flows[step.next_id] += 1
                spread.bytes[step.next_id] += sizes[step.flow]
                spread.pairs[view.flows.src[step.flow], view.flows.dst[step.flow]].append(step.next_id)
                spread.ports[step.next_id] = step.port_id
    return dict(spreads)


def _steps(view: View) -> Iterator[tuple[int, _Step]]:
    """(node, step) wherever a flow goes on to a node that is not the last.

    A flow that moved once counts where it was before: a link that failed is no configuration. One that moves again and again is sprayed.
    """
    node_ids, ports = view.queues.node_id.tolist(), view.queues.port.tolist()
    for flow, (path, changes, before) in enumerate(
        zip(*(column[:MOST_FLOWS].tolist() for column in (view.flows.path, view.flows.path_changes, view.flows.path_before)), strict=True)
    ):
        first = path if changes == 0 else before if changes == 1 else ABSENT
        queues = view.paths.queues[first] if first != ABSENT else ()
        nodes = [node_ids[queue] for queue in queues]
        if ABSENT in nodes or len(set(nodes)) < len(nodes):
            continue
        for position in range(len(nodes) - 2):
            yield nodes[position], _Step(nodes[position + 1], nodes[-1], ports[queues[position]], flow)


def _peers(steps: dict[int, list[_Step]]) -> list[list[int]]:
    """Groups of nodes that choose between the same next nodes; one that uses some of them only belongs to those that use all."""
    groups: list[tuple[set[int], list[int]]] = []
    nexts_of = {node: {step.next_id for step in taken} for node, taken in steps.items()}
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
    first = Counter(ways[0] for ways in spread.pairs.values())
    return np.array([first[following] for following in nexts], dtype=np.float64)


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
