"""Counters in the report: what was read, what rose, what could not be used; and what the command says of sources that are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from mode import unchecked

from int_analyzer.analysis.outside.outside_summary import CounterRise, JobBound, OutsideSummary
from int_analyzer.cli import main
from int_analyzer.report.outside_section import outside_lines

pytestmark = unchecked

START = 1_780_000_000_000_000_000
SECOND = 1_000_000_000
CAPTURE = next((Path(__file__).parent.parent / "pcaps").rglob("*.pcap"))


def rise(metric: str, node: str | None, port: str | None, host: str | None, amount: float) -> CounterRise:
    return CounterRise(metric, node, port, 1, 4, host, amount, START + SECOND, START + 3 * SECOND)


OUTSIDE = OutsideSummary(
    sources=["switches.csv", "http://prometheus:9090"],
    series={"symbol_errors": 32, "gpu_busy": 5},
    readings=608,
    interval_ns=SECOND,
    strangers=3,
    stranger_names=["drops spine0 Ethernet12", "drops spine1 Ethernet12"],
    ignored={"no-value": 1},
    rises=[rise("symbol_errors", "spine0", "to-leaf3", None, 35_126), rise("retransmissions", None, None, "gpu-7", 90)],
    jobs=[JobBound("ring", 8, 5, 0.4, 0.6, 0.5, "network", "GPUs are stalled 60 % of the time")],
    notes=["counters are read every 1 s"],
)


def test_the_section_says_what_was_read_what_rose_and_what_was_not_used() -> None:
    lines = list(outside_lines(OUTSIDE, 10))
    assert lines[0] == ("counters", "switches.csv, http://prometheus:9090: 608 readings of series gpu_busy: 5 · symbol_errors: 32")
    assert [" ".join(text.split()) for _, text in lines[1:3]] == [
        "35126 symbol errors spine0 port to-leaf3 20:26:41.000 to 20:26:43.000",
        "90 retransmissions gpu-7 20:26:41.000 to 20:26:43.000",
    ]
    assert lines[3:] == [
        ("jobs", "ring of 8, 5 measured: bound by network; GPUs are stalled 60 % of the time"),
        ("strangers", "3 series name no known port or host: drops spine0 Ethernet12, drops spine1 Ethernet12 …"),
        ("ignored", "1 reading: no-value"),
        ("but", "counters are read every 1 s"),
    ]


def test_no_more_than_asked_for_is_shown() -> None:
    assert ("", "and 1 more (--top)") in list(outside_lines(OUTSIDE, 1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--counters", "nowhere.csv"), "nowhere.csv: No such file"),
        (("--prometheus", "http://127.0.0.1:9"), "the profile has no queries"),
        (("--prometheus", "prometheus:9090"), "prometheus:9090: is no address of a Prometheus"),
        (("--prometheus-token", "token"), "there is no --prometheus"),
    ],
)
def test_a_source_that_is_none_is_one_line_before_any_capture_is_read(
    options: tuple[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(CAPTURE), *options]) == 2
    told = capsys.readouterr()
    assert message in told.err and told.out == ""
