"""View → Summary: the whole analysis, in the order in which it is thought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from int_analyzer.analysis.cause import UNSEEN, find_cause
from int_analyzer.analysis.clocks.clock import list_clocks, place_nodes
from int_analyzer.analysis.clocks.envelope import Envelopes
from int_analyzer.analysis.clocks.link_latency import measure_links
from int_analyzer.analysis.confidence import weigh
from int_analyzer.analysis.congestion import DEPTH, Congestion, contradicted, find_congestion
from int_analyzer.analysis.delays.delay import find_delays
from int_analyzer.analysis.delays.direction_delay import DirectionDelays
from int_analyzer.analysis.delays.pause import find_holds, with_pauses
from int_analyzer.analysis.delays.slow_message import SlowMessages
from int_analyzer.analysis.difference import difference_events, with_differences
from int_analyzer.analysis.drain import Drains
from int_analyzer.analysis.event import find_events
from int_analyzer.analysis.finding import Candidate, findings_by_queue, make_findings
from int_analyzer.analysis.hosts.host_finding import with_hosts
from int_analyzer.analysis.hosts.host_label import label_hosts
from int_analyzer.analysis.hosts.message import match_marks
from int_analyzer.analysis.hosts.work import find_work
from int_analyzer.analysis.latency import QueueQuantiles, queue_quantiles, tail_latency_ratio
from int_analyzer.analysis.losses.loss_finding import with_loss
from int_analyzer.analysis.losses.lossy_link import find_lossy_link, losses_by_direction
from int_analyzer.analysis.outside.confirmation import weigh_link, with_counters
from int_analyzer.analysis.outside.gpu import with_gpus
from int_analyzer.analysis.outside.overview import sum_up_outside
from int_analyzer.analysis.paths import build_links, build_paths, crossings, list_ports, port_label, reach_of_ports
from int_analyzer.analysis.quality import assess, loss_share, telemetry_share
from int_analyzer.analysis.roce import sum_up_roce
from int_analyzer.analysis.root import ROOT, place_all
from int_analyzer.analysis.shares import culprits, share_seen, victims
from int_analyzer.analysis.span import without_strays
from int_analyzer.analysis.spread import find_differences
from int_analyzer.analysis.summary import Capture, Finding, Port, QueueSummary, Summary
from int_analyzer.analysis.units import RAW, QueueUnits, latency_hint, queue_units
from int_analyzer.analysis.wording import percent, plain
from int_analyzer.evidence.series import Counters
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile


def summarise(
    view: View,
    profile: Profile | None = None,
    capture: Capture | None = None,
    damages: Sequence[dict[str, object]] = (),
    counters: Counters | None = None,
) -> Summary:
    """Findings, links, paths, queues and quality of a view, as `examine` has them."""
    return examine(view, profile, capture, damages, counters)[0]


def examine(
    view: View,
    profile: Profile | None = None,
    capture: Capture | None = None,
    damages: Sequence[dict[str, object]] = (),
    counters: Counters | None = None,
) -> tuple[Summary, SlowMessages]:
    """The summary of a view, and all the slow messages of which it tells the worst.

    `damages` is what the capture's reader reported as broken, `counters` what was counted outside of it meanwhile.
    """
    profile = profile if profile is not None else Profile()
    units = queue_units(view, profile)
    quantiles = queue_quantiles(view, units)
    congestions, refuted, faint = find_congestion(view, units, profile.thresholds)
    envelopes = Envelopes(view, profile)
    places = place_nodes(envelopes)
    latencies, faults = measure_links(envelopes, places)
    losses = losses_by_direction(view)
    lossy = find_lossy_link(view, profile, losses)
    if counters is not None:
        lossy = weigh_link(view, profile, lossy, losses, counters)
    differences = find_differences(view)
    messages = without_strays(view, match_marks(view.journal))
    findings = with_loss(view, profile, _findings(view, profile, units, congestions, faint), lossy, messages)
    findings = with_differences(profile, findings, differences)
    work = find_work(view, profile, findings, messages)
    findings = with_hosts(profile, findings, work.troubles)
    if counters is not None:
        findings = with_gpus(profile, with_counters(view, profile, findings, lossy, counters), work.jobs, counters)
    holds = find_holds(view, congestions, findings_by_queue(view, findings), counters)
    delays = with_pauses(view, find_delays(view, units, messages), holds)
    slow = SlowMessages(view, profile, units, delays, findings, work.jobs, lossy)
    quality = assess(view, profile, units, [*units.assumptions, *_notes(view, profile, units, congestions, refuted)], damages)
    ports = list_ports(view, profile)
    summary = Summary(
        capture=capture,
        quality=replace(quality, clock_faults=faults),
        findings=slow.with_findings(),
        events=sorted([*find_events(view, profile), *difference_events(view, profile, differences)], key=lambda event: event.start_ns),
        links=build_links(view, profile, ports, quantiles, latencies),
        paths=build_paths(view, ports, units),
        queues=_queues(view, ports, quantiles),
        clocks=list_clocks(envelopes, places, profile),
        roce=sum_up_roce(view, DirectionDelays(slow)),
        storage=work.storage,
        jobs=slow.with_jobs(),
        messages=slow.sum_up(),
        hosts=label_hosts(slow, work.jobs, work.storage, work.troubles),
        outside=sum_up_outside(view, profile, counters, work.jobs) if counters is not None else None,
    )
    return summary, slow


def _findings(view: View, profile: Profile, units: QueueUnits, congestions: list[Congestion], faint: list[Congestion]) -> list[Finding]:
    if not congestions:
        return []
    crossed = crossings(view, (entry.queue for entry in (*congestions, *faint)))
    places = place_all(view, congestions, crossed, Drains(view, profile, units), faint)
    reach = reach_of_ports(view)
    busy = frozenset((int(view.queues.node_id[entry.queue]), int(view.queues.port[entry.queue])) for entry in congestions)
    usable = ~contradicted(view) & (view.queues.latency_count > 0)
    loss = loss_share(view)
    share = telemetry_share(view)
    visible = (1 - loss) * share if share is not None else None
    candidates = []
    for congestion in congestions:
        queue = congestion.queue
        place = places[queue]
        is_root = place.role == ROOT
        seen = share_seen(view, units, congestion, bool(usable[queue]), visible) if is_root else None
        unseen = seen is not None and seen[0] < UNSEEN
        # Flows that pass a victim do not fill it, and what is seen of a queue filled by others only waits.
        filled_by = culprits(view, profile, congestion) if is_root and not unseen else []
        part = seen[0] if seen is not None else None
        cause = find_cause(view, profile, congestion, reach, busy, part, place.drain) if is_root else None
        candidates.append(
            Candidate(
                congestion=congestion,
                place=place,
                confidence=weigh(view, units, congestion, place, crossed.get(queue, []), loss),
                cause=cause,
                seen=seen,
                culprits=filled_by,
                victims=victims(view, profile, congestion, filled_by),
                latency_usable=bool(usable[queue]),
            )
        )
    return make_findings(view, profile, units, candidates)


def _queues(view: View, ports: Sequence[Port], quantiles: QueueQuantiles) -> list[QueueSummary]:
    seen = view.queues
    columns = (column.tolist() for column in (seen.packets, seen.bytes, seen.first_ns, seen.last_ns))
    queues = [
        QueueSummary(
            at=at,
            packets=packets,
            bytes=size,
            latency=latency,
            depth=depth,
            tail_latency_ratio=tail_latency_ratio(latency),
            first_ns=first_ns,
            last_ns=last_ns,
        )
        for at, latency, depth, packets, size, first_ns, last_ns in zip(ports, quantiles.latency, quantiles.depth, *columns, strict=True)
    ]
    return sorted(queues, key=lambda queue: -queue.packets)


def _notes(view: View, profile: Profile, units: QueueUnits, congestions: list[Congestion], refuted: list[Congestion]) -> list[str]:
    """Assumptions that need the findings, or single queues: what was left out, and what a profile should say."""
    notes = []
    if view.postcards.get("by_arrival", 0):
        notes.append("TTLs that do not fall along the path: nodes are in the order in which their reports came")
    for queue in contradicted(view).nonzero()[0].tolist():
        share = int(view.queues.latency_contradicted[queue]) / int(view.queues.latency_count[queue])
        label = port_label(view, profile, queue)
        notes.append(f"{label}: hop latency contradicts the node's own timestamps in {percent(share)} of its hops: left out")
    if congestions and telemetry_share(view) is None:
        notes.append("no flow carries telemetry: how much of what congested ports sent was seen is not known")
    if refuted:
        label, more = port_label(view, profile, refuted[0].queue), len(refuted) - 1
        also = f" and {more} more queue{'s' if more > 1 else ''}" if more else ""
        peak = plain(refuted[0].peak.peak, 12)
        notes.append(f"{label}{also}: depth up to {peak}, but hop latency does not rise with it: not taken for congestion")
    hint = _hint(view, units, congestions)
    return [*notes, hint] if hint is not None else notes


def _hint(view: View, units: QueueUnits, congestions: list[Congestion]) -> str | None:
    """What one unit of latency seems to be, from the deepest queue of which the depth is known or looks like packets."""
    judged = [
        entry
        for entry in congestions
        if entry.measure == DEPTH and units.latency_unit[entry.queue] == RAW and view.queues.latency_count[entry.queue] > 0
    ]
    if not judged or not contradicted_free(view, judged):
        return None
    deepest = max(judged, key=lambda entry: entry.peak.peak)
    episode, buckets = deepest.peak, view.buckets
    rows = deepest.rows[(buckets.start_ns[deepest.rows] >= episode.start_ns) & (buckets.start_ns[deepest.rows] < episode.end_ns)]
    packets = float(buckets.packets[rows].sum())
    arrivals = packets / (episode.end_ns - episode.start_ns)
    return latency_hint(float(buckets.depth_sum[rows].sum()) / packets, arrivals, float(buckets.latency_sum[rows].sum()) / packets)


def contradicted_free(view: View, congestions: list[Congestion]) -> bool:
    """No congested queue has a latency that contradicts its timestamps."""
    mask = contradicted(view)
    return not any(mask[entry.queue] for entry in congestions)
