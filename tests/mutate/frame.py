"""Plain frames: what other builders put their payload into."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from .number import ROCE_PORT

Corners = dict[str, tuple[bytes, dict[str, Any], str, set[str]]]
"""By name: frame, profile, the status and the warnings that it must get."""


def ethernet(kind: int) -> Packet:
    return Ether(dst="02:00:00:00:00:99", src="02:00:00:00:00:01", type=kind)


def ip4(proto: int | None = None) -> Packet:
    return IP(src="172.16.0.1", dst="172.16.0.9", id=0x4321, **({} if proto is None else {"proto": proto}))


def ip6(following: int | None = None) -> Packet:
    return IPv6(src="2001:db8:f::1", dst="2001:db8:f::9", **({} if following is None else {"nh": following}))


def udp_header(port: int) -> Packet:
    return UDP(sport=0xC123, dport=port, chksum=0)


def ethertype(frame: bytes) -> int:
    """EtherType of a frame, which must have no tag where only its IP packet is carried on."""
    return int.from_bytes(frame[12:14], "big")


def is_plain(frame: bytes) -> bool:
    """IPv4 or IPv6 stands directly behind the MAC addresses."""
    return ethertype(frame) in (0x0800, 0x86DD)


def ipv4_frame(options: bytes, payload: bytes, protocol: int = 17, dscp: int = 26) -> bytes:
    """IPv4 with these options (whole words) in front of what its protocol announces."""
    size = 20 + len(options)
    header = struct.pack("!BBHHHBBHII", 0x40 | size // 4, dscp << 2 | 2, size + len(payload), 7, 0, 64, protocol, 0, 0x0A000101, 0x0A000303)
    return bytes(ethernet(0x0800)) + header + options + payload


def udp_frame(payload: bytes, port: int, tos: int = 0, length: int | None = None) -> bytes:
    """A plain IPv4/UDP frame."""
    udp = UDP(sport=0xC000, dport=port, chksum=0, **({} if length is None else {"len": length}))
    return bytes(ethernet(0x0800) / IP(src="192.0.2.1", dst="192.0.2.99", tos=tos) / udp / Raw(payload))


def tcp_frame(payload: bytes, *, options: bytes = b"", offset: int | None = None, dscp: int = 23, ip_version: int = 4) -> bytes:
    """A plain TCP segment; `offset` is the data offset where it does not tell the truth."""
    words = 5 + len(options) // 4 if offset is None else offset
    header = struct.pack("!HHIIBBHHH", 0xC000, 5001, 1000, 2000, words << 4, 0x10, 512, 0, 0)
    outer = ip4(6) if ip_version == 4 else ip6(6)
    if ip_version == 4:
        outer.tos = dscp << 2 | 2
    else:
        outer.tc = dscp << 2 | 2
    return bytes(ethernet(0x0800 if ip_version == 4 else 0x86DD) / outer / Raw(header + options + payload))


def roce_payload(psn: int = 0xABCDEF, data: bytes = bytes(range(0x10, 0x20))) -> bytes:
    """BTH (RC RDMA WRITE Only), RETH, data and an ICRC that is not computed: what stands behind INT."""
    pad = -len(data) % 4
    head = struct.pack("!BBHIB", 0x0A, 0x40 | pad << 4, 0xFFFF, 0x123, 0x80) + psn.to_bytes(3, "big")
    return head + struct.pack("!QII", 0x00007F0012345678, 0x1A2B, len(data)) + data + bytes(pad) + b"\xa4\xf3\x8c\xd2"


def opcode_frame(opcode: int, size: int = 48) -> bytes:
    """RoCEv2 with this opcode and `size` countable bytes behind the BTH."""
    return udp_frame(struct.pack("!BBHIB", opcode, 0x40, 0xFFFF, 0x123, 0x80) + b"\x00\x00\x07" + bytes(range(1, 1 + size)), ROCE_PORT)


WORKED_PACKETS = Path(__file__).parent.parent / "golden" / "worked-packets.json"


def worked_packets() -> dict[str, bytes]:
    """The worked packets of the format reference, by name; all are Ethernet frames."""
    return {entry["name"]: bytes.fromhex(entry["hex"]) for entry in json.loads(WORKED_PACKETS.read_text())}


WORKED_FRAME = worked_packets()["01_rocev2_ipv4_rc_write_only"]
"""Plain RoCEv2, for what goes inside something else."""


def edited(data: bytes, at: int, value: int) -> bytes:
    """One byte set."""
    return data[:at] + bytes([value]) + data[at + 1 :]
