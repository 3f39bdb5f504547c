"""doctor: what is installed, what would not work and why."""

from __future__ import annotations

import typer

EXAMPLES = """Examples:

\b
  int-analyzer doctor
  int-analyzer doctor || echo 'cannot analyse here'
"""


def doctor() -> None:
    """Check this installation: Python, packages, kernel cache, optional tools, permission to capture.

    Exit code 0 if captures can be analysed here (what is merely lacking is listed), 1 if not.
    """
    from int_analyzer import installation

    states = []
    checks = list(installation.checks())
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark = {installation.GOOD: "ok", installation.LACKING: "--", installation.BROKEN: "!!"}[check.state]
        print(
            installation.home_relative(
                f"{mark}  {check.name:<{width}}  {check.found}{f'  → {check.consequence}' if check.consequence else ''}"
            )
        )
        states.append(check.state)
    lacking, broken = states.count(installation.LACKING), states.count(installation.BROKEN)
    print()
    if broken:
        print(f"{broken} broken (!!): captures cannot be analysed here.")
        raise typer.Exit(1)
    print(
        "Captures can be analysed here." + (f" {lacking} {'thing is' if lacking == 1 else 'things are'} lacking (--)." if lacking else "")
    )
