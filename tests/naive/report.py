"""Telemetry reports v0.5, v1.0, v2.0 and the packets inside them."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# report    all reports of a datagram are walked before an inner packet is followed. A piece beyond UDP end: report-length, else beyond
#   avail: report-truncated (a report whose header or metadata is not whole gets no row).
#           believed by port: version not 0, 1, 2: report-type.
#   v1      Length < 4 report-length; NProt > 2 report-type; both no row. Length ≠ 4 + popcount: w report-length-mismatch, items not
#           read. RepMdBits ≠ 0 → hop (with the header's time). ONOS: spec D, Q, F all 0 → bits 17-19. metadata_bits = 6-bit value.
#           By structure: lengths match and inner plausible. inner_type 0.
#   v2      walk until < 4 bytes are left. RepType > 2 or InType > 5 report-type; end > UDP end report-length; MD Length contradicts
#           report-metadata-length; status_at = individual header, that report gets no row, walk ends. RepMdBits bit 0: one word, if
#           that does not fit none. DSMdBits ≠ 0: MD Length ≥ words is enough. RepType 0: MD Length 0. RepType 2: row, nothing followed.
#           Length 0 and InType 3-5 with a plausible inner packet behind the metadata: w report-length-zero, to the datagram's end;
#           other length 0 with RepType 1: report-length. RepType 0 or 2 with length 0 is an empty report (row).
#           order: type · end · metadata beyond the report's end report-length · RepType 0 with MD · avail · MD Length
#           TLV beyond its report: report-length at the TLV → on with the next report (row stands); TLV header not in avail:
#           report-truncated there, walk ends (row stands).
#           Every report is a packet row of its own (part 0, 1, …; w report-limit at the 255th if there are more), one whose walk ended
#           there too. It has the outer layers' columns, formats, warnings and status, its own report row, hop (RepMdBits ≠ 0 without
#           bit 0) and inner packet (InType 3-5, or the first TLV of type 1-3). Mirrors, options, roce, hops and telemetry columns of
#           outer layers are part 0's only.
#           Dialect cablelabs-tps: InType 2 is Ethernet too, sequence without its lowest 6 bits.
#           By structure: the chain holds to exactly the UDP end (0-3 bytes rest; cut captures: as far as seen), InType 3-5 inner plausible,
#           and one report has a plausible inner packet or RepType 1 with RepMdBits.
#   v0.5    NProto > 2: report-type. 0: row without metadata, node_id 0, no hop. 1 drop header: node, ports, queue id, reason. 2 local:
#           node, ports, queue, egress time. 1 and 2 give the hop (items of ones are absent). metadata_bits, inner_type, intermediate
#           are 0; the header's time is always present. Its Ethernet frame must be plausible, structure or not: else report-type, no row.
#   plausible inner: Ethernet (14 bytes, tags skipped) with 0800, BF04 + nibble 4 and IHL ≥ 5, 86DD + nibble 6, 8847, 8848, BF05; IPv4;
#           IPv6 likewise
#   inner   a layer's *-truncated (link, mpls, nsh, ipv4, ipv6, ipv6-extension, udp, tcp, gre, erspan, vxlan, geneve, bth, bth-extension)
#           inside a report becomes report-inner-truncated (same status_at). 0 bytes left where a BTH would begin, inside a report: ok.
#   hop     appended last, HOP_FROM_REPORT; not if the newest stack hop has the same node id. telemetry = report format if no other.
#           ports: level 1, level 2 only without bit 1; queue_id of occupancy, else of drop. Fixed-header time of v1 is always present.

from __future__ import annotations

from typing import Any

from int_analyzer import schema

from .base import Base, Stop, bits, blank
from .int_stack import ITEMS
from .number import IPV4, IPV6, MPLS, RECIRCULATED


class Report(Base):
    """Telemetry reports."""

    def plausible_ip(self, at: int, limit: int, version: int) -> bool:
        """The first byte fits an IP header of this version."""
        if at >= limit or self.data[at] >> 4 != version:
            return False
        return version == 6 or self.data[at] & 15 >= 5

    def plausible_ethernet(self, at: int, limit: int) -> bool:
        """A frame that, behind up to 8 tags, begins with IP or MPLS."""
        if at + 14 > limit:
            return False
        kind = self.u(at + 12, 2)
        at += 14
        tags = 0
        while self.tag_bytes(kind) and tags < 8 and at + self.tag_bytes(kind) + 2 <= limit:
            at += self.tag_bytes(kind) + 2
            kind = self.u(at - 2, 2)
            tags += 1
        kind = RECIRCULATED.get(kind, kind)
        if kind == IPV4:
            return self.plausible_ip(at, limit, 4)
        if kind == IPV6:
            return self.plausible_ip(at, limit, 6)
        return kind in MPLS

    def plausible(self, inner: tuple[str, int, int], limit: int) -> bool:
        """The packet inside a report begins like one."""
        kind, at, end = inner
        limit = min(limit, end)
        if kind == "ethernet":
            return self.plausible_ethernet(at, limit)
        return self.plausible_ip(at, limit, 4 if kind == "ipv4" else 6)

    def follow(self, inner: tuple[str, int, int], limit: int, level: int) -> None:
        """Read the packet inside a report."""
        kind, at, end = inner
        self.in_report = True
        read = {"ethernet": self.ethernet, "ipv4": self.ipv4, "ipv6": self.ipv6}[kind]
        read(at, end, min(limit, end), level)

    def report_by_port(self, at: int, end: int, limit: int, level: int) -> None:
        """A datagram to a configured report port."""
        self.reach(at, 1, end, limit)
        version = self.data[at] >> 4
        if version == 0:
            row, hop, inner = self.report_05(at, end, limit)
            if not self.plausible(inner, limit):
                raise Stop("report-type", at)
            self.accept(schema.FORMAT_REPORT_05, row, hop, inner, limit, level)
        elif version == 1:
            row, hop, inner_1 = self.report_1(at, end, limit)
            self.accept(schema.FORMAT_REPORT_1, row, hop, inner_1, limit, level)
        elif version == 2:
            self.reach(at, 8, end, limit)
            self.accept_2(self.report_2(at, end, limit), limit, level)
        else:
            raise Stop("report-type", at)

    def report_by_structure(self, at: int, end: int, limit: int, level: int) -> bool:
        """A datagram that is a report by its lengths and by the packet inside. False if it is none."""
        if at >= limit:
            return False
        version = self.data[at] >> 4
        before = set(self.warnings)
        try:
            if version == 0:
                row, hop, inner = self.report_05(at, end, limit)
                if self.plausible(inner, limit):
                    self.accept(schema.FORMAT_REPORT_05, row, hop, inner, limit, level)
                    return True
            elif version == 1:
                row, hop, inner_1 = self.report_1(at, end, limit)
                if "report-length-mismatch" not in self.warnings and inner_1 and self.plausible(inner_1, limit):
                    self.accept(schema.FORMAT_REPORT_1, row, hop, inner_1, limit, level)
                    return True
            elif version == 2 and at + 8 <= limit:
                walked = self.report_2(at, end, limit)
                if self.evidence_2(walked, limit):
                    self.accept_2(walked, limit, level)
                    return True
        except Stop:
            if self.in_report:
                raise
        self.warnings = before
        return False

    def reach(self, at: int, size: int, end: int, limit: int) -> None:
        """A piece of a report must be inside the datagram and captured."""
        if at + size > end:
            raise Stop("report-length", at)
        if at + size > limit:
            raise Stop("report-truncated", at)

    def report_05(self, at: int, end: int, limit: int) -> tuple[dict[str, Any], dict[str, Any] | None, tuple[str, int, int]]:
        """Telemetry report v0.5 (§13.1): its row, its hop, its inner frame. Raises Stop if it is not whole."""
        self.reach(at, 1, end, limit)
        kind = self.data[at] & 15
        if kind > 2:
            raise Stop("report-type", at)
        size = (12, 24, 28)[kind]
        self.reach(at, size, end, limit)
        word = self.u(at, 4)
        row = blank(schema.REPORTS)
        row.update(packet=0, report=0, version=schema.FORMAT_REPORT_05, report_type=kind, inner_type=0, hw_id=word & 63, node_id=0)
        row.update(dropped=word >> 23 & 1, congested=word >> 22 & 1, tracked=word >> 21 & 1, intermediate=0, metadata_bits=0)
        row.update(sequence=self.u(at + 4, 4), sequence_bits=32, ingress_time_raw=self.u(at + 8, 4))
        row["present"] = schema.HAS_REPORT_INGRESS_TIME
        hop = None
        if kind:
            row["node_id"] = self.u(at + 12, 4)
            hop = blank(schema.HOPS)
            self.item(hop, "node", row["node_id"], 1, level2=False)
            self.item(hop, "ingress_time", row["ingress_time_raw"], 1, level2=False)
            self.report_item(row, hop, "ports", self.u(at + 16, 4), 1, level2=False)
            self.report_item(row, hop, "drop" if kind == 1 else "queue", self.u(at + 20, 4), 1, level2=False)
            if kind == 2:
                self.report_item(row, hop, "egress_time", self.u(at + 24, 4), 1, level2=False)
        return row, hop, ("ethernet", at + size, end)

    def report_1(self, at: int, end: int, limit: int) -> tuple[dict[str, Any], dict[str, Any] | None, tuple[str, int, int] | None]:
        """Telemetry report v1.0 (§13.2): its row, its hop, its inner packet. Raises Stop if it is not whole."""
        self.reach(at, 4, end, limit)
        word = self.u(at, 4)
        length, protocol, metadata = word >> 24 & 15, word >> 21 & 7, word >> 15 & 0x3F
        if length < 4:
            raise Stop("report-length", at)
        if protocol > 2:
            raise Stop("report-type", at)
        self.reach(at, 4 * length, end, limit)
        row = blank(schema.REPORTS)
        flags = word >> 6 & 7
        if not flags:
            # The ONOS report header has D, Q, F before its reserved bits (§20 `onos-basic` report).
            flags = word >> 12 & 7
        row.update(packet=0, report=0, version=schema.FORMAT_REPORT_1, report_type=protocol, inner_type=0, hw_id=word & 63)
        row.update(node_id=self.u(at + 4, 4), sequence=self.u(at + 8, 4), sequence_bits=32, ingress_time_raw=self.u(at + 12, 4))
        row.update(dropped=flags >> 2, congested=flags >> 1 & 1, tracked=flags & 1, intermediate=0, metadata_bits=metadata)
        row["present"] = schema.HAS_REPORT_INGRESS_TIME
        hop = None
        if length != 4 + bits(metadata):
            self.warnings.add("report-length-mismatch")
        elif metadata:
            hop = blank(schema.HOPS)
            self.item(hop, "node", row["node_id"], 1, level2=False)
            self.item(hop, "ingress_time", row["ingress_time_raw"], 1, level2=False)
            position = at + 16
            for bit, name in enumerate(("ports", "latency", "queue", "egress_time", "drop", "utilisation")):
                if metadata & 32 >> bit:
                    self.report_item(row, hop, name, self.u(position, 4), 1, level2=False)
                    position += 4
        inner = at + 4 * length
        return row, hop, (("ethernet", "ipv4", "ipv6")[protocol], inner, end) if inner < end else None

    def accept(
        self,
        format_id: int,
        row: dict[str, Any],
        hop: dict[str, Any] | None,
        inner: tuple[str, int, int] | None,
        limit: int,
        level: int,
    ) -> None:
        """Take over a v0.5 or v1.0 report."""
        self.found(format_id)
        self.reports.append(row)
        self.report_hop, self.report_format = hop, format_id
        if inner:
            self.follow(inner, limit, level)

    def report_item(self, row: dict[str, Any], hop: dict[str, Any], name: str, value: int, words: int, level2: bool) -> None:
        """One metadata item of a report, into its row and into its hop."""
        if value == (1 << 32 * words) - 1:
            return
        if name == "drop":
            row["drop_reason"] = value >> 16 & 0xFF
            row["present"] |= schema.HAS_REPORT_DROP
            for target in (row, hop):
                if target["queue_id"] is None:
                    target["queue_id"] = value >> 24
            hop["present"] |= schema.HAS_QUEUE
            return
        self.item(hop, name, value, words, level2)
        half = 16 * words
        if name == "ports":
            row.update(ingress_port=value >> half, egress_port=value & (1 << half) - 1)
            row["present"] |= schema.HAS_REPORT_PORTS
        elif name == "ports2":
            row.update(ingress_port_2=value >> half, egress_port_2=value & (1 << half) - 1)
            row["present"] |= schema.HAS_REPORT_L2
        elif name == "latency":
            row["hop_latency_raw"] = value
            row["present"] |= schema.HAS_REPORT_LATENCY
        elif name == "queue":
            row.update(queue_id=value >> 24, queue_depth_raw=value & 0xFFFFFF)
            row["present"] |= schema.HAS_REPORT_QUEUE
        elif name == "ingress_time":
            row["ingress_time_raw"] = value
            row["present"] |= schema.HAS_REPORT_INGRESS_TIME
        elif name == "egress_time":
            row["egress_time_raw"] = value
            row["present"] |= schema.HAS_REPORT_EGRESS_TIME
        elif name == "utilisation":
            row["tx_utilisation_raw"] = value
            row["present"] |= schema.HAS_REPORT_UTILISATION
        elif name == "buffer":
            row.update(buffer_id=value >> 24, buffer_depth_raw=value & 0xFFFFFF)
            row["present"] |= schema.HAS_REPORT_BUFFER

    def report_2(self, at: int, end: int, limit: int) -> list[dict[str, Any]]:
        """Walk a v2.0 datagram (§13.3): an entry for every report, the last one with what ended the walk if it ended early."""
        group, node = self.u(at, 4), self.u(at + 4, 4)
        walked: list[dict[str, Any]] = []
        position = at + 8
        while position + 4 <= end:
            if len(walked) == 255:
                walked[-1]["warnings"].add("report-limit")
                break
            entry: dict[str, Any] = {"row": None, "hop": None, "inner": None, "fault": None, "warnings": set(), "next": None}
            walked.append(entry)
            try:
                self.report_2_single(position, end, limit, group, node, entry, len(walked) - 1)
            except Stop as stop:
                entry["fault"] = entry["fault"] or (stop.status, stop.at)
                break
            position = entry["next"]
        return walked

    def report_2_single(self, at: int, end: int, limit: int, group: int, node: int, entry: dict[str, Any], number: int) -> None:
        """One individual report: written into its entry, with where the next one begins."""
        self.reach(at, 4, end, limit)
        word = self.u(at, 4)
        kind, inner_type, length, words = word >> 28, word >> 24 & 15, word >> 16 & 255, word >> 8 & 255
        if kind > 2 or inner_type > 5:
            raise Stop("report-type", at)
        fixed = 8 if kind == 1 else 0
        start = at + 4 + fixed + 4 * words
        cablelabs = self.profile["int_dialect"] == "cablelabs-tps"
        inner_kind = {2: "ethernet" if cablelabs else None, 3: "ethernet", 4: "ipv4", 5: "ipv6"}.get(inner_type)
        zero = length == 0 and inner_kind is not None and kind != 2 and start < end and self.plausible((inner_kind, start, end), limit)
        if zero or length == 255:
            report_end = end
        elif length == 0 and kind == 1:
            raise Stop("report-length", at)
        else:
            report_end = at + 4 + 4 * length
        if report_end > end or start > report_end:
            raise Stop("report-length", at)
        if kind == 0 and words:
            raise Stop("report-metadata-length", at)
        row = blank(schema.REPORTS)
        row.update(packet=0, report=number, version=schema.FORMAT_REPORT_2, report_type=kind, inner_type=inner_type)
        row.update(hw_id=group >> 22 & 63, sequence=(group & 0x3FFFFF) >> (6 if cablelabs else 0), node_id=node, metadata_bits=0)
        row.update(sequence_bits=16 if cablelabs else 22)
        row.update(dropped=word >> 7 & 1, congested=word >> 6 & 1, tracked=word >> 5 & 1, intermediate=word >> 4 & 1)
        if kind == 1:
            if start > limit:
                raise Stop("report-truncated", at)
            entry["hop"] = self.report_2_metadata(at, words, row)
        if zero:
            entry["warnings"].add("report-length-zero")
        entry.update(row=row, next=report_end)
        if kind != 2 and inner_kind is not None and start < report_end:
            entry["inner"] = (inner_kind, start, report_end)
        elif kind != 2 and inner_type == 1:
            self.report_2_pieces(start, report_end, limit, entry)

    def report_2_pieces(self, start: int, report_end: int, limit: int, entry: dict[str, Any]) -> None:
        """TLVs of a report: the first packet among them is its inner packet."""
        while start + 4 <= report_end:
            self.reach(start, 4, report_end, limit)
            tlv = self.u(start, 4)
            tlv_end = start + 4 + 4 * (tlv >> 16 & 255)
            if tlv_end > report_end:
                entry["fault"] = ("report-length", start)
                return
            kind = {1: "ethernet", 2: "ipv4", 3: "ipv6"}.get(tlv >> 28)
            if kind and tlv_end > start + 4 and entry["inner"] is None:
                entry["inner"] = (kind, start + 4, tlv_end)
            start = tlv_end

    def report_2_metadata(self, at: int, words: int, row: dict[str, Any]) -> dict[str, Any] | None:
        """Metadata of a RepType 1 report into its row; gives its hop."""
        bitmap, ds_bits = self.u(at + 4, 2), self.u(at + 8, 2)
        items = []
        for bit in range(1, 16):
            if bitmap & 0x8000 >> bit:
                items.append((("drop" if bit == 15 else ITEMS[bit]), 2 if bit in (4, 5, 6) else 1))
        total = sum(size for _, size in items)
        skipped = None
        for reserved in (1, 0) if bitmap & 0x8000 else (0,):
            if words == total + reserved or (ds_bits and words >= total + reserved):
                skipped = reserved
                break
        if skipped is None:
            raise Stop("report-metadata-length", at)
        row["metadata_bits"] = bitmap
        hop = blank(schema.HOPS)
        self.item(hop, "node", row["node_id"], 1, level2=False)
        position = at + 12 + 4 * skipped
        for name, size in items:
            self.report_item(row, hop, name, self.u(position, 4 * size), size, level2=not bitmap & 0x4000)
            position += 4 * size
        return hop if bitmap & 0x7FFF else None

    def evidence_2(self, walked: list[dict[str, Any]], limit: int) -> bool:
        """A v2.0 datagram that nobody configured is believed by what is in it."""
        strong = False
        for entry in walked:
            row = entry["row"]
            if entry["fault"] and entry["fault"][0] != "report-truncated":
                return False
            if row is None:
                continue
            plausible = entry["inner"] is not None and self.plausible(entry["inner"], limit)
            if entry["inner"] is not None and row["inner_type"] >= 3 and not plausible:
                return False
            strong = strong or plausible or (row["report_type"] == 1 and row["metadata_bits"] != 0)
        return strong

    def accept_2(self, walked: list[dict[str, Any]], limit: int, level: int) -> None:
        """Take over the report of a v2.0 datagram that is this row's, and follow the packet in it."""
        self.found(schema.FORMAT_REPORT_2)
        if self.part:
            # What stands in front of the reports belongs to the first row.
            self.mirrors, self.options, self.roce = [], [], None
            self.telemetry(0, [])
            self.packet["telemetry_bytes"] = 0
        self.more = len(walked) > self.part + 1
        if not walked:
            return
        entry = walked[self.part]
        self.warnings |= entry["warnings"]
        if entry["fault"]:
            self.fail(*entry["fault"])
        if entry["row"] is not None:
            self.reports.append(entry["row"])
            self.report_hop, self.report_format = entry["hop"], schema.FORMAT_REPORT_2
            if entry["inner"]:
                self.follow(entry["inner"], limit, level)
