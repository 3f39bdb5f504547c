"""Envelopes: the least difference of two nodes' clocks in each slot of time, by direction, in one unit; and the bands of their pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from int_analyzer.analysis.clocks.band import Band, Points, fit_bands
from int_analyzer.analysis.units import RAW
from int_analyzer.fold.view import LinkView, View
from int_analyzer.profile import ABSENT, Profile

WRAP = float(1 << 32)
"""After so many units a 32-bit time begins anew."""

_FACTORS_NS = {"ns": 1.0, "us": 1000.0}

Pair = tuple[int, int]
"""A node and the next one."""


@dataclass(frozen=True)
class TimeUnit:
    """What a node counts time in: "ns" with the factor to get there, or "raw"."""

    name: str
    factor: float

    @property
    def wrap(self) -> float:
        """After how long a 32-bit time begins anew."""
        return WRAP * self.factor


class Envelopes:
    """All that the links of a view say of two clocks each; times are in ns from `origin`, a capture time.

    points: the envelopes of all links, one after the other; link_of: the link of each point; factor: of each link, the unit of its values.
    """

    def __init__(self, view: View, profile: Profile) -> None:
        self.links: LinkView = view.links
        links = self.links
        ends = list(zip(links.node_id.tolist(), links.next_node_id.tolist(), strict=True))
        self.nodes = sorted({node for node in (*view.queues.node_id.tolist(), *(end for pair in ends for end in pair)) if node != ABSENT})
        self.units = {node: _unit(profile.units_of(node).time) for node in self.nodes}
        seen = links.lowest_ns[links.seen]
        self.origin, self.end = (int(seen.min()), int(seen.max())) if len(seen) else (0, 0)
        self.link_of, _ = np.nonzero(links.seen)
        self.factor = np.array([self.units[node].factor if node in self.units else 1.0 for node, _ in ends])
        self.points = Points((seen - self.origin).astype(np.float64), links.lowest[links.seen] * self.factor[self.link_of])
        self._begins = np.searchsorted(self.link_of, np.arange(len(ends) + 1)).tolist()
        self.mismatched: set[int] = set()
        self.rows: dict[Pair, list[int]] = defaultdict(list)
        for row, (node, other) in enumerate(ends):
            if ABSENT in (node, other) or node == other:
                continue
            if self.units[node] == self.units[other]:
                self.rows[node, other].append(row)
            else:
                self.mismatched |= {node, other}

    @property
    def middle(self) -> float:
        """The middle of the time in which links were seen."""
        return (self.end - self.origin) / 2

    def of_link(self, row: int) -> Points:
        """The envelope of one link."""
        own = self.span_of(row)
        return Points(self.points.time[own], self.points.value[own])

    def span_of(self, row: int) -> slice:
        """Where the points of one link stand."""
        return slice(self._begins[row], self._begins[row + 1])

    @cached_property
    def ways(self) -> dict[Pair, Points]:
        """The least over all links from one node to another, by (node, next node)."""
        return {pair: self._together(pair, map(self.of_link, rows)) for pair, rows in self.rows.items()}

    @cached_property
    def bands(self) -> dict[Pair, Band]:
        """How much the clock of the second node is ahead of the first's, for pairs that see each other; both ways round."""
        seen: dict[Pair, tuple[Points, Points]] = {}
        for (node, other), ahead in self.ways.items():
            back = self.ways.get((other, node))
            if node < other and back is not None:
                seen[node, other] = ahead, self._unwrapped((other, node), back, -ahead.value.min())
        found: dict[Pair, Band] = {}
        for (node, other), band in zip(seen, fit_bands(list(seen.values())), strict=True):
            if band is not None:
                found[node, other] = band
                step = None if band.step is None else -band.step
                found[other, node] = replace(band, offset=-band.offset, drift=-band.drift, step=step)
        return found

    @property
    def one_way(self) -> dict[Pair, Points]:
        """The envelopes of pairs of which only one direction is seen."""
        return {(node, other): points for (node, other), points in self.ways.items() if (other, node) not in self.ways}

    @property
    def uneven(self) -> set[int]:
        """Nodes of pairs that see each other and have no band."""
        return {node for (node, other) in self.ways if (other, node) in self.ways and (node, other) not in self.bands}

    def _together(self, pair: Pair, envelopes: Iterable[Points]) -> Points:
        parts: list[Points] = []
        for points in envelopes:
            parts.append(self._unwrapped(pair, points, parts[0].value.min()) if parts else points)
        if len(parts) == 1:
            return parts[0]
        return Points(np.concatenate([part.time for part in parts]), np.concatenate([part.value for part in parts]))

    def _unwrapped(self, pair: Pair, points: Points, near: float) -> Points:
        """Differences of 32-bit times by so many turns of the clock that their least is nearest to `near`."""
        if not self.links.narrow[self.rows[pair]].any():
            return points
        wrap = self.units[pair[0]].wrap
        return Points(points.time, points.value - np.round((points.value.min() - near) / wrap) * wrap)


def _unit(name: str) -> TimeUnit:
    return TimeUnit("ns", _FACTORS_NS[name]) if name in _FACTORS_NS else TimeUnit(RAW, 1.0)
