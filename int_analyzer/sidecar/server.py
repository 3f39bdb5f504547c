"""The HTTP server in a thread of its own: the address is bound first, so that what is wrong with it is said at the beginning."""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import socket
import ssl
import threading
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from int_analyzer.errors import SourceError

if TYPE_CHECKING:
    from int_analyzer.sidecar.service import Sidecar

_START_S = 10.0


@dataclass(frozen=True)
class Listening:
    """Where and how to listen: "host:port", file of the token, certificate and key."""

    address: str
    token_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


class Server:
    """Binds when it is made, answers once it is started. Raises SourceError for an address that is not to be had.

    An address that others can reach needs a token, since what is measured tells who talks to whom. port: where it listens.
    """

    def __init__(self, listening: Listening) -> None:
        require_extra(listening.address)
        host, port = _parse(listening.address)
        self._listening = listening
        self._token = _read_token(listening.token_file)
        if not self._token and not _is_loopback(host):
            raise SourceError(listening.address, "others can reach this address: give --token-file")
        self._tls: dict[str, Any] = {}
        if (listening.certificate is None) != (listening.key is None):
            raise SourceError(listening.address, "--tls-cert and --tls-key belong together")
        if listening.certificate is not None and listening.key is not None:
            _load_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), listening.certificate, listening.key)
            self._tls = {"ssl_certfile": str(listening.certificate), "ssl_keyfile": str(listening.key)}
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((host, port))
            # Until somebody listens, another could bind the same address.
            self._socket.listen()
        except OSError as error:
            self._socket.close()
            raise SourceError(listening.address, error.strerror or str(error)) from error
        self.port = int(self._socket.getsockname()[1])
        self.url = f"{'https' if self._tls else 'http'}://{f'[{host}]' if ':' in host else host}:{self.port}/"
        self._server: Any = None
        self._closing = threading.Event()

    def start(self, sidecar: Sidecar) -> None:
        """Begin to answer."""
        import uvicorn

        from int_analyzer.sidecar.connection import CONNECTIONS, REASONS, Connection, Loop
        from int_analyzer.sidecar.web import make_app

        closed = sidecar.closed_connections = Counter(dict.fromkeys(REASONS, 0))
        self._config = config = uvicorn.Config(
            make_app(sidecar, lambda: self._token, self._closing),
            http=cast(Any, partial(Connection, closed=closed)),
            # so many are taken at once; who waits to be taken needs no file of this process
            backlog=CONNECTIONS,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
            **self._tls,
        )
        # here and not in the thread: what is read again must be there
        config.load()
        self._server = server = uvicorn.Server(config)

        def run() -> None:
            with asyncio.Runner(loop_factory=lambda: Loop(closed)) as runner:
                runner.run(server.serve(sockets=[self._socket]))

        self._thread = threading.Thread(target=run, name="http", daemon=True)
        self._thread.start()

    def reload(self) -> None:
        """Read token, certificate and key again, for whoever asks from now on. Raises SourceError, and what was stays."""
        listening = self._listening
        token = _read_token(listening.token_file)
        if self._config.ssl is not None and listening.certificate is not None and listening.key is not None:
            # One that does not fit would leave a context without any, so that another tries first.
            for context in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), self._config.ssl):
                _load_certificate(context, listening.certificate, listening.key)
        self._token = token

    def close(self) -> None:
        """Let the pages go, and the address."""
        if self._server is not None:
            self._closing.set()
            self._server.should_exit = True
            self._thread.join(_START_S)
        self._socket.close()


def require_extra(wanted_for: str) -> None:
    """Raise SourceError if the extra `sidecar` is not installed."""
    for module in ("prometheus_client", "starlette", "uvicorn"):
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise SourceError(
                wanted_for, f"{module} is not installed: it comes with the extra sidecar: pip install '.[sidecar]'"
            ) from error


def _load_certificate(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    for path in (certificate, key):
        if not path.is_file():
            raise SourceError(path, "no such file")
    try:
        # an empty password, so that nobody is asked for one at the terminal
        context.load_cert_chain(certificate, key, password="")
    except OSError as error:
        raise SourceError(certificate, f"no certificate with its key: {error.strerror or error}") from error


def _parse(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise SourceError(address, "an address to listen at is HOST:PORT")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read_token(path: Path | None) -> str:
    """The first line of the file."""
    if path is None:
        return ""
    try:
        token = path.read_text(encoding="utf-8").split("\n")[0].strip()
    except OSError as error:
        raise SourceError(path, error.strerror or str(error)) from error
    if len(token) < 16 or not all(character.isalnum() or character in "-_." for character in token):
        raise SourceError(path, "a token has 16 letters, digits, - _ or . at least")
    return token
