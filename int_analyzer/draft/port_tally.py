"""What passes an egress port: packets, the ports behind it, and how fast it sent while packets waited."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from int_analyzer.analysis.paths import ONWARD_SHARE
from int_analyzer.analysis.units import DEPTH_FLOOR_PACKETS
from int_analyzer.draft.hop_rows import NONE, Array, HopRows


@dataclass
class PortTally:
    """Counts of one (node, egress port). `busy` is of hops whose queue was deep, as it was at the hop before."""

    hops: int = 0
    queues: set[int] = field(default_factory=set)
    onward: Counter[tuple[int, int]] = field(default_factory=Counter)
    """(next node, its ingress port) → hops."""
    busy: int = 0
    busy_ns: int = 0
    busy_bytes: int = 0
    busy_depth: int = 0
    busy_latencies: int = 0
    busy_latency: int = 0

    @property
    def behind(self) -> list[tuple[int, int]]:
        """The next (node, ingress port), most hops first; none where hardly a packet is seen again behind this port."""
        if sum(self.onward.values()) < ONWARD_SHARE * self.hops:
            return []
        return [place for place, _ in sorted(self.onward.items(), key=lambda item: (-item[1], item[0]))]


def tally_ports(ports: dict[tuple[int, int], PortTally], rows: HopRows) -> None:
    """Count hops of one batch under their (node, egress port)."""
    rows = rows.take(np.flatnonzero(rows.egress != NONE))
    for (node, port, queue), count in _counted(rows.node, rows.egress, rows.queue):
        tally = ports.setdefault((node, port), PortTally())
        tally.hops += count
        if queue != NONE:
            tally.queues.add(queue)
    there = rows.take(np.flatnonzero(rows.next_node != NONE))
    for (node, port, after, ingress), count in _counted(there.node, there.egress, there.next_node, there.next_ingress):
        ports[node, port].onward[after, ingress] += count
    _tally_busy(ports, rows)


def _tally_busy(ports: dict[tuple[int, int], PortTally], rows: HopRows) -> None:
    rows = rows.take(np.lexsort((rows.egress, rows.node)))
    deep = rows.depth >= DEPTH_FLOOR_PACKETS
    passed = np.diff(rows.time_ns)
    goes_on = (np.diff(rows.node) == 0) & (np.diff(rows.egress) == 0) & deep[1:] & deep[:-1] & (passed >= 0)
    if not goes_on.any():
        return
    rows, passed = rows.take(1 + np.flatnonzero(goes_on)), passed[goes_on]
    keys, where = np.unique(np.stack([rows.node, rows.egress], axis=1), axis=0, return_inverse=True)
    where = where.ravel()
    for position, (node, port) in enumerate(keys.tolist()):
        mine, tally = where == position, ports[node, port]
        latency = rows.latency[mine]
        tally.busy += int(mine.sum())
        tally.busy_ns += int(passed[mine].sum())
        tally.busy_bytes += int(rows.packet_bytes[mine].sum())
        tally.busy_depth += int(rows.depth[mine].sum())
        tally.busy_latencies += int((latency != NONE).sum())
        tally.busy_latency += int(latency[latency != NONE].sum())


def _counted(*columns: Array) -> list[tuple[tuple[int, ...], int]]:
    if len(columns[0]) == 0:
        return []
    keys, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    return [(tuple(key), count) for key, count in zip(keys.tolist(), counts.tolist(), strict=True)]
