"""Quality: what was read and how well, counted per status, warning, format, dialect and opcode."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.fold.buckets import NEVER
from int_analyzer.fold.hashing import wide
from int_analyzer.formats.dialect import DIALECTS
from int_analyzer.schema import (
    FORMAT_BY_ID,
    FORMAT_INT_05,
    FORMAT_INT_MD_1,
    FORMAT_INT_MD_2,
    FORMAT_INT_MX,
    STATUSES,
    WARNINGS,
)

# Words of `totals`.
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
    OPENING_NS,
    CLOSING_NS,
) = range(19)
N_TOTALS = 24
"""FIRST_NS and LAST_NS are the extremes, OPENING_NS and CLOSING_NS the times of the first and last packets that have one."""

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
    "time_backwards": TIME_BACKWARDS,
    "ce_packets": CE_PACKETS,
    "cnp_packets": CNP_PACKETS,
    "first_ns": FIRST_NS,
    "last_ns": LAST_NS,
}

_INT = (1 << FORMAT_INT_MD_1) | (1 << FORMAT_INT_MD_2) | (1 << FORMAT_INT_MX) | (1 << FORMAT_INT_05)

# Module-level: a kernel's argument.
QualityArrays = namedtuple("QualityArrays", ["totals", "statuses", "warnings", "by_format", "dialects", "opcodes"])
"""totals int64[24]; statuses int64[256]; warnings int64[32]; by_format int64[32, 256]: format × status, row 0 for packets of no
format; dialects int64[256]; opcodes int64[256]."""


@inlined
def count_reading(quality: Any, packets: Any, packet: int) -> None:
    """Count how a packet was read: status, warnings, formats and dialect."""
    status = wide(packets.status[packet])
    quality.statuses[status] += 1
    formats = wide(packets.formats[packet])
    if formats & ~1 == 0:
        quality.by_format[0, status] += 1
    if formats & _INT != 0:
        quality.dialects[packets.dialect[packet]] += 1
    bit = 1
    left = formats >> 1
    while left != 0:
        if left & 1 != 0:
            quality.by_format[bit, status] += 1
        left >>= 1
        bit += 1
    bit = 0
    left = wide(packets.warnings[packet])
    while left != 0:
        if left & 1 != 0:
            quality.warnings[bit] += 1
        left >>= 1
        bit += 1


class Quality:
    """Counters of everything that was read."""

    def __init__(self) -> None:
        self.arrays = QualityArrays(
            totals=np.zeros(N_TOTALS, dtype=np.int64),
            statuses=np.zeros(256, dtype=np.int64),
            warnings=np.zeros(32, dtype=np.int64),
            by_format=np.zeros((32, 256), dtype=np.int64),
            dialects=np.zeros(256, dtype=np.int64),
            opcodes=np.zeros(256, dtype=np.int64),
        )
        self.arrays.totals[FIRST_NS] = NEVER

    def merge(self, other: Quality) -> None:
        """Absorb other counters, of packets read after these."""
        mine, theirs = self.arrays.totals, other.arrays.totals
        first, last = min(mine[FIRST_NS], theirs[FIRST_NS]), max(mine[LAST_NS], theirs[LAST_NS])
        opening, closing = mine[OPENING_NS] or theirs[OPENING_NS], theirs[CLOSING_NS] or mine[CLOSING_NS]
        backwards = 0 < theirs[OPENING_NS] < mine[CLOSING_NS]
        for array, added in zip(self.arrays, other.arrays, strict=True):
            array += added
        mine[[FIRST_NS, LAST_NS, OPENING_NS, CLOSING_NS]] = first, last, opening, closing
        mine[TIME_BACKWARDS] += backwards

    def copy(self) -> Quality:
        """An independent copy."""
        other = Quality()
        other.arrays = QualityArrays(*(array.copy() for array in self.arrays))
        return other

    def view(self) -> dict[str, dict[Any, int]]:
        """The dictionaries of `View` that count packets, by their names there; only what occurred."""
        totals, by_format = self.arrays.totals, self.arrays.by_format
        counts = {name: int(totals[word]) for name, word in COUNTS.items()}
        if totals[FIRST_NS] == NEVER:
            counts["first_ns"] = 0
        formats = {entry.id: entry.name for entry in FORMAT_BY_ID.values()}
        status_name = [status.name for status in STATUSES]
        return {
            "counts": counts,
            "statuses": {name: int(self.arrays.statuses[code]) for code, name in enumerate(status_name) if self.arrays.statuses[code]},
            "warnings": {
                warning.name: int(self.arrays.warnings[warning.bit]) for warning in WARNINGS if self.arrays.warnings[warning.bit]
            },
            "formats": {name: int(by_format[number].sum()) for number, name in formats.items() if by_format[number].any()},
            "status_by_format": {
                (formats.get(int(number), ""), status_name[code]): int(by_format[number, code])
                for number, code in zip(*np.nonzero(by_format), strict=True)
            },
            "dialects": {
                dialect.name: int(self.arrays.dialects[number]) for number, dialect in enumerate(DIALECTS) if self.arrays.dialects[number]
            },
            "opcodes": {int(opcode): int(self.arrays.opcodes[opcode]) for opcode in np.nonzero(self.arrays.opcodes)[0]},
        }
