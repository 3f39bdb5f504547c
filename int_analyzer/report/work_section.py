"""Storage I/O and jobs as labelled lines: what was seen, whose fault it is, and what keeps this from being exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from int_analyzer.analysis.summary import JobMember, JobSummary, Quantiles, StoragePlace, StorageSummary, Summary
from int_analyzer.report import figure
from int_analyzer.report.grid import Grid

_NAMED = 3


def work_headline(summary: Summary) -> tuple[str, str]:
    """The answer in one line, and its style: which hosts are slow, or may be."""
    roce = summary.roce
    if roce is not None and roce.tracking.mode == "polling":
        followed = f"connections are polled, each {figure.share(roce.tracking.time_share)} of the time"
        return f"HOSTS NOT JUDGED  {followed}: by that share of them nobody is called healthy", "bold yellow"
    if summary.storage is None and not summary.jobs and (summary.messages is None or not summary.messages.judged):
        return "NO JOBS  neither storage I/O nor a collective shows in the RoCEv2 messages", "bold yellow"
    for label, word, style in (("slow", "SLOW HOST", "bold magenta"), ("suspect", "SUSPECT HOST", "bold yellow")):
        named = [host.name or host.host for host in summary.hosts if host.label == label]
        if named:
            more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
            return f"{word}{'' if len(named) == 1 else 'S'}  {', '.join(named[:_NAMED])}{more}, of {len(summary.hosts)}", style
    judged = _judged(summary)
    if not judged:
        return "HOSTS NOT JUDGED  of none of them a message, a step of a job or storage I/O was seen that can be timed", "bold yellow"
    left = len(summary.hosts) - judged
    return f"NO SLOW HOST  among {judged}" + (f"; {left} more could not be judged" if left else ""), "bold green"


def _judged(summary: Summary) -> int:
    """Hosts that would have been called slow, had they been: by their messages, as members of a job, or by their storage I/O."""
    places = [*summary.storage.hosts, *summary.storage.targets] if summary.storage is not None else []
    measured = {place.host for place in places if place.dpl.p50 is not None} | {
        place.target for place in places if place.dal.p50 is not None
    }
    return sum(host.stall_of != "unknown" or bool(host.jobs) or host.host in measured for host in summary.hosts)


def storage_lines(storage: StorageSummary, most: int) -> Iterator[tuple[str, str]]:
    """(label, text) of every line of the section; a label is empty where the line continues the one before."""
    ends = f"{figure.things(len(storage.hosts), 'host')}, {figure.things(len(storage.targets), 'target')}"
    measured = f"{figure.count(storage.writes)} writes and {figure.count(storage.reads)} reads measured"
    yield "commands", f"{figure.count(storage.commands)} ({ends}), {measured}; medians of"
    yield "", "DPL (the host prepares), RTT (the network) and DAL (the target answers):"
    for label, places in (("hosts", storage.hosts), ("targets", storage.targets)):
        yield from _place_lines(label, places, most)
    for position, note in enumerate(storage.notes):
        yield "" if position else "but", note


def _place_lines(label: str, places: list[StoragePlace], most: int) -> Iterator[tuple[str, str]]:
    """Those that are not healthy first, then those with the longest segment."""
    ranked = sorted(places, key=lambda place: (place.verdict == "healthy", -max(_p50(place.dpl), _p50(place.rtt), _p50(place.dal))))
    grid = Grid()
    for place in ranked[:most]:
        grid.add(
            place.host or place.target or "",
            place.verdict,
            *(f"{name} {_median(segment)}" for name, segment in (("DPL", place.dpl), ("RTT", place.rtt), ("DAL", place.dal))),
        )
    for position, line in enumerate(grid.lines()):
        yield "" if position else label, line
    if len(places) > most:
        yield "", f"and {len(places) - most} more"
    for place in ranked[:most]:
        if place.reason:
            yield "", f"{place.host or place.target}: {place.reason}"


def job_lines(job: JobSummary, most: int) -> Iterator[tuple[str, str]]:
    """(label, text) of the lines of one job."""
    labels = Counter(member.label for member in job.members)
    known = f"group {job.group}" if job.group is not None else "inferred from its traffic"
    told = ", ".join(f"{number} {label}" for label, number in sorted(labels.items()))
    yield job.kind, f"{figure.things(len(job.members), 'member')} ({known}): {told}"
    steps = f"{figure.things(job.steps, 'step' if job.kind == 'ring' else 'round')} of {_duration(job.step)}"
    if job.step_variance_ns is not None:
        steps += f", ± {figure.duration(job.step_variance_ns)} between members"
    yield "steps", steps
    if job.iteration_ns is not None:
        jitter = f", jitter {figure.duration(job.iteration_jitter_ns)}" if job.iteration_jitter_ns is not None else ""
        share = f", {figure.share(job.communication_share)} of it communication" if job.communication_share is not None else ""
        yield "iterations", f"{job.iterations} of {figure.duration(job.iteration_ns)}{jitter}{share}"
    if job.balance is not None:
        yield "balance", f"{job.balance:.2f} (largest ÷ mean of the bytes received)"
    troubled = [member for member in job.members if member.label != "healthy"]
    for position, member in enumerate(troubled[:most]):
        yield "" if position else "members", _member(member)
    if len(troubled) > most:
        yield "", f"and {len(troubled) - most} more"
    if job.slow_messages:
        yield "messages", f"{figure.things(job.slow_messages, 'slow message')}, {figure.duration(job.delay_ns)} longer than usual in all"
    for position, note in enumerate(job.notes):
        yield "" if position else "but", note


def _member(member: JobMember) -> str:
    since = f", since {figure.clock(member.since_ns)}" if member.since_ns is not None else ""
    return f"{member.host} {member.label}{since}: {member.reason}"


def _duration(quantiles: Quantiles) -> str:
    """Median and 99th percentile; a dot where there is no value."""
    if quantiles.p50 is None or quantiles.p99 is None:
        return "·"
    return f"{figure.duration(quantiles.p50)} (p99 {figure.duration(quantiles.p99)})"


def _median(quantiles: Quantiles) -> str:
    return figure.duration(quantiles.p50) if quantiles.p50 is not None else "·"


def _p50(quantiles: Quantiles) -> float:
    return quantiles.p50 or 0.0
