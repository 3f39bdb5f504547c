"""Trouble of a host, not of the network: it is late where everybody else is in time, on paths without a congested hop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.confidence import BEST
from int_analyzer.analysis.hosts.all_to_all import AllToAll
from int_analyzer.analysis.hosts.clearance import Clearance
from int_analyzer.analysis.hosts.lateness import Lateness, find_lateness, find_stretch
from int_analyzer.analysis.hosts.ring import Ring
from int_analyzer.analysis.hosts.storage import Samples, Storage
from int_analyzer.analysis.wording import plain

SLOW_COMPUTE, PREPARE_SLOW, STORAGE_SLOW, HOT_EXPERT = "slow-compute", "prepare-slow", "storage-slow", "hot-expert"
UNSEEN_PATHS = 0.6
"""Confidence in a host's guilt where the telemetry does not show the network."""
HOT = 2.0
"""A member of an all-to-all that gets so many times the mean is a hot expert,"""
FEWEST_HOT_ROUNDS = 2
"""in so many rounds at least."""
ALONE = 0.1
"""Without others to compare with, what a tenth of its values does not exceed is usual for a host."""


@dataclass(frozen=True)
class Trouble:
    """A host (its address), what is wrong with it, from when to when, how often, and by how much: `excess` in `unit`."""

    host: str
    cause: str
    start_ns: int
    end_ns: int
    times: int
    excess: float
    unit: str
    confidence: float
    evidence: list[str]


def find_slow_member(ring: Ring, place: int, clearance: Clearance) -> Trouble | None:
    """A member whose own part of its steps is longer than that of the others."""
    times = ring.origin_ns + np.nan_to_num(ring.begin[place]).astype(np.int64)
    own = np.where(clearance.was_clear(ring.members[place], times), ring.lateness_of(place), np.nan)
    late, seen = find_late_chunks(own), clears(clearance, ring.pairs_of(place))
    if late is None or seen is False:
        return None
    lateness, rows = late
    first, last = rows[lateness.first], rows[lateness.last]
    start = ring.origin_ns + int(ring.begin[place, first] - lateness.median_ns)
    others = float(np.nanmedian(np.delete(ring.gap, place, axis=0)))
    behind = np.delete(ring.wait, place, axis=0)[:, first : last + 1]
    return Trouble(
        host=ring.members[place],
        cause=SLOW_COMPUTE,
        start_ns=start,
        end_ns=ring.origin_ns + int(ring.begin[place, last]),
        times=lateness.late,
        excess=lateness.excess_ns,
        unit="ns",
        confidence=_confidence(lateness, seen),
        evidence=[
            f"{lateness.late} of {lateness.last - lateness.first + 1} of its chunks began {micro(lateness.median_ns)} (median) later than "
            f"those of the other {len(ring.members) - 1} members in the same steps: it had all that it waits for, the chunk of "
            f"{ring.members[place - 1]} and its own last one; usual is {micro(others)} after both came",
            f"the others waited for their predecessors in these steps, {micro(float(np.nansum(behind)))} together",
            _of_paths(seen),
        ],
    )


def find_late_chunks(values: Any) -> tuple[Lateness, Any] | None:
    """Where values of a member (float64[steps], NaN where unknown) are late, and the steps that they are of."""
    rows = np.nonzero(~np.isnan(values))[0]
    lateness = find_lateness(values[rows], 0.0)
    return None if lateness is None else (lateness, rows)


def find_slow_storage(storage: Storage, clearance: Clearance) -> list[Trouble]:
    """Hosts that prepare their data late, and targets that answer late."""
    found = []
    for cause, samples, ends, all_of_them, doing in (
        (PREPARE_SLOW, storage.dpl, storage.dpl.host, storage.hosts, "from the READ request to its first response (DPL)"),
        (STORAGE_SLOW, storage.dal, storage.dal.target, storage.targets, "by the target (DAL)"),
    ):
        clear = clear_samples(storage, samples, clearance)
        for end in all_of_them:
            own = np.nonzero(clear & (ends == end))[0]
            usual = usual_of_others(samples.value_ns[clear & (ends != end)], samples.value_ns[own])
            lateness = find_lateness(samples.value_ns[own], usual) if usual is not None else None
            if lateness is None:
                continue
            first, last = own[lateness.first], own[lateness.last]
            partners = {(storage.addresses[samples.host[row]], storage.addresses[samples.target[row]]) for row in own.tolist()}
            seen = clears(clearance, partners)
            found.append(
                Trouble(
                    host=storage.addresses[end],
                    cause=cause,
                    start_ns=int(samples.time_ns[first] - samples.value_ns[first]),
                    end_ns=int(samples.time_ns[last]),
                    times=lateness.late,
                    excess=lateness.excess_ns,
                    unit="ns",
                    confidence=_confidence(lateness, seen),
                    evidence=[
                        f"{lateness.late} of {lateness.last - lateness.first + 1} I/Os took {micro(lateness.median_ns)} (median) {doing}; "
                        f"usual is {micro(usual or 0.0)}{', elsewhere' if len(all_of_them) > 1 else ', in its own best times'}",
                        _of_paths(seen),
                    ],
                )
            )
    return found


def find_hot_expert(exchange: AllToAll) -> Trouble | None:
    """The member that gets far more than its share, round after round."""
    balance = exchange.balance
    hottest = int(np.argmax((balance >= HOT).sum(axis=0)))
    stretch = find_stretch(balance[:, hottest] >= HOT)
    if stretch is None:
        return None
    here = balance[stretch[0] : stretch[1] + 1, hottest]
    hot = int((here >= HOT).sum())
    if hot < FEWEST_HOT_ROUNDS:
        return None
    excess = exchange.received[stretch[0] : stretch[1] + 1, hottest] * (1 - 1 / here)
    return Trouble(
        host=exchange.members[hottest],
        cause=HOT_EXPERT,
        start_ns=int(exchange.begin_ns[stretch[0]]),
        end_ns=int(exchange.end_ns[stretch[1]]),
        times=hot,
        excess=float(excess.mean()),
        unit="bytes",
        confidence=round(BEST * (1 - 1 / (hot + 2)), 3),
        evidence=[
            f"in {hot} of {len(exchange.begin_ns)} rounds of all-to-all between {len(exchange.members)} hosts it received "
            f"{plain(float(np.median(here)))} × as much as the members do in the mean"
        ],
    )


def clear_samples(storage: Storage, samples: Samples, clearance: Clearance) -> Any:
    """bool[n]: samples of pairs between which nothing is congested, at times at which no path of either end is, as far as is seen."""
    pairs = list(zip(samples.host.tolist(), samples.target.tolist(), strict=True))
    clear = {pair: clearance.is_clear(storage.addresses[pair[0]], storage.addresses[pair[1]]) is not False for pair in set(pairs)}
    taken = np.array([clear[pair] for pair in pairs], dtype=bool)
    for ends in (samples.host, samples.target):
        for end in np.unique(ends).tolist():
            own = ends == end
            taken[own] &= clearance.was_clear(storage.addresses[end], samples.time_ns[own])
    return taken


def usual_of_others(others: Any, own: Any) -> float | None:
    """What is usual in ns: the others' median; without any, what is usual in one's best times; None without values."""
    if len(others):
        return float(np.median(others))
    return float(np.quantile(own, ALONE)) if len(own) else None


def clears(clearance: Clearance, pairs: Iterable[tuple[str, str]]) -> bool | None:
    """Whether nothing is congested between any of these; None where of none of them a path is known."""
    known = [clear for clear in (clearance.is_clear(*pair) for pair in pairs) if clear is not None]
    return all(known) if known else None


def _confidence(lateness: Lateness, seen: bool | None) -> float:
    return round(BEST * lateness.share * (1 - 1 / (lateness.late + 2)) * (UNSEEN_PATHS if seen is None else 1.0), 3)


def _of_paths(seen: bool | None) -> str:
    if seen is None:
        return "in doubt: no telemetry shows the paths between them"
    return "no hop on the paths between them is congested"


def micro(duration_ns: float) -> str:
    return f"{plain(duration_ns / 1e3)} µs"
