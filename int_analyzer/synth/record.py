"""What is captured of a trace: which packets, with which hops in them, and by whose report."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from int_analyzer import schema
from int_analyzer.synth.emission import Emission
from int_analyzer.synth.stack import STACKS
from int_analyzer.synth.trace import Trace


class Records(NamedTuple):
    """One row per captured frame, int64[n]: the packet in it, hops in that packet's stack, the hop that a report tells of (row of hops,
    −1: none), the version of the report (FORMAT_NONE: a mirrored packet)."""

    packet: Any
    stack: Any
    own: Any
    report: Any

    def part(self, rows: slice) -> Records:
        """Some of them."""
        return Records(*(column[rows] for column in self))


def records_of(trace: Trace, emission: Emission) -> Records:
    """All that an emission makes a fabric send to the collector, in order of time."""
    packets = trace.packets
    dropped = packets.dropped != 0
    told = ~dropped if emission.mirrored else ~dropped & (packets.telemetry != 0)
    if emission.drop_report != schema.FORMAT_NONE:
        told |= dropped
    packet = np.flatnonzero(told)
    count = packets.hop_count[packet].astype(np.int64)
    if emission.postcards:
        return _postcards(trace, emission, packet, count, dropped[packet])
    report = np.where(dropped[packet], emission.drop_report, emission.report).astype(np.int64)
    last = packets.first_hop[packet] + count - 1
    # the reporting switch tells of itself in its report, not in the packet
    owned = (report != schema.FORMAT_NONE) & (count > 0)
    owned[owned] = trace.hops.node_id[last[owned]] == packets.mirror_node[packet[owned]]
    stack = np.minimum(count - owned, emission.most_hops) if emission.telemetry in STACKS else np.zeros_like(count)
    return Records(packet, stack, np.where(owned, last, -1), report)


def _postcards(trace: Trace, emission: Emission, packet: Any, count: Any, dropped: Any) -> Records:
    """A report by every switch on the way; of a dropped packet, one by the switch that dropped it."""
    each = np.where(dropped, 1, count)
    start = trace.packets.first_hop[packet] + np.where(dropped, count - 1, 0)
    place = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    report = np.where(dropped, emission.drop_report, emission.report).astype(np.int64)
    return Records(np.repeat(packet, each), np.zeros(len(place), dtype=np.int64), np.repeat(start, each) + place, np.repeat(report, each))
