"""decode: the rows themselves."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from int_analyzer.cli.argument import (
    USUAL_ICRC,
    Captures,
    ColumnsOption,
    IcrcOption,
    LimitOption,
    OutputOption,
    ProfileOption,
    RowFormatOption,
    profile_from,
    share_from,
)
from int_analyzer.cli.complaint import say_damages

EXAMPLES = """Examples:

\b
  int-analyzer decode mirror.pcap                                 the first hops, to look at
  int-analyzer decode mirror.pcap --table roce --format csv > roce.csv
  int-analyzer decode mirror.pcap --table packets --format jsonl | jq 'select(.status != "ok")'
  int-analyzer decode mirror.pcap --table roce --icrc all --format jsonl | jq 'select(.icrc_check == "bad").packet'
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


def decode(
    captures: Captures,
    table: Annotated[Table, typer.Option("--table", "-t", help="Which rows.")] = Table.hops,
    format: RowFormatOption = None,
    limit: LimitOption = None,
    columns: ColumnsOption = None,
    output: OutputOption = None,
    profile: ProfileOption = None,
    icrc: IcrcOption = USUAL_ICRC,
) -> None:
    """Print the decoded rows of captures: packets, hops, RoCEv2 headers, telemetry reports, mirror headers or options.

    Absent values are empty (csv), null (jsonl, parquet) or · (table). Columns are described in docs/columns.md.
    """
    from int_analyzer import row_files

    chosen = format.value if format is not None else row_files.format_of(output)
    names = [name.strip() for name in columns.split(",")] if columns else None
    known, checked = profile_from(profile), share_from(icrc)
    reading = row_files.write_rows(captures, table.value, chosen, output=output, limit=limit, names=names, profile=known, icrc=checked)
    say_damages(reading.damages)
