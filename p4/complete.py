"""Checks that nothing of a program was lost in compilation: every parser state and every table of its sources is in what came out.

    python3 complete.py FOLDER OUTPUT

A compiler that drops a branch of a parser may still report success; this does not. States and tables are looked for by name.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_DECLARED = re.compile(r"^\s*(?:state|table)\s+(\w+)\s*\{", re.MULTILINE)


def missing(sources: Path, output: str) -> list[str]:
    """Names of states and tables that the sources declare and the output does not have."""
    declared = sorted({name for file in sources.glob("*.p4") for name in _DECLARED.findall(file.read_text())})
    if not declared:
        raise SystemExit(f"{sources}: no parser state and no table: is this the folder of a program?")
    return [name for name in declared if not re.search(rf"\b{name}\b", output)]


if __name__ == "__main__":
    lost = missing(Path(sys.argv[1]), Path(sys.argv[2]).read_text())
    if lost:
        sys.exit(f"{sys.argv[2]}: not there: {', '.join(lost)}")
