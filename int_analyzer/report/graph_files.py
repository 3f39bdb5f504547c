"""The path graph as files: node-link JSON and GraphML from the networkx graph, DOT and SVG from the summary."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from int_analyzer.analysis.summary import Finding, Link, Summary
from int_analyzer.report import drawing, figure
from int_analyzer.report.link_table import finding_of, target


def format_of(output: Path | None) -> str:
    """The format that a file's name asks for; JSON if there is none."""
    suffix = output.suffix.lstrip(".").lower() if output is not None else ""
    return {"gv": "dot"}.get(suffix, suffix) if suffix in (*WRITERS, "gv") else "json"


def write(summary: Summary, graph: Any, format: str) -> str:
    """The graph as text in one of the formats of WRITERS."""
    return WRITERS[format](summary, graph)


def node_link(summary: Summary, graph: Any) -> str:
    """Node-link JSON, as networkx.node_link_graph(…, edges="links") reads it."""
    import networkx

    return json.dumps(_plain(networkx.node_link_data(graph, edges="links")), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def graphml(summary: Summary, graph: Any) -> str:
    """GraphML: attributes that are not numbers or text are written as JSON text, absent ones are left out."""
    import networkx

    flat = graph.__class__()
    for name, attributes in graph.nodes(data=True):
        flat.add_node(_scalar(name), **_flat(attributes))
    for source, sink, attributes in graph.edges(data=True):
        flat.add_edge(_scalar(source), _scalar(sink), **_flat(attributes))
    return "\n".join(networkx.generate_graphml(flat)) + "\n"


def dot(summary: Summary, graph: Any) -> str:
    """Graphviz DOT: a node per switch, an edge per link, congested ones red."""
    names = sorted({link.source.node for link in summary.links} | {link.to_node for link in summary.links if link.to_node})
    congested = {finding.node for finding in summary.findings if finding.role == "root"}
    lines = ["digraph paths {", "  rankdir=LR;", '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif"];']
    for name in names:
        colour = f', color="{drawing.RED}", penwidth=2' if name in congested else ""
        lines.append(f"  {_quoted(name)} [label={_quoted(figure.node(name))}{colour}];")
    for number, link in enumerate(summary.links):
        lines += _dot_edge(link, number, finding_of(link, summary.findings))
    return "\n".join([*lines, "}"]) + "\n"


def svg(summary: Summary, graph: Any) -> str:
    """A picture."""
    return drawing.draw(summary)


WRITERS: dict[str, Callable[[Summary, Any], str]] = {"json": node_link, "dot": dot, "graphml": graphml, "svg": svg}


def _dot_edge(link: Link, number: int, finding: Finding | None) -> list[str]:
    label = f"{figure.short_place(link.source)} → {target(link)}\n{figure.things(link.packets, 'packet')}"
    if link.depth.count:
        label += f"\ndepth p99 {figure.quantity(link.depth.p99, link.depth.unit)}"
    style = {
        "root": f', color="{drawing.RED}", fontcolor="{drawing.RED}", penwidth=3',
        "victim": f', color="{drawing.ORANGE}", style=dashed, penwidth=2',
    }.get(finding.role if finding is not None else "", "")
    sink = link.to_node
    lines = []
    if sink is None:
        sink = f"out {number}"
        lines.append(f'  {_quoted(sink)} [label="", shape=point];')
    return [*lines, f"  {_quoted(link.source.node)} -> {_quoted(sink)} [label={_quoted(label)}{style}];"]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(entry) for entry in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.item() if hasattr(value, "item") else value


def _scalar(value: Any) -> Any:
    plain = _plain(value)
    return plain if isinstance(plain, (bool, int, float, str)) else json.dumps(plain, ensure_ascii=False)


def _flat(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: _scalar(value) for name, value in attributes.items() if _plain(value) is not None}
