"""analyze: from captures to the congested port."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from int_analyzer.cli.argument import USUAL_ICRC, Captures, IcrcOption, ProfileOption, mention_profile, profile_from, share_from
from int_analyzer.cli.evidence import CountersOption, PrometheusOption, PrometheusTokenOption, evidence_from

EXAMPLES = """Examples:

\b
  int-analyzer analyze mirror.pcap
  int-analyzer analyze monday/ tuesday/*.pcapng.zst --profile fabric.toml
  tcpdump -i eth0 -w - | int-analyzer analyze -
  int-analyzer analyze mirror.pcap --json | jq '.findings[0]'
  int-analyzer analyze mirror.pcap --quiet --fail-on-congestion || page-someone
  int-analyzer analyze mirror.pcap --profile fabric.toml --counters switches.csv
  int-analyzer analyze mirror.pcap --profile fabric.toml --prometheus http://prometheus:9090
"""


def analyze(
    captures: Captures,
    profile: ProfileOption = None,
    counters: CountersOption = None,
    prometheus: PrometheusOption = None,
    prometheus_token: PrometheusTokenOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document (docs/json.md) instead of the report.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="DIR",
            help="Also write all row tables, flows, connections, slow messages, jobs and hosts there, as Parquet.",
            show_default=False,
        ),
    ] = None,
    fail_on_congestion: Annotated[bool, typer.Option("--fail-on-congestion", help="Exit with 1 if a congested port was found.")] = False,
    top: Annotated[int, typer.Option("--top", min=1, metavar="N", help="Show at most N findings, flows and links.")] = 10,
    icrc: IcrcOption = USUAL_ICRC,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the headline only; no progress bar.")] = False,
) -> None:
    """Say which port is congested, since when, and whose traffic it is.

    All captures are read as one piece of traffic. The report gives the answer first, then its evidence, the paths, what was read
    and how well, and whether to trust it. Counters of switches and hosts (symbol errors, PFC pauses, drops, retransmissions, GPU use)
    confirm its findings or speak against them; docs/evidence.md has their names and how they are joined.
    """
    from int_analyzer import result as results
    from int_analyzer.cli.progress import announce_compilation, progress_bar

    known, checked = profile_from(profile), share_from(icrc)
    evidence = evidence_from(known, counters, prometheus, prometheus_token)
    if not quiet:
        if known is None:
            mention_profile(captures)
        announce_compilation(captures)
    with progress_bar(wanted=not quiet) as progress:
        result = results.analyze(captures, known, output=output, progress=progress, evidence=evidence, icrc=checked)
    if json:
        print(result.to_json())
    else:
        from int_analyzer.report import terminal

        if quiet:
            terminal.print_headline(result.summary, sys.stdout)
        else:
            terminal.print_report(result.summary, sys.stdout, top=top)
    if output is not None and not quiet:
        print(f"tables written to {output}", file=sys.stderr)
    if fail_on_congestion and result.findings:
        raise typer.Exit(1)
