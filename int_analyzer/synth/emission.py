"""How a simulated fabric tells of its packets: the telemetry in them, the reports about them, the mirror around them."""

from __future__ import annotations

from typing import NamedTuple

from int_analyzer import schema
from int_analyzer.formats.dialect import DIALECT_NAMES, HPCC_PAPER, IFA_32, INT_05
from int_analyzer.formats.mri_encode import MAXIMUM_HOPS as MRI_HOPS
from int_analyzer.synth.stack import IOAM_FIELDS

INT_PORT, HPCC_PORT, REPORT_PORT = 5555, 32765, 32766
INT_DSCP = 23
"""None of these is assigned by IANA: the profile beside a capture tells of them."""

MOST_HOPS = 8
"""Hops for which a packet has room, unless its format has less."""

_NODE, _PORTS, _LATENCY, _QUEUE, _INGRESS, _EGRESS, _UTILISATION = 0x8000, 0x4000, 0x2000, 0x1000, 0x0800, 0x0400, 0x0100
_INT_ITEMS = _NODE | _PORTS | _LATENCY | _QUEUE | _INGRESS | _EGRESS | _UTILISATION


class Emission(NamedTuple):
    """A way to tell of packets. The bitmap is INT's or IOAM's; `report` is the version of reports on packets with telemetry,
    `drop_report` that of reports on dropped packets (FORMAT_NONE: nobody tells of them); `depth_unit` is "cells" or "bytes"; `csig`:
    switches leave in a tag how much room the fullest port on the way has."""

    name: str
    title: str
    telemetry: int = schema.FORMAT_NONE
    dialect: int = 0
    instructions: int = 0
    by_port: bool = False
    report: int = schema.FORMAT_NONE
    postcards: bool = False
    drop_report: int = schema.FORMAT_NONE
    ip_version: int = 4
    most_hops: int = MOST_HOPS
    depth_unit: str = "cells"
    csig: bool = False

    @property
    def mirrored(self) -> bool:
        """Whether copies of the packets themselves are captured, not reports only."""
        return self.report == schema.FORMAT_NONE

    @property
    def by_dscp(self) -> bool:
        """Whether a packet says with its DSCP that INT is in it."""
        return self.telemetry in _INT and not self.by_port


_INT = (schema.FORMAT_INT_MD_1, schema.FORMAT_INT_MD_2, schema.FORMAT_INT_MX, schema.FORMAT_INT_05)
_DIALECT_1, _DIALECT_2 = DIALECT_NAMES["int-1.0"], DIALECT_NAMES["int-2.x"]

EMISSIONS: dict[str, Emission] = {
    emission.name: emission
    for emission in (
        Emission(
            "int-md-2.1",
            "INT-MD v2.1 in the packets, behind a UDP port of its own",
            schema.FORMAT_INT_MD_2,
            _DIALECT_2,
            _INT_ITEMS,
            by_port=True,
            drop_report=schema.FORMAT_REPORT_2,
        ),
        Emission(
            "int-md-2.1-dscp",
            "INT-MD v2.1 in the packets, marked by their DSCP",
            schema.FORMAT_INT_MD_2,
            _DIALECT_2,
            _INT_ITEMS,
            drop_report=schema.FORMAT_REPORT_2,
        ),
        Emission(
            "int-md-1.0",
            "INT-MD v1.0 in the packets, marked by their DSCP",
            schema.FORMAT_INT_MD_1,
            _DIALECT_1,
            _INT_ITEMS,
            drop_report=schema.FORMAT_REPORT_1,
        ),
        Emission(
            "int-0.5",
            "INT v0.5 with its tail in the packets, marked by their DSCP",
            schema.FORMAT_INT_05,
            INT_05,
            _INT_ITEMS,
            drop_report=schema.FORMAT_REPORT_05,
        ),
        Emission(
            "report-2.0",
            "telemetry reports v2.0 by the last switch, INT-MD v2.1 in the packet inside",
            schema.FORMAT_INT_MD_2,
            _DIALECT_2,
            _INT_ITEMS,
            by_port=True,
            report=schema.FORMAT_REPORT_2,
            drop_report=schema.FORMAT_REPORT_2,
        ),
        Emission(
            "report-1.0",
            "telemetry reports v1.0 by the last switch, INT-MD v1.0 in the packet inside",
            schema.FORMAT_INT_MD_1,
            _DIALECT_1,
            _INT_ITEMS,
            report=schema.FORMAT_REPORT_1,
            drop_report=schema.FORMAT_REPORT_1,
        ),
        Emission(
            "report-0.5",
            "telemetry reports v0.5 by every switch on the way",
            report=schema.FORMAT_REPORT_05,
            postcards=True,
            drop_report=schema.FORMAT_REPORT_05,
        ),
        Emission(
            "int-xd",
            "INT-XD: reports v2.0 by every switch on the way, nothing in the packets",
            report=schema.FORMAT_REPORT_2,
            postcards=True,
            drop_report=schema.FORMAT_REPORT_2,
        ),
        Emission(
            "int-mx",
            "INT-MX: instructions in the packets, reports v2.0 by every switch on the way",
            schema.FORMAT_INT_MX,
            0,
            _INT_ITEMS,
            by_port=True,
            report=schema.FORMAT_REPORT_2,
            postcards=True,
            drop_report=schema.FORMAT_REPORT_2,
        ),
        Emission(
            "ioam",
            "IOAM pre-allocated trace in a hop-by-hop header of IPv6; times of arrival only",
            schema.FORMAT_IOAM_TRACE,
            0,
            IOAM_FIELDS,
            ip_version=6,
        ),
        Emission(
            "ioam-incremental",
            "IOAM incremental trace behind NSH, in front of the packets; times of arrival only",
            schema.FORMAT_IOAM_INCREMENTAL,
            0,
            IOAM_FIELDS,
        ),
        Emission(
            "ifa-2.0",
            "IFA 2.0 in the packets, behind their IP and UDP headers; times of arrival only",
            schema.FORMAT_IFA,
            IFA_32,
            depth_unit="bytes",
        ),
        Emission(
            "hpcc",
            "HPCC's header in packets on a UDP port of its own: it names no node, so that no port can be found",
            schema.FORMAT_HPCC,
            HPCC_PAPER,
        ),
        Emission(
            "mri",
            f"the MRI option of the P4 tutorials: node and depth of {MRI_HOPS} hops at most",
            schema.FORMAT_MRI,
            most_hops=MRI_HOPS,
        ),
        Emission(
            "ioam-e2e",
            "IOAM edge to edge in a destination header of IPv6: packets are numbered and timed at the first switch; no hops",
            schema.FORMAT_IOAM_E2E,
            ip_version=6,
        ),
        Emission(
            "ioam-dex",
            "IOAM direct export in a hop-by-hop header of IPv6: what the switches are asked for, not what they answer; no hops",
            schema.FORMAT_IOAM_DEX,
            ip_version=6,
        ),
        Emission("csig", "CSIG tags: room at the fullest port on the way, and its place; no hops", csig=True),
        Emission("roce", "RoCEv2 without telemetry"),
    )
}
"""By the names of `generate --format`."""


UNWRITTEN = {
    "ioam-pot": "it proves a path, and tells of no hop",
    "tcp-int": "it stands in TCP, and what is simulated is RoCEv2 over UDP",
}
"""Formats that are read and that no simulated fabric tells in, by their names in the schema, and why not."""


def detection(emission: Emission) -> str:
    """What an operator knows of where telemetry stands: the `[detect]` of a profile as TOML text."""
    lines = ["[detect]"]
    if emission.by_port:
        lines.append(f"int_ports = [{INT_PORT}]")
    if emission.by_dscp:
        lines.append(f'int_dscp = "{INT_DSCP:#04x}/0x3f"')
    if emission.telemetry == schema.FORMAT_HPCC:
        lines.append(f"hpcc_ports = [{HPCC_PORT}]")
    if emission.report or emission.drop_report:
        lines.append(f"report_ports = [{REPORT_PORT}]")
    return "\n".join(lines) + "\n" if len(lines) > 1 else ""
