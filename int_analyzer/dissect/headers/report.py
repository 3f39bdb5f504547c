"""Telemetry reports v0.5, v1.0 and v2.0: fixed headers and the metadata of their bits."""

from __future__ import annotations

from collections.abc import Mapping

from int_analyzer.dissect.field import DEPTH, DEVICE, LATENCY, TIME, Field, Form, Header, flag, reserved

SPEC_05, SPEC_1, SPEC_2 = "P4.org Telemetry Report v0.5", "P4.org Telemetry Report v1.0", "P4.org Telemetry Report v2.0"

_DROPPED = flag("dropped", "D", "reports.dropped")
_CONGESTED = flag("congested", "Q: congested queue", "reports.congested")
_TRACKED = flag("tracked", "F: tracked flow", "reports.tracked")
_HW_ID = Field("hw_id", 6, "which part of the node made it", column="reports.hw_id")
_NODE = Field("node_id", 32, column="reports.node_id")
_SEQUENCE = Field("sequence", 32, column="reports.sequence")
_INGRESS_TIME = Field("ingress_time", 32, unit=TIME, column="reports.ingress_time_raw")
_VERSION = Field("version", 4)

# -------------------------------------------------------------------------------------------------------------------- v0.5

REPORT_05 = Header(
    "intreport",
    "Telemetry report",
    SPEC_05,
    (
        _VERSION,
        Field("protocol", 4, "what follows", names={0: "Ethernet", 1: "drop header", 2: "local header"}, column="reports.report_type"),
        _DROPPED,
        _CONGESTED,
        _TRACKED,
        reserved(15),
        _HW_ID,
        _SEQUENCE,
        _INGRESS_TIME,
    ),
)
NODE_05 = Header("intreport", "node", SPEC_05, (_NODE,))

# ------------------------------------------------------------------------------------------------------- metadata, one by one


def _item(title: str, spec: str, *fields: Field) -> Header:
    """Metadata of a report: all of its bits ones mean that it is not available."""
    return Header("intreport", title, spec, fields, absent=True)


PORTS = _item(
    "level-1 ports",
    f"{SPEC_2} §3.3",
    Field("ingress_port", 16, column="reports.ingress_port"),
    Field("egress_port", 16, column="reports.egress_port"),
)
HOP_LATENCY = _item("hop latency", f"{SPEC_2} §3.3", Field("hop_latency", 32, unit=LATENCY, column="reports.hop_latency_raw"))
QUEUE = _item(
    "queue",
    f"{SPEC_2} §3.3",
    Field("queue_id", 8, column="reports.queue_id"),
    Field("queue_depth", 24, unit=DEPTH, column="reports.queue_depth_raw"),
)
INGRESS_TIME_8 = _item("ingress time", f"{SPEC_2} §3.3", Field("ingress_time", 64, unit=TIME, column="reports.ingress_time_raw"))
EGRESS_TIME_8 = _item("egress time", f"{SPEC_2} §3.3", Field("egress_time", 64, unit=TIME, column="reports.egress_time_raw"))
EGRESS_TIME_4 = _item("egress time", SPEC_1, Field("egress_time", 32, unit=TIME, column="reports.egress_time_raw"))
# v0.5 has no value for "not available"
EGRESS_TIME_05 = Header("intreport", "egress time", SPEC_05, EGRESS_TIME_4.fields)
LEVEL2 = _item(
    "level-2 ports",
    f"{SPEC_2} §3.3",
    Field("ingress_port_2", 32, "level 2", column="reports.ingress_port_2"),
    Field("egress_port_2", 32, "level 2", column="reports.egress_port_2"),
)
UTILISATION = _item(
    "utilisation", f"{SPEC_2} §3.3", Field("utilisation", 32, "of the egress port", unit=DEVICE, column="reports.tx_utilisation_raw")
)
BUFFER = _item(
    "buffer",
    f"{SPEC_2} §3.3",
    Field("buffer_id", 8, column="reports.buffer_id"),
    Field("buffer_depth", 24, unit=DEPTH, column="reports.buffer_depth_raw"),
)
DROP = _item(
    "drop",
    f"{SPEC_2} §3.3",
    Field("drop_queue_id", 8),
    Field("drop_reason", 8, "numbers of the deployment", column="reports.drop_reason"),
    reserved(16),
)
UNKNOWN = _item("reserved item", f"{SPEC_2} §3.3", Field("unknown", 32, "of a reserved bit", Form.HEX))
DOMAIN_WORD = Header("intreport", "domain-specific word", f"{SPEC_2} §3.3", (Field("domain_data", 32, "domain-specific", Form.HEX),))

ITEMS_05 = {1: (NODE_05, PORTS, DROP), 2: (NODE_05, PORTS, QUEUE, EGRESS_TIME_05)}
"""What follows the fixed header of v0.5, by protocol."""

# -------------------------------------------------------------------------------------------------------------------- v1.0

_NAMES_1 = {0x20: "ports", 0x10: "hop latency", 0x08: "queue", 0x04: "egress time", 0x02: "drop", 0x01: "utilisation"}
_PROTOCOLS_1 = {0: "Ethernet", 1: "IPv4", 2: "IPv6"}
_HEAD_1 = (
    _VERSION,
    Field("length", 4, "of this header", unit="words"),
    Field("protocol", 3, "of the reported packet", names=_PROTOCOLS_1, column="reports.report_type"),
    Field("metadata_bits", 6, "what follows", Form.BITS, names=_NAMES_1, column="reports.metadata_bits"),
)
_REST_1 = (_HW_ID, _NODE, _SEQUENCE, _INGRESS_TIME)
REPORT_1 = Header("intreport", "Telemetry report", SPEC_1, (*_HEAD_1, reserved(6), _DROPPED, _CONGESTED, _TRACKED, *_REST_1))
REPORT_1_EARLY_FLAGS = Header(
    "intreport",
    "Telemetry report",
    f"{SPEC_1}, D Q F in front of the reserved bits",
    (*_HEAD_1, _DROPPED, _CONGESTED, _TRACKED, reserved(6), *_REST_1),
)
"""As the ONOS program writes it."""
ITEMS_1: Mapping[int, Header] = {0x20: PORTS, 0x10: HOP_LATENCY, 0x08: QUEUE, 0x04: EGRESS_TIME_4, 0x02: DROP, 0x01: UTILISATION}

# -------------------------------------------------------------------------------------------------------------------- v2.0

GROUP_2 = Header(
    "intreport",
    "Telemetry report group",
    f"{SPEC_2} §3.2",
    (_VERSION, _HW_ID, _SEQUENCE._replace(bits=22), _NODE),
)
_INNER = {0: "none", 1: "TLVs", 2: "domain-specific extension", 3: "Ethernet", 4: "IPv4", 5: "IPv6"}
REPORT_2 = Header(
    "intreport",
    "Telemetry report",
    f"{SPEC_2} §3.3",
    (
        Field("type", 4, names={0: "reported packet only", 1: "INT", 2: "IOAM"}, column="reports.report_type"),
        Field("inner_type", 4, "what it ends with", names=_INNER, column="reports.inner_type"),
        Field("length", 8, "behind this word; 255: to the end", unit="words"),
        Field("metadata_length", 8, unit="words"),
        _DROPPED,
        _CONGESTED,
        _TRACKED,
        flag("intermediate", "I: by a node on the path", "reports.intermediate"),
        reserved(4),
    ),
)
_NAMES_2 = {
    0x4000: "level-1 ports",
    0x2000: "hop latency",
    0x1000: "queue",
    0x0800: "ingress time",
    0x0400: "egress time",
    0x0200: "level-2 ports",
    0x0100: "utilisation",
    0x0080: "buffer",
    0x0001: "drop",
}
MAIN_2 = Header(
    "intreport",
    "INT metadata",
    f"{SPEC_2} §3.3.1",
    (
        Field("metadata_bits", 16, "what follows", Form.BITS, names=_NAMES_2, column="reports.metadata_bits"),
        Field("domain", 16, form=Form.HEX),
        Field("domain_bits", 16, "domain-specific metadata", Form.HEX),
        Field("domain_status", 16, form=Form.HEX),
    ),
)
TLV_2 = Header(
    "intreport.tlv",
    "TLV",
    f"{SPEC_2} §3.3.2",
    (
        Field("type", 4, names={0: "domain-specific extension", 1: "Ethernet", 2: "IPv4", 3: "IPv6"}),
        reserved(4),
        Field("length", 8, "behind this word", unit="words"),
        Field("template", 16, form=Form.HEX),
    ),
)
ITEMS_2: Mapping[int, Header] = {
    0x4000: PORTS,
    0x2000: HOP_LATENCY,
    0x1000: QUEUE,
    0x0800: INGRESS_TIME_8,
    0x0400: EGRESS_TIME_8,
    0x0200: LEVEL2,
    0x0100: UTILISATION,
    0x0080: BUFFER,
    **dict.fromkeys((0x40, 0x20, 0x10, 0x08, 0x04, 0x02), UNKNOWN),
    0x0001: DROP,
}


def metadata_1(bits: int) -> list[Header]:
    """Metadata of a v1.0 report in wire order."""
    return [header for bit, header in ITEMS_1.items() if bits & bit]


def metadata_2(bits: int, words: int) -> list[Header]:
    """Metadata of a v2.0 report in wire order, for `words` words of it: reserved bit 0 has a word, or none if that does not fit."""
    items = [header for bit, header in ITEMS_2.items() if bits & bit]
    used = sum(header.bytes for header in items) // 4
    if bits & 0x8000 and words > used:
        items.insert(0, UNKNOWN)
        used += 1
    return items + [DOMAIN_WORD] * (words - used)
