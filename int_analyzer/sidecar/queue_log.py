"""Every queue, second by second, as Parquet files that rotate: what was measured, for whoever wants to look back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from int_analyzer.errors import SourceError
from int_analyzer.fold.state import State
from int_analyzer.output import replacing
from int_analyzer.sidecar.track import Event

SECONDS = 300
"""Seconds in a file."""
MOST_ROWS = 1 << 19
"""Rows that wait in memory: 50 MB."""
BUDGET_BYTES = 1 << 30
"""Of all files; the oldest give way."""

_QUANTILES = (0.5, 0.99)
_NONE = {"doc": "−1 where absent"}
_FIELDS = [
    pa.field("second", pa.int64(), metadata={"unit": "s", "doc": "since 1970, capture clock"}),
    *(pa.field(name, pa.int64(), metadata=_NONE) for name in ("node_id", "port", "queue_id")),
    pa.field("packets", pa.int64(), metadata={"doc": "hops seen"}),
    pa.field("bytes", pa.int64(), metadata={"unit": "bytes"}),
    *(
        pa.field(f"{measure}_{part}_raw", pa.float64(), metadata={"unit": "raw", "doc": "null where not reported"})
        for measure in ("latency", "depth")
        for part in ("p50", "p99", "max")
    ),
]
SCHEMA = pa.schema(_FIELDS, metadata={"writer": "int-analyzer sidecar"})


class QueueLog:
    """Takes one second after the other and writes a file of SECONDS of them, or of fewer with more than MOST_ROWS rows.

    It is a sink, so that it is known as the others are: faults: files that could not be written; fault: why the last one was not.
    """

    def __init__(self, folder: Path, budget: int = BUDGET_BYTES) -> None:
        self.faults = 0
        self.fault = ""
        self._folder = folder
        self._budget = budget
        self._rows: list[pa.RecordBatch] = []
        self._begin: int | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(folder, error.strerror or str(error)) from error

    def add(self, number: int, state: State) -> None:
        """Take in the second of this number."""
        if self._begin is not None and (not 0 <= number - self._begin < SECONDS or sum(map(len, self._rows)) > MOST_ROWS):
            self.flush()
        queues, _ = state.view_queues()
        count = len(queues.packets)
        if not count:
            return
        if self._begin is None:
            self._begin = number
        columns: list[Any] = [pa.array([number] * count, pa.int64()), *map(pa.array, (queues.node_id, queues.port, queues.queue_id))]
        columns += [pa.array(queues.packets), pa.array(queues.bytes)]
        for histograms, largest in ((queues.latency_histograms, queues.latency_max), (queues.depth_histograms, queues.depth_max)):
            measured = histograms.quantiles(_QUANTILES, rows=range(count))
            columns += [pa.array(measured[:, at], mask=np.isnan(measured[:, at])) for at in range(len(_QUANTILES))]
            columns.append(pa.array(largest.astype(float), mask=largest < 0))
        self._rows.append(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))

    def take(self, events: Sequence[Event]) -> None:
        """Nothing is written of findings."""

    def close(self) -> None:
        """Write what waits."""
        self.flush()

    def flush(self) -> None:
        """Write the file of the seconds that wait."""
        rows, begin, self._rows, self._begin = self._rows, self._begin, [], None
        if not rows:
            return
        try:
            with replacing(self._folder / f"queues-{begin:010d}.parquet") as part:
                pa.parquet.write_table(pa.Table.from_batches(rows), part, compression="zstd")
            self._fit()
            self.fault = ""
        except (OSError, SourceError) as error:
            self.faults += 1
            self.fault = str(error)

    def _fit(self) -> None:
        """Remove the oldest files until the rest is within the budget; the newest stays."""
        files = sorted(self._folder.glob("queues-*.parquet"), key=lambda path: path.name)
        size = sum(path.stat().st_size for path in files)
        for path in files[:-1]:
            if size <= self._budget:
                break
            size -= path.stat().st_size
            path.unlink()
