"""The slow, obvious twin of the decoder: struct and int.from_bytes only, one packet at a time, nothing shared with the package but
names of columns, statuses and warnings. Where the two disagree, one of them misread the formats.

`decode_record(data, link_type)` gives {"packet", "hops", "roce", "reports", "mirrors", "options", "dialect"} for every row that the
record has in the packet table: dictionaries with the names of the columns in int_analyzer/schema.py. Values that are not there are
None. 64-bit columns are unsigned here.

What exactly is a status, a warning, a column where the formats leave a choice stands as a table at the head of each layer's file;
§ is a section of the format reference.
"""

# packet    columns without an `absent` value are 0 where nothing was read. captured < original: w captured-short, > :
#           w captured-beyond-original. snaplen-exceeded and timestamp-fraction belong to the capture reader.

from __future__ import annotations

from typing import Any

from int_analyzer import schema

from .base import Stop
from .capture import read_pcap
from .dialect import DIALECT_NUMBERS
from .hpcc import Hpcc
from .ifa import Ifa
from .int_md import IntHeader
from .int_stack import IntStack
from .ioam import Ioam
from .ip import Ip
from .link import Link
from .mirror import Mirror
from .report import Report
from .roce import OPCODES, Roce
from .transport import Transport
from .tunnel import Tunnel

__all__ = ["DIALECT_NUMBERS", "OPCODES", "decode_packet", "decode_record", "read_pcap"]


class Reader(Link, Ip, Transport, Tunnel, Mirror, Roce, IntHeader, IntStack, Report, Ioam, Ifa, Hpcc):
    """Reads one packet."""

    def result(self) -> dict[str, Any]:
        """Everything that was read."""
        hops = list(self.stack)
        if self.report_hop is not None:
            if not self.packet["telemetry"]:
                self.packet["telemetry"] = self.report_format
            if not hops or hops[-1]["node_id"] is None or hops[-1]["node_id"] != self.report_hop["node_id"]:
                self.report_hop["present"] |= schema.HOP_FROM_REPORT
                hops.append(self.report_hop)
        for number, hop in enumerate(hops):
            hop.update(packet=0, hop=self.missing + number)
        nodes = [hop["node_id"] for hop in hops if hop["node_id"] is not None]
        if len(set(nodes)) < len(nodes):
            self.warnings.add("node-repeated")
        self.packet.update(
            formats=self.formats,
            hop_count=len(hops),
            first_hop=0,
            roce_row=None if self.roce is None else 0,
            report_count=len(self.reports),
            status=self.status,
            status_at=min(self.status_at, 0xFFFF),
            warnings=self.warnings,
        )
        return {
            "packet": self.packet,
            "hops": hops,
            "roce": self.roce,
            "reports": self.reports,
            "mirrors": self.mirrors,
            "options": self.options,
            "dialect": self.dialect,
        }


DEFAULTS: dict[str, Any] = {
    "int_ports": (),
    "int_dscp": None,
    "marker": None,
    "int_dialect": None,
    "report_ports": (),
    "domains": {},
    "geneve_int_classes": (),
    "geneve_ioam_classes": (),
    "gre_int_protocols": (),
    "gpe_int_protocols": (),
    "gpe_ioam_protocols": (),
    "ifa_protocols": (131,),
    "lumina_ports": (),
    "hpcc_ports": (),
    "hpcc_layout": "paper",
    "csig_type": 0x9900,
    "csig_wide_type": None,
    "tcp_int": False,
}
"""What a profile may hold: `int_dscp` (value, mask), `marker` a 64-bit number, `domains` {id: (source-only words, words in every hop)}."""


def decode_record(
    data: bytes, link_type: int, original: int | None = None, time_ns: int = 0, profile: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Decode one captured packet: a result for every report in it, one if it is no report."""
    results = []
    more = True
    while more:
        reader = Reader(bytes(data), len(data) if original is None else original, time_ns, DEFAULTS | (profile or {}), len(results))
        if len(data) < reader.packet["original_bytes"]:
            reader.warnings.add("captured-short")
        elif len(data) > reader.packet["original_bytes"]:
            reader.warnings.add("captured-beyond-original")
        try:
            reader.link(link_type, max(reader.packet["original_bytes"], len(data)), len(data))
        except Stop as stop:
            reader.fail(stop.status, stop.at)
        results.append(reader.result())
        more = reader.more
    return results


def decode_packet(
    data: bytes, link_type: int, original: int | None = None, time_ns: int = 0, profile: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Decode one captured packet, of a datagram with several reports the first."""
    return decode_record(data, link_type, original, time_ns, profile)[0]
