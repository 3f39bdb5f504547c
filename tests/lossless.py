"""The highest rate at which nothing is lost, of a sidecar and of tcpdump -w, found by stepping the rate that is offered.

    python tests/lossless.py [SECONDS_OF_A_STEP] [STEPS] [ROUNDS]

Root, iproute2 and tcpdump are needed; everything happens in a network of its own.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flood import COPIES, FAN, arrived, flood, make_fan
from namespace import in_namespace
from test_sidecar_load import capturing, cpu_seconds

LEAST, MOST = 20_000.0, 4_000_000.0
KEPT_UP = 0.9
"""A sender that reaches less than this share of what it is asked for is at its own limit."""
_PORT = 19_464
_SETTLE_S = 1.5
_SENDER_NICE = -10


@dataclass
class Step:
    """Packets that came to the interface and that were captured, in how many seconds, and the processor time of who captured them."""

    asked: float
    came: int
    captured: int
    seconds: float
    cpu_s: float

    @property
    def rate(self) -> float:
        """Packets a second that came."""
        return self.came / self.seconds


Found = tuple[Step | None, bool]
"""The fastest step without loss, and whether the sender was the limit."""


def highest(step: Callable[[float], Step], steps: int) -> Found:
    """Look for the limit by halving the logarithm of the rate between LEAST and MOST."""
    low, high, best, limited = LEAST, MOST, None, False
    for _ in range(steps):
        rate = (low * high) ** 0.5
        done = step(rate)
        lossless = done.captured == done.came
        print(f"  asked {rate:9.0f}/s, came {done.rate:9.0f}/s, lost {done.came - done.captured}", flush=True)
        if lossless and (best is None or done.rate > best.rate):
            best = done
        if done.rate < KEPT_UP * rate:
            # more cannot be offered
            limited, high = lossless, rate
            if lossless:
                break
        elif lossless:
            low = rate
        else:
            limited, high = False, rate
    return best, limited


def _measure(rate: float, seconds: float, process: int, captured: Callable[[], int]) -> Step:
    came, cpu = arrived("mirror0"), cpu_seconds(process)
    # on a machine that others use, the sender would be the limit
    mine = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _SENDER_NICE)
    try:
        _, taken = flood(FAN, int(rate * seconds / COPIES), per_second=rate / COPIES, burst=64)
    finally:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), mine)
    time.sleep(_SETTLE_S)
    used = cpu_seconds(process) - cpu
    return Step(rate, arrived("mirror0") - came, captured(), taken, used)


def _of_sidecar(seconds: float, steps: int) -> Found:
    def total() -> int:
        page = urllib.request.urlopen(f"http://127.0.0.1:{_PORT}/metrics", timeout=30).read().decode()
        return int(float(re.findall(r'^int_analyzer_source_packets_total\{source="mirror0"\} (\S+)', page, re.M)[0]))

    with tempfile.TemporaryDirectory() as folder, capturing(Path(folder), "--listen", f"127.0.0.1:{_PORT}") as process:

        def step(rate: float) -> Step:
            before = total()
            return _measure(rate, seconds, process.pid, lambda: total() - before)

        return highest(step, steps)


def _of_tcpdump(seconds: float, steps: int, *arguments: str) -> Found:
    def step(rate: float) -> Step:
        with tempfile.TemporaryDirectory() as folder:
            command = ["tcpdump", "-i", "mirror0", "-w", f"{folder}/all.pcap", "-Z", "root", *arguments]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
                assert process.stderr is not None
                process.stderr.readline()
                time.sleep(0.5)

                def captured() -> int:
                    process.send_signal(signal.SIGINT)
                    return int(re.findall(r"(\d+) packets captured", process.communicate(timeout=60)[1])[0])

                return _measure(rate, seconds, process.pid, captured)

    return highest(step, steps)


def _alone(run: Callable[[], Found]) -> Found:
    """In a network of its own."""

    def work() -> Found:
        make_fan()
        return run()

    found: Found = in_namespace(work)
    return found


def main() -> None:
    """Measure in turn, and print the best of each."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    steps, rounds = (int(sys.argv[at]) if len(sys.argv) > at else usual for at, usual in ((2, 7), (3, 3)))
    programs: dict[str, Callable[[], Found]] = {
        "tcpdump -w": lambda: _of_tcpdump(seconds, steps),
        "tcpdump -w -B 65536": lambda: _of_tcpdump(seconds, steps, "-B", "65536"),
        "sidecar": lambda: _of_sidecar(seconds, steps),
    }
    found: dict[str, list[Found]] = {name: [] for name in programs}
    for name in rounds * list(programs):
        print(name, flush=True)
        found[name].append(_alone(programs[name]))
    for name, rounds_of in found.items():
        told = [(best, limited) for best, limited in rounds_of if best is not None]
        if not told:
            print(f"{name}: loses packets at any rate from {LEAST:.0f} a second on")
            continue
        best, limited = max(told, key=lambda round: round[0].rate)
        rates = ", ".join(f"{step.rate:.0f}" for step, _ in told)
        least = min(step.cpu_s / step.came for step, _ in told) * 1e9
        print(f"{name}: {'at least ' if limited else ''}{best.rate:.0f} packets a second without loss ({rates}), {least:.0f} ns each")


if __name__ == "__main__":
    main()
