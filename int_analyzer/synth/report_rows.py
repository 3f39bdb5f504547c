"""Reports on packets of a trace as columns: what a version tells of a packet that was forwarded or dropped."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from int_analyzer import schema
from int_analyzer.formats.dialect import SEQUENCE_FIELD
from int_analyzer.formats.report_item import INNER_ETHERNET
from int_analyzer.synth.emission import Emission
from int_analyzer.synth.hop_rows import wire_values
from int_analyzer.synth.record import Records
from int_analyzer.synth.trace import Trace

_ON_PACKETS, _ON_DROPS = 1, 2
"""Subsystems of a switch (hw_id): reports on packets and on drops are counted apart."""
_QUEUE_FULL = 71
"""Drop reason: the traffic manager had no room (as fabric-tna numbers them)."""
_WORD = 0xFFFFFFFF


class _Telling(NamedTuple):
    """How a version tells of a hop: its report type, metadata bits and what is present."""

    kind: int
    bits: int
    present: int


_WHERE = schema.HAS_REPORT_PORTS | schema.HAS_REPORT_INGRESS_TIME
_LOCAL = _WHERE | schema.HAS_REPORT_QUEUE | schema.HAS_REPORT_EGRESS_TIME
_ALL = _LOCAL | schema.HAS_REPORT_LATENCY | schema.HAS_REPORT_UTILISATION
_DROP = _WHERE | schema.HAS_REPORT_DROP
_SILENT = {
    schema.FORMAT_REPORT_05: _Telling(0, 0, schema.HAS_REPORT_INGRESS_TIME),
    schema.FORMAT_REPORT_1: _Telling(0, 0, schema.HAS_REPORT_INGRESS_TIME),
    schema.FORMAT_REPORT_2: _Telling(1, 0, 0),
}
_FORWARDED = {
    schema.FORMAT_REPORT_05: _Telling(2, 0, _LOCAL),
    schema.FORMAT_REPORT_1: _Telling(0, 0x3D, _ALL),
    schema.FORMAT_REPORT_2: _Telling(1, 0x7D00, _ALL),
}
_DROPPED = {
    schema.FORMAT_REPORT_05: _Telling(1, 0, _DROP),
    schema.FORMAT_REPORT_1: _Telling(0, 0x2A, _DROP | schema.HAS_REPORT_QUEUE),
    schema.FORMAT_REPORT_2: _Telling(1, 0x5801, _DROP | schema.HAS_REPORT_QUEUE),
}


def report_rows(trace: Trace, emission: Emission, records: Records, frames: Any, sequence: Any) -> dict[str, Any]:
    """Columns of the reports in `frames` (rows of records); `sequence` are their numbers, int64 of the same length."""
    packets, packet = trace.packets, records.packet[frames]
    own, version = records.own[frames], records.report[frames]
    dropped = packets.dropped[packet] != 0
    columns = wire_values(trace, emission, own)
    told = np.zeros((len(frames), 3), dtype=np.int64)
    for rows, kept in ((own < 0, _SILENT), ((own >= 0) & ~dropped, _FORWARDED), ((own >= 0) & dropped, _DROPPED)):
        for number, telling in kept.items():
            told[rows & (version == number)] = telling
    bits = np.where(version == schema.FORMAT_REPORT_2, SEQUENCE_FIELD, 32)
    # v1.0 and v0.5 have no way to leave the time out
    silent_time = packets.time_ns[packet] & _WORD
    reporter = np.where(own >= 0, columns["node_id"], packets.mirror_node[packet])
    anonymous = (version == schema.FORMAT_REPORT_05) & (told[:, 0] == 0)
    return columns | {
        "packet": frames,
        "report": 0,
        "version": version,
        "report_type": told[:, 0],
        "inner_type": np.where(version == schema.FORMAT_REPORT_2, INNER_ETHERNET, 0),
        "hw_id": np.where(dropped, _ON_DROPS, _ON_PACKETS),
        "sequence": sequence & ((1 << bits) - 1),
        "sequence_bits": bits,
        "node_id": np.where(anonymous, 0, reporter),
        "dropped": dropped,
        "congested": 0,
        "tracked": (packets.telemetry[packet] != 0) & ~dropped,
        "intermediate": 0,
        "metadata_bits": told[:, 1],
        "ingress_time_raw": np.where(own >= 0, columns["ingress_time_raw"], silent_time),
        "ingress_port_2": 0,
        "egress_port_2": 0,
        "drop_reason": _QUEUE_FULL,
        "present": told[:, 2],
    }


def numbered(trace: Trace, emission: Emission, records: Records) -> Any:
    """Report sequence number of every record, int64[n]: the trace's, with the gaps of lost reports; postcards are counted by their
    switches here, the trace has one number a packet."""
    packets = trace.packets
    sequence = packets.report_sequence[records.packet].copy()
    if emission.postcards:
        forwarded = np.flatnonzero(packets.dropped[records.packet] == 0)
        sequence[forwarded] = _running_count(trace.hops.node_id[records.own[forwarded]])
    return sequence


def _running_count(values: Any) -> Any:
    """How often each value stood before, int64[n]."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    begins = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if len(ranked) else np.zeros(0, dtype=np.int64)
    counts = np.empty(len(values), dtype=np.int64)
    counts[order] = np.arange(len(values)) - np.repeat(begins, np.diff(np.r_[begins, len(values)]))
    return counts
