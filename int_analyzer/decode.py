"""Capture bytes → columns: one fused pass that walks records, finds the layers of each packet and lets every format read its part.

The only loop over formats. `Decoder` is the Python side: it feeds windows of a source to the kernel and yields its columns, which
are reused batch after batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from int_analyzer import _jit
from int_analyzer._jit import inlined, kernel
from int_analyzer.capture import records
from int_analyzer.capture.records import next_record
from int_analyzer.columns import (
    HOPS_PER_BATCH,
    N_HOPS,
    N_MIRRORS,
    N_PACKETS,
    N_REPORTS,
    N_ROCE,
    NEXT,
    PACKETS_PER_BATCH,
    REPORTS_PER_BATCH,
    STOP,
    STOP_DETAIL,
    Columns,
    allocate,
    get,
    put,
)
from int_analyzer.formats import int_md, int_report, ioam, roce
from int_analyzer.formats.int_md import int_md as read_int
from int_analyzer.formats.int_md import looks_like as looks_like_int
from int_analyzer.formats.int_md import stack as read_stack
from int_analyzer.formats.int_report import looks_like as looks_like_report
from int_analyzer.formats.int_report import report_1, report_05, reports_2
from int_analyzer.formats.ioam import ioam as read_ioam
from int_analyzer.formats.roce import bth as read_bth
from int_analyzer.formats.roce import plausible as plausible_bth
from int_analyzer.schema import (
    ABSENT8,
    ABSENT16,
    ABSENT32,
    FORMAT_INT_MD_2,
    FORMAT_IOAM_OTHER,
    FORMAT_MRI,
    FORMAT_NONE,
    FORMAT_REPORT_1,
    FORMAT_REPORT_2,
    FORMAT_REPORT_05,
    FORMAT_ROCE,
    HAS_DEPTH,
    HAS_EGRESS_PORT,
    HAS_EGRESS_TIME,
    HAS_INGRESS_PORT,
    HAS_INGRESS_TIME,
    HAS_LATENCY,
    HAS_NODE,
    HAS_QUEUE,
    HAS_REPORT_DROP,
    HAS_REPORT_EGRESS_TIME,
    HAS_REPORT_INGRESS_TIME,
    HAS_REPORT_LATENCY,
    HAS_REPORT_PORTS,
    HAS_REPORT_QUEUE,
    HAS_REPORT_UTILISATION,
    HAS_UTILISATION,
    HOP_FROM_REPORT,
    STATUS_CODE,
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
    default_settings,
)
from int_analyzer.wire import ethernet as ethernet_layer
from int_analyzer.wire import layer
from int_analyzer.wire.ethernet import ethernet, link, mpls
from int_analyzer.wire.ip import extensions, ipv4, ipv6, of_protocol
from int_analyzer.wire.mirror import erspan
from int_analyzer.wire.read import Buffer, u8, u16, u32, u64
from int_analyzer.wire.tunnel import geneve, gre, vxlan, vxlan_gpe

OK = STATUS_CODE["ok"]
UDP_TRUNCATED = STATUS_CODE["udp-truncated"]
UDP_LENGTH = STATUS_CODE["udp-length"]
TUNNEL_LIMIT = STATUS_CODE["tunnel-limit"]
PORT_LOOP = STATUS_CODE["int-port-loop"]
INT_VERSION_UNKNOWN = int_md.VERSION_UNKNOWN
INT_DESTINATION = int_md.DESTINATION
NOT_UDP = STATUS_CODE["not-udp"]
MRI_LENGTH = STATUS_CODE["mri-length"]
REPORT_INNER_TRUNCATED = STATUS_CODE["report-inner-truncated"]
LAST_HARMLESS = STATUS_CODE["fragment"]
TUNNEL_TRUNCATED = (STATUS_CODE["link-truncated"], STATUS_CODE["ipv4-truncated"], STATUS_CODE["ipv6-truncated"], UDP_TRUNCATED)

UDP_BEYOND_IP = WARNING_BIT["udp-length-beyond-ip"]
UDP_SHORT = WARNING_BIT["udp-length-short"]
IP_BEYOND = WARNING_BIT["ip-length-beyond-packet"]
INNER_CUT = WARNING_BIT["report-inner-cut"]
INT_NPT = WARNING_BIT["int-npt"]

_END, _ETHERNET, _IPV4, _IPV6, _MPLS = layer.END, layer.ETHERNET, layer.IPV4, layer.IPV6, layer.MPLS
_UDP, _TCP, _GRE, _ERSPAN, _VXLAN = layer.UDP, layer.TCP, layer.GRE, layer.ERSPAN, layer.VXLAN
_VXLAN_GPE, _GENEVE, _INT, _BTH, _REPORT = layer.VXLAN_GPE, layer.GENEVE, layer.INT, layer.BTH, layer.REPORT
_LINK_ETHERNET = ethernet_layer.LINK_ETHERNET
_FAR, _MAXIMUM_TUNNELS, _MAXIMUM_LAYERS = layer.FAR, layer.MAXIMUM_TUNNELS, 32

LOCATED_BY_STRUCTURE, LOCATED_BY_PORT, LOCATED_BY_DSCP, LOCATED_BY_MARKER = 0, 1, 2, 3

STOP_END, STOP_FULL, STOP_CONTROL, STOP_DAMAGE = records.NEEDS_MORE, 0, records.NEEDS_CONTROL, records.IS_DAMAGED
"""Why a batch ended: bytes used up, columns full, a pcapng block for Python, damage (counts[STOP_DETAIL] says which)."""

_ROWS_PER_PACKET = 256
"""The most hops or reports that one packet can give (63 INT hops, 61 IOAM nodes, 255 reports)."""


@kernel
def decode_batch(
    buffer: Buffer, position: int, stop: int, framing: Any, interfaces: Any, settings: Any, columns: Any, counts: Any, record: Any, capacity: int
) -> None:
    """Decode records from `position` on until `capacity` packets or the bytes end; fills columns and counts.

    `columns` is the arena (uint8[:]) when compiled, views by name when not (columns.put). A packet whose rows might not fit is left for the next batch. `record` is scratch, int64[RECORD_SIZE].
    """
    counts[N_HOPS] = 0
    counts[N_ROCE] = 0
    counts[N_REPORTS] = 0
    counts[N_MIRRORS] = 0
    hop_capacity = HOPS_PER_BATCH - _ROWS_PER_PACKET
    report_capacity = REPORTS_PER_BATCH - _ROWS_PER_PACKET
    reason = STOP_FULL
    row = 0
    while row < capacity and counts[N_HOPS] <= hop_capacity and counts[N_REPORTS] <= report_capacity:
        found = next_record(buffer, position, stop, framing, interfaces, record)
        if found != records.IS_RECORD:
            reason = found
            counts[STOP_DETAIL] = record[records.DAMAGE]
            position = record[records.NEXT_RECORD]
            break
        decode_packet(buffer, record, settings, columns, counts, row)
        position = record[records.NEXT_RECORD]
        row += 1
    counts[N_PACKETS] = row
    counts[NEXT] = position
    counts[STOP] = reason


@inlined
def decode_packet(buffer: Buffer, record: Any, settings: Any, columns: Any, counts: Any, row: int) -> None:
    """One record into row `row` of packets and into the other tables from counts on."""
    start = record[records.DATA]
    captured, original = record[records.CAPTURED], record[records.ORIGINAL]
    link_type = record[records.LINK]
    warnings = record[records.RECORD_WARNINGS]
    limit = start + captured
    declared = start + max(captured, original)
    first_hop, first_report = counts[N_HOPS], counts[N_REPORTS]
    put(columns, "packets.time_ns", row, record[records.TIME_NS])
    put(columns, "packets.captured_bytes", row, captured)
    put(columns, "packets.original_bytes", row, original)
    put(columns, "packets.interface", row, record[records.INTERFACE])
    put(columns, "packets.original_dscp", row, ABSENT8)
    put(columns, "packets.dialect", row, 0)
    put(columns, "packets.telemetry_flags", row, 0)
    put(columns, "packets.instructions", row, 0)
    put(columns, "packets.namespace", row, 0)
    put(columns, "packets.remaining_hops", row, 0)
    put(columns, "packets.telemetry_bytes", row, 0)
    put(columns, "packets.ip_version", row, 0)

    at = start
    status, status_at = OK, 0
    formats, telemetry, tunnels, vlan = 0, FORMAT_NONE, 0, ABSENT16
    levels, in_report, own_hop = 0, False, -1
    protocol, source_port, destination_port, service = 0, 0, 0, 0
    gre_protocol, gre_sequence, report_kind, located = 0, 0, FORMAT_NONE, LOCATED_BY_STRUCTURE
    hop, roce_row, report_count = first_hop, ABSENT32, 0
    kind = _ETHERNET
    if link_type != _LINK_ETHERNET:
        kind, at, status, vlan = link(buffer, at, limit, link_type)

    for _ in range(_MAXIMUM_LAYERS):
        if kind == _ETHERNET:
            begin = at
            kind, at, status, tag = ethernet(buffer, at, limit)
            if tag != ABSENT16:
                vlan = tag
            if kind == _END:
                status_at = begin
        elif kind == _IPV4:
            begin, odd = at, 0
            kind, at, limit, declared, status, odd, mri = ipv4(buffer, at, limit, declared, columns, row)
            if in_report and odd & IP_BEYOND != 0:
                odd ^= IP_BEYOND | INNER_CUT
            warnings |= odd
            if status != OK:
                status_at = begin
            if mri != 0:
                formats |= 1 << FORMAT_MRI
                if u8(buffer, mri + 1) != 4 + 8 * u16(buffer, mri + 2) and status == OK:
                    status, status_at, kind = MRI_LENGTH, mri, _END
        elif kind == _IPV6:
            begin = at
            protocol, at, limit, declared, status, odd = ipv6(buffer, at, limit, declared, columns, row)
            if in_report and odd & IP_BEYOND != 0:
                odd ^= IP_BEYOND | INNER_CUT
            warnings |= odd
            if status != OK:
                kind, status_at = _END, begin
            elif protocol == 17:
                kind = _UDP
            else:
                begin = at
                kind, at, status, odd, protocol, option, option_end = extensions(buffer, at, limit, protocol)
                warnings |= odd
                put(columns, "packets.protocol", row, protocol)
                if status != OK:
                    status_at = begin if status == NOT_UDP else at
                if option != 0:
                    bad, bad_at, odd, added, found = read_ioam(buffer, option, option_end, limit, columns, row, hop)
                    warnings |= odd
                    hop += added
                    formats |= 1 << found
                    if found != FORMAT_IOAM_OTHER:
                        telemetry = found
                    if bad != OK:
                        status, status_at = bad, bad_at
        elif kind == _UDP:
            if limit - at < 8:
                status, status_at, kind = UDP_TRUNCATED, at, _END
            else:
                source_port, destination_port = u16(buffer, at), u16(buffer, at + 2)
                length = u16(buffer, at + 4)
                end = at + length
                if length < 8:
                    status, status_at, kind = UDP_LENGTH, at, _END
                else:
                    if end > declared:
                        if declared < _FAR:
                            warnings |= UDP_BEYOND_IP
                            end = declared
                    elif end < declared and declared < _FAR:
                        warnings |= UDP_SHORT
                    declared = end
                    if end < limit:
                        limit = end
                    at += 8
                    service = get(columns, "packets.dscp", row)
                    kind, at, located, report_kind = _payload(buffer, at, limit, declared, destination_port, service, settings)
        elif kind == _INT:
            begin = at
            bad, bad_at, odd, added, at, npt, found = read_int(buffer, at, limit, declared, settings, columns, row, hop)
            warnings |= odd
            hop += added
            if found != FORMAT_NONE:
                formats |= 1 << found
                telemetry = found
            if bad != OK:
                status, status_at = bad, bad_at
            kind = _END
            if at != 0:
                if npt == 2:
                    protocol = u8(buffer, begin + 3)
                    put(columns, "packets.protocol", row, protocol)
                    kind = of_protocol(protocol)
                    if located == LOCATED_BY_DSCP or located == LOCATED_BY_MARKER:
                        warnings |= INT_NPT
                else:
                    if npt == 1:
                        if located == LOCATED_BY_DSCP or located == LOCATED_BY_MARKER:
                            warnings |= INT_NPT
                        destination_port = u16(buffer, begin + 2)
                    if npt == 1 and settings.port_roles[destination_port] == ROLE_INT:
                        status, status_at = PORT_LOOP, begin
                    elif settings.port_roles[destination_port] == ROLE_ROCE:
                        if bad != INT_VERSION_UNKNOWN or plausible_bth(buffer, at, limit):
                            kind = _BTH
        elif kind == _BTH:
            kind = _END
            bad, bad_at, odd = read_bth(buffer, at, limit, declared, columns, counts[N_ROCE], row)
            warnings |= odd
            formats |= 1 << FORMAT_ROCE
            if bad != roce.TRUNCATED:
                roce_row = counts[N_ROCE]
                counts[N_ROCE] += 1
            if bad != OK and status <= LAST_HARMLESS:
                status, status_at = bad, bad_at
        elif kind == _GRE:
            begin = at
            kind, at, status, gre_protocol, gre_sequence = gre(buffer, at, limit)
            tunnels |= layer.TUNNEL_GRE
            levels += 1
            if kind == _END:
                status_at = begin
            elif kind != _ERSPAN:
                declared = _FAR
        elif kind == _ERSPAN:
            begin = at
            mirror = counts[N_MIRRORS]
            kind, at, status, odd, tunnel = erspan(buffer, at, limit, gre_protocol, gre_sequence, columns, mirror)
            warnings |= odd
            tunnels |= tunnel
            declared = _FAR
            if kind == _END:
                status_at = begin
            else:
                put(columns, "mirrors.packet", mirror, row)
                put(columns, "mirrors.outer_src_hi", mirror, get(columns, "packets.src_hi", row))
                put(columns, "mirrors.outer_src_lo", mirror, get(columns, "packets.src_lo", row))
                counts[N_MIRRORS] = mirror + 1
        elif kind == _MPLS:
            begin = at
            kind, at, status = mpls(buffer, at, limit)
            tunnels |= layer.TUNNEL_MPLS
            if kind == _END:
                status_at = begin
        elif kind == _VXLAN or kind == _VXLAN_GPE:
            begin = at
            if kind == _VXLAN:
                tunnels |= layer.TUNNEL_VXLAN
                kind, at, status, odd = vxlan(buffer, at, limit)
            else:
                tunnels |= layer.TUNNEL_VXLAN_GPE
                kind, at, status, odd = vxlan_gpe(buffer, at, limit)
            warnings |= odd
            levels += 1
            declared = _FAR
            if kind == _END:
                status_at = begin
        elif kind == _GENEVE:
            begin = at
            tunnels |= layer.TUNNEL_GENEVE
            levels += 1
            kind, at, status, odd, option = geneve(buffer, at, limit)
            warnings |= odd
            declared = _FAR
            if kind == _END:
                status_at = at if status == STATUS_OVERRUN else begin
            if option != 0:
                size = (u8(buffer, option + 3) & 0x1F) * 4 - 12
                if size >= 0 and u8(buffer, option + 4) >> 4 == 2:
                    put(columns, "packets.telemetry_bytes", row, size + 16)
                    formats |= 1 << FORMAT_INT_MD_2
                    telemetry = FORMAT_INT_MD_2
                    bad, bad_at, odd, added = read_stack(
                        buffer, option + 4, option + 16, size, 2, limit, settings, columns, row, hop
                    )
                    warnings |= odd
                    hop += added
                    if bad != OK:
                        status, status_at = bad, bad_at
        elif kind == _REPORT:
            begin = at
            report = counts[N_REPORTS]
            levels += 1
            formats |= 1 << report_kind
            if report_kind == FORMAT_REPORT_2:
                status, status_at, odd, added, kind, at, end, own_hop = reports_2(
                    buffer, at, limit, declared, columns, report, row
                )
                report_count += added
                if end < limit:
                    limit = end
            else:
                if report_kind == FORMAT_REPORT_1:
                    status, odd, kind, at = report_1(buffer, at, limit, columns, report, row)
                else:
                    status, odd, kind, at = report_05(buffer, at, limit, columns, report, row)
                own_hop = report
                status_at = begin
                if status == OK:
                    report_count += 1
            counts[N_REPORTS] = first_report + report_count
            warnings |= odd
            in_report = True
            declared = _FAR
        else:
            break
        if levels > _MAXIMUM_TUNNELS:
            status, status_at = TUNNEL_LIMIT, at
            break

    if kind == _TCP and limit - at >= 4:
        source_port, destination_port = u16(buffer, at), u16(buffer, at + 2)
    if kind == _TCP and status == OK:
        status, status_at = NOT_UDP, at
    if own_hop >= 0 and report_count > 0:
        hop += _report_hop(columns, own_hop, first_hop, hop, row)
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


STATUS_OVERRUN = STATUS_CODE["geneve-options-overrun"]


@inlined
def _payload(
    buffer: Buffer, at: int, limit: int, declared: int, port: int, service: int, settings: Any
) -> tuple[int, int, int, int]:
    """What a UDP payload is: (layer, where, how INT was located, report version). A profile's word first, then structure."""
    role = settings.port_roles[port]
    numbers = settings.numbers
    if role == ROLE_INT:
        return _INT, at, LOCATED_BY_PORT, FORMAT_NONE
    if numbers[INT_MARKER_SET] != 0 and limit - at >= 8 and u64(buffer, at) == numbers[INT_MARKER]:
        return _INT, at + 8, LOCATED_BY_MARKER, FORMAT_NONE
    marked = numbers[INT_DSCP_MASK] != 0 and service & numbers[INT_DSCP_MASK] == numbers[INT_DSCP_VALUE]
    by_structure = numbers[DETECT_BY_STRUCTURE] != 0
    if role == ROLE_ROCE:
        # A DSCP match is a hint: what reads as a BTH and not as a shim is a BTH.
        if marked and not (plausible_bth(buffer, at, limit) and not looks_like_int(buffer, at, limit, False)):
            return _INT, at, LOCATED_BY_DSCP, FORMAT_NONE
        if by_structure and not plausible_bth(buffer, at, limit) and looks_like_int(buffer, at, limit, False):
            return _INT, at, LOCATED_BY_STRUCTURE, FORMAT_NONE
        return _BTH, at, LOCATED_BY_STRUCTURE, FORMAT_NONE
    if role == ROLE_AUTO:
        if marked and looks_like_int(buffer, at, limit, False):
            return _INT, at, LOCATED_BY_DSCP, FORMAT_NONE
        if by_structure:
            if looks_like_int(buffer, at, limit, True):
                return _INT, at, LOCATED_BY_STRUCTURE, FORMAT_NONE
            version = looks_like_report(buffer, at, limit, declared)
            if version != FORMAT_NONE:
                return _REPORT, at, LOCATED_BY_STRUCTURE, version
        return _END, at, LOCATED_BY_STRUCTURE, FORMAT_NONE
    if role == ROLE_REPORT:
        version = u8(buffer, at) >> 4 if limit > at else 1
        if version == 0:
            return _REPORT, at, LOCATED_BY_PORT, FORMAT_REPORT_05
        return _REPORT, at, LOCATED_BY_PORT, (FORMAT_REPORT_2 if version == 2 else FORMAT_REPORT_1)
    if role == ROLE_VXLAN:
        return _VXLAN, at, LOCATED_BY_PORT, FORMAT_NONE
    if role == ROLE_VXLAN_GPE:
        return _VXLAN_GPE, at, LOCATED_BY_PORT, FORMAT_NONE
    if role == ROLE_GENEVE:
        return _GENEVE, at, LOCATED_BY_PORT, FORMAT_NONE
    return _END, at, LOCATED_BY_STRUCTURE, FORMAT_NONE


@kernel
def _report_hop(columns: Any, report: int, first: int, hop: int, packet: int) -> int:
    """Append the reporting node's own metadata as the hop nearest the sink, unless the newest hop is that node already: rows added."""
    there = get(columns, "reports.present", report)
    if get(columns, "reports.metadata_bits", report) == 0 and not (get(columns, "reports.version", report) == FORMAT_REPORT_05 and there & HAS_REPORT_QUEUE != 0):
        return 0
    node = get(columns, "reports.node_id", report)
    if hop > first and get(columns, "hops.present", hop - 1) & HAS_NODE != 0 and get(columns, "hops.node_id", hop - 1) == node:
        return 0
    put(columns, "hops.packet", hop, packet)
    put(columns, "hops.hop", hop, get(columns, "hops.hop", hop - 1) + 1 if hop > first else 0)
    put(columns, "hops.node_id", hop, node)
    present = HAS_NODE | HOP_FROM_REPORT
    if there & HAS_REPORT_PORTS != 0:
        put(columns, "hops.ingress_port", hop, get(columns, "reports.ingress_port", report))
        put(columns, "hops.egress_port", hop, get(columns, "reports.egress_port", report))
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
    put(columns, "hops.present", hop, present)
    return 1


class Decoder:
    """Feeds a source's windows to the kernel. One per thread; its columns are reused by every batch.

    compiled=False runs the same kernel as plain Python: right for a few thousand packets, where numba would take longer to load.
    """

    def __init__(self, settings: Any = None, compiled: bool = True, packets: int = PACKETS_PER_BATCH) -> None:
        self.settings = default_settings() if settings is None else settings
        self.columns = allocate()
        self._capacity = packets
        self.first_packet = 0
        self.packets = 0
        self._compiled = compiled and not _jit.DISABLED
        self._kernel = _jit.compiled(decode_batch) if compiled else decode_batch
        self._target = self.columns.arena if self._compiled else self.columns.by_name()
        self._record = np.zeros(records.RECORD_SIZE, dtype=np.int64)

    def batches(self, source: Any) -> Iterator[Columns]:
        """Columns of one batch after another; `first_packet` is the number of its first packet in this source."""
        self.first_packet = self.packets = 0
        for window in source.windows():
            while self._step(source, window):
                if self.columns.counts[N_PACKETS] > 0:
                    yield self.columns
            if self.columns.counts[N_PACKETS] > 0:
                yield self.columns
            if window.last:
                source.finish(window)

    def _step(self, source: Any, window: Any) -> bool:
        """Decode one batch of a window; False when the window has nothing more to give."""
        buffer = window.buffer if self._compiled else memoryview(window.buffer)
        counts = self.columns.counts
        self.first_packet = self.packets
        self._kernel(
            buffer, window.position, window.stop, window.framing, window.interfaces, self.settings, self._target, counts, self._record, self._capacity
        )
        window.position = int(counts[NEXT])
        self.packets += int(counts[N_PACKETS])
        stop = counts[STOP]
        if stop == STOP_FULL:
            return True
        if stop == STOP_CONTROL:
            return bool(source.control(window))
        if stop == STOP_DAMAGE:
            source.damage(window.base + window.position, records.DAMAGES[int(counts[STOP_DETAIL])])
        return False
