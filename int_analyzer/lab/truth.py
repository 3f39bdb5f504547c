"""What really happened in a lab: truth.json beside the captures, in the schema of pcaps/, and the profile of the fabric.

Nothing that analyses reads the truth; the profile holds only what an operator knows of a fabric: names, rates and units.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from int_analyzer.analysis.event import LOOP
from int_analyzer.lab.fabric import Fabric, Run
from int_analyzer.lab.scenario import BUSY_S, CALM_S, END_S, Plan
from int_analyzer.lab.topology import interface

_SECOND = 1_000_000_000


def document_of(fabric: Fabric, plan: Plan, run: Run, seed: int, stream: str) -> dict[str, Any]:
    """The document beside the captures of a stream. Times are wall-clock nanoseconds, those of the captures."""
    topology = fabric.topology

    def moment(seconds: float) -> int:
        return run.start_ns + int(seconds * _SECOND)

    congested = [
        {
            **_port(fabric, one.node, one.neighbour),
            "towards": one.neighbour,
            "queue": 0,
            # a link is slow when it was made slow, which may have been later than planned
            "from_ns": run.turned_ns.get(one.from_s, moment(one.from_s)),
            "to_ns": run.turned_ns.get(one.to_s, moment(one.to_s)),
            "how": plan.how,
        }
        for one in plan.congested
    ]
    flows = [
        {
            "src": demand.source,
            "dst": demand.destination,
            "saddr": flow.source,
            "daddr": flow.destination,
            "sport": flow.source_port,
            "dest_qp": flow.dest_qp,
            "first_psn": flow.first_psn,
            "dscp": flow.dscp,
            "packets_sent": sent,
            "phases": [{"from_ns": moment(begin), "to_ns": moment(end), "load": load} for begin, end, load in demand.phases],
        }
        for demand, flow, sent in run.flows
    ]
    phases = [("before", 0.0, CALM_S), (plan.scenario, CALM_S, BUSY_S), ("after", BUSY_S, END_S)]
    return {
        "data_plane": fabric.data_plane,
        "program": fabric.program,
        "scenario": plan.scenario,
        "seed": seed,
        "how": plan.how,
        "topology": {
            "links": [{"a": f"{a}:{interface(a, b)}", "b": f"{b}:{interface(b, a)}"} for a, b in topology.links()],
            "node_ids": {switch.name: switch.id for switch in topology.switches.values()},
            "interface_ids": {
                f"{switch.name}:{interface(switch.name, neighbour)}": fabric.port_id(switch.name, port)
                for switch in topology.switches.values()
                for port, neighbour in switch.ports.items()
            },
            "hosts": {host.name: fabric.address(host) for host in topology.hosts.values()},
            "link_packets_per_second": fabric.packets_per_second,
        },
        "captures": [
            {"file": point.file, "node": point.node, "interface": point.interface, "direction": point.direction, **run.captured[point]}
            for point in fabric.points()
            if point.stream == stream
        ],
        "congested": congested,
        "events": list(_loops(fabric, plan, run)),
        "flows": flows,
        "phases": [{"name": name, "from_ns": moment(begin), "to_ns": moment(end)} for name, begin, end in phases],
        "packets_left_out": run.skipped,
        "waited_for_processor_ns": dict(run.waited_ns),
    }


def _loops(fabric: Fabric, plan: Plan, run: Run) -> Iterator[dict[str, Any]]:
    """What detours make: a loop between the switch and the neighbour that sends back to it."""
    for node, neighbour in sorted({(one.node, one.neighbour) for one in plan.detours}):
        yield {
            "kind": LOOP,
            "start_ns": run.start_ns + int(min(one.from_s for one in plan.detours) * _SECOND),
            # what passes a loop is seen outside it when it ends
            "seen_by_ns": max(run.turned_ns.values()),
            "ports": [_port(fabric, node, neighbour), _port(fabric, neighbour, node)],
        }


def _port(fabric: Fabric, node: str, neighbour: str) -> dict[str, Any]:
    switch = fabric.topology.switches[node]
    port_id = fabric.port_id(node, switch.port_to(neighbour))
    return {"node": node, "node_id": switch.id, "port": interface(node, neighbour), "port_id": port_id}


def profile_of(fabric: Fabric) -> str:
    """The profile of the fabric, as TOML."""
    lines = ["[units]", *(f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in fabric.units.items())]
    for switch in fabric.topology.switches.values():
        lines += ["", f"[node.{switch.id}]", f'name = "{switch.name}"', f'role = "{switch.role}"', "", f"[node.{switch.id}.ports]"]
        for port, neighbour in switch.ports.items():
            number = fabric.port_id(switch.name, port)
            lines.append(f'{number} = {{ name = "{interface(switch.name, neighbour)}", speed_bps = {fabric.link_bps} }}')
    return "\n".join(lines) + "\n"
