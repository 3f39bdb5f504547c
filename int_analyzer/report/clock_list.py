"""Clocks as lines: offset and drift of each node with their errors, and whose clock was set."""

from __future__ import annotations

from int_analyzer.analysis.summary import Clock, Summary
from int_analyzer.report.figure import NONE, clock, node, quantity, things
from int_analyzer.report.grid import Grid


def known_clocks(summary: Summary) -> list[Clock]:
    """Those of which anything can be said, with the references; none if that is all."""
    said = [entry for entry in summary.clocks if entry.how in ("reference", "both directions") or entry.drift_ppm is not None]
    return said if any(entry.how != "reference" for entry in said) else []


def clock_lines(summary: Summary, top: int) -> list[str]:
    """A header, a line for each of at most `top` nodes of which something is known, and the faults; nothing if nothing is."""
    known = known_clocks(summary)
    if not known:
        return []
    grid = Grid(right=(1, 2))
    grid.add("", "offset", "drift (ppm)", "")
    # Those that were set and those far off first.
    for entry in sorted(known, key=lambda entry: (entry.step is None, entry.offset is None, -abs(entry.offset or 0)))[:top]:
        grid.add(node(entry.node), _offset(entry), _drift(entry), _how(entry))
    lines = grid.lines()
    faults = summary.quality.clock_faults if summary.quality is not None else 0
    if faults:
        lines.append(f"in {things(faults, 'window')} of links packets come before they were sent: a fault of clocks, not judged")
    return lines


def _offset(entry: Clock) -> str:
    if entry.offset is None:
        return NONE
    if entry.how == "reference":
        return "0"
    return f"{quantity(entry.offset, entry.unit)} ± {quantity(entry.error, entry.unit)}"


def _drift(entry: Clock) -> str:
    if entry.drift_ppm is None or entry.how == "reference":
        return NONE
    # no −0.00
    drift = f"{round(entry.drift_ppm, 2) + 0.0:.2f}"
    return f"{drift} ± {entry.drift_error_ppm:.2f}" if entry.drift_error_ppm is not None else drift


def _how(entry: Clock) -> str:
    return entry.how if entry.step is None else f"{entry.how}, set by {quantity(entry.step, entry.unit)} at {clock(entry.step_ns)}"
