"""The Python interface: a result and its frames, files and captures of several kinds, reading piece by piece."""

from __future__ import annotations

import json
import re
import shutil
import struct
import time
from pathlib import Path
from typing import Any

import networkx
import pandas as pd
import pytest

import int_analyzer as ia
from int_analyzer import result as results
from int_analyzer.cli import main
from int_analyzer.reading import Reading

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "pcaps/bmv2-laofan-int-md-v2.1"
REPORTS = FOLDER / "s4-coll.pcap"
LINK = FOLDER / "s2-s4.pcap"


@pytest.fixture(scope="module")
def result() -> ia.Result:
    return ia.analyze(REPORTS)


def records_of(capture: Path) -> tuple[bytes, list[bytes]]:
    """File header and records of a little-endian pcap."""
    content = capture.read_bytes()
    records, at = [], 24
    while at < len(content):
        length = 16 + struct.unpack_from("<I", content, at + 8)[0]
        records.append(content[at : at + length])
        at += length
    return content[:24], records


def test_a_result_names_the_port_and_holds_all_parts(result: ia.Result) -> None:
    finding = result.findings[0]
    assert (finding.node_id, finding.port_id, finding.role) == (2, 2, "root")
    assert result.quality is not None and result.quality.packets == 1154
    assert repr(result).startswith("<Result of 1154 packets: root node 2 port 2")
    assert json.loads(result.to_json())["findings"][0]["node_id"] == 2


def test_frames_are_joined_by_packet(result: ia.Result) -> None:
    joined = result.hops.merge(result.packets, on="packet")
    assert len(joined) == len(result.hops) == 3462
    assert (result.packets["hop_count"].astype("int64").sum()) == 3462
    assert len(result.reports) == 1154 and len(result.mirrors) == 0
    assert isinstance(result.roce, pd.DataFrame)


def test_a_frame_is_decoded_once(result: ia.Result) -> None:
    assert result.hops is result.hops


def test_the_deepest_queue_of_the_frame_is_the_peak_of_the_finding(result: ia.Result) -> None:
    at = result.hops[(result.hops["node_id"] == 2) & (result.hops["egress_port"] == 2)]
    assert at["queue_depth_raw"].max() == result.findings[0].peak_depth == 79


def test_flows_and_connections_are_frames_with_what_the_command_says() -> None:
    capture = ROOT / "pcaps/linux-ioam-spine-to-leaf/l3-h5.pcap"
    result = ia.analyze(capture)
    assert result.flows.packets.sum() == len(result.packets) and result.flows.bytes.is_monotonic_decreasing
    assert set(result.connections.dest_qp) == set(result.roce.dest_qp)
    for frame in (result.flows, result.connections):
        # what is not known is NA, and never 0, NaN or an empty text
        assert {str(kind) for kind in frame.dtypes} <= {"Int64", "Float64", "boolean", "string"}
    assert result.connections.naks.isna().all() and result.connections.rtt_mean_ns.isna().all()


def test_the_report_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    capture = ROOT / "pcaps/linux-ioam-spine-to-leaf/l3-h5.pcap"
    assert main(["analyze", str(capture), "--top", "3"]) == 0
    printed, told = capsys.readouterr().out, ia.analyze(capture).report(top=3)
    assert told.startswith("CONGESTED  node 11 port 1103")
    assert re.sub(r"read in [^)]*", "", told) == re.sub(r"read in [^)]*", "", printed)


def test_the_graph_is_one_of_networkx(result: ia.Result) -> None:
    assert isinstance(result.graph, networkx.MultiDiGraph)
    assert networkx.has_path(result.graph, 1, 4)


def test_tables_are_written_on_the_way_or_afterwards_alike(result: ia.Result, tmp_path: Path) -> None:
    result.write(tmp_path / "after")
    ia.analyze(REPORTS, output=tmp_path / "way")
    for name in ("packets", "hops", "roce", "reports", "mirrors"):
        after, way = (pd.read_parquet(tmp_path / folder / f"{name}.parquet") for folder in ("after", "way"))
        pd.testing.assert_frame_equal(after, way)
        assert len(after) == len(getattr(result, name))


def test_compiled_and_plain_analysis_say_the_same() -> None:
    plain, fast = (json.loads(ia.analyze(LINK, compiled=compiled).to_json()) for compiled in (False, True))
    plain["capture"]["elapsed_seconds"] = fast["capture"]["elapsed_seconds"] = 0
    assert plain == fast


def test_rotated_files_are_one_traffic(tmp_path: Path) -> None:
    header, records = records_of(REPORTS)
    for number in range(4):
        (tmp_path / f"part-{number}.pcap").write_bytes(header + b"".join(records[number * 300 : (number + 1) * 300]))
    whole, parts = ia.analyze(REPORTS), ia.analyze(tmp_path)
    assert parts.findings == whole.findings and parts.summary.links == whole.summary.links
    assert parts.quality == whole.quality


def test_captures_of_one_time_are_merged_and_their_clock_does_not_go_backwards() -> None:
    both = ia.analyze([FOLDER / "s1-s3.pcap", LINK])
    assert both.quality is not None
    assert not [reason for reason in both.quality.trust_reasons if "backwards" in reason]
    assert both.quality.packets == len(both.packets) == 391 + 763
    assert both.packets["file"].astype(str).unique().tolist() == [str(FOLDER / "s1-s3.pcap"), str(LINK)]


def test_progress_ends_at_the_size_of_all_captures() -> None:
    calls: list[tuple[int, int | None]] = []
    ia.analyze([FOLDER / "s1-s3.pcap", LINK], progress=lambda done, total: calls.append((done, total)))
    size = (FOLDER / "s1-s3.pcap").stat().st_size + LINK.stat().st_size
    assert calls[-1] == (size, size) and calls == sorted(calls)


def test_damage_is_in_the_quality_with_its_file(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(LINK.read_bytes()[:-7])
    quality = ia.analyze(cut).quality
    assert quality is not None and [damage["file"] for damage in quality.damages] == [str(cut)]


def test_the_same_capture_named_twice_is_read_once(tmp_path: Path) -> None:
    assert ia.analyze([LINK, str(LINK)]).quality == ia.analyze(LINK).quality


def test_a_profile_may_be_given_as_file_or_object(tmp_path: Path) -> None:
    path = tmp_path / "fabric.toml"
    path.write_text('[units]\nqueue_depth = "packets"\npacket_bytes = 400\nhop_latency = "us"\ntime = "us"\n[node.2]\nname = "spine-1"\n')
    by_file, by_object = ia.analyze(REPORTS, path), ia.analyze(REPORTS, ia.load_profile(path))
    assert by_file.findings == by_object.findings
    assert by_file.findings[0].node == "spine-1" and by_file.findings[0].depth_unit == "bytes"
    assert by_file.hops["queue_depth_bytes"].max() == 79 * 400 and by_file.hops["hop_latency_ns"].notna().all()


def test_standard_input_cannot_be_read_twice_and_says_so(result: ia.Result) -> None:
    once = ia.Result(result.summary, ["-"])
    with pytest.raises(ia.SourceError, match="standard input cannot be read again"):
        _ = once.hops


def test_errors_are_of_one_family(tmp_path: Path) -> None:
    with pytest.raises(ia.SourceError):
        ia.analyze(tmp_path / "absent.pcap")
    (tmp_path / "x.pcap").write_bytes(b"no capture at all")
    with pytest.raises(ia.CaptureError):
        ia.analyze(tmp_path / "x.pcap")
    with pytest.raises(ia.ProfileError):
        ia.analyze(REPORTS, tmp_path / "absent.toml")
    assert all(issubclass(error, ia.IntAnalyzerError) for error in (ia.SourceError, ia.CaptureError, ia.ProfileError))


def test_reading_piece_by_piece_gives_the_rows_of_the_whole(result: ia.Result, tmp_path: Path) -> None:
    copy = tmp_path / "x.pcap"
    header, records = records_of(REPORTS)
    copy.write_bytes(header + b"".join(records) * 8)
    batches = [batch.hops for batch in ia.read(copy)]
    assert len(batches) > 1
    whole = pd.concat(batches, ignore_index=True)
    assert len(whole) == 8 * 3462 and whole["packet"].max() == 8 * 1154 - 1
    first = whole[whole["packet"] < 1154]
    pd.testing.assert_frame_equal(first.reset_index(drop=True), result.hops)


def split(folder: Path) -> tuple[Path, Path]:
    """The capture of reports in two files."""
    header, records = records_of(REPORTS)
    for name, part in (("b.pcap", records[:600]), ("a.pcap", records[600:])):
        (folder / name).write_bytes(header + b"".join(part))
    return folder / "b.pcap", folder / "a.pcap"


def test_a_batch_is_gone_when_the_next_one_is_asked_for(tmp_path: Path) -> None:
    batches = list(ia.read(list(split(tmp_path))))
    assert len(batches) == 2
    for batch in batches:
        with pytest.raises(ia.IntAnalyzerError, match="this batch is gone: ask for its frames before the next one"):
            _ = batch.hops
        with pytest.raises(ia.IntAnalyzerError, match="gone"):
            _ = batch.first_ns


def test_captures_are_read_by_the_time_of_their_first_packet(tmp_path: Path, result: ia.Result) -> None:
    first, second = split(tmp_path)
    one, other, folder = ia.analyze([first, second]), ia.analyze([second, first]), ia.analyze(tmp_path)
    for parts in (one, other, folder):
        assert parts.summary.capture is not None and parts.summary.capture.files == [str(first), str(second)]
        assert parts.findings == result.findings and parts.quality == result.quality


def test_a_capture_without_a_time_keeps_its_place(tmp_path: Path) -> None:
    first, second = split(tmp_path)
    empty, timeless = tmp_path / "empty.pcap", tmp_path / "timeless.pcap"
    header, records = records_of(REPORTS)
    empty.write_bytes(header)
    timeless.write_bytes(header + b"".join(bytes(8) + record[8:] for record in records[:5]))
    reading = Reading([second, empty, first, timeless])
    assert reading.files == list(map(str, (first, empty, second, timeless)))


def test_captures_without_times_do_not_count_backwards(tmp_path: Path) -> None:
    header, records = records_of(REPORTS)
    for name in ("x.pcap", "y.pcap"):
        (tmp_path / name).write_bytes(header + b"".join(bytes(8) + record[8:] for record in records))
    for captures in ([tmp_path / "x.pcap", tmp_path / "y.pcap"], [REPORTS, tmp_path / "x.pcap"], [tmp_path / "x.pcap", REPORTS]):
        quality = ia.analyze(captures).quality
        assert quality is not None and not [reason for reason in quality.trust_reasons if "backwards" in reason]


def test_elapsed_seconds_are_of_the_whole_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    examine = results.examine

    def slow(*arguments: Any) -> Any:
        time.sleep(0.3)
        return examine(*arguments)

    monkeypatch.setattr(results, "examine", slow)
    capture = ia.analyze(LINK).summary.capture
    assert capture is not None and capture.elapsed_seconds > 0.3


def test_a_reading_knows_its_damages(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(LINK.read_bytes()[:-7])
    reading = ia.read(cut)
    assert sum(len(batch.packets) for batch in reading) == 762
    assert [(damage["file"], damage["reason"]) for damage in reading.damages] == [(str(cut), "the last record is cut")]


def test_read_takes_the_file_of_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "fabric.toml"
    path.write_text('[units]\nqueue_depth = "packets"\npacket_bytes = 400\n')
    assert max(batch.hops["queue_depth_bytes"].max() for batch in ia.read(REPORTS, path)) == 79 * 400
    with pytest.raises(ia.ProfileError):
        ia.read(REPORTS, profile=str(tmp_path / "absent.toml"))


def test_statuses_are_counted_by_format(result: ia.Result) -> None:
    quality = result.quality
    assert quality is not None
    assert {name: sum(counts.values()) for name, counts in quality.statuses_by_format.items() if name != "none"} == quality.formats


def test_compressed_captures_are_read_as_they_are(tmp_path: Path, result: ia.Result) -> None:
    import gzip

    packed = tmp_path / "x.pcap.gz"
    with REPORTS.open("rb") as plain, gzip.open(packed, "wb") as file:
        shutil.copyfileobj(plain, file)
    assert ia.analyze(packed).findings == result.findings
