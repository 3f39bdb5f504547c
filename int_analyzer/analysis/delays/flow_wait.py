"""How long a flow waited in queues in some time, from the pairs of queue and flow: what is left where packets do not tell themselves.

A flow of which n packets waited w ns in the mean kept a queue from being passed for n × w at most, and no longer than the time that its
packets came in; where one packet in so many is seen, n is that many times more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from int_analyzer.fold.view import View


class FlowWaits:
    """Waits of the flows of these directions. usable: bool[queues], hop latency can be had in ns; factor: float64[queues], raw → ns."""

    def __init__(self, view: View, usable: Any, factor: Any, directions: Iterable[int]) -> None:
        self._view, self._factor = view, factor
        pairs = view.pairs
        kept = np.flatnonzero(usable[pairs.queue] & (pairs.latency_excess_sum > 0))
        self._rows = kept[np.argsort(pairs.flow[kept], kind="stable")]
        self._flow = pairs.flow[self._rows]
        self._flows_of: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        flows = view.flows
        clear = view.paths.queues.all_of(usable)
        self._clear = (flows.path >= 0) & np.append(clear, False)[flows.path]
        wanted = {self._key(direction) for direction in directions}
        for flow, key in enumerate(zip(flows.src, flows.dst, flows.dest_qp.tolist(), strict=True)):
            if key in wanted:
                self._flows_of[key].append(flow)

    def visible(self, direction: int) -> float:
        """Share of the packets of a direction that tell of their hops; 0 where hop latency is not known in ns on its path."""
        flows = self._flows(direction)
        packets = int(self._view.flows.packets[flows].sum())
        told = int(self._view.flows.telemetry_packets[flows][self._clear[flows]].sum())
        return min(told / packets, 1.0) if packets else 0.0

    def within(self, direction: int, begin_ns: int, end_ns: int) -> tuple[Any, Any]:
        """Queues that its packets waited in from `begin_ns` to `end_ns`, and for how long, together no longer than that: int64[n] each.

        Some of its packets have to be visible.
        """
        pairs = self._view.pairs
        rows = np.concatenate(
            [self._rows[slice(*np.searchsorted(self._flow, [flow, flow + 1]))] for flow in self._flows(direction)] or [self._rows[:0]]
        )
        first, end = pairs.first_ns[rows], pairs.last_ns[rows] + 1
        lasted = np.maximum(np.minimum(end, end_ns) - np.maximum(first, begin_ns), 0)
        rows, first, end, lasted = (values[lasted > 0] for values in (rows, first, end, lasted))
        excess_ns = pairs.latency_excess_sum[rows] * self._factor[pairs.queue[rows]] / self.visible(direction)
        waited = excess_ns * lasted / (end - first)
        queues, of = np.unique(pairs.queue[rows], return_inverse=True)
        ns = np.bincount(of, np.minimum(waited, lasted), len(queues))
        total = ns.sum()
        if total > end_ns - begin_ns:
            ns *= (end_ns - begin_ns) / total
        return queues, ns.astype(np.int64)

    def _flows(self, direction: int) -> list[int]:
        return self._flows_of.get(self._key(direction), [])

    def _key(self, direction: int) -> tuple[str, str, int]:
        seen = self._view.connections
        return seen.src[direction], seen.dst[direction], int(seen.dest_qp[direction])
