"""Which of our columns is which of tshark's fields.

Values are compared as numbers. A field of ones that we show as absent is equal (P4.org INT v2.1 §5.8, RFC 9197 §4.4.2); addresses
are compared as text.
"""

from __future__ import annotations

from typing import NamedTuple

ONES_2, ONES_3, ONES_4, ONES_7, ONES_8 = ((1 << 8 * size) - 1 for size in (2, 3, 4, 7, 8))


class Pair(NamedTuple):
    """A column and the field that holds the same value. `required`: tshark shows it wherever we do, so its absence is a difference."""

    column: str
    field: str
    required: bool = True


IPV4: tuple[Pair, ...] = (
    Pair("dscp", "ip.dsfield.dscp"),
    Pair("ecn", "ip.dsfield.ecn"),
    Pair("ttl", "ip.ttl"),
    Pair("ip_id", "ip.id"),
    Pair("ip_bytes", "ip.len"),
)
IPV6: tuple[Pair, ...] = (
    Pair("dscp", "ipv6.tclass.dscp"),
    Pair("ecn", "ipv6.tclass.ecn"),
    Pair("ttl", "ipv6.hlim"),
)

BTH: tuple[Pair, ...] = (
    Pair("opcode", "infiniband.bth.opcode"),
    Pair("se", "infiniband.bth.se"),
    Pair("migreq", "infiniband.bth.m"),
    Pair("pad", "infiniband.bth.padcnt"),
    Pair("transport_version", "infiniband.bth.tver"),
    Pair("pkey", "infiniband.bth.p_key"),
    Pair("dest_qp", "infiniband.bth.destqp"),
    Pair("ack_req", "infiniband.bth.a"),
    Pair("psn", "infiniband.bth.psn"),
)
BTH_EXTENSIONS: tuple[Pair, ...] = (
    Pair("dma_bytes", "infiniband.reth.dmalen"),
    Pair("virtual_address", "infiniband.reth.va"),
    Pair("syndrome", "infiniband.aeth.syndrome"),
    Pair("msn", "infiniband.aeth.msn"),
    Pair("queue_key", "infiniband.deth.q_key"),
    Pair("source_qp", "infiniband.deth.srcqp"),
    Pair("immediate", "infiniband.immdt"),
    Pair("swap_add", "infiniband.atomiceth.swapdt"),
    Pair("compare", "infiniband.atomiceth.cmpdt"),
    Pair("original_data", "infiniband.atomicacketh.origremdt"),
)
# behind opcodes without data tshark shows it only where nothing but four bytes is left
ICRC = (Pair("icrc_raw", "infiniband.invariant.crc", required=False),)
KEY = (Pair("rkey", "infiniband.reth.r_key"), Pair("rkey", "infiniband.ieth"))
"""An R_Key stands in a RETH (and AtomicETH, which tshark names alike) or alone in an IETH."""

IOAM_HEADER: tuple[Pair, ...] = (
    Pair("namespace", "ipv6.opt.ioam.trace.ns"),
    Pair("telemetry_flags", "ipv6.opt.ioam.trace.flags"),
    Pair("remaining_hops", "ipv6.opt.ioam.trace.remlen"),
    Pair("instructions", "ipv6.opt.ioam.trace.type"),
)


class NodeField(NamedTuple):
    """A column of hops and the fields that may hold it, each with the value that says "not populated"; the last one present wins."""

    column: str
    fields: tuple[tuple[str, int], ...]


IOAM_NODE: tuple[NodeField, ...] = (
    NodeField("node_id", (("id", ONES_3), ("id_wide", ONES_7))),
    NodeField("ingress_port", (("iif", ONES_2), ("iif_wide", ONES_4))),
    NodeField("egress_port", (("eif", ONES_2), ("eif_wide", ONES_4))),
    NodeField("namespace_data", (("nsdata", ONES_4), ("nsdata_wide", ONES_8))),
    NodeField("queue_depth_raw", (("qdepth", ONES_4),)),
    NodeField("buffer_depth_raw", (("bufoccup", ONES_4),)),
)
NODE = "ipv6.opt.ioam.trace.node."
HOP_LIMIT, SECONDS, FRACTION, DELAY = NODE + "hlim", NODE + "tss", NODE + "tsf", NODE + "trdelay"
DELAY_OVERFLOW = 0x80000000
"""From here on a transit delay is an overflow or not populated (RFC 9197 §4.4.2.5): no value in either case."""

ERSPAN: tuple[Pair, ...] = (
    Pair("session_id", "erspan.spanid"),
    Pair("vlan_id", "erspan.vlan"),
    Pair("cos", "erspan.cos"),
    Pair("truncated", "erspan.truncated"),
)
ERSPAN_2: tuple[Pair, ...] = (Pair("encapsulation", "erspan.encap"), Pair("index", "erspan.index"))
ERSPAN_3: tuple[Pair, ...] = (
    Pair("encapsulation", "erspan.bso"),
    Pair("timestamp_raw", "erspan.timestamp"),
    Pair("security_group", "erspan.sgt"),
    Pair("hw_id", "erspan.hw"),
    Pair("direction", "erspan.direction"),
    Pair("granularity", "erspan.gra"),
    Pair("platform_id", "erspan.platid"),
)

INT_HEADER = {
    "instructions": "int.md.instructions",
    "namespace": "int.md.domain",
    "remaining_hops": "int.md.remaining_hops",
}
INT_HOP = {
    "node_id": ("node_id",),
    "ingress_port": ("ingress_port", "ingress_port_2"),
    "egress_port": ("egress_port", "egress_port_2"),
    "hop_latency_raw": ("hop_latency",),
    "queue_id": ("queue_id",),
    "queue_depth_raw": ("queue_depth",),
    "ingress_time_raw": ("ingress_time",),
    "egress_time_raw": ("egress_time",),
    "tx_utilisation_raw": ("utilisation",),
    "buffer_id": ("buffer_id",),
    "buffer_depth_raw": ("buffer_depth",),
}
REPORT = ("sequence", "node_id", "hw_id", "metadata_bits", "ingress_port", "egress_port", "hop_latency_raw", "queue_depth_raw",
          "ingress_time_raw", "egress_time_raw", "drop_reason")  # fmt: skip
"""Columns and the fields int.…, int.hop.… and intreport.… of the dissector that int-analyzer wireshark-plugin writes."""
