"""What a UDP or TCP payload is: a profile's word first, then structure. The one place where INT and reports are believed or not."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.formats.int_md import (
    HEAD,
    LENGTHS,
    LOCATED_BY_DSCP,
    LOCATED_BY_MARKER,
    LOCATED_BY_PORT,
    LOCATED_BY_STRUCTURE,
    RESERVED,
)
from int_analyzer.formats.int_md import looks_like as looks_like_int
from int_analyzer.formats.report import looks_like as looks_like_report
from int_analyzer.formats.report import of_version
from int_analyzer.formats.roce import plausible as plausible_bth
from int_analyzer.schema import FORMAT_NONE
from int_analyzer.settings import (
    DETECT_BY_STRUCTURE,
    INT_DSCP_MASK,
    INT_DSCP_VALUE,
    INT_MARKER,
    INT_MARKER_SET,
    ROLE_AUTO,
    ROLE_GENEVE,
    ROLE_HPCC,
    ROLE_INT,
    ROLE_LUMINA,
    ROLE_REPORT,
    ROLE_ROCE,
    ROLE_VXLAN,
    ROLE_VXLAN_GPE,
)
from int_analyzer.status import STATUS_CODE
from int_analyzer.wire import layer
from int_analyzer.wire.read import Buffer, u8, u16, u64

TCP, UDP = 6, 17

OK = STATUS_CODE["ok"]
NOT_UDP = STATUS_CODE["not-udp"]
TCP_TRUNCATED = STATUS_CODE["tcp-truncated"]
TCP_HEADER_LENGTH = STATUS_CODE["tcp-header-length"]

_END, _INT, _BTH, _REPORT = layer.END, layer.INT, layer.BTH, layer.REPORT
_VXLAN, _VXLAN_GPE, _GENEVE, _HPCC, _LUMINA = layer.VXLAN, layer.VXLAN_GPE, layer.GENEVE, layer.HPCC, layer.LUMINA


@inlined
def of_role(role: int) -> int:
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
def payload(
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
    if marked and looks_like_int(buffer, at, limit, declared, LENGTHS, UDP, settings):
        return _INT, at, LOCATED_BY_DSCP, FORMAT_NONE
    if role == ROLE_ROCE:
        if plausible_bth(buffer, at, limit):
            return _BTH, at, LOCATED_BY_STRUCTURE, FORMAT_NONE
        if by_structure and looks_like_int(buffer, at, limit, declared, HEAD, UDP, settings):
            return _INT, at, LOCATED_BY_DSCP if marked else LOCATED_BY_STRUCTURE, FORMAT_NONE
        if marked:
            return _INT, at, LOCATED_BY_DSCP, FORMAT_NONE
        return _BTH, at, LOCATED_BY_STRUCTURE, FORMAT_NONE
    if role == ROLE_AUTO:
        if by_structure:
            if looks_like_int(buffer, at, limit, declared, RESERVED, UDP, settings) and not _leads_back(buffer, at, port, settings):
                return _INT, at, LOCATED_BY_STRUCTURE, FORMAT_NONE
            if not in_report:
                version = looks_like_report(buffer, at, limit, declared, settings)
                if version != FORMAT_NONE:
                    return _REPORT, at, LOCATED_BY_DSCP if marked else LOCATED_BY_STRUCTURE, version
        if marked:
            return _INT, at, LOCATED_BY_DSCP, FORMAT_NONE
        return _END, at, LOCATED_BY_STRUCTURE, FORMAT_NONE
    if role == ROLE_REPORT and not in_report:
        return _REPORT, at, LOCATED_BY_PORT, of_version(buffer, at, limit)
    if role == ROLE_HPCC:
        return _HPCC, at, LOCATED_BY_PORT, FORMAT_NONE
    if role == ROLE_LUMINA:
        return _LUMINA, at, LOCATED_BY_PORT, FORMAT_NONE
    return of_role(role), at, LOCATED_BY_STRUCTURE, FORMAT_NONE


@inlined
def _leads_back(buffer: Buffer, at: int, port: int, settings: Any) -> bool:
    """Whether a v2.x shim names as original port the one that it came by, or another INT port: then it is none."""
    first = u8(buffer, at)
    if first < 16 or first & 0x0C != 0x04:
        return False
    original = u16(buffer, at + 2)
    return original == port or settings.port_roles[original] == ROLE_INT


@kernel
def int_in_tcp(
    buffer: Buffer, at: int, limit: int, declared: int, service: int, behind_int: bool, settings: Any
) -> tuple[int, int, int, int]:
    """INT behind a TCP header, by DSCP or marker of the profile: (layer, where, status, how it was located).

    It stands behind the options, or in some deployments between the fixed header and the options.
    """
    numbers = settings.numbers
    marked = numbers[INT_DSCP_MASK] != 0 and service & numbers[INT_DSCP_MASK] == numbers[INT_DSCP_VALUE]
    if behind_int or not (marked or numbers[INT_MARKER_SET] != 0):
        return _END, at, NOT_UDP, LOCATED_BY_STRUCTURE
    if limit - at < 20:
        return _END, at, TCP_TRUNCATED, LOCATED_BY_STRUCTURE
    header = (u8(buffer, at + 12) >> 4) * 4
    if header < 20:
        return _END, at, TCP_HEADER_LENGTH, LOCATED_BY_STRUCTURE
    if limit - at < header:
        return _END, at, TCP_TRUNCATED, LOCATED_BY_STRUCTURE
    for begin in (at + header, at + 20):
        if numbers[INT_MARKER_SET] != 0 and limit - begin >= 8 and u64(buffer, begin) == numbers[INT_MARKER]:
            if looks_like_int(buffer, begin + 8, limit, declared, LENGTHS, TCP, settings):
                return _INT, begin + 8, OK, LOCATED_BY_MARKER
        if marked and looks_like_int(buffer, begin, limit, declared, LENGTHS, TCP, settings):
            return _INT, begin, OK, LOCATED_BY_DSCP
    return _END, at, NOT_UDP, LOCATED_BY_STRUCTURE
