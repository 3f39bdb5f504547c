"""The thread of one source: packets to columns to the open states of its lane."""

from __future__ import annotations

import sys
import threading
import time

from int_analyzer.decode import Decoder
from int_analyzer.live.intake import Intake
from int_analyzer.profile import Profile
from int_analyzer.settings import ROLE_REPORT, Settings
from int_analyzer.sidecar.packet_sample import PacketSample, pick
from int_analyzer.sidecar.sliding import SECOND_NS, Sliding


class Worker(threading.Thread):
    """Decodes and folds until its intake ends.

    on_wall_clock: packets are stamped with this machine's time, so that one from the future is none of ours; of a replay they are not.
    report_port: what comes to that UDP port is a report, whatever the profile says.
    decode_s and fold_s: processor time; failure: what ended it, if that was not the intake; sample: a packet with its hops, picked
    from the next batch that has one when sample_wanted is set.
    """

    def __init__(
        self, intake: Intake, sliding: Sliding, profile: Profile, compiled: bool, on_wall_clock: bool = True, report_port: int | None = None
    ) -> None:
        super().__init__(name=intake.name, daemon=True)
        self.intake = intake
        self.lane = sliding.lane()
        self.batches = 0
        self.decode_s = 0.0
        self.fold_s = 0.0
        self.failure: BaseException | None = None
        self.sample: PacketSample | None = None
        self.sample_wanted = False
        self._sliding = sliding
        self._on_wall_clock = on_wall_clock
        self.report_port = report_port
        self._decoder = Decoder(self._settings(profile), compiled=compiled)

    def use(self, profile: Profile) -> None:
        """Decode what comes from now on by another profile."""
        self._decoder.settings = self._settings(profile)

    def _settings(self, profile: Profile) -> Settings:
        made = profile.settings()
        if self.report_port is not None:
            made.port_roles[self.report_port] = ROLE_REPORT
        return made

    def describe(self) -> str:
        """One line of what became of the packets."""
        lane, losses = self.lane, self.intake.losses
        each = 1e9 / max(lane.packets, 1)
        return (
            f"{self.intake.name}: {lane.packets} packets, {lane.late} of them late; not folded: "
            f"{losses.kernel} dropped by the kernel, {losses.own} shed, {lane.lost} of another time; "
            f"{self.decode_s * each:.0f} ns to decode and {self.fold_s * each:.0f} ns to fold each"
        )

    def run(self) -> None:
        """Work; whatever ends it is kept for the thread that waits."""
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever joins
            self.failure = error

    def _work(self) -> None:
        # time of this thread alone: waiting for packets, and for the processor, costs it none
        began = time.thread_time()
        missed = 0
        for columns in self._decoder.batches(self.intake):
            decoded = time.thread_time()
            newest = time.time_ns() // SECOND_NS + 1 if self._on_wall_clock else sys.maxsize
            lost = self.intake.losses.kernel + self.intake.losses.own
            if self.lane.fold(columns, self._sliding.oldest, newest, lost - missed):
                missed = lost
            if self.sample_wanted and (sample := pick(columns)) is not None:
                self.sample, self.sample_wanted = sample, False
            folded = time.thread_time()
            self.batches += 1
            self.decode_s += decoded - began
            self.fold_s += folded - decoded
            began = folded
