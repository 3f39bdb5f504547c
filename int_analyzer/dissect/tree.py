"""The branches of one packet, from the steps of the kernel."""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer.dissect import carrier, telemetry_report
from int_analyzer.dissect.branch import Branch, of_bytes
from int_analyzer.dissect.stack import carried_int, int_branches
from int_analyzer.dissect.trace import (
    BTH,
    ERSPAN,
    ETHERNET,
    EXTENSION,
    GENEVE,
    GRE,
    INT,
    INT_CARRIED,
    INT_IN_TCP,
    IOAM,
    IPV4,
    IPV6,
    LINK,
    MPLS,
    MRI,
    REPORT_05,
    REPORT_1,
    REPORT_HOP,
    REPORTS_2,
    VXLAN,
    VXLAN_GPE,
    Step,
    Trace,
)
from int_analyzer.dissect.transport import bth
from int_analyzer.formats.int_carried import IN_GENEVE
from int_analyzer.payload import UDP
from int_analyzer.schema import FORMAT_REPORT_2, STATUS_CODE
from int_analyzer.wire import layer
from int_analyzer.wire.ip import of_protocol
from int_analyzer.wire.read import Buffer, u8

_OK = STATUS_CODE["ok"]
_SIMPLE = {
    LINK: carrier.link,
    ETHERNET: carrier.ethernet,
    MPLS: carrier.mpls,
    IPV6: carrier.ipv6,
    GRE: carrier.gre,
    ERSPAN: carrier.erspan,
    VXLAN: carrier.vxlan,
    VXLAN_GPE: carrier.vxlan_gpe,
    INT_IN_TCP: carrier.tcp,
    REPORT_05: telemetry_report.report_05,
    REPORT_1: telemetry_report.report_1,
}


def branches(data: Buffer, trace: Trace) -> list[Branch]:
    """All headers of a packet in order, and the bytes that are not read at its end."""
    found: list[Branch] = []
    for position, step in enumerate(trace.steps):
        found += _of_step(data, trace, position)
        found += _transport(data, step)
    _name_report_hop(found, trace)
    end = max((branch.end for branch in found), default=0)
    if end < len(data):
        found.append(of_bytes("not read further", "frame", "data", "", data, end, len(data)))
    return found


def _of_step(data: Buffer, trace: Trace, position: int) -> Iterator[Branch]:
    step = trace.steps[position]
    if step.layer in _SIMPLE:
        yield from _SIMPLE[step.layer](data, step)
    elif step.layer == EXTENSION:
        yield from carrier.extension(data, step, _options(trace.steps, position, IOAM))
    elif step.layer == IPV4:
        yield from carrier.ipv4(data, step, _options(trace.steps, position, MRI))
    elif step.layer == GENEVE:
        yield from carrier.geneve(data, step, _options(trace.steps, position, INT_CARRIED))
    elif step.layer == INT_CARRIED and step.arguments[4] != IN_GENEVE:
        yield from carried_int(data, step)
    elif step.layer == INT:
        yield from int_branches(data, step)
        if step.result[4] != 0 and trace.steps[position - 1].layer == INT_IN_TCP:
            yield from carrier.tcp_options(data, trace.steps[position - 1], step.result[4], step.arguments[2])
    elif step.layer == BTH:
        yield from bth(data, step, trace.columns)
    elif step.layer == REPORTS_2 and trace.columns.packets.formats[0] >> FORMAT_REPORT_2 & 1:
        # without the format's bit it was taken for a report at first sight only, or is too short to be one
        yield from telemetry_report.reports_2(data, step)


def _options(steps: list[Step], position: int, name: str) -> dict[int, Step]:
    """Steps of the options of the header of step `position`, by where these begin."""
    found = {}
    for step in steps[position + 1 :]:
        if step.layer != name:
            break
        found[step.arguments[1]] = step
    return found


def _transport(data: Buffer, step: Step) -> Iterator[Branch]:
    """UDP behind a step: the kernel reads it in its loop."""
    result, limit = step.result, 0
    kind, at = layer.END, 0
    if step.layer == IPV4:
        kind, at, limit = result[:3]
    elif step.layer == IPV6 and result[4] == _OK:
        kind, at, limit = of_protocol(result[0]), result[1], result[2]
    elif step.layer == EXTENSION and result[2] == _OK:
        kind, at, limit = of_protocol(result[0]), result[1], step.arguments[2]
    elif step.layer == INT and result[4] != 0 and result[5] == 2 and step.arguments[6] == UDP:
        kind, at, limit = of_protocol(u8(data, step.arguments[1] + 3)), result[4], step.arguments[2]
    if kind == layer.UDP:
        yield carrier.udp(data, at, limit)


def _name_report_hop(found: list[Branch], trace: Trace) -> None:
    """Mark the report whose own metadata is a hop of the path."""
    step = next((step for step in trace.steps if step.layer == REPORT_HOP and step.result), None)
    if step is None:
        return
    report, row = step.arguments[1], step.arguments[3]
    group = next(branch for branch in found if branch.name == "intreport")
    branch = group.branches[report] if group.branches else group
    branch.hop, branch.is_row = int(trace.columns.hops.hop[row]), True
