"""What was read and how well: losses, drops, and one word with reasons on whether the findings can be trusted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from int_analyzer.analysis import integrity
from int_analyzer.analysis.congestion import contradicted
from int_analyzer.analysis.paths import port_label
from int_analyzer.analysis.summary import Postcards, Quality
from int_analyzer.analysis.units import RAW, QueueUnits
from int_analyzer.analysis.wording import percent, plain
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT, Profile
from int_analyzer.status import STATUSES

LOW, FAIR = 0.1, 0.01
"""Shares of what is missing or broken from which trust is low, and from which it is fair at best."""
HOLES_LOW, HOLES_FAIR = 0.5, 0.05

NO_TIMES = "no capture times: congestion cannot be judged in time"
FEWEST_HOPS = 10
"""With fewer hops one time for all of them is no sign that times are missing."""

SPARSE = 0.1
"""With telemetry in fewer packets, that nothing short is found does not mean that there was nothing."""
MANY_COPIES = 100
"""Of fewer packets that RoCEv2 takes for copies, and queues do not, nothing is said."""

_REJECTS = {status.name for status in STATUSES if status.reject}
_GRADES = ("high", "fair", "low", "none")


def assess(
    view: View, profile: Profile, units: QueueUnits, assumptions: Sequence[str], damages: Sequence[dict[str, object]] = ()
) -> Quality:
    """Counts, losses and the trust line. `damages`: what the capture's reader reported, passed on."""
    counts = view.counts
    packets, hops = counts.get("packets", 0), counts.get("hops", 0)
    rejects = {name: count for name, count in view.statuses.items() if name in _REJECTS and count}
    trust, reasons = _trust(view, profile, units, rejects, damages)
    return Quality(
        packets=packets,
        bytes=counts.get("bytes", 0),
        telemetry_packets=counts.get("telemetry_packets", 0),
        telemetry_share=_share(counts.get("telemetry_packets", 0), packets),
        roce_packets=counts.get("roce_packets", 0),
        roce_with_telemetry_share=_share(counts.get("roce_with_telemetry", 0), counts.get("roce_packets", 0)),
        hops=hops,
        reports=counts.get("reports", 0),
        statuses=dict(view.statuses),
        rejects=rejects,
        warnings=dict(view.warnings),
        formats=dict(view.formats),
        dialects=dict(view.dialects),
        losses=_losses(view, profile),
        drops=[
            {"node": profile.node_name(node), "node_id": node, "reason": reason, "reports": count}
            for (node, reason), count in sorted(view.drops.items(), key=lambda item: -item[1])
        ],
        damages=[dict(damage) for damage in damages],
        flows_evicted=int(view.flows.evicted),
        pairs_evicted=int(view.pairs.evicted),
        telemetry_overhead=_share(counts.get("telemetry_bytes", 0), counts.get("bytes", 0)),
        ce_packets=counts.get("ce_packets", 0),
        cnp_packets=counts.get("cnp_packets", 0),
        assumptions=list(assumptions),
        trust=trust,
        trust_reasons=reasons,
        postcards=_postcards(view),
        icrc=integrity.sum_up_icrc(view),
        copies=counts.get("copies", 0),
    )


def _postcards(view: View) -> Postcards | None:
    """None if there are none."""
    counts = view.postcards
    total = counts.get("total", 0)
    if not total:
        return None
    reasons = {name: counts[name] for name in ("alone", "unordered", "duplicated", "unidentified") if counts[name]}
    return Postcards(total, counts["joined"], _share(counts["joined"], total), counts["by_arrival"], reasons)


def loss_share(view: View) -> float:
    """What is missing of the mirrored packets and reports: by their sequence, or because the capture let go of it, if that is more."""
    return max(sequence_loss(view), missed_share(view))


def missed_share(view: View) -> float:
    """Packets that a live capture let go of ÷ all that came."""
    missed = view.counts.get("missed", 0)
    return _share(missed, missed + view.counts.get("packets", 0)) or 0.0


def sequence_loss(view: View) -> float:
    """Lost reports and mirrored packets ÷ all that were sent, over the streams that count them; 0 if none does."""
    counted = ~view.sequences.static
    lost, received = int(view.sequences.lost[counted].sum()), int(view.sequences.received[counted].sum())
    return _share(lost, lost + received) or 0.0


def telemetry_share(view: View) -> float | None:
    """Packets with telemetry ÷ all: of RoCEv2 if any of these carries it, else of the flows that do; None where none does."""
    roce = _share(view.counts.get("roce_with_telemetry", 0), view.counts.get("roce_packets", 0))
    if roce:
        return roce
    told = view.flows.telemetry_packets > 0
    return _share(int(view.flows.telemetry_packets[told].sum()), int(view.flows.packets[told].sum()))


def _losses(view: View, profile: Profile) -> list[dict[str, object]]:
    """A row per report or mirror stream; `node_id` of a mirror stream is its session. Lost is None where no number counts."""
    sequences = view.sequences
    rows: list[dict[str, object]] = []
    for row, kind in enumerate(sequences.kind):
        static, node = bool(sequences.static[row]), int(sequences.node_id[row])
        lost, received = int(sequences.lost[row]), int(sequences.received[row])
        rows.append(
            {
                "kind": kind,
                "node": profile.node_name(node) if kind.startswith("report") else None,
                "node_id": node,
                "stream": int(sequences.stream[row]),
                "source": sequences.source[row],
                "received": received,
                "lost": None if static else lost,
                "loss_share": None if static else _share(lost, lost + received),
                "reordered": int(sequences.reordered[row]),
                "duplicated": int(sequences.duplicated[row]),
                "static": static,
            }
        )
    return rows


def _trust(
    view: View, profile: Profile, units: QueueUnits, rejects: dict[str, int], damages: Sequence[dict[str, object]]
) -> tuple[str, list[str]]:
    counts = view.counts
    if not counts.get("packets", 0):
        return "none", ["no packets"]
    if not counts.get("hops", 0):
        return "none", ["no telemetry: no hop of any packet is known, so a congested port cannot be seen"]
    found = [
        *_time_doubts(view, profile, units),
        *_reading_doubts(view, rejects, damages),
        *_table_doubts(view),
        *_loss_doubts(view, profile),
        *_copy_doubts(view),
        *_sampling_doubts(view),
        *_metadata_doubts(view, units),
        *_path_doubts(view),
    ]
    grade = max((level for level, _ in found), default=0)
    reasons = [reason for _, reason in sorted(found, key=lambda item: -item[0])]
    return _GRADES[grade], reasons or ["every packet was read, and no report is missing by its sequence"]


Doubts = list[tuple[int, str]]
"""Best grade that a reason leaves (index in _GRADES), and the reason."""


def _grade(share: float, low: float = LOW, fair: float = FAIR) -> int:
    return 2 if share >= low else 1 if share >= fair else 0


def _reading_doubts(view: View, rejects: dict[str, int], damages: Sequence[dict[str, object]]) -> Doubts:
    packets = view.counts["packets"]
    doubts: Doubts = []
    undecoded = sum(rejects.values())
    if undecoded:
        worst = max(rejects, key=lambda name: rejects[name])
        share = undecoded / packets
        doubts.append((_grade(share), f"{percent(share)} of the packets could not be read to the end, most of them: {worst}"))
    if damages:
        doubts.append((1, f"the capture is damaged in {len(damages)} place{'s' if len(damages) > 1 else ''}"))
    backwards = view.counts.get("time_backwards", 0)
    if backwards > 0:
        # A few come from several interfaces in one file; many mean that the files' clocks differ, and buckets mix.
        doubts.append((_grade(backwards / packets), f"time goes backwards at {plain(backwards, 12)} packet{'s' if backwards > 1 else ''}"))
    damaged = integrity.doubt(view)
    if damaged is not None:
        # what is wrong everywhere was not damaged, and leaves the telemetry as it is
        doubts.append((1 if damaged[0] else 0, damaged[1]))
    for what, evicted in (("flows", view.flows.evicted), ("flows per queue", view.pairs.evicted)):
        if evicted:
            doubts.append((1, f"{evicted} {what} were forgotten because there were too many: shares of flows are lower bounds"))
    return doubts


def _time_doubts(view: View, profile: Profile, units: QueueUnits) -> Doubts:
    """Without capture times nothing can be said of when; the deepest queue of the whole capture is named instead."""
    if times_usable(view):
        timeless = 1 - float(view.buckets.packets.sum()) / view.counts["hops"] if view.counts.get("hops_ignored", 0) == 0 else 0.0
        return (
            [(max(1, _grade(timeless)), f"{percent(timeless)} of the hops have no capture time: they are not judged")]
            if timeless >= FAIR
            else []
        )
    reason, queues = NO_TIMES, view.queues
    if (queues.depth_max > units.depth_floor).any():
        deepest = int(np.argmax(queues.depth_max / units.depth_floor))
        p50, p99 = queues.depth_histograms.quantiles((0.5, 0.99), rows=np.array([deepest]))[0].tolist()
        depths = (plain(value * float(units.depth_factor[deepest])) for value in (p50, p99, int(queues.depth_max[deepest])))
        measured = f"depth p50, p99, largest {', '.join(depths)} {units.depth_unit[deepest]}"
        reason += f"; over the whole capture {port_label(view, profile, deepest)} is the deepest ({measured}): it may have been congested"
    return [(3, reason)]


def times_usable(view: View) -> bool:
    """Whether the capture times of the hops can order them: some are there, and not all are the same."""
    queues = view.queues
    if len(queues.packets) == 0 or int(queues.packets.sum()) < FEWEST_HOPS:
        return True
    if len(view.buckets.queue) == 0:
        return False
    return int(queues.last_ns.max()) > int(queues.first_ns.min()) or len(np.unique(view.buckets.start_ns)) > 1


def _table_doubts(view: View) -> Doubts:
    """What was left out because a table was full."""
    doubts: Doubts = []
    for name, of, what in (
        ("hops_ignored", "hops", "hops are left out: there are too many queues"),
        ("paths_ignored", "packets", "packets are on a path that is left out: there are too many paths"),
        ("links_ignored", "hops", "pairs of hops do not tell of clocks: there are too many links"),
        ("streams_ignored", "reports", "reports or mirrored packets are not checked for loss: there are too many streams"),
    ):
        ignored = view.counts.get(name, 0)
        if ignored > 0:
            whole = max(ignored, view.counts.get(of, 0))
            doubts.append((max(1, _grade(ignored / whole)), f"{plain(ignored, 9)} {what}"))
    return doubts


def _loss_doubts(view: View, profile: Profile) -> Doubts:
    doubts: Doubts = []
    if len(view.sequences.kind) == 0:
        doubts.append((1, "loss cannot be known: nothing is numbered"))
    missed = missed_share(view)
    if missed > 0:
        doubts.append(
            (_grade(missed), f"{percent(missed)} of the packets were not captured: dropped by the kernel, or shed under overload")
        )
    loss = sequence_loss(view)
    if loss > 0:
        doubts.append((_grade(loss), f"{percent(loss)} of the reports or mirrored packets are missing by their sequence"))
    static = [row for row in range(len(view.sequences.kind)) if view.sequences.static[row]]
    if static:
        nodes = ", ".join(sorted({profile.node_name(int(view.sequences.node_id[row])) for row in static})[:5])
        doubts.append((1, f"the sequence of node {nodes} never moves: loss is unknown"))
    return doubts


def _sampling_doubts(view: View) -> Doubts:
    share = telemetry_share(view)
    if share is None or share >= SPARSE:
        return []
    seldom = "a burst, a loop or a change of path that few others see is not known"
    return [(1, f"only {percent(share)} of the RoCEv2 packets carry telemetry: {seldom}")]


def _copy_doubts(view: View) -> Doubts:
    """Packets seen at several mirror points: those of which the hops are counted once, and those of which only RoCEv2 tells."""
    copies, carried = view.counts.get("copies", 0), view.counts.get("telemetry_packets", 0)
    doubts: Doubts = []
    if copies:
        share = copies / max(copies, carried)
        doubts.append(
            (0, f"{percent(share)} of the packets with telemetry were seen before at another mirror point: every hop is counted once")
        )
    # Reports of single nodes about one packet look like copies to RoCEv2, but each has a hop of its own.
    untold = int(view.connections.duplicates.sum() * (telemetry_share(view) or 0.0)) - copies - view.postcards.get("total", 0)
    if untold >= MANY_COPIES and untold >= FAIR * carried:
        why = "their copies come too late" if copies else "their first hop has no times, or their copies come too late"
        doubts.append((1, f"about {untold} packets count twice in queues and flows: seen at several mirror points, and {why}"))
    return doubts


def _metadata_doubts(view: View, units: QueueUnits) -> Doubts:
    queues, hops = view.queues, view.counts["hops"]
    doubts: Doubts = []
    nameless = int(queues.packets[queues.node_id == ABSENT].sum()) / hops
    if nameless > 0:
        doubts.append((max(1, _grade(nameless)), f"{percent(nameless)} of the hops have no node id: several nodes may be taken for one"))
    zero = int(queues.all_zero.sum()) / hops
    if zero >= FAIR:
        doubts.append((_grade(zero, HOLES_LOW, FAIR), f"{percent(zero)} of the hops have latency, depth and times all zero: not filled in"))
    if not (queues.depth_count > 0).any() and not (queues.latency_count > 0).any():
        doubts.append((2, "neither queue depth nor hop latency is reported"))
    elif not (queues.depth_max > 0).any():
        doubts.append((1, "queue depth is never reported, or always 0: only hop latency can show a queue"))
    bad = contradicted(view)
    if bad.any():
        share = int(queues.packets[bad].sum()) / hops
        doubts.append((_grade(share, HOLES_LOW, 0), f"hop latency contradicts the node's own timestamps in {percent(share)} of the hops"))
    unknown = []
    if any(unit == RAW and queues.depth_max[row] > 0 for row, unit in enumerate(units.depth_unit)):
        unknown.append("queue depth")
    if any(unit == RAW and queues.latency_count[row] > 0 for row, unit in enumerate(units.latency_unit)):
        unknown.append("hop latency")
    if unknown:
        doubts.append((1, f"the unit of {' and '.join(unknown)} is unknown: a profile can say it"))
    return doubts


def _path_doubts(view: View) -> Doubts:
    packets, holes = int(view.paths.packets.sum()), int(view.paths.holes.sum())
    doubts: Doubts = []
    if holes:
        share = holes / packets
        missing = "nodes that found no room, a cut stack, or a report that is missing"
        doubts.append((_grade(share, HOLES_LOW, HOLES_FAIR), f"{percent(share)} of the paths have holes: {missing}"))
    postcards = _postcards(view)
    if postcards is not None and postcards.joined <= (1 - HOLES_FAIR) * postcards.total:
        doubts.append((1, f"{percent(1 - postcards.joined / postcards.total)} of the reports of single nodes are not joined to a path"))
    return doubts


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
