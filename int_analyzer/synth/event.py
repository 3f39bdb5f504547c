"""What is to happen, in order of time: a binary heap of pairs (time, what) in `World.heap`; what = place of a record × 16 + kind."""

from __future__ import annotations

from int_analyzer._jit import kernel
from int_analyzer.synth.state import EVENTS, World

ARRIVE, FREE, READY, POST, RESPOND, TIMER, PAUSE, RESUME, DRAINED = range(9)
"""Packet is wholly at its link's end · link can send again · context may send · message is posted · responses to a READ may start ·
context looks for progress · link is paused, goes on · a slow host looks whether it has room."""


@kernel
def push(w: World, time: int, kind: int, record: int) -> None:
    """Let `kind` happen to a record at `time`."""
    heap = w.heap
    at = w.state[EVENTS]
    w.state[EVENTS] = at + 1
    while at > 0:
        parent = (at - 1) >> 1
        if heap[2 * parent] <= time:
            break
        heap[2 * at] = heap[2 * parent]
        heap[2 * at + 1] = heap[2 * parent + 1]
        at = parent
    heap[2 * at] = time
    heap[2 * at + 1] = record * 16 + kind


@kernel
def drop_first(w: World) -> None:
    """Take the first event off the heap."""
    heap = w.heap
    count = w.state[EVENTS] - 1
    w.state[EVENTS] = count
    time, what = heap[2 * count], heap[2 * count + 1]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and heap[2 * child + 2] < heap[2 * child]:
            child += 1
        if heap[2 * child] >= time:
            break
        heap[2 * at] = heap[2 * child]
        heap[2 * at + 1] = heap[2 * child + 1]
        at = child
    heap[2 * at] = time
    heap[2 * at + 1] = what
