"""Every table and format id, declared once. Arrays, pandas, Arrow, JSON names and docs derive from here; statuses: status.py.

A table is a tuple of `Column`s. Columns with `source="kernel"` are filled by the decode kernel; the others are derived when a
batch becomes a pandas frame (tables.py). `present` names the bit of the row's `present` mask that says the value was there: an
absent value is NA, never 0. In the kernel everything is int64; narrow columns hold what fits their field. 64-bit fields are kept
as int64 bits and shown as uint64 (`shown`).
"""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

SCHEMA_VERSION = "1.0"
"""Version of the row tables and of the JSON document: minor for additions, major for changed meaning."""

ABSENT8, ABSENT16, ABSENT32 = 0xFF, 0xFFFF, 0xFFFFFFFF


class Column(NamedTuple):
    """One column: name (with its unit), dtype in memory, unit, meaning, presence bit, where it comes from."""

    name: str
    dtype: str
    unit: str
    doc: str
    present: int = 0
    source: str = "kernel"
    shown: str = ""
    absent: int | None = None


# ---------------------------------------------------------------------------------------------------------------- formats

FORMAT_NONE = 0
FORMAT_ROCE = 1
FORMAT_INT_MD_1 = 2
FORMAT_INT_MD_2 = 3
FORMAT_INT_MX = 4
FORMAT_REPORT_05 = 5
FORMAT_REPORT_1 = 6
FORMAT_REPORT_2 = 7
FORMAT_IOAM_TRACE = 8
FORMAT_IOAM_INCREMENTAL = 9
FORMAT_MRI = 10
FORMAT_INT_05 = 11
FORMAT_IOAM_POT = 12
FORMAT_IOAM_E2E = 13
FORMAT_IOAM_DEX = 14
FORMAT_IFA = 15
FORMAT_HPCC = 16
FORMAT_TCP_INT = 17


class Format(NamedTuple):
    """A wire format: its id in the columns, name, spec, and whether it tells of hops."""

    id: int
    name: str
    title: str
    spec: str
    hops: bool


FORMAT_LIST: tuple[Format, ...] = (
    Format(FORMAT_ROCE, "roce", "RoCEv2 transport", "IBTA Vol.1, Annex A17", False),
    Format(FORMAT_INT_MD_1, "int-md-1.0", "INT-MD v1.0 (and v1.0 layouts with another version value)", "P4.org INT v1.0 §4.6-4.7", True),
    Format(FORMAT_INT_MD_2, "int-md-2.x", "INT-MD v2.0 and v2.1", "P4.org INT v2.1 §5.7-5.8", True),
    Format(FORMAT_INT_MX, "int-mx", "INT-MX (instructions only, no stack)", "P4.org INT v2.1 §5.9", False),
    Format(FORMAT_REPORT_05, "report-0.5", "Telemetry Report v0.5", "P4.org Telemetry Report v0.5", True),
    Format(FORMAT_REPORT_1, "report-1.0", "Telemetry Report v1.0", "P4.org Telemetry Report v1.0", True),
    Format(FORMAT_REPORT_2, "report-2.0", "Telemetry Report v2.0", "P4.org Telemetry Report v2.0 §3.2-3.4", True),
    Format(FORMAT_IOAM_TRACE, "ioam-trace", "IOAM pre-allocated trace", "RFC 9197 §4.4, RFC 9486, RFC 9322", True),
    Format(FORMAT_IOAM_INCREMENTAL, "ioam-incremental", "IOAM incremental trace", "RFC 9197 §4.4, RFC 9452", True),
    Format(FORMAT_IOAM_POT, "ioam-pot", "IOAM proof of transit", "RFC 9197 §4.5", False),
    Format(FORMAT_IOAM_E2E, "ioam-e2e", "IOAM edge to edge", "RFC 9197 §4.6", False),
    Format(FORMAT_IOAM_DEX, "ioam-dex", "IOAM direct export", "RFC 9326 §3.2", False),
    Format(FORMAT_IFA, "ifa-2.0", "Inband Flow Analyzer 2.0", "draft-kumar-ippm-ifa-08", True),
    Format(FORMAT_HPCC, "hpcc", "HPCC INT header", "HPCC, SIGCOMM 2019; its ns-3 simulator", True),
    Format(FORMAT_TCP_INT, "tcp-int", "TCP-INT option (the bottleneck, no stack)", "p4lang/p4app-TCP-INT", False),
    Format(FORMAT_MRI, "mri", "MRI option of the P4 tutorials", "p4lang/tutorials, exercise mri", True),
    Format(FORMAT_INT_05, "int-0.5", "INT v0.5 (with tail)", "P4.org INT v0.5", True),
)
FORMAT_BY_ID = {entry.id: entry for entry in FORMAT_LIST}

TUNNELS = {
    0x01: "mpls",
    0x02: "gre",
    0x04: "erspan-1",
    0x08: "erspan-2",
    0x10: "erspan-3",
    0x20: "vxlan",
    0x40: "vxlan-gpe",
    0x80: "geneve",
    0x100: "nsh",
    0x200: "lumina",
}
"""Bits of the column `tunnels`."""

# ------------------------------------------------------------------------------------------------------------------ tables

PART = Column("part", "uint8", "", "part of the packet, as in packets", source="derived")
"""With `packet`, what tables are joined by."""

PACKETS: tuple[Column, ...] = (
    Column("packet", "int64", "", "number of the packet in its capture, from 0", source="derived"),
    Column("part", "uint8", "", "0; 1, 2, … for the further reports of a report datagram, each a packet of its own"),
    Column("time_ns", "int64", "ns", "capture time since 1970 (0 if the record carries none)"),
    Column("captured_bytes", "uint32", "bytes", "bytes in the capture"),
    Column("original_bytes", "uint32", "bytes", "bytes on the wire"),
    Column("interface", "uint16", "", "pcapng interface number (0 in a classic pcap)"),
    Column("tunnels", "uint16", "", "tunnels and mirrors around the packet, a bit each (schema.TUNNELS)"),
    Column("vlan_id", "uint16", "", "VLAN of the innermost Ethernet header that had a tag", absent=ABSENT16),
    Column("ip_version", "uint8", "", "4, 6, or 0 if not IP (innermost IP header; so all columns down to payload_bytes)"),
    Column("src_hi", "int64", "", "source address, upper 64 bits (0 for IPv4)", shown="uint64"),
    Column("src_lo", "int64", "", "source address, lower 64 bits (the address for IPv4)", shown="uint64"),
    Column("dst_hi", "int64", "", "destination address, upper 64 bits", shown="uint64"),
    Column("dst_lo", "int64", "", "destination address, lower 64 bits", shown="uint64"),
    Column("protocol", "uint8", "", "IP protocol after extension headers"),
    Column("src_port", "uint16", "", "UDP or TCP source port; the original one where Lumina had replaced it"),
    Column("dst_port", "uint16", "", "UDP or TCP destination port; the original one where INT (NPT 1) or Lumina had replaced it"),
    Column("dscp", "uint8", "", "DSCP as captured"),
    Column("original_dscp", "uint8", "", "DSCP that the INT source stored", absent=ABSENT8),
    Column("ecn", "uint8", "", "ECN: 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE"),
    Column("ttl", "uint8", "", "TTL or hop limit"),
    Column("ip_id", "uint16", "", "IPv4 identification"),
    Column("ip_bytes", "uint32", "bytes", "IP total length as declared (IPv6: 40 + payload length)"),
    Column("formats", "uint32", "", "formats found, a bit each (1 << format id)"),
    Column("telemetry", "uint8", "", "format id of the header that gave the hops, 0 if none"),
    Column("dialect", "uint8", "", "number of the dialect it was read with (formats/dialect.py)"),
    Column("telemetry_flags", "uint8", "", "INT: D 1, E 2, M 4, C 8; IOAM: O 8, L 4, A 2; IFA: MF 16, TS 8, I 4, TA 2, C 1"),
    Column("instructions", "uint32", "", "INT bitmap (16 bit), IOAM trace type (24 bit), IFA request and action vectors (8 bit each)"),
    Column("namespace", "uint16", "", "IOAM namespace, INT domain, IFA global name space or HPCC path id"),
    Column("remaining_hops", "uint8", "", "INT remaining hop count, IOAM RemainingLen or IFA hop limit"),
    Column("telemetry_bytes", "uint16", "bytes", "bytes that telemetry adds to the packet, headers included"),
    Column("hop_count", "uint16", "", "rows of this packet in hops"),
    Column("first_hop", "uint32", "", "its first row in hops, within the batch"),
    Column("roce_row", "uint32", "", "its row in roce, within the batch", absent=ABSENT32),
    Column("report_count", "uint8", "", "rows of this packet in reports (0 or 1)"),
    Column("csig", "int64", "", "CSIG tag: signal type 3, reserved 1, value 5, locator 7 bits; wide: 2^48 + its 48 bits", absent=-1),
    Column("status", "uint8", "", "why reading stopped (schema.STATUSES)"),
    Column("status_at", "uint16", "bytes", "offset in the captured bytes where it stopped (saturates at 65535)"),
    Column("warnings", "uint32", "", "what was odd, a bit each (schema.WARNINGS)"),
)

# presence bits of a hop
HAS_NODE, HAS_INGRESS_PORT, HAS_EGRESS_PORT, HAS_LATENCY, HAS_QUEUE, HAS_DEPTH = 1, 2, 4, 8, 16, 32
HAS_INGRESS_TIME, HAS_EGRESS_TIME, HAS_UTILISATION, HAS_BUFFER, HAS_HOP_LIMIT, HAS_DATA = 64, 128, 256, 512, 1024, 2048
HOP_FROM_REPORT, HOP_TRUNCATED_PATH, HOP_OPAQUE = 4096, 8192, 16384
HAS_SNAPSHOT, HAS_SPEED, HAS_TX_BYTES = 32768, 65536, 131072

HOPS: tuple[Column, ...] = (
    Column("packet", "uint32", "", "number of the packet (in the kernel: row in the batch)", shown="int64"),
    PART,
    Column("hop", "uint8", "", "position on the path, 0 nearest the source"),
    Column("node_id", "int64", "", "node (switch) id", HAS_NODE, shown="uint64"),
    Column("ingress_port", "uint32", "", "ingress port or interface id", HAS_INGRESS_PORT),
    Column("egress_port", "uint32", "", "egress port or interface id", HAS_EGRESS_PORT),
    Column("hop_latency_raw", "uint32", "raw", "hop latency or transit delay in the device's unit", HAS_LATENCY),
    Column("hop_latency_ns", "int64", "ns", "hop latency, else egress − ingress time; NA if the unit is unknown", source="derived"),
    Column("queue_id", "uint8", "", "queue id", HAS_QUEUE),
    Column("queue_depth_raw", "uint32", "raw", "queue occupancy in the device's unit", HAS_DEPTH),
    Column("queue_depth_bytes", "int64", "bytes", "queue occupancy; NA if the unit is unknown", source="derived"),
    Column("ingress_time_raw", "int64", "raw", "ingress time; IOAM: seconds × 2^32 + fraction; IFA: ns", HAS_INGRESS_TIME, shown="uint64"),
    Column("egress_time_raw", "int64", "raw", "egress time of the device", HAS_EGRESS_TIME, shown="uint64"),
    Column("ingress_time_ns", "int64", "ns", "ingress time on the node's own clock; NA if the unit is unknown", source="derived"),
    Column("egress_time_ns", "int64", "ns", "egress time on the node's own clock; NA if the unit is unknown", source="derived"),
    Column("tx_utilisation_raw", "uint32", "raw", "egress port utilisation in the device's unit", HAS_UTILISATION),
    Column("buffer_id", "uint8", "", "buffer id", HAS_BUFFER),
    Column("buffer_depth_raw", "uint32", "raw", "buffer occupancy in the device's unit", HAS_BUFFER),
    Column("hop_limit", "uint8", "", "IOAM hop limit or IFA TTL at the node", HAS_HOP_LIMIT),
    Column("namespace_data", "int64", "", "IOAM namespace-specific data (short or wide)", HAS_DATA, shown="uint64"),
    Column("snapshot_schema", "uint32", "", "schema id of the IOAM opaque state snapshot", HAS_SNAPSHOT),
    Column("snapshot_bytes", "uint16", "bytes", "bytes of its data", HAS_SNAPSHOT),
    Column("port_speed_bps", "int64", "bit/s", "speed of the egress port as IFA and HPCC tell it", HAS_SPEED),
    Column("tx_bytes_raw", "uint32", "raw", "bytes sent by the egress port, a counter in the device's unit (HPCC)", HAS_TX_BYTES),
    Column("present", "uint32", "", "which of the values above were there (schema.HAS_…)"),
)

HAS_RETH, HAS_AETH, HAS_IMMEDIATE, HAS_DETH, HAS_ATOMIC, HAS_ATOMIC_ACK, HAS_ICRC, HAS_PAYLOAD, HAS_RKEY = 1, 2, 4, 8, 16, 32, 64, 128, 256

ICRC_UNSAMPLED, ICRC_OK, ICRC_BAD, ICRC_CUT, ICRC_FRAGMENT, ICRC_ALTERED, ICRC_OPCODE, ICRC_ZERO = range(8)
ICRC_STATES = {
    ICRC_OK: "ok",
    ICRC_BAD: "bad",
    ICRC_CUT: "cut",
    ICRC_FRAGMENT: "fragment",
    ICRC_ALTERED: "altered",
    ICRC_OPCODE: "unknown-opcode",
    ICRC_ZERO: "zero",
}
"""The column `icrc_check`. All but ok and bad are not checkable: not captured, a fragment, possibly changed on the way, an opcode of
which no ICRC is known, or no ICRC written."""

ROCE: tuple[Column, ...] = (
    Column("packet", "uint32", "", "number of the packet (in the kernel: row in the batch)", shown="int64"),
    PART,
    Column("opcode", "uint8", "", "BTH opcode"),
    Column("se", "uint8", "", "solicited event"),
    Column("migreq", "uint8", "", "MigReq"),
    Column("pad", "uint8", "bytes", "pad bytes after the data"),
    Column("transport_version", "uint8", "", "TVer (0)"),
    Column("pkey", "uint16", "", "partition key"),
    Column("fecn", "uint8", "", "forward congestion notification"),
    Column("becn", "uint8", "", "backward congestion notification"),
    Column("dest_qp", "uint32", "", "destination queue pair"),
    Column("ack_req", "uint8", "", "acknowledge request"),
    Column("psn", "uint32", "", "packet sequence number (24 bit)"),
    Column("virtual_address", "int64", "", "RETH or AtomicETH virtual address", HAS_RETH | HAS_ATOMIC, shown="uint64"),
    Column("rkey", "uint32", "", "RETH, AtomicETH or IETH R_Key", HAS_RKEY),
    Column("dma_bytes", "uint32", "bytes", "RETH DMA length", HAS_RETH),
    Column("syndrome", "uint8", "", "AETH syndrome", HAS_AETH),
    Column("msn", "uint32", "", "AETH message sequence number (24 bit)", HAS_AETH),
    Column("immediate", "uint32", "", "immediate data", HAS_IMMEDIATE),
    Column("source_qp", "uint32", "", "DETH source queue pair", HAS_DETH),
    Column("queue_key", "uint32", "", "DETH Q_Key", HAS_DETH),
    Column("swap_add", "int64", "", "AtomicETH swap or add data", HAS_ATOMIC, shown="uint64"),
    Column("compare", "int64", "", "AtomicETH compare data", HAS_ATOMIC, shown="uint64"),
    Column("original_data", "int64", "", "AtomicAckETH original remote data", HAS_ATOMIC_ACK, shown="uint64"),
    Column("payload_bytes", "uint32", "bytes", "data without pad, from the declared lengths", HAS_PAYLOAD),
    Column("icrc_raw", "uint32", "", "ICRC as it stands on the wire, first byte most significant; NA if not captured", HAS_ICRC),
    Column("icrc_check", "uint8", "", "the ICRC computed anew, on a sample: ok, bad, or why it is not checkable", absent=ICRC_UNSAMPLED),
    Column("present", "uint16", "", "which of the values above were there (schema.HAS_…)"),
)

HAS_REPORT_PORTS, HAS_REPORT_LATENCY, HAS_REPORT_QUEUE, HAS_REPORT_INGRESS_TIME = 1, 2, 4, 8
HAS_REPORT_EGRESS_TIME, HAS_REPORT_DROP, HAS_REPORT_UTILISATION, HAS_REPORT_L2, HAS_REPORT_BUFFER = 16, 32, 64, 128, 256

REPORTS: tuple[Column, ...] = (
    Column("packet", "uint32", "", "number of the packet (in the kernel: row in the batch)", shown="int64"),
    PART,
    Column("report", "uint8", "", "position in the datagram"),
    Column("version", "uint8", "", "format id of the report version"),
    Column("report_type", "uint8", "", "v2: 0 inner only, 1 INT, 2 IOAM; v1 and v0.5: NProt"),
    Column("inner_type", "uint8", "", "v2 InType: 0 none, 1 TLV, 2 extension, 3 Ethernet, 4 IPv4, 5 IPv6"),
    Column("hw_id", "uint8", "", "hardware subsystem that made the report"),
    Column("sequence", "uint32", "", "report sequence number"),
    Column("sequence_bits", "uint8", "bits", "width of the sequence number: 32, of v2 22, or what its dialect has"),
    Column("node_id", "int64", "", "reporting node"),
    Column("dropped", "uint8", "", "D"),
    Column("congested", "uint8", "", "Q"),
    Column("tracked", "uint8", "", "F"),
    Column("intermediate", "uint8", "", "I (v2)"),
    Column("metadata_bits", "uint16", "", "RepMdBits"),
    Column("ingress_port", "uint32", "", "level-1 ingress port", HAS_REPORT_PORTS),
    Column("egress_port", "uint32", "", "level-1 egress port", HAS_REPORT_PORTS),
    Column("hop_latency_raw", "uint32", "raw", "hop latency", HAS_REPORT_LATENCY),
    Column("queue_id", "uint8", "", "queue id (of the occupancy, else of the drop)", HAS_REPORT_QUEUE | HAS_REPORT_DROP),
    Column("queue_depth_raw", "uint32", "raw", "queue occupancy", HAS_REPORT_QUEUE),
    Column("ingress_time_raw", "int64", "raw", "ingress time", HAS_REPORT_INGRESS_TIME, shown="uint64"),
    Column("egress_time_raw", "int64", "raw", "egress time", HAS_REPORT_EGRESS_TIME, shown="uint64"),
    Column("ingress_port_2", "uint32", "", "level-2 ingress port", HAS_REPORT_L2),
    Column("egress_port_2", "uint32", "", "level-2 egress port", HAS_REPORT_L2),
    Column("drop_reason", "uint8", "", "drop reason (deployment-defined)", HAS_REPORT_DROP),
    Column("tx_utilisation_raw", "uint32", "raw", "egress port utilisation", HAS_REPORT_UTILISATION),
    Column("buffer_id", "uint8", "", "buffer id", HAS_REPORT_BUFFER),
    Column("buffer_depth_raw", "uint32", "raw", "buffer occupancy", HAS_REPORT_BUFFER),
    Column("present", "uint16", "", "which of the values above were there (schema.HAS_REPORT_…)"),
)

HAS_MIRROR_SEQUENCE, HAS_MIRROR_SESSION, HAS_MIRROR_INDEX, HAS_MIRROR_TIMESTAMP, HAS_MIRROR_PLATFORM = 1, 2, 4, 8, 16
HAS_MIRROR_TYPE_3, HAS_MIRROR_EVENT, HAS_MIRROR_OUTER = 32, 64, 128

MIRRORS: tuple[Column, ...] = (
    Column("packet", "uint32", "", "number of the packet (in the kernel: row in the batch)", shown="int64"),
    PART,
    Column("kind", "uint8", "", "1, 2, 3: ERSPAN type I, II, III; 4: fields rewritten by Lumina"),
    Column("outer_src_hi", "int64", "", "mirror source address, upper 64 bits", HAS_MIRROR_OUTER, shown="uint64"),
    Column("outer_src_lo", "int64", "", "mirror source address, lower 64 bits", HAS_MIRROR_OUTER, shown="uint64"),
    Column("sequence", "uint32", "", "GRE or Lumina sequence number", HAS_MIRROR_SEQUENCE),
    Column("session_id", "uint16", "", "ERSPAN session", HAS_MIRROR_SESSION),
    Column("vlan_id", "uint16", "", "ERSPAN VLAN field", HAS_MIRROR_SESSION),
    Column("cos", "uint8", "", "ERSPAN COS", HAS_MIRROR_SESSION),
    Column("encapsulation", "uint8", "", "type II En, type III BSO", HAS_MIRROR_SESSION),
    Column("truncated", "uint8", "", "ERSPAN T", HAS_MIRROR_SESSION),
    Column("index", "uint32", "", "type II index", HAS_MIRROR_INDEX),
    Column("timestamp_raw", "int64", "raw", "type III timestamp, unit by granularity; Lumina: ns", HAS_MIRROR_TIMESTAMP, shown="uint64"),
    Column("granularity", "uint8", "", "type III Gra: 0 100 µs, 1 100 ns, 2 ns (IEEE 1588), 3 platform", HAS_MIRROR_TYPE_3),
    Column("security_group", "uint16", "", "type III SGT", HAS_MIRROR_TYPE_3),
    Column("hw_id", "uint8", "", "type III HwID", HAS_MIRROR_TYPE_3),
    Column("direction", "uint8", "", "type III D: 0 ingress, 1 egress", HAS_MIRROR_TYPE_3),
    Column("platform_id", "uint8", "", "type III platform subheader id", HAS_MIRROR_PLATFORM),
    Column("platform_info", "int64", "", "type III platform subheader, remaining 58 bits", HAS_MIRROR_PLATFORM, shown="uint64"),
    Column("event", "uint8", "", "Lumina event: 0 none, 1 drop, 2 ECN mark, 3 bit error", HAS_MIRROR_EVENT),
    Column("present", "uint16", "", "which of the values above were there (schema.HAS_MIRROR_…)"),
)

HAS_OPTION_NAMESPACE, HAS_OPTION_FLAGS, HAS_OPTION_EXPORT, HAS_OPTION_FLOW, HAS_OPTION_SEQUENCE = 1, 2, 4, 8, 16
HAS_OPTION_SECONDS, HAS_OPTION_FRACTION, HAS_OPTION_PROOF, HAS_OPTION_HOP = 32, 64, 128, 256

OPTIONS: tuple[Column, ...] = (
    Column("packet", "uint32", "", "number of the packet (in the kernel: row in the batch)", shown="int64"),
    PART,
    Column("format", "uint8", "", "format id of the option"),
    Column("namespace", "uint16", "", "IOAM namespace", HAS_OPTION_NAMESPACE),
    Column("flags", "uint8", "", "flags of proof of transit and direct export; tag frequency of TCP-INT", HAS_OPTION_FLAGS),
    Column("extension_flags", "uint8", "", "extension flags of direct export", HAS_OPTION_EXPORT),
    Column("trace_type", "uint32", "", "what direct export asks the nodes to report (IOAM trace type, 24 bit)", HAS_OPTION_EXPORT),
    Column("flow_id", "uint32", "", "flow id of direct export", HAS_OPTION_FLOW),
    Column("sequence", "int64", "", "sequence number of edge to edge or direct export", HAS_OPTION_SEQUENCE, shown="uint64"),
    Column("sequence_bits", "uint8", "bits", "width of the sequence number: 32 or 64", HAS_OPTION_SEQUENCE),
    Column("time_seconds", "uint32", "s", "seconds of the edge-to-edge timestamp, from the epoch of its format", HAS_OPTION_SECONDS),
    Column("time_fraction_raw", "uint32", "raw", "fraction of the edge-to-edge timestamp, unit by its format", HAS_OPTION_FRACTION),
    Column("proof_packet_id", "int64", "", "PktID of proof of transit", HAS_OPTION_PROOF, shown="uint64"),
    Column("proof_cumulative", "int64", "", "Cumulative of proof of transit", HAS_OPTION_PROOF, shown="uint64"),
    Column("hop_id", "uint8", "", "TCP-INT: TTL at the bottleneck", HAS_OPTION_HOP),
    Column("hop_latency_raw", "uint32", "raw", "TCP-INT: latency of the path or the bottleneck (24 bit)", HAS_OPTION_HOP),
    Column("utilisation_raw", "uint8", "raw", "TCP-INT: queue depth or utilisation of the bottleneck", HAS_OPTION_HOP),
    Column("present", "uint16", "", "which of the values above were there (schema.HAS_OPTION_…)"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "packets": PACKETS,
    "hops": HOPS,
    "roce": ROCE,
    "reports": REPORTS,
    "mirrors": MIRRORS,
    "options": OPTIONS,
}


def kernel_columns(table: tuple[Column, ...]) -> list[str]:
    """Names of the columns that the kernel fills, in order."""
    return [column.name for column in table if column.source == "kernel"]


# Module-level named tuples: the kernels' output arguments (a class built in a function defeats the numba cache).
PacketColumns = namedtuple("PacketColumns", kernel_columns(PACKETS))  # type: ignore[misc]
HopColumns = namedtuple("HopColumns", kernel_columns(HOPS))  # type: ignore[misc]
RoceColumns = namedtuple("RoceColumns", kernel_columns(ROCE))  # type: ignore[misc]
ReportColumns = namedtuple("ReportColumns", kernel_columns(REPORTS))  # type: ignore[misc]
MirrorColumns = namedtuple("MirrorColumns", kernel_columns(MIRRORS))  # type: ignore[misc]
OptionColumns = namedtuple("OptionColumns", kernel_columns(OPTIONS))  # type: ignore[misc]

COLUMN_CLASSES = {
    "packets": PacketColumns,
    "hops": HopColumns,
    "roce": RoceColumns,
    "reports": ReportColumns,
    "mirrors": MirrorColumns,
    "options": OptionColumns,
}
