"""What a sidecar answers over HTTP: /metrics, /healthz, a JSON API, and the live page with its stream of events."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import threading
import time
from collections.abc import AsyncIterator, Callable
from http.cookies import SimpleCookie
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from int_analyzer.report.json_document import document
from int_analyzer.sidecar.connection import ENDLESS
from int_analyzer.sidecar.exposition import Exposition
from int_analyzer.sidecar.page_document import page_document

if TYPE_CHECKING:
    from int_analyzer.sidecar.service import Sidecar

PAGE = Path(__file__).parent / "page"
STALE_S = 15.0
"""Without a tick for so long the sidecar hangs."""
STREAMS = 32
"""Pages that may look on at once."""
_LOOK_S = 0.2
_COOKIE = "int_analyzer_token"
# the picture of the fabric brings its own styles
_HEADERS = {
    "content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


def make_app(sidecar: Sidecar, token: Callable[[], str], closing: threading.Event) -> Starlette:
    """The application; streams end when it is `closing`.

    With a token everything but /healthz asks for it (that of now); without one, only this machine may be the host that is named.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Exposition(sidecar))
    ProcessCollector(registry=registry)
    streams = _Streams(sidecar, closing)

    def metrics(request: Request) -> Response:
        encoder, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encoder(registry), headers={"content-type": content_type})

    def health(request: Request) -> Response:
        status, reasons = health_of(sidecar)
        return JSONResponse({"status": status, "reasons": reasons}, 503 if status in ("starting", "failing") else 200)

    def summary(request: Request) -> Response:
        seconds = request.query_params.get("seconds", "10")
        if seconds not in ("10", "60"):
            return JSONResponse({"error": "seconds is 10 or 60"}, 400)
        if sidecar.snapshot is None:
            return _not_yet()
        found = sidecar.snapshot.judgement.summary if seconds == "10" else sidecar.last_minute()
        return JSONResponse(document(found))

    def findings(request: Request) -> Response:
        if sidecar.snapshot is None:
            return _not_yet()
        return JSONResponse({"now_ns": sidecar.snapshot.now_ns, "findings": sidecar.snapshot.findings, "events": list(sidecar.recent)})

    def live(request: Request) -> Response:
        return JSONResponse(page_document(sidecar)) if sidecar.snapshot is not None else _not_yet()

    return Starlette(
        routes=[
            Route("/metrics", metrics),
            Route("/healthz", health),
            Route("/api/summary", summary),
            Route("/api/findings", findings),
            Route("/api/live", live),
            Route("/api/stream", streams.answer),
            Mount("/", StaticFiles(directory=PAGE, html=True)),
        ],
        middleware=[Middleware(_Guard, token=token)],
    )


def health_of(sidecar: Sidecar) -> tuple[str, list[str]]:
    """starting, ok, degraded (it works, but not all of it) or failing; and why."""
    snapshot = sidecar.snapshot
    if snapshot is None:
        return "starting", ["no tick yet"]
    failing = [f"{worker.intake.name}: {worker.failure}" for worker in sidecar.workers if worker.failure is not None]
    if not sidecar.over and time.monotonic() - snapshot.published > STALE_S:
        failing.append(f"no tick for {time.monotonic() - snapshot.published:.0f} s")
    degraded = [f"{worker.intake.name}: {worker.intake.fault}" for worker in sidecar.workers if worker.intake.fault]
    degraded += sidecar.concerns
    degraded += [f"{worker.intake.name}: {worker.intake.unmet}" for worker in sidecar.workers if worker.intake.unmet]
    degraded += [f"{type(sink).__name__}: {sink.fault}" for sink in sidecar.sinks if sink.fault]
    if sidecar.checkpoint is not None and sidecar.checkpoint.fault:
        degraded.append(f"checkpoint: {sidecar.checkpoint.fault}")
    if sidecar.inquiry is not None and sidecar.inquiry.fault:
        degraded.append(sidecar.inquiry.describe())
    if sidecar.relief is not None and sidecar.relief.reason:
        degraded.append(f"connections: {sidecar.relief.describe()}")
    if sidecar.reload_fault:
        degraded.append(f"not read again: {sidecar.reload_fault}")
    return "failing" if failing else "degraded" if degraded else "ok", failing + degraded


def _not_yet() -> Response:
    return JSONResponse({"error": "no tick yet"}, 503)


class _Streams:
    """Server-sent events: what the page shows, after every tick. Made once a tick, however many look on."""

    def __init__(self, sidecar: Sidecar, closing: threading.Event) -> None:
        self._sidecar = sidecar
        self._closing = closing
        self._open = 0
        self._shown: object = None
        self._text = ""

    async def answer(self, request: Request) -> Response:
        if self._open >= STREAMS:
            return PlainTextResponse("too many pages look on\n", 503)
        request.scope[ENDLESS] = True
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[str]:
        self._open += 1
        last: object = None
        try:
            while not self._closing.is_set():
                snapshot = self._sidecar.snapshot
                if snapshot is not None and snapshot is not last:
                    last = snapshot
                    if snapshot is not self._shown:
                        self._text = json.dumps(await asyncio.to_thread(page_document, self._sidecar), allow_nan=False)
                        self._shown = snapshot
                    yield f"event: tick\ndata: {self._text}\n\n"
                await asyncio.sleep(_LOOK_S)
        finally:
            self._open -= 1


class _Guard:
    """Who may ask: with a token whoever knows it, without one whoever names this machine (so that no web page elsewhere can ask for it).

    The token comes as `Authorization: Bearer`, or once as ?token=, after which the browser keeps it as a cookie.
    """

    def __init__(self, app: ASGIApp, token: Callable[[], str]) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    answer.setdefault(name, value)
                if self._known(given):
                    secure = "; Secure" if scope["scheme"] == "https" else ""
                    answer.append("set-cookie", f"{_COOKIE}={given}; HttpOnly; SameSite=Strict; Path=/{secure}")
            await send(message)

        refusal = self._refusal(scope["path"], headers, given)
        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, path: str, headers: Headers, given: str) -> Response | None:
        if path == "/healthz":
            return None
        if not self._token():
            if _names_this_machine(headers.get("host", "")):
                return None
            return PlainTextResponse("this address is for this machine only\n", 421)
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        morsel: Any = SimpleCookie(headers.get("cookie", "")).get(_COOKIE)
        if any(self._known(word) for word in (given, bearer, morsel.value if morsel is not None else "")):
            return None
        return PlainTextResponse("a token is needed\n", 401, {"www-authenticate": "Bearer"})

    def _known(self, word: str) -> bool:
        return bool(word) and bool(self._token()) and hmac.compare_digest(word.encode(), self._token().encode())


def _names_this_machine(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() and not host.endswith("]") else host
    name = name.removeprefix("[").removesuffix("]")
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
