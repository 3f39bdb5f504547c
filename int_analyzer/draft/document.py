"""The draft as text: a TOML profile with comments, that loads as it is; what is not certain stands behind "# "."""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer import schema
from int_analyzer.analysis import units
from int_analyzer.draft.detection import Setting
from int_analyzer.draft.guess import Guess, contradicts, guess_units
from int_analyzer.draft.layout import hop_words, rivals
from int_analyzer.draft.node_tally import NodeTally
from int_analyzer.draft.port_tally import PortTally
from int_analyzer.draft.sighting import Sighting
from int_analyzer.formats.dialect import DIALECTS
from int_analyzer.profile import Thresholds, Units
from int_analyzer.report.figure import count, share, size, things
from int_analyzer.toml_table import ID_LIMIT

_WIDTH = 120
_NAMES = 5
_GUESSES = "A guess is marked with what it rests on."
_INT_MD = (schema.FORMAT_INT_MD_1, schema.FORMAT_INT_MD_2)
_INT = (*_INT_MD, schema.FORMAT_INT_05)
_IOAM = (schema.FORMAT_IOAM_TRACE, schema.FORMAT_IOAM_INCREMENTAL)
_RECORDS = (schema.FORMAT_IFA, schema.FORMAT_HPCC)
"""Formats whose hops have a layout of their own, named by the dialect."""
_WELL_KNOWN = (
    ("roce_ports", "[4791]"),
    ("vxlan_ports", "[4789, 8472]"),
    ("vxlan_gpe_ports", "[4790]"),
    ("geneve_ports", "[6081]"),
    ("gre_int_protocols", "[]"),
    ("geneve_int_classes", "[]"),
    ("gpe_int_protocols", "[]"),
    ("geneve_ioam_classes", "[]"),
    ("gpe_ioam_protocols", "[]"),
    ("ifa_protocols", "[131]"),
    ("hpcc_ports", "[]"),
    ("lumina_ports", "[]"),
    ("csig_type", '"0x9900"'),
    ("tcp_int", "false"),
)


def draft_text(files: list[str], sighting: Sighting, settings: list[Setting], accept: bool) -> str:
    """A profile for these captures. With `accept` guesses are written active."""
    common, single = guess_units(sighting.nodes, sighting.ports)
    lines = [
        *_head(files, sighting, accept),
        *_found(sighting),
        *_section("detection", "[detect]"),
        *_detect(sighting, settings),
        *_domains(sighting.namespaces),
        *_section("units, for all nodes", "[units]"),
        *_units(common, sighting, accept),
        *_section("nodes", None),
        *_nodes(sighting, single, accept),
        *_section("thresholds", "[thresholds]"),
        *_thresholds(),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _head(files: list[str], sighting: Sighting, accept: bool) -> Iterator[str]:
    # a name may hold what a TOML comment may not
    shown = ["".join(letter if letter.isprintable() else "?" for letter in file) for file in files[:_NAMES]]
    named = ", ".join(shown) + (f" and {len(files) - _NAMES} more" if len(files) > _NAMES else "")
    yield from _comment(f"Draft of a profile, by int-analyzer profile init from {named}.")
    yield "#"
    yield from _comment(
        'A line like "# key = value" is off: take the "# " away to say it. '
        + ("A guess is marked with what it rests on; here guesses are active: check them." if accept else _GUESSES)
    )
    yield "#"
    yield "#   int-analyzer profile check FILE"
    yield "#   int-analyzer analyze CAPTURE --profile FILE"


def _found(sighting: Sighting) -> Iterator[str]:
    yield "#"
    yield from _comment(f"Found in {things(sighting.packets, 'packet')}:")
    for entry in schema.FORMAT_LIST:
        if sighting.formats[entry.id]:
            yield from _item(f"{entry.name}: {things(sighting.formats[entry.id], 'packet')}")
    if not any(sighting.formats.values()):
        yield from _item("no format that is known here")
    for (telemetry, dialect, instructions), packets in sorted(sighting.layouts.items()):
        if telemetry in _INT:
            yield from _item(_int_layout(dialect, instructions, packets))
        elif telemetry in _IOAM:
            yield from _item(f"IOAM trace type 0x{instructions:06x}: {things(packets, 'packet')}")
        elif telemetry in _RECORDS:
            yield from _item(
                f"{schema.FORMAT_BY_ID[telemetry].name} records of layout {DIALECTS[dialect].name}: {things(packets, 'packet')}"
            )
    for (telemetry, namespace), packets in sorted(sighting.namespaces.items()):
        if telemetry in _IOAM:
            yield from _item(f"IOAM namespace {namespace}: {things(packets, 'packet')}")
    yield from _item(f"{things(sighting.hops, 'hop')} that name their node, of {things(len(sighting.nodes), 'node')}")
    if sighting.hops_ignored:
        yield from _item(f"{things(sighting.hops_ignored, 'hop')} of further nodes are left out: there are too many nodes")


def _int_layout(dialect: int, instructions: int, packets: int) -> str:
    bitmap = f"bitmap 0x{instructions:04x}"
    if dialect == 0:
        return f"INT that no dialect explains, {bitmap}: {things(packets, 'packet')}, whose hops stay closed"
    same, other = rivals(dialect, instructions)
    text = f"INT dialect {DIALECTS[dialect].name}, {bitmap}, {hop_words(dialect, instructions)} words a hop: {things(packets, 'packet')}"
    if same:
        text += f"; {_and(same)} would read the same"
    if other:
        text += f"; by its lengths it could be {_and(other)}, with other widths: if values look wrong, set int_dialect"
    return text


def _detect(sighting: Sighting, settings: list[Setting]) -> Iterator[str]:
    for setting in settings:
        yield from _comment(setting.reason)
        yield _key(setting.key, setting.value, setting.active)
        yield ""
    used = sorted({dialect for telemetry, dialect, _ in sighting.layouts if telemetry in _INT_MD and dialect})
    if used:
        yield from _comment(f"found by lengths: {_and([DIALECTS[dialect].name for dialect in used])}; a name here is the only one tried")
    yield _key("int_dialect", '"auto"', False)
    for key, value in _WELL_KNOWN:
        yield _key(key, value, False)
    yield _key("structure", "true", False)


def _domains(namespaces: dict[tuple[int, int], int]) -> Iterator[str]:
    for (telemetry, domain), packets in sorted(namespaces.items()):
        if telemetry == schema.FORMAT_INT_MD_2 and domain:
            yield ""
            yield from _comment(f"INT domain {domain}: {things(packets, 'packet')}; words of its own are not known")
            yield from _of_vendor(domain)
            yield "# [[domain]]"
            yield f"# id = {domain}"
            yield "# source_only_words = 0"
            yield "# hop_words = 0"


def _of_vendor(domain: int) -> Iterator[str]:
    """The dialect that a vendor's domain goes with: nothing but the profile chooses it, as lengths do not tell it."""
    for dialect in DIALECTS:
        if dialect.domain == domain:
            yield from _comment(f'a domain of dialect {dialect.name} ({dialect.source}): int_dialect = "{dialect.name}" knows its words')


def _units(guesses: list[Guess], sighting: Sighting, accept: bool) -> Iterator[str]:
    default = Units()
    hops = sum(tally.hops for tally in sighting.nodes.values())
    packet_bytes = round(sum(tally.packet_bytes for tally in sighting.nodes.values()) / hops) if hops else 1000
    for number, guess in enumerate(guesses):
        if number:
            yield ""
        yield from _guess(guess, accept, getattr(default, guess.key))
        if guess.key == "queue_depth":
            yield from _comment("a typical packet (the mean of those seen) and a cell: what turns depths in packets or cells into bytes")
            yield _key("packet_bytes", str(packet_bytes or 1000), False)
            yield _key("cell_bytes", "80", False)


def _guess(guess: Guess, accept: bool, default: str) -> Iterator[str]:
    yield from _comment(f"guess: {_subject(guess.key)} in {guess.reason}" if guess.value is not None else f"no guess: {guess.reason}")
    value = guess.value if guess.value is not None else default
    yield _key(guess.key, f'"{value}"', accept and guess.value is not None) + f"  # {', '.join(guess.choices)}"


def _subject(key: str) -> str:
    return {"queue_depth": "depth", "hop_latency": "hop latency", "time": "times", "ioam_time": "IOAM times"}[key]


def _nodes(sighting: Sighting, single: dict[int, list[Guess]], accept: bool) -> Iterator[str]:
    if not sighting.nodes:
        yield from _comment("No node was seen.")
        return
    yield from _comment(
        "Names, roles and link speeds are not on the wire: fill them in. Behind each port stand its hops, the next node:port (out: none is "
        "seen behind it), and what it sent while packets waited: its link can do at least that. A speed is in bit/s, as 100e9."
    )
    ports: dict[int, list[tuple[int, PortTally]]] = {}
    for (node, port), tally in sorted(sighting.ports.items()):
        ports.setdefault(node, []).append((port, tally))
    for node in sorted(sighting.nodes, key=_id):
        yield ""
        yield f"[node.{_id(node)}]"
        yield from _comment(_node_note(sighting.nodes[node]))
        yield _key("name", f'"{_id(node)}"', False)
        yield _key("role", '"leaf"', False)
        if node in ports:
            yield ""
            yield f"[node.{_id(node)}.ports]"
            for port, tally in ports[node]:
                yield f'# {port} = {{ name = "{port}", speed_bps = 0 }}  # {_port_note(tally)}'
        if node in single:
            yield ""
            yield f"[node.{_id(node)}.units]"
            for guess in single[node]:
                yield from _guess(guess, accept, "")


def _node_note(tally: NodeTally) -> str:
    note = things(tally.hops, "hop")
    if tally.depth_max:
        note += f", depth up to {count(tally.depth_max)}"
    if contradicts(tally):
        agreed = max(tally.equal, tally.thousand, tally.thousandth)
        wrong = share(1 - agreed / tally.compared)
        note += f"; hop latency contradicts its own times in {wrong} of {count(tally.compared)} hops"
    return note


def _port_note(tally: PortTally) -> str:
    behind = [f"{_id(node)}:{port}" if port >= 0 else f"{_id(node)}" for node, port in tally.behind]
    named = ", ".join(behind[:_NAMES]) + (f" and {len(behind) - _NAMES} more" if len(behind) > _NAMES else "")
    note = f"{things(tally.hops, 'hop')} → {named or 'out'}"
    queues = sorted(tally.queues)
    if queues and queues != [0]:
        note += f"; queue {', '.join(map(str, queues[:_NAMES]))}" + (f" and {len(queues) - _NAMES} more" if len(queues) > _NAMES else "")
    if tally.busy_ns:
        rate = size(8e9 * tally.busy_bytes / tally.busy_ns).removesuffix("B")
        note += f"; sent {rate}bit/s ({1e9 * tally.busy / tally.busy_ns:.3g} packets/s) while packets waited"
    return note


def _thresholds() -> Iterator[str]:
    default = Thresholds()
    yield from _comment(
        "The defaults. A queue is congested when its depth exceeds the larger of an absolute threshold and factor × what is usual."
    )
    yield f"# depth_bytes = {units.DEPTH_FLOOR_BYTES:.0f}  # where depth is known in bytes"
    yield f"# depth_raw = {units.DEPTH_FLOOR_PACKETS:.0f}  # in the device's unit: {units.DEPTH_FLOOR_CELLS:.0f} where depth is in cells"
    yield f"# latency_ns = {units.LATENCY_FLOOR_NS:.0f}  # where there is no depth"
    yield f"# factor = {default.factor}"
    yield f"# minimum_packets = {default.minimum_packets}"


def _section(title: str, table: str | None) -> Iterator[str]:
    yield ""
    yield "# " + f" {title}".rjust(_WIDTH - 2, "-")
    yield ""
    if table is not None:
        yield table


def _key(key: str, value: str, active: bool) -> str:
    return f"{'' if active else '# '}{key} = {value}"


def _comment(text: str, first: str = "# ", later: str = "# ") -> Iterator[str]:
    import textwrap

    yield from textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False)


def _item(text: str) -> Iterator[str]:
    yield from _comment(text, "#   ", "#     ")


def _and(names: list[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def _id(node: int) -> int:
    return node & (ID_LIMIT - 1)
