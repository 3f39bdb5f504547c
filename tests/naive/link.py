"""Link layers, Ethernet with its tags, MPLS."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# link      link type not 1, 12, 14, 101, 113, 228, 229, 276       link-type-unknown                  0
#           Ethernet < 14, SLL < 16, SLL2 < 20, RAW: 0 bytes       link-truncated                     start of that header
#           RAW nibble neither 4 nor 6                             not-ip                             0
#           tag (TCI + next type, 4 bytes) not whole               link-truncated                     TCI (just behind the type)
#           CSIG: profile csig_type (9900; 2 bytes), csig_wide_type (6 bytes); with the next type, not whole: link-truncated, as above
#           9th tag (8100 88A8 9100 9200, CSIG counts)             vlan-limit                         TCI of the 9th
#           EtherType not tag, 0800, 86DD, 8847, 8848, 894F (NSH), BF04 (as 0800), BF05 (as 8847)     not-ip      just behind the type
#           vlan_id = last 802.1Q-like tag read (CSIG is none); an untagged inner Ethernet leaves the outer one's in place
#           csig = the bits of the first CSIG tag read, in any Ethernet header, outside or inside; a wide one with bit 48 set
# mpls      label not whole; nothing behind the bottom label       mpls-truncated                     that label; behind the labels
#           17th label                                             mpls-limit                         17th label
#           behind the bottom: 4 with IHL ≥ 5 → IPv4, 6 → IPv6, 0 → 4 bytes and Ethernet; else mpls-payload-unknown at payload

from __future__ import annotations

from .base import Base, Stop
from .number import IPV4, IPV6, MPLS, NSH, RECIRCULATED, TUNNEL_BIT, VLAN_TAGS


class Link(Base):
    """Everything in front of IP."""

    def link(self, link_type: int, end: int, limit: int) -> None:
        """The frame by its link type (§3.3)."""
        self.link_type = link_type
        if link_type == 1:
            self.ethernet(0, end, limit, 0)
        elif link_type in (12, 14, 101):
            self.need(0, 1, limit, "link-truncated")
            self.ip_by_nibble(0, end, limit, 0, "not-ip")
        elif link_type == 228:
            self.ipv4(0, end, limit, 0)
        elif link_type == 229:
            self.ipv6(0, end, limit, 0)
        elif link_type == 113:
            self.need(0, 16, limit, "link-truncated")
            self.ethertype(self.u(14, 2), 16, end, limit, 0)
        elif link_type == 276:
            self.need(0, 20, limit, "link-truncated")
            self.ethertype(self.u(0, 2), 20, end, limit, 0)
        else:
            raise Stop("link-type-unknown", 0)

    def ethernet(self, at: int, end: int, limit: int, level: int) -> None:
        """A frame from its destination address on."""
        self.need(at, 14, limit, "link-truncated")
        self.ethertype(self.u(at + 12, 2), at + 14, end, limit, level)

    def ethertype(self, kind: int, at: int, end: int, limit: int, level: int) -> None:
        """What an EtherType announces, tags first (§4.1, CSIG §17)."""
        tags = 0
        while self.tag_bytes(kind):
            size = self.tag_bytes(kind)
            tags += 1
            if tags > 8:
                raise Stop("vlan-limit", at)
            self.need(at, size + 2, limit, "link-truncated")
            if kind in VLAN_TAGS:
                self.packet["vlan_id"] = self.u(at, 2) & 0x0FFF
            elif self.packet["csig"] is None:
                self.packet["csig"] = self.u(at, size) | (1 << 48 if size == 6 else 0)
            kind = self.u(at + size, 2)
            at += size + 2
        kind = RECIRCULATED.get(kind, kind)
        if kind == IPV4:
            self.ipv4(at, end, limit, level)
        elif kind == IPV6:
            self.ipv6(at, end, limit, level)
        elif kind in MPLS:
            self.mpls(at, end, limit, level)
        elif kind == NSH:
            self.nsh(at, end, limit, level)
        else:
            raise Stop("not-ip", at)

    def tag_bytes(self, kind: int) -> int:
        """Bytes of the tag that an EtherType announces, without the type behind it; 0 if it announces none."""
        if kind in VLAN_TAGS or kind == self.profile["csig_type"]:
            return 2
        return 6 if kind == self.profile["csig_wide_type"] else 0

    def mpls(self, at: int, end: int, limit: int, level: int) -> None:
        """Label stack; what is behind it shows in its first nibble (§4.1)."""
        level = self.descend(level, at)
        labels = 0
        bottom = False
        self.packet["tunnels"] |= TUNNEL_BIT["mpls"]
        while not bottom:
            labels += 1
            if labels > 16:
                raise Stop("mpls-limit", at)
            self.need(at, 4, limit, "mpls-truncated")
            bottom = bool(self.data[at + 2] & 1)
            at += 4
        self.need(at, 1, limit, "mpls-truncated")
        first = self.data[at]
        if first >> 4 == 4 and first & 15 >= 5:
            self.ipv4(at, end, limit, level)
        elif first >> 4 == 6:
            self.ipv6(at, end, limit, level)
        elif first >> 4 == 0:
            self.ethernet(at + 4, end, limit, level)
        else:
            raise Stop("mpls-payload-unknown", at)
