"""connections: a row per direction of a RoCEv2 connection."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from int_analyzer.cli.argument import (
    USUAL_ICRC,
    Captures,
    ColumnsOption,
    IcrcOption,
    JsonOption,
    LimitOption,
    OutputOption,
    ProfileOption,
    RowFormatOption,
)
from int_analyzer.cli.state_rows import write_state_rows

EXAMPLES = """Examples:

\b
  int-analyzer connections mirror.pcap                        those that retransmit most first
  int-analyzer connections mirror.pcap --sort fct_max_ns      the slowest messages first
  int-analyzer connections mirror.pcap --sort rtt_mean_ns --limit 10
  int-analyzer connections mirror.pcap --columns src,dst,dest_qp,unfilled,out_of_order,rewinds,partial
  int-analyzer connections mirror.pcap --sort cnps_per_second --columns src,dst,dest_qp,ce_ratio,cnps_per_second,cnp_peak,cnp_delay_min_ns
  int-analyzer connections mirror.pcap --icrc all --sort icrc_bad --columns src,dst,dest_qp,icrc_ok,icrc_bad,icrc_not_checkable
  int-analyzer connections mirror.pcap --json | jq '.[] | select(.timeouts > 0)'
"""


def connections(
    captures: Captures,
    format: RowFormatOption = None,
    json: JsonOption = False,
    sort: Annotated[
        str | None,
        typer.Option("--sort", metavar="COLUMN", help="Largest of this column first. Default: retransmitted.", show_default=False),
    ] = None,
    limit: LimitOption = None,
    columns: ColumnsOption = None,
    output: OutputOption = None,
    profile: ProfileOption = None,
    icrc: IcrcOption = USUAL_ICRC,
) -> None:
    """Print the RoCEv2 connections of captures, a row per direction: loss and its kinds, messages, completion times, RTT, ECN.

    ECN is the marked share, CNPs that came back (per second, most in 10 ms) and the time from the mark to the CNP. out_of_order counts
    what adaptive routing moved, apart from retransmitted. icrc_… are ICRCs computed anew, of a sample (--icrc).
    A direction is a source, a destination and a destination queue pair. The other direction is found by its acknowledgements;
    without it (two_sided false) there are no NAKs, timeouts, RTTs and completion times, only first to last packet (one_sided).
    Columns are described in docs/columns.md. Absent values are empty (csv), null (json, parquet) or · (table).
    """
    options: dict[str, Any] = {"format": format, "json": json, "sort": sort, "limit": limit, "columns": columns, "output": output}
    write_state_rows("connections", captures, profile, icrc=icrc, **options)
