"""Counters of switches, network cards and GPUs: what each is called here, and how a profile says what a Prometheus calls it."""

from __future__ import annotations

from typing import NamedTuple

from int_analyzer.toml_table import Table

PORT, HOST = "port", "host"
COLUMNS = ("time", "node", "port", "host", "metric", "value")
"""Columns of a file of counters: node and port, or host, according to the metric."""


class Metric(NamedTuple):
    """A metric: name, whether it only rises (but for restarts) or is a level, whether it is of a port or of a host, and what it says."""

    name: str
    rises: bool
    of: str
    unit: str
    doc: str


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "symbol_errors", True, PORT, "symbol errors", "errors of the line code that a port received: a bad cable, plug or transceiver"
        ),
        Metric("pfc_pauses_received", True, PORT, "pauses received", "PFC pause frames that told this port to wait"),
        Metric("pfc_pauses_sent", True, PORT, "pauses sent", "PFC pause frames by which this port told its neighbour to wait"),
        Metric("drops", True, PORT, "drops", "packets that the port dropped for want of room"),
        Metric("retransmissions", True, HOST, "retransmissions", "packets that the network card of a host sent again"),
        Metric("gpu_busy", False, HOST, "ratio", "part of the time, 0 to 1, in which the GPUs of a host compute"),
        Metric("gpu_stalled", False, HOST, "ratio", "part of the time, 0 to 1, in which they wait; without it 1 − gpu_busy"),
    )
}


class Query(NamedTuple):
    """How to ask a Prometheus for a metric: a PromQL query of the plain counter, and the labels that name node and port, or host."""

    metric: Metric
    query: str
    node: str | None
    port: str | None
    host: str | None
    step_seconds: float


DEFAULT_STEP_SECONDS = 15.0
_LABELS = {PORT: {"node": "instance", "port": "port"}, HOST: {"host": "instance"}}
"""Labels that name a place where the profile says nothing else."""


def read_queries(table: Table) -> dict[str, Query]:
    """Queries by metric, from the tables [counters.METRIC]. Raises ProfileError."""
    return {name: _query(table.table(name, ("query", *_LABELS[METRICS[name].of], "step_seconds")), METRICS[name]) for name in table.values}


def _query(table: Table, metric: Metric) -> Query:
    text = table.text("query")
    if text is None:
        raise table.error("query", "is required: the PromQL query of the counter as it stands, without rate()")
    labels = {part: table.text(part) or usual for part, usual in _LABELS[metric.of].items()}
    step = table.number("step_seconds", DEFAULT_STEP_SECONDS) or DEFAULT_STEP_SECONDS
    return Query(metric, text, labels.get("node"), labels.get("port"), labels.get("host"), step)
