"""Columns → capture bytes: the loop over rows, and the Python side that hands out pieces of a capture. The inverse of `decode`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from int_analyzer import _jit
from int_analyzer._jit import kernel
from int_analyzer.capture.records import KIND_PCAP
from int_analyzer.capture.records_encode import RECORD_ROOM, data_at, file_head, put_record
from int_analyzer.columns import ARENA_BYTES, N_PACKETS, Columns, get, put
from int_analyzer.packet_encode import LONGEST, MIRRORED, Surroundings, encode_packet, has_option
from int_analyzer.wire.read import Buffer

# cursor: int64[5], where the writing of a batch stands
AT, ROW, REPORT, MIRROR, OPTION = 0, 1, 2, 3, 4

_PIECE = 8 * 1024 * 1024


@kernel
def encode_batch(buffer: Buffer, stop: int, columns: Any, packets: int, kind: int, snaplen: int, surroundings: Any, cursor: Any) -> None:
    """Write records of the rows from cursor[ROW] on, until `packets` or until the next one might not end before `stop`.

    `columns` as for `decode_batch`; `kind` is KIND_PCAP or KIND_PCAPNG; `snaplen` 0 keeps packets whole.
    """
    at, row, report, mirror, option = cursor[AT], cursor[ROW], cursor[REPORT], cursor[MIRROR], cursor[OPTION]
    while row < packets and at + RECORD_ROOM + LONGEST <= stop:
        begin = data_at(at, kind)
        limit = snaplen if snaplen != 0 else LONGEST
        original = encode_packet(buffer, begin, begin + limit, columns, row, report, mirror, option, surroundings) - begin
        captured = min(original, limit)
        put(columns, "packets.original_bytes", row, original)
        put(columns, "packets.captured_bytes", row, captured)
        at = put_record(buffer, at, kind, get(columns, "packets.time_ns", row), captured, original)
        report += get(columns, "packets.report_count", row)
        if get(columns, "packets.tunnels", row) & MIRRORED != 0:
            mirror += 1
        if has_option(columns, row):
            option += 1
        row += 1
    cursor[AT], cursor[ROW], cursor[REPORT], cursor[MIRROR], cursor[OPTION] = at, row, report, mirror, option


class Encoder:
    """Turns batches of columns into pieces of a capture file. One per file.

    `kind` is KIND_PCAP or KIND_PCAPNG, `snaplen` the most bytes that are kept of a packet (0: all). compiled=False runs the same kernel
    as plain Python.
    """

    def __init__(self, surroundings: Surroundings, kind: int = KIND_PCAP, snaplen: int = 0, compiled: bool = True) -> None:
        self._surroundings, self._kind, self._snaplen = surroundings, kind, snaplen
        self._compiled = compiled and not _jit.DISABLED
        self._kernel = _jit.compiled(encode_batch) if compiled else encode_batch
        piece: Any = np.zeros(_PIECE, dtype=np.uint8)
        self._view = memoryview(piece)
        self._buffer = piece if self._compiled else self._view
        self._cursor = np.zeros(5, dtype=np.int64)

    def head(self) -> bytes:
        """What the file begins with."""
        return file_head(self._kind)

    def pieces(self, columns: Columns) -> Iterator[tuple[int, memoryview]]:
        """The records of a batch, some megabytes at a time, and how many they are; a piece is valid until the next is asked for.

        Lengths and the ICRC are written back to `columns`.
        """
        if self._compiled and columns.arena.nbytes != ARENA_BYTES:
            raise ValueError("the compiled kernel takes columns of the default size only")
        target = columns.arena if self._compiled else columns.by_name()
        packets = int(columns.counts[N_PACKETS])
        self._cursor[:] = 0
        while self._cursor[ROW] < packets:
            self._cursor[AT], row = 0, int(self._cursor[ROW])
            self._kernel(self._buffer, _PIECE, target, packets, self._kind, self._snaplen, self._surroundings, self._cursor)
            yield int(self._cursor[ROW]) - row, self._view[: int(self._cursor[AT])]
