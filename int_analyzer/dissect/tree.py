"""The branches of one packet, from the steps of the kernel."""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer.dissect import carrier, record, telemetry_report
from int_analyzer.dissect.branch import Branch, of_bytes
from int_analyzer.dissect.ioam_option import ioam_shim
from int_analyzer.dissect.stack import carried_int, int_branches
from int_analyzer.dissect.trace import Step, Trace
from int_analyzer.dissect.transport import bth
from int_analyzer.formats.int_carried import IN_GENEVE
from int_analyzer.payload import UDP
from int_analyzer.status import STATUS_CODE, STATUSES
from int_analyzer.watch import (
    BTH,
    ERSPAN,
    ETHERNET,
    EXTENSION,
    GENEVE,
    GRE,
    HPCC,
    IFA,
    INT,
    INT_CARRIED,
    INT_IN_TCP,
    IOAM,
    IOAM_SHIM,
    IPV4,
    IPV6,
    LINK,
    LUMINA,
    MPLS,
    MRI,
    NSH,
    REPORT_05,
    REPORT_1,
    REPORT_2,
    REPORT_HOP,
    TCP_INT,
    VXLAN,
    VXLAN_GPE,
)
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
    NSH: carrier.nsh,
    LUMINA: carrier.lumina,
    INT_IN_TCP: carrier.tcp,
    HPCC: record.hpcc_header,
    REPORT_05: telemetry_report.report_05,
    REPORT_1: telemetry_report.report_1,
    REPORT_2: telemetry_report.report_2,
}


def branches(data: Buffer, trace: Trace) -> list[Branch]:
    """All headers of a packet in order, and the bytes that are not read at its end. Parts begin with their report."""
    found: list[Branch] = []
    for part, steps in enumerate(trace.parts):
        begin = 0 if part == 0 else next(position for position, step in enumerate(steps) if step.layer == REPORT_2)
        branches_of_part: list[Branch] = []
        for position in range(begin, len(steps)):
            branches_of_part += _of_step(data, trace, steps, position)
        _name_report_hop(branches_of_part, steps, trace)
        _say_status(branches_of_part, trace, part)
        found += branches_of_part
    end = max((branch.end for branch in found), default=0)
    if end < len(data):
        found.append(of_bytes("not read further", "frame", "data", "", data, end, len(data)))
    return found


def _of_step(data: Buffer, trace: Trace, steps: list[Step], position: int) -> Iterator[Branch]:
    step = steps[position]
    if step.layer in _SIMPLE:
        yield from _SIMPLE[step.layer](data, step)
    elif step.layer == EXTENSION:
        yield from carrier.extension(data, step, _options(steps, position, IOAM))
    elif step.layer == IPV4:
        yield from carrier.ipv4(data, step, _options(steps, position, MRI))
    elif step.layer == GENEVE:
        yield from carrier.geneve(data, step, _options(steps, position, INT_CARRIED, IOAM))
    elif step.layer == IOAM_SHIM:
        yield from ioam_shim(data, step, next(iter(_options(steps, position, IOAM).values()), None))
    elif step.layer == INT_CARRIED and step.arguments[4] != IN_GENEVE:
        yield from carried_int(data, step)
    elif step.layer == INT:
        yield from int_branches(data, step)
        if step.result[4] != 0 and steps[position - 1].layer == INT_IN_TCP:
            yield from carrier.tcp_options(data, steps[position - 1], step.result[4], step.arguments[2])
    elif step.layer == BTH:
        yield from bth(data, step, trace.columns)
    elif step.layer == IFA:
        yield from record.ifa_header(data, step)
    if step.layer == INT_IN_TCP and position > 0 and steps[position - 1].layer == TCP_INT:
        yield from carrier.tcp_int(data, steps[position - 1])
    yield from _transport(data, step)
    if step.layer == IFA:
        yield from record.ifa_stack(data, step)


def _options(steps: list[Step], position: int, *names: str) -> dict[int, Step]:
    """Steps of the options of the header of step `position`, by where these begin."""
    found = {}
    for step in steps[position + 1 :]:
        if step.layer not in names:
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
    elif step.layer == IFA:
        kind, at, limit = of_protocol(step.result[4]), step.arguments[1] + 4, min(step.arguments[2], step.arguments[3] - step.result[6])
    if kind == layer.UDP:
        yield carrier.udp(data, at, limit)


def _name_report_hop(found: list[Branch], steps: list[Step], trace: Trace) -> None:
    """Mark the report whose own metadata is a hop of the path."""
    step = next((step for step in steps if step.layer == REPORT_HOP and step.result), None)
    if step is None:
        return
    branch = [branch for branch in found if branch.name.startswith("intreport")][-1]
    branch.hop, branch.is_row = int(trace.columns.hops.hop[step.arguments[3]]), True


def _say_status(found: list[Branch], trace: Trace, part: int) -> None:
    """Where a further part of the packet has a status of its own, say so at its report: the packet's is that of the first."""
    status = STATUSES[int(trace.columns.packets.status[part])]
    if part > 0 and found and status.code != _OK:
        found[0].remarks.append(f"part {part}: {status.name} at byte {trace.columns.packets.status_at[part]}, {status.doc}")
