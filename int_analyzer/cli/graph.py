"""graph: the paths as a file for other tools, or as a picture."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from int_analyzer.cli.argument import Captures, ProfileOption, profile_from
from int_analyzer.cli.complaint import say_damages

EXAMPLES = """Examples:

\b
  int-analyzer graph mirror.pcap -o paths.svg                a picture, congested ports in red
  int-analyzer graph mirror.pcap --format dot | dot -Tpdf > paths.pdf
  int-analyzer graph mirror.pcap --format json               node-link, as networkx reads it
"""


class Format(StrEnum):
    """Graph files, as in report.graph_files.WRITERS."""

    json = "json"
    dot = "dot"
    graphml = "graphml"
    svg = "svg"


def graph(
    captures: Captures,
    format: Annotated[
        Format | None, typer.Option("--format", "-f", help="Default: by the ending of --output, else json.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file instead of standard output.", show_default=False)
    ] = None,
    profile: ProfileOption = None,
) -> None:
    """Write the graph of all paths: nodes, ports, packets, latency, depth and what is congested.

    A picture of more than 16 nodes shows the paths through what is congested; nodes and ports on them that have no finding of their own
    are gathered. The other formats hold everything.
    """
    from int_analyzer import result as results
    from int_analyzer.errors import SourceError
    from int_analyzer.report import graph_files

    chosen = format.value if format is not None else graph_files.format_of(output)
    result = results.analyze(captures, profile_from(profile))
    say_damages(result.quality.damages if result.quality is not None else [])
    text = graph_files.write(result.summary, result.graph, chosen)
    if output is None:
        print(text, end="")
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SourceError(output, error.strerror or str(error)) from error
