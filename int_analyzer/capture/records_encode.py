"""Writing of capture files: their heads, and the record of a packet whose bytes are already there (pcap with nanoseconds, pcapng).

Sources: libpcap sf-pcap.c; draft-ietf-opsawg-pcapng §4.1-4.3.
"""

from __future__ import annotations

import struct

from int_analyzer._jit import kernel
from int_analyzer.capture.records import ENHANCED_PACKET, INTERFACE_DESCRIPTION, KIND_PCAP, KIND_PCAPNG, SECTION_HEADER
from int_analyzer.wire.ethernet import LINK_ETHERNET
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_le32, put_zeros

RECORD_ROOM = 40
"""More bytes than a record has around its packet."""

_PCAP_HEAD, _BLOCK_HEAD = 16, 28
_NANOSECONDS = 1_000_000_000
_PCAP_NANOSECONDS, _BYTE_ORDER = 0xA1B23C4D, 0x1A2B3C4D
_RESOLUTION, _END = 9, 0
_NO_LIMIT = 262144


def file_head(kind: int) -> bytes:
    """What stands before the records of an Ethernet capture with times in nanoseconds; `kind` is KIND_PCAP or KIND_PCAPNG."""
    if kind == KIND_PCAP:
        return struct.pack("<IHHiIII", _PCAP_NANOSECONDS, 2, 4, 0, 0, _NO_LIMIT, LINK_ETHERNET)
    section = struct.pack("<IHHq", _BYTE_ORDER, 1, 0, -1)
    resolution = struct.pack("<HHB3xHH", _RESOLUTION, 1, 9, _END, 0)
    return _block(SECTION_HEADER, section) + _block(INTERFACE_DESCRIPTION, struct.pack("<HHI", LINK_ETHERNET, 0, 0) + resolution)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


@kernel
def data_at(at: int, kind: int) -> int:
    """Where the packet of a record at `at` begins."""
    return at + (_BLOCK_HEAD if kind == KIND_PCAPNG else _PCAP_HEAD)


@kernel
def put_record(buffer: Buffer, at: int, kind: int, time_ns: int, captured: int, original: int) -> int:
    """What stands around the packet of a record at `at`: where the record ends."""
    if kind == KIND_PCAP:
        put_le32(buffer, at, time_ns // _NANOSECONDS)
        put_le32(buffer, at + 4, time_ns % _NANOSECONDS)
        put_le32(buffer, at + 8, captured)
        put_le32(buffer, at + 12, original)
        return at + _PCAP_HEAD + captured
    end = at + _BLOCK_HEAD + captured
    padding = -captured & 3
    length = _BLOCK_HEAD + captured + padding + 4
    put_le32(buffer, at, ENHANCED_PACKET)
    put_le32(buffer, at + 4, length)
    put_le32(buffer, at + 8, 0)
    put_le32(buffer, at + 12, time_ns >> 32)
    put_le32(buffer, at + 16, time_ns)
    put_le32(buffer, at + 20, captured)
    put_le32(buffer, at + 24, original)
    put_zeros(buffer, end, end + padding)
    put_le32(buffer, end + padding, length)
    return end + padding + 4
