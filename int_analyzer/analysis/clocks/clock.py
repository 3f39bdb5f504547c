"""Clocks: offset and drift of every node against a reference.

Two nodes that see each other's packets have a band (band.py). From the reference, offsets add up along the tree of bands with the
smallest error. What is seen in one direction only has no offset (the way between the nodes cannot be told from it) but may have a drift.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.clocks.band import FASTEST, one_way_drift
from int_analyzer.analysis.clocks.envelope import Envelopes, TimeUnit
from int_analyzer.analysis.summary import Clock
from int_analyzer.analysis.units import RAW
from int_analyzer.profile import Profile

REFERENCE, BOTH, ONE, UNKNOWN = "reference", "both directions", "one direction", "unknown"
NO_TIMES = "no packet has the egress time of one node and the ingress time of the next"
OTHER_UNIT = "its neighbours count time in another unit"
UNIT_UNKNOWN = "the unit of its times is unknown: no drift"
UNEVEN = "clocks were set more than once, or do not run evenly"
NO_WAY_BACK = "packets are seen in one direction only: the way between the nodes cannot be told from the offset"
NO_LINE = "packets are seen in one direction only, and their least latencies lie on no line"


@dataclass(frozen=True)
class Place:
    """How much a node's clock is ahead of the reference's: `offset` + `slope` × time after `since`; ± `error` at `middle`.

    offset None: not known. drift: the slope, None if the time is too short to know it; its error None if not known.
    """

    reference: int
    offset: float | None = 0.0
    slope: float = 0.0
    error: float = 0.0
    drift: float | None = 0.0
    drift_error: float | None = 0.0
    since: float = -np.inf
    middle: float = 0.0

    def at(self, time: Any) -> Any:
        """The offset, which has to be known, at a time or at many."""
        return self.offset + self.slope * time

    def error_at(self, time: Any) -> Any:
        """By how much `at` may be off."""
        return self.error + (FASTEST if self.drift_error is None else self.drift_error) * np.abs(time - self.middle)


def place_nodes(envelopes: Envelopes) -> dict[int, Place]:
    """Every node's clock relative to the reference of its part of the fabric, as far as it can be known."""
    neighbours: dict[int, list[int]] = defaultdict(list)
    for node, other in envelopes.bands:
        neighbours[node].append(other)
    places: dict[int, Place] = {}
    while left := [node for node in neighbours if node not in places]:
        # A clock that was never set, and that many others are compared with.
        steady = {node: sum(envelopes.bands[node, other].step is None for other in neighbours[node]) for node in left}
        _spread(envelopes, neighbours, max(left, key=lambda node: (steady[node], len(neighbours[node]), -node)), places)
    _spread_drift(envelopes, places)
    return places


def list_clocks(envelopes: Envelopes, places: dict[int, Place], profile: Profile) -> list[Clock]:
    """A clock for every node, at the middle of the time in which links were seen."""
    steps = _find_steps(envelopes)
    return [_clock(node, envelopes, places.get(node), profile, steps.get(node)) for node in envelopes.nodes]


def _spread(envelopes: Envelopes, neighbours: dict[int, list[int]], reference: int, places: dict[int, Place]) -> None:
    """Place all nodes that bands connect to the reference, each over the neighbour with the smallest error."""
    middle = envelopes.middle
    waiting = [(0.0, reference, Place(reference, middle=middle))]
    while waiting:
        _, node, place = heapq.heappop(waiting)
        if node in places:
            continue
        places[node] = place
        for other in neighbours[node]:
            if other in places:
                continue
            band = envelopes.bands[node, other]
            known = place.drift_error is not None and band.drift_error is not None
            slope = place.slope + band.drift
            further = Place(
                reference,
                offset=place.at(0.0) + band.at(0.0),
                slope=slope,
                error=place.error + band.error_at(middle),
                drift=slope if known else None,
                drift_error=(place.drift_error or 0.0) + (band.drift_error or 0.0) if known else None,
                since=max(place.since, band.step_time),
                middle=middle,
            )
            heapq.heappush(waiting, (further.error, other, further))


def _spread_drift(envelopes: Envelopes, places: dict[int, Place]) -> None:
    """Give nodes that are seen in one direction only the drift against a neighbour that has one."""
    drifts: dict[int, list[tuple[int, float | None]]] = defaultdict(list)
    for (node, other), points in envelopes.one_way.items():
        drift = one_way_drift(points)
        drifts[node].append((other, drift))
        drifts[other].append((node, None if drift is None else -drift))
    if drifts and not places:
        reference = max(drifts, key=lambda node: (len(drifts[node]), -node))
        places[reference] = Place(reference, middle=envelopes.middle)
    reached = [node for node in places if node in drifts]
    for node in reached:
        before = places[node].drift
        for other, drift in drifts[node]:
            if other not in places:
                known = None if drift is None or before is None else before + drift
                places[other] = Place(places[node].reference, offset=None, drift=known, drift_error=None)
                reached.append(other)


def _clock(node: int, envelopes: Envelopes, place: Place | None, profile: Profile, step: tuple[float, float] | None) -> Clock:
    name, unit = profile.node_name(node), envelopes.units[node]
    if place is None:
        reason = UNEVEN if node in envelopes.uneven else OTHER_UNIT if node in envelopes.mismatched else NO_TIMES
        return Clock(name, node, UNKNOWN, reason=reason)
    how = REFERENCE if place.reference == node else ONE if place.offset is None else BOTH
    # A rate can be told from capture time only in its unit.
    drift, drift_error = (place.drift, place.drift_error) if unit.name == "ns" else (None, None)
    return Clock(
        node=name,
        node_id=node,
        how=how,
        reference=profile.node_name(place.reference),
        offset=None if place.offset is None else float(place.at(place.middle)),
        error=None if place.offset is None else float(place.error),
        unit=unit.name,
        drift_ppm=None if drift is None else drift * 1e6,
        drift_error_ppm=None if drift_error is None else drift_error * 1e6,
        at_ns=envelopes.origin + round(envelopes.middle),
        step=None if step is None else step[0],
        step_ns=None if step is None else envelopes.origin + round(step[1]),
        reason=_reason(how, place, unit),
    )


def _reason(how: str, place: Place, unit: TimeUnit) -> str:
    if how == ONE:
        return NO_WAY_BACK if place.drift is not None else NO_LINE
    return UNIT_UNKNOWN if how == BOTH and unit.name == RAW else ""


def _find_steps(envelopes: Envelopes) -> dict[int, tuple[float, float]]:
    """By how much clocks were set, and when: of nodes of which bands have a step more often than those of the node at the other end."""
    total: Counter[int] = Counter(node for node, _ in envelopes.bands)
    torn: Counter[int] = Counter(node for (node, _), band in envelopes.bands.items() if band.step is not None)

    def suspicion(node: int) -> tuple[float, int, int]:
        # Where both are as suspect, the one with fewer neighbours: it is not the reference.
        return torn[node] / total[node], -total[node], node

    steps: dict[int, list[tuple[float, float, float]]] = defaultdict(list)
    for (other, node), band in envelopes.bands.items():
        if band.step is not None and suspicion(node) > suspicion(other):
            steps[node].append((band.error, band.step, band.step_time))
    return {node: min(found)[1:] for node, found in steps.items()}
