"""generate: a capture of a fabric that does not exist, and the right answer to it."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

EXAMPLES = """Examples:

\b
  int-analyzer generate incast -o incast.pcap
  int-analyzer analyze incast.pcap --profile incast.profile.toml      and compare with incast.truth.json
  int-analyzer generate slow-link -o x.pcapng.zst --leaves 32 --spines 16 --hosts 8 --snaplen 256
  int-analyzer generate incast -o x.pcap --sampling 0.01 --loss 0.5 --skew-ms 50     bad telemetry: the same port has to be found
  int-analyzer generate healthy --format report-2.0 --seed 7 -o - | int-analyzer analyze -
"""

MOST_SKEW_MS = 3_600_000
"""An hour: no fault of a clock looks like more."""
ROUNDED = 0.02
"""By so much a share may differ from 1 ÷ N: 0.33 is one in three."""


def generate(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="What happens in the fabric: see below.", show_default=False)],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The capture to write: pcap, or pcapng by its name, compressed if it ends in .gz or .zst; - for standard output.",
            show_default=False,
        ),
    ],
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="The same seed gives the same bytes.")] = 1,
    leaves: Annotated[int, typer.Option("--leaves", metavar="N", help="Leaf switches.")] = 4,
    spines: Annotated[int, typer.Option("--spines", metavar="N", help="Spine switches; every leaf has a link to each.")] = 2,
    hosts: Annotated[int, typer.Option("--hosts", metavar="N", help="Hosts of every leaf.")] = 4,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=0.0001, metavar="S", help="Time that is simulated. Default: the scenario's.", show_default=False),
    ] = None,
    packets: Annotated[
        int | None,
        typer.Option("--packets", min=1, metavar="N", help="Simulate for as long as gives about so many packets.", show_default=False),
    ] = None,
    load: Annotated[
        float | None,
        typer.Option(
            "--load",
            min=0,
            max=1,
            metavar="RATIO",
            help="Background traffic, of the hosts' links. Default: the scenario's.",
            show_default=False,
        ),
    ] = None,
    sampling: Annotated[
        float | None,
        typer.Option(
            "--sampling",
            min=0.000001,
            max=1,
            metavar="RATIO",
            help="Share of the packets that carry telemetry: 1, 0.5, … 0.01, one in so many. Default: the scenario's, mostly 1.",
            show_default=False,
        ),
    ] = None,
    loss: Annotated[
        float | None,
        typer.Option(
            "--loss",
            min=0,
            max=0.99,
            metavar="RATIO",
            help="Share of the mirrored packets or reports that never arrive. Default: the scenario's, mostly 0.",
            show_default=False,
        ),
    ] = None,
    skew_ms: Annotated[
        float | None,
        typer.Option(
            "--skew-ms",
            min=0,
            max=MOST_SKEW_MS,
            metavar="MS",
            help="Clocks of switches are off by up to so much, both ways. Default: the scenario's, mostly 50 ns.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="NAME", help="How the fabric tells of its packets: see below.")
    ] = "int-md-2.1",
    ipv6: Annotated[bool, typer.Option("--ipv6", help="Let the hosts speak IPv6.")] = False,
    mirror: Annotated[
        str | None,
        typer.Option(
            "--mirror",
            metavar="NAME",
            help="What stands around mirrored packets: erspan3, erspan2, or none. Default: erspan3; reports come as they are.",
            show_default=False,
        ),
    ] = None,
    mirror_points: Annotated[
        int,
        typer.Option(
            "--mirror-points",
            min=1,
            max=3,
            metavar="N",
            help="Switches that mirror a packet: 1, its last one; 2, its first one too; 3, every one on its way.",
        ),
    ] = 1,
    snaplen: Annotated[
        int, typer.Option("--snaplen", min=0, metavar="N", help="Keep at most N bytes of a packet; 0 keeps all, payload and ICRC too.")
    ] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing.")] = False,
) -> None:
    """Simulate a fabric in a known situation, and write what a collector would have captured of it.

    Every packet is simulated, with link speeds, queues, ECMP, PFC and ECN: depths, latencies and times come out of the queues.
    Lengths, checksums and ICRC are right; payload is zeros. Beside the capture x.pcap are written x.truth.json, the right answer, and
    x.profile.toml, what an operator of the fabric knows; of cases with counters x.counters.csv too. Not beside standard output.
    """
    from int_analyzer.analysis.wording import things
    from int_analyzer.cli.progress import counting_bar
    from int_analyzer.errors import SourceError
    from int_analyzer.output import STANDARD
    from int_analyzer.schema import FORMAT_MRI
    from int_analyzer.synth.emission import EMISSIONS, UNWRITTEN
    from int_analyzer.synth.packets import write_capture, write_companions
    from int_analyzer.synth.rows import MIRRORS
    from int_analyzer.synth.scenario import Knobs, simulate_scenario

    if format_ in UNWRITTEN:
        raise typer.BadParameter(f"--format: {format_} is read and not written: {UNWRITTEN[format_]}")
    emission = EMISSIONS[_known(format_, EMISSIONS, "--format")]
    if ipv6:
        if emission.telemetry == FORMAT_MRI:
            raise typer.BadParameter(f"--ipv6: {emission.name} is an option of IPv4")
        emission = emission._replace(ip_version=6)
    if mirror is not None and not emission.mirrored:
        raise typer.BadParameter(f"--mirror: {emission.name} is sent by the switches themselves; only packets are mirrored")
    if mirror_points > 1 and not emission.mirrored:
        raise typer.BadParameter(f"--mirror-points: {emission.name} is sent by the switches themselves; only packets are mirrored")
    around = MIRRORS[_known(mirror, MIRRORS, "--mirror")] if mirror is not None else MIRRORS["erspan3"] if emission.mirrored else 0
    one_in = None if sampling is None else _one_in(sampling)
    knobs = Knobs(seed, leaves, spines, hosts, seconds, packets, load, one_in, loss, skew_ms, mirror_points)
    if output != STANDARD and not Path(output).parent.is_dir():
        # before somebody waits for a simulation
        raise SourceError(output, "there is no such folder")
    with counting_bar("simulating", wanted=not quiet):
        trace = simulate_scenario(scenario, knobs)
    with counting_bar("writing", wanted=not quiet) as progress:
        written = write_capture(trace, output, emission, mirror=around, snaplen=snaplen, progress=progress)
    companions = write_companions(trace, output, emission)
    if not quiet:
        beside = f"; beside it {', '.join(path.name for path in companions)}" if companions else ""
        print(f"{things(written, 'packet')} written to {'standard output' if output == STANDARD else output}{beside}", file=sys.stderr)


class Command(TyperCommand):
    """The command, whose help ends with what can be generated: that is known by modules that only this help needs."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        self.epilog = f"{_choices()}\n\n{EXAMPLES}"
        super().format_epilog(ctx, formatter)


def _choices() -> str:
    """Scenarios and formats, a line each."""
    from int_analyzer.report.grid import Grid
    from int_analyzer.synth.emission import EMISSIONS
    from int_analyzer.synth.scenario import CASES, SCENARIOS

    scenarios, cases, formats = Grid(), Grid(), Grid()
    for scenario in SCENARIOS:
        scenarios.add(" ", scenario.id, scenario.doc)
    for case in CASES:
        cases.add(" ", case.id, case.doc)
    for emission in EMISSIONS.values():
        formats.add(" ", emission.name, emission.title)
    parts = (("Scenarios:", scenarios), ("Cases, which are not scored:", cases), ("Formats:", formats))
    return "\n\n".join("\n".join((title, "", "\b", *grid.lines())) for title, grid in parts)


def _one_in(share: float) -> int:
    """N of the share 1 ÷ N, which may be rounded: one packet in N is chosen."""
    number = round(1 / share)
    if abs(share * number - 1) > ROUNDED:
        near = " and ".join(f"{1 / count:.3g}" for count in (int(1 / share), int(1 / share) + 1))
        raise typer.BadParameter(f"--sampling: one packet in so many carries telemetry; nearest to {share:g} are {near}")
    return number


def _known(name: str, choices: dict[str, Any], option: str) -> str:
    """The name, if there is a choice of this name."""
    if name in choices:
        return name
    close = get_close_matches(name, choices, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(choices)}"
    raise typer.BadParameter(f"{option}: {name!r} is not known; {hint}")
