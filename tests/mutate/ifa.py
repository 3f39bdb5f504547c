"""IFA 2.0 around any transport."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

from .frame import ethernet, ethertype, ip4, ip6
from .number import IFA

CHECKSUM, TURN_AROUND, INBAND, TAIL_STAMP, FRAGMENT = 1, 2, 4, 8, 16


def ifa_record(**fields: int) -> bytes:
    """One hop's 32 bytes."""
    value = {"lns": 15, "device": 1, "ttl": 63, "speed": 6, "ecn": 2, "queue": 3, "seconds": 0x12345, "egress": 9, "ingress": 5}
    value |= {"nanoseconds": 500_000_000, "latency": 700, "queue_bytes": 160, "cells": 2, **fields}
    head = value["lns"] << 28 | value["device"] << 8 | value["ttl"]
    time = value["speed"] << 28 | value["ecn"] << 26 | value["queue"] << 20 | value["seconds"]
    ports = struct.pack("!HH", value["egress"], value["ingress"])
    rest = struct.pack("!IIIHHI", value["nanoseconds"], value["latency"], value["queue_bytes"], 0, value["cells"], 0)
    return struct.pack("!II", head, time) + ports + rest


def random_record(rng: random.Random) -> bytes:
    """A hop with random items, some of them of ones or zero."""
    widths = {"device": 20, "ttl": 8, "speed": 4, "ecn": 2, "queue": 6, "seconds": 20, "egress": 16, "ingress": 16, "nanoseconds": 32}
    widths |= {"latency": 32, "queue_bytes": 32, "cells": 16}
    return ifa_record(
        **{name: rng.choice((rng.randrange(1 << width), rng.randrange(1 << width), 0, (1 << width) - 1)) for name, width in widths.items()}
    )


def ifa_metadata(records: Sequence[bytes], *, request: int = 0, action: int = 0, hop_limit: int = 126, words: int | None = None) -> bytes:
    """Metadata header and stack of hops in path order; the wire has the newest first."""
    stack = b"".join(reversed(records))
    return struct.pack("!BBBB", request, action, hop_limit, min(len(stack) // 4, 255) if words is None else words) + stack


def ifa_frame(
    records: Sequence[bytes],
    frame: bytes,
    *,
    version: int = 2,
    namespace: int = 15,
    flags: int = INBAND,
    most: int = 255,
    protocol: int = IFA,
    metadata: bytes | None = None,
) -> bytes:
    """The IPv4 or IPv6 packet of a plain frame with IFA in it: metadata behind the transport header, its stack behind all (tail stamp)."""
    old = ethertype(frame) == 0x0800
    following = frame[23] if old else frame[20]
    inside = frame[14 + 4 * (frame[14] & 15) :] if old else frame[54:]
    size = {17: 8, 6: 4 * (inside[12] >> 4) if len(inside) > 12 else 20, 47: 4}.get(following, 0)
    if following == 47:
        size += 4 * ((inside[0] & 0xB0) >> 4).bit_count()
    header = struct.pack("!BBBB", version << 4 | namespace, following, flags, most)
    body = ifa_metadata(records) if metadata is None else metadata
    carried = header + inside[:size] + (body[:4] + inside[size:] + body[4:] if flags & TAIL_STAMP else body + inside[size:])
    if old:
        return bytes(ethernet(0x0800) / ip4(protocol) / carried)
    return bytes(ethernet(0x86DD) / ip6(protocol) / carried)
