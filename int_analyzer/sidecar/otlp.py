"""OTLP over HTTP in JSON: metrics, findings as logs, a sampled packet's path as a trace with a span for each hop.

Source: opentelemetry-proto, "OTLP/HTTP", "JSON Protobuf Encoding": lowerCamelCase names, 64-bit integers as text, ids in hexadecimal.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prometheus_client.metrics_core import Metric as Family

from int_analyzer import __version__
from int_analyzer.profile import Profile
from int_analyzer.sidecar.outbox import Outbox, checked_url
from int_analyzer.sidecar.packet_sample import HopSample, PacketSample
from int_analyzer.sidecar.track import END, Event

METRICS_S = 10.0
"""How often metrics are sent."""
_CUMULATIVE = 2
_INFO, _WARN = 9, 13
_INTERNAL = 1
_FACTOR_NS = {"ns": 1, "us": 1000}
_SCOPE = {"name": "int-analyzer", "version": __version__}


class Otlp(Outbox):
    """Posts to /v1/metrics, /v1/logs and /v1/traces of a collector."""

    def __init__(self, url: str, host: str, first_wait_s: float = 1.0) -> None:
        self._url = checked_url(url)
        self._resource = {"attributes": _attributes({"service.name": "int-analyzer", "service.version": __version__, "host.name": host})}
        self._began_ns = time.time_ns()
        self._measured = 0.0
        super().__init__(first_wait_s)

    def take(self, events: Sequence[Event]) -> None:
        """Post events as log records."""
        if events:
            self._put("logs", "resourceLogs", {"scopeLogs": [{"scope": _SCOPE, "logRecords": [log_record(event) for event in events]}]})

    def measure(self, families: Iterable[Family], now_ns: int) -> None:
        """Post metrics, if it is time."""
        if time.monotonic() - self._measured < METRICS_S:
            return
        self._measured = time.monotonic()
        metrics = [metric(family, self._began_ns, now_ns) for family in families]
        self._put("metrics", "resourceMetrics", {"scopeMetrics": [{"scope": _SCOPE, "metrics": metrics}]})

    def trace(self, sample: PacketSample, profile: Profile) -> None:
        """Post the path of a packet."""
        self._put("traces", "resourceSpans", {"scopeSpans": [{"scope": _SCOPE, "spans": spans(sample, profile)}]})

    def _put(self, path: str, name: str, content: dict[str, Any]) -> None:
        body = {name: [{"resource": self._resource, **content}]}
        self.put(f"{self._url}/v1/{path}", json.dumps(body, allow_nan=False).encode())


def log_record(event: Event) -> dict[str, Any]:
    """A finding's start, update or end."""
    finding = event.finding
    severe = finding["role"] == "root" and event.event != END
    told = {name: finding[name] for name in ("id", "role", "cause", "node", "port", "queue", "confidence", "start_ns", "end_ns")}
    return {
        "timeUnixNano": str(event.at_ns),
        "observedTimeUnixNano": str(time.time_ns()),
        "severityNumber": _WARN if severe else _INFO,
        "severityText": "WARN" if severe else "INFO",
        "body": {"stringValue": f"{event.event}: node {finding['node']} port {finding['port']}: {finding['cause']}"},
        "attributes": _attributes({"event": event.event, **told, "evidence": "; ".join(finding["evidence"])}),
        "eventName": f"int_analyzer.finding.{event.event}",
    }


def metric(family: Family, began_ns: int, now_ns: int) -> dict[str, Any]:
    """A family of /metrics: counters are cumulative sums."""
    points = []
    for sample in family.samples:
        point: dict[str, Any] = {"timeUnixNano": str(now_ns), "asDouble": float(sample.value)}
        if sample.labels:
            point["attributes"] = _attributes(sample.labels)
        if family.type == "counter":
            point["startTimeUnixNano"] = str(began_ns)
        points.append(point)
    made: dict[str, Any] = {"name": family.name, "description": family.documentation}
    if family.type == "counter":
        made["sum"] = {"dataPoints": points, "aggregationTemporality": _CUMULATIVE, "isMonotonic": True}
    else:
        made["gauge"] = {"dataPoints": points}
    return made


def spans(sample: PacketSample, profile: Profile) -> list[dict[str, Any]]:
    """The packet and, in it, its hops one after the other up to the time of capture; one whose latency is not known takes no time."""
    trace, root = secrets.token_hex(16), secrets.token_hex(8)
    lengths = [_length_ns(hop, profile) for hop in sample.hops]
    begin = sample.time_ns - sum(lengths)
    told = {"source.address": sample.src, "source.port": sample.src_port}
    told |= {"destination.address": sample.dst, "destination.port": sample.dst_port}
    made = [_span(trace, root, "", f"{sample.src} > {sample.dst}", begin, sample.time_ns, told)]
    for number, (hop, length) in enumerate(zip(sample.hops, lengths, strict=True)):
        node = profile.node_name(hop.node_id) if hop.node_id is not None else "?"
        port = profile.port_name(hop.node_id if hop.node_id is not None else -1, hop.egress_port)
        known: dict[str, Any] = {"hop": number, **{name: value for name, value in hop._asdict().items() if value is not None}}
        made.append(_span(trace, secrets.token_hex(8), root, f"node {node} port {port}", begin, begin + length, known))
        begin += length
    return made


def _length_ns(hop: HopSample, profile: Profile) -> int:
    unit = profile.units_of(hop.node_id).hop_latency if hop.node_id is not None else ""
    return (hop.latency or 0) * _FACTOR_NS.get(unit, 0)


def _span(trace: str, span: str, parent: str, name: str, begin: int, end: int, told: Mapping[str, Any]) -> dict[str, Any]:
    made = {"traceId": trace, "spanId": span, "name": name, "kind": _INTERNAL, "startTimeUnixNano": str(begin), "endTimeUnixNano": str(end)}
    if parent:
        made["parentSpanId"] = parent
    return {**made, "attributes": _attributes(told)}


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Key and value each; what is None is left out."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": str(value)}
