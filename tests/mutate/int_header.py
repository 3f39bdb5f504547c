"""INT-MD, INT-MX, INT v0.5 and the MRI option, of any length, in everything that carries them."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from .carrier import gpe, gre
from .frame import ethernet, ip4, ipv4_frame, roce_payload, udp_header
from .number import GENEVE_INT, GRE_INT, INT_PORT, ROCE_PORT

_TIMES = {"int-2.x": 2, "int-1.0": 1, "onos-basic": 1, "geant10": 2, "cablelabs-tps": 2, "noviflow10": 1, "geant04": 2}
_VERSIONS = {"int-2.x": 2, "int-1.0": 1, "onos-basic": 0, "geant10": 1, "cablelabs-tps": 2, "noviflow10": 1, "geant04": 0}
# bit → columns and their bits in the item (level-2 ids have no columns of their own)
_ITEMS: tuple[tuple[tuple[str, int], ...], ...] = (
    (("node_id", 32),),
    (("ingress_port", 16), ("egress_port", 16)),
    (("hop_latency_raw", 32),),
    (("queue_id", 8), ("queue_depth_raw", 24)),
    (("ingress_time_raw", 0),),
    (("egress_time_raw", 0),),
    (("ingress_port_2", 32), ("egress_port_2", 32)),
    (("tx_utilisation_raw", 32),),
    (("buffer_id", 8), ("buffer_depth_raw", 24)),
)


def instructions_of(hops: Sequence[Mapping[str, int]], dialect: str = "int-2.x") -> int:
    """Bitmap that holds every item that one of the hops has."""
    names = {name for hop in hops for name in hop}
    bitmap = 0
    for bit, item in enumerate(_ITEMS):
        if any(name in names for name, _ in item) and (bit < 8 or _VERSIONS[dialect] == 2):
            bitmap |= 0x8000 >> bit
    return bitmap


def _hop_words(hop: Mapping[str, int], bitmap: int, dialect: str) -> bytes:
    """One hop block; items that the hop does not have are all ones."""
    block = b""
    for bit in range(16):
        if not bitmap & 0x8000 >> bit:
            continue
        item = _ITEMS[bit] if bit < 8 or (bit == 8 and _VERSIONS[dialect] == 2) else ()
        size = 32 * _TIMES[dialect] if bit in (4, 5) else 64 if bit == 6 and dialect != "geant10" else 32
        if not any(name in hop for name, _ in item):
            block += b"\xff" * (size // 8)
            continue
        value = 0
        for name, width in item:
            width = width if len(item) == 2 and bit != 6 else size // len(item)
            value = value << width | hop.get(name, (1 << width) - 1) & (1 << width) - 1
        block += value.to_bytes(size // 8, "big")
    return block


def int_md(
    hops: Sequence[Mapping[str, int]],
    *,
    dialect: str = "int-2.x",
    instructions: int | None = None,
    remaining: int = 6,
    flags: int = 0,
    domain: int = 0,
    ds_instruction: int = 0,
    hop_extra: bytes = b"",
    source_only: bytes = b"",
) -> bytes:
    """Metadata header and stack of INT-MD, without a shim; the arguments are those of `int_md_packet`."""
    bitmap = instructions_of(hops, dialect) if instructions is None else instructions
    stack = b"".join(_hop_words(hop, bitmap, dialect) + hop_extra for hop in reversed(hops)) + source_only
    word = _VERSIONS[dialect] << 28 | len(_hop_words({}, bitmap, dialect) + hop_extra) // 4 << 8 | remaining
    if _VERSIONS[dialect] == 2:
        late = 2 if dialect == "cablelabs-tps" else 0
        word |= ((flags & 1) << 27 | (flags >> 1 & 1) << 26 | (flags >> 2 & 1) << 25) >> late
        return struct.pack("!IHHHH", word, bitmap, domain, ds_instruction, 0) + stack
    word |= (flags >> 3 & 1) << 25 | (flags >> 1 & 1) << 24 | (flags >> 2 & 1) << 23
    return struct.pack("!IHH", word, bitmap, 0) + stack


def int_mx(instructions: int, *, discard: int = 0, domain: int = 0, ds_instruction: int = 0, source_inserted: bytes = b"") -> bytes:
    """Header of INT-MX and what the source put behind it, without a shim."""
    return struct.pack("!IHHHH", 2 << 28 | discard << 27, instructions, domain, ds_instruction, 0) + source_inserted


def int_05(
    hops: Sequence[Mapping[str, int]],
    *,
    instructions: int = 0xFF00,
    flags: int = 0,
    max_hops: int = 16,
    original_port: int = ROCE_PORT,
    original_dscp: int = 26,
    protocol: int | None = 17,
    dialect: str = "int-0.5",
    rep: int = 0,
    last: int = 0,
) -> bytes:
    """INT v0.5 from its shim to its tail (`protocol` None: none, and `last` in the shim); `hops` and `flags` (C 8, E 2) as for
    `int_md_packet`, bit 6 is queue 2 with status 0x105, `rep` the bits behind a version of 2 bits."""
    widths = "geant04" if dialect == "geant04" else "int-1.0"
    stack = b""
    for hop in reversed(hops):
        before, behind = (_hop_words(hop, instructions & part, widths) for part in (0xFC00, 0x01FF))
        stack += before + (b"\x02\x00\x01\x05" if instructions & 0x0200 else b"") + behind
    early = 0 if dialect == "int-0.5" else 2
    word = (flags >> 3 & 1) << 25 + early | (flags >> 1 & 1) << 24 + early | rep << 28
    word |= instructions.bit_count() << 16 | max_hops << 8 | len(hops)
    tail = b"" if protocol is None else struct.pack("!BHB", protocol, original_port, original_dscp)
    body = struct.pack("!IHH", word, instructions, 0) + stack + tail
    return bytes([1, 0, 1 + len(body) // 4, last]) + body


def shim(body: bytes, kind: int = 1, last: int = 0, *, npt: int = 0, length: int | None = None) -> bytes:
    """A v2 shim and what it counts: over UDP and TCP `last` is what NPT says, over GRE an EtherType, over GPE G and the next protocol."""
    return struct.pack("!BBH", kind << 4 | npt << 2, len(body) // 4 if length is None else length, last) + body


def shim_1(body: bytes, kind: int = 1, last: int = 0, *, length: int | None = None) -> bytes:
    """A v1.0 shim and what it counts: over UDP and TCP `last` is DSCP << 2, over GPE the next protocol."""
    return bytes([kind, 0, 1 + len(body) // 4 if length is None else length, last]) + body


def gpe_int(int_header: bytes, frame: bytes, protocol: int = 0x82) -> bytes:
    """INT with its shim in VXLAN-GPE, in front of a frame (or what the shim announces)."""
    return gpe(protocol, int_header + frame)


def gre_int(int_header: bytes, frame: bytes, **flags: int) -> bytes:
    """INT with its shim in GRE, in front of a frame (or what the shim announces)."""
    return gre(frame, GRE_INT, int_header + frame, **flags)


def geneve_option(body: bytes, kind: int = 1, option_class: int = 0x0103) -> bytes:
    """One Geneve option; INT stands there without a shim."""
    return struct.pack("!HBB", option_class, kind, len(body) // 4) + body


def geneve_int(options: bytes, frame: bytes) -> bytes:
    """Geneve with these options around a frame."""
    head = struct.pack("!BBHI", len(options) // 4, 0, 0x6558, 0xABCD << 8)
    return bytes(ethernet(0x0800) / ip4() / udp_header(6081) / Raw(head + options + frame))


def int_tunnels(frame: bytes, body: bytes, kind: int = 1) -> Iterator[tuple[str, bytes]]:
    """A frame in every tunnel that has a place for INT; `body` is a v2 header with what follows it."""
    yield "vxlan-gpe 0x80", gpe_int(shim(body, kind, 3), frame, 0x80)
    yield "vxlan-gpe 0x82", gpe_int(shim(body, kind, 0x8003), frame)
    yield "gre", gre_int(shim(body, kind, 0x6558), frame, key_present=1, seqnum_present=1)
    if len(body) <= 124:
        yield "geneve", geneve_int(geneve_option(b"\1\2\3\4", 9, 0x0107) + geneve_option(body, kind), frame)
        yield "geneve, configured class", geneve_int(geneve_option(body, kind, GENEVE_INT) + geneve_option(b"", 1, 0x0107), frame)


def mri_option(hops: Sequence[tuple[int, int]], *, count: int | None = None, length: int | None = None) -> bytes:
    """The MRI option: node and queue depth of every hop, in path order here, newest first on the wire."""
    head = struct.pack("!BBH", 0x1F, 4 + 8 * len(hops) if length is None else length, len(hops) if count is None else count)
    return head + b"".join(struct.pack("!II", *hop) for hop in reversed(hops))


def mri_frame(options: bytes, payload: bytes | None = None, port: int = ROCE_PORT) -> bytes:
    """UDP behind these IPv4 options; RoCEv2 if nothing else is given."""
    payload = roce_payload() if payload is None else payload
    return ipv4_frame(options, struct.pack("!HHHH", 0xC000, port, 8 + len(payload), 0) + payload)


def int_md_packet(
    hops: Sequence[Mapping[str, int]],
    npt: int = 0,
    *,
    dialect: str = "int-2.x",
    instructions: int | None = None,
    dst_port: int | None = None,
    dscp: int = 23,
    original_dscp: int = 26,
    remaining: int = 6,
    flags: int = 0,
    domain: int = 0,
    ds_instruction: int = 0,
    hop_extra: bytes = b"",
    source_only: bytes = b"",
    marker: int | None = None,
    payload: bytes | None = None,
    ip_version: int = 4,
    original_port: int = ROCE_PORT,
) -> bytes:
    """A frame with INT-MD between UDP and RoCEv2.

    `hops` are in path order, with the names of the columns in schema.HOPS. `npt` (v2.x): 0 the port is RoCEv2's and DSCP tells INT,
    1 the port is INT's and the shim keeps the original one, 2 a UDP header was put in front of the original one. `flags`: as in the
    column telemetry_flags. `hop_extra`: domain words of every hop, `source_only`: domain words of the source.
    """
    body = int_md(hops, dialect=dialect, instructions=instructions, remaining=remaining, flags=flags, domain=domain,
                  ds_instruction=ds_instruction, hop_extra=hop_extra, source_only=source_only)  # fmt: skip
    payload = roce_payload() if payload is None else payload
    port = INT_PORT if npt and _VERSIONS[dialect] == 2 else ROCE_PORT
    if _VERSIONS[dialect] == 2:
        shim = struct.pack("!BBH", 1 << 4 | npt << 2, len(body) // 4, {0: original_dscp << 2, 1: original_port, 2: 17}[npt])
        if npt == 2:
            payload = bytes(UDP(sport=0xC000, dport=original_port, len=8 + len(payload), chksum=0)) + payload
    else:
        shim = struct.pack("!BBBB", 1, 0, 1 + len(body) // 4, original_dscp << 2)
    mark = b"" if marker is None else marker.to_bytes(8, "big")
    outer: Any = (
        IP(src="10.0.0.1", dst="10.0.0.2", id=0x1234, tos=dscp << 2 | 2)
        if ip_version == 4
        else IPv6(src="2001:db8::1", dst="2001:db8::2", tc=dscp << 2 | 2)
    )
    udp = UDP(sport=0xC000, dport=port if dst_port is None else dst_port, chksum=0)
    return bytes(Ether(dst="02:00:00:00:00:0b", src="02:00:00:00:00:0a") / outer / udp / Raw(mark + shim + body + payload))


def random_hops(seed: int, count: int) -> list[dict[str, int]]:
    """Hops with all items of INT v2.x."""
    rng = random.Random(seed)
    return [
        {
            "node_id": 100 * number + 7,
            "ingress_port": rng.randrange(0xFFFF),
            "egress_port": rng.randrange(0xFFFF),
            "hop_latency_raw": rng.randrange(1 << 31),
            "queue_id": rng.randrange(8),
            "queue_depth_raw": rng.randrange(1 << 24),
            "ingress_time_raw": rng.randrange(1 << 31),
            "egress_time_raw": rng.randrange(1 << 31),
            "tx_utilisation_raw": rng.randrange(1 << 31),
            "buffer_id": rng.randrange(8),
            "buffer_depth_raw": rng.randrange(1 << 24),
        }
        for number in range(count)
    ]
