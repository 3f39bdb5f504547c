"""Counters from a Prometheus: the queries of a profile over the capture's time, by its HTTP API (/api/v1/query_range)."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from int_analyzer.counter import Query
from int_analyzer.errors import EvidenceError
from int_analyzer.evidence.place import Places
from int_analyzer.evidence.series import Counters, Series, build_series
from int_analyzer.posting import posting
from int_analyzer.profile import Profile

MARGIN_SECONDS = 300.0
"""So much before and after the capture is asked for too: since when a counter rises, and whether it still does."""
MOST_POINTS = 11_000
"""A Prometheus gives no more readings of a series at once."""
TIMEOUT_SECONDS = 30.0
"""For all of an answer: one that trickles ends, too."""
MOST_BYTES = 64 << 20
"""Of an answer: two million readings. A longer one is not taken."""
_LONGEST_REASON, _MOST_OF_REASON = 200, 1 << 16
NO_VALUE = "no-value"


class Prometheus:
    """A Prometheus by its URL (a path before /api may be part of it). `token_file` holds a bearer token. Raises EvidenceError."""

    def __init__(self, url: str, profile: Profile, token_file: str | Path | None = None, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        if set("@?#") & set(url):
            # it may hold a secret, so it is not repeated
            raise EvidenceError("Prometheus", "no user and password in the address, and no query: give a file with a token")
        if not _is_address(url):
            raise EvidenceError(url, "is no address of a Prometheus: http://HOST:9090")
        if not profile.counters:
            raise EvidenceError(url, "the profile has no queries: add [counters.symbol_errors] and others (docs/evidence.md)")
        self._url, self._timeout = url.rstrip("/"), timeout_seconds
        self._queries, self._places = list(profile.counters.values()), Places(profile)
        self._headers = {"Accept": "application/json"}
        if token_file is not None:
            self._headers["Authorization"] = f"Bearer {_token(token_file)}"
        self._ask("/api/v1/query", {"query": "1"})

    def read(self, start_ns: int, end_ns: int) -> Counters:
        """What it knows from some time before `start_ns` to some time after `end_ns`."""
        counters = Counters(sources=[self._url])
        first = start_ns / 1e9 - MARGIN_SECONDS
        # Behind the present it would repeat the last value as if it had been read there.
        last = min(end_ns / 1e9 + MARGIN_SECONDS, time.time())
        if last <= first:
            return counters
        for query in self._queries:
            step = max(query.step_seconds, (last - first) / (MOST_POINTS - 1))
            asked = {"query": query.query, "start": f"{first:.3f}", "end": f"{last:.3f}", "step": f"{step:.3f}"}
            data = self._ask("/api/v1/query_range", asked, query)
            if not isinstance(data, dict) or data.get("resultType") != "matrix":
                raise EvidenceError(self._url, f"{query.metric.name}: no series came back, but {str(data)[:_LONGEST_REASON]}")
            try:
                counters = counters.joined(self._counters(query, data["result"]))
            except (LookupError, AttributeError, TypeError, ValueError, OverflowError) as error:
                raise EvidenceError(self._url, f"{query.metric.name}: no matrix of readings: {error!r}") from error
        return counters

    def _counters(self, query: Query, result: list[dict[str, Any]]) -> Counters:
        series: list[Series] = []
        strangers: list[str] = []
        ignored: Counter[str] = Counter()
        for entry in result:
            labels = entry["metric"]
            named = [labels.get(label, "") if label is not None else "" for label in (query.node, query.port, query.host)]
            place = self._places.find(query.metric, *named)
            if place is None:
                strangers.append(" ".join((query.metric.name, *(name for name in named if name))))
                continue
            readings = [(round(seconds * 1e3) * 1_000_000, float(value)) for seconds, value in entry["values"]]
            known = [(at, value) for at, value in readings if abs(value) != float("inf") and value == value]
            ignored[NO_VALUE] += len(readings) - len(known)
            if known:
                series.append(build_series(query.metric, place, [at for at, _ in known], [value for _, value in known]))
        return Counters(series, [], strangers, {reason: count for reason, count in ignored.items() if count})

    def _ask(self, path: str, parameters: dict[str, str], query: Query | None = None) -> Any:
        """The data of an answer. Queries can be long, so they are posted."""
        body = urllib.parse.urlencode(parameters).encode()
        request = urllib.request.Request(self._url + path, data=body, headers=self._headers, method="POST")
        of = f"{query.metric.name}: " if query is not None else ""
        try:
            with posting(request, self._timeout) as answer:
                if not 200 <= answer.status < 300:
                    said = _reason(answer.read(_MOST_OF_REASON))
                    raise EvidenceError(self._url, f"{of}HTTP {answer.status} {answer.reason}{said}")
                document = json.loads(self._body(answer, of))
        except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
            # URLError is an OSError whose reason is another one
            reason = getattr(error, "reason", None) or error
            raise EvidenceError(self._url, f"{of}no answer of a Prometheus: {reason}") from error
        if not isinstance(document, dict) or document.get("status") != "success":
            raise EvidenceError(self._url, f"{of}no answer of a Prometheus")
        return document.get("data")

    def _body(self, answer: http.client.HTTPResponse, of: str) -> bytes:
        """All of an answer, if that is not too much."""
        body = bytearray()
        while part := answer.read1(1 << 20):
            body += part
            if len(body) > MOST_BYTES:
                raise EvidenceError(self._url, f"{of}an answer of more than {MOST_BYTES >> 20} MiB: ask for fewer series, or a longer step")
        return bytes(body)


def _is_address(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _token(path: str | Path) -> str:
    try:
        token = Path(path).read_text(encoding="ascii").strip()
    except OSError as error:
        raise EvidenceError(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise EvidenceError(path, "holds no bearer token") from error
    if not token or not token.isprintable():
        raise EvidenceError(path, "holds no bearer token")
    return token


def _reason(body: bytes) -> str:
    """What the Prometheus says is wrong, behind a colon; nothing if it does not say it as JSON."""
    try:
        document = json.loads(body)
    except ValueError:
        return ""
    text = document.get("error") if isinstance(document, dict) else None
    return f": {str(text)[:_LONGEST_REASON]}" if text else ""
