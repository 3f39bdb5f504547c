"""Mirrored packets: ERSPAN, and copies whose fields Lumina used again."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# erspan    88BE without S: type I. Else by Ver: 1 → II, 2 → III, other → erspan-version. Not whole: erspan-truncated. At ERSPAN header;
#           no mirror row then. tunnels bits (all layers) are set once the header itself passed its checks.
#           Ver 1 in 22EB, Ver 2 in 88BE                           w erspan-version-protocol
#           T                                                      w erspan-truncated-flag
#           III FT 0 Ethernet, 2 IP by nibble; other FT, or neither 4 nor 6: erspan-payload-opaque, at the payload (mirror row stands)
# lumina    UDP port of the profile's lumina_ports, IPv4 (IPv6: nothing is read), not behind INT: tunnels bit, mirror row of kind 4, event
#           = TTL. Time and sequence from the addresses of the record's own Ethernet header: no tunnel in front, not inside a report.
#           src_port = UDP checksum, dst_port 4791, after a bit error ip_id xor 0xFFFF; then a BTH, plausible or not.

from __future__ import annotations

from int_analyzer import schema

from .base import Base, Stop, blank
from .number import TUNNEL_BIT


class Mirror(Base):
    """Mirrors."""

    def erspan(self, at: int, end: int, limit: int, level: int, protocol: int, sequence: int | None) -> None:
        """ERSPAN type I, II or III, and the mirror row."""
        row = blank(schema.MIRRORS)
        row.update(packet=0, outer_src_hi=self.packet["src_hi"], outer_src_lo=self.packet["src_lo"], sequence=sequence)
        row["present"] = schema.HAS_MIRROR_OUTER | (0 if sequence is None else schema.HAS_MIRROR_SEQUENCE)
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
        row["present"] |= schema.HAS_MIRROR_SESSION
        if version not in (1, 2):
            raise Stop("erspan-version", at)
        frame_type = 0
        if version == 1:
            row.update(kind=2, index=self.u(at + 4, 4) & 0xFFFFF)
            row["present"] |= schema.HAS_MIRROR_INDEX
            payload = at + 8
        else:
            self.need(at, 12, limit, "erspan-truncated")
            tail = self.u(at + 10, 2)
            payload = at + 12
            row.update(kind=3, timestamp_raw=self.u(at + 4, 4), security_group=self.u(at + 8, 2))
            row.update(hw_id=tail >> 4 & 0x3F, direction=tail >> 3 & 1, granularity=tail >> 1 & 3)
            row["present"] |= schema.HAS_MIRROR_TIMESTAMP | schema.HAS_MIRROR_TYPE_3
            frame_type = tail >> 10 & 0x1F
            if tail & 1:
                self.need(at, 20, limit, "erspan-truncated")
                subheader = self.u(at + 12, 8)
                row.update(platform_id=subheader >> 58, platform_info=subheader & ((1 << 58) - 1))
                row["present"] |= schema.HAS_MIRROR_PLATFORM
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

    def lumina(self, at: int, end: int, limit: int, level: int) -> None:
        """A mirrored copy of Lumina (§5.2), from its UDP payload on."""
        if self.packet["ip_version"] != 4:
            return
        self.packet["tunnels"] |= TUNNEL_BIT["lumina"]
        row = blank(schema.MIRRORS)
        row.update(packet=0, kind=4, event=self.packet["ttl"], present=schema.HAS_MIRROR_EVENT)
        if self.link_type == 1 and level == 0 and not self.in_report:
            row.update(timestamp_raw=self.u(0, 6), sequence=self.u(8, 4))
            row["present"] |= schema.HAS_MIRROR_TIMESTAMP | schema.HAS_MIRROR_SEQUENCE
        self.mirrors.append(row)
        self.packet.update(src_port=self.udp_checksum, dst_port=4791)
        if row["event"] == 3:
            self.packet["ip_id"] ^= 0xFFFF
        self.transport_roce(at, end, limit)
