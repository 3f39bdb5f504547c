"""Other tools on the same capture: each decodes all its packets and is charged its CPU time, start-up excluded.

python -m benchmarks.peers NAME FILE     one line of JSON: packets, hops, cpu_ns
"""

from __future__ import annotations

import json
import shutil
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.child import ChildError, cost_of, module

# fmt: off
_TSHARK_FIELDS = (
    "frame.time_epoch", "frame.cap_len", "frame.len", "vlan.id", "ip.src", "ip.dst", "ip.dsfield.dscp", "ip.dsfield.ecn", "ip.ttl",
    "ip.id", "ip.len", "udp.srcport", "udp.dstport", "intmd.npt", "intmd.length", "intmd.hop_ml", "intmd.remaining", "intmd.bitmap",
    "intmd.domain", "intmd.node", "intmd.ingress", "intmd.egress", "intmd.latency", "intmd.queue", "intmd.depth", "intmd.ingress_time",
    "intmd.egress_time", "infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp", "infiniband.bth.a", "infiniband.reth.va",
    "infiniband.reth.r_key", "infiniband.reth.dmalen", "infiniband.invariant.crc",
)
# fmt: on


class Missing(Exception):
    """The tool is not installed; the message says which."""


def _without_start_up(command: Callable[[Path], list[str]], capture: Path) -> int:
    """CPU time on the capture less that on its first record."""
    single = capture.with_suffix(".single.pcap")
    with capture.open("rb") as file:
        head = file.read(24 + 16)
        single.write_bytes(head + file.read(int.from_bytes(head[32:36], "little")))
    try:
        return min(cost_of(command(capture)) for _ in range(2)).cpu_ns - min(cost_of(command(single)) for _ in range(2)).cpu_ns
    finally:
        single.unlink()


def tcpdump(capture: Path) -> dict[str, int]:
    """`tcpdump -nn -r`: prints a line per packet, knows no telemetry."""
    if shutil.which("tcpdump") is None:
        raise Missing("tcpdump is not installed")
    return {"cpu_ns": _without_start_up(lambda file: ["tcpdump", "-nn", "-r", str(file)], capture)}


def tshark(capture: Path) -> dict[str, int]:
    """`tshark -T fields` with an INT dissector in Lua."""
    if shutil.which("tshark") is None:
        raise Missing("tshark is not installed")
    script = Path(__file__).with_name("int.lua")
    fields = [word for name in _TSHARK_FIELDS for word in ("-e", name)]

    def command(file: Path) -> list[str]:
        return ["tshark", "-n", "-X", f"lua_script:{script}", "-r", str(file), "-T", "fields", *fields]

    return {"cpu_ns": _without_start_up(command, capture)}


def dpkt(capture: Path) -> dict[str, int]:
    """dpkt for the layers, struct for INT and RoCE, rows into lists."""
    try:
        import dpkt as library
    except ImportError as error:
        raise Missing("dpkt is not installed") from error
    shim, header, hop, bth, reth = (struct.Struct(form) for form in (">BBBB", ">IHHI", ">IHHIIQQ", ">BBHII", ">QII"))
    packets: list[tuple[Any, ...]] = []
    hops: list[tuple[Any, ...]] = []
    started = time.process_time_ns()
    with capture.open("rb") as file:
        for number, (when, data) in enumerate(library.pcap.Reader(file)):
            frame = library.ethernet.Ethernet(data)
            ip = frame.data
            udp = ip.data
            vlan = frame.vlan_tags[0].id if hasattr(frame, "vlan_tags") else None
            payload, at, telemetry = udp.data, 0, (None, None, None)
            if ip.tos >> 2 == 0x17:
                kind, length, _, _ = shim.unpack_from(payload)
                word, bitmap, domain, _ = header.unpack_from(payload, 4)
                telemetry = (word & 0xFF, bitmap, domain)
                at = 4 + 4 * length
                if kind == 0x10 and at <= len(payload):
                    for position, offset in enumerate(range(at - 32, 12, -32)):
                        node, ingress, egress, latency, queue, arrived, left = hop.unpack_from(payload, offset)
                        hops.append((number, position, node, ingress, egress, latency, queue >> 24, queue & 0xFFFFFF, arrived, left))
            opcode, flags, key, queue_pair, sequence = bth.unpack_from(payload, at)
            extension = reth.unpack_from(payload, at + 12) if opcode in (6, 10) else (None, None, None)
            packets.append(
                (when, len(data), vlan, ip.src, ip.dst, ip.tos, ip.ttl, ip.id, ip.len, udp.sport, udp.dport, *telemetry)
                + (opcode, flags, key, queue_pair & 0xFFFFFF, sequence & 0xFFFFFF, *extension, payload[-4:])
            )
    return {"cpu_ns": time.process_time_ns() - started, "hops": len(hops), "packets": len(packets)}


def scapy(capture: Path) -> dict[str, int]:
    """scapy with INT as layers."""
    try:
        from scapy.contrib.roce import BTH
        from scapy.fields import BitField, ByteField, IntField, LongField, PacketListField, ShortField, ThreeBytesField
        from scapy.layers.inet import UDP
        from scapy.packet import Packet, bind_layers, split_layers
        from scapy.utils import PcapReader
    except ImportError as error:
        raise Missing("scapy is not installed") from error

    class Hop(Packet):
        fields_desc: ClassVar[list[Any]] = [
            IntField("node", 0),
            ShortField("ingress", 0),
            ShortField("egress", 0),
            IntField("latency", 0),
            ByteField("queue", 0),
            ThreeBytesField("depth", 0),
            LongField("ingress_time", 0),
            LongField("egress_time", 0),
        ]

        def extract_padding(self, data: bytes) -> tuple[bytes, bytes]:
            return b"", data

    class Int(Packet):
        fields_desc: ClassVar[list[Any]] = [
            BitField("type", 1, 4),
            BitField("npt", 0, 2),
            BitField("reserved", 0, 2),
            ByteField("length", 3),
            ShortField("original", 0),
            BitField("version", 2, 4),
            BitField("flags", 0, 3),
            BitField("unused", 0, 12),
            BitField("hop_ml", 0, 5),
            ByteField("remaining", 0),
            ShortField("bitmap", 0),
            ShortField("domain", 0),
            IntField("domain_words", 0),
            PacketListField("hops", [], Hop, length_from=lambda packet: 4 * packet.length - 12),
        ]

        @classmethod
        def dispatch_hook(cls, _pkt: bytes = b"", *_: object, **__: object) -> type[Packet]:
            return Int if _pkt[:1] == b"\x10" and _pkt[4:5] == b"\x20" else BTH

    bind_layers(Int, BTH)
    plain = PcapReader(str(capture))
    split_layers(UDP, BTH)
    bind_layers(UDP, Int, dport=4791)
    packets = hops = 0
    started = time.process_time_ns()
    for packet in plain:
        packets += 1
        hops += len(packet[Int].hops) if Int in packet else 0
    return {"cpu_ns": time.process_time_ns() - started, "hops": hops, "packets": packets}


PEERS: dict[str, Callable[[Path], dict[str, int]]] = {"tcpdump": tcpdump, "tshark": tshark, "dpkt": dpkt, "scapy": scapy}


def measure(name: str, capture: Path) -> dict[str, Any]:
    """Run one peer in a process of its own; {"cpu_ns": …} or {"missing": reason}."""
    try:
        result: dict[str, Any] = module("peers", name, str(capture))
    except ChildError as error:
        return {"missing": f"failed: {error}"}
    return result


if __name__ == "__main__":
    try:
        print(json.dumps(PEERS[sys.argv[1]](Path(sys.argv[2]))))
    except Missing as reason:
        print(json.dumps({"missing": str(reason)}))
