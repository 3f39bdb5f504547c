"""Scores as a table, for a terminal and (with rules) for docs/accuracy.md."""

from __future__ import annotations

from collections.abc import Sequence

from int_analyzer.report import figure
from int_analyzer.report.grid import Grid
from int_analyzer.scoring.score import Score
from int_analyzer.scoring.table import Row, calibration_of, rows_of, total_of

HEADS = (
    "scenario",
    "runs",
    "top-1",
    "roots found",
    "false",
    "victims blamed",
    "start error p50",
    "max",
    "cause right",
    "culprits right",
    "culprits found",
    "events",
    "hosts",
    "clocks off by",
)
_BINS = ("said with", "findings", "mean confidence", "were right")


def score_lines(scores: Sequence[tuple[str, Score]]) -> list[str]:
    """A line for every scenario and one for all, and how sure the findings were against how often they were right."""
    return [*_grid(_scored(scores)), "", *_grid([_BINS, *_bin_cells(scores)])]


def score_tables(scores: Sequence[tuple[str, Score]]) -> list[str]:
    """The same as Markdown."""
    return [*_markdown(_scored(scores)), "", *_markdown([_BINS, *_bin_cells(scores)])]


def _scored(scores: Sequence[tuple[str, Score]]) -> list[tuple[str, ...]]:
    """Heads and rows, without the columns that hold nothing: what none of the scenarios is about."""
    rows = [_cells(row) for row in [*rows_of(scores), total_of(scores)]]
    told = [column for column in zip(HEADS, *rows, strict=True) if any(cell != figure.NONE for cell in column[1:])]
    return list(zip(*told, strict=True))


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.scenario,
        str(row.runs),
        figure.share(row.top1),
        figure.share(row.recall),
        str(row.false_findings),
        str(row.confused),
        figure.duration(row.start_error_p50_ns),
        figure.duration(row.start_error_max_ns),
        figure.share(row.cause),
        figure.share(row.culprit_precision),
        figure.share(row.culprit_recall),
        figure.share(row.events_found),
        figure.share(row.hosts_found),
        figure.duration(row.clock_error_max_ns),
    )


def _bin_cells(scores: Sequence[tuple[str, Score]]) -> list[tuple[str, ...]]:
    return [
        (f"{entry.low:.1f} to {entry.high:.1f}", str(entry.findings), f"{entry.confidence:.2f}", figure.share(entry.right))
        for entry in calibration_of(scores)
    ]


def _grid(rows: Sequence[Sequence[str]]) -> list[str]:
    grid = Grid(right=range(1, len(rows[0])))
    for cells in rows:
        grid.add(*cells)
    return list(grid.lines())


def _markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    head, *lines = [f"| {' | '.join(row)} |" for row in rows]
    return [head, "|" + "---|" + "---:|" * (len(rows[0]) - 1), *lines]
