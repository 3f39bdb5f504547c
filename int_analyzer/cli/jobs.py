"""jobs: storage I/O and the collectives of training jobs, slow messages and where their time went, and a label for every host."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from int_analyzer.cli.argument import Captures, ProfileOption, profile_from

EXAMPLES = """Examples:

\b
  int-analyzer jobs mirror.pcap                     storage I/O by host and target, rings and all-to-all by member
  int-analyzer jobs mirror.pcap --profile p.toml    with the names of groups, and what waiting hosts cost
  int-analyzer jobs mirror.pcap --json | jq '.hosts[] | select(.label != "healthy") | {host, since_ns, evidence, stall_ns, cost}'
  int-analyzer jobs mirror.pcap --json | jq '.jobs[].members[] | select(.label != "healthy") | {host, label, reason}'
"""


def jobs(
    captures: Captures,
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON document: storage, jobs, messages and hosts as in that of analyze.")
    ] = False,
    profile: ProfileOption = None,
) -> None:
    """Print what hosts do with the network: storage I/O split into host, network and target; the steps of collectives, and who is late.

    Slow messages are told with the queues that their time went to, and every host has a label for schedulers, with what its waiting cost if
    the profile has a price: healthy, slow (the host itself) or suspect (its link, or a congested path). Jobs are those of the profile's
    groups, or inferred from the shape of the traffic, which is then said.
    """
    from int_analyzer import result
    from int_analyzer.cli.complaint import say_damages
    from int_analyzer.cli.progress import announce_compilation, progress_bar
    from int_analyzer.report import json_document, terminal

    announce_compilation(captures)
    described = profile_from(profile)
    with progress_bar() as progress:
        analysis = result.analyze(captures, described, progress=progress)
    if json:
        sys.stdout.write(json_document.work_text(analysis.summary) + "\n")
    else:
        terminal.print_work(analysis.summary, sys.stdout)
    if analysis.summary.quality is not None:
        say_damages(analysis.summary.quality.damages)
