"""From options to a running sidecar: what is opened, in which order, and how it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from int_analyzer.capture import open_source
from int_analyzer.live.filter import compile_filter
from int_analyzer.live.privilege import drop_privileges
from int_analyzer.live.replay import Replay
from int_analyzer.live.report_socket import ReportSocket, parse_address
from int_analyzer.live.ring import Ring
from int_analyzer.reading import is_large
from int_analyzer.result import warm_up
from int_analyzer.sidecar.checkpoint import Checkpoint
from int_analyzer.sidecar.event_log import EventLog
from int_analyzer.sidecar.server import Listening, Server
from int_analyzer.sidecar.service import Sidecar
from int_analyzer.sidecar.signals import Signals


@dataclass(frozen=True)
class Options:
    """What the command line said.

    interfaces: to capture on, each with `threads` rings; expression: of a kernel filter; reports: addresses of UDP sockets;
    replay: a capture instead of these, at `speed` capture seconds per second; state: folder of the checkpoint; stay: answer over HTTP
    when a replay is over, too.
    """

    interfaces: Sequence[str] = ()
    threads: int = 1
    ring_mb: int = 64
    expression: str = ""
    reports: Sequence[str] = ()
    replay: str | None = None
    speed: float = 1.0
    profile: Path | None = None
    output: Path | None = None
    state: Path | None = None
    listening: Listening | None = None
    stay: bool = False


def run(options: Options) -> None:
    """Run until the replay ends or somebody asks to stop. Raises IntAnalyzerError for what cannot begin."""
    compiled = options.replay is None or is_large([options.replay])
    with ExitStack() as stack:
        source = stack.enter_context(open_source(options.replay)) if options.replay is not None else None
        sidecar = Sidecar(
            options.profile,
            sinks=[EventLog(options.output)],
            checkpoint=Checkpoint(options.state) if options.state is not None else None,
            compiled=compiled,
        )
        stack.callback(sidecar.close)
        server = Server(options.listening) if options.listening is not None else None
        _open_live(sidecar, options)
        if options.replay is None:
            drop_privileges()
        if compiled:
            # a ring would overflow while the first packets wait for the compiler
            warm_up()
        if sidecar.restored:
            print(f"checkpoint: {sidecar.restored}", file=sys.stderr)

        def reload() -> None:
            sidecar.reload()
            print(f"profile: {sidecar.reload_fault or 'read again'}", file=sys.stderr)

        if server is not None:
            stack.callback(server.close)
            server.start(sidecar)
            print(f"listening at {server.url}", file=sys.stderr)
        signals = stack.enter_context(Signals(reload))
        if source is None:
            sidecar.watch(signals.stopping)
            for worker in sidecar.workers:
                print(worker.describe(), file=sys.stderr)
            return
        replay = Replay(source, options.speed, sidecar.reach, compiled)
        sidecar.replay(sidecar.add(replay, on_wall_clock=False), signals.stopping)
        for damage in source.damages:
            print(f"int-analyzer: {options.replay}: {damage}", file=sys.stderr)
        while options.stay and not sidecar.stopped and not signals.stopping(3600):
            continue


def _open_live(sidecar: Sidecar, options: Options) -> None:
    """Open what packets will come from; none comes yet."""
    program = compile_filter(options.expression) if options.expression else b""
    for number, interface in enumerate(options.interfaces):
        fanout = os.getpid() + number if options.threads > 1 else None
        for _ in range(options.threads):
            sidecar.add(Ring(interface, fanout, program, blocks=options.ring_mb, compiled=sidecar.compiled))
    for address in options.reports:
        intake = ReportSocket(*parse_address(address))
        sidecar.add(intake, report_port=intake.port)
