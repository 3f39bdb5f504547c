"""A score in one sentence: what was named, what was made to happen, and how far apart they are in time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from int_analyzer.analysis.summary import Summary
from int_analyzer.report import figure
from int_analyzer.scoring.score import Score
from int_analyzer.scoring.truth import Truth

_LONG_WAIT_NS = 100_000_000
"""A switch that waited so long for a processor is told: its ports stood still, and a finding that says so is not false."""


def sentence_of(summary: Summary, truth: Truth, score: Score) -> str:
    """For example: named first: l1 port l1-h2, 6.31 ms from when it began; made to congest: l1 port l1-h2."""
    first = next(iter(summary.findings), None)
    said = "nothing found" if first is None else f"named first: {first.node} port {first.port}"
    if score.start_error_ns is not None:
        said += f", {figure.duration(score.start_error_ns)} from when it began"
    kinds = {happening.kind for happening in truth.events}
    told = [f"{event.kind} at {event.node} port {event.port}" for event in summary.events if event.kind in kinds]
    made = sorted({_place(entry) for entry in truth.document["congested"]})
    happened = [f"{entry['kind']} at {_place(entry['ports'][0])}" for entry in truth.document.get("events", ())]
    parts = [said, f"made to congest: {' and '.join(made) or 'nothing'}"]
    if kinds:
        parts += [f"told: {' and '.join(told) or 'nothing'}", f"made to happen: {' and '.join(happened)}"]
    for name, waited_ns in truth.document.get("waited_for_processor_ns", {}).items():
        if waited_ns >= _LONG_WAIT_NS:
            parts.append(f"this machine let {name} wait for {figure.duration(waited_ns)}")
    return "; ".join(parts)


def _place(entry: Mapping[str, Any]) -> str:
    return f"{entry['node']} port {entry['port']}"
