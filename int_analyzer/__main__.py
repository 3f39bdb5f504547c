"""The command int-analyzer, also as `python -m int_analyzer`: signals to a sidecar are met before the rest is loaded."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["sidecar"]:
        # it waits until there is something that can be read again (sidecar.signals); nothing is begun yet that had to be ended
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
        signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))
    from int_analyzer.cli import run

    run()


if __name__ == "__main__":
    main()
