"""Polling: a part of the connections is followed at a time, in turns, so that what packets cost stays bounded whatever the load.

A packet names only one of the two queue pairs of its connection; what it and its answers have in common are their hosts. So subsets are
of pairs of hosts, by a hash that is the same in both directions. In turn n the subsets n · followed … + followed − 1 (modulo their
number) are followed; in turns that follow all of them everything goes on as if there were no turns. What the beginning or end of another
turn cuts is not whole, and not measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.columns import get
from int_analyzer.fold.hashing import FACTOR_0, FACTOR_1, mixed, product
from int_analyzer.fold.view import TrackingView

# Words of `work` (direction.py).
SUBSETS, FIRST_SUBSET, FOLLOWED, PASSED = 5, 6, 7, 21
"""Number of subsets, the first of this turn, how many are followed; packets of others that passed."""

_SEVERAL = -1


@inlined
def is_followed(columns: Any, packet: int, work: Any) -> bool:
    """Whether it is the turn of this packet's connection."""
    if work[FOLLOWED] == work[SUBSETS]:
        return True
    src_hi, src_lo = get(columns, "packets.src_hi", packet), get(columns, "packets.src_lo", packet)
    dst_hi, dst_lo = get(columns, "packets.dst_hi", packet), get(columns, "packets.dst_lo", packet)
    # whichever of both is the source
    hashed = mixed(product(src_hi, FACTOR_0) ^ product(src_lo, FACTOR_1)) ^ mixed(product(dst_hi, FACTOR_0) ^ product(dst_lo, FACTOR_1))
    # a part of 2^32 instead of a remainder: division is slow
    behind = (((hashed & 0xFFFFFFFF) * work[SUBSETS]) >> 32) - work[FIRST_SUBSET]
    if behind < 0:
        behind += work[SUBSETS]
    followed: bool = behind < work[FOLLOWED]
    return followed


class Turns:
    """What a state has followed. number: its turn, or that of several; packets: RoCEv2 packets that came, `passed` of them not followed.

    followed: subsets of a turn, the fewest of several; offered: packets × subsets of their turn; had int64[subsets]: 1 for every subset
    that had its turn while packets came.
    """

    def __init__(self, subsets: int, followed: int, number: int) -> None:
        self.subsets = subsets
        self.followed = followed
        self.number = number
        self.packets = 0
        self.passed = 0
        self.offered = 0
        self.had: Any = np.zeros(subsets, dtype=np.int64)

    @property
    def whole(self) -> bool:
        """Whether everything was followed."""
        return self.followed == self.subsets

    @property
    def first(self) -> int:
        """The first subset of this turn."""
        return self.number * self.followed % self.subsets

    def count(self, packets: int, passed: int) -> None:
        """Count packets that have come in this turn."""
        self.packets += packets
        self.passed += passed
        self.offered += packets * self.followed
        if packets:
            self.had[(self.first + np.arange(self.followed)) % self.subsets] = 1

    def joins(self, other: Turns) -> bool:
        """Whether what is open in one state may go on in the other: both are of the same turn, or follow everything."""
        alone = self.packets == 0 or other.packets == 0
        return alone or (self.whole and other.whole) or (self.number == other.number and self.number != _SEVERAL)

    def merge(self, other: Turns) -> None:
        """Absorb the turns of another state."""
        if self.packets == 0:
            self.number, self.followed = other.number, other.followed
        elif other.packets:
            if self.number != other.number or self.followed != other.followed:
                self.number = _SEVERAL
            self.followed = min(self.followed, other.followed)
        self.packets += other.packets
        self.passed += other.passed
        self.offered += other.offered
        self.had |= other.had

    def copy(self) -> Turns:
        """An independent copy."""
        other = Turns(self.subsets, self.followed, self.number)
        other.packets, other.passed, other.offered, other.had = self.packets, self.passed, self.offered, self.had.copy()
        return other

    def view(self) -> TrackingView:
        """How much was followed."""
        if self.whole:
            return TrackingView()
        return TrackingView(
            polled=True,
            time_share=(self.offered / self.packets if self.packets else self.followed) / self.subsets,
            connections_share=float(self.had.mean()),
            packets_share=1 - self.passed / self.packets if self.packets else None,
        )
