"""All ratios, measured: builds the C twin and captures in build/, prints the table, writes build/bench.json. `--quick` takes minutes less.

python benchmarks/run.py [--quick | --full] [--only NAME…]
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # run as a script, only this folder is on the path
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from benchmarks.suite import main

    sys.exit(main(sys.argv[1:]))
