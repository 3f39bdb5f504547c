"""Under overload whole blocks of packets are let go of and counted, and what is found is still right."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from namespace import in_namespace, needs_namespaces, sender
from test_sidecar import Heard
from traffic import CONGESTED, HEALTHY, SECOND, frames

from int_analyzer.live.ring import Ring
from int_analyzer.profile import Profile
from int_analyzer.sidecar.judgement import Judge, Judgement
from int_analyzer.sidecar.service import Sidecar, Snapshot
from int_analyzer.sidecar.sliding import Sliding
from int_analyzer.sidecar.track import Event
from int_analyzer.sidecar.worker import Worker

pytestmark = needs_namespaces

BLOCKS, BLOCK_BYTES = 12, 1 << 16
EACH_S = 0.22
"""What a block costs here; ten of them come every second at least."""
CALM_S = 4
JUDGING_S = 2.3


class Slow:
    """An intake whose reader needs its time for every window."""

    def __init__(self, intake: Ring, seconds: float) -> None:
        self._intake = intake
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._intake, name)

    def windows(self) -> Iterator[Any]:
        for window in self._intake.windows():
            yield window
            time.sleep(self._seconds)


class Thoughtful(Judge):
    """A judge that needs its time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(Profile())
        self._seconds = seconds

    def judge(self, sliding: Sliding, lasting: bool) -> Judgement:
        time.sleep(self._seconds)
        return super().judge(sliding, lasting)


@dataclass
class Watched:
    """What a sidecar said and knew (`snapshot`: while it ran), and how many packets were sent."""

    sidecar: Sidecar
    events: list[Event]
    snapshot: Snapshot
    worker: Worker
    sent: int


def watched(each_s: float, judging_s: float = 0.0) -> Watched:
    """Calm, then congestion, as it was, past a sidecar that needs so long for a block, and so much longer for a judgement."""

    def work() -> Watched:
        heard = Heard()
        sidecar = Sidecar(sinks=[heard], compiled=False)
        sidecar.judge = Thoughtful(judging_s)
        ring = Ring("mirror0", blocks=BLOCKS, block_bytes=BLOCK_BYTES, compiled=False)
        worker = sidecar.add(Slow(ring, each_s))  # type: ignore[arg-type]
        over = threading.Event()
        thread = threading.Thread(target=sidecar.watch, args=(over.wait,))
        thread.start()
        time.sleep(0.3)
        calm = [entry for entry in frames(HEALTHY) if entry[0] < CALM_S * SECOND]
        timed = calm + [(time_ns + CALM_S * SECOND, data) for time_ns, data in frames(CONGESTED)]
        began = time.monotonic()
        with sender() as mirror:
            for time_ns, data in timed:
                time.sleep(max(began + time_ns / SECOND - time.monotonic(), 0))
                mirror.send(data)
        time.sleep(1.5)
        snapshot = sidecar.snapshot
        assert snapshot is not None
        over.set()
        thread.join()
        return Watched(sidecar, heard.events, snapshot, worker, len(timed))

    result: Watched = in_namespace(work)
    return result


@pytest.fixture(scope="module")
def overloaded() -> Watched:
    return watched(EACH_S)


def test_whole_blocks_are_shed_and_counted(overloaded: Watched) -> None:
    losses, lane = overloaded.worker.intake.losses, overloaded.worker.lane
    assert losses.own > 0.2 * overloaded.sent and losses.kernel < 0.1 * losses.own
    assert lane.packets + losses.own + losses.kernel + lane.lost == overloaded.sent


def test_the_finding_is_the_right_port_all_the_same(overloaded: Watched) -> None:
    starts = [event.finding for event in overloaded.events if event.event == "start"]
    assert [(finding["node"], finding["port"], finding["role"]) for finding in starts] == [("2", "2", "root")]


def test_what_was_shed_lowers_confidence_and_trust_and_is_said(overloaded: Watched) -> None:
    (finding,) = overloaded.snapshot.findings
    relaxed = watched(0.0)
    (whole,) = relaxed.snapshot.findings
    assert relaxed.worker.intake.losses.own == 0
    assert finding["confidence"] < 0.9 * whole["confidence"]
    assert any("of the reports or mirrored packets are lost" in doubt for doubt in finding["evidence"])
    quality = overloaded.snapshot.judgement.summary.quality
    assert quality is not None and quality.trust == "low"
    assert "of the packets were not captured" in quality.trust_reasons[0]


def test_a_judgement_that_takes_longer_than_its_second_loses_no_packet_and_judges_what_is_newest() -> None:
    slow = watched(0.0, judging_s=JUDGING_S)
    sidecar, lane, losses = slow.sidecar, slow.worker.lane, slow.worker.intake.losses
    assert (losses.own, losses.kernel, lane.lost, lane.packets) == (0, 0, 0, slow.sent)
    # Every second is counted, though not after every one was there a judgement: one of them takes all that have ended meanwhile.
    assert sidecar.snapshot is not None
    seconds = [second for second in sidecar.snapshot.seconds if second.packets]
    assert sum(second.packets for second in seconds) == slow.sent
    assert 2 <= sidecar.stages["judge"].runs < len(seconds)
    starts = [event.finding for event in slow.events if event.event == "start"]
    assert [(finding["node"], finding["port"], finding["role"]) for finding in starts] == [("2", "2", "root")]
