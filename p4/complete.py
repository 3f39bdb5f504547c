"""Checks that nothing of a program was lost in compilation: every parser state and every table of its sources is in what came out.

    python3 complete.py FOLDER OUTPUT [STAGES]

A compiler that drops a branch of a parser, or fills more stages than the chip has, may still report success; this does not. States and
tables are looked for by name, stages by their headings in an assembly of Tofino.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_DECLARED = re.compile(r"^\s*(?:state|table)\s+(\w+)\s*\{", re.MULTILINE)
_STAGE = re.compile(r"^stage (\d+) (?:ingress|egress):", re.MULTILINE)


def missing(sources: Path, output: str) -> list[str]:
    """Names of states and tables that the sources declare and the output does not have."""
    declared = sorted({name for file in sources.glob("*.p4") for name in _DECLARED.findall(file.read_text())})
    if not declared:
        raise SystemExit(f"{sources}: no parser state and no table: is this the folder of a program?")
    return [name for name in declared if not re.search(rf"\b{name}\b", output)]


def stages(output: str) -> int:
    """How many stages the assembly fills."""
    return 1 + max((int(number) for number in _STAGE.findall(output)), default=-1)


if __name__ == "__main__":
    text = Path(sys.argv[2]).read_text()
    if lost := missing(Path(sys.argv[1]), text):
        sys.exit(f"{sys.argv[2]}: not there: {', '.join(lost)}")
    if len(sys.argv) > 3 and not 0 < stages(text) <= int(sys.argv[3]):
        sys.exit(f"{sys.argv[2]}: {stages(text)} stages, and the chip has {sys.argv[3]}")
