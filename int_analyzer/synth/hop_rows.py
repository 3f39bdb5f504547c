"""Hops of a trace as columns: what a format tells of a hop, in its units and widths."""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer import schema
from int_analyzer.formats.dialect import TIME_WORDS
from int_analyzer.synth.emission import Emission
from int_analyzer.synth.record import Records
from int_analyzer.synth.trace import Trace

_PORTS = schema.HAS_INGRESS_PORT | schema.HAS_EGRESS_PORT
_QUEUE = schema.HAS_QUEUE | schema.HAS_DEPTH
_TIMES = schema.HAS_INGRESS_TIME | schema.HAS_EGRESS_TIME
_INT = schema.HAS_NODE | _PORTS | schema.HAS_LATENCY | _QUEUE | _TIMES | schema.HAS_UTILISATION
_IOAM = schema.HAS_NODE | schema.HAS_HOP_LIMIT | _PORTS | schema.HAS_LATENCY | schema.HAS_DEPTH | schema.HAS_INGRESS_TIME
_IN_PACKET = {schema.FORMAT_IOAM_TRACE: _IOAM, schema.FORMAT_MRI: schema.HAS_NODE | schema.HAS_DEPTH}
"""What a hop in the packet tells, where that is not all that INT is asked for."""

_BY_REPORT = schema.HOP_FROM_REPORT | schema.HAS_NODE | _PORTS | schema.HAS_INGRESS_TIME | schema.HAS_QUEUE
_FORWARDED = {
    schema.FORMAT_REPORT_05: _BY_REPORT | schema.HAS_DEPTH | schema.HAS_EGRESS_TIME,
    schema.FORMAT_REPORT_1: _BY_REPORT | _INT,
    schema.FORMAT_REPORT_2: _BY_REPORT | _INT,
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
_SECOND_NS = 1_000_000_000


def narrow_times(emission: Emission) -> bool:
    """Whether times have 32 bits on the wire."""
    return bool(TIME_WORDS[emission.dialect] == 1) or emission.report in (schema.FORMAT_REPORT_05, schema.FORMAT_REPORT_1)


def wire_values(trace: Trace, emission: Emission, rows: Any) -> dict[str, Any]:
    """Values of hops as they stand on the wire, by the names that both hops and reports have for them; of row −1, stale ones."""
    hops = trace.hops
    if len(hops.node_id) == 0:
        return dict.fromkeys(_NAMES, np.zeros(len(rows), dtype=np.int64))
    ingress, egress = hops.ingress_time_ns[rows], hops.egress_time_ns[rows]
    if emission.telemetry == schema.FORMAT_IOAM_TRACE:
        ingress = ingress // _SECOND_NS << 32 | ingress % _SECOND_NS
    elif narrow_times(emission):
        ingress, egress = ingress & _WORD, egress & _WORD
    values = (
        hops.node_id[rows],
        hops.ingress_port[rows],
        hops.egress_port[rows],
        np.clip(hops.latency_ns[rows], 0, _LARGEST_WORD),
        hops.queue_id[rows],
        np.clip(hops.queue_depth_cells[rows], 0, _LARGEST_DEPTH),
        ingress,
        egress,
        hops.tx_utilisation[rows],
    )
    return dict(zip(_NAMES, values, strict=True))


def hop_rows(trace: Trace, emission: Emission, records: Records) -> tuple[Any, dict[str, Any]]:
    """Hops of each record: those in its packet, then that of its report. How many, int64[n], and the columns of all."""
    packets = trace.packets
    total = records.stack + (records.own >= 0)
    owner = np.repeat(np.arange(len(total)), total)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(total) - total, total)
    packet, stack = records.packet[owner], records.stack[owner]
    by_report = place == stack
    present = np.full(len(owner), _IN_PACKET.get(emission.telemetry, _INT))
    for version, kept in ((emission.report, _FORWARDED), (emission.drop_report, _DROPPED)):
        if version != schema.FORMAT_NONE:
            present[by_report & ((packets.dropped[packet] != 0) == (kept is _DROPPED))] = kept[version]
    columns = wire_values(trace, emission, np.where(by_report, records.own[owner], packets.first_hop[packet] + place))
    # the packet was captured behind its last switch; every switch before saw one more
    limit = packets.ttl[packet].astype(np.int64) + stack - 1 - place
    columns |= {"packet": owner, "hop": place, "hop_limit": np.minimum(limit, _LARGEST_LIMIT), "present": present}
    return total, columns
