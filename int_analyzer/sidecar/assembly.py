"""From options to a running sidecar: what is opened, in which order, and how it ends."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from int_analyzer import _jit
from int_analyzer.capture import open_source
from int_analyzer.evidence.source import CounterSource
from int_analyzer.live import timestamp
from int_analyzer.live.filter import compile_filter
from int_analyzer.live.intake import Intake
from int_analyzer.live.offload import merging
from int_analyzer.live.privilege import drop_privileges, raise_capture
from int_analyzer.live.replay import Replay
from int_analyzer.live.report_socket import ReportSocket, parse_address
from int_analyzer.live.ring import Fanout, Ring
from int_analyzer.profile import Profile
from int_analyzer.reading import is_large
from int_analyzer.report import figure
from int_analyzer.result import warm_up
from int_analyzer.sidecar.checkpoint import Checkpoint
from int_analyzer.sidecar.event_log import EventLog
from int_analyzer.sidecar.inquiry import Inquiry
from int_analyzer.sidecar.polling import FULL, Polling
from int_analyzer.sidecar.recorder import Recorder
from int_analyzer.sidecar.relief import Relief
from int_analyzer.sidecar.server import Listening, Server, require_extra
from int_analyzer.sidecar.service import Sidecar, Sink
from int_analyzer.sidecar.signals import Signals
from int_analyzer.sidecar.webhook import Webhook


@dataclass(frozen=True)
class Options:
    """What the command line said.

    interfaces: to capture on, each with `threads` rings; timestamps: whose; expression: of a kernel filter; reports: addresses of UDP
    sockets; replay: a capture instead of these, at `speed` capture seconds per second; connections: which are followed, None: all while a
    live source can be kept up with; state: folder of the checkpoint; stay: answer over HTTP when a replay is over, too; webhook, otlp:
    addresses to send to; recordings, parquet: folders; evidence: opens sources of counters from outside, by a profile; screen: show every
    second on the terminal, instead of printing findings.
    """

    interfaces: Sequence[str] = ()
    threads: int = 1
    ring_mb: int = 64
    timestamps: str = timestamp.AUTO
    expression: str = ""
    reports: Sequence[str] = ()
    replay: str | None = None
    speed: float = 1.0
    connections: Polling | None = None
    profile: Path | None = None
    output: Path | None = None
    state: Path | None = None
    listening: Listening | None = None
    stay: bool = False
    webhook: str | None = None
    otlp: str | None = None
    recordings: Path | None = None
    parquet: Path | None = None
    evidence: Callable[[Profile], Sequence[CounterSource]] | None = None
    screen: bool = False


def run(options: Options) -> None:
    """Run until the replay ends or somebody asks to stop. Raises IntAnalyzerError for what cannot begin."""
    compiled = options.replay is None or is_large([options.replay])
    relief = Relief() if options.connections is None and options.replay is None else None

    def reload() -> None:
        sidecar.reload()
        _say(f"SIGHUP: {sidecar.reload_fault or 'all is read again'}")

    with ExitStack() as stack:
        signals = stack.enter_context(Signals(reload))
        source = stack.enter_context(open_source(options.replay)) if options.replay is not None else None
        sidecar = Sidecar(
            options.profile,
            sinks=_sinks(options),
            checkpoint=Checkpoint(options.state) if options.state is not None else None,
            compiled=compiled,
            connections=options.connections or FULL,
            relief=relief,
        )
        stack.callback(sidecar.close)
        recorder = None
        if options.recordings is not None:
            recorder = Recorder(options.recordings, profile=lambda: sidecar.profile, report_ports=lambda: sidecar.report_ports)
            sidecar.on_tick.append(recorder.reach)
        server = Server(options.listening) if options.listening is not None else None
        _inquire(sidecar, options, stack)
        tap = recorder.tap if recorder is not None else _untapped
        if options.interfaces:
            raise_capture()
        _open_live(sidecar, options, tap)
        if options.replay is None:
            _drop_privileges(sidecar)
        # from here on threads may begin: each has the privileges of then
        _connect(sidecar, options)
        if recorder is not None:
            # the last to be closed: it may take long, and what others keep must not wait for it
            sidecar.sinks.append(recorder)
        if sidecar.inquiry is not None:
            sidecar.inquiry.start()
        if compiled:
            # a ring would overflow while the first packets wait for the compiler
            compile_apart()
            warm_up()
        if sidecar.restored:
            _say(f"checkpoint: {sidecar.restored}")

        if server is not None:
            stack.callback(server.close)
            server.start(sidecar)
            sidecar.on_reload.append(server.reload)
            _say(f"listening at {server.url}")
        if not options.screen:
            sidecar.on_notice.append(_say)
        else:
            from int_analyzer.sidecar.screen import Screen

            sidecar.on_tick.append(stack.enter_context(Screen(sidecar, sys.stdout)).show)
        stack.enter_context(_settled())
        stack.enter_context(signals.stops())
        if source is None:
            sidecar.watch(signals.stopping)
            for worker in () if options.screen else sidecar.workers:
                _say(worker.describe())
            return
        replay = Replay(source, options.speed, sidecar.reach, compiled)
        sidecar.replay(sidecar.add(tap(replay), on_wall_clock=False), signals.stopping)
        for damage in source.damages:
            _say(f"int-analyzer: {options.replay}: {damage}")
        while options.stay and not sidecar.stopped and not signals.stopping(3600):
            continue


def _say(line: str) -> None:
    """A line on standard error; where that is a full disk, or nobody reads it any more, nothing stops for it."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def _drop_privileges(sidecar: Sidecar) -> None:
    """Keep what capturing needs; say so where another thread keeps more."""
    keeping = drop_privileges()
    if keeping:
        sidecar.concerns.append(f"{figure.things(keeping, 'thread')} with rights that the sidecar gave up")
        _say(sidecar.concerns[-1])


def compile_apart() -> None:
    """Let another process fill an empty cache of kernels: a compiler never gives its memory back, 200 MB for months."""
    if not _jit.DISABLED and not _jit.cached_kernels().get("decode_batch"):
        # where nothing can be kept it fails, and this process compiles
        subprocess.run([sys.executable, "-m", "int_analyzer", "warmup"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def _settled() -> Iterator[None]:
    """Have Python not look again and again whether what was loaded is still in use: 170 000 objects, while a judgement makes many."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _sinks(options: Options) -> list[Sink]:
    """Where events go."""
    sinks: list[Sink] = [] if options.screen and options.output is None else [EventLog(options.output)]
    if options.webhook is not None:
        sinks.append(Webhook(options.webhook))
    return sinks


def _connect(sidecar: Sidecar, options: Options) -> None:
    """What is done after every second and every tick."""
    if options.parquet is not None:
        from int_analyzer.sidecar.queue_log import QueueLog

        queue_log = QueueLog(options.parquet)
        sidecar.sinks.append(queue_log)
        sidecar.on_second.append(queue_log.add)
    if options.otlp is not None:
        require_extra(options.otlp)
        from int_analyzer.sidecar.telemetry import Telemetry

        sidecar.on_tick.append(Telemetry(sidecar, options.otlp).tell)


def _inquire(sidecar: Sidecar, options: Options, stack: ExitStack) -> None:
    """Ask for counters from outside, for the first time."""
    evidence = options.evidence
    if evidence is not None:
        sidecar.inquiry = Inquiry(lambda: evidence(sidecar.profile))
        stack.callback(sidecar.inquiry.close)


def _untapped(intake: Intake) -> Intake:
    return intake


def _open_live(sidecar: Sidecar, options: Options, tap: Callable[[Intake], Intake]) -> None:
    """Open what packets will come from; none comes yet."""
    program = compile_filter(options.expression) if options.expression else b""
    for interface in options.interfaces:
        fanout = Fanout() if options.threads > 1 else None
        for _ in range(options.threads):
            ring = Ring(interface, fanout, program, blocks=options.ring_mb, compiled=sidecar.compiled, timestamps=options.timestamps)
            sidecar.add(tap(ring))
        _say(f"{interface}: times are of the {ring.clock}")
        if merged := merging(interface):
            told = " ".join(f"{name} off" for name in merged)
            _say(f"{interface}: TCP segments may come merged, with the telemetry of the first alone: ethtool -K {interface} {told}")
    for address in options.reports:
        intake = ReportSocket(*parse_address(address))
        sidecar.add(tap(intake), report_port=intake.port)
