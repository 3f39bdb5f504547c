"""What the wire does not say: how telemetry is marked, units, names and link speeds, read from a TOML file.

Everything is optional: `Profile()` is what is used without a file. docs/profile-example.toml shows every key.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from int_analyzer.counter import METRICS, Query, read_queries
from int_analyzer.errors import ProfileError
from int_analyzer.host import Hosts, read_hosts
from int_analyzer.toml_table import ID_LIMIT, Table

if TYPE_CHECKING:
    from int_analyzer.settings import Settings

ABSENT = -1
"""A node, port or queue that the telemetry does not name."""

AUTO_DIALECT = "auto"
DEPTH_UNITS = ("bytes", "packets", "cells", "unknown")
TIME_UNITS = ("ns", "us", "unknown")
IOAM_TIMES = ("posix", "ptp", "ntp", "auto")
HPCC_LAYOUTS = ("paper", "ns3")
"""In the order of settings.HPCC_PAPER and HPCC_NS3."""
IFA_PROTOCOL, CSIG_ETHERTYPE = 131, 0x9900
"""As in settings, which needs numpy."""

_DSCP_MASK = 0x3F
_ID_MASK = ID_LIMIT - 1
_PORT_LIMIT = 1 << 16


@dataclass(frozen=True)
class Detect:
    """How telemetry is found: UDP ports, DSCP as (value, mask), 64-bit probe marker; None or empty: not given.

    Numbers that carry INT or IOAM: GRE protocol types, classes of Geneve options, next protocols of VXLAN-GPE; IP protocols of IFA;
    EtherTypes of CSIG tags. hpcc_layout: one of HPCC_LAYOUTS.
    """

    int_ports: tuple[int, ...] = ()
    int_dscp: tuple[int, int] | None = None
    marker: int | None = None
    report_ports: tuple[int, ...] = ()
    roce_ports: tuple[int, ...] = ()
    vxlan_ports: tuple[int, ...] = ()
    vxlan_gpe_ports: tuple[int, ...] = ()
    geneve_ports: tuple[int, ...] = ()
    gre_int_protocols: tuple[int, ...] = ()
    geneve_int_classes: tuple[int, ...] = ()
    gpe_int_protocols: tuple[int, ...] = ()
    geneve_ioam_classes: tuple[int, ...] = ()
    gpe_ioam_protocols: tuple[int, ...] = ()
    ifa_protocols: tuple[int, ...] = (IFA_PROTOCOL,)
    hpcc_ports: tuple[int, ...] = ()
    hpcc_layout: str = "paper"
    lumina_ports: tuple[int, ...] = ()
    csig_type: int = CSIG_ETHERTYPE
    csig_wide_type: int | None = None
    tcp_int: bool = False
    structure: bool = True
    int_dialect: str = AUTO_DIALECT


@dataclass(frozen=True)
class Domain:
    """An INT v2 domain: words (4 bytes) that only the source inserts, and words that every hop adds."""

    id: int
    source_only_words: int = 0
    hop_words: int = 0


@dataclass(frozen=True)
class Units:
    """What a node's raw values mean; "unknown" stays raw. `time` is the unit of ingress and egress times."""

    queue_depth: str = "unknown"
    cell_bytes: float | None = None
    packet_bytes: float | None = None
    hop_latency: str = "unknown"
    time: str = "unknown"
    ioam_time: str = "auto"


@dataclass(frozen=True)
class PortProfile:
    """A port's name and speed in bit/s."""

    name: str | None = None
    speed_bps: float | None = None


@dataclass(frozen=True)
class Node:
    """A node: name, role (free text: leaf, spine, …), the domain that its clock is kept in step with, its units, its ports by id."""

    name: str | None = None
    role: str | None = None
    clock_domain: str | None = None
    units: Units | None = None
    ports: dict[int, PortProfile] = field(default_factory=dict)


@dataclass(frozen=True)
class Thresholds:
    """From when a queue counts as congested; None: the defaults of analysis/units.py, by unit. `depth_raw` is in device units."""

    depth_bytes: float | None = None
    depth_raw: float | None = None
    latency_ns: float | None = None
    factor: float = 4.0
    minimum_packets: int = 5


@dataclass(frozen=True)
class Cost:
    """What a host costs in an hour, in a currency; None: not said."""

    host_hour: float | None = None
    currency: str = "USD"


@dataclass(frozen=True)
class Profile:
    """A profile; without arguments, what is assumed when no file is given."""

    detect: Detect = field(default_factory=Detect)
    domains: tuple[Domain, ...] = ()
    units: Units = field(default_factory=Units)
    nodes: dict[int, Node] = field(default_factory=dict)
    hosts: Hosts = field(default_factory=Hosts)
    thresholds: Thresholds = field(default_factory=Thresholds)
    counters: dict[str, Query] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    path: str = ""

    def units_of(self, node_id: int) -> Units:
        """Units of a node: its own where it has them, else those of all nodes."""
        node = self._node(node_id)
        return node.units if node is not None and node.units is not None else self.units

    def node_name(self, node_id: int) -> str:
        """The node's name, else its id; "?" if the telemetry names no node."""
        if node_id == ABSENT:
            return "?"
        node = self._node(node_id)
        return node.name if node is not None and node.name else str(node_id & _ID_MASK)

    def node_role(self, node_id: int) -> str | None:
        """The node's role as the profile calls it."""
        node = self._node(node_id)
        return node.role if node is not None else None

    def clock_domain(self, node_id: int) -> str | None:
        """The domain that the node's clock is kept in step with (by PTP, say); None if the profile does not say."""
        node = self._node(node_id)
        return node.clock_domain if node is not None else None

    def host_name(self, address: str) -> str:
        """The host's name, else its address."""
        return self.hosts.name_of(address) or address

    def port_name(self, node_id: int, port: int | None) -> str:
        """The port's name, else its id; "?" if the telemetry names no port."""
        if port is None or port == ABSENT:
            return "?"
        known = self._port(node_id, port)
        return known.name if known is not None and known.name else str(port)

    def port_speed_bps(self, node_id: int, port: int) -> float | None:
        """The port's speed in bit/s, None if the profile does not say."""
        known = self._port(node_id, port)
        return known.speed_bps if known is not None else None

    def settings(self) -> Settings:
        """Flat arrays for the decode kernel. A list of ports replaces the well-known ports of its kind."""
        import numpy as np

        from int_analyzer import settings

        made = settings.default_settings()
        roles, numbers, detect = made.port_roles, made.numbers, self.detect
        for role, ports in (
            (settings.ROLE_ROCE, detect.roce_ports),
            (settings.ROLE_VXLAN, detect.vxlan_ports),
            (settings.ROLE_VXLAN_GPE, detect.vxlan_gpe_ports),
            (settings.ROLE_GENEVE, detect.geneve_ports),
            (settings.ROLE_REPORT, detect.report_ports),
            (settings.ROLE_INT, detect.int_ports),
            (settings.ROLE_HPCC, detect.hpcc_ports),
            (settings.ROLE_LUMINA, detect.lumina_ports),
        ):
            if ports:
                roles[roles == role] = settings.ROLE_AUTO
                roles[list(ports)] = role
        if detect.int_dscp is not None:
            numbers[settings.INT_DSCP_VALUE], numbers[settings.INT_DSCP_MASK] = detect.int_dscp
        if detect.marker is not None:
            # The kernel holds 64-bit fields as the bits of an int64.
            numbers[settings.INT_MARKER] = detect.marker - ID_LIMIT if detect.marker >> 63 else detect.marker
            numbers[settings.INT_MARKER_SET] = 1
        if detect.int_dialect != AUTO_DIALECT:
            numbers[settings.INT_DIALECT] = _dialect_names()[detect.int_dialect]
        numbers[settings.DETECT_BY_STRUCTURE] = int(detect.structure)
        numbers[settings.CSIG_TYPE] = detect.csig_type
        numbers[settings.CSIG_WIDE_TYPE] = -1 if detect.csig_wide_type is None else detect.csig_wide_type
        numbers[settings.HPCC_LAYOUT] = HPCC_LAYOUTS.index(detect.hpcc_layout)
        numbers[settings.TCP_INT] = int(detect.tcp_int)
        made.gpe_roles[list(detect.gpe_int_protocols)] = settings.GPE_INT_1
        made.gpe_roles[list(detect.gpe_ioam_protocols)] = settings.GPE_IOAM
        rows = [(domain.id, domain.source_only_words, domain.hop_words) for domain in self.domains]
        return settings.Settings(
            roles,
            numbers,
            np.array(rows, dtype=np.int64).reshape(-1, 3),
            np.array(detect.gre_int_protocols, dtype=np.int64),
            np.array(detect.geneve_int_classes, dtype=np.int64),
            np.array(detect.geneve_ioam_classes, dtype=np.int64),
            np.array(detect.ifa_protocols, dtype=np.int64),
            made.gpe_roles,
        )

    def describe(self) -> str:
        """One line of what the profile declares."""
        ports = sum(len(node.ports) for node in self.nodes.values())
        units = self.units
        return (
            f"{len(self.nodes)} nodes, {ports} ports, {len(self.hosts.names)} hosts, {len(self.domains)} INT domains; "
            f"dialect {self.detect.int_dialect}; units: queue depth {units.queue_depth}, hop latency {units.hop_latency}, time {units.time}"
        )

    def _node(self, node_id: int) -> Node | None:
        # The kernel keeps 64-bit ids as the bits of an int64.
        return self.nodes.get(node_id & _ID_MASK)

    def _port(self, node_id: int, port: int) -> PortProfile | None:
        node = self._node(node_id)
        return node.ports.get(port) if node is not None else None


def load_profile(path: str | Path) -> Profile:
    """Reads and checks a profile. Raises ProfileError with the file, the dotted key and the reason."""
    try:
        text = Path(path).read_bytes().decode()
    except OSError as error:
        raise ProfileError(path, "", error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise ProfileError(path, "", f"not UTF-8 text: {error.reason} at byte {error.start}") from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(path, "", f"not TOML: {error}") from error
    return parse_profile(document, str(path))


def parse_profile(document: dict[str, Any], path: str = "") -> Profile:
    """A profile from a parsed TOML document. Raises ProfileError."""
    table = Table(path or "profile", "", document, ("detect", "domain", "units", "node", "host", "group", "thresholds", "counters", "cost"))
    units = _units(table.table("units", _names(Units)), Units())
    domains = [_domain(table.entry("domain", index, entry, _names(Domain))) for index, entry in enumerate(table.tables("domain"))]
    nodes = table.table("node", None)
    return Profile(
        detect=_detect(table.table("detect", _names(Detect))),
        domains=tuple(domains),
        units=units,
        nodes={number: _node(nodes.table(key, _names(Node)), units) for number, key in nodes.ids().items()},
        hosts=read_hosts(table.table("host", None), table.table("group", None)),
        thresholds=_thresholds(table.table("thresholds", _names(Thresholds))),
        counters=read_queries(table.table("counters", tuple(METRICS))),
        cost=_cost(table.table("cost", _names(Cost))),
        path=path,
    )


def _names(kind: Any) -> tuple[str, ...]:
    return tuple(entry.name for entry in fields(kind))


def _dialect_names() -> dict[str, int]:
    from int_analyzer.formats.dialect import DIALECT_NAMES

    return DIALECT_NAMES


def _detect(table: Table) -> Detect:
    kinds = ("int_ports", "report_ports", "roce_ports", "vxlan_ports", "vxlan_gpe_ports", "geneve_ports", "hpcc_ports", "lumina_ports")
    ports = {name: table.ports(name) for name in kinds}
    seen: dict[int, str] = {}
    for name, numbers in ports.items():
        for port in numbers:
            if seen.setdefault(port, name) != name:
                raise table.error(name, f"port {port} stands in {seen[port]} too")
    dialect = table.text("int_dialect") or AUTO_DIALECT
    if dialect != AUTO_DIALECT:
        dialect = table.choice("int_dialect", dialect, (AUTO_DIALECT, *_dialect_names()))
    return Detect(
        int_dscp=_dscp(table),
        gre_int_protocols=table.numbers_16("gre_int_protocols", "GRE protocol types"),
        geneve_int_classes=table.numbers_16("geneve_int_classes", "Geneve option classes"),
        gpe_int_protocols=_gpe_protocols(table, "gpe_int_protocols"),
        geneve_ioam_classes=table.numbers_16("geneve_ioam_classes", "Geneve option classes"),
        gpe_ioam_protocols=_gpe_protocols(table, "gpe_ioam_protocols"),
        ifa_protocols=table.numbers_8("ifa_protocols", "IP protocol numbers", (IFA_PROTOCOL,)),
        hpcc_layout=table.choice("hpcc_layout", HPCC_LAYOUTS[0], HPCC_LAYOUTS),
        csig_type=table.integer("csig_type", CSIG_ETHERTYPE, 0, _PORT_LIMIT) or 0,
        csig_wide_type=table.integer("csig_wide_type", None, 0, _PORT_LIMIT),
        tcp_int=table.flag("tcp_int", False),
        marker=table.integer("marker", None, 0, ID_LIMIT),
        structure=table.flag("structure", True),
        int_dialect=dialect,
        **ports,
    )


def _gpe_protocols(table: Table, name: str) -> tuple[int, ...]:
    """Next protocols of VXLAN-GPE that the profile gives a meaning; those of IP, Ethernet and NSH have theirs."""
    numbers = table.numbers_8(name, "next protocols of VXLAN-GPE")
    taken = next((number for number in numbers if 1 <= number <= 4), None)
    if taken is not None:
        raise table.error(name, f"next protocol {taken} is IPv4, IPv6, Ethernet or NSH (1 to 4)")
    if name == "gpe_ioam_protocols" and set(numbers) & set(table.numbers_8("gpe_int_protocols", "next protocols of VXLAN-GPE")):
        raise table.error(name, "a next protocol stands in gpe_int_protocols too")
    return numbers


def _dscp(table: Table) -> tuple[int, int] | None:
    value = table.values.get("int_dscp")
    if value is None:
        return None
    text, _, mask_text = str(value).partition("/")
    number = table.checked_integer("int_dscp", text.strip(), 0, _DSCP_MASK + 1)
    mask = table.checked_integer("int_dscp", mask_text.strip() or _DSCP_MASK, 1, _DSCP_MASK + 1)
    if number & ~mask:
        raise table.error("int_dscp", f"the value has bits outside the mask: no packet can match {value}")
    return number, mask


def _domain(table: Table) -> Domain:
    number = table.integer("id", None, 0, _PORT_LIMIT)
    if number is None:
        raise table.error("id", "is required")
    # Lengths in words are 8 bits on the wire.
    return Domain(number, table.integer("source_only_words", 0, 0, 256) or 0, table.integer("hop_words", 0, 0, 32) or 0)


def _units(table: Table, default: Units) -> Units:
    return replace(
        default,
        queue_depth=table.choice("queue_depth", default.queue_depth, DEPTH_UNITS),
        cell_bytes=table.number("cell_bytes", default.cell_bytes),
        packet_bytes=table.number("packet_bytes", default.packet_bytes),
        hop_latency=table.choice("hop_latency", default.hop_latency, TIME_UNITS),
        time=table.choice("time", default.time, TIME_UNITS),
        ioam_time=table.choice("ioam_time", default.ioam_time, IOAM_TIMES),
    )


def _node(table: Table, default: Units) -> Node:
    ports = table.table("ports", None)
    return Node(
        name=table.text("name"),
        role=table.text("role"),
        clock_domain=table.text("clock_domain"),
        units=_units(table.table("units", _names(Units)), default) if "units" in table.values else None,
        ports={number: _port(ports.table(key, _names(PortProfile))) for number, key in ports.ids().items()},
    )


def _port(table: Table) -> PortProfile:
    return PortProfile(table.text("name"), table.number("speed_bps", None))


def _cost(table: Table) -> Cost:
    return Cost(table.number("host_hour", None, exclusive=False), table.text("currency") or Cost.currency)


def _thresholds(table: Table) -> Thresholds:
    default = Thresholds()
    return Thresholds(
        depth_bytes=table.number("depth_bytes", None, exclusive=False),
        depth_raw=table.number("depth_raw", None, exclusive=False),
        latency_ns=table.number("latency_ns", None, exclusive=False),
        factor=table.number("factor", default.factor, minimum=1) or default.factor,
        minimum_packets=table.integer("minimum_packets", default.minimum_packets, 1, 1 << 31) or default.minimum_packets,
    )
