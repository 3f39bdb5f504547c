"""IPv4 and IPv6 with their options and extension headers."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# ipv4      < 20 bytes, or options not whole (of IHL)              ipv4-truncated                     IPv4 header
#           version ≠ 4 or IHL < 5                                 ipv4-header-length                 IPv4 header
#           total length 0                                         w ipv4-total-length-zero           (IP ends where parent ends)
#           0 < total length < IHL·4                               ipv4-total-length                  IPv4 header
#           total length > parent                                  w ip-length-beyond-packet; inside a report w report-inner-cut
#           total length < parent                                  w ip-length-short
#           offset ≠ 0                                             fragment                           behind the IP header
#           MF with offset 0                                       w fragment-first → on
#           option whose number (low 5 bits) is 31: format mri; its length ≠ 4 + 8·count, < 4 or beyond header: mri-length → on, at
#           the option, no hops. Other option damage is ignored (the walk of the options ends).
#           mri: the first option of a header whose length is right counts (also with count 0, also in a later fragment). Hops in path
#           order (newest first on the wire), node and depth always present, ones too. telemetry mri, telemetry_bytes = option length,
#           dialect none, telemetry_flags, instructions, namespace, remaining_hops 0. A telemetry header read later replaces it, so does
#           the list of an inner IPv4 header.
#           Address, ports, protocol, … columns are written only once the header passed its checks; a new IP header resets ports to 0,
#           ip_id to 0 (IPv6). Nothing else of an outer packet survives.
# ipv6      < 40 bytes; version ≠ 6                                ipv6-truncated; ipv6-version       IPv6 header
#           payload length 0: IP ends where its parent ends (ip_bytes 40). Length against parent: the warnings of IPv4.
#           extension headers read: 0, 43, 44, 60; all others are transports (51, 50, 59, … → not-udp)
#           9th extension header                                   ipv6-extension-limit               9th header
#           first 2 bytes (44: 8 bytes) not in avail, or end beyond declared IP end    ipv6-extension-truncated    that header
#           end beyond avail only (cut): its options are walked as far as avail goes, then ipv6-extension-truncated at that header
#           option beyond its extension header (length byte too)   ipv6-option-length → on with next header       option
#           fragment offset ≠ 0                                    fragment                           behind the fragment header
#           offset 0 and M                                         w fragment-first → on

from __future__ import annotations

from int_analyzer import schema

from .base import Base, Stop, blank
from .number import EXTENSION_HEADERS


class Ip(Base):
    """IP headers."""

    def ip_by_nibble(self, at: int, end: int, limit: int, level: int, otherwise: str) -> None:
        """IPv4 or IPv6, told by the version."""
        version = self.data[at] >> 4
        if version == 4:
            self.ipv4(at, end, limit, level)
        elif version == 6:
            self.ipv6(at, end, limit, level)
        else:
            raise Stop(otherwise, at)

    def ip_end(self, declared: int, end: int) -> int:
        """Compare the end that the IP header declares with that of its parent."""
        if declared > end:
            self.warnings.add("report-inner-cut" if self.in_report else "ip-length-beyond-packet")
        elif declared < end:
            self.warnings.add("ip-length-short")
        return declared

    def ip_columns(self, **columns: int) -> None:
        """A new IP header: its columns replace those of the packet around it."""
        self.packet.update(src_port=0, dst_port=0, ip_id=0)
        self.is_fragment = False
        self.packet.update(columns)

    def ipv4(self, at: int, end: int, limit: int, level: int) -> None:
        """IPv4 header, options, payload (§4.2)."""
        self.need(at, 20, limit, "ipv4-truncated")
        header = 4 * (self.data[at] & 15)
        if self.data[at] >> 4 != 4 or header < 20:
            raise Stop("ipv4-header-length", at)
        self.need(at, header, limit, "ipv4-truncated")
        total = self.u(at + 2, 2)
        if 0 < total < header:
            raise Stop("ipv4-total-length", at)
        if total:
            ip_end = self.ip_end(at + total, end)
        else:
            self.warnings.add("ipv4-total-length-zero")
            ip_end = end
        limit = min(limit, ip_end)
        protocol = self.data[at + 9]
        self.ip_columns(
            ip_version=4,
            src_hi=0,
            src_lo=self.u(at + 12, 4),
            dst_hi=0,
            dst_lo=self.u(at + 16, 4),
            protocol=protocol,
            dscp=self.data[at + 1] >> 2,
            ecn=self.data[at + 1] & 3,
            ttl=self.data[at + 8],
            ip_id=self.u(at + 4, 2),
            ip_bytes=total,
        )
        self.ip_at = at
        self.ipv4_options(at + 20, at + header)
        at += header
        fragment = self.u(at - header + 6, 2)
        if fragment & 0x1FFF:
            raise Stop("fragment", at)
        if fragment & 0x2000:
            self.warnings.add("fragment-first")
            self.is_fragment = True
        self.transport(protocol, at, ip_end, limit, level, bool(fragment & 0x2000))

    def ipv4_options(self, at: int, end: int) -> None:
        """Only the MRI option matters (§20 `mri`); the first that is whole counts."""
        read = False
        while at < end and self.data[at] != 0:
            if self.data[at] == 1:
                at += 1
                continue
            size = self.data[at + 1] if at + 1 < end else 0
            if self.data[at] & 31 == 31:
                self.found(schema.FORMAT_MRI)
                if size < 4 or at + size > end or size != 4 + 8 * self.u(at + 2, 2):
                    self.fail("mri-length", at)
                elif not read:
                    read = True
                    self.mri(at, size)
            if size < 2:
                return
            at += size

    def mri(self, at: int, size: int) -> None:
        """An MRI option whose length is right: the wire has the newest hop first."""
        hops = []
        for position in range(at + 4, at + size, 8):
            hop = blank(schema.HOPS)
            hop.update(node_id=self.u(position, 4), queue_depth_raw=self.u(position + 4, 4), present=schema.HAS_NODE | schema.HAS_DEPTH)
            hops.append(hop)
        self.telemetry(schema.FORMAT_MRI, hops[::-1], telemetry_bytes=size)

    def ipv6(self, at: int, end: int, limit: int, level: int) -> None:
        """IPv6 header, extension headers, payload (§4.2)."""
        self.need(at, 40, limit, "ipv6-truncated")
        if self.data[at] >> 4 != 6:
            raise Stop("ipv6-version", at)
        length = self.u(at + 4, 2)
        ip_end = self.ip_end(at + 40 + length, end) if length else end
        limit = min(limit, ip_end)
        traffic_class = self.u(at, 2) >> 4 & 0xFF
        following = self.data[at + 6]
        self.ip_columns(
            ip_version=6,
            src_hi=self.u(at + 8, 8),
            src_lo=self.u(at + 16, 8),
            dst_hi=self.u(at + 24, 8),
            dst_lo=self.u(at + 32, 8),
            protocol=following,
            dscp=traffic_class >> 2,
            ecn=traffic_class & 3,
            ttl=self.data[at + 7],
            ip_bytes=40 + length,
        )
        self.ip_at = at
        at += 40
        first_fragment = False
        headers = 0
        while following in EXTENSION_HEADERS:
            headers += 1
            if headers > 8:
                raise Stop("ipv6-extension-limit", at)
            self.need(at, 8 if following == 44 else 2, limit, "ipv6-extension-truncated")
            kind, following = following, self.data[at]
            if kind == 44:
                size = 8
            else:
                size = 8 * (self.data[at + 1] + 1)
            if at + size > ip_end:
                raise Stop("ipv6-extension-truncated", at)
            if kind in (0, 60):
                self.ipv6_options(at + 2, at + size, limit)
            self.need(at, size, limit, "ipv6-extension-truncated")
            self.packet["protocol"] = following
            if kind == 44:
                fragment = self.u(at + 2, 2)
                if fragment & 0xFFF8:
                    raise Stop("fragment", at + size)
                if fragment & 1:
                    self.warnings.add("fragment-first")
                    first_fragment = self.is_fragment = True
            at += size
        self.transport(following, at, ip_end, limit, level, first_fragment)

    def ipv6_options(self, at: int, end: int, limit: int) -> None:
        """Options of a hop-by-hop or destination header that ends at `end`; what is beyond `limit` was not captured."""
        while at < min(end, limit):
            kind = self.data[at]
            if kind == 0:
                at += 1
                continue
            if at + 2 > end:
                self.fail("ipv6-option-length", at)
                return
            if at + 2 > limit:
                return
            size = self.data[at + 1]
            if at + 2 + size > end:
                self.fail("ipv6-option-length", at)
                return
            if kind in (0x31, 0x11) and size < 2:
                self.fail("ioam-truncated", at)
            elif kind in (0x31, 0x11) and at + 4 <= limit:
                self.ioam(self.data[at + 3], at, at + 2 + size, limit)
            at += 2 + size
