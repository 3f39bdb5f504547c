"""A congested queue with its place, cause and flows → one finding in words, and the order of findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from int_analyzer.analysis.cause import BACK_PRESSURE, UNSEEN, Cause
from int_analyzer.analysis.confidence import Confidence
from int_analyzer.analysis.congestion import CALM, DEPTH, Congestion
from int_analyzer.analysis.losses.loss import drops_of_node, unreported
from int_analyzer.analysis.paths import port_label, port_of
from int_analyzer.analysis.root import ROOT, VICTIM, Place
from int_analyzer.analysis.span import capture_start
from int_analyzer.analysis.summary import Finding, FlowShare
from int_analyzer.analysis.units import RAW, QueueUnits
from int_analyzer.analysis.waiting import elevated_span
from int_analyzer.analysis.wording import percent, plain
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT, Profile

HOST = "host"
_ROLE_ORDER = {ROOT: 0, HOST: 1, VICTIM: 2}


@dataclass(frozen=True)
class Candidate:
    """A congested queue and all that was found about it. `cause` is None for a victim; `seen` as from shares.share_seen."""

    congestion: Congestion
    place: Place
    confidence: Confidence
    cause: Cause | None
    seen: tuple[float, str] | None
    culprits: list[FlowShare]
    victims: list[FlowShare]
    latency_usable: bool


def findings_by_queue(view: View, findings: Sequence[Finding]) -> dict[int, Finding]:
    """The finding of each queue (row) that has one."""
    queues = view.queues
    keys = zip(queues.node_id.tolist(), queues.port.tolist(), queues.queue_id.tolist(), strict=True)
    of_key = {
        tuple(ABSENT if number is None else number for number in (finding.node_id, finding.port_id, finding.queue)): finding
        for finding in findings
        if finding.role != HOST
    }
    return {row: of_key[key] for row, key in enumerate(keys) if key in of_key}


def make_findings(view: View, profile: Profile, units: QueueUnits, candidates: list[Candidate]) -> list[Finding]:
    """Findings, roots first, then by impact; victims carry the id of their root, roots the ports of their victims."""
    impacts = {candidate.congestion.queue: _impact(view, units, candidate) for candidate in candidates}
    # Impacts in different units cannot be compared; multiples of each queue's own threshold can.
    comparable = len({unit for _, unit in impacts.values()}) == 1
    weight = {
        candidate.congestion.queue: impacts[candidate.congestion.queue][0] if comparable else _multiples(view, candidate.congestion)
        for candidate in candidates
    }
    ordered = _in_order(candidates, weight)
    ids = {candidate.congestion.queue: f"F{number}" for number, candidate in enumerate(ordered, 1)}
    findings = []
    for candidate in ordered:
        queue = candidate.congestion.queue
        followers = [other.congestion.queue for other in ordered if other.place.role == VICTIM and other.place.root == queue]
        finding = _finding(view, profile, units, candidate, *impacts[queue])
        findings.append(
            replace(
                finding,
                id=ids[queue],
                root=ids[candidate.place.root] if candidate.place.role == VICTIM else None,
                victim_ports=[port_label(view, profile, other) for other in followers],
            )
        )
    return findings


def _in_order(candidates: list[Candidate], weight: dict[int, float]) -> list[Candidate]:
    """Roots first, then the heavier ones; a root that the flows of another one overload on their way to it comes after that."""
    places = {candidate.congestion.queue: candidate.place for candidate in candidates}

    def rank(candidate: Candidate) -> tuple[int, list[float]]:
        chain = [candidate.congestion.queue]
        while (after := places[chain[-1]].fills) is not None and places[after].root not in chain:
            chain.append(places[after].root)
        return _ROLE_ORDER[candidate.place.role], [-weight[queue] for queue in reversed(chain)]

    return sorted(candidates, key=rank)


def _finding(view: View, profile: Profile, units: QueueUnits, candidate: Candidate, impact: float, impact_unit: str) -> Finding:
    congestion, place = candidate.congestion, candidate.place
    queue = congestion.queue
    at = port_of(view, profile, queue)
    by_depth = congestion.measure == DEPTH
    peak = congestion.peak
    start_ns, end_ns = elevated_span(view, congestion)
    peak_latency = float(view.buckets.latency_max[congestion.rows].max()) if candidate.latency_usable else None
    return Finding(
        id="",
        role=place.role,
        cause=candidate.cause.name if candidate.cause is not None else BACK_PRESSURE,
        node=at.node,
        port=at.port,
        queue=at.queue,
        node_id=at.node_id,
        port_id=at.port_id,
        start_ns=start_ns,
        end_ns=end_ns,
        confidence=candidate.confidence.value,
        impact=impact,
        impact_unit=impact_unit,
        peak_depth=peak.peak * float(units.depth_factor[queue]) if by_depth else None,
        peak_depth_ns=peak.peak_ns if by_depth else None,
        depth_unit=units.depth_unit[queue],
        peak_latency=None if peak_latency is None else peak_latency * float(units.latency_factor[queue]),
        latency_unit=units.latency_unit[queue],
        packets=congestion.above,
        episodes=len(congestion.episodes),
        root=None,
        culprits=candidate.culprits,
        victims=candidate.victims,
        victim_ports=[],
        evidence=_evidence(view, profile, units, candidate),
    )


def _impact(view: View, units: QueueUnits, candidate: Candidate) -> tuple[float, str]:
    """Packets × what they had to wait beyond the baseline: in time where the node gives a latency, else in depth."""
    congestion = candidate.congestion
    queue, rows, buckets = congestion.queue, congestion.rows, view.buckets
    if candidate.latency_usable:
        total = float(buckets.latency_sum[rows].sum())
        if congestion.calm or congestion.rise is None:
            waited = total - float(buckets.latency_count[rows].sum()) * view.queues.latency_histograms.quantile(queue, CALM)
        else:  # never calm: what others take is what would be no wait
            waited = total * (1 - 1 / congestion.rise) if congestion.rise > 1 else 0.0
        unit = units.latency_unit[queue]
        return max(0.0, waited) * float(units.latency_factor[queue]), f"packets × {unit if unit != RAW else 'latency (raw)'}"
    packets = float(buckets.depth_count[rows].sum())
    excess, factor = float(buckets.depth_sum[rows].sum()) - packets * congestion.baseline, float(units.depth_factor[queue])
    unit = units.depth_unit[queue]
    return max(0.0, excess) * factor, f"packets × {unit if unit != RAW else 'depth (raw)'}"


def _multiples(view: View, congestion: Congestion) -> float:
    sums = view.buckets.depth_sum if congestion.measure == DEPTH else view.buckets.latency_sum
    return float(sums[congestion.rows].sum()) / congestion.threshold if congestion.threshold else float("inf")


def _evidence(view: View, profile: Profile, units: QueueUnits, candidate: Candidate) -> list[str]:
    congestion, place = candidate.congestion, candidate.place
    sentences = [*_measured(view, units, congestion), *_downstream(view, profile, place), *_lost(view, profile, congestion.queue)]
    if candidate.cause is not None:
        sentences += candidate.cause.evidence
    if candidate.seen is not None and candidate.seen[0] < UNSEEN:
        share, how = candidate.seen
        sentences.append(
            f"the flows seen are only {percent(share)} of what this port sent ({how}): "
            "the culprit carries no telemetry, or telemetry is sampled"
        )
    if candidate.confidence.doubts:
        sentences.append("in doubt: " + "; ".join(candidate.confidence.doubts))
    return sentences


def _measured(view: View, units: QueueUnits, congestion: Congestion) -> list[str]:
    queue, peak = congestion.queue, congestion.peak
    by_depth = congestion.measure == DEPTH
    unit = units.depth_unit[queue] if by_depth else units.latency_unit[queue]
    factor = float(units.depth_factor[queue] if by_depth else units.latency_factor[queue])
    shown = " (unit unknown)" if unit == RAW else f" {unit}"
    origin = capture_start(view)
    start_ns, end_ns = elevated_span(view, congestion)
    span = _milliseconds(end_ns - start_ns)
    start = f"+{(start_ns - origin) / 1e9:.6f} s"
    if len(congestion.episodes) == 1:
        episodes = f"in one episode from {start} over {span}"
    else:
        whole = _milliseconds(congestion.duration_ns)
        episodes = f"in {len(congestion.episodes)} episodes, {whole} in all, within {span} from {start}"
    baseline = f"baseline {plain(congestion.baseline * factor)}"
    if not congestion.calm:
        baseline = (
            f"no calm time of its own, others when calm {plain(congestion.baseline * factor)}" if congestion.compared else "no calm time"
        )
    elif not congestion.compared:
        baseline += " (its own calm time: too few other queues are seen to compare with)"
    return [
        f"{'queue depth' if by_depth else 'hop latency'} up to {plain(peak.peak * factor, 6)}{shown} "
        f"at +{(peak.peak_ns - origin) / 1e9:.6f} s; "
        f"threshold {plain(congestion.threshold * factor)}, {baseline}",
        f"at least {plain(congestion.above, 12)} of {plain(int(view.queues.packets[queue]), 12)} packets above the threshold, {episodes}; "
        f"judged in steps of {_milliseconds(view.buckets.width_ns)}",
    ]


def _lost(view: View, profile: Profile, queue: int) -> list[str]:
    node = int(view.queues.node_id[queue])
    sentences = [
        f"node {profile.node_name(node)} reports {plain(count, 12)} dropped packets, reason {reason}"
        for reason, count in drops_of_node(view, node).items()
    ]
    lost, sent = unreported(view).get(queue, (0, 0))
    if lost:
        sentences.append(
            f"{plain(lost, 12)} of {plain(sent, 12)} packets ({percent(lost / sent)}) that the node before sent on to it "
            "are not reported again: dropped, or the report is missing"
        )
    return sentences


def _milliseconds(duration_ns: int) -> str:
    return f"{plain(duration_ns / 1e6, 6)} ms"


def _downstream(view: View, profile: Profile, place: Place) -> list[str]:
    sentences = []
    for other, share in sorted(place.waits_for.items(), key=lambda item: -item[1])[:3]:
        sentences.append(
            f"{percent(share)} of its waiting is of packets that go on to {port_label(view, profile, other)}, congested at the same time"
        )
    if place.held is not None:
        sentences.append(
            f"what passes here did not rise although packets waited (× {plain(place.held, 2)} of calm time): it may be held up as a whole"
        )
    if place.outpaced is not None:
        sentences.append(
            f"it empties at {percent(place.outpaced.rate)} of the rate of that one, and ports of its node that lead on have carried "
            f"{plain(place.outpaced.more, 2)} × as much: it may be held up as a whole"
        )
    if place.paused is not None:
        sentences.append(
            f"it empties at {percent(place.paused.drain)} of its link speed (depth ÷ wait), and {percent(place.paused.filled)} of what "
            f"waits in {port_label(view, profile, place.paused.by)} came from here: that one holds it up as a whole"
        )
    if place.fills is not None:
        sentences.append(
            "it does not wait for that: it empties at about the speed of its link, so what goes on to there is too much for this port, too"
        )
    if place.alone is not None:
        sentences.append(f"it empties at {percent(place.alone)} of its link speed while all is calm behind it, too: it is slow by itself")
    if place.role == VICTIM and place.root not in ({*place.waits_for} if place.paused is None else {place.paused.by}):
        sentences.append(f"that one waits in turn: the walk ends at {port_label(view, profile, place.root)}")
    if place.circle:
        sentences.append("the queues wait for each other in a circle (a pause deadlock?); the first to fill is taken for the root")
    if not place.waits_for and place.paused is None:
        sentences.append(
            "no further hop is seen downstream of it" if place.nothing_after else "everything downstream on the same paths is calm"
        )
    return sentences
