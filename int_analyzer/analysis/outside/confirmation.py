"""Counters from outside, joined with what the capture shows: they confirm a finding, or speak against it, and say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from int_analyzer.analysis.cause import DEGRADED, PAUSED
from int_analyzer.analysis.confidence import BEST
from int_analyzer.analysis.losses.lossy_link import Link, Losses, LossyLink, find_lossy_link, name_rivals
from int_analyzer.analysis.outside.testimony import REFUTED, SUPPORTED, At, Testimony, Witness
from int_analyzer.analysis.root import ROOT, VICTIM
from int_analyzer.analysis.span import capture_span
from int_analyzer.analysis.summary import Finding
from int_analyzer.evidence.series import Counters
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile

SYMBOL_ERRORS, DROPS, RETRANSMISSIONS = "symbol_errors", "drops", "retransmissions"
PAUSES_RECEIVED, PAUSES_SENT = "pfc_pauses_received", "pfc_pauses_sent"


def weigh_link(view: View, profile: Profile, link: LossyLink | None, losses: Losses, counters: Counters) -> LossyLink | None:
    """A link that loses packets, by the symbol errors at both of its ends.

    They choose between links that explain the losses as well, and one that is not certain by its losses alone is, with them.
    """
    witness = Witness(view, profile, counters)
    ends = ends_of_links(view)
    span = capture_span(view)
    if link is None and span is not None:
        ports = {one.at for one, _ in witness.risen(SYMBOL_ERRORS, *span)}
        link = find_lossy_link(view, profile, losses, [one for one, both in ends.items() if ports & set(both)]) if ports else None
    if link is None:
        return None
    asked = {one: _ask_ends(witness, ends, one, link) for one in [_key(link), *link.rivals]}
    bad = [one for one, testimony in asked.items() if testimony.speaks]
    if not asked[_key(link)].speaks and len(bad) == 1:
        link = _exchanged(view, profile, link, bad[0], losses)
    senders = {view.flows.src[flow] for flow in link.events_of}
    link = replace(link, evidence=[*link.evidence, *witness.ask_hosts(RETRANSMISSIONS, senders, link.start_ns, link.end_ns)])
    if asked[_key(link)].speaks:
        return _confirmed(profile, link, asked)
    if bad or asked[_key(link)].speaks is None:
        return link
    against = f"against it: {asked[_key(link)].sentence}"
    elsewhere = witness.elsewhere(SYMBOL_ERRORS, ends.get(_key(link), ()), link.start_ns, link.end_ns)
    return replace(
        link, confidence=link.confidence * REFUTED, evidence=[*link.evidence, against + (f", but {elsewhere}" if elsewhere else "")]
    )


def with_counters(view: View, profile: Profile, findings: Sequence[Finding], lossy: LossyLink | None, counters: Counters) -> list[Finding]:
    """The findings about ports, each with what counters of its port say of its time. That of the lossy link was weighed before."""
    witness, ends = Witness(view, profile, counters), ends_of_links(view)
    weighed = (lossy.node_id, lossy.port_id) if lossy is not None else None
    return [_weighed(witness, ends, finding, (finding.node_id, finding.port_id) == weighed) for finding in findings]


def ends_of_links(view: View) -> dict[Link, list[At]]:
    """The ports at both ends of each link: that which sends, and that which receives, where errors of the line are counted."""
    node_ids, ports = view.queues.node_id.tolist(), view.queues.port.tolist()
    ends: dict[Link, list[At]] = {}
    for queues, ingress in zip(view.paths.queues, view.paths.ingress_ports, strict=True):
        for position, queue in enumerate(queues):
            here = node_ids[queue], ports[queue]
            last = position + 1 == len(queues)
            there = None if last else (node_ids[queues[position + 1]], ingress[position + 1])
            found = ends.setdefault((*here, None if there is None else there[0]), [here])
            if there is not None and there not in found:
                found.append(there)
    return ends


def _key(link: LossyLink) -> Link:
    return link.node_id, link.port_id, link.to_node_id


def _ask_ends(witness: Witness, ends: dict[Link, list[At]], link: Link, lossy: LossyLink) -> Testimony:
    """What symbol errors at both ends say. A port counts what it receives: that the sending one has none is nothing against the link."""
    both = ends.get(link, [link[:2]])
    testimony = witness.ask(SYMBOL_ERRORS, both, lossy.start_ns, lossy.end_ns)
    received = witness.ask(SYMBOL_ERRORS, both[1:], lossy.start_ns, lossy.end_ns)
    return Testimony(None, "") if testimony.speaks is False and received.speaks is None else testimony


def _exchanged(view: View, profile: Profile, link: LossyLink, rival: Link, losses: Losses) -> LossyLink:
    """A rival in the place of a link, with the losses of its own paths; what else explains them as well stays, and so the doubt."""
    rivals = [one for one in (_key(link), *link.rivals) if one != rival]
    own = find_lossy_link(view, profile, losses, [rival])
    if own is None:
        return replace(link, node_id=rival[0], port_id=rival[1], to_node_id=rival[2], rivals=rivals)
    return replace(own, rivals=rivals, confidence=own.confidence / (1 + len(rivals)))


def _confirmed(profile: Profile, link: LossyLink, asked: dict[Link, Testimony]) -> LossyLink:
    """A link whose cable has errors; of what was as good an explanation only that is left of which it is not known to have none."""
    rivals = [one for one in link.rivals if asked[one].speaks is not False]
    ruled_out = len(link.rivals) - len(rivals)
    more = f"; none at {ruled_out} other links that the same connections cross" if ruled_out else ""
    confidence = min(1.0, link.confidence * (1 + len(link.rivals)) / (1 + len(rivals)))
    return replace(
        link,
        rivals=rivals,
        doubt=name_rivals(profile, rivals),
        confidence=1 - (1 - confidence) * SUPPORTED,
        evidence=[*link.evidence, asked[_key(link)].sentence + more],
    )


def _weighed(witness: Witness, ends: dict[Link, list[At]], finding: Finding, known: bool) -> Finding:
    if finding.node_id is None or finding.port_id is None or finding.role not in (ROOT, VICTIM):
        return finding
    here = finding.node_id, finding.port_id
    when = finding.start_ns, finding.end_ns
    both = {at for link, ports in ends.items() if link[:2] == here for at in ports}
    if finding.cause == PAUSED or finding.role == VICTIM:
        testimony = witness.ask(PAUSES_RECEIVED, [here], *when)
        if testimony.speaks is None:
            testimony = witness.ask(PAUSES_SENT, both - {here}, *when)
        finding = _judged(finding, testimony, decides=True)
    elif finding.cause == DEGRADED and not known:
        finding = _judged(finding, witness.ask(SYMBOL_ERRORS, both, *when), decides=False)
    return _judged(finding, witness.ask(DROPS, [here], *when), decides=False)


def _judged(finding: Finding, testimony: Testimony, decides: bool) -> Finding:
    """A finding with what a counter says. decides: that it did not rise speaks against the finding, too."""
    if testimony.speaks:
        sure = BEST - max(BEST - finding.confidence, 0) * SUPPORTED
        return replace(finding, confidence=round(sure, 3), evidence=[*finding.evidence, testimony.sentence])
    if testimony.speaks is None or not decides:
        return finding
    evidence = [*finding.evidence, f"against it: {testimony.sentence}"]
    return replace(finding, confidence=round(finding.confidence * REFUTED, 3), evidence=evidence)
