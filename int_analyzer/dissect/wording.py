"""Values in words: numbers with the names of their values, addresses, and units as far as the profile knows them."""

from __future__ import annotations

import ipaddress

from int_analyzer.dissect.field import DEPTH, DEVICE, IOAM_TIME, LATENCY, PROFILE_UNITS, TIME, Field, Form, Value
from int_analyzer.profile import Units

ABSENT = "absent (all ones)"
UNKNOWN_UNIT = "unit unknown"
_IOAM_FRACTIONS = {"posix": "µs", "ptp": "ns", "ntp": "2^-32 s"}
_TIMES = {"ns": "ns", "us": "µs"}


def unit(field: Field, units: Units) -> str:
    """Unit of a field: its own, or what the profile says of the node, or that nobody knows it; nothing for plain numbers."""
    if field.unit not in PROFILE_UNITS:
        return field.unit
    known = {
        DEPTH: units.queue_depth if units.queue_depth != "unknown" else None,
        LATENCY: _TIMES.get(units.hop_latency),
        TIME: _TIMES.get(units.time),
        IOAM_TIME: _IOAM_FRACTIONS.get(units.ioam_time),
        DEVICE: None,
    }
    return known[field.unit] or UNKNOWN_UNIT


def text(value: Value) -> str:
    """A value without its unit."""
    field, number = value.field, value.value
    if number is None:
        return ABSENT
    if field.form == Form.BYTES:
        return f"{len(value.raw)} bytes"
    if field.form == Form.BITS:
        names = [name for mask, name in field.names.items() if number & mask]
        return " ".join([_hex(field, number), ", ".join(names)]).rstrip()
    written = _number(value, number)
    name = field.names.get(number)
    return f"{written} {name}" if name else written


def in_bytes(value: Value, units: Units) -> str:
    """A depth in cells or packets as bytes too, where the profile knows their size; else nothing."""
    size = {"cells": units.cell_bytes, "packets": units.packet_bytes}.get(units.queue_depth)
    if value.field.unit != DEPTH or value.value is None or size is None:
        return ""
    return f"= {round(value.value * size)} bytes"


def sentence(value: Value, units: Units) -> str:
    """A value with all that is known of it."""
    if value.value is None:
        return text(value)
    return " ".join(filter(None, (text(value), unit(value.field, units), in_bytes(value, units))))


def _number(value: Value, number: int) -> str:
    field = value.field
    if field.form == Form.HEX:
        return _hex(field, number)
    if field.form == Form.MAC:
        return value.raw.hex(":")
    if field.form == Form.IPV4:
        return str(ipaddress.IPv4Address(number))
    if field.form == Form.IPV6:
        return str(ipaddress.IPv6Address(number))
    if field.form == Form.FLAG:
        return "1 set" if number else "0"
    if field.form == Form.RESERVED:
        return _hex(field, number) if number else "0"
    return str(number)


def _hex(field: Field, number: int) -> str:
    return f"0x{number:0{-(-field.bits // 4)}x}"
