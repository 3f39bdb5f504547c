"""Flows and connections as Arrow rows: columns are the fields of their dataclasses, their meanings those of the JSON document."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from int_analyzer.analysis.flows import FlowSummary
from int_analyzer.analysis.summary import ConnectionSummary, DirectionDelay, Port
from int_analyzer.fold.transport import KINDS
from int_analyzer.report import figure
from int_analyzer.report.json_document import MEANINGS
from int_analyzer.schema import SCHEMA_VERSION

FLOW_MEANINGS = {
    "src": "source address",
    "dst": "destination address",
    "protocol": "IP protocol",
    "src_port": "UDP or TCP source port",
    "dst_port": "UDP or TCP destination port",
    "dest_qp": "RoCEv2 destination queue pair",
    "packets": "packets",
    "bytes": "bytes on the wire; of a packet in a report or mirror, its IP bytes",
    "telemetry_packets": "packets with telemetry",
    "ce_packets": "packets marked CE (ECN)",
    "ce_ratio": "share of packets marked CE",
    "cnp_packets": "congestion notification packets that went this way",
    "path": "egress ports from the source on, by the last packet with a whole stack",
    "path_changes": "how often it took another path",
    "path_change_ns": "when it did last",
    "data_packets": "requests and READ responses without copies; of its connection, which may have several flows",
    "retransmitted": "of these, sent again",
    "rewinds": "how often retransmission began",
    "unfilled": "PSNs that were never seen",
    "naks": "NAKs for a PSN sequence error that came back",
    "first_ns": "first packet, nanoseconds since 1970",
    "last_ns": "last packet",
}

TELLING = {
    "flows": ("src", "dst", "src_port", "dest_qp", "packets", "bytes", "ce_packets", "retransmitted", "slow_messages", "worst_hop", "path"),
    "connections": (
        *("src", "dst", "dest_qp", "transport", "two_sided", "data_packets", "retransmitted", "naks", "timeouts", "rnr_naks"),
        *("completed", "fct_mean_ns", "throughput_bps", "rtt_mean_ns", "slow_messages", "network_share", "worst_hop"),
    ),
}
"""Columns that are shown where there is no room for all."""

_TYPES = {Port: pa.string(), str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def columns(table: str) -> dict[str, tuple[pa.DataType, str]]:
    """Type and meaning of each column of "flows" or "connections", in order; messages are a column per kind, a delay one per field."""
    if table == "flows":
        return _columns(FlowSummary, FLOW_MEANINGS)
    return _columns(ConnectionSummary, MEANINGS["ConnectionSummary"])


def _columns(kind: type, meanings: dict[str, str]) -> dict[str, tuple[pa.DataType, str]]:
    hints = typing.get_type_hints(kind)
    found: dict[str, tuple[pa.DataType, str]] = {}
    for field in dataclasses.fields(kind):
        if field.name == "messages":
            found |= {f"{name}_messages": (pa.int64(), f"{name.upper()} messages begun") for name in KINDS}
        elif field.name == "delay":
            found |= _columns(DirectionDelay, MEANINGS["DirectionDelay"])
        else:
            plain = next(member for member in (*typing.get_args(hints[field.name]), hints[field.name]) if member in _TYPES)
            found[field.name] = _TYPES[plain], meanings[field.name]
    return found


def rows(table: str, summaries: Sequence[FlowSummary | ConnectionSummary]) -> pa.RecordBatch:
    """All of these as one batch."""
    known = columns(table)
    arrow = pa.schema(
        [pa.field(name, kind, metadata={"doc": meaning}) for name, (kind, meaning) in known.items()],
        metadata={"table": table, "schema_version": SCHEMA_VERSION},
    )
    plain = [_flat(summary) for summary in summaries]
    return pa.RecordBatch.from_arrays([pa.array([row[name] for row in plain], type=arrow.field(name).type) for name in known], schema=arrow)


def _flat(summary: FlowSummary | ConnectionSummary) -> dict[str, Any]:
    """Values by column; a queue by name, as paths call it."""
    row = vars(summary) | vars(summary.delay)
    if isinstance(summary, ConnectionSummary):
        row |= {f"{name}_messages": summary.messages.get(name, 0) for name in KINDS}
    hop = summary.delay.worst_hop
    return row | {"worst_hop": figure.short_place(hop) if hop is not None else None}
