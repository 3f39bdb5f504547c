"""Link latency: how long packets were on a link by the clocks of both its ends, once these are known; and packets that came too early.

What is below zero by more than the clocks' error is a fault of the clocks. It is counted here; no finding rests on two clocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer.analysis.clocks.band import Band
from int_analyzer.analysis.clocks.clock import Place
from int_analyzer.analysis.clocks.envelope import WRAP, Envelopes
from int_analyzer.analysis.summary import LinkLatency

LinkKey = tuple[int, int, int, int]
"""Node, egress port, next node, its ingress port."""


def measure_links(envelopes: Envelopes, places: dict[int, Place]) -> tuple[dict[LinkKey, LinkLatency], int]:
    """Every link of which both clocks are known; and windows (a link in a slot of time) in which packets came before they were sent."""
    links, points, link = envelopes.links, envelopes.points, envelopes.link_of
    ahead = _Ahead(envelopes, places)
    least = points.value - ahead.offset
    mean = links.mean * envelopes.factor - ahead.mean_offset
    turns = _turns(envelopes, least)
    least, mean = least - turns[link], mean - turns
    # Two times in whole units can be off by one each.
    faults = ahead.known[link] & (least < -ahead.error - 2 * envelopes.factor[link])
    # The mean is of packets before a step too.
    whole = ahead.since == -np.inf
    found: dict[LinkKey, LinkLatency] = {}
    for at in _least_of_each(link, least, ahead.known[link] & (points.time > ahead.since[link])).tolist():
        row = int(link[at])
        node, other = int(links.node_id[row]), int(links.next_node_id[row])
        usual = float(mean[row]) if whole[row] else None
        unit = envelopes.units[node].name
        key = (node, int(links.port[row]), other, int(links.next_port[row]))
        found[key] = LinkLatency(float(least[at]), usual, float(ahead.error[at]), unit, int(links.packets[row]))
    return found, int(faults.sum())


class _Ahead:
    """How much the clock behind each link is ahead of the one before it.

    offset, error: at each point; mean_offset: at the mean time of each link; since: from when on that holds; known: of which links.
    """

    def __init__(self, envelopes: Envelopes, places: dict[int, Place]) -> None:
        self._envelopes = envelopes
        links, points = envelopes.links, len(envelopes.link_of)
        self._mean_time = links.mean_ns - envelopes.origin
        self.offset, self.error, self.mean_offset = np.zeros(points), np.zeros(points), np.zeros(len(links.mean_ns))
        self.known, self.since = np.zeros(len(links.mean_ns), dtype=bool), np.full(len(links.mean_ns), -np.inf)
        banded = []
        for pair, rows in envelopes.rows.items():
            band = envelopes.bands.get(pair)
            if band is not None:
                banded += [(row, band) for row in rows]
            else:
                self._take_places(rows, *(places.get(node) for node in pair))
        if banded:
            self._take_bands(banded)

    def _take_bands(self, banded: list[tuple[int, Band]]) -> None:
        """Links between clocks that are compared with each other: all at once, as there are many."""
        rows, bands = np.array([row for row, _ in banded]), [band for _, band in banded]
        self.known[rows] = True
        self.since[rows] = [band.step_time for band in bands]
        columns = np.zeros((5, len(self.known)))
        columns[:, rows] = np.array([(one.centre, one.offset, one.drift, one.error, one.slack) for one in bands]).T
        self.mean_offset[rows] = (columns[1] + columns[2] * (self._mean_time - columns[0]))[rows]
        at = np.flatnonzero(np.isin(self._envelopes.link_of, rows))
        centre, offset, drift, error, slack = columns[:, self._envelopes.link_of[at]]
        time = self._envelopes.points.time[at]
        self.offset[at] = offset + drift * (time - centre)
        self.error[at] = error + slack * np.abs(time - centre)

    def _take_places(self, rows: list[int], one: Place | None, two: Place | None) -> None:
        """Links between clocks of which each is placed by itself."""
        if one is None or two is None or one.offset is None or two.offset is None or one.reference != two.reference:
            return
        for row in rows:
            self.known[row], self.since[row] = True, max(one.since, two.since)
            self.mean_offset[row] = two.at(self._mean_time[row]) - one.at(self._mean_time[row])
            own = self._envelopes.span_of(row)
            time = self._envelopes.points.time[own]
            self.offset[own], self.error[own] = two.at(time) - one.at(time), one.error_at(time) + two.error_at(time)


def _turns(envelopes: Envelopes, least: Any) -> Any:
    """By how much the values of links with 32-bit times are off, whole turns of the clock: float64[links], 0 for others."""
    links, link = envelopes.links, envelopes.link_of
    turns = np.zeros(len(links.mean_ns))
    narrow = np.flatnonzero(links.narrow & links.seen.any(axis=1))
    ordered, counts = least[np.lexsort((least, link))], np.bincount(link, minlength=len(turns))
    begins = np.cumsum(counts) - counts
    low, high = ((begins + (counts - 1 + step) // 2)[narrow] for step in (0, 1))
    wrap = WRAP * envelopes.factor[narrow]
    turns[narrow] = np.round((ordered[low] + ordered[high]) / 2 / wrap) * wrap
    return turns


def _least_of_each(link: Any, least: Any, among: Any) -> Any:
    """The point with the least value of each link, the first of equals: int64[n]."""
    at = np.flatnonzero(among)
    if len(at) == 0:
        return at
    begins = np.flatnonzero(np.diff(link[at], prepend=-1))
    lowest = np.repeat(np.minimum.reduceat(least[at], begins), np.diff(begins, append=len(at)))
    equal = at[least[at] == lowest]
    return equal[np.flatnonzero(np.diff(link[equal], prepend=-1))]
