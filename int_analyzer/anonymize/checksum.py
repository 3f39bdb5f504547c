"""Checksums of a packet whose addresses have changed: what was right is right again, what was wrong stays wrong, 0 stays 0.

Sources: RFC 1071 and 1624 (internet checksum), RFC 768, RFC 8200 §8.1 (pseudo headers), IBTA Annex A17 (ICRC).
"""

from __future__ import annotations

from typing import NamedTuple

from int_analyzer.wire.checksum import folded, internet_sum
from int_analyzer.wire.icrc import ICRC_BYTES, icrc

_UDP = 17


class Network(NamedTuple):
    """An IP header: its version, where it begins, and where the last address of its route stands (its destination if it has none)."""

    version: int
    at: int
    destination: int

    def moved(self, by: int) -> Network:
        """The same in a packet that begins `by` bytes later."""
        return Network(self.version, self.at + by, self.destination + by)

    @property
    def addresses(self) -> tuple[slice, slice]:
        """Source and destination of the pseudo header."""
        size = 4 if self.version == 4 else 16
        source = self.at + (12 if self.version == 4 else 8)
        return slice(source, source + size), slice(self.destination, self.destination + size)


class Sum(NamedTuple):
    """An internet checksum at `at` over [begin, end), of which the bytes before `limit` are there; `network` gives its pseudo header."""

    at: int
    begin: int
    end: int
    limit: int
    network: Network | None = None
    protocol: int = 0

    def apply(self, old: bytes, new: bytearray) -> None:
        """Write the checksum of `new`. `old` are the same bytes before the change."""
        written = int.from_bytes(old[self.at : self.at + 2], "big")
        if written == 0:
            return
        if self.end > self.limit:
            value = self._adjusted(written, old, new)
        else:
            value = ~self._of(new, written=False) & 0xFFFF
            if self._of(old, written=True) != 0xFFFF:
                value ^= 0x8000
        if value == 0 and self.protocol == _UDP:
            value = 0xFFFF
        new[self.at : self.at + 2] = value.to_bytes(2, "big")

    def moved(self, by: int) -> Sum:
        """The same in a packet that begins `by` bytes later."""
        network = self.network.moved(by) if self.network is not None else None
        return Sum(self.at + by, self.begin + by, self.end + by, self.limit + by, network, self.protocol)

    def _of(self, data: bytes | bytearray, written: bool) -> int:
        """Ones' complement sum of everything covered, with or without the checksum itself."""
        total = _sum(data, slice(self.begin, self.end))
        if not written:
            total = folded(total + (~int.from_bytes(data[self.at : self.at + 2], "big") & 0xFFFF))
        if self.network is not None:
            source, destination = self.network.addresses
            total += _sum(data, source) + _sum(data, destination) + self.protocol + self.end - self.begin
        return folded(total)

    def _adjusted(self, written: int, old: bytes, new: bytearray) -> int:
        """The checksum written in `old`, changed by what has changed in what is there of the packet (RFC 1624)."""
        total = ~written & 0xFFFF
        covered = [slice(self.begin, self.at), slice(self.at + 2, self.limit)]
        if self.network is not None:
            covered += self.network.addresses
        for part in covered:
            total += (~_sum(old, part) & 0xFFFF) + _sum(new, part)
        return ~folded(total) & 0xFFFF


class Icrc(NamedTuple):
    """The invariant CRC in the last 4 bytes before `end`: IP header, UDP header and BTH are found, `port` is the destination port that
    the sender wrote."""

    network: Network
    udp: int
    bth: int
    end: int
    port: int

    def apply(self, old: bytes, new: bytearray) -> None:
        """Write the CRC of `new`; one that was wrong becomes wrong anew."""
        at = self.end - ICRC_BYTES
        value = self._of(new)
        if self._of(old) != old[at : self.end]:
            value = bytes(byte ^ 0xFF for byte in value)
        new[at : self.end] = value

    def moved(self, by: int) -> Icrc:
        """The same in a packet that begins `by` bytes later."""
        return Icrc(self.network.moved(by), self.udp + by, self.bth + by, self.end + by, self.port)

    def _of(self, data: bytes | bytearray) -> bytes:
        """The 4 bytes on the wire for the packet as it was sent."""
        value = icrc(data, self.network.version, self.network.at, self.udp, self.bth, self.end, self.port)
        return value.to_bytes(ICRC_BYTES, "big")


Fix = Sum | Icrc


def _sum(data: bytes | bytearray, part: slice) -> int:
    return internet_sum(data, part.start, part.stop)
