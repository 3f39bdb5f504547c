"""What was read and how well, as labelled lines: packets, telemetry, rejects by name, losses, damage, assumptions."""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer.analysis.summary import Capture, Quality, Summary
from int_analyzer.report.figure import clock, count, date, duration, share, size, things

_FILES, _STREAMS, _DATE = 3, 8, len("2026-05-28")


def reading_lines(summary: Summary) -> Iterator[tuple[str, str]]:
    """(label, text) of every line of the section; a label is empty where the line continues the one before."""
    if summary.capture is not None:
        yield from _capture_lines(summary.capture, "hop" if summary.quality is not None and summary.quality.hops else "end")
    if summary.quality is not None:
        yield from _quality_lines(summary.quality)


def _capture_lines(capture: Capture, timed: str) -> Iterator[tuple[str, str]]:
    names = ", ".join(capture.files[:_FILES])
    if len(capture.files) > _FILES:
        names += f" and {len(capture.files) - _FILES} more"
    yield "capture", f"{names} ({size(capture.bytes)}, read in {duration(capture.elapsed_seconds * 1e9)})"
    if capture.first_ns and capture.last_ns:
        lasted = duration(capture.last_ns - capture.first_ns)
        begun, ended = date(capture.first_ns), date(capture.last_ns)
        same_day = begun[:_DATE] == ended[:_DATE]
        yield "time", f"{begun} to {clock(capture.last_ns) if same_day else ended} UTC, {lasted}"
        if capture.strays:
            of_messages = " of messages" if timed == "end" else ""
            yield "", f"without {things(capture.strays, timed)}{of_messages} whose time is an hour or more off all others"


def _quality_lines(quality: Quality) -> Iterator[tuple[str, str]]:
    parts = [count(quality.packets), size(quality.bytes)]
    if quality.roce_packets:
        with_telemetry = quality.roce_with_telemetry_share
        covered = f" ({share(with_telemetry)} with telemetry)" if with_telemetry is not None else ""
        parts.append(f"RoCEv2 {count(quality.roce_packets)}{covered}")
    yield "packets", ", ".join(parts)
    telemetry = [f"{share(quality.telemetry_share)} of packets", things(quality.hops, "hop")]
    if quality.reports:
        telemetry.append(things(quality.reports, "report"))
    if quality.telemetry_overhead is not None:
        telemetry.append(f"{share(quality.telemetry_overhead)} of bytes are telemetry")
    yield "telemetry", ", ".join(telemetry)
    if quality.copies:
        yield "copies", f"{things(quality.copies, 'packet')} seen before at another mirror point: every hop is counted once"
    if quality.postcards is not None:
        cards = quality.postcards
        others = _counted(cards.not_joined)
        joined = f"{count(cards.joined)} of {count(cards.total)} joined to paths ({share(cards.joined_share)})"
        yield "postcards", f"{joined}; {others}" if others else joined
    if quality.formats:
        yield "formats", _counted(quality.formats)
    if quality.dialects:
        yield "dialects", _counted(quality.dialects)
    yield "rejects", _counted(quality.rejects) or "none"
    if quality.warnings:
        yield "warnings", _counted(quality.warnings)
    yield from _loss_lines(quality)
    if quality.ce_packets or quality.cnp_packets:
        yield "congestion", f"{things(quality.ce_packets, 'packet')} marked CE, {things(quality.cnp_packets, 'CNP')}"
    if quality.icrc is not None:
        told = f"{count(quality.icrc.ok)} right, {count(quality.icrc.bad)} wrong, {count(quality.icrc.not_checkable)} not checkable"
        reasons = _counted(quality.icrc.reasons)
        yield "ICRCs", f"{told} ({reasons})" if reasons else told
    for position, damage in enumerate(quality.damages):
        place = f"{damage.get('file')} at byte {damage.get('offset')}" if damage.get("offset") is not None else f"{damage.get('file')}"
        yield "" if position else "damage", f"{place}: {damage.get('reason')}; what was whole before is used"
    if quality.flows_evicted or quality.pairs_evicted:
        yield "forgotten", f"{things(quality.flows_evicted, 'flow')}, {things(quality.pairs_evicted, 'flow-queue pair')} (too many at once)"
    for position, assumption in enumerate(quality.assumptions):
        yield "" if position else "assumed", assumption


def _loss_lines(quality: Quality) -> Iterator[tuple[str, str]]:
    # Those that lost most first, then those of which it is not known; a large fabric has hundreds that lost nothing.
    ranked = sorted(quality.losses, key=lambda loss: (-_integer(loss.get("lost")), not loss.get("static")))
    shown = quality.losses if len(ranked) <= _STREAMS else ranked[:_STREAMS]
    lines = [_loss(loss) for loss in shown]
    if len(ranked) > _STREAMS:
        rest = ranked[_STREAMS:]
        lost, received = (sum(_integer(loss.get(name)) for loss in rest) for name in ("lost", "received"))
        unknown = sum(bool(loss.get("static")) for loss in rest)
        lines.append(
            f"and {len(rest)} more: {count(lost)} of {count(lost + received)} lost" + (f", of {unknown} unknown" if unknown else "")
        )
    lines += [
        f"node {drop.get('node', drop.get('node_id'))} reports {things(_integer(drop.get('reports')), 'drop')}, reason {drop.get('reason')}"
        for drop in quality.drops
    ]
    for position, line in enumerate(lines):
        yield "" if position else "losses", line


def _loss(loss: dict[str, object]) -> str:
    stream = f"{loss.get('kind')} of node {loss.get('node', loss.get('node_id'))}, hw {loss.get('stream')}"
    if loss.get("kind") == "erspan":
        stream = f"erspan session {loss.get('node_id')}" + (f" from {loss.get('source')}" if loss.get("source") else "")
    if loss.get("static"):
        return f"{stream}: unknown, its sequence number never moves"
    lost, received = _integer(loss.get("lost")), _integer(loss.get("received"))
    text = f"{stream}: {count(lost)} of {count(lost + received)} lost"
    if lost:
        text += f" ({share(lost / (lost + received))})"
    if loss.get("reordered"):
        text += f", {count(_integer(loss.get('reordered')))} out of order"
    if loss.get("duplicated"):
        text += f", {count(_integer(loss.get('duplicated')))} twice"
    return text


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0


def _counted(counts: dict[str, int]) -> str:
    return " · ".join(f"{name}: {count(number)}" for name, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if number)
