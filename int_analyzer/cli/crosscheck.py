"""crosscheck: our decode against tshark's."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from int_analyzer.cli.argument import Captures, ProfileOption, profile_from

EXAMPLES = """Examples:

\b
  int-analyzer crosscheck mirror.pcap
  int-analyzer crosscheck day/ --limit 0                          every packet of a folder
  int-analyzer crosscheck mirror.pcap --profile fabric.toml --json | jq .not_compared
  int-analyzer crosscheck mirror.pcap --lua int.lua               INT and reports too, with a dissector for them
"""

_STEP = 100


def crosscheck(
    captures: Captures,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, metavar="N", help="At most the first N packets of each capture; 0 for all.")
    ] = 1000,
    lua: Annotated[
        Path | None,
        typer.Option(
            "--lua",
            metavar="FILE",
            help="A Lua dissector for tshark to load, as int-analyzer wireshark-plugin writes it: INT and reports are compared too.",
            show_default=False,
        ),
    ] = None,
    profile: ProfileOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of lines.")] = False,
) -> None:
    """Hold the decode against tshark's, packet by packet: one difference a line, then what was compared and what could not be.

    Compared are lengths and times of the records, addresses, ports, DSCP, ECN, VLAN, tunnels, ERSPAN headers, RoCEv2 headers with
    their extensions and ICRC, and IOAM traces. For INT and telemetry reports tshark needs a dissector (--lua).

    Needs tshark and the Python package pyshark. Exit code 0 if nothing differs, 1 if something does, 2 if tshark cannot run. Some
    hundred packets a second: hence the limit.
    """
    from int_analyzer.crosscheck import Run, document, lines

    run = Run(captures, profile_from(profile), limit=limit, lua=lua, progress=_progress())
    found = []
    for difference in run:
        if json:
            found.append(difference)
        else:
            print(difference, flush=True)
    _clear()
    if json:
        print(json_module.dumps(document(run.outcome, found), indent=2, ensure_ascii=False))
    else:
        print(*lines(run.outcome), sep="\n")
    if run.outcome.differences:
        raise typer.Exit(1)


def _progress() -> Callable[[int], None] | None:
    """Says on stderr how many packets are done, if somebody looks at it."""
    if not sys.stderr.isatty():
        return None

    def advance(packets: int) -> None:
        if packets % _STEP == 0:
            print(f"\r{packets} packets compared …", end="", file=sys.stderr, flush=True)

    return advance


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
