"""show: single packets, header by header."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from int_analyzer.cli.argument import ProfileOption, profile_from

EXAMPLES = """Examples:

\b
  int-analyzer show mirror.pcap --packet 20
  int-analyzer show mirror.pcap --packet 20 --packet 21 --profile fabric.toml
  int-analyzer decode mirror.pcap --table packets --format jsonl | jq 'select(.status != "ok").packet'
  int-analyzer show mirror.pcap --packet 20 --json | jq '.packets[0].rows.hops'
"""


def show(
    capture: Annotated[str, typer.Argument(metavar="CAPTURE", help="A capture file, or - for standard input.", show_default=False)],
    packet: Annotated[
        list[int] | None,
        typer.Option(
            "--packet",
            "-p",
            min=0,
            metavar="N",
            help="Number of the packet, from 0, as in the column packet. Can be given several times. Default: 0.",
            show_default=False,
        ),
    ] = None,
    profile: ProfileOption = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document with headers, fields and rows instead of the tree.")
    ] = False,
) -> None:
    """Show packets header by header: every field with its offset, bytes, value, unit and specification.

    Hops stand in path order, hop 0 nearest the source. Where reading stopped is marked, with the status and warnings that the
    tables have. The display follows the decoder step by step; it does not decode on its own.
    """
    from int_analyzer.capture import expand
    from int_analyzer.dissect.dissection import read_packets
    from int_analyzer.errors import SourceError
    from int_analyzer.profile import Profile

    files = expand([capture])
    if len(files) != 1:
        raise SourceError(capture, f"names {len(files)} captures: show takes packets of one")
    known = profile_from(profile) or Profile()
    packets = read_packets(files[0], packet or [0], known)
    if json:
        from int_analyzer.report.packet_document import packet_document

        print(packet_document(packets, files[0], known))
    else:
        from int_analyzer.report.packet_tree import print_packets

        print_packets(packets, files[0], known, sys.stdout)
