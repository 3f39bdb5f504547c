"""What the decode kernel did with one packet: every layer that it entered, with its arguments and results, and the rows it wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from int_analyzer.columns import N_PACKETS, Columns, allocate
from int_analyzer.watch import HPCC, IFA, INT, INT_CARRIED, IOAM, MRI, decode_parts, watched

_HOPS_ADDED = {INT: 3, INT_CARRIED: 3, IOAM: 3, IFA: 2, HPCC: 2}
"""Layers with hops, and where in their results their number stands: −1 if they have left the rows alone. MRI gives it alone."""

_PACKETS, _LEAST_BYTES = 64, 8
"""Capacity of the columns: 512 rows of every table, and room for options of 8 bytes and hops of 4 wherever they fit into the packet."""


class Hop(NamedTuple):
    """A row of hops as it stood behind the layer that wrote it: position on the path, presence bits."""

    number: int
    present: int


class Step(NamedTuple):
    """One call of a layer: its name, arguments and result; for layers with hops the dialect and the hops, in path order.

    is_kept: its hops are rows of the packet; no later layer has put its own in their place.
    """

    layer: str
    arguments: tuple[Any, ...]
    result: Any
    dialect: int
    hops: tuple[Hop, ...]
    is_kept: bool = False


class Trace(NamedTuple):
    """All steps of each part of a packet in order, and the columns with its rows (a row of packets for each part)."""

    parts: list[list[Step]]
    columns: Columns

    @property
    def steps(self) -> list[Step]:
        """Steps of all parts."""
        return [step for steps in self.parts for step in steps]


def trace(data: bytes, record: Sequence[int], settings: Any) -> Trace:
    """Run the kernel over one packet. `record` is what capture.records.next_record filled; `data` are the captured bytes alone."""
    columns = allocate(max(_PACKETS, len(data) // _LEAST_BYTES))
    target = columns.by_name()
    steps: list[Step] = []
    parts: list[list[Step]] = []
    decode = watched(lambda name, layer: _watched(name, layer, target, steps))
    for part in decode_parts(decode, memoryview(data), list(record), settings, target, columns.counts):
        last = max((position for position, step in enumerate(steps) if _added(step.layer, step.result) >= 0), default=None)
        if last is not None:
            steps[last] = steps[last]._replace(is_kept=True)
        parts.append(steps.copy())
        steps.clear()
        columns.counts[N_PACKETS] = part + 1
    return Trace(parts, columns)


def _watched(name: str, layer: Callable[..., Any], target: dict[str, Any], steps: list[Step]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        place = len(steps)
        result = layer(*arguments)
        dialect, hops = 0, tuple[Hop, ...]()
        if name in _HOPS_ADDED or name == MRI:
            # the packet's row and the first of its hops are the last arguments of every layer with hops
            dialect = target["packets.dialect"][arguments[-2]]
            hops = tuple(_hops(target, arguments[-1], _added(name, result)))
        # in front of the layers that it has called itself
        steps.insert(place, Step(name, arguments, result, dialect, hops))
        return result

    return call


def _added(layer: str, result: Any) -> int:
    """Hops that a call of a layer has added, −1 if it has none to add."""
    if layer == MRI:
        return int(result)
    return int(result[_HOPS_ADDED[layer]]) if layer in _HOPS_ADDED else -1


def _hops(target: dict[str, Any], first: int, added: int) -> Iterator[Hop]:
    for row in range(first, first + added):
        yield Hop(target["hops.hop"][row], target["hops.present"][row])
