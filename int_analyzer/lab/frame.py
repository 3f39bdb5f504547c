"""RoCEv2 frames as a network card writes them: RDMA writes with consecutive sequence numbers and a right ICRC.

Sources: IBTA Vol. 1 §9.2 (BTH), §9.3.3 (RETH), Annex A17 §17.9.3 (ICRC); RFC 9197 §4.4 (pre-allocated trace), RFC 9486 §3 (IPv6 option).
"""

from __future__ import annotations

import ipaddress
import itertools
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from int_analyzer.lab.constant import IOAM_NAMESPACE, ROCE_PORT

TRACE_TYPE = 0xF2_0000
"""IOAM trace type: hop limit and node id, interface ids, seconds, fraction, queue depth (bits 0, 1, 2, 3, 6)."""
TRACE_WORDS = 5

_ETHERNET_IPV4, _ETHERNET_IPV6 = 0x0800, 0x86DD
_UDP, _HOP_BY_HOP = 17, 0
_HOP_LIMIT = 64
_ECT0 = 2
_IOAM_OPTION, _PRE_ALLOCATED, _PAD_N = 0x31, 0, 1
_WRITE_FIRST, _WRITE_MIDDLE, _WRITE_LAST = 0x06, 0x07, 0x08
_ACK_REQUEST = 0x8000_0000
_DEFAULT_PKEY = 0xFFFF
_ICRC_BYTES, _BTH_BYTES, _RETH_BYTES, _UDP_BYTES = 4, 12, 16, 8


@dataclass(frozen=True)
class Flow:
    """One queue pair's writes: where they go, and what does not change from packet to packet.

    `payload` is in bytes a packet, `message` in packets a message (2 at least); with `trace_nodes` an IPv6 flow carries an empty IOAM
    trace with room for so many nodes, an even number.
    """

    source_mac: str
    destination_mac: str
    source: str
    destination: str
    source_port: int
    dest_qp: int
    first_psn: int
    dscp: int = 26
    payload: int = 1024
    message: int = 16
    trace_nodes: int = 0

    def frames(self) -> Iterator[bytes]:
        """The frames of message after message, without end."""
        size = self.payload
        first, later = (_Head(self, _BTH_BYTES + extra + size + _ICRC_BYTES) for extra in (_RETH_BYTES, 0))
        body = bytes(byte & 0xFF for byte in range(size))
        for number in itertools.count():
            index = number % self.message
            psn = (self.first_psn + number) & 0xFF_FFFF
            if index == 0:
                # virtual address, remote key, length of the message
                reth = struct.pack(">QII", 0x1000_0000 + number * size, self.dest_qp << 8, self.message * size)
                yield first.frame(_WRITE_FIRST, self.dest_qp, psn, reth + body)
            elif index < self.message - 1:
                yield later.frame(_WRITE_MIDDLE, self.dest_qp, psn, body)
            else:
                yield later.frame(_WRITE_LAST, self.dest_qp, psn | _ACK_REQUEST, body)


class _Head:
    """All in front of the BTH, for one length of what follows, and the ICRC as far as it goes there."""

    def __init__(self, flow: Flow, size: int) -> None:
        source, destination = ipaddress.ip_address(flow.source), ipaddress.ip_address(flow.destination)
        datagram = _UDP_BYTES + size
        # UDP over IPv6 without a checksum is what RoCEv2 sends (Annex A17 §17.9.2)
        udp = struct.pack(">HHHH", flow.source_port, ROCE_PORT, datagram, 0)
        traffic_class = flow.dscp << 2 | _ECT0
        addresses = source.packed + destination.packed
        if source.version == 4:
            without = struct.pack(">BBHHHBBH", 0x45, traffic_class, 20 + datagram, 0, 0x4000, _HOP_LIMIT, _UDP, 0) + addresses
            network = without[:10] + _checksum(without) + without[12:]
            masked = struct.pack(">BBHHHBBH", 0x45, 0xFF, 20 + datagram, 0, 0x4000, 0xFF, _UDP, 0xFFFF)
        else:
            trace = _empty_trace(flow.trace_nodes) if flow.trace_nodes else b""
            following = _HOP_BY_HOP if trace else _UDP
            network = struct.pack(">IHBB", 6 << 28 | traffic_class << 20, len(trace) + datagram, following, _HOP_LIMIT) + addresses + trace
            masked = struct.pack(">IHBB", 0x6FFF_FFFF, datagram, _UDP, 0xFF)
        ethernet = _mac(flow.destination_mac) + _mac(flow.source_mac)
        ethernet += struct.pack(">H", _ETHERNET_IPV4 if source.version == 4 else _ETHERNET_IPV6)
        self.before: bytes = ethernet + network + udp
        # fields that switches change count as ones, and so does the local route header that InfiniBand has here
        self._crc = zlib.crc32(b"\xff" * 8 + masked + addresses + udp[:6] + b"\xff\xff")

    def frame(self, opcode: int, dest_qp: int, psn: int, rest: bytes) -> bytes:
        """The whole frame. `psn` has the acknowledge request in its top bit."""
        bth = struct.pack(">BBHII", opcode, 0x40, _DEFAULT_PKEY, dest_qp, psn)
        covered = bth[:4] + b"\xff" + bth[5:] + rest
        return self.before + bth + rest + zlib.crc32(covered, self._crc).to_bytes(_ICRC_BYTES, "little")


def _empty_trace(nodes: int) -> bytes:
    """A hop-by-hop header with room for so many nodes, an even number: then it ends on a multiple of eight bytes (RFC 8200 §4.3).
    Its padding puts the trace on a multiple of four (RFC 9486 §3)."""
    words = nodes * TRACE_WORDS
    trace = struct.pack(">HHI", IOAM_NAMESPACE, TRACE_WORDS << 11 | words, TRACE_TYPE << 8) + bytes(4 * words)
    option = bytes((_PAD_N, 0, _IOAM_OPTION, 2 + len(trace), 0, _PRE_ALLOCATED)) + trace
    return bytes((_UDP, (2 + len(option)) // 8 - 1)) + option


def _checksum(header: bytes) -> bytes:
    """Of an IPv4 header in which it is still 0 (RFC 1071)."""
    total: int = sum(struct.unpack(f">{len(header) // 2}H", header))
    return (~(total % 0xFFFF) & 0xFFFF).to_bytes(2, "big")


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))
