"""From when to when a capture goes: damaged times do not stretch it, and are counted; long captures with pauses stay whole."""

from __future__ import annotations

import dataclasses
import io
import json
import struct
from pathlib import Path

import pytest
from mode import unchecked
from roce_reference import US, folded
from roce_traffic import Wire, capture
from view_factory import MS, Hop, Traffic

from int_analyzer import analyze
from int_analyzer.analysis.span import capture_span, count_strays
from int_analyzer.analysis.summarise import summarise
from int_analyzer.report import terminal

pytestmark = unchecked

SECOND = 1_000_000_000
HOUR = 3600 * SECOND
LONG_AGO, FAR_AWAY = 86_400, 4_000_000_000
"""Seconds since 1970."""


def damaged(data: bytes, record: int, seconds: int) -> bytes:
    """A classic pcap (little-endian) in which the record of this number has another time."""
    changed, at = bytearray(data), 24
    for _ in range(record):
        at += 16 + int(struct.unpack_from("<I", changed, at + 8)[0])
    struct.pack_into("<I", changed, at, seconds)
    return bytes(changed)


def told(path: Path) -> tuple[dict[str, object], str]:
    """The capture in the JSON document, and the report."""
    result = analyze(path)
    stream = io.StringIO()
    terminal.print_report(result.summary, stream)
    document: dict[str, object] = json.loads(result.to_json())["capture"]
    return document, stream.getvalue()


def messages() -> bytes:
    wire = Wire()
    for _ in range(200):
        wire.message("write", 3)
        wire.acknowledge(wire.psn - 1)
    return capture(wire.packets)


@pytest.mark.parametrize("record", [0, 300, 799])
@pytest.mark.parametrize("seconds", [LONG_AGO, FAR_AWAY])
def test_one_damaged_time_does_not_stretch_the_capture_and_is_told(seconds: int, record: int, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.pcap", tmp_path / "broken.pcap"
    whole.write_bytes(messages())
    broken.write_bytes(damaged(messages(), record, seconds))
    (before, calm), (after, text) = told(whole), told(broken)
    assert before["strays"] == 0 and "off all others" not in calm
    assert abs(float(str(after["seconds"])) - float(str(before["seconds"]))) < 0.05 * float(str(before["seconds"]))
    first, last, began, ended = (int(str(times[name])) for times in (after, before) for name in ("first_ns", "last_ns"))
    assert began <= first < last <= ended
    # a packet in the middle of a message is no first or last one, and the acknowledgement neither
    assert after["strays"] == (1 if record != 799 else 0)
    assert ("without 1 end of messages whose time is an hour" in text) == (record != 799)


def test_times_of_hops_that_are_astray_are_counted() -> None:
    traffic = Traffic()
    traffic.stream(0, 300, 2, lambda _: (Hop(1, 2), Hop(2, 1)))
    view = traffic.view()
    assert capture_span(view) == (view.counts["first_ns"], view.counts["last_ns"]) and count_strays(view) == 0
    for at in (-30 * HOUR, 40 * HOUR):
        traffic.packet(at, Hop(1, 2), Hop(2, 1))
    astray = traffic.view()
    assert astray.counts["last_ns"] - astray.counts["first_ns"] > 60 * HOUR
    span = capture_span(astray)
    assert span is not None and span[1] - span[0] <= 301 * MS
    assert count_strays(astray) == 4


def test_a_few_buckets_with_many_packets_each_tell_a_stray_time_all_the_same() -> None:
    traffic = Traffic()
    traffic.stream(0, 4, 200, lambda _: (Hop(1, 2),))
    traffic.packet(40 * HOUR, Hop(1, 2))
    assert count_strays(traffic.view()) == 1


def test_a_capture_that_pauses_for_hours_is_one() -> None:
    traffic = Traffic()
    for begin in (0, 5 * 3_600_000, 9 * 3_600_000):
        traffic.stream(begin, begin + 50, 2, lambda _: (Hop(1, 2),))
    view = traffic.view()
    assert capture_span(view) == (view.counts["first_ns"], view.counts["last_ns"]) and count_strays(view) == 0


def test_a_rate_is_not_of_the_time_to_a_damaged_one() -> None:
    wire = Wire()
    for _ in range(200):
        wire.message("write", 3)
        wire.packets[-1] = dataclasses.replace(wire.packets[-1], ecn=3)
        wire.answer("notification", 0)
        wire.acknowledge(wire.psn - 1)

    def rate() -> float:
        roce = summarise(folded(wire.packets).view()).roce
        assert roce is not None
        (pair,) = [pair for pair in roce.host_pairs if pair.cnps]
        return pair.cnps_per_second or 0.0

    before = rate()
    assert before == pytest.approx(1e9 / (5 * US), rel=0.01)
    wire.packets[-1] = dataclasses.replace(wire.packets[-1], time=wire.packets[-1].time + 40 * HOUR)
    assert rate() == pytest.approx(before, rel=0.01)


@pytest.mark.parametrize("record", [0, 300, 400, 799])
@pytest.mark.parametrize("seconds", [LONG_AGO, FAR_AWAY])
def test_no_message_lasts_as_long_as_to_a_damaged_time(seconds: int, record: int, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(damaged(messages(), record, seconds))
    summary = analyze(broken).summary
    assert summary.roce is not None and summary.messages is not None
    (sender,) = (entry for entry in summary.roce.worst["fct"] if entry.completed)
    assert sender.completed >= 198 and 0 < (sender.fct_max_ns or 0) < SECOND
    assert sender.rtt_count >= 198 and 0 < (sender.rtt_max_ns or 0) < SECOND
    assert summary.messages.messages >= 198 and summary.messages.slow == 0
    assert sum(host.stall_ns or 0 for host in summary.hosts) == 0
