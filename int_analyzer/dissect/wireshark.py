"""The Wireshark plugin: declarations of headers as Lua tables, and the code of lua/ that walks along them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from int_analyzer import __version__
from int_analyzer.dissect.field import DEPTH, LATENCY, TIME, Field, Form, Header
from int_analyzer.dissect.headers import int_md, report
from int_analyzer.formats.dialect import DIALECTS
from int_analyzer.formats.roce import OPCODES
from int_analyzer.profile import Profile
from int_analyzer.status import STATUSES, WARNINGS

_FILES = ("fields", "reading", "stack", "report", "registration")
"""Pieces of the plugin in lua/, in the order in which they build on each other."""
_DECLARATIONS = "--@declarations\n"
"""The line at which the generated tables are put in."""
_LAYERS = ("int", "report")
_WARNED = ("int-", "report-", "node-repeated", "metadata-zero")

HEADERS: dict[str, Header] = {
    "MARKER": int_md.MARKER,
    "SHIM_1": int_md.SHIM_1,
    "SHIM_05": int_md.SHIM_05,
    **{f"SHIM_2_{npt}": header for npt, header in int_md.SHIM_2.items()},
    "MD_1": int_md.MD_1,
    "MD_2": int_md.MD_2,
    "MD_05": int_md.MD_05,
    "TAIL_05": int_md.TAIL_05,
    "MX": int_md.MX,
    "NODE": int_md.NODE,
    "PORTS": int_md.PORTS,
    "HOP_LATENCY": int_md.HOP_LATENCY,
    "QUEUE": int_md.QUEUE,
    **{f"INGRESS_TIME_{words}": times[0] for words, times in int_md.TIMES.items()},
    **{f"EGRESS_TIME_{words}": times[1] for words, times in int_md.TIMES.items()},
    **{f"LEVEL2_{words}": header for words, header in int_md.LEVEL2.items()},
    "UTILISATION": int_md.UTILISATION,
    "BUFFER": int_md.BUFFER,
    "CONGESTION": int_md.CONGESTION,
    "UNKNOWN": int_md.UNKNOWN,
    "DOMAIN_WORD": int_md.DOMAIN_WORD,
    "CHECKSUM": int_md.CHECKSUM,
    "REPORT_05": report.REPORT_05,
    "REPORT_NODE": report.NODE_05,
    "REPORT_1": report.REPORT_1,
    "REPORT_1_EARLY_FLAGS": report.REPORT_1_EARLY_FLAGS,
    "GROUP_2": report.GROUP_2,
    "REPORT_2": report.REPORT_2,
    "MAIN_2": report.MAIN_2,
    "TLV_2": report.TLV_2,
    "REPORT_PORTS": report.PORTS,
    "REPORT_HOP_LATENCY": report.HOP_LATENCY,
    "REPORT_QUEUE": report.QUEUE,
    "REPORT_INGRESS_TIME_8": report.INGRESS_TIME_8,
    "REPORT_EGRESS_TIME_8": report.EGRESS_TIME_8,
    "REPORT_EGRESS_TIME_4": report.EGRESS_TIME_4,
    "REPORT_EGRESS_TIME_05": report.EGRESS_TIME_05,
    "REPORT_LEVEL2": report.LEVEL2,
    "REPORT_UTILISATION": report.UTILISATION,
    "REPORT_BUFFER": report.BUFFER,
    "REPORT_DROP": report.DROP,
    "REPORT_UNKNOWN": report.UNKNOWN,
    "REPORT_DOMAIN_WORD": report.DOMAIN_WORD,
}
"""Headers of the plugin, under their names in Lua."""
_NAMES = {id(header): name for name, header in HEADERS.items()}


def plugin(profile: Profile | None = None) -> str:
    """The plugin as text; ports, DSCP, domains, node names and units of the profile become its defaults."""
    folder = Path(__file__).with_name("lua")
    code = "\n".join((folder / f"{name}.lua").read_text(encoding="utf-8") for name in _FILES)
    return code.replace(_DECLARATIONS, declarations(profile or Profile()))


def declarations(profile: Profile) -> str:
    """The Lua tables that the code reads."""
    lines = [f"local VERSION = {_text(__version__)}", "", "-- filter name -> { type, title, base, description }", "local FIELDS = {"]
    for name, entry in _fields().items():
        lines.append(f"  [{_text(name)}] = {{ {entry} }},")
    lines += [
        "}",
        "",
        "-- fields: filter name, first bit, bits, names of values or of masks; absent: ones in every bit mean that nothing is there",
        "local H = {",
    ]
    for name, header in HEADERS.items():
        lines += _header(name, header)
    lines += ["}", "", *_items(), "", *_dialects(), "", *_statuses(), "", *_defaults(profile)]
    return "\n".join(lines) + "\n"


def _fields() -> dict[str, str]:
    """Every filter name once, wide enough for all of its layouts."""
    layouts: dict[str, list[Field]] = {}
    for header in HEADERS.values():
        for field in header.fields:
            if field.form != Form.RESERVED:
                layouts.setdefault(f"{header.name}.{field.name}", []).append(field)
    return {name: _field(fields) for name, fields in layouts.items()}


def _field(fields: list[Field]) -> str:
    """Type, title, base and description of a field from its layouts."""
    first, bits = fields[0], max(field.bits for field in fields)
    width = next(width for width in (8, 16, 24, 32, 64) if bits <= width)
    kind = "bool" if first.form == Form.FLAG else f"uint{width}"
    base = "HEX" if first.form in (Form.HEX, Form.BITS) else "DEC"
    doc = first.doc if all(field.doc == first.doc for field in fields) else ""
    return f"{_text(kind)}, {_text(first.name.replace('_', ' '))}, {_text(base)}, {_text(doc)}"


def _header(name: str, header: Header) -> Iterable[str]:
    yield f"  {name} = {{"
    yield f"    title = {_text(header.title)}, spec = {_text(header.spec)}, bytes = {header.bytes}, absent = {_flag(header.absent)},"
    for field, offset in header.places():
        if field.form == Form.RESERVED:
            continue
        more = f", unit = {_text(field.unit)}" if field.unit else ""
        if field.names:
            kind = "masks" if field.form == Form.BITS else "names"
            more += f", {kind} = {_table(field.names)}"
        yield f"    {{ {_text(f'{header.name}.{field.name}')}, {offset}, {field.bits}{more} }},"
    yield "  },"


def _items() -> Iterable[str]:
    yield "-- what a hop writes for an instruction bit, by the words of its width, in the order of a hop"
    yield "local ITEMS = {"
    for item in int_md.ITEMS:
        headers = ", ".join(f"[{words}] = H.{_NAMES[id(header)]}" for words, header in item.headers.items())
        yield f"  {{ mask = 0x{item.mask:04x}, width = {_text(item.width)}, {headers} }},"
    yield "}"
    yield f"local RESERVED = {{ [1] = 0x{int_md.RESERVED_BITS[1]:04x}, [2] = 0x{int_md.RESERVED_BITS[2]:04x} }}"
    yield f"local BIT_BUFFER, BIT_CHECKSUM, BIT_LEVEL2 = 0x{int_md.BIT_BUFFER:04x}, 0x{int_md.BIT_CHECKSUM:04x}, 0x{int_md.BIT_LEVEL2:04x}"
    yield "-- metadata of reports, in the order of the wire"
    for name, items in (("REPORT_ITEMS_1", report.ITEMS_1), ("REPORT_ITEMS_2", report.ITEMS_2)):
        entries = ", ".join(f"{{ 0x{mask:04x}, H.{_NAMES[id(header)]} }}" for mask, header in items.items())
        yield f"local {name} = {{ {entries} }}"
    entries = ", ".join(
        f"[{protocol}] = {{ {', '.join(f'H.{_NAMES[id(header)]}' for header in headers)} }}"
        for protocol, headers in report.ITEMS_05.items()
    )
    yield f"local REPORT_ITEMS_05 = {{ {entries} }}"


def _dialects() -> Iterable[str]:
    yield "local DIALECTS = {"
    for dialect in DIALECTS[1:]:
        yield (
            f"  {{ name = {_text(dialect.name)}, layout = {dialect.layout}, version = {dialect.version},"
            f" time = {dialect.time_words}, level2 = {dialect.level2_words} }},"
        )
    yield "}"


def _statuses() -> Iterable[str]:
    yield "-- why reading stopped, and what was odd"
    yield "local STATUSES = {"
    yield from (f"  [{_text(entry.name)}] = {_text(entry.doc)}," for entry in STATUSES if entry.layer in _LAYERS and entry.reject)
    yield "}"
    yield "local WARNINGS = {"
    yield from (f"  [{_text(entry.name)}] = {_text(entry.doc)}," for entry in WARNINGS if entry.name.startswith(_WARNED))
    yield "}"


def _defaults(profile: Profile) -> Iterable[str]:
    detect, units = profile.detect, profile.units
    value, mask = detect.int_dscp or (0, 0)
    yield "-- from the profile"
    yield f"local INT_PORTS, REPORT_PORTS = {_text(_ports(detect.int_ports))}, {_text(_ports(detect.report_ports))}"
    yield f"local DSCP_VALUE, DSCP_MASK, STRUCTURE = {value}, {mask}, {_flag(detect.structure)}"
    yield f"local ROCE_PORTS = {{ {', '.join(map(str, detect.roce_ports or (4791,)))} }}"
    domains = ", ".join(f"[{entry.id}] = {{ source = {entry.source_only_words}, hop = {entry.hop_words} }}" for entry in profile.domains)
    opcodes = ", ".join(f"[{opcode}] = true" for opcode, carries in enumerate(OPCODES) if carries)
    yield f"local OPCODES = {{ {opcodes} }}"
    yield f"local DOMAINS = {{ {domains} }}"
    names = {number: node.name for number, node in profile.nodes.items() if node.name and number < 1 << 32}
    yield f"local NODE_NAMES = {_table(names)}"
    known = {DEPTH: units.queue_depth, LATENCY: units.hop_latency, TIME: units.time}
    entries = ", ".join(f"{key} = {_text('unit unknown' if unit == 'unknown' else unit)}" for key, unit in known.items())
    yield f'local UNITS = {{ {entries}, device = "unit unknown" }}'


def _ports(ports: Iterable[int]) -> str:
    return ",".join(map(str, ports))


def _table(names: Mapping[int, str]) -> str:
    return "{ " + ", ".join(f"[{value}] = {_text(name)}" for value, name in names.items()) + " }"


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _text(text: str) -> str:
    # JSON's escapes are Lua's but for control characters
    return json.dumps("".join(letter if letter.isprintable() else " " for letter in text), ensure_ascii=False)
