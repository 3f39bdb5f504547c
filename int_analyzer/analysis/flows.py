"""Flows one by one: who sends to whom, over which ports, and what its RoCEv2 connection says of loss and delay."""

from __future__ import annotations

from dataclasses import dataclass

from int_analyzer.analysis.delays.delay_summary import DirectionDelay
from int_analyzer.analysis.delays.direction_delay import DirectionDelays, untold
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT, Profile


@dataclass(frozen=True)
class FlowSummary:
    """A directed flow. None: it has no such thing, or it is not known."""

    src: str
    dst: str
    protocol: int
    src_port: int | None
    dst_port: int | None
    dest_qp: int | None
    packets: int
    bytes: int
    telemetry_packets: int
    ce_packets: int
    ce_ratio: float
    cnp_packets: int
    path: str | None
    path_changes: int
    path_change_ns: int | None
    data_packets: int | None
    retransmitted: int | None
    rewinds: int | None
    unfilled: int | None
    naks: int | None
    delay: DirectionDelay
    first_ns: int
    last_ns: int


def sum_up_flows(view: View, profile: Profile | None, delays: DirectionDelays) -> list[FlowSummary]:
    """All flows, most bytes first. What is of a connection stands at its heaviest flow only, so that it adds up."""
    profile = profile if profile is not None else Profile()
    flows, seen = view.flows, view.connections
    connection_of = {flow: row for row, flow in enumerate(seen.flow.tolist()) if flow >= 0}
    connected = set(zip(seen.src, seen.dst, seen.dest_qp.tolist(), strict=True))
    elsewhere, alone = untold("told at the heaviest flow of its connection"), untold("it belongs to no RoCEv2 connection")
    summaries = []
    for row in (-flows.bytes).argsort(kind="stable").tolist():
        connection = connection_of.get(row, ABSENT)
        known = connection != ABSENT
        other = elsewhere if (flows.src[row], flows.dst[row], int(flows.dest_qp[row])) in connected else alone
        summaries.append(
            FlowSummary(
                src=flows.src[row],
                dst=flows.dst[row],
                protocol=int(flows.protocol[row]),
                src_port=_present(flows.src_port[row]),
                dst_port=_present(flows.dst_port[row]),
                dest_qp=_present(flows.dest_qp[row]),
                packets=int(flows.packets[row]),
                bytes=int(flows.bytes[row]),
                telemetry_packets=int(flows.telemetry_packets[row]),
                ce_packets=int(flows.ce_packets[row]),
                ce_ratio=int(flows.ce_packets[row]) / int(flows.packets[row]),
                cnp_packets=int(flows.cnp_packets[row]),
                path=_path_name(view, profile, int(flows.path[row])),
                path_changes=int(flows.path_changes[row]),
                path_change_ns=int(flows.path_change_ns[row]) or None,
                data_packets=int(seen.data[connection]) if known else None,
                retransmitted=int(seen.retransmitted[connection]) if known else None,
                rewinds=int(seen.rewinds[connection]) if known else None,
                unfilled=int(seen.unfilled[connection]) if known else None,
                naks=int(seen.naks[connection]) if known and seen.peer[connection] >= 0 else None,
                delay=delays.of(connection) if known else other,
                first_ns=int(flows.first_ns[row]),
                last_ns=int(flows.last_ns[row]),
            )
        )
    return summaries


def _path_name(view: View, profile: Profile, path: int) -> str | None:
    """ "leaf1:3 > spine2:7": node and egress port of every hop."""
    if path == ABSENT:
        return None
    ports = [(int(view.queues.node_id[queue]), int(view.queues.port[queue])) for queue in view.paths.queues[path]]
    return " > ".join(f"{profile.node_name(node)}:{profile.port_name(node, port)}" for node, port in ports)


def _present(value: int) -> int | None:
    return None if int(value) == ABSENT else int(value)
