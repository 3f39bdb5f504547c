"""IOAM as a branch, in an option of IPv6 or Geneve, or behind VXLAN-GPE or NSH: a trace with its nodes in path order, or another type."""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer.dissect.branch import REPLACED, Branch, of_bytes, of_header, values_of
from int_analyzer.dissect.field import Header
from int_analyzer.dissect.headers import ioam
from int_analyzer.dissect.trace import Step
from int_analyzer.wire.read import Buffer, u8


def ioam_option(data: Buffer, at: int, end: int, step: Step | None) -> Branch:
    """The IPv6 option from `at` to `end` (of the captured bytes), as the kernel read it in `step`."""
    option = of_header(ioam.OPTION, data, at, end)
    kind = option.number("type")
    if kind is not None:
        add_contents(data, option, kind, at + ioam.OPTION.bytes, end, step)
    return option


def ioam_shim(data: Buffer, step: Step, inner: Step | None) -> Iterator[Branch]:
    """IOAM behind VXLAN-GPE or NSH, as the kernel read it in `step` and `inner`."""
    at, limit, _, head_words = step.arguments[1:5]
    shim = of_header(ioam.SHIM_NSH if head_words else ioam.SHIM_GPE, data, at, limit)
    kind = shim.number("type")
    if inner is not None and kind is not None:
        add_contents(data, shim, kind, at + ioam.OPTION.bytes, min(inner.arguments[2], limit), inner)
    yield shim


def add_contents(data: Buffer, option: Branch, kind: int, body: int, end: int, step: Step | None) -> None:
    """Add what an IOAM type has from `body` to `end` to the branch of its carrier."""
    if body >= end:
        return
    if kind in (ioam.TYPE_PREALLOCATED, ioam.TYPE_INCREMENTAL):
        option.branches.append(_trace(data, body, end, kind == ioam.TYPE_INCREMENTAL, step))
    elif kind == ioam.TYPE_POT:
        branch = of_header(ioam.POT, data, body, end)
        if branch.number("pot_type") == 0:
            branch.values += ioam.POT_0.read(data, body + ioam.POT.bytes, end)
        option.branches.append(branch)
    elif kind == ioam.TYPE_E2E:
        option.branches.append(_with_items(data, body, end, ioam.E2E, "type", ioam.E2E_ITEMS))
    elif kind == ioam.TYPE_DIRECT:
        option.branches.append(_with_items(data, body, end, ioam.DIRECT, "extension_flags", ioam.DIRECT_ITEMS))
    else:
        option.values += of_bytes("", "ioam", "data", "of an unknown type", data, body, end).values


def _with_items(data: Buffer, at: int, end: int, header: Header, bits: str, items: dict[int, Header]) -> Branch:
    branch = of_header(header, data, at, end)
    there = branch.number(bits) or 0
    branch.values += values_of([item for bit, item in items.items() if there & bit], data, at + header.bytes, end)
    return branch


def _trace(data: Buffer, at: int, end: int, is_incremental: bool, step: Step | None) -> Branch:
    branch = of_header(ioam.TRACE, data, at, end)
    begin = at + ioam.TRACE.bytes
    if begin >= end:
        return branch
    if step is None or step.result[3] < 0:
        branch.values += of_bytes("", "ioam.trace", "data", "not read", data, begin, end).values
        return branch
    first = begin if is_incremental else begin + 4 * (branch.number("remaining_words") or 0)
    branch.values += of_bytes("", "ioam.trace", "free", "room that no node has filled", data, begin, min(first, end)).values
    trace_type = branch.number("trace_type") or 0
    items = ioam.node_layout(trace_type)
    size = sum(item.bytes for item in items)
    if step.hops and not step.is_kept:
        branch.remarks.append(REPLACED)
    nodes = []
    position = first
    # newest first on the wire: the kernel's last hop
    for hop in reversed(step.hops):
        node = Branch(f"hop {hop.number}", "ioam.node", ioam.TRACE.spec, position, hop=hop.number, is_row=step.is_kept)
        node.values = values_of(items, data, position, end)
        node.node = _node_id(node)
        position += size
        if trace_type & ioam.SNAPSHOT_BIT:
            words = u8(data, position)
            node.values += ioam.SNAPSHOT.read(data, position, end)
            node.values += of_bytes("", "ioam.snapshot", "data", "", data, position + 4, position + 4 + 4 * words).values
            position += 4 + 4 * words
        node.size = position - node.at
        nodes.append(node)
    if position < end:
        rest = of_bytes("node that is not whole, or a rest", "ioam.trace", "rest", "", data, position, end)
        nodes.append(rest)
    branch.branches = nodes[::-1]
    return branch


def _node_id(node: Branch) -> int | None:
    """The wide node id where there is one, else the short."""
    ids = [value.value for value in node.values if value.field.column == "hops.node_id" and value.value is not None]
    return ids[-1] if ids else None
