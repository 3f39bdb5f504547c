"""Packets for tests that must not trust their input: cut, damaged, random, wrapped in tunnels, and INT-MD packets of any length.

Everything is deterministic: the same arguments, and the same seed, give the same bytes. Frames are Ethernet unless a link type is said.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import GRE, IP, UDP, fragment
from scapy.layers.inet6 import (
    HBHOptUnknown,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
    fragment6,
)
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

WORKED_PACKETS = Path(__file__).parent / "golden" / "worked-packets.json"

INT_PORT = 54321
ROCE_PORT = 4791
GRE_INT = 0x88B6
GENEVE_INT = 0x00AB
MARKER = 0x1122334455667788
CSIG = 0x1234
TUNNELLED_INT = {"gre_int_protocols": (GRE_INT,), "geneve_int_classes": (GENEVE_INT,)}
"""Profile under which the GRE and Geneve numbers above are INT's."""


def worked_packets() -> dict[str, bytes]:
    """The worked packets of the format reference, by name; all are Ethernet frames."""
    return {entry["name"]: bytes.fromhex(entry["hex"]) for entry in json.loads(WORKED_PACKETS.read_text())}


# -------------------------------------------------------------------------------------------------------------- damage


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
            yield bytes(_ether(0x86DD) / header / Raw(bytes([17, rng.randrange(14)]) + options))
        elif kind == 3:
            yield tcp_frame(body, options=rng.randbytes(4 * rng.randrange(4)), offset=rng.choice((None, None, rng.randrange(16))))
        elif kind == 4:
            size = rng.randrange(4, 40)
            options = rng.choice((b"", b"\x01")) + bytes([0x1F, size, 0, rng.choice((size - 4 >> 3, rng.randrange(6)))]) + rng.randbytes(36)
            yield ipv4_frame(options[: 4 * rng.randrange(1, 11)], bytes(_udp(ROCE_PORT)) + body)
        else:
            yield bytes(Ether(dst="02:00:00:00:00:0b", src="02:00:00:00:00:0a") / _ip() / _udp(rng.choice(ports)) / Raw(body))


# ------------------------------------------------------------------------------------------------------------- tunnels


def _ether(kind: int) -> Packet:
    return Ether(dst="02:00:00:00:00:99", src="02:00:00:00:00:01", type=kind)


def _ip(proto: int | None = None) -> Packet:
    return IP(src="172.16.0.1", dst="172.16.0.9", id=0x4321, **({} if proto is None else {"proto": proto}))


def _ip6(following: int | None = None) -> Packet:
    return IPv6(src="2001:db8:f::1", dst="2001:db8:f::9", **({} if following is None else {"nh": following}))


def _udp(port: int) -> Packet:
    return UDP(sport=0xC123, dport=port, chksum=0)


def _kind(frame: bytes) -> int:
    """EtherType of a frame, which must have no tag where only its IP packet is carried on."""
    return int.from_bytes(frame[12:14], "big")


def _retag(frame: bytes, tag: Packet) -> bytes:
    """A frame with one more tag."""
    tag.type = _kind(frame)
    packet = Ether(frame[:12] + struct.pack("!H", 0x88A8 if isinstance(tag, Dot1AD) else 0x8100)) / tag / Raw(frame[14:])
    return bytes(packet)


def csig_tagged(frame: bytes, *tags: int) -> bytes:
    """A frame with CSIG tags behind its MAC addresses."""
    return frame[:12] + b"".join(struct.pack("!HH", 0x9900, tag) for tag in tags) + frame[12:]


def _gre(frame: bytes, protocol: int, payload: bytes, outer: Packet | None = None, **flags: int) -> bytes:
    carrier = _ether(0x0800) / _ip(47) if outer is None else outer
    return bytes(carrier / GRE(proto=protocol, **flags) / Raw(payload))


def _erspan_2(vlan: int = 100, session: int = 0x155, truncated: int = 0) -> bytes:
    return struct.pack("!II", 1 << 28 | vlan << 16 | 5 << 13 | 3 << 11 | truncated << 10 | session, 0x12345)


def _erspan_3(frame_type: int = 0, subheader: bool = False) -> bytes:
    head = struct.pack(
        "!IIHH", 2 << 28 | 200 << 16 | 3 << 13 | 0x2AA, 123456789, 100, 1 << 15 | frame_type << 10 | 21 << 4 | 1 << 3 | subheader
    )
    return head + (struct.pack("!II", 5 << 26 | 291 << 16 | 3054, 1_700_000_000) if subheader else b"")


def _geneve(protocol: int, payload: bytes) -> bytes:
    options = GeneveOptions(classid=0x0105, type=1, data=b"\x01\x02\x03\x04") / GeneveOptions(classid=0x0106, type=2, data=b"")
    raw = bytes(options)
    header = GENEVE(vni=0xABCD, proto=protocol, optionlen=len(raw) // 4)
    return bytes(_ether(0x0800) / _ip() / _udp(6081) / Raw(bytes(header)[:8] + raw + payload))


def _gpe(following: int, payload: bytes) -> bytes:
    return bytes(_ether(0x0800) / _ip() / _udp(4790) / Raw(bytes([0x0C, 0, 0, following, 0, 0xBE, 0xEF, 0]) + payload))


def _extension_headers(frame: bytes) -> bytes:
    chain = _ip6() / IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\x00" * 2), HBHOptUnknown(otype=0x1E, optdata=b"\x01\x02")])
    chain = chain / IPv6ExtHdrRouting(addresses=["2001:db8::77"], segleft=0) / IPv6ExtHdrFragment(id=7) / IPv6ExtHdrDestOpt(options=[])
    return bytes(_ether(0x86DD) / chain / _udp(4789) / VXLAN(vni=9, flags=8) / Raw(frame))


def _mpls(frame: bytes, labels: int, control_word: bool) -> bytes:
    packet = _ether(0x8847)
    for label in range(labels):
        packet = packet / MPLS(label=100 + label, s=int(label == labels - 1), ttl=64)
    return bytes(packet) + (b"\x00\x00\x00\x00" + frame if control_word else frame[14:])


# name → wrapper of a frame with IPv4 or IPv6 directly behind its MAC addresses (PLAIN) or of any frame (ANY)
ANY: dict[str, Callable[[bytes], bytes]] = {
    "vlan": lambda frame: _retag(frame, Dot1Q(vlan=77, prio=3)),
    "qinq": lambda frame: _retag(_retag(frame, Dot1Q(vlan=77)), Dot1AD(vlan=1000)),
    "csig": lambda frame: csig_tagged(frame, CSIG),
    "mpls-pseudowire": lambda frame: _mpls(frame, 2, True),
    "gre-ethernet": lambda frame: _gre(frame, 0x6558, frame),
    "gre-all-words": lambda frame: _gre(frame, 0x6558, frame, chksum_present=1, key_present=1, seqnum_present=1),
    "gre-over-ipv6": lambda frame: _gre(frame, 0x6558, frame, outer=_ether(0x86DD) / _ip6(47)),
    "erspan-1": lambda frame: _gre(frame, 0x88BE, frame),
    "erspan-2": lambda frame: _gre(frame, 0x88BE, _erspan_2() + frame, seqnum_present=1, sequence_number=0xA0B),
    "erspan-3": lambda frame: _gre(frame, 0x22EB, _erspan_3() + frame, seqnum_present=1, sequence_number=77),
    "erspan-3-subheader": lambda frame: _gre(frame, 0x22EB, _erspan_3(subheader=True) + frame, seqnum_present=1),
    "vxlan": lambda frame: bytes(_ether(0x0800) / _ip() / _udp(4789) / VXLAN(vni=77, flags=8) / Raw(frame)),
    "vxlan-linux": lambda frame: bytes(_ether(0x0800) / _ip() / _udp(8472) / VXLAN(vni=77, flags=8) / Raw(frame)),
    "vxlan-gpe": lambda frame: _gpe(3, frame),
    "geneve": lambda frame: _geneve(0x6558, frame),
    "vxlan-behind-extension-headers": _extension_headers,
}
PLAIN: dict[str, Callable[[bytes], bytes]] = {
    "mpls": lambda frame: _mpls(frame, 3, False),
    "gre-ip": lambda frame: _gre(frame, _kind(frame), frame[14:]),
    "erspan-3-ip": lambda frame: _gre(frame, 0x22EB, _erspan_3(frame_type=2) + frame[14:], seqnum_present=1),
    "vxlan-gpe-ip": lambda frame: _gpe(1 if _kind(frame) == 0x0800 else 2, frame[14:]),
    "geneve-ip": lambda frame: _geneve(_kind(frame), frame[14:]),
    "ip-in-ip": lambda frame: bytes(_ether(0x0800) / _ip(4 if _kind(frame) == 0x0800 else 41) / Raw(frame[14:])),
}


def is_plain(frame: bytes) -> bool:
    """IPv4 or IPv6 stands directly behind the MAC addresses."""
    return _kind(frame) in (0x0800, 0x86DD)


def tunnels(frame: bytes) -> Iterator[tuple[str, bytes]]:
    """A frame in every kind of tunnel and mirror, one at a time."""
    for name, wrap in ANY.items():
        yield name, wrap(frame)
    if is_plain(frame):
        for name, wrap in PLAIN.items():
            yield name, wrap(frame)


def nested(frame: bytes, seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """A frame in two to six tunnels inside each other, which is more than are followed."""
    rng = random.Random(seed)
    for _ in range(count):
        wrapped, names = frame, []
        for _ in range(rng.randrange(2, 7)):
            choices = {**ANY, **(PLAIN if is_plain(wrapped) else {})}
            name = rng.choice(sorted(choices))
            wrapped = choices[name](wrapped)
            names.append(name)
        yield "/".join(reversed(names)), wrapped


def fragments(frame: bytes, size: int = 40) -> list[bytes]:
    """The IPv4 or IPv6 packet of a plain frame as fragments of about `size` bytes."""
    if _kind(frame) == 0x0800:
        packet = IP(frame[14:])
        # The payload as it is: scapy would build its layers anew.
        whole = IP(src=packet.src, dst=packet.dst, id=packet.id, proto=packet.proto, tos=packet.tos) / Raw(frame[14 + 4 * packet.ihl :])
        return [bytes(_ether(0x0800) / piece) for piece in fragment(whole, fragsize=size)]
    packet = IPv6(frame[14:54])
    head = IPv6(src=packet.src, dst=packet.dst, tc=packet.tc, hlim=packet.hlim, nh=44)
    whole = head / IPv6ExtHdrFragment(nh=packet.nh, id=0x77) / Raw(frame[54:])
    return [bytes(_ether(0x86DD) / piece) for piece in fragment6(whole, 40 + 8 + size)]


def links(frame: bytes) -> Iterator[tuple[int, bytes]]:
    """A plain frame under every link type that is read: link type, bytes."""
    kind, packet = _kind(frame), frame[14:]
    yield 1, frame
    yield from ((number, packet) for number in (12, 14, 101))
    yield (228 if kind == 0x0800 else 229), packet
    yield 113, struct.pack("!HHH8sH", 0, 1, 6, frame[6:12], kind) + packet
    yield 276, struct.pack("!HHIHBB8s", kind, 0, 3, 1, 0, 6, frame[6:12]) + packet


# ---------------------------------------------------------------------------------------------------------- INT-MD builder

_TIMES = {"int-2.x": 2, "int-1.0": 1, "onos-basic": 1, "geant10": 2}
_VERSIONS = {"int-2.x": 2, "int-1.0": 1, "onos-basic": 0, "geant10": 1}
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


def roce_payload(psn: int = 0xABCDEF, data: bytes = bytes(range(0x10, 0x20))) -> bytes:
    """BTH (RC RDMA WRITE Only), RETH, data and an ICRC that is not computed: what stands behind INT."""
    pad = -len(data) % 4
    head = struct.pack("!BBHIB", 0x0A, 0x40 | pad << 4, 0xFFFF, 0x123, 0x80) + psn.to_bytes(3, "big")
    return head + struct.pack("!QII", 0x00007F0012345678, 0x1A2B, len(data)) + data + bytes(pad) + b"\xa4\xf3\x8c\xd2"


def instructions_of(hops: Sequence[Mapping[str, int]], dialect: str = "int-2.x") -> int:
    """Bitmap that holds every item that one of the hops has."""
    names = {name for hop in hops for name in hop}
    bitmap = 0
    for bit, item in enumerate(_ITEMS):
        if any(name in names for name, _ in item) and (bit < 8 or dialect == "int-2.x"):
            bitmap |= 0x8000 >> bit
    return bitmap


def _hop_words(hop: Mapping[str, int], bitmap: int, dialect: str) -> bytes:
    """One hop block; items that the hop does not have are all ones."""
    block = b""
    for bit in range(16):
        if not bitmap & 0x8000 >> bit:
            continue
        item = _ITEMS[bit] if bit < 8 or (bit == 8 and dialect == "int-2.x") else ()
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
    if dialect == "int-2.x":
        word |= (flags & 1) << 27 | (flags >> 1 & 1) << 26 | (flags >> 2 & 1) << 25
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
    protocol: int = 17,
) -> bytes:
    """INT v0.5 from its shim to its tail; `hops` and `flags` (C 8, E 2) as for `int_md_packet`, bit 6 is queue 2 with status 0x105."""
    stack = b"".join(_hop_words(hop, instructions & 0xFDFF, "int-1.0") for hop in reversed(hops))
    if instructions & 0x0200:
        # Behind bits 0 to 5: queue id and congestion status.
        before, words = (instructions & 0xFC00).bit_count(), (instructions & 0xFDFF).bit_count()
        blocks = [stack[4 * words * number : 4 * words * (number + 1)] for number in range(len(hops))]
        stack = b"".join(block[: 4 * before] + b"\x02\x00\x01\x05" + block[4 * before :] for block in blocks)
    word = (flags >> 3 & 1) << 25 | (flags >> 1 & 1) << 24 | instructions.bit_count() << 16 | max_hops << 8 | len(hops)
    body = struct.pack("!IHH", word, instructions, 0) + stack + struct.pack("!BHB", protocol, original_port, original_dscp)
    return bytes([1, 0, 1 + len(body) // 4, 0]) + body


def shim(body: bytes, kind: int = 1, last: int = 0, *, npt: int = 0, length: int | None = None) -> bytes:
    """A v2 shim and what it counts: over UDP and TCP `last` is what NPT says, over GRE an EtherType, over GPE G and the next protocol."""
    return struct.pack("!BBH", kind << 4 | npt << 2, len(body) // 4 if length is None else length, last) + body


def shim_1(body: bytes, kind: int = 1, last: int = 0, *, length: int | None = None) -> bytes:
    """A v1.0 shim and what it counts: over UDP and TCP `last` is DSCP << 2, over GPE the next protocol."""
    return bytes([kind, 0, 1 + len(body) // 4 if length is None else length, last]) + body


def gpe_int(int_header: bytes, frame: bytes, protocol: int = 0x82) -> bytes:
    """INT with its shim in VXLAN-GPE, in front of a frame (or what the shim announces)."""
    return _gpe(protocol, int_header + frame)


def gre_int(int_header: bytes, frame: bytes, **flags: int) -> bytes:
    """INT with its shim in GRE, in front of a frame (or what the shim announces)."""
    return _gre(frame, GRE_INT, int_header + frame, **flags)


def geneve_option(body: bytes, kind: int = 1, option_class: int = 0x0103) -> bytes:
    """One Geneve option; INT stands there without a shim."""
    return struct.pack("!HBB", option_class, kind, len(body) // 4) + body


def geneve_int(options: bytes, frame: bytes) -> bytes:
    """Geneve with these options around a frame."""
    head = struct.pack("!BBHI", len(options) // 4, 0, 0x6558, 0xABCD << 8)
    return bytes(_ether(0x0800) / _ip() / _udp(6081) / Raw(head + options + frame))


def int_tunnels(frame: bytes, body: bytes, kind: int = 1) -> Iterator[tuple[str, bytes]]:
    """A frame in every tunnel that has a place for INT; `body` is a v2 header with what follows it."""
    yield "vxlan-gpe 0x80", gpe_int(shim(body, kind, 3), frame, 0x80)
    yield "vxlan-gpe 0x82", gpe_int(shim(body, kind, 0x8003), frame)
    yield "gre", gre_int(shim(body, kind, 0x6558), frame, key_present=1, seqnum_present=1)
    if len(body) <= 124:
        yield "geneve", geneve_int(geneve_option(b"\1\2\3\4", 9, 0x0107) + geneve_option(body, kind), frame)
        yield "geneve, configured class", geneve_int(geneve_option(body, kind, GENEVE_INT) + geneve_option(b"", 1, 0x0107), frame)


def tcp_frame(payload: bytes, *, options: bytes = b"", offset: int | None = None, dscp: int = 23, ip_version: int = 4) -> bytes:
    """A plain TCP segment; `offset` is the data offset where it does not tell the truth."""
    words = 5 + len(options) // 4 if offset is None else offset
    header = struct.pack("!HHIIBBHHH", 0xC000, 5001, 1000, 2000, words << 4, 0x10, 512, 0, 0)
    outer = _ip(6) if ip_version == 4 else _ip6(6)
    if ip_version == 4:
        outer.tos = dscp << 2 | 2
    else:
        outer.tc = dscp << 2 | 2
    return bytes(_ether(0x0800 if ip_version == 4 else 0x86DD) / outer / Raw(header + options + payload))


def mri_option(hops: Sequence[tuple[int, int]], *, count: int | None = None, length: int | None = None) -> bytes:
    """The MRI option: node and queue depth of every hop, in path order here, newest first on the wire."""
    head = struct.pack("!BBH", 0x1F, 4 + 8 * len(hops) if length is None else length, len(hops) if count is None else count)
    return head + b"".join(struct.pack("!II", *hop) for hop in reversed(hops))


def ipv4_frame(options: bytes, payload: bytes, protocol: int = 17, dscp: int = 26) -> bytes:
    """IPv4 with these options (whole words) in front of what its protocol announces."""
    size = 20 + len(options)
    header = struct.pack("!BBHHHBBHII", 0x40 | size // 4, dscp << 2 | 2, size + len(payload), 7, 0, 64, protocol, 0, 0x0A000101, 0x0A000303)
    return bytes(_ether(0x0800)) + header + options + payload


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
    port = INT_PORT if npt and dialect == "int-2.x" else ROCE_PORT
    if dialect == "int-2.x":
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


# ------------------------------------------------------------------------------------------------------- reports and corners

REPORT_PORT = 32766


def udp_frame(payload: bytes, port: int, tos: int = 0, length: int | None = None) -> bytes:
    """A plain IPv4/UDP frame."""
    udp = UDP(sport=0xC000, dport=port, chksum=0, **({} if length is None else {"len": length}))
    return bytes(_ether(0x0800) / IP(src="192.0.2.1", dst="192.0.2.99", tos=tos) / udp / Raw(payload))


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


def opcode_frame(opcode: int, size: int = 48) -> bytes:
    """RoCEv2 with this opcode and `size` countable bytes behind the BTH."""
    return udp_frame(struct.pack("!BBHIB", opcode, 0x40, 0xFFFF, 0x123, 0x80) + b"\x00\x00\x07" + bytes(range(1, 1 + size)), ROCE_PORT)


def _mpls_labels(count: int) -> bytes:
    labels = b"".join(struct.pack("!I", 100 << 12 | (number == count - 1) << 8 | 64) for number in range(count))
    return bytes(_ether(0x8847)) + labels + udp_frame(roce_payload(), ROCE_PORT)[14:]


def _vlan_tags(count: int) -> bytes:
    frame = udp_frame(roce_payload(), ROCE_PORT)
    return frame[:12] + b"".join(struct.pack("!HH", 0x8100, 10 + number) for number in range(count)) + frame[12:]


def _extensions(count: int) -> bytes:
    chain = b"".join(bytes([17 if number == count - 1 else 60, 0, 1, 4, 0, 0, 0, 0]) for number in range(count))
    return bytes(_ether(0x86DD) / _ip6(60) / Raw(chain + udp_frame(roce_payload(), ROCE_PORT)[34:]))


def edited(data: bytes, at: int, value: int) -> bytes:
    """One byte set."""
    return data[:at] + bytes([value]) + data[at + 1 :]


def corner_cases() -> dict[str, tuple[bytes, dict[str, Any], str, set[str]]]:
    """Packets at the edges of the rules: frame, profile, status and warnings that they must get."""
    inner = WORKED_FRAME
    ports = {"int_ports": (INT_PORT,)}
    report_ports = {"report_ports": (REPORT_PORT,)}
    hops = random_hops(9, 2)
    two = int_md_packet(hops)
    ids = [{"node_id": 5}, {"node_id": 6}]
    marker = {"marker": MARKER}
    int_on_vxlan = int_md_packet(hops, dst_port=4789, payload=bytes([8, 0, 0, 0, 0, 0, 77, 0]) + inner)
    md_v1 = struct.pack("!IHH", 1 << 28 | 1 << 8 | 5, 0x8000, 0)
    md_v2 = struct.pack("!IHHI", 2 << 28 | 1 << 8 | 5, 0x8000, 0, 0)

    def raw_shim(*head: int, body: bytes = b"", port: int = INT_PORT) -> bytes:
        return udp_frame(bytes(head) + body, port)

    def report(payload: bytes) -> bytes:
        return udp_frame(payload, REPORT_PORT)

    return {
        "8 tags": (_vlan_tags(8), {}, "ok", set()),
        "9 tags": (_vlan_tags(9), {}, "vlan-limit", set()),
        "16 labels": (_mpls_labels(16), {}, "ok", set()),
        "17 labels": (_mpls_labels(17), {}, "mpls-limit", set()),
        "8 extension headers": (_extensions(8), {}, "ok", set()),
        "9 extension headers": (_extensions(9), {}, "ipv6-extension-limit", set()),
        "int by structure": (two, {}, "ok", set()),
        "int with an empty stack": (int_md_packet([], instructions=0x8000), {}, "ok", set()),
        "int without instructions": (int_md_packet([], instructions=0), {}, "ok", set()),
        "int on an unknown port": (int_md_packet(hops, dst_port=7777), {}, "ok", set()),
        "int port as original port": (int_md_packet(hops, 1, original_port=INT_PORT), ports, "int-port-loop", set()),
        "int in front of vxlan by DSCP": (int_on_vxlan, {"int_dscp": (23, 63)}, "ok", set()),
        "int by port with NPT 0": (int_md_packet(hops, dst_port=INT_PORT), ports, "ok", {"int-npt"}),
        "int by DSCP with NPT 1": (int_md_packet(hops, 1, dst_port=ROCE_PORT), {"int_dscp": (23, 63)}, "ok", {"int-npt"}),
        "int by marker with NPT 1": (int_md_packet(hops, 1, marker=marker["marker"]), marker, "ok", {"int-npt"}),
        "int NPT 3": (raw_shim(0x1C, 4, 0, 0, body=md_v2 + b"\0\0\0\7"), ports, "int-npt-reserved", set()),
        "int shim type 4": (raw_shim(0x48, 4, 0, 0, body=md_v2 + b"\0\0\0\7"), ports, "int-shim-type", set()),
        "int shim alone": (raw_shim(0x10, 3), ports, "int-shim-truncated", set()),
        "int v1 too short": (raw_shim(1, 0, 2, 0, body=md_v1), ports, "int-length-too-small", set()),
        "int v2 too short": (raw_shim(0x10, 2, 0, 0, body=md_v2), ports, "int-length-too-small", set()),
        "int v1 destination": (raw_shim(2, 0, 3, 0, body=md_v1), ports, "int-destination", set()),
        "int v2 destination": (raw_shim(0x20, 3, 0, 0, body=md_v2), ports, "int-destination", {"int-npt"}),
        "int version 7": (raw_shim(0x10, 3, 0, 0, body=b"\x70" + md_v2[1:]), ports, "int-version-unknown", {"int-npt"}),
        "int v1 shim with version 2": (raw_shim(1, 0, 4, 0, body=b"\x20" + md_v1[1:] + b"\0\0\0\7"), ports, "int-version-unknown", set()),
        "int mx of version 1": (raw_shim(0x34, 3, 0x12, 0xB7, body=b"\x10" + md_v2[1:]), ports, "int-version-unknown", set()),
        "int stack without bitmap": (raw_shim(0x10, 4, 0, 0, body=md_v2[:4] + bytes(8) + b"\0\0\0\7"), ports, "int-bitmap-zero", set()),
        "int stack without hop length": (
            raw_shim(0x10, 4, 0, 0, body=b"\x20\0\0\5" + md_v2[4:] + b"\0\0\0\7"), ports, "int-hop-length-zero", set(),
        ),
        "int hop of the wrong length": (
            raw_shim(0x14, 5, 0x12, 0xB7, body=b"\x20\0\2\5" + md_v2[4:] + bytes(8) + roce_payload()), ports, "int-hop-length-mismatch",
            set(),
        ),
        "int reserved bits filled": (int_md_packet(ids, instructions=0x8070), {}, "ok", set()),
        "int reserved bits left out": (edited(int_md_packet(ids, instructions=0x8000), 51, 0x70), {}, "ok", set()),
        "int domain 0 with domain bits": (int_md_packet(ids, ds_instruction=0x8000), {}, "ok", {"int-domain-default"}),
        "int all-zero metadata": (
            int_md_packet([{"node_id": 1, **dict.fromkeys(("ingress_port", "egress_port", "queue_id", "queue_depth_raw"), 0)}]), {}, "ok",
            {"metadata-zero"},
        ),
        "int node twice": (int_md_packet([{"node_id": 4}, {"node_id": 4}]), {}, "ok", {"node-repeated"}),
        "int E and M": (int_md_packet(ids, flags=6), {}, "ok", {"int-hop-exceeded", "int-mtu-exceeded"}),
        "int behind UDP that ends early": (
            edited(edited(two, 38, 0), 39, 60), {"int_dscp": (23, 63)}, "int-length-beyond-udp", {"udp-length-short"},
        ),
        "report 1": (report(report_1(inner)), {}, "ok", set()),
        "report 1 of IPv4": (report(report_1(inner[14:], protocol=1)), {}, "ok", set()),
        "report 1 with all metadata": (report(report_1(inner, dict.fromkeys(range(6), 0x01020304))), {}, "ok", set()),
        "report 1 flags of ONOS": (report(report_1(inner, flags=1 << 6)), {}, "ok", set()),
        "report 1 with INT inside": (report(report_1(two, {2: 0x03000009})), {}, "ok", set()),
        "report 1 from the newest hop": (
            report(report_1(int_md_packet([{"node_id": 3}, {"node_id": 77}]), {2: 0x03000009})), {}, "ok", set(),
        ),
        "report 1 whose lengths differ": (report(report_1(bytes(4) + inner, length=5)), report_ports, "ok", {"report-length-mismatch"}),
        "report 1 too short": (report(report_1(inner, length=3)), report_ports, "report-length", set()),
        "report 1 of type 3": (report(report_1(inner, protocol=3)), report_ports, "report-type", set()),
        "report of version 3": (report(b"\x30" + report_1(inner)[1:]), report_ports, "report-type", set()),
        "report 1 of a cut packet": (report(report_1(two[:100])), {}, "int-stack-truncated", {"report-inner-cut"}),
        "report 2 ethernet": (report(report_2(single_report(inner, 3))), {}, "ok", {"ip-length-short"}),
        "report 2 ipv4": (report(report_2(single_report(inner[14:], 4))), {}, "ok", set()),
        "report 2 metadata only": (report(report_2(single_report(b"", 0, metadata={1: 0x00010002, 3: 9}))), {}, "ok", set()),
        "report 2 all metadata": (
            report(report_2(single_report(inner[14:], 4, metadata=dict.fromkeys(range(1, 16), 0x00010002)))), {}, "ok", set(),
        ),
        "report 2 reserved bit 0": (report(report_2(single_report(inner[14:], 4, metadata={0: 9, 3: 0x01000002}))), {}, "ok", set()),
        "report 2 to the end": (report(report_2(single_report(inner[14:], 4, metadata={3: 7}, length=255))), {}, "ok", set()),
        "report 2 of length 0": (report(report_2(single_report(inner[14:], 4, metadata={}, length=0))), {}, "ok", {"report-length-zero"}),
        "report 2 of length 0 and nothing plausible": (
            report(report_2(single_report(bytes(40), 4, metadata={}, length=0))), report_ports, "report-length", set(),
        ),
        "report 2 twice": (report(report_2(single_report(inner[14:], 4), single_report(inner[14:], 4))), {}, "ok", {"report-more"}),
        "report 2 TLV": (
            report(report_2(single_report(struct.pack("!BBH", 0x20, (len(inner) - 14) // 4, 9) + inner[14:], 1))), {}, "ok", set(),
        ),
        "report 2 TLV too long": (
            report(report_2(single_report(struct.pack("!BBH", 0x20, 99, 9) + inner[14:], 1))), report_ports, "report-length", set(),
        ),
        "report 2 IOAM": (report(report_2(single_report(bytes(8), 0, report_type=2))), report_ports, "ok", set()),
        "report 2 type 3": (report(report_2(single_report(inner[14:], 4, report_type=3))), report_ports, "report-type", set()),
        "report 2 inner type 6": (report(report_2(single_report(inner[14:], 6))), report_ports, "report-type", set()),
        "report 2 too long": (report(report_2(single_report(inner[14:], 4, length=200))), report_ports, "report-length", set()),
        "report 2 metadata mismatch": (
            report(report_2(single_report(inner[14:], 4, metadata={3: 7}, metadata_words=2))), report_ports, "report-metadata-length",
            set(),
        ),
        "report 2 metadata without a place": (
            report(report_2(single_report(inner[14:], 4, metadata_words=1))), report_ports, "report-metadata-length", set(),
        ),
        "udp of length 7": (udp_frame(roce_payload(), ROCE_PORT, length=7), {}, "udp-length", set()),
        "roce with nothing": (udp_frame(b"", ROCE_PORT), {}, "bth-truncated", set()),
        "roce without room for its ICRC": (udp_frame(roce_payload(data=b"")[:-1], ROCE_PORT), {}, "bth-payload-negative", set()),
        "roce with an unknown opcode": (opcode_frame(0xC1), {}, "bth-opcode-unknown", set()),
        **mri_corners(),
        **int_05_corners(),
        **int_mx_corners(),
        **tunnel_corners(),
        **tcp_corners(),
        **csig_corners(),
    }  # fmt: skip


Corners = dict[str, tuple[bytes, dict[str, Any], str, set[str]]]


def mri_corners() -> Corners:
    """The IPv4 option of the P4 tutorials."""
    three = mri_option([(1, 0), (2, 63), (4, 0xFFFFFFFF)])
    inner = int_md_packet([{"node_id": 5}, {"node_id": 6}])
    return {
        "mri": (mri_frame(three), {}, "ok", set()),
        "mri without hops": (mri_frame(mri_option([])), {}, "ok", set()),
        "mri behind no-operations": (mri_frame(b"\x01" + mri_option([(1, 9)]) + b"\x01\x01\x00"), {}, "ok", set()),
        "mri behind the end of options": (mri_frame(b"\x00\x01\x01\x01" + mri_option([(1, 9)])), {}, "ok", set()),
        "mri of an odd length": (mri_frame(mri_option([(1, 9)], length=11) + b"\x00\x00\x00\x00"), {}, "mri-length", set()),
        "mri of length 3": (mri_frame(mri_option([(1, 9)], length=3)), {}, "mri-length", set()),
        "mri of length 0": (mri_frame(mri_option([(1, 9)], length=0)), {}, "mri-length", set()),
        "mri that claims one hop more": (mri_frame(mri_option([(1, 9)], count=2)), {}, "mri-length", set()),
        "mri beyond the header": (mri_frame(mri_option([(1, 9)], count=2, length=20)), {}, "mri-length", set()),
        "mri twice": (mri_frame(mri_option([(1, 9)]) + mri_option([(2, 8), (3, 7)])), {}, "ok", set()),
        "mri wrong, then right": (mri_frame(mri_option([(1, 9)], count=7) + mri_option([(3, 7)])), {}, "mri-length", set()),
        "mri right, then wrong": (mri_frame(mri_option([(1, 9)]) + mri_option([(3, 7)], count=7)), {}, "mri-length", set()),
        "mri node twice": (mri_frame(mri_option([(1, 9), (1, 9)])), {}, "ok", {"node-repeated"}),
        "mri in front of INT": (mri_frame(three, inner[42:], 7777), {}, "ok", set()),
        "mri in front of broken INT": (
            mri_frame(three, edited(inner[42:], 1, 200), INT_PORT), {"int_ports": (INT_PORT,)}, "int-length-beyond-udp", set(),
        ),
        "mri around MRI": (ipv4_frame(three, mri_frame(mri_option([(7, 1)]))[14:], 4), {}, "ok", set()),
        "mri with TCP": (ipv4_frame(three, tcp_frame(b"abc")[34:], 6), {}, "not-udp", set()),
        "mri in a report": (udp_frame(report_1(mri_frame(three), {2: 0x03000009}), REPORT_PORT), {}, "ok", set()),
    }  # fmt: skip


def int_05_corners() -> Corners:
    """INT v0.5 with its tail."""
    hops = random_hops(5, 3)
    ids = [{"node_id": 5}, {"node_id": 6}]
    ports = {"int_ports": (INT_PORT,)}
    dscp = {"int_dscp": (23, 63)}

    def frame(data: bytes, port: int = ROCE_PORT) -> bytes:
        return udp_frame(data + roce_payload(), port, tos=23 << 2 | 2)

    return {
        "int 0.5": (frame(int_05(hops)), {}, "ok", set()),
        "int 0.5 by DSCP": (frame(int_05(hops)), dscp, "ok", set()),
        "int 0.5 by port": (frame(int_05(hops), INT_PORT), ports, "ok", set()),
        "int 0.5 by marker": (frame(MARKER.to_bytes(8, "big") + int_05(hops), 9), {"marker": MARKER}, "ok", set()),
        "int 0.5 on an unknown port": (frame(int_05(hops), 7777), {}, "ok", set()),
        "int 0.5 with an unknown original port": (frame(int_05(hops, original_port=7777), INT_PORT), ports, "ok", set()),
        "int 0.5 with reserved bits": (frame(int_05(hops, instructions=0xFFFF)), {}, "ok", set()),
        "int 0.5 with congestion status only": (frame(int_05(hops, instructions=0x0200), INT_PORT), ports, "ok", set()),
        "int 0.5 without hops": (frame(int_05([], instructions=0x9000)), {}, "ok", set()),
        "int 0.5 full": (frame(int_05(hops, max_hops=3)), {}, "ok", set()),
        "int 0.5 C and E": (frame(int_05(hops, flags=10)), {}, "ok", {"int-hop-exceeded"}),
        "int 0.5 without DSCP": (frame(int_05(hops, original_dscp=0xC0)), {}, "ok", set()),
        "int 0.5 all-zero metadata": (
            frame(int_05([{"node_id": 1, **dict.fromkeys(("ingress_port", "egress_port", "hop_latency_raw"), 0)}], instructions=0xE000)),
            {}, "ok", {"metadata-zero"},
        ),
        "int 0.5 node twice": (frame(int_05([{"node_id": 4}, {"node_id": 4}], instructions=0x8000)), dscp, "ok", {"node-repeated"}),
        "int 0.5 that is as good a BTH": (frame(int_05(ids, instructions=0x8000)), {}, "ok", set()),
        "int 0.5 with more hops than allowed": (frame(int_05(hops, max_hops=2), INT_PORT), ports, "int-stack-not-whole-hops", set()),
        "int 0.5 whose tail names TCP": (
            frame(int_05(ids, protocol=6, instructions=0x8000), INT_PORT), ports, "int-stack-not-whole-hops", set(),
        ),
        "int 0.5 whose count is not that of its bitmap": (
            frame(edited(int_05(ids, instructions=0x8000), 5, 2), INT_PORT), ports, "int-stack-not-whole-hops", set(),
        ),
        "int 0.5 in a report": (udp_frame(report_1(frame(int_05(hops)), {2: 0x03000009}), REPORT_PORT), {}, "ok", set()),
    }  # fmt: skip


def int_mx_corners() -> Corners:
    """INT-MX over UDP."""
    ports = {"int_ports": (INT_PORT,)}
    mx = int_mx(0x9000, discard=1, domain=7, ds_instruction=0xC000, source_inserted=bytes(range(8)))

    def frame(body: bytes, npt: int = 1, port: int = INT_PORT, last: int = ROCE_PORT, payload: bytes | None = None) -> bytes:
        return udp_frame(shim(body, 3, last, npt=npt) + (roce_payload() if payload is None else payload), port, tos=23 << 2 | 2)

    behind = int_mx(0x9000)
    return {
        "int mx": (frame(mx), ports, "ok", set()),
        "int mx by DSCP": (frame(behind, npt=0, port=ROCE_PORT, last=26 << 2), {"int_dscp": (23, 63)}, "ok", set()),
        "int mx by structure": (frame(behind, npt=0, port=ROCE_PORT, last=26 << 2), {}, "ok", set()),
        "int mx in front of a second UDP": (
            frame(mx, npt=2, last=17, payload=struct.pack("!HHHH", 9, ROCE_PORT, 8 + len(roce_payload()), 0) + roce_payload()), ports, "ok",
            set(),
        ),
        "int mx in front of TCP": (frame(mx, npt=2, last=6, payload=tcp_frame(b"abc")[34:]), ports, "not-udp", set()),
        "int mx with a port loop": (frame(mx, last=INT_PORT), ports, "int-port-loop", set()),
        "int mx with domain 0": (frame(int_mx(0x9000, ds_instruction=0x8000)), ports, "ok", set()),
        "int mx of only a shim": (udp_frame(shim(b"", 3, ROCE_PORT, npt=1, length=3), INT_PORT), ports, "int-length-beyond-udp", set()),
        "int mx behind mri": (mri_frame(mri_option([(1, 9)]), shim(behind, 3, ROCE_PORT, npt=1) + roce_payload(), 7777), {}, "ok", set()),
    }  # fmt: skip


def tunnel_corners() -> Corners:
    """INT in VXLAN-GPE, GRE and Geneve."""
    inner = WORKED_FRAME
    hops = random_hops(7, 2)
    md = int_md(hops)
    one = int_md(hops, dialect="int-1.0")
    mx = int_mx(0x9000, domain=7)
    ids = [{"node_id": 5}, {"node_id": 6}]
    small = int_md(ids)
    bad: dict[str, tuple[bytes, str, set[str]]] = {
        "version 7": (b"\x70" + small[1:], "int-version-unknown", set()),
        "a stack without bitmap": (small[:4] + bytes(8) + b"\0\0\0\7", "int-bitmap-zero", set()),
        "a stack without hop length": (b"\x20\0\0\5" + small[4:], "int-hop-length-zero", set()),
        "a stack that is not whole hops": (b"\x20\0\3\5" + small[4:], "int-stack-not-whole-hops", set()),
        "a hop of the wrong length": (b"\x20\0\2\5" + small[4:], "int-hop-length-mismatch", set()),
        "domain 0 with domain bits": (int_md(ids, ds_instruction=0x8000), "ok", {"int-domain-default"}),
        "no instructions": (int_md([], instructions=0), "ok", set()),
        "no hops": (int_md([], instructions=0x8000), "ok", set()),
        "32-bit times": (b"\x20\0\1\5\x08\0" + bytes(6) + b"\0\0\0\5", "ok", {"int-dialect"}),
        "E and M": (int_md(ids, flags=7), "ok", {"int-hop-exceeded", "int-mtu-exceeded"}),
        "all-zero metadata": (int_md([{"node_id": 1, "hop_latency_raw": 0}]), "ok", {"metadata-zero"}),
        "a node twice": (int_md([{"node_id": 4}, {"node_id": 4}]), "ok", {"node-repeated"}),
        "a cut header": (small[:8], "int-length-too-small", set()),
    }  # fmt: skip
    cases: Corners = {}
    for name, (body, status, warnings) in bad.items():
        cases[f"gpe int with {name}"] = (gpe_int(shim(body, 1, 3), inner), {}, status, warnings)
        cases[f"gre int with {name}"] = (gre_int(shim(body, 1, 0x6558), inner), TUNNELLED_INT, status, warnings)
        cases[f"geneve int with {name}"] = (geneve_int(geneve_option(body), inner), {}, status, warnings)
    for name, kind, body in (("md", 1, md), ("mx", 3, mx)):
        for carrier, frame in int_tunnels(inner, body, kind):
            cases[f"int {name} in {carrier}"] = (frame, TUNNELLED_INT, "ok", set())
    two = geneve_option(md) + geneve_option(int_md(ids))
    return cases | {
        "gpe int 1.0": (gpe_int(shim_1(one, 1, 3), inner, 0x08), {}, "ok", set()),
        "gpe int of ONOS": (gpe_int(shim_1(int_md(hops, dialect="onos-basic"), 1, 3), inner, 0x08), {}, "ok", {"int-dialect"}),
        "gpe int of GEANT": (gpe_int(shim_1(int_md(hops, dialect="geant10"), 1, 3), inner, 0x08), {}, "ok", {"int-dialect"}),
        "gpe int 0.5 has no place": (
            gpe_int(shim_1(int_05(ids, instructions=0x8000)[4:], 1, 3), inner, 0x08), {}, "int-stack-not-whole-hops", set(),
        ),
        "gpe int 1.0 destination": (gpe_int(shim_1(b"", 2, 3), inner, 0x08), {}, "int-destination", set()),
        "gpe int 1.0 of length 0": (gpe_int(shim_1(b"", 2, 3, length=0), inner, 0x08), {}, "int-length-too-small", set()),
        "gpe int 1.0 too short": (gpe_int(shim_1(one, 1, 3, length=2), inner, 0x08), {}, "int-length-too-small", set()),
        "gpe int 1.0 of type 3": (gpe_int(shim_1(one, 3, 3), inner, 0x08), {}, "int-shim-type", set()),
        "gpe int 1.0 of version 2": (gpe_int(shim_1(b"\x20" + one[1:], 1, 3), inner, 0x08), {}, "int-version-unknown", set()),
        "gpe int with the shim of 1.0": (gpe_int(shim_1(one, 1, 3), inner), {}, "int-shim-type", set()),
        "gpe int destination": (gpe_int(shim(b"", 2, 3), inner), {}, "int-destination", set()),
        "gpe int of type 4": (gpe_int(shim(md, 4, 3), inner), {}, "int-shim-type", set()),
        "gpe int with filled reserved bits": (gpe_int(shim(md, 1, 0x7F03, npt=3), inner), {}, "ok", set()),
        "gpe int too long": (gpe_int(shim(md, 1, 3, length=255), inner), {}, "int-length-beyond-udp", set()),
        "gpe int without a shim": (gpe_int(b"\x10\5", b""), {}, "int-shim-truncated", set()),
        "gpe int in front of IPv4": (gpe_int(shim(md, 1, 1), inner[14:]), {}, "ok", set()),
        "gpe int in front of IPv6": (gpe_int(shim(md, 1, 2), _extensions(1)[14:]), {}, "ok", set()),
        "gpe int in front of INT": (gpe_int(shim(md, 1, 0x82) + shim(md, 1, 3), inner), {}, "vxlan-gpe-protocol-unknown", set()),
        "gpe int in front of MPLS": (gpe_int(shim(md, 1, 5), inner), {}, "vxlan-gpe-protocol-unknown", set()),
        "gpe int in front of nothing": (gpe_int(shim(md, 1, 3), b""), {}, "link-truncated", set()),
        "gpe int of version 7 in front of nothing": (gpe_int(shim(b"\x70" + md[1:], 1, 3), b""), {}, "int-version-unknown", set()),
        "gpe int mx of version 1": (gpe_int(shim(b"\x10" + mx[1:], 3, 3), inner), {}, "int-version-unknown", set()),
        "gpe int with a domain": (
            gpe_int(shim(int_md(ids, domain=7, ds_instruction=0xC000, hop_extra=bytes(4), source_only=bytes(4)), 1, 3), inner),
            {"domains": {7: (1, 1)}}, "ok", set(),
        ),
        "gpe int around INT": (gpe_int(shim(md, 1, 3), int_md_packet(ids)), {}, "ok", set()),
        "gpe int in a report": (udp_frame(report_1(gpe_int(shim(md, 1, 3), inner), {2: 0x03000009}), REPORT_PORT), {}, "ok", set()),
        "gre int not configured": (gre_int(shim(md, 1, 0x6558), inner), {}, "gre-protocol-unknown", set()),
        "gre int in front of IPv4": (gre_int(shim(md, 1, 0x0800), inner[14:]), TUNNELLED_INT, "ok", set()),
        "gre int in front of MPLS": (gre_int(shim(md, 1, 0x8847), _mpls_labels(2)[14:]), TUNNELLED_INT, "ok", set()),
        "gre int in front of ERSPAN": (gre_int(shim(md, 1, 0x88BE), inner), TUNNELLED_INT, "gre-protocol-unknown", set()),
        "gre int in front of a tag": (gre_int(shim(md, 1, 0x8100), inner), TUNNELLED_INT, "gre-protocol-unknown", set()),
        "gre int destination": (gre_int(shim(b"", 2, 0x6558), inner), TUNNELLED_INT, "int-destination", set()),
        "gre int of type 0": (gre_int(shim(md, 0, 0x6558), inner), TUNNELLED_INT, "int-shim-type", set()),
        "gre int too long": (gre_int(shim(md, 1, 0x6558, length=255), inner), TUNNELLED_INT, "int-length-beyond-udp", set()),
        "gre int without a shim": (gre_int(b"\x10\5", b""), TUNNELLED_INT, "int-shim-truncated", set()),
        "gre int with filled reserved bits": (gre_int(shim(md, 1, 0x6558, npt=3), inner), TUNNELLED_INT, "ok", set()),
        "geneve int class not configured": (geneve_int(geneve_option(md, 1, GENEVE_INT), inner), {}, "ok", set()),
        "geneve int of type 2": (geneve_int(geneve_option(md, 2), inner), {}, "ok", set()),
        "geneve int critical": (geneve_int(geneve_option(md, 0x81), inner), {}, "ok", {"geneve-critical"}),
        "geneve int twice": (geneve_int(two, inner), {}, "ok", set()),
        "geneve int, then broken": (geneve_int(two + geneve_option(bad["version 7"][0]), inner), {}, "int-version-unknown", set()),
        "geneve int broken, then right": (geneve_int(geneve_option(bad["version 7"][0]) + two, inner), {}, "int-version-unknown", set()),
        "geneve int md, then mx": (geneve_int(two + geneve_option(mx, 3), inner), {}, "ok", set()),
        "geneve int mx, then md": (geneve_int(geneve_option(mx, 3) + two, inner), {}, "ok", set()),
        "geneve int mx too short": (geneve_int(geneve_option(mx[:8], 3), inner), {}, "int-length-too-small", set()),
        "geneve int mx of version 1": (geneve_int(geneve_option(b"\x10" + mx[1:], 3), inner), {}, "int-version-unknown", set()),
        "geneve int that overruns": (
            geneve_int(two + b"\x01\x03\x01\x1f", inner), {}, "geneve-options-overrun", set(),
        ),
        "geneve int around an unknown protocol": (
            edited(geneve_int(two, inner), 14 + 20 + 8 + 2, 0x12), {}, "geneve-protocol-unknown", set(),
        ),
        "geneve int around INT": (geneve_int(two, int_md_packet(ids)), {}, "ok", set()),
        "geneve int with broken INT inside": (
            geneve_int(two, edited(int_md_packet(ids, 1), 43, 200)), {"int_ports": (INT_PORT,)}, "int-length-beyond-udp", set(),
        ),
    }  # fmt: skip


def tcp_corners() -> Corners:
    """INT over TCP, which only the profile can announce."""
    dscp = {"int_dscp": (23, 63)}
    marker = {"marker": MARKER}
    mark = MARKER.to_bytes(8, "big")
    md = shim(int_md(random_hops(8, 2)), 1, 26 << 2)
    other = shim(int_md([{"node_id": 5}, {"node_id": 6}]))
    options = bytes([2, 4, 5, 0xB4, 1, 3, 3, 7])
    rest = b"GET / HTTP/1.1"
    return {
        "tcp int by DSCP": (tcp_frame(md + rest), dscp, "ok", set()),
        "tcp int without a profile": (tcp_frame(md + rest), {}, "not-udp", set()),
        "tcp int of another DSCP": (tcp_frame(md + rest, dscp=24), dscp, "not-udp", set()),
        "tcp int over IPv6": (tcp_frame(md + rest, ip_version=6), dscp, "ok", set()),
        "tcp int behind options": (tcp_frame(md + rest, options=options), dscp, "ok", set()),
        "tcp int in front of options": (tcp_frame(md + options + rest, offset=7), dscp, "ok", set()),
        "tcp int in front of options and behind them": (tcp_frame(other + md, offset=5 + len(other) // 4), dscp, "ok", set()),
        "tcp int by marker": (tcp_frame(mark + md + rest, dscp=0), marker, "ok", set()),
        "tcp int by marker behind options": (tcp_frame(mark + md + rest, options=options, dscp=0), marker, "ok", set()),
        "tcp int by marker in front of options": (tcp_frame(mark + md + options + rest, offset=7, dscp=0), marker, "ok", set()),
        "tcp marker in front of no INT": (tcp_frame(mark + rest, dscp=0), marker, "not-udp", set()),
        "tcp int 1.0": (tcp_frame(shim_1(int_md(random_hops(8, 2), dialect="int-1.0"), 1, 26 << 2) + rest), dscp, "ok", set()),
        "tcp int of GEANT": (tcp_frame(shim_1(int_md(random_hops(8, 2), dialect="geant10"), 1, 26 << 2)), dscp, "ok", {"int-dialect"}),
        "tcp int 0.5": (tcp_frame(int_05(random_hops(8, 2), protocol=6, original_port=80) + rest), dscp, "ok", set()),
        "tcp int 0.5 whose tail names UDP": (tcp_frame(int_05([{"node_id": 5}], instructions=0x8000) + rest), dscp, "not-udp", set()),
        "tcp int mx": (tcp_frame(shim(int_mx(0x9000, domain=7), 3) + rest), dscp, "ok", set()),
        "tcp int with NPT 1": (tcp_frame(shim(md[4:], 1, 80, npt=1) + rest), dscp, "ok", {"int-npt"}),
        "tcp int with E": (tcp_frame(shim(int_md([{"node_id": 5}], flags=2)) + rest), dscp, "ok", {"int-hop-exceeded"}),
        "tcp int beyond the end of IP": (tcp_frame(md[:-4]), dscp, "not-udp", set()),
        "tcp int whose hops are not whole": (tcp_frame(edited(md, 6, 7) + rest), dscp, "not-udp", set()),
        "tcp int of version 7": (tcp_frame(edited(md, 4, 0x70) + rest), dscp, "not-udp", set()),
        "tcp int destination": (tcp_frame(shim(md[4:], 2) + rest), dscp, "not-udp", set()),
        "tcp without INT": (tcp_frame(rest * 4), dscp, "not-udp", set()),
        "tcp without payload": (tcp_frame(b""), dscp, "not-udp", set()),
        "tcp with data offset 4": (tcp_frame(md, offset=4), dscp, "tcp-header-length", set()),
        "tcp with data offset 4 and no profile": (tcp_frame(md, offset=4), {}, "not-udp", set()),
        "tcp with data offset 4 and a marker": (tcp_frame(md, offset=4, dscp=0), marker, "tcp-header-length", set()),
        "tcp options beyond the packet": (tcp_frame(b"abc", offset=15), dscp, "tcp-truncated", set()),
        "tcp header of 19 bytes": (ipv4_frame(b"", tcp_frame(b"")[34:53], 6, dscp=23), dscp, "tcp-truncated", set()),
        "tcp header of 3 bytes": (ipv4_frame(b"", tcp_frame(b"")[34:37], 6, dscp=23), dscp, "tcp-truncated", set()),
        "tcp header of 19 bytes in a report": (
            udp_frame(report_1(tcp_frame(md)[:53]), REPORT_PORT), dscp, "report-inner-truncated", {"report-inner-cut"},
        ),
        "tcp int behind a second UDP header": (
            udp_frame(shim(int_md([{"node_id": 5}]), 1, 6, npt=2) + tcp_frame(md)[34:], INT_PORT, tos=23 << 2),
            {"int_ports": (INT_PORT,), **dscp}, "not-udp", set(),
        ),
        "tcp int in a report": (udp_frame(report_1(tcp_frame(md + rest), {2: 0x03000009}), REPORT_PORT), dscp, "ok", set()),
        "tcp int in IP that is cut": (edited(edited(tcp_frame(md), 16, 0x02), 17, 0), dscp, "ok", {"ip-length-beyond-packet"}),
    }  # fmt: skip


def csig_corners() -> Corners:
    """CSIG tags."""
    inner = WORKED_FRAME
    return {
        "csig": (csig_tagged(inner, CSIG), {}, "ok", set()),
        "csig twice": (csig_tagged(inner, CSIG, 0x2B85), {}, "ok", set()),
        "csig of ones": (csig_tagged(inner, 0xFFFF), {}, "ok", set()),
        "csig of ones and another": (csig_tagged(inner, 0xFFFF, CSIG), {}, "ok", set()),
        "csig of zeros": (csig_tagged(inner, 0), {}, "ok", set()),
        "csig behind a VLAN tag": (_retag(csig_tagged(inner, CSIG), Dot1Q(vlan=77)), {}, "ok", set()),
        "csig inside a tunnel": (ANY["vxlan"](csig_tagged(inner, CSIG)), {}, "ok", set()),
        "csig outside and inside": (csig_tagged(ANY["vxlan"](csig_tagged(inner, CSIG)), 0x2B85), {}, "ok", set()),
        "csig eight times": (csig_tagged(inner, *range(8)), {}, "ok", set()),
        "csig nine times": (csig_tagged(inner, *range(9)), {}, "vlan-limit", set()),
        "csig cut": (csig_tagged(inner, CSIG)[:17], {}, "link-truncated", set()),
    }


def carried(seed: int, count: int) -> Iterator[bytes]:
    """Telemetry of every kind in everything that carries it, around every kind of packet; most of it damaged or cut."""
    rng = random.Random(seed)
    for _ in range(count):
        hops = random_hops(rng.randrange(1 << 16), rng.choice((0, 1, 1, 2, 3)))
        instructions = rng.choice((0, 0x8000, 0x9000, 0xC000, 0xDC80, 0xFD00, 0xFF00, 0x0200, rng.randrange(1 << 16)))
        body = int_md(hops, instructions=instructions, remaining=rng.randrange(256), flags=rng.randrange(8))
        if rng.random() < 0.25:
            # Domain 7 has a word in every hop and one at the source in the profiles of the tests, domain 8 is in none.
            domain, source = rng.choice((0, 7, 7, 8)), rng.choice((b"", b"\0\0\0\2"))
            body = int_md(hops, instructions=instructions, domain=domain, ds_instruction=0x8000, hop_extra=b"\0\0\0\1", source_only=source)
        one = int_md(hops, dialect=rng.choice(("int-1.0", "onos-basic", "geant10")), instructions=instructions, flags=rng.randrange(16))
        mx = int_mx(instructions, discard=rng.randrange(2), domain=7, source_inserted=bytes(4 * rng.randrange(3)))
        protocol = rng.choice((6, 17))
        old = int_05(
            hops, instructions=instructions or 0x9000, protocol=protocol, flags=rng.randrange(16), original_port=rng.choice((9, 4791))
        )
        kind, chosen = rng.choice(((1, body), (1, body), (3, mx), (rng.choice((0, 2, 3, 4)), body)))
        option = geneve_option(chosen, kind, rng.choice((0x0103, GENEVE_INT))) if len(chosen) <= 124 else b""
        list_of = mri_option([(hop["node_id"], hop["queue_depth_raw"]) for hop in hops])
        listed = mri_frame(list_of + rng.choice((b"", mri_option([(9, 9)]), bytes(4))))
        tcp_int = rng.choice(
            (shim(chosen, kind, npt=rng.randrange(3)), shim_1(one, last=26 << 2), old, MARKER.to_bytes(8, "big") + shim(body))
        )
        on_tcp = tcp_frame(
            tcp_int + b"text", options=rng.choice((b"", bytes(8), shim(body)[:40])), offset=rng.choice((None, None, 5, 6, 7))
        )
        on_udp = udp_frame(
            rng.choice((old, shim(chosen, kind, ROCE_PORT, npt=1), shim_1(one))) + roce_payload(), rng.choice((9, INT_PORT)), 23 << 2
        )
        inner = rng.choice((WORKED_FRAME, on_udp, on_tcp, listed, csig_tagged(on_udp, rng.randrange(1 << 16))))
        carrier = rng.randrange(6)
        if carrier == 0:
            frame = gpe_int(shim(chosen, kind, rng.choice((3, 3, 3, 1, 0x82)), npt=rng.randrange(2)), inner, rng.choice((0x80, 0x82)))
        elif carrier == 1:
            frame = gpe_int(shim_1(one, rng.choice((1, 1, 1, 2, 3)), 3), inner, 0x08)
        elif carrier == 2:
            frame = gre_int(shim(chosen, kind, rng.choice((0x6558, 0x6558, 0x0800))), inner, seqnum_present=rng.randrange(2))
        elif carrier == 3:
            more = rng.choice((b"", geneve_option(mx, 3), geneve_option(bytes(8), 1), b"\1\3\1\x1e"))
            frame = geneve_int((option + more)[:252], inner)
        elif carrier == 4:
            frame = rng.choice((report_1_frame, csig_tagged, ANY["vlan"], ANY["erspan-2"]))(inner)
        else:
            frame = inner
        if rng.random() < 0.5:
            changed = bytearray(frame)
            for _ in range(rng.randrange(1, 4)):
                changed[min(len(changed) - 1, 14 + int(rng.expovariate(1 / 48)))] = rng.choice((0, 1, 3, 8, 0x20, 0xFF, rng.randrange(256)))
            frame = bytes(changed)
        yield frame[: rng.randrange(len(frame) + 1)] if rng.random() < 0.3 else frame


def report_1_frame(inner: bytes) -> bytes:
    """A frame in a telemetry report v1.0 with one hop of its own."""
    return udp_frame(report_1(inner, {2: 0x03000009}), REPORT_PORT)


WORKED_FRAME = worked_packets()["01_rocev2_ipv4_rc_write_only"]
"""Plain RoCEv2, for what goes inside something else."""
