"""The end of a packet: what holds of all its layers together goes into its row."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined
from int_analyzer.capture import records
from int_analyzer.columns import N_HOPS, put
from int_analyzer.formats.hop import repeated
from int_analyzer.schema import FORMAT_INT_MD_1, FORMAT_INT_MD_2
from int_analyzer.status import STATUS_CODE, WARNING_BIT
from int_analyzer.wire.branch import unlikely

OK = STATUS_CODE["ok"]
NODE_REPEATED = WARNING_BIT["node-repeated"]


@inlined
def without_telemetry(columns: Any, row: int) -> None:
    """Zeros into the columns of telemetry."""
    put(columns, "packets.dialect", row, 0)
    put(columns, "packets.telemetry_flags", row, 0)
    put(columns, "packets.instructions", row, 0)
    put(columns, "packets.namespace", row, 0)
    put(columns, "packets.remaining_hops", row, 0)
    put(columns, "packets.telemetry_bytes", row, 0)


@inlined
def without_ip(columns: Any, row: int) -> None:
    """Zeros into the columns of IP."""
    put(columns, "packets.ip_version", row, 0)
    put(columns, "packets.src_hi", row, 0)
    put(columns, "packets.src_lo", row, 0)
    put(columns, "packets.dst_hi", row, 0)
    put(columns, "packets.dst_lo", row, 0)
    put(columns, "packets.protocol", row, 0)
    put(columns, "packets.dscp", row, 0)
    put(columns, "packets.ecn", row, 0)
    put(columns, "packets.ttl", row, 0)
    put(columns, "packets.ip_id", row, 0)
    put(columns, "packets.ip_bytes", row, 0)


@inlined
def finish(
    record: Any,
    columns: Any,
    counts: Any,
    row: int,
    tunnels: int,
    vlan: int,
    csig: int,
    source_port: int,
    destination_port: int,
    formats: int,
    telemetry: int,
    reported: bool,
    hop: int,
    roce_row: int,
    report_count: int,
    status: int,
    status_at: int,
    warnings: int,
) -> None:
    """The remaining columns of packet `row`, whose hops are counts[N_HOPS] to `hop`; counts[N_HOPS] goes on behind them.

    record: what `next_record` found of it. reported: a reporting node's own metadata is among the hops. status_at: where in the buffer.
    """
    put(columns, "packets.part", row, record[records.PART])
    put(columns, "packets.time_ns", row, record[records.TIME_NS])
    put(columns, "packets.captured_bytes", row, record[records.CAPTURED])
    put(columns, "packets.original_bytes", row, record[records.ORIGINAL])
    put(columns, "packets.interface", row, record[records.INTERFACE])
    first_hop = counts[N_HOPS]
    # an INT stack has looked for nodes of equal hash already
    by_stack = not reported and (telemetry == FORMAT_INT_MD_1 or telemetry == FORMAT_INT_MD_2)
    if unlikely(hop - first_hop > 1 and not (by_stack and warnings & NODE_REPEATED == 0)):
        warnings &= ~NODE_REPEATED
        if repeated(columns, first_hop, hop):
            warnings |= NODE_REPEATED
    counts[N_HOPS] = hop
    put(columns, "packets.tunnels", row, tunnels)
    put(columns, "packets.vlan_id", row, vlan)
    put(columns, "packets.csig", row, csig)
    put(columns, "packets.src_port", row, source_port)
    put(columns, "packets.dst_port", row, destination_port)
    put(columns, "packets.formats", row, formats)
    put(columns, "packets.telemetry", row, telemetry)
    put(columns, "packets.hop_count", row, hop - first_hop)
    put(columns, "packets.first_hop", row, first_hop)
    put(columns, "packets.roce_row", row, roce_row)
    put(columns, "packets.report_count", row, report_count)
    put(columns, "packets.status", row, status)
    put(columns, "packets.status_at", row, min(status_at - record[records.DATA], 65535) if status != OK else 0)
    put(columns, "packets.warnings", row, warnings)
