"""Damage of a capture: what was found broken, where, and how much could not be read for it. Never raised, always reported."""

from __future__ import annotations

from dataclasses import dataclass

DAMAGED = "damaged"
"""Bytes that no capture can have: what follows is lost up to the next section, or up to the end."""
TRUNCATED_TAIL = "truncated tail"
"""The capture ends inside a record, as one does whose writer was stopped."""
BROKEN_STREAM = "broken stream"
"""The compressed file or the pipe ends early or cannot be unpacked further."""
UNUSABLE_INTERFACE = "unusable interface"
"""An interface description asks for something impossible: its packets are read, but without times or names."""


@dataclass(slots=True)
class Damage:
    """Where (offset in the unpacked capture), why, which kind, and how many bytes were passed over (None: not known)."""

    offset: int
    reason: str
    kind: str = DAMAGED
    lost_bytes: int | None = 0

    def __str__(self) -> str:
        lost = "the rest was not read" if self.lost_bytes is None else f"{self.lost_bytes} bytes not read" if self.lost_bytes else ""
        return f"at byte {self.offset}: {self.reason}" + (f" ({lost})" if lost else "")
