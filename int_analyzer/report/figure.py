"""Figures as people read them: short numbers, durations, sizes, clock times, shares. None and unknown are "–"."""

from __future__ import annotations

from datetime import UTC, datetime

from int_analyzer.analysis.summary import Finding, Port, Quantiles
from int_analyzer.analysis.wording import percent
from int_analyzer.analysis.wording import things as things

NONE = "–"
_SECOND = 1_000_000_000


def number(value: float | None) -> str:
    """A count or a raw value in at most five characters or so: 999, 12.3k, 1.23M."""
    if value is None:
        return NONE
    if abs(value) < 10_000:
        return f"{value:.0f}" if value == int(value) else _significant(value)
    for factor, suffix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        # 999 950 is shown as 1.00M, not as 1000k
        if abs(value) >= factor * 0.9995:
            return _significant(value / factor) + suffix
    return f"{value:.0f}"


def count(value: int) -> str:
    """A count in full; from five digits on in groups of three."""
    return f"{value:,}".replace(",", " ") if value >= 10_000 else str(value)


def duration(nanoseconds: float | None) -> str:
    """A duration with its unit: 850 ns, 1.20 µs, 2.43 s, 12 min."""
    if nanoseconds is None:
        return NONE
    length = abs(nanoseconds)
    if length >= 600 * _SECOND:
        minutes = nanoseconds / 60 / _SECOND
        return f"{minutes:.0f} min" if length < 6000 * _SECOND else f"{minutes / 60:.1f} h"
    for factor, unit in ((_SECOND, "s"), (1e6, "ms"), (1e3, "µs")):
        if length >= factor * 0.9995:
            return f"{_significant(nanoseconds / factor)} {unit}"
    return f"{nanoseconds:.0f} ns"


def size(value: float | None) -> str:
    """Bytes with a decimal prefix: 512 B, 1.20 MB."""
    if value is None:
        return NONE
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(value) >= factor * 0.9995:
            return f"{_significant(value / factor)} {unit}"
    return f"{value:.0f} B"


def quantity(value: float | None, unit: str) -> str:
    """A value with its unit; a unit that is not known is said: "79 raw"."""
    if value is None:
        return NONE
    if unit == "ns":
        return duration(value)
    if unit == "bytes":
        return size(value)
    return f"{number(value)} {unit}"


def bare(value: float | None, unit: str) -> str:
    """A value for a table whose header names the unit, unless the unit scales (ns, bytes)."""
    return quantity(value, unit) if unit in ("ns", "bytes") else number(value)


def share(value: float | None) -> str:
    """A part of one as a percentage."""
    return NONE if value is None else percent(value)


def clock(nanoseconds: int | None) -> str:
    """Time of day in UTC with milliseconds."""
    if not nanoseconds:
        return NONE
    seconds, rest = divmod(nanoseconds, _SECOND)
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S}.{rest // 1_000_000:03}"


def date(nanoseconds: int | None) -> str:
    """Date and time of day in UTC with milliseconds."""
    if not nanoseconds:
        return NONE
    return f"{datetime.fromtimestamp(nanoseconds // _SECOND, UTC):%Y-%m-%d} {clock(nanoseconds)}"


def node(name: str) -> str:
    """ "node 2" where the node has only a number, else its name."""
    return f"node {name}" if name.isdigit() else name


def place(node_name: str, port: str | None, queue: int | None) -> str:
    """ "node 2 port 2 queue 0"."""
    words = [node(node_name)]
    if port is not None and port != "":
        words.append(f"port {port}")
    if queue is not None:
        words.append(f"queue {queue}")
    return " ".join(words)


def trouble(finding: Finding) -> str:
    """What a finding says of its place: "congested"; "loses packets" where nothing waits."""
    return trouble_of(finding.role, finding.peak_depth is not None or finding.peak_latency is not None)


def trouble_of(role: str, waits: bool) -> str:
    """The same of a finding's role, and whether packets were seen to wait there."""
    if role == "root" and not waits:
        return "loses packets"
    return {"root": "congested", "victim": "held up", "host": "slow host"}.get(role, role)


def impact(finding: Finding) -> str:
    """What a finding did, in all: packets and what they waited longer than usual; of a host, how often it was late and by how much."""
    concerned = things(finding.packets, "time" if finding.role == "host" else "packet")
    counted, _, unit = finding.impact_unit.partition(" × ")
    value = quantity(finding.impact, "raw" if "(raw)" in unit else unit or counted)
    if counted == "packets" and unit:
        waited = unit in ("ns", "latency (raw)")
        return f"{concerned} waited {value} in all" if waited else f"{concerned}; the depths that they met add up to {value}"
    much = {"ns": " longer in all", "bytes": " more in all"}.get(unit or counted, "")
    return f"{concerned}, {value}{much}"


def short_place(port: Port) -> str:
    """ "2:2", and the queue if it is not the only one that is meant."""
    text = f"{port.node}:{port.port}" if port.port else port.node
    return f"{text} q{port.queue}" if port.queue else text


def unit_of(quantiles: list[Quantiles]) -> str | None:
    """The unit that all of these have, or None where they differ."""
    units = {entry.unit for entry in quantiles if entry.count}
    return units.pop() if len(units) == 1 else None


def _significant(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"
