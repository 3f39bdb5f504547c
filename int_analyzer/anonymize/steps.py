"""The layers that the decode kernel enters in one packet, with their arguments and results: what is kept of it follows them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from int_analyzer.capture import records
from int_analyzer.columns import N_COUNTS
from int_analyzer.watch import REPORT_2, decode_parts, watched
from int_analyzer.wire.read import Buffer


class Step(NamedTuple):
    """One call of a layer: its name, arguments and result."""

    layer: str
    arguments: tuple[Any, ...]
    result: Any


class Kernel:
    """The plain decode kernel of one packet at a time. settings: as a profile makes them."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings
        self._steps: list[Step] = []
        self._decode = watched(self._watched)
        # rows are of no interest, but the kernel reads some of its own values again
        self._columns: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))

    def steps(self, data: Buffer, original: int, link: int) -> list[Step]:
        """Layers of one packet in order, of further parts from their report on.

        data: its captured bytes alone; original: its bytes on the wire.
        """
        record = [0] * records.RECORD_SIZE
        record[records.CAPTURED], record[records.ORIGINAL], record[records.LINK] = len(data), original, link
        found: list[Step] = []
        self._steps.clear()
        for part in decode_parts(self._decode, data, record, self._settings, self._columns, [0] * N_COUNTS):
            begin = next((place for place, step in enumerate(self._steps) if step.layer == REPORT_2), 0) if part else 0
            found += self._steps[begin:]
            self._steps.clear()
        return found

    def _watched(self, name: str, layer: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            place = len(self._steps)
            result = layer(*arguments)
            # in front of the layers that it has called itself
            self._steps.insert(place, Step(name, arguments, result))
            return result

        return call
