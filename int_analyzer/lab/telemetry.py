"""The telemetry section of a topology file: which packets are watched, how, and what the monitor gets."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from int_analyzer.errors import TopologyError
from int_analyzer.lab.constant import FORMAT_ERSPAN, FORMAT_REPORT, INT_NPT_DSCP, INT_NPT_PORT, MODE_IOAM, MODE_MD, MODE_MX, MODE_XD
from int_analyzer.lab.topology import Topology

MODES = {"md": MODE_MD, "mx": MODE_MX, "xd": MODE_XD, "ioam": MODE_IOAM}
MARKS = {"dscp": INT_NPT_DSCP, "port": INT_NPT_PORT}
FORMATS = {"report": (FORMAT_REPORT,), "erspan": (FORMAT_ERSPAN,), "both": (FORMAT_REPORT, FORMAT_ERSPAN)}
ITEMS = {"node": 0, "ports": 1, "latency": 2, "queue": 3, "ingress_time": 4, "egress_time": 5, "level2": 6, "utilisation": 7, "buffer": 8}
"""Bits of the instruction bitmap (INT v2.1 §5.8), 0 the most significant."""

_SECTION = "telemetry"
_IPV4, _IPV6 = 4, 6
_TRACE = "ioam"
_WATCH_KEYS = ("source", "destination", "dscp", "dest_qp")


@dataclass(frozen=True)
class Telemetry:
    """How packets are watched. Every key may be left out.

    `sample`: one packet in so many. `snap`: bytes of a packet that a report keeps. `queue_threshold` in packets, 0 for none.
    `quiet`: report from a node only when the latency of a flow there has changed by about 2^`latency_shift` µs. `watch`: what is
    watched, each a mapping of source and destination (prefixes), dscp and dest_qp; what is left out matches all. `ip`: the version of IP
    that the hosts of a lab speak, 0 for what the mode needs.
    """

    mode: str = "md"
    ip: int = 0
    mark: str = "port"
    items: tuple[str, ...] = ("node", "ports", "latency", "queue", "ingress_time", "egress_time", "utilisation")
    hops: int = 8
    sample: int = 1
    format: str = "report"
    snap: int = 256
    mtu: int = 1500
    queue_threshold: int = 0
    latency_shift: int = 8
    quiet: bool = False
    watch: tuple[Mapping[str, Any], ...] = ({},)

    @property
    def six(self) -> bool:
        """Whether hosts speak IPv6: where a trace has its place, or where they are told to."""
        return self.ip == _IPV6 or self.mode == _TRACE

    @property
    def copies(self) -> tuple[int, ...]:
        """The formats of the copies that the monitor gets of a packet, by their codes."""
        return FORMATS[self.format]

    @property
    def instructions(self) -> int:
        """The instruction bitmap."""
        return sum(0x8000 >> ITEMS[item] for item in self.items)


def telemetry_of(topology: Topology, **changes: Any) -> Telemetry:
    """Read the section, with keys replaced by those that are given and not None."""
    section = topology.sections.get(_SECTION, {})
    if not isinstance(section, dict):
        raise TopologyError(topology.name, _SECTION, "is no table")
    known = {field.name: field.default for field in fields(Telemetry)}
    values = {**section, **{key: value for key, value in changes.items() if value is not None}}
    for key, value in values.items():
        if key not in known:
            raise TopologyError(topology.name, f"{_SECTION}.{key}", "nothing reads this key")
        if isinstance(known[key], tuple):
            if not isinstance(value, list):
                raise TopologyError(topology.name, f"{_SECTION}.{key}", "is no list")
            values[key] = tuple(value)
        elif type(value) is not type(known[key]) or (isinstance(value, int) and value < 0):
            raise TopologyError(topology.name, f"{_SECTION}.{key}", f"{value!r} cannot stand here")
    telemetry = Telemetry(**values)
    for key, choices in (("mode", MODES), ("mark", MARKS), ("format", FORMATS)):
        if getattr(telemetry, key) not in choices:
            raise TopologyError(topology.name, f"{_SECTION}.{key}", f"{getattr(telemetry, key)!r} is none of {', '.join(choices)}")
    for item in telemetry.items:
        if item not in ITEMS:
            raise TopologyError(topology.name, f"{_SECTION}.items", f"{item!r} is none of {', '.join(ITEMS)}")
    if telemetry.ip not in (0, _IPV4, _IPV6):
        raise TopologyError(topology.name, f"{_SECTION}.ip", f"{telemetry.ip} is no version of IP: 4 or 6")
    if telemetry.ip == _IPV4 and telemetry.mode == _TRACE:
        raise TopologyError(topology.name, f"{_SECTION}.ip", "4 cannot stand here: an IOAM trace is an option of IPv6")
    if telemetry.sample == 0:
        raise TopologyError(topology.name, f"{_SECTION}.sample", "0 cannot stand here")
    for number, entry in enumerate(telemetry.watch):
        _check_watch(topology, f"{_SECTION}.watch.{number}", entry)
    return telemetry


def _check_watch(topology: Topology, key: str, entry: Any) -> None:
    if not isinstance(entry, dict):
        raise TopologyError(topology.name, key, "is no table")
    for name, value in entry.items():
        if name not in _WATCH_KEYS:
            raise TopologyError(topology.name, f"{key}.{name}", "nothing reads this key")
        if name in ("source", "destination"):
            try:
                ipaddress.ip_network(value)
            except ValueError as error:
                raise TopologyError(topology.name, f"{key}.{name}", str(error)) from error
        elif not isinstance(value, int):
            raise TopologyError(topology.name, f"{key}.{name}", f"{value!r} is no number")
