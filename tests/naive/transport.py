"""UDP and TCP, and what their payload is found to be."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# transport not 17, 47, 4, 41, 6, nor of profile ifa_protocols (asked first)      not-udp                      transport header
# tcp       ports if 4 bytes are there. INT is looked for only where int_dscp matches or the profile has a marker, and not behind INT
#           (NPT 2); else                                          not-udp                            TCP header (so all of tcp-*)
#           looked for: 20 bytes not whole; then data offset < 5; then options not whole:
#                                                                  tcp-truncated; tcp-header-length; tcp-truncated
#           places in order: behind the options, behind the fixed 20 bytes. At each: marker with INT at +8, then DSCP with INT here.
#           Taken where its structure holds (as for DSCP over UDP): statuses, warnings and columns as over UDP located so; lengths are
#           held against the end of IP; not not-udp then, nothing behind INT is read. Holds nowhere: not-udp, nothing else is written.
#           profile tcp_int, not behind INT or IFA: the first option of kind 0x72 and length 12 in a header that is whole gives a row in
#           options; the walk ends at kind 0 and at a length < 2 or beyond the header. The status is the same with it.
# udp       < 8 bytes; length < 8                                  udp-truncated; udp-length          UDP header (udp-length: ports set)
#           length > IP payload (declared)                         w udp-length-beyond-ip, clipped to it. Not in a first fragment.
#           length < IP payload                                    w udp-length-short, UDP length believed
# UDP payload, in this order:
#   1 after an INT header: only by dst_port (4791, tunnels), no second INT, no report
#   2 dst port in profile int_ports → INT, believed (see there). 3 marker matches → INT at +8, believed.
#   4 DSCP matches: INT if its structure holds; else as below, but where nothing explains the payload (4791: BTH not plausible; other
#     port: no tunnel port, no report port, no structure) the INT status stands.
#   5 profile report_ports → report, lumina_ports → Lumina, hpcc_ports → HPCC, believed
#   6 4791: plausible BTH (12 bytes, opcode known, low 6 bits of byte 4 and low 7 of byte 8 zero) → RoCE; shim and header of INT that
#     explain each other (type, NPT, version, HopML against bitmap) → INT, its lengths judged by name; else RoCE
#   7 tunnel ports. 8 INT by structure, report by structure (order 2.0, 1.0, 0.5; not inside a report). Else: ok.

from __future__ import annotations

from int_analyzer import schema

from .base import Base, Stop, blank
from .number import WELL_KNOWN


class Transport(Base):
    """Transport headers and the belief in what is behind them."""

    def transport(
        self, protocol: int, at: int, end: int, limit: int, level: int, first_fragment: bool = False, after_int: bool = False
    ) -> None:
        """What the IP protocol number announces."""
        if protocol in self.profile["ifa_protocols"]:
            self.ifa(at, end, limit, level, first_fragment, after_int)
        elif protocol == 17:
            self.udp(at, end, limit, level, first_fragment, after_int)
        elif protocol == 47:
            self.gre(at, end, limit, level)
        elif protocol == 4:
            self.ipv4(at, end, limit, self.descend(level, at))
        elif protocol == 41:
            self.ipv6(at, end, limit, self.descend(level, at))
        elif protocol == 6:
            self.tcp(at, end, limit, after_int)
        else:
            raise Stop("not-udp", at)

    def tcp(self, at: int, end: int, limit: int, after_int: bool) -> None:
        """TCP: its ports, and INT behind or in front of its options where the profile says what to look for (§7)."""
        if at + 4 <= limit:
            self.packet.update(src_port=self.u(at, 2), dst_port=self.u(at + 2, 2))
        if self.profile["tcp_int"] and not after_int:
            self.tcp_options(at, limit)
        if not after_int and (self.profile["marker"] is not None or self.dscp_matches()):
            self.need(at, 20, limit, "tcp-truncated")
            header = 4 * (self.data[at + 12] >> 4)
            if header < 20:
                raise Stop("tcp-header-length", at)
            self.need(at, header, limit, "tcp-truncated")
            if self.tcp_int(at + header, end, limit) or (header > 20 and self.tcp_int(at + 20, end, limit)):
                return
        raise Stop("not-udp", at)

    def tcp_options(self, at: int, limit: int) -> None:
        """The first option of TCP-INT in a header that is whole (§20 `tcp-int`)."""
        if at + 20 > limit:
            return
        end = at + 4 * (self.data[at + 12] >> 4)
        if end < at + 20 or end > limit:
            return
        at += 20
        while at < end and self.data[at] != 0:
            size = 1 if self.data[at] == 1 else self.data[at + 1] if at + 1 < end else 0
            if at + size > end or (size < 2 and self.data[at] != 1):
                return
            if self.data[at] == 0x72 and size == 12:
                self.found(schema.FORMAT_TCP_INT)
                row = blank(schema.OPTIONS)
                row.update(packet=0, format=schema.FORMAT_TCP_INT, flags=self.data[at + 2] >> 4, utilisation_raw=self.data[at + 3])
                row.update(hop_id=self.data[at + 4], hop_latency_raw=self.u(at + 5, 3))
                row["present"] = schema.HAS_OPTION_FLAGS | schema.HAS_OPTION_HOP
                self.keep_option(row, at)
                return
            at += size

    def tcp_int(self, at: int, end: int, limit: int) -> bool:
        """INT at this place of a TCP segment, by marker, then by DSCP; nothing behind it is read. False if none holds there."""
        port = self.packet["dst_port"]
        marked = self.marker_at(at, limit)
        for located, shim, looked_for in (("marker", at + 8, marked), ("dscp", at, self.dscp_matches())):
            if looked_for:
                measured = self.int_measure(shim, end, limit, port, located, protocol=6)
                if measured["holds"]:
                    self.int_over_ports(measured, located)
                    self.packet["dst_port"] = measured["original"]
                    return True
        return False

    def udp(self, at: int, end: int, limit: int, level: int, first_fragment: bool, after_int: bool, skip: int = 0) -> None:
        """UDP header, then whatever its payload is found to be; `skip` bytes of IFA stand between the two and are in no length."""
        self.udp_at = at
        self.need(at, 8, limit, "udp-truncated")
        port, length = self.u(at + 2, 2), self.u(at + 4, 2)
        self.packet.update(src_port=self.u(at, 2), dst_port=port)
        self.udp_checksum = self.u(at + 6, 2)
        if length < 8:
            raise Stop("udp-length", at)
        udp_end = at + length + skip
        if udp_end > end and at + length == end:
            # A sender of IFA that counts its metadata.
            udp_end = end
        if udp_end > end and not first_fragment:
            self.warnings.add("udp-length-beyond-ip")
            udp_end = end
        elif udp_end < end:
            self.warnings.add("udp-length-short")
        limit = min(limit, udp_end)
        if after_int:
            self.payload_by_port(port, at + 8 + skip, udp_end, limit, level)
        else:
            self.payload(port, at + 8 + skip, udp_end, limit, level)

    def payload_by_port(self, port: int, at: int, end: int, limit: int, level: int) -> bool:
        """UDP payload of a well-known port; False if the port says nothing."""
        known = WELL_KNOWN.get(port)
        if known == "roce":
            self.transport_roce(at, end, limit)
        elif known == "vxlan":
            self.vxlan(at, end, limit, level)
        elif known == "vxlan-gpe":
            self.vxlan_gpe(at, end, limit, level)
        elif known == "geneve":
            self.geneve(at, end, limit, level)
        return known is not None

    def marker_at(self, at: int, limit: int) -> bool:
        """The probe marker of the profile stands here."""
        marker = self.profile["marker"]
        return marker is not None and at + 8 <= limit and self.u(at, 8) == marker

    def dscp_matches(self) -> bool:
        """The DSCP is one that the profile names as a hint for INT."""
        expected = self.profile["int_dscp"]
        return expected is not None and self.packet["dscp"] & expected[1] == expected[0]

    def payload(self, port: int, at: int, end: int, limit: int, level: int) -> None:
        """UDP payload outside INT: configured ports, hints, well-known ports, structure, in this order."""
        profile = self.profile
        if port in profile["int_ports"]:
            self.int_apply(self.int_measure(at, end, limit, port, "port"), at, end, limit, level, port, "port")
            return
        if self.marker_at(at, limit):
            self.int_apply(self.int_measure(at + 8, end, limit, port, "marker"), at + 8, end, limit, level, port, "marker")
            return
        hinted = None
        if self.dscp_matches():
            hinted = self.int_measure(at, end, limit, port, "dscp")
            if hinted["holds"]:
                self.int_apply(hinted, at, end, limit, level, port, "dscp")
                return
        if port in profile["report_ports"] and not self.in_report:
            self.report_by_port(at, end, limit, level)
            return
        if port in profile["lumina_ports"]:
            self.lumina(at, end, limit, level)
            return
        if port in profile["hpcc_ports"]:
            self.hpcc(at, end, limit)
            return
        if port != 4791 and self.payload_by_port(port, at, end, limit, level):
            return
        if port == 4791 and self.plausible_bth(at, limit):
            self.transport_roce(at, end, limit)
            return
        measured = self.int_measure(at, end, limit, port, "structure")
        if port == 4791 and self.int_head(at, limit):
            located = "structure" if hinted is None else "dscp"
            self.int_apply(self.int_measure(at, end, limit, port, located), at, end, limit, level, port, located)
        elif port != 4791 and self.int_surely(measured, at):
            self.int_apply(measured, at, end, limit, level, port, "structure")
        elif port != 4791 and not self.in_report and self.report_by_structure(at, end, limit, level):
            pass
        elif hinted is not None:
            self.int_apply(hinted, at, end, limit, level, port, "dscp")
        elif port == 4791:
            self.transport_roce(at, end, limit)
