"""The C twin's view of the schema: a header with the tables it fills, statuses, warnings, formats and batch sizes.

python -m benchmarks.columns_header build/columns.h
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from int_analyzer import columns, decode, schema, settings
from int_analyzer.formats import dialect, roce
from int_analyzer.status import STATUSES, WARNINGS
from int_analyzer.wire import ip

TABLES = ("packets", "hops", "roce")
_TYPES = {"int64": "int64_t", "uint32": "uint32_t", "uint16": "uint16_t", "uint8": "uint8_t"}


def header() -> str:
    """The text of columns.h."""
    batch = columns.allocate()
    lines = ["/* Generated from int_analyzer/schema.py by columns_header.py. */", "#pragma once"]
    lines += ["#include <stddef.h>", "#include <stdint.h>", ""]
    lines += [f"#define STAGGER {columns._STAGGER}", "#define STAGGER_STEPS 32", ""]
    for name in TABLES:
        lines.append(f"#define {name.upper()}_CAPACITY {len(getattr(batch, name)[0])}")
    for name in TABLES:
        lines += ["", f"struct {name} {{"]
        lines += [f"    {_TYPES[column.dtype]} *{column.name};" for column in schema.TABLES[name] if column.source == "kernel"]
        lines.append("};")
    lines += ["", "struct columns {", *(f"    struct {name} {name};" for name in TABLES), "};", ""]
    lines += ["static const struct { const char *table, *column; size_t size, capacity, pointer; } COLUMNS[] = {"]
    for name in TABLES:
        for column in schema.TABLES[name]:
            if column.source == "kernel":
                size = np.dtype(column.dtype).itemsize
                pointer = f"offsetof(struct columns, {name}.{column.name})"
                lines.append(f'    {{"{name}", "{column.name}", {size}, {name.upper()}_CAPACITY, {pointer}}},')
    lines += ["};", "", "enum {"]
    lines += [f"    STATUS_{_macro(status.name)} = {status.code}," for status in STATUSES]
    lines += ["};", "", "enum {"]
    lines += [f"    WARNING_{_macro(warning.name)} = 1u << {warning.bit}," for warning in WARNINGS]
    lines += ["};", "", "enum {"]
    bits = {name: value for name, value in vars(schema).items() if name.startswith(("FORMAT_", "HAS_", "HOP_"))}
    lines += [f"    {name} = {value}," for name, value in bits.items() if isinstance(value, int)]
    lines += ["};", "", f"#define ROWS_PER_PACKET {decode._ROWS_PER_PACKET}", f"#define N_DIALECTS {dialect.N_DIALECTS}"]
    lines += [f"#define RESERVED_1 {dialect.RESERVED_1}", f"#define RESERVED_2 {dialect.RESERVED_2}"]
    lines.append(f"#define MAXIMUM_OPTIONS {ip.MAXIMUM_OPTIONS}")
    for name in ("LAYOUT", "VERSION", "TIME_WORDS", "LEVEL2_WORDS"):
        lines.append(_array("uint8_t", f"DIALECT_{name}", getattr(dialect, name)))
    lines.append(_array("uint32_t", "OPCODES", roce.OPCODES))
    roles = settings.default_settings().port_roles
    lines += [f"#define {name} {value}" for name, value in vars(settings).items() if name.startswith("ROLE_")]
    lines += ["#define PORT_ROLES \\", *(f"    [{port}] = {roles[port]}, \\" for port in np.flatnonzero(roles)), ""]
    return "\n".join([*lines, ""])


def _array(kind: str, name: str, values: Any) -> str:
    return f"static const {kind} {name}[{len(values)}] = {{{', '.join(str(int(value)) for value in values)}}};"


def _macro(name: str) -> str:
    return name.upper().replace("-", "_")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(header())
