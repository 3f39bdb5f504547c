"""decode: the rows themselves."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from int_analyzer.cli.argument import Captures, ProfileOption, profile_from
from int_analyzer.cli.complaint import say_damages

EXAMPLES = """Examples:

\b
  int-analyzer decode mirror.pcap                                 the first hops, to look at
  int-analyzer decode mirror.pcap --table roce --format csv > roce.csv
  int-analyzer decode mirror.pcap --table packets --format jsonl | jq 'select(.status != "ok")'
  int-analyzer decode mirror.pcap --table hops --format parquet --output hops.parquet
  int-analyzer decode mirror.pcap --columns packet,hop,node_id,queue_depth_raw --limit 0
"""


class Table(StrEnum):
    """Row tables, as in schema.TABLES."""

    packets = "packets"
    hops = "hops"
    roce = "roce"
    reports = "reports"
    mirrors = "mirrors"
    options = "options"


class Format(StrEnum):
    """Ways to write rows."""

    table = "table"
    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"


def decode(
    captures: Captures,
    table: Annotated[Table, typer.Option("--table", "-t", help="Which rows.")] = Table.hops,
    format: Annotated[
        Format | None,
        typer.Option("--format", "-f", help="How to write them. Default: by the ending of --output, else table.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", min=0, metavar="N", help="At most N rows; 0 for all. Default: 50 as a table, else all.", show_default=False
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,…",
            help="Only these columns. Default: the most telling ones as a table, else all.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file instead of standard output.", show_default=False)
    ] = None,
    profile: ProfileOption = None,
) -> None:
    """Print the decoded rows of captures: packets, hops, RoCEv2 headers, telemetry reports or mirror headers.

    Absent values are empty (csv), null (jsonl, parquet) or · (table). Columns are described in docs/columns.md.
    """
    from int_analyzer import row_files

    chosen = format.value if format is not None else row_files.format_of(output)
    names = [name.strip() for name in columns.split(",")] if columns else None
    known = profile_from(profile)
    reading = row_files.write_rows(captures, table.value, chosen, output=output, limit=limit, names=names, profile=known)
    say_damages(reading.damages)
