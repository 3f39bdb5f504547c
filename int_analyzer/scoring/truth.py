"""What really happened: the truth file beside a capture, simulated or of a real data plane.

`congested` lists the roots. A root is a queue that is congested of itself, or a link that loses packets; what only waits for it is in its
`victim_ports`, what the same flows overload on their way, without waiting for it, in its `overloaded_ports`: to name that is no mistake.
`events` lists what happened besides, `hosts` what a host did, `clocks` by how much the clocks of nodes are off.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from int_analyzer.errors import TruthError

TRUTH_FILE = "truth.json"

FlowKey = tuple[str, str, int | None]
"""(source address, destination address, UDP source port or None where all of them are meant)."""


@dataclass(frozen=True)
class Root:
    """A port that is the cause: ids as on the wire (None where telemetry cannot tell), times in ns, and the flows that filled it."""

    node_id: int
    port_id: int | None
    start_ns: int | None
    end_ns: int | None
    cause: str | None = None
    culprits: frozenset[FlowKey] = frozenset()
    victim_ports: frozenset[tuple[int, int]] = frozenset()
    overloaded_ports: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Happening:
    """An event of the network: its kind, the (node, port)s concerned, of which one has to be named, when it began in ns, and by when
    telemetry must have shown it (None: at once)."""

    kind: str
    ports: frozenset[tuple[int, int]]
    start_ns: int
    seen_by_ns: int | None = None


@dataclass(frozen=True)
class HostTrouble:
    """A host (its address, and its name if it has one) that is the cause, and what is wrong with it."""

    host: str
    cause: str
    name: str | None = None


@dataclass(frozen=True)
class TrueClock:
    """A node's clock: `offset_ns` ahead of the right time at `since_ns`, and what it gains since."""

    offset_ns: int
    drift_ppm: float
    since_ns: int

    def ahead(self, time_ns: int) -> float:
        """How many ns it is ahead of the right time, then."""
        return self.offset_ns + self.drift_ppm * 1e-6 * (time_ns - self.since_ns)


@dataclass(frozen=True)
class Truth:
    """All that really happened in a capture."""

    scenario: str
    seed: int | None = None
    roots: tuple[Root, ...] = ()
    events: tuple[Happening, ...] = ()
    hosts: tuple[HostTrouble, ...] = ()
    clocks: dict[int, TrueClock] = field(default_factory=dict)
    document: dict[str, Any] = field(default_factory=dict)

    @property
    def healthy(self) -> bool:
        """Nothing at all is wrong."""
        return not self.roots and not self.events and not self.hosts


def read_truth(path: Path) -> Truth:
    """The truth of a file. Raises TruthError if it is none."""
    try:
        return truth_of(json.loads(path.read_text()), path.parent.name)
    except OSError as error:
        raise TruthError(path, error.strerror or str(error)) from error
    except KeyError as error:
        raise TruthError(path, f"{error} is missing") from error
    except (ValueError, TypeError) as error:
        raise TruthError(path, f"no truth document: {error}") from error


def truth_of(document: dict[str, Any], scenario: str = "") -> Truth:
    """The truth that a document tells. Raises KeyError or TypeError where something is missing."""
    return Truth(
        scenario=document.get("scenario", scenario),
        seed=document.get("seed"),
        roots=_roots(document["congested"]),
        events=tuple(_happening(entry) for entry in document.get("events", ())),
        hosts=tuple(HostTrouble(entry["host"], entry["cause"], entry.get("name")) for entry in document.get("hosts", ())),
        clocks={
            int(node): TrueClock(entry["offset_ns"], entry["drift_ppm"], entry["at_ns"])
            for node, entry in document.get("clocks", {}).items()
        },
        document=document,
    )


def _roots(entries: list[dict[str, Any]]) -> tuple[Root, ...]:
    """A root for every port; a port that was congested several times is one."""
    roots: dict[tuple[int, int | None], Root] = {}
    for entry in entries:
        root = _root(entry)
        same = roots.setdefault((root.node_id, root.port_id), root)
        times = (
            [time for time in (same.start_ns, root.start_ns) if time is not None],
            [time for time in (same.end_ns, root.end_ns) if time is not None],
        )
        roots[root.node_id, root.port_id] = replace(same, start_ns=min(times[0], default=None), end_ns=max(times[1], default=None))
    return tuple(roots.values())


def _root(entry: dict[str, Any]) -> Root:
    number = entry.get("port_id", entry["port"])
    return Root(
        node_id=entry["node_id"],
        port_id=number if isinstance(number, int) else None,
        start_ns=entry.get("from_ns"),
        end_ns=entry.get("to_ns"),
        cause=entry.get("cause"),
        culprits=frozenset((flow["src_ip"], flow["dst_ip"], flow.get("udp_sport")) for flow in entry.get("culprits", ())),
        victim_ports=frozenset((port["node_id"], port["port_id"]) for port in entry.get("victim_ports", ())),
        overloaded_ports=frozenset((port["node_id"], port["port_id"]) for port in entry.get("overloaded_ports", ())),
    )


def _happening(entry: dict[str, Any]) -> Happening:
    ports = frozenset((port["node_id"], port["port_id"]) for port in entry["ports"])
    return Happening(entry["kind"], ports, entry["start_ns"], entry.get("seen_by_ns"))
