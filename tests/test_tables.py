"""Rows as users see them: absent is NA, codes are words, addresses are text, units derive from the profile, files say what they hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from mode import unchecked

import int_analyzer as ia
from int_analyzer import row_files, schema, tables
from int_analyzer.columns import N_HOPS, N_MIRRORS, N_OPTIONS, N_PACKETS, N_ROCE, Columns, allocate
from int_analyzer.errors import IntAnalyzerError
from int_analyzer.profile import parse_profile
from int_analyzer.reading import Reading

pytestmark = unchecked

PCAPS = Path(__file__).parent.parent / "pcaps"
LAOFAN = str(PCAPS / "bmv2-laofan-int-md-v2.1/s2-s4.pcap")
SPINE = str(PCAPS / "linux-ioam-spine-to-leaf")


def columns_of(packets: list[dict[str, Any]], **others: list[dict[str, Any]]) -> Columns:
    """Columns with the given rows; what a row does not name is garbage, as the kernel leaves it."""
    columns = allocate(max(len(packets), 16))
    for table in schema.TABLES:
        for array in getattr(columns, table):
            array[:] = 123
    for table, rows in {"packets": packets, **others}.items():
        for number, row in enumerate(rows):
            for name, value in row.items():
                getattr(getattr(columns, table), name)[number] = value
    columns.counts[N_PACKETS] = len(packets)
    for index, table in ((N_HOPS, "hops"), (N_ROCE, "roce"), (N_MIRRORS, "mirrors"), (N_OPTIONS, "options")):
        columns.counts[index] = len(others.get(table, []))
    return columns


def rows(columns: Columns, table: str, **options: Any) -> list[dict[str, Any]]:
    return tables.record_batch(columns, table, **options).to_pylist()


PACKET = {
    "part": 0,
    "time_ns": 5,
    "ip_version": 4,
    "src_hi": 0,
    "src_lo": 0x0A000101,
    "dst_hi": 0,
    "dst_lo": 0x0A000303,
    "protocol": 17,
    "status": 0,
    "formats": 0b1010,
    "warnings": 0,
    "tunnels": 0x21,
    "telemetry": schema.FORMAT_INT_MD_2,
    "dialect": 1,
    "vlan_id": 0xFFFF,
    "original_dscp": 0xFF,
}


def test_codes_are_words() -> None:
    (row,) = rows(columns_of([PACKET]), "packets")
    assert row["status"] == "ok" and row["telemetry"] == "int-md-2.x" and row["dialect"] == "int-2.x"
    assert row["formats"] == "roce+int-md-2.x" and row["tunnels"] == "mpls+vxlan" and row["warnings"] is None


def test_addresses_are_text_and_the_two_versions_are_told_apart() -> None:
    six = PACKET | {"ip_version": 6}
    long = six | {"src_hi": np.int64(-0x2000000000000000), "src_lo": -1}
    found = rows(columns_of([PACKET, six, long, PACKET | {"ip_version": 0}]), "packets")
    assert [row["src"] for row in found] == ["10.0.1.1", "::a00:101", "e000::ffff:ffff:ffff:ffff", None]


def test_an_address_of_all_ones_stays_an_ipv6_address() -> None:
    ones = PACKET | {"ip_version": 6, "src_hi": -1, "src_lo": 0x0A000101}
    found = rows(columns_of([PACKET, ones]), "packets")
    assert [row["src"] for row in found] == ["10.0.1.1", "ffff:ffff:ffff:ffff::a00:101"]


def test_what_was_not_there_is_absent_and_never_garbage() -> None:
    arp = {
        "time_ns": 0,
        "ip_version": 0,
        "status": 1,
        "formats": 0,
        "warnings": 0,
        "tunnels": 0,
        "telemetry": 0,
        "dialect": 0,
        "vlan_id": 0xFFFF,
    }
    (row,) = rows(columns_of([arp]), "packets")
    absent = {
        "time_ns",
        "src",
        "dst",
        "protocol",
        "src_port",
        "dst_port",
        "dscp",
        "ecn",
        "ttl",
        "ip_id",
        "ip_bytes",
        "telemetry",
        "dialect",
    }
    absent |= {"telemetry_flags", "instructions", "namespace", "remaining_hops", "vlan_id", "formats", "tunnels", "warnings"}
    assert {name for name, value in row.items() if value is None} >= absent
    assert row["status"] == "not-ip" and row["ip_version"] == 0


def test_presence_bits_decide_about_every_optional_column() -> None:
    for table, columns in schema.TABLES.items():
        if table in ("packets", "reports"):
            continue
        for column in columns:
            if column.present and column.source == "kernel" and not column.name.endswith(("_hi", "_lo")):
                there = columns_of([PACKET], **{table: [{"packet": 0, "present": column.present}, {"packet": 0, "present": 0}]})
                first, second = rows(there, table)
                assert first[column.name] is not None and second[column.name] is None, (table, column.name)


def test_64_bit_values_are_unsigned() -> None:
    hop = {"packet": 0, "node_id": -1, "ingress_time_raw": -2, "present": schema.HAS_NODE | schema.HAS_INGRESS_TIME}
    (row,) = rows(columns_of([PACKET], hops=[hop]), "hops")
    assert row["node_id"] == 2**64 - 1 and row["ingress_time_raw"] == 2**64 - 2


def test_hop_flags_are_columns() -> None:
    hops = [{"packet": 0, "present": bits} for bits in (0, schema.HOP_FROM_REPORT, schema.HOP_TRUNCATED_PATH, schema.HOP_OPAQUE)]
    found = rows(columns_of([PACKET], hops=hops), "hops")
    assert [(row["from_report"], row["path_truncated"], row["opaque"]) for row in found] == [
        (False, False, False),
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]


def test_rows_are_numbered_through_the_capture() -> None:
    columns = columns_of([PACKET, PACKET], hops=[{"packet": 1, "present": 0}])
    assert [row["packet"] for row in rows(columns, "packets", first_packet=100)] == [100, 101]
    assert [row["packet"] for row in rows(columns, "hops", first_packet=100)] == [101]


def test_parts_of_a_record_have_its_number() -> None:
    parts = [PACKET | {"part": part} for part in (0, 1, 2, 0)]
    columns = columns_of(parts, hops=[{"packet": 2, "present": 0}])
    key = ("packet", "part")
    assert [tuple(row[name] for name in key) for row in rows(columns, "packets", first_packet=7)] == [(7, 0), (7, 1), (7, 2), (8, 0)]
    assert [tuple(row[name] for name in key) for row in rows(columns, "hops", first_packet=7)] == [(7, 2)]


def test_a_batch_may_go_on_with_the_parts_of_the_record_before() -> None:
    columns = columns_of([PACKET | {"part": part} for part in (3, 4, 0)])
    assert [row["packet"] for row in rows(columns, "packets", first_packet=7)] == [7, 7, 8]


def test_rows_outlive_the_reused_columns() -> None:
    columns = columns_of([PACKET], hops=[{"packet": 0, "hop": 3, "node_id": 9, "present": schema.HAS_NODE}])
    kept = tables.record_batch(columns, "hops")
    columns.hops.hop[:] = 77
    columns.hops.node_id[:] = 77
    assert kept.to_pylist()[0]["hop"] == 3 and kept.to_pylist()[0]["node_id"] == 9


def test_a_code_without_a_name_shows_as_its_number() -> None:
    (row,) = rows(columns_of([PACKET | {"status": 255}]), "packets")
    assert row["status"] == "255"


HOP = {
    "packet": 0,
    "node_id": 7,
    "hop_latency_raw": 3,
    "queue_depth_raw": 10,
    "ingress_time_raw": 1_000_000,
    "egress_time_raw": 1_000_250,
    "present": schema.HAS_NODE | schema.HAS_LATENCY | schema.HAS_DEPTH | schema.HAS_INGRESS_TIME | schema.HAS_EGRESS_TIME,
}
DERIVED = ("hop_latency_ns", "queue_depth_bytes", "ingress_time_ns", "egress_time_ns")


def derived(hop: dict[str, Any], document: dict[str, Any], packet: dict[str, Any] = PACKET) -> list[int | None]:
    (row,) = rows(columns_of([packet], hops=[hop]), "hops", profile=parse_profile(document))
    return [row[name] for name in DERIVED]


def test_without_a_unit_nothing_is_derived() -> None:
    assert derived(HOP, {}) == [None, None, None, None]


def test_units_come_from_the_profile_and_a_node_overrides_them() -> None:
    units = {"queue_depth": "cells", "cell_bytes": 80, "hop_latency": "us", "time": "us"}
    assert derived(HOP, {"units": units}) == [3000, 800, 1_000_000_000, 1_000_250_000]
    own = {"units": units, "node": {"7": {"units": {"hop_latency": "ns", "queue_depth": "bytes"}}}}
    assert derived(HOP, own) == [3, 10, 1_000_000_000, 1_000_250_000]


def test_latency_falls_back_to_the_times_of_the_node() -> None:
    without = HOP | {"present": HOP["present"] & ~schema.HAS_LATENCY}
    assert derived(without, {"units": {"time": "us"}})[0] == 250_000
    wrapped = without | {"ingress_time_raw": 0xFFFFFFFF, "egress_time_raw": 9}
    assert derived(wrapped, {"units": {"time": "ns"}})[0] == 10
    backwards = without | {"ingress_time_raw": 2**40, "egress_time_raw": 2**40 - 1}
    assert derived(backwards, {"units": {"time": "ns"}})[0] is None


def test_a_reported_latency_without_a_unit_is_not_replaced_by_times() -> None:
    assert derived(HOP, {"units": {"time": "us"}})[0] is None


@pytest.mark.parametrize(
    ("kind", "seconds", "fraction", "nanoseconds"),
    [
        ("posix", 1_795_969_070, 735_445, 1_795_969_070_735_445_000),
        ("ptp", 1_795_969_070, 735_445_706, 1_795_969_070_735_445_706),
        ("ntp", 1_795_969_070 + 2_208_988_800, 1 << 31, 1_795_969_070_500_000_000),
    ],
)
def test_ioam_times_follow_the_format_that_the_profile_names(kind: str, seconds: int, fraction: int, nanoseconds: int) -> None:
    raw = (seconds << 32) | fraction
    hop = HOP | {"ingress_time_raw": raw - 2**64 if raw >> 63 else raw, "present": schema.HAS_NODE | schema.HAS_INGRESS_TIME}
    packet = PACKET | {"telemetry": schema.FORMAT_IOAM_TRACE}
    assert derived(hop, {"units": {"ioam_time": kind}}, packet)[2] == nanoseconds
    assert derived(hop, {"units": {"time": "ns"}}, packet)[2] is None


def test_every_column_has_a_meaning_and_units_are_in_names() -> None:
    for table in schema.TABLES:
        for field in tables.fields(table):
            assert field.doc, (table, field.name)
            if field.unit in ("ns", "bytes", "raw"):
                assert field.name.endswith(f"_{field.unit}") or field.name in ("pad", "status_at"), (table, field.name)


def test_frames_are_nullable_and_keep_their_types_when_empty() -> None:
    batch = next(iter(ia.read(LAOFAN)))
    hops, mirrors = batch.hops, batch.mirrors
    assert hops["queue_depth_raw"].dtype == pd.UInt32Dtype() and hops["node_id"].dtype == pd.UInt64Dtype()
    assert hops["opaque"].dtype == pd.BooleanDtype() and hops["hop_latency_ns"].isna().all()
    assert isinstance(batch.packets["status"].dtype, pd.CategoricalDtype) and batch.packets["src"].dtype == pd.StringDtype()
    assert len(mirrors) == 0 and mirrors["session_id"].dtype == pd.UInt16Dtype()


def test_batches_of_any_size_give_the_same_rows() -> None:
    def whole(table: str, packets: int) -> pa.Table:
        reading = Reading(LAOFAN, packets=packets)
        return pa.Table.from_batches([batch.rows(table) for batch in reading]).combine_chunks()

    for table in schema.TABLES:
        assert whole(table, 100).to_pylist() == whole(table, 8192).to_pylist()


def test_several_captures_have_a_file_column_and_each_counts_from_0() -> None:
    frame = pd.concat([batch.packets for batch in ia.read(SPINE)], ignore_index=True)
    assert frame.groupby("file", observed=True)["packet"].min().tolist() == [0, 0]
    assert "file" not in next(iter(ia.read(LAOFAN))).packets


def written(tmp_path: Path, table: str, format: str, **options: Any) -> Path:
    path = tmp_path / f"rows.{format}"
    row_files.write_rows(LAOFAN, table, format, output=path, **options)
    return path


@pytest.mark.parametrize("table", list(schema.TABLES))
def test_csv_jsonl_and_parquet_hold_the_same_rows(table: str, tmp_path: Path) -> None:
    expected = [row for batch in Reading(LAOFAN) for row in batch.rows(table).to_pylist()]
    jsonl = [json.loads(line) for line in written(tmp_path, table, "jsonl").read_text().splitlines()]
    assert jsonl == expected
    assert pa.parquet.read_table(written(tmp_path, table, "parquet")).to_pylist() == expected
    lines = written(tmp_path, table, "csv").read_text().splitlines()
    assert lines[0].split(",") == tables.arrow_schema(table).names
    assert len(lines) == len(expected) + 1
    if expected:
        cells = ["" if value is None else str(value).lower() if isinstance(value, bool) else str(value) for value in expected[0].values()]
        assert lines[1].split(",") == cells


def test_parquet_says_units_meanings_and_version(tmp_path: Path) -> None:
    arrow = pa.parquet.read_schema(written(tmp_path, "hops", "parquet"))
    assert arrow.metadata[b"schema_version"] == schema.SCHEMA_VERSION.encode() and arrow.metadata[b"table"] == b"hops"
    assert arrow.field("hop_latency_ns").metadata[b"unit"] == b"ns"


def test_a_limit_and_a_choice_of_columns_are_kept(tmp_path: Path) -> None:
    lines = written(tmp_path, "hops", "csv", limit=7, names=["hop", "node_id"]).read_text().splitlines()
    assert lines[0] == "hop,node_id" and len(lines) == 8


def test_an_unknown_column_is_an_error_that_names_the_others(tmp_path: Path) -> None:
    with pytest.raises(IntAnalyzerError, match=r"no column 'depth'.*queue_depth_raw"):
        written(tmp_path, "hops", "csv", names=["depth"])


def test_the_table_is_aligned_and_short(tmp_path: Path) -> None:
    lines = written(tmp_path, "hops", "table", limit=3).read_text().splitlines()
    assert len(lines) == 4 and lines[0].startswith("packet  hop  node_id")
    assert len({line.index(cell) + len(cell) for line, cell in zip(lines[1:], ["1", "2", "1"], strict=True)}) >= 1


def test_memory_does_not_grow_with_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "ROW_GROUP", 2000)

    def peak(times: int) -> int:
        largest = 0
        with row_files.RowGroups(str(tmp_path / "x.parquet"), tables.arrow_schema("hops")) as writer:
            for _ in range(times):
                for batch in Reading(LAOFAN, packets=256):
                    writer.write(batch.rows("hops"))
                    largest = max(largest, pa.total_allocated_bytes())
        return largest

    small = peak(2)
    assert peak(8) < 1.3 * small
