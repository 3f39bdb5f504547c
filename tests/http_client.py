"""A client for a sidecar's own HTTP server, as small as the tests need it."""

from __future__ import annotations

import http.client
import json
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from int_analyzer.sidecar.server import Listening, Server
from int_analyzer.sidecar.service import Sidecar

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")


def certify(folder: Path, name: str = "127.0.0.1") -> None:
    """A certificate and its key in a folder."""
    made = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN={name}"
    subprocess.run([*made.split(" "), "-addext", "subjectAltName=IP:127.0.0.1"], cwd=folder, check=True, capture_output=True)


@dataclass
class Answer:
    """Status, headers by lower-case name, and text."""

    status_code: int
    headers: dict[str, str]
    text: str

    def json(self) -> Any:
        return json.loads(self.text)


class Client:
    """Asks a port of this machine."""

    def __init__(self, port: int, tls: bool = False) -> None:
        self.port = port
        self._tls = tls

    def open(self, path: str, headers: Mapping[str, str] | None = None) -> http.client.HTTPResponse:
        """The answer, of which the body is still to be read."""
        if self._tls:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            connection: http.client.HTTPConnection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", path, headers=dict(headers or {}))
        return connection.getresponse()

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """The whole answer."""
        with self.open(path, headers) as answer:
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode())


@contextmanager
def answering(sidecar: Sidecar, **options: Any) -> Iterator[Client]:
    """A client of the server of a sidecar, which is closed afterwards."""
    server = Server(Listening("127.0.0.1:0", **options))
    server.start(sidecar)
    client = Client(server.port, tls="certificate" in options)
    for _ in range(100):
        try:
            client.get("/healthz")
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    try:
        yield client
    finally:
        server.close()
