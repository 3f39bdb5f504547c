"""What a lossy link did to the messages over it: their throughput before, meanwhile and since, and whether the link is still used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.hosts.message import Messages
from int_analyzer.analysis.losses.lossy_link import LossyLink
from int_analyzer.analysis.span import capture_span, capture_start
from int_analyzer.analysis.wording import plain
from int_analyzer.fold.view import View

FEWEST_MESSAGES = 5
"""Fewer tell of no throughput."""
STEPS = 20
"""The time of loss is looked at in so many steps, to tell an even loss from one that comes and goes."""
FALLEN = 0.8
"""Throughput below this share of what it was before counts as lower."""
LEFT_NS = 50_000_000
"""A port is left if nothing crosses it for so long, and for a tenth of the time that it was seen, while the capture goes on."""


@dataclass(frozen=True)
class Throughput:
    """Bytes of messages ÷ the time that they took, bit/s: before the loss, meanwhile, in the worst and the best step of that, and since."""

    before: float | None
    during: float | None
    worst: float | None
    best: float | None
    since: float | None


def describe_fall(view: View, throughput: Throughput, link: LossyLink) -> list[str]:
    """The first link of the chain: throughput of the messages fell, and when."""
    if throughput.before is None or throughput.during is None or throughput.during > FALLEN * throughput.before:
        return []
    text = (
        f"throughput of the messages over it falls at {moment(view, link.start_ns)} from {rate(throughput.before)} "
        f"to {rate(throughput.during)} in the mean"
    )
    if throughput.worst is not None and throughput.best is not None and throughput.worst < FALLEN * throughput.best:
        text += f", unevenly: between {rate(throughput.worst)} and {rate(throughput.best)} in steps of {_step(link)}"
    return [text]


def describe_recovery(view: View, throughput: Throughput, link: LossyLink) -> list[str]:
    """The last link of the chain: the port is no longer used, and what the same connections do since."""
    span = capture_span(view)
    last = span[1] if span is not None else link.end_ns
    crossed = (view.queues.node_id == link.node_id) & (view.queues.port == link.port_id)
    seen = min(int(view.queues.last_ns[crossed].max()), last)
    sentences = []
    if last - seen > max(LEFT_NS, (seen - int(view.queues.first_ns[crossed].min())) // 10):
        moved = int((view.flows.path_changes[link.flows] > 0).sum())
        went = f": {moved} of its {len(link.flows)} connections go another way since" if moved else ""
        sentences.append(f"nothing crosses it after {moment(view, seen)}{went}")
    if last - link.end_ns > LEFT_NS and throughput.since is not None:
        what = "no retransmission begins" if link.resent else "no packet is missing"
        text = f"recovered: {what} on these connections after {moment(view, link.end_ns)}"
        known = throughput.before is not None and throughput.during is not None and throughput.during <= FALLEN * throughput.before
        sentences.append(text + (f", and throughput is {rate(throughput.since)} again" if known else ""))
    return sentences


def measure_throughput(view: View, link: LossyLink, messages: Messages) -> Throughput:
    """Throughput of the messages of connections that cross a link, or did."""
    long = messages.whole & (messages.packets > 1) & (messages.end_ns > messages.begin_ns)
    own = messages.of(long & np.isin(view.connections.flow[messages.direction], link.flows))
    during = (own.end_ns >= link.start_ns) & (own.begin_ns <= link.end_ns)
    edges = np.linspace(link.start_ns, link.end_ns, STEPS + 1)
    place = np.clip(np.searchsorted(edges, own.begin_ns, "right") - 1, 0, STEPS - 1)
    steps = [value for step in range(STEPS) if (value := _throughput(own, during & (place == step))) is not None]
    return Throughput(
        before=_throughput(own, own.end_ns < link.start_ns),
        during=_throughput(own, during),
        worst=min(steps, default=None),
        best=max(steps, default=None),
        since=_throughput(own, own.begin_ns > link.end_ns),
    )


def moment(view: View, time_ns: int, decimals: int = 6) -> str:
    """A time as findings tell it: since the begin of the capture."""
    return f"{(time_ns - capture_start(view)) / 1e9:+.{decimals}f} s"


def rate(bps: float) -> str:
    """2.1 Gbit/s, 340 Mbit/s."""
    unit, size = ("Gbit/s", 1e9) if bps >= 1e9 else ("Mbit/s", 1e6)
    return f"{plain(bps / size)} {unit}"


def _throughput(messages: Messages, rows: Any) -> float | None:
    """Of some messages together; None of too few."""
    if rows.sum() < FEWEST_MESSAGES:
        return None
    return 8e9 * float(messages.bytes[rows].sum()) / float((messages.end_ns - messages.begin_ns)[rows].sum())


def _step(link: LossyLink) -> str:
    return f"{plain((link.end_ns - link.start_ns) / STEPS / 1e6)} ms"
