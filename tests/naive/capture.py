"""Classic pcap files."""

from __future__ import annotations

import struct
from pathlib import Path


def read_pcap(path: str | Path) -> tuple[int, list[tuple[int, int, bytes]]]:
    """Link type and records (time in ns, original length, bytes) of a classic pcap that is whole."""
    content = Path(path).read_bytes()
    magic = content[:4]
    order = "<" if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    (value,) = struct.unpack(order + "I", magic)
    if value not in (0xA1B2C3D4, 0xA1B23C4D):
        raise ValueError(f"{path}: not a classic pcap")
    unit = 1000 if value == 0xA1B2C3D4 else 1
    (link_type,) = struct.unpack_from(order + "I", content, 20)
    records = []
    at = 24
    while at < len(content):
        seconds, fraction, captured, original = struct.unpack_from(order + "IIII", content, at)
        records.append((seconds * 1_000_000_000 + fraction * unit, original, content[at + 16 : at + 16 + captured]))
        at += 16 + captured
    return link_type & 0xFFFF, records
