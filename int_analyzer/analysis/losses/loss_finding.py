"""A link that loses packets → a finding, or evidence for the one that is there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from int_analyzer.analysis.cause import DEGRADED
from int_analyzer.analysis.confidence import BEST
from int_analyzer.analysis.hosts.message import Messages
from int_analyzer.analysis.losses.lossy_link import LossyLink
from int_analyzer.analysis.losses.recovery import describe_fall, describe_recovery, measure_throughput
from int_analyzer.analysis.root import ROOT, VICTIM
from int_analyzer.analysis.shares import flow_share
from int_analyzer.analysis.summary import Finding
from int_analyzer.analysis.units import RAW
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT, Profile


def with_loss(view: View, profile: Profile, findings: Sequence[Finding], link: LossyLink | None, messages: Messages) -> list[Finding]:
    """The findings and what the loss on a link says, and did to messages: roots first, then it, then victims.

    A port that is congested too loses packets because it is full, or for the same reason: the loss is then evidence.
    """
    if link is None:
        return list(findings)
    here = (link.node_id, link.port_id)
    if any((finding.node_id, finding.port_id) == here for finding in findings):
        sentence = f"its packets are lost: {'; '.join(_told(link))}"
        return [
            replace(finding, evidence=[*finding.evidence, sentence]) if (finding.node_id, finding.port_id) == here else finding
            for finding in findings
        ]
    roots = [finding for finding in findings if finding.role != VICTIM]
    victims = [finding for finding in findings if finding.role == VICTIM]
    return _numbered([*roots, _finding(view, profile, link, messages), *victims])


def _finding(view: View, profile: Profile, link: LossyLink, messages: Messages) -> Finding:
    throughput = measure_throughput(view, link, messages)
    return Finding(
        id="",
        role=ROOT,
        cause=DEGRADED,
        node=profile.node_name(link.node_id),
        port=profile.port_name(link.node_id, link.port_id),
        queue=None,
        node_id=link.node_id if link.node_id != ABSENT else None,
        port_id=link.port_id if link.port_id != ABSENT else None,
        start_ns=link.start_ns,
        end_ns=link.end_ns,
        confidence=round(BEST * link.confidence, 3),
        impact=float(link.events),
        impact_unit="times packets had to be sent again" if link.resent else "packets missing",
        peak_depth=None,
        peak_depth_ns=None,
        depth_unit=RAW,
        peak_latency=None,
        latency_unit=RAW,
        packets=link.packets,
        episodes=1,
        root=None,
        culprits=[],
        victims=[
            flow_share(view.flows, profile, flow, int(view.flows.packets[flow]), int(view.flows.bytes[flow]), events / link.events)
            for flow, events in link.events_of.items()
        ],
        victim_ports=[],
        evidence=[
            *describe_fall(view, throughput, link),
            *_told(link),
            "no queue is filled there: packets are lost, not late",
            *describe_recovery(view, throughput, link),
        ],
    )


def _told(link: LossyLink) -> list[str]:
    return [*link.evidence, link.doubt] if link.doubt else link.evidence


def _numbered(findings: list[Finding]) -> list[Finding]:
    """Findings called F1, F2, … in this order; a victim's root with them."""
    names = {finding.id: f"F{number}" for number, finding in enumerate(findings, 1)}
    return [
        replace(finding, id=f"F{number}", root=names[finding.root] if finding.root is not None else None)
        for number, finding in enumerate(findings, 1)
    ]
