"""Columns of a batch → rows for people: Arrow record batches and pandas frames, the same columns in both.

What changes on the way from schema.TABLES: a value that was not there is NA, by its presence bit; an address is one text column
instead of two numbers; codes and bit sets are words (`status`, `formats`, `tunnels`, `warnings`, `telemetry`, `dialect`,
`version`); 64-bit fields are unsigned; nanoseconds and bytes are derived where the profile knows the node's units. Row numbers
that only mean something within a batch are left out: tables are joined by `packet` and `part` (and `file`, where several were read).
"""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from int_analyzer import schema
from int_analyzer.columns import Columns
from int_analyzer.derived import Derived
from int_analyzer.formats.dialect import DIALECTS
from int_analyzer.status import STATUSES, WARNINGS

if TYPE_CHECKING:
    import pandas as pd

    from int_analyzer.profile import Profile

_WITHIN_BATCH = {"present", "first_hop", "roce_row"}
"""Kernel columns that are not shown: rows of the reused arrays, and the presence bits that have become NA."""

_TEXT = pa.dictionary(pa.int32(), pa.string())

_FORMATS = {entry.id: entry.name for entry in schema.FORMAT_LIST}
_DIALECTS = {number: dialect.name for number, dialect in enumerate(DIALECTS)}
_NAMED: dict[str, dict[int, str]] = {
    "status": {entry.code: entry.name for entry in STATUSES},
    "telemetry": _FORMATS,
    "version": _FORMATS,
    "format": _FORMATS,
    "dialect": _DIALECTS,
    "icrc_check": schema.ICRC_STATES,
}
_BITS: dict[str, dict[int, str]] = {
    "formats": {1 << entry.id: entry.name for entry in schema.FORMAT_LIST},
    "tunnels": schema.TUNNELS,
    "warnings": {1 << entry.bit: entry.name for entry in WARNINGS},
}
_HOP_FLAGS = {
    "from_report": (schema.HOP_FROM_REPORT, "the hop stands in a telemetry report's own metadata, not in a stack"),
    "path_truncated": (schema.HOP_TRUNCATED_PATH, "the packet's stack was cut: hops of this path are missing"),
    "opaque": (schema.HOP_OPAQUE, "the layout is not understood: that the hop exists is all that is known"),
}
_KEYS = ("packet", "part")
"""What tables are joined by."""
# Columns of packets that say something only under a condition on another column.
_NEEDS_IP = {"src", "dst", "protocol", "dscp", "ecn", "ttl", "ip_bytes"}
_NEEDS_PORTS = {"src_port", "dst_port"}
_NEEDS_TELEMETRY = {"telemetry_flags", "instructions", "namespace", "remaining_hops"}
_UDP, _TCP = 17, 6


class Field(NamedTuple):
    """A column as shown: name, Arrow type, unit, meaning, and when it is NA ("" if never)."""

    name: str
    type: pa.DataType
    unit: str
    doc: str
    absent_when: str


def fields(table: str) -> tuple[Field, ...]:
    """The columns of a table as users see them, in order."""
    return tuple(_fields(table))


def arrow_schema(table: str, with_file: bool = False) -> pa.Schema:
    """Arrow schema of a table, with unit and meaning of every column and the version of the schema as metadata."""
    arrow_fields = [
        pa.field(field.name, field.type, metadata={"unit": field.unit, "doc": field.doc, "absent_when": field.absent_when})
        for field in fields(table)
    ]
    if with_file:
        arrow_fields.insert(0, pa.field("file", _TEXT, metadata={"unit": "", "doc": "capture that the packet is in", "absent_when": ""}))
    return pa.schema(arrow_fields, metadata={"table": table, "schema_version": schema.SCHEMA_VERSION})


def is_text(arrow_type: pa.DataType) -> bool:
    """Whether a column holds words or addresses."""
    return bool(pa.types.is_dictionary(arrow_type) or pa.types.is_string(arrow_type))


def record_batch(
    columns: Columns, table: str, *, first_packet: int = 0, profile: Profile | None = None, file: str | None = None
) -> pa.RecordBatch:
    """The rows of one batch as Arrow. They are copies: the columns may be reused afterwards.

    `first_packet` is the number of the batch's first record in its capture; `file` adds a column with the capture's name.
    """
    rows = columns.rows(table)
    kernel = getattr(columns, table)
    values = {name: getattr(kernel, name)[:rows] for name in kernel._fields}
    records = first_packet + columns.records()
    if table == "packets":
        values["packet"] = records
    else:
        values["part"] = columns.packets.part[values["packet"]]
        values["packet"] = records[values["packet"]]
    if table == "hops":
        derived = Derived(values, columns.packets.telemetry[kernel.packet[:rows]], profile)
        values |= derived.values | {f"{name}_absent": mask for name, mask in derived.absent.items()}
    arrow = arrow_schema(table, with_file=file is not None)
    arrays = [_array(table, field, values, rows) for field in arrow if field.name != "file"]
    if file is not None:
        arrays.insert(0, pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), pa.array([file])))
    return pa.RecordBatch.from_arrays(arrays, schema=arrow)


def frame(batches: Sequence[pa.RecordBatch], table: str, with_file: bool = False) -> pd.DataFrame:
    """Record batches of one table as one pandas frame: nullable integers and booleans, words as categories, addresses as text."""
    return to_pandas(pa.Table.from_batches(batches, schema=arrow_schema(table, with_file)).unify_dictionaries())


def to_pandas(rows: pa.Table) -> pd.DataFrame:
    """Arrow rows as a pandas frame, in which an absent number, truth value or text is NA."""
    import pandas as pd

    nullable = {
        pa.uint8(): pd.UInt8Dtype(),
        pa.uint16(): pd.UInt16Dtype(),
        pa.uint32(): pd.UInt32Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
        pa.string(): pd.StringDtype(),
    }
    result: pd.DataFrame = rows.to_pandas(types_mapper=nullable.get)
    return result


def _fields(table: str) -> Iterable[Field]:
    for column in schema.TABLES[table]:
        name = column.name
        if name in _WITHIN_BATCH or name.endswith("_lo"):
            continue
        if name.endswith("_hi"):
            name = name.removesuffix("_hi")
            yield Field(name, pa.string(), "", column.doc.split(",")[0], _absent_when(table, name, column))
        elif name in _NAMED or name in _BITS:
            yield Field(name, _TEXT, "", _doc(name, column.doc), _absent_when(table, name, column))
        else:
            arrow_type = pa.from_numpy_dtype(np.dtype(column.shown or column.dtype))
            yield Field(name, arrow_type, column.unit, _doc(name, column.doc), _absent_when(table, name, column))
    if table == "hops":
        for name, (_, doc) in _HOP_FLAGS.items():
            yield Field(name, pa.bool_(), "", doc, "")


def _doc(name: str, doc: str) -> str:
    """The meaning of a column where it is shown otherwise than the kernel holds it, else the schema's own."""
    return {
        "packet": "number of the packet in its capture, from 0",
        "time_ns": "capture time since 1970",
        "ip_version": "4, 6, or 0 if not IP; the innermost IP header, as in the columns down to ip_bytes",
        "hop_latency_ns": "hop latency, else egress − ingress time",
        "queue_depth_bytes": "queue occupancy",
        "ingress_time_ns": "ingress time on the node's own clock",
        "egress_time_ns": "egress time on the node's own clock",
        "formats": "formats found, joined by +",
        "tunnels": "tunnels and mirrors around the packet, joined by +",
        "warnings": "what was odd, joined by +",
        "telemetry": "format of the header that gave the hops",
        "dialect": "dialect that it was read with",
        "status": "why reading stopped (docs/statuses.md)",
        "version": "format of the report",
        "format": "format of the option",
    }.get(name, doc)


def _absent_when(table: str, name: str, column: schema.Column) -> str:
    if column.present:
        return "not reported"
    if name == "icrc_check":
        return "not in the sample"
    if column.absent is not None:
        return "there was none"
    if column.source == "derived" and name not in _KEYS:
        return "not reported, or the unit is unknown"
    if name in _BITS or name == "telemetry":
        return "none"
    if name == "dialect":
        return "no INT"
    if table != "packets":
        return ""
    if name == "time_ns":
        return "the record has no time"
    if name in _NEEDS_IP:
        return "not IP"
    if name in _NEEDS_PORTS:
        return "neither UDP nor TCP"
    if name == "ip_id":
        return "not IPv4"
    return "no telemetry" if name in _NEEDS_TELEMETRY else ""


def _array(table: str, field: pa.Field, values: dict[str, Any], rows: int) -> pa.Array:
    name = field.name
    if table == "hops" and name in _HOP_FLAGS:
        return pa.array(values["present"] & _HOP_FLAGS[name][0] != 0)
    absent = _absent(table, name, values, rows)
    if f"{name}_hi" in values:
        return _addresses(values[f"{name}_hi"], values[f"{name}_lo"], values.get("ip_version"), absent)
    data = values[name]
    if name in _NAMED:
        return _words(data, _NAMED[name], absent)
    if name in _BITS:
        return _bit_words(data, _BITS[name])
    wanted = field.type.to_pandas_dtype()
    data = data.view(wanted) if data.dtype == np.int64 and wanted == np.uint64 else data.astype(wanted)
    # without a mask pa.array would keep a view of the reused column
    return pa.array(data.copy(), type=field.type, mask=absent)


def _absent(table: str, name: str, values: dict[str, Any], rows: int) -> Any:
    """Boolean mask of the rows where the value was not there, or None if it always is."""
    column = _column(table, name)
    if column.source == "derived" and name not in _KEYS:
        return values[f"{name}_absent"]
    if column.present:
        return values["present"] & column.present == 0
    if column.absent is not None:
        return values[column.name] == column.absent
    if name in ("telemetry", "version"):
        return values[name] == schema.FORMAT_NONE
    if table != "packets":
        return None
    if name == "time_ns":
        return values["time_ns"] == 0
    if name == "dialect":
        return values["dialect"] == 0
    if name in _NEEDS_IP:
        return values["ip_version"] == 0
    if name in _NEEDS_PORTS:
        return (values["ip_version"] == 0) | ~np.isin(values["protocol"], (_UDP, _TCP))
    if name == "ip_id":
        return values["ip_version"] != 4
    return values["telemetry"] == schema.FORMAT_NONE if name in _NEEDS_TELEMETRY else None


@functools.cache
def _column(table: str, name: str) -> schema.Column:
    return next(column for column in schema.TABLES[table] if column.name in (name, f"{name}_hi"))


def _words(codes: Any, names: dict[int, str], absent: Any) -> pa.Array:
    """Codes as a dictionary of words that is the same in every batch; an unknown code shows as its number."""
    size = max(max(names), int(codes.max()) if len(codes) else 0) + 1
    words = [names.get(code) or str(code) for code in range(size)]
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=absent), pa.array(words))


def _bit_words(bits: Any, names: dict[int, str]) -> pa.Array:
    """Bit sets as words joined by +, NA where no bit is set."""
    coded = pa.array(bits.copy()).dictionary_encode()
    words = ["+".join(name for bit, name in names.items() if value & bit) for value in coded.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(pa.array(coded.indices.to_numpy(), pa.int32(), mask=bits == 0), pa.array(words, pa.string()))


def _addresses(high: Any, low: Any, version: Any, absent: Any) -> pa.Array:
    """Two int64 of bits as the text of an IPv4 or IPv6 address; `version` None: IPv4 if it fits."""
    key = np.empty((len(high), 3), dtype=">i8")
    # the version is part of the key: an IPv4 address and the IPv6 address of the same bits are two
    key[:, 0] = np.where((high == 0) & (low >> 32 == 0), 4, 6) if version is None else version
    key[:, 1] = high
    key[:, 2] = low
    coded = pa.FixedSizeBinaryArray.from_buffers(pa.binary(24), len(high), [None, pa.py_buffer(key.tobytes())]).dictionary_encode()
    words = pa.array([_address(value) for value in coded.dictionary.to_pylist()], pa.string())
    return words.take(pa.array(coded.indices.to_numpy(), mask=absent))


@functools.lru_cache(maxsize=65536)
def _address(key: bytes) -> str:
    return str(ipaddress.IPv4Address(key[20:]) if key[7] == 4 else ipaddress.IPv6Address(key[8:]))
