"""One packet: from its rows to its bytes, the inverse of `packet`. The only place that puts layers around each other.

    [Ethernet, IPv4, GRE, ERSPAN] [Ethernet, IPv4, UDP, report headers] [Ethernet, NSH, IOAM] Ethernet, IP, [UDP, [INT], RoCEv2 | zeros]
     a row of mirrors              a row of reports

Lengths, checksums and the ICRC are made here and written back to the rows, so that decoding gives the same rows again.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get, put
from int_analyzer.formats.hpcc_encode import hpcc_bytes, put_hpcc
from int_analyzer.formats.ifa_encode import HEADER_BYTES as IFA_BYTES
from int_analyzer.formats.ifa_encode import ifa_metadata_bytes, put_ifa_header, put_ifa_metadata
from int_analyzer.formats.int_05_encode import int_05_bytes, put_int_05
from int_analyzer.formats.int_md_encode import int_md_bytes, int_mx_bytes, put_int_md, put_int_mx
from int_analyzer.formats.ioam_encode import extension_bytes, item_bytes, option_bytes, put_extension, put_item, put_shim, shim_bytes
from int_analyzer.formats.mri_encode import mri_bytes, put_mri
from int_analyzer.formats.report_encode import has_link_header, put_report, report_bytes
from int_analyzer.formats.roce_encode import put_roce, roce_bytes
from int_analyzer.schema import (
    ABSENT16,
    ABSENT32,
    FORMAT_HPCC,
    FORMAT_IFA,
    FORMAT_INT_05,
    FORMAT_INT_MD_1,
    FORMAT_INT_MD_2,
    FORMAT_INT_MX,
    FORMAT_IOAM_DEX,
    FORMAT_IOAM_E2E,
    FORMAT_IOAM_INCREMENTAL,
    FORMAT_IOAM_TRACE,
    FORMAT_MRI,
    FORMAT_NONE,
    HAS_ICRC,
    HAS_PAYLOAD,
    HOP_FROM_REPORT,
)
from int_analyzer.settings import IFA_PROTOCOL
from int_analyzer.wire import layer
from int_analyzer.wire.checksum import put_udp_checksum_6
from int_analyzer.wire.ethernet import ABSENT_CSIG, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_NSH
from int_analyzer.wire.ethernet_encode import ethernet_bytes, put_ethernet
from int_analyzer.wire.icrc import ICRC_BYTES, icrc
from int_analyzer.wire.ip import NEXT_DESTINATION, NEXT_HOP_BY_HOP, PROTOCOL_GRE, PROTOCOL_UDP
from int_analyzer.wire.ip_encode import (
    IPV4_BYTES,
    IPV6_BYTES,
    UDP_BYTES,
    put_ipv4,
    put_ipv6,
    put_outer_ipv4,
    put_outer_udp,
    put_udp,
)
from int_analyzer.wire.mirror_encode import erspan_bytes, put_erspan
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.tunnel import NSH_ETHERNET, NSH_IOAM
from int_analyzer.wire.tunnel_encode import NSH_BYTES, put_nsh
from int_analyzer.wire.write import put_u32, put_zeros

Surroundings = namedtuple("Surroundings", ["int_port", "report_port", "reporter", "collector", "reported_bytes"])
"""What stands around telemetry and no row tells of: UDP port of INT v2.x (0: the DSCP marks it), UDP port of reports, IPv4 address of
a reporting node without its id, IPv4 address of the collector, bytes to which a reported packet is cut."""

LONGEST = 1 << 17
"""No packet with all that is put around it has more bytes: IP and UDP count theirs in 16 bits."""

IN_PACKET = (
    FORMAT_INT_MD_1,
    FORMAT_INT_MD_2,
    FORMAT_INT_MX,
    FORMAT_INT_05,
    FORMAT_IOAM_TRACE,
    FORMAT_IOAM_INCREMENTAL,
    FORMAT_IFA,
    FORMAT_HPCC,
    FORMAT_MRI,
)
"""Telemetry that is written into packets."""
AS_OPTION = (FORMAT_IOAM_E2E, FORMAT_IOAM_DEX)
"""Telemetry without hops that is written into packets, over IPv6: each has a row of options."""
_OPTIONS = 1 << FORMAT_IOAM_E2E | 1 << FORMAT_IOAM_DEX

MIRRORED = layer.TUNNEL_ERSPAN_1 | layer.TUNNEL_ERSPAN_2 | layer.TUNNEL_ERSPAN_3
_ETHERNET_BYTES = 14
_REPORT_SOURCE_PORT = 0x8000


@kernel
def encode_packet(
    buffer: Buffer, at: int, stop: int, columns: Any, row: int, report: int, mirror: int, option: int, surroundings: Any
) -> int:
    """Write the packet of row `row` from `at` on: where it ends. What would stand from `stop` on is not captured and need not be written.

    `report` is its row in reports if it has one (`report_count`), `mirror` its row in mirrors if it has one (`tunnels`),
    `option` its row in options if it has one (`has_option`).
    """
    reported = get(columns, "packets.report_count", row) != 0
    mirrored = get(columns, "packets.tunnels", row) & MIRRORED != 0
    datagram = at + _ETHERNET_BYTES + IPV4_BYTES + erspan_bytes(columns, mirror) if mirrored else at
    frame, cut, with_link = datagram, datagram + LONGEST, True
    if reported:
        frame = datagram + _ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + report_bytes(columns, report)
        cut = frame + surroundings.reported_bytes
        with_link = has_link_header(columns, report)
    end = min(_put_frame(buffer, frame, min(stop, cut), with_link, columns, row, option, surroundings), cut)
    if reported:
        node = get(columns, "reports.node_id", report)
        source, collector = surroundings.reporter + (node & 0xFFFF), surroundings.collector
        put_ethernet(buffer, datagram, source, collector, ABSENT16, ABSENT_CSIG, ETHERTYPE_IPV4)
        network = datagram + _ETHERNET_BYTES
        put_outer_udp(buffer, network, end, source, collector, _REPORT_SOURCE_PORT | node & 0x7FFF, surroundings.report_port)
        put_report(buffer, network + IPV4_BYTES + UDP_BYTES, columns, report)
    if mirrored:
        source, collector = get(columns, "mirrors.outer_src_lo", mirror), surroundings.collector
        put_ethernet(buffer, at, source, collector, ABSENT16, ABSENT_CSIG, ETHERTYPE_IPV4)
        network = at + _ETHERNET_BYTES
        put_outer_ipv4(buffer, network, end, PROTOCOL_GRE, source, collector)
        put_erspan(buffer, network + IPV4_BYTES, columns, mirror)
    return end


@kernel
def has_option(columns: Any, row: int) -> bool:
    """Whether the packet has a row of options."""
    return get(columns, "packets.formats", row) & _OPTIONS != 0


@kernel
def _put_frame(buffer: Buffer, at: int, stop: int, with_link: bool, columns: Any, row: int, option: int, surroundings: Any) -> int:
    """The packet itself, with a link header or without: where it ends."""
    telemetry, hops = _stack(columns, row)
    version = get(columns, "packets.ip_version", row)
    vlan, csig = get(columns, "packets.vlan_id", row), get(columns, "packets.csig", row)
    protocol, options, added = get(columns, "packets.protocol", row), 0, 0
    source, destination = get(columns, "packets.src_lo", row), get(columns, "packets.dst_lo", row)
    if telemetry == FORMAT_IOAM_INCREMENTAL:
        added = shim_bytes(columns, row, hops)
        put_ethernet(buffer, at, source, destination, ABSENT16, ABSENT_CSIG, ETHERTYPE_NSH)
        put_nsh(buffer, at + _ETHERNET_BYTES, NSH_IOAM)
        put_shim(buffer, at + _ETHERNET_BYTES + NSH_BYTES, NSH_ETHERNET, columns, row, hops)
        at += _ETHERNET_BYTES + NSH_BYTES + added
    network = at + ethernet_bytes(vlan, csig) if with_link else at
    transport = network + (IPV4_BYTES if version == 4 else IPV6_BYTES)
    following = protocol
    if telemetry == FORMAT_MRI:
        options = added = mri_bytes(hops)
        put_mri(buffer, transport, columns, row, hops)
        transport += options
    elif telemetry == FORMAT_IOAM_TRACE:
        added, following = option_bytes(columns, row, hops), NEXT_HOP_BY_HOP
        put_extension(buffer, transport, protocol, columns, row, hops)
        transport += extension_bytes(columns, row, hops)
    elif has_option(columns, row):
        # what concerns the ends of a path stands in a header that only these read (RFC 9486 §3)
        following = NEXT_DESTINATION if get(columns, "options.format", option) == FORMAT_IOAM_E2E else NEXT_HOP_BY_HOP
        put_item(buffer, transport, protocol, columns, option)
        transport += item_bytes(columns, option)
    elif telemetry == FORMAT_IFA:
        added, following = IFA_BYTES, IFA_PROTOCOL
        put_ifa_header(buffer, transport, protocol, columns, row)
        transport += IFA_BYTES
    if version == 6:
        stop = at + LONGEST  # its UDP checksum covers all bytes, captured or not
    payload, end = _put_transport(buffer, network, transport, stop, telemetry, hops, columns, row, surroundings)
    if with_link:
        put_ethernet(buffer, at, source, destination, vlan, csig, ETHERTYPE_IPV4 if version == 4 else ETHERTYPE_IPV6)
    put(columns, "packets.ip_bytes", row, end - network)
    if telemetry != FORMAT_NONE:
        put(columns, "packets.telemetry_bytes", row, added + payload - transport - UDP_BYTES)
    if version == 4:
        put_ipv4(buffer, network, options, following, end, columns, row)
    else:
        put_ipv6(buffer, network, following, end, columns, row)
    roce = get(columns, "packets.roce_row", row)
    if roce != ABSENT32:
        _put_icrc(buffer, network, transport, end, stop, columns, row, roce)
    if version == 6 and protocol == PROTOCOL_UDP:
        put_udp_checksum_6(buffer, network, transport, payload if telemetry == FORMAT_IFA else transport + UDP_BYTES, end)
    return end


@kernel
def _put_icrc(buffer: Buffer, network: int, transport: int, end: int, stop: int, columns: Any, row: int, roce: int) -> None:
    """The ICRC of a packet whose headers are written: it covers fields of all of them."""
    present = get(columns, "roce.present", roce)
    if end > stop:
        put(columns, "roce.present", roce, present & ~HAS_ICRC | HAS_PAYLOAD)
        return
    bth = end - roce_bytes(columns, roce)
    value = icrc(buffer, get(columns, "packets.ip_version", row), network, transport, bth, end, get(columns, "packets.dst_port", row))
    put_u32(buffer, end - ICRC_BYTES, value)
    put(columns, "roce.icrc_raw", roce, value)
    put(columns, "roce.present", roce, present | HAS_ICRC | HAS_PAYLOAD)


@kernel
def _put_transport(
    buffer: Buffer, network: int, at: int, stop: int, telemetry: int, hops: int, columns: Any, row: int, surroundings: Any
) -> tuple[int, int]:
    """UDP with telemetry and RoCEv2 from `at` on, all but the ICRC; zeros up to the packet's length where there is no RoCEv2.

    Where what UDP carries begins behind the telemetry, and where it ends.
    """
    roce = get(columns, "packets.roce_row", row)
    begin = behind = at + UDP_BYTES
    if get(columns, "packets.protocol", row) != PROTOCOL_UDP:
        end = network + get(columns, "packets.ip_bytes", row)
        put_zeros(buffer, at, end)
        return begin, end
    port = get(columns, "packets.dst_port", row)
    if telemetry == FORMAT_INT_MD_1 or telemetry == FORMAT_INT_MD_2:
        behind += int_md_bytes(columns, row, hops)
        put_int_md(buffer, begin, columns, row, hops, surroundings.int_port)
    elif telemetry == FORMAT_INT_MX:
        behind += int_mx_bytes()
        put_int_mx(buffer, begin, columns, row, surroundings.int_port)
    elif telemetry == FORMAT_INT_05:
        behind += int_05_bytes(columns, row, hops)
        put_int_05(buffer, begin, columns, row, hops)
    elif telemetry == FORMAT_HPCC:
        behind += hpcc_bytes(columns, row, hops)
        put_hpcc(buffer, begin, columns, row, hops)
    elif telemetry == FORMAT_IFA:
        behind += ifa_metadata_bytes(hops)
        put_ifa_metadata(buffer, begin, columns, row, hops)
    if surroundings.int_port != 0 and (telemetry == FORMAT_INT_MD_2 or telemetry == FORMAT_INT_MX):
        port = surroundings.int_port
    if roce != ABSENT32:
        end = behind + roce_bytes(columns, roce)
        put_roce(buffer, behind, min(end - ICRC_BYTES, stop), columns, roce)
    else:
        end = max(behind, network + get(columns, "packets.ip_bytes", row))
        put_zeros(buffer, behind, end)
    # IFA does not count itself in the UDP length
    counted = end - (behind - begin) if telemetry == FORMAT_IFA else end
    put_udp(buffer, at, counted, get(columns, "packets.src_port", row), port)
    return behind, end


@kernel
def _stack(columns: Any, row: int) -> tuple[int, int]:
    """The telemetry that stands in the packet itself, and its hops: all but one that a report adds."""
    hops, first = get(columns, "packets.hop_count", row), get(columns, "packets.first_hop", row)
    formats, telemetry = get(columns, "packets.formats", row), FORMAT_NONE
    if hops != 0 and get(columns, "hops.present", first + hops - 1) & HOP_FROM_REPORT != 0:
        hops -= 1
    for candidate in IN_PACKET:
        if formats & (1 << candidate) != 0:
            telemetry = candidate
    return telemetry, hops
