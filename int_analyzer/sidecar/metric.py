"""Every metric, declared once: the /metrics page, its documentation and its bound on series follow from this list."""

from __future__ import annotations

from typing import NamedTuple

COUNTER, GAUGE = "counter", "gauge"

PORTS = 512
"""Ports with series of their own: those that were seen first, for good. The rest are one port named "other"."""
QUEUES = 256
"""Queues with quantiles: findings first, then the busiest."""
FINDINGS = 128
"""Findings with a series."""
QUANTILES = ("0.5", "0.99", "0.999", "1")


class Metric(NamedTuple):
    """Name (a counter's without _total), kind, labels, what it says, and at most how many series it has ("" : one)."""

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str
    series: str = ""


_PLACE = ("node", "port", "queue")
_QUEUES = f"{QUEUES} queues × {len(QUANTILES)}"

METRICS = (
    Metric("int_analyzer_build_info", GAUGE, ("version",), "Always 1; the version is its label."),
    Metric("int_analyzer_packets", COUNTER, (), "Packets decoded."),
    Metric("int_analyzer_wire_bytes", COUNTER, (), "Bytes that these had on the wire."),
    Metric("int_analyzer_telemetry_packets", COUNTER, (), "Packets with decoded telemetry."),
    Metric("int_analyzer_telemetry_bytes", COUNTER, (), "Bytes of telemetry in them; of reports, the whole frame."),
    Metric("int_analyzer_hops", COUNTER, (), "Hop records."),
    Metric("int_analyzer_reports", COUNTER, (), "Telemetry report records."),
    Metric("int_analyzer_mirrors", COUNTER, (), "Mirror headers (ERSPAN)."),
    Metric("int_analyzer_roce_packets", COUNTER, (), "Packets with a RoCEv2 transport header."),
    Metric("int_analyzer_ce_packets", COUNTER, (), "Packets marked CE (ECN)."),
    Metric("int_analyzer_cnp_packets", COUNTER, (), "RoCEv2 congestion notification packets."),
    Metric("int_analyzer_status_packets", COUNTER, ("status",), "Packets by status (docs/statuses.md).", "one a status seen"),
    Metric("int_analyzer_warning_packets", COUNTER, ("warning",), "Packets by warning.", "one a warning seen"),
    Metric("int_analyzer_format_packets", COUNTER, ("format",), "Packets by format (docs/formats.md).", "one a format seen"),
    Metric("int_analyzer_sequence_received", GAUGE, ("kind",), "Numbered reports or mirrored packets that came.", "one a format"),
    Metric(
        "int_analyzer_sequence_lost",
        GAUGE,
        ("kind",),
        "Numbers missing in their sequences; falls when a packet comes late after all.",
        "one a format",
    ),
    Metric("int_analyzer_port_packets", COUNTER, ("node", "port"), "Hops seen at an egress port.", f"{PORTS} + 1"),
    Metric("int_analyzer_port_bytes", COUNTER, ("node", "port"), "Bytes of the packets of these hops.", f"{PORTS} + 1"),
    Metric(
        "int_analyzer_queue_depth_bytes",
        GAUGE,
        (*_PLACE, "q"),
        "Queue depth in the last ten seconds, where the unit is known to be bytes.",
        _QUEUES,
    ),
    Metric(
        "int_analyzer_queue_depth_raw",
        GAUGE,
        (*_PLACE, "q", "unit"),
        "Queue depth in the last ten seconds in the device's own unit.",
        _QUEUES,
    ),
    Metric(
        "int_analyzer_hop_latency_seconds",
        GAUGE,
        (*_PLACE, "q"),
        "Hop latency in the last ten seconds, where the unit is known.",
        _QUEUES,
    ),
    Metric(
        "int_analyzer_hop_latency_raw",
        GAUGE,
        (*_PLACE, "q", "unit"),
        "Hop latency in the last ten seconds in the device's own unit.",
        _QUEUES,
    ),
    Metric("int_analyzer_finding", GAUGE, (*_PLACE, "role", "cause"), "1 while a finding lasts.", str(FINDINGS)),
    Metric("int_analyzer_finding_confidence_ratio", GAUGE, _PLACE, "Confidence of a finding, 0 to 1.", str(FINDINGS)),
    Metric("int_analyzer_findings_started", COUNTER, ("role",), "Findings that began.", "3"),
    Metric("int_analyzer_trust", GAUGE, ("grade",), "1 for the grade of trust in the last ten seconds, 0 for the others.", "4"),
    Metric("int_analyzer_source_up", GAUGE, ("source",), "0 while a source cannot be read: its interface is down or gone.", "one a source"),
    Metric(
        "int_analyzer_source_clock_info",
        GAUGE,
        ("source", "clock"),
        "Always 1; whose times the packets have: hardware (the interface's), kernel, or capture (a replay's).",
        "one a source",
    ),
    Metric("int_analyzer_source_packets", COUNTER, ("source",), "Packets folded.", "one a source"),
    Metric("int_analyzer_source_late_packets", COUNTER, ("source",), "Packets that came after their second was closed.", "one a source"),
    Metric(
        "int_analyzer_source_lost_packets",
        COUNTER,
        ("source", "by"),
        "Packets that were not folded: by the kernel (buffer full), own (whole blocks shed under overload), time (too old, or not of now).",
        "3 a source",
    ),
    Metric("int_analyzer_source_batches", COUNTER, ("source",), "Batches decoded.", "one a source"),
    Metric("int_analyzer_source_busy_seconds", COUNTER, ("source", "step"), "Processor time of decoding and folding.", "2 a source"),
    Metric("int_analyzer_stage_seconds", COUNTER, ("stage",), "Time spent in the steps of a tick.", "5"),
    Metric("int_analyzer_stage_runs", COUNTER, ("stage",), "How often each step ran.", "5"),
    Metric("int_analyzer_sink_faults", COUNTER, ("sink",), "Events that could not be delivered.", "one a sink"),
    Metric("int_analyzer_sink_waiting", GAUGE, ("sink",), "Payloads that wait for their receiver.", "one a sink"),
    Metric(
        "int_analyzer_http_closed_connections",
        COUNTER,
        ("reason",),
        "Connections to the HTTP server that it closed: silent (no request came whole in time), newcomer (there was no room for another), "
        "old (a minute; no stream), unread (nobody read the answer), handshake (of TLS: not done in time, or no room for another).",
        "5",
    ),
    Metric("int_analyzer_evidence_answers", COUNTER, (), "Times that counters from outside came; absent if none are asked for."),
    Metric("int_analyzer_evidence_faults", COUNTER, (), "Times that they were asked for and did not come."),
    Metric("int_analyzer_clock_steps", COUNTER, (), "How often the capture clock was set, or nothing came for a minute."),
    Metric("int_analyzer_reload_faults", COUNTER, (), "Profiles, tokens and certificates refused on SIGHUP."),
    Metric("int_analyzer_checkpoint_faults", COUNTER, (), "Checkpoints that could not be written, or not within five seconds."),
    Metric("int_analyzer_checkpoint_unusable_files", GAUGE, (), "Files of it that were left out at the start: broken or missing."),
    Metric("int_analyzer_checkpoint_write_seconds", COUNTER, (), "Time that the disk took for them; nothing waits for it."),
    Metric("int_analyzer_checkpoint_age_seconds", GAUGE, (), "Capture time since the last checkpoint; absent without --state."),
    Metric("int_analyzer_tick_age_seconds", GAUGE, (), "Time since the last tick: a second, or the sidecar hangs."),
    Metric("int_analyzer_connection_tracking_info", GAUGE, ("mode",), "Always 1; the mode is full or polling."),
    Metric("int_analyzer_connection_switches", COUNTER, (), "Changes of the mode, there and back; absent unless it is automatic."),
    Metric(
        "int_analyzer_connection_coverage_ratio",
        GAUGE,
        ("of",),
        "Share of RoCEv2 connections, of their packets and of time that is followed, in the last ten seconds: all that is said of "
        "connections is of this share.",
        "3",
    ),
    Metric("int_analyzer_flows_evicted", GAUGE, (), "Flows of the last ten seconds that were forgotten for lack of room."),
)


def exposed_names() -> list[str]:
    """Names as they stand on the page."""
    return [metric.name + "_total" if metric.kind == COUNTER else metric.name for metric in METRICS]
