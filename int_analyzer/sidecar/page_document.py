"""What the live page shows after a tick, as one JSON document: figures with their units, nothing that the page would have to compute."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from int_analyzer.analysis.losses.recovery import rate
from int_analyzer.analysis.summary import Quality, Quantiles, QueueSummary, Summary
from int_analyzer.report import figure
from int_analyzer.report.drawing import draw
from int_analyzer.report.json_document import document
from int_analyzer.sidecar.history import BEFORE
from int_analyzer.sidecar.polling import FULL
from int_analyzer.sidecar.sliding import SECOND_NS, SLICES

if TYPE_CHECKING:
    from int_analyzer.sidecar.history import Second
    from int_analyzer.sidecar.inquiry import Inquiry
    from int_analyzer.sidecar.service import Sidecar, Snapshot

_FINDINGS = 20
_EVENTS = 30
_QUEUES = 15
_HEAT_PORTS = 24
_HEAT_SECONDS = 60
_DARKEST = 8
"""Times the median of all ports and seconds: where no port stands out, none is dark."""
_LISTED = 8
"""Ports that a finding holds up are told by name; of a large fabric all would be a page of their own."""
_DAY_NS = 86_400 * SECOND_NS


def page_document(sidecar: Sidecar) -> dict[str, Any]:
    """The document; there was a tick."""
    snapshot = sidecar.snapshot
    assert snapshot is not None
    summary = snapshot.judgement.summary
    quality = summary.quality
    return {
        "now_ns": snapshot.now_ns,
        "clock": figure.clock(snapshot.now_ns),
        "over": sidecar.over,
        "silence": _silence(snapshot),
        "rates": _rates(snapshot.seconds),
        "findings": [_finding(entry, snapshot.now_ns) for entry in snapshot.findings[:_FINDINGS]],
        "further_findings": max(len(snapshot.findings) - _FINDINGS, 0),
        "events": [_event(entry, snapshot.now_ns) for entry in list(sidecar.recent)[-_EVENTS:][::-1]],
        "graph": _graph(snapshot),
        "heat": _heat(snapshot),
        "queues": [_queue(entry) for entry in _slowest(summary.queues)],
        "trust": _trust(quality, sidecar.inquiry) if quality is not None else None,
        "sources": [_source(worker) for worker in sidecar.workers],
        "total_packets": figure.count(snapshot.counts["counts"]["packets"]),
        "roce": _roce(summary, sidecar, min(len(snapshot.seconds), SLICES)),
    }


def _roce(summary: Summary, sidecar: Sidecar, seconds: int) -> list[tuple[str, str]]:
    """Lines of a label and what it says: the health of RoCEv2 in the last `seconds`."""
    quality, roce = summary.quality, summary.roce
    lines = [("connections followed", _followed(summary, sidecar))]
    if quality is not None:
        covered = f", {figure.share(quality.roce_with_telemetry_share)} with telemetry" if quality.roce_packets else ""
        lines.append(("packets", _rate(quality.roce_packets, seconds) + covered))
    if roce is None:
        return lines
    completed = f"{_rate(roce.completed, seconds)} completed" if roce.completed or not roce.one_sided else ""
    one_sided = f"{_rate(roce.one_sided, seconds)} one-sided" if roce.one_sided else ""
    causes = ((roce.naks, "sequence NAK"), (roce.timeouts, "timeout"), (roce.rnr_naks, "receiver-not-ready NAK"))
    told = [figure.things(number, noun) for number, noun in causes if number]
    return [
        *lines,
        ("messages" if roce.tracking.mode == FULL.mode else "messages of these", ", ".join(filter(None, (completed, one_sided)))),
        ("completion time (FCT)", _spread(roce.fct)),
        ("round trip (RTT)", _spread(roce.rtt)),
        ("sent again", f"{figure.share(roce.retransmission_ratio)} of data packets" + "".join(f", {cause}" for cause in told)),
        ("marked CE", f"{figure.share(roce.ce_ratio)} of packets"),
        # of all packets, whatever is followed
        *([("congestion notifications", _rate(quality.cnp_packets, seconds))] if quality is not None else []),
    ]


def _followed(summary: Summary, sidecar: Sidecar) -> str:
    connections, tracking = sidecar.connections, summary.roce.tracking if summary.roce is not None else None
    if connections.mode == FULL.mode:
        if tracking is None or tracking.mode == FULL.mode:
            return "all"
        told = "all again"
    else:
        told = f"polling, {connections.part} of {connections.of} at a time"
        if sidecar.relief is not None:
            told += f" ({sidecar.relief.reason})"
    if tracking is None:
        return told
    return f"{told}: {figure.share(tracking.connections_share)} of them, {figure.share(tracking.packets_share)} of their packets"


def _trust(quality: Quality, inquiry: Inquiry | None) -> dict[str, Any]:
    trust = document(quality)
    if inquiry is not None:
        told = trust["trust_reasons"] if inquiry.fault else trust["assumptions"]
        told.append(inquiry.describe())
    return trust


def _rate(number: int, seconds: int) -> str:
    return f"{figure.number(number / seconds)}/s" if seconds else figure.NONE


def _spread(values: Quantiles) -> str:
    if not values.count:
        return values.why_absent
    p50, p99, p999, largest = _quantiles(values)
    return f"p50 {p50}, p99 {p99}, p99.9 {p999}, max {largest}"


def _silence(snapshot: Snapshot) -> str:
    """Since when nothing has come, or nothing that tells of a queue, if that is so in all of the seconds that are judged; "" if not."""
    end = snapshot.seconds[-1].number + 1 if snapshot.seconds else 0
    for what, last in (("packet", snapshot.heard), ("telemetry", snapshot.measured)):
        if not last:
            return f"no {what} yet"
        if last == BEFORE:
            return f"no {what} since the clock was set"
        if end - last > SLICES:
            return f"no {what} for {figure.duration((end - last - 1) * SECOND_NS)}, since {figure.clock((last + 1) * SECOND_NS)}"
    return ""


def _moment(nanoseconds: int, now_ns: int) -> str:
    """Time of day, with the date if that is another day."""
    return figure.clock(nanoseconds) if nanoseconds // _DAY_NS == now_ns // _DAY_NS else figure.date(nanoseconds)


def _rates(seconds: list[Second]) -> dict[str, Any]:
    last = seconds[-1] if seconds else None
    return {
        "packets": figure.number(last.packets) if last else figure.NONE,
        "bits": rate(last.bytes * 8) if last else figure.NONE,
        "history": [second.packets for second in seconds[-_HEAT_SECONDS:]],
    }


def _finding(entry: dict[str, Any], now_ns: int) -> dict[str, Any]:
    return {
        **entry,
        "place": figure.place(entry["node"], entry["port"], entry["queue"]),
        "trouble": figure.trouble_of(entry["role"], entry["peak_depth"] is not None or entry["peak_latency"] is not None),
        "evidence_from": figure.clock(entry["evidence_from_ns"]),
        "since": _moment(entry["start_ns"], now_ns),
        "lasted": figure.duration(entry["end_ns"] - entry["start_ns"]),
        "depth": figure.quantity(entry["peak_depth"], entry["depth_unit"]) if entry["peak_depth"] is not None else None,
        "latency": figure.quantity(entry["peak_latency"], entry["latency_unit"]) if entry["peak_latency"] is not None else None,
        "culprits": [{"flow": flow["flow"], "share": figure.share(flow["share"])} for flow in entry["culprits"]],
        "victims": [{"flow": flow["flow"], "share": figure.share(flow["share"])} for flow in entry["victims"]],
        "holds_up": _listed(entry["victim_ports"]),
    }


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _event(entry: dict[str, Any], now_ns: int) -> dict[str, str]:
    return {
        "event": entry["event"],
        "at": _moment(entry["at_ns"], now_ns),
        "place": figure.place(entry["node"], entry["port"], entry["queue"]),
        "cause": entry["cause"],
        "reason": entry["reason"],
    }


def _graph(snapshot: Snapshot) -> str:
    """The picture; "" where there is no port to draw."""
    if not snapshot.judgement.summary.queues:
        return ""
    return draw(replace(snapshot.judgement.summary, findings=snapshot.judgement.findings))


def _heat(snapshot: Snapshot) -> dict[str, Any]:
    """The worst ports of the last minute, second by second; depth where any is reported, else latency."""
    seconds = snapshot.seconds[-_HEAT_SECONDS:]
    measure = "depth" if any(fare.depth > 0 for second in seconds for fare in second.ports) else "latency"
    rows: dict[tuple[int, int], dict[int, int]] = {}
    for second in seconds:
        for fare in second.ports:
            value = fare.depth if measure == "depth" else fare.latency
            if value >= 0:
                rows.setdefault((fare.node_id, fare.port), {})[second.number] = value
    worst = sorted(rows, key=lambda port: -max(rows[port].values()))[:_HEAT_PORTS]
    first = seconds[0].number if seconds else 0
    count = seconds[-1].number - first + 1 if seconds else 0
    profile = snapshot.profile
    return {
        "measure": f"largest {'queue depth' if measure == 'depth' else 'hop latency'} of each second, in the device's unit",
        "first": first,
        "most": darkest([value for row in rows.values() for value in row.values()]),
        "ports": [
            {
                "label": figure.place(profile.node_name(node), profile.port_name(node, port), None),
                "values": [rows[node, port].get(first + at) for at in range(count)],
            }
            for node, port in worst
        ],
    }


def darkest(values: list[int]) -> int:
    """The value that the map shows darkest."""
    return max(max(values), round(_DARKEST * statistics.median(values))) if values else 0


def _slowest(queues: list[QueueSummary]) -> list[QueueSummary]:
    return sorted(queues, key=lambda queue: (-(queue.latency.p99 or 0), -(queue.depth.p99 or 0)))[:_QUEUES]


def _queue(entry: QueueSummary) -> dict[str, Any]:
    return {
        "place": figure.place(entry.at.node, entry.at.port, entry.at.queue),
        "packets": figure.count(entry.packets),
        "latency": _quantiles(entry.latency),
        "depth": _quantiles(entry.depth),
    }


def _quantiles(values: Quantiles) -> list[str]:
    measured = (values.p50, values.p99, values.p999, values.max)
    return [figure.quantity(value, values.unit) if value is not None else figure.NONE for value in measured]


def _source(worker: Any) -> dict[str, Any]:
    lane, losses = worker.lane, worker.intake.losses
    return {
        "name": worker.intake.name,
        "fault": worker.intake.fault,
        "clock": worker.intake.clock,
        "packets": figure.count(lane.packets),
        "late": figure.count(lane.late),
        "kernel": figure.count(losses.kernel),
        "own": figure.count(losses.own),
        "time": figure.count(lane.lost),
        "lost": losses.kernel + losses.own + lane.lost > 0,
    }
