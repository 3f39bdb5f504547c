"""score: how often the analysis names the right port, against simulated and recorded truth."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """Examples:

\b
  int-analyzer score --seeds 3                            a quick look: every scenario, small fabric
  int-analyzer score --scenarios incast,slow-link --sizes small,large --jobs 4
  int-analyzer score --conditions all --format report-2.0 half of the reports lost, 1 % sampled, clocks off
  int-analyzer score --captures pcaps/*/ --captures lab/*/ captures of real data planes with a truth.json beside them
  int-analyzer score --json > score.json
"""

_HELD_OUT = 1
"""First of the seeds that nothing was tuned on (scoring.case)."""


def score(
    scenarios: Annotated[
        str,
        typer.Option("--scenarios", metavar="NAMES", help='Comma-separated names of scenarios, or "all" (int-analyzer generate --help).'),
    ] = "all",
    seeds: Annotated[int, typer.Option("--seeds", min=1, metavar="N", help="Runs of every scenario, by seed.")] = 20,
    first_seed: Annotated[
        int, typer.Option("--first-seed", min=0, metavar="N", help="Seeds from 1001 on were used for tuning; those below were not.")
    ] = _HELD_OUT,
    sizes: Annotated[
        str, typer.Option("--sizes", metavar="NAMES", help="small (4 × 2), middle (8 × 4), large (32 × 16 switches).")
    ] = "small",
    conditions: Annotated[
        str, typer.Option("--conditions", metavar="NAMES", help="clear, lossy, sampled, skewed, twice (mirrored at both ends); or all.")
    ] = "clear",
    format_: Annotated[str, typer.Option("--format", metavar="NAME", help="How the fabric tells of its packets.")] = "int-md-2.1",
    captures: Annotated[
        list[Path] | None,
        typer.Option("--captures", metavar="DIR", help="Score captures of this folder against its truth.json instead.", show_default=False),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Processes.")] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also write the JSON document there.", show_default=False)
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print tables in Markdown, as docs/accuracy.md has them.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the JSON document instead of the table.")] = False,
) -> None:
    """Simulate situations with a known answer, analyse them as any capture is, and say how often the answer was right.

    top-1: the first port named is a true root; where nothing is congested, no port is blamed. roots found: share of all true roots.
    false: ports named as roots that are none; victims blamed: those of them that only wait for one. Start error: of the first right
    root. Culprits: share of the flows named that fill the queue, and of these how many are named. Clocks off by: the
    largest error of an offset between two nodes, where packets are seen in both directions. A column that holds nothing is left out. The
    last table holds how sure findings were against how often they were right.
    """
    from int_analyzer.scoring.case import CONDITIONS, SIZES, cases, chosen
    from int_analyzer.scoring.listing import score_lines, score_tables
    from int_analyzer.scoring.run import run_cases, score_captures
    from int_analyzer.scoring.table import document_of
    from int_analyzer.synth.scenario import BY_ID

    scores = []
    missed = 0
    if captures:
        scores = list(score_captures(captures))
        about: dict[str, object] = {"captures": [str(folder) for folder in captures]}
    else:
        names = (
            chosen(scenarios, list(BY_ID), "scenario"),
            chosen(sizes, list(SIZES), "size"),
            chosen(conditions, list(CONDITIONS), "condition"),
        )
        runs = list(cases(names[0], range(first_seed, first_seed + seeds), *names[1:]))
        for done, (case, found) in enumerate(run_cases(runs, format_, jobs), 1):
            _show_progress(done, len(runs))
            if found is None:
                missed += 1
            else:
                scores.append((case.label, found))
        about = {"format": format_, "seeds": [first_seed, first_seed + seeds - 1], "sizes": sizes, "not_arisen": missed}
    document = document_of(scores, about)
    if output is not None:
        from int_analyzer.output import replacing

        with replacing(output) as part:
            part.write_text(json_module.dumps(document, indent=2))
    if json:
        print(json_module.dumps(document, indent=2))
    else:
        print(*(score_tables(scores) if markdown else score_lines(scores)), sep="\n")
    if missed:
        print(f"{missed} of {missed + len(scores)} situations did not arise with their seed on their fabric: not counted", file=sys.stderr)


def _show_progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done} of {total} runs" if done < total else "\r\x1b[K", end="", file=sys.stderr, flush=True)
