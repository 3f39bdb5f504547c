"""Work: storage I/O and jobs as the order of messages shows them, and which hosts are in trouble while the network is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from int_analyzer.analysis.hosts.clearance import Clearance
from int_analyzer.analysis.hosts.job import find_jobs
from int_analyzer.analysis.hosts.message import Messages
from int_analyzer.analysis.hosts.storage import segment
from int_analyzer.analysis.hosts.trouble import Trouble, find_slow_storage
from int_analyzer.analysis.hosts.verdict import judge_storage
from int_analyzer.analysis.hosts.work_summary import JobSummary, StorageSummary
from int_analyzer.analysis.summary import Finding
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile


@dataclass(frozen=True)
class Work:
    """Storage I/O (None without any), jobs, and troubles of their hosts."""

    storage: StorageSummary | None
    jobs: list[JobSummary]
    troubles: list[Trouble]


def find_work(view: View, profile: Profile, findings: Sequence[Finding], messages: Messages) -> Work:
    """What hosts do by their messages, judged beside what was found in the network.

    Of polled connections only messages are told: who waits for whom shows in all of them.
    """
    if view.connections.tracking.polled:
        return Work(None, [], [])
    clearance = Clearance(view, findings)
    jobs, troubles = find_jobs(view.connections, messages, profile, clearance, view.journal.forgotten)
    storage = segment(view.connections, messages)
    if storage is None:
        return Work(None, jobs, troubles)
    return Work(judge_storage(view, storage, clearance), jobs, [*troubles, *find_slow_storage(storage, clearance)])
