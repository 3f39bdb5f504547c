"""IFA 2.0: header, metadata header and the record of a hop."""

from __future__ import annotations

from int_analyzer.dissect.field import Field, Form, Header, flag, reserved
from int_analyzer.dissect.headers.network import PROTOCOLS

SPEC = "draft-kumar-ippm-ifa-08"
_SPEEDS = {code: f"{gigabits} Gbit/s" for code, gigabits in enumerate((10, 25, 40, 50, 100, 200, 400))}

IFA = Header(
    "ifa",
    "IFA",
    SPEC,
    (
        Field("version", 4),
        Field("name_space", 4, "of the zone; 15: each hop's own", column="packets.namespace"),
        Field("next_header", 8, "what follows", names=PROTOCOLS),
        reserved(3),
        flag("fragment", "MF: a metadata fragment"),
        flag("tail_stamp", "TS: the stack is the end of the packet"),
        flag("inband", "I: live traffic, else a probe"),
        flag("turn_around", "TA"),
        flag("checksum", "C: a checksum header follows"),
        Field("maximum_length", 8, "of the stack", unit="words"),
    ),
)
METADATA = Header(
    "ifa.metadata",
    "IFA metadata",
    SPEC,
    (
        Field("request", 8, "what the hops are asked for", Form.HEX),
        Field("action", 8, form=Form.BITS, names={0x80: "loss", 0x40: "colour"}),
        Field("hop_limit", 8, column="packets.remaining_hops"),
        Field("length", 8, "of the stack", unit="words"),
    ),
)
RECORD = Header(
    "ifa.hop",
    "hop",
    f"{SPEC}, record of a public Scapy module",
    (
        Field("name_space", 4, "of the hop"),
        Field("node_id", 20, column="hops.node_id"),
        Field("ttl", 8, column="hops.hop_limit"),
        Field("speed", 4, "of the egress port", names=_SPEEDS),
        Field("ecn", 2),
        Field("queue_id", 6, column="hops.queue_id"),
        Field("seconds", 20, "received", unit="s"),
        Field("egress_port", 16, column="hops.egress_port"),
        Field("ingress_port", 16, column="hops.ingress_port"),
        Field("nanoseconds", 32, "received", unit="ns"),
        Field("residence", 32, unit="ns", column="hops.hop_latency_raw"),
        Field("queue_bytes", 32, unit="bytes", column="hops.queue_depth_raw"),
        reserved(16),
        Field("queue_cells", 16, unit="cells"),
        reserved(32),
    ),
)
