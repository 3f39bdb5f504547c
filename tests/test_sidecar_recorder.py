"""What is kept on disk: packets around a finding's start, and every queue second by second; bounded both."""

from __future__ import annotations

import io
import os
import struct
import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from test_sidecar import replayed
from test_sidecar_sliding import filled
from traffic import CONGESTED, HEALTHY, LENGTH, SECOND, START, Timed, in_turn, pcap

from int_analyzer import analyze, read
from int_analyzer.capture import open_source
from int_analyzer.capture.walk import records
from int_analyzer.cli import main
from int_analyzer.errors import CaptureError, SourceError
from int_analyzer.live.replay import Replay
from int_analyzer.reading import Reading
from int_analyzer.sidecar import assembly, queue_log
from int_analyzer.sidecar import recorder as recorder_module
from int_analyzer.sidecar.queue_log import QueueLog
from int_analyzer.sidecar.recorder import AFTER_NS, BEFORE_NS, WAITING, Recorder
from int_analyzer.sidecar.service import Sidecar
from int_analyzer.sidecar.track import Event

TIMED = in_turn(HEALTHY, CONGESTED)


def recorded(folder: Path, timed: list[Timed], **options: int) -> tuple[Recorder, list[Event]]:
    """A recorder that has seen packets go by, and the events of these."""
    recorder, heard = Recorder(folder, **options), []

    class Hear:
        faults, fault = 0, ""

        def take(self, events: list[Event]) -> None:
            heard.extend(events)

        def close(self) -> None:
            pass

    sidecar = Sidecar(sinks=[recorder, Hear()], compiled=False)
    sidecar.on_tick.append(recorder.reach)
    with open_source(io.BytesIO(pcap(timed))) as source:
        worker = sidecar.add(recorder.tap(Replay(source, float("inf"), sidecar.reach, compiled=False)), on_wall_clock=False)
        sidecar.replay(worker, lambda seconds: False)
    sidecar.close()
    return recorder, heard


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Event]]:
    """A recording and the events."""
    folder = tmp_path_factory.mktemp("recordings")
    recorder, heard = recorded(folder, TIMED)
    assert recorder.faults == 0
    (path,) = folder.glob("*.pcapng")
    return path, heard


def test_the_packets_around_a_start_are_recorded_byte_by_byte(taken: tuple[Path, list[Event]]) -> None:
    path, heard = taken
    start = heard[0].finding["start_ns"]
    with open_source(str(path)) as source:
        found = [(record.time_ns, record.data) for record in records(source)]
        assert source.interfaces[0].name == "replay" and source.damages == []
    assert found == [entry for entry in TIMED if start - BEFORE_NS <= entry[0] < start + AFTER_NS]
    assert start == pytest.approx(START + LENGTH + 1.7 * SECOND, abs=0.1 * SECOND)


def test_a_recording_says_what_it_is_of_and_shows_it_again(taken: tuple[Path, list[Event]]) -> None:
    path, heard = taken
    comment = path.read_bytes()[28 : 28 + struct.unpack_from("<H", path.read_bytes(), 26)[0]].decode()
    assert comment.startswith(f"finding {heard[0].finding['id']}: root: node 2 port 2") and "queue depth up to" in comment
    again = analyze(path).findings
    assert [(finding.node, finding.port) for finding in again] == [("2", "2")]


def test_around_a_finding_stand_all_rows_in_full_and_say_of_which_finding_they_are(taken: tuple[Path, list[Event]]) -> None:
    path, heard = taken
    rows = {table: pyarrow.parquet.read_table(path.with_suffix("") / f"{table}.parquet") for table in ("packets", "hops", "roce")}
    for table, found in rows.items():
        assert found.to_pylist() == [row for batch in read([str(path)]) for row in batch.rows(table).to_pylist()]
        assert found.schema.metadata[b"finding"].decode() == heard[0].finding["id"]
    start = heard[0].finding["start_ns"]
    assert rows["packets"]["time_ns"].to_pylist() == [time for time, _ in TIMED if start - BEFORE_NS <= time < start + AFTER_NS]
    assert rows["hops"].num_rows == 3 * rows["packets"].num_rows and rows["hops"]["queue_depth_raw"].to_numpy().max() == 79


def test_what_came_to_a_port_of_reports_is_decoded_as_such_around_a_finding_too(tmp_path: Path) -> None:
    port = int.from_bytes(TIMED[0][1][36:38], "big")
    (tmp_path / "profile.toml").write_text("[detect]\nstructure = false\nint_ports = [4791]\n")
    sidecar = Sidecar(tmp_path / "profile.toml", compiled=False)
    recorder = Recorder(tmp_path, profile=lambda: sidecar.profile, report_ports=lambda: sidecar.report_ports)
    sidecar.sinks.append(recorder)
    sidecar.on_tick.append(recorder.reach)
    with open_source(io.BytesIO(pcap(TIMED))) as source:
        replay = recorder.tap(Replay(source, float("inf"), sidecar.reach, compiled=False))
        sidecar.replay(sidecar.add(replay, on_wall_clock=False, report_port=port), lambda seconds: False)
    sidecar.close()
    (path,) = tmp_path.glob("*.pcapng")
    packets, hops, reports = (
        pyarrow.parquet.read_table(path.with_suffix("") / f"{table}.parquet").num_rows for table in ("packets", "hops", "reports")
    )
    assert hops == 3 * packets and reports == packets > 0


def test_memory_for_packets_is_bounded(tmp_path: Path) -> None:
    recorder, _ = recorded(tmp_path, in_turn(CONGESTED), kept=100_000)
    assert sum(len(piece.data) for piece in recorder._pieces) <= 100_000 and len(recorder._pieces) > 1


def test_recordings_give_way_to_newer_ones_within_the_budget(tmp_path: Path) -> None:
    for number in range(5):
        old = tmp_path / f"old-{number}.pcapng"
        old.write_bytes(bytes(50_000))
        (tmp_path / f"old-{number}").mkdir()
        (tmp_path / f"old-{number}/hops.parquet").write_bytes(bytes(50_000))
        os.utime(old, (number, number))
    recorded(tmp_path, in_turn(CONGESTED), budget=500_000)
    left = sorted(path.name for path in tmp_path.glob("*.pcapng"))
    assert "old-0.pcapng" not in left and "old-4.pcapng" in left and any(name.startswith("2-2-0") for name in left)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.*") if path.is_file()) <= 500_000
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == [name.removesuffix(".pcapng") for name in left]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_counted_and_the_loop_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path)
    (tmp_path / "2-2-0_1.000.pcapng").symlink_to("/dev/full")
    sidecar, events = replayed(in_turn(CONGESTED))
    finding = {**events[0].finding, "id": "2-2-0@1.000"}
    recorder.take([Event("start", 0, finding)])
    recorder._pieces.append(recorder_piece())
    recorder.close()
    assert recorder.faults == 1 and "space" in recorder.fault
    assert sidecar.snapshot is not None


def test_many_findings_at_once_are_written_by_one_thread_and_what_is_too_many_is_counted(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    _, events = replayed(in_turn(CONGESTED))
    recorder._pieces.append(recorder_piece())
    let, writing = threading.Event(), set[int]()

    def slow(event: Event, name: str, pieces: object) -> None:
        writing.add(threading.get_ident())
        assert let.wait(30)

    recorder._write_recording = slow  # type: ignore[method-assign]
    recorder.take([Event("start", 0, {**events[0].finding, "id": str(number)}) for number in range(100)])
    recorder.reach(1 << 62)
    assert recorder.faults == 100 - WAITING and "findings not recorded" in recorder.fault
    let.set()
    recorder.close()
    assert len(writing) == 1 and (recorder.faults, recorder.fault) == (100 - WAITING, "")


def test_packets_of_findings_that_wait_are_bounded_and_those_of_several_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path)
    _, events = replayed(in_turn(CONGESTED))
    piece, let = recorder_piece(), threading.Event()
    monkeypatch.setattr(recorder_module, "WAITING_BYTES", 3 * len(piece.data))
    recorder._write_recording = lambda *_: let.wait(30)  # type: ignore[method-assign, assignment, return-value]

    def find(several: int) -> int:
        recorder.take([Event("start", 0, {**events[0].finding, "id": str(number)}) for number in range(several)])
        recorder.reach(1 << 62)
        return recorder.faults

    try:
        recorder._pieces.append(piece)
        # one is being written
        assert find(6) == 0
        for lost in (0, 0, 1, 2):
            recorder._pieces[0] = piece._replace(data=bytes(bytearray(piece.data)))
            assert find(1) == lost
        assert recorder.fault.endswith("findings to be recorded first: 1 finding not recorded")
    finally:
        let.set()
        recorder.close()


@pytest.mark.parametrize("error", [pyarrow.ArrowInvalid("not utf-8"), CaptureError("x.pcapng", 8, "no block")])
def test_a_recording_that_cannot_be_decoded_is_counted_and_the_next_is_written(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(tmp_path)
    _, events = replayed(in_turn(CONGESTED))
    recorder._pieces.append(recorder_piece())

    def fail(paths: list[Path], *arguments: Any, **options: Any) -> Reading:
        if paths[0].stem == "0":
            raise error
        return Reading(paths, *arguments, **options)

    monkeypatch.setattr(recorder_module, "Reading", fail)
    recorder.take([Event("start", 0, {**events[0].finding, "id": str(number)}) for number in range(2)])
    recorder.reach(1 << 62)
    recorder.close()
    assert (recorder.faults, recorder.fault) == (1, "") and len(list(tmp_path.glob("*.pcapng"))) == 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_whatever_ends_the_thread_of_recordings_the_next_finding_begins_another_and_what_is_left_is_counted(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    _, events = replayed(in_turn(CONGESTED))
    written = list[str]()

    def write(event: Event, name: str, pieces: object) -> None:
        if name in ("0", "3"):
            raise RuntimeError("never thought of")
        written.append(name)

    recorder._write_recording = write  # type: ignore[method-assign]
    for numbers in ((0, 1), (2,)):
        recorder.take([Event("start", 0, {**events[0].finding, "id": str(number)}) for number in numbers])
        recorder.reach(1 << 62)
        writer = recorder._writer
        if writer is not None:
            writer.join(10)
    assert written == ["1", "2"] and recorder.faults == 1
    recorder.take([Event("start", 0, {**events[0].finding, "id": str(number)}) for number in (3, 4)])
    recorder.close()
    assert recorder.faults == 3 and recorder.fault == "1 finding not recorded: RuntimeError: never thought of"


def test_queues_are_on_disk_before_recordings_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = list[int]()
    monkeypatch.setattr(Recorder, "close", lambda recorder: found.append(len(list(tmp_path.glob("q/*.parquet")))))
    assembly.run(assembly.Options(replay=str(CONGESTED), speed=float("inf"), recordings=tmp_path / "r", parquet=tmp_path / "q"))
    assert found == [1]


def recorder_piece() -> Any:
    """A piece with some packets of the capture."""
    from int_analyzer.sidecar.recorder import Piece

    with open_source(str(CONGESTED)) as source:
        window = next(iter(source.windows()))
        return Piece(bytes(window.buffer[window.start : window.stop]), window.framing, window.interfaces, "replay")


def test_every_queue_stands_in_parquet_second_by_second(tmp_path: Path) -> None:
    state = filled(in_turn(CONGESTED)).last_ten()
    log = QueueLog(tmp_path)
    for number in range(3):
        log.add(1000 + number, state)
    log.flush()
    table = pyarrow.parquet.read_table(tmp_path / "queues-0000001000.parquet").to_pandas()
    assert len(table) == 18 and sorted(set(table.second)) == [1000, 1001, 1002]
    deepest = table.sort_values("depth_max_raw").iloc[-1]
    assert (deepest.node_id, deepest.port, deepest.depth_max_raw) == (2, 2, 79)
    assert table.packets.sum() == 3 * state.view().counts["hops"]


def test_files_rotate_and_the_oldest_give_way(tmp_path: Path) -> None:
    state = filled(in_turn(HEALTHY)).last_ten()
    log = QueueLog(tmp_path, budget=20_000)
    for number in range(0, 3000, 100):
        log.add(number, state)
    log.flush()
    files = sorted(tmp_path.glob("queues-*.parquet"))
    assert 1 < len(files) < 10 and sum(path.stat().st_size for path in files) <= 20_000
    assert (tmp_path / "queues-0000002700.parquet") in files and (tmp_path / "queues-0000000000.parquet") not in files


def test_more_rows_than_may_wait_are_written_earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_log, "MOST_ROWS", 15)
    state = filled(in_turn(HEALTHY)).last_ten()
    log = QueueLog(tmp_path)
    for number in range(10):
        log.add(number, state)
    log.close()
    tables = [pyarrow.parquet.read_table(path) for path in sorted(tmp_path.glob("*.parquet"))]
    assert len(tables) > 1 and all(table.num_rows <= 15 + 6 for table in tables)
    assert sorted({second for table in tables for second in table["second"].to_pylist()}) == list(range(10))


def test_a_folder_of_queues_that_is_gone_is_told(tmp_path: Path) -> None:
    exposition = pytest.importorskip("int_analyzer.sidecar.exposition", reason="needs the extra sidecar")
    web = pytest.importorskip("int_analyzer.sidecar.web", reason="needs the extra sidecar")
    sidecar, _ = replayed(in_turn(HEALTHY))
    assembly._connect(sidecar, assembly.Options(parquet=tmp_path / "queues"))
    sidecar.on_second[-1](1000, filled(in_turn(HEALTHY)).last_ten())
    (tmp_path / "queues").rmdir()
    sidecar.close()
    status, reasons = web.health_of(sidecar)
    assert status == "degraded" and "QueueLog: " in reasons[0] and "No such file" in reasons[0]
    families = {family.name: family for family in exposition.Exposition(sidecar).collect()}
    assert {sample.labels["sink"]: sample.value for sample in families["int_analyzer_sink_faults"].samples}["QueueLog"] == 1


def test_a_folder_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for kind in (Recorder, QueueLog):
        with pytest.raises(SourceError, match="file"):
            kind(tmp_path / "file")


def test_the_command_records_and_logs(tmp_path: Path) -> None:
    arguments = ["--replay", str(CONGESTED), "--speed", "inf", "--record", str(tmp_path / "r"), "--parquet", str(tmp_path / "p")]
    assert main(["sidecar", *arguments, "--output", str(tmp_path / "x.jsonl")]) == 0
    assert len(list((tmp_path / "r").glob("*.pcapng"))) == 1 == len(list((tmp_path / "p").glob("*.parquet")))
