"""From a simulated fabric to what is said of its hosts: who is late and by how much, as it was simulated; and nobody else."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from roce_traffic import capture
from simulated_capture import analysed, captured
from test_delay import SECONDS, SEED
from work_traffic import Disk, ring

from int_analyzer import Result, analyze
from int_analyzer.analysis.quantiles import quantiles_of
from int_analyzer.analysis.summary import Tracking
from int_analyzer.cli import main
from int_analyzer.report import json_document, terminal
from int_analyzer.report.work_section import job_lines, storage_lines, work_headline
from int_analyzer.scoring.score import score
from int_analyzer.scoring.truth import truth_of

WITH_HOSTS = ("straggler-host", "straggler-link", "hot-expert", "storage-slow", "prepare-slow")


def told_and_true(name: str) -> tuple[Result, dict[str, Any]]:
    """The analysis of a scenario and its truth."""
    return analysed(name, SEED, SECONDS[name]), captured(name, SEED, SECONDS[name])[2]


@pytest.mark.parametrize("name", ["straggler-host", "storage-slow", "prepare-slow", "hot-expert"])
def test_the_host_that_was_made_late_is_found_with_its_cause_and_nothing_else(name: str) -> None:
    result, truth = told_and_true(name)
    scored = score(result.summary, truth_of(truth))
    assert (scored.hosts_found, scored.false_findings, scored.top1) == (1.0, 0, True)


@pytest.mark.parametrize("name", ["straggler-host", "storage-slow", "prepare-slow"])
def test_it_is_late_by_what_was_simulated_from_when_it_was(name: str) -> None:
    result, truth = told_and_true(name)
    (told,) = truth["hosts"]
    (found,) = (finding for finding in result.findings if finding.role == "host")
    assert found.impact / found.packets == pytest.approx(told["late_ns"], rel=0.1)
    # storage is late with its first command after that time, which may be another than the truth's
    assert abs(found.start_ns - told["from_ns"]) < (100_000 if name == "straggler-host" else 5_000_000)


def test_a_congested_link_of_a_ring_is_no_trouble_of_a_host() -> None:
    result, truth = told_and_true("straggler-link")
    assert [finding.role for finding in result.findings if finding.role == "host"] == []
    (job,) = result.summary.jobs
    suspects = [member for member in job.members if member.label != "healthy"]
    assert [member.label for member in suspects] == ["suspect"]
    assert "a hop on that path is congested" in suspects[0].reason
    assert truth["congested"]


def test_the_ring_is_found_with_its_steps() -> None:
    result, _ = told_and_true("straggler-host")
    (job,) = result.summary.jobs
    assert (job.kind, job.chunk_bytes, len(job.members), job.inferred) == ("ring", 131_072, 8, True)
    # a chunk at 85 % of 25 Gbit/s, and 5 µs
    assert job.step.p50 == pytest.approx(131_072 * 8 / 0.85 / 25 + 5000, rel=0.3)


@pytest.mark.parametrize("name", WITH_HOSTS)
def test_the_document_and_the_report_say_it(name: str) -> None:
    result, _ = told_and_true(name)
    jsonschema.validate(json.loads(result.to_json()), json_document.json_schema())
    stream = io.StringIO()
    terminal.print_report(result.summary, stream)
    text = stream.getvalue()
    summary = result.summary
    assert ("\nStorage\n" in text, "\nJobs\n" in text) == (summary.storage is not None, bool(summary.jobs))
    assert ("SLOW HOST" in text) == (name in ("straggler-host", "storage-slow", "prepare-slow"))


def test_lines_name_who_is_late_and_what_is_not_known(tmp_path: Path) -> None:
    disk = Disk()
    for _ in range(4):
        disk.command()
        disk.command(after=1)
        disk.fetch(60, 8)
        disk.complete(5)
        disk.complete(5)
    chunks, _ = ring(4, 30, lambda member, step: 300.0 if member == 1 and step > 12 else 0.0)
    path = tmp_path / "work.pcap"
    path.write_bytes(capture(sorted([*disk.packets, *chunks], key=lambda packet: packet.time)))
    summary = analyze(path).summary
    assert summary.storage is not None
    assert work_headline(summary)[0] == f"SLOW HOST  10.0.0.2, of {len(summary.hosts)}"
    lines = "\n".join(" ".join(line) for line in storage_lines(summary.storage, 5))
    assert "DAL ·" in lines and "DPL 8.00 µs" in lines and "no header says whose the data is" in lines
    lines = "\n".join(" ".join(line) for job in summary.jobs for line in job_lines(job, 5))
    assert "4 members (inferred from its traffic): 3 healthy, 1 slow" in lines
    assert "10.0.0.2 slow, since" in lines and "its own chunks are 300 µs late, 17 times" in lines


def test_where_no_host_could_be_judged_none_is_called_healthy(tmp_path: Path) -> None:
    disk = Disk()
    for _ in range(4):
        disk.command()
        disk.fetch(60, 8)
        disk.complete(5)
    path = tmp_path / "storage.pcap"
    path.write_bytes(capture(disk.packets))
    summary = analyze(path).summary
    storage, roce = summary.storage, summary.roce
    assert storage is not None and roce is not None
    summary = replace(summary, hosts=[replace(host, stall_of="unknown") for host in summary.hosts])
    assert work_headline(summary)[0] == "NO SLOW HOST  among 2"
    unmeasured = quantiles_of([], "not seen")
    half = replace(storage, targets=[replace(target, dal=unmeasured) for target in storage.targets])
    assert work_headline(replace(summary, storage=half))[0] == "NO SLOW HOST  among 1; 1 more could not be judged"
    none = replace(half, hosts=[replace(host, dpl=unmeasured) for host in storage.hosts])
    assert work_headline(replace(summary, storage=none))[0].startswith("HOSTS NOT JUDGED  of none of them a message")
    polled = replace(roce, tracking=Tracking("polling", 0.25, 1.0, 0.25))
    words, _ = work_headline(replace(summary, storage=None, hosts=[], roce=polled))
    assert words.startswith("HOSTS NOT JUDGED  connections are polled, each 25 % of the time")


def test_the_verb_prints_jobs_and_nothing_but_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chunks, _ = ring(4, 30, lambda member, step: 0.0)
    path, empty = tmp_path / "ring.pcap", tmp_path / "empty.pcap"
    path.write_bytes(capture(chunks))
    empty.write_bytes(capture(chunks[:5]))
    assert main(["jobs", str(path)]) == 0
    told = capsys.readouterr().out
    assert told.startswith(("NO SLOW HOST  among 4\n\nJobs\n", "NO SLOW HOST  among 4\n\nMessages\n"))
    assert "4 members" in told and "Paths" not in told
    assert main(["jobs", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["schema_version", "storage", "jobs", "messages", "hosts"]
    assert [member["label"] for member in document["jobs"][0]["members"]] == ["healthy"] * 4
    assert main(["jobs", str(empty)]) == 0
    assert "NO JOBS" in capsys.readouterr().out


def test_a_host_named_with_another_cause_is_not_found_but_a_false_finding() -> None:
    result, truth = told_and_true("prepare-slow")
    (told,) = truth["hosts"]
    other = truth_of({**truth, "hosts": [{**told, "cause": "slow-compute"}]})
    scored = score(result.summary, other)
    assert (scored.hosts_found, scored.false_findings) == (0.0, 1)
