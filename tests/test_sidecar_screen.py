"""The sidecar on a terminal: the same as the page, in text."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from test_sidecar import replayed
from traffic import CONGESTED, HEALTHY, ROOT, SECOND, START, in_turn, pcap

from int_analyzer.cli import main
from int_analyzer.sidecar.page_document import page_document
from int_analyzer.sidecar.screen import _bar, render
from int_analyzer.sidecar.service import Sidecar
from int_analyzer.sidecar.sliding import GRACE_NS


def shown(state: dict[str, object], width: int = 100) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(render(state))
    return console.export_text()


def test_what_is_congested_stands_first_with_its_culprits() -> None:
    text = shown(page_document(replayed(in_turn(HEALTHY, HEALTHY, HEALTHY, CONGESTED))[0]))
    assert "▲ CONGESTED  node 2 port 2 queue 0 — overload" in text.splitlines()[2]
    assert "10.0.1.1:49153 > 10.0.3.3:4791" in text and "depth up to 79 raw" in text
    ports = next(line for line in text.splitlines() if line.startswith("node 2 port 2 ") and "█" in line)
    assert ports.split()[-1] == "79" and "·" in ports
    # of the frames that are replayed, two of three are missing by their sequence
    assert "trust: low" in text and "replay: " in text


def test_a_calm_fabric_says_so_in_words() -> None:
    assert "no congestion" in shown(page_document(replayed(in_turn(HEALTHY, HEALTHY))[0]))


def test_a_narrow_terminal_gets_no_line_that_is_too_long() -> None:
    text = shown(page_document(replayed(in_turn(CONGESTED))[0]), width=60)
    assert max(map(len, text.splitlines())) <= 60


@pytest.mark.parametrize(("value", "bar"), [(None, "·"), (0, " "), (1, "▁"), (50, "▄"), (100, "█")])
def test_bars_tell_nothing_from_zero_from_little(value: int | None, bar: str) -> None:
    assert _bar(value, 100) == bar


def test_piped_it_prints_the_last_second(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--replay", str(CONGESTED), "--speed", "inf"]) == 0
    said = capsys.readouterr().out
    assert "CONGESTED  node 2 port 2" in said and "\x1b[" not in said


def test_on_a_terminal_it_draws_every_second_and_leaves_the_last_one(tmp_path: Path) -> None:
    capture = tmp_path / "long.pcap"
    capture.write_bytes(pcap(in_turn(HEALTHY, CONGESTED)))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "int_analyzer", "top", "--replay", str(capture), "--speed", "10"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "TERM": "xterm", "COLUMNS": "110", "LINES": "45"}
    with subprocess.Popen(command, cwd=ROOT, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        read, deadline = b"", time.monotonic() + 30
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.2)[0]:
                continue
            try:
                read += os.read(ours, 1 << 16)
            except OSError:
                # the other end is closed
                break
        assert process.wait(5) == 0
    os.close(ours)
    text = read.decode()
    assert "\x1b[?1049h" in text and "\x1b[?1049l" in text
    drawn, left = text.split("\x1b[?1049l")
    assert len(set(re.findall(r"08:00:\d\d\.200", drawn))) >= 8
    assert "CONGESTED" in left


def test_what_cannot_begin_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top"]) == 2
    assert "give --interface or --reports" in capsys.readouterr().err


def test_since_when_nothing_has_come_is_said_and_not_taken_for_calm() -> None:
    sidecar, _ = replayed(in_turn(HEALTHY))
    sidecar.over = False
    end = sidecar.sliding.end
    for second in range(1, 31):
        sidecar.tick((end + second) * SECOND + GRACE_NS)
    assert page_document(sidecar)["silence"].startswith("no packet for 30.") and "no packet for 30." in shown(page_document(sidecar))
    assert "no congestion" not in shown(page_document(sidecar))
    sidecar.history.heard = end + 30
    sidecar.tick((end + 31) * SECOND + GRACE_NS)
    assert page_document(sidecar)["silence"].startswith("no telemetry for 31.")
    sidecar.history.measured = end + 31
    sidecar.tick((end + 32) * SECOND + GRACE_NS)
    assert page_document(sidecar)["silence"] == ""


def test_after_a_clock_that_was_set_in_silence_nobody_says_that_nothing_ever_came() -> None:
    sidecar, _ = replayed(in_turn(HEALTHY))
    sidecar.over = False
    assert sidecar.snapshot is not None
    sidecar.tick(sidecar.snapshot.now_ns - 3600 * SECOND)
    assert page_document(sidecar)["silence"] == "no packet since the clock was set"
    fresh = Sidecar(compiled=False)
    fresh.tick(START)
    fresh.tick(START - 3600 * SECOND)
    assert page_document(fresh)["silence"] == "no packet yet"
