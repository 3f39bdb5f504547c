"""Dialects of INT at the edges of the rules."""

from __future__ import annotations

import struct
from typing import Any

from .frame import WORKED_FRAME, Corners, roce_payload, tcp_frame, udp_frame
from .int_header import gpe_int, int_05, int_md, random_hops, shim, shim_1
from .number import INT_PORT, ROCE_PORT


def dialect_corners() -> Corners:
    """Dialects that only a profile can tell, and those of v0.5."""
    hops = random_hops(6, 2)
    ids = [{"node_id": 5}, {"node_id": 6}]
    tps: dict[str, Any] = {"int_ports": (INT_PORT,), "int_dialect": "cablelabs-tps"}
    noviflow = {"int_dialect": "noviflow10"}
    times = [{"ingress_time_raw": 5, "egress_time_raw": 1 << 40}, {"node_id": 3}]

    def old(data: bytes) -> bytes:
        return udp_frame(data + roce_payload(), ROCE_PORT)

    def tps_frame(body: bytes) -> bytes:
        second = struct.pack("!HHHH", 9, ROCE_PORT, 8 + len(roce_payload()), 0) + roce_payload()
        return udp_frame(shim(body, 1, 17, npt=2) + second, INT_PORT)

    one = int_md(hops, dialect="noviflow10", instructions=0xFC00)
    idle = int_md([{"node_id": 1, "hop_latency_raw": 77}], dialect="noviflow10", instructions=0xA000)
    three = [{"node_id": number, "ingress_port": 1, "egress_port": 2, "queue_id": 0, "queue_depth_raw": 9} for number in (5, 6)]
    source = int_md(three, dialect="cablelabs-tps", domain=0x5453, ds_instruction=0x8000, source_only=bytes(8), flags=7)
    no_tail = int_05(ids, protocol=None, last=3)
    long_times = int_05(times, dialect="geant04", instructions=0x8C00, protocol=None, last=3)
    fabric = {"int_dialect": "onos-fabric"}
    geant = {"int_dialect": "geant10", "int_ports": (INT_PORT,)}
    short_times = {"int_dialect": "int-2.x-time32", "int_dscp": (0, 63)}
    with_rep = int_05(hops, dialect="onos-fabric", rep=3)
    with_flags = int_05(hops, dialect="onos-fabric", flags=10)
    return {
        "onos-fabric": (old(with_flags), fabric, "ok", {"int-dialect", "int-hop-exceeded"}),
        "onos-fabric with Rep": (old(with_rep), fabric, "ok", {"int-dialect"}),
        "onos-fabric as INT 0.5": (old(with_flags), {}, "ok", set()),
        "onos-fabric with Rep as INT 0.5": (old(with_rep), {"int_dscp": (0, 63)}, "int-version-unknown", set()),
        "geant04": (old(int_05(times, dialect="geant04", instructions=0x8C00)), {}, "ok", {"int-dialect"}),
        "geant04 configured": (
            old(int_05(times, dialect="geant04", instructions=0x8C00, flags=10)), {"int_dialect": "geant04"}, "ok",
            {"int-dialect", "int-hop-exceeded"},
        ),
        "geant04 of 32-bit times": (
            old(int_05(times, instructions=0x8C00)), {"int_dialect": "geant04", "int_dscp": (0, 63)}, "int-stack-not-whole-hops", set(),
        ),
        "int 0.5 where another layout is configured": (old(int_05(hops)), {"int_dialect": "int-2.x"}, "ok", set()),
        "cablelabs-tps": (tps_frame(source), tps, "ok", {"int-hop-exceeded", "int-mtu-exceeded", "int-dialect"}),
        "cablelabs-tps of a known domain": (
            tps_frame(source), {**tps, "domains": {0x5453: (1, 0)}}, "int-stack-not-whole-hops", set(),
        ),
        "cablelabs-tps without its name": (tps_frame(source), {"int_ports": (INT_PORT,)}, "int-stack-not-whole-hops", set()),
        "noviflow10": (tcp_frame(shim_1(one, last=26 << 2)), {**noviflow, "int_dscp": (23, 63)}, "ok", {"int-dialect"}),
        "noviflow10 without its name": (tcp_frame(shim_1(one, last=26 << 2)), {"int_dscp": (23, 63)}, "ok", set()),
        "noviflow10 with nothing but a latency": (old(shim_1(idle)), noviflow, "ok", {"int-dialect"}),
        "int-2.x only": (old(shim(int_md(ids))), {"int_dialect": "int-2.x"}, "ok", set()),
        "int-2.x-time32 only": (old(shim(int_md(hops))), short_times, "int-hop-length-mismatch", set()),
        "geant10 only": (old(shim_1(int_md(ids, dialect="int-1.0"))), {"int_dialect": "geant10"}, "ok", {"int-dialect"}),
        "geant10 only, version 0": (
            udp_frame(shim_1(int_md(ids, dialect="onos-basic")), INT_PORT), geant, "int-hop-length-mismatch", set(),
        ),
        "gpe int 0.5": (gpe_int(no_tail, WORKED_FRAME, 0x08), {}, "ok", set()),
        "gpe int 0.5 of a configured number": (gpe_int(no_tail, WORKED_FRAME, 5), {"gpe_int_protocols": (5,)}, "ok", set()),
        "gpe int 0.5 of geant04": (
            gpe_int(long_times, WORKED_FRAME, 0x08), {}, "ok", {"int-dialect"},
        ),
        "gpe int 0.5 without hops": (gpe_int(int_05([], protocol=None, last=3), WORKED_FRAME, 0x08), {}, "ok", set()),
    }  # fmt: skip
