"""Child processes and what they cost: CPU time, and the largest private memory seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SAMPLE_SECONDS = 0.05


class Cost(NamedTuple):
    """CPU time (user and system) and wall time in nanoseconds; largest anonymous memory in bytes (0 if not sampled)."""

    cpu_ns: int
    wall_ns: int
    private_bytes: int


class ChildError(Exception):
    """A child failed; the message is the last line of what it said."""


def cost_of(command: list[str], sample_memory: bool = False) -> Cost:
    """Run a command to its end, its output thrown away. Raises ChildError if it fails."""
    started = time.perf_counter_ns()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment()) as child:
        peak = [0]
        done = threading.Event()
        sampler = threading.Thread(target=_sample, args=(child.pid, peak, done))
        if sample_memory:
            sampler.start()
        assert child.stderr is not None
        said = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        done.set()
        if sample_memory:
            sampler.join()
    wall = time.perf_counter_ns() - started
    if child.returncode != 0:
        raise ChildError(_last_line(said.decode(errors="replace"), child.returncode))
    return Cost(int((usage.ru_utime + usage.ru_stime) * 1e9), wall, peak[0])


def _environment() -> dict[str, str]:
    """This one, but Python keeps its bytecode, as it does for everybody who has not asked otherwise."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _sample(process: int, peak: list[int], done: threading.Event) -> None:
    """Keep the largest anonymous memory; pages of the mapped capture are the kernel's, not the process's."""
    rollup = Path(f"/proc/{process}/smaps_rollup")
    while not done.wait(SAMPLE_SECONDS):
        try:
            lines = rollup.read_text().splitlines()
        except OSError:
            # the process has ended, or the system has no such file: peak stays 0 and the ratio is not measured
            return
        peak[0] = max(peak[0], sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Anonymous:")))


def module(name: str, *arguments: str) -> Any:
    """Run a module of this folder and read its line of JSON. Raises ChildError if it fails."""
    run = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise ChildError(_last_line(run.stderr, run.returncode))
    return json.loads(run.stdout)


def _last_line(said: str, code: int) -> str:
    lines = said.strip().splitlines()
    return lines[-1] if lines else f"exit code {code}"
