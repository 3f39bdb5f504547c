"""Columns full of random rows that one packet format can carry: what the encoders are given in tests."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from report_factory import report_values

from int_analyzer import schema
from int_analyzer.columns import N_HOPS, N_MIRRORS, N_OPTIONS, N_PACKETS, N_REPORTS, N_ROCE, Columns, allocate
from int_analyzer.formats.dialect import DIALECT_NAMES, DIALECTS, LAYOUT_05, LAYOUT_1, LAYOUT_2
from int_analyzer.formats.hop import report_hop
from int_analyzer.formats.roce import AETH, ATOMIC, ATOMIC_ACK, DETH, IMMEDIATE, INVALIDATE, OPCODES, RETH
from int_analyzer.packet_encode import Surroundings

INT_PORT, REPORT_PORT, HPCC_PORT, INT_DSCP = 5555, 32766, 8010, 23
OPCODES_KNOWN = [opcode for opcode in range(256) if OPCODES[opcode] != 0]
CSIG_ABSENT = next(column.absent for column in schema.PACKETS if column.name == "csig")
NSH = next(bit for bit, name in schema.TUNNELS.items() if name == "nsh")
_NODES = 1 << 24
_FORMATS = {LAYOUT_1: schema.FORMAT_INT_MD_1, LAYOUT_2: schema.FORMAT_INT_MD_2, LAYOUT_05: schema.FORMAT_INT_05}
"""Layout of a dialect → its format."""
_IOAM = (schema.FORMAT_IOAM_TRACE, schema.FORMAT_IOAM_INCREMENTAL)
_SPEEDS = {schema.FORMAT_IFA: (10, 25, 40, 50, 100, 200, 400), schema.FORMAT_HPCC: (25, 50, 100, 200, 400)}
"""Gbit/s that have a code."""


class Case(NamedTuple):
    """A kind of packet: its telemetry, what stands around it, and how it is marked."""

    name: str
    telemetry: int = schema.FORMAT_NONE
    dialect: str = ""
    by_port: bool = False
    ip_version: int = 4
    mirror: int = 0
    report: int = schema.FORMAT_NONE
    report_kind: int = 0
    reported_bytes: int = 1 << 16
    option: int = schema.FORMAT_NONE
    csig: bool = False

    @property
    def surroundings(self) -> Surroundings:
        """What the encoder puts around the rows."""
        return Surroundings(INT_PORT if self.by_port else 0, REPORT_PORT, 172 << 24, 192 << 24 | 2, self.reported_bytes)

    @property
    def profile(self) -> dict[str, Any]:
        """What a decoder must know (tests/kernel.settings_of)."""
        known: dict[str, Any] = {"report_ports": [REPORT_PORT], "int_dscp": (INT_DSCP, 0x3F)}
        if self.by_port:
            known["int_ports"] = [INT_PORT]
        if self.telemetry in _FORMATS.values() and self.dialect != "int-0.5":  # v0.5 as specified is found without
            known["int_dialect"] = self.dialect
        if self.telemetry == schema.FORMAT_HPCC:
            known |= {"hpcc_ports": [HPCC_PORT], "hpcc_layout": self.dialect.removeprefix("hpcc-")}
        return known


CASES = (
    Case("roce"),
    Case("roce over IPv6", ip_version=6),
    Case("roce in ERSPAN I", mirror=1),
    Case("roce in ERSPAN II", mirror=2),
    Case("roce in ERSPAN III", mirror=3),
    Case("INT-MD 2.1 by port", schema.FORMAT_INT_MD_2, "int-2.x", by_port=True),
    Case("INT-MD 2.1 by port over IPv6", schema.FORMAT_INT_MD_2, "int-2.x", by_port=True, ip_version=6),
    Case("INT-MD 2.1 by DSCP", schema.FORMAT_INT_MD_2, "int-2.x"),
    Case("INT-MD 2.1 by port in ERSPAN III", schema.FORMAT_INT_MD_2, "int-2.x", by_port=True, mirror=3),
    *(Case(f"dialect {dialect.name}", _FORMATS[dialect.layout], dialect.name) for dialect in DIALECTS if dialect.layout in _FORMATS),
    Case("INT-MD 1.0 in ERSPAN II", schema.FORMAT_INT_MD_1, "int-1.0", mirror=2),
    Case("INT-MX by port", schema.FORMAT_INT_MX, by_port=True),
    Case("INT-MX by DSCP", schema.FORMAT_INT_MX),
    Case("MRI", schema.FORMAT_MRI),
    Case("IOAM edge to edge", ip_version=6, option=schema.FORMAT_IOAM_E2E),
    Case("IOAM direct export in ERSPAN III", ip_version=6, mirror=3, option=schema.FORMAT_IOAM_DEX),
    Case("CSIG", csig=True),
    Case("INT-MD 2.1 by port with CSIG in ERSPAN II", schema.FORMAT_INT_MD_2, "int-2.x", by_port=True, mirror=2, csig=True),
    Case("IOAM", schema.FORMAT_IOAM_TRACE, ip_version=6),
    Case("IOAM in ERSPAN III", schema.FORMAT_IOAM_TRACE, ip_version=6, mirror=3),
    Case("incremental IOAM", schema.FORMAT_IOAM_INCREMENTAL),
    Case("incremental IOAM over IPv6 in ERSPAN II", schema.FORMAT_IOAM_INCREMENTAL, ip_version=6, mirror=2),
    Case("IFA", schema.FORMAT_IFA, "ifa-32"),
    Case("IFA over IPv6", schema.FORMAT_IFA, "ifa-32", ip_version=6),
    Case("HPCC", schema.FORMAT_HPCC, "hpcc-paper"),
    Case("HPCC of its simulator", schema.FORMAT_HPCC, "hpcc-ns3"),
    *(
        Case(f"report 0.5 of kind {kind}", schema.FORMAT_INT_05, "int-0.5", report=schema.FORMAT_REPORT_05, report_kind=kind)
        for kind in range(3)
    ),
    Case("report 1.0 of a frame", schema.FORMAT_INT_MD_1, "int-1.0", report=schema.FORMAT_REPORT_1),
    Case("report 1.0 of IPv4", report=schema.FORMAT_REPORT_1, report_kind=1),
    Case("report 1.0 of IPv6", ip_version=6, report=schema.FORMAT_REPORT_1, report_kind=2),
    Case("report 2.0 of a frame", schema.FORMAT_INT_MD_2, "int-2.x", by_port=True, report=schema.FORMAT_REPORT_2, report_kind=3),
    Case("report 2.0 of IPv4", report=schema.FORMAT_REPORT_2, report_kind=4),
    Case("report 2.0 of IPv6", ip_version=6, report=schema.FORMAT_REPORT_2, report_kind=5),
    Case("report 2.0 of a cut frame", report=schema.FORMAT_REPORT_2, report_kind=3, reported_bytes=120),
    Case("mirrored report 2.0", report=schema.FORMAT_REPORT_2, report_kind=3, mirror=2),
)


def random_columns(case: Case, seed: int, packets: int) -> Columns:
    """Columns with `packets` random packets of a case, but for lengths and the ICRC, which the encoder makes."""
    columns = allocate()
    draw = random.Random(f"{case.name} {seed}")
    for row in range(packets):
        _packet(columns, draw, case, row)
        columns.counts[N_PACKETS] = row + 1
    return columns


def _packet(columns: Columns, draw: random.Random, case: Case, row: int) -> None:
    wide = case.ip_version == 6
    first, count = int(columns.counts[N_HOPS]), draw.randint(0, 5)
    if case.telemetry in (schema.FORMAT_NONE, schema.FORMAT_INT_MX):
        count = 0
    elif case.telemetry in (schema.FORMAT_MRI, *_IOAM):
        count = draw.randint(0, 3)
    values = {
        "time_ns": draw.randrange(1 << 60),
        "vlan_id": draw.randrange(4096) if draw.random() < 0.3 and case.report_kind not in (1, 2, 4, 5) else schema.ABSENT16,
        "ip_version": case.ip_version,
        "src_hi": _signed(draw) if wide else 0,
        "src_lo": _signed(draw) if wide else draw.randrange(1 << 32),
        "dst_hi": _signed(draw) if wide else 0,
        "dst_lo": _signed(draw) if wide else draw.randrange(1 << 32),
        "protocol": 17,
        "src_port": draw.randrange(1 << 16),
        "dst_port": HPCC_PORT if case.telemetry == schema.FORMAT_HPCC else 4791,
        "dscp": draw.choice([0, 26, 48]),
        "original_dscp": schema.ABSENT8,
        "ecn": draw.randrange(4),
        "ttl": draw.randrange(1, 256),
        "ip_id": 0 if wide else draw.randrange(1 << 16),
        "formats": 1 << schema.FORMAT_ROCE,
        "telemetry": case.telemetry,
        "dialect": DIALECT_NAMES[case.dialect] if case.dialect else 0,
        "csig": draw.randrange(1 << 16) if case.csig and draw.random() < 0.8 else CSIG_ABSENT,
        "hop_count": count,
        "first_hop": first,
        "roce_row": columns.counts[N_ROCE],
    }
    if case.telemetry != schema.FORMAT_NONE:
        values |= _telemetry(draw, case, count)
    _put(columns.packets, row, values)
    for hop in range(count):
        _hop(columns, draw, case, int(values["instructions"]), row, first + hop, hop)
    columns.counts[N_HOPS] = first + count
    _roce(columns, draw, row)
    if case.telemetry == schema.FORMAT_IOAM_INCREMENTAL:
        columns.packets.tunnels[row] = NSH
    if case.option:
        _option(columns, draw, case, row)
    if case.mirror:
        _mirror(columns, draw, case, row)
    if case.report:
        _reports(columns, draw, case, row)


def _option(columns: Columns, draw: random.Random, case: Case, row: int) -> None:
    """An option without hops, now and then without one of the items that it may have."""
    at, direct = int(columns.counts[N_OPTIONS]), case.option == schema.FORMAT_IOAM_DEX
    columns.packets.formats[row] |= 1 << case.option
    bits = draw.choice([32, 64]) if not direct else 32
    present = schema.HAS_OPTION_NAMESPACE | draw.choice([0, schema.HAS_OPTION_SEQUENCE])
    if direct:
        present |= schema.HAS_OPTION_EXPORT | schema.HAS_OPTION_FLAGS | draw.choice([0, schema.HAS_OPTION_FLOW])
    else:
        present |= draw.choice([0, schema.HAS_OPTION_SECONDS]) | draw.choice([0, schema.HAS_OPTION_FRACTION])
    asked = (0x80 if present & schema.HAS_OPTION_FLOW else 0) | (0x40 if present & schema.HAS_OPTION_SEQUENCE else 0)
    values = {
        "packet": row,
        "format": case.option,
        "namespace": draw.randrange(1 << 16),
        "flags": draw.randrange(256),
        "extension_flags": asked,
        "trace_type": draw.randrange(1 << 24),
        "flow_id": draw.randrange(1 << 32),
        "sequence": draw.randrange(1 << (bits - 1)),
        "sequence_bits": bits,
        "time_seconds": draw.randrange(1 << 32),
        "time_fraction_raw": draw.randrange(1 << 32),
        "present": present,
    }
    _put(columns.options, at, values)
    columns.counts[N_OPTIONS] = at + 1


def _telemetry(draw: random.Random, case: Case, hops: int) -> dict[str, int]:
    kind = case.telemetry
    values = {"formats": 1 << schema.FORMAT_ROCE | 1 << kind, "telemetry_flags": 0, "namespace": 0, "remaining_hops": 0, "instructions": 0}
    if kind in _IOAM:
        trace_type = draw.choice([draw.randrange(1 << 24) & draw.randrange(1 << 24) & ~1 | 0x800000, 0xFA0000, 0x800000])
        node_words = bin(trace_type & 0xFFFFFC).count("1") + bin(trace_type & 0x00E000).count("1")
        return values | {
            "telemetry_flags": draw.choice([0, 8]),
            "namespace": draw.randrange(1 << 16),
            "instructions": trace_type,
            "remaining_hops": node_words * draw.randrange(2),
        }
    if kind == schema.FORMAT_MRI:
        return values
    if kind == schema.FORMAT_HPCC:
        return values | {"namespace": draw.randrange(1 << 12) if case.dialect == "hpcc-paper" else 0}
    if kind == schema.FORMAT_IFA:
        flags = draw.choice([0, 2]) | draw.choice([0, 4])
        action = draw.randrange(1 << 16)
        return values | {
            "telemetry_flags": flags,
            "namespace": draw.randrange(16),
            "instructions": action,
            "remaining_hops": draw.randrange(256),
        }
    values["instructions"] = draw.choice([0x8000, 0xFC00, 0xFD00, draw.randrange(1, 1 << 16)])
    if kind == schema.FORMAT_INT_MX:
        return (
            values
            | {
                "telemetry_flags": draw.randrange(2),
                "instructions": values["instructions"] & 0xFFFE or 0x8000,
                "namespace": draw.randrange(1 << 16),
            }
            | ({} if case.by_port else {"dscp": INT_DSCP})
        )
    values["remaining_hops"] = draw.randrange(256)
    if kind == schema.FORMAT_INT_05:
        # v1.0 with version 0 has the length of a hop where this has the lower bits of the most hops
        values["remaining_hops"] = 32 * draw.randrange(1, 8) - hops
    flags = {schema.FORMAT_INT_MD_1: 2 | 4 | 8, schema.FORMAT_INT_MD_2: 1 | 2 | 4, schema.FORMAT_INT_05: 2 | 8}[kind]
    values["telemetry_flags"] = draw.randrange(16) & flags
    if kind == schema.FORMAT_INT_MD_2:
        values["namespace"] = draw.randrange(1 << 16)
    if not case.by_port:
        values |= {"dscp": INT_DSCP, "original_dscp": draw.randrange(1, 64)}
    return values


def _hop(columns: Columns, draw: random.Random, case: Case, instructions: int, packet: int, row: int, hop: int) -> None:
    """A hop with what its instructions ask for, now and then without one of the items."""
    kind, dialect = case.telemetry, DIALECTS[DIALECT_NAMES.get(case.dialect, 0)]
    time_bits = 31 if dialect.time_words == 1 else 63
    values = {
        "packet": packet,
        "hop": hop,
        # different in every hop: a node that stands twice is a warning
        "node_id": draw.randrange(1, _NODES // 8 - 1) * 8 + hop,
        "ingress_port": draw.randrange(0xFFFF),
        "egress_port": draw.randrange(0xFFFF),
        "hop_latency_raw": draw.randrange(1 << 31),
        "queue_id": draw.randrange(255),
        "queue_depth_raw": draw.randrange(1 << 24),
        "ingress_time_raw": draw.randrange(1 << time_bits),
        "egress_time_raw": draw.randrange(1 << time_bits),
        "tx_utilisation_raw": draw.randrange(1 << 31),
        "buffer_id": draw.randrange(255),
        "buffer_depth_raw": draw.randrange(1 << 24),
        "hop_limit": draw.randrange(255),
        "namespace_data": draw.randrange(1 << 31),
    }
    ports = schema.HAS_INGRESS_PORT | schema.HAS_EGRESS_PORT
    if kind == schema.FORMAT_MRI:
        values["present"] = schema.HAS_NODE | schema.HAS_DEPTH
        _put(columns.hops, row, values)
        return
    if kind in _SPEEDS:
        _put(columns.hops, row, values | _hop_without_gaps(draw, case))
        return
    if kind in _IOAM:
        both_times = instructions & 0x300000 == 0x300000
        items = [
            (0x808000, schema.HAS_NODE),
            (0x808000, schema.HAS_HOP_LIMIT),
            (0x404000, schema.HAS_INGRESS_PORT),
            (0x404000, schema.HAS_EGRESS_PORT),
            (0x300000 if both_times else 0, schema.HAS_INGRESS_TIME),
            (0x080000, schema.HAS_LATENCY),
            (0x042000, schema.HAS_DATA),
            (0x020000, schema.HAS_DEPTH),
            (0x001000, schema.HAS_BUFFER),
        ]
        values |= {"ingress_time_raw": draw.randrange(1 << 31) << 32 | draw.randrange(1 << 31), "buffer_id": 0}
    else:
        items = [
            (0x8000, schema.HAS_NODE),
            (0x4000 if instructions & 0x4000 or kind == schema.FORMAT_INT_05 else 0x0200, ports),
            (0x2000 & ~dialect.unused, schema.HAS_LATENCY),
            (0x1000, schema.HAS_QUEUE | schema.HAS_DEPTH),
            (0x0800, schema.HAS_INGRESS_TIME),
            (0x0400, schema.HAS_EGRESS_TIME),
            (0x0100, schema.HAS_UTILISATION),
            (0x0080 if dialect.layout == LAYOUT_2 else 0, schema.HAS_BUFFER),
        ]
    values["present"] = sum(bits for instruction, bits in items if instructions & instruction and draw.random() < 0.9)
    _put(columns.hops, row, values)


def _hop_without_gaps(draw: random.Random, case: Case) -> dict[str, int]:
    """What a hop of a format has that cannot leave a value out, but for the speed of a port."""
    speed = draw.choice([0, *_SPEEDS[case.telemetry]])
    if case.telemetry == schema.FORMAT_IFA:
        present = schema.HAS_NODE | schema.HAS_INGRESS_PORT | schema.HAS_EGRESS_PORT | schema.HAS_LATENCY | schema.HAS_QUEUE
        present |= schema.HAS_DEPTH | schema.HAS_INGRESS_TIME | schema.HAS_HOP_LIMIT
        second = draw.randrange(1 << 20)
        values = {"queue_id": draw.randrange(64), "ingress_time_raw": second * 1_000_000_000 + draw.randrange(1_000_000_000)}
        values |= {"node_id": draw.randrange(1 << 20), "queue_depth_raw": draw.randrange(1 << 32)}
    else:
        present = schema.HAS_EGRESS_TIME | schema.HAS_TX_BYTES | schema.HAS_DEPTH
        values = {"egress_time_raw": draw.randrange(1 << 24), "tx_bytes_raw": draw.randrange(1 << 20)}
        values |= {"queue_depth_raw": draw.randrange(1 << (16 if case.dialect == "hpcc-paper" else 17))}
        speed = 0 if case.dialect == "hpcc-paper" else speed
    return values | {"port_speed_bps": speed * 1_000_000_000, "present": present | (schema.HAS_SPEED if speed else 0)}


def _roce(columns: Columns, draw: random.Random, packet: int) -> None:
    row = int(columns.counts[N_ROCE])
    opcode = draw.choice(OPCODES_KNOWN)
    carries, present = OPCODES[opcode], 0
    for header, bits in (
        (RETH, schema.HAS_RETH | schema.HAS_RKEY),
        (ATOMIC, schema.HAS_ATOMIC | schema.HAS_RKEY),
        (INVALIDATE, schema.HAS_RKEY),
        (AETH, schema.HAS_AETH),
        (DETH, schema.HAS_DETH),
        (IMMEDIATE, schema.HAS_IMMEDIATE),
        (ATOMIC_ACK, schema.HAS_ATOMIC_ACK),
    ):
        if carries & header:
            present |= bits
    data = draw.choice([0, draw.randrange(1500)])
    values = {
        "packet": packet,
        "opcode": opcode,
        "se": draw.randrange(2),
        "migreq": draw.randrange(2),
        "pad": -data % 4,
        "transport_version": 0,
        "pkey": draw.randrange(1 << 16),
        "fecn": draw.randrange(2),
        "becn": draw.randrange(2),
        "payload_bytes": data,
        "present": present | schema.HAS_PAYLOAD | schema.HAS_ICRC,
    }
    values |= {name: draw.randrange(1 << 24) for name in ("dest_qp", "psn", "msn", "source_qp")}
    values |= {name: draw.randrange(1 << 32) for name in ("rkey", "dma_bytes", "immediate", "queue_key")}
    values |= {name: _signed(draw) for name in ("virtual_address", "swap_add", "compare", "original_data")}
    values |= {"ack_req": draw.randrange(2), "syndrome": draw.randrange(256)}
    _put(columns.roce, row, values)
    columns.counts[N_ROCE] = row + 1


def _mirror(columns: Columns, draw: random.Random, case: Case, packet: int) -> None:
    row = int(columns.counts[N_MIRRORS])
    platform = case.mirror == 3 and draw.random() < 0.5
    numbered = draw.choice([0, schema.HAS_MIRROR_SEQUENCE])
    present = (
        schema.HAS_MIRROR_OUTER
        | {
            1: 0,
            2: schema.HAS_MIRROR_SEQUENCE | schema.HAS_MIRROR_SESSION | schema.HAS_MIRROR_INDEX,
            3: numbered | schema.HAS_MIRROR_SESSION | schema.HAS_MIRROR_TIMESTAMP | schema.HAS_MIRROR_TYPE_3,
        }[case.mirror]
    )
    present |= schema.HAS_MIRROR_PLATFORM if platform else 0
    values = {
        "packet": packet,
        "kind": case.mirror,
        "outer_src_lo": draw.randrange(1 << 32),
        "sequence": draw.randrange(1 << 32),
        "session_id": draw.randrange(1 << 10),
        "vlan_id": draw.randrange(1 << 12),
        "cos": draw.randrange(8),
        "encapsulation": draw.randrange(4),
        "truncated": 0,
        "index": draw.randrange(1 << 20),
        "timestamp_raw": draw.randrange(1 << 32),
        "granularity": draw.randrange(4),
        "security_group": draw.randrange(1 << 16),
        "hw_id": draw.randrange(64),
        "direction": draw.randrange(2),
        "platform_id": draw.randrange(64),
        "platform_info": draw.randrange(1 << 58),
        "present": present,
    }
    _put(columns.mirrors, row, values)
    columns.packets.tunnels[packet] |= {1: 0x04, 2: 0x08, 3: 0x10}[case.mirror]
    columns.counts[N_MIRRORS] = row + 1


def _reports(columns: Columns, draw: random.Random, case: Case, packet: int) -> None:
    first, version = int(columns.counts[N_REPORTS]), case.report
    head = {"node_id": draw.randrange(1, _NODES // 8) * 8 + 7, "hw_id": draw.randrange(64)}
    if version == schema.FORMAT_REPORT_05 and case.report_kind == 0:
        head["node_id"] = 0  # has no place in it
    head["sequence_bits"] = DIALECTS[DIALECT_NAMES.get(case.dialect, 0)].sequence_bits if version == schema.FORMAT_REPORT_2 else 32
    head["sequence"] = draw.randrange(1 << head["sequence_bits"])
    _put(columns.reports, first, head | report_values(draw, case, packet))
    columns.counts[N_REPORTS] = first + 1
    columns.packets.report_count[packet] = 1
    columns.packets.formats[packet] |= 1 << version
    # the reporting node's own hop, as reading appends it
    kind, bits = int(columns.reports.report_type[first]), int(columns.reports.metadata_bits[first])
    if kind == 0 if version == schema.FORMAT_REPORT_05 else bits == 0:
        return
    hop = int(columns.counts[N_HOPS])
    columns.hops.hop[hop] = 0
    added = report_hop(columns.by_name(), first, int(columns.packets.first_hop[packet]), hop, packet)
    columns.counts[N_HOPS] = hop + added
    columns.packets.hop_count[packet] += added
    if columns.packets.telemetry[packet] == schema.FORMAT_NONE:
        columns.packets.telemetry[packet] = version


def _signed(draw: random.Random) -> int:
    """64 bits as the kernel keeps them."""
    return draw.randrange(-(1 << 63), 1 << 63)


def _put(table: Any, row: int, values: dict[str, Any]) -> None:
    for name, value in values.items():
        getattr(table, name)[row] = value
