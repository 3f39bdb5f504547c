"""INT dialects as data: how the layouts in the field differ from the specification, and which one explains a packet.

The per-hop length on the wire and the instruction bitmap must agree. Where they do not under the specification's item widths, a
dialect with other widths may explain the difference; then it is used and said. None fits: hops stay opaque. The specification
comes first in each list, so that an ambiguous bitmap (bits 4 and 6 of v1.0 at once) is read as the specification says, with a warning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from int_analyzer._jit import inlined, kernel

LAYOUT_1, LAYOUT_2, LAYOUT_05, NO_LAYOUT = 1, 2, 5, 0
"""The v1.0 header (8 bytes, shim length with shim), the v2.x one, the v0.5 one (with a tail); no INT header at all."""
SEQUENCE_FIELD = 22
"""Bits that a v2.0 report has for its sequence number."""


class Dialect(NamedTuple):
    """A layout, the value of its version field, widths of times and level-2 ids in 4-byte words; then what differs in few.

    flags_at: bit of the header's first word where its flags begin (D E M in v2.x, C E M before); unused: items of the bitmap that
    mean nothing; domain and source_words: an INT domain whose source adds so many words; inner_ethernet: InType of an Ethernet frame
    in its v2.0 reports; sequence_bits: upper bits of their sequence number that count.
    """

    name: str
    layout: int
    version: int
    time_words: int
    level2_words: int
    source: str
    flags_at: int = 6
    unused: int = 0
    domain: int = 0
    source_words: int = 0
    inner_ethernet: int = 3
    sequence_bits: int = SEQUENCE_FIELD


DIALECTS: tuple[Dialect, ...] = (
    Dialect("", NO_LAYOUT, 0, 0, 0, "no INT header"),
    Dialect("int-2.x", LAYOUT_2, 2, 2, 2, "P4.org INT v2.1 §5.8", flags_at=4),
    Dialect("int-1.0", LAYOUT_1, 1, 1, 2, "P4.org INT v1.0 §4.7"),
    Dialect("geant10", LAYOUT_1, 1, 2, 1, "GEANT int-platforms int_v1.0: 64-bit times, 16-bit level-2 ids"),
    Dialect("onos-basic", LAYOUT_1, 0, 1, 2, "ONOS basic pipeline: v1.0 layout with version 0"),
    Dialect("int-2.x-time32", LAYOUT_2, 2, 1, 2, "v2.x with the 32-bit times of v1.0", flags_at=4),
    Dialect("int-2.x-level2-16", LAYOUT_2, 2, 2, 1, "v2.x with 16-bit level-2 ids", flags_at=4),
    Dialect("int-1.0-time64", LAYOUT_1, 1, 2, 2, "v1.0 with 64-bit times"),
    Dialect("int-1.0-level2-16", LAYOUT_1, 1, 1, 1, "v1.0 with 16-bit level-2 ids"),
    Dialect("int-0.5", LAYOUT_05, 0, 1, 1, "P4.org INT v0.5: total hop count and a tail; every item 4 bytes"),
    Dialect("onos-fabric", LAYOUT_05, 0, 1, 1, "ONOS fabric pipeline: v0.5 with a version of 2 bits, so flags 2 bits earlier", flags_at=4),
    Dialect("geant04", LAYOUT_05, 0, 2, 1, "GEANT int-platforms int_v0.4: as onos-fabric, with 64-bit times", flags_at=4),
    Dialect(
        "cablelabs-tps",
        LAYOUT_2,
        2,
        2,
        2,
        "CableLabs transparent-security: flags 2 bits later, source MAC as source-only data, reports of its own",
        domain=0x5453,
        source_words=2,
        inner_ethernet=2,
        sequence_bits=16,
    ),
    Dialect("noviflow10", LAYOUT_1, 1, 1, 2, "NoviFlow as AmLight's collector reads it: the latency word is unused", unused=0x2000),
    Dialect("ifa-32", NO_LAYOUT, 2, 0, 0, "IFA records of 32 bytes, as in a public Scapy module that cites draft-kumar-ippm-ifa-08"),
    Dialect("hpcc-paper", NO_LAYOUT, 0, 0, 0, "HPCC, SIGCOMM 2019, figure of the INT header"),
    Dialect("hpcc-ns3", NO_LAYOUT, 0, 0, 0, "HPCC's ns-3 simulator, int-header.h: 42 bytes, little-endian"),
)
DIALECT_NAMES: dict[str, int] = {dialect.name: number for number, dialect in enumerate(DIALECTS) if dialect.name}
INT_05, IFA_32 = DIALECT_NAMES["int-0.5"], DIALECT_NAMES["ifa-32"]
HPCC_PAPER, HPCC_NS3 = DIALECT_NAMES["hpcc-paper"], DIALECT_NAMES["hpcc-ns3"]

RESERVED_1, RESERVED_2 = 0x00FE, 0x007E
"""Reserved bits of the bitmap: 8-14 in v1.0, 9-14 in v2.x."""

N_DIALECTS = len(DIALECTS)
LAYOUT = np.array([dialect.layout for dialect in DIALECTS], dtype=np.int64)
VERSION = np.array([dialect.version for dialect in DIALECTS], dtype=np.int64)
TIME_WORDS = np.array([dialect.time_words for dialect in DIALECTS], dtype=np.int64)
LEVEL2_WORDS = np.array([dialect.level2_words for dialect in DIALECTS], dtype=np.int64)
FLAGS_AT = np.array([dialect.flags_at for dialect in DIALECTS], dtype=np.int64)
UNUSED = np.array([dialect.unused for dialect in DIALECTS], dtype=np.int64)
DOMAIN = np.array([dialect.domain for dialect in DIALECTS], dtype=np.int64)
SOURCE_WORDS = np.array([dialect.source_words for dialect in DIALECTS], dtype=np.int64)
INNER_ETHERNET = np.array([dialect.inner_ethernet for dialect in DIALECTS], dtype=np.int64)
SEQUENCE_BITS = np.array([dialect.sequence_bits for dialect in DIALECTS], dtype=np.int64)


@inlined
def bits_set(word: int) -> int:
    """Number of ones in a 16-bit word."""
    word = word - ((word >> 1) & 0x5555)
    word = (word & 0x3333) + ((word >> 2) & 0x3333)
    word = (word + (word >> 4)) & 0x0F0F
    return (word + (word >> 8)) & 0x1F


@inlined
def words_per_hop(instructions: int, time_words: int, level2_words: int) -> int:
    """4-byte words of one hop for an instruction bitmap (bit 0 is the most significant of 16)."""
    times = ((instructions >> 11) & 1) + ((instructions >> 10) & 1)
    return bits_set(instructions) + times * (time_words - 1) + ((instructions >> 9) & 1) * (level2_words - 1)


@kernel
def fitting(layout: int, version: int, instructions: int, hop_words: int, extra_words: int, configured: int) -> tuple[int, int, int]:
    """The dialect whose widths give `hop_words` for this bitmap: (its number or 0, words per reserved bit, how many readings fit).

    A node that does not know a reserved bit inserts 4 bytes of ones for it, or nothing: both are tried. `extra_words` are
    domain-specific words in every hop; `configured` ≥ 1 is the only dialect tried, unless it has another layout.
    """
    reserved = instructions & (RESERVED_1 if layout == 1 else RESERVED_2)
    found, found_reserved, readings, times, level2 = 0, 1, 0, 0, 0
    for number in range(1, N_DIALECTS):
        if LAYOUT[number] != layout or VERSION[number] != version:
            continue
        if configured >= 1 and number != configured and LAYOUT[configured] == layout:
            continue
        words = words_per_hop(instructions, TIME_WORDS[number], LEVEL2_WORDS[number]) + extra_words
        if words == hop_words:
            reserved_words = 1
        elif reserved != 0 and words - bits_set(reserved) == hop_words:
            reserved_words = 0
        else:
            continue
        # Widths of items that the bitmap does not ask for make no difference.
        time_width = TIME_WORDS[number] if instructions & 0x0C00 != 0 else 0
        level2_width = LEVEL2_WORDS[number] if instructions & 0x0200 != 0 else 0
        if found == 0:
            found, found_reserved, readings, times, level2 = number, reserved_words, 1, time_width, level2_width
        elif time_width != times or level2_width != level2 or (reserved != 0 and reserved_words != found_reserved):
            readings += 1
    return found, found_reserved, readings
