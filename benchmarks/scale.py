"""What a large fabric costs against a small one: time per packet in the fold, size of the state, and what comes after the fold.

python -m benchmarks.scale BATCHES     (LEAST, if that is more)

Both fabrics are folded in turns, some batches of one and some of the other, with the same kind of packets (batches.py). Time is that of
all packets, first ones of a flow, path and queue included, and the median of the turns in the last quarter: a turn is long enough to count
what was put off in it. The size of a state is bounded by its fabric, so it is told per queue (counters, histograms, and hops put off; time
buckets have a bound of their own) and per flow (flows and paths): memory of all arrays, used or not.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.batches import LARGE, SMALL, Batches, Size
from int_analyzer.analysis.summarise import summarise
from int_analyzer.columns import PACKETS_PER_BATCH
from int_analyzer.fold.state import State
from int_analyzer.profile import Profile

TURN = 20
"""Batches of one fabric before it is the other's turn."""
LEAST = 600
"""Of fewer batches most packets of the large fabric would be among the first of their flow, path and queue, and flows would be missing."""


class Run:
    """A fabric's batches folded into a state, and what each batch cost."""

    def __init__(self, size: Size) -> None:
        self.batches = Batches(size)
        self.state = State()
        self.spent: list[int] = []

    def take_turn(self, count: int) -> None:
        """Fold so many batches more."""
        for _ in range(count):
            columns = self.batches.next()
            started = time.process_time_ns()
            self.state.fold(columns)
            self.spent.append(time.process_time_ns() - started)

    def result(self) -> dict[str, float]:
        """Nanoseconds per packet, bytes, and seconds."""
        state, spent = self.state, np.array(self.spent) / PACKETS_PER_BATCH
        turns = spent[: len(spent) // TURN * TURN].reshape(-1, TURN).mean(axis=1)
        queues, flows, put_off = len(state.queues.table), len(state.flows.table), bytes_of(state._backlog)
        view, viewing = _timed(state.view)
        _, judging = _timed(lambda: summarise(view, Profile()))
        return {
            "packets": len(spent) * PACKETS_PER_BATCH,
            "cpu_ns_per_packet": round(float(spent.mean()), 1),
            "steady_cpu_ns_per_packet": round(float(np.median(turns[-len(turns) // 4 :])), 1),
            "queues": queues,
            "flows": flows,
            "state_mb": round(bytes_of(state) / 1e6, 1),
            "bytes_per_queue": round((bytes_of(state.queues) - bytes_of(state.queues.buckets) + put_off) / queues),
            "bytes_per_flow": round((bytes_of(state.flows) + bytes_of(state.paths)) / flows),
            "view_seconds": round(viewing, 2),
            "summarise_seconds": round(judging, 2),
        }


def bytes_of(part: Any) -> int:
    """Memory of all arrays in a part of a state."""
    if isinstance(part, np.ndarray):
        return part.nbytes
    return sum(map(bytes_of, vars(part).values())) if hasattr(part, "__dict__") else 0


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    result = function()
    return result, time.process_time() - started


def measure(batches: int) -> dict[str, dict[str, float]]:
    """Fold so many batches of each fabric."""
    # the first fold compiles
    Run(SMALL).take_turn(1)
    runs = {"small": Run(SMALL), "large": Run(LARGE)}
    for folded in range(0, batches, TURN):
        for run in runs.values():
            run.take_turn(min(TURN, batches - folded))
    return {name: run.result() for name, run in runs.items()}


if __name__ == "__main__":
    print(json.dumps(measure(max(int(sys.argv[1]), LEAST))))
