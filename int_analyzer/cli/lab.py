"""lab: real data planes on this machine, a scenario with a known answer, and whether the analysis finds it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from int_analyzer.lab.fabric import Fabric
    from int_analyzer.lab.trial import Trial

EXAMPLES = """Examples:

\b
  sudo int-analyzer lab kernel --scenario incast -o incast/
  sudo int-analyzer lab bmv2 --scenario slow-link --topology my-fabric.yaml -o slow/
  sudo int-analyzer lab kernel --scenario all --runs 10 -o score/
"""
_SCENARIOS = "idle, incast, slow-link, polarised, microburst, loop, or all"

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Build a fabric in network namespaces, congest a port of it or make a loop, and see whether the analysis says so.",
    epilog=EXAMPLES,
)


@app.callback(invoke_without_command=True)
def group(context: typer.Context) -> None:
    """Say what there is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


Scenario = Annotated[str, typer.Option("--scenario", metavar="NAME", help=f"What happens: {_SCENARIOS}.")]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="The folder for captures, truth.json and profile.toml.", show_default=False)
]
TopologyName = Annotated[str, typer.Option("--topology", metavar="NAME|FILE", help="A topology that comes along, or a YAML file.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Chooses the port that suffers and the flows.")]
Runs = Annotated[int, typer.Option("--runs", min=1, metavar="N", help="Repeat with the seeds that follow, each in a folder of its own.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the table of several runs in Markdown, as docs/accuracy.md has it.")]


@app.command("kernel", short_help="Linux nodes with kernel IOAM, links shaped by tc", epilog=EXAMPLES)
def kernel(
    scenario: Scenario, output: Output, topology: TopologyName = "leaf-spine", seed: Seed = 1, runs: Runs = 1, markdown: Markdown = False
) -> None:
    """Run a scenario on Linux nodes that forward IPv6 and fill IOAM traces, in namespaces that end with this command.

    Writes a capture for every port that leads to a host. Exit code 0 if the analysis is right, 1 if not.
    """
    from int_analyzer.lab import requirement
    from int_analyzer.lab.kernel import KernelFabric
    from int_analyzer.lab.topology import load_topology

    requirement.check(requirement.KERNEL)
    loaded = load_topology(topology)
    _try(lambda: KernelFabric(loaded), scenario, range(seed, seed + runs), output, markdown)


@app.command("bmv2", short_help="BMv2 switches with the P4 programs of this package", epilog=EXAMPLES)
def bmv2(
    scenario: Scenario,
    output: Output,
    topology: TopologyName = "leaf-spine",
    mode: Annotated[
        str | None,
        typer.Option("--mode", metavar="MODE", help="Telemetry: md, mx, xd or ioam.", show_default="as the topology says"),
    ] = None,
    mark: Annotated[
        str | None,
        typer.Option("--mark", metavar="MARK", help="How INT is marked: port or dscp.", show_default="as the topology says"),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="To the monitor: report, erspan or both.", show_default="as the topology says"),
    ] = None,
    ip: Annotated[
        int | None,
        typer.Option("--ip", metavar="VERSION", help="What the hosts speak: 4 or 6.", show_default="as the topology says"),
    ] = None,
    seed: Seed = 1,
    runs: Runs = 1,
    markdown: Markdown = False,
) -> None:
    """Run a scenario on simple_switch_grpc processes, controlled by P4Runtime, in namespaces that end with this command.

    Writes a capture of what each switch sends to the monitor. Exit code 0 if the analysis is right, 1 if not.
    """
    from int_analyzer.lab import requirement
    from int_analyzer.lab.bmv2 import Bmv2Fabric
    from int_analyzer.lab.telemetry import telemetry_of
    from int_analyzer.lab.topology import load_topology

    requirement.check(requirement.BMV2)
    loaded = load_topology(topology)
    telemetry = telemetry_of(loaded, mode=mode, mark=mark, format=format, ip=ip)
    _try(lambda: Bmv2Fabric(loaded, telemetry), scenario, range(seed, seed + runs), output, markdown)


def _try(make_fabric: Callable[[], Fabric], scenario: str, seeds: range, output: Path, markdown: bool) -> None:
    from int_analyzer.lab.scenario import SCENARIOS
    from int_analyzer.lab.trial import run_trials
    from int_analyzer.report import terminal
    from int_analyzer.scoring.listing import score_lines, score_tables

    scenarios = list(SCENARIOS) if scenario == "all" else [scenario]
    single = len(scenarios) == len(seeds) == 1
    trials = []
    for one in scenarios:
        for seed in seeds:
            folder = output if single else output / f"{one}-{seed}"
            done = run_trials(make_fabric(), one, seed, folder)
            trials += done
            if not single:
                for trial in done:
                    print(f"{_name(trial)} seed {seed}: {_mark(trial)}, {trial.sentence}", file=sys.stderr)
    if single:
        for trial in trials:
            terminal.print_report(trial.result.summary, sys.stdout)
            print(f"\n{_mark(trial).capitalize()}: {trial.sentence}.")
            print(f"Captures, truth.json and profile.toml are in {output / trial.stream}", file=sys.stderr)
    else:
        scores = [(_name(trial), trial.score) for trial in trials]
        print(*(score_tables(scores) if markdown else score_lines(scores)), sep="\n")
    if not all(trial.score.top1 for trial in trials):
        raise typer.Exit(1)


def _name(trial: Trial) -> str:
    return f"{trial.scenario} ({trial.stream})" if trial.stream else trial.scenario


def _mark(trial: Trial) -> str:
    return "right" if trial.score.top1 else "wrong"
