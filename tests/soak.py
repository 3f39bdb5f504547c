"""A sidecar under full load for a long time: `python tests/soak.py SECONDS [PACKETS_PER_SECOND]` says what became of its memory.

It is under load for two minutes first, until all that is kept of a last minute or two has come into being. Root and iproute2 are needed;
everything happens in a network of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from flood import COPIES, FAN, arrived, flood, make_fan
from namespace import in_namespace
from test_sidecar_load import capturing, cpu_seconds, resident_bytes, stopped

from int_analyzer.sidecar import history
from int_analyzer.sidecar.sliding import SLICES, STRETCHES

PIECE = 2_000_000
"""Packets between two looks at the time."""
EVERY_S = 10.0
WARM_S = float(max(SLICES * (STRETCHES + 1), history.KEPT))
"""The stretches of the last minute, and the seconds that the page shows, have come into being by then."""


@dataclass
class Soaked:
    """Packets that came, in how many seconds; resident bytes every EVERY_S; processor seconds; what was said at the end.

    All from the begin, but for `resident`, which begins when it was warm.
    """

    came: int
    seconds: float
    resident: list[int]
    cpu_s: float
    said: str

    @property
    def growth(self) -> float:
        """The largest memory of the last third ÷ the largest of the first."""
        third = max(len(self.resident) // 3, 1)
        return max(self.resident[-third:]) / max(self.resident[:third])


def soak(seconds: float, per_second: float, *arguments: str) -> Soaked:
    """Send so many packets a second until it is warm and for so long more; arguments: further ones of the sidecar."""

    def work() -> Soaked:
        make_fan()
        with tempfile.TemporaryDirectory() as folder, capturing(Path(folder), *arguments) as process:
            resident: list[int] = []
            over = threading.Event()
            thread = threading.Thread(target=_watch, args=(process, resident, over))
            before = cpu_seconds(process.pid)
            thread.start()
            came, began = arrived("mirror0"), time.monotonic()
            while time.monotonic() - began < WARM_S + seconds:
                flood(FAN, PIECE // COPIES, per_second=per_second / COPIES, burst=64)
            taken = time.monotonic() - began
            time.sleep(1.5)
            over.set()
            thread.join()
            cpu = cpu_seconds(process.pid) - before
            return Soaked(arrived("mirror0") - came, taken, resident, cpu, stopped(process))

    result: Soaked = in_namespace(work)
    return result


def _watch(process: subprocess.Popen[str], resident: list[int], over: threading.Event) -> None:
    passed = 0.0
    while not over.wait(EVERY_S):
        passed += EVERY_S
        found = resident_bytes(process.pid)
        if passed >= WARM_S:
            resident.append(found)
        print(f"{passed:.0f} s: {found / 1e6:.1f} MB resident", flush=True)


if __name__ == "__main__":
    found = soak(float(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else float("inf"))
    print(found.said)
    print(
        f"{found.came} packets in {found.seconds:.0f} s, {found.came / found.seconds:.0f} a second; {found.cpu_s:.0f} s of processor time; "
        f"memory grew by {found.growth - 1:+.1%}"
    )
