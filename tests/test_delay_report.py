"""Slow messages and hosts as people and programs read them: lines on a terminal, the JSON document, Parquet, the verb jobs."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from pathlib import Path

import jsonschema
import pyarrow.parquet
import pytest
from simulated_capture import analysed, captured
from test_delay import SECONDS, SEED

from int_analyzer import analyze
from int_analyzer.analysis.summary import DelayPart, MessageDelay, QueueDelays, Summary
from int_analyzer.cli import main
from int_analyzer.report import json_document, terminal, work_rows
from int_analyzer.report.delay_section import delay_lines, delays_of, host_lines

NAME = "straggler-link"


def report(summary: Summary, top: int = 10) -> str:
    stream = io.StringIO()
    terminal.print_report(summary, stream, top)
    return stream.getvalue()


def test_the_report_says_of_a_finding_what_it_delayed() -> None:
    told = " ".join(report(analysed(NAME, SEED, SECONDS[NAME]).summary).split())
    assert re.search(r" delays \d+ messages of \d+ connections \(ring 1\), worst \+[\d.]+ µs, sum [\d.]+ ms", told)


def test_a_slow_message_is_told_in_two_lines_with_its_queues_and_their_findings() -> None:
    summary = analysed("incast", SEED, SECONDS["incast"]).summary
    assert summary.messages is not None
    first, second = delay_lines(summary.messages.worst[0], summary.findings)
    assert first.startswith("10.") and "WRITE of 65.5 kB at" in first
    assert "usual is" in second and "% leaf2 port to-host9 queue 3 (F1)" in second and "held up by F1)" in second
    assert second.endswith("as usual")


def test_what_is_not_known_is_said_with_its_reason() -> None:
    summary = analysed(NAME, SEED, SECONDS[NAME], 10).summary
    assert summary.messages is not None
    by_flow = next(delay for delay in summary.messages.worst if delay.how == "flow")
    assert delay_lines(by_flow, [])[1].endswith("(by its flow)")
    untold = dataclasses.replace(by_flow, how="unknown", reason="no packet of it carries telemetry", parts=None)
    assert delay_lines(untold, [])[1].endswith(": not known where, no packet of it carries telemetry")


def test_parts_that_are_too_small_to_be_told_are_told_together() -> None:
    summary = analysed("incast", SEED, SECONDS["incast"]).summary
    assert summary.messages is not None
    worst = summary.messages.worst[0]
    usual = DelayPart("usual", None, None, None, 190, 0.19, "")
    one, *small = (DelayPart("queue", summary.queues[0].at, None, None, ns, ns / 1000, "") for ns in (600, 60, 50, 40, 30, 20, 10))
    (_, told), (_, exact) = (
        delay_lines(dataclasses.replace(worst, how="packets", parts=[one, *parts, usual]), []) for parts in (small, small[:2])
    )
    assert ", 10 % in 4 smaller parts, 19 % as usual" in told
    assert "smaller" not in exact


def test_numbers_of_a_finding_are_those_of_its_queue() -> None:
    assert delays_of(QueueDelays(1, 1, [], 30_000, 30_000)) == "1 message of 1 connection, worst +30.0 µs, sum 30.0 µs"


def test_hosts_are_a_table_with_what_waiting_cost() -> None:
    hosts = analysed(NAME, SEED, SECONDS[NAME]).summary.hosts
    lines = list(host_lines(hosts, 3))
    assert lines[0][0] == "suspect" and "since" in lines[0][1] and "USD" in lines[0][1]
    assert lines[1] == ("", f"  · {hosts[0].evidence[0]}")
    assert lines[2][0] == "healthy"
    labels, texts = zip(*lines, strict=True)
    assert "and 5 more" in texts and "8 others: healthy" in texts
    assert labels[-1] == "waited" and texts[-1].endswith("host-seconds in all, <0.01 USD")


@pytest.mark.parametrize("name", [NAME, "storage-slow"])
def test_the_document_follows_its_schema(name: str) -> None:
    result = analysed(name, SEED, SECONDS[name])
    document = json.loads(result.to_json())
    jsonschema.validate(document, json_document.json_schema())
    assert document["messages"]["slow"] == len(document["messages"]["worst"]) or document["messages"]["slow"] > 100
    assert {host["label"] for host in document["hosts"]} <= {"healthy", "slow", "suspect"}


def test_the_tables_of_a_folder_have_all_slow_messages_jobs_and_hosts(tmp_path: Path) -> None:
    capture, profile, _, _ = captured(NAME, SEED, SECONDS[NAME])
    summary = analyze(str(capture), str(profile), output=tmp_path / "out").summary
    assert summary.messages is not None
    tables = {name: pyarrow.parquet.read_table(tmp_path / "out" / f"{name}.parquet") for name in work_rows.TABLES}
    for name, table in tables.items():
        assert table.column_names == list(work_rows.columns(name))
        assert all(field.metadata[b"doc"] for field in table.schema)
    frame = tables["messages"].to_pandas()
    whole = frame.groupby(["name", "begin_ns"])
    assert len(whole) == summary.messages.slow
    assert (whole.ns.sum() == whole.time_ns.first()).all() and (whole.share.sum() - 1).abs().max() < 1e-9
    assert set(frame["where"]) <= {"queue", "resent", "host-paused", "elsewhere", "not-seen", "usual"}
    assert tables["jobs"].column("host").to_pylist() == [member.host for member in summary.jobs[0].members]
    hosts = tables["hosts"].to_pylist()
    assert [row["host"] for row in hosts] == [host.host for host in summary.hosts]
    assert hosts[0]["evidence"] == "; ".join(summary.hosts[0].evidence) and hosts[0]["cost"] == summary.hosts[0].cost


def test_a_message_of_which_nothing_is_known_is_one_row_without_a_part() -> None:
    fields = {"name": "a > b qp 0x1", "src": "a", "dst": "b", "dest_qp": 1, "kind": "write", "bytes": 10, "begin_ns": 1, "end_ns": 9}
    times = {"answered": True, "time_ns": 8, "fct_ns": 8, "usual_ns": 2, "usual_of": "pair", "delay_ns": 6, "job": None}
    delay = MessageDelay(**fields, **times, how="unknown", reason="none", blame="unknown", blamed=None, parts=None)  # type: ignore[arg-type]
    (row,) = work_rows.message_rows([delay]).to_pylist()
    assert (row["reason"], row["where"], row["ns"], row["node"]) == ("none", None, None, None)


def test_jobs_shows_every_slow_message_and_host(capsys: pytest.CaptureFixture[str]) -> None:
    capture, profile, _, _ = captured(NAME, SEED, SECONDS[NAME])
    summary = analysed(NAME, SEED, SECONDS[NAME]).summary
    assert summary.messages is not None
    assert main(["jobs", str(capture), "--profile", str(profile)]) == 0
    text = capsys.readouterr().out
    assert text.count("usual is") == summary.messages.slow
    for host in summary.hosts:
        assert not host.stall_ns or host.host in text
    assert main(["jobs", str(capture), "--profile", str(profile), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["jobs"][0]["slow_messages"] > 0 and document["jobs"][0]["worst"][0]["parts"]
    assert len(document["hosts"]) == len(summary.hosts)
