"""Single packets of a capture, taken apart: their headers, the kernel's rows, and why reading stopped where it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from int_analyzer import schema
from int_analyzer.capture import open_source
from int_analyzer.capture.records import CAPTURED, DATA, LINK
from int_analyzer.capture.walk import walk
from int_analyzer.columns import Columns
from int_analyzer.derived import Derived
from int_analyzer.dissect.branch import Branch
from int_analyzer.dissect.trace import trace
from int_analyzer.dissect.tree import branches
from int_analyzer.errors import SourceError
from int_analyzer.formats.dialect import DIALECTS
from int_analyzer.profile import Profile
from int_analyzer.settings import ICRC_ALL, ICRC_SAMPLE
from int_analyzer.status import STATUSES, WARNINGS, Status, Warning_

_BITS_64 = (1 << 64) - 1


@dataclass(frozen=True)
class Dissection:
    """One packet: its number in the capture, captured bytes, link type, branches in order, rows by table.

    rows: table → its rows, column → value (None: not there), as the kernel filled them; hops also have hop_latency_ns,
    queue_depth_bytes and times in ns where the profile knows the unit.
    """

    number: int
    data: bytes
    link: int
    branches: list[Branch]
    rows: dict[str, list[dict[str, Any]]]

    @property
    def packet(self) -> dict[str, Any]:
        """The row of packets."""
        return self.rows["packets"][0]

    @property
    def status(self) -> Status:
        """Why reading stopped."""
        return STATUSES[int(self.packet["status"])]

    @property
    def status_at(self) -> int | None:
        """The byte where it stopped, None if nothing stopped it."""
        return int(self.packet["status_at"]) if self.status.code else None

    @property
    def warnings(self) -> list[Warning_]:
        """What was odd."""
        return [entry for entry in WARNINGS if self.packet["warnings"] >> entry.bit & 1]

    @property
    def formats(self) -> list[str]:
        """Names of the formats found."""
        return [entry.name for entry in schema.FORMAT_LIST if self.packet["formats"] >> entry.id & 1]

    @property
    def telemetry(self) -> str:
        """Name of the format that gave the hops, or nothing."""
        known = schema.FORMAT_BY_ID.get(int(self.packet["telemetry"]))
        return known.name if known is not None else ""

    @property
    def dialect(self) -> str:
        """Name of the dialect that it was read with, or nothing."""
        return DIALECTS[int(self.packet["dialect"])].name

    def marked(self) -> Branch | None:
        """The branch where reading stopped: the innermost that begins there, else that has the byte, else the one before it."""
        at = self.status_at
        if at is None:
            return None
        every = [branch for top in self.branches for branch in top.walk()]
        for candidates in (
            [branch for branch in every if branch.at == at],
            [branch for branch in every if branch.at <= at < branch.end],
            [branch for branch in every if branch.at < at],
            every,
        ):
            if candidates:
                # on a tie the outer one: it is the header that could not be read
                return max(candidates, key=lambda branch: branch.at)
        return None


def dissect(data: bytes, record: Sequence[int], number: int, profile: Profile) -> Dissection:
    """Take one packet apart. `record` is what capture.records.next_record filled for it."""
    settings = profile.settings()
    settings.numbers[ICRC_SAMPLE] = ICRC_ALL
    traced = trace(data, record, settings)
    rows = {table: _rows(traced.columns, table, number) for table in schema.TABLES}
    _derive(rows["hops"], traced.columns, profile)
    return Dissection(number, data, int(record[LINK]), branches(memoryview(data), traced), rows)


def read_packets(path: str, numbers: Sequence[int], profile: Profile) -> list[Dissection]:
    """The packets of a capture with these numbers (from 0), in the order asked for. Raises SourceError if there is no such packet."""
    wanted, last = set(numbers), max(numbers)
    found: dict[int, Dissection] = {}
    count = 0
    with open_source(path) as source:
        for view, record in walk(source):
            if count in wanted:
                start = int(record[DATA])
                found[count] = dissect(bytes(view[start : start + int(record[CAPTURED])]), record, count, profile)
            count += 1
            if count > last:
                break
        damages = source.damages
    missing = next((number for number in numbers if number not in found), None)
    if missing is not None:
        there = f"its packets are 0 to {count - 1}" if count else "it has none"
        damaged = f" (reading ends with damage at byte {damages[-1].offset}: {damages[-1].reason})" if damages else ""
        raise SourceError(path, f"no packet {missing}: {there}{damaged}")
    return [found[number] for number in numbers]


def _rows(columns: Columns, table: str, number: int) -> list[dict[str, Any]]:
    arrays = getattr(columns, table)
    return [_row(arrays, table, row, number) for row in range(columns.rows(table))]


def _row(arrays: Any, table: str, row: int, number: int) -> dict[str, Any]:
    present = int(arrays.present[row]) if "present" in arrays._fields else 0
    values: dict[str, Any] = {}
    for column in schema.TABLES[table]:
        if column.source != "kernel":
            continue
        value = int(getattr(arrays, column.name)[row])
        if column.shown == "uint64":
            value &= _BITS_64
        there = not (column.present and not present & column.present) and value != column.absent
        values[column.name] = value if there else None
    values["packet"] = number
    return values


def _derive(hops: list[dict[str, Any]], columns: Columns, profile: Profile) -> None:
    """Add nanoseconds and bytes to rows of hops, where the profile knows the node's units."""
    if not hops:
        return
    kernel = columns.hops
    values = {name: getattr(kernel, name)[: len(hops)] for name in kernel._fields}
    derived = Derived(values, columns.packets.telemetry[kernel.packet[: len(hops)]], profile)
    for row, hop in enumerate(hops):
        hop |= {name: None if derived.absent[name][row] else int(array[row]) for name, array in derived.values.items()}
