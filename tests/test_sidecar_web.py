"""What a sidecar answers over HTTP, and to whom."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra sidecar")

from http_client import Client, answering, certify, needs_openssl
from prometheus_client import CollectorRegistry, generate_latest
from test_sidecar import replayed
from traffic import CONGESTED, HEALTHY, ROOT, in_turn

from int_analyzer.analysis.summary import Port, Quantiles, QueueSummary
from int_analyzer.cli import main
from int_analyzer.errors import SourceError
from int_analyzer.sidecar import assembly, metric
from int_analyzer.sidecar import server as server_module
from int_analyzer.sidecar.exposition import Exposition
from int_analyzer.sidecar.lifetime import BYTES, NODE, PACKETS, PORT
from int_analyzer.sidecar.page_document import darkest
from int_analyzer.sidecar.server import Listening, Server
from int_analyzer.sidecar.service import Sidecar
from int_analyzer.sidecar.web import STALE_S, health_of


@pytest.fixture(scope="module")
def congested() -> Sidecar:
    """A sidecar at a moment at which a finding lasts."""
    sidecar, _ = replayed(in_turn(HEALTHY, HEALTHY, HEALTHY, CONGESTED))
    assert sidecar.snapshot is not None and sidecar.snapshot.findings
    return sidecar


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


def test_another_site_cannot_ask_through_a_browser(client: Client) -> None:
    assert client.get("/metrics", headers={"host": "rebound.example:9464"}).status_code == 421
    for host in ("localhost:9464", "127.0.0.1", "[::1]:9464"):
        assert client.get("/metrics", headers={"host": host}).status_code == 200, host


def test_with_a_token_everything_but_health_asks_for_it(congested: Sidecar, tmp_path: Path) -> None:
    token = "correct-horse-battery"
    (tmp_path / "token").write_text(token + "\n")
    with answering(congested, token_file=tmp_path / "token") as client:
        assert client.get("/healthz").status_code == 200
        for path in ("/", "/metrics", "/api/live", "/api/stream", "/page.js", "/?token=wrong"):
            assert client.get(path).status_code == 401, path
        assert client.get("/metrics", headers={"authorization": "Bearer wrong-horse-battery"}).status_code == 401
        assert client.get("/metrics", headers={"authorization": f"Bearer {token}"}).status_code == 200
        answer = client.get(f"/?token={token}")
        assert answer.status_code == 200 and answer.headers["set-cookie"].endswith("HttpOnly; SameSite=Strict; Path=/")
        assert client.get("/api/live", headers={"cookie": answer.headers["set-cookie"].split(";")[0]}).status_code == 200


@needs_openssl
def test_over_tls_the_cookie_is_for_tls_alone(congested: Sidecar, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("correct-horse-battery\n")
    certify(tmp_path)
    files = {"token_file": tmp_path / "token", "certificate": tmp_path / "cert.pem", "key": tmp_path / "key.pem"}
    with answering(congested, **files) as client:
        assert client.get("/?token=correct-horse-battery").headers["set-cookie"].endswith("; Secure")


@needs_openssl
def test_token_and_certificate_are_read_again_and_what_does_not_fit_is_refused(congested: Sidecar, tmp_path: Path) -> None:
    def shown() -> str:
        return ssl.get_server_certificate(("127.0.0.1", server.port))

    (tmp_path / "token").write_text("correct-horse-battery\n")
    certify(tmp_path, "first")
    server = Server(Listening("127.0.0.1:0", tmp_path / "token", tmp_path / "cert.pem", tmp_path / "key.pem"))
    server.start(congested)
    try:
        client = Client(server.port, tls=True)
        first = shown()
        assert first == (tmp_path / "cert.pem").read_text()
        (tmp_path / "token").write_text("another-horse-battery\n")
        certify(tmp_path, "second")
        server.reload()
        assert shown() == (tmp_path / "cert.pem").read_text() != first
        for word, status in (("correct-horse-battery", 401), ("another-horse-battery", 200)):
            assert client.get("/metrics", headers={"authorization": f"Bearer {word}"}).status_code == status
        second = shown()
        (tmp_path / "key.pem").write_text("")
        (tmp_path / "token").write_text("a-third-horse-battery\n")
        with pytest.raises(SourceError, match=r"cert\.pem: no certificate with its key"):
            server.reload()
        assert shown() == second
        assert client.get("/metrics", headers={"authorization": "Bearer another-horse-battery"}).status_code == 200
    finally:
        server.close()


def test_what_is_refused_on_reload_is_told_and_counted(congested: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise SourceError("token", "a token has 16 letters")

    monkeypatch.setattr(congested, "on_reload", [refuse])
    congested.reload()
    assert health_of(congested) == ("degraded", ["not read again: token: a token has 16 letters"]) and congested.reload_faults == 1
    monkeypatch.setattr(congested, "on_reload", [])
    congested.reload()
    assert health_of(congested) == ("ok", [])


@needs_openssl
def test_it_may_be_told_to_read_again_as_soon_as_it_has_started(
    congested: Sidecar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certify(tmp_path)
    server = Server(Listening("127.0.0.1:0", certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem"))
    # its thread has not come to anything yet
    monkeypatch.setattr(server_module.threading.Thread, "start", lambda thread: None)
    server.start(congested)
    (tmp_path / "key.pem").write_text("")
    with pytest.raises(SourceError, match="no certificate with its key"):
        server.reload()
    certify(tmp_path)
    server.reload()
    server._socket.close()


def test_it_listens_at_an_address_of_ip_version_6(congested: Sidecar) -> None:
    server = Server(Listening("[::1]:0"))
    server.start(congested)
    try:
        assert server.url == f"http://[::1]:{server.port}/"
        with contextlib.closing(http.client.HTTPConnection("::1", server.port, timeout=10)) as connection:
            for headers, status in (({}, 200), ({"host": "elsewhere.example"}, 421)):
                connection.request("GET", "/metrics", headers=headers)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == status
    finally:
        server.close()
    with pytest.raises(SourceError, match="others can reach this address"):
        Server(Listening("[::]:0"))


@pytest.mark.parametrize(
    ("address", "changes", "complaint"),
    [
        ("127.0.0.1", {}, "HOST:PORT"),
        ("0.0.0.0:0", {}, "others can reach this address: give --token-file"),
        (":0", {}, "others can reach this address"),
        ("127.0.0.1:0", {"certificate": Path("missing.pem")}, "belong together"),
        ("127.0.0.1:0", {"certificate": Path("missing.pem"), "key": Path("missing.key")}, "missing.pem: no such file"),
        ("127.0.0.1:0", {"token_file": Path("missing.token")}, "missing.token: No such file"),
        ("192.0.2.1:0", {"token_file": Path("token")}, "192.0.2.1:0: Cannot assign"),
    ],
)
def test_an_address_that_will_not_do_is_one_line(
    address: str, changes: dict[str, Path], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("token").write_text("0123456789abcdef\n")
    with pytest.raises(SourceError, match=re.escape(complaint)):
        Server(Listening(address, **changes))


@pytest.mark.parametrize("token", ["", "short", "with a space in it somewhere"])
def test_a_token_that_is_none_is_refused(token: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(token + "\n")
    with pytest.raises(SourceError, match="a token has 16"):
        Server(Listening("127.0.0.1:0", token_file=tmp_path / "token"))


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
