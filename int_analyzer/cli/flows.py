"""flows: a row per flow."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from int_analyzer.cli.argument import Captures, ColumnsOption, JsonOption, LimitOption, OutputOption, ProfileOption, RowFormatOption
from int_analyzer.cli.state_rows import write_state_rows

EXAMPLES = """Examples:

\b
  int-analyzer flows mirror.pcap                          the flows with most bytes, and their paths
  int-analyzer flows mirror.pcap --sort retransmitted     those that lose most first
  int-analyzer flows day/ --format parquet --output flows.parquet
  int-analyzer flows mirror.pcap --json | jq '.[] | select(.path_changes > 0)'
"""


def flows(
    captures: Captures,
    format: RowFormatOption = None,
    json: JsonOption = False,
    sort: Annotated[
        str | None, typer.Option("--sort", metavar="COLUMN", help="Largest of this column first. Default: bytes.", show_default=False)
    ] = None,
    limit: LimitOption = None,
    columns: ColumnsOption = None,
    output: OutputOption = None,
    profile: ProfileOption = None,
) -> None:
    """Print the directed flows of captures: addresses, ports, queue pair, bytes, marks, path and what was retransmitted.

    Retransmissions and NAKs are those of the flow's RoCEv2 connection. Columns are described in docs/columns.md. Absent values are
    empty (csv), null (json, parquet) or · (table).
    """
    options: dict[str, Any] = {"format": format, "json": json, "sort": sort, "limit": limit, "columns": columns, "output": output}
    write_state_rows("flows", captures, profile, **options)
