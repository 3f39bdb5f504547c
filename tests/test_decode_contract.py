"""What every telemetry format promises, on its golden packets: a format without any fails here."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import golden_packet
import kernel
import mutate
import pytest
from golden_packet import GoldenPacket
from test_decode import agree

from int_analyzer import schema

OF_FORMATS = [path for entry in schema.FORMAT_LIST for path in golden_packet.of_folder(entry.name)]
CARRIERS = [path for path in golden_packet.PATHS if path not in OF_FORMATS]
each_golden = pytest.mark.parametrize("path", OF_FORMATS + CARRIERS, ids=lambda path: f"{path.parent.name}-{path.stem}")


def read(golden: GoldenPacket, data: bytes, original: int | None = None) -> list[dict[str, Any]]:
    """Rows of a packet under the profile of a golden packet."""
    return kernel.decode([(data, len(data) if original is None else original, 0)], 1, golden.profile, compiled=False)


def unmarked(row: dict[str, Any]) -> dict[str, Any]:
    """A hop without the mark that others are missing."""
    return {**row, "present": row["present"] & ~schema.HOP_TRUNCATED_PATH}


@pytest.mark.parametrize("entry", schema.FORMAT_LIST, ids=lambda entry: entry.name)
def test_a_format_has_golden_packets_in_which_it_is_found(entry: schema.Format) -> None:
    golden = [golden_packet.load(path) for path in golden_packet.of_folder(entry.name)]
    assert any(row["packet"]["formats"] >> entry.id & 1 for packet in golden for row in read(packet, packet.data))


@each_golden
def test_a_golden_packet_gives_its_rows(path: Path) -> None:
    golden = golden_packet.load(path)
    golden.check(read(golden, golden.data))
    agree([golden.data], 1, golden.profile)


@each_golden
def test_cut_anywhere_it_gives_the_first_of_its_rows_and_says_that_it_was_cut(path: Path) -> None:
    golden = golden_packet.load(path)
    full = read(golden, golden.data)
    agree([(cut, len(golden.data), 0) for cut in mutate.cuts(golden.data)], 1, golden.profile)
    for data in mutate.cuts(golden.data):
        rows = read(golden, data, len(golden.data))
        assert len(rows) <= len(full)
        for cut, row in zip(rows, full, strict=False):
            assert "captured-short" in cut["packet"]["warnings"]
            holds_beginning(cut, row)


def holds_beginning(cut: dict[str, Any], full: dict[str, Any]) -> None:
    """What a cut packet still has is what the whole one has; where something is missing, a status says so."""
    for table in ("reports", "mirrors", "options"):
        assert cut[table] == full[table][: len(cut[table])]
    packet = cut["packet"]
    if any(packet[name] != full["packet"][name] for name in ("formats", "telemetry", "instructions")):
        # The cut took what told the format: nothing, or something else, is made of the beginning.
        return
    if cut["roce"] is not None:
        assert cut["roce"]["icrc_check"] in (full["roce"]["icrc_check"], schema.ICRC_CUT)
        absent = {name for name, value in cut["roce"].items() if value is None} | {"present"}
        assert {**full["roce"], **dict.fromkeys(absent)} == {**cut["roce"], "present": None, "icrc_check": full["roce"]["icrc_check"]}
    places = {hop["hop"]: unmarked(hop) for hop in full["hops"]}
    own = [hop for hop in cut["hops"] if not hop["present"] & schema.HOP_FROM_REPORT]
    assert [unmarked(hop) for hop in own] == [places[hop["hop"]] for hop in own]
    assert len(cut["hops"]) == len(full["hops"]) or packet["status"] != "ok"


@each_golden
def test_bytes_behind_it_change_nothing(path: Path) -> None:
    golden = golden_packet.load(path)
    full = read(golden, golden.data)
    for trailer in (bytes(1), bytes(60), bytes(range(200, 244))):
        data = golden.data + trailer
        trailed = read(golden, data)
        agree([data], 1, golden.profile)
        for row in (*full, *trailed):
            for name in ("captured_bytes", "original_bytes", "warnings"):
                row["packet"].pop(name, None)
        assert trailed == full


@each_golden
def test_any_of_its_bytes_may_be_wrong(path: Path) -> None:
    golden = golden_packet.load(path)
    data = golden.data[:300]
    assert agree(mutate.byte_changes(data, len(data)), 1, golden.profile) >= len(data)
    agree(mutate.scrambled(data, len(data), 100), 1, golden.profile)


@each_golden
def test_junk_in_any_place_of_it_is_read_alike(path: Path) -> None:
    golden = golden_packet.load(path)
    rng = random.Random(len(golden.data))
    junk = []
    for _ in range(100):
        at = rng.randrange(14, len(golden.data))
        junk.append(golden.data[:at] + rng.randbytes(rng.randrange(120)))
    agree(junk, 1, golden.profile)
