"""The program that sends: flows at held rates through sockets that it is given, for a time that the plan bounds.

    python -m int_analyzer.lab.sender < plan.json > sent.json

It speaks to nobody but the sockets: which network they belong to was decided by who made them.
"""

from __future__ import annotations

import heapq
import json
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from int_analyzer.lab.frame import Flow

_SECOND = 1_000_000_000
_LONGEST_SLEEP_S = 0.05
_TOO_LATE_NS = 10_000_000


def main() -> None:
    """Read the plan, send, say how many packets of each flow went out and how many were left out."""
    plan = json.load(sys.stdin)
    streams = [_Stream(plan["start_ns"], entry) for entry in plan["streams"]]
    _send(streams)
    json.dump({"sent": [stream.sent for stream in streams], "skipped": sum(stream.skipped for stream in streams)}, sys.stdout)


class _Stream:
    """A flow, its socket, and the times at which its packets are due."""

    def __init__(self, start_ns: int, entry: dict[str, Any]) -> None:
        self.socket = socket.socket(fileno=entry["socket"])
        self.frames = Flow(**entry["flow"]).frames()
        self.due = due_times(start_ns, entry["phases"], entry["offset"])
        self.sent = 0
        self.skipped = 0


def due_times(start_ns: int, phases: Sequence[tuple[float, float, float]], offset: float) -> Iterator[int]:
    """When packets are due in phases (begin and end in seconds from the start, packets a second), evenly spaced in each; the first after
    `offset` (0 to 1) of the space between two."""
    for begin_s, end_s, rate in phases:
        for number in range(int((end_s - begin_s) * rate)):
            yield start_ns + int((begin_s + (number + offset) / rate) * _SECOND)


def _send(streams: Sequence[_Stream]) -> None:
    """Send every packet when it is due. What could not be sent in time is left out: sent late and all at once, it would be a burst
    that no scenario asks for."""
    waiting = []
    for index, stream in enumerate(streams):
        first = next(stream.due, None)
        if first is not None:
            waiting.append((first, index))
    heapq.heapify(waiting)
    while waiting:
        due, index = waiting[0]
        ahead = due - time.time_ns()
        if ahead > 0:
            time.sleep(min(ahead / _SECOND, _LONGEST_SLEEP_S))
            continue
        stream = streams[index]
        if ahead < -_TOO_LATE_NS:
            stream.skipped += 1
        else:
            stream.socket.send(next(stream.frames))
            stream.sent += 1
        following = next(stream.due, None)
        if following is None:
            heapq.heappop(waiting)
        else:
            heapq.heapreplace(waiting, (following, index))


if __name__ == "__main__":
    main()
