"""IOAM: its head in what carries it, trace with its nodes and snapshots, proof of transit, edge-to-edge, direct export."""

from __future__ import annotations

from int_analyzer.dissect.field import DEPTH, IOAM_TIME, LATENCY, Field, Form, Header, flag, reserved

_RFC = "RFC 9197"
TYPE_PREALLOCATED, TYPE_INCREMENTAL, TYPE_POT, TYPE_E2E, TYPE_DIRECT = range(5)

_TYPE = Field(
    "type",
    8,
    names={0: "pre-allocated trace", 1: "incremental trace", 2: "proof of transit", 3: "edge to edge", 4: "direct export"},
)
OPTION = Header(
    "ioam",
    "IOAM option",
    "RFC 9486 §3",
    (
        Field("option_type", 8, form=Form.HEX, names={0x31: "may change on the way", 0x11: "does not change"}),
        Field("option_length", 8, "without these two bytes", unit="bytes"),
        reserved(8),
        _TYPE,
    ),
)


def _shim(spec: str, doc: str) -> Header:
    return Header("ioam", "IOAM", spec, (_TYPE, Field("length", 8, doc, unit="words"), reserved(8), Field("next_protocol", 8)))


SHIM_GPE = _shim("draft-brockners-ippm-ioam-vxlan-gpe-05", "without these four bytes")
SHIM_NSH = _shim("RFC 9452 §3", "with these four bytes")
_NAMESPACE = Field("namespace", 16, form=Form.HEX)
TRACE_NAMES = {
    0x800000: "hop limit and node id",
    0x400000: "interfaces",
    0x200000: "seconds",
    0x100000: "fraction",
    0x080000: "transit delay",
    0x040000: "namespace data",
    0x020000: "queue depth",
    0x010000: "checksum complement",
    0x008000: "wide node id",
    0x004000: "wide interfaces",
    0x002000: "wide namespace data",
    0x001000: "buffer occupancy",
    0x000002: "opaque snapshot",
}
TRACE = Header(
    "ioam.trace",
    "IOAM trace",
    f"{_RFC} §4.4.1",
    (
        _NAMESPACE._replace(column="packets.namespace"),
        Field("node_words", 5, "per node, without snapshot", unit="words"),
        flag("overflow", "O: a node found no room"),
        flag("loopback", "L"),
        flag("active", "A: a probe"),
        reserved(1),
        Field("remaining_words", 7, "free room", unit="words", column="packets.remaining_hops"),
        Field("trace_type", 24, "what each node writes", Form.BITS, names=TRACE_NAMES, column="packets.instructions"),
        reserved(8),
    ),
)


def _absent(name: str, bits: int, doc: str = "", column: str = "", form: Form = Form.NUMBER, unit: str = "") -> Field:
    """A field of which all ones mean that the node did not fill it."""
    return Field(name, bits, doc, form, unit, absent=True, column=column)


_NODE_SPEC = f"{_RFC} §4.4.2"


def _item(title: str, *fields: Field) -> Header:
    return Header("ioam.node", title, _NODE_SPEC, fields)


_UNKNOWN = _item("unassigned item", _absent("unknown", 32, "of an unassigned bit", form=Form.HEX))
ITEMS: dict[int, Header] = {
    0x800000: _item("node", _absent("hop_limit", 8, "at the node", "hops.hop_limit"), _absent("node_id", 24, column="hops.node_id")),
    0x400000: _item(
        "interfaces", _absent("ingress_port", 16, column="hops.ingress_port"), _absent("egress_port", 16, column="hops.egress_port")
    ),
    0x200000: _item("seconds", _absent("seconds", 32, unit="s")),
    0x100000: _item("fraction", _absent("fraction", 32, "of the second", unit=IOAM_TIME)),
    0x080000: _item("transit delay", _absent("transit_delay", 32, "0x80000000: overflow", "hops.hop_latency_raw", unit=LATENCY)),
    0x040000: _item("namespace data", _absent("namespace_data", 32, column="hops.namespace_data", form=Form.HEX)),
    0x020000: _item("queue depth", _absent("queue_depth", 32, column="hops.queue_depth_raw", unit=DEPTH)),
    0x010000: _item("checksum complement", _absent("checksum_complement", 32, form=Form.HEX)),
    0x008000: _item(
        "wide node",
        _absent("hop_limit", 8, "at the node", "hops.hop_limit"),
        _absent("node_id", 56, "wide", "hops.node_id"),
    ),
    0x004000: _item(
        "wide interfaces",
        _absent("ingress_port", 32, "wide", "hops.ingress_port"),
        _absent("egress_port", 32, "wide", "hops.egress_port"),
    ),
    0x002000: _item("wide namespace data", _absent("namespace_data", 64, "wide", "hops.namespace_data", Form.HEX)),
    0x001000: _item("buffer occupancy", _absent("buffer_depth", 32, column="hops.buffer_depth_raw", unit=DEPTH)),
    **{1 << bit: _UNKNOWN for bit in range(11, 1, -1)},
}
"""Data of a node by the bits of the trace type, in the order of a node."""
SNAPSHOT_BIT = 0x000002
DELAY_OVERFLOW = 0x80000000
SNAPSHOT = Header(
    "ioam.snapshot",
    "opaque state snapshot",
    _NODE_SPEC,
    (Field("length", 8, "of its data", unit="words"), _absent("schema", 24, column="hops.snapshot_schema", form=Form.HEX)),
)
POT = Header("ioam.pot", "IOAM proof of transit", f"{_RFC} §4.5", (_NAMESPACE, Field("pot_type", 8), Field("flags", 8, form=Form.HEX)))
POT_0 = Header(
    "ioam.pot",
    "proof of transit, type 0",
    f"{_RFC} §4.5.1",
    (Field("packet_id", 64, "PktID", Form.HEX), Field("cumulative", 64, form=Form.HEX)),
)
E2E = Header(
    "ioam.e2e",
    "IOAM edge to edge",
    f"{_RFC} §4.6",
    (
        _NAMESPACE,
        Field(
            "type", 16, form=Form.BITS, names={0x8000: "64-bit sequence", 0x4000: "32-bit sequence", 0x2000: "seconds", 0x1000: "fraction"}
        ),
    ),
)
E2E_ITEMS: dict[int, Header] = {
    0x8000: Header("ioam.e2e", "sequence", f"{_RFC} §4.6", (Field("sequence", 64),)),
    0x4000: Header("ioam.e2e", "sequence", f"{_RFC} §4.6", (Field("sequence", 32),)),
    0x2000: Header("ioam.e2e", "seconds", f"{_RFC} §4.6", (Field("seconds", 32, unit="s"),)),
    0x1000: Header("ioam.e2e", "fraction", f"{_RFC} §4.6", (Field("fraction", 32, "of the second", unit=IOAM_TIME),)),
}
DIRECT = Header(
    "ioam.dex",
    "IOAM direct export",
    "RFC 9326 §3.2",
    (
        _NAMESPACE,
        Field("flags", 8, form=Form.HEX),
        Field("extension_flags", 8, "what follows", Form.BITS, names={0x80: "flow id", 0x40: "sequence"}),
        Field("trace_type", 24, "what each node exports", Form.BITS, names=TRACE_NAMES),
        reserved(8),
    ),
)
DIRECT_ITEMS: dict[int, Header] = {
    0x80: Header("ioam.dex", "flow id", "RFC 9326 §3.2", (Field("flow_id", 32, form=Form.HEX),)),
    0x40: Header("ioam.dex", "sequence", "RFC 9326 §3.2", (Field("sequence", 32),)),
    **{1 << bit: Header("ioam.dex", "unknown", "RFC 9326 §3.2", (Field("unknown", 32, form=Form.HEX),)) for bit in range(5, -1, -1)},
}


def node_layout(trace_type: int) -> list[Header]:
    """The data of one node in wire order, without the snapshot."""
    return [header for bit, header in ITEMS.items() if trace_type & bit and bit != SNAPSHOT_BIT]
