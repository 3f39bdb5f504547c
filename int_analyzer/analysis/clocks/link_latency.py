"""Link latency: how long packets were on a link by the clocks of both its ends, once these are known; and packets that came too early.

What is below zero by more than the clocks' error is a fault of the clocks. It is counted here; no finding rests on two clocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from int_analyzer.analysis.clocks.clock import Place
from int_analyzer.analysis.clocks.envelope import Envelopes
from int_analyzer.analysis.summary import LinkLatency

LinkKey = tuple[int, int, int, int]
"""Node, egress port, next node, its ingress port."""


def measure_links(envelopes: Envelopes, places: dict[int, Place]) -> tuple[dict[LinkKey, LinkLatency], int]:
    """Every link of which both clocks are known; and windows (a link in a slot of time) in which packets came before they were sent."""
    links = envelopes.links
    found: dict[LinkKey, LinkLatency] = {}
    faults = 0
    for (node, other), rows in envelopes.rows.items():
        clocks = _between(envelopes, places, node, other)
        if clocks is None:
            continue
        offset, error_at, since = clocks
        unit = envelopes.units[node]
        for row in rows:
            points = envelopes.of_link(row)
            least = points.value - offset(points.time)
            mean = float(links.mean[row]) * unit.factor - float(offset(float(links.mean_ns[row]) - envelopes.origin))
            if links.narrow[row]:
                turns = np.round(np.median(least) / unit.wrap) * unit.wrap
                least, mean = least - turns, mean - turns
            # Two times in whole units can be off by one each.
            faults += int((least < -error_at(points.time) - 2 * unit.factor).sum())
            after = np.flatnonzero(points.time > since)
            if len(after):
                at = after[np.argmin(least[after])]
                key = (node, int(links.port[row]), other, int(links.next_port[row]))
                # The mean is of packets before a step too.
                usual = mean if since == -np.inf else None
                found[key] = LinkLatency(float(least[at]), usual, float(error_at(points.time[at])), unit.name, int(links.packets[row]))
    return found, faults


def _between(
    envelopes: Envelopes, places: dict[int, Place], node: int, other: int
) -> tuple[Callable[[Any], Any], Callable[[Any], Any], float] | None:
    """How much the other's clock is ahead by time, its error by time, and since when that holds; None if it is not known."""
    band = envelopes.bands.get((node, other))
    if band is not None:
        return band.at, band.error_at, band.step_time
    one, two = places.get(node), places.get(other)
    if one is None or two is None or one.offset is None or two.offset is None or one.reference != two.reference:
        return None
    return lambda time: two.at(time) - one.at(time), lambda time: one.error_at(time) + two.error_at(time), max(one.since, two.since)
