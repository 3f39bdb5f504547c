"""A node that spreads flows otherwise than its peers → an event, and evidence for a congested port of that node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from int_analyzer.analysis.cause import IMBALANCED
from int_analyzer.analysis.root import ROOT
from int_analyzer.analysis.spread import Difference
from int_analyzer.analysis.summary import Event, Finding
from int_analyzer.analysis.wording import percent
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile

CONFIGURATION_DIFFERENCE = "configuration-difference"
_NAMED = 4


def difference_events(view: View, profile: Profile, differences: Sequence[Difference]) -> list[Event]:
    """An event for each, over the time of the capture: nobody changed anything in it."""
    return [
        Event(
            kind=CONFIGURATION_DIFFERENCE,
            node=profile.node_name(one.node_id),
            port=profile.port_name(one.node_id, one.port_id),
            node_id=one.node_id,
            port_id=one.port_id,
            start_ns=int(view.paths.first_ns.min()),
            end_ns=int(view.paths.last_ns.max()),
            flows=one.flows,
            packets=None,
            evidence=_sentences(profile, one),
        )
        for one in differences
    ]


def with_differences(profile: Profile, findings: Sequence[Finding], differences: Sequence[Difference]) -> list[Finding]:
    """Ports that are congested for want of balance, with what their node does otherwise than its peers."""
    of_node = {one.node_id: one for one in differences}
    return [
        replace(
            finding, evidence=[*finding.evidence, f"configuration difference: {'; '.join(_sentences(profile, of_node[finding.node_id]))}"]
        )
        if finding.role == ROOT and finding.cause == IMBALANCED and finding.node_id is not None and finding.node_id in of_node
        else finding
        for finding in findings
    ]


def _sentences(profile: Profile, one: Difference) -> list[str]:
    node, following = profile.node_name(one.node_id), profile.node_name(one.next_id)
    peers = ", ".join(profile.node_name(peer) for peer in one.peers[:_NAMED])
    peers += f" and {len(one.peers) - _NAMED} more" if len(one.peers) > _NAMED else ""
    sentences = [
        f"{node} sends {percent(one.share)} of its bytes over {following}, {peers} {100 * one.elsewhere:.0f} ± {100 * one.deviation:.0f} % "
        f"(of its {one.flows} flows {percent(one.share_of_flows)}, of theirs {percent(one.flows_elsewhere)})"
    ]
    if one.never_used:
        unused = ", ".join(profile.node_name(other) for other in one.never_used[:_NAMED])
        sentences.append(f"it sends nothing over {unused}, which the others use: fewer uplinks are configured there, or that link is down")
    if one.together is not None and one.together_elsewhere is not None:
        sentences.append(_hash_sentence(one.together, one.together_elsewhere))
    if not one.never_used and one.together is None:
        sentences.append("these are many flows, not a few large ones: the weights or the hash of its equal-cost links differ")
    return sentences


def _hash_sentence(together: float, elsewhere: float) -> str:
    if together > elsewhere:
        return (
            f"there flows between the same two hosts stay together ({percent(together)} go the way of the first), at the others they part "
            f"({percent(elsewhere)}): its hash leaves out the ports"
        )
    return (
        f"there flows between the same two hosts part ({percent(together)} go the way of the first), at the others they stay together "
        f"({percent(elsewhere)}): the others' hash leaves out the ports"
    )
