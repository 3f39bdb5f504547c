"""The live page for the terminal: what lasts, how the ports fared, which queues are slow, and whether to trust it."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from int_analyzer.sidecar.page_document import page_document

if TYPE_CHECKING:
    from int_analyzer.sidecar.service import Sidecar

_STYLES = {"root": "bold red", "victim": "yellow", "host": "magenta"}
_TRUST_STYLES = {"high": "green", "fair": "yellow", "low": "red", "none": "red"}
_LEVELS = " ▁▂▃▄▅▆▇█"
_FINDINGS, _PORTS, _QUEUES, _EVENTS = 5, 8, 8, 5
_PIPED = 100


class Screen:
    """Shows every tick while a terminal looks on, else only the last one. Use as a context manager."""

    def __init__(self, sidecar: Sidecar, stream: TextIO) -> None:
        self._sidecar = sidecar
        looked_at = stream.isatty()
        self._console = Console(file=stream, width=None if looked_at else _PIPED, no_color=bool(os.environ.get("NO_COLOR")) or None)
        self._live = Live(console=self._console, screen=True, auto_refresh=False) if looked_at else None

    def __enter__(self) -> Screen:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()
        if self._sidecar.snapshot is not None:
            self._console.print(render(page_document(self._sidecar)))

    def show(self, now_ns: int) -> None:
        """Show the last tick."""
        if self._live is not None:
            self._live.update(render(page_document(self._sidecar)), refresh=True)


def render(state: dict[str, Any]) -> RenderableType:
    """What the page would show, as text; nothing is said by colour alone."""
    rates = state["rates"]
    head = f"{state['clock']}  {rates['packets']} packets/s  {rates['bits']}  {state['total_packets']} packets in all"
    parts: list[RenderableType] = [Text(head), Text()]
    parts += [_finding(entry) for entry in state["findings"][:_FINDINGS]] or [_calm(state)]
    parts += [Text(state["silence"], style="yellow")] if state["silence"] and state["findings"] else []
    more = len(state["findings"]) - _FINDINGS + state["further_findings"]
    parts += [Text(f"and {more} more", style="dim")] if more > 0 else []
    parts += [Text(), _ports(state["heat"]), Text(), _queues(state["queues"]), Text()]
    trust = state["trust"]
    if trust is not None:
        graded = Text(f"trust: {trust['trust']}", style=_TRUST_STYLES[trust["trust"]])
        parts.append(graded.append(f"  {trust['trust_reasons'][0]}", style="dim"))
    parts += [Text(f"RoCEv2 {label}: {text}", style="dim") for label, text in state["roce"]]
    parts += [_source(source) for source in state["sources"]]
    for event in state["events"][:_EVENTS]:
        parts.append(Text(f"{event['at']}  {event['event']:<6}  {event['place']}: {event['cause']}", style="dim"))
    return Group(*parts)


def _calm(state: dict[str, Any]) -> Text:
    """Nothing was found; where nothing came, that says nothing."""
    return Text(state["silence"], style="yellow") if state["silence"] else Text("no congestion", style="green")


def _finding(entry: dict[str, Any]) -> Text:
    role = entry["role"]
    said = f"{'▲ ' if role == 'root' else ''}{entry['trouble'].upper()}  {entry['place']} — {entry['cause'].replace('-', ' ')}"
    text = Text(said, style=_STYLES.get(role, ""))
    facts = [f"since {entry['since']}", f"for {entry['lasted']}", f"confidence {entry['confidence']:.2f}"]
    facts += [f"depth up to {entry['depth']}"] if entry["depth"] else []
    text.append("\n   " + ", ".join(facts), style="default not bold")
    for flow in entry["culprits"][:3]:
        text.append(f"\n   {flow['share']:>5} {flow['flow']}", style="default not bold")
    return text


def _ports(heat: dict[str, Any]) -> Table:
    """Each port's last seconds as a line of bars."""
    table = Table(title=heat["measure"], title_justify="left", title_style="dim", box=None, pad_edge=False, show_header=False)
    for port in heat["ports"][:_PORTS]:
        largest = max((value for value in port["values"] if value is not None), default=0)
        table.add_row(port["label"], "".join(_bar(value, heat["most"]) for value in port["values"]), str(largest))
    return table


def _bar(value: int | None, most: int) -> str:
    """· where no packet came, a blank for 0, else a bar that is never quite nothing."""
    if value is None:
        return "·"
    return _LEVELS[math.ceil((len(_LEVELS) - 1) * value / most)] if most else _LEVELS[0]


def _queues(queues: list[dict[str, Any]]) -> Table:
    table = Table(title="slowest queues, last ten seconds", title_justify="left", title_style="dim", box=None, pad_edge=False)
    table.add_column("queue")
    for name in ("packets", "latency p50", "p99", "p99.9", "depth p50", "p99", "max"):
        table.add_column(name, justify="right")
    for queue in queues[:_QUEUES]:
        latency, depth = queue["latency"], queue["depth"]
        table.add_row(queue["place"], queue["packets"], *latency[:3], depth[0], depth[1], depth[3])
    return table


def _source(source: dict[str, Any]) -> Text:
    told = f"{source['name']}: {source['packets']} packets, clock: {source['clock']}"
    lost = f", not folded: {source['kernel']} dropped by the kernel, {source['own']} shed, {source['time']} of another time"
    fault = f" — {source['fault']}" if source["fault"] else ""
    return Text(told + (lost if source["lost"] else "") + fault, style="red" if source["lost"] or source["fault"] else "dim")
