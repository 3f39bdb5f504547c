"""Packets at the edges of the rules."""

from __future__ import annotations

import struct
from typing import Any

from scapy.layers.l2 import Dot1Q

from .carrier import ANY, csig_tagged, extensions, mpls_labels, retagged, vlan_tags
from .corner_dialect import dialect_corners
from .corner_field import coalesced_corners, hpcc_corners, ifa_corners, lumina_corners, tag_corners, tcp_int_corners
from .corner_int import int_05_corners, int_mx_corners, tcp_corners, tunnel_corners
from .corner_ioam import ioam_corners
from .frame import WORKED_FRAME, Corners, edited, ipv4_frame, opcode_frame, roce_payload, tcp_frame, udp_frame
from .int_header import int_md_packet, mri_frame, mri_option, random_hops
from .number import CSIG, INT_PORT, MARKER, REPORT_PORT, ROCE_PORT
from .report import report_1, report_2, single_report


def corner_cases() -> dict[str, tuple[bytes, dict[str, Any], str, set[str]]]:
    """Packets at the edges of the rules: frame, profile, status and warnings that they must get."""
    inner = WORKED_FRAME
    ports = {"int_ports": (INT_PORT,)}
    report_ports = {"report_ports": (REPORT_PORT,)}
    hops = random_hops(9, 2)
    two = int_md_packet(hops)
    ids = [{"node_id": 5}, {"node_id": 6}]
    marker = {"marker": MARKER}
    int_on_vxlan = int_md_packet(hops, dst_port=4789, payload=bytes([8, 0, 0, 0, 0, 0, 77, 0]) + inner)
    md_v1 = struct.pack("!IHH", 1 << 28 | 1 << 8 | 5, 0x8000, 0)
    md_v2 = struct.pack("!IHHI", 2 << 28 | 1 << 8 | 5, 0x8000, 0, 0)

    def raw_shim(*head: int, body: bytes = b"", port: int = INT_PORT) -> bytes:
        return udp_frame(bytes(head) + body, port)

    def report(payload: bytes) -> bytes:
        return udp_frame(payload, REPORT_PORT)

    return {
        "8 tags": (vlan_tags(8), {}, "ok", set()),
        "9 tags": (vlan_tags(9), {}, "vlan-limit", set()),
        "16 labels": (mpls_labels(16), {}, "ok", set()),
        "17 labels": (mpls_labels(17), {}, "mpls-limit", set()),
        "8 extension headers": (extensions(8), {}, "ok", set()),
        "9 extension headers": (extensions(9), {}, "ipv6-extension-limit", set()),
        "int by structure": (two, {}, "ok", set()),
        "int with an empty stack": (int_md_packet([], instructions=0x8000), {}, "ok", set()),
        "int without instructions": (int_md_packet([], instructions=0), {}, "ok", set()),
        "int on an unknown port": (int_md_packet(hops, dst_port=7777), {}, "ok", set()),
        "int port as original port": (int_md_packet(hops, 1, original_port=INT_PORT), ports, "int-port-loop", set()),
        "int in front of vxlan by DSCP": (int_on_vxlan, {"int_dscp": (23, 63)}, "ok", set()),
        "int by port with NPT 0": (int_md_packet(hops, dst_port=INT_PORT), ports, "ok", {"int-npt"}),
        "int by DSCP with NPT 1": (int_md_packet(hops, 1, dst_port=ROCE_PORT), {"int_dscp": (23, 63)}, "ok", {"int-npt"}),
        "int by marker with NPT 1": (int_md_packet(hops, 1, marker=marker["marker"]), marker, "ok", {"int-npt"}),
        "int NPT 3": (raw_shim(0x1C, 4, 0, 0, body=md_v2 + b"\0\0\0\7"), ports, "int-npt-reserved", set()),
        "int shim type 4": (raw_shim(0x48, 4, 0, 0, body=md_v2 + b"\0\0\0\7"), ports, "int-shim-type", set()),
        "int shim alone": (raw_shim(0x10, 3), ports, "int-shim-truncated", set()),
        "int v1 too short": (raw_shim(1, 0, 2, 0, body=md_v1), ports, "int-length-too-small", set()),
        "int v2 too short": (raw_shim(0x10, 2, 0, 0, body=md_v2), ports, "int-length-too-small", set()),
        "int v1 destination": (raw_shim(2, 0, 3, 0, body=md_v1), ports, "int-destination", set()),
        "int v2 destination": (raw_shim(0x20, 3, 0, 0, body=md_v2), ports, "int-destination", {"int-npt"}),
        "int version 7": (raw_shim(0x10, 3, 0, 0, body=b"\x70" + md_v2[1:]), ports, "int-version-unknown", {"int-npt"}),
        "int v1 shim with version 2": (raw_shim(1, 0, 4, 0, body=b"\x20" + md_v1[1:] + b"\0\0\0\7"), ports, "int-version-unknown", set()),
        "int mx of version 1": (raw_shim(0x34, 3, 0x12, 0xB7, body=b"\x10" + md_v2[1:]), ports, "int-version-unknown", set()),
        "int stack without bitmap": (raw_shim(0x10, 4, 0, 0, body=md_v2[:4] + bytes(8) + b"\0\0\0\7"), ports, "int-bitmap-zero", set()),
        "int stack without hop length": (
            raw_shim(0x10, 4, 0, 0, body=b"\x20\0\0\5" + md_v2[4:] + b"\0\0\0\7"), ports, "int-hop-length-zero", set(),
        ),
        "int hop of the wrong length": (
            raw_shim(0x14, 5, 0x12, 0xB7, body=b"\x20\0\2\5" + md_v2[4:] + bytes(8) + roce_payload()), ports, "int-hop-length-mismatch",
            set(),
        ),
        "int reserved bits filled": (int_md_packet(ids, instructions=0x8070), {}, "ok", set()),
        "int reserved bits left out": (edited(int_md_packet(ids, instructions=0x8000), 51, 0x70), {}, "ok", set()),
        "int domain 0 with domain bits": (int_md_packet(ids, ds_instruction=0x8000), {}, "ok", {"int-domain-default"}),
        "int all-zero metadata": (
            int_md_packet([{"node_id": 1, **dict.fromkeys(("ingress_port", "egress_port", "queue_id", "queue_depth_raw"), 0)}]), {}, "ok",
            {"metadata-zero"},
        ),
        "int node twice": (int_md_packet([{"node_id": 4}, {"node_id": 4}]), {}, "ok", {"node-repeated"}),
        "int E and M": (int_md_packet(ids, flags=6), {}, "ok", {"int-hop-exceeded", "int-mtu-exceeded"}),
        "int behind UDP that ends early": (
            edited(edited(two, 38, 0), 39, 60), {"int_dscp": (23, 63)}, "int-length-beyond-udp", {"udp-length-short"},
        ),
        "report 1": (report(report_1(inner)), {}, "ok", set()),
        "report 1 of IPv4": (report(report_1(inner[14:], protocol=1)), {}, "ok", set()),
        "report 1 with all metadata": (report(report_1(inner, dict.fromkeys(range(6), 0x01020304))), {}, "ok", set()),
        "report 1 flags of ONOS": (report(report_1(inner, flags=1 << 6)), {}, "ok", set()),
        "report 1 with INT inside": (report(report_1(two, {2: 0x03000009})), {}, "ok", set()),
        "report 1 from the newest hop": (
            report(report_1(int_md_packet([{"node_id": 3}, {"node_id": 77}]), {2: 0x03000009})), {}, "ok", set(),
        ),
        "report 1 whose lengths differ": (report(report_1(bytes(4) + inner, length=5)), report_ports, "ok", {"report-length-mismatch"}),
        "report 1 too short": (report(report_1(inner, length=3)), report_ports, "report-length", set()),
        "report 1 of type 3": (report(report_1(inner, protocol=3)), report_ports, "report-type", set()),
        "report of version 3": (report(b"\x30" + report_1(inner)[1:]), report_ports, "report-type", set()),
        "report 1 of a cut packet": (report(report_1(two[:100])), {}, "int-stack-truncated", {"report-inner-cut"}),
        "report 2 ethernet": (report(report_2(single_report(inner, 3))), {}, "ok", {"ip-length-short"}),
        "report 2 ipv4": (report(report_2(single_report(inner[14:], 4))), {}, "ok", set()),
        "report 2 metadata only": (report(report_2(single_report(b"", 0, metadata={1: 0x00010002, 3: 9}))), {}, "ok", set()),
        "report 2 all metadata": (
            report(report_2(single_report(inner[14:], 4, metadata=dict.fromkeys(range(1, 16), 0x00010002)))), {}, "ok", set(),
        ),
        "report 2 reserved bit 0": (report(report_2(single_report(inner[14:], 4, metadata={0: 9, 3: 0x01000002}))), {}, "ok", set()),
        "report 2 to the end": (report(report_2(single_report(inner[14:], 4, metadata={3: 7}, length=255))), {}, "ok", set()),
        "report 2 of length 0": (report(report_2(single_report(inner[14:], 4, metadata={}, length=0))), {}, "ok", {"report-length-zero"}),
        "report 2 of length 0 and nothing plausible": (
            report(report_2(single_report(bytes(40), 4, metadata={}, length=0))), report_ports, "report-length", set(),
        ),
        "report 2 twice": (report(report_2(single_report(inner[14:], 4), single_report(inner[14:], 4))), {}, "ok", set()),
        "report 2 TLV": (
            report(report_2(single_report(struct.pack("!BBH", 0x20, (len(inner) - 14) // 4, 9) + inner[14:], 1))), {}, "ok", set(),
        ),
        "report 2 TLV too long": (
            report(report_2(single_report(struct.pack("!BBH", 0x20, 99, 9) + inner[14:], 1))), report_ports, "report-length", set(),
        ),
        "report 2 IOAM": (report(report_2(single_report(bytes(8), 0, report_type=2))), report_ports, "ok", set()),
        "report 2 type 3": (report(report_2(single_report(inner[14:], 4, report_type=3))), report_ports, "report-type", set()),
        "report 2 inner type 6": (report(report_2(single_report(inner[14:], 6))), report_ports, "report-type", set()),
        "report 2 too long": (report(report_2(single_report(inner[14:], 4, length=200))), report_ports, "report-length", set()),
        "report 2 metadata mismatch": (
            report(report_2(single_report(inner[14:], 4, metadata={3: 7}, metadata_words=2))), report_ports, "report-metadata-length",
            set(),
        ),
        "report 2 metadata without a place": (
            report(report_2(single_report(inner[14:], 4, metadata_words=1))), report_ports, "report-metadata-length", set(),
        ),
        "udp of length 7": (udp_frame(roce_payload(), ROCE_PORT, length=7), {}, "udp-length", set()),
        "roce with nothing": (udp_frame(b"", ROCE_PORT), {}, "bth-truncated", set()),
        "roce without room for its ICRC": (udp_frame(roce_payload(data=b"")[:-1], ROCE_PORT), {}, "bth-payload-negative", set()),
        "roce with an unknown opcode": (opcode_frame(0xC1), {}, "bth-opcode-unknown", set()),
        **mri_corners(),
        **int_05_corners(),
        **int_mx_corners(),
        **tunnel_corners(),
        **tcp_corners(),
        **csig_corners(),
        **ioam_corners(),
        **ifa_corners(),
        **hpcc_corners(),
        **lumina_corners(),
        **tag_corners(),
        **tcp_int_corners(),
        **coalesced_corners(),
        **dialect_corners(),
    }  # fmt: skip


def csig_corners() -> Corners:
    """CSIG tags."""
    inner = WORKED_FRAME
    return {
        "csig": (csig_tagged(inner, CSIG), {}, "ok", set()),
        "csig twice": (csig_tagged(inner, CSIG, 0x2B85), {}, "ok", set()),
        "csig of ones": (csig_tagged(inner, 0xFFFF), {}, "ok", set()),
        "csig of ones and another": (csig_tagged(inner, 0xFFFF, CSIG), {}, "ok", set()),
        "csig of zeros": (csig_tagged(inner, 0), {}, "ok", set()),
        "csig behind a VLAN tag": (retagged(csig_tagged(inner, CSIG), Dot1Q(vlan=77)), {}, "ok", set()),
        "csig inside a tunnel": (ANY["vxlan"](csig_tagged(inner, CSIG)), {}, "ok", set()),
        "csig outside and inside": (csig_tagged(ANY["vxlan"](csig_tagged(inner, CSIG)), 0x2B85), {}, "ok", set()),
        "csig eight times": (csig_tagged(inner, *range(8)), {}, "ok", set()),
        "csig nine times": (csig_tagged(inner, *range(9)), {}, "vlan-limit", set()),
        "csig cut": (csig_tagged(inner, CSIG)[:17], {}, "link-truncated", set()),
    }


def mri_corners() -> Corners:
    """The IPv4 option of the P4 tutorials."""
    three = mri_option([(1, 0), (2, 63), (4, 0xFFFFFFFF)])
    inner = int_md_packet([{"node_id": 5}, {"node_id": 6}])
    return {
        "mri": (mri_frame(three), {}, "ok", set()),
        "mri without hops": (mri_frame(mri_option([])), {}, "ok", set()),
        "mri behind no-operations": (mri_frame(b"\x01" + mri_option([(1, 9)]) + b"\x01\x01\x00"), {}, "ok", set()),
        "mri behind the end of options": (mri_frame(b"\x00\x01\x01\x01" + mri_option([(1, 9)])), {}, "ok", set()),
        "mri of an odd length": (mri_frame(mri_option([(1, 9)], length=11) + b"\x00\x00\x00\x00"), {}, "mri-length", set()),
        "mri of length 3": (mri_frame(mri_option([(1, 9)], length=3)), {}, "mri-length", set()),
        "mri of length 0": (mri_frame(mri_option([(1, 9)], length=0)), {}, "mri-length", set()),
        "mri that claims one hop more": (mri_frame(mri_option([(1, 9)], count=2)), {}, "mri-length", set()),
        "mri beyond the header": (mri_frame(mri_option([(1, 9)], count=2, length=20)), {}, "mri-length", set()),
        "mri twice": (mri_frame(mri_option([(1, 9)]) + mri_option([(2, 8), (3, 7)])), {}, "ok", set()),
        "mri wrong, then right": (mri_frame(mri_option([(1, 9)], count=7) + mri_option([(3, 7)])), {}, "mri-length", set()),
        "mri right, then wrong": (mri_frame(mri_option([(1, 9)]) + mri_option([(3, 7)], count=7)), {}, "mri-length", set()),
        "mri node twice": (mri_frame(mri_option([(1, 9), (1, 9)])), {}, "ok", {"node-repeated"}),
        "mri in front of INT": (mri_frame(three, inner[42:], 7777), {}, "ok", set()),
        "mri in front of broken INT": (
            mri_frame(three, edited(inner[42:], 1, 200), INT_PORT), {"int_ports": (INT_PORT,)}, "int-length-beyond-udp", set(),
        ),
        "mri around MRI": (ipv4_frame(three, mri_frame(mri_option([(7, 1)]))[14:], 4), {}, "ok", set()),
        "mri with TCP": (ipv4_frame(three, tcp_frame(b"abc")[34:], 6), {}, "not-udp", set()),
        "mri in a report": (udp_frame(report_1(mri_frame(three), {2: 0x03000009}), REPORT_PORT), {}, "ok", set()),
    }  # fmt: skip
