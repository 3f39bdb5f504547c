"""The whole command on interfaces of the test's own: what a user of a mirror port would see."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mode import other_programs
from namespace import in_namespace, needs_namespaces, sender
from traffic import CONGESTED, ROOT, SECOND, frames

from int_analyzer.sidecar.checkpoint import load
from int_analyzer.sidecar.lifetime import Lifetime

pytestmark = [needs_namespaces, other_programs]

ENVIRONMENT = {**os.environ, "NUMBA_DISABLE_JIT": "1"}


@contextmanager
def sidecar(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, in plain Python, once it captures."""
    command = [sys.executable, "-m", "int_analyzer", "sidecar", "--state", str(folder / "state"), *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        deadline = time.monotonic() + 30
        while not (folder / "state/sidecar.npz").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        try:
            yield process
        finally:
            process.kill()


def first_event(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What a sidecar says first, however long the judgements take on this machine."""
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 120)[0], "nothing was said"
    event: dict[str, Any] = json.loads(process.stdout.readline())
    return event


def rights_of_threads(process: int) -> list[str]:
    """Permitted and effective capabilities of every thread."""
    held: list[str] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        # a recording's thread may end meanwhile
        with suppress(FileNotFoundError, ProcessLookupError):
            held += [line.split()[1] for line in (task / "status").read_text().splitlines() if line.startswith(("CapPrm", "CapEff"))]
    return held


def stopped(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """The events of a sidecar that is asked to stop."""
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None
    events = [json.loads(line) for line in process.stdout]
    assert process.wait(60) == 0
    return events


def test_a_mirror_port_and_reports_at_once_give_one_finding(tmp_path: Path) -> None:
    (tmp_path / "switches.csv").write_text("time,node,port,metric,value\n")
    # what has threads of its own
    others = ("--record", str(tmp_path / "record"), "--webhook", "http://127.0.0.1:9", "--counters", str(tmp_path / "switches.csv"))
    others += ("--parquet", str(tmp_path / "queues"))

    def work() -> tuple[list[str], list[dict[str, Any]]]:
        with sidecar(tmp_path, "--interface", "mirror0", "--reports", "udp://127.0.0.1:32766", *others) as process:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reports, sender() as mirror:
                began = time.monotonic()
                for number, (at, data) in enumerate(frames(CONGESTED)):
                    # twice as fast as it was
                    time.sleep(max(began + at / 2e9 - time.monotonic(), 0))
                    if number % 2:
                        mirror.send(data)
                    else:
                        reports.sendto(data[42:], ("127.0.0.1", 32766))
            first = first_event(process)
            # that it is said within seconds shows in a replay, where no other process takes the processor
            assert first["at_ns"] < time.time_ns() + SECOND
            return rights_of_threads(process.pid), [first, *stopped(process)]

    held, events = in_namespace(work)
    assert [(event["event"], event["node"], event["port"]) for event in events] == [("start", "2", "2")]
    assert events[0]["start_ns"] < events[0]["at_ns"]
    # CAP_NET_RAW is the 13th
    assert held == ["0000000000002000"] * len(held) and len(held) >= 2 * 4
    assert list((tmp_path / "queues").glob("queues-*.parquet"))
    lifetime = Lifetime()
    rest = load(tmp_path / "state/sidecar.npz", lifetime)
    assert lifetime.counts()["counts"]["packets"] == len(frames(CONGESTED))
    # it goes on when the sidecar is started again
    assert list(rest["tracks"]["tracks"]) == ["2-2-0"]


def test_a_flood_of_junk_is_counted_and_stops_nothing(tmp_path: Path) -> None:
    chance = random.Random(17)
    junk = [chance.randbytes(chance.randrange(14, 1400)) for _ in range(2000)]

    def work() -> list[dict[str, Any]]:
        with sidecar(tmp_path, "--interface", "mirror0") as process:
            with sender() as mirror:
                for data in junk:
                    mirror.send(data)
                for _, data in frames(CONGESTED):
                    mirror.send(data[: chance.randrange(len(data))] + chance.randbytes(40))
            time.sleep(1.5)
            return stopped(process)

    assert in_namespace(work) == []
    lifetime = Lifetime()
    load(tmp_path / "state/sidecar.npz", lifetime)
    counts = lifetime.counts()
    # frames below 14 bytes cannot be sent
    assert counts["counts"]["packets"] >= len(junk) + 0.9 * len(frames(CONGESTED))
    assert sum(count for status, count in counts["statuses"].items() if status != "ok") > 1000
