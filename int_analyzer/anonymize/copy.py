"""A capture record by record into another of the same format, each packet rewritten. Memory does not grow with the capture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from int_analyzer.anonymize.rewrite import Rewriter
from int_analyzer.anonymize.writer import PcapngWriter, PcapWriter
from int_analyzer.capture import Source, Window, open_source
from int_analyzer.capture.damage import Damage
from int_analyzer.capture.pcap import HEADER_BYTES
from int_analyzer.capture.pcapng import MalformedBlock
from int_analyzer.capture.records import (
    CAPTURED,
    DAMAGE,
    DAMAGES,
    DATA,
    IS_DAMAGED,
    IS_RECORD,
    LINK,
    NEEDS_CONTROL,
    NEXT_RECORD,
    ORIGINAL,
    RECORD_SIZE,
    next_record,
)
from int_analyzer.errors import IntAnalyzerError, SourceError
from int_analyzer.output import STANDARD, opened

Progress = Callable[[int, int | None], None]
"""Called with the bytes read so far and, where known, all bytes."""

_REPORTED = 1000


@dataclass
class Outcome:
    """Packets written, their captured bytes before and after, and what of the capture could not be read."""

    packets: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    damages: tuple[Damage, ...] = ()


def copy(capture: str, output: str, rewriter: Rewriter, *, shift_s: int = 0, progress: Progress | None = None) -> Outcome:
    """Write the anonymised `capture` to `output` ("-" for either: a pipe), compressed if that ends in .gz or .zst.

    `shift_s` seconds are added to the time of every record. Raises SourceError, CaptureError; the output then does not appear.
    """
    if output != STANDARD and capture != STANDARD and Path(output).exists() and Path(capture).samefile(output):
        raise IntAnalyzerError(f"{output}: is the capture itself: name another file")
    outcome = Outcome()
    with open_source(capture) as source, opened(output) as target:
        writer = (PcapWriter if source.kind == "pcap" else PcapngWriter)(target, shift_s)
        for window in source.windows():
            _records(source, window, writer, rewriter, outcome, progress)
        outcome.damages = tuple(source.damages)
    return outcome


def _records(source: Source, window: Window, writer: Any, rewriter: Rewriter, outcome: Outcome, progress: Progress | None) -> None:
    view = memoryview(window.buffer)
    record = [0] * RECORD_SIZE
    if source.kind == "pcap" and window.base == 0 and window.position == HEADER_BYTES:
        writer.header(view[:HEADER_BYTES])
    while True:
        found = next_record(view, window.position, window.stop, window.framing, window.interfaces, record)
        window.position = record[NEXT_RECORD]
        if found == IS_RECORD:
            begin, captured = record[DATA], record[CAPTURED]
            packet = rewriter.packet(bytes(view[begin : begin + captured]), record[ORIGINAL], int(record[LINK]))
            writer.record(view, record, window.framing, packet)
            outcome.packets += 1
            outcome.bytes_before += captured
            outcome.bytes_after += len(packet)
            if progress is not None and outcome.packets % _REPORTED == 0:
                progress(source.consumed, source.size)
        elif found == NEEDS_CONTROL:
            at = window.position
            if not source.control(window):
                return
            try:
                writer.control(view, at, window.stop, window.framing)
            except MalformedBlock as error:
                raise SourceError(source.path, str(error)) from error
        else:
            if found == IS_DAMAGED:
                source.damage(window.base + window.position, DAMAGES[record[DAMAGE]])
            return
