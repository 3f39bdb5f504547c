"""INT in a packet as branches: shim, metadata header, hops in path order."""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer.dissect.branch import REPLACED, Branch, of_bytes, of_header, values_of
from int_analyzer.dissect.field import Header
from int_analyzer.dissect.headers import int_md as int_header
from int_analyzer.dissect.trace import Step
from int_analyzer.formats import int_carried, int_md
from int_analyzer.formats.dialect import DIALECTS, words_per_hop
from int_analyzer.formats.int_stack import STACK_TRUNCATED, domain_data
from int_analyzer.schema import FORMAT_INT_05, HOP_OPAQUE
from int_analyzer.settings import Settings
from int_analyzer.wire.read import Buffer, u8, u16, u32

_LOCATED = {
    int_md.LOCATED_BY_STRUCTURE: "found by its structure",
    int_md.LOCATED_BY_PORT: "found by its UDP port, which the profile names",
    int_md.LOCATED_BY_DSCP: "found by the DSCP that the profile names",
    int_md.LOCATED_BY_MARKER: "found by the marker that the profile names",
}
_SHIMS = {
    int_carried.IN_GPE: int_header.SHIM_GPE_2,
    int_carried.IN_GPE_1: int_header.SHIM_GPE_1,
    int_carried.IN_GRE: int_header.SHIM_GRE,
}
_OLD_TYPES = (int_md.TYPE_HOP_BY_HOP, int_md.TYPE_DESTINATION)


def int_branches(data: Buffer, step: Step) -> Iterator[Branch]:
    """INT over UDP or TCP as the kernel read it."""
    _, at, limit, _, _, located, _, settings, *_ = step.arguments
    found = step.result[7]
    if located == int_md.LOCATED_BY_MARKER:
        yield of_header(int_header.MARKER, data, at - 8, limit)
    if limit <= at:
        return
    first = u8(data, at)
    old = first in _OLD_TYPES
    kind = first if old else first >> 4
    header = int_header.SHIM_1 if old else int_header.SHIM_2[first >> 2 & 3]
    shim = of_header(int_header.SHIM_05 if found == FORMAT_INT_05 else header, data, at, limit)
    shim.remarks.append(_LOCATED[located])
    if not old and first >> 2 & 3 == 0 and limit - at >= 4 and u8(data, at + 3) == 0 and u8(data, at + 2) != 0:
        shim.remarks.append(f"original DSCP {u8(data, at + 2) >> 2} in the byte before its place, as one switch program writes it")
    yield shim
    body = at + 4
    end = at + 4 * (shim.number("length") or 0) + (0 if old else 4)
    if body >= limit:
        return
    if kind == int_md.TYPE_DESTINATION:
        yield of_bytes("INT destination header", "int.destination", "data", "has no defined body", data, body, min(end, limit))
    elif kind == int_md.TYPE_MX:
        yield _mx(data, body, end, limit)
    elif found == FORMAT_INT_05:
        yield _version_05(data, body, limit, step)
        yield of_header(int_header.TAIL_05, data, end - 4, limit)
    elif kind == int_md.TYPE_HOP_BY_HOP:
        yield _metadata(data, body, end, limit, 1 if old else 2, step, settings)


def carried_int(data: Buffer, step: Step) -> Iterator[Branch]:
    """INT in VXLAN-GPE, GRE or a Geneve option, as the kernel read it. The head of the option is shown by who shows the option."""
    _, at, limit, _, carrier, settings, *_ = step.arguments
    kind, length = u8(data, at) >> 4 if at < limit else 0, 0
    if carrier == int_carried.IN_GENEVE:
        kind, length = u8(data, at + 2), u8(data, at + 3) & 0x1F
    else:
        shim = of_header(_SHIMS[carrier], data, at, limit)
        yield shim
        kind, length = shim.number("type") or 0, shim.number("length") or 0
    old = carrier == int_carried.IN_GPE_1
    body, end = at + 4, at + 4 * length + (0 if old else 4)
    if body >= limit:
        return
    if step.result[5] == FORMAT_INT_05:
        yield _version_05(data, body, limit, step)
    elif kind == int_md.TYPE_HOP_BY_HOP:
        yield _metadata(data, body, end, limit, 1 if old else 2, step, settings)
    elif kind == int_md.TYPE_MX and not old:
        yield _mx(data, body, end, limit)
    else:
        yield of_bytes("INT header", "int.destination", "data", "has no defined body", data, body, min(end, limit))


def _mx(data: Buffer, at: int, end: int, limit: int) -> Branch:
    branch = of_header(int_header.MX, data, at, limit)
    begin = at + int_header.MX.bytes
    branch.values += of_bytes("", "int.mx", "source_data", "inserted by the source", data, begin, min(end, limit)).values
    return branch


def _metadata(data: Buffer, at: int, end: int, limit: int, layout: int, step: Step, settings: Settings) -> Branch:
    """Metadata header and stack as the kernel read them."""
    header = int_header.MD_1 if layout == 1 else int_header.MD_2
    branch = of_header(header, data, at, limit)
    begin = at + header.bytes
    added = step.result[3]
    if added < 0 or begin > limit:
        branch.values += of_bytes("", "int.md", "stack", "not read", data, begin, min(end, limit)).values
        return branch
    _say_if_replaced(branch, step)
    hop_bytes = 4 * (branch.number("hop_words") or 0)
    items = _items(data, at, layout, step.dialect, settings)
    total = step.hops[-1].number + 1 if step.hops else 0
    rest = begin + total * hop_bytes
    if step.result[0] == STACK_TRUNCATED:
        whole = begin + len(step.hops) * hop_bytes
        cut = Branch("hop that was not captured whole", "int.hop", header.spec, whole, values_of(items, data, whole, limit))
        branch.branches.append(cut)
        rest = limit
    branch.branches += list(_hops(data, begin, hop_bytes, items, step, header.spec))
    branch.branches += [
        source
        for source in (of_bytes("source-only data", "int.source", "data", "of the domain", data, rest, min(end, limit), header.spec),)
        if source.values
    ]
    return branch


def _hops(data: Buffer, begin: int, hop_bytes: int, items: list[Header], step: Step, spec: str) -> Iterator[Branch]:
    """The kernel's hops in path order; the newest stands first on the wire."""
    for position, hop in enumerate(step.hops):
        at = begin + (len(step.hops) - 1 - position) * hop_bytes
        branch = Branch(f"hop {hop.number}", "int.hop", spec, at, size=hop_bytes, hop=hop.number, is_row=step.is_kept)
        if hop.present & HOP_OPAQUE:
            branch.values = of_bytes("", "int.hop", "data", "layout not understood", data, at, at + hop_bytes).values
        else:
            branch.values = values_of(items, data, at, at + hop_bytes)
            branch.node = branch.number("node_id")
        yield branch


def _items(data: Buffer, at: int, layout: int, dialect: int, settings: Settings) -> list[Header]:
    """Items of a hop under a dialect, for the metadata header at `at`; none if no dialect explains the header."""
    hop_words, instructions = u32(data, at) >> 8 & 0x1F, u16(data, at + 4)
    domain_words = _domain_words(data, at, layout, settings)
    if dialect == 0:
        return []
    widths = DIALECTS[dialect].time_words, DIALECTS[dialect].level2_words
    reserved_words = int(words_per_hop(instructions, *widths) + domain_words == hop_words)
    items = int_header.hop_layout(layout, instructions, *widths, reserved_words, domain_words)
    unused = [item.headers[1] for item in int_header.ITEMS if item.mask & DIALECTS[dialect].unused]
    return [item.without_columns() if item in unused else item for item in items]


def _domain_words(data: Buffer, at: int, layout: int, settings: Settings) -> int:
    if layout == 1 or u16(data, at + 8) == 0:
        return 0
    return int(domain_data(u16(data, at + 6), settings)[1])


def _version_05(data: Buffer, at: int, limit: int, step: Step) -> Branch:
    """v0.5: metadata header and hops."""
    branch = of_header(int_header.MD_05, data, at, limit)
    _say_if_replaced(branch, step)
    items = int_header.hop_layout_05(branch.number("instructions") or 0, DIALECTS[step.dialect].time_words)
    hop_bytes = sum(item.bytes for item in items)
    branch.branches += _hops(data, at + int_header.MD_05.bytes, hop_bytes, items, step, int_header.SPEC_05)
    return branch


def _say_if_replaced(branch: Branch, step: Step) -> None:
    if step.hops and not step.is_kept:
        branch.remarks.append(REPLACED)
