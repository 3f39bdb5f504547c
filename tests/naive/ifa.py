"""IFA 2.0: a header in front of the transport, metadata behind the transport's header or at the end of the packet."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# ifa       protocol in the profile's ifa_protocols, also behind INT (NPT 2); all at the IFA header, all end the reading, but where said
#           4 bytes in avail                                       ifa-truncated
#           Ver neither 2 nor 3                                    ifa-version                        (then: format, protocol = NextHdr)
#           C or MF (their headers are not read)                   ifa-optional-header
#           NextHdr not 17, 6, 47                                  ifa-next-header
#           transport header (TCP with its options, GRE with its optional words) not whole: it is read as without IFA. TCP offset < 5: 20
#           bytes
#           metadata header beyond the declared IP end; not in avail        ifa-length; ifa-truncated
#           stack beyond the declared IP end; at the end (TS): it would begin in front of where metadata may     ifa-length
#           stack mod 32                                           ifa-not-whole-hops → on, no hops, telemetry stays what it was
#           records not in avail: ifa-stack-truncated at the first → on; whole ones are kept at their true position, HOP_TRUNCATED_PATH
#           Every item of a record is there, ones too; the speed only for codes 0 to 6. ECN, cells, LNS have no column.
#           telemetry ifa-2.0, dialect ifa-32, telemetry_flags the flags byte, instructions request << 8 | action, namespace GNS,
#           remaining_hops hop limit, telemetry_bytes 8 + stack.
#           behind: UDP payload `skip` bytes further on (4 + stack; TS: 4, and the packet ends where the stack begins). The UDP length
#           counts neither; a length that leads exactly to the end does. TCP: ports only, not-udp. GRE: its payload `skip` bytes further on.

from __future__ import annotations

from typing import Any

from int_analyzer import schema

from .base import Base, Stop, blank

RECORD = 32
GBIT = 10**9
SPEEDS = (10 * GBIT, 25 * GBIT, 40 * GBIT, 50 * GBIT, 100 * GBIT, 200 * GBIT, 400 * GBIT)


class Ifa(Base):
    """IFA."""

    def ifa(self, at: int, end: int, limit: int, level: int, first_fragment: bool, after_int: bool) -> None:
        """The IFA header (§15) and what it is around."""
        self.need(at, 4, limit, "ifa-truncated")
        version, namespace, protocol, flags = self.data[at] >> 4, self.data[at] & 15, self.data[at + 1], self.data[at + 2]
        if version not in (2, 3):
            raise Stop("ifa-version", at)
        self.found(schema.FORMAT_IFA)
        self.packet["protocol"] = protocol
        if flags & 0x11:
            raise Stop("ifa-optional-header", at)
        if protocol not in (17, 6, 47):
            raise Stop("ifa-next-header", at)
        size = self.ifa_transport_bytes(protocol, at + 4, limit)
        if size is None:
            self.transport(protocol, at + 4, end, limit, level, first_fragment, after_int)
            return
        metadata = at + 4 + size
        if metadata + 4 > end:
            raise Stop("ifa-length", at)
        self.need(metadata, 4, limit, "ifa-truncated", at)
        stack = 4 * self.data[metadata + 3]
        start = end - stack if flags & 8 else metadata + 4
        if start < metadata + 4 or start + stack > end:
            raise Stop("ifa-length", at)
        if stack % RECORD:
            self.fail("ifa-not-whole-hops", at)
        else:
            count = stack // RECORD
            whole = min(count, max(0, limit - start) // RECORD)
            hops = [self.ifa_record(start + number * RECORD) for number in range(whole)]
            if whole < count:
                self.fail("ifa-stack-truncated", start + whole * RECORD)
                for hop in hops:
                    hop["present"] |= schema.HOP_TRUNCATED_PATH
            self.telemetry(
                schema.FORMAT_IFA,
                hops[::-1],
                count - whole,
                "ifa-32",
                telemetry_flags=flags,
                instructions=self.u(metadata, 2),
                namespace=namespace,
                remaining_hops=self.data[metadata + 2],
                telemetry_bytes=8 + stack,
            )
        if flags & 8:
            self.ifa_payload(protocol, at + 4, start, min(limit, start), level, first_fragment, after_int, 4)
        else:
            self.ifa_payload(protocol, at + 4, end, limit, level, first_fragment, after_int, 4 + stack)

    def ifa_transport_bytes(self, protocol: int, at: int, limit: int) -> int | None:
        """Bytes of the transport header, None if it is not whole."""
        size = {17: 8, 6: 20, 47: 4}[protocol]
        if at + size > limit:
            return None
        if protocol == 6:
            size = max(20, 4 * (self.data[at + 12] >> 4))
        elif protocol == 47:
            flags = self.data[at]
            size += 4 * sum(1 for bit in (0x80, 0x20, 0x10) if flags & bit)
        return size if at + size <= limit else None

    def ifa_payload(
        self, protocol: int, at: int, end: int, limit: int, level: int, first_fragment: bool, after_int: bool, skip: int
    ) -> None:
        """What the transport carries behind `skip` bytes of IFA."""
        if protocol == 17:
            self.udp(at, end, limit, level, first_fragment, after_int, skip)
        elif protocol == 47:
            self.gre(at, end, limit, level, skip)
        else:
            self.packet.update(src_port=self.u(at, 2), dst_port=self.u(at + 2, 2))
            raise Stop("not-udp", at)

    def ifa_record(self, at: int) -> dict[str, Any]:
        """One hop's record (§15)."""
        hop = blank(schema.HOPS)
        word, time = self.u(at, 4), self.u(at + 4, 4)
        hop.update(node_id=word >> 8 & 0xFFFFF, hop_limit=word & 0xFF, queue_id=time >> 20 & 0x3F)
        hop.update(egress_port=self.u(at + 8, 2), ingress_port=self.u(at + 10, 2))
        hop.update(ingress_time_raw=(time & 0xFFFFF) * 10**9 + self.u(at + 12, 4))
        hop.update(hop_latency_raw=self.u(at + 16, 4), queue_depth_raw=self.u(at + 20, 4))
        hop["present"] = schema.HAS_NODE | schema.HAS_HOP_LIMIT | schema.HAS_QUEUE | schema.HAS_EGRESS_PORT | schema.HAS_INGRESS_PORT
        hop["present"] |= schema.HAS_INGRESS_TIME | schema.HAS_LATENCY | schema.HAS_DEPTH
        if time >> 28 < len(SPEEDS):
            hop["port_speed_bps"] = SPEEDS[time >> 28]
            hop["present"] |= schema.HAS_SPEED
        return hop
