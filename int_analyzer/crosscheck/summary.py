"""What a cross-check came to, as lines to read and as a JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from int_analyzer.crosscheck.comparison import Difference, Outcome


def lines(outcome: Outcome) -> Iterator[str]:
    """The summary, label and text on each line."""
    captures = "1 capture" if len(outcome.files) == 1 else f"{len(outcome.files)} captures"
    yield _line("compared", f"{outcome.packets} packets of {captures} with {outcome.tshark}")
    by_table = ", ".join(f"{table} {count}" for table, count in sorted(outcome.values.items()))
    yield _line("values", f"{outcome.values.total()}" + (f" ({by_table})" if by_table else ""))
    yield _line("differences", str(outcome.differences) if outcome.differences else "none")
    for position, (reason, count) in enumerate(outcome.unread.most_common()):
        yield _line("" if position else "not compared", f"{count} × {reason}")
    for position, note in enumerate(outcome.notes):
        yield _line("" if position else "note", note)


def document(outcome: Outcome, differences: Sequence[Difference]) -> dict[str, Any]:
    """The summary and the differences for JSON; packets count from 0."""
    return {
        "tshark": outcome.tshark,
        "files": outcome.files,
        "packets": outcome.packets,
        "values": dict(sorted(outcome.values.items())),
        "difference_count": outcome.differences,
        "differences": [difference._asdict() for difference in differences],
        "not_compared": dict(outcome.unread.most_common()),
        "notes": outcome.notes,
    }


def _line(label: str, text: str) -> str:
    return f"{label:<13} {text}"
