"""profile check: is a profile valid, and what does it say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None, help="Work with profiles: what the wire does not say, as TOML.")

EXAMPLES = """Examples:

\b
  int-analyzer profile check fabric.toml
"""


@app.callback(invoke_without_command=True)
def group(context: typer.Context) -> None:
    """Work with profiles: what the wire does not say, as TOML."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("check", epilog=EXAMPLES)
def check(file: Annotated[Path, typer.Argument(metavar="FILE", help="The profile.", show_default=False)]) -> None:
    """Check a profile: exit 0 and a line of what it declares, or exit 2 and what is wrong with which key."""
    from int_analyzer.profile import load_profile

    print(f"{file}: valid. {load_profile(file).describe()}")
