"""The decode kernel for tests: packets in, dictionaries of rows out, in the shape of the twin (tests/naive/)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from int_analyzer import _jit, schema, settings
from int_analyzer.capture import records
from int_analyzer.columns import N_PACKETS, NEXT, STOP, Columns, allocate
from int_analyzer.decode import STOP_FULL, decode_batch
from int_analyzer.formats.dialect import DIALECT_NAMES, DIALECTS
from int_analyzer.status import STATUSES, WARNINGS

Packet = tuple[bytes, int, int]
"""Captured bytes, original length, time in ns."""


def settings_of(profile: dict[str, Any] | None) -> Any:
    """The kernel's settings for a profile as the twin takes it."""
    made = settings.default_settings()
    made.numbers[settings.ICRC_SAMPLE] = settings.ICRC_ALL
    profile = profile or {}
    for port in profile.get("int_ports", ()):
        made.port_roles[port] = settings.ROLE_INT
    for port in profile.get("report_ports", ()):
        made.port_roles[port] = settings.ROLE_REPORT
    for port in profile.get("lumina_ports", ()):
        made.port_roles[port] = settings.ROLE_LUMINA
    for port in profile.get("hpcc_ports", ()):
        made.port_roles[port] = settings.ROLE_HPCC
    for protocol in profile.get("gpe_ioam_protocols", ()):
        made.gpe_roles[protocol] = settings.GPE_IOAM
    for protocol in profile.get("gpe_int_protocols", ()):
        made.gpe_roles[protocol] = settings.GPE_INT_1
    if profile.get("int_dscp"):
        made.numbers[settings.INT_DSCP_VALUE], made.numbers[settings.INT_DSCP_MASK] = profile["int_dscp"]
    if profile.get("marker") is not None:
        made.numbers[settings.INT_MARKER] = np.uint64(profile["marker"]).astype(np.int64)
        made.numbers[settings.INT_MARKER_SET] = 1
    if profile.get("int_dialect"):
        made.numbers[settings.INT_DIALECT] = DIALECT_NAMES[profile["int_dialect"]]
    made.numbers[settings.CSIG_TYPE] = profile.get("csig_type", settings.CSIG_ETHERTYPE)
    if profile.get("csig_wide_type") is not None:
        made.numbers[settings.CSIG_WIDE_TYPE] = profile["csig_wide_type"]
    made.numbers[settings.HPCC_LAYOUT] = settings.HPCC_NS3 if profile.get("hpcc_layout") == "ns3" else settings.HPCC_PAPER
    made.numbers[settings.TCP_INT] = int(profile.get("tcp_int", False))
    domains = [(domain, *words) for domain, words in profile.get("domains", {}).items()]
    return made._replace(
        domains=np.array(domains, dtype=np.int64).reshape(-1, 3),
        gre_protocols=np.array(profile.get("gre_int_protocols", ()), dtype=np.int64),
        geneve_classes=np.array(profile.get("geneve_int_classes", ()), dtype=np.int64),
        geneve_ioam_classes=np.array(profile.get("geneve_ioam_classes", ()), dtype=np.int64),
        ifa_protocols=np.array(profile.get("ifa_protocols", (settings.IFA_PROTOCOL,)), dtype=np.int64),
    )


def capture_bytes(packets: Iterable[Packet], link_type: int = 1) -> bytes:
    """A nanosecond little-endian pcap of the packets."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 0, link_type)]
    for data, original, time_ns in packets:
        parts += [struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(data), original), data]
    return b"".join(parts)


def batches(content: bytes, link_type: int, profile: dict[str, Any] | None, compiled: bool, capacity: int = 8192) -> Iterator[Columns]:
    """Columns of one batch after another, of a nanosecond little-endian pcap held in memory."""
    columns = allocate()
    framing = np.zeros(8, dtype=np.int64)
    framing[records.FRAMING_LITTLE] = 1
    interfaces = np.zeros((1, 8), dtype=np.int64)
    interfaces[0, records.INTERFACE_LINK] = link_type
    interfaces[0, records.INTERFACE_RESOLUTION] = 9
    record = np.zeros(records.RECORD_SIZE, dtype=np.int64)
    buffer: Any = np.frombuffer(content, dtype=np.uint8)
    machine = compiled and not _jit.DISABLED
    run = _jit.compiled(decode_batch) if machine else decode_batch
    target = columns.arena if machine else columns.by_name()
    given = buffer if machine else memoryview(buffer)
    position = 24
    while True:
        run(given, position, len(content), framing, interfaces, settings_of(profile), target, columns.counts, record, capacity)
        if columns.counts[N_PACKETS]:
            yield columns
        position = int(columns.counts[NEXT])
        if columns.counts[STOP] != STOP_FULL:
            return


def decode(
    packets: Iterable[Packet], link_type: int = 1, profile: dict[str, Any] | None = None, compiled: bool = True, capacity: int = 8192
) -> list[dict[str, Any]]:
    """Rows of each packet in order, as the twin gives them; a datagram with several reports is several."""
    content = capture_bytes(packets, link_type)
    return [
        result
        for columns in batches(content, link_type, profile, compiled, capacity)
        for result in (rows(columns, row) for row in range(int(columns.counts[N_PACKETS])))
    ]


def decode_records(
    packets: Iterable[Packet], link_type: int = 1, profile: dict[str, Any] | None = None, compiled: bool = True
) -> list[list[dict[str, Any]]]:
    """Rows of each packet as `decode` gives them, the parts of one packet together."""
    records: list[list[dict[str, Any]]] = []
    for result in decode(packets, link_type, profile, compiled):
        if result["packet"]["part"] == 0:
            records.append([])
        assert result["packet"]["part"] == len(records[-1])
        records[-1].append(result)
    return records


def rows(columns: Columns, row: int) -> dict[str, Any]:
    """All rows of packet `row`."""
    packet = _row(columns, "packets", row)
    status = STATUSES[packet["status"]].name
    packet["status"] = status
    packet["warnings"] = {entry.name for entry in WARNINGS if packet["warnings"] >> entry.bit & 1}
    dialect = DIALECTS[packet.pop("dialect")].name or None
    first, count = packet["first_hop"], packet["hop_count"]
    roce = packet["roce_row"]
    packet["first_hop"] = 0
    packet["roce_row"] = None if roce is None else 0
    return {
        "packet": packet,
        "hops": [_row(columns, "hops", i) for i in range(first, first + count)],
        "roce": None if roce is None else _row(columns, "roce", roce),
        "reports": _rows_of(columns, "reports", row),
        "mirrors": _rows_of(columns, "mirrors", row),
        "options": _rows_of(columns, "options", row),
        "dialect": dialect,
    }


def _rows_of(columns: Columns, table: str, packet: int) -> list[dict[str, Any]]:
    used = columns.rows(table)
    return [_row(columns, table, i) for i in np.flatnonzero(getattr(columns, table).packet[:used] == packet)]


def _row(columns: Columns, name: str, row: int) -> dict[str, Any]:
    values = {}
    arrays = getattr(columns, name)
    table = [column for column in schema.TABLES[name] if column.source == "kernel"]
    present = int(arrays.present[row]) if name != "packets" else 0
    for column in table:
        value = int(getattr(arrays, column.name)[row])
        if column.shown == "uint64":
            value &= (1 << 64) - 1
        if (column.present and not present & column.present) or (column.absent is not None and value == column.absent):
            values[column.name] = None
        else:
            values[column.name] = value
    if name != "packets":
        values["packet"] = 0
    return values
