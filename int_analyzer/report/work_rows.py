"""Slow messages, jobs and hosts as Arrow rows: columns are the fields of their dataclasses, their meanings those of the JSON document.

A slow message has a row for each part of its time (one, without a part, if that is not known), a job one for each of its members.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from int_analyzer.analysis import summary as parts
from int_analyzer.analysis.summary import DelayPart, HostSummary, JobSummary, MessageDelay
from int_analyzer.report.json_document import MEANINGS
from int_analyzer.schema import SCHEMA_VERSION

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
_CLASSES = {
    "messages": (("MessageDelay", ""), ("DelayPart", ""), ("Port", "")),
    "jobs": (("JobSummary", ""), ("Quantiles", "step_"), ("JobMember", ""), ("Quantiles", "host_step_")),
    "hosts": (("HostSummary", ""),),
}
"""Classes that make a row, and what their columns begin with. Fields that are objects are left out; lists of words are one text."""
TABLES = tuple(_CLASSES)


def columns(table: str) -> dict[str, tuple[pa.DataType, str]]:
    """Type and meaning of each column of "messages", "jobs" or "hosts", in order."""
    return {
        f"{prefix}{field}": (kind, MEANINGS[name][field]) for name, prefix in _CLASSES[table] for field, kind in _plain_fields(name).items()
    }


def message_rows(delays: Sequence[MessageDelay]) -> pa.RecordBatch:
    """A row per part of every slow message."""
    untold: list[DelayPart | None] = [None]
    told = ((delay, part) for delay in delays for part in delay.parts or untold)
    return _batch("messages", ((delay, part, part.at if part is not None else None) for delay, part in told))


def job_rows(jobs: Sequence[JobSummary]) -> pa.RecordBatch:
    """A row per member of every job."""
    return _batch("jobs", ((job, job.step, member, member.step) for job in jobs for member in job.members))


def host_rows(hosts: Sequence[HostSummary]) -> pa.RecordBatch:
    """A row per host."""
    return _batch("hosts", ((host,) for host in hosts))


def _plain_fields(name: str) -> dict[str, pa.DataType]:
    hints = typing.get_type_hints(getattr(parts, name))
    found = {}
    for field in dataclasses.fields(getattr(parts, name)):
        kinds = (*typing.get_args(hints[field.name]), hints[field.name])
        plain = next((kind for kind in kinds if kind in _TYPES), None)
        if plain is not None:
            found[field.name] = _TYPES[plain]
    return found


def _batch(table: str, rows: Iterable[tuple[Any, ...]]) -> pa.RecordBatch:
    known = columns(table)
    arrow = pa.schema(
        [pa.field(name, kind, metadata={"doc": meaning}) for name, (kind, meaning) in known.items()],
        metadata={"table": table, "schema_version": SCHEMA_VERSION},
    )
    values = [list(_values(table, row)) for row in rows]
    return pa.RecordBatch.from_arrays(
        [pa.array([row[at] for row in values], type=field.type) for at, field in enumerate(arrow)], schema=arrow
    )


def _values(table: str, row: tuple[Any, ...]) -> Iterator[Any]:
    for (name, _), part in zip(_CLASSES[table], row, strict=True):
        for field in _plain_fields(name):
            value = getattr(part, field) if part is not None else None
            yield "; ".join(value) if isinstance(value, list) else value
