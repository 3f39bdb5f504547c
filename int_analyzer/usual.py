"""The usual packet in one straight line: Ethernet, IP, UDP, INT-MD or not, RoCEv2 or not, and nothing wrong.

Nearly all packets at a mirror port are that, and machine code without a loop over layers reads them in four fifths of the time. Whatever
is not is left to `packet.decode_packet`, which reads every packet, this one too, and to the same columns.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined
from int_analyzer.capture import records
from int_analyzer.carried import bit_of, ipv6_options
from int_analyzer.columns import N_HOPS, get, put
from int_analyzer.finish import finish, without_telemetry
from int_analyzer.formats.int_md import int_md
from int_analyzer.formats.integrity import roce
from int_analyzer.payload import of_role, payload
from int_analyzer.schema import ABSENT8, ABSENT32, FORMAT_NONE, FORMAT_ROCE
from int_analyzer.settings import ICRC_SAMPLE
from int_analyzer.status import STATUS_CODE
from int_analyzer.wire import layer
from int_analyzer.wire.branch import likely, unlikely
from int_analyzer.wire.ethernet import LINK_ETHERNET, ethernet
from int_analyzer.wire.ip import IPV6_BYTES, NEXT_HOP_BY_HOP, PROTOCOL_UDP, extension, ipv4, ipv6
from int_analyzer.wire.read import Buffer, u8
from int_analyzer.wire.udp import udp

OK = STATUS_CODE["ok"]

_END, _IPV4, _IPV6, _UDP, _INT, _BTH = layer.END, layer.IPV4, layer.IPV6, layer.UDP, layer.INT, layer.BTH
_NPT_PROTOCOL = 2


@inlined
def usual_packet(buffer: Buffer, record: Any, settings: Any, columns: Any, counts: Any, row: int) -> bool:
    """The record into row `row` of packets and into hops and roce from counts on, if it is a usual packet; else False, and counts stay."""
    if unlikely(record[records.LINK] != LINK_ETHERNET or record[records.PART] != 0):
        return False
    start, captured, original = record[records.DATA], record[records.CAPTURED], record[records.ORIGINAL]
    limit, declared = start + captured, start + max(captured, original)
    first_hop = counts[N_HOPS]
    hop, formats, telemetry = first_hop, 0, FORMAT_NONE
    kind, network, bad, vlan, csig = ethernet(buffer, start, limit, settings)
    if likely(kind == _IPV4):
        kind, at, limit, declared, bad, warnings, options, fragment = ipv4(buffer, network, limit, declared, columns, row)
        if unlikely(bad != OK or kind != _UDP or options != 0 or fragment != 0):
            return False
    elif kind == _IPV6 and limit - network >= IPV6_BYTES and _is_usual(u8(buffer, network + 6)):
        protocol, at, limit, declared, bad, warnings = ipv6(buffer, network, limit, declared, columns, row)
        if bad == OK and protocol == NEXT_HOP_BY_HOP:
            options = at + 2
            protocol, at, bad, _ = extension(buffer, at, limit, declared, protocol)
            put(columns, "packets.protocol", row, protocol)
            if bad == OK:
                bad, _, odd, formats, added, telemetry = ipv6_options(buffer, options, at, limit, columns, counts, row, first_hop)
                warnings |= odd
                hop += max(added, 0)
        if unlikely(bad != OK or protocol != PROTOCOL_UDP):
            return False
    else:
        return False
    bad, transport, limit, declared, odd, source_port, destination_port = udp(buffer, at, limit, declared, 0, False)
    if unlikely(bad != OK):
        return False
    warnings |= odd | record[records.RECORD_WARNINGS]
    put(columns, "packets.original_dscp", row, ABSENT8)
    service = get(columns, "packets.dscp", row)
    kind, behind, located, _ = payload(buffer, transport, limit, declared, destination_port, service, False, settings)
    behind_int = kind == _INT
    if behind_int:
        bad, _, odd, added, behind, npt, destination_port, telemetry = int_md(
            buffer, behind, limit, declared, destination_port, located, PROTOCOL_UDP, settings, columns, row, first_hop
        )
        if unlikely(bad != OK or added < 0 or behind == 0 or npt == _NPT_PROTOCOL):
            return False
        warnings |= odd
        hop, formats = first_hop + added, formats | bit_of(telemetry)
        kind = of_role(settings.port_roles[destination_port])
    elif telemetry == FORMAT_NONE:
        without_telemetry(columns, row)
    status, status_at, roce_row = OK, start, ABSENT32
    if likely(kind == _BTH):
        status, status_at, odd, roce_row = roce(
            buffer,
            network,
            at,
            behind,
            limit,
            declared,
            destination_port,
            False,
            behind_int,
            False,
            warnings,
            settings.numbers[ICRC_SAMPLE],
            columns,
            counts,
            row,
        )
        warnings |= odd
        if likely(roce_row != ABSENT32):
            formats |= 1 << FORMAT_ROCE
    elif kind != _END:
        return False
    finish(
        record,
        columns,
        counts,
        row,
        0,
        vlan,
        csig,
        source_port,
        destination_port,
        formats,
        telemetry,
        False,
        hop,
        roce_row,
        0,
        status,
        status_at,
        warnings,
    )
    return True


@inlined
def _is_usual(next_header: int) -> bool:
    """Whether a next header of IPv6 is a usual one: UDP, or the options in which IOAM comes."""
    return next_header == PROTOCOL_UDP or next_header == NEXT_HOP_BY_HOP
