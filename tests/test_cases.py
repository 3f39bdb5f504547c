"""Two cases as operators tell them, from seed to answer through the command line: a cable that fails, and a leaf that hashes otherwise."""

from __future__ import annotations

import csv
import functools
import json
import shutil
import socket
import struct
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from http_double import Asked, answering
from mode import simulated

from int_analyzer.cli import main
from int_analyzer.synth.clock import EPOCH_NS

pytestmark = simulated
Captured = pytest.CaptureFixture[str]
SECOND = 1_000_000_000

needs_prometheus = pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs prometheus (Debian package prometheus)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cases")


@functools.cache
def generated(folder: Path, case: str, seed: int = 1) -> Path:
    """The capture of a case; beside it what the generator writes there."""
    capture = folder / f"{case}-{seed}.pcap"
    assert main(["generate", case, "-o", str(capture), "--seed", str(seed), "--snaplen", "256", "--quiet"]) == 0
    return capture


def beside(capture: Path, name: str) -> Path:
    return capture.with_name(f"{capture.stem}.{name}")


def analyzed(capsys: Captured, capture: Path, *options: str, profile: Path | None = None) -> dict[str, Any]:
    """The JSON document of an analysis."""
    capsys.readouterr()
    assert main(["analyze", str(capture), "--profile", str(profile or beside(capture, "profile.toml")), "--json", "-q", *options]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def truth_of(capture: Path) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads(beside(capture, "truth.json").read_text())
    return truth


def place(entry: dict[str, Any]) -> tuple[int, int]:
    return entry["node_id"], entry["port_id"]


def assert_chain(finding: dict[str, Any], *parts: str) -> None:
    """Sentences with these parts stand in the evidence, in this order."""
    told = iter(finding["evidence"])
    for part in parts:
        assert any(part in sentence for sentence in told), f"{part!r} is not told, or not there: {finding['evidence']}"


def spine_end(truth: dict[str, Any]) -> str:
    """The port at which the cable ends: that of the spine which leads to the leaf."""
    (root,) = truth["congested"]
    return f"symbol errors at node {root['towards']} port to-{root['node']}"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_failing_cable_is_one_finding_from_lost_bandwidth_to_recovery(folder: Path, capsys: Captured, seed: int) -> None:
    capture = generated(folder, "failing-cable", seed)
    truth = truth_of(capture)
    document = analyzed(capsys, capture, "--counters", str(beside(capture, "counters.csv")))
    (finding,), (root,) = document["findings"], truth["congested"]
    assert place(finding) == place(root) and finding["cause"] == "degraded-link"
    assert abs(finding["start_ns"] - root["from_ns"]) < SECOND // 2
    assert abs(finding["end_ns"] - root["to_ns"]) < SECOND // 2
    assert_chain(
        finding,
        "throughput of the messages over it falls",
        "times that a sender retransmitted, its path crossed this link",
        spine_end(truth),
        "nothing crosses it after",
        "recovered: no retransmission begins on these connections after",
    )
    assert any("unevenly: between" in sentence for sentence in finding["evidence"])
    assert any("Gbit/s again" in sentence for sentence in finding["evidence"])
    # since when, and that it is over, to the second in which counters are read
    (rise,) = document["outside"]["rises"]
    assert 0 <= root["from_ns"] - rise["first_ns"] <= SECOND and 0 <= rise["last_ns"] - root["to_ns"] <= SECOND
    assert document["outside"]["interval_ns"] == SECOND
    assert any(event["kind"] == "path-change" for event in document["events"])
    # messages that took long waited for what the cable had lost
    parts = [delay["parts"][0] for delay in document["messages"]["worst"]]
    assert {part["where"] for part in parts} == {"resent"} and len(parts) > 10
    at_cable = [part for part in parts if part["finding"] == finding["id"] and place(part["at"]) == place(root)]
    assert len(at_cable) > 0.9 * len(parts)


def test_counters_make_the_finding_surer_and_errors_elsewhere_less_sure(folder: Path, capsys: Captured) -> None:
    capture = generated(folder, "failing-cable")
    alone = analyzed(capsys, capture)
    told = beside(capture, "counters.csv").read_text()
    (root,) = truth_of(capture)["congested"]
    spine, leaf = root["towards"], root["node"]
    assert f"{spine},to-{leaf}," in told
    other = next(f"leaf{number}" for number in range(4) if f"leaf{number}" != leaf)
    moved = folder / "moved.csv"
    moved.write_text(
        told.replace(f"{spine},to-{leaf},", "?").replace(f"{spine},to-{other},", f"{spine},to-{leaf},").replace("?", f"{spine},to-{other},")
    )
    confirmed = analyzed(capsys, capture, "--counters", str(beside(capture, "counters.csv")))
    refuted = analyzed(capsys, capture, "--counters", str(moved))
    confidence = [document["findings"][0]["confidence"] for document in (refuted, alone, confirmed)]
    assert confidence[0] < alone["findings"][0]["confidence"] <= confidence[2]
    assert alone["outside"] is None
    (against,) = [sentence for sentence in refuted["findings"][0]["evidence"] if sentence.startswith("against it")]
    assert f"at node {spine} port to-{leaf}" in against and f"symbol errors at node {spine} port to-{other}" in against


def test_series_that_name_no_port_are_counted_and_shown(folder: Path, capsys: Captured) -> None:
    capture = generated(folder, "failing-cable")
    strange = folder / "strange.csv"
    strange.write_text(beside(capture, "counters.csv").read_text().replace(",to-leaf0,", ",Ethernet12,").replace("symbol_errors", "drops"))
    capsys.readouterr()
    assert (
        main(["analyze", str(capture), "--profile", str(beside(capture, "profile.toml")), "-q", "--counters", str(strange), "--json"]) == 0
    )
    outside = json.loads(capsys.readouterr().out)["outside"]
    assert outside["strangers"] == 2 and outside["stranger_names"] == ["drops spine0 Ethernet12", "drops spine1 Ethernet12"]


def test_a_leaf_that_hashes_otherwise_is_named_with_what_differs(folder: Path, capsys: Captured) -> None:
    capture = generated(folder, "uneven-spines")
    (truth,) = truth_of(capture)["events"]
    document = analyzed(capsys, capture)
    assert document["findings"] == []
    (event,) = [event for event in document["events"] if event["kind"] == "configuration-difference"]
    (leaf,) = {port["node"] for port in truth["ports"]}
    assert event["node"] == leaf and place(event) in {place(port) for port in truth["ports"]}
    load, reason = event["evidence"]
    assert load.startswith(f"{leaf} sends 7") and "of its bytes over spine" in load
    assert all(f"leaf{number}" in load for number in range(4))
    assert reason.startswith("there flows between the same two hosts stay together (100 %") and reason.endswith(
        "its hash leaves out the ports"
    )


class Switches:
    """Switches that export the counters of a file as they stand when their time is now; before `begins_ns` is set, as at its begin."""

    begins_ns: int | None = None

    def __init__(self, counters: Path) -> None:
        self.readings: dict[tuple[str, str], list[tuple[int, str]]] = {}
        with counters.open(newline="") as file:
            for row in csv.DictReader(file):
                self.readings.setdefault((row["node"], row["port"]), []).append((int(row["time"]) * SECOND, row["value"]))

    def export(self, _: Asked) -> tuple[int, bytes]:
        """The page that a Prometheus scrapes."""
        now = EPOCH_NS if self.begins_ns is None else time.time_ns() - self.begins_ns + EPOCH_NS
        lines = ["# TYPE switch_port_symbol_errors_total counter"]
        for (node, port), series in self.readings.items():
            value = [value for at, value in series if at <= now][-1]
            lines.append(f'switch_port_symbol_errors_total{{switch="{node}",port="{port}"}} {value}')
        return 200, "".join(f"{line}\n" for line in lines).encode()


@contextmanager
def scraping(folder: Path, target: int) -> Iterator[str]:
    """A Prometheus that scrapes the target twice a second, and has done so: its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    scrape = {"job_name": "switches", "scrape_interval": "500ms", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}
    # JSON is YAML
    (folder / "prometheus.yml").write_text(json.dumps({"scrape_configs": [scrape]}))
    command = ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address=127.0.0.1:{port}"]
    with (folder / "log").open("w") as log, subprocess.Popen(command, cwd=folder, stderr=log, stdout=log) as process:
        try:
            deadline = time.monotonic() + 60
            while not scraped(port):
                assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}"
            assert process.poll() is None, (folder / "log").read_text()
        finally:
            process.terminate()


def scraped(port: int) -> bool:
    """Whether a Prometheus knows the counters already."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query=switch_port_symbol_errors_total", timeout=5) as answer:
            return bool(json.load(answer)["data"]["result"])
    except OSError:
        return False


def moved_in_time(capture: Path, target: Path, begins_ns: int) -> int:
    """A classic pcap of nanoseconds as if it had been captured from `begins_ns` on: when it ends."""
    data = bytearray(capture.read_bytes())
    assert data[:4] == bytes.fromhex("4d3cb2a1")
    at, moment = 24, 0
    while at < len(data):
        seconds, fraction, captured = struct.unpack_from("<III", data, at)
        moment = seconds * SECOND + fraction - EPOCH_NS + begins_ns
        struct.pack_into("<II", data, at, *divmod(moment, SECOND))
        at += 16 + captured
    target.write_bytes(data)
    return moment


@needs_prometheus
def test_a_prometheus_that_scraped_the_switches_meanwhile_gives_the_same_chain(folder: Path, tmp_path: Path, capsys: Captured) -> None:
    capture = generated(folder, "failing-cable")
    profile, moved = tmp_path / "fabric.toml", tmp_path / "moved.pcap"
    profile.write_text(
        beside(capture, "profile.toml").read_text()
        + '\n[counters.symbol_errors]\nquery = "switch_port_symbol_errors_total"\nnode = "switch"\nport = "port"\nstep_seconds = 0.5\n'
    )
    switches = Switches(beside(capture, "counters.csv"))
    with answering(switches.export) as target, scraping(tmp_path, target.server_port) as url:
        switches.begins_ns = begins = time.time_ns() + SECOND
        ends = moved_in_time(capture, moved, begins)
        while time.time_ns() < ends + 2 * SECOND:
            time.sleep(0.2)
        document = analyzed(capsys, moved, "--prometheus", url, profile=profile)
        assert main(["analyze", str(moved), "--profile", str(profile), "--prometheus", f"{url}/nowhere"]) == 2
        assert f"{url}/nowhere: HTTP 404" in capsys.readouterr().err
    (finding,), truth = document["findings"], truth_of(capture)
    assert place(finding) == place(truth["congested"][0])
    assert_chain(finding, "throughput of the messages over it falls", "retransmitted", spine_end(truth), "nothing crosses it", "recovered")
    outside = document["outside"]
    assert outside["sources"] == [url] and outside["series"] == {"symbol_errors": 32} and outside["strangers"] == 0
    assert outside["interval_ns"] == SECOND // 2
    (rise,) = outside["rises"]
    late = truth["congested"][0]["from_ns"] - EPOCH_NS + begins - rise["first_ns"]
    assert -2 * SECOND < late < 2 * SECOND and rise["amount"] > 1000
