"""The command line as its user meets it: outputs, exit codes, one clear line for what is wrong."""

from __future__ import annotations

import array
import fcntl
import io
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import networkx
import pyarrow.parquet
import pytest
from mode import unchecked

from int_analyzer import _jit, installation, reading, result
from int_analyzer.capture import open_source
from int_analyzer.cli import main, progress
from int_analyzer.decode import Decoder

pytestmark = unchecked

ROOT = Path(__file__).parent.parent
PCAPS = ROOT / "pcaps"
CONGESTED = str(PCAPS / "bmv2-laofan-int-md-v2.1/s4-coll.pcap")
HEALTHY = str(PCAPS / "bmv2-laofan-int-md-v2.1-healthy/s4-coll.pcap")

Captured = pytest.CaptureFixture[str]


def run(capsys: Captured, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of one command line, in this process."""
    code = main(list(arguments))
    output = capsys.readouterr()
    return code, output.out, output.err


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "int_analyzer", *arguments], capture_output=True, text=True, env=environment, check=False, **options
    )


def test_analyze_names_the_congested_port_first(capsys: Captured) -> None:
    code, out, err = run(capsys, "analyze", CONGESTED)
    assert code == 0 and err == ""
    assert out.startswith("CONGESTED  node 2 port 2 queue 0 — overload")


@pytest.mark.parametrize(
    ("capture", "place"),
    [
        ("linux-ioam-spine-to-leaf", (11, 1103)),
        ("bmv2-laofan-int-md-v2.1/s2-s4.pcap", (2, 2)),
        ("bmv2-laofan-int-md-v2.1/s4-coll.pcap", (2, 2)),
        ("bmv2-geant-int-v1.0/s4-coll.pcap", (2, 2)),
        ("bmv2-onos-int-v1.0/s4-coll.pcap", (1, 3)),
    ],
)
def test_the_congested_port_of_every_data_plane_is_found_without_a_profile(capture: str, place: tuple[int, int], capsys: Captured) -> None:
    code, out, _ = run(capsys, "analyze", str(PCAPS / capture), "--json")
    roots = [(finding["node_id"], finding["port_id"]) for finding in json.loads(out)["findings"] if finding["role"] == "root"]
    assert code == 0 and roots == [place]


def test_a_healthy_capture_gives_no_finding(capsys: Captured) -> None:
    code, out, _ = run(capsys, "analyze", HEALTHY, "--fail-on-congestion")
    assert code == 0 and out.startswith("NO CONGESTION")


@pytest.mark.parametrize("arguments", [["-h"], ["analyze", "-h"], ["lab"], ["profile"]])
def test_who_asks_for_help_gets_it(arguments: list[str], capsys: Captured) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == 0 and err == "" and out.startswith("Usage: int-analyzer")


def test_a_queue_pair_is_hexadecimal_for_people_and_a_number_for_programs(capsys: Captured) -> None:
    folder = str(PCAPS / "linux-ioam-spine-to-leaf")
    report, flows, rows = (run(capsys, *verb, folder)[1] for verb in (["analyze"], ["flows"], ["decode", "-n0", "-t", "roce"]))
    document, lines = (json.loads(run(capsys, "flows", folder, "--json")[1]), run(capsys, "decode", "-t", "roce", "-f", "csv", folder)[1])
    pairs = {flow["dest_qp"] for flow in document}
    assert pairs == set(range(0x21, 0x29)) and "0x" not in lines
    for pair in pairs:
        assert all(f" {pair:#x} " in text for text in (flows, rows))
    assert "qp 0x22 " in " ".join(report.split())


def test_a_table_without_rows_has_its_head(capsys: Captured, tmp_path: Path) -> None:
    (tmp_path / "none.pcap").write_bytes(Path(CONGESTED).read_bytes()[:24])
    code, out, _ = run(capsys, "decode", str(tmp_path / "none.pcap"))
    assert code == 0 and out.startswith("packet  hop  node_id") and out.count("\n") == 1


def test_fail_on_congestion_is_exit_code_1(capsys: Captured) -> None:
    code, out, _ = run(capsys, "analyze", CONGESTED, "--fail-on-congestion", "--quiet")
    assert code == 1 and out.count("\n") == 1


def test_json_is_one_document_that_follows_the_schema_and_nothing_else(capsys: Captured) -> None:
    code, out, err = run(capsys, "analyze", CONGESTED, "--json")
    assert code == 0 and err == ""
    jsonschema.validate(json.loads(out), json.loads((ROOT / "docs/schema/analyze.schema.json").read_text()))


def test_output_writes_every_table(capsys: Captured, tmp_path: Path) -> None:
    code, _, err = run(capsys, "analyze", CONGESTED, "--output", str(tmp_path / "out"))
    assert code == 0 and "tables written" in err
    rows = {path.stem: pyarrow.parquet.read_metadata(path).num_rows for path in (tmp_path / "out").glob("*.parquet")}
    read = {"packets": 1154, "hops": 3462, "roce": rows["roce"], "reports": 1154, "mirrors": 0, "options": 0}
    without = dict.fromkeys(("connections", "messages", "jobs", "hosts"), 0)
    assert rows == read | {"flows": rows["flows"]} | without and rows["flows"] > 0


def test_a_folder_a_glob_and_two_files_are_read_as_one(capsys: Captured) -> None:
    folder = PCAPS / "linux-ioam-spine-to-leaf"
    counts = []
    for arguments in ([str(folder)], [str(folder / "*.pcap")], sorted(map(str, folder.glob("*.pcap")))):
        _, out, _ = run(capsys, "analyze", "--json", *arguments)
        counts.append(json.loads(out)["quality"]["packets"])
    assert len(set(counts)) == 1 and counts[0] > 1000


def test_standard_input_is_read() -> None:
    with Path(CONGESTED).open("rb") as file:
        done = process("analyze", "-", "--quiet", stdin=file)
    assert done.returncode == 0 and done.stdout.startswith("CONGESTED  node 2 port 2")


@pytest.mark.parametrize("format", ["table", "csv", "jsonl"])
def test_decode_prints_rows(format: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["decode", CONGESTED, "--format", format, "--limit", "5"]) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert len(lines) == 5 + (format != "jsonl") and "node_id" in lines[0]


def test_decode_follows_the_ending_of_the_output(capsys: Captured, tmp_path: Path) -> None:
    code, out, _ = run(capsys, "decode", CONGESTED, "--table", "packets", "-o", str(tmp_path / "p.parquet"))
    assert code == 0 and out == "" and pyarrow.parquet.read_metadata(tmp_path / "p.parquet").num_rows == 1154


def test_graph_writes_what_other_tools_read(capsys: Captured, tmp_path: Path) -> None:
    graph = networkx.node_link_graph(json.loads(run(capsys, "graph", CONGESTED)[1]), edges="links")
    assert any(entry.get("role") == "root" for _, _, entry in graph.edges(data=True))
    same = networkx.parse_graphml(run(capsys, "graph", CONGESTED, "--format", "graphml")[1])
    assert (len(same), same.number_of_edges()) == (len(graph), graph.number_of_edges())
    assert run(capsys, "graph", CONGESTED, "--format", "dot")[1].startswith("digraph")
    assert run(capsys, "graph", CONGESTED, "-o", str(tmp_path / "x.svg"))[1] == ""
    assert "port 2 congested" in "".join(ElementTree.parse(tmp_path / "x.svg").getroot().itertext())


def test_formats_are_listed_as_text_and_as_json(capsys: Captured) -> None:
    assert "int-md-2.x" in run(capsys, "formats")[1]
    assert {entry["name"] for entry in json.loads(run(capsys, "formats", "--json")[1])["formats"]} >= {"roce", "ioam-trace"}


def test_doctor_says_that_captures_can_be_analysed_here(capsys: Captured) -> None:
    code, out, _ = run(capsys, "doctor")
    assert code == 0 and "Captures can be analysed here." in out and "kernel cache" in out


def test_doctor_says_what_would_not_work_and_why(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_CORE", (("nonsense", "no_such_module", "nothing works"),))
    monkeypatch.setattr(installation, "_TOOLS", (("no-such-tool", "no drawing"),))
    code, out, _ = run(capsys, "doctor")
    assert code == 1 and "!!  nonsense" in out and "→ nothing works" in out and "--  no-such-tool" in out


def test_doctor_notices_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INT_ANALYZER_CACHE", str(tmp_path / "file"))
    cache = next(check for check in installation.checks() if check.name == "kernel cache")
    assert cache.state == installation.LACKING and "INT_ANALYZER_CACHE" in cache.consequence


def test_a_profile_is_checked(capsys: Captured, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('[node.2]\nname = "spine-1"\n')
    bad.write_text('[units]\nqueue_depth = "cels"\n')
    code, out, _ = run(capsys, "profile", "check", str(good))
    assert code == 0 and out.startswith(f"{good}: valid. 1 nodes")
    code, out, err = run(capsys, "profile", "check", str(bad))
    assert code == 2 and out == "" and "units.queue_depth" in err and "cells" in err and err.count("\n") == 1


def test_a_profile_beside_a_capture_is_mentioned(capsys: Captured, tmp_path: Path) -> None:
    capture = tmp_path / "x.pcap"
    capture.write_bytes(Path(CONGESTED).read_bytes())
    assert run(capsys, "analyze", str(capture))[2] == ""
    beside = tmp_path / "x.profile.toml"
    beside.write_text("")
    assert f"--profile {beside}" in run(capsys, "analyze", str(capture))[2]
    assert run(capsys, "analyze", str(capture), "--quiet")[2] == ""
    assert run(capsys, "analyze", str(capture), "--profile", str(beside))[2] == ""


def test_a_profile_names_nodes_and_units_in_the_report(capsys: Captured, tmp_path: Path) -> None:
    profile = tmp_path / "fabric.toml"
    profile.write_text(
        '[units]\nqueue_depth = "packets"\nhop_latency = "us"\n[node.2]\nname = "spine-1"\n[node.2.ports.2]\nname = "Ethernet1/2"\n'
    )
    _, out, _ = run(capsys, "analyze", CONGESTED, "--profile", str(profile))
    assert out.startswith("CONGESTED  spine-1 port Ethernet1/2 queue 0")
    assert "queue depth (packets)" in out and " ms" in out


def test_help_and_version(capsys: Captured) -> None:
    assert run(capsys, "--version")[1].startswith("int-analyzer ")
    assert run(capsys)[1] == run(capsys, "--help")[1]
    assert "check" in run(capsys, "profile")[1]


def test_a_reader_that_goes_away_is_no_error() -> None:
    script = f"{sys.executable} -m int_analyzer decode {CONGESTED} --format jsonl --limit 0 | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert done.stderr == "" and done.stdout.splitlines()[1] in ("0", "141")


def wait_until_read(pipe: int, seconds: float = 60) -> None:
    """Wait until nothing that was written to a pipe is left in it, and a moment more: its reader is at work."""
    waiting = array.array("i", [1])
    end = time.monotonic() + seconds
    while waiting[0] and time.monotonic() < end:
        fcntl.ioctl(pipe, termios.FIONREAD, waiting)
        time.sleep(0.05)
    assert waiting[0] == 0, "nobody reads"
    time.sleep(0.5)


def test_interruption_is_quiet() -> None:
    # standard input that never ends: the process is surely still reading when it is interrupted
    child = subprocess.Popen(
        [sys.executable, "-m", "int_analyzer", "analyze", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"},
    )
    assert child.stdin is not None
    child.stdin.write(Path(CONGESTED).read_bytes()[:1000])
    child.stdin.flush()
    wait_until_read(child.stdin.fileno())
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 130 and out == b"" and b"Traceback" not in err


class Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_long_read_shows_its_progress_on_a_terminal_and_a_short_one_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress.progress_bar() as advance:
        assert advance is not None
        advance(1000, 2000)
    assert screen.getvalue() == ""
    with progress.progress_bar() as advance:
        assert advance is not None
        advance(1000, 2 * progress.LONG)
    assert "reading" in screen.getvalue()


def test_there_is_no_progress_bar_where_nobody_looks() -> None:
    with progress.progress_bar() as advance:
        assert advance is None


def test_who_waits_for_the_compiler_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(_jit, "DISABLED", False)
    monkeypatch.setenv("INT_ANALYZER_CACHE", str(tmp_path))
    progress.announce_compilation([CONGESTED])
    assert screen.getvalue() == ""
    monkeypatch.setattr(reading, "SMALL", 1000)
    progress.announce_compilation([CONGESTED])
    assert "compiling the kernels, once" in screen.getvalue()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INT_ANALYZER_CACHE", str(tmp_path / "file"))
    progress.announce_compilation([CONGESTED])
    assert "compiling the kernels, which cannot be kept" in screen.getvalue()


def test_warmup_without_jit_has_nothing_to_do(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jit, "DISABLED", True)
    assert run(capsys, "warmup") == (0, "nothing to compile: NUMBA_DISABLE_JIT is set\n", "")


def test_warmup_says_where_the_kernels_are(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jit, "DISABLED", False)
    monkeypatch.setattr(result, "warm_up", lambda: None)
    code, out, _ = run(capsys, "warmup")
    assert code == 0 and out.startswith("kernels ready after") and str(_jit.cache_folder()) in out


def test_the_capture_of_warmup_is_one_that_can_be_read() -> None:
    columns = next(Decoder(compiled=False).batches(open_source(io.BytesIO(result._ONE_PACKET))))
    assert columns.rows("packets") == 1
