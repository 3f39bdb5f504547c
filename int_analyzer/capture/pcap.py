"""The file header of a classic pcap.

Sources: libpcap sf-pcap.c, draft-ietf-opsawg-pcap.

     0               4       6       8             12        16        20
    +---------------+-------+-------+-------------+---------+---------+----------------+
    | magic         | major | minor | time zone   | sigfigs | snaplen | link type word |
    +---------------+-------+-------+-------------+---------+---------+----------------+

Link type word: bits 0-15 link type, bit 26 FCS length present, bits 28-31 FCS length in 16-bit units.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from int_analyzer.capture.interface import Interface

HEADER_BYTES = 24
LINK_AT = 20

MAGICS: dict[bytes, tuple[Literal["little", "big"], int]] = {
    b"\xa1\xb2\xc3\xd4": ("big", 6),
    b"\xd4\xc3\xb2\xa1": ("little", 6),
    b"\xa1\xb2\x3c\x4d": ("big", 9),
    b"\x4d\x3c\xb2\xa1": ("little", 9),
}
"""First four bytes: byte order, and v of the 10^-v s in which record times count their fraction."""

MODIFIED_MAGICS = frozenset((b"\xa1\xb2\xcd\x34", b"\x34\xcd\xb2\xa1"))
"""Kuznetzov's variant: 24 bytes before each packet. Its times look right and its packets do not, so it is refused."""

_FCS_PRESENT = 0x04000000
_FCS_UNIT = 0x10000000


class Header(NamedTuple):
    """Byte order (1 little-endian), version and the one interface of the file."""

    little: int
    version: tuple[int, int]
    interface: Interface


def read_header(data: bytes | memoryview) -> Header:
    """The header in the first 24 bytes, whose magic is one of MAGICS."""
    order, resolution = MAGICS[bytes(data[:4])]
    word = int.from_bytes(data[LINK_AT : LINK_AT + 4], order)
    interface = Interface(
        section=0,
        number=0,
        link=word & 0xFFFF,
        snaplen=int.from_bytes(data[16:20], order),
        fcs_bytes=word // _FCS_UNIT * 2 if word & _FCS_PRESENT else 0,
        resolution=resolution,
    )
    version = (int.from_bytes(data[4:6], order), int.from_bytes(data[6:8], order))
    return Header(int(order == "little"), version, interface)
