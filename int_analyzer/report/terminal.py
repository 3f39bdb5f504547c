"""The report on a terminal: the answer first, then its evidence, the paths, what was read, and whether to trust it.

No colour where the output is not a terminal (or NO_COLOR is set), and nothing is said by colour alone.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

from rich.console import Console
from rich.text import Text

from int_analyzer.analysis.summary import Event, Finding, FlowShare, PathSummary, Summary
from int_analyzer.report import figure
from int_analyzer.report.clock_list import clock_lines, known_clocks
from int_analyzer.report.delay_section import delays_of, host_lines, message_lines
from int_analyzer.report.grid import Grid
from int_analyzer.report.link_table import link_lines
from int_analyzer.report.outside_section import outside_lines
from int_analyzer.report.reading_list import reading_lines
from int_analyzer.report.roce_section import roce_lines
from int_analyzer.report.work_section import job_lines, storage_lines, work_headline
from int_analyzer.schema import FORMAT_LIST, FORMAT_ROCE

NARROWEST, WIDEST, PIPED = 40, 120, 100
ALL = sys.maxsize
_LABEL = 11
_HEADLINES = 3
_TIE = "\ue000"
"""Stands for a space at which no line ends; a no-break space is one for rich."""
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[nµm]?s|[kMGT]?B|[kMG]?bit/s)(?:\W|$))")
_LESS, _LEAST = 0.5, 0.3
"""Of `top`, so many paths, and so many slow messages and victims of a finding: they are many, and its root says more."""
_STYLES = {"root": "bold red", "victim": "yellow", "host": "magenta"}
_WITHOUT_HOPS = [entry.name for entry in FORMAT_LIST if not entry.hops and entry.id != FORMAT_ROCE]
_TRUST_STYLES = {"high": "green", "fair": "yellow", "low": "red", "none": "red"}


def print_report(summary: Summary, stream: TextIO, top: int = 10) -> None:
    """Print the whole report, with at most `top` findings, culprits and links, and fewer of what is less telling."""
    console = _console(stream)
    _print_headlines(console, summary)
    if summary.findings:
        _section(console, "Findings")
        for finding in summary.findings[:top]:
            _print_finding(console, finding, summary.findings, top)
        _print_rest(console, len(summary.findings) - top, "finding")
    if summary.events:
        _section(console, "Events")
        _print_events(console, summary.events, top)
    if summary.links:
        _section(console, "Links")
        for line, role in link_lines(summary, console.width, top):
            _print_wrapped(console, Text(line, style=_STYLES.get(role, role)))
        _print_rest(console, len(summary.links) - top, "link")
    if summary.paths:
        _section(console, "Paths")
        _print_paths(console, summary.paths, _part(top, _LESS))
    clocks = clock_lines(summary, top)
    if clocks:
        _section(console, "Clocks")
        for line in clocks:
            _print_wrapped(console, Text(f"  {line}"))
        _print_rest(console, len(known_clocks(summary)) - top, "clock")
    if summary.roce is not None and summary.roce.directions:
        _section(console, "RoCE")
        for label, text in roce_lines(summary.roce):
            _print_labelled(console, 2, label, text)
    _print_work(console, summary, top, _part(top, _LEAST), _part(top, _LESS))
    if summary.outside is not None:
        _section(console, "Outside")
        for label, text in outside_lines(summary.outside, top):
            _print_labelled(console, 2, label, text)
    _section(console, "Read")
    for label, text in reading_lines(summary):
        _print_labelled(console, 2, label, text)
    _print_trust(console, summary)


def print_headline(summary: Summary, stream: TextIO) -> None:
    """Print only the answer: a line for each root, or one that says why there is none."""
    _print_headlines(_console(stream), summary, everything=True)


def print_work(summary: Summary, stream: TextIO) -> None:
    """Print only slow messages, storage I/O, jobs and hosts: which host is late first, then all of them."""
    console = _console(stream)
    words, style = work_headline(summary)
    _print_wrapped(console, Text(words, style=style))
    _print_work(console, summary, ALL, ALL, ALL)


def headline(finding: Finding) -> tuple[str, str]:
    """A finding in one line of two parts: what and where; since when, how long, how sure."""
    word = figure.trouble(finding).upper()
    place = figure.place(finding.node, finding.port, finding.queue)
    lasted = figure.duration(finding.end_ns - finding.start_ns)
    when = f"since {figure.clock(finding.start_ns)} for {lasted}" if finding.start_ns else f"for {lasted}"
    return f"{word}  {place} — {finding.cause.replace('-', ' ')}", f"{when}, confidence {finding.confidence:.2f}"


def verdict(summary: Summary) -> str:
    """What to say where there is no finding."""
    quality = summary.quality
    if quality is None or quality.packets == 0:
        return "NO PACKETS  the capture is empty: nothing to judge"
    if quality.hops == 0 and quality.reports == 0:
        found = [f"{quality.formats[name]} carry {name}" for name in _WITHOUT_HOPS if quality.formats.get(name)]
        also = f" ({', '.join(found)}, which tells of no hops)" if found else ""
        return f"NO TELEMETRY  none of {figure.things(quality.packets, 'packet')} tells of hops{also}: nothing to judge"
    if quality.hops and quality.trust == "none":
        return f"CANNOT JUDGE  {quality.trust_reasons[0]}"
    return f"NO CONGESTION  in {figure.things(quality.hops, 'hop')} of {figure.things(quality.telemetry_packets, 'packet')} with telemetry"


def _console(stream: TextIO) -> Console:
    console = Console(file=stream, highlight=False, emoji=False, markup=False)
    known = console.is_terminal or os.environ.get("COLUMNS", "").isdigit()
    console.width = max(min(console.width if known else PIPED, WIDEST), NARROWEST)
    return console


def _section(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _print_headlines(console: Console, summary: Summary, everything: bool = False) -> None:
    shown = [finding for finding in summary.findings if finding.role == "root"] or summary.findings
    if not shown:
        clear = summary.quality is not None and summary.quality.hops > 0 and summary.quality.trust != "none"
        _print_wrapped(console, Text(verdict(summary), style="bold green" if clear else "bold yellow"))
    for finding in shown if everything else shown[:_HEADLINES]:
        what, when = headline(finding)
        style = _STYLES.get(finding.role, "bold")
        if len(what) + len(when) + 2 <= console.width or everything:
            console.print(Text(f"{what}, {when}", style=style), soft_wrap=everything)
        else:
            console.print(Text(what, style=style))
            console.print(Text(" " * (what.index("  ") + 2) + when, style=style))
    if not everything and len(shown) > _HEADLINES:
        console.print(f"and {len(shown) - _HEADLINES} more")


def _part(top: int, share: float) -> int:
    return max(1, int(top * share))


def _print_work(console: Console, summary: Summary, top: int, messages: int, places: int) -> None:
    if summary.messages is not None and summary.messages.judged:
        _section(console, "Messages")
        for label, text in message_lines(summary.messages, summary.findings, messages):
            _print_labelled(console, 2, label, text, hang=4)
    if summary.storage is not None:
        _section(console, "Storage")
        for label, text in storage_lines(summary.storage, places):
            _print_labelled(console, 2, label, text)
    if summary.jobs:
        _section(console, "Jobs")
        for job in summary.jobs[:top]:
            for label, text in job_lines(job, places):
                _print_labelled(console, 2, label, text)
        _print_rest(console, len(summary.jobs) - top, "job")
    if summary.hosts:
        _section(console, "Hosts")
        for label, text in host_lines(summary.hosts, top):
            _print_labelled(console, 2, label, text, hang=4)


def _print_rest(console: Console, left: int, noun: str) -> None:
    if left > 0:
        console.print(Text(f"  and {left} more {noun}{'' if left == 1 else 's'} (--top)", style="dim"))


def _print_labelled(console: Console, indent: int, label: str, text: str, hang: int = 0) -> None:
    """A label and its text, wrapped beside the label; lines after the first are indented by `hang` more."""
    room = console.width - indent - _LABEL
    text = _tied(text)
    first = Text(text).wrap(console, room)[0].plain
    lines = [first]
    rest = text[len(first) :].strip()
    if rest:
        lines += [" " * hang + line.plain for line in Text(rest).wrap(console, room - hang)]
    lines = [line.replace(_TIE, " ") for line in lines]
    for position, line in enumerate(lines):
        row = Text(" " * indent)
        row.append((label if position == 0 else "").ljust(_LABEL), style="dim")
        row.append(line.rstrip())
        row.rstrip()
        console.print(row, no_wrap=True)


def _print_finding(console: Console, finding: Finding, findings: list[Finding], top: int) -> None:
    title = Text(f"  {finding.id}  ", style="bold")
    title.append(figure.place(finding.node, finding.port, finding.queue), style=_STYLES.get(finding.role, "bold"))
    title.append(f"  {finding.role}: {finding.cause.replace('-', ' ')}, confidence {finding.confidence:.2f}")
    _print_wrapped(console, title)
    lasted = figure.duration(finding.end_ns - finding.start_ns)
    episodes = f" in {finding.episodes} episodes" if finding.episodes > 1 else ""
    _print_labelled(console, 5, "when", f"{figure.date(finding.start_ns)} UTC, for {lasted}{episodes}")
    peaks = []
    if finding.peak_depth is not None:
        at = f" at {figure.clock(finding.peak_depth_ns)}" if finding.peak_depth_ns else ""
        peaks.append(f"depth {figure.quantity(finding.peak_depth, finding.depth_unit)}{at}")
    if finding.peak_latency is not None:
        peaks.append(f"latency {figure.quantity(finding.peak_latency, finding.latency_unit)}")
    if peaks:
        _print_labelled(console, 5, "peak", ", ".join(peaks))
    _print_labelled(console, 5, "impact", figure.impact(finding))
    if finding.delays is not None:
        _print_labelled(console, 5, "delays", delays_of(finding.delays))
    root = next((other for other in findings if other.id == finding.root), None)
    if root is not None:
        _print_labelled(console, 5, "root", f"finding {root.id}, {figure.place(root.node, root.port, root.queue)}")
    for position, evidence in enumerate(finding.evidence):
        _print_labelled(console, 5, "" if position else "evidence", f"· {evidence}", hang=2)
    _print_flows(console, "culprits", finding.culprits, top)
    _print_flows(console, "victims", finding.victims, _part(top, _LEAST))
    if finding.victim_ports:
        more = f" and {len(finding.victim_ports) - top} more" if len(finding.victim_ports) > top else ""
        _print_labelled(console, 5, "holds up", ", ".join(finding.victim_ports[:top]) + more)


def _print_events(console: Console, events: list[Event], top: int) -> None:
    for event in events[:top]:
        title = Text(f"  {event.kind.replace('-', ' ')}", style="bold")
        if event.node is not None and event.port is not None:
            title.append(f"  {figure.place(event.node, event.port, None)}", style="not bold")
        lasted = f", for {figure.duration(event.end_ns - event.start_ns)}" if event.end_ns > event.start_ns else ""
        title.append(f"  {figure.date(event.start_ns)} UTC{lasted}" if event.start_ns else "", style="not bold")
        _print_wrapped(console, title)
        for evidence in event.evidence:
            _print_labelled(console, 5, "", f"· {evidence}", hang=2)
    _print_rest(console, len(events) - top, "event")


def _print_flows(console: Console, label: str, flows: list[FlowShare], top: int) -> None:
    grid = Grid(right=(0, 2, 3))
    for flow in flows[:top]:
        grid.add(figure.share(flow.share), flow.flow, figure.things(flow.packets, "packet"), figure.size(flow.bytes))
    if grid.width() > console.width - 5 - _LABEL:
        grid.rows = [row[:2] for row in grid.rows]
    for position, line in enumerate(grid.lines()):
        _print_labelled(console, 5, "" if position else label, line, hang=4)
    if len(flows) > top:
        _print_labelled(console, 5, "", f"and {len(flows) - top} more")


def _print_paths(console: Console, paths: list[PathSummary], top: int) -> None:
    # paths that differ in ingress ports only look the same here: they are one line
    lines: dict[str, tuple[int, int]] = {}
    for path in paths:
        line = _path_line(path)
        packets, holes = lines.get(line, (0, 0))
        lines[line] = (packets + path.packets, holes + path.holes)
    ranked = sorted(lines.items(), key=lambda item: -item[1][0])
    if any(path.share_of_latency for path in paths):
        console.print(Text("  in brackets: share of the path's hop latency", style="dim"))
    counts = Grid(right=(0,))
    for _, (packets, _) in ranked[:top]:
        counts.add(figure.things(packets, "packet"))
    for (hops, (_, holes)), packets_text in zip(ranked[:top], counts.lines(), strict=True):
        text = Text(_tied(f"  {packets_text}  {hops}" + (f"  {figure.things(holes, 'packet')} with a hole" if holes else "")))
        for number, piece in enumerate(text.wrap(console, console.width - 4)):
            console.print(("    " if number else "") + piece.plain.rstrip().replace(_TIE, " "))
    _print_rest(console, len(ranked) - top, "path")


def _path_line(path: PathSummary) -> str:
    hops = []
    for position, hop in enumerate(path.hops):
        part = f" ({figure.share(path.share_of_latency[position])})" if path.share_of_latency else ""
        hops.append(figure.short_place(hop) + part)
    return " → ".join(hops)


def _print_trust(console: Console, summary: Summary) -> None:
    if summary.quality is None:
        return
    trust = summary.quality.trust
    line = Text("Trust  ", style="bold")
    line.append(trust, style=f"bold {_TRUST_STYLES.get(trust, '')}".strip())
    if summary.quality.trust_reasons:
        line.append(" — " + "; ".join(summary.quality.trust_reasons), style="not bold")
    console.print()
    _print_wrapped(console, line)


def _tied(text: str) -> str:
    """A text in which no line ends between a number and its unit."""
    return _BEFORE_UNIT.sub(_TIE, text)


def _print_wrapped(console: Console, text: Text) -> None:
    for line in text.wrap(console, console.width):
        line.rstrip()
        console.print(line, no_wrap=True)
