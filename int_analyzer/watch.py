"""The plain decode kernel with its layer functions watched: what it did with a packet, for those who show or rewrite it.

What they say of a packet so follows the kernel's own decisions: where a layer begins and ends, whether a payload is INT, which dialect
explains it. Nothing is decided a second time.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

from int_analyzer import packet
from int_analyzer.capture import records
from int_analyzer.wire.read import Buffer

# Names under which the kernel calls its layers.
LINK, ETHERNET, MPLS, IPV4, IPV6, EXTENSION = "link", "ethernet", "mpls", "ipv4", "ipv6", "extension"
GRE, ERSPAN, VXLAN, VXLAN_GPE, GENEVE, NSH, LUMINA = "gre", "erspan", "vxlan", "vxlan_gpe", "geneve", "nsh", "lumina"
PAYLOAD, INT_IN_TCP, INT, INT_CARRIED = "payload", "int_in_tcp", "read_int", "int_carried"
MRI, IOAM_SHIM, IOAM, IFA, HPCC, TCP_INT, BTH = "read_mri", "ioam_shim", "ioam", "read_ifa", "read_hpcc", "read_tcp_int", "bth"
REPORT_05, REPORT_1, REPORT_2, REPORT_HOP = "report_05", "report_1", "report_2", "report_hop"
LAYERS = frozenset((
    *(LINK, ETHERNET, MPLS, IPV4, IPV6, EXTENSION, GRE, ERSPAN, VXLAN, VXLAN_GPE, GENEVE, NSH, LUMINA, PAYLOAD, INT_IN_TCP, INT),
    *(INT_CARRIED, MRI, IOAM_SHIM, IOAM, IFA, HPCC, TCP_INT, BTH, REPORT_05, REPORT_1, REPORT_2, REPORT_HOP),
))  # fmt: skip
_WALKS = frozenset(("ipv6_options", "geneve_options", "shims", IOAM_SHIM, "read_report", "read_roce"))
"""Functions that call layers themselves."""

Watch = Callable[[str, Callable[..., Any]], Callable[..., Any]]
"""Given a layer's name and function: what is called in its place."""


def watched(watch: Watch) -> Callable[..., None]:
    """packet.decode_packet, whose layers are called as `watch` has them."""
    return _rewired(packet.decode_packet, watch)


def decode_parts(decode: Callable[..., None], data: Buffer, record: list[int], settings: Any, columns: Any, counts: Any) -> Iterator[int]:
    """Decode the captured bytes of one record, part by part, into rows 0, 1, …: yields each part's number behind it."""
    record = [*record[: records.PART], *[0] * (records.RECORD_SIZE - records.PART)]
    record[records.DATA] = 0
    while True:
        decode(data, record, settings, columns, counts, record[records.PART])
        yield record[records.PART]
        if record[records.NEXT_REPORT] == 0:
            return
        record[records.PART] += 1
        record[records.REPORT], record[records.NEXT_REPORT] = record[records.NEXT_REPORT], 0


def _rewired(function: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    assert isinstance(function, types.FunctionType)
    namespace = dict(function.__globals__)
    for name in function.__code__.co_names:
        if name in _WALKS:
            namespace[name] = _rewired(namespace[name], watch)
        if name in LAYERS and name in namespace:
            namespace[name] = watch(name, namespace[name])
    return types.FunctionType(function.__code__, namespace, function.__name__, function.__defaults__)
