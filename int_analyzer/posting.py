"""HTTP requests that end in time, whatever the other side does, and that go nowhere else."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any


@contextmanager
def posting(request: urllib.request.Request, seconds: float) -> Iterator[http.client.HTTPResponse]:
    """The answer to a request, whatever its status, for as long as `seconds` in all: to connect, to send, to answer and to read.

    Where an answer points nothing is sent: a post would become a question without its payload, and its secrets would go along.
    Raises OSError (TimeoutError when the time is over), ValueError or HTTPException. A name is looked up anew each time, by the times of
    the resolver.
    """
    with _Deadline(seconds) as deadline:
        request.deadline = deadline  # type: ignore[attr-defined]
        try:
            with _OPENER.open(request, timeout=seconds) as answer:
                if deadline.over:
                    # the end of a connection ends a head, too
                    raise TimeoutError
                yield answer
        except (OSError, ValueError, http.client.HTTPException) as error:
            # half an answer can be wrong in every way
            if deadline.over:
                raise TimeoutError(f"no answer within {seconds:g} s") from error
            raise


class _Deadline:
    """Shuts a connection when its time is over. A timeout of a socket is of each single wait: who answers byte by byte never exceeds it."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._end = time.monotonic() + seconds
        self._watched: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._shut)
        self._timer.daemon = True

    def __enter__(self) -> _Deadline:
        try:
            self._timer.start()
        except RuntimeError as error:
            raise OSError(str(error)) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._timer.cancel()
        # what it is about to shut must not have become another's file
        self._timer.join()
        if self._watched is not None:
            self._watched.close()

    def connect(self, address: tuple[str, int], *_: object) -> socket.socket:
        """As socket.create_connection. Of several addresses of a name each gets an equal part of the time that is left."""
        found = socket.getaddrinfo(*address, 0, socket.SOCK_STREAM)
        fault: OSError = TimeoutError("timed out")
        for number, (family, kind, protocol, _name, where) in enumerate(found):
            try:
                made = self._connected(socket.socket(family, kind, protocol), where, len(found) - number)
            except OSError as error:
                fault = error
                continue
            if not self.over:
                return made
            made.close()
        raise fault

    def _connected(self, made: socket.socket, where: Any, parts: int) -> socket.socket:
        try:
            # 0 would be to try without a wait
            made.settimeout(max((self._end - time.monotonic()) / parts, 0.001))
            made.connect(where)
            made.settimeout(max(self._end - time.monotonic(), 0.001))
            # TLS takes the socket over, and nobody could shut it meanwhile
            self._watched = made.dup()
        except OSError:
            made.close()
            raise
        return made

    def _shut(self) -> None:
        self.over = True
        if self._watched is not None:
            # it may be closed already by the other side
            with suppress(OSError):
                self._watched.shutdown(socket.SHUT_RDWR)


def _timed(connection: Any, request: Any) -> Any:
    """What makes a connection, by the deadline of a request."""

    def make(host: str, **options: Any) -> http.client.HTTPConnection:
        made: http.client.HTTPConnection = connection(host, **options)
        made._create_connection = request.deadline.connect  # type: ignore[attr-defined]
        return made

    return make


class _Http(urllib.request.HTTPHandler):
    def do_open(self, http_class: Any, req: Any, **options: Any) -> Any:
        return super().do_open(_timed(http_class, req), req, **options)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self) -> None:
        # as that of HTTPHandler: from Python 3.12 on this one would read all authorities, once and now
        urllib.request.AbstractHTTPHandler.__init__(self)

    def https_open(self, req: Any) -> Any:
        """Whom to believe is read anew for each request: a process that runs for months outlives an authority."""
        return self.do_open(http.client.HTTPSConnection, req, context=ssl.create_default_context())

    def do_open(self, http_class: Any, req: Any, **options: Any) -> Any:
        return super().do_open(_timed(http_class, req), req, **options)


def _opener() -> urllib.request.OpenerDirector:
    """Without what follows redirections, and what makes an error of a status."""
    opener = urllib.request.OpenerDirector()
    for handler in (urllib.request.ProxyHandler(), urllib.request.UnknownHandler(), _Http(), _Https()):
        opener.add_handler(handler)
    return opener


_OPENER = _opener()
