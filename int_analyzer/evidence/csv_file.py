"""Counters from a CSV file, a reading a row: time, node, port, host, metric, value, and series if there are several (docs/evidence.md)."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from int_analyzer.counter import COLUMNS, METRICS
from int_analyzer.errors import EvidenceError
from int_analyzer.evidence.place import Places
from int_analyzer.evidence.series import Counters, build_series
from int_analyzer.profile import Profile

REQUIRED = ("time", "metric", "value")
SERIES = "series"
"""A column that may be there: tells apart what several cards, GPUs or priorities of one place count."""
UNKNOWN_METRIC, NO_VALUE = "unknown-metric", "no-value"
"""Why a reading is ignored."""
_SECONDS = re.compile(r"\d{1,11}(\.\d*)?")
_LAST_NS = 2**63 - 1


class CsvFile:
    """A file of counters. It is read at once, so that a fault in it shows before a long capture is read. Raises EvidenceError."""

    def __init__(self, path: str | Path, profile: Profile) -> None:
        self._path = str(path)
        try:
            with Path(path).open(newline="", encoding="utf-8-sig") as file:
                self._counters = _read(self._path, csv.reader(file), Places(profile))
        except OSError as error:
            raise EvidenceError(path, error.strerror or str(error)) from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise EvidenceError(path, f"no CSV file: {error}") from error

    def read(self, start_ns: int, end_ns: int) -> Counters:
        """All of its series: what lies far from the capture's time does no harm."""
        return self._counters


def _read(path: str, rows: Iterable[list[str]], places: Places) -> Counters:
    numbered = enumerate(rows, 1)
    _, header = next(numbered, (1, []))
    names = [name.strip() for name in header]
    missing = [name for name in REQUIRED if name not in names]
    if missing or not {"port", "host"} & set(names):
        what = ", ".join(missing) if missing else "node and port, or host"
        raise EvidenceError(path, f"the first line must name the columns {', '.join(COLUMNS)}: there is no {what}")
    column = {name: names.index(name) for name in (*COLUMNS, SERIES) if name in names}
    readings: dict[tuple[str, str, str, str, str], dict[int, float]] = defaultdict(dict)
    ignored: Counter[str] = Counter()
    for line, row in numbered:
        if not row:
            continue
        if len(row) <= max(column.values()):
            raise EvidenceError(path, f"line {line} has {len(row)} columns, the first line {len(names)}")
        text = {name: row[at].strip() for name, at in column.items()}
        if text["metric"] not in METRICS:
            ignored[UNKNOWN_METRIC] += 1
            continue
        value = _number(path, line, text["value"])
        if value is None:
            ignored[NO_VALUE] += 1
            continue
        of_series = readings[text["metric"], text.get("node", ""), text.get("port", ""), text.get("host", ""), text.get(SERIES, "")]
        time_ns = _time_ns(path, line, text["time"])
        if time_ns in of_series:
            raise EvidenceError(path, f"line {line}: a second reading at this time: name what counts at one place in a column {SERIES}")
        of_series[time_ns] = value
    series, strangers = [], []
    for (metric, *names_of_place, _), read in readings.items():
        place = places.find(METRICS[metric], *names_of_place)
        if place is None:
            strangers.append(" ".join((metric, *(name for name in names_of_place if name))))
        else:
            series.append(build_series(METRICS[metric], place, list(read), list(read.values())))
    return Counters(series, [path], strangers, dict(ignored))


def _number(path: str, line: int, text: str) -> float | None:
    """A reading; None where there is none (empty, NaN, beyond all numbers)."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise EvidenceError(path, f"line {line}: value {text!r} is no number") from None
    return value if math.isfinite(value) else None


def _time_ns(path: str, line: int, text: str) -> int:
    """Nanoseconds since 1970, from seconds (any number of decimals) or a time with its zone (RFC 3339)."""
    time_ns = int(Decimal(text) * 1_000_000_000) if _SECONDS.fullmatch(text) else _date_ns(path, line, text)
    if not 0 <= time_ns <= _LAST_NS:
        raise EvidenceError(path, f"line {line}: time {text!r} is too far off")
    return time_ns


def _date_ns(path: str, line: int, text: str) -> int:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise EvidenceError(path, f"line {line}: time {text!r} is neither seconds since 1970 nor 2026-01-31T12:00:00Z") from None
    if time.tzinfo is None:
        raise EvidenceError(path, f"line {line}: time {text!r} has no zone: add Z, or +02:00")
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000
