"""Span: from when to when a capture goes. One packet with a damaged time would stretch it by years.

Times are known by buckets of hops, without telemetry by the first and last packets of messages. Where these lie an hour or more apart, a
side with hardly any packets is astray: it is left out, and counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer.analysis.hosts.message import UNSEEN, Messages
from int_analyzer.fold.view import View

STRAY_NS, STRAY_SHARE = 3_600_000_000_000, 0.01


def capture_start(view: View) -> int:
    """Start of the first bucket that is not astray; there is one."""
    return int(_usual(*_times(view))[0][0])


def capture_span(view: View) -> tuple[int, int] | None:
    """Times of the first and of the last packet that are not astray; None for a capture without times."""
    first, last = view.counts.get("first_ns", 0), view.counts.get("last_ns", 0)
    starts, packets = _times(view)
    if not first or not len(starts):
        return (first, last) if first else None
    usual, width = _usual(starts, packets)[0], view.buckets.width_ns
    start, end = int(usual[0]), int(usual[-1]) + width
    seen = np.concatenate([view.flows.first_ns, view.flows.last_ns])
    seen = seen[(seen >= start) & (seen <= end)]
    if start - first > STRAY_NS:
        first = int(seen.min(initial=end)) if len(seen) else start
    if last - end > STRAY_NS:
        last = int(seen.max(initial=start)) if len(seen) else end
    return first, last


def without_strays(view: View, messages: Messages) -> Messages:
    """The messages but those whose first or last packet has a time that is astray: how long they took is not known."""
    return messages.of(~are_astray(view, np.stack([messages.begin_ns, messages.end_ns])).any(axis=0))


def are_astray(view: View, times: Any) -> Any:
    """bool, of the shape of `times`: those that lie an hour or more before the capture's span or behind it; UNSEEN is none."""
    span = capture_span(view)
    if span is None:
        return np.zeros(times.shape, dtype=bool)
    return (times != UNSEEN) & ((times <= span[0] - STRAY_NS) | (times >= span[1] + STRAY_NS))


def count_strays(view: View) -> int:
    """Hops (without telemetry: first and last packets of messages) whose time is astray."""
    starts, packets = _times(view)
    return int(packets.sum() - _usual(starts, packets)[1].sum()) if len(starts) else 0


def _times(view: View) -> tuple[Any, Any]:
    """Times, and of how many packets each is, in order: int64[n] each. Where none can be astray, the first, of all, and the last."""
    starts, packets = view.buckets.start_ns, view.buckets.packets
    if not len(starts):
        starts = view.journal.time_ns
        packets = np.ones(len(starts), dtype=np.int64)
    if len(starts) and starts.max() - starts.min() <= STRAY_NS:
        return np.array([starts.min(), starts.max()]), np.array([packets.sum(), 0])
    order = np.argsort(starts, kind="stable")
    return starts[order], packets[order]


def _usual(starts: Any, packets: Any) -> tuple[Any, Any]:
    """Those of times in order from the first to the last piece that is not astray."""
    edges = np.concatenate([[0], np.flatnonzero(np.diff(starts) > STRAY_NS) + 1])
    weights = np.add.reduceat(packets, edges)
    usual = np.flatnonzero(weights >= STRAY_SHARE * packets.sum())
    kept = slice(edges[usual[0]], np.append(edges, len(starts))[usual[-1] + 1])
    return starts[kept], packets[kept]
