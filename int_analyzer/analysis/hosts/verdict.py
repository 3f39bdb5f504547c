"""The verdict on storage I/O: compute, network or storage, for every host, every target and every pair of them, with all three shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.hosts.clearance import Clearance
from int_analyzer.analysis.hosts.lateness import find_lateness, latest
from int_analyzer.analysis.hosts.storage import Samples, Storage
from int_analyzer.analysis.hosts.trouble import clear_samples, clears, micro, usual_of_others
from int_analyzer.analysis.hosts.work_summary import StoragePlace, StorageSummary
from int_analyzer.analysis.quantiles import SHARES, Quantiles, quantiles_of
from int_analyzer.fold.view import HostPairView, View

HEALTHY, COMPUTE, NETWORK, STORAGE = "healthy", "compute", "network", "storage"
MOST_PAIRS = 1000
_NO_DPL = "no READ request with its response was seen"
_NO_DAL = "no command was seen alone with its data and its completion"
_NO_RTT = "no acknowledgement of a packet that asked for one was seen"


@dataclass(frozen=True)
class _Evidence:
    """What verdicts are made of: the samples on paths that are clear, and RTTs by pair of addresses."""

    storage: Storage
    clearance: Clearance
    round_trips: HostPairView
    rows_of: dict[tuple[str, str], int]
    medians: Any  # float64: of the RTTs of every row of round_trips
    dpl_clear: Any
    dal_clear: Any

    def rows(self, pairs: set[tuple[int, int]]) -> list[int]:
        """Rows of the histograms of RTT between hosts and targets, either way."""
        named = [(self.storage.addresses[host], self.storage.addresses[target]) for host, target in pairs]
        return sorted({self.rows_of[pair] for one, other in named for pair in ((one, other), (other, one)) if pair in self.rows_of})


def judge_storage(view: View, storage: Storage, clearance: Clearance) -> StorageSummary:
    """A row per host, per target and per pair, in the order of their addresses."""
    rows_of = {pair: row for row, pair in enumerate(zip(view.host_pairs.src, view.host_pairs.dst, strict=True)) if row}
    clear = (clear_samples(storage, storage.dpl, clearance), clear_samples(storage, storage.dal, clearance))
    evidence = _Evidence(storage, clearance, view.host_pairs, rows_of, view.host_pairs.rtt.quantiles([0.5])[:, 0], *clear)
    pairs = sorted(set(_pairs(storage.dpl)) | set(_pairs(storage.dal)))
    return StorageSummary(
        commands=storage.commands,
        writes=storage.writes,
        reads=storage.reads,
        overlapping=storage.overlapping,
        inline=storage.inline,
        hosts=[_place(evidence, host, None, {pair for pair in pairs if pair[0] == host}, pairs) for host in storage.hosts],
        targets=[_place(evidence, None, target, {pair for pair in pairs if pair[1] == target}, pairs) for target in storage.targets],
        pairs=[_place(evidence, *pair, {pair}, pairs) for pair in pairs[:MOST_PAIRS]],
        notes=_notes(view, storage),
    )


def _pairs(samples: Samples) -> list[tuple[int, int]]:
    return list(zip(samples.host.tolist(), samples.target.tolist(), strict=True))


def _place(
    evidence: _Evidence, host: int | None, target: int | None, own: set[tuple[int, int]], pairs: list[tuple[int, int]]
) -> StoragePlace:
    storage, addresses = evidence.storage, evidence.storage.addresses
    dpl, dal = (_own(samples, host, target) for samples in (storage.dpl, storage.dal))
    round_trips = evidence.round_trips.rtt
    rows = evidence.rows(own)
    verdict, since_ns, reason = HEALTHY, None, ""
    late_dpl = _late(storage.dpl, dpl, evidence.dpl_clear, storage.dpl.host if host is None else None)
    late_dal = _late(storage.dal, dal, evidence.dal_clear, storage.dal.target if target is None else None)
    elsewhere = evidence.medians[evidence.rows(set(pairs) - own)]
    usual_rtt = float(np.median(elsewhere[~np.isnan(elsewhere)])) if (~np.isnan(elsewhere)).any() else np.nan
    rtt = round_trips.together(rows).quantile(0, 0.5)
    if late_dal is not None and (late_dpl is None or late_dal[1] >= late_dpl[1]):
        verdict, since_ns, reason = STORAGE, late_dal[0], f"DAL is {micro(late_dal[1])} longer than usual"
    elif late_dpl is not None:
        verdict, since_ns, reason = COMPUTE, late_dpl[0], f"DPL is {micro(late_dpl[1])} longer than usual"
    elif clears(evidence.clearance, [(addresses[one], addresses[other]) for one, other in own]) is False:
        verdict, reason = NETWORK, "a hop on its paths is congested: see the findings"
    elif rtt > latest(usual_rtt):
        verdict, reason = NETWORK, f"RTT is {micro(rtt)}, elsewhere {micro(usual_rtt)} (medians)"
    return StoragePlace(
        host=addresses[host] if host is not None else None,
        target=addresses[target] if target is not None else None,
        verdict=verdict,
        since_ns=since_ns,
        reason=reason,
        dpl=quantiles_of(storage.dpl.value_ns[dpl], _NO_DPL),
        rtt=_quantiles_in(round_trips, rows),
        dal=quantiles_of(storage.dal.value_ns[dal], _NO_DAL),
    )


def _own(samples: Samples, host: int | None, target: int | None) -> Any:
    """bool[n]: samples of a host, a target, or a pair."""
    own = np.ones(len(samples.time_ns), dtype=bool)
    if host is not None:
        own &= samples.host == host
    if target is not None:
        own &= samples.target == target
    return own


def _late(samples: Samples, own: Any, clear: Any, culprits: Any | None) -> tuple[int, float] | None:
    """Since when and by how much these samples are late against the others; those of congested paths are left out.

    culprits: of samples that are of the other ends, which one; it is told there, unless most of them are late.
    """
    rows = np.nonzero(own & clear)[0]
    usual = usual_of_others(samples.value_ns[~own & clear], samples.value_ns[rows])
    lateness = find_lateness(samples.value_ns[rows], usual) if usual is not None else None
    if lateness is None:
        return None
    if culprits is not None:
        late = rows[lateness.first : lateness.last + 1]
        late = late[samples.value_ns[late] > lateness.limit_ns]
        if 2 * len(np.unique(culprits[late])) <= len(np.unique(culprits[rows])):
            return None
    first = rows[lateness.first]
    return int(samples.time_ns[first] - samples.value_ns[first]), lateness.excess_ns


def _quantiles_in(histograms: Any, rows: list[int]) -> Quantiles:
    """Quantiles of several rows of histograms together."""
    together = histograms.together(rows)
    count = together.count(0)
    if not count:
        return Quantiles(0, None, None, None, None, "ns", _NO_RTT)
    p50, p99, p999, largest = together.quantiles([*SHARES, 1.0])[0].tolist()
    return Quantiles(count, p50, p99, p999, largest, "ns")


def _notes(view: View, storage: Storage) -> list[str]:
    """What these figures leave out."""
    notes = []
    if storage.overlapping:
        notes.append(
            f"{storage.overlapping} of {storage.commands} commands were sent while others were open: no header says whose the data is, "
            "so DAL is not known; DPL is, by PSN"
        )
    if storage.inline:
        notes.append(f"{storage.inline} commands were completed without data of their own: it was in the command, or there was none")
    if view.journal.forgotten:
        notes.append(f"{view.journal.forgotten} earlier messages were forgotten: only the latest are judged")
    return notes
