"""The layers that the decode kernel enters in one packet, with their arguments and results.

The kernel runs as plain Python with its layer functions watched. So what is kept of a packet follows the kernel's own decisions:
where a layer ends, whether a payload is INT or a report. Nothing is decided a second time.
"""

from __future__ import annotations

import types
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from int_analyzer import packet
from int_analyzer.capture import records
from int_analyzer.columns import N_COUNTS
from int_analyzer.wire.read import Buffer

# Names under which packet.decode_packet calls its layers.
LINK, ETHERNET, MPLS, IPV4, IPV6, EXTENSION = "link", "ethernet", "mpls", "ipv4", "ipv6", "extension"
GRE, ERSPAN, VXLAN, VXLAN_GPE, GENEVE = "gre", "erspan", "vxlan", "vxlan_gpe", "geneve"
PAYLOAD, INT, INT_CARRIED, BTH = "payload", "read_int", "int_carried", "read_bth"
REPORT_05, REPORT_1, REPORTS_2 = "report_05", "report_1", "reports_2"
_LAYERS = (
    *(LINK, ETHERNET, MPLS, IPV4, IPV6, EXTENSION, GRE, ERSPAN, VXLAN, VXLAN_GPE, GENEVE),
    *(PAYLOAD, INT, INT_CARRIED, BTH, REPORT_05, REPORT_1, REPORTS_2),
)


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
        namespace = dict(packet.decode_packet.__globals__)
        for name in namespace.keys() & {*_LAYERS, f"_{PAYLOAD}"}:
            namespace[name] = self._watched(name.lstrip("_"), namespace[name])
        self._decode = types.FunctionType(packet.decode_packet.__code__, namespace)
        # rows are of no interest, but the kernel reads some of its own values again
        self._columns: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))

    def steps(self, data: Buffer, original: int, link: int) -> list[Step]:
        """Layers of one packet in order. data: its captured bytes alone; original: its bytes on the wire."""
        record = [0] * records.RECORD_SIZE
        record[records.CAPTURED], record[records.ORIGINAL], record[records.LINK] = len(data), original, link
        self._steps.clear()
        self._decode(data, record, self._settings, self._columns, [0] * N_COUNTS, 0)
        return list(self._steps)

    def _watched(self, name: str, layer: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            result = layer(*arguments)
            self._steps.append(Step(name, arguments, result))
            return result

        return call
