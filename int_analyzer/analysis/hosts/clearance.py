"""Clearance: whether anything is wrong on the paths between two hosts, or on any path of a host at a time.

A pause holds up all that a host sends, so that what goes elsewhere is late too while one of its paths is congested.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from int_analyzer.analysis.summary import Finding
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT

Port = tuple[int, int]


class Clearance:
    """What the findings say of the paths of a view."""

    def __init__(self, view: View, findings: Sequence[Finding]) -> None:
        self._view = view
        self._troubled: dict[Port, list[tuple[int, int]]] = defaultdict(list)
        width_ns = view.buckets.width_ns
        for finding in findings:
            if finding.node_id is not None:
                port = (finding.node_id, ABSENT if finding.port_id is None else finding.port_id)
                self._troubled[port].append((finding.start_ns - width_ns, finding.end_ns + width_ns))

    def is_clear(self, one: str, other: str) -> bool | None:
        """Whether no port is blamed or held up between two addresses, in either direction; None where no path is known."""
        ports = self._ports.get((one, other), set()) | self._ports.get((other, one), set())
        return ports.isdisjoint(self._troubled) if ports else None

    def was_clear(self, host: str, times_ns: Any) -> Any:
        """bool[n]: whether at these times (int64[n]) nothing was wrong on any path from or to a host."""
        clear = np.ones(len(times_ns), dtype=bool)
        for port in self._ports_of.get(host, set()) & self._troubled.keys():
            for start_ns, end_ns in self._troubled[port]:
                clear &= (times_ns < start_ns) | (times_ns > end_ns)
        return clear

    @cached_property
    def _ports_of(self) -> dict[str, set[Port]]:
        """Ports on all paths from or to a host."""
        ports: dict[str, set[Port]] = defaultdict(set)
        for pair, crossed in self._ports.items():
            for host in pair:
                ports[host] |= crossed
        return ports

    @cached_property
    def _ports(self) -> dict[tuple[str, str], set[Port]]:
        """Ports on the paths of all flows from one address to another, those that they left included."""
        flows, paths, queues = self._view.flows, self._view.paths, self._view.queues
        ports: dict[tuple[str, str], set[Port]] = defaultdict(set)
        of_path = [{(int(queues.node_id[queue]), int(queues.port[queue])) for queue in row} for row in paths.queues]
        for src, dst, *taken in zip(flows.src, flows.dst, flows.path.tolist(), flows.path_before.tolist(), strict=True):
            for path in taken:
                if path >= 0:
                    ports[src, dst] |= of_path[path]
        return ports
