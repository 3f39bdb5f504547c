"""Telemetry of every kind in everything that carries it."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence

from .carrier import ANY, csig_tagged, gre, wide_csig_tagged
from .damage import damaged
from .frame import WORKED_FRAME, roce_payload, tcp_frame, udp_frame
from .hpcc import hpcc_drawn, hpcc_simulated, random_hpcc_hops
from .ifa import INBAND, TAIL_STAMP, ifa_frame, ifa_metadata, ifa_record, random_record
from .int_header import (
    geneve_int,
    geneve_option,
    gpe_int,
    gre_int,
    int_05,
    int_md,
    int_md_packet,
    int_mx,
    mri_frame,
    mri_option,
    random_hops,
    shim,
    shim_1,
)
from .ioam import dex, ioam_carriers, ipv6_around, nsh, random_options, trace
from .mirror import lumina
from .number import GENEVE_INT, HPCC_PORT, IFA, INT_PORT, MARKER, REPORT_PORT, ROCE_PORT
from .report import report_1_frame, report_2, single_report


def plain_frames() -> list[bytes]:
    """Plain frames of many kinds, for what goes inside something else."""
    hops = random_hops(1, 2)
    reports = (single_report(WORKED_FRAME[14:], 4, metadata={3: 9}), single_report(WORKED_FRAME[14:], 4))
    return [
        WORKED_FRAME,
        udp_frame(int_05(hops) + roce_payload(), 9),
        tcp_frame(b"text"),
        int_md_packet(hops, ip_version=6),
        mri_frame(mri_option([(1, 2)])),
        ipv6_around([(0, trace([bytes(4)], 0x800000)), (4, dex(0xC0))], WORKED_FRAME),
        ifa_frame([ifa_record()], WORKED_FRAME),
        udp_frame(report_2(*reports), REPORT_PORT),
    ]


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
        yield damaged(rng, frame)


def ioam_mixture(seed: int, count: int, inside: Sequence[bytes]) -> Iterator[bytes]:
    """IOAM of every type in every carrier around one of the frames `inside`; some of it damaged or cut."""
    rng = random.Random(seed)
    for _ in range(count):
        frame = rng.choice(inside)
        packets = [packet for _, packet in ioam_carriers(random_options(rng), frame)]
        if rng.random() < 0.2:
            packets.append(gre(frame, 0x894F, nsh(frame, rng.randrange(9), kind=rng.randrange(4))))
        yield damaged(rng, rng.choice(packets))


def field_mixture(seed: int, count: int, inside: Sequence[bytes]) -> Iterator[bytes]:
    """IFA, HPCC, Lumina, wide CSIG, TCP-INT and datagrams of reports around plain frames `inside`; some of it damaged or cut."""
    rng = random.Random(seed)
    for _ in range(count):
        frame = rng.choice(inside)
        kind = rng.randrange(7)
        if kind < 2:
            records = [random_record(rng) for _ in range(rng.choice((0, 1, 1, 2, 5)))]
            words = rng.choice((None, None, None, rng.randrange(256)))
            flags = rng.choice((INBAND, 0, INBAND | TAIL_STAMP, TAIL_STAMP, rng.randrange(32)))
            metadata = ifa_metadata(
                records, request=rng.randrange(256), action=rng.randrange(256), hop_limit=rng.randrange(256), words=words
            )
            around = {"version": rng.choice((2, 2, 2, 3, 1)), "namespace": rng.randrange(16), "protocol": rng.choice((IFA, IFA, 253))}
            packet = ifa_frame(records, frame, flags=flags, metadata=metadata, **around)
        elif kind == 2:
            hops = random_hpcc_hops(rng, rng.choice((0, 1, 3, 5, 7, 15)))
            size = rng.choice((None, None, None, rng.randrange(300)))
            header = hpcc_simulated(hops, count=size) if rng.random() < 0.5 else hpcc_drawn(hops, count=size and size & 15)
            packet = udp_frame(header + rng.choice((b"", b"text", roce_payload())), HPCC_PORT)
        elif kind == 3:
            packet = lumina(WORKED_FRAME, time=rng.randrange(1 << 48), sequence=rng.randrange(1 << 48), event=rng.randrange(5))
            packet = rng.choice((packet, packet, ANY["vlan"](packet), ANY["erspan-3"](packet), report_1_frame(packet)))
        elif kind == 4:
            packet = rng.choice((wide_csig_tagged(frame, rng.randrange(1 << 48)), wide_csig_tagged(csig_tagged(frame, 5), 6)))
            packet = rng.choice((packet, csig_tagged(packet, 7), frame[:12] + b"\xbf" + bytes([4 + rng.randrange(2)]) + frame[14:]))
        elif kind == 5:
            option = bytes([0x72, rng.choice((12, 12, 12, 8, 0)), *rng.randbytes(10)])
            packet = tcp_frame(b"text", options=rng.choice((option, b"\x01\x01\x01\x01" + option, option + option, bytes(4) + option)))
        else:
            packet = udp_frame(report_2(*(_random_report(rng, frame) for _ in range(rng.choice((0, 1, 2, 2, 3, 6))))), REPORT_PORT)
        yield damaged(rng, packet)


def _random_report(rng: random.Random, frame: bytes) -> bytes:
    """One individual report, mostly right."""
    metadata = {bit: rng.randrange(1 << 32) for bit in rng.sample(range(1, 16), rng.randrange(4))} if rng.random() < 0.7 else None
    inner, kind = rng.choice(((frame, 3), (frame, 2), (frame[14:], 4), (frame[14:], 5), (b"", 0), (struct.pack("!BBH", 0x10, 99, 1), 1)))
    if kind == 1 or rng.random() < 0.2:
        padded = frame + bytes(-len(frame) % 4)
        inner, kind = struct.pack("!BBH", rng.choice((0x10, 0x00, 0x20)), rng.choice((len(padded) // 4, 1, 255)) & 255, 1) + padded, 1
    length = rng.choice((None, None, None, None, None, 0, 255, rng.randrange(64)))
    return single_report(inner[:200], kind, metadata=metadata, flags=rng.randrange(16), length=length)
