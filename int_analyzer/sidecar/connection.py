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
"""After so long the next answer is the last one, and an answer of which nothing is read for so long is given up. A stream lasts."""
_LOOKS = 12
"""Looks in that time at what is not sent yet: whether it has become less."""
HANDSHAKES = 64
"""Handshakes of TLS at once; for a further one that which has lasted for longest is given up."""
ENDLESS = "int_analyzer.endless"
"""Key of a request's scope: its answer is a stream, and may last."""

NEWCOMER, SILENT, OLD, UNREAD, HANDSHAKE = "newcomer", "silent", "old", "unread", "handshake"
REASONS = (NEWCOMER, SILENT, OLD, UNREAD, HANDSHAKE)
"""Why a connection was closed from this side: for a further one, as no request came whole, behind an answer at the end of its life, as
nobody reads, or before its handshake was done."""


class Loop(asyncio.SelectorEventLoop):
    """Gives up handshakes of TLS: the oldest for a further one, and those that take too long. asyncio waits a minute for any number."""

    def __init__(self, closed: Counter[str]) -> None:
        super().__init__()
        self._closed_connections = closed
        self._handshakes: dict[asyncio.Transport, None] = {}

    async def create_server(self, *arguments: Any, **options: Any) -> asyncio.Server:
        """As every loop does it."""
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = REQUEST_S
            # what was answered is still being sent
            options["ssl_shutdown_timeout"] = LIFE_S
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
        self._silent: asyncio.TimerHandle | None = None
        self._look: asyncio.TimerHandle | None = None
        self._began = self._read = 0.0
        self._unsent = 0
        self._old = False

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
        self.asked = self._began = self._read = self.loop.time()
        self._await()
        self._look = self.loop.call_later(LIFE_S / _LOOKS, self._look_again)
        if len(self.connections) > CONNECTIONS:
            every: set[Any] = self.connections
            others = (other for other in every if other is not self and not other.endless)
            min(others, key=lambda other: (other.busy, other.asked), default=self).end(NEWCOMER)

    def connection_lost(self, error: Exception | None) -> None:
        """Forget its times."""
        self._await_no_more()
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request; the rest of it has to come in time."""
        if self._silent is None and self.cycle is not None and not self.busy:
            self._await()
        super().data_received(data)

    def handle_events(self) -> None:
        """Take what has come; a request may have come with the one before."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self.asked = self.loop.time()
            self._await_no_more()
            if self.loop.time() - self._began >= LIFE_S:
                self._answer_for_the_last_time()

    def resume_writing(self) -> None:
        """What is sent is read."""
        super().resume_writing()
        self._read = self.loop.time()

    def end(self, reason: str) -> None:
        """Close it, now."""
        # what was closed behind its last answer, which nobody reads, is counted already
        self._closed[reason] += not self._old
        self.connections.discard(self)
        self.transport.abort()

    def _look_again(self) -> None:
        """See whether what is sent is read, and whether its life is over."""
        now, unsent = self.loop.time(), self.transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent:
            self._read = now
        self._unsent = unsent
        if now - self._read >= LIFE_S:
            self.end(UNREAD)
            return
        if now - self._began >= LIFE_S and self.busy and not self.endless:
            self._answer_for_the_last_time()
        self._look = self.loop.call_later(LIFE_S / _LOOKS, self._look_again)

    def _answer_for_the_last_time(self) -> None:
        """Close it behind the answer that is being made; where its head is not sent yet, it says so."""
        if not self._old:
            self._old = True
            self._closed[OLD] += 1
        self.cycle.keep_alive = False
        self.scope["headers"] = [*self.scope["headers"], (b"connection", b"close")]

    def _await(self) -> None:
        self._silent = self.loop.call_later(REQUEST_S, self.end, SILENT)

    def _await_no_more(self) -> None:
        if self._silent is not None:
            self._silent.cancel()
            self._silent = None
