"""Which INT dialects would explain the same lengths as the one that a packet was read with."""

from __future__ import annotations

from int_analyzer.formats.dialect import DIALECTS, LAYOUT, LEVEL2_WORDS, TIME_WORDS, VERSION, fitting, words_per_hop

_TIMES, _LEVEL2 = 0x0C00, 0x0200
"""Bits of the bitmap that ask for times, and for level-2 ports."""


def hop_words(dialect: int, instructions: int) -> int:
    """4-byte words of a hop in a dialect."""
    return int(words_per_hop(instructions, int(TIME_WORDS[dialect]), int(LEVEL2_WORDS[dialect])))


def rivals(dialect: int, instructions: int) -> tuple[list[str], list[str]]:
    """Other dialects that fit the same lengths: (those that read the values the same, those that read them otherwise).

    Dialects that differ in flags or unused items only are no rivals: lengths do not speak for them.
    """
    same: list[str] = []
    other: list[str] = []
    words = hop_words(dialect, instructions)
    for number, entry in enumerate(DIALECTS):
        if number in (0, dialect) or entry.flags_at != DIALECTS[dialect].flags_at or entry.unused != DIALECTS[dialect].unused:
            continue
        if fitting(int(LAYOUT[dialect]), int(VERSION[dialect]), instructions, words, 0, number)[0] == number:
            (same if _widths(number, instructions) == _widths(dialect, instructions) else other).append(entry.name)
    return same, other


def _widths(dialect: int, instructions: int) -> tuple[int, int]:
    """Words of times and of level-2 ports, 0 where the bitmap does not ask for them."""
    return (
        int(TIME_WORDS[dialect]) if instructions & _TIMES else 0,
        int(LEVEL2_WORDS[dialect]) if instructions & _LEVEL2 else 0,
    )
