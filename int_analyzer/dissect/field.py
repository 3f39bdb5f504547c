"""A header as data: name, specification, and fields with their bits, meaning, unit and names of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from int_analyzer.wire.read import Buffer, u8


class Form(StrEnum):
    """How a value is written."""

    NUMBER = "number"
    HEX = "hex"
    FLAG = "flag"
    BITS = "bits"
    MAC = "mac"
    IPV4 = "ipv4"
    IPV6 = "ipv6"
    BYTES = "bytes"
    RESERVED = "reserved"


# Units that the wire does not say: keys of a node's units in the profile. DEVICE has no key and is never known.
DEPTH, LATENCY, TIME, IOAM_TIME, DEVICE = "queue_depth", "hop_latency", "time", "ioam_time", "device"
PROFILE_UNITS = frozenset((DEPTH, LATENCY, TIME, IOAM_TIME, DEVICE))


class Field(NamedTuple):
    """One field: name, width in bits, meaning, form, unit (or a profile's key), names of values (of masks if BITS).

    absent: all ones mean that there is no value. column: where the kernel keeps it ("hops.node_id"), if it does.
    """

    name: str
    bits: int
    doc: str = ""
    form: Form = Form.NUMBER
    unit: str = ""
    names: Mapping[int, str] = MappingProxyType({})
    absent: bool = False
    column: str = ""


class Value(NamedTuple):
    """A field as it stands in a packet: first byte, first bit within that byte, the bytes it touches, its value; None: absent."""

    field: Field
    filter: str
    at: int
    bit: int
    raw: bytes
    value: int | None


@dataclass(frozen=True)
class Header:
    """A header of whole bytes; fields follow each other without gaps. `name` is the prefix of their filter names.

    absent: ones in every bit mean that nothing of it was there.
    """

    name: str
    title: str
    spec: str
    fields: tuple[Field, ...]
    absent: bool = False

    def __post_init__(self) -> None:
        if sum(field.bits for field in self.fields) % 8:
            raise ValueError(f"{self.name}: not a whole number of bytes")

    @property
    def bytes(self) -> int:
        """Length in bytes."""
        return sum(field.bits for field in self.fields) // 8

    def places(self) -> Iterator[tuple[Field, int]]:
        """Fields with their bit offset from the header's first bit."""
        offset = 0
        for field in self.fields:
            yield field, offset
            offset += field.bits

    def offset_of(self, name: str) -> int:
        """Bit offset of a field."""
        return next(offset for field, offset in self.places() if field.name == name)

    def read(self, data: Buffer, at: int, limit: int) -> list[Value]:
        """The fields that are whole before `limit`."""
        whole = at + self.bytes <= limit
        nothing = self.absent and whole and _bits(data, 8 * at, 8 * self.bytes) == (1 << 8 * self.bytes) - 1
        values = []
        for field, offset in self.places():
            first = 8 * at + offset
            end = (first + field.bits + 7) // 8
            if end > limit:
                break
            value = _bits(data, first, field.bits)
            absent = nothing or (field.absent and value == (1 << field.bits) - 1)
            raw = bytes(data[first // 8 : end])
            values.append(Value(field, f"{self.name}.{field.name}", first // 8, first % 8, raw, None if absent else value))
        return values

    def without_columns(self) -> Header:
        """The same header where the kernel keeps other values in these columns."""
        return replace(self, fields=tuple(field._replace(column="") for field in self.fields))


def reserved(bits: int) -> Field:
    """Bits that say nothing."""
    return Field("reserved", bits, form=Form.RESERVED)


def flag(name: str, doc: str, column: str = "") -> Field:
    """A single bit."""
    return Field(name, 1, doc, Form.FLAG, column=column)


def opaque(prefix: str, name: str, doc: str, data: Buffer, at: int, end: int) -> list[Value]:
    """Bytes [at, end) that are shown as they are; nothing if there are none."""
    if end <= at:
        return []
    return [Value(Field(name, 8 * (end - at), doc, Form.BYTES), f"{prefix}.{name}", at, 0, bytes(data[at:end]), 0)]


def _bits(data: Buffer, first: int, count: int) -> int:
    """The number in `count` bits from bit `first` on."""
    begin, end = first // 8, (first + count + 7) // 8
    number = 0
    for at in range(begin, end):
        number = number << 8 | u8(data, at)
    return number >> (8 * end - first - count) & ((1 << count) - 1)
