"""Following a part of the connections for a while, because following all of them is more than the machine can do.

Packets that are lost say so at once, a processor that is busy when it has been for some seconds. Whether all can be followed again is
found out by trying: after some calm time, and after twice as long each time that it was too early.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from int_analyzer.report import figure
from int_analyzer.sidecar.polling import USUAL, Polling
from int_analyzer.sidecar.sliding import SECOND_NS

if TYPE_CHECKING:
    from int_analyzer.sidecar.worker import Worker

ALL = Polling(USUAL.of, USUAL.of)
"""All connections, in as many subsets as there are when they are polled: states of both merge."""
BUSY, BUSY_SECONDS = 0.8, 3
"""Share of a processor, in so many seconds in a row, that is too much."""
CALM = 0.4
"""Share of a processor up to which a second is calm."""
HOLD_NS, LONGEST_HOLD_NS = 30 * SECOND_NS, 960 * SECOND_NS
"""So long a calm has to last."""


class Relief:
    """Decides every second. reason: why a part is followed, "" while all are; switches: changes so far, there and back."""

    def __init__(self) -> None:
        self.reason = ""
        self.switches = 0
        self._hold_ns = HOLD_NS
        self._busy_seconds = 0
        self._since_ns = 0
        """Where the calm began, or where all were followed again."""

    @property
    def connections(self) -> Polling:
        """What to follow."""
        return USUAL if self.reason else ALL

    def describe(self) -> str:
        """What is followed, and why not all."""
        if not self.reason:
            return "all are followed"
        return f"{self.connections.part} of {self.connections.of} parts at a time are followed: {self.reason}"

    def look(self, now_ns: int, followable: int, lost: int, busy: float) -> bool:
        """Take in what the last second was like: whether this changes what to follow.

        followable: RoCEv2 packets that came; lost: packets that were not folded; busy: share of a processor of the busiest source.
        """
        self._busy_seconds = self._busy_seconds + 1 if busy > BUSY else 0
        if self.reason:
            if lost or busy > CALM or now_ns < self._since_ns:
                self._since_ns = now_ns
            elif now_ns - self._since_ns >= self._hold_ns:
                return self._switch(now_ns, "")
            return False
        if followable and lost:
            return self._switch(now_ns, f"{figure.things(lost, 'packet')} lost in a second")
        if followable and self._busy_seconds >= BUSY_SECONDS:
            return self._switch(now_ns, f"{figure.share(busy)} of a processor for {BUSY_SECONDS} seconds")
        return False

    def _switch(self, now_ns: int, reason: str) -> bool:
        if reason and self.switches:
            early = now_ns - self._since_ns < self._hold_ns
            self._hold_ns = min(2 * self._hold_ns, LONGEST_HOLD_NS) if early else HOLD_NS
        self.reason, self._since_ns, self._busy_seconds = reason, now_ns, 0
        self.switches += 1
        return True


class Load:
    """What the sources lose, and what they take of a processor, between two looks."""

    def __init__(self) -> None:
        self._lost = 0
        self._busy_s: list[float] = []
        self._at = time.monotonic()

    def look(self, workers: Sequence[Worker]) -> tuple[int, float]:
        """Packets lost since the last look, and the share of a processor of the busiest source."""
        lost = sum(worker.intake.losses.kernel + worker.intake.losses.own for worker in workers)
        busy_s = [worker.decode_s + worker.fold_s for worker in workers]
        now = time.monotonic()
        spent = [after - before for after, before in zip(busy_s, self._busy_s or [0.0] * len(busy_s), strict=True)]
        found = lost - self._lost, max(spent, default=0.0) / max(now - self._at, 1e-9)
        self._lost, self._busy_s, self._at = lost, busy_s, now
        return found
