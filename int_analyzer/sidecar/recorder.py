"""The packets of the last seconds, kept so that those around a finding's start can be looked at, in a disk budget.

    ID.pcapng            the packets, the finding as comment
    ID/hops.parquet, …   all rows that they decode to: of the rest of the traffic only aggregates are kept

Source: draft-ietf-opsawg-pcapng §3.5 (comments), §4.1 to §4.3.
"""

from __future__ import annotations

import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from int_analyzer.capture import records
from int_analyzer.capture.pcapng import SECTION_MAGIC
from int_analyzer.capture.records import next_record
from int_analyzer.capture.source import Window
from int_analyzer.errors import IntAnalyzerError, SourceError
from int_analyzer.live.intake import Intake
from int_analyzer.output import replacing
from int_analyzer.profile import Profile
from int_analyzer.reading import Reading
from int_analyzer.report import figure
from int_analyzer.sidecar.track import START, Event

BEFORE_NS, AFTER_NS = 2_000_000_000, 3_000_000_000
"""What is recorded of a finding: so long before and after it began."""
KEPT_BYTES = 64 << 20
"""Bytes of packets that are kept in memory; the oldest give way."""
LARGEST_BYTES = 32 << 20
"""A recording ends here, whatever follows."""
WAITING, WAITING_BYTES = 16, 4 * KEPT_BYTES
"""Findings that wait to be recorded, each with the packets of then; with so many bytes of these no further one is taken."""
BUDGET_BYTES = 1 << 30
"""Recordings on disk; the oldest give way."""

_SLACK_NS = 1_000_000_000
"""Pieces of several sources do not come strictly in the order of their times."""

_COMMENT, _NAME, _RESOLUTION = 1, 2, 9
_NANOSECONDS = 9


class Piece(NamedTuple):
    """A copy of a window's bytes, how they are framed, and where from."""

    data: bytes
    framing: Any
    interfaces: Any
    name: str


class Recorder:
    """A sink that records around each start. Intakes are tapped by `tap`. faults: recordings that could not be written.

    profile, report_ports: give what the rows are decoded by.
    """

    def __init__(
        self,
        folder: Path,
        budget: int = BUDGET_BYTES,
        kept: int = KEPT_BYTES,
        profile: Callable[[], Profile | None] = lambda: None,
        report_ports: Callable[[], Sequence[int]] = lambda: (),
    ) -> None:
        self.faults = 0
        self.fault = ""
        self._folder = folder
        self._budget = budget
        self._kept = kept
        self._profile = profile
        self._report_ports = report_ports
        self._pieces: deque[Piece] = deque()
        self._bytes = 0
        self._lock = threading.Lock()
        self._due: list[tuple[int, Event]] = []
        self._waiting: deque[tuple[Event, list[Piece]]] = deque()
        self._writer: threading.Thread | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(folder, error.strerror or str(error)) from error

    def tap(self, intake: Intake) -> Intake:
        """The same intake, whose windows are remembered."""
        return cast(Intake, _Tap(intake, self))

    def remember(self, window: Window, begin: int, name: str) -> None:
        """Keep the bytes of a window from `begin` on."""
        piece = Piece(bytes(window.buffer[begin : window.stop]), window.framing.copy(), window.interfaces.copy(), name)
        with self._lock:
            self._pieces.append(piece)
            self._bytes += len(piece.data)
            while self._bytes > self._kept:
                self._bytes -= len(self._pieces.popleft().data)

    def take(self, events: Sequence[Event]) -> None:
        """Note what has to be recorded."""
        self._due += [(event.finding["start_ns"] + AFTER_NS, event) for event in events if event.event == START]

    def reach(self, now_ns: int) -> None:
        """Write the recordings whose time has come."""
        due = [event for at, event in self._due if at <= now_ns]
        self._due = [(at, event) for at, event in self._due if at > now_ns]
        if not due:
            return
        with self._lock:
            pieces = list(self._pieces)
            room = WAITING - len(self._waiting) if _bytes_of(self._waiting) < WAITING_BYTES else 0
            self._waiting += [(event, pieces) for event in due[:room]]
            if due[room:]:
                waiting, missed = (figure.things(len(these), "finding") for these in (self._waiting, due[room:]))
                self._fail(len(due[room:]), f"{waiting} to be recorded first: {missed} not recorded")
            if self._writer is None:
                # a second of Python for a hundred thousand packets: no tick waits for it
                self._writer = threading.Thread(target=self._work, name="recorder")
                self._writer.start()

    def close(self) -> None:
        """Write what is due, with what there is."""
        self.reach(1 << 62)
        writer = self._writer
        if writer is not None:
            writer.join()
        if self._waiting:
            self._fail(len(self._waiting), f"{figure.things(len(self._waiting), 'finding')} not recorded: {self.fault}")

    def _work(self) -> None:
        """Write one recording after the other, until none waits."""
        try:
            while True:
                with self._lock:
                    if not self._waiting:
                        self._writer = None
                        return
                    event, pieces = self._waiting.popleft()
                self._record(event, pieces)
        except BaseException as error:
            # the next finding begins another thread, which goes on with what waits
            with self._lock:
                self._fail(1, f"{type(error).__name__}: {error}")
                self._writer = None
            raise

    def _fail(self, recordings: int, fault: str) -> None:
        self.faults += recordings
        self.fault = fault

    def _record(self, event: Event, pieces: list[Piece]) -> None:
        name = "".join(character if character.isalnum() or character in "-._" else "_" for character in event.finding["id"])
        try:
            self._write_recording(event, name, pieces)
            self._fit()
            self.fault = ""
        except (OSError, IntAnalyzerError) as error:
            self._fail(1, str(error))

    def _write_recording(self, event: Event, name: str, pieces: list[Piece]) -> None:
        # 40 MB and a thread of its own, for those who have something to record
        from pyarrow import ArrowException

        from int_analyzer.row_files import ParquetFolder

        start = event.finding["start_ns"]
        path = self._folder / f"{name}.pcapng"
        with replacing(path) as part, part.open("wb") as file:
            _write(file, pieces, start - BEFORE_NS, start + AFTER_NS, comment_of(event))
        try:
            with ParquetFolder(self._folder / name, said={"finding": event.finding["id"], "of": comment_of(event)}) as rows:
                for batch in Reading([path], self._profile(), report_ports=self._report_ports()):
                    rows.write(batch)
        except ArrowException as error:
            raise SourceError(self._folder / name, str(error)) from error

    def _fit(self) -> None:
        """Remove the oldest recordings until the rest is within the budget; the newest stays."""
        recordings = sorted(self._folder.glob("*.pcapng"), key=lambda path: path.stat().st_mtime_ns)
        sizes = [sum(path.stat().st_size for path in _files_of(recording)) for recording in recordings]
        left = sum(sizes)
        for recording, size in zip(recordings[:-1], sizes, strict=False):
            if left <= self._budget:
                break
            left -= size
            for path in _files_of(recording):
                path.unlink(missing_ok=True)
            if recording.with_suffix("").exists():
                recording.with_suffix("").rmdir()


def _bytes_of(waiting: Iterable[tuple[Event, list[Piece]]]) -> int:
    """Bytes of packets, of which those that several findings have in common count once."""
    return sum(len(piece.data) for piece in {id(piece): piece for _, pieces in waiting for piece in pieces}.values())


def _files_of(recording: Path) -> list[Path]:
    """A pcapng and the rows beside it."""
    return [recording, *recording.with_suffix("").glob("*.parquet")]


class _Tap:
    """An intake of which a recorder sees every window, once the decoder is done with it."""

    def __init__(self, intake: Intake, recorder: Recorder) -> None:
        self._intake = intake
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._intake, name)

    def windows(self) -> Iterator[Window]:
        """The intake's windows."""
        for window in self._intake.windows():
            begin = window.position
            yield window
            self._recorder.remember(window, begin, self._intake.name)


def comment_of(event: Event) -> str:
    """What a recording says of itself."""
    finding = event.finding
    what = f"{finding['role']}: node {finding['node']} port {finding['port']}, {finding['cause']}, confidence {finding['confidence']:.2f}"
    return "\n".join((f"finding {finding['id']}: {what}", *finding["evidence"]))


def _write(file: BinaryIO, pieces: list[Piece], begin_ns: int, end_ns: int, comment: str) -> None:
    """One section with an interface for each source and link type."""
    file.write(_block(SECTION_MAGIC, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + _option(_COMMENT, comment.encode()) + _option(0, b"")))
    numbers: dict[tuple[str, int], int] = {}
    written = 0
    record: Any = [0] * records.RECORD_SIZE
    for piece in _around(pieces, begin_ns, end_ns):
        view, position = memoryview(piece.data), 0
        while written < LARGEST_BYTES:
            if next_record(view, position, len(view), piece.framing, piece.interfaces, record) != records.IS_RECORD:
                break
            position = int(record[records.NEXT_RECORD])
            time_ns, captured, link = (int(record[word]) for word in (records.TIME_NS, records.CAPTURED, records.LINK))
            if not begin_ns <= time_ns < end_ns:
                continue
            if (piece.name, link) not in numbers:
                numbers[piece.name, link] = len(numbers)
                options = _option(_NAME, piece.name.encode()) + _option(_RESOLUTION, bytes((_NANOSECONDS,))) + _option(0, b"")
                file.write(_block(struct.pack("<I", records.INTERFACE_DESCRIPTION), struct.pack("<HHI", link, 0, 0) + options))
            data = int(record[records.DATA])
            original = int(record[records.ORIGINAL])
            head = struct.pack("<IIIII", numbers[piece.name, link], time_ns >> 32, time_ns & 0xFFFFFFFF, captured, original)
            packet = bytes(view[data : data + captured])
            file.write(_block(struct.pack("<I", records.ENHANCED_PACKET), head + packet + bytes(-captured % 4)))
            written += captured + 32


def _around(pieces: list[Piece], begin_ns: int, end_ns: int) -> list[Piece]:
    """The pieces that may hold packets of this time: each begins when the one before has ended, or about then."""
    record: Any = [0] * records.RECORD_SIZE
    begins = []
    for piece in pieces:
        found = next_record(memoryview(piece.data), 0, len(piece.data), piece.framing, piece.interfaces, record)
        begins.append(record[records.TIME_NS] if found == records.IS_RECORD else 0)
    ends = [*begins[1:], end_ns]
    return [
        piece for piece, first, last in zip(pieces, begins, ends, strict=True) if first < end_ns + _SLACK_NS and last > begin_ns - _SLACK_NS
    ]


def _block(kind: bytes, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return kind + length + body + length


def _option(code: int, value: bytes) -> bytes:
    value = value[: 0xFFFF - 3]
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)
