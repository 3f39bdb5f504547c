"""Telemetry of every kind in everything that carries it."""

from __future__ import annotations

import random
from collections.abc import Iterator

from .carrier import ANY, csig_tagged
from .frame import WORKED_FRAME, roce_payload, tcp_frame, udp_frame
from .int_header import (
    geneve_int,
    geneve_option,
    gpe_int,
    gre_int,
    int_05,
    int_md,
    int_mx,
    mri_frame,
    mri_option,
    random_hops,
    shim,
    shim_1,
)
from .number import GENEVE_INT, INT_PORT, MARKER, ROCE_PORT
from .report import report_1_frame


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
