"""sidecar: beside a mirror port for months."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from int_analyzer.cli.argument import ProfileOption

EXAMPLES = """Examples:

\b
  int-analyzer sidecar --replay mirror.pcap --speed 1       findings as they would have come, one JSON object a line
  int-analyzer sidecar --replay day.pcap.zst --speed inf --output findings.jsonl
"""


def sidecar(
    replay: Annotated[
        str | None, typer.Option("--replay", metavar="FILE", help="Read a capture as if it came in now.", show_default=False)
    ] = None,
    speed: Annotated[
        float, typer.Option("--speed", metavar="X", help="Capture seconds per second of a replay; inf: as fast as it can be read.")
    ] = 1.0,
    profile: ProfileOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Append findings there instead of printing them.", show_default=False),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option("--state", metavar="DIR", help="Keep totals and findings there, to go on from after a restart.", show_default=False),
    ] = None,
) -> None:
    """Watch packets as they come, and say when a finding starts, changes and ends.

    Every second the last ten are judged. SIGTERM stops it, SIGHUP reads the profile again. docs/sidecar.md says what it writes.
    """
    if replay is None:
        raise typer.BadParameter("nothing to read: give --replay")
    if not speed > 0:
        raise typer.BadParameter("--speed is a number above 0, or inf")
    from int_analyzer.sidecar import assembly

    assembly.run(assembly.Options(replay=replay, speed=speed, profile=profile, output=output, state=state))
