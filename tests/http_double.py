"""An HTTP server of this machine that answers as a test says, and keeps what it was asked."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any


@dataclass
class Asked:
    """A request: its path, its headers, and its body, empty if it has none."""

    path: str
    headers: Mapping[str, str]
    body: bytes


Answer = Callable[[Asked], tuple[int, bytes]]
"""A request → status and body."""


class Double(HTTPServer):
    """Answers every request at a port of its own."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answer = answer
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answering(BaseHTTPRequestHandler):
    server: Double

    def do_GET(self) -> None:
        asked = Asked(self.path, self.headers, self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.server.asked.append(asked)
        status, body = self.server.answer(asked)
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        """Tests print nothing."""


@contextmanager
def answering(answer: Answer) -> Iterator[Double]:
    """A server that answers while the test goes on."""
    with Double(answer) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def trickling(head: bytes, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """The address of a receiver that says `head` at once, and then a letter every 50 ms until nobody listens any more."""

    def answer() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with suppress(OSError), connection if tls is None else tls.wrap_socket(connection, server_side=True) as talk:
                    talk.recv(1 << 16)
                    talk.sendall(head)
                    for _ in range(100):
                        talk.sendall(b"a")
                        time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=answer, daemon=True).start()
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{listener.getsockname()[1]}"
