"""Arguments and options that several verbs share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from int_analyzer.profile import Profile

Captures = Annotated[
    list[str],
    typer.Argument(
        metavar="CAPTURE",
        help="Capture files, folders, globs in quotes, or - for standard input. They are read by the time of their first packet.",
        show_default=False,
    ),
]
ProfileOption = Annotated[
    Path | None,
    typer.Option(
        "--profile",
        metavar="FILE",
        help="What the wire does not say: units, names, link speeds, ports and DSCP of INT (TOML). "
        "Without it detection is by structure and values stay raw.",
        show_default=False,
    ),
]


def profile_from(path: Path | None) -> Profile | None:
    """The profile of an option, or None."""
    if path is None:
        return None
    from int_analyzer.profile import load_profile

    return load_profile(path)
