"""Packets cut, changed, or made of nothing but chance."""

from __future__ import annotations

import random
from collections.abc import Iterator

from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from .frame import ethernet, ip4, ipv4_frame, tcp_frame, udp_header
from .number import INT_PORT, ROCE_PORT


def cuts(data: bytes) -> Iterator[bytes]:
    """Every beginning of a packet, the empty one included, the whole one not."""
    for size in range(len(data)):
        yield data[:size]


def byte_changes(data: bytes, seed: int) -> Iterator[bytes]:
    """Each byte in turn set to 0, to 255, and xored with a random value."""
    rng = random.Random(seed)
    for at, value in enumerate(data):
        for changed in {0, 255, value ^ rng.randrange(1, 256)} - {value}:
            yield data[:at] + bytes([changed]) + data[at + 1 :]


def scrambled(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Several bytes changed at once, mostly behind the headers, where lengths and types of telemetry stand."""
    rng = random.Random(seed)
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(rng.randrange(2, 9)):
            at = rng.randrange(len(changed)) if rng.random() < 0.3 else min(len(changed) - 1, 34 + int(rng.expovariate(1 / 24)))
            changed[at] = rng.choice((0, 1, 2, 4, 0x10, 0x14, 0x20, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        yield bytes(changed[: rng.randrange(len(changed) + 1)] if rng.random() < 0.3 else changed)


def damaged(rng: random.Random, frame: bytes) -> bytes:
    """A frame as it is, or with a few bytes changed, or cut."""
    if rng.random() < 0.5:
        changed = bytearray(frame)
        for _ in range(rng.randrange(1, 4)):
            changed[min(len(changed) - 1, 14 + int(rng.expovariate(1 / 48)))] = rng.choice((0, 1, 3, 8, 0x20, 0xFF, rng.randrange(256)))
        frame = bytes(changed)
    return frame[: rng.randrange(len(frame) + 1)] if rng.random() < 0.3 else frame


def junk(seed: int, count: int) -> Iterator[bytes]:
    """Random bytes, bare and behind an Ethernet/IP/UDP header that leads into each of the decoders."""
    rng = random.Random(seed)
    ports = (ROCE_PORT, 4789, 8472, 4790, 6081, INT_PORT, 32766, 9)
    starts = (b"", b"\x01\x00", b"\x10", b"\x14", b"\x18", b"\x30", b"\x20", b"\x14\x00\x00\x40", b"\x02\x20", b"\x08", b"\x0c\x00\x00\x82")
    starts += (
        b"\x0c\x00\x00\x82\x00\x00\x00\x00\x10\x05\x80\x03\x20\x00\x01",
        b"\x0c\x00\x00\x08\x00\x00\x00\x00\x01\x00\x05\x03\x10\x00\x01",
        b"\x06\x00\x65\x58\x00\x00\x00\x00\x01\x03\x01\x05\x20\x00\x01",
        b"\x00\x00\x88\xb6\x10\x05\x65\x58\x20\x00\x01",
        b"\x01\x00\x05\x00\x00\x01",
    )
    for number in range(count):
        body = rng.choice(starts) + rng.randbytes(rng.randrange(120))
        kind = number % 6
        if kind == 0:
            yield rng.randbytes(rng.randrange(160))
        elif kind == 1:
            yield bytes(Ether(dst="02:00:00:00:00:0b", src="02:00:00:00:00:0a") / IP(src="10.0.0.1", dst="10.0.0.2", proto=47) / Raw(body))
        elif kind == 2:
            options = bytes([rng.choice((0x31, 0x11, 1, 5)), rng.randrange(64)]) + rng.randbytes(rng.randrange(8, 100))
            header = IPv6(src="2001:db8::1", dst="2001:db8::2", nh=rng.choice((0, 60, 43, 44)))
            yield bytes(ethernet(0x86DD) / header / Raw(bytes([17, rng.randrange(14)]) + options))
        elif kind == 3:
            yield tcp_frame(body, options=rng.randbytes(4 * rng.randrange(4)), offset=rng.choice((None, None, rng.randrange(16))))
        elif kind == 4:
            size = rng.randrange(4, 40)
            options = rng.choice((b"", b"\x01")) + bytes([0x1F, size, 0, rng.choice((size - 4 >> 3, rng.randrange(6)))]) + rng.randbytes(36)
            yield ipv4_frame(options[: 4 * rng.randrange(1, 11)], bytes(udp_header(ROCE_PORT)) + body)
        else:
            yield bytes(Ether(dst="02:00:00:00:00:0b", src="02:00:00:00:00:0a") / ip4() / udp_header(rng.choice(ports)) / Raw(body))
