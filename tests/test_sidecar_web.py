"""What a sidecar answers over HTTP, and to whom."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

pytest.importorskip("starlette", reason="needs the extra sidecar")

from http_client import Client, answering
from prometheus_client import CollectorRegistry, generate_latest
from test_sidecar import replayed
from traffic import CONGESTED, HEALTHY, ROOT, in_turn

from int_analyzer.analysis.summary import Port, Quantiles, QueueSummary
from int_analyzer.cli import main
from int_analyzer.sidecar import assembly, metric
from int_analyzer.sidecar.exposition import Exposition
from int_analyzer.sidecar.lifetime import BYTES, NODE, PACKETS, PORT
from int_analyzer.sidecar.page_document import darkest, page_document
from int_analyzer.sidecar.server import Listening, Server
from int_analyzer.sidecar.service import Sidecar
from int_analyzer.sidecar.web import STALE_S, health_of


def at_work() -> Sidecar:
    """A sidecar at a moment at which a finding lasts."""
    sidecar, _ = replayed(in_turn(HEALTHY, HEALTHY, HEALTHY, CONGESTED))
    assert sidecar.snapshot is not None and sidecar.snapshot.findings
    return sidecar


@pytest.fixture(scope="module")
def congested() -> Sidecar:
    return at_work()


@pytest.fixture(scope="module")
def client(congested: Sidecar) -> Iterator[Client]:
    with answering(congested) as made:
        yield made


def samples(page: str) -> dict[str, float]:
    """Samples of a /metrics page by name and labels."""
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in page.splitlines() if not line.startswith("#")}


def test_counters_say_what_the_capture_holds(client: Client) -> None:
    found = samples(client.get("/metrics").text)
    packets = len(in_turn(HEALTHY, HEALTHY, HEALTHY, CONGESTED))
    assert found["int_analyzer_packets_total"] == packets == found['int_analyzer_source_packets_total{source="replay"}']
    assert found["int_analyzer_hops_total"] == 3 * packets
    assert found['int_analyzer_finding{cause="overload",node="2",port="2",queue="0",role="root"}'] == 1
    assert found['int_analyzer_queue_depth_raw{node="2",port="2",q="1",queue="0",unit="raw"}'] == 79
    assert found['int_analyzer_findings_started_total{role="root"}'] == 1
    assert sum(found[f'int_analyzer_trust{{grade="{grade}"}}'] for grade in ("high", "fair", "low", "none")) == 1
    assert found['int_analyzer_source_up{source="replay"}'] == 1


def test_every_metric_on_the_page_is_declared_and_documented(client: Client) -> None:
    page = client.get("/metrics").text
    names = [name for name in re.findall(r"^# TYPE (\S+)", page, re.M) if not name.startswith("process_")]
    declared = metric.exposed_names()
    assert names == [name for name in declared if name in names] and len(names) > 25
    document = (ROOT / "docs/sidecar-metrics.md").read_text(encoding="utf-8")
    assert [name for name in declared if f"`{name}`" not in document] == []


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool (Debian package prometheus)")
def test_promtool_has_nothing_to_say_against_the_metrics(client: Client) -> None:
    page = "\n".join(line for line in client.get("/metrics").text.splitlines() if "process_" not in line) + "\n"
    done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_thousand_ports_are_a_bounded_number_of_series() -> None:
    sidecar, _ = replayed(in_turn(HEALTHY))
    snapshot = sidecar.snapshot
    assert snapshot is not None
    ports = snapshot.ports[:1].repeat(3000, axis=0)
    ports[:, NODE], ports[:, PORT] = range(3000), 7
    ports[:, PACKETS], ports[:, BYTES] = range(1, 3001), 10
    quantiles = Quantiles(5, 1.0, 2.0, 3.0, 4.0, "ns")
    queues = [QueueSummary(Port(str(n), "7", 0, n, 7), n, 1, quantiles, quantiles, 2.0, 1, 2) for n in range(3000)]
    entry = {"port": "7", "queue": 0, "role": "root", "cause": "overload", "confidence": 0.5}
    sidecar.snapshot = replace(
        snapshot,
        ports=ports,
        judgement=replace(snapshot.judgement, summary=replace(snapshot.judgement.summary, queues=queues)),
        findings=[{**entry, "node": str(n)} for n in range(3000)],
    )
    with answering(sidecar) as client:
        found = samples(client.get("/metrics").text)

    def series(name: str) -> int:
        return sum(1 for key in found if key.startswith(name + "{"))

    assert series("int_analyzer_port_packets_total") == metric.PORTS + 1
    assert series("int_analyzer_hop_latency_seconds") == metric.QUEUES * len(metric.QUANTILES)
    assert series("int_analyzer_finding") == metric.FINDINGS
    total = sum(value for key, value in found.items() if key.startswith("int_analyzer_port_packets_total"))
    assert total == sum(range(1, 3001))


def test_no_counter_of_a_port_falls_or_vanishes_when_others_become_busier() -> None:
    sidecar, _ = replayed(in_turn(HEALTHY))
    snapshot = sidecar.snapshot
    assert snapshot is not None
    ports = snapshot.ports[:1].repeat(metric.PORTS + 2, axis=0)
    ports[:, NODE], ports[:, PORT], ports[:, PACKETS], ports[:, BYTES] = range(len(ports)), 7, 10, 10
    found = []
    for more in (0, 1000):
        ports[-1, PACKETS : BYTES + 1] += more
        sidecar.snapshot = replace(snapshot, ports=ports.copy())
        page = generate_latest(_registered(sidecar)).decode()
        found.append({key: value for key, value in samples(page).items() if key.startswith("int_analyzer_port_")})
    before, after = found
    assert set(before) == set(after) and all(after[key] >= value for key, value in before.items())


def _registered(sidecar: Sidecar) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Exposition(sidecar))
    return registry


def test_health_tells_hanging_from_working(congested: Sidecar, client: Client) -> None:
    assert (client.get("/healthz").status_code, client.get("/healthz").json()["status"]) == (200, "ok")
    snapshot = congested.snapshot
    assert snapshot is not None
    congested.snapshot, congested.over = replace(snapshot, published=time.monotonic() - STALE_S - 1), False
    try:
        answer = client.get("/healthz")
        assert (answer.status_code, answer.json()["status"]) == (503, "failing")
        congested.snapshot = None
        assert client.get("/healthz").json()["status"] == "starting"
        assert client.get("/api/findings").status_code == 503
    finally:
        congested.snapshot, congested.over = snapshot, True


def test_a_source_that_cannot_be_read_is_degraded_and_still_alive(congested: Sidecar, client: Client) -> None:
    congested.workers[0].intake.fault = "the interface is down"
    try:
        answer = client.get("/healthz")
        assert answer.status_code == 200
        assert answer.json() == {"status": "degraded", "reasons": ["replay: the interface is down"]}
        assert samples(client.get("/metrics").text)['int_analyzer_source_up{source="replay"}'] == 0
    finally:
        congested.workers[0].intake.fault = ""


def test_the_api_gives_the_documents_of_the_analysis(client: Client) -> None:
    ten, minute = client.get("/api/summary").json(), client.get("/api/summary?seconds=60").json()
    assert ten["quality"]["packets"] < minute["quality"]["packets"] == len(in_turn(HEALTHY, HEALTHY, HEALTHY, CONGESTED))
    assert client.get("/api/summary?seconds=7").status_code == 400
    found = client.get("/api/findings").json()
    assert [entry["node"] for entry in found["findings"]] == ["2"]
    assert [entry["event"] for entry in found["events"]] == ["start", "end"]


def test_the_page_and_its_parts_come_from_here_alone(client: Client) -> None:
    page = client.get("/")
    assert page.status_code == 200 and "default-src 'self'" in page.headers["content-security-policy"]
    for name in re.findall(r'(?:src|href)="([^"#]+)"', page.text):
        assert "//" not in name and client.get("/" + name).status_code == 200, name
    for name in ("page.js", "page.css", "icon.svg"):
        assert not re.search(r"https?://(?!www\.w3\.org)", client.get("/" + name).text)


def test_what_the_page_shows_has_figures_with_units(client: Client) -> None:
    state = client.get("/api/live").json()
    assert state["findings"][0]["place"] == "node 2 port 2 queue 0" and state["findings"][0]["depth"] == "79 raw"
    assert state["heat"]["ports"][0]["label"] == "node 2 port 2" and state["heat"]["most"] == 79
    assert len(state["heat"]["ports"][0]["values"]) == 20
    assert state["graph"].startswith("<svg") and "▲" in state["graph"]


def test_of_many_ports_that_a_finding_holds_up_the_first_are_named_and_the_rest_counted(congested: Sidecar) -> None:
    snapshot = congested.snapshot
    assert snapshot is not None
    found = page_document(congested)["findings"][0]
    assert found["holds_up"] == ""
    (entry,) = snapshot.findings
    entry["victim_ports"] = [f"node {number} port 1" for number in range(11)]
    try:
        assert page_document(congested)["findings"][0]["holds_up"].endswith("node 7 port 1 and 3 more")
    finally:
        entry["victim_ports"] = []


def test_what_a_source_cannot_do_although_it_was_asked_for_is_degraded(congested: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    assert health_of(congested) == ("ok", [])
    monkeypatch.setattr(congested.workers[0].intake, "unmet", "no hardware timestamps: the interface's clock is +37 s from this machine's")
    assert health_of(congested) == ("degraded", ["replay: no hardware timestamps: the interface's clock is +37 s from this machine's"])


def test_a_thread_that_keeps_rights_is_degraded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    sidecar, _ = replayed(in_turn(HEALTHY))
    for keeping, told in ((0, []), (1, ["1 thread with rights that the sidecar gave up"])):
        monkeypatch.setattr(assembly, "drop_privileges", lambda keeping=keeping: keeping)
        assembly._drop_privileges(sidecar)
        assert health_of(sidecar) == ("degraded" if told else "ok", told)
        assert capsys.readouterr().err.splitlines() == told


def test_where_no_port_stands_out_none_is_dark() -> None:
    assert darkest([]) == 0
    assert darkest([2000, 2100, 2200]) == 16_800
    assert darkest([3, 4, 5, 900]) == 900


def test_two_sidecars_at_one_address_the_second_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    first = Server(Listening("127.0.0.1:0"))
    try:
        assert main(["sidecar", "--replay", str(HEALTHY), "--speed", "inf", "--listen", f"127.0.0.1:{first.port}"]) == 2
    finally:
        first.close()
    assert "Address already in use" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["prometheus_client", "starlette", "uvicorn"])
def test_without_the_extra_it_is_said_which_one(module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    for option in (["--listen", "127.0.0.1:0"], ["--otlp", "http://127.0.0.1:4318"]):
        assert main(["sidecar", "--replay", str(HEALTHY), "--speed", "inf", *option]) == 2
        assert f"{module} is not installed: it comes with the extra sidecar: pip install '.[sidecar]'" in capsys.readouterr().err


def test_a_stream_sends_each_tick_once(congested: Sidecar) -> None:
    with answering(congested) as client:
        answer = client.open("/api/stream")
        assert answer.getheader("content-type", "").startswith("text/event-stream")
        assert answer.readline() == b"event: tick\n"
        first = json.loads(answer.readline().removeprefix(b"data: "))
        assert answer.readline() == b"\n"
        assert congested.snapshot is not None
        before = congested.snapshot
        congested.snapshot = replace(before, now_ns=before.now_ns + 1_000_000_000)
        assert answer.readline() == b"event: tick\n"
        second = json.loads(answer.readline().removeprefix(b"data: "))
        congested.snapshot = before
        assert second["now_ns"] - first["now_ns"] == 1_000_000_000
