"""Who may ask a sidecar, with what, and for how long: tokens, certificates, connections that hold others up, addresses."""

from __future__ import annotations

import contextlib
import http.client
import re
import select
import socket
import ssl
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra sidecar")

from http_client import Client, answering, certify, needs_openssl
from test_sidecar_web import at_work, samples

from int_analyzer.errors import SourceError
from int_analyzer.sidecar import connection as connection_module
from int_analyzer.sidecar import server as server_module
from int_analyzer.sidecar import web as web_module
from int_analyzer.sidecar.server import Listening, Server
from int_analyzer.sidecar.service import Sidecar
from int_analyzer.sidecar.web import health_of


@pytest.fixture(scope="module")
def congested() -> Sidecar:
    return at_work()


def test_another_site_cannot_ask_through_a_browser(congested: Sidecar) -> None:
    with answering(congested) as client:
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


def connected(client: Client) -> socket.socket:
    return socket.create_connection(("127.0.0.1", client.port), 10)


def answered(connection: socket.socket) -> bool:
    """Read one answer of /healthz, head and body."""
    answer = b""
    while not answer.endswith(b"}"):
        part = connection.recv(1 << 16)
        if not part:
            return False
        answer += part
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


def test_a_stream_and_a_connection_that_goes_on_asking_outlast_the_wait_for_a_request(
    congested: Sidecar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "REQUEST_S", 3.0)
    with answering(congested) as client:
        monkeypatch.setattr(connection_module, "LIFE_S", 0.5)
        stream = client.open("/api/stream")
        assert stream.readline() == b"event: tick\n"
        monkeypatch.setattr(connection_module, "LIFE_S", 60.0)
        with contextlib.closing(connected(client)) as patient:
            for _ in range(3):
                # in two parts, and slowly
                patient.sendall(b"GET /healthz HTTP/1.1\r\n")
                time.sleep(0.6)
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


def is_reset(*connections: socket.socket) -> bool:
    """Wait until the other side gives one of the connections up, at most twenty seconds, without reading."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, 0)
    return bool(poll.poll(20_000))


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


def test_an_answer_that_is_read_slowly_comes_whole_however_old_the_connection_is(
    congested: Sidecar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "LIFE_S", 1.0)
    monkeypatch.setattr(connection_module, "REQUEST_S", 0.5)
    monkeypatch.setattr(web_module, "page_document", lambda _: {"much": "x" * (16 << 20)})
    with answering(congested) as client:
        answer, began, came = client.open("/api/live"), time.monotonic(), 0
        while part := answer.read(1 << 17):
            came += len(part)
            time.sleep(0.02)
        assert came > 16 << 20 and time.monotonic() - began > 2
        assert congested.closed_connections["unread"] == 0


def test_at_the_end_of_its_life_a_connection_says_with_an_answer_that_it_is_the_last(
    congested: Sidecar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "LIFE_S", 1.5)
    with answering(congested) as client:
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
        said, began = [], time.monotonic()
        while not said or (not said[-1] and time.monotonic() - began < 20):
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            assert answer.status == 200 and answer.read()
            said.append(answer.getheader("connection"))
            time.sleep(0.05)
        assert set(said[:-1]) <= {None} and said[-1] == "close" and time.monotonic() - began > 1.4
        assert congested.closed_connections["old"] == 1


def test_a_connection_that_always_asks_again_before_it_is_answered_has_an_end_too(
    congested: Sidecar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "LIFE_S", 0.5)
    with answering(congested) as client, contextlib.closing(connected(client)) as connection:
        began, asked = time.monotonic(), 0
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 3)
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 30 and (came := connection.recv(1 << 16)):
                # what has come is answered with as many more questions
                asked += came.count(b"HTTP/1.1 200")
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * came.count(b"HTTP/1.1 200"))
        assert asked > 3 and 0.4 < time.monotonic() - began < 20


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
        deadline = time.monotonic() + 20
        while not congested.closed_connections["unread"] and time.monotonic() < deadline:
            time.sleep(0.05)
        assert congested.closed_connections == {"unread": 1, "old": 0, "silent": 0, "newcomer": 0, "handshake": 0}


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
