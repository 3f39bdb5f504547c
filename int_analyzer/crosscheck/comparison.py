"""One packet of ours against one of tshark's: what differs, how many values were compared, what was not compared and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from int_analyzer.crosscheck import quirk
from int_analyzer.crosscheck.dissection import Dissection, Layer
from int_analyzer.crosscheck.field import (
    BTH,
    BTH_EXTENSIONS,
    DELAY,
    DELAY_OVERFLOW,
    ERSPAN,
    ERSPAN_2,
    ERSPAN_3,
    FRACTION,
    HOP_LIMIT,
    ICRC,
    INT_HEADER,
    INT_HOP,
    IOAM_HEADER,
    IOAM_NODE,
    IPV4,
    IPV6,
    KEY,
    NODE,
    ONES_4,
    REPORT,
    SECONDS,
    Pair,
)
from int_analyzer.status import STATUSES
from int_analyzer.wire.layer import MAXIMUM_TUNNELS

_LAYER = {entry.name: entry.layer for entry in STATUSES if entry.reject}
_ROCE_REJECTS = frozenset(name for name, layer in _LAYER.items() if layer == "roce")
_IPV6_HEADER = 40
_FRAME_TYPE_IP = 2
_FECN, _BECN = 0x80, 0x40
_ROCE_PORT = 4791


class Row(NamedTuple):
    """All rows of one packet, as the tables show them: dictionaries by column."""

    packet: dict[str, Any]
    hops: list[dict[str, Any]]
    roce: dict[str, Any] | None
    mirrors: list[dict[str, Any]]
    reports: list[dict[str, Any]]


class Difference(NamedTuple):
    """Two readings of one value; None: there is none. `packet` counts from 0 as our tables do, tshark's frames from 1."""

    file: str
    packet: int
    table: str
    column: str
    ours: Any
    theirs: Any
    row: int | None = None

    def __str__(self) -> str:
        place = self.table if self.row is None else f"{self.table}[{self.row}]"
        ours, theirs = ("none" if value is None else value for value in (self.ours, self.theirs))
        return f"{self.file} packet {self.packet} (frame {self.packet + 1}): {place}.{self.column} ours {ours}, tshark {theirs}"


@dataclass
class Outcome:
    """What a cross-check came to. values: compared values by table; unread: packets by what of them was not compared."""

    tshark: str = ""
    files: list[str] = field(default_factory=list)
    packets: int = 0
    values: Counter[str] = field(default_factory=Counter)
    differences: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


class Comparison:
    """Compares packets and counts into an outcome. with_lua: tshark has a Lua dissector for INT and reports."""

    def __init__(self, outcome: Outcome, file: str, with_lua: bool = False) -> None:
        self._outcome = outcome
        self._file = file
        self._with_lua = with_lua
        self._found: list[Difference] = []
        self._row = Row({}, [], None, [], [])
        self._cut = False

    def packet(self, row: Row, theirs: Dissection) -> list[Difference]:
        """Differences of one packet."""
        self._row, self._found = row, []
        ours = row.packet
        # a reported packet is cut as a rule
        self._cut = ours["captured_bytes"] < ours["original_bytes"] or theirs.malformed or bool(row.reports)
        self._outcome.packets += 1
        self._frame(theirs)
        reason = _unread(row, theirs)
        if reason:
            self._outcome.unread[reason] += 1
        elif self._same("packets", "tunnels", "+".join(sorted((ours["tunnels"] or "").split("+"))), "+".join(sorted(theirs.tunnels))):
            if self._same("packets", "ip_version", ours["ip_version"], theirs.version):
                self._network(theirs)
                self._mirrors(theirs)
                self._ioam(theirs)
                self._report(theirs)
                self._transport(theirs)
        self._outcome.differences += len(self._found)
        return self._found

    def _frame(self, theirs: Dissection) -> None:
        ours, packet = self._row.packet, theirs.packet
        self._same("packets", "packet", ours["packet"] + 1, int(packet.number))
        self._same("packets", "captured_bytes", ours["captured_bytes"], int(packet.captured_length))
        self._same("packets", "original_bytes", ours["original_bytes"], int(packet.length))
        if ours["time_ns"] is None:
            self._outcome.unread[quirk.TIMELESS] += 1
        else:
            self._same("packets", "time_ns", ours["time_ns"], _nanoseconds(packet.sniff_timestamp))

    def _network(self, theirs: Dissection) -> None:
        ours, network = self._row.packet, theirs.network
        self._same("packets", "vlan_id", ours["vlan_id"], theirs.vlan)
        if network is None:
            return
        self._same("packets", "src", ours["src"], network.address(f"{network.name}.src"))
        self._same("packets", "dst", ours["dst"], network.address(f"{network.name}.dst"))
        self._pairs("packets", ours, network, IPV4 if network.name == "ip" else IPV6)
        if network.name == "ipv6":
            length = network.value("ipv6.plen")
            self._same("packets", "ip_bytes", ours["ip_bytes"], None if length is None else length + _IPV6_HEADER)
        behind_int = "int-" in (ours["formats"] or "")
        if not behind_int:
            self._same("packets", "protocol", ours["protocol"], theirs.protocol)
        transport = theirs.transport
        if ours["src_port"] is None or ours["status"] == "fragment" or (transport is None and self._cut):
            return
        layer = theirs.last("int")
        replaced = next(
            (port for name in ("shim", "tail") if layer and (port := layer.shown(f"int.{name}.original_port")) is not None), None
        )
        if behind_int and "int-md-1.0" not in ours["formats"] and layer is None:
            self._outcome.unread[quirk.INT_PORT] += 1
            return
        if replaced is not None and transport is not None and transport.name == "udp":
            self._same("packets", "src_port", ours["src_port"], transport.value("udp.srcport"))
            self._same("packets", "dst_port", ours["dst_port"], replaced)
            return
        for column, name in (("src_port", "srcport"), ("dst_port", "dstport")):
            self._same("packets", column, ours[column], None if transport is None else transport.value(f"{transport.name}.{name}"))

    def _transport(self, theirs: Dissection) -> None:
        ours, layer = self._row, theirs.last("infiniband")
        if "int-" in (ours.packet["formats"] or "") or _LAYER.get(ours.packet["status"]) == "int":
            if theirs.last("int") is None:
                self._outcome.unread[quirk.INT] += 1
                return
            self._int(theirs)
        reason = _other_protocol(ours, theirs)
        if reason or (ours.roce is None and layer is None):
            self._outcome.unread.update([reason] if reason else [])
            return
        if self._with_lua and self._cut and layer is None:
            self._outcome.unread[quirk.LUA_CUT] += 1
            return
        if ours.packet["status"] in _ROCE_REJECTS:
            self._outcome.unread[quirk.ROCE_REJECTED.format(status=ours.packet["status"])] += 1
            if ours.roce is None or layer is None:
                return
        elif not self._same("packets", "roce", ours.roce is not None, layer is not None) or ours.roce is None or layer is None:
            return
        self._pairs("roce", ours.roce, layer, BTH)
        header = layer.fields("infiniband.bth")
        if header and len(header[0].raw_value) >= 10:
            flags = int(header[0].raw_value[8:10], 16)
            self._same("roce", "fecn", ours.roce["fecn"], int(flags & _FECN != 0))
            self._same("roce", "becn", ours.roce["becn"], int(flags & _BECN != 0))
        if ours.packet["status"] in _ROCE_REJECTS:
            return
        if ours.roce["opcode"] not in quirk.OPCODES_READ:
            self._outcome.unread[quirk.OPCODE] += 1
            return
        self._pairs("roce", ours.roce, layer, BTH_EXTENSIONS)
        if "fragment-first" in (ours.packet["warnings"] or ""):
            self._outcome.unread[quirk.FRAGMENT] += 1
        elif self._with_lua and self._cut:
            self._outcome.unread[quirk.LUA_CUT] += 1
        else:
            self._pairs("roce", ours.roce, layer, ICRC)
        key = next((value for pair in KEY if (value := layer.value(pair.field)) is not None), None)
        if ours.roce["rkey"] is not None or key is not None:
            self._same("roce", "rkey", ours.roce["rkey"], key)

    def _mirrors(self, theirs: Dissection) -> None:
        mirrors = theirs.mirrors
        if not self._same("packets", "mirrors", len(self._row.mirrors), len(mirrors)):
            return
        for number, (ours, mirror) in enumerate(zip(self._row.mirrors, mirrors, strict=True)):
            self._same("mirrors", "kind", ours["kind"], mirror.kind, number)
            self._same("mirrors", "sequence", ours["sequence"], mirror.gre.value("gre.sequence_number"), number)
            if mirror.network is not None:
                source = mirror.network.address(f"{mirror.network.name}.src")
                self._same("mirrors", "outer_src", ours["outer_src"], source, number)
            pairs = {1: (), 2: ERSPAN + ERSPAN_2, 3: ERSPAN + ERSPAN_3}.get(mirror.kind, ())
            self._pairs("mirrors", ours, mirror.erspan, pairs, number)

    def _ioam(self, theirs: Dissection) -> None:
        ours = self._row.packet
        traces = [layer for layer in theirs.chain if layer.values("ipv6.opt.ioam.trace.ns")]
        found = any(name in (ours["formats"] or "") for name in ("ioam-trace", "ioam-incremental"))
        if not found and not traces:
            return
        if sum(len(layer.values("ipv6.opt.ioam.trace.ns")) for layer in traces) > 1:
            self._outcome.unread[quirk.IOAM_SEVERAL] += 1
            return
        if not self._same("packets", "ioam-trace", found, bool(traces)):
            return
        self._pairs("packets", ours, traces[0], IOAM_HEADER)
        nodes = _nodes(traces[0])
        # ours are in path order, tshark's as on the wire: newest first
        if self._same("packets", "hop_count", len(self._row.hops), len(nodes)):
            for number, (hop, node) in enumerate(zip(self._row.hops, reversed(nodes), strict=True)):
                for column, value in node.items():
                    self._same("hops", column, hop[column], value, number)

    def _int(self, theirs: Dissection) -> None:
        """INT as a Lua dissector shows it."""
        ours, layer = self._row.packet, theirs.last("int")
        hops = [hop for hop in self._row.hops if not hop["from_report"]]
        if layer is None or not (ours["telemetry"] or "").startswith("int-md"):
            return
        shown = layer.fields("int.hop")
        if not hops or not shown or layer.fields("int.hop.opaque"):
            self._outcome.unread[quirk.INT_OTHER] += 1
            return
        for column, name in INT_HEADER.items():
            value = layer.shown(name)
            if value is not None:
                self._same("packets", column, ours[column], value)
        if self._same("packets", "hop_count", len(hops), len(shown)):
            for number, (hop, field) in enumerate(zip(hops, shown, strict=True)):
                for column, names in INT_HOP.items():
                    values = [layer.shown(f"int.hop.{name}", field) for name in names]
                    self._same("hops", column, hop[column], next((value for value in values if value is not None), None), number)

    def _report(self, theirs: Dissection) -> None:
        """The report as a Lua dissector shows it, if it is the only one of its datagram."""
        layer = theirs.last("intreport")
        if layer is None or len(self._row.reports) != 1:
            return
        for column in REPORT:
            value = layer.shown(f"intreport.{column.removesuffix('_raw')}")
            if value is not None:
                self._same("reports", column, self._row.reports[0][column], value, 0)

    def _pairs(self, table: str, ours: dict[str, Any], layer: Layer, pairs: tuple[Pair, ...], row: int | None = None) -> None:
        for pair in pairs:
            theirs, value = layer.value(pair.field), ours[pair.column]
            # in a packet that is cut or broken tshark may end before a header that we have whole
            if theirs is not None or (value is not None and pair.required and not self._cut):
                self._same(table, pair.column, value, theirs, row)

    def _same(self, table: str, column: str, ours: Any, theirs: Any, row: int | None = None) -> bool:
        self._outcome.values[table] += 1
        if ours == theirs:
            return True
        self._found.append(Difference(self._file, self._row.packet["packet"], table, column, ours, theirs, row))
        return False


def _unread(row: Row, theirs: Dissection) -> str:
    """Why nothing but the record can be compared, or nothing."""
    ours = row.packet
    formats = ours["formats"] or ""
    if "report" in formats and (theirs.last("intreport") is None or len(row.reports) > 1):
        return quirk.REPORTS if theirs.last("intreport") else quirk.REPORT
    if _LAYER.get(ours["status"]) in quirk.WHOLE_PACKET:
        return quirk.REJECTED.format(status=ours["status"])
    if "vxlan-gpe" in (ours["tunnels"] or "") and "int-" in formats:
        return quirk.INT_TUNNEL
    tunnels = ours["tunnels"] or ""
    if "lumina" in tunnels:
        return quirk.LUMINA
    if "ioam-" in formats and any(carrier in tunnels for carrier in ("geneve", "vxlan-gpe", "nsh")):
        return quirk.IOAM_TUNNEL
    unknown = next((name for name in ("ifa-2.0", "hpcc") if name in formats), None)
    if unknown is not None:
        return quirk.OTHER.format(format=unknown)
    if theirs.levels > MAXIMUM_TUNNELS:
        return quirk.TUNNELS
    names = [layer.name for layer in theirs.chain]
    if theirs.malformed and theirs.transport is None:
        return quirk.MALFORMED
    if ours["ip_version"] and theirs.chain and names[-1] not in ("ip", "ipv6"):
        ethertype = theirs.ethertype
        if ethertype in quirk.UNKNOWN_ETHERTYPES:
            return quirk.ETHERTYPE.format(value=ethertype)
    if "mpls" in names and (names[-1] == "mpls" or names[names.index("mpls") :].count("eth")):
        return quirk.PSEUDOWIRE
    last = theirs.chain[-1] if theirs.chain else None
    if last is not None and last.name == "erspan" and last.value("erspan.ft") == _FRAME_TYPE_IP:
        return quirk.ERSPAN_IP
    return ""


def _other_protocol(row: Row, theirs: Dissection) -> str:
    """Why tshark and we see different protocols in a UDP datagram, or nothing."""
    ours = row.packet
    has_layer = theirs.last("infiniband") is not None
    if row.roce is not None and not has_layer and theirs.behind not in ("", "data") and ours["src_port"] != ours["dst_port"]:
        return quirk.SOURCE_PORT
    if row.roce is None and has_layer and ours["src_port"] == _ROCE_PORT and ours["dst_port"] != _ROCE_PORT:
        return quirk.REVERSED
    return ""


def _nodes(layer: Layer) -> list[dict[str, int | None]]:
    """Nodes of an IOAM trace in wire order: values by column, None where they are not populated."""
    raw = {name: layer.values(NODE + name) for node in IOAM_NODE for name, _ in node.fields}
    limits, seconds, fractions, delays = (layer.values(name) for name in (HOP_LIMIT, SECONDS, FRACTION, DELAY))
    if raw["id"] and raw["id_wide"]:
        # a node with a short and a wide id has its hop limit twice
        limits = limits[::2]
    count = max((len(values) for values in (*raw.values(), limits, seconds, fractions, delays)), default=0)
    nodes = []
    for number in range(count):
        node: dict[str, int | None] = {}
        for entry in IOAM_NODE:
            values = [raw[name][number] for name, ones in entry.fields if raw[name] and raw[name][number] != ones]
            node[entry.column] = values[-1] if values else None
        node["hop_limit"] = limits[number] if limits and limits[number] != 0xFF else None
        node["hop_latency_raw"] = delays[number] if delays and delays[number] < DELAY_OVERFLOW else None
        both = bool(seconds and fractions) and ONES_4 not in (seconds[number], fractions[number])
        node["ingress_time_raw"] = seconds[number] << 32 | fractions[number] if both else None
        nodes.append(node)
    return nodes


def _nanoseconds(epoch: str) -> int:
    """tshark's seconds since 1970, with nine decimals, as an integer: a float has not digits enough."""
    seconds, _, fraction = epoch.partition(".")
    return int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0")[:9] or 0)
