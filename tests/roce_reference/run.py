"""Packets of one message."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Run:
    """Packets of what may be one message: first and next PSN (unwrapped), and what was seen of them."""

    first: int
    next: int
    kind: str
    started: bool
    ended: bool
    size: int
    times: list[int]
    length: int = 0
    timed: tuple[int, int] | None = None
    again: int = 0

    def takes(self, other: Run) -> bool:
        """Whether nothing but packets of this message can lie between this run and the next."""
        if self.ended or other.started or self.kind != other.kind:
            return False
        return other.first - self.next <= 1 or other.first - self.first < self.length

    def take(self, other: Run) -> None:
        self.next = other.next
        self.ended |= other.ended
        self.size += other.size
        self.times += other.times
        self.again += other.again
        self.timed = self.timed or other.timed
