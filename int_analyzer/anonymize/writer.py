"""Writing of captures: records with new bytes, in the byte order and with the clocks of the capture they come from.

Of a pcapng what could name somebody is left out: hardware, operating system and program, comments, descriptions, filters and addresses
of interfaces, name resolution, decryption secrets, custom blocks. Sources: as in capture/pcapng.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from int_analyzer.capture import pcapng
from int_analyzer.capture.interface import UNUSABLE, Interface
from int_analyzer.capture.records import (
    CAPTURED,
    DATA,
    ENHANCED_PACKET,
    FRAMING_LITTLE,
    INTERFACE,
    INTERFACE_DESCRIPTION,
    NEXT_RECORD,
    OLD_PACKET,
    ORIGINAL,
    SECTION_HEADER,
    SIMPLE_PACKET,
)
from int_analyzer.errors import IntAnalyzerError

_PCAP_LINK_AT = 20
_BYTE_ORDER = 0x1A2B3C4D
_END, _NAME, _SPEED, _RESOLUTION, _OFFSET = 0, 2, 8, 9, 14
_RESOLUTION_THAT_CANNOT_BE = 0x7F
_PACKET_FLAGS, _PACKET_DROPS = 2, 4


class PcapWriter:
    """Classic pcap. Times are shifted by `shift_s` seconds."""

    def __init__(self, target: BinaryIO, shift_s: int) -> None:
        self._target, self._shift = target, shift_s

    def header(self, header: memoryview) -> None:
        """The file header, without the note of a frame check sequence: that is dropped with all that is behind a packet."""
        little = bytes(header[:4]) in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")
        order = "<" if little else ">"
        (link,) = struct.unpack_from(f"{order}I", header, _PCAP_LINK_AT)
        self._target.write(bytes(header[:_PCAP_LINK_AT]) + struct.pack(f"{order}I", link & 0xFFFF))

    def record(self, view: memoryview, record: list[int], framing: Any, packet: bytes) -> None:
        """One record: time as it was, `packet` in place of the captured bytes, the length on the wire as it was."""
        order = "<" if framing[FRAMING_LITTLE] else ">"
        seconds, fraction = struct.unpack_from(f"{order}II", view, record[DATA] - 16)
        shifted = _within(seconds + self._shift, 32)
        self._target.write(struct.pack(f"{order}IIII", shifted, fraction, len(packet), record[ORIGINAL]) + packet)


class PcapngWriter:
    """pcapng: sections, interfaces and enhanced packet blocks. Times are shifted by `shift_s` seconds."""

    def __init__(self, target: BinaryIO, shift_s: int) -> None:
        self._target, self._shift = target, shift_s
        self._interfaces: list[Interface] = []

    def control(self, view: memoryview, at: int, stop: int, framing: Any) -> None:
        """The section header or interface description at `at`, which has been read without a fault."""
        order = "<" if framing[FRAMING_LITTLE] else ">"
        section = pcapng.read_section(view, at, stop) if bytes(view[at : at + 4]) == pcapng.SECTION_MAGIC else None
        if section is not None:
            self._interfaces = []
            self._block(order, SECTION_HEADER, struct.pack(f"{order}IHHq", _BYTE_ORDER, *section.version, -1))
            return
        found = pcapng.read_interface(view, at, stop, bool(framing[FRAMING_LITTLE]), 0, len(self._interfaces))
        if found is not None:
            interface = found[0]
            self._interfaces.append(interface)
            body = struct.pack(f"{order}HHI", interface.link, 0, interface.snaplen)
            self._block(order, INTERFACE_DESCRIPTION, body + b"".join(_interface_options(order, interface)))

    def record(self, view: memoryview, record: list[int], framing: Any, packet: bytes) -> None:
        """One packet, whatever its block was: only an enhanced packet block can say that fewer bytes are there than were on the wire."""
        order = "<" if framing[FRAMING_LITTLE] else ">"
        (length,) = struct.unpack_from(f"{order}I", view, record[NEXT_RECORD] - 4)
        block = record[NEXT_RECORD] - length
        (kind,) = struct.unpack_from(f"{order}I", view, block)
        # a simple packet block has no time: 0 says that too, unless its interface has an offset
        ticks = 0
        options = b""
        if kind != SIMPLE_PACKET:
            high, low = struct.unpack_from(f"{order}II", view, block + 12)
            ticks = self._shifted((high << 32) + low, self._interfaces[record[INTERFACE]])
        if kind in (ENHANCED_PACKET, OLD_PACKET):
            begin = record[DATA] + record[CAPTURED] + -record[CAPTURED] % 4
            options = _packet_options(order, view[begin : record[NEXT_RECORD] - 4])
        head = struct.pack(f"{order}IIIII", record[INTERFACE], ticks >> 32, ticks & 0xFFFFFFFF, len(packet), record[ORIGINAL])
        self._block(order, ENHANCED_PACKET, head + packet + bytes(-len(packet) % 4) + options)

    def _shifted(self, ticks: int, interface: Interface) -> int:
        if self._shift == 0 or interface.resolution == UNUSABLE:
            return ticks
        unit = 2 if interface.binary else 10
        return _within(ticks + self._shift * unit**interface.resolution, 64)

    def _block(self, order: str, kind: int, body: bytes) -> None:
        length = struct.pack(f"{order}I", len(body) + 12)
        self._target.write(struct.pack(f"{order}I", kind) + length + body + length)


def _interface_options(order: str, interface: Interface) -> Iterator[bytes]:
    if interface.name:
        yield _option(order, _NAME, interface.name.encode())
    if interface.speed_bps is not None:
        yield _option(order, _SPEED, struct.pack(f"{order}Q", interface.speed_bps))
    resolution = _RESOLUTION_THAT_CANNOT_BE if interface.resolution == UNUSABLE else interface.resolution
    if interface.binary or resolution != 6:
        yield _option(order, _RESOLUTION, bytes([resolution | (0x80 if interface.binary else 0)]))
    if interface.offset_s:
        yield _option(order, _OFFSET, struct.pack(f"{order}q", interface.offset_s))
    yield _option(order, _END, b"")


def _packet_options(order: str, options: memoryview) -> bytes:
    """Direction and drop count of a packet; comments and hashes are left out."""
    kept, at = b"", 0
    while len(options) - at >= 4:
        code, length = struct.unpack_from(f"{order}HH", options, at)
        if code == _END or at + 4 + length > len(options):
            break
        if code in (_PACKET_FLAGS, _PACKET_DROPS):
            kept += _option(order, code, bytes(options[at + 4 : at + 4 + length]))
        at += 4 + length + -length % 4
    return kept + _option(order, _END, b"") if kept else b""


def _option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)


def _within(value: int, bits: int) -> int:
    if 0 <= value < 1 << bits:
        return value
    raise IntAnalyzerError("--shift-time moves a packet out of the times that a capture can hold")
