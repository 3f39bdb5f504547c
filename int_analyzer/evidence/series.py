"""Series of counters as the analysis reads them: by metric and place, in order of time, with restarts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from int_analyzer.counter import Metric

NOTABLE = 0.01
"""Steps smaller than this share of the largest do not say when a counter rose: an error now and then is usual."""


@dataclass(frozen=True)
class Rise:
    """By how much a counter rose, between which two readings; and those before and after its notable steps (0: it did not rise)."""

    amount: float
    from_ns: int
    to_ns: int
    first_ns: int
    last_ns: int


@dataclass(frozen=True)
class Series:
    """Readings of one counter: of a port (node and port id) or of a host (address). time_ns int64[n], since 1970; value float64[n]."""

    metric: Metric
    node_id: int | None
    port_id: int | None
    host: str | None
    time_ns: Any
    value: Any

    @property
    def at(self) -> tuple[int, int] | None:
        """(node id, port id); None for a host."""
        return None if self.node_id is None or self.port_id is None else (self.node_id, self.port_id)

    @property
    def interval_ns(self) -> int:
        """Time between two readings, the median; 0 with fewer than two."""
        return int(np.median(np.diff(self.time_ns))) if len(self.time_ns) > 1 else 0

    def rise(self, start_ns: int, end_ns: int) -> Rise | None:
        """How much it rose from the last reading before `start_ns` to the first after `end_ns`; None where readings do not enclose them.

        A value below the one before is that of a counter that began again from 0.
        """
        first = int(np.searchsorted(self.time_ns, start_ns, "right")) - 1
        last = int(np.searchsorted(self.time_ns, end_ns, "left"))
        return self._rise(first, last) if 0 <= first < last < len(self.time_ns) else None

    def mean(self, start_ns: int, end_ns: int) -> float | None:
        """Mean of the readings of a time, else the last one before it unless that is older than two intervals; None without any."""
        within = (self.time_ns >= start_ns) & (self.time_ns <= end_ns)
        if within.any():
            return float(self.value[within].mean())
        before = int(np.searchsorted(self.time_ns, start_ns, "right")) - 1
        fresh = before >= 0 and start_ns - int(self.time_ns[before]) <= 2 * self.interval_ns
        return float(self.value[before]) if fresh else None

    def _rise(self, first: int, last: int) -> Rise:
        steps = np.diff(self.value[first : last + 1])
        steps = np.where(steps < 0, self.value[first + 1 : last + 1], steps)
        rising = np.flatnonzero((steps > 0) & (steps >= NOTABLE * steps.max(initial=0))) + first
        return Rise(
            amount=float(steps.sum()),
            from_ns=int(self.time_ns[first]),
            to_ns=int(self.time_ns[last]),
            first_ns=int(self.time_ns[rising[0]]) if len(rising) else 0,
            last_ns=int(self.time_ns[rising[-1] + 1]) if len(rising) else 0,
        )


@dataclass(frozen=True)
class Counters:
    """All series that were read, from where, and what could not be used.

    strangers: names of series whose place nobody knows. ignored: readings by reason.
    """

    series: list[Series] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)

    def joined(self, other: Counters) -> Counters:
        """Those of two sources."""
        ignored = {reason: self.ignored.get(reason, 0) + other.ignored.get(reason, 0) for reason in sorted({*self.ignored, *other.ignored})}
        return Counters(self.series + other.series, self.sources + other.sources, self.strangers + other.strangers, ignored)

    def of_ports(self, metric: str, ports: Iterable[tuple[int, int]]) -> Iterator[Series]:
        """Series of a metric at some (node, port)s."""
        wanted = set(ports)
        return (one for one in self.series if one.metric.name == metric and one.at in wanted)

    def of_host(self, metric: str, host: str) -> list[Series]:
        """Series of a metric of a host: one for each of its cards, or GPUs."""
        return [one for one in self.series if one.metric.name == metric and one.host == host]

    def of_metric(self, metric: str) -> list[Series]:
        """All series of a metric."""
        return [one for one in self.series if one.metric.name == metric]

    @property
    def interval_ns(self) -> int | None:
        """Time between two readings of the series that is read least often: what times of counters are known to; None without two."""
        return max((one.interval_ns for one in self.series), default=0) or None


def build_series(metric: Metric, place: tuple[int | None, int | None, str | None], times: list[int], values: list[float]) -> Series:
    """A series in order of time; of readings of one time the last that came."""
    time, value = np.array(times, dtype=np.int64), np.array(values, dtype=np.float64)
    order = np.argsort(time, kind="stable")
    time, value = time[order], value[order]
    latest = np.append(time[1:] != time[:-1], True)[: len(time)]
    return Series(metric, *place, time[latest], value[latest])


def add_up(rises: Sequence[Rise]) -> Rise:
    """The rise of several counters together; when, say those of them that rose notably."""
    most = max(rise.amount for rise in rises)
    notable = [rise for rise in rises if rise.first_ns and rise.amount >= NOTABLE * most]
    return Rise(
        amount=sum(rise.amount for rise in rises),
        from_ns=min(rise.from_ns for rise in rises),
        to_ns=max(rise.to_ns for rise in rises),
        first_ns=min((rise.first_ns for rise in notable), default=0),
        last_ns=max((rise.last_ns for rise in notable), default=0),
    )
