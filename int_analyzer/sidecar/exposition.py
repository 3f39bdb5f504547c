"""The state of a sidecar as samples of the metrics in metric.py."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from int_analyzer import __version__
from int_analyzer.analysis.summary import Quantiles, QueueSummary
from int_analyzer.sidecar import lifetime
from int_analyzer.sidecar.metric import COUNTER, FINDINGS, METRICS, PORTS, QUANTILES, QUEUES
from int_analyzer.sidecar.outbox import Outbox

if TYPE_CHECKING:
    from int_analyzer.sidecar.service import Sidecar, Snapshot

Samples = Iterable[tuple[tuple[str, ...], float]]
"""Label values and value."""

_GRADES = ("high", "fair", "low", "none")
_NO_QUEUE = ""


class Exposition(Collector):
    """Collects from the snapshot of the last tick: a scrape neither waits for a tick nor makes one wait."""

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar

    def describe(self) -> Iterable[Family]:
        """Nothing: the registry must not collect when it is made."""
        return ()

    def collect(self) -> Iterator[Family]:
        """All families, in the order of metric.METRICS; one without samples is left out."""
        samples: dict[str, list[tuple[tuple[str, ...], float]]] = defaultdict(list)
        for name, found in (*self._health(), *self._seen()):
            samples[f"int_analyzer_{name}"] += found
        for metric in METRICS:
            kind: Callable[..., Any] = CounterMetricFamily if metric.kind == COUNTER else GaugeMetricFamily
            family = kind(metric.name, metric.meaning, labels=metric.labels)
            for labels, value in samples[metric.name]:
                family.add_metric(labels, value)
            if family.samples:
                yield family

    def _health(self) -> Iterator[tuple[str, Samples]]:
        sidecar = self._sidecar
        yield "build_info", [((__version__,), 1)]
        sources: dict[str, dict[tuple[str, ...], float]] = {}
        for worker in sidecar.workers:
            # rings of one interface are one source
            intake, lane, name = worker.intake, worker.lane, worker.intake.name
            for metric, labels, value in (
                ("source_packets", (name,), lane.packets),
                ("source_late_packets", (name,), lane.late),
                ("source_lost_packets", (name, "kernel"), intake.losses.kernel),
                ("source_lost_packets", (name, "own"), intake.losses.own),
                ("source_lost_packets", (name, "time"), lane.lost),
                ("source_batches", (name,), worker.batches),
                ("source_busy_seconds", (name, "decode"), worker.decode_s),
                ("source_busy_seconds", (name, "fold"), worker.fold_s),
            ):
                known = sources.setdefault(metric, {})
                known[labels] = known.get(labels, 0) + value
            sources.setdefault("source_clock_info", {})[name, intake.clock.partition(":")[0]] = 1
            up = sources.setdefault("source_up", {})
            up[(name,)] = min(up.get((name,), 1), 0 if intake.fault else 1)
        for metric, known in sources.items():
            yield metric, list(known.items())
        yield "stage_seconds", [((name,), stage.seconds) for name, stage in sidecar.stages.items()]
        yield "stage_runs", [((name,), stage.runs) for name, stage in sidecar.stages.items()]
        yield "sink_faults", [((type(sink).__name__,), sink.faults) for sink in sidecar.sinks]
        yield "sink_waiting", [((type(sink).__name__,), sink.waiting) for sink in sidecar.sinks if isinstance(sink, Outbox)]
        yield "http_closed_connections", [((reason,), count) for reason, count in sidecar.closed_connections.items()]
        if sidecar.relief is not None:
            yield "connection_switches", [((), sidecar.relief.switches)]
        if sidecar.inquiry is not None:
            yield "evidence_answers", [((), sidecar.inquiry.answers)]
            yield "evidence_faults", [((), sidecar.inquiry.faults)]
        yield "clock_steps", [((), sidecar.sliding.steps)]
        yield "reload_faults", [((), sidecar.reload_faults)]
        if sidecar.checkpoint is not None:
            yield "checkpoint_faults", [((), sidecar.checkpoint.faults)]
            yield "checkpoint_unusable_files", [((), len(sidecar.checkpoint.unusable))]
            yield "checkpoint_write_seconds", [((), sidecar.checkpoint.wait_s)]

    def _seen(self) -> Iterator[tuple[str, Samples]]:
        snapshot = self._sidecar.snapshot
        if snapshot is None:
            return
        yield "tick_age_seconds", [((), time.monotonic() - snapshot.published)]
        # of none there is no age
        if self._sidecar.checkpoint is not None and self._sidecar.checkpoint.saved_ns:
            yield "checkpoint_age_seconds", [((), (snapshot.now_ns - self._sidecar.checkpoint.saved_ns) / 1e9)]
        counts = snapshot.counts["counts"]
        for name, key in (
            ("packets", "packets"),
            ("wire_bytes", "bytes"),
            ("telemetry_packets", "telemetry_packets"),
            ("telemetry_bytes", "telemetry_bytes"),
            ("hops", "hops"),
            ("reports", "reports"),
            ("mirrors", "mirrors"),
            ("roce_packets", "roce_packets"),
            ("ce_packets", "ce_packets"),
            ("cnp_packets", "cnp_packets"),
        ):
            yield name, [((), counts[key])]
        for name, key in (("status_packets", "statuses"), ("warning_packets", "warnings"), ("format_packets", "formats")):
            yield name, [((str(label),), value) for label, value in snapshot.counts[key].items()]
        yield from _sequences(snapshot)
        yield from _ports(snapshot)
        yield from _queues(snapshot)
        yield from _findings(snapshot)
        yield "connection_tracking_info", [((self._sidecar.connections.mode,), 1)]
        yield "connection_coverage_ratio", _coverage(snapshot)


def _sequences(snapshot: Snapshot) -> Iterator[tuple[str, Samples]]:
    received: dict[tuple[str, ...], float] = defaultdict(float)
    lost: dict[tuple[str, ...], float] = defaultdict(float)
    streams = snapshot.streams
    rows = zip(streams.kind, streams.received.tolist(), streams.lost.tolist(), streams.static.tolist(), strict=True)
    for kind, came, missing, static in rows:
        if not static:
            received[(kind,)] += came
            lost[(kind,)] += missing
    yield "sequence_received", list(received.items())
    yield "sequence_lost", list(lost.items())


def _ports(snapshot: Snapshot) -> Iterator[tuple[str, Samples]]:
    profile = snapshot.profile
    # In the order in which they were first seen: with that of their packets, ports would leave "other" again, and its counters would fall.
    rows = snapshot.ports.tolist()
    others = list(snapshot.other_ports)
    for row in rows[PORTS:]:
        others = [others[0] + row[lifetime.PACKETS], others[1] + row[lifetime.BYTES]]
    packets: dict[tuple[str, ...], float] = defaultdict(float)
    size: dict[tuple[str, ...], float] = defaultdict(float)
    for node, port, *counted, _ in rows[:PORTS]:
        # two ids may have one name
        labels = (profile.node_name(node), profile.port_name(node, port))
        packets[labels] += counted[0]
        size[labels] += counted[1]
    if others[0]:
        packets["other", "other"], size["other", "other"] = others
    yield "port_packets", list(packets.items())
    yield "port_bytes", list(size.items())


def _queues(snapshot: Snapshot) -> Iterator[tuple[str, Samples]]:
    found = {(entry["node"], entry["port"], entry["queue"]) for entry in snapshot.findings}

    def rank(queue: QueueSummary) -> tuple[bool, int]:
        return (queue.at.node, queue.at.port, queue.at.queue) not in found, -queue.packets

    queues = sorted(snapshot.judgement.summary.queues, key=rank)
    for queue in queues[:QUEUES]:
        yield from _quantiles("queue_depth", "bytes", 1.0, queue, queue.depth)
        yield from _quantiles("hop_latency", "ns", 1e-9, queue, queue.latency)


def _quantiles(name: str, known: str, factor: float, queue: QueueSummary, values: Quantiles) -> Iterator[tuple[str, Samples]]:
    place = _labels(queue.at.node, queue.at.port, queue.at.queue)
    measured = zip(QUANTILES, (values.p50, values.p99, values.p999, values.max), strict=True)
    if values.unit == known:
        base = {"bytes": "bytes", "ns": "seconds"}[known]
        yield f"{name}_{base}", [((*place, quantile), value * factor) for quantile, value in measured if value is not None]
    else:
        yield f"{name}_raw", [((*place, quantile, values.unit), value) for quantile, value in measured if value is not None]


def _findings(snapshot: Snapshot) -> Iterator[tuple[str, Samples]]:
    shown = snapshot.findings[:FINDINGS]
    yield "finding", [((*_labels(entry["node"], entry["port"], entry["queue"]), entry["role"], entry["cause"]), 1) for entry in shown]
    yield (
        "finding_confidence_ratio",
        [(_labels(entry["node"], entry["port"], entry["queue"]), entry["confidence"]) for entry in shown],
    )
    yield "findings_started", [((role,), count) for role, count in snapshot.started.items()]
    quality = snapshot.judgement.summary.quality
    if quality is not None:
        yield "trust", [((grade,), float(quality.trust == grade)) for grade in _GRADES]
        yield "flows_evicted", [((), quality.flows_evicted)]


def _coverage(snapshot: Snapshot) -> Samples:
    roce = snapshot.judgement.summary.roce
    if roce is None:
        return
    told = roce.tracking
    for of, share in (("time", told.time_share), ("connections", told.connections_share), ("packets", told.packets_share)):
        if share is not None:
            yield (of,), share


def _labels(node: str, port: str, queue: int | None) -> tuple[str, str, str]:
    return node, port, _NO_QUEUE if queue is None else str(queue)
