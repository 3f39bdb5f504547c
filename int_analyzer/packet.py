"""One packet: find its layers one inside the other and let every format read its part. The only loop over formats.

A layer that cannot be read ends the packet with a status; the first status that is not ok stays. Some faults (an IOAM option, a broken
Geneve option, an INT stack of known length) do not hide what stands behind them, and the reading goes on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.capture import records
from int_analyzer.carried import bit_of, geneve_options, ipv6_options, is_among, shims
from int_analyzer.columns import N_HOPS, N_MIRRORS, N_REPORTS, get, put
from int_analyzer.finish import finish, without_ip, without_telemetry
from int_analyzer.formats import int_md, roce
from int_analyzer.formats.hop import report_hop
from int_analyzer.formats.hpcc import hpcc as read_hpcc
from int_analyzer.formats.ifa import ifa as read_ifa
from int_analyzer.formats.int_carried import IN_GRE, int_carried
from int_analyzer.formats.int_md import LOCATED_BY_STRUCTURE
from int_analyzer.formats.int_md import int_md as read_int
from int_analyzer.formats.integrity import roce as read_roce
from int_analyzer.formats.mri import mri as read_mri
from int_analyzer.formats.report import forget_outside
from int_analyzer.formats.report import report as read_report
from int_analyzer.formats.roce import plausible as plausible_bth
from int_analyzer.formats.tcp_int import tcp_int as read_tcp_int
from int_analyzer.payload import int_in_tcp, of_role, payload
from int_analyzer.schema import ABSENT8, ABSENT16, ABSENT32, FORMAT_MRI, FORMAT_NONE, FORMAT_ROCE
from int_analyzer.settings import HPCC_LAYOUT, HPCC_NS3, ICRC_SAMPLE, TCP_INT
from int_analyzer.status import STATUS_CODE, STATUSES, WARNING_BIT
from int_analyzer.wire import ethernet as ethernet_layer
from int_analyzer.wire import layer
from int_analyzer.wire.ethernet import ABSENT_CSIG, ETHERTYPE_BRIDGED, ethernet, link, mpls, of_ethertype
from int_analyzer.wire.ip import extension, ipv4, ipv6, is_extension, mri_option, of_protocol
from int_analyzer.wire.mirror import erspan, lumina
from int_analyzer.wire.read import Buffer, u8, u16
from int_analyzer.wire.tunnel import GPE_UNKNOWN, GRE_UNKNOWN, geneve, gre, nsh, of_gpe_role, of_nsh_protocol, vxlan, vxlan_gpe
from int_analyzer.wire.udp import udp as read_udp

OK = STATUS_CODE["ok"]
NOT_UDP = STATUS_CODE["not-udp"]
UDP_TRUNCATED = STATUS_CODE["udp-truncated"]
UDP_LENGTH = STATUS_CODE["udp-length"]
IPV6_EXTENSION_LIMIT = STATUS_CODE["ipv6-extension-limit"]
IPV6_EXTENSION_TRUNCATED = STATUS_CODE["ipv6-extension-truncated"]
TUNNEL_LIMIT = STATUS_CODE["tunnel-limit"]
NSH_UNKNOWN = STATUS_CODE["nsh-protocol-unknown"]
MRI_LENGTH = STATUS_CODE["mri-length"]
REPORT_INNER_TRUNCATED = STATUS_CODE["report-inner-truncated"]
INT_VERSION_UNKNOWN = int_md.VERSION_UNKNOWN
BTH_TRUNCATED = roce.TRUNCATED
FRAGMENT_FIRST = WARNING_BIT["fragment-first"]

UDP_BEYOND_IP = WARNING_BIT["udp-length-beyond-ip"]
UDP_SHORT = WARNING_BIT["udp-length-short"]
IP_BEYOND = WARNING_BIT["ip-length-beyond-packet"]
INNER_CUT = WARNING_BIT["report-inner-cut"]
NODE_REPEATED = WARNING_BIT["node-repeated"]

_OF_TELEMETRY = ("report", "int", "ioam", "ifa", "hpcc")
IS_CUT_LAYER = np.array([entry.name.endswith("-truncated") and entry.layer not in _OF_TELEMETRY for entry in STATUSES], dtype=np.bool_)
"""Statuses that inside a telemetry report only say that the reported packet was cut there."""

_END, _ETHERNET, _IPV4, _IPV6, _MPLS = layer.END, layer.ETHERNET, layer.IPV4, layer.IPV6, layer.MPLS
_UDP, _TCP, _GRE, _ERSPAN, _VXLAN = layer.UDP, layer.TCP, layer.GRE, layer.ERSPAN, layer.VXLAN
_VXLAN_GPE, _GENEVE, _INT, _BTH, _REPORT = layer.VXLAN_GPE, layer.GENEVE, layer.INT, layer.BTH, layer.REPORT
_EXTENSION, _IFA, _HPCC, _LUMINA, _NSH = layer.EXTENSION, layer.IFA, layer.HPCC, layer.LUMINA, layer.NSH
_FIRST_TUNNEL = layer.FIRST_TUNNEL
_LINK_ETHERNET = ethernet_layer.LINK_ETHERNET
_MAXIMUM_TUNNELS, _MAXIMUM_EXTENSIONS, _MAXIMUM_LAYERS = layer.MAXIMUM_TUNNELS, layer.MAXIMUM_EXTENSIONS, 128
_TUNNEL_GRE, _TUNNEL_VXLAN, _TUNNEL_GPE = layer.TUNNEL_GRE, layer.TUNNEL_VXLAN, layer.TUNNEL_VXLAN_GPE
_TUNNEL_GENEVE, _TUNNEL_MPLS, _TUNNEL_NSH, _TUNNEL_LUMINA = layer.TUNNEL_GENEVE, layer.TUNNEL_MPLS, layer.TUNNEL_NSH, layer.TUNNEL_LUMINA
_ROCE_PORT = 4791


@inlined
def decode_packet(buffer: Buffer, record: Any, settings: Any, columns: Any, counts: Any, row: int) -> None:
    """One record, or the part of it that record[PART] says, into row `row` of packets and into the other tables from counts on."""
    start = record[records.DATA]
    captured, original = record[records.CAPTURED], record[records.ORIGINAL]
    link_type, warnings = record[records.LINK], record[records.RECORD_WARNINGS]
    limit = start + captured
    declared = start + max(captured, original)
    first_hop = counts[N_HOPS]
    part = record[records.PART]
    put(columns, "packets.original_dscp", row, ABSENT8)

    at, kind = start, _ETHERNET
    status, status_at, bad, bad_at = OK, start, OK, start
    formats, telemetry, tunnels, levels, vlan, csig = 0, FORMAT_NONE, 0, 0, ABSENT16, ABSENT_CSIG
    protocol, source_port, destination_port, skip = 0, 0, 0, 0
    network, udp = start, start
    extensions, first_fragment, has_ip, behind_int, in_report, in_tcp = 0, 0, False, False, False, False
    gre_protocol, gre_sequence, report_kind, located = 0, 0, FORMAT_NONE, LOCATED_BY_STRUCTURE
    hop, roce_row, report_count, own_hop, own_format = first_hop, ABSENT32, 0, -1, FORMAT_NONE
    if link_type == _LINK_ETHERNET:
        kind, at, bad, vlan, csig = ethernet(buffer, at, limit, settings)
    else:
        kind, at, bad, vlan, csig = link(buffer, at, limit, link_type, settings)
    bad_at = at

    for _ in range(_MAXIMUM_LAYERS):
        if bad != OK:
            if status == OK:
                status = REPORT_INNER_TRUNCATED if in_report and IS_CUT_LAYER[bad] else bad
                status_at = bad_at
            bad = OK
        odd, bits, added, found = 0, 0, -1, FORMAT_NONE
        if kind >= _FIRST_TUNNEL:
            levels += 1
            if levels > _MAXIMUM_TUNNELS:
                kind, bad, bad_at = _END, TUNNEL_LIMIT, at
                continue
        if kind == _END:
            break
        if kind == _IPV4:
            begin = at
            kind, at, limit, declared, bad, odd, options, first_fragment = ipv4(buffer, at, limit, declared, columns, row)
            bad_at = at
            odd = _inside_report(odd, in_report)
            warnings |= odd
            if at != begin:
                has_ip, source_port, destination_port, network = True, 0, 0, begin
            if bad == NOT_UDP and is_among(get(columns, "packets.protocol", row), settings.ifa_protocols):
                kind, bad = _IFA, OK
            if kind == _IPV4 or kind == _IPV6:
                kind, levels, bad, bad_at = _ip_in_ip(kind, levels, at)
            if options == 0:
                continue
            seen, wrong, option = mri_option(buffer, begin + 20, begin + 20 + options)
            bits, found = seen << FORMAT_MRI, FORMAT_MRI
            if option != 0:
                added = read_mri(buffer, option, columns, row, first_hop)
            if wrong != 0 and status == OK:
                status, status_at = MRI_LENGTH, wrong
        elif kind == _UDP:
            udp = at
            bad, at, limit, declared, odd, source_port, destination_port = read_udp(buffer, at, limit, declared, skip, first_fragment != 0)
            warnings |= odd
            if bad != OK:
                kind, bad_at = _END, at
                continue
            skip = 0
            if behind_int:
                kind = of_role(settings.port_roles[destination_port])
            else:
                service = get(columns, "packets.dscp", row)
                kind, at, located, report_kind = payload(buffer, at, limit, declared, destination_port, service, in_report, settings)
            continue
        elif kind == _BTH:
            kind = _END
            if not in_report or at < limit:
                rewritten = tunnels & _TUNNEL_LUMINA != 0
                restored = behind_int and status == OK
                bad, bad_at, odd, roce_row = read_roce(
                    buffer,
                    network,
                    udp,
                    at,
                    limit,
                    declared,
                    destination_port,
                    first_fragment != 0,
                    restored,
                    rewritten,
                    warnings,
                    settings.numbers[ICRC_SAMPLE],
                    columns,
                    counts,
                    row,
                )
                warnings |= odd
                if roce_row != ABSENT32:
                    formats |= 1 << FORMAT_ROCE
            continue
        elif kind == _IPV6:
            begin = at
            protocol, at, limit, declared, bad, odd = ipv6(buffer, at, limit, declared, columns, row)
            bad_at = at
            odd = _inside_report(odd, in_report)
            kind = _END
            if bad == OK:
                has_ip, source_port, destination_port, extensions, first_fragment, network = True, 0, 0, 0, 0, begin
                kind, bad = _of_next_header(protocol, settings)
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
                fault, fault_at, odd, bits, added, found = ipv6_options(buffer, begin + 2, at, limit, columns, counts, row, first_hop)
                if fault != OK and status == OK:
                    status, status_at = fault, fault_at
            kind, bad_at = _END, begin
            if bad != IPV6_EXTENSION_TRUNCATED:
                protocol = following
                put(columns, "packets.protocol", row, protocol)
                first_fragment |= fragment
                if fragment != 0:
                    odd |= FRAGMENT_FIRST
                bad_at = at
                if bad == OK:
                    kind, bad = _of_next_header(protocol, settings)
                    if kind == _IPV4 or kind == _IPV6:
                        kind, levels, bad, bad_at = _ip_in_ip(kind, levels, at)
        elif kind == _INT:
            begin = at
            bad, bad_at, odd, added, at, npt, destination_port, found = read_int(
                buffer, at, limit, declared, destination_port, located, 6 if in_tcp else 17, settings, columns, row, first_hop
            )
            kind, behind_int, bits = _END, True, bit_of(found)
            if in_tcp:
                kind = _END
            elif at != 0 and npt == 2:
                protocol = u8(buffer, begin + 3)
                put(columns, "packets.protocol", row, protocol)
                source_port, destination_port = 0, 0
                kind, fault = _of_transport(protocol, settings)
                if fault != OK and bad == OK:
                    bad, bad_at = fault, at
                elif kind == _IPV4 or kind == _IPV6:
                    kind, levels, fault, fault_at = _ip_in_ip(kind, levels, at)
                    if fault != OK and bad == OK:
                        bad, bad_at = fault, fault_at
            elif at != 0:
                kind = of_role(settings.port_roles[destination_port])
                if bad == INT_VERSION_UNKNOWN and (at >= limit or (kind == _BTH and not plausible_bth(buffer, at, limit))):
                    kind = _END
        elif kind == _TCP:
            if limit - at >= 4:
                source_port, destination_port = u16(buffer, at), u16(buffer, at + 2)
            in_tcp = True
            service = get(columns, "packets.dscp", row)
            if settings.numbers[TCP_INT] != 0 and not behind_int and skip == 0:
                bits = bit_of(read_tcp_int(buffer, at, limit, columns, counts, row))
            kind, at, bad, located = int_in_tcp(buffer, at, limit, declared, service, behind_int or skip != 0, settings)
            bad_at = at
        elif kind == _GRE:
            begin = at
            kind, at, bad, gre_protocol, gre_sequence = gre(buffer, at, limit, settings.gre_protocols)
            bad_at = begin
            at += skip
            skip = 0
            if bad == OK and kind != _ERSPAN:
                tunnels |= _TUNNEL_GRE
            if kind == _INT:
                shim = at
                bad, bad_at, odd, added, at, found = int_carried(buffer, at, limit, declared, IN_GRE, settings, columns, row, first_hop)
                kind, bits = _END, bit_of(found)
                if at != 0:
                    protocol = u16(buffer, shim + 2)
                    kind = _ETHERNET if protocol == ETHERTYPE_BRIDGED else of_ethertype(protocol)
                    if kind == _END and bad == OK:
                        bad, bad_at = GRE_UNKNOWN, begin
        elif kind == _ERSPAN:
            mirror = counts[N_MIRRORS]
            kind, at, bad, odd, tunnel = erspan(buffer, at, limit, gre_protocol, gre_sequence, columns, mirror)
            bad_at = at
            tunnels |= tunnel
            if tunnel != 0:
                put(columns, "mirrors.packet", mirror, row)
                put(columns, "mirrors.outer_src_hi", mirror, get(columns, "packets.src_hi", row))
                put(columns, "mirrors.outer_src_lo", mirror, get(columns, "packets.src_lo", row))
                counts[N_MIRRORS] = mirror + 1
        elif kind == _ETHERNET:
            kind, at, bad, tag, signal = ethernet(buffer, at, limit, settings)
            bad_at = at
            if tag != ABSENT16:
                vlan = tag
            if csig == ABSENT_CSIG:
                csig = signal
        elif kind == _MPLS:
            tunnels |= _TUNNEL_MPLS
            kind, at, bad = mpls(buffer, at, limit)
            bad_at = at
        elif kind == _VXLAN:
            begin = at
            kind, at, bad, odd = vxlan(buffer, at, limit)
            bad_at = begin
            if bad == OK:
                tunnels |= _TUNNEL_VXLAN
        elif kind == _VXLAN_GPE:
            begin = at
            protocol, at, bad, flagged = vxlan_gpe(buffer, at, limit)
            kind, bad_at, shim = _END, at, at
            if bad == OK:
                protocol, at, bad, bad_at, odd, bits, added, found = shims(
                    buffer, at, limit, declared, protocol, False, settings, columns, counts, row, first_hop
                )
                kind = of_gpe_role(settings.gpe_roles[protocol]) if at != 0 else _END
                if kind != _END or at != shim:
                    tunnels |= _TUNNEL_GPE
                if kind == _END and at != 0 and bad == OK:
                    bad, bad_at = GPE_UNKNOWN, begin
            odd |= flagged
        elif kind == _GENEVE:
            begin = at
            kind, at, bad = geneve(buffer, at, limit)
            bad_at = begin
            if bad == OK:
                tunnels |= _TUNNEL_GENEVE
            if at != begin:
                fault, fault_at, odd, bits, added, found = geneve_options(
                    buffer, begin + 8, at, limit, settings, columns, counts, row, first_hop
                )
                if fault != OK and status == OK:
                    status, status_at = fault, fault_at
        elif kind == _NSH:
            begin = at
            protocol, at, bad = nsh(buffer, at, limit)
            kind, bad_at = _END, begin
            if bad == OK:
                tunnels |= _TUNNEL_NSH
                protocol, at, bad, bad_at, odd, bits, added, found = shims(
                    buffer, at, limit, declared, protocol, True, settings, columns, counts, row, first_hop
                )
                kind = of_nsh_protocol(protocol) if at != 0 else _END
                if kind == _END and at != 0 and bad == OK:
                    bad, bad_at = NSH_UNKNOWN, begin
        elif kind == _IFA:
            bad, bad_at, added, found, protocol, skip, tail = read_ifa(buffer, at, limit, declared, columns, row, first_hop)
            bits = bit_of(found)
            at += 4
            declared -= tail
            limit = min(limit, declared)
            kind = of_protocol(protocol)
        elif kind == _HPCC:
            ns3 = settings.numbers[HPCC_LAYOUT] == HPCC_NS3
            bad, bad_at, added, at, found = read_hpcc(buffer, at, limit, declared, ns3, columns, row, first_hop)
            bits = bit_of(found)
            kind = _BTH if at != 0 and plausible_bth(buffer, at, limit) else _END
        elif kind == _LUMINA:
            kind = _END
            if get(columns, "packets.ip_version", row) == 4:
                frame = start if link_type == _LINK_ETHERNET and levels == 0 and not in_report else -1
                source_port = lumina(buffer, at - 8, frame, columns, counts[N_MIRRORS], row)
                counts[N_MIRRORS] += 1
                tunnels |= _TUNNEL_LUMINA
                kind, destination_port = _BTH, _ROCE_PORT
        elif kind == _REPORT:
            if part != 0:
                forget_outside(columns, counts, row)
                hop, telemetry = first_hop, FORMAT_NONE
            own_hop, own_format, in_report = counts[N_REPORTS], report_kind, True
            if telemetry == FORMAT_NONE:
                put(columns, "hops.hop", first_hop, 0)
            kind, at, declared, bad, bad_at, odd, report_count, found, has_hop, record[records.NEXT_REPORT] = read_report(
                buffer, at, limit, declared, report_kind, part, record[records.REPORT], settings, columns, counts, row
            )
            bits = bit_of(found)
            limit = min(limit, declared)
            if not has_hop:
                own_hop = -1
        else:
            break
        warnings |= odd
        formats |= bits
        if added >= 0:
            hop, telemetry = first_hop + added, found

    if telemetry == FORMAT_NONE:
        without_telemetry(columns, row)
    if own_hop >= 0:
        if telemetry == FORMAT_NONE:
            telemetry = own_format
        hop += report_hop(columns, own_hop, first_hop, hop, row)
    if not has_ip:
        without_ip(columns, row)
    finish(
        record,
        columns,
        counts,
        row,
        tunnels,
        vlan,
        csig,
        source_port,
        destination_port,
        formats,
        telemetry,
        own_hop >= 0,
        hop,
        roce_row,
        report_count,
        status,
        status_at,
        warnings,
    )


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
def _of_next_header(protocol: int, settings: Any) -> tuple[int, int]:
    """The layer that an IPv6 next header announces, and NOT_UDP if it is none that is read."""
    if is_extension(protocol):
        return _EXTENSION, OK
    return _of_transport(protocol, settings)


@inlined
def _of_transport(protocol: int, settings: Any) -> tuple[int, int]:
    """The layer that an IP protocol announces behind all headers of IP, and NOT_UDP if it is none that is read."""
    kind = of_protocol(protocol)
    if kind == _END and is_among(protocol, settings.ifa_protocols):
        return _IFA, OK
    return kind, (OK if kind != _END else NOT_UDP)
