"""Writes a BMv2 program without its notes on source lines: a third of the size, and the same wherever it was compiled.

python3 compact.py IN.json OUT.json|-
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def without_source(value: Any) -> Any:
    """The same document without any `source_info`."""
    if isinstance(value, dict):
        return {key: without_source(part) for key, part in value.items() if key not in ("source_info", "program")}
    if isinstance(value, list):
        return [without_source(part) for part in value]
    return value


if __name__ == "__main__":
    text = json.dumps(without_source(json.loads(Path(sys.argv[1]).read_text())), separators=(",", ":")) + "\n"
    if sys.argv[2] == "-":
        sys.stdout.write(text)
    else:
        Path(sys.argv[2]).write_text(text)
