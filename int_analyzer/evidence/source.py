"""Where counters come from, and all sources of an analysis read together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from int_analyzer.evidence.series import Counters


class CounterSource(Protocol):
    """A file, a Prometheus, or what else knows counters."""

    def read(self, start_ns: int, end_ns: int) -> Counters:
        """Counters of a time, ns since 1970, and of some time around it."""
        ...


def read_counters(sources: Sequence[CounterSource], span: tuple[int, int] | None) -> Counters | None:
    """What all sources say of a time, ns since 1970; None without sources, nothing of a capture without times."""
    if not sources:
        return None
    counters = Counters()
    if span is not None:
        for source in sources:
            counters = counters.joined(source.read(*span))
    return counters
