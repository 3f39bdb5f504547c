"""Connections to a sidecar's HTTP server: not too many, and none for good."""

from __future__ import annotations

import contextlib
import http.client
import select
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra sidecar")

from http_client import Client, answering, certify, needs_openssl
from test_sidecar import replayed
from test_sidecar_web import samples
from traffic import CONGESTED, HEALTHY, in_turn

from int_analyzer.sidecar import connection as connection_module
from int_analyzer.sidecar import web as web_module
from int_analyzer.sidecar.service import Sidecar


@pytest.fixture(scope="module")
def congested() -> Sidecar:
    """A sidecar at a moment at which a finding lasts."""
    sidecar, _ = replayed(in_turn(HEALTHY, HEALTHY, HEALTHY, CONGESTED))
    assert sidecar.snapshot is not None and sidecar.snapshot.findings
    return sidecar


def connected(client: Client) -> socket.socket:
    return socket.create_connection(("127.0.0.1", client.port), 10)


def answered(connection: socket.socket) -> bool:
    """Read one answer of /healthz, head and body."""
    answer = b""
    while not answer.endswith(b"}"):
        answer += connection.recv(1 << 16)
    return answer.startswith(b"HTTP/1.1 200")


def is_closed(connection: socket.socket) -> bool:
    """Wait until the other side closes, at most as long as the connection's timeout."""
    try:
        while connection.recv(1 << 16):
            continue
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


def test_half_a_request_after_an_answer_keeps_its_connection_no_longer_than_the_first(
    congested: Sidecar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "REQUEST_S", 1.5)
    with answering(congested) as client:
        held = [connected(client) for _ in range(3)]
        for connection in held:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert answered(connection)
        # the one before the timer of the connection fires, the next after it; the last a byte at a time
        held[0].sendall(b"G")
        time.sleep(1.7)
        held[1].sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
        assert is_closed(held[0])
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 5:
                held[2].sendall(b"X")
                time.sleep(0.3)
        assert 1 < time.monotonic() - began < 4
        assert is_closed(held[1])


def test_whoever_asks_for_nothing_gives_way_to_a_newcomer(congested: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "CONNECTIONS", 4)
    with answering(congested) as client:
        stream = client.open("/api/stream")
        assert stream.readline() == b"event: tick\n"
        held = [connected(client) for _ in range(3)]
        for connection in held:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
        for _ in range(20):
            assert client.get("/healthz").status_code == 200
        assert is_closed(held[0])
        held[2].settimeout(0.2)
        assert not is_closed(held[2])
        assert stream.readline().startswith(b"data: ")


def is_reset(*connections: socket.socket) -> bool:
    """Wait until the other side gives one of the connections up, at most three seconds, without reading."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, 0)
    return bool(poll.poll(3000))


def asking_without_reading(client: Client) -> socket.socket:
    """A connection with requests one behind the other, until no more are taken."""
    connection = connected(client)
    connection.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        while True:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 1000)
    return connection


def test_requests_without_end_of_which_no_answer_is_read_are_given_up(congested: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "LIFE_S", 0.5)
    monkeypatch.setattr(connection_module, "REQUEST_S", 0.5)
    with answering(congested) as client:
        with contextlib.closing(asking_without_reading(client)) as connection:
            assert is_reset(connection)
        found = samples(client.get("/metrics").text)
    counts = {reason: found[f'int_analyzer_http_closed_connections_total{{reason="{reason}"}}'] for reason in connection_module.REASONS}
    assert counts["old"] + counts["unread"] == 1 and counts["silent"] == counts["newcomer"] == 0


def test_a_connection_that_always_asks_again_before_it_is_answered_has_an_end_too(
    congested: Sidecar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "LIFE_S", 0.5)
    with answering(congested) as client, contextlib.closing(connected(client)) as connection:
        began, asked = time.monotonic(), 0
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 3)
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 4 and (came := connection.recv(1 << 16)):
                # what has come is answered with as many more questions
                asked += came.count(b"HTTP/1.1 200")
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * came.count(b"HTTP/1.1 200"))
        assert asked > 3 and 0.4 < time.monotonic() - began < 2


def test_who_asks_without_reading_gives_way_to_a_newcomer_too(congested: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "CONNECTIONS", 3)
    with answering(congested) as client, contextlib.ExitStack() as stack:
        stream = client.open("/api/stream")
        assert stream.readline() == b"event: tick\n"
        greedy = [stack.enter_context(contextlib.closing(asking_without_reading(client))) for _ in range(2)]
        for _ in range(3):
            assert client.get("/healthz").status_code == 200
        assert is_reset(*greedy)
        assert stream.readline().startswith(b"data: ")
        assert congested.closed_connections["newcomer"] >= 1


def test_a_stream_that_nobody_reads_is_given_up(congested: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "LIFE_S", 0.5)
    monkeypatch.setattr(web_module, "page_document", lambda _: {"much": "x" * (16 << 20)})
    with answering(congested) as client, contextlib.closing(connected(client)) as connection:
        connection.sendall(b"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        deadline = time.monotonic() + 3
        while not congested.closed_connections["unread"] and time.monotonic() < deadline:
            time.sleep(0.05)
        assert congested.closed_connections == {"unread": 1, "old": 0, "silent": 0, "newcomer": 0, "handshake": 0}


def test_a_stream_and_a_connection_that_goes_on_asking_outlast_the_wait_for_a_request(
    congested: Sidecar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "REQUEST_S", 0.5)
    with answering(congested) as client:
        monkeypatch.setattr(connection_module, "LIFE_S", 0.5)
        stream = client.open("/api/stream")
        assert stream.readline() == b"event: tick\n"
        monkeypatch.setattr(connection_module, "LIFE_S", 60.0)
        with contextlib.closing(connected(client)) as patient:
            for _ in range(3):
                # in two parts, and slowly
                patient.sendall(b"GET /healthz HTTP/1.1\r\n")
                time.sleep(0.3)
                patient.sendall(b"Host: 127.0.0.1\r\n\r\n")
                assert answered(patient)
                time.sleep(0.6)
        assert stream.readline().startswith(b"data: ") and stream.readline() == b"\n"
        assert congested.snapshot is not None
        before = congested.snapshot
        congested.snapshot = replace(before, now_ns=before.now_ns + 1_000_000_000)
        assert stream.readline() == b"event: tick\n"
        congested.snapshot = before


@needs_openssl
def test_a_handshake_that_does_not_come_is_given_up(congested: Sidecar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "REQUEST_S", 0.5)
    certify(tmp_path)
    with answering(congested, certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem") as client:
        with contextlib.closing(connected(client)) as connection:
            assert is_closed(connection)
        assert client.get("/healthz").status_code == 200
        assert congested.closed_connections["handshake"] == 1


@needs_openssl
def test_of_too_many_handshakes_the_oldest_are_given_up_and_whoever_does_one_is_served(
    congested: Sidecar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "HANDSHAKES", 4)
    certify(tmp_path)
    with answering(congested, certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem") as client, contextlib.ExitStack() as stack:
        held = [stack.enter_context(contextlib.closing(connected(client))) for _ in range(12)]
        for connection in held[:8]:
            assert is_closed(connection)
        for connection in held[8:]:
            connection.settimeout(0.05)
            assert not is_closed(connection)
        # the first of these makes room for itself, and leaves it to the others
        for _ in range(3):
            assert client.get("/healthz").status_code == 200
        assert congested.closed_connections["handshake"] == 9
        assert samples(client.get("/metrics").text)['int_analyzer_http_closed_connections_total{reason="handshake"}'] == 9


def test_connections_that_ask_for_nothing_are_closed_and_more_than_there_may_be_too(
    congested: Sidecar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "CONNECTIONS", 4)
    monkeypatch.setattr(connection_module, "REQUEST_S", 0.5)
    with answering(congested) as client:
        time.sleep(0.6)
        idle = [socket.create_connection(("127.0.0.1", client.port), 10) for _ in range(8)]
        idle[0].sendall(b"GET /metrics HTTP/1.1\r\nHost: ")
        for connection in idle:
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""
            connection.close()
        # who asks, and goes on asking on one connection, is served
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", client.port, timeout=10)) as patient:
            for _ in range(3):
                patient.request("GET", "/healthz")
                assert patient.getresponse().read()
                time.sleep(0.4)
