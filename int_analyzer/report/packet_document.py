"""Packets taken apart as one JSON document: headers with their fields, the kernel's rows, statuses and warnings by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from int_analyzer import schema
from int_analyzer.dissect import wording
from int_analyzer.dissect.branch import Branch
from int_analyzer.dissect.dissection import Dissection
from int_analyzer.dissect.field import Form, Value
from int_analyzer.profile import ABSENT, Profile, Units

_TEXT_FORMS = (Form.MAC, Form.IPV4, Form.IPV6)
_CODED = ("status", "status_at", "warnings", "formats", "telemetry", "dialect", "first_hop", "roce_row", "present")
"""Columns that stand in the document under their names, or that mean something within a batch only."""


def packet_document(packets: Sequence[Dissection], capture: str, profile: Profile) -> str:
    """The document as text."""
    document = {"schema_version": schema.SCHEMA_VERSION, "capture": capture, "packets": [_packet(packet, profile) for packet in packets]}
    return json.dumps(document, indent=2, ensure_ascii=False)


def _packet(packet: Dissection, profile: Profile) -> dict[str, Any]:
    status = packet.status
    return {
        "packet": packet.number,
        "status": {"name": status.name, "layer": status.layer, "reject": status.reject, "meaning": status.doc, "at": packet.status_at},
        "warnings": [{"name": entry.name, "meaning": entry.doc} for entry in packet.warnings],
        "formats": packet.formats,
        "telemetry": packet.telemetry or None,
        "dialect": packet.dialect or None,
        "link_type": packet.link,
        "bytes": packet.data.hex(),
        "headers": [_branch(branch, profile) for branch in packet.branches],
        "rows": {table: [_row(row, table, profile) for row in rows] for table, rows in packet.rows.items()},
    }


def _row(row: dict[str, Any], table: str, profile: Profile) -> dict[str, Any]:
    values = {name: value for name, value in row.items() if name not in _CODED}
    if table == "hops":
        values["node"] = profile.node_name(ABSENT if row["node_id"] is None else row["node_id"])
        values["from_report"] = bool(row["present"] & schema.HOP_FROM_REPORT)
        values["path_truncated"] = bool(row["present"] & schema.HOP_TRUNCATED_PATH)
        values["opaque"] = bool(row["present"] & schema.HOP_OPAQUE)
    return values


def _branch(branch: Branch, profile: Profile) -> dict[str, Any]:
    units = profile.units_of(branch.node) if branch.node is not None else profile.units
    entry: dict[str, Any] = {
        "name": branch.name,
        "title": branch.title,
        "spec": branch.spec,
        "offset": branch.at,
        "bytes": branch.size,
    }
    if branch.hop is not None:
        entry |= {"hop": branch.hop, "node": None if branch.node is None else profile.node_name(branch.node), "is_row": branch.is_row}
    if branch.remarks:
        entry["remarks"] = branch.remarks
    entry["fields"] = [_field(value, units) for value in branch.values]
    entry["headers"] = [_branch(inner, profile) for inner in branch.branches]
    return entry


def _field(value: Value, units: Units) -> dict[str, Any]:
    field = value.field
    shown: int | str | None = value.value
    if field.form == Form.BYTES:
        shown = value.raw.hex()
    elif field.form in _TEXT_FORMS:
        shown = wording.text(value)
    return {
        "name": field.name,
        "filter": value.filter,
        "offset": value.at,
        "bit": value.bit,
        "bits": field.bits,
        "raw": value.raw.hex(),
        "value": shown,
        "text": wording.sentence(value, units),
        "unit": wording.unit(field, units) or None,
        "meaning": field.doc or None,
    }
