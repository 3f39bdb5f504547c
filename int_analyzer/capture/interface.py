"""Interfaces of a capture: what each was described as, and the rows that the record walk reads.

Sources: draft-ietf-opsawg-pcapng §4.2 (interface description), draft-ietf-opsawg-pcaplinktype.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.capture.records import (
    INTERFACE_BINARY,
    INTERFACE_FCS_BYTES,
    INTERFACE_LINK,
    INTERFACE_OFFSET_NS,
    INTERFACE_RESOLUTION,
    INTERFACE_SNAPLEN,
)
from int_analyzer.wire import ethernet

KNOWN_LINKS = frozenset(
    (
        ethernet.LINK_ETHERNET,
        ethernet.LINK_SLL,
        ethernet.LINK_SLL2,
        ethernet.LINK_RAW,
        ethernet.LINK_IPV4,
        ethernet.LINK_IPV6,
        *ethernet.LINK_RAW_OLD,
    )
)
"""Link types that the decode understands; a capture with no other is refused."""

MAXIMUM_INTERFACES = 65536
"""Interfaces in one section: the number is 16 bits wide in the packet table."""

_DESCRIBED = 4096
"""Interfaces kept for the report, over all sections: memory stays bounded whatever the file says."""

UNUSABLE = -1
"""Resolution of an interface whose times cannot be computed: its packets have time 0."""


@dataclass(frozen=True, slots=True)
class Interface:
    """One described interface: section and number (both from 0), link type, snap length and FCS in bytes, clock, names.

    The clock ticks in 10^-resolution s, or in 2^-resolution s if `binary`; `offset_s` is added to every time.
    """

    section: int
    number: int
    link: int
    snaplen: int = 0
    fcs_bytes: int = 0
    resolution: int = 6
    binary: bool = False
    offset_s: int = 0
    name: str = ""
    description: str = ""
    speed_bps: int | None = None


class InterfaceTable:
    """The interfaces of the current section as int64[n, 8] for the kernel, and those of all sections for the report."""

    def __init__(self) -> None:
        self._store = np.zeros((4, 8), dtype=np.int64)
        self._used = 0
        self.described: list[Interface] = []

    def __len__(self) -> int:
        return self._used

    @property
    def rows(self) -> Any:
        """int64[n, 8], contiguous; a view that later interfaces do not change."""
        return self._store[: self._used]

    def clear(self) -> None:
        """Forget the interfaces of the section: numbering starts again."""
        # a new store, because a window may still show the old one
        self._store = np.zeros((4, 8), dtype=np.int64)
        self._used = 0

    def append(self, interface: Interface) -> None:
        """Add the next interface of the section."""
        if self._used == len(self._store):
            self._store = np.concatenate([self._store, np.zeros_like(self._store)])
        row = self._store[self._used]
        row[INTERFACE_LINK] = interface.link
        row[INTERFACE_SNAPLEN] = interface.snaplen
        row[INTERFACE_FCS_BYTES] = interface.fcs_bytes
        row[INTERFACE_OFFSET_NS] = interface.offset_s * 1_000_000_000
        row[INTERFACE_RESOLUTION] = interface.resolution
        row[INTERFACE_BINARY] = interface.binary
        self._used += 1
        if len(self.described) < _DESCRIBED:
            self.described.append(interface)
