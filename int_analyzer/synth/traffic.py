"""What hosts have to say to each other: connections, messages, what must be there before a message is sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from int_analyzer.synth.state import READ, SEND, WRITE

KINDS = {"send": SEND, "write": WRITE, "read": READ}
NOT_BY_TIME = -1


@dataclass
class Connection:
    """Two directed flows between a pair of queue pairs.

    `cap_bps` is what the sending application offers at most (0: line rate), `port` the UDP source port of the first (None: any).
    """

    source: int
    target: int
    cap_bps: int = 0
    port: int | None = None


@dataclass
class Message:
    """A message on a directed flow, posted at a time or some time after others are complete.

    `think_ns`: how long who is asked to READ takes before the first response.
    """

    flow: int
    size: int
    kind: str
    at_ns: int
    after: tuple[int, ...]
    delay_ns: int
    think_ns: int


@dataclass
class Traffic:
    """Connections and messages, each named by its number."""

    connections: list[Connection] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def connect(self, source: int, target: int, cap_bps: float = 0, port: int | None = None) -> int:
        """A new connection between two hosts; returns the flow from `source` to `target` (the other one is that + 1)."""
        self.connections.append(Connection(source, target, int(cap_bps), port))
        return 2 * len(self.connections) - 2

    def send_at(self, at_ns: float, flow: int, size: int, kind: str = "write") -> int:
        """A message posted at a time."""
        self.messages.append(Message(flow, size, kind, max(int(at_ns), 0), (), 0, 0))
        return len(self.messages) - 1

    def send_after(self, after: Iterable[int], flow: int, size: int, kind: str = "write", delay_ns: float = 0, think_ns: float = 0) -> int:
        """A message posted `delay_ns` after all messages `after` are complete."""
        self.messages.append(Message(flow, size, kind, NOT_BY_TIME, tuple(after), int(delay_ns), int(think_ns)))
        return len(self.messages) - 1
