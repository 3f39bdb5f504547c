"""RoCEv2 connections as labelled lines: what was sent again, what answered, the worst connections, and what keeps this from being exact."""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer.analysis.summary import ConnectionSummary, RoceSummary
from int_analyzer.report import figure
from int_analyzer.report.grid import Grid

_WORST = 3


def roce_lines(roce: RoceSummary) -> Iterator[tuple[str, str]]:
    """(label, text) of every line of the section; a label is empty where the line continues the one before."""
    kinds = ", ".join(f"{name} {figure.count(number)}" for name, number in roce.transports.items())
    seen = f"{figure.things(roce.directions, 'direction')} with data ({kinds})" if kinds else figure.things(roce.directions, "direction")
    if roce.two_sided_share is not None:
        seen += f", {figure.share(roce.two_sided_share)} two-sided, {figure.share(roce.verified_share)} verified"
    yield "directions", seen
    sent = f"{figure.count(roce.retransmitted)} of {figure.things(roce.data_packets, 'data packet')} sent again"
    if roce.retransmitted:
        sent += f" ({figure.share(roce.retransmission_ratio)}), begun {figure.count(roce.rewinds)} times"
    yield "loss", sent
    told = ", ".join(_counted(number, *noun) for number, *noun in _causes_of_all(roce) if number)
    if told:
        yield "", told
    kinds = ", ".join(f"{figure.count(number)} {kind.upper()}" for kind, number in roce.messages.items() if number)
    states = (
        *((roce.completed, "completed"), (roce.one_sided, "one-sided"), (roce.partial, "not measured")),
        *((roce.unanswered, "unanswered"), (roce.resent_messages, "with packets sent again")),
    )
    ends = ", ".join(f"{figure.count(number)} {state}" for number, state in states if number)
    if kinds or ends:
        yield "messages", "; ".join(part for part in (kinds, ends) if part)
    if roce.ce_ratio or roce.cnps:
        delay = ""
        if roce.cnp_delay_ns is not None:
            mean, least = figure.duration(roce.cnp_delay_ns), figure.duration(roce.cnp_delay_min_ns)
            delay = f", {mean} after the first mark (at least {least})"
        yield "ECN", f"{figure.share(roce.ce_ratio)} marked CE, {figure.things(roce.cnps, 'CNP')}{delay}"
    for measure, title in (("retransmission", "sent again"), ("fct", "slowest"), ("rtt", "RTT")):
        yield from _worst_lines(roce.worst.get(measure, [])[:_WORST], measure, title)
    for position, note in enumerate(roce.notes):
        yield "" if position else "but", note


def _causes_of_all(roce: RoceSummary) -> Iterator[tuple[int, str, str]]:
    """Counts with what they count, one and several."""
    yield roce.naks, "sequence NAK", "sequence NAKs"
    yield roce.timeouts, "timeout", "timeouts"
    yield roce.rnr_naks, "receiver-not-ready NAK", "receiver-not-ready NAKs"
    yield roce.other_naks, "other NAK", "other NAKs"
    yield roce.unfilled, "PSN never seen", "PSNs never seen"
    yield roce.out_of_order, "packet out of order", "packets out of order"
    yield roce.duplicates, "mirror copy", "mirror copies"


def _counted(number: int, one: str, several: str) -> str:
    return f"{figure.count(number)} {one if number == 1 else several}"


def _worst_lines(worst: list[ConnectionSummary], measure: str, title: str) -> Iterator[tuple[str, str]]:
    grid = Grid(right=(0,))
    for connection in worst:
        value, further = {
            "retransmission": (figure.share(connection.retransmission_ratio), _causes(connection)),
            "fct": (figure.duration(connection.fct_mean_ns), f"mean of {figure.things(connection.completed, 'message')}"),
            "rtt": (figure.duration(connection.rtt_mean_ns), f"mean of {figure.count(connection.rtt_count)}"),
        }[measure]
        grid.add(value, f"{connection.src} > {connection.dst} qp {connection.dest_qp:#x}", further)
    for position, line in enumerate(grid.lines()):
        yield "" if position else title, line


def _causes(connection: ConnectionSummary) -> str:
    parts = [f"{figure.count(connection.retransmitted)} of {figure.things(connection.data_packets, 'packet')}"]
    if connection.naks:
        parts.append(figure.things(connection.naks, "NAK"))
    if connection.timeouts:
        parts.append(figure.things(connection.timeouts, "timeout"))
    if connection.rnr_naks:
        parts.append(f"{figure.count(connection.rnr_naks)} not ready")
    return ", ".join(parts)
