"""Packets taken apart as a tree on a terminal: what was found and why reading stopped, then header by header every field.

No colour where the output is not a terminal, and lines there are not wrapped, so that they can be searched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TextIO

from rich.console import Console, Group
from rich.text import Text
from rich.tree import Tree

from int_analyzer.dissect import wording
from int_analyzer.dissect.branch import Branch
from int_analyzer.dissect.dissection import Dissection
from int_analyzer.dissect.field import Form, Value
from int_analyzer.profile import ABSENT, Profile, Units

_NARROWEST, _UNBOUNDED = 72, 10_000
_LABEL, _INDENT = 10, 4
_PLACE, _NAME = 6, 19
"""Widths of the columns of a field: offset, name."""
_RAW_BYTES, _RAW_BYTES_NARROW, _NARROW = 8, 4, 72
"""Bytes of a field that are shown, and where the room is less than the last."""
_WIDE = 110
"""Width from which the meaning of a field has room beside its value."""
_LINE, _BEHIND = 16, "behind the captured bytes"
_SECOND = 1_000_000_000


def print_packets(packets: Sequence[Dissection], capture: str, profile: Profile, stream: TextIO) -> None:
    """Print packets one below the other."""
    console = Console(file=stream, highlight=False, emoji=False, markup=False, soft_wrap=False)
    # a pipe gets whole lines, unless somebody says how wide it is
    bounded = console.is_terminal or os.environ.get("COLUMNS", "").isdigit()
    console.width = max(console.width, _NARROWEST) if bounded else _UNBOUNDED
    for position, packet in enumerate(packets):
        if position:
            console.print()
        _print_packet(console, packet, capture, profile)


def _print_packet(console: Console, packet: Dissection, capture: str, profile: Profile) -> None:
    row = packet.packet
    title = Text(f"packet {packet.number}", style="bold")
    title.append(f" of {capture}", style="not bold")
    console.print(title, no_wrap=True, overflow="ignore", crop=False)
    missing = "" if row["captured_bytes"] >= row["original_bytes"] else f" of {row['original_bytes']}"
    _print_labelled(console, "captured", Text(f"{row['captured_bytes']}{missing} bytes{_time(row['time_ns'])}"))
    found = " + ".join(packet.formats) or "no format that is read"
    _print_labelled(console, "formats", Text(found + (f", dialect {packet.dialect}" if packet.dialect else "")))
    path = _path(packet, profile)
    if path:
        _print_labelled(console, "path", Text(path))
    _print_status(console, packet)
    for warning in packet.warnings:
        _print_labelled(console, "warning", Text.assemble((warning.name, "yellow"), f": {warning.doc}"))
    console.print()
    tree = Tree("", hide_root=True, guide_style="dim")
    marked = packet.marked()
    for branch in packet.branches:
        _add(tree, branch, 0, console.width, marked, packet, profile)
    console.print(tree)


def _time(nanoseconds: int) -> str:
    if not nanoseconds:
        return ""
    seconds, rest = divmod(nanoseconds, _SECOND)
    return f", {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}.{rest:09} UTC"


def _path(packet: Dissection, profile: Profile) -> str:
    nodes = [profile.node_name(ABSENT if hop["node_id"] is None else hop["node_id"]) for hop in packet.rows["hops"]]
    return " → ".join(nodes)


def _print_status(console: Console, packet: Dissection) -> None:
    """Why reading stopped, and the bytes there."""
    status, at = packet.status, packet.status_at
    if at is None:
        _print_labelled(console, "status", Text.assemble((status.name, "green"), f": {status.doc}"))
        return
    style = "bold red" if status.reject else "yellow"
    word = "rejected" if status.reject else "stopped"
    _print_labelled(console, word, Text.assemble((status.name, style), f" at byte {at}: {status.doc}"))
    line = at - at % _LINE
    for begin in (line - _LINE, line):
        shown = packet.data[max(begin, 0) : begin + _LINE] if begin >= 0 else b""
        if shown:
            _print_labelled(console, "", Text(f"{begin:04x}  {_spaced(shown)}", style="dim" if begin != line else ""))
    gap = 6 + 3 * (at % _LINE) + (at % _LINE >= _LINE // 2)
    pointer = " " * gap + "^^"
    if at >= len(packet.data):
        pointer = f"{_BEHIND} ^".rjust(gap + 1) if gap > len(_BEHIND) else " " * gap + f"^ {_BEHIND}"
    _print_labelled(console, "", Text(pointer, style=style))


def _spaced(data: bytes) -> str:
    return "  ".join(data[half : half + _LINE // 2].hex(" ") for half in (0, _LINE // 2)).rstrip()


def _print_labelled(console: Console, label: str, text: Text) -> None:
    for position, line in enumerate(_wrapped(text, console.width - _LABEL)):
        console.print(Text.assemble(("" if position else label).ljust(_LABEL), line), no_wrap=True, overflow="ignore", crop=False)


def _wrapped(text: Text, room: int) -> Sequence[Text]:
    if len(text) <= room:
        return [text]
    lines = text.wrap(Console(width=max(room, 1)), max(room, 1))
    for line in lines:
        line.rstrip()
    return list(lines)


def _add(tree: Tree, branch: Branch, depth: int, width: int, marked: Branch | None, packet: Dissection, profile: Profile) -> None:
    units = profile.units_of(branch.node) if branch.node is not None else profile.units
    room = width - _INDENT * depth
    title = _title(branch, profile)
    if branch is marked:
        title.append(f"  ◀ {packet.status.name} at byte {packet.status_at}", style="bold red" if packet.status.reject else "yellow")
    lines = [*_wrapped(title, room)]
    for remark in branch.remarks:
        lines += [Text("  ", style="dim").append(line) for line in _wrapped(Text(remark, style="dim"), room - 2)]
    for value in branch.values:
        lines += _field_lines(value, units, room)
    node = tree.add(Group(*lines))
    for inner in branch.branches:
        _add(node, inner, depth + 1, width, marked, packet, profile)


def _title(branch: Branch, profile: Profile) -> Text:
    title = Text(branch.title, style="bold cyan" if branch.hop is not None else "bold")
    if branch.hop is not None:
        if branch.title != f"hop {branch.hop}":
            title.append(f" = hop {branch.hop}")
        node = "?" if branch.node is None else profile.node_name(branch.node)
        title.append(f"  node {node}" if node == "?" or node.isdigit() else f"  {node}")
    size = f"{branch.size} bytes" if branch.size else "no bytes"
    title.append(f"  {size} at {branch.at}", style="not bold dim default")
    if branch.spec:
        title.append(f"  {branch.spec}", style="not bold dim default")
    return title


def _field_lines(value: Value, units: Units, room: int) -> Iterator[Text]:
    """A field: offset (with .bit inside a byte), bytes, name, value with its unit, and its meaning where there is room."""
    field = value.field
    place = f"{value.at}.{value.bit}" if value.bit or field.bits % 8 else str(value.at)
    most = _RAW_BYTES if room >= _NARROW else _RAW_BYTES_NARROW
    raw = value.raw.hex() if len(value.raw) <= most else value.raw[: most - 1].hex() + "…"
    quiet = field.form == Form.RESERVED or value.value is None
    head = Text("  ")
    head.append(place.rjust(_PLACE), style="dim")
    head.append("  " + raw.ljust(2 * most), style="dim")
    head.append("  " + field.name.replace("_", " ").ljust(_NAME) + " ", style="dim" if quiet else "")
    said = Text(wording.sentence(value, units), style="dim" if quiet else "bold")
    if field.doc and room >= _WIDE:
        said.append(f"  {field.doc}", style="not bold dim default")
    for position, line in enumerate(_wrapped(said, room - len(head))):
        yield Text.assemble(head if position == 0 else " " * len(head), line)
