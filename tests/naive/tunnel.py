"""GRE, VXLAN, VXLAN-GPE, Geneve."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# gre       4 bytes / optional words not whole                     gre-truncated                      GRE header (so all of gre-*)
#           version ≠ 0; then R bit                                gre-version; gre-routing
#           protocols: profile gre_int_protocols (before all others) → INT in a tunnel, v2 shim; 88BE, 22EB, 6558, 0800, 86DD, 8847, 8848;
#           else gre-protocol-unknown. Behind INT the shim's EtherType: 6558, 0800, 86DD, 8847, 8848; else gre-protocol-unknown.
#           tunnels: gre bit for plain GRE only, erspan bits for ERSPAN only
# erspan    88BE without S: type I. Else by Ver: 1 → II, 2 → III, other → erspan-version. Not whole: erspan-truncated. At ERSPAN header;
#           no mirror row then. tunnels bits (all layers) are set once the header itself passed its checks.
#           Ver 1 in 22EB, Ver 2 in 88BE                           w erspan-version-protocol
#           T                                                      w erspan-truncated-flag
#           III FT 0 Ethernet, 2 IP by nibble; other FT, or neither 4 nor 6: erspan-payload-opaque, at the payload (mirror row stands)
# vxlan     8 bytes not whole                                      vxlan-truncated                    VXLAN header (so all of vxlan-*)
#           I not set                                              w vxlan-flag (GPE too)
#           GPE Ver (flags >> 4 & 3) ≠ 0                           vxlan-gpe-version
#           GPE P = 0 → Ethernet; 1 IPv4, 2 IPv6, 3 Ethernet; 0x80, 0x82 → INT in a tunnel, v2 shim, 0x08 → v1 shim, on with the shim's
#           next protocol 1, 2, 3; else vxlan-gpe-protocol-unknown (also a second INT header). tunnels bit is set in front of INT.
# geneve    8 bytes or its options not whole                       geneve-truncated                   Geneve header
#           version ≠ 0                                            geneve-version                     Geneve header
#           option header or data beyond the option length         geneve-options-overrun → on        that option
#           an option with the critical bit (all are unknown)      w geneve-critical
#           class 0x0103 or of profile geneve_int_classes, type 1 / 3: INT-MD / INT-MX, no shim, header behind the option header, stack to
#           the option's end; all its statuses at the option, all → on. Option < 3 words: int-length-too-small. Other types: as any option.
#           protocols 6558, 0800, 86DD; else geneve-protocol-unknown, Geneve header
# tunnel    levels: MPLS stack, IP in IP, GRE (with its ERSPAN), VXLAN, GPE, Geneve count 1 each. 5th: tunnel-limit, at its header
#           (first label, inner IP, GRE, VXLAN, Geneve header).

from __future__ import annotations

from int_analyzer import schema

from .base import Base, Stop, blank
from .number import ETHERNET, IPV4, IPV6, MPLS, TUNNEL_BIT


class Tunnel(Base):
    """Tunnels."""

    def gre(self, at: int, end: int, limit: int, level: int) -> None:
        """GRE with its optional words (§4.3), ERSPAN behind it (§5.1)."""
        level = self.descend(level, at)
        self.need(at, 4, limit, "gre-truncated")
        flags, protocol = self.u(at, 2), self.u(at + 2, 2)
        if flags & 7:
            raise Stop("gre-version", at)
        if flags & 0x4000:
            raise Stop("gre-routing", at)
        position = at + 4
        if flags & 0x8000:
            position += 4
        if flags & 0x2000:
            position += 4
        sequence_at = None
        if flags & 0x1000:
            sequence_at = position
            position += 4
        self.need(at, position - at, limit, "gre-truncated")
        sequence = None if sequence_at is None else self.u(sequence_at, 4)
        if protocol in self.profile["gre_int_protocols"]:
            self.packet["tunnels"] |= TUNNEL_BIT["gre"]
            behind = self.int_in_tunnel(position, end, limit, v1=False)
            if behind is None:
                return
            protocol, position = self.u(position + 2, 2), behind
        elif protocol in (0x88BE, 0x22EB):
            self.erspan(position, end, limit, level, protocol, sequence)
            return
        if protocol == ETHERNET:
            self.packet["tunnels"] |= TUNNEL_BIT["gre"]
            self.ethernet(position, end, limit, level)
        elif protocol in (IPV4, IPV6, *MPLS):
            self.packet["tunnels"] |= TUNNEL_BIT["gre"]
            self.ethertype(protocol, position, end, limit, level)
        else:
            raise Stop("gre-protocol-unknown", at)

    def erspan(self, at: int, end: int, limit: int, level: int, protocol: int, sequence: int | None) -> None:
        """ERSPAN type I, II or III, and the mirror row."""
        row = blank(schema.MIRRORS)
        row.update(packet=0, outer_src_hi=self.packet["src_hi"], outer_src_lo=self.packet["src_lo"], sequence=sequence)
        row["present"] = 0 if sequence is None else 1
        if protocol == 0x88BE and sequence is None:
            row["kind"] = 1
            self.mirrors.append(row)
            self.packet["tunnels"] |= TUNNEL_BIT["erspan-1"]
            self.ethernet(at, end, limit, level)
            return
        self.need(at, 8, limit, "erspan-truncated")
        version = self.data[at] >> 4
        word = self.u(at, 4)
        row.update(
            vlan_id=word >> 16 & 0xFFF, cos=word >> 13 & 7, encapsulation=word >> 11 & 3, truncated=word >> 10 & 1, session_id=word & 0x3FF
        )
        row["present"] |= 2
        if version not in (1, 2):
            raise Stop("erspan-version", at)
        frame_type = 0
        if version == 1:
            row.update(kind=2, index=self.u(at + 4, 4) & 0xFFFFF)
            row["present"] |= 4
            payload = at + 8
        else:
            self.need(at, 12, limit, "erspan-truncated")
            tail = self.u(at + 10, 2)
            payload = at + 12
            row.update(kind=3, timestamp_raw=self.u(at + 4, 4), security_group=self.u(at + 8, 2))
            row.update(hw_id=tail >> 4 & 0x3F, direction=tail >> 3 & 1, granularity=tail >> 1 & 3)
            row["present"] |= 8
            frame_type = tail >> 10 & 0x1F
            if tail & 1:
                self.need(at, 20, limit, "erspan-truncated")
                subheader = self.u(at + 12, 8)
                row.update(platform_id=subheader >> 58, platform_info=subheader & ((1 << 58) - 1))
                row["present"] |= 16
                payload = at + 20
        if (version == 1) != (protocol == 0x88BE):
            self.warnings.add("erspan-version-protocol")
        if row["truncated"]:
            self.warnings.add("erspan-truncated-flag")
        self.mirrors.append(row)
        self.packet["tunnels"] |= TUNNEL_BIT["erspan-2" if version == 1 else "erspan-3"]
        if frame_type == 0:
            self.ethernet(payload, end, limit, level)
        elif frame_type == 2 and payload < limit:
            self.ip_by_nibble(payload, end, limit, level, "erspan-payload-opaque")
        else:
            raise Stop("erspan-payload-opaque", payload)

    def vxlan(self, at: int, end: int, limit: int, level: int) -> None:
        """VXLAN (§4.4)."""
        level = self.descend(level, at)
        self.need(at, 8, limit, "vxlan-truncated")
        if not self.data[at] & 0x08:
            self.warnings.add("vxlan-flag")
        self.packet["tunnels"] |= TUNNEL_BIT["vxlan"]
        self.ethernet(at + 8, end, limit, level)

    def vxlan_gpe(self, at: int, end: int, limit: int, level: int) -> None:
        """VXLAN-GPE (§4.4), with an INT header behind it or none."""
        level = self.descend(level, at)
        self.need(at, 8, limit, "vxlan-truncated")
        flags = self.data[at]
        if flags >> 4 & 3:
            raise Stop("vxlan-gpe-version", at)
        if not flags & 0x08:
            self.warnings.add("vxlan-flag")
        following = self.data[at + 3] if flags & 0x04 else 3
        payload = at + 8
        if following in (0x80, 0x82, 0x08):
            self.packet["tunnels"] |= TUNNEL_BIT["vxlan-gpe"]
            behind = self.int_in_tunnel(payload, end, limit, v1=following == 0x08)
            if behind is None:
                return
            following, payload = self.data[payload + 3], behind
        if following not in (1, 2, 3):
            raise Stop("vxlan-gpe-protocol-unknown", at)
        self.packet["tunnels"] |= TUNNEL_BIT["vxlan-gpe"]
        (self.ipv4, self.ipv6, self.ethernet)[following - 1](payload, end, limit, level)

    def geneve(self, at: int, end: int, limit: int, level: int) -> None:
        """Geneve and its options (§4.4)."""
        level = self.descend(level, at)
        self.need(at, 8, limit, "geneve-truncated")
        if self.data[at] >> 6:
            raise Stop("geneve-version", at)
        payload = at + 8 + 4 * (self.data[at] & 0x3F)
        self.need(at, payload - at, limit, "geneve-truncated")
        protocol = self.u(at + 2, 2)
        option = at + 8
        while option < payload:
            # The options and their total are whole words: an option header is always there.
            size = 4 + 4 * (self.data[option + 3] & 0x1F)
            if option + size > payload:
                self.fail("geneve-options-overrun", option)
                break
            kind = self.data[option + 2]
            if kind & 0x80:
                self.warnings.add("geneve-critical")
            if self.u(option, 2) in (0x0103, *self.profile["geneve_int_classes"]) and kind in (1, 3):
                self.int_option(option, size, limit, kind)
            option += size
        if protocol not in (ETHERNET, IPV4, IPV6):
            raise Stop("geneve-protocol-unknown", at)
        self.packet["tunnels"] |= TUNNEL_BIT["geneve"]
        if protocol == ETHERNET:
            self.ethernet(payload, end, limit, level)
        else:
            self.ethertype(protocol, payload, end, limit, level)
