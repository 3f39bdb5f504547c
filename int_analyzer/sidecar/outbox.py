"""What goes to others over HTTP: kept while they are away, bounded, tried again, and counted where it had to be given up."""

from __future__ import annotations

import http.client
import threading
import time
import urllib.request
from collections import deque
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from int_analyzer import __version__
from int_analyzer.errors import SourceError
from int_analyzer.posting import posting

KEPT = 2000
KEPT_BYTES = 16 << 20
"""Payloads, and their bytes, that wait at most; the oldest give way."""
TIMEOUT_S = 5.0
"""For all of a delivery: to connect, to send, to be answered. A status that came within it counts, whatever follows it."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
_AGAIN = (408, 429, 500, 502, 503, 504)
"""Answers after which it is worth trying again; after another refusal it is not."""


class Payload(NamedTuple):
    """Where to post what."""

    url: str
    body: bytes


class Outbox:
    """Posts JSON, one payload after the other, in a thread of its own, which begins with the first: it has the privileges of then.

    sent, retried; faults: payloads that were given up, because they were refused or there was no room; fault: what is wrong now.
    """

    def __init__(self, first_wait_s: float = FIRST_WAIT_S, kept: int = KEPT, timeout_s: float = TIMEOUT_S) -> None:
        self.sent = 0
        self.retried = 0
        self.faults = 0
        self.fault = ""
        self._first_wait_s = first_wait_s
        self._kept = kept
        self._timeout_s = timeout_s
        self._waiting: deque[Payload] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None

    @property
    def waiting(self) -> int:
        """Payloads that are not delivered yet."""
        return len(self._waiting)

    def put(self, url: str, body: bytes) -> None:
        """Take a payload; never waits."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="outbox", daemon=True)
                self._thread.start()
            self._waiting.append(Payload(url, body))
            self._bytes += len(body)
            while len(self._waiting) > self._kept or self._bytes > KEPT_BYTES:
                self._bytes -= len(self._waiting.popleft().body)
                self.faults += 1
            self._changed.notify()

    def close(self, seconds: float = 3.0) -> None:
        """Give what waits so long to be delivered, and end."""
        deadline = time.monotonic() + seconds
        while self._waiting and not self.fault and time.monotonic() < deadline:
            time.sleep(0.02)
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(self._timeout_s + 1)

    def _work(self) -> None:
        wait_s = self._first_wait_s
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if self._closing:
                    return
                payload = self._waiting[0]
            again_s = self._post(payload)
            with self._changed:
                if again_s is None:
                    wait_s = self._first_wait_s
                    # while it was posted it may have had to give way
                    if self._waiting and self._waiting[0] is payload:
                        self._bytes -= len(self._waiting.popleft().body)
                    continue
                self.retried += 1
                self._changed.wait_for(lambda: self._closing, max(wait_s, again_s))
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    def _post(self, payload: Payload) -> float | None:
        """None if the payload is done with, else the least number of seconds to wait before it is tried again."""
        headers = {"content-type": "application/json", "user-agent": f"int-analyzer/{__version__}"}
        request = urllib.request.Request(payload.url, payload.body, headers)
        try:
            with posting(request, self._timeout_s) as answer:
                status, asked = answer.status, answer.headers.get("retry-after", "")
                # read so that the other side is not cut off; the payload is taken, or not, even if it does not come
                with suppress(OSError, http.client.HTTPException):
                    answer.read(1 << 16)
        except (OSError, ValueError, http.client.HTTPException) as error:
            # what does not speak HTTP is no OSError
            self.fault = f"{place(payload.url)}: {getattr(error, 'reason', None) or error or type(error).__name__}"
            return 0.0
        if 200 <= status < 300:
            self.sent += 1
            self.fault = ""
            return None
        self.fault = f"{place(payload.url)}: HTTP {status}"
        if status in _AGAIN:
            return min(float(asked), LONGEST_WAIT_S) if asked.isdecimal() else 0.0
        self.faults += 1
        return None


def checked_url(url: str) -> str:
    """An http or https address without a slash at its end. Raises SourceError."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        known = False
    if not known:
        raise SourceError(place(url), "an address to send to is http://HOST… or https://HOST…, without user and password")
    return url.rstrip("/")


def place(url: str) -> str:
    """Scheme, host and port of an address: its path may be a secret, and what is wrong is told to whoever asks /healthz."""
    scheme, colon, rest = url.partition("://")
    if not (colon and scheme.isalnum()):
        scheme, colon, rest = "", "", url
    return scheme + colon + rest.partition("/")[0].partition("?")[0].rpartition("@")[2]
