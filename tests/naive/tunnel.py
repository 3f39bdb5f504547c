"""GRE, VXLAN, VXLAN-GPE, Geneve."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# gre       4 bytes / optional words not whole                     gre-truncated                      GRE header (so all of gre-*)
#           version ≠ 0; then R bit                                gre-version; gre-routing
#           protocols: profile gre_int_protocols (before all others) → INT in a tunnel, v2 shim; 88BE, 22EB, 6558, 0800, 86DD, 8847, 8848,
#           894F; else gre-protocol-unknown. Behind INT the shim's EtherType: 6558, 0800, 86DD, 8847, 8848, 894F; else as before.
#           tunnels: gre bit for plain GRE only, erspan bits for ERSPAN only
# vxlan     8 bytes not whole                                      vxlan-truncated                    VXLAN header (so all of vxlan-*)
#           I not set                                              w vxlan-flag (GPE too)
#           GPE Ver (flags >> 4 & 3) ≠ 0                           vxlan-gpe-version
#           GPE P = 0 → Ethernet; 1 IPv4, 2 IPv6, 3 Ethernet, 4 NSH; 0x80, 0x82 → INT in a tunnel, v2 shim; 0x08, profile
#           gpe_int_protocols → v1 shim; 0x81, profile gpe_ioam_protocols → IOAM. On with the shim's next protocol, from the same table;
#           a second INT header and all else: vxlan-gpe-protocol-unknown. 17th IOAM header: ioam-option-limit, there. tunnels bit is set in
#           front of INT and IOAM.
# nsh       EtherType 894F, GRE 894F, GPE 4, NSH 4. Order: 8 bytes in avail (nsh-truncated) · Ver (nsh-version) · length < 2, MD type 1
#           with length ≠ 6 (nsh-length) · length in avail (nsh-truncated) · tunnels bit. Next protocol 1 IPv4, 2 IPv6, 3 Ethernet, 4 NSH,
#           5 MPLS, 6 IOAM (17th: ioam-option-limit, there), whose own goes on in the same table; else nsh-protocol-unknown. All at NSH.
# geneve    8 bytes or its options not whole                       geneve-truncated                   Geneve header
#           version ≠ 0                                            geneve-version                     Geneve header
#           option header or data beyond the option length         geneve-options-overrun → on        that option
#           an option with the critical bit (all are unknown)      w geneve-critical
#           class of profile geneve_ioam_classes (asked first): IOAM, type without its critical bit
#           class 0x0103 or of profile geneve_int_classes, type 1 / 3: INT-MD / INT-MX, no shim, header behind the option header, stack to
#           the option's end; all its statuses at the option, all → on. Option < 3 words: int-length-too-small. Other types: as any option.
#           protocols 6558, 0800, 86DD; else geneve-protocol-unknown, Geneve header
# tunnel    levels: MPLS stack, IP in IP, GRE (with its ERSPAN), VXLAN, GPE, Geneve, NSH count 1 each. 5th: tunnel-limit, at its header
#           (first label, inner IP, GRE, VXLAN, Geneve, NSH header).

from __future__ import annotations

from .base import Base, Stop
from .number import ETHERNET, IPV4, IPV6, MPLS, NSH, TUNNEL_BIT


class Tunnel(Base):
    """Tunnels."""

    def gre(self, at: int, end: int, limit: int, level: int, skip: int = 0) -> None:
        """GRE with its optional words (§4.3), ERSPAN behind it (§5.1); `skip` bytes of IFA stand in front of its payload."""
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
        position += skip
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
        elif protocol in (IPV4, IPV6, NSH, *MPLS):
            self.packet["tunnels"] |= TUNNEL_BIT["gre"]
            self.ethertype(protocol, position, end, limit, level)
        else:
            raise Stop("gre-protocol-unknown", at)

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
        following, payload = self.data[at + 3] if flags & 0x04 else 3, at + 8
        shims, with_int = 0, False
        while True:
            kind = self.gpe_kind(following)
            if kind == "ioam":
                self.packet["tunnels"] |= TUNNEL_BIT["vxlan-gpe"]
                shims += 1
                if shims > 16:
                    raise Stop("ioam-option-limit", payload)
                behind = self.ioam_shim(payload, end, limit, counted=0)
            elif kind in ("int", "int-1") and not with_int:
                self.packet["tunnels"] |= TUNNEL_BIT["vxlan-gpe"]
                with_int = True
                after = self.int_in_tunnel(payload, end, limit, v1=kind == "int-1")
                if after is None:
                    return
                behind = after
            else:
                break
            following, payload = self.data[payload + 3], behind
        inside = {"ipv4": self.ipv4, "ipv6": self.ipv6, "ethernet": self.ethernet, "nsh": self.nsh}.get(kind)
        if inside is None:
            raise Stop("vxlan-gpe-protocol-unknown", at)
        self.packet["tunnels"] |= TUNNEL_BIT["vxlan-gpe"]
        inside(payload, end, limit, level)

    def gpe_kind(self, following: int) -> str:
        """What a next protocol of VXLAN-GPE announces (§4.4), the profile's numbers first."""
        if following in self.profile["gpe_ioam_protocols"]:
            return "ioam"
        if following in self.profile["gpe_int_protocols"]:
            return "int-1"
        known = {1: "ipv4", 2: "ipv6", 3: "ethernet", 4: "nsh", 0x08: "int-1", 0x80: "int", 0x82: "int", 0x81: "ioam"}
        return known.get(following, "")

    def nsh(self, at: int, end: int, limit: int, level: int) -> None:
        """A network service header, with IOAM behind it or none (RFC 8300 §2, RFC 9452)."""
        level = self.descend(level, at)
        self.need(at, 8, limit, "nsh-truncated")
        if self.data[at] >> 6:
            raise Stop("nsh-version", at)
        words = self.u(at, 2) & 0x3F
        if words < 2 or (self.data[at + 2] & 15 == 1 and words != 6):
            raise Stop("nsh-length", at)
        self.need(at, 4 * words, limit, "nsh-truncated")
        self.packet["tunnels"] |= TUNNEL_BIT["nsh"]
        following, payload = self.data[at + 3], at + 4 * words
        shims = 0
        while following == 6:
            shims += 1
            if shims > 16:
                raise Stop("ioam-option-limit", payload)
            behind = self.ioam_shim(payload, end, limit, counted=1)
            following, payload = self.data[payload + 3], behind
        inside = {1: self.ipv4, 2: self.ipv6, 3: self.ethernet, 4: self.nsh, 5: self.mpls}.get(following)
        if inside is None:
            raise Stop("nsh-protocol-unknown", at)
        inside(payload, end, limit, level)

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
            if self.u(option, 2) in self.profile["geneve_ioam_classes"]:
                self.ioam(kind & 0x7F, option, option + size, limit)
            elif self.u(option, 2) in (0x0103, *self.profile["geneve_int_classes"]) and kind in (1, 3):
                self.int_option(option, size, limit, kind)
            option += size
        if protocol not in (ETHERNET, IPV4, IPV6):
            raise Stop("geneve-protocol-unknown", at)
        self.packet["tunnels"] |= TUNNEL_BIT["geneve"]
        if protocol == ETHERNET:
            self.ethernet(payload, end, limit, level)
        else:
            self.ethertype(protocol, payload, end, limit, level)
