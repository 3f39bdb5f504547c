"""The slow, obvious twin of the connection tracker: unwrapped PSNs, dictionaries and lists, nothing shared with the kernel but limits.

Written from the rules of the transport (IBTA Vol.1 ch. 9, Annex A17) and the definitions of the measures. `fill` puts packets into columns;
`expected` says what a state must know, `known` brings a view into the same form.
"""

from __future__ import annotations

from .batch import fill, folded
from .expectation import expected, expected_in_turns, expected_marks
from .knowledge import known, known_marks
from .packet import START, US, WRAP, Packet, name

__all__ = [
    "START",
    "US",
    "WRAP",
    "Packet",
    "expected",
    "expected_in_turns",
    "expected_marks",
    "fill",
    "folded",
    "known",
    "known_marks",
    "name",
]
