"""A sidecar under full load for a long time: `python tests/soak.py SECONDS [PACKETS_PER_SECOND]` says what became of its memory.

Root and iproute2 are needed; everything happens in a network of its own.
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

PIECE = 2_000_000
"""Packets between two looks at the time."""
EVERY_S = 10.0
WARM_S = 70.0
"""States of the last minute, and what numba and numpy keep, have come into being by then."""


@dataclass
class Soaked:
    """Packets that came, in how many seconds; resident bytes every EVERY_S; processor seconds; what was said at the end."""

    came: int
    seconds: float
    resident: list[int]
    cpu_s: float
    said: str

    @property
    def growth(self) -> float:
        """The largest memory of the last third ÷ the largest of the first, from when it was warm."""
        warm = self.resident[min(int(WARM_S / EVERY_S), len(self.resident) // 3) :]
        third = max(len(warm) // 3, 1)
        return max(warm[-third:]) / max(warm[:third])


def soak(seconds: float, per_second: float, *arguments: str) -> Soaked:
    """Send so many packets a second for so long; arguments: further ones of the sidecar."""

    def work() -> Soaked:
        make_fan()
        with tempfile.TemporaryDirectory() as folder, capturing(Path(folder), *arguments) as process:
            resident: list[int] = []
            over = threading.Event()
            thread = threading.Thread(target=_watch, args=(process, resident, over))
            before = cpu_seconds(process.pid)
            thread.start()
            came, began = arrived("mirror0"), time.monotonic()
            while time.monotonic() - began < seconds:
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
    while not over.wait(EVERY_S):
        resident.append(resident_bytes(process.pid))
        print(f"{len(resident) * EVERY_S:.0f} s: {resident[-1] / 1e6:.1f} MB resident", flush=True)


if __name__ == "__main__":
    found = soak(float(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else float("inf"))
    print(found.said)
    print(
        f"{found.came} packets in {found.seconds:.0f} s, {found.came / found.seconds:.0f} a second; {found.cpu_s:.0f} s of processor time; "
        f"memory grew by {found.growth - 1:+.1%}"
    )
