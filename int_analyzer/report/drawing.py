"""The path graph as a picture: SVG, layered from the source side to the sink side, drawn here and the same every time.

What is congested is red, thick, marked with a triangle and said in words; a port that is held up by another is orange and dashed.
(Colours after Okabe and Ito, told apart by the colour-blind.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from xml.sax.saxutils import escape

from int_analyzer.analysis.summary import Link, Summary
from int_analyzer.report import figure
from int_analyzer.report.excerpt import Excerpt, excerpt, shown
from int_analyzer.report.layering import layers_of
from int_analyzer.report.terminal import headline, verdict

RED, ORANGE, BLUE, GREY, INK, PAPER = "#d02c1f", "#e69f00", "#0072b2", "#6b7280", "#1f2937", "#ffffff"
_ROW, _HEAD, _GAP_Y, _GAP_X, _MARGIN, _OUT = 22, 28, 34, 170, 24, 56
_CHARACTER = 7.0
"""Width of a character at 12 px; boxes are as wide as their longest text."""
_STYLE = (
    "text{font:12px system-ui,'DejaVu Sans',Arial,sans-serif;fill:#1f2937}"
    ".small{font-size:11px;fill:#4b5563}.title{font-size:15px;font-weight:600}.name{font-weight:600}"
    ".mark{fill:#ffffff;font-weight:600}.flow{paint-order:stroke;stroke:#ffffff;stroke-width:3px}"
)


@dataclass
class _Box:
    """A node: its ports top to bottom, its banners, and where it stands."""

    name: str
    ingress: list[str] = field(default_factory=list)
    egress: list[str] = field(default_factory=list)
    details: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    banners: list[tuple[str, str]] = field(default_factory=list)
    x: float = 0
    y: float = 0

    @property
    def height(self) -> float:
        return _HEAD + _ROW * max(len(self.ingress), len(self.egress), 1) + _ROW * len(self.banners) + 6

    @property
    def width(self) -> float:
        rows = max(len(self.ingress), len(self.egress))
        texts = [len(figure.node(shown(self.name))) + 2]
        for row in range(rows):
            left = len(shown(self.ingress[row])) if row < len(self.ingress) else 0
            right = len(self._label(self.egress[row])) if row < len(self.egress) else 0
            texts.append(left + right + 5)
        texts += [len(text) + 4 for text, _ in self.banners]
        return max(texts) * _CHARACTER + 16

    def _label(self, port: str) -> str:
        mark = "▲ " if self.roles.get(port) == "root" else ""
        return f"{self.details.get(port, '')}  {mark}{shown(port)}"

    def port_y(self, row: int) -> float:
        return self.y + _HEAD + _ROW * row + _ROW / 2


def draw(summary: Summary) -> str:
    """The picture as SVG text."""
    drawn = excerpt(summary)
    boxes = _boxes(drawn)
    layers = layers_of(replace(summary, links=drawn.links), sorted(boxes))
    width, height = _place(boxes, layers, 52)
    first, *rest = _headline(summary)
    below = [text for text in (_legend(summary), drawn.left_out) if text]
    width = max(width, len(first) * 8 + 2 * _MARGIN, 420)
    bottom = height + 12 + _ROW * len(below)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{bottom:.0f}" '
        f'viewBox="0 0 {width:.0f} {bottom:.0f}" role="img">',
        f"<title>{escape(first)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect width="100%" height="100%" fill="{PAPER}"/>',
        f'<text class="title" x="{_MARGIN}" y="28" style="fill:{RED if summary.findings else INK}">{escape(first)}</text>',
    ]
    lines += [f'<text class="small" x="{_MARGIN}" y="46">{escape(rest[0])}</text>'] if rest else []
    links = _by_port(drawn.links)
    busiest = max((link.packets for link in links), default=1)
    edges = [_edge(boxes, link, busiest) for link in sorted(links, key=lambda link: _role(boxes, link) != "")]
    # labels over all curves, each with a white rim
    lines += [curve for curve, _ in edges] + [label for _, label in edges]
    for name in sorted(boxes):
        lines += _node(boxes[name])
    for place, text in enumerate(below):
        lines.append(f'<text class="small" x="{_MARGIN}" y="{height + 18 + _ROW * place:.0f}">{escape(text)}</text>')
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _by_port(links: Sequence[Link]) -> list[Link]:
    """The queues of a port as one link, with the packets of all."""
    packets: dict[tuple[str | None, ...], int] = {}
    first: dict[tuple[str | None, ...], Link] = {}
    for link in links:
        ends = link.source.node, link.source.port, link.to_node, link.to_port
        packets[ends] = packets.get(ends, 0) + link.packets
        first.setdefault(ends, link)
    return [replace(link, packets=packets[ends]) for ends, link in first.items()]


def _headline(summary: Summary) -> list[str]:
    roots = [finding for finding in summary.findings if finding.role == "root"] or summary.findings
    if not roots:
        return [verdict(summary)]
    what, when = headline(roots[0])
    more = f"; and {len(roots) - 1} more" if len(roots) > 1 else ""
    return [what, when + more]


def _legend(summary: Summary) -> str:
    text = "line width and number: packets · right of a node: egress port, p99 of its queue depth"
    roots = {figure.trouble(f): None for f in summary.findings if f.role == "root"}
    if roots:
        text += f" · ▲ red: {' or '.join(roots)}"
    return text + " · dashed orange: held up" if any(finding.role == "victim" for finding in summary.findings) else text


def _boxes(drawn: Excerpt) -> dict[str, _Box]:
    boxes: dict[str, _Box] = {}
    # of a port's queues the deepest comes last, and is told
    for link in sorted(drawn.links, key=lambda link: link.depth.p99 or 0):
        source = boxes.setdefault(link.source.node, _Box(link.source.node))
        port = link.source.port or "?"
        if port not in source.egress:
            source.egress.append(port)
        if link.depth.count:
            source.details[port] = figure.quantity(link.depth.p99, link.depth.unit)
        if link.to_node is not None:
            target = boxes.setdefault(link.to_node, _Box(link.to_node))
            if (link.to_port or "?") not in target.ingress:
                target.ingress.append(link.to_port or "?")
    for mark in drawn.marks:
        box = boxes.get(mark.node)
        if box is not None and mark.port in box.egress:
            box.roles[mark.port] = mark.role
            if mark.text:
                box.banners.append((mark.text, mark.role))
    for box in boxes.values():
        box.ingress.sort(key=_natural)
        box.egress.sort(key=_natural)
        box.banners.reverse()
    return boxes


def _natural(text: str) -> tuple[int, int, str]:
    return (0, int(text), "") if text.isdigit() else (1, 0, text)


def _place(boxes: dict[str, _Box], layers: list[list[str]], top: float) -> tuple[float, float]:
    """Give every box its place; returns width and height of the whole."""
    heights = [sum(boxes[name].height for name in layer) + _GAP_Y * (len(layer) - 1) for layer in layers]
    tallest = max(heights, default=0)
    x = float(_MARGIN)
    for layer, height in zip(layers, heights, strict=True):
        column = max(boxes[name].width for name in layer)
        y = top + _MARGIN / 2 + (tallest - height) / 2
        for name in layer:
            boxes[name].x = x + (column - boxes[name].width) / 2
            boxes[name].y = y
            y += boxes[name].height + _GAP_Y
        x += column + _GAP_X
    right = max((box.x + box.width for box in boxes.values()), default=0.0)
    return right + _OUT + _MARGIN, top + _MARGIN + tallest


def _role(boxes: dict[str, _Box], link: Link) -> str:
    return boxes[link.source.node].roles.get(link.source.port or "?", "")


def _edge(boxes: dict[str, _Box], link: Link, busiest: int) -> tuple[str, str]:
    source = boxes[link.source.node]
    role = _role(boxes, link)
    colour = {"root": RED, "victim": ORANGE, "host": ORANGE}.get(role, BLUE)
    dash = ' stroke-dasharray="7 4"' if role in ("victim", "host") else ""
    thickness = 1.2 + 3.3 * math.log1p(link.packets) / math.log1p(max(busiest, 1)) + (1.2 if role == "root" else 0)
    x1, y1 = source.x + source.width, source.port_y(source.egress.index(link.source.port or "?"))
    label = figure.number(link.packets)
    if link.to_node is None:
        path = f"M{x1:.1f} {y1:.1f}h{_OUT - 18}"
        label = f"{label} out"
    else:
        target = boxes[link.to_node]
        x2, y2 = target.x, target.port_y(target.ingress.index(link.to_port or "?"))
        bend = max((x2 - x1) / 2, 60)
        path = f"M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
        if x2 < x1:
            # back, as loops go: below the boxes, not behind them
            below, out = max(source.y + source.height, target.y + target.height) + _MARGIN / 2, _MARGIN
            path = (
                f"M{x1:.1f} {y1:.1f}C{x1 + out:.1f} {y1:.1f} {x1 + out:.1f} {below:.1f} {(x1 + x2) / 2:.1f} {below:.1f}"
                f"S{x2 - out:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
            )
    # the label stands near the source: there the curve is still level, and two curves have not crossed yet
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{thickness:.1f}" stroke-opacity="0.85"{dash}/>',
        f'<text class="small flow" x="{x1 + 8:.1f}" y="{y1 - 5:.1f}">{escape(label)}</text>',
    )


def _node(box: _Box) -> list[str]:
    congested = "root" in box.roles.values()
    lines = [
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6" fill="#f8fafc" '
        f'stroke="{RED if congested else GREY}" stroke-width="{2.5 if congested else 1.2}"/>',
        f'<text class="name" x="{box.x + box.width / 2:.1f}" y="{box.y + 19:.1f}" text-anchor="middle">'
        f"{escape(figure.node(shown(box.name)))}</text>",
    ]
    for row, port in enumerate(box.ingress):
        y = box.port_y(row)
        lines.append(f'<circle cx="{box.x:.1f}" cy="{y:.1f}" r="4" fill="{PAPER}" stroke="{GREY}" stroke-width="1.5"/>')
        lines.append(f'<text x="{box.x + 9:.1f}" y="{y + 4:.1f}">{escape(shown(port))}</text>')
    for row, port in enumerate(box.egress):
        lines += _egress(box, port, box.port_y(row))
    y = box.y + box.height - 6 - _ROW * len(box.banners)
    for text, role in box.banners:
        fill = RED if role == "root" else ORANGE
        lines.append(f'<rect x="{box.x + 6:.1f}" y="{y:.1f}" width="{box.width - 12:.1f}" height="{_ROW - 3}" rx="3" fill="{fill}"/>')
        style = "mark" if role == "root" else "name"
        lines.append(f'<text class="{style}" x="{box.x + box.width / 2:.1f}" y="{y + 14:.1f}" text-anchor="middle">{escape(text)}</text>')
        y += _ROW
    return lines


def _egress(box: _Box, port: str, y: float) -> list[str]:
    role = box.roles.get(port, "")
    fill = {"root": RED, "victim": ORANGE, "host": ORANGE}.get(role, BLUE)
    right = box.x + box.width
    mark = "▲ " if role == "root" else ""
    style = f' class="name" style="fill:{RED}"' if role == "root" else ""
    lines = [
        f'<rect x="{right - 4:.1f}" y="{y - 5:.1f}" width="8" height="10" fill="{fill}"/>',
        f'<text x="{right - 9:.1f}" y="{y + 4:.1f}" text-anchor="end"{style}>{mark}{escape(shown(port))}</text>',
    ]
    detail = box.details.get(port)
    if detail:
        before = right - 9 - (len(shown(port)) + len(mark) + 1) * _CHARACTER - 3
        lines.append(f'<text class="small" x="{before:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(detail)}</text>')
    return lines
