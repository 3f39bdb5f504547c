"""Why a root is congested: more came than before, less went than before, or its siblings could have carried it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.congestion import Congestion, active_times, bucket_range, within
from int_analyzer.analysis.drain import FULL, SLOW, Drain
from int_analyzer.analysis.paths import Reach
from int_analyzer.analysis.wording import percent, plain
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT, Profile

ROSE, FELL = 1.2, 0.8
"""Load while congested ÷ load before: from when it counts as more, and as less."""
IMBALANCE = 1.5
"""Load of the port ÷ mean of it and its siblings, from when the balance is to blame."""
LINE_RATE = 0.8
"""A port that sends so much of its link speed does what it can."""
TOO_MUCH = 1.05
"""Load ÷ link speed, from when not all that is counted can have passed."""
SLOWER = 0.7
"""A congested port that carries less than this share of what calm ports like it carry is slower than they are."""
UNSEEN = 0.5
"""When less than this share of what a port sent is in the flows seen, the rest is traffic without telemetry."""
CALM_SHARE = 0.1
"""The calm time that is compared with must be at least this share of the congested time."""

OVERLOAD, PAUSED, DEGRADED, IMBALANCED, BACK_PRESSURE, UNKNOWN = (
    "overload",
    "paused-port",
    "degraded-link",
    "imbalance",
    "back-pressure",
    "unknown",
)

Intervals = tuple[Any, Any]
"""Starts and ends in ns, sorted and apart."""


@dataclass(frozen=True)
class Rates:
    """What was seen to pass a port in some time, per second."""

    packets: float
    bytes: float


@dataclass(frozen=True)
class Cause:
    """A cause, and the sentences that show why."""

    name: str
    evidence: list[str]


def find_cause(
    view: View,
    profile: Profile,
    congestion: Congestion,
    reach: dict[tuple[int, int], Reach],
    busy: frozenset[tuple[int, int]],
    share_seen: float | None,
    drain: Drain | None,
) -> Cause:
    """The cause of a root's congestion.

    `busy` are all congested (node, port)s; `share_seen` is the share of the port's traffic that is in the flows seen, `drain` how fast
    the queue empties; None if unknown.
    """
    port = _port(view, congestion.queue)
    hot = episode_times(congestion)
    load, before = load_change(view, congestion)
    speed = profile.port_speed_bps(*port)
    evidence = [_load_sentence(load, before)]
    if speed and 8 * load.bytes > TOO_MUCH * speed:
        dropped = any(node == port[0] for node, _ in view.drops)
        reasons = ["packets count twice", "telemetry made them longer later on", "the link is faster than the profile says"]
        reasons += ["packets that were dropped here are counted"] if dropped else []
        evidence.append(f"that is {percent(8 * load.bytes / speed)} of its link speed, more than it can carry: {', or '.join(reasons)}")
    siblings = _siblings(port, reach)
    calm_siblings = [other for other in siblings if other not in busy]
    sibling_load = [port_rates(view, other, hot).bytes for other in calm_siblings]
    last_hop = port in reach and reach[port].last_hop
    slow = PAUSED if last_hop else DEGRADED

    if drain is not None:
        evidence.append(_drain_sentence(drain))
        if drain.share < SLOW:
            return Cause(slow, evidence)
    if siblings and len(calm_siblings) == len(siblings):
        mean = (load.bytes + sum(sibling_load)) / (1 + len(siblings))
        evidence.append(
            f"{len(siblings)} equal-cost sibling port{'s' if len(siblings) > 1 else ''} calm "
            f"({_listed(profile, calm_siblings)}); this port carried {plain(load.bytes / mean if mean else 0, 2)} × the mean of them all"
        )
        if mean and load.bytes > IMBALANCE * mean:
            return Cause(IMBALANCED, evidence)
    if drain is not None and drain.share >= FULL:
        return Cause(OVERLOAD, evidence)
    if speed and 8 * load.bytes >= LINE_RATE * speed:
        if 8 * load.bytes <= TOO_MUCH * speed:
            evidence.append(f"at {percent(8 * load.bytes / speed)} of its link speed")
        return Cause(OVERLOAD, evidence)
    ratio = _ratio(load, before)
    if ratio is not None and ratio >= ROSE:
        return Cause(OVERLOAD, evidence)
    alike = sibling_load + [port_rates(view, other, hot).bytes for other in _parallel(port, reach) if other not in busy]
    if alike and load.bytes < SLOWER * float(np.mean(alike)):
        more = f"{plain(float(np.mean(alike)) / load.bytes, 2)} × as much" if load.bytes else "traffic"
        evidence.append(f"{len(alike)} calm port{'s' if len(alike) > 1 else ''} that lead to the same place carry {more} without a queue")
        return Cause(slow, evidence)
    if share_seen is not None and share_seen < UNSEEN:
        return Cause(OVERLOAD, evidence)
    if ratio is not None and ratio <= FELL:
        evidence.append("the queue grew although less passed" + ("; no further hop is seen after this port" if last_hop else ""))
        return Cause(slow, evidence)
    if before is None and drain is not None:
        return Cause(slow, evidence)
    if speed and 8 * load.bytes < speed:
        # The rest may have passed unseen: without telemetry, or not sampled.
        evidence.append(f"{percent(8 * load.bytes / speed)} of its link speed was seen to pass while packets waited")
    evidence.append("whether more came or less could leave cannot be told from the traffic seen")
    return Cause(UNKNOWN, evidence)


def load_change(view: View, congestion: Congestion) -> tuple[Rates, Rates | None]:
    """What was seen to pass the port while it was congested, and in calm time; None without a calm time to compare with."""
    port = _port(view, congestion.queue)
    calm = _calm_intervals(view, congestion)
    return port_rates(view, port, episode_times(congestion)), port_rates(view, port, calm) if calm is not None else None


def held_up(view: View, congestion: Congestion) -> float | None:
    """Load while congested ÷ load in calm time if it did not rise although packets waited; None if it rose or cannot be told."""
    ratio = _ratio(*load_change(view, congestion))
    return ratio if ratio is not None and ratio < ROSE else None


def port_rates(view: View, port: tuple[int, int], intervals: Intervals) -> Rates:
    """What was seen to pass a (node, port) in the intervals, all its queues together."""
    queues, buckets = view.queues, view.buckets
    of_port = np.flatnonzero((queues.node_id == port[0]) & (queues.port == port[1]))
    rows = np.concatenate([np.arange(*bucket_range(buckets, queue)) for queue in of_port.tolist()])
    rows = rows[within(buckets.start_ns[rows], *intervals)]
    seconds = float((intervals[1] - intervals[0]).sum()) / 1e9
    return Rates(float(buckets.packets[rows].sum()) / seconds, float(buckets.bytes[rows].sum()) / seconds)


def _port(view: View, queue: int) -> tuple[int, int]:
    return int(view.queues.node_id[queue]), int(view.queues.port[queue])


def episode_times(congestion: Congestion) -> Intervals:
    """When a queue was congested."""
    starts = np.array([episode.start_ns for episode in congestion.episodes])
    return starts, np.array([episode.end_ns for episode in congestion.episodes])


def _calm_intervals(view: View, congestion: Congestion) -> Intervals | None:
    """The time before the first episode, else that after the last, else all that is in no episode; None if that is too short.

    Time in which the whole capture holds nothing is not calm: nothing is known of it.
    """
    width = view.buckets.width_ns
    least = max(3 * width, CALM_SHARE * congestion.duration_ns)
    seen = active_times(view.buckets)
    episodes, episode_ends = episode_times(congestion)
    first, last = int(seen[0][0]), int(seen[1][-1])
    before = np.array([first]), episodes[:1]
    after = episode_ends[-1:], np.array([last])
    between = np.concatenate(([first], episode_ends)), np.concatenate((episodes, [last]))
    for candidate in (before, after, between):
        starts, ends = _intersection(candidate, seen)
        if (ends - starts).sum() >= least:
            return starts, ends
    return None


def _intersection(one: Intervals, other: Intervals) -> Intervals:
    """What lies in both."""
    edges = np.unique(np.concatenate((*one, *other)))
    starts, ends = edges[:-1], edges[1:]
    both = within(starts, *one) & within(starts, *other)
    return starts[both], ends[both]


def _siblings(port: tuple[int, int], reach: dict[tuple[int, int], Reach]) -> list[tuple[int, int]]:
    """Ports of the same node that lead to the same next nodes, or through others to the same last nodes (or to part of them)."""
    own = reach.get(port)
    if own is None or own.last_hop or port[0] == ABSENT:
        return []
    found = []
    for other, theirs in reach.items():
        if other == port or other[0] != port[0] or theirs.last_hop:
            continue
        alternative = own.beyond and theirs.beyond and (own.beyond <= theirs.beyond or theirs.beyond <= own.beyond)
        if own.next_nodes == theirs.next_nodes or alternative:
            found.append(other)
    return sorted(found)


def _parallel(port: tuple[int, int], reach: dict[tuple[int, int], Reach]) -> list[tuple[int, int]]:
    """Ports of other nodes that lead to the same next node, and nowhere else."""
    own = reach.get(port)
    if own is None or len(own.next_nodes) != 1 or ABSENT in (port[0], *own.next_nodes):
        return []
    return sorted(other for other, theirs in reach.items() if other[0] != port[0] and theirs.next_nodes == own.next_nodes)


def _ratio(load: Rates, before: Rates | None) -> float | None:
    """Load ÷ load before, infinite where nothing passed before; None without a calm time."""
    if before is None:
        return None
    return load.bytes / before.bytes if before.bytes else float("inf")


def _load_sentence(load: Rates, before: Rates | None) -> str:
    now = f"seen load while congested {_rate(load)}"
    if before is None:
        return f"{now}; no calm time to compare with"
    change = f" (× {plain(load.bytes / before.bytes, 2)})" if before.bytes else ""
    return f"{now}, in calm time {_rate(before)}{change}"


def _drain_sentence(drain: Drain) -> str:
    share = percent(drain.share)
    if drain.at_least:
        return f"it empties at a rate of at least {share} of its link speed (depth ÷ latency, of which it is unknown what is no wait)"
    return f"it empties at {share} of its link speed (depth ÷ wait)"


def _rate(rates: Rates) -> str:
    bits = 8 * rates.bytes
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits >= size:
            return f"{plain(rates.packets, 4)} packets/s ({plain(bits / size)} {unit})"
    return f"{plain(rates.packets, 4)} packets/s ({plain(bits)} bit/s)"


def _listed(profile: Profile, ports: list[tuple[int, int]]) -> str:
    names = [profile.port_name(*port) for port in ports[:4]]
    return "port " + ", ".join(names) + (f" and {len(ports) - 4} more" if len(ports) > 4 else "")
