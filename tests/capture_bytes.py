"""Captures byte by byte, as the specifications draw them: what the capture tests read back."""

from __future__ import annotations

import struct

SECTION, INTERFACE, OLD_PACKET, SIMPLE_PACKET, STATISTICS, ENHANCED_PACKET = 0x0A0D0D0A, 1, 2, 3, 5, 6
CUSTOM = 0x0BAD

PCAP_MAGICS = {("<", 6): "d4c3b2a1", (">", 6): "a1b2c3d4", ("<", 9): "4d3cb2a1", (">", 9): "a1b23c4d"}
"""Byte order and decimals of the time: the first four bytes of the file."""


def pcap_header(order: str = "<", decimals: int = 6, link: int = 1, snaplen: int = 65535, version: tuple[int, int] = (2, 4)) -> bytes:
    """A file header; `link` is the whole link type word."""
    return bytes.fromhex(PCAP_MAGICS[order, decimals]) + struct.pack(order + "HHiIII", *version, 0, 0, snaplen, link)


def pcap_record(data: bytes, seconds: int = 0, fraction: int = 0, original: int | None = None, order: str = "<") -> bytes:
    """A record with the fraction in the unit of its file."""
    return struct.pack(order + "IIII", seconds, fraction, len(data), len(data) if original is None else original) + data


def padded(data: bytes) -> bytes:
    """`data` and zeros to a multiple of 4."""
    return data + bytes(-len(data) % 4)


def option(code: int, value: bytes, order: str = "<") -> bytes:
    """One option, padded."""
    return struct.pack(order + "HH", code, len(value)) + padded(value)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    """A block around a body whose length is a multiple of 4."""
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def section(order: str = "<", options: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """A section header of unknown section length."""
    return block(SECTION, struct.pack(order + "IHHq", 0x1A2B3C4D, *version, -1) + options, order)


def interface(order: str = "<", link: int = 1, snaplen: int = 0, options: bytes = b"") -> bytes:
    """An interface description."""
    return block(INTERFACE, struct.pack(order + "HHI", link, 0, snaplen) + options, order)


def clock(resolution: int, offset: int = 0, order: str = "<") -> bytes:
    """The options if_tsresol (the byte as on the wire) and if_tsoffset, and the end of options."""
    return option(9, bytes((resolution,)), order) + option(14, struct.pack(order + "q", offset), order) + option(0, b"", order)


def enhanced(data: bytes, ticks: int = 0, number: int = 0, order: str = "<", original: int | None = None, options: bytes = b"") -> bytes:
    """An enhanced packet block of interface `number`."""
    wire = len(data) if original is None else original
    head = struct.pack(order + "IIIII", number, ticks // 2**32, ticks % 2**32, len(data), wire)
    return block(ENHANCED_PACKET, head + padded(data) + options, order)


def old(data: bytes, ticks: int = 0, number: int = 0, order: str = "<") -> bytes:
    """An obsolete packet block: interface and drop count have 16 bits each."""
    head = struct.pack(order + "HHIIII", number, 0xFFFF, ticks // 2**32, ticks % 2**32, len(data), len(data))
    return block(OLD_PACKET, head + padded(data), order)


def simple(data: bytes, original: int | None = None, order: str = "<") -> bytes:
    """A simple packet block: no time, interface 0."""
    return block(SIMPLE_PACKET, struct.pack(order + "I", len(data) if original is None else original) + padded(data), order)


def small_pcap() -> bytes:
    """Three records of 5, 0 and 8 bytes."""
    return pcap_header() + pcap_record(b"first", 1, 2) + pcap_record(b"", 3) + pcap_record(b"thirdone", 4, 5)


def small_pcapng() -> bytes:
    """Three packets in three kinds of blocks, a block to be skipped, options, and a second section of the other byte order."""
    first = (
        section(options=option(4, b"writer") + option(0, b"")) + interface(options=option(2, b"eth0") + clock(9)) + enhanced(b"first", 7)
    )
    second = section(">") + interface(">") + old(b"third", 3, order=">")
    return first + block(CUSTOM, b"skip") + simple(b"second") + second
