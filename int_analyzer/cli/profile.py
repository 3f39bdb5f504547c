"""profile init and check: draft a profile from captures; is a profile valid, and what does it say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from int_analyzer.cli.argument import Captures

app = typer.Typer(rich_markup_mode=None, help="Work with profiles: what the wire does not say, as TOML.")

INIT_EXAMPLES = """Examples:

\b
  int-analyzer profile init mirror.pcap -o fabric.toml       then edit it, and: profile check fabric.toml
  int-analyzer profile init day/ --accept-guesses -o fabric.toml
  int-analyzer analyze mirror.pcap --profile fabric.toml
"""

EXAMPLES = """Examples:

\b
  int-analyzer profile check fabric.toml
"""


@app.callback(invoke_without_command=True)
def group(context: typer.Context) -> None:
    """Work with profiles: what the wire does not say, as TOML."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("init", short_help="draft a profile from captures: what was found, and guesses of units", epilog=INIT_EXAMPLES)
def init(
    captures: Captures,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file instead of standard output.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
    accept_guesses: Annotated[bool, typer.Option("--accept-guesses", help="Write guesses active instead of behind a #.")] = False,
) -> None:
    """Draft a profile from captures: what was found, guesses of units with what they rest on, ports and what lies behind them.

    The draft is valid as it is and changes no finding: guesses stay behind a # until somebody who knows the devices takes it away.
    """
    from int_analyzer.cli.progress import announce_compilation, progress_bar
    from int_analyzer.draft.draft import draft_profile
    from int_analyzer.errors import SourceError

    if output is not None and output.exists() and not force:
        raise SourceError(output, "exists already: --force overwrites it")
    announce_compilation(captures)
    with progress_bar() as progress:
        text = draft_profile(captures, accept_guesses, progress=progress)
    if output is None:
        print(text, end="")
        return
    try:
        with output.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise SourceError(output, error.strerror or str(error)) from error


@app.command("check", short_help="whether a profile is valid, and what it declares", epilog=EXAMPLES)
def check(file: Annotated[Path, typer.Argument(metavar="FILE", help="The profile.", show_default=False)]) -> None:
    """Check a profile: exit 0 and a line of what it declares, or exit 2 and what is wrong with which key."""
    from int_analyzer.profile import load_profile

    print(f"{file}: valid. {load_profile(file).describe()}")
