"""The sidecar's loop on replays: what it says of a finding, and when."""

from __future__ import annotations

import gc
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from mode import simulated
from traffic import CONGESTED, HEALTHY, LENGTH, ROOT, SECOND, START, Timed, in_turn, pcap

from int_analyzer import _jit, analyze
from int_analyzer.capture import open_source
from int_analyzer.cli import main
from int_analyzer.live.replay import Replay
from int_analyzer.sidecar import assembly
from int_analyzer.sidecar.assembly import compile_apart
from int_analyzer.sidecar.event_log import EventLog
from int_analyzer.sidecar.service import Sidecar
from int_analyzer.sidecar.track import Event


class Heard:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.faults = 0
        self.fault = ""

    def take(self, events: Sequence[Event]) -> None:
        self.events += events

    def close(self) -> None:
        pass

    @property
    def kinds(self) -> list[str]:
        return [event.event for event in self.events]


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small disk")


def replayed(timed: list[Timed], speed: float = float("inf"), profile: Path | None = None) -> tuple[Sidecar, list[Event]]:
    """Replay packets to their end."""
    heard = Heard()
    sidecar = Sidecar(profile, sinks=[heard])
    with open_source(io.BytesIO(pcap(timed))) as source:
        worker = sidecar.add(Replay(source, speed, sidecar.reach), on_wall_clock=False)
        sidecar.replay(worker, lambda seconds: False)
    return sidecar, heard.events


def test_a_congested_port_is_said_within_two_seconds_and_once() -> None:
    sidecar, events = replayed(in_turn(HEALTHY, HEALTHY, HEALTHY, CONGESTED, HEALTHY, HEALTHY, HEALTHY, HEALTHY, HEALTHY))
    starts = [event for event in events if event.event == "start"]
    assert [(event.finding["node"], event.finding["port"], event.finding["role"]) for event in starts] == [("2", "2", "root")]
    onset = START + 3 * LENGTH + 1_700_000_000
    assert abs(starts[0].finding["start_ns"] - onset) < SECOND // 10
    assert starts[0].at_ns - starts[0].finding["start_ns"] < 2.3 * SECOND
    assert [event.event for event in events if event.event != "update"] == ["start", "end"]
    end = events[-1]
    assert end.reason == "calm again" and end.finding["id"] == starts[0].finding["id"]
    assert abs(end.finding["end_ns"] - (START + 3 * LENGTH + 4_100_000_000)) < SECOND // 4
    assert sidecar.snapshot is not None and sidecar.snapshot.findings == []


@pytest.mark.parametrize("name", ["bmv2-int-md-incast/l1-monitor.pcap", "linux-ioam-spine-to-leaf/l3-h5.pcap"])
def test_a_queue_that_stays_high_from_one_second_to_the_next_is_congested_as_long_as_an_analysis_says(name: str) -> None:
    capture = ROOT / "pcaps" / name
    (whole,) = analyze(capture).findings
    heard = Heard()
    sidecar = Sidecar(None, sinks=[heard])
    with open_source(str(capture)) as source:
        sidecar.replay(sidecar.add(Replay(source, float("inf"), sidecar.reach), on_wall_clock=False), lambda seconds: False)
    told = heard.events[-1].finding
    assert abs(told["start_ns"] - whole.start_ns) < SECOND // 200 and abs(told["end_ns"] - whole.end_ns) < SECOND // 200
    assert told["packets"] == whole.packets and told["start_ns"] <= told["peak_depth_ns"] <= told["end_ns"]


def test_a_healthy_fabric_is_not_worth_a_word() -> None:
    sidecar, events = replayed(in_turn(*[HEALTHY] * 6))
    assert events == []
    assert sidecar.lifetime.counts()["counts"]["packets"] == 6 * len(in_turn(HEALTHY))


def test_a_source_that_loses_its_clock_says_so_once() -> None:
    sidecar, said = Sidecar(), list[str]()
    sidecar.on_notice.append(said.append)

    def reach(now_ns: int) -> None:
        if now_ns > START + 2 * SECOND:
            replay.clock = "kernel: the interface's clock is +37 s from this machine's: phc2sys(8) sets it"
        sidecar.reach(now_ns)

    with open_source(io.BytesIO(pcap(in_turn(HEALTHY)))) as source:
        replay = Replay(source, float("inf"), reach)
        replay.clock = "hardware"
        sidecar.replay(sidecar.add(replay, on_wall_clock=False), lambda seconds: False)
    assert said == [f"replay: times are now of the {replay.clock}"]


def test_an_empty_cache_of_kernels_is_filled_by_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[list[str]] = []
    monkeypatch.setattr(_jit, "DISABLED", False)
    monkeypatch.setattr(subprocess, "run", lambda command, **_: runs.append(command))
    for kept in ({}, {"restore_tags": True}, {"decode_batch": False}):
        monkeypatch.setattr(_jit, "cached_kernels", lambda kept=kept: kept)
        compile_apart()
    assert runs == [[sys.executable, "-m", "int_analyzer", "warmup"]] * 3
    monkeypatch.setattr(_jit, "cached_kernels", lambda: {"decode_batch": True})
    compile_apart()
    assert len(runs) == 3


def test_congestion_that_comes_and_goes_is_one_finding() -> None:
    _, events = replayed(in_turn(*[HEALTHY, HEALTHY] + [CONGESTED, HEALTHY] * 5 + [HEALTHY] * 4))
    assert [event.event for event in events if event.event != "update"] == ["start", "end"]
    updates = [event.at_ns for event in events if event.event == "update" and event.reason == "lasts"]
    assert len(updates) >= 3 and min(b - a for a, b in itertools.pairwise(updates)) >= 10 * SECOND
    whole = events[-1].finding
    assert whole["end_ns"] - whole["start_ns"] > 40 * SECOND


def test_a_port_that_stays_congested_stays_a_finding_until_the_replay_ends() -> None:
    _, events = replayed(in_turn(*[HEALTHY] * 5 + [CONGESTED] * 8))
    assert [event.event for event in events if event.event != "update"] == ["start", "end"]
    assert events[-1].reason == "the replay ends"


def test_no_finding_ends_before_it_was_said_to_start() -> None:
    # the last packets come before the second judgement, which says it
    _, events = replayed([packet for packet in in_turn(CONGESTED) if packet[0] < START + 2_600_000_000])
    assert [event.event for event in events] == ["start", "end"]
    assert events[0].at_ns <= events[1].at_ns


@simulated
def test_a_capture_shorter_than_a_second_is_judged_too(tmp_path: Path) -> None:
    capture = tmp_path / "short.pcap"
    assert main(["generate", "incast", "-o", str(capture), "--seconds", "0.02", "--seed", "1"]) == 0
    heard = Heard()
    sidecar = Sidecar(tmp_path / "short.profile.toml", sinks=[heard])
    with open_source(capture) as source:
        sidecar.replay(sidecar.add(Replay(source, float("inf"), sidecar.reach), on_wall_clock=False), lambda seconds: False)
    starts = [event.finding for event in heard.events if event.event == "start"]
    (root,) = json.loads((tmp_path / "short.truth.json").read_text())["congested"]
    assert (starts[0]["role"], starts[0]["node_id"], starts[0]["port_id"]) == ("root", root["node_id"], root["port_id"])
    assert heard.kinds.count("end") == len(starts)
    assert sidecar.snapshot is not None and [second.packets > 0 for second in sidecar.snapshot.seconds] == [True, False]


def test_a_replay_at_speed_says_the_same_as_one_as_fast_as_it_can() -> None:
    timed = in_turn(HEALTHY, CONGESTED, HEALTHY)
    began = time.monotonic()
    _, paced = replayed(timed, speed=20)
    took = time.monotonic() - began
    _, fast = replayed(timed)
    assert [event.document() for event in paced] == [event.document() for event in fast] != []
    # What is left after the last wait is less than a piece of 100 ms.
    assert took >= ((timed[-1][0] - timed[0][0]) / SECOND - 0.1) / 20


def test_packets_that_come_late_are_counted_in_the_second_to_which_they_belong() -> None:
    timed = in_turn(HEALTHY, HEALTHY, HEALTHY, HEALTHY)
    late = [entry for entry in timed if LENGTH + SECOND <= entry[0] - START < LENGTH + 2 * SECOND]
    rest = [entry for entry in timed if entry not in late]
    at = next(number for number, entry in enumerate(rest) if entry[0] - START >= LENGTH + 3.5 * SECOND)
    sidecar, _ = replayed(rest[:at] + late + rest[at:])
    ordered, _ = replayed(timed)
    assert sum(worker.lane.late for worker in sidecar.workers) == len(late) > 100
    assert sidecar.sliding.steps == 0
    stretch = START // SECOND // 10
    for known in (sidecar, ordered):
        assert known.sliding.stretches[stretch].quality.view()["counts"]["packets"] == len([e for e in timed if e[0] < START + 10 * SECOND])


def test_a_clock_that_is_set_back_an_hour_interrupts_no_finding() -> None:
    before = in_turn(HEALTHY, HEALTHY, HEALTHY, CONGESTED)
    after = in_turn(*[CONGESTED] * 3 + [HEALTHY] * 5, start=START - 3600 * SECOND)
    sidecar, events = replayed(before + after)
    assert sidecar.sliding.steps == 1
    assert [event.event for event in events if event.event != "update"] == ["start", "end"]
    lost = sum(worker.lane.lost for worker in sidecar.workers)
    assert 0 < lost < 0.05 * len(before + after)


def test_one_stray_packet_is_no_clock_that_was_set() -> None:
    timed = in_turn(HEALTHY, HEALTHY, HEALTHY)
    half = len(timed) // 2
    for stray in (START - 86_400 * SECOND, START + 86_400 * SECOND):
        sidecar, _ = replayed([*timed[:half], (stray, timed[half][1]), *timed[half:]])
        assert sidecar.sliding.steps == 0
        assert sidecar.lifetime.counts()["counts"]["packets"] == len(timed)


def test_a_capture_without_times_is_read_and_judged_as_what_it_is() -> None:
    sidecar, events = replayed([(0, data) for _, data in in_turn(CONGESTED)])
    assert events == [] and sidecar.workers[0].lane.packets == len(in_turn(CONGESTED))


def test_the_profile_is_read_again_while_it_runs_and_a_bad_one_refused(tmp_path: Path) -> None:
    profile = tmp_path / "fabric.toml"
    profile.write_text('[node.2]\nname = "leaf-2"\n')
    sidecar = Sidecar(profile, compiled=False)
    assert sidecar.profile.node_name(2) == "leaf-2"
    profile.write_text('[node.2]\nname = "spine-2"\n')
    sidecar.reload()
    assert (sidecar.judge.profile.node_name(2), sidecar.reload_faults) == ("spine-2", 0)
    profile.write_text("[node.2]\nname = 17\n")
    sidecar.reload()
    assert sidecar.judge.profile.node_name(2) == "spine-2"
    assert sidecar.reload_faults == 1 and "node.2.name" in sidecar.reload_fault


def test_events_are_lines_of_json_behind_those_of_before(tmp_path: Path) -> None:
    output = tmp_path / "findings.jsonl"
    output.write_text('{"event": "of before"}\n')
    assert main(["sidecar", "--replay", str(CONGESTED), "--speed", "inf", "--output", str(output)]) == 0
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["of before", "start", "end"]
    assert lines[1]["id"] == lines[2]["id"] and lines[1]["evidence"]


def test_a_file_that_was_moved_away_is_begun_again_on_reload(tmp_path: Path) -> None:
    output = tmp_path / "findings.jsonl"
    event = Event("start", 1, {"id": "2-2-0"})
    log = EventLog(output)
    sidecar = Sidecar(sinks=[log], compiled=False)
    sidecar.tell([event])
    output.rename(tmp_path / "findings.1")
    sidecar.reload()
    sidecar.tell([event, event])
    assert [len((tmp_path / name).read_text().splitlines()) for name in ("findings.1", "findings.jsonl")] == [1, 2]
    # what cannot be begun again goes on where it was
    output.unlink()
    output.mkdir()
    sidecar.reload()
    assert log.faults == 1 and log.fault
    sidecar.tell([event])
    log.close()
    assert log.fault == ""


@needs_root
def test_a_disk_that_was_full_holds_whole_lines_only(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], check=True)
    try:
        log = EventLog(disk / "findings.jsonl")
        log.take([Event("start", number, {"id": "2-2-0", "evidence": "x" * 3000}) for number in range(8)])
        kept = (disk / "findings.jsonl").read_text().splitlines()
        assert 0 < len(kept) < 8 and log.faults == 8 - len(kept) and "space" in log.fault
        # logrotate
        (disk / "findings.jsonl").unlink()
        log.reopen()
        log.take([Event("end", 9, {"id": "2-2-0"})])
        assert log.fault == "" and [json.loads(line)["at_ns"] for line in (disk / "findings.jsonl").read_text().splitlines()] == [9]
        assert [json.loads(line)["at_ns"] for line in kept] == list(range(len(kept)))
        log.close()
    finally:
        subprocess.run(["umount", disk], check=True)


def test_standard_error_that_nobody_reads_stops_nothing() -> None:
    program = "import sys; from int_analyzer.sidecar.assembly import _say; _say('x'); print('goes on')"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=full, text=True, check=False)
    assert done.stdout == "goes on\n"


def test_a_full_disk_loses_lines_and_counts_them() -> None:
    log = EventLog(Path("/dev/full"))
    log.take([Event("start", 1, {"id": "2-2-0"})] * 3)
    assert log.faults == 3 and "space" in log.fault


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--speed", "2"], "give --interface or --reports"),
        (["--replay", str(CONGESTED), "--speed", "0"], "--speed is a number above 0"),
        (["--replay", str(CONGESTED), "--interface", "lo"], "or else --replay"),
        (["--interface", "eth17"], "eth17: no such interface"),
        (["--reports", "0.0.0.0:32766"], "reports come from udp://ADDRESS:PORT"),
        (["--replay", "missing.pcap"], "missing.pcap: no such file"),
        (["--replay", str(CONGESTED), "--output", "/nowhere/findings.jsonl"], "/nowhere/findings.jsonl: No such file"),
        (["--replay", str(CONGESTED), "--profile", "missing.toml"], "missing.toml: No such file"),
    ],
)
def test_what_cannot_begin_is_one_line_and_exit_code_2(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sidecar", *arguments]) == 2
    said = capsys.readouterr().err
    assert complaint in said and len(said.splitlines()) == 1


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_stop_it_ends_what_it_said_and_leaves_a_checkpoint(asked: signal.Signals, tmp_path: Path) -> None:
    capture, state = tmp_path / "long.pcap", tmp_path / "state"
    capture.write_bytes(pcap(in_turn(HEALTHY, CONGESTED, *[HEALTHY] * 30)))
    command = [sys.executable, "-m", "int_analyzer", "sidecar", "--replay", str(capture), "--speed", "20", "--state", str(state)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        process.send_signal(asked)
        rest = [json.loads(line) for line in process.stdout]
        assert process.wait(10) == 0
    assert first["event"] == "start" and rest[-1]["event"] == "end"
    assert (state / "sidecar.npz").is_file()


def test_told_to_read_again_before_it_waits_it_goes_on_and_does_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output, moved = tmp_path / "findings.jsonl", tmp_path / "findings.jsonl.1"
    told = list[str]()

    def begin_for_long(*_: object) -> None:
        output.rename(moved)
        os.kill(os.getpid(), signal.SIGHUP)

    monkeypatch.setattr(assembly, "_connect", begin_for_long)
    monkeypatch.setattr(assembly, "_say", told.append)
    # whoever were to leave the signal alone would end the tests
    before = signal.signal(signal.SIGHUP, lambda number, frame: told.append("too early"))
    try:
        assembly.run(assembly.Options(replay=str(CONGESTED), speed=float("inf"), output=output))
    finally:
        signal.signal(signal.SIGHUP, before)
    assert told[0] == "SIGHUP: all is read again"
    assert output.exists() and moved.exists()


def begun_and_told(number: signal.Signals) -> subprocess.CompletedProcess[str]:
    """A sidecar on a replay that gets a signal while its first modules are loaded."""
    program = """if True:
        import os, sys
        class Teller:
            def find_spec(self, name, *_):
                if name == "typer":
                    os.kill(os.getpid(), NUMBER)
        sys.meta_path.insert(0, Teller())
        from int_analyzer.__main__ import main
        main()
    """.replace("NUMBER", str(int(number)))
    command = [sys.executable, "-c", program, "sidecar", "--replay", str(CONGESTED), "--speed", "inf"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_told_to_read_again_while_it_is_loaded_it_goes_on_and_does_so() -> None:
    done = begun_and_told(signal.SIGHUP)
    assert (done.returncode, done.stderr) == (0, "SIGHUP: all is read again\n")
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["start", "end"]


def test_asked_to_stop_while_it_is_loaded_it_ends_in_silence_with_exit_code_0() -> None:
    done = begun_and_told(signal.SIGTERM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_asked_to_stop_while_it_begins_it_closes_what_is_open_and_ends_with_exit_code_0(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = list[str]()

    def begin_for_long() -> None:
        with subprocess.Popen(["sleep", "30"]) as compiling:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                compiling.wait()
            finally:
                compiling.kill()

    monkeypatch.setattr(assembly, "compile_apart", begin_for_long)
    monkeypatch.setattr(assembly, "is_large", lambda _: True)
    monkeypatch.setattr(assembly.Sidecar, "close", lambda _: closed.append("sidecar"))
    # whoever were to leave the signal alone would end the tests
    before = signal.signal(signal.SIGTERM, lambda number, frame: closed.append("too early"))
    try:
        with pytest.raises(SystemExit) as ended:
            assembly.run(assembly.Options(replay=str(CONGESTED), speed=float("inf")))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 0 and closed == ["sidecar"]


def test_what_was_loaded_is_not_searched_for_garbage_while_it_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = list[int]()

    def connect(sidecar: Sidecar, options: assembly.Options) -> None:
        sidecar.on_tick.append(lambda now_ns: frozen.append(gc.get_freeze_count()))

    monkeypatch.setattr(assembly, "_connect", connect)
    assembly.run(assembly.Options(replay=str(CONGESTED), speed=float("inf"), output=Path(os.devnull)))
    assert frozen and min(frozen) > 10_000 and gc.get_freeze_count() == 0
