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


@dataclass(frozen=True)
class GoldenPacket:
    """A packet, the profile it is read with, and what must stand in its rows (only what is known is named, None means absent)."""

    data: bytes
    profile: dict[str, Any]
    packet: dict[str, Any]
    hops: list[dict[str, Any]]
    roce: dict[str, Any] | None
    tables: dict[str, list[dict[str, Any]]]
    dialect: str | None

    def check(self, result: dict[str, Any]) -> None:
        """Every named value stands where it must, and there are no other hops."""
        contains(result["packet"], self.packet)
        assert len(result["hops"]) == len(self.hops)
        for hop, want in zip(result["hops"], self.hops, strict=True):
            contains(hop, want)
        if self.roce is not None:
            assert result["roce"] is not None
            contains(result["roce"], self.roce)
        for table, rows in self.tables.items():
            assert len(result[table]) == len(rows)
            for row, want in zip(result[table], rows, strict=True):
                contains(row, want)
        if self.dialect != "any":
            assert result["dialect"] == self.dialect


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
def _records(name: str) -> list[tuple[int, int, bytes]]:
    return naive.read_pcap(PCAPS / name)[1]


@cache
def load(path: Path) -> GoldenPacket:
    """One golden file: a worked packet with its whole result, a packet in parts, or a packet of a capture."""
    golden = json.loads(path.read_text())
    profile = profile_of(golden)
    if "worked" in golden:
        result = golden["result"]
        packet = {name: value for name, value in result["packet"].items() if name != "dialect"}
        packet["warnings"] = set(packet["warnings"])
        tables = {name: result[name] for name in ("reports", "mirrors")}
        data = mutate.worked_packets()[golden["worked"]]
        return GoldenPacket(data, profile, packet, result["hops"], result["roce"], tables, result["dialect"])
    tables = {name: golden[name] for name in ("reports", "mirrors", "options") if name in golden}
    if "parts" in golden:
        packet = {**golden["packet"], "warnings": set(golden["packet"]["warnings"])}
        data = bytes.fromhex("".join(part for part, _ in golden["parts"]))
        return GoldenPacket(data, profile, packet, golden["hops"], golden["roce"], tables, golden["dialect"])
    packet = dict(golden["packet"])
    for side in ("src", "dst"):
        if side in packet:
            packet[side + "_lo"] = int(ip_address(packet.pop(side)))
    if "report" in golden:
        report = dict(golden["report"])
        report |= {"version": schema.FORMAT_REPORT_05, "report_type": report.pop("nproto")}
        tables["reports"] = [report]
    data = _records(golden["capture"])[golden["index"]][2]
    return GoldenPacket(data, profile, packet, golden.get("hops", []), golden.get("roce"), tables, "any")
