"""Where packets are lost: the link that all paths with retransmissions share, and paths without do not cross.

Of every link (egress port of a node → next node) the directions that cross it are compared with those that do not: how many retransmissions
began per packet here and there. The link under which both are best explained by one rate each (the largest likelihood ratio) is
believed if the ratio is far beyond what chance does to so many links, if nearly all loss lies on it, and if there is clean traffic
elsewhere to compare with. Loss of all paths alike, or of single hosts whose paths share no link, gives nothing.

Counted is how often retransmission began, not how many packets it sent: go-back-N sends many for one that was lost. Waits for a receiver
that was not ready are taken out. A direction that moved once, and lost packets only before, tells of the path that it was on then; any
other whose path changed tells nothing: it is not known where it was when it lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.wording import plain
from int_analyzer.fold.order import GAP_STEP_NS
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile

FEWEST_EVENTS = 8
"""With fewer events a link is no more than an accident."""
FEWEST_DIRECTIONS = 2
"""So many directions with loss make it one of the link, not of a queue pair."""
CERTAIN = 12.0
"""Log-likelihood ratio, beyond the logarithm of the number of links, from which chance is ruled out (e^-12 is 6 in a million)."""
CONFINED = 0.8
"""Share of all loss that has to lie on the link."""
CLEANER = 5.0
"""So many times rarer loss has to be on other paths."""
AFFECTED = 0.5
"""Of the directions that one rate would make lossy, so many have to be."""
FEWEST_EXPECTED = 3.0
"""Other traffic of a host acquits it if it is clean where so many events were to be expected."""
LIKELY, FEWEST_LIKELY = 5.0, 4
"""The same as CERTAIN and FEWEST_EVENTS for a link that is under suspicion from elsewhere (its cable has errors)."""
SETTLED_NS = 500_000_000
"""What is sent again so soon after a path changed may have been lost by the change."""
RIVAL = 3.0
"""A link whose likelihood ratio is nearer than this to the best explains the loss as well."""
ONE_HOST = 0.6
"""Confidence in a link whose lossy directions all come from one host, or all go to one, that nothing acquits."""

Link = tuple[int, int, int | None]
"""Node id, egress port, next node id (None: the path ends)."""


@dataclass(frozen=True)
class Losses:
    """Loss by direction, of those whose path is known: row in PathView, data packets, events and when, source and destination."""

    flow: Any  # int64[n]: row in FlowView
    path: Any
    packets: Any
    events: Any
    first_ns: Any  # capture time of the first and the last event, 0 where unknown; of a gap, of the packet behind it
    last_ns: Any
    error_ns: Any  # so much earlier an event may have been; only of gaps
    src: list[str]
    dst: list[str]


@dataclass(frozen=True)
class LossyLink:
    """The link that explains the losses, how much better than no link does, and in words why."""

    node_id: int
    port_id: int
    to_node_id: int | None
    directions: int
    directions_with_loss: int
    packets: int
    events: int
    ratio: float  # events per packet on paths that cross it
    ratio_elsewhere: float
    share: float  # of all events
    rivals: list[Link]
    confidence: float
    evidence: list[str]
    doubt: str  # in words, what explains the losses as well; "" if nothing does
    start_ns: int
    end_ns: int
    error_ns: int  # so much earlier it may have begun
    resent: bool  # events are retransmissions, not gaps
    events_of: dict[int, int]
    """Events by flow (row in FlowView), most first."""
    flows: list[int]
    """All flows that cross it, or did."""


def losses_by_direction(view: View) -> Losses:
    """What the connections of a view tell of loss: how often retransmission began; of unreliable transport, gaps."""
    seen, flows = view.connections, view.flows
    unreliable = np.array([name == "UC" for name in seen.transport], dtype=bool)
    events = np.where(unreliable, seen.unfilled, np.maximum(seen.rewinds - seen.rnr_naks, 0))
    first, last = np.where(unreliable, seen.first_gap_ns, seen.first_rewind_ns), np.where(unreliable, seen.last_gap_ns, seen.last_rewind_ns)
    known = np.nonzero((seen.flow >= 0) & (seen.data > 0))[0]
    known = known[flows.path[seen.flow[known]] >= 0]
    stayed = known[flows.path_changes[seen.flow[known]] == 0]
    moved = known[_moved_cleanly(view, seen.flow[known], events[known], first[known], last[known])]
    change = flows.path_change_ns[seen.flow[moved]]
    begin, end = flows.first_ns[seen.flow[moved]], flows.last_ns[seen.flow[moved]]
    before = (seen.data[moved] * ((change - begin) / np.maximum(end - begin, 1))).astype(np.int64)
    # One of the times is that of the change itself: what was on its way then.
    events_before = np.maximum(events[moved] - (last[moved] >= change), 0)
    rows = np.concatenate((stayed, moved, moved))
    none = np.zeros(len(moved), dtype=np.int64)
    return Losses(
        flow=seen.flow[rows],
        path=np.concatenate((flows.path[seen.flow[stayed]], flows.path_before[seen.flow[moved]], flows.path[seen.flow[moved]])),
        packets=np.concatenate((seen.data[stayed], before, seen.data[moved] - before)),
        events=np.concatenate((events[stayed], events_before, none)),
        first_ns=np.concatenate((first[stayed], first[moved], none)),
        last_ns=np.concatenate((last[stayed], np.minimum(last[moved], change), none)),
        error_ns=np.where(unreliable, seen.longest_gap_ns + GAP_STEP_NS, 0)[rows],
        src=[seen.src[row] for row in rows.tolist()],
        dst=[seen.dst[row] for row in rows.tolist()],
    )


def _moved_cleanly(view: View, flow: Any, events: Any, first: Any, last: Any) -> Any:
    """bool[n]: flows (rows of FlowView) that changed their path once and, if they lost packets, did so before that."""
    flows = view.flows
    change = flows.path_change_ns[flow]
    once = (flows.path_changes[flow] == 1) & (flows.path_before[flow] >= 0) & (change > 0)
    return once & ((events == 0) | ((first > 0) & (first < change) & (last < change + SETTLED_NS)))


def find_lossy_link(
    view: View, profile: Profile | None = None, losses: Losses | None = None, suspects: Collection[Link] | None = None
) -> LossyLink | None:
    """The link that explains the losses best, None if none does beyond chance.

    losses: those of the view's connections. suspects: the only links to look at, of which less certainty is asked.
    """
    losses = losses if losses is not None else losses_by_direction(view)
    total, events = int(losses.packets.sum()), int(losses.events.sum())
    certain, fewest = (CERTAIN, FEWEST_EVENTS) if suspects is None else (LIKELY, FEWEST_LIKELY)
    if events < fewest:
        return None
    crossing = {link: rows for link, rows in _crossing(view, losses).items() if suspects is None or link in suspects}
    gains = {link: _gain(losses, rows, total, events) for link, rows in crossing.items()}
    if not gains:
        return None
    best = max(gains, key=lambda link: gains[link])
    rows = crossing[best]
    inside, lost = int(losses.packets[rows].sum()), int(losses.events[rows].sum())
    ratio, elsewhere = lost / inside, (events - lost) / (total - inside) if total > inside else float("inf")
    lossy = rows[losses.events[rows] > 0]
    lossy = lossy[np.argsort(-losses.events[lossy], kind="stable")]
    timed = lossy[losses.first_ns[lossy] > 0]
    error = int(losses.error_ns[lossy].max(initial=0))
    expected = float((1 - np.exp(-ratio * losses.packets[rows])).sum())
    if (
        gains[best] < certain + np.log(len(gains))
        or lost < CONFINED * events
        or ratio < CLEANER * elsewhere
        or len(lossy) < max(FEWEST_DIRECTIONS, AFFECTED * expected)
    ):
        return None
    rivals = [link for link in gains if link != best and gains[best] - gains[link] < RIVAL]
    ends = [losses.src] if best[2] is None else [losses.src, losses.dst]
    host = any(_same_host(losses, hosts, rows, lossy, ratio) for hosts in ends)
    share = lost / events
    confidence = share * min(1.0, gains[best] / (2 * CERTAIN)) * (ONE_HOST if host else 1.0) / (1 + len(rivals))
    return LossyLink(
        node_id=best[0],
        port_id=best[1],
        to_node_id=best[2],
        directions=len(rows),
        directions_with_loss=len(lossy),
        packets=inside,
        events=lost,
        ratio=ratio,
        ratio_elsewhere=elsewhere,
        share=share,
        rivals=rivals,
        confidence=confidence,
        evidence=_evidence(lost, events, ratio, elsewhere, len(lossy), len(rows), host, error),
        doubt=name_rivals(profile or Profile(), rivals),
        start_ns=int((losses.first_ns - losses.error_ns)[timed].min())
        if len(timed)
        else int(view.flows.first_ns[losses.flow[lossy]].min()),
        end_ns=int(losses.last_ns[lossy].max()) or int(view.flows.last_ns[losses.flow[lossy]].max()),
        error_ns=error,
        resent=error == 0,
        events_of=dict(zip(losses.flow[lossy].tolist(), losses.events[lossy].tolist(), strict=True)),
        flows=sorted(set(losses.flow[rows].tolist())),
    )


def _crossing(view: View, losses: Losses) -> dict[Link, Any]:
    """The directions (rows of `losses`) that cross each link."""
    node_ids, ports = view.queues.node_id.tolist(), view.queues.port.tolist()
    of_path: dict[int, list[int]] = defaultdict(list)
    for row, path in enumerate(losses.path.tolist()):
        of_path[path].append(row)
    found: dict[Link, set[int]] = defaultdict(set)
    for path, rows in of_path.items():
        queues = view.paths.queues[path]
        for position, queue in enumerate(queues):
            following = node_ids[queues[position + 1]] if position + 1 < len(queues) else None
            found[node_ids[queue], ports[queue], following].update(rows)
    return {link: np.array(sorted(rows), dtype=np.int64) for link, rows in found.items()}


def _same_host(losses: Losses, hosts: list[str], rows: Any, lossy: Any, ratio: float) -> bool:
    """Whether all that lose share a host of which no clean traffic on other paths shows that it is not the cause."""
    shared = {hosts[row] for row in lossy.tolist()}
    if len(shared) > 1:
        return False
    elsewhere = np.array([host in shared for host in hosts])
    elsewhere[rows] = False
    expected = ratio * float(losses.packets[elsewhere].sum())
    return expected < FEWEST_EXPECTED or CLEANER * float(losses.events[elsewhere].sum()) > expected


def _gain(losses: Losses, rows: Any, total: int, events: int) -> float:
    """By how much two rates of loss, on the link and elsewhere, explain more than one does: a log-likelihood ratio, 0 if it is cleaner."""
    inside, lost = int(losses.packets[rows].sum()), int(losses.events[rows].sum())
    if inside == total or lost * total <= events * inside:
        return 0.0
    return _likelihood(lost, inside) + _likelihood(events - lost, total - inside) - _likelihood(events, total)


def _likelihood(events: int, packets: int) -> float:
    """Largest log-likelihood of so many events in so many packets, Poisson, without what is the same for all rates."""
    return events * float(np.log(events / packets)) - events if events else 0.0


def name_rivals(profile: Profile, rivals: list[Link]) -> str:
    """What explains the losses as well, in words; "" if nothing does."""
    if not rivals:
        return ""
    names = ", ".join(f"node {profile.node_name(node)} port {profile.port_name(node, port)}" for node, port, _ in rivals[:3])
    more = f" and {len(rivals) - 3} more" if len(rivals) > 3 else ""
    return f"as good an explanation: {names}{more}, which the same connections cross"


def _evidence(lost: int, events: int, ratio: float, elsewhere: float, lossy: int, directions: int, host: bool, error_ns: int) -> list[str]:
    clean = f"against {plain(elsewhere, 2)} on other paths" if elsewhere > 0 else "and none on other paths"
    evidence = [
        f"{lost} of {events} times that {'a packet is missing' if error_ns else 'a sender retransmitted'}, its path crossed this link",
        f"{plain(ratio, 2)} times per packet there {clean}",
        f"{lossy} of the {directions} connections over it are affected",
    ]
    if error_ns:
        evidence.append(f"gaps in PSNs tell when: a packet was lost up to {plain(error_ns / 1000)} µs before the next one came")
    if host:
        evidence.append("all of these share a host: it, or its own cable, may be the cause")
    return evidence
