"""top: the sidecar for the eye."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from int_analyzer.cli.argument import ConnectionsOption, ProfileOption, SpeedOption, check_sources, polling_from
from int_analyzer.live.privilege import forgo_library_threads

EXAMPLES = """Examples:

\b
  int-analyzer top --interface eth1                   until Ctrl-C
  int-analyzer top --replay mirror.pcap --speed 4
  int-analyzer top --replay mirror.pcap --speed inf   the last moment of it
"""


def top(
    interface: Annotated[
        list[str] | None, typer.Option("--interface", "-i", metavar="NAME", help="Capture there; may be given several times.")
    ] = None,
    reports: Annotated[
        list[str] | None, typer.Option("--reports", metavar="udp://ADDR:PORT", help="Take telemetry reports on a UDP socket.")
    ] = None,
    replay: Annotated[
        str | None, typer.Option("--replay", metavar="FILE", help="Read a capture as if it came in now.", show_default=False)
    ] = None,
    speed: SpeedOption = 1.0,
    connections: ConnectionsOption = "auto",
    profile: ProfileOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Append findings there too, as JSON lines.", show_default=False)
    ] = None,
) -> None:
    """Show what lasts, how the ports fare and which queues are slow, second by second.

    It is the sidecar with a screen. Where standard output is no terminal, the last second is printed.
    """
    check_sources(interface, reports, replay, speed)
    forgo_library_threads()
    from int_analyzer.sidecar import assembly

    assembly.run(
        assembly.Options(
            interfaces=interface or [],
            reports=reports or [],
            replay=replay,
            speed=speed,
            connections=polling_from(connections),
            profile=profile,
            output=output,
            screen=True,
        )
    )
