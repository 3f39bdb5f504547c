"""Load on interfaces of the test's own, bounded in packets: nothing is lost, and what a packet costs beside writing it down."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from flood import flood
from mode import speed
from namespace import in_namespace, needs_namespaces
from traffic import ROOT

from int_analyzer.sidecar.checkpoint import load
from int_analyzer.sidecar.lifetime import Lifetime

pytestmark = [needs_namespaces, speed]

PACKETS = 200_000
FLOODS = 3
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(process: int) -> float:
    """User and system time of a process so far."""
    words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / _TICKS


def resident_bytes(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def capturing(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A sidecar in machine code, once it captures."""
    command = [sys.executable, "-m", "int_analyzer", "sidecar", "--interface", "mirror0", "--state", str(folder / "state")]
    command += ["--output", str(folder / "findings.jsonl"), *arguments]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 300
        while not (folder / "state/sidecar.npz").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert (folder / "state/sidecar.npz").exists(), "it does not capture"
        # the grace periods of the kernel, on a busy machine
        time.sleep(2)
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def writing(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """tcpdump that writes the packets of the interface to a file."""
    command = ["tcpdump", "-i", "mirror0", "-w", str(folder / "all.pcap"), "-B", "65536", "-Z", "root"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        process.stderr.readline()
        time.sleep(0.3)
        try:
            yield process
        finally:
            process.kill()


def stopped(process: subprocess.Popen[str]) -> str:
    """What a process says on stderr when it is asked to stop."""
    process.send_signal(signal.SIGTERM)
    return process.communicate(timeout=30)[1]


@dataclass
class Measured:
    """Processor seconds of each flood, by program; what the sidecar said at its end, its totals, and its memory after each flood."""

    sidecar: list[float]
    tcpdump: list[float]
    said: str
    lifetime: Lifetime
    resident: list[int]


def _cost(process: subprocess.Popen[str]) -> float:
    before = cpu_seconds(process.pid)
    flood("fabric0", PACKETS)
    time.sleep(1.2)
    return cpu_seconds(process.pid) - before


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Both programs under the same floods, one after the other."""
    folder = tmp_path_factory.mktemp("load")

    def work() -> Measured:
        costs, resident = [], []
        with capturing(folder) as process:
            for _ in range(FLOODS):
                costs.append(_cost(process))
                resident.append(resident_bytes(process.pid))
            said = stopped(process)
        lifetime = Lifetime()
        load(folder / "state/sidecar.npz", lifetime)
        if shutil.which("tcpdump") is None:
            return Measured(costs, [], said, lifetime, resident)
        with writing(folder) as process:
            return Measured(costs, [_cost(process) for _ in range(FLOODS)], said, lifetime, resident)

    result: Measured = in_namespace(work)
    return result


def test_nothing_is_lost_at_the_rate_at_which_this_machine_can_send(measured: Measured) -> None:
    assert f"mirror0: {FLOODS * PACKETS} packets, 0 of them late" in measured.said
    assert "0 dropped by the kernel, 0 shed, 0 of another time" in measured.said
    assert measured.lifetime.counts()["counts"]["packets"] == FLOODS * PACKETS
    assert measured.lifetime.counts()["statuses"] == {"ok": FLOODS * PACKETS}


def test_memory_does_not_grow_with_the_packets(measured: Measured) -> None:
    assert measured.resident[-1] < 1.15 * measured.resident[0], measured.resident


def test_decoding_and_folding_a_packet_costs_less_than_three_times_writing_it_down(measured: Measured) -> None:
    if not measured.tcpdump:
        pytest.skip("needs tcpdump")
    # what the sidecar says of itself is a mean, too
    whole, theirs = (sum(costs) / len(costs) / PACKETS * 1e9 for costs in (measured.sidecar, measured.tcpdump))
    decode, fold = map(int, re.findall(r"(\d+) ns to", measured.said))
    print(f"sidecar {decode} + {fold} ns a packet, with all that it does every second {whole:.0f} ns; tcpdump -w {theirs:.0f} ns")
    assert decode + fold < 3 * theirs
