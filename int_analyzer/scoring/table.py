"""Many scores, by scenario and together: the table that is printed and the JSON document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from int_analyzer.scoring.score import Score

CALIBRATION_EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 1.0)
"""Findings are grouped by the confidence that they were said with."""


@dataclass(frozen=True)
class Row:
    """Scores of one scenario together. Shares are 0…1, None where no truth asks for them; start errors are those of right first roots.

    false_per_second: findings that are wrong ÷ seconds of capture. clock_error_max_ns: of the offset of any clock. clock_faults: windows in
    which packets came before they were sent, by the clocks as they were estimated.
    """

    scenario: str
    runs: int
    top1: float
    recall: float | None
    false_findings: int
    false_per_second: float | None
    confused: int
    start_error_p50_ns: int | None
    start_error_max_ns: int | None
    cause: float | None
    culprit_precision: float | None
    culprit_recall: float | None
    events_found: float | None
    hosts_found: float | None
    clock_error_max_ns: int | None
    clock_faults: int


@dataclass(frozen=True)
class Bin:
    """Findings said with a confidence from `low` to `high`: how many, their mean confidence, and how many of them were right."""

    low: float
    high: float
    findings: int
    confidence: float
    right: float


def rows_of(scores: Iterable[tuple[str, Score]]) -> list[Row]:
    """A row for every scenario, in the order in which they first come."""
    by_scenario: dict[str, list[Score]] = defaultdict(list)
    for scenario, entry in scores:
        by_scenario[scenario].append(entry)
    return [_row(scenario, entries) for scenario, entries in by_scenario.items()]


def total_of(scores: Sequence[tuple[str, Score]]) -> Row:
    """All scores as one row."""
    return _row("all", [entry for _, entry in scores])


def calibration_of(scores: Iterable[tuple[str, Score]]) -> list[Bin]:
    """How often findings were right, by the confidence that they were said with."""
    judged = [pair for _, entry in scores for pair in entry.judged]
    bins = []
    for low, high in pairwise(CALIBRATION_EDGES):
        within = [(confidence, right) for confidence, right in judged if low <= confidence < high or confidence == high == 1.0]
        if within:
            mean = sum(confidence for confidence, _ in within) / len(within)
            bins.append(Bin(low, high, len(within), mean, sum(right for _, right in within) / len(within)))
    return bins


def document_of(scores: Sequence[tuple[str, Score]], about: dict[str, Any]) -> dict[str, Any]:
    """The JSON document: top1 and false findings of healthy traffic, then a row for every scenario; `about` says what was run."""
    rows = rows_of(scores)
    healthy = [row for row in rows if row.scenario.startswith("healthy")]
    return {
        "top1": total_of(scores).top1 if scores else None,
        "false_findings_healthy": sum(row.false_findings for row in healthy) if healthy else None,
        "scenarios": [asdict(row) for row in rows],
        "calibration": [asdict(entry) for entry in calibration_of(scores)],
        **about,
    }


def _row(scenario: str, scores: list[Score]) -> Row:
    seconds = sum(entry.seconds for entry in scores)
    errors = [entry.start_error_ns for entry in scores if entry.start_error_ns is not None]
    false_findings = sum(entry.false_findings for entry in scores)
    return Row(
        scenario=scenario,
        runs=len(scores),
        top1=sum(entry.top1 for entry in scores) / len(scores),
        recall=_mean(entry.recall for entry in scores),
        false_findings=false_findings,
        false_per_second=false_findings / seconds if seconds else None,
        confused=sum(entry.confused for entry in scores),
        start_error_p50_ns=int(median(errors)) if errors else None,
        start_error_max_ns=max(errors, default=None),
        cause=_mean(None if entry.cause is None else float(entry.cause) for entry in scores),
        culprit_precision=_mean(entry.culprit_precision for entry in scores),
        culprit_recall=_mean(entry.culprit_recall for entry in scores),
        events_found=_mean(entry.events_found for entry in scores),
        hosts_found=_mean(entry.hosts_found for entry in scores),
        clock_error_max_ns=max((entry.clock_error_ns for entry in scores if entry.clock_error_ns is not None), default=None),
        clock_faults=sum(entry.clock_faults for entry in scores),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
