"""What captures show of a fabric, in one pass: formats, layouts, DSCP, nodes with the look of their values, ports and what is behind."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from int_analyzer import schema
from int_analyzer.columns import Columns
from int_analyzer.draft.hop_rows import HopRows, hop_rows
from int_analyzer.draft.node_tally import NodeTally
from int_analyzer.draft.port_tally import PortTally, tally_ports
from int_analyzer.draft.sample import Sample
from int_analyzer.reading import Batch

REPORTS = (1 << schema.FORMAT_REPORT_05) | (1 << schema.FORMAT_REPORT_1) | (1 << schema.FORMAT_REPORT_2)
INTS = (1 << schema.FORMAT_INT_MD_1) | (1 << schema.FORMAT_INT_MD_2) | (1 << schema.FORMAT_INT_MX) | (1 << schema.FORMAT_INT_05)
MAXIMUM_NODES, MAXIMUM_PORTS = 1 << 12, 1 << 16
"""More are garbage, or too many to be written into a profile."""

_DECIDED = ("formats", "telemetry", "dialect", "instructions", "hop_count", "report_count", "dst_port", "status", "status_at", "warnings")
"""Columns of packets that depend on how telemetry was found: where they are equal, so are the hops."""


@dataclass
class Sighting:
    """Counts of packets, but for `nodes` and `ports`, which are of hops."""

    files: list[str] = field(default_factory=list)
    packets: int = 0
    hops: int = 0
    hops_ignored: int = 0
    formats: Counter[int] = field(default_factory=Counter)
    layouts: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    """(telemetry format, dialect, instruction bitmap or trace type) → packets."""
    namespaces: Counter[tuple[int, int]] = field(default_factory=Counter)
    """(telemetry format, INT domain or IOAM namespace) → packets."""
    marked: Counter[int] = field(default_factory=Counter)
    """DSCP → packets with INT."""
    unmarked: Counter[int] = field(default_factory=Counter)
    """DSCP → IP packets without."""
    nodes: dict[int, NodeTally] = field(default_factory=dict)
    ports: dict[tuple[int, int], PortTally] = field(default_factory=dict)
    samples: dict[tuple[str, int], Sample] = field(default_factory=dict)
    """(file, formats) → numbers of packets with INT or reports."""
    digest: str = ""
    """Of what was decided about every packet."""


def see(batches: Iterable[Batch]) -> Sighting:
    """Everything that the captures show."""
    sighting = Sighting()
    digest = hashlib.blake2b()
    for batch in batches:
        if batch.file not in sighting.files:
            sighting.files.append(batch.file)
        _see_packets(sighting, batch)
        _see_hops(sighting, hop_rows(batch.columns))
        add_decisions(digest, batch.columns)
    sighting.digest = digest.hexdigest()
    return sighting


def add_decisions(digest: Any, columns: Columns) -> None:
    """Add to a digest what was decided about the packets of a batch."""
    for name in _DECIDED:
        digest.update(getattr(columns.packets, name)[: columns.rows("packets")].tobytes())


def _see_packets(sighting: Sighting, batch: Batch) -> None:
    packets, count = batch.columns.packets, batch.columns.rows("packets")
    formats, telemetry, dscp = packets.formats[:count], packets.telemetry[:count], packets.dscp[:count]
    sighting.packets += count
    for entry in schema.FORMAT_LIST:
        sighting.formats[entry.id] += int((formats >> entry.id & 1).sum())
    hops = telemetry != schema.FORMAT_NONE
    sighting.layouts.update(_rows(hops, telemetry, packets.dialect[:count], packets.instructions[:count]))
    sighting.namespaces.update(_rows(hops, telemetry, packets.namespace[:count]))
    has_int = formats & INTS != 0
    sighting.marked.update(dscp[has_int].tolist())
    sighting.unmarked.update(dscp[~has_int & (packets.ip_version[:count] != 0)].tolist())
    for kind in np.unique(formats[formats & (INTS | REPORTS) != 0]).tolist():
        sample = sighting.samples.setdefault((batch.file, kind), Sample())
        sample.add(batch.first_packet + batch.columns.records()[formats == kind])


def _see_hops(sighting: Sighting, rows: HopRows) -> None:
    sighting.hops += len(rows.node)
    known, where = np.unique(rows.node, return_inverse=True)
    fits = np.ones(len(known), dtype=np.bool_)
    for position, node in enumerate(known.tolist()):
        if node not in sighting.nodes and len(sighting.nodes) >= MAXIMUM_NODES:
            fits[position] = False
            continue
        sighting.nodes.setdefault(node, NodeTally()).add(rows.take(np.flatnonzero(where == position)))
    kept = fits[where]
    sighting.hops_ignored += int((~kept).sum())
    if len(sighting.ports) < MAXIMUM_PORTS:
        tally_ports(sighting.ports, rows.take(np.flatnonzero(kept)))


def _rows(chosen: Any, *columns: Any) -> Iterable[Any]:
    return zip(*(column[chosen].tolist() for column in columns), strict=True)
