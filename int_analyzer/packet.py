"""One packet: find its layers one inside the other and let every format read its part. The only loop over formats.

A layer that cannot be read ends the packet with a status; the first status that is not ok stays. Some faults (an IOAM option, a broken
Geneve option, an INT stack of known length) do not hide what stands behind them, and the reading goes on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined, kernel
from int_analyzer.capture import records
from int_analyzer.columns import N_HOPS, N_MIRRORS, N_REPORTS, N_ROCE, get, put
from int_analyzer.formats import int_md, roce
from int_analyzer.formats.int_md import (
    HEAD,
    LENGTHS,
    LOCATED_BY_DSCP,
    LOCATED_BY_MARKER,
    LOCATED_BY_PORT,
    LOCATED_BY_STRUCTURE,
    RESERVED,
)
from int_analyzer.formats.int_md import int_md as read_int
from int_analyzer.formats.int_md import looks_like as looks_like_int
from int_analyzer.formats.int_report import looks_like as looks_like_report
from int_analyzer.formats.int_report import report_05, report_1, reports_2
from int_analyzer.formats.ioam import ioam as read_ioam
from int_analyzer.formats.roce import bth as read_bth
from int_analyzer.formats.roce import plausible as plausible_bth
from int_analyzer.schema import (
    ABSENT8,
    ABSENT16,
    ABSENT32,
    FORMAT_INT_MD_1,
    FORMAT_INT_MD_2,
    FORMAT_IOAM_TRACE,
    FORMAT_MRI,
    FORMAT_NONE,
    FORMAT_REPORT_05,
    FORMAT_REPORT_1,
    FORMAT_REPORT_2,
    FORMAT_ROCE,
    HAS_BUFFER,
    HAS_DEPTH,
    HAS_EGRESS_PORT,
    HAS_EGRESS_TIME,
    HAS_INGRESS_PORT,
    HAS_INGRESS_TIME,
    HAS_LATENCY,
    HAS_NODE,
    HAS_QUEUE,
    HAS_REPORT_BUFFER,
    HAS_REPORT_DROP,
    HAS_REPORT_EGRESS_TIME,
    HAS_REPORT_INGRESS_TIME,
    HAS_REPORT_L2,
    HAS_REPORT_LATENCY,
    HAS_REPORT_PORTS,
    HAS_REPORT_QUEUE,
    HAS_REPORT_UTILISATION,
    HAS_UTILISATION,
    HOP_FROM_REPORT,
    STATUS_CODE,
    STATUSES,
    WARNING_BIT,
)
from int_analyzer.settings import (
    DETECT_BY_STRUCTURE,
    INT_DSCP_MASK,
    INT_DSCP_VALUE,
    INT_MARKER,
    INT_MARKER_SET,
    ROLE_AUTO,
    ROLE_GENEVE,
    ROLE_INT,
    ROLE_REPORT,
    ROLE_ROCE,
    ROLE_VXLAN,
    ROLE_VXLAN_GPE,
)
from int_analyzer.wire import ethernet as ethernet_layer
from int_analyzer.wire import layer
from int_analyzer.wire.ethernet import ethernet, link, mpls
from int_analyzer.wire.ip import extension, ipv4, ipv6, is_extension, mri_option, next_ioam_option, of_protocol
from int_analyzer.wire.mirror import erspan
from int_analyzer.wire.read import Buffer, u8, u16, u64
from int_analyzer.wire.tunnel import geneve, gre, vxlan, vxlan_gpe

OK = STATUS_CODE["ok"]
NOT_UDP = STATUS_CODE["not-udp"]
UDP_TRUNCATED = STATUS_CODE["udp-truncated"]
UDP_LENGTH = STATUS_CODE["udp-length"]
IPV6_EXTENSION_LIMIT = STATUS_CODE["ipv6-extension-limit"]
IPV6_EXTENSION_TRUNCATED = STATUS_CODE["ipv6-extension-truncated"]
TUNNEL_LIMIT = STATUS_CODE["tunnel-limit"]
GENEVE_OVERRUN = STATUS_CODE["geneve-options-overrun"]
MRI_LENGTH = STATUS_CODE["mri-length"]
REPORT_TYPE = STATUS_CODE["report-type"]
REPORT_INNER_TRUNCATED = STATUS_CODE["report-inner-truncated"]
OPTION_LENGTH = STATUS_CODE["ipv6-option-length"]
INT_VERSION_UNKNOWN = int_md.VERSION_UNKNOWN
BTH_TRUNCATED = roce.TRUNCATED
FRAGMENT_FIRST = WARNING_BIT["fragment-first"]

UDP_BEYOND_IP = WARNING_BIT["udp-length-beyond-ip"]
UDP_SHORT = WARNING_BIT["udp-length-short"]
IP_BEYOND = WARNING_BIT["ip-length-beyond-packet"]
INNER_CUT = WARNING_BIT["report-inner-cut"]
NODE_REPEATED = WARNING_BIT["node-repeated"]

IS_CUT_LAYER = np.array(
    [entry.name.endswith("-truncated") and entry.layer not in ("report", "int", "ioam") for entry in STATUSES], dtype=np.bool_
)
"""Statuses that inside a telemetry report only say that the reported packet was cut there."""

_END, _ETHERNET, _IPV4, _IPV6, _MPLS = layer.END, layer.ETHERNET, layer.IPV4, layer.IPV6, layer.MPLS
_UDP, _TCP, _GRE, _ERSPAN, _VXLAN = layer.UDP, layer.TCP, layer.GRE, layer.ERSPAN, layer.VXLAN
_VXLAN_GPE, _GENEVE, _INT, _BTH, _REPORT = layer.VXLAN_GPE, layer.GENEVE, layer.INT, layer.BTH, layer.REPORT
_EXTENSION, _FIRST_TUNNEL = layer.EXTENSION, layer.FIRST_TUNNEL
_LINK_ETHERNET = ethernet_layer.LINK_ETHERNET
_MAXIMUM_TUNNELS, _MAXIMUM_EXTENSIONS, _MAXIMUM_LAYERS = layer.MAXIMUM_TUNNELS, layer.MAXIMUM_EXTENSIONS, 64
_TUNNEL_GRE, _TUNNEL_VXLAN, _TUNNEL_GPE = layer.TUNNEL_GRE, layer.TUNNEL_VXLAN, layer.TUNNEL_VXLAN_GPE
_TUNNEL_GENEVE, _TUNNEL_MPLS = layer.TUNNEL_GENEVE, layer.TUNNEL_MPLS


@inlined
def decode_packet(buffer: Buffer, record: Any, settings: Any, columns: Any, counts: Any, row: int) -> None:
    """One record into row `row` of packets and into the other tables from counts on."""
    start = record[records.DATA]
    captured, original = record[records.CAPTURED], record[records.ORIGINAL]
    link_type, warnings = record[records.LINK], record[records.RECORD_WARNINGS]
    time_ns, interface = record[records.TIME_NS], record[records.INTERFACE]
    limit = start + captured
    declared = start + max(captured, original)
    first_hop, first_report = counts[N_HOPS], counts[N_REPORTS]
    put(columns, "packets.time_ns", row, time_ns)
    put(columns, "packets.captured_bytes", row, captured)
    put(columns, "packets.original_bytes", row, original)
    put(columns, "packets.interface", row, interface)
    put(columns, "packets.original_dscp", row, ABSENT8)
    put(columns, "packets.ip_version", row, 0)
    put(columns, "hops.hop", first_hop, 0)

    at, kind = start, _ETHERNET
    status, status_at, bad, bad_at = OK, start, OK, start
    formats, telemetry, tunnels, levels, vlan = 0, FORMAT_NONE, 0, 0, ABSENT16
    protocol, source_port, destination_port = 0, 0, 0
    extensions, first_fragment, behind_int, in_report = 0, 0, False, False
    gre_protocol, gre_sequence, report_kind, located = 0, 0, FORMAT_NONE, LOCATED_BY_STRUCTURE
    hop, roce_row, report_count, own_hop, own_format = first_hop, ABSENT32, 0, -1, FORMAT_NONE
    if link_type != _LINK_ETHERNET:
        kind, at, bad, vlan = link(buffer, at, limit, link_type)
        bad_at = at

    for _ in range(_MAXIMUM_LAYERS):
        if bad != OK:
            if status == OK:
                status = REPORT_INNER_TRUNCATED if in_report and IS_CUT_LAYER[bad] else bad
                status_at = bad_at
            bad = OK
        if kind >= _FIRST_TUNNEL:
            levels += 1
            if levels > _MAXIMUM_TUNNELS:
                kind, bad, bad_at = _END, TUNNEL_LIMIT, at
                continue
        if kind == _END:
            break
        if kind == _ETHERNET:
            kind, at, bad, tag = ethernet(buffer, at, limit)
            bad_at = at
            if tag != ABSENT16:
                vlan = tag
        elif kind == _IPV4:
            begin = at
            kind, at, limit, declared, bad, odd, options, first_fragment = ipv4(buffer, at, limit, declared, columns, row)
            bad_at = at
            warnings |= _inside_report(odd, in_report)
            if at != begin:
                source_port, destination_port = 0, 0
            if options > 0:
                found, wrong = mri_option(buffer, begin + 20, begin + 20 + options)
                formats |= found << FORMAT_MRI
                if wrong != 0 and status == OK:
                    status, status_at = MRI_LENGTH, wrong
            if kind == _IPV4 or kind == _IPV6:
                kind, levels, bad, bad_at = _ip_in_ip(kind, levels, at)
        elif kind == _IPV6:
            protocol, at, limit, declared, bad, odd = ipv6(buffer, at, limit, declared, columns, row)
            bad_at = at
            warnings |= _inside_report(odd, in_report)
            kind = _END
            if bad == OK:
                source_port, destination_port, extensions, first_fragment = 0, 0, 0, 0
                kind, bad = _of_next_header(protocol)
                if kind == _IPV4 or kind == _IPV6:
                    kind, levels, bad, bad_at = _ip_in_ip(kind, levels, at)
        elif kind == _EXTENSION:
            extensions += 1
            if extensions > _MAXIMUM_EXTENSIONS:
                kind, bad, bad_at = _END, IPV6_EXTENSION_LIMIT, at
                continue
            begin = at
            following, at, bad, fragment = extension(buffer, at, limit, declared, protocol)
            if at > begin and (protocol == 0 or protocol == 60):
                option, fault = begin + 2, OK
                while option < at and fault == OK:
                    found_at, option, fault = next_ioam_option(buffer, option, at, limit)
                    if fault != OK:
                        fault_at = option
                    elif found_at != 0:
                        fault, fault_at, odd, added, found = read_ioam(buffer, found_at, option, limit, columns, row, first_hop)
                        warnings |= odd
                        if found != FORMAT_NONE:
                            formats |= 1 << found
                        if added >= 0:
                            hop = first_hop + added
                            telemetry = FORMAT_IOAM_TRACE
                    else:
                        break
                    if fault != OK and status == OK:
                        status, status_at = fault, fault_at
                    if fault != OPTION_LENGTH:
                        fault = OK
            kind, bad_at = _END, begin
            if bad != IPV6_EXTENSION_TRUNCATED:
                protocol = following
                put(columns, "packets.protocol", row, protocol)
                first_fragment |= fragment
                if fragment != 0:
                    warnings |= FRAGMENT_FIRST
                bad_at = at
                if bad == OK:
                    kind, bad = _of_next_header(protocol)
                    if kind == _IPV4 or kind == _IPV6:
                        kind, levels, bad, bad_at = _ip_in_ip(kind, levels, at)
        elif kind == _UDP:
            length = u16(buffer, at + 4) if limit - at >= 8 else 0
            if limit - at < 8:
                kind, bad, bad_at = _END, UDP_TRUNCATED, at
            else:
                source_port, destination_port = u16(buffer, at), u16(buffer, at + 2)
                if length < 8:
                    kind, bad, bad_at = _END, UDP_LENGTH, at
                else:
                    end = at + length
                    if end > declared and first_fragment == 0:
                        warnings |= UDP_BEYOND_IP
                        end = declared
                    elif end < declared:
                        warnings |= UDP_SHORT
                    declared = end
                    limit = min(limit, end)
                    at += 8
                    if behind_int:
                        kind = _of_role(settings.port_roles[destination_port])
                    else:
                        service = get(columns, "packets.dscp", row)
                        kind, at, located, report_kind = _payload(
                            buffer, at, limit, declared, destination_port, service, in_report, settings
                        )
        elif kind == _INT:
            begin = at
            bad, bad_at, odd, added, at, npt, destination_port, found = read_int(
                buffer, at, limit, declared, destination_port, located, settings, columns, row, first_hop
            )
            warnings |= odd
            kind, behind_int = _END, True
            if found != FORMAT_NONE:
                formats |= 1 << found
            if added >= 0:
                hop = first_hop + added
                telemetry = found
            if at != 0 and npt == 2:
                protocol = u8(buffer, begin + 3)
                put(columns, "packets.protocol", row, protocol)
                source_port, destination_port = 0, 0
                kind = of_protocol(protocol)
                if kind == _END and bad == OK:
                    bad, bad_at = NOT_UDP, at
                elif kind == _IPV4 or kind == _IPV6:
                    kind, levels, fault, fault_at = _ip_in_ip(kind, levels, at)
                    if fault != OK and bad == OK:
                        bad, bad_at = fault, fault_at
            elif at != 0:
                kind = _of_role(settings.port_roles[destination_port])
                if bad == INT_VERSION_UNKNOWN and (at >= limit or (kind == _BTH and not plausible_bth(buffer, at, limit))):
                    kind = _END
        elif kind == _BTH:
            kind = _END
            if not in_report or at < limit:
                bad, bad_at, odd = read_bth(buffer, at, limit, declared, columns, counts[N_ROCE], row)
                warnings |= odd
                if bad != BTH_TRUNCATED:
                    formats |= 1 << FORMAT_ROCE
                    roce_row = counts[N_ROCE]
                    counts[N_ROCE] += 1
        elif kind == _TCP:
            if limit - at >= 4:
                source_port, destination_port = u16(buffer, at), u16(buffer, at + 2)
            kind, bad, bad_at = _END, NOT_UDP, at
        elif kind == _GRE:
            begin = at
            kind, at, bad, gre_protocol, gre_sequence = gre(buffer, at, limit)
            bad_at = begin
            if bad == OK and kind != _ERSPAN:
                tunnels |= _TUNNEL_GRE
        elif kind == _ERSPAN:
            mirror = counts[N_MIRRORS]
            kind, at, bad, odd, tunnel = erspan(buffer, at, limit, gre_protocol, gre_sequence, columns, mirror)
            bad_at = at
            warnings |= odd
            tunnels |= tunnel
            if tunnel != 0:
                put(columns, "mirrors.packet", mirror, row)
                put(columns, "mirrors.outer_src_hi", mirror, get(columns, "packets.src_hi", row))
                put(columns, "mirrors.outer_src_lo", mirror, get(columns, "packets.src_lo", row))
                counts[N_MIRRORS] = mirror + 1
        elif kind == _MPLS:
            tunnels |= _TUNNEL_MPLS
            kind, at, bad = mpls(buffer, at, limit)
            bad_at = at
        elif kind == _VXLAN:
            begin = at
            kind, at, bad, odd = vxlan(buffer, at, limit)
            bad_at = begin
            warnings |= odd
            if bad == OK:
                tunnels |= _TUNNEL_VXLAN
        elif kind == _VXLAN_GPE:
            begin = at
            kind, at, bad, odd, found = vxlan_gpe(buffer, at, limit, declared)
            bad_at = at
            warnings |= odd
            if found != FORMAT_NONE:
                formats |= 1 << found
            if at != begin or found != FORMAT_NONE:
                tunnels |= _TUNNEL_GPE
        elif kind == _GENEVE:
            begin = at
            kind, at, bad, odd, found, broken = geneve(buffer, at, limit)
            bad_at = begin
            warnings |= odd
            formats |= found
            if broken != 0 and status == OK:
                status, status_at = GENEVE_OVERRUN, broken
            if bad == OK:
                tunnels |= _TUNNEL_GENEVE
        elif kind == _REPORT:
            begin, has_hop, end, own_format = at, False, declared, report_kind
            report = counts[N_REPORTS]
            if report_kind == FORMAT_REPORT_2:
                bad, bad_at, odd, added, kind, at, end, own_hop, believed = reports_2(buffer, at, limit, declared, columns, report, row)
                if located != LOCATED_BY_PORT and not believed:
                    # No report after all. A DSCP hint stands where nothing else explains the payload.
                    kind, at, bad, own_hop = (_INT if located == LOCATED_BY_DSCP else _END), begin, OK, -1
                    continue
                report_count = added
                if limit - begin >= 8:
                    formats |= 1 << FORMAT_REPORT_2
            elif report_kind == FORMAT_NONE:
                kind, bad, bad_at, odd = _END, REPORT_TYPE, begin, 0
            else:
                if report_kind == FORMAT_REPORT_1:
                    bad, odd, kind, at, has_hop = report_1(buffer, at, limit, declared, columns, report, row)
                else:
                    odd = 0
                    bad, kind, at, has_hop = report_05(buffer, at, limit, declared, columns, report, row)
                bad_at = begin
                if bad == OK:
                    report_count = 1
                    formats |= 1 << report_kind
                if has_hop:
                    own_hop = report
            counts[N_REPORTS] = first_report + report_count
            warnings |= odd
            declared = end
            limit = min(limit, end)
            if status == OK and bad != OK:
                status, status_at, bad = bad, bad_at, OK
            in_report = True
        else:
            break

    if telemetry == FORMAT_NONE:
        put(columns, "packets.dialect", row, 0)
        put(columns, "packets.telemetry_flags", row, 0)
        put(columns, "packets.instructions", row, 0)
        put(columns, "packets.namespace", row, 0)
        put(columns, "packets.remaining_hops", row, 0)
        put(columns, "packets.telemetry_bytes", row, 0)
    if own_hop >= 0:
        if telemetry == FORMAT_NONE:
            telemetry = own_format
        hop += _report_hop(columns, own_hop, first_hop, hop, row)
    by_stack = own_hop < 0 and (telemetry == FORMAT_INT_MD_1 or telemetry == FORMAT_INT_MD_2)
    if hop - first_hop > 1 and not (by_stack and warnings & NODE_REPEATED == 0):
        warnings &= ~NODE_REPEATED
        if _repeated(columns, first_hop, hop):
            warnings |= NODE_REPEATED
    if get(columns, "packets.ip_version", row) == 0:
        put(columns, "packets.src_hi", row, 0)
        put(columns, "packets.src_lo", row, 0)
        put(columns, "packets.dst_hi", row, 0)
        put(columns, "packets.dst_lo", row, 0)
        put(columns, "packets.protocol", row, 0)
        put(columns, "packets.dscp", row, 0)
        put(columns, "packets.ecn", row, 0)
        put(columns, "packets.ttl", row, 0)
        put(columns, "packets.ip_id", row, 0)
        put(columns, "packets.ip_bytes", row, 0)
    counts[N_HOPS] = hop
    put(columns, "packets.tunnels", row, tunnels)
    put(columns, "packets.vlan_id", row, vlan)
    put(columns, "packets.src_port", row, source_port)
    put(columns, "packets.dst_port", row, destination_port)
    put(columns, "packets.formats", row, formats)
    put(columns, "packets.telemetry", row, telemetry)
    put(columns, "packets.hop_count", row, hop - first_hop)
    put(columns, "packets.first_hop", row, first_hop)
    put(columns, "packets.roce_row", row, roce_row)
    put(columns, "packets.report_count", row, report_count)
    put(columns, "packets.status", row, status)
    put(columns, "packets.status_at", row, min(status_at - start, 65535) if status != OK else 0)
    put(columns, "packets.warnings", row, warnings)


@inlined
def _inside_report(warnings: int, in_report: bool) -> int:
    """A reported packet is expected to be cut: its longer IP length gets a name of its own."""
    if in_report and warnings & IP_BEYOND != 0:
        return (warnings ^ IP_BEYOND) | INNER_CUT
    return warnings


@inlined
def _ip_in_ip(kind: int, levels: int, at: int) -> tuple[int, int, int, int]:
    """An IP header behind an IP header is one tunnel level more: (layer, levels, status, where)."""
    if levels >= _MAXIMUM_TUNNELS:
        return _END, levels, TUNNEL_LIMIT, at
    return kind, levels + 1, OK, at


@inlined
def _of_next_header(protocol: int) -> tuple[int, int]:
    """The layer that an IPv6 next header announces, and NOT_UDP if it is none that is read."""
    if is_extension(protocol):
        return _EXTENSION, OK
    kind = of_protocol(protocol)
    return kind, (OK if kind != _END else NOT_UDP)


@inlined
def _of_role(role: int) -> int:
    """The layer of a well-known UDP port, or END."""
    if role == ROLE_ROCE:
        return _BTH
    if role == ROLE_VXLAN:
        return _VXLAN
    if role == ROLE_VXLAN_GPE:
        return _VXLAN_GPE
    if role == ROLE_GENEVE:
        return _GENEVE
    return _END


@inlined
def _payload(
    buffer: Buffer, at: int, limit: int, declared: int, port: int, service: int, in_report: bool, settings: Any
) -> tuple[int, int, int, int]:
    """What a UDP payload is: (layer, where, how INT was located, report version). A profile's word first, then structure.

    A DSCP match is a hint: it is followed where the structure holds, or where nothing else explains the payload.
    """
    role = settings.port_roles[port]
    numbers = settings.numbers
    if role == ROLE_INT:
        return _INT, at, LOCATED_BY_PORT, FORMAT_NONE
    if numbers[INT_MARKER_SET] != 0 and limit - at >= 8 and u64(buffer, at) == numbers[INT_MARKER]:
        return _INT, at + 8, LOCATED_BY_MARKER, FORMAT_NONE
    marked = numbers[INT_DSCP_MASK] != 0 and service & numbers[INT_DSCP_MASK] == numbers[INT_DSCP_VALUE]
    by_structure = numbers[DETECT_BY_STRUCTURE] != 0
    if marked and looks_like_int(buffer, at, limit, declared, LENGTHS):
        return _INT, at, LOCATED_BY_DSCP, FORMAT_NONE
    if role == ROLE_ROCE:
        if plausible_bth(buffer, at, limit):
            return _BTH, at, LOCATED_BY_STRUCTURE, FORMAT_NONE
        if by_structure and looks_like_int(buffer, at, limit, declared, HEAD):
            return _INT, at, LOCATED_BY_DSCP if marked else LOCATED_BY_STRUCTURE, FORMAT_NONE
        if marked:
            return _INT, at, LOCATED_BY_DSCP, FORMAT_NONE
        return _BTH, at, LOCATED_BY_STRUCTURE, FORMAT_NONE
    if role == ROLE_AUTO:
        if by_structure:
            if looks_like_int(buffer, at, limit, declared, RESERVED):
                return _INT, at, LOCATED_BY_STRUCTURE, FORMAT_NONE
            if not in_report:
                version = looks_like_report(buffer, at, limit)
                if version != FORMAT_NONE:
                    return _REPORT, at, LOCATED_BY_DSCP if marked else LOCATED_BY_STRUCTURE, version
        if marked:
            return _INT, at, LOCATED_BY_DSCP, FORMAT_NONE
        return _END, at, LOCATED_BY_STRUCTURE, FORMAT_NONE
    if role == ROLE_REPORT and not in_report:
        version = u8(buffer, at) >> 4 if limit > at else 1
        if version == 0:
            return _REPORT, at, LOCATED_BY_PORT, FORMAT_REPORT_05
        if version == 1:
            return _REPORT, at, LOCATED_BY_PORT, FORMAT_REPORT_1
        return _REPORT, at, LOCATED_BY_PORT, FORMAT_REPORT_2 if version == 2 else FORMAT_NONE
    return _of_role(role), at, LOCATED_BY_STRUCTURE, FORMAT_NONE


@kernel
def _repeated(columns: Any, first: int, end: int) -> bool:
    """Whether a node id stands twice among the hops of a packet: a loop or a duplicate id."""
    seen = 0
    for row in range(first, end):
        if get(columns, "hops.present", row) & HAS_NODE == 0:
            continue
        node = get(columns, "hops.node_id", row)
        if (seen >> (node & 63)) & 1 != 0:
            for earlier in range(first, row):
                if get(columns, "hops.node_id", earlier) == node and get(columns, "hops.present", earlier) & HAS_NODE != 0:
                    return True
        seen |= 1 << (node & 63)
    return False


@kernel
def _report_hop(columns: Any, report: int, first: int, hop: int, packet: int) -> int:
    """Append the reporting node's own metadata as the hop nearest the sink, unless the newest hop is that node already: rows added.

    A stack none of whose hops was captured has left their number in the `hop` of the first row.
    """
    there = get(columns, "reports.present", report)
    node = get(columns, "reports.node_id", report)
    if hop > first and get(columns, "hops.present", hop - 1) & HAS_NODE != 0 and get(columns, "hops.node_id", hop - 1) == node:
        return 0
    put(columns, "hops.packet", hop, packet)
    if hop > first:
        put(columns, "hops.hop", hop, get(columns, "hops.hop", hop - 1) + 1)
    put(columns, "hops.node_id", hop, node)
    present = HOP_FROM_REPORT | HAS_NODE
    if there & HAS_REPORT_PORTS != 0:
        put(columns, "hops.ingress_port", hop, get(columns, "reports.ingress_port", report))
        put(columns, "hops.egress_port", hop, get(columns, "reports.egress_port", report))
        present |= HAS_INGRESS_PORT | HAS_EGRESS_PORT
    elif there & HAS_REPORT_L2 != 0 and get(columns, "reports.metadata_bits", report) & 0x4000 == 0:
        put(columns, "hops.ingress_port", hop, get(columns, "reports.ingress_port_2", report))
        put(columns, "hops.egress_port", hop, get(columns, "reports.egress_port_2", report))
        present |= HAS_INGRESS_PORT | HAS_EGRESS_PORT
    if there & HAS_REPORT_LATENCY != 0:
        put(columns, "hops.hop_latency_raw", hop, get(columns, "reports.hop_latency_raw", report))
        present |= HAS_LATENCY
    if there & (HAS_REPORT_QUEUE | HAS_REPORT_DROP) != 0:
        put(columns, "hops.queue_id", hop, get(columns, "reports.queue_id", report))
        present |= HAS_QUEUE
    if there & HAS_REPORT_QUEUE != 0:
        put(columns, "hops.queue_depth_raw", hop, get(columns, "reports.queue_depth_raw", report))
        present |= HAS_DEPTH
    if there & HAS_REPORT_INGRESS_TIME != 0:
        put(columns, "hops.ingress_time_raw", hop, get(columns, "reports.ingress_time_raw", report))
        present |= HAS_INGRESS_TIME
    if there & HAS_REPORT_EGRESS_TIME != 0:
        put(columns, "hops.egress_time_raw", hop, get(columns, "reports.egress_time_raw", report))
        present |= HAS_EGRESS_TIME
    if there & HAS_REPORT_UTILISATION != 0:
        put(columns, "hops.tx_utilisation_raw", hop, get(columns, "reports.tx_utilisation_raw", report))
        present |= HAS_UTILISATION
    if there & HAS_REPORT_BUFFER != 0:
        put(columns, "hops.buffer_id", hop, get(columns, "reports.buffer_id", report))
        put(columns, "hops.buffer_depth_raw", hop, get(columns, "reports.buffer_depth_raw", report))
        present |= HAS_BUFFER
    put(columns, "hops.present", hop, present)
    return 1
