"""What switches, simulators and testers in the field send, at the edges of the rules: IFA, HPCC, Lumina, CSIG, TCP-INT."""

from __future__ import annotations

import struct

from .carrier import ANY, csig_tagged, gre, mpls_labels, wide_csig_tagged
from .frame import WORKED_FRAME, Corners, edited, roce_payload, tcp_frame, udp_frame
from .hpcc import Hop, hpcc_drawn, hpcc_simulated
from .ifa import CHECKSUM, FRAGMENT, INBAND, TAIL_STAMP, TURN_AROUND, ifa_frame, ifa_metadata, ifa_record
from .int_header import int_md, int_md_packet, shim
from .mirror import BIT_ERROR, DROP, ECN, lumina
from .number import CSIG, EVERYTHING, HPCC_PORT, IFA, INT_PORT, LUMINA_PORT, REPORT_PORT
from .report import report_1, report_2, single_report

RECORDS = [ifa_record(device=1, ttl=63), ifa_record(device=2, ttl=62, speed=9, latency=0xFFFFFFFF), ifa_record(device=3, ttl=61, ecn=3)]
HOPS: list[Hop] = [(number % 6, 1000 + number, 50 + number, 7 * number) for number in range(7)]


def ifa_corners() -> Corners:
    """IFA around every transport."""
    inner = WORKED_FRAME
    plain = ifa_frame(RECORDS, inner)
    tail = INBAND | TAIL_STAMP
    tcp = tcp_frame(b"text", options=bytes([2, 4, 5, 0xB4]))
    keyed = gre(inner, 0x6558, inner, key_present=1, seqnum_present=1)
    behind_int = shim(int_md([{"node_id": 5}]), 1, IFA, npt=2) + plain[34:]
    counting = plain[:42] + struct.pack("!H", len(plain) - 38) + plain[44:]
    return {
        "ifa": (plain, {}, "ok", set()),
        "ifa in IPv6": (ifa_frame(RECORDS, _ipv6()), {}, "ok", set()),
        "ifa without hops": (ifa_frame([], inner), {}, "ok", set()),
        "ifa of a probe": (ifa_frame(RECORDS, inner, flags=0), {}, "ok", set()),
        "ifa that turned around": (ifa_frame(RECORDS, inner, flags=INBAND | TURN_AROUND), {}, "ok", set()),
        "ifa of version 3": (ifa_frame(RECORDS, inner, version=3), {}, "ok", set()),
        "ifa of version 1": (ifa_frame(RECORDS, inner, version=1), {}, "ifa-version", set()),
        "ifa with a checksum": (ifa_frame(RECORDS, inner, flags=CHECKSUM), {}, "ifa-optional-header", set()),
        "ifa of a fragment": (ifa_frame(RECORDS, inner, flags=FRAGMENT), {}, "ifa-optional-header", set()),
        "ifa in front of ICMP": (edited(plain, 35, 1), {}, "ifa-next-header", set()),
        "ifa whose UDP length counts it": (counting, {}, "ok", set()),
        "ifa of another number": (ifa_frame(RECORDS, inner, protocol=253), EVERYTHING, "ok", set()),
        "ifa of a number that is not configured": (plain, {"ifa_protocols": ()}, "not-udp", set()),
        "ifa whose stack is not whole records": (ifa_frame([*RECORDS, bytes(4)], inner), {}, "ifa-not-whole-hops", set()),
        "ifa beyond the packet": (ifa_frame(RECORDS, inner, metadata=ifa_metadata(RECORDS, words=255)), {}, "ifa-length", set()),
        "ifa without metadata": (_shortened(plain, 46), {}, "ifa-length", set()),
        "ifa with half its metadata header": (_shortened(plain, 48), {}, "ifa-length", set()),
        "ifa at the end": (ifa_frame(RECORDS, inner, flags=tail), {}, "ok", set()),
        "ifa at the end without hops": (ifa_frame([], inner, flags=tail), {}, "ok", set()),
        "ifa at the end of too little": (
            ifa_frame(RECORDS, udp_frame(b"", 9), flags=tail, metadata=ifa_metadata([], words=8)), {}, "ifa-length", set(),
        ),
        "ifa node twice": (ifa_frame([RECORDS[0], RECORDS[0]], inner), {}, "ok", {"node-repeated"}),
        "ifa around VXLAN": (ifa_frame(RECORDS, ANY["vxlan"](inner)), {}, "ok", set()),
        "ifa around GRE": (ifa_frame(RECORDS, keyed), {}, "ok", set()),
        "ifa around ERSPAN": (ifa_frame(RECORDS, ANY["erspan-2"](inner)), {}, "ok", set()),
        "ifa around GRE of version 1": (edited(ifa_frame(RECORDS, keyed), 39, 1), {}, "gre-version", set()),
        "ifa around TCP": (ifa_frame(RECORDS, tcp), EVERYTHING, "not-udp", set()),
        "ifa around TCP with data offset 4": (edited(ifa_frame(RECORDS, tcp), 38 + 12, 0x40), {}, "ifa-length", set()),
        "ifa around half of UDP": (_shortened(plain, 42), {}, "udp-truncated", set()),
        "ifa around half of TCP": (_shortened(ifa_frame(RECORDS, tcp), 50), {}, "not-udp", set()),
        "ifa of 3 bytes": (_shortened(plain, 37), {}, "ifa-truncated", set()),
        "ifa around INT": (ifa_frame(RECORDS, int_md_packet([{"node_id": 5}])), {}, "ok", set()),
        "ifa behind INT": (udp_frame(behind_int, INT_PORT), {"int_ports": (INT_PORT,)}, "ok", set()),
        "ifa in a report": (udp_frame(report_1(plain, {2: 9}), REPORT_PORT), {}, "ok", set()),
    }  # fmt: skip


def _ipv6() -> bytes:
    """RoCEv2 over IPv6."""
    frame = int_md_packet([], instructions=0x8000, ip_version=6)
    header = bytearray(frame[14:54])
    struct.pack_into("!H", header, 4, len(WORKED_FRAME) - 34)
    return frame[:14] + bytes(header) + WORKED_FRAME[34:]


def _shortened(frame: bytes, size: int) -> bytes:
    """An IPv4 frame that ends early and says so."""
    return frame[:16] + struct.pack("!H", size - 14) + frame[18:size]


def hpcc_corners() -> Corners:
    """HPCC in both layouts."""
    drawn, simulated = {"hpcc_ports": (HPCC_PORT,)}, {"hpcc_ports": (HPCC_PORT,), "hpcc_layout": "ns3"}

    def frame(header: bytes, behind: bytes | None = None) -> bytes:
        return udp_frame(header + (roce_payload() if behind is None else behind), HPCC_PORT)

    return {
        "hpcc": (frame(hpcc_drawn(HOPS[:3])), drawn, "ok", set()),
        "hpcc without hops": (frame(hpcc_drawn([])), drawn, "ok", set()),
        "hpcc with 15 hops": (frame(hpcc_drawn(HOPS + HOPS + HOPS[:1])), drawn, "ok", set()),
        "hpcc in front of nothing": (frame(hpcc_drawn(HOPS[:3]), b""), drawn, "ok", set()),
        "hpcc in front of text": (frame(hpcc_drawn(HOPS[:3]), b"no RDMA message"), drawn, "ok", set()),
        "hpcc beyond the datagram": (frame(hpcc_drawn(HOPS[:3], count=9), b""), drawn, "hpcc-length", set()),
        "hpcc of one byte": (frame(b"\0", b""), drawn, "hpcc-length", set()),
        "hpcc that is not configured": (frame(hpcc_drawn(HOPS[:3])), {}, "ok", set()),
        "hpcc of the simulator": (frame(hpcc_simulated(HOPS[:3])), simulated, "ok", set()),
        "hpcc of the simulator without hops": (frame(hpcc_simulated([])), simulated, "ok", set()),
        "hpcc of the simulator with 5 hops": (frame(hpcc_simulated(HOPS[:5])), simulated, "ok", set()),
        "hpcc of the simulator with 7 hops": (frame(hpcc_simulated(HOPS)), simulated, "ok", set()),
        "hpcc of the simulator with 255 hops": (frame(hpcc_simulated(HOPS, count=255)), simulated, "ok", set()),
        "hpcc of the simulator with 256 hops": (frame(hpcc_simulated(HOPS, count=256)), simulated, "hpcc-length", set()),
        "hpcc of the simulator cut": (frame(hpcc_simulated(HOPS)[:41], b""), simulated, "hpcc-length", set()),
        "hpcc in a report": (udp_frame(report_1(frame(hpcc_drawn(HOPS[:3])), {2: 9}), REPORT_PORT), drawn, "ok", set()),
    }


def lumina_corners() -> Corners:
    """Mirrored copies of Lumina."""
    profile = {"lumina_ports": (LUMINA_PORT,)}
    inner = WORKED_FRAME
    old = lumina(inner, event=ECN)
    cases: Corners = {f"lumina event {event}": (lumina(inner, event=event), profile, "ok", set()) for event in (0, DROP, ECN, BIT_ERROR, 9)}
    return cases | {
        "lumina that is not configured": (old, {}, "ok", set()),
        "lumina of no RDMA": (lumina(udp_frame(bytes(48), 9)), profile, "ok", set()),
        "lumina behind a VLAN tag": (ANY["vlan"](old), profile, "ok", set()),
        "lumina in a tunnel": (ANY["vxlan"](old), profile, "ok", set()),
        "lumina in ERSPAN": (ANY["erspan-2"](old), profile, "ok", set()),
        "lumina in a report": (udp_frame(report_1(old), REPORT_PORT), profile, "ok", set()),
        "lumina over IPv6": (edited(edited(_ipv6(), 56, LUMINA_PORT >> 8), 57, LUMINA_PORT & 255), profile, "ok", set()),
        "lumina around half a BTH": (_shortened(old, 50), profile, "bth-truncated", {"udp-length-beyond-ip"}),
    }


def tag_corners() -> Corners:
    """Wide CSIG tags, and the EtherTypes of reports that a switch sends through itself."""
    inner = WORKED_FRAME
    wide = wide_csig_tagged(inner, 0x123456789ABC)
    return {
        "csig wide": (wide, EVERYTHING, "ok", set()),
        "csig wide that is not configured": (wide, {}, "not-ip", set()),
        "csig wide of ones": (wide_csig_tagged(inner, (1 << 48) - 1), EVERYTHING, "ok", set()),
        "csig wide, then compact": (wide_csig_tagged(csig_tagged(inner, CSIG), 5), EVERYTHING, "ok", set()),
        "csig compact, then wide": (csig_tagged(wide, CSIG), EVERYTHING, "ok", set()),
        "csig wide cut": (wide[:21], EVERYTHING, "link-truncated", set()),
        "csig wide in a report": (udp_frame(report_1(wide, {2: 9}), REPORT_PORT), EVERYTHING, "ok", set()),
        "csig of another number": (edited(csig_tagged(inner, CSIG), 13, 7), {"csig_type": 0x9907}, "ok", set()),
        "csig of a number that is not configured": (csig_tagged(inner, CSIG), {"csig_type": 0x9907}, "not-ip", set()),
        "recirculated IPv4": (inner[:12] + b"\xbf\x04" + inner[14:], {}, "ok", set()),
        "recirculated MPLS": (inner[:12] + b"\xbf\x05" + mpls_labels(2)[14:], {}, "ok", set()),
        "recirculated IPv4 in a report": (udp_frame(report_1(inner[:12] + b"\xbf\x04" + inner[14:]), REPORT_PORT), {}, "ok", set()),
    }


def tcp_int_corners() -> Corners:
    """The TCP option of TCP-INT."""
    profile = {"tcp_int": True}
    option = bytes([0x72, 12, 0x35, 0x81, 63, 0, 2, 3, 4, 5, 6, 7])
    padded = b"\x01\x01" + option + b"\x00\x00"
    return {
        "tcp-int": (tcp_frame(b"text", options=option), profile, "not-udp", set()),
        "tcp-int without a profile": (tcp_frame(b"text", options=option), {}, "not-udp", set()),
        "tcp-int behind no-operations": (tcp_frame(b"text", options=padded), profile, "not-udp", set()),
        "tcp-int behind the end": (tcp_frame(b"text", options=b"\x00\x01\x01\x01" + option), profile, "not-udp", set()),
        "tcp-int of length 8": (tcp_frame(b"text", options=edited(option, 1, 8)), profile, "not-udp", set()),
        "tcp-int of length 0": (tcp_frame(b"text", options=edited(option, 1, 0)), profile, "not-udp", set()),
        "tcp-int of length 8, then 12": (tcp_frame(b"", options=edited(option, 1, 8)[:8] + option), profile, "not-udp", set()),
        "tcp-int twice": (tcp_frame(b"text", options=option + edited(option, 4, 1)), profile, "not-udp", set()),
        "tcp-int beyond its header": (tcp_frame(option[8:], options=option[:8]), profile, "not-udp", set()),
        "tcp-int with a header of 4 words": (tcp_frame(option, offset=4), profile, "not-udp", set()),
        "tcp-int in front of INT": (
            tcp_frame(shim(int_md([{"node_id": 5}])), options=option), {**profile, "int_dscp": (23, 63)}, "ok", set(),
        ),
        "tcp-int in a report": (udp_frame(report_1(tcp_frame(b"text", options=option), {2: 9}), REPORT_PORT), profile, "not-udp", set()),
    }  # fmt: skip


def coalesced_corners() -> Corners:
    """Datagrams of several reports: status and warnings are those of the first."""
    inner = WORKED_FRAME[14:]
    ports = {"report_ports": (REPORT_PORT,)}
    good, queue = single_report(inner, 4), single_report(inner, 4, metadata={3: 0x01000002})
    traced = single_report(int_md_packet([{"node_id": 3}, {"node_id": 77}])[14:], 4, metadata={3: 0x02000003})
    cablelabs = {**ports, "int_dialect": "cablelabs-tps"}
    broken = single_report(inner, 4, report_type=3)
    cut_tlv = single_report(struct.pack("!BBH", 0x20, 99, 9) + inner, 1)

    def frame(*reports: bytes, outer: bytes = b"") -> bytes:
        return udp_frame(report_2(*reports) + outer, REPORT_PORT)

    return {
        "reports that all differ": (frame(good, queue, traced, single_report(b"", 0, metadata={1: 5})), ports, "ok", set()),
        "reports, the second broken": (frame(good, broken, good), ports, "ok", set()),
        "reports, the first broken": (frame(broken, good), ports, "report-type", set()),
        "reports, the second too long": (frame(good, single_report(inner, 4, length=200)), ports, "ok", set()),
        "reports, a TLV of the first too long": (frame(cut_tlv, good), ports, "report-length", set()),
        "reports, a TLV of the second too long": (frame(good, cut_tlv, good), ports, "ok", set()),
        "reports, a frame behind very many TLVs": (
            frame(single_report(bytes(4) * 300 + struct.pack("!BBH", 0x20, len(inner) // 4, 0) + inner, 1, length=255)), ports, "ok", set(),
        ),
        "reports with three bytes behind": (frame(good, queue, outer=b"\0\0\0"), ports, "ok", set()),
        "reports, none": (frame(), ports, "ok", set()),
        "reports, empty ones": (frame(*[bytes(4)] * 5), ports, "ok", set()),
        "reports in a tunnel": (ANY["vxlan"](frame(traced, queue)), {}, "ok", set()),
        "reports in a mirror": (ANY["erspan-3"](frame(traced, queue)), {}, "ok", set()),
        "reports of mirrors": (
            frame(*(single_report(ANY[name](WORKED_FRAME), 3) for name in ("erspan-2", "erspan-3"))), ports, "ok", set(),
        ),
        "reports in reports": (frame(single_report(frame(good, good)[14:], 4), queue), ports, "ok", set()),
        "reports of CableLabs": (frame(single_report(WORKED_FRAME, 2), queue), cablelabs, "ok", {"ip-length-short"}),
        "reports of CableLabs without a profile": (frame(single_report(WORKED_FRAME, 2), queue), ports, "ok", set()),
    }  # fmt: skip
