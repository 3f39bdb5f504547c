"""Rows of telemetry reports, as a sink or a transit node may send them: what row_factory.py puts around a packet."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from int_analyzer import schema

if TYPE_CHECKING:
    from row_factory import Case


def report_values(draw: random.Random, case: Case, packet: int) -> dict[str, int]:
    """A report of this kind of packet."""
    version = case.report
    values = {
        "packet": packet,
        "report": 0,
        "version": version,
        "report_type": case.report_kind,
        "inner_type": 0,
        "dropped": draw.randrange(2),
        "congested": draw.randrange(2),
        "tracked": draw.randrange(2),
        "intermediate": 0,
        "metadata_bits": 0,
        "ingress_port": draw.randrange(0xFFFF),
        "egress_port": draw.randrange(0xFFFF),
        "hop_latency_raw": draw.randrange(1 << 31),
        "queue_id": draw.randrange(255),
        "queue_depth_raw": draw.randrange(1 << 24),
        "ingress_time_raw": draw.randrange(1 << 31),
        "egress_time_raw": draw.randrange(1 << 31),
        "ingress_port_2": draw.randrange(1 << 31),
        "egress_port_2": draw.randrange(1 << 31),
        "drop_reason": draw.randrange(256),
        "tx_utilisation_raw": draw.randrange(1 << 31),
        "buffer_id": draw.randrange(255),
        "buffer_depth_raw": draw.randrange(1 << 24),
    }
    if version == schema.FORMAT_REPORT_05:
        present = [0, schema.HAS_REPORT_PORTS | schema.HAS_REPORT_DROP]
        present.append(schema.HAS_REPORT_PORTS | schema.HAS_REPORT_QUEUE | schema.HAS_REPORT_EGRESS_TIME)
        return values | {"present": schema.HAS_REPORT_INGRESS_TIME | present[case.report_kind]}
    if version == schema.FORMAT_REPORT_1:
        bits = draw.choice([0, 0x3D, draw.randrange(64)])
        items = [
            (0x20, schema.HAS_REPORT_PORTS),
            (0x10, schema.HAS_REPORT_LATENCY),
            (0x08, schema.HAS_REPORT_QUEUE),
            (0x04, schema.HAS_REPORT_EGRESS_TIME),
            (0x02, schema.HAS_REPORT_DROP),
            (0x01, schema.HAS_REPORT_UTILISATION),
        ]
        present = schema.HAS_REPORT_INGRESS_TIME
    else:
        with_metadata = draw.random() < 0.8
        bits = draw.choice([0, 0x7D00, draw.randrange(1 << 15)]) if with_metadata else 0
        items = [
            (0x4000, schema.HAS_REPORT_PORTS),
            (0x2000, schema.HAS_REPORT_LATENCY),
            (0x1000, schema.HAS_REPORT_QUEUE),
            (0x0800, schema.HAS_REPORT_INGRESS_TIME),
            (0x0400, schema.HAS_REPORT_EGRESS_TIME),
            (0x0200, schema.HAS_REPORT_L2),
            (0x0100, schema.HAS_REPORT_UTILISATION),
            (0x0080, schema.HAS_REPORT_BUFFER),
            (0x0001, schema.HAS_REPORT_DROP),
        ]
        present = 0
        values |= {"report_type": int(with_metadata), "inner_type": case.report_kind, "intermediate": draw.randrange(2)}
        values |= {"ingress_time_raw": draw.randrange(1 << 63), "egress_time_raw": draw.randrange(1 << 63)}
    present |= sum(bit for instruction, bit in items if bits & instruction and draw.random() < 0.9)
    if present & schema.HAS_REPORT_DROP and not present & schema.HAS_REPORT_QUEUE:
        values["queue_depth_raw"] = 0
    return values | {"metadata_bits": bits, "present": present}
