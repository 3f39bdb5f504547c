"""Trouble of a host → a finding, beside those of the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from int_analyzer.analysis.finding import HOST
from int_analyzer.analysis.hosts.trouble import Trouble
from int_analyzer.analysis.root import VICTIM
from int_analyzer.analysis.summary import Finding
from int_analyzer.analysis.units import RAW
from int_analyzer.profile import Profile


def with_hosts(profile: Profile, findings: Sequence[Finding], troubles: Sequence[Trouble]) -> list[Finding]:
    """Roots, then hosts by what they cost, then victims; called F1, F2, … in this order."""
    hosts = sorted((_finding(profile, trouble) for trouble in troubles), key=lambda finding: -finding.impact)
    roots = [finding for finding in findings if finding.role != VICTIM]
    ordered = [*roots, *hosts, *(finding for finding in findings if finding.role == VICTIM)]
    names = {finding.id: f"F{number}" for number, finding in enumerate(ordered, 1) if finding.role != HOST}
    return [
        replace(finding, id=f"F{number}", root=names[finding.root] if finding.root is not None else None)
        for number, finding in enumerate(ordered, 1)
    ]


def _finding(profile: Profile, trouble: Trouble) -> Finding:
    return Finding(
        id="",
        role=HOST,
        cause=trouble.cause,
        node=profile.host_name(trouble.host),
        port="",
        queue=None,
        node_id=None,
        port_id=None,
        start_ns=trouble.start_ns,
        end_ns=trouble.end_ns,
        confidence=trouble.confidence,
        impact=trouble.times * trouble.excess,
        impact_unit=f"messages × {trouble.unit}" if trouble.unit == "ns" else trouble.unit,
        peak_depth=None,
        peak_depth_ns=None,
        depth_unit=RAW,
        peak_latency=None,
        latency_unit=RAW,
        packets=trouble.times,
        episodes=1,
        root=None,
        culprits=[],
        victims=[],
        victim_ports=[],
        evidence=trouble.evidence,
    )
