"""RoCEv2 connections summed up: the worst by retransmission, completion time and RTT, pairs of hosts, and how exact all this is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from int_analyzer.analysis.delays.direction_delay import DirectionDelays
from int_analyzer.analysis.quantiles import SHARES
from int_analyzer.analysis.span import capture_span
from int_analyzer.analysis.summary import ConnectionSummary, HostPairSummary, Quantiles, RoceSummary, Tracking
from int_analyzer.analysis.wording import percent, things
from int_analyzer.fold.view import ConnectionView, View

MOST_CONNECTIONS = 10
MOST_HOST_PAIRS = 1000
FEWEST_DATA = 20
"""A retransmission ratio of fewer packets than this is no ratio to rank by."""
NOTEWORTHY = 0.1

Span = tuple[int, int] | None
"""Of the capture, as capture_span has it."""


def sum_up_roce(view: View, delays: DirectionDelays) -> RoceSummary | None:
    """What all connections tell, and where their messages lost time; None without any."""
    seen = view.connections
    if len(seen.src) == 0:
        return None
    sending = _sending(seen)
    answerable = sending & np.array([name in ("RC", "XRC") for name in seen.transport], dtype=bool)
    two_sided, verified = answerable & (seen.peer >= 0), answerable & seen.verified
    retransmitted, data = int(seen.retransmitted.sum()), int(seen.data.sum())
    delayed = seen.cnp_delay_count > 0
    return RoceSummary(
        tracking=_tracking(seen),
        directions=int(sending.sum()),
        two_sided_share=_ratio(int(two_sided.sum()), int(answerable.sum())),
        verified_share=_ratio(int(verified.sum()), int(answerable.sum())),
        transports=dict(sorted(Counter(seen.transport[row] for row in np.nonzero(sending)[0].tolist()).items())),
        data_packets=data,
        retransmitted=retransmitted,
        retransmission_ratio=_ratio(retransmitted, data),
        out_of_order=int(seen.out_of_order.sum()),
        duplicates=int(seen.duplicates.sum()),
        unfilled=int(seen.unfilled.sum()),
        rewinds=int(seen.rewinds.sum()),
        timeouts=int(seen.timeouts.sum()),
        naks=int(seen.naks.sum()),
        rnr_naks=int(seen.rnr_naks.sum()),
        other_naks=int(seen.other_naks.sum()),
        ce_ratio=_ratio(int(seen.ce_packets.sum()), int(seen.packets.sum())),
        cnps=int(seen.cnp_packets.sum()),
        cnp_delay_ns=_ratio(float(seen.cnp_delay_sum.sum()), int(seen.cnp_delay_count.sum())),
        cnp_delay_min_ns=int(seen.cnp_delay_min[delayed].min()) if delayed.any() else None,
        cnp_delay_max_ns=int(seen.cnp_delay_max.max()) if delayed.any() else None,
        messages={kind: int(counts.sum()) for kind, counts in seen.messages.items()},
        resent_messages=int(seen.resent_messages.sum()),
        completed=int(seen.completed.sum()),
        one_sided=int(seen.one_sided.sum()),
        partial=int(seen.partial.sum()),
        unanswered=int(seen.unanswered.sum()),
        fct=_together(view, "fct"),
        rtt=_together(view, "rtt"),
        evicted=seen.evicted,
        worst=_worst(view, delays),
        host_pairs=_host_pairs(view),
        notes=_notes(seen, two_sided, verified, answerable),
    )


def _tracking(seen: ConnectionView) -> Tracking:
    told = seen.tracking
    return Tracking("polling" if told.polled else "full", told.time_share, told.connections_share, told.packets_share)


def sum_up_connections(view: View, delays: DirectionDelays) -> list[ConnectionSummary]:
    """Every direction that sent data, those that retransmitted most first, then by bytes."""
    seen = view.connections
    rows = np.nonzero(_sending(seen))[0]
    order = np.lexsort((-seen.bytes[rows], -seen.retransmitted[rows]))
    span = capture_span(view)
    return [sum_up_connection(view, delays, row, span) for row in rows[order].tolist()]


def sum_up_connection(view: View, delays: DirectionDelays, row: int, span: Span) -> ConnectionSummary:
    """One direction: its requests and responses, what answered them, and where they lost time."""
    seen = view.connections
    peer, flow = int(seen.peer[row]), int(seen.flow[row])

    delayed = peer >= 0 and seen.cnp_delay_count[peer] > 0

    def told(column: Any) -> int | None:
        """Only the other direction tells of NAKs, timeouts and CNPs."""
        return int(column[row]) if peer >= 0 else None

    return ConnectionSummary(
        src=seen.src[row],
        dst=seen.dst[row],
        dest_qp=int(seen.dest_qp[row]),
        src_qp=int(seen.dest_qp[peer]) if peer >= 0 else None,
        src_port=_present(view.flows.src_port[flow]) if flow >= 0 else None,
        transport=seen.transport[row],
        two_sided=peer >= 0,
        verified=bool(seen.verified[row]),
        packets=int(seen.packets[row]),
        bytes=int(seen.bytes[row]),
        data_packets=int(seen.data[row]),
        retransmitted=int(seen.retransmitted[row]),
        retransmission_ratio=_ratio(int(seen.retransmitted[row]), int(seen.data[row])),
        out_of_order=int(seen.out_of_order[row]),
        unfilled=int(seen.unfilled[row]),
        rewinds=int(seen.rewinds[row]),
        timeouts=told(seen.timeouts),
        naks=told(seen.naks),
        rnr_naks=told(seen.rnr_naks),
        rnr_wait_ns=told(seen.rnr_wait_ns),
        other_naks=told(seen.other_naks),
        ce_ratio=_ratio(int(seen.ce_packets[row]), int(seen.packets[row])),
        cnps=int(seen.cnp_packets[peer]) if peer >= 0 else None,
        cnps_per_second=_per_second(seen, np.array([row]), span) if peer >= 0 else None,
        cnp_peak=int(seen.cnp_peak[peer]) if peer >= 0 else None,
        cnp_delay_ns=_ratio(float(seen.cnp_delay_sum[peer]), int(seen.cnp_delay_count[peer])) if peer >= 0 else None,
        cnp_delay_min_ns=int(seen.cnp_delay_min[peer]) if delayed else None,
        cnp_delay_max_ns=int(seen.cnp_delay_max[peer]) if delayed else None,
        messages={kind: int(counts[row]) for kind, counts in seen.messages.items() if counts[row]},
        resent_messages=int(seen.resent_messages[row]),
        resent_share_max=float(seen.resent_share_max[row]) if seen.resent_messages[row] else None,
        completed=int(seen.completed[row]),
        fct_mean_ns=_ratio(float(seen.fct_sum[row]), int(seen.completed[row])),
        fct_max_ns=int(seen.fct_max[row]) if seen.completed[row] else None,
        throughput_bps=_ratio(8e9 * float(seen.completed_bytes[row]), float(seen.fct_sum[row])),
        one_sided=int(seen.one_sided[row]),
        one_sided_mean_ns=_ratio(float(seen.one_sided_sum[row]), int(seen.one_sided[row])),
        one_sided_max_ns=int(seen.one_sided_max[row]) if seen.one_sided[row] else None,
        partial=int(seen.partial[row]),
        unanswered=int(seen.unanswered[row]),
        rtt_count=int(seen.rtt_count[row]),
        rtt_mean_ns=_ratio(float(seen.rtt_sum[row]), int(seen.rtt_count[row])),
        rtt_min_ns=int(seen.rtt_min[row]) if seen.rtt_count[row] else None,
        rtt_max_ns=int(seen.rtt_max[row]) if seen.rtt_count[row] else None,
        delay=delays.of(row),
        icrc_ok=int(seen.icrc_right[row]),
        icrc_bad=int(seen.icrc_wrong[row]),
        icrc_not_checkable=int(seen.icrc_unchecked[row]),
        first_ns=int(seen.first_ns[row]),
        last_ns=int(seen.last_ns[row]),
    )


def _worst(view: View, delays: DirectionDelays) -> dict[str, list[ConnectionSummary]]:
    """The worst connections by each measure, those without it left out."""
    seen, span = view.connections, capture_span(view)
    ranks = {
        "retransmission": np.where(seen.data >= FEWEST_DATA, seen.retransmitted / np.maximum(seen.data, 1), 0),
        "fct": seen.fct_sum / np.maximum(seen.completed, 1),
        "rtt": seen.rtt_sum / np.maximum(seen.rtt_count, 1),
    }
    return {
        measure: [
            sum_up_connection(view, delays, row, span)
            for row in np.argsort(-rank, kind="stable")[:MOST_CONNECTIONS].tolist()
            if rank[row] > 0
        ]
        for measure, rank in ranks.items()
    }


def _host_pairs(view: View) -> list[HostPairSummary]:
    """Pairs of hosts, those that retransmit most first, then by bytes."""
    seen, pairs, span = view.connections, view.host_pairs, capture_span(view)
    sums = {
        name: np.bincount(seen.host_pair, getattr(seen, name), len(pairs.src))
        for name in (
            *("data", "bytes", "packets", "retransmitted", "resent_messages", "out_of_order", "naks", "rnr_naks", "timeouts"),
            *("ce_packets", "icrc_right", "icrc_wrong"),
        )
    }
    has_peer = np.nonzero(seen.peer >= 0)[0]
    sums["cnps"] = np.bincount(seen.host_pair[has_peer], seen.cnp_packets[seen.peer[has_peer]], len(pairs.src))
    of = np.split(np.argsort(seen.host_pair, kind="stable"), np.cumsum(np.bincount(seen.host_pair, minlength=len(pairs.src)))[:-1])
    directions = np.bincount(seen.host_pair, seen.data > 0, len(pairs.src))
    rows = np.nonzero(sums["data"] > 0)[0]
    rows = rows[np.lexsort((-sums["bytes"][rows], -sums["retransmitted"][rows]))][:MOST_HOST_PAIRS]
    quantiles = {name: _quantiles(getattr(pairs, name), rows, *meaning) for name, meaning in _HISTOGRAMS.items()}
    return [
        HostPairSummary(
            src=pairs.src[row] or None,
            dst=pairs.dst[row] or None,
            directions=int(directions[row]),
            **{name: int(sums[name][row]) for name in _SUMMED},
            data_packets=int(sums["data"][row]),
            retransmission_ratio=_ratio(int(sums["retransmitted"][row]), int(sums["data"][row])),
            resent_share_max=float(seen.resent_share_max[of[row]].max()) if sums["resent_messages"][row] else None,
            ce_ratio=_ratio(int(sums["ce_packets"][row]), int(sums["packets"][row])),
            cnps_per_second=_per_second(seen, of[row], span),
            icrc_ok=int(sums["icrc_right"][row]),
            icrc_bad=int(sums["icrc_wrong"][row]),
            fct=quantiles["fct"][at],
            fct_one_sided=quantiles["fct_one_sided"][at],
            rtt=quantiles["rtt"][at],
            throughput=quantiles["fet"][at],
        )
        for at, row in enumerate(rows.tolist())
    ]


_SUMMED = ("bytes", "retransmitted", "resent_messages", "out_of_order", "naks", "rnr_naks", "timeouts", "cnps")


def _per_second(seen: ConnectionView, rows: Any, span: Span) -> float | None:
    """CNPs that came back to these directions, over the time in which they and their peers were seen; None without any such time.

    A time outside of the capture's span is astray.
    """
    rows = rows[seen.peer[rows] >= 0]
    both = np.concatenate([rows, seen.peer[rows]])
    times = np.concatenate([seen.first_ns[both][seen.first_ns[both] > 0], seen.last_ns[both]])
    if span is not None:
        times = times[(times >= span[0]) & (times <= span[1])]
    if len(times) == 0:
        return None
    return _ratio(1e9 * int(seen.cnp_packets[seen.peer[rows]].sum()), int(times.max() - times.min()))


_HISTOGRAMS = {
    "fct": ("ns", "no whole message with its answer was seen"),
    "fct_one_sided": ("ns", "no whole message without an answer was seen"),
    "rtt": ("ns", "no acknowledgement of a packet that asked for one was seen"),
    "fet": ("bit/s", "no whole message with its answer was seen"),
}
"""Histograms of HostPairView: unit, and why one is empty."""


def _together(view: View, name: str) -> Quantiles:
    """All pairs of hosts as one."""
    pairs = view.host_pairs
    return _quantiles(getattr(pairs, name).together(range(len(pairs.src))), [0], *_HISTOGRAMS[name])[0]


def _quantiles(histograms: Any, rows: Any, unit: str, why_absent: str) -> list[Quantiles]:
    counts = histograms.counts()[rows].tolist()
    values = histograms.quantiles([*SHARES, 1.0], rows=rows).tolist()
    return [
        Quantiles(count, p50, p99, p999, largest, unit) if count else Quantiles(0, None, None, None, None, unit, why_absent)
        for count, (p50, p99, p999, largest) in zip(counts, values, strict=True)
    ]


def _notes(seen: ConnectionView, two_sided: Any, verified: Any, answerable: Any) -> list[str]:
    """What keeps these figures from being exact."""
    notes = []
    if seen.tracking.polled:
        notes.append(
            f"connections are polled, each {percent(seen.tracking.time_share)} of the time: these figures are of "
            f"{percent(seen.tracking.connections_share)} of the connections "
            f"and {percent(seen.tracking.packets_share or 0)} of the packets; "
            "messages that a turn cuts are not measured, and neither jobs nor storage are judged"
        )
    alone = int(answerable.sum() - two_sided.sum())
    if alone:
        notes.append(
            f"{alone} of {int(answerable.sum())} reliable directions are one-sided: their completion times are first to last packet, "
            "and NAKs, timeouts, RTT and CNPs are not known"
        )
    unsure = int(two_sided.sum() - verified.sum())
    if unsure:
        notes.append(f"{things(unsure, 'pair')} with fewer than three acknowledgements: not verified")
    missing, arrived = int(seen.unfilled.sum()), int(seen.unfilled[two_sided].sum())
    if missing > arrived:
        notes.append(f"{things(missing - arrived, 'packet')} never seen: lost before the mirror, by it, or by the capture")
    if arrived:
        notes.append(
            f"{things(arrived, 'packet')} of reliable two-sided connections never seen, not as retransmissions either: they arrived, or "
            "these connections would have stopped; the mirror or the capture lost them"
        )
    measured, partial = int(seen.completed.sum() + seen.one_sided.sum()), int(seen.partial.sum())
    if partial > NOTEWORTHY * (measured + partial):
        notes.append(f"{partial} of {measured + partial} messages are not measured: packets of them are missing, or their times")
    if seen.evicted:
        notes.append(f"{seen.evicted} directions were forgotten because there were too many at once")
    return notes


def _sending(seen: ConnectionView) -> Any:
    """Directions that sent data or datagrams, not only answers."""
    return seen.data + sum(seen.messages.values()) > 0


def _present(value: Any) -> int | None:
    return int(value) if int(value) >= 0 else None


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
