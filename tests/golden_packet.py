"""The golden packets: bytes whose rows were written down by hand, from the notes of a capture or from the format reference."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import mutate
import naive

from int_analyzer import schema

GOLDEN = Path(__file__).parent / "golden"
PCAPS = Path(__file__).parent.parent / "pcaps"
PATHS = sorted(GOLDEN.glob("*/*.json"))
"""All golden packets; the folder has the name of its format, or of what carries telemetry in it."""

ANY = "any"


@dataclass(frozen=True)
class GoldenRow:
    """What must stand in the rows of one row of the packet table: what is not known is not named, None means absent."""

    packet: dict[str, Any]
    hops: list[dict[str, Any]]
    roce: dict[str, Any] | str | None
    tables: dict[str, list[dict[str, Any]]]
    dialect: str | None

    def check(self, result: dict[str, Any]) -> None:
        """Every named value stands where it must, and there are no other rows."""
        contains(result["packet"], self.packet)
        for table, rows in {"hops": self.hops, **self.tables}.items():
            assert len(result[table]) == len(rows), table
            for row, want in zip(result[table], rows, strict=True):
                contains(row, want)
        if isinstance(self.roce, dict):
            assert result["roce"] is not None
            contains(result["roce"], self.roce)
        elif self.roce is None:
            assert result["roce"] is None
        if self.dialect != ANY:
            assert result["dialect"] == self.dialect


@dataclass(frozen=True)
class GoldenPacket:
    """A packet, the profile it is read with, its rows in the packet table (several for a datagram of several reports)."""

    data: bytes
    profile: dict[str, Any]
    rows: list[GoldenRow]

    def check(self, results: list[dict[str, Any]]) -> None:
        """Each row is as it was written down."""
        assert len(results) == len(self.rows)
        for result, row in zip(results, self.rows, strict=True):
            row.check(result)


def contains(row: dict[str, Any], want: dict[str, Any]) -> None:
    """The row has these values."""
    assert {name: row[name] for name in want} == want


def of_folder(name: str) -> list[Path]:
    """Golden packets of one folder."""
    return [path for path in PATHS if path.parent.name == name]


def profile_of(golden: dict[str, Any]) -> dict[str, Any]:
    """The profile of a golden file; JSON has neither numbers as keys nor tuples."""
    profile = dict(golden.get("profile", {}))
    if "domains" in profile:
        profile["domains"] = {int(domain): tuple(words) for domain, words in profile["domains"].items()}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in profile.items()}


@cache
def load(path: Path) -> GoldenPacket:
    """One golden file: a worked packet with all its rows, a packet in parts, or a packet of a capture."""
    golden = json.loads(path.read_text())
    if "worked" in golden:
        data, rows = mutate.worked_packets()[golden["worked"]], golden["results"]
    elif "parts" in golden:
        data, rows = bytes.fromhex("".join(part for part, _ in golden["parts"])), golden["results"]
    else:
        data, rows = _records(golden["capture"])[golden["index"]][2], [_noted(golden)]
    return GoldenPacket(data, profile_of(golden), [_row(row) for row in rows])


@cache
def _records(name: str) -> list[tuple[int, int, bytes]]:
    return naive.read_pcap(PCAPS / name)[1]


def _row(row: dict[str, Any]) -> GoldenRow:
    # The number of a dialect is the twin's own; its name stands beside it.
    packet = {name: set(value) if name == "warnings" else value for name, value in row["packet"].items() if name != "dialect"}
    tables = {name: row[name] for name in ("reports", "mirrors", "options") if name in row}
    return GoldenRow(packet, row.get("hops", []), row.get("roce", ANY), tables, row.get("dialect", ANY))


def _noted(golden: dict[str, Any]) -> dict[str, Any]:
    """What the notes of a capture say, as a row."""
    packet = dict(golden["packet"])
    for side in ("src", "dst"):
        if side in packet:
            packet[side + "_lo"] = int(ip_address(packet.pop(side)))
    row = {"packet": packet} | {name: golden[name] for name in ("hops", "roce") if name in golden}
    if "report" in golden:
        report = dict(golden["report"])
        assert report.pop("version") == 0
        row["reports"] = [{**report, "version": schema.FORMAT_REPORT_05, "report_type": report["nproto"]}]
        row["reports"][0].pop("nproto")
    return row
