"""Counters → their part of the summary: what was read, how finely, what rose, what could not be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from int_analyzer.analysis.outside.gpu import find_bounds
from int_analyzer.analysis.outside.outside_summary import CounterRise, OutsideSummary
from int_analyzer.analysis.outside.testimony import Witness
from int_analyzer.analysis.span import capture_span
from int_analyzer.analysis.summary import JobSummary
from int_analyzer.analysis.wording import plain
from int_analyzer.evidence.series import Counters, Rise, Series
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile

MOST_RISES, MOST_NAMES = 50, 5


def sum_up_outside(view: View, profile: Profile, counters: Counters, jobs: Sequence[JobSummary]) -> OutsideSummary:
    """What counters say of the capture's time; counters that clearly rose, most first within their metric."""
    span = capture_span(view)
    start_ns, end_ns = span if span is not None else (0, 0)
    witness = Witness(view, profile, counters)
    metrics = sorted({one.metric.name for one in counters.series if one.metric.rises})
    rises = [_rise(profile, one, rise) for name in metrics for one, rise in witness.risen(name, start_ns, end_ns)]
    return OutsideSummary(
        sources=counters.sources,
        series=dict(Counter(one.metric.name for one in counters.series)),
        readings=sum(len(one.time_ns) for one in counters.series),
        interval_ns=counters.interval_ns,
        strangers=len(counters.strangers),
        stranger_names=counters.strangers[:MOST_NAMES],
        ignored=counters.ignored,
        rises=rises[:MOST_RISES],
        jobs=find_bounds(jobs, counters, start_ns, end_ns),
        notes=_notes(counters, span),
    )


def _rise(profile: Profile, one: Series, rise: Rise) -> CounterRise:
    node_id, port_id = one.node_id, one.port_id
    return CounterRise(
        metric=one.metric.name,
        node=profile.node_name(node_id) if node_id is not None else None,
        port=profile.port_name(node_id, port_id) if node_id is not None else None,
        node_id=node_id,
        port_id=port_id,
        host=profile.host_name(one.host) if one.host is not None else None,
        amount=rise.amount,
        first_ns=rise.first_ns,
        last_ns=rise.last_ns,
    )


def _notes(counters: Counters, span: tuple[int, int] | None) -> list[str]:
    if span is None:
        return ["the capture has no times: nothing is joined"]
    notes = []
    start_ns, end_ns = span
    interval_ns = counters.interval_ns
    if not counters.series:
        notes.append(f"no series {'names a known port or host' if counters.strangers else 'was read'}: nothing is joined")
    elif not any(one.time_ns[0] <= end_ns and one.time_ns[-1] >= start_ns for one in counters.series):
        notes.append("no reading lies in the time of the capture: nothing is joined")
    if interval_ns is not None:
        text = f"counters are read every {plain(interval_ns / 1e9)} s: their times are known no better, and their clock is not compared"
        if interval_ns > end_ns - start_ns:
            text += f"; the capture lasts only {plain((end_ns - start_ns) / 1e9)} s, so they tell of a longer time around it"
        notes.append(text)
    return notes
