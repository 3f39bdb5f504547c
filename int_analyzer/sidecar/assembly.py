"""From options to a running sidecar: what is opened, in which order, and how it ends."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from int_analyzer.capture import open_source
from int_analyzer.live.replay import Replay
from int_analyzer.reading import is_large
from int_analyzer.result import warm_up
from int_analyzer.sidecar.checkpoint import Checkpoint
from int_analyzer.sidecar.event_log import EventLog
from int_analyzer.sidecar.service import Sidecar
from int_analyzer.sidecar.signals import Signals


@dataclass(frozen=True)
class Options:
    """What the command line said. replay: a capture; speed: capture seconds per second; state: folder of the checkpoint."""

    replay: str | None = None
    speed: float = 1.0
    profile: Path | None = None
    output: Path | None = None
    state: Path | None = None


def run(options: Options) -> None:
    """Run until the replay ends or somebody asks to stop. Raises IntAnalyzerError for what cannot begin."""
    with ExitStack() as stack:
        source = stack.enter_context(open_source(options.replay)) if options.replay is not None else None
        compiled = options.replay is None or is_large([options.replay])
        sidecar = Sidecar(
            options.profile,
            sinks=[EventLog(options.output)],
            checkpoint=Checkpoint(options.state) if options.state is not None else None,
            compiled=compiled,
        )
        stack.callback(sidecar.close)
        if compiled:
            # a ring would overflow while the first packets wait for the compiler
            warm_up()
        if sidecar.restored:
            print(f"checkpoint: {sidecar.restored}", file=sys.stderr)

        def reload() -> None:
            sidecar.reload()
            print(f"profile: {sidecar.reload_fault or 'read again'}", file=sys.stderr)

        signals = stack.enter_context(Signals(reload))
        if source is not None:
            replay = Replay(source, options.speed, sidecar.reach, compiled)
            sidecar.replay(sidecar.add(replay, on_wall_clock=False), signals.stopping)
            for damage in source.damages:
                print(f"int-analyzer: {options.replay}: {damage}", file=sys.stderr)
