"""What is read, and how far: formats, dialects and carriers as text and as a document."""

from __future__ import annotations

from typing import Any

from int_analyzer import schema
from int_analyzer.formats.dialect import DIALECTS
from int_analyzer.report.grid import Grid

CARRIERS: dict[str, str] = {
    "capture": "pcap (all magics, both byte orders), pcapng (sections, several interfaces); plain, .gz, .zst, standard input",
    "link": "Ethernet, raw IP, IPv4, IPv6, Linux cooked SLL and SLL2; VLAN, QinQ, CSIG, MPLS",
    "network": "IPv4, IPv6 with extension headers, fragments, UDP, TCP, GRE",
    "mirror": "ERSPAN type I, II and III",
    "overlay": "VXLAN, VXLAN-GPE, Geneve",
    "INT in UDP": "by port, by DSCP, by marker or by structure; NPT 0, 1 and 2",
    "INT in TCP": "by DSCP or marker; behind the TCP options or in front of them",
    "INT in tunnels": "VXLAN-GPE by next protocol, GRE by protocol types of the profile, Geneve by option class",
}


def document() -> dict[str, Any]:
    """Formats, dialects and carriers as plain dicts."""
    return {
        "schema_version": schema.SCHEMA_VERSION,
        "formats": [{"name": entry.name, "title": entry.title, "spec": entry.spec, "hops": entry.hops} for entry in schema.FORMAT_LIST],
        "dialects": [{"name": dialect.name, "source": dialect.source} for dialect in DIALECTS if dialect.name],
        "carriers": CARRIERS,
    }


def text() -> str:
    """The same, to be read."""
    lines = ["Formats (with hops: they tell of the nodes on the way; the others have rows of their own)", ""]
    formats = Grid()
    for entry in schema.FORMAT_LIST:
        formats.add(" ", entry.name, "with hops" if entry.hops else "", entry.title, entry.spec)
    lines += [line.removeprefix(" ") for line in formats.lines()]
    lines += ["", "INT dialects (a layout other than the specification's; found by lengths, or named in a profile)", ""]
    dialects = Grid()
    for dialect in DIALECTS:
        if dialect.name:
            dialects.add(" ", dialect.name, dialect.source)
    lines += [line.removeprefix(" ") for line in dialects.lines()]
    lines += ["", "Carriers", ""]
    carriers = Grid()
    for layer, what in CARRIERS.items():
        carriers.add(" ", layer, what)
    lines += [line.removeprefix(" ") for line in carriers.lines()]
    return "\n".join(lines) + "\n"
