"""Hops of a trace as columns: what a format tells of a hop, in its units and widths."""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer import schema
from int_analyzer.formats.dialect import TIME_WORDS
from int_analyzer.synth.emission import Emission
from int_analyzer.synth.record import Records
from int_analyzer.synth.stack import INT, PORTS, STACKS
from int_analyzer.synth.trace import Trace

_BY_REPORT = schema.HOP_FROM_REPORT | schema.HAS_NODE | PORTS | schema.HAS_INGRESS_TIME | schema.HAS_QUEUE
_FORWARDED = {
    schema.FORMAT_REPORT_05: _BY_REPORT | schema.HAS_DEPTH | schema.HAS_EGRESS_TIME,
    schema.FORMAT_REPORT_1: _BY_REPORT | INT,
    schema.FORMAT_REPORT_2: _BY_REPORT | INT,
}
_DROPPED = {
    schema.FORMAT_REPORT_05: _BY_REPORT,
    schema.FORMAT_REPORT_1: _BY_REPORT | schema.HAS_DEPTH,
    schema.FORMAT_REPORT_2: _BY_REPORT | schema.HAS_DEPTH,
}
"""What a report's hop tells, by version: no report on a drop has a time of leaving, and v0.5 has one on the queue's depth neither."""

_NAMES = (
    "node_id",
    "ingress_port",
    "egress_port",
    "hop_latency_raw",
    "queue_id",
    "queue_depth_raw",
    "ingress_time_raw",
    "egress_time_raw",
    "tx_utilisation_raw",
)
_WORD = 0xFFFFFFFF
_LARGEST_WORD, _LARGEST_DEPTH, _LARGEST_LIMIT = 0xFFFFFFFE, 0xFFFFFE, 0xFE
"""All ones mean absent."""
_LARGEST_HPCC_DEPTH = 0xFFFF
_SECOND_NS = 1_000_000_000
_IFA_NS, _HPCC_NS, _HPCC_BYTES = _SECOND_NS << 20, 1 << 24, 1 << 20
"""Where times and counters begin anew."""


def narrow_times(emission: Emission) -> bool:
    """Whether times have 32 bits on the wire."""
    return bool(TIME_WORDS[emission.dialect] == 1) or emission.report in (schema.FORMAT_REPORT_05, schema.FORMAT_REPORT_1)


def wire_values(trace: Trace, emission: Emission, rows: Any) -> dict[str, Any]:
    """Values of hops as they stand on the wire, by the names that both hops and reports have for them; of row −1, stale ones."""
    hops = trace.hops
    if len(hops.node_id) == 0:
        return dict.fromkeys(_NAMES, np.zeros(len(rows), dtype=np.int64))
    ingress, egress = _times(emission, hops.ingress_time_ns[rows], hops.egress_time_ns[rows])
    depth = hops.queue_depth_bytes if emission.depth_unit == "bytes" else hops.queue_depth_cells
    largest = _LARGEST_HPCC_DEPTH if emission.telemetry == schema.FORMAT_HPCC else _LARGEST_DEPTH
    values = (
        hops.node_id[rows],
        hops.ingress_port[rows],
        hops.egress_port[rows],
        np.clip(hops.latency_ns[rows], 0, _LARGEST_WORD),
        hops.queue_id[rows],
        np.clip(depth[rows], 0, largest),
        ingress,
        egress,
        hops.tx_utilisation[rows],
    )
    return dict(zip(_NAMES, values, strict=True))


def _times(emission: Emission, ingress: Any, egress: Any) -> tuple[Any, Any]:
    """Times of arrival and of leaving as the format has them."""
    if emission.telemetry in (schema.FORMAT_IOAM_TRACE, schema.FORMAT_IOAM_INCREMENTAL):
        return ingress // _SECOND_NS << 32 | ingress % _SECOND_NS, egress
    if emission.telemetry == schema.FORMAT_IFA:
        return ingress % _IFA_NS, egress
    if emission.telemetry == schema.FORMAT_HPCC:
        return ingress, egress % _HPCC_NS
    return (ingress & _WORD, egress & _WORD) if narrow_times(emission) else (ingress, egress)


def hop_rows(trace: Trace, emission: Emission, records: Records) -> tuple[Any, dict[str, Any]]:
    """Hops of each record: those in its packet, then that of its report. How many, int64[n], and the columns of all."""
    packets = trace.packets
    total = records.stack + (records.own >= 0)
    owner = np.repeat(np.arange(len(total)), total)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(total) - total, total)
    packet, stack = records.packet[owner], records.stack[owner]
    by_report = place == stack
    present = np.full(len(owner), STACKS[emission.telemetry].present if emission.telemetry in STACKS else 0)
    for version, kept in ((emission.report, _FORWARDED), (emission.drop_report, _DROPPED)):
        if version != schema.FORMAT_NONE:
            present[by_report & ((packets.dropped[packet] != 0) == (kept is _DROPPED))] = kept[version]
    rows = np.where(by_report, records.own[owner], packets.first_hop[packet] + place)
    columns = wire_values(trace, emission, rows)
    # the packet was captured behind its last switch; every switch before saw one more
    limit = packets.ttl[packet].astype(np.int64) + stack - 1 - place
    columns |= {"packet": owner, "hop": place, "hop_limit": np.minimum(limit, _LARGEST_LIMIT), "present": present}
    columns["tx_bytes_raw"] = trace.hops.sent_bytes[rows] % _HPCC_BYTES
    return total, columns
