"""UDP header (RFC 768)."""

from __future__ import annotations

from int_analyzer._jit import inlined
from int_analyzer.status import STATUS_CODE, WARNING_BIT
from int_analyzer.wire.branch import unlikely
from int_analyzer.wire.read import Buffer, u16

OK = STATUS_CODE["ok"]
TRUNCATED = STATUS_CODE["udp-truncated"]
LENGTH = STATUS_CODE["udp-length"]

BEYOND_IP = WARNING_BIT["udp-length-beyond-ip"]
SHORT = WARNING_BIT["udp-length-short"]

UDP_BYTES = 8


@inlined
def udp(buffer: Buffer, at: int, limit: int, declared: int, uncounted: int, fragment: bool) -> tuple[int, int, int, int, int, int, int]:
    """UDP header: (status, where the payload begins, limit, declared, warnings, source port, destination port).

    uncounted: bytes between header and payload that the length need not count; fragment: the length reaches beyond this packet. `where`
    is the header if the status is not OK.
    """
    if unlikely(limit - at < UDP_BYTES):
        return TRUNCATED, at, limit, declared, 0, 0, 0
    source, destination, length = u16(buffer, at), u16(buffer, at + 2), u16(buffer, at + 4)
    if unlikely(length < UDP_BYTES):
        return LENGTH, at, limit, declared, 0, source, destination
    warnings, end = 0, at + length
    if uncounted != 0 and end != declared:
        end += uncounted
    if end > declared and not fragment:
        warnings = BEYOND_IP
        end = declared
    elif end < declared:
        warnings = SHORT
    return OK, at + UDP_BYTES + uncounted, min(limit, end), end, warnings, source, destination
