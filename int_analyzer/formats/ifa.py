"""Inband Flow Analyzer 2.0: a header behind IP, the transport header, then metadata of every hop (draft-kumar-ippm-ifa-08).

    header   | version 4 | name space 4 | next header 8 | - - - MF TS I TA C | maximum length 8 |
    metadata | request vector 8 | action vector 8 | hop limit 8 | words of the stack 8 |        behind the transport header
    stack    | newest hop | … | source's hop |        behind it, or with TS (tail stamp) at the end of the IP packet
    hop      | local name space 4, device 20, TTL 8 | speed 4, ECN 2, queue 6, seconds 20 | egress 16 | ingress 16 |
             | nanoseconds 32 | residence ns 32 | queue bytes 32 | reserved 16, cells 16 | reserved 32 |

The draft leaves the hop's record to name spaces; this one is that of a public Scapy module (dialect ifa-32). Length and checksum of the
transport header are not updated by IFA.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import put
from int_analyzer.formats.dialect import IFA_32
from int_analyzer.schema import (
    FORMAT_IFA,
    FORMAT_NONE,
    HAS_DEPTH,
    HAS_EGRESS_PORT,
    HAS_HOP_LIMIT,
    HAS_INGRESS_PORT,
    HAS_INGRESS_TIME,
    HAS_LATENCY,
    HAS_NODE,
    HAS_QUEUE,
    HAS_SPEED,
    HOP_TRUNCATED_PATH,
)
from int_analyzer.status import STATUS_CODE
from int_analyzer.wire.ip import PROTOCOL_GRE, PROTOCOL_TCP, PROTOCOL_UDP
from int_analyzer.wire.read import Buffer, u8, u16, u32

VERSIONS = (2, 3)
"""The draft says 2, the Scapy module sends 3."""
FLAG_CHECKSUM, FLAG_IN_BAND, FLAG_TAIL_STAMP, FLAG_FRAGMENT = 0x01, 0x04, 0x08, 0x10
HOP_BYTES = 32
SECOND_NS, GIGABIT = 1_000_000_000, 1_000_000_000
SPEEDS, UNKNOWN_SPEED = 7, 15
"""Codes of a port's speed that have a meaning, and one that has none."""

OK = STATUS_CODE["ok"]
TRUNCATED = STATUS_CODE["ifa-truncated"]
VERSION = STATUS_CODE["ifa-version"]
OPTIONAL_HEADER = STATUS_CODE["ifa-optional-header"]
NEXT_HEADER = STATUS_CODE["ifa-next-header"]
LENGTH = STATUS_CODE["ifa-length"]
NOT_WHOLE_HOPS = STATUS_CODE["ifa-not-whole-hops"]
STACK_TRUNCATED = STATUS_CODE["ifa-stack-truncated"]

_ALWAYS = HAS_NODE | HAS_HOP_LIMIT | HAS_QUEUE | HAS_INGRESS_TIME | HAS_EGRESS_PORT | HAS_INGRESS_PORT | HAS_LATENCY | HAS_DEPTH


@kernel
def ifa(buffer: Buffer, at: int, limit: int, declared: int, columns: Any, row: int, hop: int) -> tuple[int, int, int, int, int, int, int]:
    """IFA header at `at` to its stack: (status, status at, hops added or −1, format or 0, next header or −1, bytes behind the
    transport header, bytes at the end of the packet). A next header of −1 ends the packet.
    """
    if limit - at < 4:
        return TRUNCATED, at, -1, FORMAT_NONE, -1, 0, 0
    version, following, flags = u8(buffer, at) >> 4, u8(buffer, at + 1), u8(buffer, at + 2)
    if version < VERSIONS[0] or version > VERSIONS[1]:
        return VERSION, at, -1, FORMAT_NONE, -1, 0, 0
    put(columns, "packets.protocol", row, following)
    if flags & (FLAG_CHECKSUM | FLAG_FRAGMENT) != 0:
        return OPTIONAL_HEADER, at, -1, FORMAT_IFA, -1, 0, 0
    transport = at + 4
    if following == PROTOCOL_UDP:
        size = 8
    elif following == PROTOCOL_TCP:
        size = max((u8(buffer, transport + 12) >> 4) * 4, 20) if limit - transport >= 20 else 20
    elif following == PROTOCOL_GRE:
        size = 4
        if limit - transport >= 4:
            options = u8(buffer, transport)
            size += 4 * (((options >> 7) & 1) + ((options >> 5) & 1) + ((options >> 4) & 1))
    else:
        return NEXT_HEADER, at, -1, FORMAT_IFA, -1, 0, 0
    if transport + size > limit:
        return OK, at, -1, FORMAT_IFA, following, 0, 0
    metadata = transport + size
    if metadata + 4 > declared:
        return LENGTH, at, -1, FORMAT_IFA, -1, 0, 0
    if metadata + 4 > limit:
        return TRUNCATED, at, -1, FORMAT_IFA, -1, 0, 0
    stack = 4 * u8(buffer, metadata + 3)
    if metadata + 4 + stack > declared:
        return LENGTH, at, -1, FORMAT_IFA, -1, 0, 0
    begin, skip, tail = metadata + 4, 4 + stack, 0
    if flags & FLAG_TAIL_STAMP != 0:
        begin, skip, tail = declared - stack, 4, stack
    if stack % HOP_BYTES != 0:
        return NOT_WHOLE_HOPS, at, -1, FORMAT_IFA, following, skip, tail
    put(columns, "packets.dialect", row, IFA_32)
    put(columns, "packets.telemetry_flags", row, flags)
    put(columns, "packets.instructions", row, u16(buffer, metadata))
    put(columns, "packets.namespace", row, u8(buffer, at) & 0xF)
    put(columns, "packets.remaining_hops", row, u8(buffer, metadata + 2))
    put(columns, "packets.telemetry_bytes", row, 8 + stack)
    count = stack // HOP_BYTES
    whole = min(count, max(0, limit - begin) // HOP_BYTES)
    cut = HOP_TRUNCATED_PATH if whole < count else 0
    if whole == 0:
        put(columns, "hops.hop", hop, count)
    for wire in range(whole):
        out = hop + whole - 1 - wire
        put(columns, "hops.packet", out, row)
        put(columns, "hops.hop", out, count - 1 - wire)
        put(columns, "hops.present", out, _record(buffer, begin + wire * HOP_BYTES, columns, out) | cut)
    if whole < count:
        return STACK_TRUNCATED, begin + whole * HOP_BYTES, whole, FORMAT_IFA, following, skip, tail
    return OK, at, count, FORMAT_IFA, following, skip, tail


@kernel
def _record(buffer: Buffer, at: int, columns: Any, out: int) -> int:
    """One hop's record into row `out`: presence bits. Nothing in it means that a value is absent."""
    word = u32(buffer, at + 4)
    put(columns, "hops.node_id", out, (u32(buffer, at) >> 8) & 0xFFFFF)
    put(columns, "hops.hop_limit", out, u8(buffer, at + 3))
    put(columns, "hops.queue_id", out, (word >> 20) & 0x3F)
    put(columns, "hops.ingress_time_raw", out, (word & 0xFFFFF) * SECOND_NS + u32(buffer, at + 12))
    put(columns, "hops.egress_port", out, u16(buffer, at + 8))
    put(columns, "hops.ingress_port", out, u16(buffer, at + 10))
    put(columns, "hops.hop_latency_raw", out, u32(buffer, at + 16))
    put(columns, "hops.queue_depth_raw", out, u32(buffer, at + 20))
    speed = gigabits(word >> 28)
    if speed == 0:
        return _ALWAYS
    put(columns, "hops.port_speed_bps", out, speed * GIGABIT)
    return _ALWAYS | HAS_SPEED


@kernel
def gigabits(code: int) -> int:
    """Gbit/s of a port speed code, 0 if it has none."""
    if code == 0:
        return 10
    if code == 1:
        return 25
    if code == 2:
        return 40
    return 25 << (code - 2) if code < SPEEDS else 0
