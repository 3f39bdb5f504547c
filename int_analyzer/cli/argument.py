"""Arguments and options that several verbs share, declared once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from int_analyzer.errors import IntAnalyzerError

if TYPE_CHECKING:
    from int_analyzer.profile import Profile
    from int_analyzer.sidecar.polling import Polling

Captures = Annotated[
    list[str],
    typer.Argument(
        metavar="CAPTURE",
        help="Capture files, folders, globs in quotes, or - for standard input. They are read by the time of their first packet.",
        show_default=False,
    ),
]
ProfileOption = Annotated[
    Path | None,
    typer.Option(
        "--profile",
        metavar="FILE",
        help="What the wire does not say: units, names, link speeds, ports and DSCP of INT (TOML). "
        "Without it detection is by structure and values stay raw.",
        show_default=False,
    ),
]
SpeedOption = Annotated[
    float, typer.Option("--speed", metavar="X", help="Capture seconds per second of a replay; inf: as fast as it can be read.")
]


class RowFormat(StrEnum):
    """Ways to write rows."""

    table = "table"
    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"


RowFormatOption = Annotated[
    RowFormat | None,
    typer.Option("--format", "-f", help="How to write them. Default: by the ending of --output, else table.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON list instead of a table.")]
LimitOption = Annotated[
    int | None,
    typer.Option(
        "--limit", "-n", min=0, metavar="N", help="At most N rows; 0 for all. Default: 50 as a table, else all.", show_default=False
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="A,B,…",
        help="Only these columns. Default: the most telling ones as a table, else all.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file instead of standard output.", show_default=False)
]

IcrcOption = Annotated[
    str,
    typer.Option("--icrc", metavar="1/N|all|none", help="Compute the ICRC anew of so many of the RoCEv2 packets."),
]
USUAL_ICRC = "1/100"
ConnectionsOption = Annotated[
    str,
    typer.Option(
        "--connections",
        metavar="auto|full|polling[:N/M]",
        help="Follow all RoCEv2 connections, or by their hosts N of M parts, another one every second (1/8); "
        "auto: all, and of a live source a part while packets are lost or the processor is busy.",
    ),
]


def share_from(text: str) -> float:
    """The share of packets that an --icrc option names."""
    if text in ("all", "none"):
        return 1.0 if text == "all" else 0.0
    part, slash, whole = text.partition("/")
    if part == "1" and slash and whole.isdecimal() and int(whole) > 0:
        return 1 / int(whole)
    raise IntAnalyzerError(f"--icrc {text}: give all, none, or a share as 1/100")


def profile_from(path: Path | None) -> Profile | None:
    """The profile of an option, or None."""
    if path is None:
        return None
    from int_analyzer.profile import load_profile

    return load_profile(path)


def mention_profile(captures: Sequence[str]) -> None:
    """Say on standard error of a profile that lies beside a capture, as `generate` writes it: without units much is a guess."""
    for capture in map(Path, captures):
        beside = capture.parent / f"{capture.name.partition('.')[0]}.profile.toml"
        if beside.is_file():
            print(f"{beside} lies beside it and is not used: --profile {beside}", file=sys.stderr)


def polling_from(connections: str) -> Polling | None:
    """What --connections says, None for auto. Raises BadParameter."""
    from int_analyzer.sidecar.polling import parse_polling

    try:
        return parse_polling(connections)
    except ValueError as error:
        raise typer.BadParameter(f"--connections: {error}") from error


def check_sources(interfaces: Sequence[str] | None, reports: Sequence[str] | None, replay: str | None, speed: float) -> None:
    """Raise BadParameter unless packets come from somewhere, live or replayed."""
    if bool(interfaces or reports) == (replay is not None):
        raise typer.BadParameter("give --interface or --reports (or both), or else --replay")
    if not speed > 0:
        raise typer.BadParameter("--speed is a number above 0, or inf")
