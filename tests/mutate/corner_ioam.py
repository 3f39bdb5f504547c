"""IOAM and NSH at the edges of the rules."""

from __future__ import annotations

from .carrier import gpe, mpls_labels
from .frame import WORKED_FRAME, Corners, edited, udp_frame
from .int_header import geneve_int, geneve_option, int_md, random_hops, shim
from .ioam import (
    Option,
    chain,
    dex,
    e2e,
    geneve_ioam,
    gpe_ioam,
    incremental,
    ioam_carriers,
    ipv6_around,
    ipv6_inline,
    nsh,
    nsh_frames,
    nsh_ioam,
    pot,
    trace,
)
from .number import EVERYTHING, GENEVE_IOAM, REPORT_PORT
from .report import report_1


def _node(number: int, words: int = 1) -> bytes:
    return (64 - number << 24 | 100 + number).to_bytes(4, "big") + bytes(range(4 * (words - 1)))


NODES = [_node(1), _node(2), _node(3)]
PLAIN = trace(NODES, 0x800000, remaining=2)
EVERYWHERE = (
    "trace of snapshots",
    "incremental trace",
    "proof of transit",
    "edge to edge",
    "direct export",
    "trace of another node length",
)


def ioam_corners() -> Corners:
    """Every option right and wrong, in every carrier."""
    both = [_node(1, 2), _node(2, 2)]
    snapshots = [_node(1) + bytes([0, 0xFF, 0xFF, 0xFF]), _node(2) + bytes([2, 0, 0, 7]) + bytes(8)]
    options: dict[str, tuple[list[Option], str, set[str]]] = {
        "trace": ([(0, PLAIN)], "ok", set()),
        "trace without nodes": ([(0, trace([], 0x800000, remaining=5))], "ok", set()),
        "trace without instructions": ([(0, trace([], 0))], "ok", set()),
        "trace of snapshots": ([(0, trace(snapshots, 0x800002, remaining=3))], "ok", set()),
        "trace of snapshots beyond its end": ([(0, trace([snapshots[1][:-4]], 0x800002))], "ioam-snapshot-overrun", set()),
        "trace of another node length": ([(0, trace(NODES, 0x800000, length=2))], "ioam-node-length", set()),
        "trace of data without instructions": ([(0, trace([bytes(4)], 0))], "ioam-node-length", set()),
        "trace with more room than space": ([(0, trace(NODES, 0x800000, remaining=4, free=0))], "ioam-remaining-length", set()),
        "trace of half a node": ([(0, trace([bytes(4)], 0xC00000, remaining=1, free=2))], "ok", {"ioam-space-rest"}),
        "trace with a node and a half": ([(0, trace([*both[:1], bytes(4)], 0xC00000, remaining=2))], "ok", {"ioam-space-rest"}),
        "trace with a rest in front": ([(0, trace(both, 0xC00000, remaining=1))], "ok", {"ioam-space-rest"}),
        "trace whose nodes begin anywhere": ([(0, trace(both, 0xC00000, remaining=1, free=2))], "ioam-not-whole-nodes", set()),
        "trace in loopback": ([(0, trace(NODES, 0x800000, flags=4))], "ok", set()),
        "trace in loopback with more": ([(0, trace(both, 0xC00000, flags=4))], "ioam-loopback-type", set()),
        "trace that overflowed": ([(0, trace(NODES, 0x800000, flags=8))], "ok", {"ioam-overflow"}),
        "trace of an active probe": ([(0, trace(NODES, 0x800000, flags=2))], "ok", set()),
        "trace with unassigned bits": ([(0, trace(both, 0x800004))], "ok", {"ioam-unassigned-bits"}),
        "trace without a header": ([(0, bytes(4))], "ioam-truncated", set()),
        "trace with a node twice": ([(0, trace([NODES[0], NODES[0]], 0x800000))], "ok", {"node-repeated"}),
        "incremental trace": ([(1, incremental(NODES, 0x800000, remaining=100))], "ok", set()),
        "incremental trace without nodes": ([(1, incremental([], 0x800000, remaining=100))], "ok", set()),
        "incremental trace of snapshots": ([(1, incremental(snapshots, 0x800002, remaining=9))], "ok", set()),
        "incremental trace with a rest": ([(1, incremental([*both[:1], bytes(4)], 0xC00000))], "ok", {"ioam-space-rest"}),
        "incremental trace of another node length": ([(1, incremental(NODES, 0x800000, length=3))], "ioam-node-length", set()),
        "incremental trace in loopback with more": ([(1, incremental(both, 0xC00000, flags=4))], "ioam-loopback-type", set()),
        "incremental trace, then a fixed one": ([(1, incremental(both, 0xC00000)), (0, trace(NODES[2:], 0x800000))], "ok", set()),
        "trace, then a broken one": ([(0, PLAIN), (0, trace(NODES, 0x800000, length=2))], "ioam-node-length", set()),
        "proof of transit": ([(2, pot(1 << 63, 5, flags=9))], "ok", set()),
        "proof of transit of type 1": ([(2, pot(1, 5, kind=1))], "ioam-pot-type", set()),
        "proof of transit cut short": ([(2, pot(1, 5)[:16])], "ioam-truncated", set()),
        "proof of transit of nothing": ([(2, b"")], "ioam-truncated", set()),
        "proof of transit that goes on": ([(2, pot(1, 5) + bytes(4))], "ok", set()),
        "edge to edge": ([(3, e2e(0xB000, sequence=1 << 40, seconds=5, fraction=6))], "ok", set()),
        "edge to edge of ones": ([(3, e2e(0x7000, sequence=0xFFFFFFFF, seconds=0xFFFFFFFF, fraction=0xFFFFFFFF))], "ok", set()),
        "edge to edge without fields": ([(3, e2e(0x0FFF))], "ok", set()),
        "edge to edge with both sequences": ([(3, e2e(0xC000))], "ioam-e2e-sequence", set()),
        "edge to edge cut short": ([(3, e2e(0xB000)[:-4])], "ioam-truncated", set()),
        "edge to edge that goes on": ([(3, e2e(0x4000, sequence=7) + bytes(8))], "ok", set()),
        "direct export": ([(4, dex(0xC0, fields=(0xABC, 9)))], "ok", set()),
        "direct export without extensions": ([(4, dex(0))], "ok", set()),
        "direct export of a sequence only": ([(4, dex(0x40, fields=(9,)))], "ok", set()),
        "direct export with unknown extensions": ([(4, dex(0xE1, fields=(0xABC, 9, 1, 2)))], "ok", set()),
        "direct export cut short": ([(4, dex(0xC0)[:-4])], "ioam-dex-length", set()),
        "direct export that goes on": ([(4, dex(0x80) + bytes(4))], "ioam-dex-length", set()),
        "direct export without a header": ([(4, bytes(4))], "ioam-truncated", set()),
        "option of type 5": ([(5, bytes(8))], "ioam-option-type", set()),
        "option that protects integrity": ([(64, PLAIN)], "ioam-option-type", set()),
        "three options": ([(3, e2e(0x4000)), (0, PLAIN), (4, dex(0xC0))], "ok", set()),
    }  # fmt: skip
    cases: Corners = {}
    for number, (name, (these, status, warnings)) in enumerate(options.items()):
        carriers = list(ioam_carriers(these, WORKED_FRAME))
        # What is right in every carrier; what is wrong in two of them, never the same.
        for carrier, frame in (
            carriers if name in EVERYWHERE else (carriers[number % len(carriers)], carriers[(number + 3) % len(carriers)])
        ):
            cases[f"ioam {name} in {carrier}"] = (frame, EVERYTHING, status, warnings)
    return cases | _ioam_places() | nsh_corners()


def _ioam_places() -> Corners:
    """What is special to a carrier."""
    inner = WORKED_FRAME
    many = [(4, dex(0))] * 33
    md = int_md(random_hops(3, 2))
    with_int = chain([(0, PLAIN)], 0x82, 0x81, 0) + shim(md, 1, 3)
    int_first = shim(md, 1, 0x81) + chain([(0, PLAIN)], 3, 0x81, 0)
    two = shim(md, 1, 0x81) + chain([(0, PLAIN)], 0x82, 0x81, 0) + shim(md, 1, 3)
    return {
        "ioam option without a type": (_ipv6_option(b"\x31\x01\x00"), {}, "ioam-truncated", set()),
        "ioam option without anything": (_ipv6_option(b"\x31\x00"), {}, "ioam-truncated", set()),
        "ioam option of the other number": (ipv6_inline([(4, dex(0xC0))], inner, kind=0x11), {}, "ok", set()),
        "ioam without a profile": (gpe_ioam([(0, PLAIN)], inner), {}, "ok", set()),
        "ioam of VPP": (gpe_ioam([(0, PLAIN)], inner, protocol=5), {"gpe_ioam_protocols": (5,)}, "ok", set()),
        "ioam of VPP without a profile": (gpe_ioam([(0, PLAIN)], inner, protocol=5), {}, "vxlan-gpe-protocol-unknown", set()),
        "ioam in gpe in front of INT": (gpe(0x81, with_int + inner), {}, "ok", set()),
        "ioam in gpe behind INT": (gpe(0x82, int_first + inner), {}, "ok", set()),
        "ioam in gpe between two INT headers": (gpe(0x82, two + inner), {}, "vxlan-gpe-protocol-unknown", set()),
        "ioam in gpe in front of NSH": (gpe_ioam([(0, PLAIN)], nsh(inner, 3), following=4), {}, "ok", set()),
        "ioam in gpe in front of MPLS": (gpe_ioam([(0, PLAIN)], inner, following=5), {}, "vxlan-gpe-protocol-unknown", set()),
        "ioam in gpe without a head": (gpe(0x81, b"\x00\x02\x00"), {}, "ioam-shim-truncated", set()),
        "ioam in gpe beyond the end": (gpe(0x81, chain([(0, PLAIN)], 3, 0x81, 0)), {}, "link-truncated", set()),
        "ioam in gpe too long": (gpe(0x81, chain([(0, PLAIN)], 3, 0x81, 1)), {}, "ioam-shim-length", set()),
        "ioam in gpe sixteen times": (gpe_ioam([(4, dex(0))] * 16, inner), {}, "ok", set()),
        "ioam in gpe seventeen times": (gpe_ioam([(4, dex(0))] * 17, inner), {}, "ioam-option-limit", set()),
        "ioam in nsh seventeen times": (next(nsh_frames(nsh_ioam([(4, dex(0))] * 17, inner)))[1], {}, "ioam-option-limit", set()),
        "ioam in nsh of length 0": (next(nsh_frames(nsh(b"\0\0\0\3" + inner, 6)))[1], {}, "ioam-shim-length", set()),
        "ioam in nsh of length 1": (next(nsh_frames(nsh(b"\0\1\0\3" + inner, 6)))[1], {}, "ioam-truncated", set()),
        "ioam in nsh without a head": (next(nsh_frames(nsh(b"\0\1\0", 6)))[1], {}, "ioam-shim-truncated", set()),
        "ioam 64 times": (ipv6_around(many[:32], ipv6_around(many[:32], inner)), {}, "ok", set()),
        "ioam 66 times": (ipv6_around(many, ipv6_around(many, inner)), {}, "ioam-option-limit", set()),
        "ioam in geneve of another class": (geneve_ioam([(0, PLAIN)], inner), {}, "ok", set()),
        "ioam in geneve that is critical": (
            geneve_int(geneve_option(dex(0xC0), 0x84, GENEVE_IOAM), inner), EVERYTHING, "ok", {"geneve-critical"},
        ),
        "ioam in geneve of the class of INT": (
            geneve_int(geneve_option(incremental(NODES, 0x800000), 1), inner), {"geneve_ioam_classes": (0x0103,)}, "ok", set(),
        ),
        "ioam in a report": (udp_frame(report_1(ipv6_inline([(0, PLAIN), (4, dex(0xC0))], inner), {2: 9}), REPORT_PORT), {}, "ok", set()),
    }  # fmt: skip


def _ipv6_option(option: bytes) -> bytes:
    """An IPv6 frame whose hop-by-hop header has this option first."""
    frame = ipv6_inline([(0, bytes(8))], WORKED_FRAME)
    return frame[:56] + (option + bytes(14))[:14] + frame[70:]


def nsh_corners() -> Corners:
    """Network service headers."""
    inner = WORKED_FRAME

    def over(packet: bytes) -> bytes:
        return next(nsh_frames(packet))[1]

    nested = inner
    for _ in range(5):
        nested = nsh(nested, 4 if nested is not inner else 3)
    cases: Corners = {f"nsh in {name}": (frame, {}, "ok", set()) for name, frame in nsh_frames(nsh(inner, 3))}
    return cases | {
        "nsh of type 2 with metadata": (over(nsh(inner, 3, kind=2, context=bytes(24))), {}, "ok", set()),
        "nsh of type 2 without metadata": (over(nsh(inner, 3, kind=2, context=b"")), {}, "ok", set()),
        "nsh of an unknown type": (over(nsh(inner, 3, kind=9, context=bytes(8))), {}, "ok", set()),
        "nsh of type 1 with little metadata": (over(nsh(inner, 3, context=bytes(12))), {}, "nsh-length", set()),
        "nsh of length 1": (over(nsh(inner, 3, kind=2, context=b"", length=1)), {}, "nsh-length", set()),
        "nsh of version 1": (over(nsh(inner, 3, version=1)), {}, "nsh-version", set()),
        "nsh longer than the packet": (over(nsh(b"", 3, kind=2, context=b"", length=63)), {}, "nsh-truncated", set()),
        "nsh of 7 bytes": (over(nsh(b"", 3)[:7]), {}, "nsh-truncated", set()),
        "nsh around IPv4": (over(nsh(inner[14:], 1)), {}, "ok", set()),
        "nsh around IPv6": (over(nsh(ipv6_inline([(0, PLAIN)], inner)[14:], 2)), {}, "ok", set()),
        "nsh around MPLS": (over(nsh(mpls_labels(2)[14:], 5)), {}, "ok", set()),
        "nsh around NSH": (over(nsh(nsh(inner, 3), 4)), {}, "ok", set()),
        "nsh five times": (over(nested), {}, "tunnel-limit", set()),
        "nsh around an unknown protocol": (over(nsh(inner, 7)), {}, "nsh-protocol-unknown", set()),
        "nsh around IOAM around an unknown protocol": (over(nsh_ioam([(0, PLAIN)], inner, following=7)), {}, "nsh-protocol-unknown", set()),
        "nsh in a report": (udp_frame(report_1(over(nsh(inner, 3))), REPORT_PORT), {"report_ports": (REPORT_PORT,)}, "ok", set()),
        "nsh cut in a report": (
            udp_frame(report_1(gpe(4, nsh(inner, 3)[:20])), REPORT_PORT), {"report_ports": (REPORT_PORT,)}, "report-inner-truncated", set(),
        ),
        "nsh with set bits": (over(edited(edited(nsh(inner, 3), 0, 0x3F), 2, 0xF1)), {}, "ok", set()),
    }  # fmt: skip
