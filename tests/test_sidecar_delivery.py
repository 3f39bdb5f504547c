"""What goes to others: a receiver that checks every payload, and fails, delays, refuses and is away on purpose."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prometheus_client", reason="needs the extra sidecar")
pytest.importorskip("opentelemetry.proto_json", reason="needs opentelemetry-proto-json")

from http_client import certify, needs_openssl
from http_double import trickling
from opentelemetry.proto_json.collector.logs.v1.logs_service import ExportLogsServiceRequest
from opentelemetry.proto_json.collector.metrics.v1.metrics_service import ExportMetricsServiceRequest
from opentelemetry.proto_json.collector.trace.v1.trace_service import ExportTraceServiceRequest
from test_sidecar import replayed
from traffic import CONGESTED, HEALTHY, in_turn

from int_analyzer.errors import SourceError
from int_analyzer.profile import Node, Profile, Units
from int_analyzer.sidecar.otlp import Otlp, spans
from int_analyzer.sidecar.outbox import Outbox, checked_url
from int_analyzer.sidecar.packet_sample import HopSample, PacketSample
from int_analyzer.sidecar.service import Sidecar
from int_analyzer.sidecar.telemetry import Telemetry
from int_analyzer.sidecar.track import Event
from int_analyzer.sidecar.webhook import Webhook

REQUESTS = {"/v1/logs": ExportLogsServiceRequest, "/v1/metrics": ExportMetricsServiceRequest, "/v1/traces": ExportTraceServiceRequest}


class Receiver(ThreadingHTTPServer):
    """Keeps what was posted: (path, document). `answers`: what to answer to the next posts, a status or seconds to wait; then 200."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        self.posted: list[tuple[str, Any]] = []
        self.tried = 0
        self.answers: list[int | float | dict[str, str]] = []
        self.location = ""
        super().__init__(("127.0.0.1", port), _Handler)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.tried += 1
        answer = self.server.answers.pop(0) if self.server.answers else 200
        if isinstance(answer, float):
            time.sleep(answer)
            answer = 200
        status = answer if isinstance(answer, int) else 503
        if status == 200:
            assert self.headers["content-type"] == "application/json"
            self.server.posted.append((self.path, json.loads(body)))
        self.send_response(status)
        for name, value in answer.items() if isinstance(answer, dict) else ():
            self.send_header(name, value)
        if self.server.location:
            self.send_header("location", self.server.location)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def until(met: Callable[[], bool], seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while not met() and time.monotonic() < deadline:
        time.sleep(0.01)
    return met()


@pytest.fixture(scope="module")
def told() -> tuple[Sidecar, list[Event]]:
    return replayed(in_turn(HEALTHY, HEALTHY, HEALTHY, CONGESTED))


def checked(posted: list[tuple[str, Any]]) -> dict[str, list[Any]]:
    """Documents by path, each of which the generated classes read and write back the same: no name or type of it is unknown to them."""
    found: dict[str, list[Any]] = {}
    for path, document in posted:
        assert REQUESTS[path].from_dict(document).to_dict() == document
        found.setdefault(path, []).append(document)
    return found


def test_findings_metrics_and_paths_are_what_a_collector_reads(receiver: Receiver, told: tuple[Sidecar, list[Event]]) -> None:
    sidecar, events = told
    telemetry = Telemetry(sidecar, receiver.url)
    otlp = sidecar.sinks.pop()
    assert isinstance(otlp, Otlp)
    hops = [HopSample(1, 2, 3, 0, 5, 6), HopSample(2, *[None] * 5)]
    sidecar.workers[0].sample = PacketSample(10**18, "10.0.0.1", "10.0.0.2", 1, 4791, hops)
    telemetry.tell(10**18)
    otlp.take(events)
    assert until(lambda: len(receiver.posted) == 3)
    otlp.close()
    found = checked(receiver.posted)
    (logs,), (metrics,), (traces,) = found["/v1/logs"], found["/v1/metrics"], found["/v1/traces"]
    records = logs["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert [record["eventName"] for record in records] == [f"int_analyzer.finding.{event.event}" for event in events]
    assert records[0]["severityText"] == "WARN" and "node 2 port 2" in records[0]["body"]["stringValue"]
    named = {metric["name"]: metric for metric in metrics["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]}
    packets = named["int_analyzer_packets"]["sum"]
    assert packets["isMonotonic"] and packets["dataPoints"][0]["asDouble"] == len(in_turn(HEALTHY, HEALTHY, HEALTHY, CONGESTED))
    assert named["int_analyzer_source_up"]["gauge"]["dataPoints"][0]["attributes"][0]["value"] == {"stringValue": "replay"}
    root, *hops = traces["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert [hop["parentSpanId"] for hop in hops] == [root["spanId"]] * 2 and {hop["traceId"] for hop in hops} == {root["traceId"]}


def test_a_path_takes_as_long_as_its_hops_say() -> None:
    profile = Profile(nodes={1: Node(name="leaf", units=Units(hop_latency="us")), 2: Node(units=Units(hop_latency="ns"))})
    hops = [HopSample(1, None, 7, None, 5, None), HopSample(2, None, 8, None, 300, None), HopSample(9, None, 1, None, 4, None)]
    root, *made = spans(PacketSample(1_000_000, "a", "b", 1, 2, hops), profile)
    assert [span["name"] for span in made] == ["node leaf port 7", "node 2 port 8", "node 9 port 1"]
    times = [(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])) for span in made]
    assert times == [(994_700, 999_700), (999_700, 1_000_000), (1_000_000, 1_000_000)]
    assert (int(root["startTimeUnixNano"]), int(root["endTimeUnixNano"])) == (994_700, 1_000_000)


def test_a_webhook_fires_and_resolves_as_alertmanager_does(receiver: Receiver, told: tuple[Sidecar, list[Event]]) -> None:
    webhook = Webhook(receiver.url + "/hook")
    webhook.take(told[1])
    assert until(lambda: len(receiver.posted) == len(told[1]))
    webhook.close()
    first, last = receiver.posted[0][1], receiver.posted[-1][1]
    assert (first["version"], first["status"], last["status"]) == ("4", "firing", "resolved")
    alert = first["alerts"][0]
    assert alert["labels"] | {"alertname": "CongestedPort", "node": "2", "port": "2", "role": "root"} == alert["labels"]
    assert alert["startsAt"].startswith("2027-01-15T08:00:16.6") and alert["endsAt"] == "0001-01-01T00:00:00Z"
    assert last["alerts"][0]["endsAt"] > alert["startsAt"]
    assert alert["fingerprint"] == last["alerts"][0]["fingerprint"] and "10.0.1.1:49153" in alert["annotations"]["culprits"]


def test_what_waits_while_the_receiver_is_away_comes_when_it_is_back() -> None:
    gone = Receiver()
    url, port = gone.url, gone.server_address[1]
    gone.close()
    outbox = Outbox(first_wait_s=0.05)
    for number in range(20):
        outbox.put(url + "/x", json.dumps(number).encode())
    assert until(lambda: outbox.retried >= 2) and "refused" in outbox.fault
    assert (outbox.sent, outbox.faults, outbox.waiting) == (0, 0, 20)
    back = Receiver(port)
    assert until(lambda: outbox.sent == 20)
    assert [document for _, document in back.posted] == list(range(20)) and outbox.fault == "" and outbox.waiting == 0
    outbox.close()
    back.close()


def test_a_receiver_that_fails_is_tried_again_and_one_that_refuses_is_not(receiver: Receiver) -> None:
    receiver.answers = [500, 503, 200, 400, 200]
    outbox = Outbox(first_wait_s=0.02)
    for number in range(3):
        outbox.put(receiver.url, json.dumps(number).encode())
    assert until(lambda: outbox.sent == 2)
    outbox.close()
    assert [document for _, document in receiver.posted] == [0, 2]
    assert (outbox.retried, outbox.faults) == (2, 1)


def test_a_receiver_that_asks_for_time_gets_it(receiver: Receiver) -> None:
    receiver.answers = [{"retry-after": "1"}]
    outbox = Outbox(first_wait_s=0.01)
    began = time.monotonic()
    outbox.put(receiver.url, b"1")
    assert until(lambda: outbox.sent == 1)
    outbox.close()
    assert time.monotonic() - began >= 1


def test_a_receiver_that_hangs_keeps_nobody_waiting(receiver: Receiver) -> None:
    receiver.answers = [1.0]
    outbox = Outbox(first_wait_s=0.05, timeout_s=0.2)
    began = time.monotonic()
    for _ in range(100):
        outbox.put(receiver.url, b"1")
    assert time.monotonic() - began < 0.15
    assert until(lambda: outbox.sent == 100, 10) and outbox.retried >= 1
    outbox.close()


@pytest.mark.parametrize("secure", [False, pytest.param(True, marks=needs_openssl)])
def test_a_receiver_that_answers_byte_by_byte_has_the_time_of_a_delivery_and_no_more(
    secure: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = None
    if secure:
        certify(tmp_path)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with trickling(b"HTTP/1.1 200 OK\r\nserver: ", tls) as url:
        outbox = Outbox(first_wait_s=0.02, timeout_s=0.3)
        outbox.put(url, b"1")
        assert until(lambda: outbox.retried >= 2, 20)
        assert (outbox.fault, outbox.sent, outbox.faults, outbox.waiting) == (f"{url}: no answer within 0.3 s", 0, 0, 1)
        outbox.close(0)


def test_what_a_receiver_has_taken_is_not_sent_again_because_the_rest_of_its_answer_does_not_come() -> None:
    with trickling(b"HTTP/1.1 200 OK\r\n\r\n") as url:
        outbox = Outbox(first_wait_s=0.02, timeout_s=1.5)
        for _ in range(2):
            outbox.put(url, b"1")
        assert until(lambda: outbox.sent == 2, 20) and (outbox.retried, outbox.fault) == (0, "")
        outbox.close()


def test_an_address_that_does_not_answer_leaves_time_for_the_next_of_its_name(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = socket.getaddrinfo
    with socket.socket() as full, socket.socket() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        # there is no room for another connection, so that the next is not answered
        waiting.connect(full.getsockname())

        def look(*_: Any, **__: Any) -> Any:
            ports = (full.getsockname()[1], receiver.server_address[1])
            return [found for port in ports for found in looked("127.0.0.1", port, 0, socket.SOCK_STREAM)]

        monkeypatch.setattr(socket, "getaddrinfo", look)
        outbox = Outbox(timeout_s=6)
        outbox.put("http://collector.example/", b"1")
        assert until(lambda: outbox.sent == 1, 30) and outbox.retried == 0
        outbox.close()


def test_no_more_waits_than_there_is_room_for_and_the_newest_stay() -> None:
    outbox = Outbox(first_wait_s=0.2, kept=10)
    for number in range(50):
        outbox.put("http://127.0.0.1:9/", json.dumps(number).encode())
    assert outbox.waiting == 10 and outbox.faults == 40
    assert [json.loads(payload.body) for payload in outbox._waiting] == list(range(40, 50))
    outbox.close(0)


@pytest.mark.parametrize("said", [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 twohundred\r\n\r\n", b""])
def test_what_speaks_no_http_is_tried_again_and_stops_nothing(said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:

        def answer() -> None:
            for _ in range(2):
                connection, _ = stranger.accept()
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(said)

        threading.Thread(target=answer, daemon=True).start()
        outbox = Outbox(first_wait_s=0.02, timeout_s=0.5)
        outbox.put(f"http://127.0.0.1:{stranger.getsockname()[1]}/", b"1")
        assert until(lambda: outbox.retried >= 2) and outbox.fault and (outbox.sent, outbox.waiting) == (0, 1)
        outbox.close(0)


def test_where_an_answer_points_nothing_is_sent(receiver: Receiver) -> None:
    elsewhere = Receiver()
    receiver.answers = [302, 200]
    receiver.location = elsewhere.url
    outbox = Outbox(first_wait_s=0.02)
    outbox.put(receiver.url + "/secret", b"1")
    outbox.put(receiver.url + "/secret", b"2")
    assert until(lambda: outbox.sent == 1)
    assert (outbox.faults, elsewhere.tried, [document for _, document in receiver.posted]) == (1, 0, [2])
    outbox.close()
    elsewhere.close()


def test_what_is_wrong_is_told_without_the_secrets_of_the_address(receiver: Receiver) -> None:
    receiver.answers = [404]
    outbox = Outbox()
    outbox.put(receiver.url + "/services/T0/secret?token=secret", b"1")
    assert until(lambda: outbox.faults == 1) and outbox.fault == f"{receiver.url}: HTTP 404"
    outbox.close()
    with pytest.raises(SourceError, match=r"https://host: an address to send to is .* without user and password"):
        checked_url("https://me:secret@host/secret")
    for address in ("host/secret", "me:secret@host/secret", "host?token=secret", "host/secret?to=http://host/"):
        with pytest.raises(SourceError, match=r"^host: an address to send to is"):
            checked_url(address)


def test_a_name_is_looked_up_anew_for_every_post(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    moved, looked, homes = Receiver(), socket.getaddrinfo, [receiver]

    def look(host: str, *arguments: Any, **options: Any) -> Any:
        return looked("127.0.0.1", homes[-1].server_address[1], *arguments[1:], **options)

    monkeypatch.setattr(socket, "getaddrinfo", look)
    outbox = Outbox()
    outbox.put("http://collector.example/", b"1")
    assert until(lambda: outbox.sent == 1)
    homes.append(moved)
    outbox.put("http://collector.example/", b"2")
    assert until(lambda: outbox.sent == 2)
    outbox.close()
    assert [[document for _, document in server.posted] for server in homes] == [[1], [2]]
    moved.close()


@pytest.mark.parametrize("url", ["collector:4318", "ftp://collector", "http://", "", "http://[::1", "http://host:99999"])
def test_an_address_that_is_none_is_one_line(url: str) -> None:
    with pytest.raises(SourceError, match="http://HOST"):
        checked_url(url)
