"""The sidecar itself: workers fold, and every second the slices that have ended are closed, judged, said and published."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from int_analyzer.analysis.summarise import summarise
from int_analyzer.analysis.summary import Summary
from int_analyzer.errors import IntAnalyzerError
from int_analyzer.fold.state import State
from int_analyzer.fold.view import SequenceView
from int_analyzer.live.intake import Intake
from int_analyzer.profile import Profile, load_profile
from int_analyzer.sidecar.checkpoint import FINISH_S, Checkpoint, Unusable
from int_analyzer.sidecar.event_log import EventLog
from int_analyzer.sidecar.history import History, Second
from int_analyzer.sidecar.inquiry import Inquiry
from int_analyzer.sidecar.judgement import Judge, Judgement
from int_analyzer.sidecar.lifetime import Lifetime
from int_analyzer.sidecar.marks import Marks
from int_analyzer.sidecar.polling import FULL, Polling
from int_analyzer.sidecar.relief import Load, Relief
from int_analyzer.sidecar.sliding import CAPACITY, GRACE_NS, JUMP_NS, SECOND_NS, SLICES, STEP_NS, Sliding
from int_analyzer.sidecar.stage import Stage
from int_analyzer.sidecar.track import Event, Tracks
from int_analyzer.sidecar.worker import Worker

CHECKPOINT_NS = 5 * SECOND_NS
RECENT = 100
"""Events that are remembered for whoever asks."""


class Sink(Protocol):
    """Where events go. It never raises: what cannot be delivered is counted in `faults`, and `fault` says why."""

    faults: int
    fault: str

    def take(self, events: Sequence[Event]) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Snapshot:
    """What is known after a tick; nothing of it changes any more. now_ns: capture clock.

    findings: those that last; counts: totals, as Lifetime.counts; ports: int64[n, 5], as Lifetime.ports; seconds: the last two minutes;
    heard, measured: as in History.
    """

    now_ns: int
    judgement: Judgement
    findings: list[dict[str, Any]]
    started: dict[str, int]
    counts: dict[str, dict[Any, int]]
    streams: SequenceView
    ports: Any
    other_ports: tuple[int, int]
    seconds: list[Second]
    heard: int
    measured: int
    profile: Profile
    published: float
    """time.monotonic() when it was made."""


class Sidecar:
    """Sources come in by `add`, what is found goes to the sinks; `snapshot` is the last tick's.

    connections: which are followed, by `relief` if there is one; inquiry: what asks for counters from outside, if any does; stages: time
    and number of runs of what a tick does; reload_faults: what was read again and refused since the start; recent: the last events;
    on_second: called with every second that was closed, and its state; on_notice: called with a line for the log; on_tick: called after a
    tick; on_reload: called to read something again, may raise IntAnalyzerError; concerns: what is wrong with the process for as long as
    it runs; closed_connections: how many the HTTP server has closed, by reason; over: a replay has come to its end; stopped: because
    somebody asked for it.
    """

    def __init__(
        self,
        profile_path: Path | None = None,
        sinks: Sequence[Sink] = (),
        checkpoint: Checkpoint | None = None,
        compiled: bool = True,
        connections: Polling = FULL,
        relief: Relief | None = None,
    ) -> None:
        self.profile_path = profile_path
        self.profile = load_profile(profile_path) if profile_path is not None else Profile()
        self.sinks = list(sinks)
        self.checkpoint = checkpoint
        self.compiled = compiled
        self.relief = relief
        self.inquiry: Inquiry | None = None
        self.connections = connections = relief.connections if relief is not None else connections
        self.sliding = Sliding(CAPACITY._replace(subsets=connections.of, subsets_followed=connections.part), compiled)
        self.judge = Judge(self.profile)
        self.tracks = Tracks()
        self.marks = Marks()
        self.lifetime = Lifetime()
        self.history = History()
        self.workers: list[Worker] = []
        self.stages = {name: Stage() for name in ("close", "judge", "tell", "publish", "checkpoint")}
        self.reload_faults = 0
        self.reload_fault = ""
        self.restored = ""
        self.snapshot: Snapshot | None = None
        self.recent: deque[dict[str, Any]] = deque(maxlen=RECENT)
        self.on_second: list[Callable[[int, State], None]] = [self.history.add]
        self.on_notice: list[Callable[[str], None]] = []
        self.on_tick: list[Callable[[int], None]] = []
        self.on_reload: list[Callable[[], None]] = []
        self.concerns: list[str] = []
        self.closed_connections: Counter[str] = Counter()
        self.over = False
        self.stopped = False
        self._load = Load()
        self._clocks: list[str] = []
        self._lock = threading.Lock()
        self._next_ns = 0
        self._reached_ns = 0
        self._doubted_ns = 0
        self._saved_ns = 0
        if checkpoint is not None:
            self._restore(checkpoint)

    def add(self, intake: Intake, on_wall_clock: bool = True, report_port: int | None = None) -> Worker:
        """Take in a source, as Worker does; it is read once `replay` or `watch` runs."""
        worker = Worker(intake, self.sliding, self.profile, self.compiled, on_wall_clock, report_port)
        self.workers.append(worker)
        return worker

    @property
    def report_ports(self) -> list[int]:
        """UDP ports of which all that comes is a report."""
        return [worker.report_port for worker in self.workers if worker.report_port is not None]

    def reload(self) -> None:
        """Read the profile again, and what `on_reload` reads, and go on with it; what is not valid is refused and counted."""
        for sink in self.sinks:
            if isinstance(sink, EventLog):
                sink.reopen()
        faults = []
        for read in (self._read_profile, *self.on_reload):
            try:
                read()
            except IntAnalyzerError as error:
                faults.append(str(error))
        self.reload_faults += len(faults)
        self.reload_fault = "; ".join(faults)

    def _read_profile(self) -> None:
        if self.profile_path is None:
            return
        self.profile = self.judge.profile = profile = load_profile(self.profile_path)
        for worker in self.workers:
            worker.use(profile)

    def reach(self, now_ns: int) -> None:
        """The capture clock has come to `now_ns`, or so a packet says: tick as often as seconds have ended.

        A clock that leaps, forwards or back, is believed when the next packets say so too.
        """
        if now_ns <= 0:
            return
        if self._reached_ns and abs(now_ns - self._reached_ns) > STEP_NS and abs(now_ns - self._doubted_ns) > STEP_NS:
            self._doubted_ns = now_ns
            return
        self._doubted_ns = 0
        self._reached_ns = now_ns
        if not -STEP_NS <= now_ns - self._next_ns <= JUMP_NS:
            self._next_ns = now_ns // SECOND_NS * SECOND_NS + GRACE_NS
        while self._next_ns <= now_ns:
            self.tick(self._next_ns)
            self._next_ns += SECOND_NS

    def tick(self, now_ns: int) -> None:
        """Close, judge, tell, publish, keep."""
        stages = self.stages
        with self._lock, stages["close"]:
            if self.sliding.stepped(now_ns):
                self.tracks.shift(now_ns)
                self.judge.forget()
                self.history.clear()
            before = self.sliding.end
            pieces = self.sliding.advance(now_ns)
            for piece in pieces:
                self.lifetime.add(piece)
            self._look_at_clocks()
            self._relieve(now_ns, sum(piece.connections.turns.packets for piece in pieces))
            end = self.sliding.end
            # Before the first tick there was nothing but what has been captured.
            first = before or min(self.sliding.slices, default=end)
            for number in range(max(first, end - SLICES), end):
                state = self.sliding.slice(number)
                for take in self.on_second:
                    take(number, state)
        if self.inquiry is not None:
            self.inquiry.reach(now_ns)
            self.judge.counters = self.inquiry.counters
        with stages["judge"]:
            with self._lock:
                # it is made of stretches, which are looked at from other threads
                self.sliding.last_ten()
            judgement = self.judge.judge(self.sliding, bool(self.tracks.lasting))
            events = self.tracks.update(now_ns, judgement.findings, judgement.from_ns, judgement.polled)
            self._hold_marks()
        with stages["tell"]:
            self.tell(events)
        with stages["publish"]:
            self._publish(now_ns, judgement)
            for look in self.on_tick:
                look(now_ns)
        if self.checkpoint is not None and not 0 <= now_ns - self._saved_ns < CHECKPOINT_NS:
            self.save(now_ns)

    def last_minute(self) -> Summary:
        """The analysis of the last minute; may be called from any thread."""
        with self._lock:
            state = self.sliding.last_minute()
        return summarise(state.view(), self.profile, counters=self.judge.counters)

    def tell(self, events: Sequence[Event]) -> None:
        """Give events to all sinks."""
        self.recent.extend(event.document() for event in events)
        for sink in self.sinks if events else ():
            sink.take(events)

    def save(self, now_ns: int) -> None:
        """Begin to write the checkpoint, unless the one before is still being written."""
        if self.checkpoint is None:
            return
        with self._lock, self.stages["checkpoint"]:
            rest = {"now_ns": now_ns, "end": self.sliding.end, "tracks": self.tracks.kept()}
            self.checkpoint.write(now_ns, self.sliding.stretches, self.judge.calm, self.lifetime, rest)
            self._saved_ns = now_ns

    def replay(self, worker: Worker, stopping: Callable[[float], bool]) -> None:
        """Run a replay, whose worker calls `reach`, to its end; `stopping` waits so many seconds and says whether to stop."""
        worker.start()
        while worker.is_alive():
            if stopping(0.1):
                self.stopped = True
                worker.intake.stop()
            worker.join(0.1)
        self._raise_failures()
        self.over = True
        if self._reached_ns:
            judged_ns = -(-self._reached_ns // SECOND_NS) * SECOND_NS + GRACE_NS
            self.tick(judged_ns)
            if self.tracks.unsaid:
                # What began in the last second is confirmed by the next judgement, as it would be on a live interface.
                judged_ns += SECOND_NS
                self.tick(judged_ns)
            self.tell(self.tracks.end_all(judged_ns, "the replay ends"))
            self._save_last(self._reached_ns)

    def watch(self, stopping: Callable[[float], bool]) -> None:
        """Run live sources until `stopping` (which waits so many seconds) says so. What lasts then goes on after the next start."""
        # what lasted before a restart lasts until it has not been seen for some time
        self.tracks.shift(time.time_ns())
        for worker in self.workers:
            worker.start()
        while not stopping(SECOND_NS / 1e9 - (time.time_ns() - GRACE_NS) % SECOND_NS / 1e9):
            self._raise_failures()
            self.tick(time.time_ns())
        for worker in self.workers:
            worker.intake.stop()
        for worker in self.workers:
            worker.join()
        now_ns = time.time_ns()
        self.tick(now_ns + SECOND_NS)
        if self.checkpoint is None:
            self.tell(self.tracks.end_all(now_ns + SECOND_NS, "the sidecar stops"))
        self._save_last(now_ns)
        self._raise_failures()

    def _save_last(self, now_ns: int) -> None:
        """Write the checkpoint that the next start goes on from."""
        if self.checkpoint is not None:
            deadline = time.monotonic() + FINISH_S
            for last in (False, True):
                if last:
                    self.save(now_ns)
                if not self.checkpoint.finish(deadline - time.monotonic()):
                    self._notice(f"the last checkpoint is not written: the disk took more than {FINISH_S:g} s")
                    return
            if self.checkpoint.fault:
                self._notice(f"the last checkpoint is not written: {self.checkpoint.fault}")

    def close(self) -> None:
        """Let go of the sinks."""
        for sink in self.sinks:
            sink.close()

    def _relieve(self, now_ns: int, followable: int) -> None:
        """Follow a part of the connections, or all again, when it is time for that. followable: RoCEv2 packets of the last second."""
        if self.relief is not None and self.relief.look(now_ns, followable, *self._load.look(self.workers)):
            self.connections = self.relief.connections
            self.sliding.follow(self.connections.part)
            self._notice(f"connections: {self.relief.describe()}")

    def _hold_marks(self) -> None:
        """Have slices know how low the queues were in which something was found."""
        calm = [self.judge.calm] if self.judge.calm is not None else []
        with self._lock:
            self.marks.update(self.tracks.places, [*self.sliding.stretches.values(), *calm])
        self.sliding.judge_by(self.marks.rows if len(self.marks.rows) else None)

    def _look_at_clocks(self) -> None:
        """Say so when a source has another clock than at the last look."""
        clocks = [worker.intake.clock.partition(":")[0] for worker in self.workers]
        for worker, before, clock in zip(self.workers, self._clocks or clocks, clocks, strict=True):
            if clock != before:
                self._notice(f"{worker.intake.name}: times are now of the {worker.intake.clock}")
        self._clocks = clocks

    def _notice(self, line: str) -> None:
        for tell in self.on_notice:
            tell(line)

    def _publish(self, now_ns: int, judgement: Judgement) -> None:
        lifetime = self.lifetime
        snapshot = Snapshot(
            now_ns=now_ns,
            judgement=judgement,
            findings=[dict(finding) for finding in self.tracks.lasting],
            started=dict(self.tracks.started),
            counts=lifetime.counts(),
            streams=lifetime.streams(),
            ports=lifetime.ports.data.copy(),
            other_ports=(lifetime.other_packets, lifetime.other_bytes),
            seconds=list(self.history.seconds),
            heard=self.history.heard,
            measured=self.history.measured,
            profile=self.profile,
            published=time.monotonic(),
        )
        self.snapshot = snapshot

    def _restore(self, checkpoint: Checkpoint) -> None:
        if not checkpoint.exists():
            return
        try:
            rest, stretches, calm = checkpoint.read(self.lifetime, self.sliding.slice(0))
        except Unusable as error:
            self.restored = f"begins anew, without {error}"
            self.lifetime = Lifetime()
            return
        self.sliding.stretches.update(stretches)
        self.sliding.end = rest["end"]
        self.judge.calm = calm
        self.tracks.restore(rest["tracks"])
        self._next_ns = self._reached_ns = rest["now_ns"]
        without = "".join(f", without {told}" for told in checkpoint.unusable)
        self.restored = f"goes on from {len(stretches)} stretches of ten seconds and {len(self.tracks.lasting)} findings{without}"

    def _raise_failures(self) -> None:
        for worker in self.workers:
            if worker.failure is not None:
                raise worker.failure
