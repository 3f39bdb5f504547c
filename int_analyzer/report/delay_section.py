"""Slow messages and hosts as labelled lines: where the time went, who stood waiting, and what that cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from int_analyzer.analysis.summary import DelayPart, Finding, HostSummary, MessageDelay, MessagesSummary, QueueDelays
from int_analyzer.report import figure
from int_analyzer.report.grid import Grid

_MOST_PARTS = 3
_LEAST_SHARE = 0.01
_WORDS = {
    "resent": "until packets were sent again",
    "elsewhere": "elsewhere (a host, or hops that tell nothing)",
    "not-seen": "not seen",
    "usual": "as usual",
}


def message_lines(messages: MessagesSummary, findings: Sequence[Finding], top: int) -> Iterator[tuple[str, str]]:
    """(label, text) of every line of the section; a label is empty where the line continues the one before."""
    seen = f"{figure.count(messages.slow)} of {figure.things(messages.judged, 'message')} took at least twice as long as their like"
    yield "slow", seen + (f": {figure.duration(messages.delay_ns)} more in all" if messages.slow else "")
    lost = [
        *(("in queues", messages.in_queues_ns), ("until packets were sent again", messages.resent_ns)),
        ("at paused hosts", messages.host_paused_ns),
        *(("elsewhere", messages.elsewhere_ns), ("not seen", messages.not_seen_ns)),
    ]
    told = sum(ns for _, ns in lost)
    if told:
        where = ", ".join(f"{figure.share(ns / told)} {place}" for place, ns in lost if ns)
        yield "lost", where + (f"; {messages.unknown} of them are not told" if messages.unknown else "")
    for position, delay in enumerate(messages.worst[:top]):
        for number, line in enumerate(delay_lines(delay, findings)):
            yield "" if position or number else "worst", line
    left = messages.slow - min(len(messages.worst), top)
    if left:
        yield "", f"and {figure.count(left)} more"
    for position, note in enumerate(messages.notes):
        yield "" if position else "but", note


def delay_lines(delay: MessageDelay, findings: Sequence[Finding]) -> list[str]:
    """A slow message in two lines: what and how long; where its time went."""
    of = f", {delay.job}" if delay.job is not None else ""
    size = f" of {figure.size(delay.bytes)}" if delay.bytes else ""
    began = f" at {figure.clock(delay.begin_ns)}"
    what = f"{delay.name}: {delay.kind.upper()}{size}{began}{of}"
    took = f"{figure.duration(delay.time_ns)}, usual is {figure.duration(delay.usual_ns)}"
    return [what, f"  {took}: {_where(delay, findings)}"]


def delays_of(delays: QueueDelays) -> str:
    """What a finding's queue did to messages."""
    jobs = f" ({', '.join(delays.jobs)})" if delays.jobs else ""
    whose = f"{figure.things(delays.messages, 'message')} of {figure.things(delays.connections, 'connection')}{jobs}"
    return f"{whose}, worst +{figure.duration(delays.worst_ns)}, sum {figure.duration(delays.sum_ns)}"


def host_lines(hosts: Sequence[HostSummary], top: int) -> Iterator[tuple[str, str]]:
    """(label, text): a table of the hosts that are not healthy or stood waiting, each with its evidence, then what the others are."""
    noteworthy = [host for host in hosts if host.label != "healthy" or host.stall_ns]
    if not noteworthy and all(host.stall_of == "unknown" for host in hosts):
        yield "unknown", f"all {len(hosts)}: of no host a message was seen whose time could be judged"
        return
    priced = any(host.cost is not None for host in hosts)
    grid = Grid(right=(1, 2) if priced else (1,))
    for host in noteworthy[:top]:
        cost = [_money(host.cost, host.currency)] if priced else []
        since = f"since {figure.clock(host.since_ns)}" if host.since_ns is not None else ""
        grid.add(host.name or host.host, f"waited {figure.duration(host.stall_ns)}" if host.stall_ns else "", *cost, since)
    before = ""
    for host, row in zip(noteworthy[:top], grid.lines(), strict=True):
        yield host.label if host.label != before else "", row
        before = host.label
        for sentence in host.evidence:
            yield "", f"  · {sentence}"
    left = len(noteworthy) - top
    if left > 0:
        yield "", f"and {left} more"
    others = len(hosts) - len(noteworthy)
    if others:
        yield ("", f"{others} others: healthy") if noteworthy else ("healthy", f"all {others}")
    waited = sum(host.stall_ns or 0 for host in hosts)
    if waited:
        price = f", {_money(sum(host.cost or 0 for host in hosts), hosts[0].currency)}" if priced else ""
        yield "waited", f"{waited / 1e9:.3g} host-seconds in all{price}"


def _money(amount: float | None, currency: str | None) -> str:
    if amount is None:
        return figure.NONE
    return f"{amount:.2f} {currency}" if amount >= 0.01 or amount == 0 else f"<0.01 {currency}"


def _where(delay: MessageDelay, findings: Sequence[Finding]) -> str:
    if delay.parts is None:
        return f"not known where, {delay.reason}"
    usual = [part for part in delay.parts if part.where == "usual"]
    lost = [part for part in delay.parts if part.where != "usual"]
    told = [part for part in lost[:_MOST_PARTS] if part.share >= _LEAST_SHARE]
    words = [f"{figure.share(part.share)} {_part(part, findings)}" for part in told]
    left = sum(part.share for part in lost[len(told) :])
    if left >= _LEAST_SHARE:
        words.append(f"{figure.share(left)} in {figure.things(len(lost) - len(told), 'smaller part')}")
    words += [f"{figure.share(part.share)} {_part(part, findings)}" for part in usual if part.share >= _LEAST_SHARE]
    return ", ".join(words) + (" (by its flow)" if delay.how == "flow" else "")


def _part(part: DelayPart, findings: Sequence[Finding]) -> str:
    if part.at is None:
        return _WORDS[part.where]
    name = figure.place(part.at.node, part.at.port, part.at.queue)
    finding = next((entry for entry in findings if entry.id == part.finding), None)
    if finding is not None:
        name += f" ({finding.id}{f', held up by {finding.root}' if finding.root is not None else ''})"
    if part.where == "resent":
        return f"{_WORDS['resent']}, lost at {name}"
    if part.where == "host-paused":
        return f"at {part.host}, paused by {name}"
    return f"elsewhere: {part.host} may have been paused by {name}" if part.where == "elsewhere" else name
