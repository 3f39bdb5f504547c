"""Connections to the HTTP server: not too many, and none for good, whatever the other side does or leaves undone."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS = 128
"""Connections at once: whoever may not ask must not take all files of the process either. For a further one another is closed: that
which has asked for nothing for longest or, where all are being answered, that which is for longest."""
REQUEST_S = 10.0
"""A connection on which no request has come whole for so long is closed; one over TLS also if it has not come about by then."""
LIFE_S = 60.0
"""After so long no further request is taken, and an answer of which nothing is read for so long is given up. A stream lasts."""
HANDSHAKES = 64
"""Handshakes of TLS at once; for a further one that which has lasted for longest is given up."""
ENDLESS = "int_analyzer.endless"
"""Key of a request's scope: its answer is a stream, and may last."""

NEWCOMER, SILENT, OLD, UNREAD, HANDSHAKE = "newcomer", "silent", "old", "unread", "handshake"
REASONS = (NEWCOMER, SILENT, OLD, UNREAD, HANDSHAKE)
"""Why a connection was closed from this side: for a further one, as no request came whole, at the end of its life, as nobody reads, or
before its handshake was done."""


class Loop(asyncio.SelectorEventLoop):
    """Gives up handshakes of TLS: the oldest for a further one, and those that take too long. asyncio waits a minute for any number."""

    def __init__(self, closed: Counter[str]) -> None:
        super().__init__()
        self._closed_connections = closed
        self._handshakes: dict[asyncio.Transport, None] = {}

    async def create_server(self, *arguments: Any, **options: Any) -> asyncio.Server:
        """As every loop does it."""
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = options["ssl_shutdown_timeout"] = REQUEST_S
        return await super().create_server(*arguments, **options)

    def _make_ssl_transport(self, rawsock: Any, protocol: Any, sslcontext: Any, waiter: Any = None, **options: Any) -> Any:
        # nothing public is told of a connection before its handshake is done
        transport = super()._make_ssl_transport(rawsock, protocol, sslcontext, waiter, **options)  # type: ignore[misc]
        self._handshakes[transport] = None
        waiter.add_done_callback(partial(self._done, transport))
        if len(self._handshakes) > HANDSHAKES:
            oldest = next(iter(self._handshakes))
            del self._handshakes[oldest]
            self._closed_connections[HANDSHAKE] += 1
            # not now: what came in this turn of the loop has nothing yet that could be closed
            self.call_soon(oldest.abort)
        return transport

    def _done(self, transport: asyncio.Transport, waiter: asyncio.Future[None]) -> None:
        late = not waiter.cancelled() and isinstance(waiter.exception(), ConnectionAbortedError)
        if transport in self._handshakes:
            del self._handshakes[transport]
            self._closed_connections[HANDSHAKE] += late


class Connection(H11Protocol):
    """One connection. closed: counts by reason, of all connections; asked: when its last request came whole, or it came about."""

    def __init__(self, *arguments: Any, closed: Counter[str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.asked = 0.0
        self._closed = closed
        self._timers: dict[str, asyncio.TimerHandle] = {}

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def endless(self) -> bool:
        """Whether this is a stream."""
        return self.busy and ENDLESS in self.scope

    def connection_made(self, transport: Any) -> None:
        """Begin the times that it has, and make room for it."""
        super().connection_made(transport)
        self.asked = self.loop.time()
        self._limit(SILENT, REQUEST_S)
        self._limit(OLD, LIFE_S)
        if len(self.connections) > CONNECTIONS:
            every: set[Any] = self.connections
            others = (other for other in every if other is not self and not other.endless)
            min(others, key=lambda other: (other.busy, other.asked), default=self).end(NEWCOMER)

    def connection_lost(self, error: Exception | None) -> None:
        """Forget its times."""
        for timer in self._timers.values():
            timer.cancel()
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request; the rest of it has to come in time."""
        if SILENT not in self._timers and self.cycle is not None and not self.busy:
            self._limit(SILENT, REQUEST_S)
        super().data_received(data)

    def handle_events(self) -> None:
        """Take what has come; a request may have come with the one before."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self.asked = self.loop.time()
            self._lift(SILENT)

    def pause_writing(self) -> None:
        """More is to be sent than is read."""
        super().pause_writing()
        self._limit(UNREAD, LIFE_S)

    def resume_writing(self) -> None:
        """It is read."""
        super().resume_writing()
        self._lift(UNREAD)

    def end(self, reason: str) -> None:
        """Close it, now."""
        if reason == OLD and self.endless:
            self._limit(OLD, LIFE_S)
            return
        self._closed[reason] += 1
        if reason == OLD and self.busy:
            # what is being answered has the time of a request to come to its end
            self.cycle.keep_alive = False
            self._timers[OLD] = self.loop.call_later(REQUEST_S, self.transport.abort)
            return
        self.connections.discard(self)
        self.transport.abort()

    def _limit(self, reason: str, seconds: float) -> None:
        self._lift(reason)
        self._timers[reason] = self.loop.call_later(seconds, self.end, reason)

    def _lift(self, reason: str) -> None:
        timer = self._timers.pop(reason, None)
        if timer is not None:
            timer.cancel()
