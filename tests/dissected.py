"""Packets taken apart for tests, and where a display disagrees with the rows of the kernel."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

from int_analyzer import schema
from int_analyzer.capture import records
from int_analyzer.dissect.branch import Branch
from int_analyzer.dissect.dissection import Dissection, dissect
from int_analyzer.dissect.field import Header
from int_analyzer.dissect.headers import hpcc, ifa, int_md, ioam, network, report, roce, tunnel
from int_analyzer.profile import Profile, parse_profile
from int_analyzer.report import packet_tree
from int_analyzer.wire.mirror import LUMINA_BIT_ERROR

ROOT = Path(__file__).parent.parent
PCAPS = ROOT / "pcaps"
WORKED = {entry["name"]: entry for entry in json.loads((ROOT / "tests/golden/worked-packets.json").read_text())}
# What the wire of the worked packets does not say.
PROFILE = parse_profile(
    {
        "detect": {"int_ports": [54321], "int_dscp": "0x17/0x3f", "report_ports": [32766]},
        "domain": [{"id": 0x5453, "source_only_words": 2}],
        "units": {"queue_depth": "cells", "cell_bytes": 80, "hop_latency": "us", "time": "ns", "ioam_time": "posix"},
        "node": {"257": {"name": "leaf-1"}},
    }
)


def of_bytes(data: bytes, profile: Profile = PROFILE, link: int = 1, original: int | None = None) -> Dissection:
    record = [0] * records.RECORD_SIZE
    record[records.CAPTURED], record[records.ORIGINAL], record[records.LINK] = len(data), original or len(data), link
    return dissect(data, record, 0, profile)


def worked(name: str) -> bytes:
    return bytes.fromhex(next(entry["hex"] for key, entry in WORKED.items() if key.startswith(name)))


def every(packet: Dissection) -> list[Branch]:
    return [branch for top in packet.branches for branch in top.walk()]


def hop_branches(packet: Dissection) -> list[Branch]:
    """Branches that are rows of hops, in path order."""
    return sorted((branch for branch in every(packet) if branch.hop is not None and branch.is_row), key=lambda branch: branch.hop or 0)


def shown(branches: list[Branch], table: str) -> dict[str, int | None]:
    """Column → value of the fields that name a column of a table; a value that is there wins over one that is absent."""
    values: dict[str, int | None] = {}
    for branch in branches:
        for value in branch.values:
            if value.field.column.startswith(f"{table}."):
                name = value.field.column.removeprefix(f"{table}.")
                known = value.value
                if name == "hop_latency_raw" and branch.name == "ioam.node" and known is not None and known >= ioam.DELAY_OVERFLOW:
                    known = None
                if known is not None or name not in values:
                    values[name] = known
    return values


def shown_hop(branch: Branch) -> dict[str, int | None]:
    """Columns of hops as the branch shows them."""
    if branch.name == "intreport":
        values = shown([branch], "reports")
        if values.get("queue_id") is None:
            values["queue_id"] = branch.number("drop_queue_id")
        if "ingress_port" not in values:
            values |= {"ingress_port": values.get("ingress_port_2"), "egress_port": values.get("egress_port_2")}
        # of v2.0 it stands in the header of the group
        values["node_id"] = branch.node
        return values
    values = shown([branch], "hops")
    gigabits = next((value.field.names.get(value.value or 0) for value in branch.values if value.field.name in ("speed", "rate")), None)
    values["port_speed_bps"] = None if gigabits is None else int(gigabits.split()[0]) * 10**9
    if branch.name == "ifa.hop":
        values["ingress_time_raw"] = (branch.number("seconds") or 0) * 10**9 + (branch.number("nanoseconds") or 0)
    if branch.number("length") is not None:
        words, schema_id = branch.number("length"), values["snapshot_schema"]
        is_there = words != 0 or schema_id is not None
        values |= {"snapshot_schema": (0xFFFFFF if schema_id is None else schema_id) if is_there else None}
        values |= {"snapshot_bytes": 4 * words if is_there else None}
    seconds, fraction = branch.number("seconds"), branch.number("fraction")
    if branch.name == "ioam.node":
        values["ingress_time_raw"] = None if seconds is None or fraction is None else seconds << 32 | fraction
        values["buffer_id"] = None if values.get("buffer_depth_raw") is None else 0
    return values


def disagreements(packet: Dissection) -> Iterator[str]:
    """Where the display says something else than the kernel's rows."""
    # of several parts each has a path of its own
    rows, hops = sorted(packet.rows["hops"], key=lambda row: row["hop"]), hop_branches(packet)
    if [branch.hop for branch in hops] != [row["hop"] for row in rows]:
        yield f"hops {[branch.hop for branch in hops]} for rows {[row['hop'] for row in rows]}"
        return
    for branch, row in zip(hops, rows, strict=True):
        values = shown_hop(branch)
        for column in schema.kernel_columns(schema.HOPS):
            if column not in ("packet", "hop", "present") and values.get(column) != row[column]:
                yield f"hop {row['hop']} {column}: {values.get(column)} for {row[column]}"
    for table, prefix in (("roce", "bth"), ("mirrors", "erspan")):
        branches = [branch for branch in every(packet) if branch.name == prefix or branch.name.startswith(f"{prefix}.")]
        if len(packet.rows[table]) == 1 and [branch.name for branch in branches].count(prefix) == 1 + (prefix == "bth" and icrc(packet)):
            for name, seen in shown(branches, table).items():
                if seen != packet.rows[table][0][name]:
                    yield f"{table} {name}: {seen} for {packet.rows[table][0][name]}"
    ip = [branch for branch in packet.branches if branch.name in ("ip", "ipv6") and branch.size == len(b"".join(branch_bytes(branch)))]
    if packet.packet["ip_version"] and packet.status.name == "ok" and len(packet.rows["packets"]) == 1:
        for name, seen in shown(ip[-1:], "packets").items():
            restored = name == "ip_id" and any(mirror["event"] == LUMINA_BIT_ERROR for mirror in packet.rows["mirrors"])
            if seen != packet.packet[name] and not (name == "ip_bytes" or seen is None or restored):
                yield f"packets {name}: {seen} for {packet.packet[name]}"


def icrc(packet: Dissection) -> bool:
    """Whether an ICRC is shown: it has the prefix of the BTH."""
    return any(branch.title == "ICRC" for branch in every(packet))


def branch_bytes(branch: Branch) -> Iterator[bytes]:
    at = branch.at
    for value in branch.values:
        yield value.raw[max(at - value.at, 0) :]
        at = max(at, value.at + len(value.raw))


def text_of(packet: Dissection, profile: Profile = PROFILE) -> str:
    stream = io.StringIO()
    packet_tree.print_packets([packet], "x.pcap", profile, stream)
    return stream.getvalue()


def declared_headers() -> list[Header]:
    found: list[Header] = []
    for module in (network, tunnel, int_md, report, ioam, ifa, hpcc, roce):
        for value in vars(module).values():
            candidates = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
            found += [entry for entry in candidates if isinstance(entry, Header)]
    return found
