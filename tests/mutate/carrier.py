"""A frame in tunnels, mirrors, fragments, under every link type."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator

from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import GRE, IP, fragment
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

from .frame import ethernet, ethertype, ip4, ip6, is_plain, roce_payload, udp_frame, udp_header
from .number import CSIG, ROCE_PORT, WIDE_CSIG


def retagged(frame: bytes, tag: Packet) -> bytes:
    """A frame with one more tag."""
    tag.type = ethertype(frame)
    packet = Ether(frame[:12] + struct.pack("!H", 0x88A8 if isinstance(tag, Dot1AD) else 0x8100)) / tag / Raw(frame[14:])
    return bytes(packet)


def csig_tagged(frame: bytes, *tags: int) -> bytes:
    """A frame with CSIG tags behind its MAC addresses."""
    return frame[:12] + b"".join(struct.pack("!HH", 0x9900, tag) for tag in tags) + frame[12:]


def wide_csig_tagged(frame: bytes, tag: int) -> bytes:
    """A frame with a wide CSIG tag behind its MAC addresses."""
    return frame[:12] + struct.pack("!H", WIDE_CSIG) + tag.to_bytes(6, "big") + frame[12:]


def gre(frame: bytes, protocol: int, payload: bytes, outer: Packet | None = None, **flags: int) -> bytes:
    carrier = ethernet(0x0800) / ip4(47) if outer is None else outer
    return bytes(carrier / GRE(proto=protocol, **flags) / Raw(payload))


def erspan_2(vlan: int = 100, session: int = 0x155, truncated: int = 0) -> bytes:
    return struct.pack("!II", 1 << 28 | vlan << 16 | 5 << 13 | 3 << 11 | truncated << 10 | session, 0x12345)


def erspan_3(frame_type: int = 0, subheader: bool = False) -> bytes:
    head = struct.pack(
        "!IIHH", 2 << 28 | 200 << 16 | 3 << 13 | 0x2AA, 123456789, 100, 1 << 15 | frame_type << 10 | 21 << 4 | 1 << 3 | subheader
    )
    return head + (struct.pack("!II", 5 << 26 | 291 << 16 | 3054, 1_700_000_000) if subheader else b"")


def geneve(protocol: int, payload: bytes) -> bytes:
    options = GeneveOptions(classid=0x0105, type=1, data=b"\x01\x02\x03\x04") / GeneveOptions(classid=0x0106, type=2, data=b"")
    raw = bytes(options)
    header = GENEVE(vni=0xABCD, proto=protocol, optionlen=len(raw) // 4)
    return bytes(ethernet(0x0800) / ip4() / udp_header(6081) / Raw(bytes(header)[:8] + raw + payload))


def gpe(following: int, payload: bytes) -> bytes:
    return bytes(ethernet(0x0800) / ip4() / udp_header(4790) / Raw(bytes([0x0C, 0, 0, following, 0, 0xBE, 0xEF, 0]) + payload))


def _extension_headers(frame: bytes) -> bytes:
    chain = ip6() / IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\x00" * 2), HBHOptUnknown(otype=0x1E, optdata=b"\x01\x02")])
    chain = chain / IPv6ExtHdrRouting(addresses=["2001:db8::77"], segleft=0) / IPv6ExtHdrFragment(id=7) / IPv6ExtHdrDestOpt(options=[])
    return bytes(ethernet(0x86DD) / chain / udp_header(4789) / VXLAN(vni=9, flags=8) / Raw(frame))


def mpls(frame: bytes, labels: int, control_word: bool) -> bytes:
    packet = ethernet(0x8847)
    for label in range(labels):
        packet = packet / MPLS(label=100 + label, s=int(label == labels - 1), ttl=64)
    return bytes(packet) + (b"\x00\x00\x00\x00" + frame if control_word else frame[14:])


# name → wrapper of a frame with IPv4 or IPv6 directly behind its MAC addresses (PLAIN) or of any frame (ANY)
ANY: dict[str, Callable[[bytes], bytes]] = {
    "vlan": lambda frame: retagged(frame, Dot1Q(vlan=77, prio=3)),
    "qinq": lambda frame: retagged(retagged(frame, Dot1Q(vlan=77)), Dot1AD(vlan=1000)),
    "csig": lambda frame: csig_tagged(frame, CSIG),
    "mpls-pseudowire": lambda frame: mpls(frame, 2, True),
    "gre-ethernet": lambda frame: gre(frame, 0x6558, frame),
    "gre-all-words": lambda frame: gre(frame, 0x6558, frame, chksum_present=1, key_present=1, seqnum_present=1),
    "gre-over-ipv6": lambda frame: gre(frame, 0x6558, frame, outer=ethernet(0x86DD) / ip6(47)),
    "erspan-1": lambda frame: gre(frame, 0x88BE, frame),
    "erspan-2": lambda frame: gre(frame, 0x88BE, erspan_2() + frame, seqnum_present=1, sequence_number=0xA0B),
    "erspan-3": lambda frame: gre(frame, 0x22EB, erspan_3() + frame, seqnum_present=1, sequence_number=77),
    "erspan-3-subheader": lambda frame: gre(frame, 0x22EB, erspan_3(subheader=True) + frame, seqnum_present=1),
    "vxlan": lambda frame: bytes(ethernet(0x0800) / ip4() / udp_header(4789) / VXLAN(vni=77, flags=8) / Raw(frame)),
    "vxlan-linux": lambda frame: bytes(ethernet(0x0800) / ip4() / udp_header(8472) / VXLAN(vni=77, flags=8) / Raw(frame)),
    "vxlan-gpe": lambda frame: gpe(3, frame),
    "geneve": lambda frame: geneve(0x6558, frame),
    "vxlan-behind-extension-headers": _extension_headers,
}
PLAIN: dict[str, Callable[[bytes], bytes]] = {
    "mpls": lambda frame: mpls(frame, 3, False),
    "gre-ip": lambda frame: gre(frame, ethertype(frame), frame[14:]),
    "erspan-3-ip": lambda frame: gre(frame, 0x22EB, erspan_3(frame_type=2) + frame[14:], seqnum_present=1),
    "vxlan-gpe-ip": lambda frame: gpe(1 if ethertype(frame) == 0x0800 else 2, frame[14:]),
    "geneve-ip": lambda frame: geneve(ethertype(frame), frame[14:]),
    "ip-in-ip": lambda frame: bytes(ethernet(0x0800) / ip4(4 if ethertype(frame) == 0x0800 else 41) / Raw(frame[14:])),
}


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
    if ethertype(frame) == 0x0800:
        packet = IP(frame[14:])
        # The payload as it is: scapy would build its layers anew.
        whole = IP(src=packet.src, dst=packet.dst, id=packet.id, proto=packet.proto, tos=packet.tos) / Raw(frame[14 + 4 * packet.ihl :])
        return [bytes(ethernet(0x0800) / piece) for piece in fragment(whole, fragsize=size)]
    packet = IPv6(frame[14:54])
    head = IPv6(src=packet.src, dst=packet.dst, tc=packet.tc, hlim=packet.hlim, nh=44)
    whole = head / IPv6ExtHdrFragment(nh=packet.nh, id=0x77) / Raw(frame[54:])
    return [bytes(ethernet(0x86DD) / piece) for piece in fragment6(whole, 40 + 8 + size)]


def links(frame: bytes) -> Iterator[tuple[int, bytes]]:
    """A plain frame under every link type that is read: link type, bytes."""
    kind, packet = ethertype(frame), frame[14:]
    yield 1, frame
    yield from ((number, packet) for number in (12, 14, 101))
    yield (228 if kind == 0x0800 else 229), packet
    yield 113, struct.pack("!HHH8sH", 0, 1, 6, frame[6:12], kind) + packet
    yield 276, struct.pack("!HHIHBB8s", kind, 0, 3, 1, 0, 6, frame[6:12]) + packet


def mpls_labels(count: int) -> bytes:
    labels = b"".join(struct.pack("!I", 100 << 12 | (number == count - 1) << 8 | 64) for number in range(count))
    return bytes(ethernet(0x8847)) + labels + udp_frame(roce_payload(), ROCE_PORT)[14:]


def vlan_tags(count: int) -> bytes:
    frame = udp_frame(roce_payload(), ROCE_PORT)
    return frame[:12] + b"".join(struct.pack("!HH", 0x8100, 10 + number) for number in range(count)) + frame[12:]


def extensions(count: int, payload: bytes = b"", port: int = ROCE_PORT) -> bytes:
    """A UDP packet, RoCEv2 if nothing else is said, behind so many extension headers of IPv6."""
    chain = b"".join(bytes([17 if number == count - 1 else 60, 0, 1, 4, 0, 0, 0, 0]) for number in range(count))
    return bytes(ethernet(0x86DD) / ip6(60) / Raw(chain + udp_frame(payload or roce_payload(), port)[34:]))
