"""What is done with the hops of a packet once its headers are read: the reporting node's own, and nodes that stand twice."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get, put
from int_analyzer.schema import (
    HAS_BUFFER,
    HAS_DEPTH,
    HAS_EGRESS_PORT,
    HAS_EGRESS_TIME,
    HAS_INGRESS_PORT,
    HAS_INGRESS_TIME,
    HAS_LATENCY,
    HAS_NODE,
    HAS_QUEUE,
    HAS_REPORT_BUFFER,
    HAS_REPORT_DROP,
    HAS_REPORT_EGRESS_TIME,
    HAS_REPORT_INGRESS_TIME,
    HAS_REPORT_L2,
    HAS_REPORT_LATENCY,
    HAS_REPORT_PORTS,
    HAS_REPORT_QUEUE,
    HAS_REPORT_UTILISATION,
    HAS_UTILISATION,
    HOP_FROM_REPORT,
)


@kernel
def repeated(columns: Any, first: int, end: int) -> bool:
    """Whether a node id stands twice among the hops of a packet: a loop or a duplicate id."""
    seen = 0
    for row in range(first, end):
        if get(columns, "hops.present", row) & HAS_NODE == 0:
            continue
        node = get(columns, "hops.node_id", row)
        if (seen >> (node & 63)) & 1 != 0:
            for earlier in range(first, row):
                if get(columns, "hops.node_id", earlier) == node and get(columns, "hops.present", earlier) & HAS_NODE != 0:
                    return True
        seen |= 1 << (node & 63)
    return False


@kernel
def report_hop(columns: Any, report: int, first: int, hop: int, packet: int) -> int:
    """Append the reporting node's own metadata as the hop nearest the sink, unless the newest hop is that node already: rows added.

    A stack none of whose hops was captured has left their number in the `hop` of the first row.
    """
    there = get(columns, "reports.present", report)
    node = get(columns, "reports.node_id", report)
    if hop > first and get(columns, "hops.present", hop - 1) & HAS_NODE != 0 and get(columns, "hops.node_id", hop - 1) == node:
        return 0
    put(columns, "hops.packet", hop, packet)
    if hop > first:
        put(columns, "hops.hop", hop, get(columns, "hops.hop", hop - 1) + 1)
    put(columns, "hops.node_id", hop, node)
    present = HOP_FROM_REPORT | HAS_NODE
    if there & HAS_REPORT_PORTS != 0:
        put(columns, "hops.ingress_port", hop, get(columns, "reports.ingress_port", report))
        put(columns, "hops.egress_port", hop, get(columns, "reports.egress_port", report))
        present |= HAS_INGRESS_PORT | HAS_EGRESS_PORT
    elif there & HAS_REPORT_L2 != 0 and get(columns, "reports.metadata_bits", report) & 0x4000 == 0:
        put(columns, "hops.ingress_port", hop, get(columns, "reports.ingress_port_2", report))
        put(columns, "hops.egress_port", hop, get(columns, "reports.egress_port_2", report))
        present |= HAS_INGRESS_PORT | HAS_EGRESS_PORT
    if there & HAS_REPORT_LATENCY != 0:
        put(columns, "hops.hop_latency_raw", hop, get(columns, "reports.hop_latency_raw", report))
        present |= HAS_LATENCY
    if there & (HAS_REPORT_QUEUE | HAS_REPORT_DROP) != 0:
        put(columns, "hops.queue_id", hop, get(columns, "reports.queue_id", report))
        present |= HAS_QUEUE
    if there & HAS_REPORT_QUEUE != 0:
        put(columns, "hops.queue_depth_raw", hop, get(columns, "reports.queue_depth_raw", report))
        present |= HAS_DEPTH
    if there & HAS_REPORT_INGRESS_TIME != 0:
        put(columns, "hops.ingress_time_raw", hop, get(columns, "reports.ingress_time_raw", report))
        present |= HAS_INGRESS_TIME
    if there & HAS_REPORT_EGRESS_TIME != 0:
        put(columns, "hops.egress_time_raw", hop, get(columns, "reports.egress_time_raw", report))
        present |= HAS_EGRESS_TIME
    if there & HAS_REPORT_UTILISATION != 0:
        put(columns, "hops.tx_utilisation_raw", hop, get(columns, "reports.tx_utilisation_raw", report))
        present |= HAS_UTILISATION
    if there & HAS_REPORT_BUFFER != 0:
        put(columns, "hops.buffer_id", hop, get(columns, "reports.buffer_id", report))
        put(columns, "hops.buffer_depth_raw", hop, get(columns, "reports.buffer_depth_raw", report))
        present |= HAS_BUFFER
    put(columns, "hops.present", hop, present)
    return 1
