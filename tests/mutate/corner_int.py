"""INT at the edges of the rules."""

from __future__ import annotations

import struct

from .carrier import extensions, mpls_labels
from .frame import WORKED_FRAME, Corners, edited, ipv4_frame, roce_payload, tcp_frame, udp_frame
from .int_header import (
    geneve_int,
    geneve_option,
    gpe_int,
    gre_int,
    int_05,
    int_md,
    int_md_packet,
    int_mx,
    int_tunnels,
    mri_frame,
    mri_option,
    random_hops,
    shim,
    shim_1,
)
from .number import GENEVE_INT, INT_PORT, MARKER, REPORT_PORT, ROCE_PORT, TUNNELLED_INT
from .report import report_1


def int_05_corners() -> Corners:
    """INT v0.5 with its tail."""
    hops = random_hops(5, 3)
    ids = [{"node_id": 5}, {"node_id": 6}]
    ports = {"int_ports": (INT_PORT,)}
    dscp = {"int_dscp": (23, 63)}

    def frame(data: bytes, port: int = ROCE_PORT) -> bytes:
        return udp_frame(data + roce_payload(), port, tos=23 << 2 | 2)

    return {
        "int 0.5": (frame(int_05(hops)), {}, "ok", set()),
        "int 0.5 by DSCP": (frame(int_05(hops)), dscp, "ok", set()),
        "int 0.5 by port": (frame(int_05(hops), INT_PORT), ports, "ok", set()),
        "int 0.5 by marker": (frame(MARKER.to_bytes(8, "big") + int_05(hops), 9), {"marker": MARKER}, "ok", set()),
        "int 0.5 on an unknown port": (frame(int_05(hops), 7777), {}, "ok", set()),
        "int 0.5 with an unknown original port": (frame(int_05(hops, original_port=7777), INT_PORT), ports, "ok", set()),
        "int 0.5 with reserved bits": (frame(int_05(hops, instructions=0xFFFF)), {}, "ok", set()),
        "int 0.5 with congestion status only": (frame(int_05(hops, instructions=0x0200), INT_PORT), ports, "ok", set()),
        "int 0.5 without hops": (frame(int_05([], instructions=0x9000)), {}, "ok", set()),
        "int 0.5 full": (frame(int_05(hops, max_hops=3)), {}, "ok", set()),
        "int 0.5 C and E": (frame(int_05(hops, flags=10)), {}, "ok", {"int-hop-exceeded"}),
        "int 0.5 without DSCP": (frame(int_05(hops, original_dscp=0xC0)), {}, "ok", set()),
        "int 0.5 all-zero metadata": (
            frame(int_05([{"node_id": 1, **dict.fromkeys(("ingress_port", "egress_port", "hop_latency_raw"), 0)}], instructions=0xE000)),
            {}, "ok", {"metadata-zero"},
        ),
        "int 0.5 node twice": (frame(int_05([{"node_id": 4}, {"node_id": 4}], instructions=0x8000)), dscp, "ok", {"node-repeated"}),
        "int 0.5 that is as good a BTH": (frame(int_05(ids, instructions=0x8000)), {}, "ok", set()),
        "int 0.5 with more hops than allowed": (frame(int_05(hops, max_hops=2), INT_PORT), ports, "int-stack-not-whole-hops", set()),
        "int 0.5 whose tail names TCP": (
            frame(int_05(ids, protocol=6, instructions=0x8000), INT_PORT), ports, "int-stack-not-whole-hops", set(),
        ),
        "int 0.5 whose count is not that of its bitmap": (
            frame(edited(int_05(ids, instructions=0x8000), 5, 2), INT_PORT), ports, "int-stack-not-whole-hops", set(),
        ),
        "int 0.5 in a report": (udp_frame(report_1(frame(int_05(hops)), {2: 0x03000009}), REPORT_PORT), {}, "ok", set()),
    }  # fmt: skip


def int_mx_corners() -> Corners:
    """INT-MX over UDP."""
    ports = {"int_ports": (INT_PORT,)}
    mx = int_mx(0x9000, discard=1, domain=7, ds_instruction=0xC000, source_inserted=bytes(range(8)))

    def frame(body: bytes, npt: int = 1, port: int = INT_PORT, last: int = ROCE_PORT, payload: bytes | None = None) -> bytes:
        return udp_frame(shim(body, 3, last, npt=npt) + (roce_payload() if payload is None else payload), port, tos=23 << 2 | 2)

    behind = int_mx(0x9000)
    return {
        "int mx": (frame(mx), ports, "ok", set()),
        "int mx by DSCP": (frame(behind, npt=0, port=ROCE_PORT, last=26 << 2), {"int_dscp": (23, 63)}, "ok", set()),
        "int mx by structure": (frame(behind, npt=0, port=ROCE_PORT, last=26 << 2), {}, "ok", set()),
        "int mx in front of a second UDP": (
            frame(mx, npt=2, last=17, payload=struct.pack("!HHHH", 9, ROCE_PORT, 8 + len(roce_payload()), 0) + roce_payload()), ports, "ok",
            set(),
        ),
        "int mx in front of TCP": (frame(mx, npt=2, last=6, payload=tcp_frame(b"abc")[34:]), ports, "not-udp", set()),
        "int mx with a port loop": (frame(mx, last=INT_PORT), ports, "int-port-loop", set()),
        "int mx with domain 0": (frame(int_mx(0x9000, ds_instruction=0x8000)), ports, "ok", set()),
        "int mx of only a shim": (udp_frame(shim(b"", 3, ROCE_PORT, npt=1, length=3), INT_PORT), ports, "int-length-beyond-udp", set()),
        "int mx behind mri": (mri_frame(mri_option([(1, 9)]), shim(behind, 3, ROCE_PORT, npt=1) + roce_payload(), 7777), {}, "ok", set()),
    }  # fmt: skip


def tunnel_corners() -> Corners:
    """INT in VXLAN-GPE, GRE and Geneve."""
    inner = WORKED_FRAME
    hops = random_hops(7, 2)
    md = int_md(hops)
    one = int_md(hops, dialect="int-1.0")
    mx = int_mx(0x9000, domain=7)
    ids = [{"node_id": 5}, {"node_id": 6}]
    small = int_md(ids)
    bad: dict[str, tuple[bytes, str, set[str]]] = {
        "version 7": (b"\x70" + small[1:], "int-version-unknown", set()),
        "a stack without bitmap": (small[:4] + bytes(8) + b"\0\0\0\7", "int-bitmap-zero", set()),
        "a stack without hop length": (b"\x20\0\0\5" + small[4:], "int-hop-length-zero", set()),
        "a stack that is not whole hops": (b"\x20\0\3\5" + small[4:], "int-stack-not-whole-hops", set()),
        "a hop of the wrong length": (b"\x20\0\2\5" + small[4:], "int-hop-length-mismatch", set()),
        "domain 0 with domain bits": (int_md(ids, ds_instruction=0x8000), "ok", {"int-domain-default"}),
        "no instructions": (int_md([], instructions=0), "ok", set()),
        "no hops": (int_md([], instructions=0x8000), "ok", set()),
        "32-bit times": (b"\x20\0\1\5\x08\0" + bytes(6) + b"\0\0\0\5", "ok", {"int-dialect"}),
        "E and M": (int_md(ids, flags=7), "ok", {"int-hop-exceeded", "int-mtu-exceeded"}),
        "all-zero metadata": (int_md([{"node_id": 1, "hop_latency_raw": 0}]), "ok", {"metadata-zero"}),
        "a node twice": (int_md([{"node_id": 4}, {"node_id": 4}]), "ok", {"node-repeated"}),
        "a cut header": (small[:8], "int-length-too-small", set()),
    }  # fmt: skip
    cases: Corners = {}
    for name, (body, status, warnings) in bad.items():
        cases[f"gpe int with {name}"] = (gpe_int(shim(body, 1, 3), inner), {}, status, warnings)
        cases[f"gre int with {name}"] = (gre_int(shim(body, 1, 0x6558), inner), TUNNELLED_INT, status, warnings)
        cases[f"geneve int with {name}"] = (geneve_int(geneve_option(body), inner), {}, status, warnings)
    for name, kind, body in (("md", 1, md), ("mx", 3, mx)):
        for carrier, frame in int_tunnels(inner, body, kind):
            cases[f"int {name} in {carrier}"] = (frame, TUNNELLED_INT, "ok", set())
    two = geneve_option(md) + geneve_option(int_md(ids))
    return cases | {
        "gpe int 1.0": (gpe_int(shim_1(one, 1, 3), inner, 0x08), {}, "ok", set()),
        "gpe int of ONOS": (gpe_int(shim_1(int_md(hops, dialect="onos-basic"), 1, 3), inner, 0x08), {}, "ok", {"int-dialect"}),
        "gpe int of GEANT": (gpe_int(shim_1(int_md(hops, dialect="geant10"), 1, 3), inner, 0x08), {}, "ok", {"int-dialect"}),
        "gpe int 0.5 has no place": (
            gpe_int(shim_1(int_05(ids, instructions=0x8000)[4:], 1, 3), inner, 0x08), {}, "int-stack-not-whole-hops", set(),
        ),
        "gpe int 1.0 destination": (gpe_int(shim_1(b"", 2, 3), inner, 0x08), {}, "int-destination", set()),
        "gpe int 1.0 of length 0": (gpe_int(shim_1(b"", 2, 3, length=0), inner, 0x08), {}, "int-length-too-small", set()),
        "gpe int 1.0 too short": (gpe_int(shim_1(one, 1, 3, length=2), inner, 0x08), {}, "int-length-too-small", set()),
        "gpe int 1.0 of type 3": (gpe_int(shim_1(one, 3, 3), inner, 0x08), {}, "int-shim-type", set()),
        "gpe int 1.0 of version 2": (gpe_int(shim_1(b"\x20" + one[1:], 1, 3), inner, 0x08), {}, "int-version-unknown", set()),
        "gpe int with the shim of 1.0": (gpe_int(shim_1(one, 1, 3), inner), {}, "int-shim-type", set()),
        "gpe int destination": (gpe_int(shim(b"", 2, 3), inner), {}, "int-destination", set()),
        "gpe int of type 4": (gpe_int(shim(md, 4, 3), inner), {}, "int-shim-type", set()),
        "gpe int with filled reserved bits": (gpe_int(shim(md, 1, 0x7F03, npt=3), inner), {}, "ok", set()),
        "gpe int too long": (gpe_int(shim(md, 1, 3, length=255), inner), {}, "int-length-beyond-udp", set()),
        "gpe int without a shim": (gpe_int(b"\x10\5", b""), {}, "int-shim-truncated", set()),
        "gpe int in front of IPv4": (gpe_int(shim(md, 1, 1), inner[14:]), {}, "ok", set()),
        "gpe int in front of IPv6": (gpe_int(shim(md, 1, 2), extensions(1)[14:]), {}, "ok", set()),
        "gpe int in front of INT": (gpe_int(shim(md, 1, 0x82) + shim(md, 1, 3), inner), {}, "vxlan-gpe-protocol-unknown", set()),
        "gpe int in front of MPLS": (gpe_int(shim(md, 1, 5), inner), {}, "vxlan-gpe-protocol-unknown", set()),
        "gpe int in front of nothing": (gpe_int(shim(md, 1, 3), b""), {}, "link-truncated", set()),
        "gpe int of version 7 in front of nothing": (gpe_int(shim(b"\x70" + md[1:], 1, 3), b""), {}, "int-version-unknown", set()),
        "gpe int mx of version 1": (gpe_int(shim(b"\x10" + mx[1:], 3, 3), inner), {}, "int-version-unknown", set()),
        "gpe int with a domain": (
            gpe_int(shim(int_md(ids, domain=7, ds_instruction=0xC000, hop_extra=bytes(4), source_only=bytes(4)), 1, 3), inner),
            {"domains": {7: (1, 1)}}, "ok", set(),
        ),
        "gpe int around INT": (gpe_int(shim(md, 1, 3), int_md_packet(ids)), {}, "ok", set()),
        "gpe int in a report": (udp_frame(report_1(gpe_int(shim(md, 1, 3), inner), {2: 0x03000009}), REPORT_PORT), {}, "ok", set()),
        "gre int not configured": (gre_int(shim(md, 1, 0x6558), inner), {}, "gre-protocol-unknown", set()),
        "gre int in front of IPv4": (gre_int(shim(md, 1, 0x0800), inner[14:]), TUNNELLED_INT, "ok", set()),
        "gre int in front of MPLS": (gre_int(shim(md, 1, 0x8847), mpls_labels(2)[14:]), TUNNELLED_INT, "ok", set()),
        "gre int in front of ERSPAN": (gre_int(shim(md, 1, 0x88BE), inner), TUNNELLED_INT, "gre-protocol-unknown", set()),
        "gre int in front of a tag": (gre_int(shim(md, 1, 0x8100), inner), TUNNELLED_INT, "gre-protocol-unknown", set()),
        "gre int destination": (gre_int(shim(b"", 2, 0x6558), inner), TUNNELLED_INT, "int-destination", set()),
        "gre int of type 0": (gre_int(shim(md, 0, 0x6558), inner), TUNNELLED_INT, "int-shim-type", set()),
        "gre int too long": (gre_int(shim(md, 1, 0x6558, length=255), inner), TUNNELLED_INT, "int-length-beyond-udp", set()),
        "gre int without a shim": (gre_int(b"\x10\5", b""), TUNNELLED_INT, "int-shim-truncated", set()),
        "gre int with filled reserved bits": (gre_int(shim(md, 1, 0x6558, npt=3), inner), TUNNELLED_INT, "ok", set()),
        "geneve int class not configured": (geneve_int(geneve_option(md, 1, GENEVE_INT), inner), {}, "ok", set()),
        "geneve int of type 2": (geneve_int(geneve_option(md, 2), inner), {}, "ok", set()),
        "geneve int critical": (geneve_int(geneve_option(md, 0x81), inner), {}, "ok", {"geneve-critical"}),
        "geneve int twice": (geneve_int(two, inner), {}, "ok", set()),
        "geneve int, then broken": (geneve_int(two + geneve_option(bad["version 7"][0]), inner), {}, "int-version-unknown", set()),
        "geneve int broken, then right": (geneve_int(geneve_option(bad["version 7"][0]) + two, inner), {}, "int-version-unknown", set()),
        "geneve int md, then mx": (geneve_int(two + geneve_option(mx, 3), inner), {}, "ok", set()),
        "geneve int mx, then md": (geneve_int(geneve_option(mx, 3) + two, inner), {}, "ok", set()),
        "geneve int mx too short": (geneve_int(geneve_option(mx[:8], 3), inner), {}, "int-length-too-small", set()),
        "geneve int mx of version 1": (geneve_int(geneve_option(b"\x10" + mx[1:], 3), inner), {}, "int-version-unknown", set()),
        "geneve int that overruns": (
            geneve_int(two + b"\x01\x03\x01\x1f", inner), {}, "geneve-options-overrun", set(),
        ),
        "geneve int around an unknown protocol": (
            edited(geneve_int(two, inner), 14 + 20 + 8 + 2, 0x12), {}, "geneve-protocol-unknown", set(),
        ),
        "geneve int around INT": (geneve_int(two, int_md_packet(ids)), {}, "ok", set()),
        "geneve int with broken INT inside": (
            geneve_int(two, edited(int_md_packet(ids, 1), 43, 200)), {"int_ports": (INT_PORT,)}, "int-length-beyond-udp", set(),
        ),
    }  # fmt: skip


def tcp_corners() -> Corners:
    """INT over TCP, which only the profile can announce."""
    dscp = {"int_dscp": (23, 63)}
    marker = {"marker": MARKER}
    mark = MARKER.to_bytes(8, "big")
    md = shim(int_md(random_hops(8, 2)), 1, 26 << 2)
    other = shim(int_md([{"node_id": 5}, {"node_id": 6}]))
    options = bytes([2, 4, 5, 0xB4, 1, 3, 3, 7])
    rest = b"GET / HTTP/1.1"
    return {
        "tcp int by DSCP": (tcp_frame(md + rest), dscp, "ok", set()),
        "tcp int without a profile": (tcp_frame(md + rest), {}, "not-udp", set()),
        "tcp int of another DSCP": (tcp_frame(md + rest, dscp=24), dscp, "not-udp", set()),
        "tcp int over IPv6": (tcp_frame(md + rest, ip_version=6), dscp, "ok", set()),
        "tcp int behind options": (tcp_frame(md + rest, options=options), dscp, "ok", set()),
        "tcp int in front of options": (tcp_frame(md + options + rest, offset=7), dscp, "ok", set()),
        "tcp int in front of options and behind them": (tcp_frame(other + md, offset=5 + len(other) // 4), dscp, "ok", set()),
        "tcp int by marker": (tcp_frame(mark + md + rest, dscp=0), marker, "ok", set()),
        "tcp int by marker behind options": (tcp_frame(mark + md + rest, options=options, dscp=0), marker, "ok", set()),
        "tcp int by marker in front of options": (tcp_frame(mark + md + options + rest, offset=7, dscp=0), marker, "ok", set()),
        "tcp marker in front of no INT": (tcp_frame(mark + rest, dscp=0), marker, "not-udp", set()),
        "tcp int 1.0": (tcp_frame(shim_1(int_md(random_hops(8, 2), dialect="int-1.0"), 1, 26 << 2) + rest), dscp, "ok", set()),
        "tcp int of GEANT": (tcp_frame(shim_1(int_md(random_hops(8, 2), dialect="geant10"), 1, 26 << 2)), dscp, "ok", {"int-dialect"}),
        "tcp int 0.5": (tcp_frame(int_05(random_hops(8, 2), protocol=6, original_port=80) + rest), dscp, "ok", set()),
        "tcp int 0.5 whose tail names UDP": (tcp_frame(int_05([{"node_id": 5}], instructions=0x8000) + rest), dscp, "not-udp", set()),
        "tcp int mx": (tcp_frame(shim(int_mx(0x9000, domain=7), 3) + rest), dscp, "ok", set()),
        "tcp int with NPT 1": (tcp_frame(shim(md[4:], 1, 80, npt=1) + rest), dscp, "ok", {"int-npt"}),
        "tcp int with E": (tcp_frame(shim(int_md([{"node_id": 5}], flags=2)) + rest), dscp, "ok", {"int-hop-exceeded"}),
        "tcp int beyond the end of IP": (tcp_frame(md[:-4]), dscp, "not-udp", set()),
        "tcp int whose hops are not whole": (tcp_frame(edited(md, 6, 7) + rest), dscp, "not-udp", set()),
        "tcp int of version 7": (tcp_frame(edited(md, 4, 0x70) + rest), dscp, "not-udp", set()),
        "tcp int destination": (tcp_frame(shim(md[4:], 2) + rest), dscp, "not-udp", set()),
        "tcp without INT": (tcp_frame(rest * 4), dscp, "not-udp", set()),
        "tcp without payload": (tcp_frame(b""), dscp, "not-udp", set()),
        "tcp with data offset 4": (tcp_frame(md, offset=4), dscp, "tcp-header-length", set()),
        "tcp with data offset 4 and no profile": (tcp_frame(md, offset=4), {}, "not-udp", set()),
        "tcp with data offset 4 and a marker": (tcp_frame(md, offset=4, dscp=0), marker, "tcp-header-length", set()),
        "tcp options beyond the packet": (tcp_frame(b"abc", offset=15), dscp, "tcp-truncated", set()),
        "tcp header of 19 bytes": (ipv4_frame(b"", tcp_frame(b"")[34:53], 6, dscp=23), dscp, "tcp-truncated", set()),
        "tcp header of 3 bytes": (ipv4_frame(b"", tcp_frame(b"")[34:37], 6, dscp=23), dscp, "tcp-truncated", set()),
        "tcp header of 19 bytes in a report": (
            udp_frame(report_1(tcp_frame(md)[:53]), REPORT_PORT), dscp, "report-inner-truncated", {"report-inner-cut"},
        ),
        "tcp int behind a second UDP header": (
            udp_frame(shim(int_md([{"node_id": 5}]), 1, 6, npt=2) + tcp_frame(md)[34:], INT_PORT, tos=23 << 2),
            {"int_ports": (INT_PORT,), **dscp}, "not-udp", set(),
        ),
        "tcp int in a report": (udp_frame(report_1(tcp_frame(md + rest), {2: 0x03000009}), REPORT_PORT), dscp, "ok", set()),
        "tcp int in IP that is cut": (edited(edited(tcp_frame(md), 16, 0x02), 17, 0), dscp, "ok", {"ip-length-beyond-packet"}),
    }  # fmt: skip
