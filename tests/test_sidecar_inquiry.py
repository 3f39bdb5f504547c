"""Counters from outside while the sidecar runs: they join the judgement of each second, and one that does not answer holds nobody up."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from test_sidecar import replayed
from traffic import CONGESTED, HEALTHY, LENGTH, SECOND, START, in_turn, pcap

from int_analyzer.cli import main
from int_analyzer.counter import METRICS
from int_analyzer.errors import EvidenceError
from int_analyzer.evidence.series import Counters, build_series
from int_analyzer.sidecar import inquiry
from int_analyzer.sidecar.inquiry import SPAN_NS, Inquiry
from int_analyzer.sidecar.page_document import page_document
from int_analyzer.sidecar.service import Sidecar

SECONDS = 15
DROPS = [max(second - 7, 0) * 100 for second in range(SECONDS)]
"""At the congested port, in every second: none before it is congested."""


class Told:
    """A source that gives one answer, waits for permission if it is told to, and does not answer when it is `away`."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        self.away = False
        self.permitted = threading.Event()
        self.permitted.set()

    def read(self, start_ns: int, end_ns: int) -> Counters:
        self.asked.append((start_ns, end_ns))
        assert self.permitted.wait(30)
        if self.away:
            raise EvidenceError("http://prometheus:9090", "no answer of a Prometheus: refused")
        times = [START + second * SECOND for second in range(SECONDS)]
        return Counters([build_series(METRICS["drops"], (2, 2, None), times, [float(value) for value in DROPS])], ["told"])


def until(true: object) -> None:
    """Wait for another thread."""
    deadline = time.monotonic() + 30
    while not true():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_finding_has_what_was_counted_at_its_port_as_evidence(tmp_path: Path) -> None:
    (tmp_path / "x.pcap").write_bytes(pcap(in_turn(HEALTHY, CONGESTED)))
    rows = [f"{(START + second * SECOND) / 1e9:.0f},2,2,drops,{value}" for second, value in enumerate(DROPS)]
    (tmp_path / "switches.csv").write_text("\n".join(["time,node,port,metric,value", *rows]) + "\n")
    arguments = ["sidecar", "--replay", str(tmp_path / "x.pcap"), "--speed", "inf", "--output", str(tmp_path / "found.jsonl")]
    assert main([*arguments, "--counters", str(tmp_path / "switches.csv")]) == 0
    events = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert [(event["node"], event["port"]) for event in events if event["event"] == "start"] == [("2", "2")]
    assert any("drops" in sentence and "port 2" in sentence for sentence in events[-1]["evidence"]), events[-1]["evidence"]


def test_a_source_that_is_none_is_one_line_at_the_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sidecar", "--replay", str(CONGESTED), "--speed", "inf", "--counters", str(tmp_path / "nowhere.csv")]) == 2
    assert "nowhere.csv: No such file" in capsys.readouterr().err


def test_it_asks_for_the_last_minute_by_the_capture_clock_with_the_profile_of_then() -> None:
    source, opened = Told(), list[int]()

    def sources() -> list[Told]:
        opened.append(len(opened))
        return [source]

    asking = Inquiry(sources, every_s=0.01)
    asking.reach(START + 100 * SECOND)
    asking.start()
    until(lambda: asking.answers > 3)
    asking.close()
    asking.join(30)
    assert source.asked[-1] == (START + 100 * SECOND - SPAN_NS, START + 100 * SECOND)
    assert len(opened) == asking.answers == len(source.asked)


def test_one_that_does_not_answer_is_counted_and_said_everywhere_and_its_last_answer_grows_old(monkeypatch: pytest.MonkeyPatch) -> None:
    exposition = pytest.importorskip("int_analyzer.sidecar.exposition", reason="needs the extra sidecar")
    web = pytest.importorskip("int_analyzer.sidecar.web", reason="needs the extra sidecar")
    sidecar, _ = replayed(in_turn(HEALTHY))
    source = Told()
    sidecar.inquiry = asking = Inquiry(lambda: [source], every_s=0.01)
    assert page_document(sidecar)["trust"]["assumptions"][-1] == f"counters from outside: {SECONDS} readings of 1 series"
    assert web.health_of(sidecar) == ("ok", [])
    source.away = True
    asking.start()
    until(lambda: asking.faults > 1)
    said = asking.describe()
    assert said.startswith("counters from outside: http://prometheus:9090: no answer of a Prometheus: refused (")
    assert page_document(sidecar)["trust"]["trust_reasons"][-1].startswith(said.partition(" (")[0])
    assert web.health_of(sidecar)[0] == "degraded"
    samples = {sample.name: sample.value for family in exposition.Exposition(sidecar).collect() for sample in family.samples}
    assert samples["int_analyzer_evidence_answers_total"] == 1 and samples["int_analyzer_evidence_faults_total"] > 1
    assert asking.counters is not None
    with monkeypatch.context() as later:
        later.setattr(inquiry, "STALE_S", 0.0)
        assert asking.counters is None
    # and once it answers again
    source.away = False
    until(lambda: not asking.fault)
    asking.close()
    asking.join(30)
    assert web.health_of(sidecar) == ("ok", [])


def test_one_that_hangs_is_said_once_its_last_answer_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Inquiry(lambda: [Told()])
    assert asking.fault == ""
    monkeypatch.setattr(inquiry, "STALE_S", 0.0)
    assert asking.describe() == "counters from outside: no answer for 0 s (0 failures so far)"


def test_no_tick_waits_for_an_answer() -> None:
    source = Told()
    asking = Inquiry(lambda: [source], every_s=0.01)
    source.permitted.clear()
    asking.start()
    until(lambda: len(source.asked) == 2)
    sidecar = Sidecar()
    sidecar.inquiry = asking
    for second in range(5):
        sidecar.tick(START + LENGTH + second * SECOND)
    assert sidecar.snapshot is not None and sidecar.snapshot.now_ns == START + LENGTH + 4 * SECOND
    assert len(source.asked) == 2 and asking.answers == 1
    source.permitted.set()
    until(lambda: asking.answers > 1)
    asking.close()
    asking.join(30)
