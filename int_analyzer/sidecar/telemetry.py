"""The sidecar's own telemetry to a collector, after every tick what is due: metrics, and the path of a sampled packet."""

from __future__ import annotations

import socket

from int_analyzer.sidecar.exposition import Exposition
from int_analyzer.sidecar.otlp import Otlp
from int_analyzer.sidecar.service import Sidecar

SAMPLE_TICKS = 10
"""A path is sampled so often, of each source."""


class Telemetry:
    """Joins an Otlp to a sidecar; findings reach it as to any sink."""

    def __init__(self, sidecar: Sidecar, url: str) -> None:
        self._sidecar = sidecar
        self._otlp = Otlp(url, socket.gethostname())
        self._exposition = Exposition(sidecar)
        self._ticks = 0
        sidecar.sinks.append(self._otlp)

    def tell(self, now_ns: int) -> None:
        """Send what is due."""
        self._otlp.measure(self._exposition.collect(), now_ns)
        for worker in self._sidecar.workers:
            sample, worker.sample = worker.sample, None
            if sample is not None:
                self._otlp.trace(sample, self._sidecar.profile)
            if self._ticks % SAMPLE_TICKS == 0:
                worker.sample_wanted = True
        self._ticks += 1
