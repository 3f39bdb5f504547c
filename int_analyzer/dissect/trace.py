"""What the decode kernel did with one packet: every layer that it entered, with its arguments and results, and the rows it wrote.

The kernel is run as plain Python with its layer functions wrapped, so that what is shown follows the kernel's own decisions: where a
layer begins and ends, whether a payload is INT, which dialect explains it. Nothing is decided a second time.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from int_analyzer import packet
from int_analyzer.capture.records import DATA
from int_analyzer.columns import N_PACKETS, Columns, allocate

# Names under which packet.decode_packet calls its layers.
LINK, ETHERNET, MPLS, IPV4, IPV6, EXTENSION = "link", "ethernet", "mpls", "ipv4", "ipv6", "extension"
GRE, ERSPAN, VXLAN, VXLAN_GPE, GENEVE = "gre", "erspan", "vxlan", "vxlan_gpe", "geneve"
PAYLOAD, INT_IN_TCP, INT, INT_CARRIED = "payload", "int_in_tcp", "read_int", "int_carried"
MRI, IOAM, BTH = "read_mri", "read_ioam", "read_bth"
REPORT_05, REPORT_1, REPORTS_2, REPORT_HOP = "report_05", "report_1", "reports_2", "report_hop"
LAYERS = (
    LINK,
    ETHERNET,
    MPLS,
    IPV4,
    IPV6,
    EXTENSION,
    GRE,
    ERSPAN,
    VXLAN,
    VXLAN_GPE,
    GENEVE,
    PAYLOAD,
    INT_IN_TCP,
    INT,
    INT_CARRIED,
    MRI,
    IOAM,
    BTH,
    REPORT_05,
    REPORT_1,
    REPORTS_2,
    REPORT_HOP,
)
_ADDED = (INT, INT_CARRIED, MRI, IOAM)
"""Layers with hops; their results say how many, −1 if they have left the rows alone."""
_PACKETS = 64
"""Capacity of the columns: 512 rows of every table, more than one packet can fill."""


class Hop(NamedTuple):
    """A row of hops as it stood behind the layer that wrote it: position on the path, presence bits."""

    number: int
    present: int


class Step(NamedTuple):
    """One call of a layer: its name, arguments and result; for layers with hops the dialect and the hops, in path order.

    is_kept: its hops are the rows of the packet; no later layer has put its own in their place.
    """

    layer: str
    arguments: tuple[Any, ...]
    result: Any
    dialect: int
    hops: tuple[Hop, ...]
    is_kept: bool = False


class Trace(NamedTuple):
    """All steps of a packet in order, and the columns with its rows (row 0 of packets)."""

    steps: list[Step]
    columns: Columns


def trace(data: bytes, record: Sequence[int], settings: Any) -> Trace:
    """Run the kernel over one packet. `record` is what capture.records.next_record filled; `data` are the captured bytes alone."""
    columns = allocate(_PACKETS)
    target = columns.by_name()
    steps: list[Step] = []
    namespace = dict(packet.decode_packet.__globals__)
    for name in LAYERS:
        namespace[name] = _watched(name, namespace[name], target, steps)
    run = types.FunctionType(packet.decode_packet.__code__, namespace)
    alone = list(record)
    alone[DATA] = 0
    run(memoryview(data), alone, settings, target, columns.counts, 0)
    columns.counts[N_PACKETS] = 1
    last = max((position for position, step in enumerate(steps) if _added(step.layer, step.result) >= 0), default=None)
    if last is not None:
        steps[last] = steps[last]._replace(is_kept=True)
    return Trace(steps, columns)


def _watched(name: str, layer: Callable[..., Any], target: dict[str, Any], steps: list[Step]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        result = layer(*arguments)
        dialect, hops = 0, tuple[Hop, ...]()
        if name in _ADDED:
            dialect, hops = target["packets.dialect"][0], tuple(_hops(target, _added(name, result)))
        steps.append(Step(name, arguments, result, dialect, hops))
        return result

    return call


def _added(layer: str, result: Any) -> int:
    """Hops that a call of a layer has added, −1 if it has none to add."""
    if layer == MRI:
        return int(result)
    return int(result[3]) if layer in _ADDED else -1


def _hops(target: dict[str, Any], added: int) -> Iterator[Hop]:
    for row in range(added):
        yield Hop(target["hops.hop"][row], target["hops.present"][row])
