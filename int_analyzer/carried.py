"""Telemetry in what carries it between layers: options of IPv6 extension headers and Geneve, shims behind VXLAN-GPE, NSH and GRE.

A walk gives, besides where reading goes on, what its headers gave together: (status, status at, warnings, bits of the formats, hops of
the last header that has some or −1, the format of that). The first status that is not OK stays; none of these faults hides what follows.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.formats.int_carried import IN_GENEVE, IN_GPE, IN_GPE_1, int_carried
from int_analyzer.formats.ioam import CUT, OPTION_LIMIT, ioam, ioam_shim
from int_analyzer.schema import FORMAT_NONE
from int_analyzer.settings import GPE_INT, GPE_INT_1, GPE_IOAM, GPE_UNKNOWN
from int_analyzer.status import STATUS_CODE, WARNING_BIT
from int_analyzer.wire.ip import next_ioam_option
from int_analyzer.wire.read import Buffer, u8, u16
from int_analyzer.wire.tunnel import GENEVE_CLASS_INT, NSH_IOAM

MAXIMUM_SHIMS = 16

OK = STATUS_CODE["ok"]
GENEVE_OVERRUN = STATUS_CODE["geneve-options-overrun"]
GENEVE_CRITICAL = WARNING_BIT["geneve-critical"]


@inlined
def bit_of(found: int) -> int:
    """The bit of a format in the column `formats`; none for FORMAT_NONE."""
    return 1 << found if found != FORMAT_NONE else 0


@kernel
def ipv6_options(
    buffer: Buffer, at: int, end: int, limit: int, columns: Any, counts: Any, row: int, hop: int
) -> tuple[int, int, int, int, int, int]:
    """IOAM options of an extension header from `at` to `end`, as far as they were captured: what they gave together."""
    status, status_at, warnings, formats, hops, telemetry = OK, at, 0, 0, -1, FORMAT_NONE
    while at < end:
        option, at, fault = next_ioam_option(buffer, at, end, limit)
        if fault != OK:
            return (fault if status == OK else status), (at if status == OK else status_at), warnings, formats, hops, telemetry
        if option == 0:
            break
        kind = u8(buffer, option + 3) if option + 4 <= limit else 0
        fault, fault_at, odd, added, found = ioam(buffer, option, at, limit, kind, columns, counts, row, hop)
        warnings |= odd
        formats |= bit_of(found)
        if added >= 0:
            hops, telemetry = added, found
        if status == OK and fault != CUT:
            status, status_at = fault, fault_at
    return status, status_at, warnings, formats, hops, telemetry


@kernel
def geneve_options(
    buffer: Buffer, at: int, end: int, limit: int, settings: Any, columns: Any, counts: Any, row: int, hop: int
) -> tuple[int, int, int, int, int, int]:
    """INT and IOAM among the options from `at` to `end`, all of which were captured: what they gave together."""
    status, status_at, warnings, formats, hops, telemetry = OK, at, 0, 0, -1, FORMAT_NONE
    while at < end:
        following = at + 4 + (u8(buffer, at + 3) & 0x1F) * 4 if end - at >= 4 else end + 1
        if following > end:
            return (GENEVE_OVERRUN if status == OK else status), (at if status == OK else status_at), warnings, formats, hops, telemetry
        option_class, option_type = u16(buffer, at), u8(buffer, at + 2)
        if option_type & 0x80 != 0:
            warnings |= GENEVE_CRITICAL
        fault, fault_at, odd, added, found = OK, at, 0, -1, FORMAT_NONE
        if is_among(option_class, settings.geneve_ioam_classes):
            fault, fault_at, odd, added, found = ioam(buffer, at, following, limit, option_type & 0x7F, columns, counts, row, hop)
        elif (option_type == 1 or option_type == 3) and (
            option_class == GENEVE_CLASS_INT or is_among(option_class, settings.geneve_classes)
        ):
            fault, fault_at, odd, added, _end, found = int_carried(buffer, at, limit, following, IN_GENEVE, settings, columns, row, hop)
        warnings |= odd
        formats |= bit_of(found)
        if added >= 0:
            hops, telemetry = added, found
        if status == OK:
            status, status_at = fault, fault_at
        at = following
    return status, status_at, warnings, formats, hops, telemetry


@kernel
def shims(
    buffer: Buffer,
    at: int,
    limit: int,
    declared: int,
    protocol: int,
    in_nsh: bool,
    settings: Any,
    columns: Any,
    counts: Any,
    row: int,
    hop: int,
) -> tuple[int, int, int, int, int, int, int, int]:
    """INT (once) and IOAM behind VXLAN-GPE, IOAM behind NSH: (next protocol, where or 0 if not known, what they gave together …)."""
    status, status_at, warnings, formats, hops, telemetry = OK, at, 0, 0, -1, FORMAT_NONE
    may_be_int = not in_nsh
    for number in range(MAXIMUM_SHIMS + 1):
        shim = at
        role = settings.gpe_roles[protocol] if not in_nsh else (GPE_IOAM if protocol == NSH_IOAM else GPE_UNKNOWN)
        is_int = may_be_int and (role == GPE_INT or role == GPE_INT_1)
        if at == 0 or not (is_int or role == GPE_IOAM):
            break
        if number == MAXIMUM_SHIMS:
            fault, fault_at, odd, added, at, found = OPTION_LIMIT, shim, 0, -1, 0, FORMAT_NONE
        elif is_int:
            carrier = IN_GPE_1 if role == GPE_INT_1 else IN_GPE
            fault, fault_at, odd, added, at, found = int_carried(buffer, shim, limit, declared, carrier, settings, columns, row, hop)
            may_be_int = False
        else:
            head_words = 1 if in_nsh else 0
            fault, fault_at, odd, added, at, found = ioam_shim(buffer, shim, limit, declared, head_words, columns, counts, row, hop)
        warnings |= odd
        formats |= bit_of(found)
        if added >= 0:
            hops, telemetry = added, found
        if status == OK:
            status, status_at = fault, fault_at
        if at != 0:
            protocol = u8(buffer, shim + 3)
    return protocol, at, status, status_at, warnings, formats, hops, telemetry


@inlined
def is_among(number: int, numbers: Any) -> bool:
    """Whether a number is one of an array."""
    found = False
    for i in range(numbers.shape[0]):
        found = found or numbers[i] == number
    return found
