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
    for number in range(count):
        body = rng.choice(starts) + rng.randbytes(rng.randrange(120))
        kind = number % 4
        if kind == 0:
            yield rng.randbytes(rng.randrange(160))
        elif kind == 1:
            yield bytes(Ether(dst="02:00:00:00:00:0b", src="02:00:00:00:00:0a") / IP(src="10.0.0.1", dst="10.0.0.2", proto=47) / Raw(body))
        elif kind == 2:
            options = bytes([rng.choice((0x31, 0x11, 1, 5)), rng.randrange(64)]) + rng.randbytes(rng.randrange(8, 100))
            header = IPv6(src="2001:db8::1", dst="2001:db8::2", nh=rng.choice((0, 60, 43, 44)))
            yield bytes(_ether(0x86DD) / header / Raw(bytes([17, rng.randrange(14)]) + options))
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
    bitmap = instructions_of(hops, dialect) if instructions is None else instructions
    blocks = [_hop_words(hop, bitmap, dialect) + hop_extra for hop in reversed(hops)]
    hop_words = len(_hop_words({}, bitmap, dialect) + hop_extra) // 4
    stack = b"".join(blocks) + source_only
    version = _VERSIONS[dialect]
    payload = roce_payload() if payload is None else payload
    if dialect == "int-2.x":
        word = version << 28 | (flags & 1) << 27 | (flags >> 1 & 1) << 26 | (flags >> 2 & 1) << 25 | hop_words << 8 | remaining
        last = {0: original_dscp << 2, 1: original_port, 2: 17}[npt]
        shim = struct.pack("!BBH", 1 << 4 | npt << 2, (12 + len(stack)) // 4, last)
        header = struct.pack("!IHHHH", word, bitmap, domain, ds_instruction, 0)
        port = ROCE_PORT if npt == 0 else INT_PORT
        if npt == 2:
            payload = bytes(UDP(sport=0xC000, dport=original_port, len=8 + len(payload), chksum=0)) + payload
    else:
        word = version << 28 | (flags >> 3 & 1) << 25 | (flags >> 1 & 1) << 24 | (flags >> 2 & 1) << 23 | hop_words << 8 | remaining
        shim = struct.pack("!BBBB", 1, 0, (12 + len(stack)) // 4, original_dscp << 2)
        header = struct.pack("!IHH", word, bitmap, 0)
        port = ROCE_PORT
    mark = b"" if marker is None else marker.to_bytes(8, "big")
    outer: Any = (
        IP(src="10.0.0.1", dst="10.0.0.2", id=0x1234, tos=dscp << 2 | 2)
        if ip_version == 4
        else IPv6(src="2001:db8::1", dst="2001:db8::2", tc=dscp << 2 | 2)
    )
    udp = UDP(sport=0xC000, dport=port if dst_port is None else dst_port, chksum=0)
    return bytes(Ether(dst="02:00:00:00:00:0b", src="02:00:00:00:00:0a") / outer / udp / Raw(mark + shim + header + stack + payload))


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


def corner_cases() -> dict[str, tuple[bytes, dict[str, Any], str, set[str]]]:
    """Packets at the edges of the rules: frame, profile, status and warnings that they must get."""
    inner = WORKED_FRAME
    ports = {"int_ports": (INT_PORT,)}
    report_ports = {"report_ports": (REPORT_PORT,)}
    hops = random_hops(9, 2)
    two = int_md_packet(hops)
    ids = [{"node_id": 5}, {"node_id": 6}]
    marker = {"marker": 0x1122334455667788}
    int_on_vxlan = int_md_packet(hops, dst_port=4789, payload=bytes([8, 0, 0, 0, 0, 0, 77, 0]) + inner)
    md_v1 = struct.pack("!IHH", 1 << 28 | 1 << 8 | 5, 0x8000, 0)
    md_v2 = struct.pack("!IHHI", 2 << 28 | 1 << 8 | 5, 0x8000, 0, 0)

    def shim(*head: int, body: bytes = b"", port: int = INT_PORT) -> bytes:
        return udp_frame(bytes(head) + body, port)

    def edited(frame: bytes, at: int, value: int) -> bytes:
        return frame[:at] + bytes([value]) + frame[at + 1 :]

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
        "int NPT 3": (shim(0x1C, 4, 0, 0, body=md_v2 + b"\0\0\0\7"), ports, "int-npt-reserved", set()),
        "int shim type 4": (shim(0x48, 4, 0, 0, body=md_v2 + b"\0\0\0\7"), ports, "int-shim-type", set()),
        "int shim alone": (shim(0x10, 3), ports, "int-shim-truncated", set()),
        "int v1 too short": (shim(1, 0, 2, 0, body=md_v1), ports, "int-length-too-small", set()),
        "int v2 too short": (shim(0x10, 2, 0, 0, body=md_v2), ports, "int-length-too-small", set()),
        "int v1 destination": (shim(2, 0, 3, 0, body=md_v1), ports, "int-destination", set()),
        "int v2 destination": (shim(0x20, 3, 0, 0, body=md_v2), ports, "int-destination", {"int-npt"}),
        "int version 7": (shim(0x10, 3, 0, 0, body=b"\x70" + md_v2[1:]), ports, "int-version-unknown", {"int-npt"}),
        "int v1 shim with version 2": (shim(1, 0, 4, 0, body=b"\x20" + md_v1[1:] + b"\0\0\0\7"), ports, "int-version-unknown", set()),
        "int mx of version 1": (shim(0x34, 3, 0x12, 0xB7, body=b"\x10" + md_v2[1:]), ports, "int-version-unknown", set()),
        "int stack without bitmap": (shim(0x10, 4, 0, 0, body=md_v2[:4] + bytes(8) + b"\0\0\0\7"), ports, "int-bitmap-zero", set()),
        "int stack without hop length": (
            shim(0x10, 4, 0, 0, body=b"\x20\0\0\5" + md_v2[4:] + b"\0\0\0\7"), ports, "int-hop-length-zero", set(),
        ),
        "int hop of the wrong length": (
            shim(0x14, 5, 0x12, 0xB7, body=b"\x20\0\2\5" + md_v2[4:] + bytes(8) + roce_payload()), ports, "int-hop-length-mismatch", set(),
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
    }  # fmt: skip


WORKED_FRAME = worked_packets()["01_rocev2_ipv4_rc_write_only"]
"""Plain RoCEv2, for what goes inside something else."""
