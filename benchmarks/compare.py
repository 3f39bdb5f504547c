"""Our columns against those of the C twin, row by row and in full, for the packets that the twin follows to their end.

python -m benchmarks.compare FILE…
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import build
from benchmarks.build import Twin
from benchmarks.columns_header import TABLES
from int_analyzer import schema
from int_analyzer.capture import open_source
from int_analyzer.decode import Decoder
from int_analyzer.settings import ICRC_SAMPLE

BEYOND_TWIN = 255
"""Status that the twin gives to packets with tunnels, reports or other things that it does not follow."""

Tables = dict[str, dict[str, Any]]
"""Columns by table and name, one array for the whole capture, row numbers counted from its beginning."""


class Comparison(NamedTuple):
    """Packets compared and not followed by the twin, rows compared, and the first difference ("" if there is none)."""

    packets: int
    beyond: int
    hops: int
    roce: int
    difference: str


def _columns(table: str) -> list[schema.Column]:
    return [column for column in schema.TABLES[table] if column.source == "kernel"]


def _number_globally(batch: dict[str, dict[str, Any]], rows: list[int]) -> None:
    """Turn row numbers within a batch into row numbers within the capture; `rows` are those before this batch."""
    packets, hops, roce = rows
    batch["packets"]["first_hop"] = batch["packets"]["first_hop"].astype(np.int64) + hops
    row = batch["packets"]["roce_row"].astype(np.int64)
    batch["packets"]["roce_row"] = np.where(row == schema.ABSENT32, -1, row + roce)
    for table in ("hops", "roce"):
        batch[table]["packet"] = batch[table]["packet"].astype(np.int64) + packets


def _joined(batches: list[dict[str, dict[str, Any]]]) -> Tables:
    if not batches:
        return {table: {column.name: np.zeros(0, dtype=column.dtype) for column in _columns(table)} for table in TABLES}
    return {
        table: {column.name: np.concatenate([batch[table][column.name] for batch in batches]) for column in _columns(table)}
        for table in TABLES
    }


def ours(capture: Path, compiled: bool = True) -> Tables:
    """What int_analyzer decodes; no ICRCs are checked, as the twin checks none."""
    batches, rows = [], [0, 0, 0]
    decoder = Decoder(compiled=compiled)
    decoder.settings.numbers[ICRC_SAMPLE] = 0
    with open_source(capture) as source:
        for columns in decoder.batches(source):
            counts = [columns.rows(table) for table in TABLES]
            batch = {
                table: {column.name: getattr(getattr(columns, table), column.name)[:count].copy() for column in _columns(table)}
                for table, count in zip(TABLES, counts, strict=True)
            }
            _number_globally(batch, rows)
            batches.append(batch)
            rows = [before + count for before, count in zip(rows, counts, strict=True)]
    return _joined(batches)


def twins(twin: Twin, capture: Path) -> Tables:
    """What the C twin decodes."""
    with tempfile.TemporaryDirectory() as folder:
        build.run_twin(twin, "dump", str(capture), folder)
        chunks = np.fromfile(Path(folder) / "chunks.bin", dtype=np.int64).reshape(-1, len(TABLES))
        whole = {
            table: {c.name: np.fromfile(Path(folder) / f"{table}.{c.name}.bin", dtype=c.dtype) for c in _columns(table)} for table in TABLES
        }
    batches, rows = [], [0, 0, 0]
    for counts in chunks.tolist():
        batch = {
            table: {name: column[start : start + count] for name, column in whole[table].items()}
            for table, start, count in zip(TABLES, rows, counts, strict=True)
        }
        _number_globally(batch, rows)
        batches.append(batch)
        rows = [before + count for before, count in zip(rows, counts, strict=True)]
    return _joined(batches)


def compare(twin: Twin, capture: Path, compiled: bool = True) -> Comparison:
    """Every column of every packet that the twin follows; values whose present bit is not set are not compared.

    A report datagram, which the twin does not follow, may be several packet rows of ours: packets are numbered by record.
    """
    left, right = ours(capture, compiled), twins(twin, capture)
    first_parts = left["packets"]["part"] == 0
    if first_parts.sum() != len(right["packets"]["status"]):
        return Comparison(0, 0, 0, 0, f"{first_parts.sum()} packets, the twin has {len(right['packets']['status'])}")
    record = np.cumsum(first_parts) - 1
    for table in ("hops", "roce"):
        left[table]["packet"] = record[left[table]["packet"]]
    followed = right["packets"]["status"] != BEYOND_TWIN
    beyond = int((~followed).sum())
    if beyond:
        # rows that only we have shift these; the rows themselves are compared below
        for tables in (left, right):
            tables["packets"]["first_hop"] = np.zeros(len(tables["packets"]["status"]))
            tables["packets"]["roce_row"] = tables["packets"]["roce_row"] >= 0
    rows = {}
    for table in TABLES:
        numbers = left[table]["packet"] if table != "packets" else record
        others = right[table]["packet"] if table != "packets" else np.arange(len(followed))
        keep, other = followed[numbers], followed[others]
        first = {name: column[keep] for name, column in left[table].items()}
        second = {name: column[other] for name, column in right[table].items()}
        difference = _difference(table, numbers[keep], others[other], first, second)
        if difference:
            return Comparison(int(followed.sum()), beyond, 0, 0, difference)
        rows[table] = int(keep.sum())
    return Comparison(rows["packets"], beyond, rows["hops"], rows["roce"], "")


def _difference(table: str, numbers: Any, others: Any, first: dict[str, Any], second: dict[str, Any]) -> str:
    """The first difference of a table; `numbers` and `others` are the packets of our rows and of the twin's."""
    if len(numbers) != len(others):
        size = int(np.concatenate([numbers, others]).max()) + 1
        packet = int(np.argmax(np.bincount(numbers, minlength=size) != np.bincount(others, minlength=size)))
        return f"{table}: {len(numbers)} rows, the twin has {len(others)}; first at packet {packet}"
    found: list[tuple[int, str]] = []
    for column in _columns(table):
        differs = first[column.name] != second[column.name]
        if column.present:
            differs &= (first["present"] & column.present) != 0
        row = int(np.argmax(differs)) if differs.any() else -1
        if row >= 0:
            values = f"{first[column.name][row]}, the twin has {second[column.name][row]}"
            found.append((int(numbers[row]), f"{table}.{column.name} of packet {int(numbers[row])}: {values}"))
    return min(found)[1] if found else ""


def main() -> int:
    """Command line: 1 if anything differs."""
    failed = 0
    twin = build.compile_twin(Path(__file__).parent.parent / "build")
    for name in sys.argv[1:]:
        result = compare(twin, Path(name))
        failed |= result.difference != ""
        print(f"{Path(name).name}: {result.difference or 'equal'} ({result._asdict()})")
    return failed


if __name__ == "__main__":
    sys.exit(main())
