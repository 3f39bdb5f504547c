"""Counters from outside, asked for now and then in a thread of its own: no tick waits for an answer, and only the last one is kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from int_analyzer.errors import IntAnalyzerError
from int_analyzer.evidence.series import Counters
from int_analyzer.evidence.source import CounterSource, read_counters
from int_analyzer.report import figure
from int_analyzer.sidecar.sliding import SECOND_NS

EVERY_S = 10.0
SPAN_NS = 60 * SECOND_NS
"""What is asked for, up to now; a source may tell of some time around it."""
STALE_S = 60.0
"""An answer that is older says nothing of the seconds that are judged."""


class Inquiry(threading.Thread):
    """Asks once at once, then every `every_s` seconds from its start on. sources: opens them anew for each time, by the profile of then.

    answers and faults: how often one came, or did not. Raises IntAnalyzerError for sources
    that do not answer at the beginning.
    """

    def __init__(self, sources: Callable[[], Sequence[CounterSource]], every_s: float = EVERY_S) -> None:
        super().__init__(name="inquiry", daemon=True)
        self.answers = 0
        self.faults = 0
        self._sources = sources
        self._every_s = every_s
        self._now_ns = time.time_ns()
        self._fault = ""
        self._stopping = threading.Event()
        self._answer: tuple[float, Counters | None] = (0.0, None)
        self._ask()

    @property
    def counters(self) -> Counters | None:
        """The last answer, unless it is too old."""
        came, counters = self._answer
        return counters if time.monotonic() - came < STALE_S else None

    @property
    def fault(self) -> str:
        """Why the last answer did not come, or that none has come for too long; "" if one came."""
        age = time.monotonic() - self._answer[0]
        return self._fault or ("" if age < STALE_S else f"no answer for {age:.0f} s")

    def reach(self, now_ns: int) -> None:
        """The capture clock has come to `now_ns`."""
        self._now_ns = now_ns

    def run(self) -> None:
        """Ask until it is closed; what goes wrong is counted."""
        while not self._stopping.wait(self._every_s):
            try:
                self._ask()
                self._fault = ""
            except IntAnalyzerError as error:
                self.faults += 1
                self._fault = str(error)

    def close(self) -> None:
        """Ask no more; an answer that is under way is not waited for."""
        self._stopping.set()

    def describe(self) -> str:
        """One line of the last answer, or why there is none."""
        if self.fault:
            return f"counters from outside: {self.fault} ({figure.things(self.faults, 'failure')} so far)"
        counters = self.counters
        series = counters.series if counters is not None else []
        readings = sum(len(one.time_ns) for one in series)
        return f"counters from outside: {figure.things(readings, 'reading')} of {figure.count(len(series))} series"

    def _ask(self) -> None:
        counters = read_counters(self._sources(), (self._now_ns - SPAN_NS, self._now_ns))
        self._answer = time.monotonic(), counters
        self.answers += 1
