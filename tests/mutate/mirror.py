"""Mirrored copies whose header fields were used again."""

from __future__ import annotations

import struct

from .number import LUMINA_PORT

NONE, DROP, ECN, BIT_ERROR = range(4)


def lumina(
    frame: bytes, *, time: int = 0x0123456789AB, sequence: int = 7, event: int = NONE, port: int = LUMINA_PORT, source: int = 999
) -> bytes:
    """A RoCEv2 frame (IPv4, no options) as Lumina mirrors it: time and sequence as MAC addresses, the event as TTL, the old source port as
    UDP checksum."""
    changed = bytearray(frame)
    changed[0:6] = time.to_bytes(6, "big")
    changed[6:12] = sequence.to_bytes(6, "big")
    changed[22] = event
    if event == BIT_ERROR:
        changed[18] ^= 0xFF
        changed[19] ^= 0xFF
    changed[40:42] = frame[34:36]
    struct.pack_into("!HH", changed, 34, source, port)
    return bytes(changed)
