"""Quality: what was read and how well, counted per status, warning, format, dialect and opcode."""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.columns import get
from int_analyzer.fold.buckets import NEVER
from int_analyzer.formats.dialect import DIALECTS
from int_analyzer.schema import FORMAT_INT_05, FORMAT_INT_MD_1, FORMAT_INT_MD_2, FORMAT_INT_MX, FORMAT_LIST, ICRC_STATES
from int_analyzer.status import STATUSES, WARNINGS

# Words of `counters` (int64): the totals.
(
    PACKETS,
    BYTES,
    TELEMETRY_PACKETS,
    TELEMETRY_BYTES,
    HOPS,
    HOPS_IGNORED,
    ROCE_PACKETS,
    ROCE_WITH_TELEMETRY,
    REPORTS,
    MIRRORS,
    TIME_BACKWARDS,
    CE_PACKETS,
    CNP_PACKETS,
    PATHS_IGNORED,
    STREAMS_IGNORED,
    FIRST_NS,
    LAST_NS,
    CLOSING_NS,
    LINKS_IGNORED,
    MISSED,
    COPIES,
) = range(21)
ICRC = 24
"""ICRC + state (schema.ICRC_STATES) counts RoCEv2 packets. FIRST_NS and LAST_NS are the extremes, CLOSING_NS the time of the last
packet that has one; MISSED are packets that a live capture let go of: nothing else is known of them. COPIES are
packets that were seen before at another mirror point (copies.py); HOPS has the hops of these once."""

COUNTS = {
    "packets": PACKETS,
    "bytes": BYTES,
    "telemetry_packets": TELEMETRY_PACKETS,
    "telemetry_bytes": TELEMETRY_BYTES,
    "hops": HOPS,
    "hops_ignored": HOPS_IGNORED,
    "paths_ignored": PATHS_IGNORED,
    "roce_packets": ROCE_PACKETS,
    "roce_with_telemetry": ROCE_WITH_TELEMETRY,
    "reports": REPORTS,
    "mirrors": MIRRORS,
    "streams_ignored": STREAMS_IGNORED,
    "links_ignored": LINKS_IGNORED,
    "time_backwards": TIME_BACKWARDS,
    "ce_packets": CE_PACKETS,
    "cnp_packets": CNP_PACKETS,
    "first_ns": FIRST_NS,
    "last_ns": LAST_NS,
    "missed": MISSED,
    "copies": COPIES,
}

_INT = (1 << FORMAT_INT_MD_1) | (1 << FORMAT_INT_MD_2) | (1 << FORMAT_INT_MX) | (1 << FORMAT_INT_05)

# Where the counters of one kind begin in `counters` (int64), behind the totals.
STATUS = 32
DIALECT = STATUS + 256
OPCODE = DIALECT + 256
WARNING = OPCODE + 256
BY_FORMAT = WARNING + 32
"""BY_FORMAT + 256 × format + status; format 0 is of the packets that have none."""
N_COUNTERS = BY_FORMAT + 32 * 256


@inlined
def count_reading(counters: Any, columns: Any, packet: int) -> None:
    """Count how a packet was read: status, warnings, formats and dialect."""
    status = get(columns, "packets.status", packet)
    formats = get(columns, "packets.formats", packet)
    counters[STATUS + status] += 1
    if formats & ~1 == 0:
        counters[BY_FORMAT + status] += 1
    if formats & _INT != 0:
        counters[DIALECT + get(columns, "packets.dialect", packet)] += 1
    at = BY_FORMAT + 256 + status
    left = formats >> 1
    while left != 0:
        if left & 1 != 0:
            counters[at] += 1
        left >>= 1
        at += 256
    at = WARNING
    left = get(columns, "packets.warnings", packet)
    while left != 0:
        if left & 1 != 0:
            counters[at] += 1
        left >>= 1
        at += 1


class Quality:
    """Counters of everything that was read."""

    def __init__(self) -> None:
        self.counters = np.zeros(N_COUNTERS, dtype=np.int64)
        self.counters[FIRST_NS] = NEVER

    def merge(self, other: Quality) -> None:
        """Absorb other counters, of packets read after these or beside them, so that no time goes back where theirs begin."""
        mine, theirs = self.counters.copy(), other.counters
        self.counters += theirs
        self.counters[FIRST_NS] = min(mine[FIRST_NS], theirs[FIRST_NS])
        self.counters[LAST_NS] = max(mine[LAST_NS], theirs[LAST_NS])
        self.counters[CLOSING_NS] = theirs[CLOSING_NS] or mine[CLOSING_NS]

    def copy(self) -> Quality:
        """An independent copy."""
        other = Quality()
        other.counters = self.counters.copy()
        return other

    def view(self) -> dict[str, dict[Any, int]]:
        """The dictionaries of `View` that count packets, by their names there; only what occurred."""
        counts = {name: int(self.counters[word]) for name, word in COUNTS.items()}
        if counts["first_ns"] == NEVER:
            counts["first_ns"] = 0
        icrc = {name: int(self.counters[ICRC + state]) for state, name in ICRC_STATES.items()}
        formats = {entry.id: entry.name for entry in FORMAT_LIST}
        statuses = [status.name for status in STATUSES]
        by_format = self.counters[BY_FORMAT:].reshape(32, 256)
        return {
            "counts": counts,
            "statuses": self._named(STATUS, statuses),
            "icrc": {name: packets for name, packets in icrc.items() if packets},
            "warnings": self._named(WARNING, [warning.name for warning in WARNINGS]),
            "formats": {name: int(by_format[number].sum()) for number, name in formats.items() if by_format[number].any()},
            "status_by_format": {
                (formats.get(number, ""), statuses[code]): int(by_format[number, code]) for number, code in np.argwhere(by_format).tolist()
            },
            "dialects": self._named(DIALECT, [dialect.name for dialect in DIALECTS]),
            "opcodes": {opcode: int(self.counters[OPCODE + opcode]) for opcode in range(256) if self.counters[OPCODE + opcode]},
        }

    def _named(self, begin: int, names: list[str]) -> dict[str, int]:
        """Counters by name, in the order of the names."""
        return {name: int(self.counters[begin + at]) for at, name in enumerate(names) if self.counters[begin + at]}
