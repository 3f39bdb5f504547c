"""Clearance: whether anything is wrong on the paths between two hosts, or between them nothing is seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from int_analyzer.analysis.summary import Finding
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT

Port = tuple[int, int]


class Clearance:
    """What the findings say of the paths of a view."""

    def __init__(self, view: View, findings: Sequence[Finding]) -> None:
        self._view = view
        self._troubled: set[Port] = {
            (finding.node_id, finding.port_id if finding.port_id is not None else ABSENT)
            for finding in findings
            if finding.node_id is not None
        }

    def is_clear(self, one: str, other: str) -> bool | None:
        """Whether no port is blamed or held up between two addresses, in either direction; None where no path is known."""
        ports = self._ports.get((one, other), set()) | self._ports.get((other, one), set())
        return not ports & self._troubled if ports else None

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
