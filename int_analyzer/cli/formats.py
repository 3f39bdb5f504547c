"""formats: what is read, and how far."""

from __future__ import annotations

import json as json_module
from typing import Annotated

import typer

EXAMPLES = """Examples:

\b
  int-analyzer formats
  int-analyzer formats --json
"""


def formats(json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False) -> None:
    """List the telemetry formats, dialects and carriers that are read."""
    from int_analyzer.report import format_list

    if json:
        print(json_module.dumps(format_list.document(), indent=2, ensure_ascii=False))
    else:
        print(format_list.text(), end="")
