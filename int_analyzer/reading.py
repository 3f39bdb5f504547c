"""Captures read one after the other, batch by batch: what the analysis, the row files and `int_analyzer.read` are made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from int_analyzer.capture import Source, expand, open_source
from int_analyzer.capture.walk import records
from int_analyzer.columns import PACKETS_PER_BATCH, Columns
from int_analyzer.decode import Decoder
from int_analyzer.errors import IntAnalyzerError
from int_analyzer.profile import Profile, load_profile
from int_analyzer.settings import ICRC_ALL, ICRC_SAMPLE, ICRC_SHARE, ROLE_REPORT, default_settings

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Captures = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A file, a folder, a glob, "-", or several of these."""

ProfileLike = Profile | str | os.PathLike[str] | None
"""A profile, its file, or none."""

Progress = Callable[[int, int | None], None]
"""Called with the bytes read so far and the bytes of all captures (None where a pipe is among them)."""

SMALL = 2 * 1024 * 1024
"""Bytes up to which plain Python has read a capture before numba is loaded."""
_FIRST_BYTES = 1 << 18
"""Bytes at a time in which the first packet of a capture is looked for."""
_COMPRESSION = 4
"""How much larger a compressed capture is taken to be, unpacked."""


class Batch:
    """Some thousand packets of one capture. `columns` are reused by the next batch; the frames are copies and stay.

    file: the capture; first_packet: number of the batch's first record in it. Asked for anything of its columns after the next
    batch was, it raises IntAnalyzerError.
    """

    def __init__(self, columns: Columns, file: str, first_packet: int, profile: Profile | None, show_file: bool) -> None:
        self._columns: Columns | None = columns
        self.file = file
        self.first_packet = first_packet
        self._profile = profile
        self._show_file = show_file

    @property
    def columns(self) -> Columns:
        """The columns, while they are this batch's."""
        if self._columns is None:
            raise IntAnalyzerError("this batch is gone: ask for its frames before the next one")
        return self._columns

    def expire(self) -> None:
        """Let go of the columns, which the next batch is about to fill."""
        self._columns = None

    def rows(self, table: str) -> pa.RecordBatch:
        """The rows of one table (schema.TABLES) as Arrow."""
        from int_analyzer import tables

        file = self.file if self._show_file else None
        return tables.record_batch(self.columns, table, first_packet=self.first_packet, profile=self._profile, file=file)

    @property
    def first_ns(self) -> int:
        """Capture time of the first packet."""
        return int(self.columns.packets.time_ns[0])

    @property
    def last_ns(self) -> int:
        """Capture time of the last packet."""
        return int(self.columns.packets.time_ns[self.columns.rows("packets") - 1])

    @property
    def packets(self) -> pd.DataFrame:
        """A row per packet."""
        return self._frame("packets")

    @property
    def hops(self) -> pd.DataFrame:
        """A row per hop."""
        return self._frame("hops")

    @property
    def roce(self) -> pd.DataFrame:
        """A row per RoCEv2 packet."""
        return self._frame("roce")

    @property
    def reports(self) -> pd.DataFrame:
        """A row per telemetry report."""
        return self._frame("reports")

    @property
    def mirrors(self) -> pd.DataFrame:
        """A row per mirror header (ERSPAN, Lumina)."""
        return self._frame("mirrors")

    @property
    def options(self) -> pd.DataFrame:
        """A row per option that is telemetry without hops (IOAM proof of transit, edge to edge, direct export; TCP-INT)."""
        return self._frame("options")

    def _frame(self, table: str) -> pd.DataFrame:
        from int_analyzer import tables

        return tables.frame([self.rows(table)], table, self._show_file)


class Reading:
    """One pass over captures. Iterating gives batches; what was found out about the files stands here afterwards.

    files: the captures in the order in which they are read, by the time of their first packet (one without a time, or that is not
    a file, keeps its place); bytes: their size on disk (of a pipe: what came); damages: file, offset, reason, kind and
    lost bytes of every damage; icrc: share of the RoCEv2 packets whose ICRC is checked; report_ports: what comes to these UDP ports is a
    report, whatever the profile says. A pass over files can be made again, one over standard input cannot.
    """

    def __init__(
        self,
        captures: Captures,
        profile: ProfileLike = None,
        *,
        progress: Progress | None = None,
        compiled: bool | None = None,
        packets: int = PACKETS_PER_BATCH,
        icrc: float = ICRC_SHARE,
        report_ports: Sequence[int] = (),
    ) -> None:
        named = [captures] if isinstance(captures, (str, os.PathLike)) else list(captures)
        self.files = _by_time(expand([os.fspath(name) for name in named]))
        self.profile = profile_of(profile)
        self.bytes = 0
        self.damages: list[dict[str, Any]] = []
        self.total = _total(self.files)
        self.compiled = is_large(self.files) if compiled is None else compiled
        self._progress = progress
        self._icrc = icrc
        self._report_ports = list(report_ports)
        # the kernel's columns have room for no more
        self._packets = min(packets, PACKETS_PER_BATCH)

    def __iter__(self) -> Iterator[Batch]:
        self.bytes = 0
        self.damages = []
        settings = self.profile.settings() if self.profile is not None else default_settings()
        settings.numbers[ICRC_SAMPLE] = round(self._icrc * ICRC_ALL)
        settings.port_roles[self._report_ports] = ROLE_REPORT
        decoder = Decoder(settings, compiled=self.compiled, packets=self._packets)
        for file in self.files:
            with open_source(file) as source:
                yield from self._batches(decoder, source, file)

    @property
    def several(self) -> bool:
        """Whether rows need a column that tells their file."""
        return len(self.files) > 1

    def _batches(self, decoder: Decoder, source: Source, file: str) -> Iterator[Batch]:
        done = self.bytes
        for columns in decoder.batches(source):
            batch = Batch(columns, file, decoder.first_packet, self.profile, self.several)
            yield batch
            batch.expire()
            if self._progress is not None:
                self._progress(done + source.consumed, self.total)
        self.bytes = done + (source.size if source.size is not None else source.consumed)
        self.damages += [
            {"file": file, "offset": damage.offset, "reason": damage.reason, "kind": damage.kind, "lost_bytes": damage.lost_bytes}
            for damage in source.damages
        ]


def read(captures: Captures, profile: ProfileLike = None, *, progress: Progress | None = None) -> Reading:
    """Read captures piece by piece, for those larger than memory: iterating gives batches of up to 8192 packets.

    A batch's `packets`, `hops`, `roce`, `reports`, `mirrors` and `options` are pandas frames (docs/columns.md); they are made when
    asked for, and must be asked for before the next batch is. Afterwards `damages` says where a file is damaged. `profile`: a Profile
    or its file. Raises SourceError, CaptureError and ProfileError.
    """
    return Reading(captures, profile, progress=progress)


def profile_of(profile: ProfileLike) -> Profile | None:
    """A profile that may have been given as its file."""
    return load_profile(os.fspath(profile)) if isinstance(profile, (str, os.PathLike)) else profile


def _by_time(files: list[str]) -> list[str]:
    """The captures that begin at a known time in the order of these; the others keep their places."""
    if len(files) < 2:
        return files
    times = {file: _first_ns(file) for file in files}
    ordered = iter(sorted((file for file in files if times[file]), key=lambda file: times[file]))
    return [next(ordered) if times[file] else file for file in files]


def _first_ns(file: str) -> int:
    """Capture time of the first packet of a file; 0 if there is none, or the file cannot be read a second time."""
    if not Path(file).is_file():
        return 0
    try:
        with open_source(file, _FIRST_BYTES) as source:
            return next((record.time_ns for record in records(source)), 0)
    except IntAnalyzerError:
        # whoever reads it says what is wrong
        return 0


def _total(files: list[str]) -> int | None:
    """Bytes of all files, None if one is not a file."""
    if any(not Path(file).is_file() for file in files):
        return None
    return sum(Path(file).stat().st_size for file in files)


def is_large(files: list[str]) -> bool:
    """Whether these captures are worth loading the compiled kernels; of a pipe it is taken for granted."""
    total = 0
    for file in files:
        if not Path(file).is_file():
            return True
        total += Path(file).stat().st_size * (_COMPRESSION if file.endswith((".gz", ".zst")) else 1)
    return total > SMALL
