"""From captures to a result: read, decode, fold, view, summarise; and the rows again for those who want them."""

from __future__ import annotations

import dataclasses
import functools
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from int_analyzer.analysis.delays.slow_message import SlowMessages
from int_analyzer.analysis.span import capture_span, count_strays
from int_analyzer.analysis.summarise import examine
from int_analyzer.analysis.summary import Capture, ConnectionSummary, Finding, Quality, Summary
from int_analyzer.errors import SourceError
from int_analyzer.evidence.source import CounterSource, read_counters
from int_analyzer.fold.state import State
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile
from int_analyzer.reading import Batch, Captures, ProfileLike, Progress, Reading, profile_of
from int_analyzer.settings import ICRC_SHARE

if TYPE_CHECKING:
    import networkx
    import pandas as pd

    from int_analyzer.analysis.flows import FlowSummary

_NANOSECONDS = 1_000_000_000


class Result:
    """What an analysis found. `summary` holds all of it; findings, quality and graph are its parts.

    The frames (docs/columns.md) are decoded from the captures again when first asked for, and kept: they need memory by the size
    of the captures. For captures larger than memory there is int_analyzer.read.
    """

    def __init__(self, summary: Summary, captures: list[str], profile: Profile | None = None, icrc: float = ICRC_SHARE) -> None:
        self.summary = summary
        self._captures = captures
        self._profile = profile
        self._icrc = icrc

    @property
    def findings(self) -> list[Finding]:
        """Congested ports and what else was found, by impact; empty if nothing was."""
        return self.summary.findings

    @property
    def quality(self) -> Quality | None:
        """What was read and how well, and whether to trust the findings."""
        return self.summary.quality

    @functools.cached_property
    def graph(self) -> networkx.MultiDiGraph:
        """The paths as a networkx graph: an edge per link, with packets, latency, depth and the finding on it."""
        from int_analyzer.analysis.paths import build_graph

        return build_graph(self.summary, self._profile)

    @functools.cached_property
    def packets(self) -> pd.DataFrame:
        """A row per packet."""
        return self._frame("packets")

    @functools.cached_property
    def hops(self) -> pd.DataFrame:
        """A row per hop of a packet, 0 nearest the source."""
        return self._frame("hops")

    @functools.cached_property
    def roce(self) -> pd.DataFrame:
        """A row per RoCEv2 packet."""
        return self._frame("roce")

    @functools.cached_property
    def reports(self) -> pd.DataFrame:
        """A row per telemetry report."""
        return self._frame("reports")

    @functools.cached_property
    def mirrors(self) -> pd.DataFrame:
        """A row per mirror header (ERSPAN, Lumina)."""
        return self._frame("mirrors")

    @functools.cached_property
    def options(self) -> pd.DataFrame:
        """A row per option that is telemetry without hops (IOAM proof of transit, edge to edge, direct export; TCP-INT)."""
        return self._frame("options")

    @functools.cached_property
    def flows(self) -> pd.DataFrame:
        """A row per directed flow, most bytes first."""
        return self._state_frame("flows")

    @functools.cached_property
    def connections(self) -> pd.DataFrame:
        """A row per direction of a RoCEv2 connection, those that retransmitted most first."""
        return self._state_frame("connections")

    def report(self, top: int = 10) -> str:
        """What the command prints: the answer, its evidence, paths, what was read, trust; `top` of everything at most."""
        import io

        from int_analyzer.report.terminal import print_report

        stream = io.StringIO()
        print_report(self.summary, stream, top=top)
        return stream.getvalue()

    def to_json(self) -> str:
        """The analysis as one JSON document (docs/json.md)."""
        from int_analyzer.report import json_document

        return json_document.text(self.summary)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write all tables to `folder`, as Parquet; in bounded memory."""
        from int_analyzer.row_files import ParquetFolder

        reading = self._again()
        with ParquetFolder(folder, with_file=reading.several) as tables:
            for batch in reading:
                tables.write(batch)

    def __repr__(self) -> str:
        packets = self.quality.packets if self.quality is not None else 0
        found = ", ".join(f"{finding.role} node {finding.node} port {finding.port}" for finding in self.findings) or "nothing found"
        return f"<Result of {packets} packets: {found}>"

    def _again(self) -> Reading:
        if "-" in self._captures:
            raise SourceError("-", "standard input cannot be read again for its rows: analyse a file, or give analyze an output folder")
        return Reading(self._captures, self._profile, icrc=self._icrc)

    def _frame(self, table: str) -> pd.DataFrame:
        from int_analyzer import tables

        reading = self._again()
        return tables.frame([batch.rows(table) for batch in reading], table, with_file=reading.several)

    def _state_frame(self, table: str) -> pd.DataFrame:
        import pyarrow as pa

        from int_analyzer import tables
        from int_analyzer.report import state_rows

        rows = state_rows.rows(table, sum_up(table, self._view, self._profile))
        return tables.to_pandas(pa.Table.from_batches([rows]))

    @functools.cached_property
    def _view(self) -> View:
        reading = self._again()
        return _fold(reading, reading)


def analyze(
    captures: Captures,
    profile: ProfileLike = None,
    *,
    output: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    compiled: bool | None = None,
    evidence: Sequence[CounterSource] = (),
    icrc: float = ICRC_SHARE,
) -> Result:
    """Find the congested ports in captures: a file, a folder, a glob, "-" for standard input, or several of these.

    All are read as one piece of traffic, in the order of their first packets' times. `profile` says what the wire does not (units,
    names, link speeds): a Profile or its file. `output` is a folder for all row tables, flows, connections, slow messages, jobs and
    hosts, as Parquet. `progress` is called with bytes done and bytes in all. `compiled` decides between machine code and plain Python; by
    itself the choice follows the size. `evidence` is where counters of switches and hosts are read from (int_analyzer.evidence), `icrc`
    the share of the RoCEv2 packets of which the ICRC is computed anew, 0 to 1.
    Raises SourceError, CaptureError, ProfileError and EvidenceError.
    """
    started = time.perf_counter()
    known = profile_of(profile)
    reading = Reading(captures, known, progress=progress, compiled=compiled, icrc=icrc)
    if output is None:
        view = _fold(reading, reading)
    else:
        from int_analyzer.row_files import ParquetFolder

        with ParquetFolder(output, with_file=reading.several) as tables:
            view = _fold(reading, tables.copying(reading))
    span = capture_span(view)
    first, last = span if span is not None else (None, None)
    capture = Capture(
        files=reading.files,
        bytes=reading.bytes,
        first_ns=first,
        last_ns=last,
        seconds=(last - first) / _NANOSECONDS if first is not None and last is not None else None,
        elapsed_seconds=0.0,
        strays=count_strays(view),
    )
    counters = read_counters(evidence, span)
    summary, slow = examine(view, known, capture, reading.damages, counters)
    summary = _completed(summary, view, started)
    if output is not None:
        _write_state_rows(view, known, summary, slow, Path(output))
    return Result(summary, reading.files, known, icrc)


def sum_up(table: str, view: View, profile: Profile | None, slow: SlowMessages | None = None) -> Sequence[FlowSummary | ConnectionSummary]:
    """What there is to say of every flow or connection; `table`: "flows" or "connections"."""
    from int_analyzer.analysis.delays.direction_delay import DirectionDelays
    from int_analyzer.analysis.flows import sum_up_flows
    from int_analyzer.analysis.roce import sum_up_connections

    delays = DirectionDelays(slow if slow is not None else examine(view, profile)[1])
    return sum_up_flows(view, profile, delays) if table == "flows" else sum_up_connections(view, delays)


def _write_state_rows(view: View, profile: Profile | None, summary: Summary, slow: SlowMessages, folder: Path) -> None:
    """Flows, connections, slow messages, jobs and hosts as Parquet, beside the row tables."""
    from int_analyzer.report import state_rows, work_rows
    from int_analyzer.row_files import write_batch

    for table in ("flows", "connections"):
        write_batch(state_rows.rows(table, sum_up(table, view, profile, slow)), "parquet", output=folder / f"{table}.parquet")
    for table, rows in (
        ("messages", work_rows.message_rows(slow.list_worst(None))),
        ("jobs", work_rows.job_rows(summary.jobs)),
        ("hosts", work_rows.host_rows(summary.hosts)),
    ):
        write_batch(rows, "parquet", output=folder / f"{table}.parquet")


def fold_captures(
    captures: Captures,
    profile: ProfileLike = None,
    *,
    progress: Progress | None = None,
    compiled: bool | None = None,
    icrc: float = ICRC_SHARE,
) -> tuple[View, Reading]:
    """All that captures leave, before any analysis, and the reading, which knows the damages."""
    reading = Reading(captures, profile_of(profile), progress=progress, compiled=compiled, icrc=icrc)
    return _fold(reading, reading), reading


def warm_up() -> None:
    """Compile all kernels that an analysis may need into the cache, by an analysis of a capture with one packet."""
    import io

    from int_analyzer.capture import open_source
    from int_analyzer.decode import Decoder

    state = State()
    for columns in Decoder(compiled=True).batches(open_source(io.BytesIO(_ONE_PACKET))):
        state.fold(columns, compiled=True)
        state.compile(columns)
    state.view()


# a classic pcap with one Ethernet frame of zeros
_ONE_PACKET = bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 ffff0000 01000000" + "00000000 00000000 10000000 10000000") + bytes(16)


def _completed(summary: Summary, view: View, started: float) -> Summary:
    """With what only the end of an analysis knows, and the counts by format and status."""
    quality, capture = summary.quality, summary.capture
    if quality is not None:
        counts: dict[str, dict[str, int]] = {}
        for (format, status), packets in view.status_by_format.items():
            counts.setdefault(format or "none", {})[status] = packets
        quality = dataclasses.replace(quality, statuses_by_format=counts)
    if capture is not None:
        capture = dataclasses.replace(capture, elapsed_seconds=time.perf_counter() - started)
    return dataclasses.replace(summary, quality=quality, capture=capture)


def _fold(reading: Reading, batches: Iterable[Batch]) -> View:
    """What all batches leave.

    A capture that goes on where the one before ended (as rotated files do) continues its state; one that lies in the same time was
    taken elsewhere: it has a state of its own, which is merged.
    """
    whole: State | None = None
    state = State()
    last_ns = 0
    for batch in batches:
        if batch.first_packet == 0 and batch.first_ns < last_ns:
            whole = _merged(whole, state)
            state = State()
        state.fold(batch.columns, reading.compiled)
        last_ns = max(last_ns, batch.last_ns)
    return _merged(whole, state).view()


def _merged(whole: State | None, state: State) -> State:
    if whole is None:
        return state
    whole.merge(state)
    return whole
