"""The analysis of the last ten seconds, every second, with a memory of what was usual before.

A queue that has been congested for longer than ten seconds has no calm time left in them. So the last ten seconds in which nothing was
found are kept, and while something is found (or lasts), they stand before the ten that are judged: as in a capture that begins calm.
"""

from __future__ import annotations

from dataclasses import dataclass

from int_analyzer.analysis.span import capture_start
from int_analyzer.analysis.summarise import summarise
from int_analyzer.analysis.summary import Finding, Summary
from int_analyzer.evidence.series import Counters
from int_analyzer.fold.state import State
from int_analyzer.profile import Profile
from int_analyzer.sidecar.polling import FULL
from int_analyzer.sidecar.sliding import SLICES, Sliding


@dataclass(frozen=True)
class Judgement:
    """summary: of the last ten seconds alone; findings: of these, judged by what was usual before too.

    from_ns: the begin of what the findings were judged by, from which the times in their evidence count; 0 if nothing has a time.
    """

    summary: Summary
    findings: list[Finding]
    from_ns: int

    @property
    def polled(self) -> bool:
        """Whether only a part of the connections was followed in these ten seconds, or in a part of them."""
        return self.summary.roce is not None and self.summary.roce.tracking.mode != FULL.mode


class Judge:
    """calm: the state of ten seconds in which, and in the ten after which, nothing was found; counters: what was counted outside."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.calm: State | None = None
        self.counters: Counters | None = None
        self._candidate: tuple[int, State] | None = None

    def judge(self, sliding: Sliding, lasting: bool) -> Judgement:
        """Judge the last ten slices; `lasting`: something found before has not ended yet."""
        ten = sliding.last_ten()
        view = ten.view()
        summary = summarise(view, self.profile, counters=self.counters)
        findings = summary.findings
        if self.calm is not None and (findings or lasting):
            whole = self.calm.copy()
            whole.merge(ten)
            view = whole.view()
            findings = summarise(view, self.profile, counters=self.counters).findings
        self._remember(sliding, ten, calm=not findings and not lasting)
        return Judgement(summary, findings, capture_start(view) if len(view.buckets.start_ns) else 0)

    def forget(self) -> None:
        """The clock was set: what was usual is of another time, and stays usual; what was about to be is forgotten."""
        self._candidate = None

    def _remember(self, sliding: Sliding, ten: State, calm: bool) -> None:
        if not calm:
            self._candidate = None
        elif self._candidate is None:
            if len(ten.queues.table):
                self._candidate = (sliding.end, ten)
        elif sliding.end >= self._candidate[0] + SLICES:
            self.calm = self._candidate[1]
            self._candidate = (sliding.end, ten) if len(ten.queues.table) else None
