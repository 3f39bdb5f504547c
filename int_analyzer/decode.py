"""Capture bytes → columns: the loop over records, and the Python side that feeds it windows of a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from int_analyzer import _jit
from int_analyzer._jit import kernel
from int_analyzer.capture import records
from int_analyzer.capture.records import next_record
from int_analyzer.columns import (
    HOPS_PER_BATCH,
    N_HOPS,
    N_MIRRORS,
    N_OPTIONS,
    N_PACKETS,
    N_RECORDS,
    N_REPORTS,
    N_ROCE,
    NEXT,
    OPTIONS_PER_BATCH,
    PACKETS_PER_BATCH,
    STOP,
    STOP_DETAIL,
    Columns,
    allocate,
)
from int_analyzer.packet import decode_packet
from int_analyzer.settings import default_settings
from int_analyzer.usual import usual_packet
from int_analyzer.wire.read import Buffer

STOP_FULL, STOP_CONTROL, STOP_DAMAGE = 0, records.NEEDS_CONTROL, records.IS_DAMAGED
"""Why a batch ended: columns full, a pcapng block for Python, damage (counts[STOP_DETAIL] says which); else the bytes are used up."""

_ROWS_PER_PACKET = 256
"""The most hops or options of one packet: 252 INT hops of one word and the report's own, 254 IOAM nodes, 64 options."""


_NOT_USUAL, _LOOK_AGAIN = 8, 256
"""After so many packets in a row that were not usual, only one in so many is tried as one: all packets of a port may be reports."""


@kernel
def decode_batch(
    buffer: Buffer,
    position: int,
    stop: int,
    framing: Any,
    interfaces: Any,
    settings: Any,
    columns: Any,
    counts: Any,
    record: Any,
    capacity: int,
) -> None:
    """Decode records from `position` on until `capacity` packets or the bytes end; fills columns and counts.

    `columns` is the arena (uint8[:]) when compiled, views by name when not (columns.put). A packet whose rows might not fit is left for
    the next batch. `record`, int64[RECORD_SIZE], is the record at hand: where its datagram has further reports, each is a packet, and
    the next batch may go on with them (same buffer, same `record`).
    """
    counts[N_HOPS] = 0
    counts[N_ROCE] = 0
    counts[N_REPORTS] = 0
    counts[N_MIRRORS] = 0
    counts[N_OPTIONS] = 0
    hop_capacity = HOPS_PER_BATCH - _ROWS_PER_PACKET
    option_capacity = OPTIONS_PER_BATCH - _ROWS_PER_PACKET
    reason = STOP_FULL
    row, first_parts, unusual = 0, 0, 0
    while row < capacity and counts[N_HOPS] <= hop_capacity and counts[N_OPTIONS] <= option_capacity:
        if record[records.NEXT_REPORT] == 0:
            found = next_record(buffer, position, stop, framing, interfaces, record)
            if found != records.IS_RECORD:
                reason = found
                counts[STOP_DETAIL] = record[records.DAMAGE]
                position = record[records.NEXT_RECORD]
                break
            record[records.PART] = 0
            first_parts += 1
        else:
            record[records.PART] += 1
            record[records.REPORT] = record[records.NEXT_REPORT]
            record[records.NEXT_REPORT] = 0
        read = False
        if unusual < _NOT_USUAL or row % _LOOK_AGAIN == 0:
            options = counts[N_OPTIONS]
            read = usual_packet(buffer, record, settings, columns, counts, row)
            unusual += 1
            if read:
                unusual = 0
            else:
                counts[N_OPTIONS] = options
        if not read:
            decode_packet(buffer, record, settings, columns, counts, row)
        position = record[records.NEXT_RECORD]
        row += 1
    counts[N_PACKETS] = row
    counts[N_RECORDS] = first_parts
    counts[NEXT] = position
    counts[STOP] = reason


class Decoder:
    """Feeds a source's windows to the kernel. One per thread; its columns are reused by every batch.

    compiled=False runs the same kernel as plain Python: right for a few thousand packets, where numba would take longer to load.
    """

    def __init__(self, settings: Any = None, compiled: bool = True, packets: int = PACKETS_PER_BATCH) -> None:
        if not 0 < packets <= PACKETS_PER_BATCH:
            raise ValueError(f"a batch holds 1 to {PACKETS_PER_BATCH} packets, not {packets}")
        self.settings = default_settings() if settings is None else settings
        self.columns = allocate()
        self._capacity = packets
        self.first_packet = 0
        self.packets = 0
        self._compiled = compiled and not _jit.DISABLED
        self._kernel = _jit.compiled(decode_batch) if compiled else decode_batch
        self._target = self.columns.arena if self._compiled else self.columns.by_name()
        self._record = np.zeros(records.RECORD_SIZE, dtype=np.int64)

    def batches(self, source: Any) -> Iterator[Columns]:
        """Columns of one batch after another; `first_packet` is the number of its first record in this source."""
        self.first_packet = self.packets = 0
        self._record[records.NEXT_REPORT] = 0
        for window in source.windows():
            while self._step(source, window):
                if self.columns.counts[N_PACKETS] > 0:
                    yield self.columns
            if self.columns.counts[N_PACKETS] > 0:
                yield self.columns
            if window.last:
                source.finish(window)

    def _step(self, source: Any, window: Any) -> bool:
        """Decode one batch of a window; False when the window has nothing more to give."""
        buffer = window.buffer if self._compiled else memoryview(window.buffer)
        counts = self.columns.counts
        self.first_packet = self.packets - int(self._record[records.NEXT_REPORT] != 0)
        self._kernel(
            buffer,
            window.position,
            window.stop,
            window.framing,
            window.interfaces,
            self.settings,
            self._target,
            counts,
            self._record,
            self._capacity,
        )
        window.position = int(counts[NEXT])
        self.packets += int(counts[N_RECORDS])
        stop = counts[STOP]
        if stop == STOP_FULL:
            return True
        if stop == STOP_CONTROL:
            return bool(source.control(window))
        if stop == STOP_DAMAGE:
            source.damage(window.base + window.position, records.DAMAGES[int(counts[STOP_DETAIL])])
        return False
