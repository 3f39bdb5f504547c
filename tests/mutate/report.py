"""Telemetry reports."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from .frame import udp_frame
from .number import REPORT_PORT


def report_1(
    inner: bytes, metadata: Mapping[int, int] | None = None, *, protocol: int = 0, flags: int = 1, length: int | None = None
) -> bytes:
    """Payload of a telemetry report v1.0: `metadata` is a 32-bit value by bit of RepMdBits, `flags` are D, Q, F."""
    metadata = dict(metadata or {})
    chosen = sum(32 >> bit for bit in metadata)
    words = 4 + len(metadata) if length is None else length
    head = struct.pack("!IIII", 1 << 28 | words << 24 | protocol << 21 | chosen << 15 | flags << 6 | 5, 77, 41, 1000)
    return head + b"".join(metadata[bit].to_bytes(4, "big") for bit in sorted(metadata)) + inner


def single_report(
    inner: bytes,
    inner_type: int,
    *,
    metadata: Mapping[int, int] | None = None,
    report_type: int | None = None,
    flags: int = 2,
    length: int | None = None,
    metadata_words: int | None = None,
) -> bytes:
    """One individual report of v2.0: `metadata` is a value by bit of RepMdBits (None: RepType 0), `flags` are D, Q, F, I."""
    kind = (0 if metadata is None else 1) if report_type is None else report_type
    items = b"".join(value.to_bytes(8 if bit in (4, 5, 6) else 4, "big") for bit, value in sorted((metadata or {}).items()))
    fixed = b"" if metadata is None else struct.pack("!HHHH", sum(0x8000 >> bit for bit in metadata), 0, 0, 0)
    body = fixed + items + inner + bytes(-len(inner) % 4)
    words = len(items) // 4 if metadata_words is None else metadata_words
    return struct.pack("!BBBB", kind << 4 | inner_type, len(body) // 4 if length is None else length, words, flags << 4) + body


def report_2(*reports: bytes, node: int = 77, sequence: int = 5) -> bytes:
    """Payload of a telemetry report v2.0: group header and individual reports."""
    return struct.pack("!II", 2 << 28 | 3 << 22 | sequence, node) + b"".join(reports)


def report_1_frame(inner: bytes) -> bytes:
    """A frame in a telemetry report v1.0 with one hop of its own."""
    return udp_frame(report_1(inner, {2: 0x03000009}), REPORT_PORT)
