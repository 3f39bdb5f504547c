"""The INT header of HPCC: as its simulator writes it, and as its paper draws it."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

Hop = tuple[int, int, int, int]
"""Line rate code, time, transmitted units, queue units."""


def hpcc_simulated(hops: Sequence[Hop], *, count: int | None = None) -> bytes:
    """The simulator's 42 bytes: five places, the oldest hop first; from the sixth on the first place is written again."""
    places = [0] * 5
    for number, (rate, time, sent, queue) in enumerate(hops):
        places[number % 5] = rate | time << 3 | sent << 27 | queue << 47
    return struct.pack("<5QH", *places, len(hops) if count is None else count)


def hpcc_drawn(hops: Sequence[Hop], *, path: int = 0x123, count: int | None = None) -> bytes:
    """The paper's figure: number of hops and path id, then a word pair for every hop."""
    head = struct.pack("!H", (len(hops) if count is None else count) << 12 | path)
    return head + b"".join(struct.pack("!Q", rate << 60 | time << 36 | sent << 16 | queue) for rate, time, sent, queue in hops)


def random_hpcc_hops(rng: random.Random, count: int) -> list[Hop]:
    """Hops whose fields fit both layouts."""
    return [(rng.randrange(5), rng.randrange(1 << 24), rng.randrange(1 << 20), rng.randrange(1 << 16)) for _ in range(count)]
