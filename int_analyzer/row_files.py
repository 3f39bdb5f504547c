"""Rows written out batch by batch: CSV, JSON lines, Parquet, or an aligned table to look at. Memory does not grow with the rows."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from int_analyzer import schema, tables
from int_analyzer.errors import IntAnalyzerError, SourceError
from int_analyzer.output import replacing
from int_analyzer.profile import Profile
from int_analyzer.reading import Batch, Captures, Reading
from int_analyzer.settings import ICRC_SHARE

FORMATS = ("table", "csv", "jsonl", "parquet")
TABLE_ROWS = 50
"""Rows that the table to look at has if nobody says how many."""
ROW_GROUP = 1 << 17

_ENDINGS = {"": "table", "txt": "table", "csv": "csv", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet"}

TELLING = {
    "packets": ("packet", "time_ns", "src", "dst", "src_port", "dst_port", "ecn", "ip_bytes", "formats", "hop_count", "status"),
    "hops": (
        "packet",
        "hop",
        "node_id",
        "ingress_port",
        "egress_port",
        "queue_id",
        "hop_latency_raw",
        "queue_depth_raw",
        "ingress_time_raw",
        "egress_time_raw",
    ),
    "roce": ("packet", "opcode", "dest_qp", "psn", "ack_req", "becn", "fecn", "syndrome", "msn", "dma_bytes", "payload_bytes"),
    "reports": ("packet", "version", "node_id", "hw_id", "sequence", "dropped", "congested", "tracked", "drop_reason"),
    "mirrors": ("packet", "kind", "outer_src", "session_id", "sequence", "vlan_id", "truncated", "timestamp_raw"),
    "options": ("packet", "format", "namespace", "flow_id", "sequence", "time_seconds", "proof_packet_id", "hop_latency_raw"),
}
"""Columns that are shown where there is no room for all."""


HEXADECIMAL = {"dest_qp", "source_qp", "pkey", "rkey", "virtual_address", "queue_key", "icrc_raw", "instructions", "trace_type"}
"""Columns that a table to look at shows as everybody writes them, and as tcpdump, Wireshark and rdma(8) do; elsewhere they are integers."""


def format_of(output: Path | None) -> str:
    """The format that a file's name asks for; a table if there is no file, or one without an ending. Raises IntAnalyzerError."""
    suffix = output.suffix.lstrip(".").lower() if output is not None else ""
    if suffix not in _ENDINGS:
        raise IntAnalyzerError(f"{output}: no format has this ending; name it with --format, or use .csv, .jsonl, .parquet or .txt")
    return _ENDINGS[suffix]


def write_rows(
    captures: Captures,
    table: str,
    format: str,
    *,
    output: Path | None = None,
    limit: int | None = None,
    names: list[str] | None = None,
    profile: Profile | None = None,
    icrc: float = ICRC_SHARE,
) -> Reading:
    """Write the rows of one table to `output`, else to standard output. `limit` 0 means all, None the format's own default.

    A file appears, or is replaced, when all is written. Returns the reading, which knows the damages.
    """
    if format == "parquet" and output is None and sys.stdout.isatty():
        raise IntAnalyzerError("Parquet is not for a terminal: name a file with --output, or redirect")
    reading = Reading(captures, profile, icrc=icrc)
    if limit is None:
        limit = TABLE_ROWS if format == "table" else 0
    if names is None and format == "table":
        names = list(TELLING[table])
        if reading.several:
            names.insert(0, "file")
    arrow = _selected(tables.arrow_schema(table, with_file=reading.several), names)
    write = {"table": _write_table, "csv": _write_csv, "jsonl": _write_jsonl, "parquet": _write_parquet}[format]
    rows = _Rows(reading, table, arrow, limit)
    with ExitStack() as stack:
        write(iter(rows), arrow, _open(stack, output))
    if format == "table" and rows.cut:
        first = "the first row" if limit == 1 else f"the first {limit} rows"
        print(f"{first}; --limit 0 for all, --columns for other columns", file=sys.stderr)
    return reading


def write_batch(
    rows: pa.RecordBatch, format: str, *, output: Path | None = None, limit: int = 0, names: Sequence[str] | None = None
) -> None:
    """Write rows that are there already, like `write_rows`; `format` may be "json" too: one list."""
    if format == "parquet" and output is None and sys.stdout.isatty():
        raise IntAnalyzerError("Parquet is not for a terminal: name a file with --output, or redirect")
    arrow = _selected(rows.schema, list(names) if names is not None else None)
    chosen = rows.select(arrow.names).cast(arrow)
    cut = limit and chosen.num_rows > limit
    write = {"table": _write_table, "csv": _write_csv, "jsonl": _write_jsonl, "json": _write_json, "parquet": _write_parquet}[format]
    with ExitStack() as stack:
        write(iter([chosen.slice(0, limit) if cut else chosen]), arrow, _open(stack, output))
    if format == "table" and cut:
        print(f"the first {limit} of {chosen.num_rows} rows; --limit 0 for all, --columns for other columns", file=sys.stderr)


class ParquetFolder:
    """All tables of a reading as Parquet files in one folder, a writer each (zstd); use as a context manager.

    The files appear when it is left without an error.

    Units and meanings of the columns stand in the files' schema metadata, and with them what else `said` says of the rows.
    """

    def __init__(self, folder: str | os.PathLike[str], with_file: bool = False, said: Mapping[str, str] | None = None) -> None:
        self.folder = Path(folder)
        self._with_file = with_file
        self._said = dict(said or {})
        self._stack = ExitStack()
        self._writers: dict[str, RowGroups] = {}

    def __enter__(self) -> ParquetFolder:
        with ExitStack() as stack:
            try:
                stack.callback(_remove_empty, _make_folders(self.folder))
                for table in schema.TABLES:
                    part = stack.enter_context(replacing(self.folder / f"{table}.parquet"))
                    arrow = tables.arrow_schema(table, self._with_file)
                    writer = RowGroups(str(part), arrow.with_metadata({**(arrow.metadata or {}), **self._said}))
                    self._writers[table] = stack.enter_context(writer)
            except OSError as error:
                raise SourceError(self.folder, error.strerror or str(error)) from error
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, trace)

    def copying(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Pass batches on, each after it was written."""
        for batch in batches:
            self.write(batch)
            yield batch

    def write(self, batch: Batch) -> None:
        """Append the rows of a batch to every table."""
        for table, writer in self._writers.items():
            writer.write(batch.rows(table))


class RowGroups:
    """A Parquet file that gets row groups of useful size, however small the batches are."""

    def __init__(self, target: Any, arrow: pa.Schema) -> None:
        self._writer = pa.parquet.ParquetWriter(target, arrow, compression="zstd")
        self._arrow = arrow
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0

    def __enter__(self) -> RowGroups:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None:
                self._flush()
        finally:
            self._writer.close()

    def write(self, rows: pa.RecordBatch) -> None:
        """Append rows."""
        if rows.num_rows:
            self._waiting.append(rows)
            self._rows += rows.num_rows
        if self._rows >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._arrow), row_group_size=ROW_GROUP)
            self._waiting, self._rows = [], 0


def _selected(arrow: pa.Schema, names: list[str] | None) -> pa.Schema:
    if names is None:
        return arrow
    unknown = [name for name in names if name not in arrow.names]
    if unknown:
        raise IntAnalyzerError(f"no column {unknown[0]!r} in this table; there are {', '.join(arrow.names)}")
    return pa.schema([arrow.field(name) for name in names], metadata=arrow.metadata)


class _Rows:
    """The chosen columns of a table, batch by batch, up to a limit (0: none); `cut` says whether there were more."""

    def __init__(self, reading: Reading, table: str, arrow: pa.Schema, limit: int) -> None:
        self.reading, self.table, self.arrow, self.limit = reading, table, arrow, limit
        self.cut = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        left = self.limit
        for batch in self.reading:
            rows = batch.rows(self.table).select(self.arrow.names)
            if self.limit and rows.num_rows > left:
                self.cut = True
                yield rows.slice(0, left)
                return
            left -= rows.num_rows
            yield rows


def _open(stack: ExitStack, output: Path | None) -> BinaryIO:
    if output is None:
        sys.stdout.flush()
        return sys.stdout.buffer
    return stack.enter_context(stack.enter_context(replacing(output)).open("wb"))


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and what is missing above it: what was made, the lowest first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _remove_empty(folders: list[Path]) -> None:
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _write_csv(batches: Iterator[pa.RecordBatch], arrow: pa.Schema, stream: BinaryIO) -> None:
    # "needed" quotes all text; only the name of a file can hold what must be quoted
    style = "needed" if "file" in arrow.names else "none"
    stream.write((",".join(arrow.names) + "\n").encode())
    options = pa.csv.WriteOptions(include_header=False, quoting_style=style)
    with pa.csv.CSVWriter(stream, _plain(arrow), write_options=options) as writer:
        for rows in batches:
            writer.write_batch(rows.cast(_plain(arrow)))


def _plain(arrow: pa.Schema) -> pa.Schema:
    """The schema with dictionaries as text: the CSV writer knows no others."""
    fields = [pa.field(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type) for field in arrow]
    return pa.schema(fields)


def _write_jsonl(batches: Iterator[pa.RecordBatch], arrow: pa.Schema, stream: BinaryIO) -> None:
    for rows in batches:
        lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows.to_pylist()]
        if lines:
            stream.write(("\n".join(lines) + "\n").encode())


def _write_json(batches: Iterator[pa.RecordBatch], arrow: pa.Schema, stream: BinaryIO) -> None:
    rows = [row for batch in batches for row in batch.to_pylist()]
    stream.write((json.dumps(rows, ensure_ascii=False, indent=2) + "\n").encode())


def _write_parquet(batches: Iterator[pa.RecordBatch], arrow: pa.Schema, stream: BinaryIO) -> None:
    with RowGroups(pa.PythonFile(stream, mode="w"), arrow) as writer:
        for rows in batches:
            writer.write(rows)


def _write_table(batches: Iterator[pa.RecordBatch], arrow: pa.Schema, stream: BinaryIO) -> None:
    """Aligned columns; widths are those of the first batch, later ones may run over."""
    widths: list[int] = []
    numeric = [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in arrow]
    for rows in batches:
        columns = [[_cell(name, value) for value in rows.column(name).to_pylist()] for name in arrow.names]
        if not widths:
            widths = [max([len(name), *map(len, column)]) for name, column in zip(arrow.names, columns, strict=True)]
            stream.write(_line(arrow.names, widths, numeric))
        for cells in zip(*columns, strict=True):
            stream.write(_line(list(cells), widths, numeric))
    if not widths:  # a capture without packets has a head, too
        stream.write(_line(arrow.names, [len(name) for name in arrow.names], numeric))
    stream.flush()


def _cell(name: str, value: object) -> str:
    if value is None:
        return "·"
    if name == "file":
        return Path(str(value)).name
    if name in HEXADECIMAL:
        return f"{value:#x}"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _line(cells: list[str], widths: list[int], numeric: list[bool]) -> bytes:
    align: Callable[[str, int, bool], str] = lambda cell, width, right: cell.rjust(width) if right else cell.ljust(width)  # noqa: E731
    return ("  ".join(map(align, cells, widths, numeric)).rstrip() + "\n").encode()
