"""What every live source counts, and how the decoder asks it for windows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from int_analyzer.capture.source import Window


@dataclass(slots=True)
class Losses:
    """Packets that never reached the decoder, by who let go of them.

    kernel: the ring or the socket's buffer was full; frozen: times that the ring was full; own: in blocks that the sidecar shed.
    """

    kernel: int = 0
    frozen: int = 0
    own: int = 0


class Intake(Protocol):
    """A source of windows that ends when it is told to (`stop`), or when its capture does.

    name: as it is called in metrics; clock: whose times its packets have, and behind a colon why; losses: up to date after every window;
    fault: what keeps it from reading at the moment, "" if nothing does; unmet: what it was asked for and cannot do, though it reads.
    """

    name: str
    losses: Losses
    fault: str

    @property
    def clock(self) -> str: ...

    @property
    def unmet(self) -> str: ...

    def windows(self) -> Iterator[Window]: ...

    def control(self, window: Window) -> bool: ...

    def damage(self, offset: int, reason: str) -> None: ...

    def finish(self, window: Window) -> None: ...

    def stop(self) -> None: ...


class Stopping:
    """A flag that a source looks at while it waits."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def __bool__(self) -> bool:
        return self._asked.is_set()

    def ask(self) -> None:
        """Ask to stop; may be called from any thread."""
        self._asked.set()

    def sleep(self, seconds: float) -> None:
        """Wait, but not longer than until somebody asks to stop."""
        self._asked.wait(seconds)
