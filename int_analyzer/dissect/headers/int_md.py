"""INT in packets: shims, metadata headers of v0.5, v1.0 and v2.x, INT-MX, and what a hop writes for each instruction bit."""

from __future__ import annotations

from typing import NamedTuple

from int_analyzer.dissect.field import DEPTH, DEVICE, LATENCY, TIME, Field, Form, Header, flag, reserved
from int_analyzer.dissect.headers.network import ETHERTYPES, PROTOCOLS
from int_analyzer.dissect.headers.tunnel import GPE_PROTOCOLS
from int_analyzer.formats.dialect import RESERVED_1, RESERVED_2

SPEC_05, SPEC_1, SPEC_2 = "P4.org INT v0.5", "P4.org INT v1.0", "P4.org INT v2.1"

# ------------------------------------------------------------------------------------------------------------------- shims

_TYPE_1 = {1: "hop by hop", 2: "destination"}
_TYPE_2 = {1: "INT-MD", 2: "destination", 3: "INT-MX"}
_NPT = {0: "original port kept", 1: "UDP port replaced", 2: "UDP header inserted", 3: "reserved"}

MARKER = Header("int.marker", "INT probe marker", f"{SPEC_1} §4.6", (Field("value", 64, form=Form.HEX),))
SHIM_1 = Header(
    "int.shim",
    "INT shim",
    f"{SPEC_1} §4.6",
    (
        Field("type", 8, names=_TYPE_1),
        reserved(8),
        Field("length", 8, "shim, header and stack", unit="words"),
        Field("original_dscp", 6, "before INT marked it; 0: not stored"),
        reserved(2),
    ),
)
SHIM_05 = Header(
    "int.shim",
    "INT shim",
    SPEC_05,
    (Field("type", 8, names=_TYPE_1), reserved(8), Field("length", 8, "shim, header, stack and tail", unit="words"), reserved(8)),
)


def _shim_2(*fields: Field) -> Header:
    return Header(
        "int.shim",
        "INT shim",
        f"{SPEC_2} §5.7",
        (
            Field("type", 4, names=_TYPE_2),
            Field("npt", 2, "next protocol type", names=_NPT),
            reserved(2),
            Field("length", 8, "header and stack, without the shim", unit="words"),
            *fields,
        ),
    )


SHIM_2 = {
    0: _shim_2(reserved(8), Field("original_dscp", 6, "before INT marked it; 0: not stored"), reserved(2)),
    1: _shim_2(Field("original_port", 16, "UDP destination port before INT")),
    2: _shim_2(reserved(8), Field("protocol", 8, "of the original packet", names=PROTOCOLS)),
    3: _shim_2(reserved(16)),
}
"""Shims of v2.x over TCP and UDP, by NPT."""
SHIM_GRE = Header(
    "int.shim",
    "INT shim in GRE",
    f"{SPEC_2} §5.7",
    (
        Field("type", 4, names=_TYPE_2),
        flag("added", "G: the INT source added the GRE header"),
        reserved(3),
        Field("length", 8, "header and stack, without the shim", unit="words"),
        Field("next_protocol", 16, "what follows", Form.HEX, names=ETHERTYPES),
    ),
)
SHIM_GPE_1 = Header(
    "int.shim",
    "INT shim in VXLAN-GPE",
    f"{SPEC_1} §4.6",
    (
        Field("type", 8, names=_TYPE_1),
        reserved(8),
        Field("length", 8, "shim, header and stack", unit="words"),
        Field("next_protocol", 8, "what follows", Form.HEX, names=GPE_PROTOCOLS),
    ),
)
SHIM_GPE_2 = Header(
    "int.shim",
    "INT shim in VXLAN-GPE",
    f"{SPEC_2} §5.7",
    (
        Field("type", 4, names=_TYPE_2),
        reserved(4),
        Field("length", 8, "header and stack, without the shim", unit="words"),
        flag("added", "G: the packet was plain VXLAN"),
        reserved(7),
        Field("next_protocol", 8, "what follows", Form.HEX, names=GPE_PROTOCOLS),
    ),
)

# ---------------------------------------------------------------------------------------------------------------- metadata

_ITEM_NAMES = {
    0x8000: "node id",
    0x4000: "level-1 ports",
    0x2000: "hop latency",
    0x1000: "queue",
    0x0800: "ingress time",
    0x0400: "egress time",
    0x0200: "level-2 ports",
    0x0100: "utilisation",
}
_NAMES_05 = _ITEM_NAMES | {0x0200: "queue congestion"}
_NAMES_1 = _ITEM_NAMES | {0x0001: "checksum complement"}
_NAMES_2 = _NAMES_1 | {0x0080: "buffer"}
_DISCARD = flag("discard", "D: the sink must drop the packet")
_COPY = flag("copy", "C: this is a copy")
_EXCEEDED = flag("hop_exceeded", "E: a node found the hop count exhausted")
_MTU = flag("mtu_exceeded", "M: a node found no room under the MTU")
_VERSION = Field("version", 4)
_HOP_WORDS = Field("hop_words", 5, "per hop", unit="words")
_REMAINING = Field("remaining_hops", 8, "that may still write", column="packets.remaining_hops")


def _instructions(names: dict[int, str]) -> Field:
    return Field("instructions", 16, "what each hop writes", Form.BITS, names=names, column="packets.instructions")


_DOMAIN = (
    Field("domain", 16, "whose the following bits are", Form.HEX, column="packets.namespace"),
    Field("domain_instructions", 16, "domain-specific", Form.HEX),
    Field("domain_flags", 16, "domain-specific", Form.HEX),
)
MD_1 = Header(
    "int.md",
    "INT-MD header",
    f"{SPEC_1} §4.7",
    (
        _VERSION,
        Field("replication", 2),
        _COPY,
        _EXCEEDED,
        _MTU,
        reserved(10),
        _HOP_WORDS,
        _REMAINING,
        _instructions(_NAMES_1),
        reserved(16),
    ),
)
MD_2 = Header(
    "int.md",
    "INT-MD header",
    f"{SPEC_2} §5.8",
    (_VERSION, _DISCARD, _EXCEEDED, _MTU, reserved(12), _HOP_WORDS, _REMAINING, _instructions(_NAMES_2), *_DOMAIN),
)
MX = Header(
    "int.mx",
    "INT-MX header",
    f"{SPEC_2} §5.9",
    (
        _VERSION,
        _DISCARD,
        reserved(27),
        _instructions(_NAMES_2)._replace(doc="what each node reports"),
        *_DOMAIN,
    ),
)
MD_05 = Header(
    "int.md",
    "INT header",
    SPEC_05,
    (
        _VERSION,
        Field("replication", 2),
        _COPY,
        _EXCEEDED,
        reserved(3),
        Field("instruction_count", 5, "per hop", unit="words"),
        Field("maximum_hops", 8),
        Field("total_hops", 8, "in the stack"),
        _instructions(_NAMES_05),
        reserved(16),
    ),
)
TAIL_05 = Header(
    "int.tail",
    "INT tail",
    SPEC_05,
    (
        Field("protocol", 8, "of the original packet", names=PROTOCOLS),
        Field("original_port", 16, "destination port before INT"),
        Field("original_dscp", 8, "before INT marked it"),
    ),
)

# -------------------------------------------------------------------------------------------------------------------- hops


def _item(title: str, spec: str, *fields: Field) -> Header:
    """An item of a hop: all of its bits ones mean that it is not available."""
    return Header("int.hop", title, spec, fields, absent=True)


def _time(name: str, bits: int, spec: str) -> Header:
    return _item(f"{name} time", spec, Field(f"{name}_time", bits, unit=TIME, column=f"hops.{name}_time_raw"))


def _level2(bits: int) -> Header:
    return _item(
        "level-2 ports",
        f"{SPEC_2} §4.6",
        Field("ingress_port_2", bits, "level 2", column="hops.ingress_port"),
        Field("egress_port_2", bits, "level 2", column="hops.egress_port"),
    )


NODE = _item("node id", f"{SPEC_2} §4.6", Field("node_id", 32, column="hops.node_id"))
PORTS = _item(
    "level-1 ports",
    f"{SPEC_2} §4.6",
    Field("ingress_port", 16, column="hops.ingress_port"),
    Field("egress_port", 16, column="hops.egress_port"),
)
HOP_LATENCY = _item("hop latency", f"{SPEC_2} §4.6", Field("hop_latency", 32, unit=LATENCY, column="hops.hop_latency_raw"))
QUEUE = _item(
    "queue",
    f"{SPEC_2} §4.6",
    Field("queue_id", 8, column="hops.queue_id"),
    Field("queue_depth", 24, unit=DEPTH, column="hops.queue_depth_raw"),
)
TIMES = {
    words: (_time("ingress", 32 * words, SPEC_1 if words == 1 else SPEC_2), _time("egress", 32 * words, SPEC_1 if words == 1 else SPEC_2))
    for words in (1, 2)
}
"""Ingress and egress time by their words."""
LEVEL2 = {words: _level2(16 * words) for words in (1, 2)}
"""Level-2 ports by their words."""
UTILISATION = _item(
    "utilisation", f"{SPEC_2} §4.6", Field("utilisation", 32, "of the egress port", unit=DEVICE, column="hops.tx_utilisation_raw")
)
BUFFER = _item(
    "buffer",
    f"{SPEC_2} §4.6",
    Field("buffer_id", 8, column="hops.buffer_id"),
    Field("buffer_depth", 24, unit=DEPTH, column="hops.buffer_depth_raw"),
)
CONGESTION = _item("queue congestion", SPEC_05, Field("congested_queue", 8), Field("congestion", 24, "status", unit=DEVICE))
UNKNOWN = _item("reserved item", f"{SPEC_2} §5.8", Field("unknown", 32, "of a reserved instruction bit", Form.HEX))
DOMAIN_WORD = Header("int.hop", "domain-specific word", f"{SPEC_2} §5.8", (Field("domain_data", 32, "domain-specific", Form.HEX),))
CHECKSUM = _item("checksum complement", f"{SPEC_2} §4.6", Field("checksum_complement", 32, form=Form.HEX))


class Item(NamedTuple):
    """What a hop writes for an instruction bit, by what decides its width: "" none, "time" and "level2" the dialect's words."""

    mask: int
    width: str
    headers: dict[int, Header]


ITEMS: tuple[Item, ...] = (
    Item(0x8000, "", {1: NODE}),
    Item(0x4000, "", {1: PORTS}),
    Item(0x2000, "", {1: HOP_LATENCY}),
    Item(0x1000, "", {1: QUEUE}),
    Item(0x0800, "time", {words: TIMES[words][0] for words in TIMES}),
    Item(0x0400, "time", {words: TIMES[words][1] for words in TIMES}),
    Item(0x0200, "level2", LEVEL2),
    Item(0x0100, "", {1: UTILISATION}),
)
"""The bits that v1.0 and v2.x share, in the order of a hop."""
BIT_BUFFER, BIT_CHECKSUM, BIT_PORTS, BIT_LEVEL2 = 0x0080, 0x0001, 0x4000, 0x0200
RESERVED_BITS = {1: RESERVED_1, 2: RESERVED_2}


def hop_layout(layout: int, instructions: int, time_words: int, level2_words: int, reserved_words: int, domain_words: int) -> list[Header]:
    """The items of one hop in wire order. layout 1: v1.0, 2: v2.x; reserved_words: 0 or 1 for each reserved bit that is set."""
    widths = {"": 1, "time": time_words, "level2": level2_words}
    items = [item.headers[widths[item.width]] for item in ITEMS if instructions & item.mask]
    if instructions & BIT_PORTS and instructions & BIT_LEVEL2:
        # level-1 ids name the physical ports: only they are the hop's ports in the tables
        items = [item.without_columns() if item is LEVEL2[level2_words] else item for item in items]
    if layout == 2 and instructions & BIT_BUFFER:
        items.append(BUFFER)
    items += [UNKNOWN] * (reserved_words * (instructions & RESERVED_BITS[layout]).bit_count())
    items += [DOMAIN_WORD] * domain_words
    if instructions & BIT_CHECKSUM:
        items.append(CHECKSUM)
    return items


def hop_layout_05(instructions: int, time_words: int = 1) -> list[Header]:
    """The items of one hop of v0.5 in wire order: all are one word, but for the times of a dialect."""
    items = [
        CONGESTION if item.mask == BIT_LEVEL2 else item.headers[time_words if item.width == "time" else 1]
        for item in ITEMS
        if instructions & item.mask
    ]
    return [*items, *([UNKNOWN] * (instructions & 0x00FF).bit_count())]
