"""Counters from outside as labelled lines: what was read, what rose, what jobs wait for, and what could not be used."""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer.analysis.outside.outside_summary import CounterRise, OutsideSummary
from int_analyzer.report import figure
from int_analyzer.report.grid import Grid


def outside_lines(outside: OutsideSummary, top: int) -> Iterator[tuple[str, str]]:
    """(label, text) of every line of the section; a label is empty where the line continues the one before."""
    series = " · ".join(f"{name}: {count}" for name, count in sorted(outside.series.items())) or "none"
    yield "counters", f"{', '.join(outside.sources) or 'no source'}: {figure.things(outside.readings, 'reading')} of series {series}"
    grid = Grid(right=(0,))
    for rise in outside.rises[:top]:
        grid.add(f"{rise.amount:.0f}", rise.metric.replace("_", " "), _place(rise), f"{_clock(rise.first_ns)} to {_clock(rise.last_ns)}")
    for position, line in enumerate(grid.lines()):
        yield "" if position else "risen", line
    if len(outside.rises) > top:
        yield "", f"and {len(outside.rises) - top} more (--top)"
    for job in outside.jobs:
        yield "jobs", f"{job.kind} of {job.members}, {job.measured} measured: bound by {job.bound}; {job.reason}"
    if outside.strangers:
        names = ", ".join(outside.stranger_names) + (" …" if outside.strangers > len(outside.stranger_names) else "")
        what = "names" if outside.strangers == 1 else "name"
        yield "strangers", f"{outside.strangers} series {what} no known port or host: {names}"
    for reason, count in sorted(outside.ignored.items()):
        yield "ignored", f"{figure.things(count, 'reading')}: {reason}"
    for position, note in enumerate(outside.notes):
        yield "" if position else "but", note


def _place(rise: CounterRise) -> str:
    return rise.host if rise.host is not None else figure.place(rise.node or "?", rise.port or "?", None)


def _clock(time_ns: int) -> str:
    return figure.clock(time_ns)
