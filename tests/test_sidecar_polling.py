"""The sidecar follows a part of the connections at a time, and everything that tells of them says so."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from roce_traffic import Wire, capture
from traffic import SECOND

from int_analyzer.analysis.summary import RoceSummary
from int_analyzer.capture import open_source
from int_analyzer.cli import main
from int_analyzer.live.replay import Replay
from int_analyzer.report.json_document import document
from int_analyzer.sidecar.page_document import page_document
from int_analyzer.sidecar.polling import FULL, USUAL, Polling, parse_polling
from int_analyzer.sidecar.service import Sidecar

HOSTS, SECONDS = 30, 12
MESSAGES = 3
"""Of each pair of hosts, every second."""


def sent() -> bytes:
    """A capture of pairs of hosts that write to each other all the time."""
    packets = []
    for host in range(1, HOSTS + 1):
        wire = Wire(here=host, there=host + 100, here_qp=host, there_qp=host + 100)
        begin = wire.time + host * 1_000_000
        for second in range(SECONDS):
            wire.time = begin + second * SECOND
            for _ in range(MESSAGES):
                wire.message("write", 2)
                wire.acknowledge(wire.psn - 1)
                wire.wait(200_000_000)
        packets += wire.packets
    return capture(sorted(packets, key=lambda packet: packet.time))


def watched(connections: Polling) -> Sidecar:
    """A sidecar that has seen it."""
    sidecar = Sidecar(connections=connections)
    with open_source(io.BytesIO(sent())) as source:
        sidecar.replay(sidecar.add(Replay(source, float("inf"), sidecar.reach), on_wall_clock=False), lambda seconds: False)
    return sidecar


def roce_of(sidecar: Sidecar) -> RoceSummary:
    assert sidecar.snapshot is not None
    roce = sidecar.snapshot.judgement.summary.roce
    assert roce is not None
    return roce


@pytest.fixture(scope="module")
def polling() -> Sidecar:
    return watched(Polling(1, 4))


def test_every_connection_has_its_turns_in_the_ten_seconds_that_are_judged_and_a_share_of_its_messages_counts(polling: Sidecar) -> None:
    roce, whole = roce_of(polling), roce_of(watched(FULL))
    assert (roce.tracking.mode, roce.tracking.time_share, roce.tracking.connections_share) == ("polling", 0.25, 1)
    assert roce.tracking.packets_share == pytest.approx(0.25, abs=0.1)
    assert (whole.tracking.mode, whole.tracking.packets_share) == ("full", 1)
    assert roce.directions == whole.directions == HOSTS
    assert roce.completed / whole.completed == pytest.approx(0.25, abs=0.1)
    assert (roce.fct.p50, roce.retransmitted, roce.unfilled) == (whole.fct.p50, 0, 0)
    assert "each 25 % of the time" in roce.notes[0] and "polled" not in "".join(whole.notes)


def test_json_page_and_metrics_say_mode_and_coverage(polling: Sidecar) -> None:
    exposition = pytest.importorskip("int_analyzer.sidecar.exposition", reason="needs the extra sidecar")
    assert polling.snapshot is not None
    tracking = document(polling.snapshot.judgement.summary)["roce"]["tracking"]
    assert (tracking["mode"], tracking["connections_share"]) == ("polling", 1)
    label, said = page_document(polling)["roce"][0]
    assert label == "connections followed"
    assert said.startswith("polling, 1 of 4 at a time: 100 % of them, ") and said.endswith("of their packets")
    samples = {
        (sample.name.removeprefix("int_analyzer_"), *sample.labels.values()): sample.value
        for family in exposition.Exposition(polling).collect()
        for sample in family.samples
    }
    assert samples["connection_tracking_info", "polling"] == 1
    assert samples["connection_coverage_ratio", "time"] == 0.25
    assert samples["connection_coverage_ratio", "connections"] == 1
    assert samples["connection_coverage_ratio", "packets"] == tracking["packets_share"]


@pytest.mark.parametrize(("text", "polling"), [("auto", None), ("full", FULL), ("polling", USUAL), ("polling:3/7", Polling(3, 7))])
def test_modes_are_read_from_the_command_line(text: str, polling: Polling | None) -> None:
    assert parse_polling(text) == polling


@pytest.mark.parametrize("text", ["", "half", "polling:", "polling:2/2", "polling:0/4", "polling:1/5000", "polling:-1/4", "full:1/2"])
def test_a_mode_that_cannot_be_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sidecar", "--replay", str(tmp_path), "--connections", text]) == 2
    assert "is neither auto nor full nor polling nor polling:N/M" in " ".join(capsys.readouterr().err.replace("│", " ").split())
