"""Captures for the benchmarks, made from a seed: RoCEv2 WRITE traffic with in-band telemetry, as a little-endian nanosecond pcap.

Every packet is a template of its flow with a few fields written over it, column by column, so that ten million take about a
minute. The ICRC is a random number: it costs a decoder the same to read, and nothing here verifies it.

    python -m benchmarks.traffic OUT.pcap --packets 1000000 --seed 1 --kind int-dscp
"""

from __future__ import annotations

import argparse
import struct
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import fabric
from benchmarks.fabric import HOPS, Fabric

KINDS = ("int-dscp", "int-port", "roce", "ioam")
"""INT-MD v2.1 found by DSCP (NPT 0), by UDP port (NPT 1), no telemetry, IOAM pre-allocated trace."""

INT_PORT, ROCE_PORT, INT_DSCP, PLAIN_DSCP = 54321, 4791, 0x17, 26
RECORD = 16
"""Bytes of a pcap record header."""

BITMAP, HOP_BYTES, REMAINING = 0xFC00, 32, 11
TRACE_TYPE, NODE_BYTES = 0xFA0000, 24
START_NS = 1_700_000_000_000_000_000
GAP_NS = 1000
"""Mean time between packets: about a million packets per second."""

LINK_NS, SINK_NS = 400, 350
BASE_NS, NS_PER_BYTE, FULL_QUEUE_BYTES = 500, 0.08, 400_000
MESSAGE_PACKETS = 16
PIECE = 16384
"""Packets that are made at a time: their bytes stay in the cache."""


def write(out: Path, packets: int, seed: int = 1, kind: str = "int-dscp", size: int = 300, telemetry_share: float = 0.9) -> int:
    """Write a capture of `packets` packets of `size` bytes each; returns the bytes of the file."""
    random = np.random.default_rng(seed)
    layout = fabric.build(random)
    classes = [_PacketClass(layout, kind, tagged, telemetry, size) for tagged in (False, True) for telemetry in (False, True)]
    sequence = random.integers(0, 1 << 24, len(layout.path))
    sequence -= sequence % MESSAGE_PACKETS
    now = START_NS
    with out.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for first in range(0, packets, PIECE):
            count = min(PIECE, packets - first)
            times = now + np.cumsum(random.integers(1, 2 * GAP_NS, count))
            now = int(times[-1])
            filling = fabric.congestion(np.arange(first, first + count) / packets)
            flow = _choose_flows(random, layout, filling)
            ranks = _rank_within(flow)
            psn = (sequence[flow] + ranks) & 0xFFFFFF
            sequence += np.bincount(flow, minlength=len(sequence))
            carries = (random.random(count) < telemetry_share) & (kind != "roce")
            queues = _simulate(random, layout, flow, filling, times)
            output = np.empty((count, RECORD + size), dtype=np.uint8)
            for packet_class in classes:
                rows = np.flatnonzero((layout.tagged[flow] == packet_class.tagged) & (carries == packet_class.telemetry))
                if len(rows):
                    output[rows] = packet_class.make(random, flow[rows], psn[rows], times[rows], [item[rows] for item in queues])
            file.write(output.tobytes())
    return out.stat().st_size


def _choose_flows(random: Any, layout: Fabric, filling: Any) -> Any:
    flow = random.integers(0, len(layout.path), len(filling))
    heavier = random.random(len(filling)) < 0.15 * filling
    flow[heavier] = layout.heavy[random.integers(0, len(layout.heavy), int(heavier.sum()))]
    return flow


def _rank_within(flow: Any) -> Any:
    """How many earlier packets of this piece belong to the same flow."""
    order = np.argsort(flow, kind="stable")
    ordered = flow[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    ranks = np.empty(len(flow), dtype=np.int64)
    ranks[order] = np.arange(len(flow)) - np.repeat(starts, np.diff(np.r_[starts, len(flow)]))
    return ranks


def _simulate(random: Any, layout: Fabric, flow: Any, filling: Any, times: Any) -> list[Any]:
    """Latency (ns), depth (bytes), ingress and egress time (ns), each [packet, hop], and a mark where congestion was met."""
    count = len(flow)
    depth = (random.exponential(2000.0, (count, HOPS)) // 64 * 64).astype(np.int64)
    crossing = layout.crossing[layout.path[flow]]
    rows = np.flatnonzero((crossing >= 0) & (filling > 0))
    depth[rows, crossing[rows]] += (FULL_QUEUE_BYTES * filling[rows] * (0.8 + 0.2 * random.random(len(rows)))).astype(np.int64) // 64 * 64
    latency = (BASE_NS + depth * NS_PER_BYTE + random.integers(0, 60, (count, HOPS))).astype(np.int64)
    egress = np.empty((count, HOPS), dtype=np.int64)
    egress[:, -1] = times - SINK_NS
    for hop in range(HOPS - 2, -1, -1):
        egress[:, hop] = egress[:, hop + 1] - latency[:, hop + 1] - LINK_NS
    marked = depth.max(axis=1) > 100_000
    return [latency, depth, egress - latency, egress, marked]


class _PacketClass:
    """Packets of one layout: with or without VLAN tag, with or without telemetry. Templates by flow, fields as a numpy record."""

    def __init__(self, layout: Fabric, kind: str, tagged: bool, telemetry: bool, size: int) -> None:
        self.tagged, self.telemetry = tagged, telemetry
        self.version = 6 if kind == "ioam" else 4
        self.trace = telemetry and kind == "ioam"
        self.dscp = INT_DSCP if telemetry and kind == "int-dscp" else PLAIN_DSCP
        self.layout = layout
        network = RECORD + 14 + 4 * tagged
        after_network = network + (40 if self.version == 6 else 20)
        udp = after_network + (16 + HOPS * NODE_BYTES if self.trace else 0)
        stack = after_network + 16 if self.trace else udp + 8 + 16
        transport = udp + 8 + (16 + HOPS * HOP_BYTES if telemetry and not self.trace else 0)
        end = RECORD + size
        if transport + 12 + 16 + 4 > end:
            raise ValueError(f"{size} bytes do not hold the headers of {kind}: {transport + 32 - RECORD} needed")
        self.templates = np.zeros((len(layout.path), end), dtype=np.uint8)
        for flow in range(len(layout.path)):
            headers = self._headers(flow, size, network, kind)
            self.templates[flow, : len(headers)] = np.frombuffer(headers, dtype=np.uint8)
            self.templates[flow, len(headers) : end] = np.arange(end - len(headers)) & 0xFF
        fields = {"seconds": ("<u4", 0), "nanoseconds": ("<u4", 4), "opcode": ("u1", transport), "psn": (">u4", transport + 8)}
        fields["icrc"] = ("<u4", end - 4)
        if self.version == 4:
            fields |= {"tos": (">u2", network), "id": (">u2", network + 4), "checksum": (">u2", network + 10)}
        if telemetry:
            for hop in range(HOPS):
                newest_first = stack + (HOPS - 1 - hop) * (NODE_BYTES if self.trace else HOP_BYTES)
                fields |= self._hop_fields(hop, newest_first)
        names = list(fields)
        self.record = np.dtype(
            {"names": names, "formats": [fields[n][0] for n in names], "offsets": [fields[n][1] for n in names], "itemsize": end}
        )
        words = self.templates[:, network : network + 20].copy().view(">u2").astype(np.int64)
        self.checksum_rest = words.sum(axis=1) - words[:, 0]

    def _hop_fields(self, hop: int, at: int) -> dict[str, tuple[str, int]]:
        if self.trace:
            return {f"s{hop}": (">u4", at + 8), f"f{hop}": (">u4", at + 12), f"l{hop}": (">u4", at + 16), f"q{hop}": (">u4", at + 20)}
        return {f"l{hop}": (">u4", at + 8), f"q{hop}": (">u4", at + 12), f"i{hop}": (">u8", at + 16), f"e{hop}": (">u8", at + 24)}

    def _headers(self, flow: int, size: int, network: int, kind: str) -> bytes:
        layout = self.layout
        path = layout.path[flow]
        source, destination = (tuple(int(part[flow]) for part in end) for end in (layout.source, layout.destination))
        record = struct.pack("<IIII", 0, 0, size, size)
        ethernet = bytes((2, 0, 0, *destination, 2, 0, 1, *source))
        ethernet += (struct.pack(">HH", 0x8100, 0x6000 | 100) if self.tagged else b"") + (b"\x86\xdd" if self.version == 6 else b"\x08\x00")
        ip_bytes = RECORD + size - network
        telemetry = self._telemetry(path)
        udp_bytes = ip_bytes - (40 + len(telemetry) * self.trace if self.version == 6 else 20)
        port = INT_PORT if kind == "int-port" and self.telemetry else ROCE_PORT
        udp = struct.pack(">HHHH", layout.source_port[flow], port, udp_bytes, 0)
        if self.version == 4:
            addresses = bytes((10, source[0], source[1], 10 + source[2], 10, destination[0], destination[1], 10 + destination[2]))
            ip = struct.pack(">BBHHHBBH", 0x45, 0, ip_bytes, 0, 0x4000, 64 - HOPS, 17, 0) + addresses
            middle = udp + (self._shim(kind) + telemetry if self.telemetry else b"")
        else:
            addresses = b"".join(b"\x20\x01\x0d\xb8" + bytes(9) + bytes((*end[:2], 10 + end[2])) for end in (source, destination))
            first_word = 0x60000000 | (self.dscp << 2 | 2) << 20
            ip = struct.pack(">IHBB", first_word, ip_bytes - 40, 0 if self.trace else 17, 64 - HOPS) + addresses
            middle = telemetry + udp
        bth = struct.pack(">BBHII", 7, 0x40, 0xFFFF, int(layout.queue_pair[flow]), 0)
        reth = struct.pack(">QII", 0x7F0000000000 + (flow << 24), 0x1000 + flow, size * MESSAGE_PACKETS)
        return record + ethernet + ip + middle + bth + reth

    def _shim(self, kind: str) -> bytes:
        words = 3 + HOPS * HOP_BYTES // 4
        if kind == "int-port":
            return struct.pack(">BBH", 0x14, words, ROCE_PORT)
        return struct.pack(">BBBB", 0x10, words, 0, PLAIN_DSCP << 2)

    def _telemetry(self, path: int) -> bytes:
        """INT metadata header and stack, or hop-by-hop header with the trace; what changes by packet is left zero."""
        if not self.telemetry:
            return b""
        layout = self.layout
        hops = [(int(layout.node[path, hop]), int(layout.ingress[path, hop]), int(layout.egress[path, hop])) for hop in range(HOPS)][::-1]
        if not self.trace:
            header = struct.pack(">IHHI", 0x20000000 | HOP_BYTES // 4 << 8 | REMAINING, BITMAP, 0, 0)
            return header + b"".join(struct.pack(">IHH", *hop) + bytes(HOP_BYTES - 8) for hop in hops)
        space = HOPS * NODE_BYTES
        header = struct.pack(">BBBB", 17, (16 + space) // 8 - 1, 1, 0) + struct.pack(">BBBB", 0x31, 10 + space, 0, 0)
        header += struct.pack(">HHI", 1, NODE_BYTES // 4 << 11, TRACE_TYPE << 8)
        nodes = (struct.pack(">IHH", (64 - HOPS + at) << 24 | hop[0], hop[1], hop[2]) for at, hop in enumerate(hops))
        return header + b"".join(node + bytes(NODE_BYTES - 8) for node in nodes)

    def make(self, random: Any, flow: Any, psn: Any, times: Any, queues: list[Any]) -> Any:
        """Records (uint8[n, 16 + size]) of the given flows, sequence numbers, capture times and queue states."""
        output = self.templates[flow]
        record = output.view(self.record)[:, 0]
        latency, depth, ingress, egress, marked = queues
        record["seconds"], record["nanoseconds"] = times // 1_000_000_000, times % 1_000_000_000
        place = psn % MESSAGE_PACKETS
        record["opcode"] = np.where(place == 0, 6, np.where(place == MESSAGE_PACKETS - 1, 8, 7))
        record["psn"] = psn | (place == MESSAGE_PACKETS - 1).astype(np.int64) << 31
        record["icrc"] = random.integers(0, 1 << 32, len(flow), dtype=np.uint32)
        if self.version == 4:
            first_word = 0x4500 | self.dscp << 2 | np.where(marked, 3, 2)
            identification = (psn * 7 + flow) & 0xFFFF
            record["tos"], record["id"] = first_word, identification
            total = self.checksum_rest[flow] + first_word + identification
            total = (total & 0xFFFF) + (total >> 16)
            record["checksum"] = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        if self.telemetry:
            queue = self.layout.queue[self.layout.path[flow]] << 24
            for hop in range(HOPS):
                record[f"l{hop}"] = latency[:, hop]
                if self.trace:
                    record[f"q{hop}"] = depth[:, hop]
                    record[f"s{hop}"], record[f"f{hop}"] = ingress[:, hop] // 1_000_000_000, ingress[:, hop] % 1_000_000_000
                else:
                    record[f"q{hop}"] = queue | depth[:, hop]
                    record[f"i{hop}"], record[f"e{hop}"] = ingress[:, hop], egress[:, hop]
        return output


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS, default="int-dscp")
    parser.add_argument("--bytes", type=int, default=300, help="captured bytes of every packet")
    arguments = parser.parse_args()
    size = write(arguments.out, arguments.packets, arguments.seed, arguments.kind, arguments.bytes)
    print(f"{arguments.out.name}: {arguments.packets} packets, {size} bytes")


if __name__ == "__main__":
    main()
