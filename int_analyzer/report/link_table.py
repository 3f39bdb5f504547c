"""The links of the path graph as lines: node:port → node:port, packets, quantiles of hop latency and queue depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from int_analyzer.analysis.summary import Finding, Link, Quantiles, Summary
from int_analyzer.report import figure
from int_analyzer.report.grid import GAP, Grid

MARKS = {"root": "!", "victim": "v", "host": "h"}
_NUMBERS = 7


def link_lines(summary: Summary, width: int, top: int) -> Iterator[tuple[str, str]]:
    """(line, role of the link's port or style) of the `top` links, those with a finding first.

    Where names are too long for `width`, a link takes two lines: its name, and its numbers below.
    """
    ranked = sorted(summary.links, key=lambda link: finding_of(link, summary.findings) is None)[:top]
    findings = [finding_of(link, summary.findings) for link in ranked]
    shown_roles = [finding.role if finding is not None else "" for finding in findings]
    units = figure.unit_of([link.latency for link in summary.links]), figure.unit_of([link.depth for link in summary.links])
    names = Grid(gap=1)
    for link, role in zip(ranked, shown_roles, strict=True):
        names.add(MARKS.get(role, " "), figure.short_place(link.source), "→", target(link))
    numbers = Grid(right=range(_NUMBERS))
    titles = f"hop latency{_named(units[0])}", f"queue depth{_named(units[1])}"
    numbers.add("packets", "p50", "p99", "p99.9", "p50", "p99", "p99.9")
    for link in ranked:
        numbers.add(figure.number(link.packets), *_cells(link.latency, units[0]), *_cells(link.depth, units[1]))
    # the columns of latency together are made as wide as their title
    numbers.rows[0][1] = "p50".rjust(len(titles[0]) - sum(numbers.widths()[2:4]) - 2 * GAP)
    stacked = 1 + names.width() + 2 + numbers.width() > width
    indent = 5 if stacked else 1 + names.width() + 2
    widths = numbers.widths()
    before_latency, latency = widths[0] + GAP, sum(widths[1:4]) + 3 * GAP
    heads, *rows = numbers.lines()
    yield " " * (indent + before_latency) + titles[0].ljust(latency) + titles[1], "dim"
    yield " " * indent + heads, "dim"
    for name, row, role in zip(names.lines(), rows, shown_roles, strict=True):
        if stacked:
            yield f" {name}", role
            yield " " * indent + row, role
        else:
            yield f" {name.ljust(names.width())}  {row}", role
    legend = {(f.role, figure.trouble(f)): None for f in findings if f is not None}
    if legend:
        yield f" {'  '.join(f'{MARKS[role]} {trouble}' for role, trouble in legend)}", "dim"
    absent = sorted({q.why_absent for link in ranked for q in (link.latency, link.depth) if q.count == 0 and q.why_absent})
    if absent:
        yield f" {figure.NONE} {'; '.join(absent)}", "dim"


def finding_of(link: Link, findings: Sequence[Finding]) -> Finding | None:
    """The first finding about the link's queue, or about its port as a whole."""
    at = link.source
    of_port = (finding for finding in findings if (finding.node_id, finding.port_id) == (at.node_id, at.port_id))
    return next((finding for finding in of_port if finding.queue in (None, at.queue)), None)


def target(link: Link) -> str:
    """Where a link leads: node:port, or "out" where the telemetry ends."""
    if link.to_node is None:
        return "out"
    return f"{link.to_node}:{link.to_port}" if link.to_port else link.to_node


def _named(unit: str | None) -> str:
    return f" ({unit})" if unit not in (None, "ns", "bytes") else ""


def _cells(quantiles: Quantiles, common_unit: str | None) -> list[str]:
    values = (quantiles.p50, quantiles.p99, quantiles.p999)
    show = figure.bare if common_unit else figure.quantity
    return [show(value, quantiles.unit) for value in values]
