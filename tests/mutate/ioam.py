"""IOAM options of every type, in everything that carries them."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence

from .carrier import gpe, gre
from .frame import ethernet, ethertype, ip6
from .int_header import geneve_int, geneve_option
from .number import GENEVE_IOAM, GPE_IOAM

PREALLOCATED, INCREMENTAL, POT, E2E, DEX = range(5)
SNAPSHOT = 0x000002
Option = tuple[int, bytes]
"""IOAM option type, and what stands behind its head."""


def node_words(trace_type: int) -> int:
    """NodeLen of a trace type."""
    return sum(2 if bit in (8, 9, 10) else 1 for bit in range(22) if trace_type & 0x800000 >> bit)


def trace_node(rng: random.Random, trace_type: int) -> bytes:
    """Data of one node with random items, some of them of ones; with a snapshot of any length if the type has one."""
    data = b""
    for bit in range(22):
        if trace_type & 0x800000 >> bit:
            size = 8 if bit in (8, 9, 10) else 4
            data += rng.choice(
                (rng.randbytes(size), rng.randbytes(size), b"\xff" * size, bytes(size), b"\xff" * (size // 2) + bytes(size // 2))
            )
    if trace_type & SNAPSHOT:
        words = rng.randrange(4)
        data += struct.pack("!I", words << 24 | rng.randrange(1 << 24)) + rng.randbytes(4 * words)
    return data


def trace(
    nodes: Sequence[bytes],
    trace_type: int,
    *,
    namespace: int = 1,
    flags: int = 0,
    remaining: int = 0,
    length: int | None = None,
    free: int | None = None,
) -> bytes:
    """Trace header and data of nodes in path order (the wire has the newest first) behind `free` words, RemainingLen if not given."""
    word = (node_words(trace_type) if length is None else length) << 11 | flags << 7 | remaining
    room = bytes(4 * (remaining if free is None else free))
    return struct.pack("!HHI", namespace, word, trace_type << 8) + room + b"".join(reversed(nodes))


def incremental(nodes: Sequence[bytes], trace_type: int, **fields: int) -> bytes:
    """An incremental trace: RemainingLen is what may still come, nothing of it is in the packet."""
    return trace(nodes, trace_type, **{"free": 0, **fields})


def pot(packet_id: int, cumulative: int, *, namespace: int = 1, kind: int = 0, flags: int = 0) -> bytes:
    """Proof of transit of type 0."""
    return struct.pack("!HBBQQ", namespace, kind, flags, packet_id, cumulative)


def e2e(kind: int, *, namespace: int = 1, sequence: int = 0, seconds: int = 0, fraction: int = 0) -> bytes:
    """Edge to edge: the fields that the bitmap announces, in the order of its bits."""
    data = struct.pack("!HH", namespace, kind)
    for bit, value, size in ((0x8000, sequence, 8), (0x4000, sequence, 4), (0x2000, seconds, 4), (0x1000, fraction, 4)):
        if kind & bit:
            data += (value & (1 << 8 * size) - 1).to_bytes(size, "big")
    return data


def dex(extensions: int, trace_type: int = 0xD00000, *, namespace: int = 1, flags: int = 0, fields: Sequence[int] = ()) -> bytes:
    """Direct export: a word for every extension flag, flow id and sequence first."""
    words = [*fields, *range(8)][: extensions.bit_count()]
    return struct.pack("!HBBI", namespace, flags, extensions, trace_type << 8) + b"".join(word.to_bytes(4, "big") for word in words)


def ipv6_options(options: Sequence[Option], following: int, payload: bytes, *, header: int = 0, kind: int = 0x31) -> bytes:
    """A frame with IOAM options in one hop-by-hop (0) or destination (60) header, padded to where each must stand."""
    data = b"\x01\x00"
    for number, body in options:
        data += struct.pack("!BBBB", kind, 2 + len(body), 0, number) + body
        data += bytes(-(2 + len(data)) % 4)
    data += bytes(-(2 + len(data)) % 8)
    extension = bytes([following, (2 + len(data)) // 8 - 1]) + data
    outer = ip6(header)
    outer.plen = len(extension) + len(payload)
    return bytes(ethernet(0x86DD) / outer) + extension + payload


def ipv6_inline(options: Sequence[Option], frame: bytes, **places: int) -> bytes:
    """IOAM in the IPv6 header of the transport that a plain frame carries."""
    if ethertype(frame) == 0x86DD:
        return ipv6_options(options, frame[20], frame[54:], **places)
    return ipv6_options(options, frame[23], frame[14 + 4 * (frame[14] & 15) :], **places)


def ipv6_around(options: Sequence[Option], frame: bytes, **places: int) -> bytes:
    """IOAM in an IPv6 header around the IP packet of a plain frame."""
    return ipv6_options(options, 4 if ethertype(frame) == 0x0800 else 41, frame[14:], **places)


def chain(options: Sequence[Option], following: int, own: int, counted: int) -> bytes:
    """IOAM headers one after the other: `own` announces a further one, `counted` words of the head are in its length."""
    data = b""
    for number, (kind, body) in enumerate(options):
        data += struct.pack("!BBBB", kind, len(body) // 4 + counted, 0, own if number < len(options) - 1 else following) + body
    return data


def gpe_ioam(options: Sequence[Option], frame: bytes, *, protocol: int = 0x81, following: int = 3) -> bytes:
    """IOAM in VXLAN-GPE, whose length does not count its own first word."""
    return gpe(protocol, chain(options, following, protocol, 0) + frame)


def nsh(payload: bytes, following: int, *, kind: int = 1, context: bytes = bytes(16), version: int = 0, length: int | None = None) -> bytes:
    """A network service header (RFC 8300) of MD type `kind`."""
    words = 2 + len(context) // 4 if length is None else length
    return struct.pack("!HBBI", version << 14 | 63 << 6 | words, kind, following, 0x000123 << 8 | 254) + context + payload


def nsh_ioam(options: Sequence[Option], payload: bytes, *, following: int = 3, kind: int = 2, context: bytes = b"") -> bytes:
    """IOAM behind NSH, whose length counts its own first word."""
    return nsh(chain(options, following, 6, 1) + payload, 6, kind=kind, context=context)


def nsh_frames(packet: bytes) -> Iterator[tuple[str, bytes]]:
    """What carries NSH: Ethernet, VXLAN-GPE, GRE."""
    yield "ethernet", bytes(ethernet(0x894F)) + packet
    yield "vxlan-gpe", gpe(4, packet)
    yield "gre", gre(b"", 0x894F, packet)


def geneve_ioam(options: Sequence[Option], frame: bytes) -> bytes:
    """IOAM as Geneve options of the configured class."""
    return geneve_int(b"".join(geneve_option(body, kind, GENEVE_IOAM) for kind, body in options), frame)


def ioam_carriers(options: Sequence[Option], frame: bytes) -> Iterator[tuple[str, bytes]]:
    """IOAM options in every carrier, around or in a plain frame."""
    yield "ipv6 hop-by-hop", ipv6_inline(options, frame)
    yield "ipv6 destination", ipv6_inline(options, frame, header=60, kind=0x11)
    yield "ipv6 around", ipv6_around(options, frame)
    yield "vxlan-gpe", gpe_ioam(options, frame)
    yield "vxlan-gpe, configured", gpe_ioam(options, frame, protocol=GPE_IOAM)
    for name, carried in nsh_frames(nsh_ioam(options, frame)):
        yield "nsh in " + name, carried
    if sum(4 + len(body) for _, body in options) <= 252 and all(len(body) <= 124 for _, body in options):
        yield "geneve", geneve_ioam(options, frame)


def random_options(rng: random.Random) -> list[Option]:
    """One or two options of any type, mostly right."""
    options: list[Option] = []
    for _ in range(rng.choice((1, 1, 1, 2))):
        kind = rng.choice((0, 0, 1, 1, 2, 3, 4, 4, rng.choice((5, 63, 64, 65, 66, 67, 128, 255))))
        trace_type = rng.choice(
            (0x800000, 0xFE0000, 0xD00000, 0x00F000, 0xFFF000, 0x800002, 0xC08002, 0x200000, 2, 0, rng.randrange(1 << 24))
        )
        namespace = rng.choice((0, 1, 123, 0x8000, 0xFFFF))
        flags = rng.choice((0, 0, 0, 8, 4, 2, 1))
        if kind in (PREALLOCATED, INCREMENTAL):
            nodes = [trace_node(rng, trace_type) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
            words = node_words(trace_type)
            remaining = rng.choice((0, 0, words, 2 * words, rng.randrange(128)))
            build = trace if kind == PREALLOCATED else incremental
            body = build(nodes, trace_type, namespace=namespace, flags=flags, remaining=min(remaining, 127))
        elif kind == POT:
            body = pot(
                rng.randrange(1 << 64), rng.randrange(1 << 64), namespace=namespace, kind=rng.choice((0, 0, 0, 1)), flags=rng.choice((0, 1))
            )
        elif kind == E2E:
            bits = rng.choice((0x8000, 0x4000, 0xB000, 0x7000, 0x2000, 0xC000, 0, rng.randrange(1 << 16)))
            body = e2e(
                bits, namespace=namespace, sequence=rng.randrange(1 << 64), seconds=rng.randrange(1 << 32), fraction=rng.randrange(10**9)
            )
        else:
            body = dex(
                rng.choice((0, 0x80, 0x40, 0xC0, 0xC1, rng.randrange(256))), trace_type, namespace=namespace, flags=rng.choice((0, 0, 1))
            )
        if rng.random() < 0.1:
            body = body[: 4 * rng.randrange(len(body) // 4 + 1)]
        elif rng.random() < 0.1:
            body += bytes(4 * rng.randrange(1, 4))
        options.append((kind, body[:248]))
    return options
