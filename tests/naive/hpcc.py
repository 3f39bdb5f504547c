"""The INT header of HPCC: as its paper draws it, and as its simulator writes it."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# hpcc      UDP port of the profile's hpcc_ports, not behind INT; believed; all at the header
#   paper   number of hops 4 bits, path id 12, then 8 bytes a hop, the oldest first
#           2 bytes beyond the UDP end; not in avail               hpcc-length; hpcc-truncated        (from here on: format)
#           hops beyond the UDP end                                hpcc-length
#           hops not in avail (the newest): hpcc-truncated at the first of them, the others stand, HOP_TRUNCATED_PATH, the reading ends
#   ns3     42 bytes, little-endian; five places, number of hops last. Hop n stands in place n mod 5.
#           42 bytes beyond the UDP end; not in avail              hpcc-length; hpcc-truncated        (from here on: format)
#           more than 255 hops                                     hpcc-length
#           more than 5: the older ones were written over, HOP_TRUNCATED_PATH
#           egress time, bytes sent, depth; speed by the simulator's codes 0 to 4 only. namespace = path id, telemetry_bytes = the header.
#           behind: RoCE if a plausible BTH begins there, else ok.

from __future__ import annotations

from typing import Any

from int_analyzer import schema

from .base import Base, Stop, blank

GBIT = 10**9
SPEEDS = (25 * GBIT, 50 * GBIT, 100 * GBIT, 200 * GBIT, 400 * GBIT)


class Hpcc(Base):
    """HPCC."""

    def hpcc(self, at: int, end: int, limit: int) -> None:
        """The header (§16), and the BTH behind it."""
        behind = self.hpcc_simulated(at, end, limit) if self.profile["hpcc_layout"] == "ns3" else self.hpcc_drawn(at, end, limit)
        if self.plausible_bth(behind, limit):
            self.transport_roce(behind, end, limit)

    def hpcc_inside(self, at: int, size: int, end: int, limit: int) -> None:
        """So many bytes of the header are declared and captured."""
        if at + size > end:
            raise Stop("hpcc-length", at)
        self.need(at, size, limit, "hpcc-truncated")

    def hpcc_drawn(self, at: int, end: int, limit: int) -> int:
        """The figure of the paper; gives its end."""
        self.hpcc_inside(at, 2, end, limit)
        self.found(schema.FORMAT_HPCC)
        word = self.u(at, 2)
        count = word >> 12
        behind = at + 2 + 8 * count
        if behind > end:
            raise Stop("hpcc-length", at)
        whole = min(count, (limit - at - 2) // 8)
        hops = []
        for number in range(whole):
            value = self.u(at + 2 + 8 * number, 8)
            hops.append(self.hpcc_hop(value >> 36 & 0xFFFFFF, value >> 16 & 0xFFFFF, value & 0xFFFF))
        self.hpcc_take(hops, 0, "hpcc-paper", 2 + 8 * count, whole < count, word & 0xFFF)
        if whole < count:
            raise Stop("hpcc-truncated", at + 2 + 8 * whole)
        return behind

    def hpcc_simulated(self, at: int, end: int, limit: int) -> int:
        """The 42 bytes of the simulator; gives their end."""
        self.hpcc_inside(at, 42, end, limit)
        self.found(schema.FORMAT_HPCC)
        count = int.from_bytes(self.data[at + 40 : at + 42], "little")
        if count > 255:
            raise Stop("hpcc-length", at)
        kept = min(count, 5)
        hops = []
        for number in range(count - kept, count):
            place = at + 8 * (number % 5)
            value = int.from_bytes(self.data[place : place + 8], "little")
            hop = self.hpcc_hop(value >> 3 & 0xFFFFFF, value >> 27 & 0xFFFFF, value >> 47)
            if value & 7 < len(SPEEDS):
                hop["port_speed_bps"] = SPEEDS[value & 7]
                hop["present"] |= schema.HAS_SPEED
            hops.append(hop)
        self.hpcc_take(hops, count - kept, "hpcc-ns3", 42, count > 5, 0)
        return at + 42

    def hpcc_take(self, hops: list[dict[str, Any]], missing: int, dialect: str, size: int, truncated: bool, path: int) -> None:
        """Hops in path order become those of the packet."""
        if truncated:
            for hop in hops:
                hop["present"] |= schema.HOP_TRUNCATED_PATH
        self.telemetry(schema.FORMAT_HPCC, hops, missing, dialect, namespace=path, telemetry_bytes=size)

    @staticmethod
    def hpcc_hop(time: int, sent: int, queue: int) -> dict[str, Any]:
        """One hop of either layout."""
        hop = blank(schema.HOPS)
        hop.update(egress_time_raw=time, tx_bytes_raw=sent, queue_depth_raw=queue)
        hop["present"] = schema.HAS_EGRESS_TIME | schema.HAS_TX_BYTES | schema.HAS_DEPTH
        return hop
