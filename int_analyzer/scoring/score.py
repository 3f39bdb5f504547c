"""One capture's findings against its truth."""

from __future__ import annotations

from dataclasses import dataclass

from int_analyzer.analysis.clocks.clock import BOTH, REFERENCE
from int_analyzer.analysis.summary import Finding, Summary
from int_analyzer.scoring.truth import FlowKey, Happening, HostTrouble, Root, Truth

ROOT, HOST = "root", "host"

EVENT_ERROR_NS = 5_000_000
"""An event told so much earlier or later is another one."""


@dataclass(frozen=True)
class Score:
    """How right a summary is. None where the truth has nothing to compare with.

    top1: the first answer is right; without a root in the truth: no port is blamed, and every event is told. recall: share of the roots
    that are named as roots. false_findings: ports named as roots, or hosts blamed, that are neither; ports that the flows of a true root
    overload on their way are no mistake, but they are not the first answer. confused: of these, victims of a true root. start_error_ns and
    cause: of the first right root. hosts_found: share of the hosts that are the cause, named as such. clock_error_ns: the largest error of
    a clock's offset among nodes of which both directions are seen. clock_faults: windows in which packets came before they were sent, by
    these clocks. judged: (confidence, right) of every finding that is no victim and
    no such port.
    """

    top1: bool
    recall: float | None
    false_findings: int
    confused: int
    start_error_ns: int | None
    cause: bool | None
    culprit_precision: float | None
    culprit_recall: float | None
    events_found: float | None
    hosts_found: float | None
    clock_error_ns: int | None
    clock_faults: int
    judged: tuple[tuple[float, bool], ...]
    seconds: float


def score(summary: Summary, truth: Truth) -> Score:
    """Compare a summary with the truth."""
    answers = [finding for finding in summary.findings if finding.role in (ROOT, HOST)]
    victims = {port for root in truth.roots for port in root.victim_ports}
    overloaded = {port for root in truth.roots for port in root.overloaded_ports} - victims
    judged = [finding for finding in answers if _is_right(finding, truth) or (finding.node_id, finding.port_id) not in overloaded]
    right = [_is_right(finding, truth) for finding in judged]
    wrong = [finding for finding, ok in zip(judged, right, strict=True) if not ok]
    found = {_matching(finding, truth.roots) for finding in answers if finding.role == ROOT} - {None}
    events = [_happened(happening, summary) for happening in truth.events]
    first = next(((finding, _matching(finding, truth.roots)) for finding in answers if _matching(finding, truth.roots) is not None), None)
    precision = recall = start_error = cause = None
    if first is not None:
        finding, root = first
        assert root is not None
        precision, recall = _culprits(finding, root)
        start_error = abs(finding.start_ns - root.start_ns) if root.start_ns is not None and finding.start_ns else None
        cause = finding.cause == root.cause if root.cause is not None else None
    hosts = [any(_blames(finding, trouble) for finding in answers) for trouble in truth.hosts]
    return Score(
        top1=bool(answers) and _is_right(answers[0], truth) if truth.roots else not wrong and all(events),
        recall=len(found) / len(truth.roots) if truth.roots else None,
        false_findings=len(wrong),
        confused=sum((finding.node_id, finding.port_id) in victims for finding in wrong),
        start_error_ns=start_error,
        cause=cause,
        culprit_precision=precision,
        culprit_recall=recall,
        events_found=sum(events) / len(events) if events else None,
        hosts_found=sum(hosts) / len(hosts) if hosts else None,
        clock_error_ns=_clock_error(summary, truth),
        clock_faults=summary.quality.clock_faults if summary.quality is not None else 0,
        judged=tuple((finding.confidence, ok) for finding, ok in zip(judged, right, strict=True)),
        seconds=(summary.capture.seconds or 0.0) if summary.capture is not None else 0.0,
    )


def _is_right(finding: Finding, truth: Truth) -> bool:
    if finding.role == HOST:
        return any(_blames(finding, trouble) for trouble in truth.hosts)
    return _matching(finding, truth.roots) is not None


def _matching(finding: Finding, roots: tuple[Root, ...]) -> Root | None:
    """The root that a finding names: node and port, or the node alone where the telemetry tells no port."""
    for root in roots:
        if finding.node_id == root.node_id and finding.port_id in (root.port_id, None):
            return root
    return None


def _culprits(finding: Finding, root: Root) -> tuple[float | None, float | None]:
    """Precision and recall of the culprits. A culprit of the truth without a port stands for all flows between its two hosts."""
    if not root.culprits:
        return None, None
    named: set[FlowKey] = {(flow.src, flow.dst, flow.src_port) for flow in finding.culprits}
    right = {flow for flow in named if flow in root.culprits or (*flow[:2], None) in root.culprits}
    hosts = {flow[:2] for flow in named}
    reached = {culprit for culprit in root.culprits if culprit in named or (culprit[2] is None and culprit[:2] in hosts)}
    return (len(right) / len(named) if named else None), len(reached) / len(root.culprits)


def _blames(finding: Finding, trouble: HostTrouble) -> bool:
    """A finding says of this host, by name or by address, what is wrong with it."""
    return finding.role == HOST and finding.node in (trouble.host, trouble.name) and finding.cause == trouble.cause


def _happened(happening: Happening, summary: Summary) -> bool:
    """An event of the kind is told, at one of the ports, and at about that time."""
    seen_by_ns = happening.start_ns if happening.seen_by_ns is None else happening.seen_by_ns
    return any(
        event.kind == happening.kind
        and (event.node_id, event.port_id) in happening.ports
        and happening.start_ns - EVENT_ERROR_NS <= event.start_ns <= seen_by_ns + EVENT_ERROR_NS
        for event in summary.events
    )


def _clock_error(summary: Summary, truth: Truth) -> int | None:
    """How far off the worst of the offsets is that are said against a reference; None where none can be compared."""
    references = {clock.node: truth.clocks.get(clock.node_id) for clock in summary.clocks if clock.how == REFERENCE}
    errors = []
    for clock in summary.clocks:
        true, reference = truth.clocks.get(clock.node_id), references.get(clock.reference or "")
        if clock.how == BOTH and clock.unit == "ns" and true is not None and reference is not None:
            assert clock.offset is not None and clock.at_ns is not None
            errors.append(abs(clock.offset - (true.ahead(clock.at_ns) - reference.ahead(clock.at_ns))))
    return round(max(errors)) if errors else None
