"""Which part of the RoCEv2 connections a sidecar follows at a time; a turn is a slice, one second."""

from __future__ import annotations

from typing import NamedTuple


class Polling(NamedTuple):
    """`part` of `of` subsets are followed at a time."""

    part: int = 1
    of: int = 1

    @property
    def mode(self) -> str:
        """Its name on the command line, in JSON and in metrics."""
        return "full" if self.part == self.of else "polling"


FULL = Polling()
USUAL = Polling(1, 8)
"""Every connection has a turn in the ten seconds that are judged."""
MOST_SUBSETS = 1024
AUTO = "auto"


def parse_polling(text: str) -> Polling | None:
    """`full`, `polling` or `polling:1/8`; None for `auto`: all as long as that can be done. Raises ValueError."""
    if text == AUTO:
        return None
    mode, colon, share = text.partition(":")
    if text == FULL.mode:
        return FULL
    if mode == USUAL.mode and not colon:
        return USUAL
    part, _, of = share.partition("/")
    if mode == USUAL.mode and part.isdecimal() and of.isdecimal() and 0 < int(part) < int(of) <= MOST_SUBSETS:
        return Polling(int(part), int(of))
    raise ValueError(f"{text!r} is neither auto nor full nor polling nor polling:N/M with 0 < N < M ≤ {MOST_SUBSETS}")
