"""What survives a restart, and what a broken disk cannot break."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from test_sidecar_sliding import counted, filled
from traffic import CONGESTED, HEALTHY, ROOT, SECOND, in_turn, pcap

from int_analyzer.fold.state import Capacity, State
from int_analyzer.sidecar import checkpoint as checkpoint_module
from int_analyzer.sidecar.checkpoint import Checkpoint, Unusable, load, save
from int_analyzer.sidecar.lifetime import Lifetime
from int_analyzer.sidecar.service import Sidecar
from int_analyzer.sidecar.sliding import CAPACITY


def write(checkpoint: Checkpoint, now_ns: int = 1, stretches: Mapping[int, State] | None = None, calm: State | None = None) -> None:
    """Have a checkpoint written, to the end."""
    checkpoint.write(now_ns, stretches or {}, calm, Lifetime(), {"now_ns": now_ns, "end": 0, "tracks": {"started": {}, "tracks": {}}})
    checkpoint.finish()


def test_a_state_is_the_same_after_it_was_kept(tmp_path: Path) -> None:
    state = filled(in_turn(CONGESTED)).last_ten()
    save(tmp_path / "state.npz", state, {"word": 1})
    again = State(CAPACITY)
    assert load(tmp_path / "state.npz", again) == {"word": 1}
    assert counted(again) == counted(state)
    mine, theirs = state.view(), again.view()
    assert (mine.flows.src, mine.paths.queues, mine.statuses) == (theirs.flows.src, theirs.paths.queues, theirs.statuses)
    assert (mine.pairs.bytes == theirs.pairs.bytes).all() and (mine.buckets.start_ns == theirs.buckets.start_ns).all()
    assert (mine.sequences.received == theirs.sequences.received).all()


def test_a_state_that_was_kept_goes_on_folding(tmp_path: Path) -> None:
    first, second = in_turn(CONGESTED, HEALTHY)[:1000], in_turn(CONGESTED, HEALTHY)[1000:]
    before = filled(first).last_ten()
    save(tmp_path / "state.npz", before, {})
    again = State(CAPACITY)
    load(tmp_path / "state.npz", again)
    for state in (before, again):
        state.merge(filled(second).last_ten())
    assert counted(again) == counted(before)


@pytest.mark.parametrize("broken", [b"", b"junk", b"PK\x03\x04" + bytes(100)])
def test_a_broken_file_is_unusable_and_nothing_worse(broken: bytes, tmp_path: Path) -> None:
    (tmp_path / "state.npz").write_bytes(broken)
    with pytest.raises(Unusable):
        load(tmp_path / "state.npz", State(CAPACITY))


def test_a_cut_file_is_unusable(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    save(path, filled(in_turn(HEALTHY)).last_ten(), {})
    whole = path.read_bytes()
    for share in (0.1, 0.5, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(Unusable):
            load(path, State(CAPACITY))


@pytest.mark.parametrize(("offset", "value"), [(10, 77), (8, 1), (8, 64)], ids=["method", "encrypted", "strongly"])
def test_a_file_with_another_byte_in_its_directory_is_unusable(offset: int, value: int, tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    save(path, filled(in_turn(HEALTHY)).last_ten(), {})
    torn = bytearray(path.read_bytes())
    torn[torn.index(b"PK\x01\x02") + offset] = value
    path.write_bytes(torn)
    with pytest.raises(Unusable, match=r"^state\.npz: "):
        load(path, State(CAPACITY))


def test_a_state_of_another_capacity_is_not_taken(tmp_path: Path) -> None:
    save(tmp_path / "state.npz", State(CAPACITY), {})
    with pytest.raises(Unusable, match="capacity"):
        load(tmp_path / "state.npz", State(Capacity(bucket_ns=2_000_000)))


def test_what_no_file_can_hold_is_an_error_and_not_lost_in_silence(tmp_path: Path) -> None:
    lifetime = Lifetime()
    lifetime.extra = {"of", "another"}  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="extra"):
        save(tmp_path / "state.npz", lifetime, {})


def test_only_what_has_changed_is_written_again_and_what_is_old_removed(tmp_path: Path) -> None:
    sliding, checkpoint = filled(in_turn(*[HEALTHY] * 4)), Checkpoint(tmp_path)
    for left in ("stretch-7.npz", ".sidecar.npz.77.part"):
        (tmp_path / left).write_bytes(b"left by a crash")
    write(checkpoint, 1, sliding.stretches)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("stretch-*.npz")}
    assert len(files) == len(sliding.stretches) == 2 and len(list(tmp_path.iterdir())) == 3
    write(checkpoint, 2, sliding.stretches)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("stretch-*.npz")} == files


def test_a_disk_that_is_gone_is_counted_and_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.write_text("a file where a folder should be")
    checkpoint = Checkpoint(folder)
    write(checkpoint, 1)
    assert checkpoint.faults == 1 and checkpoint.fault
    folder.unlink()
    write(checkpoint, 2)
    assert (checkpoint.faults, checkpoint.fault, checkpoint.saved_ns) == (1, "", 2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_counted_and_the_loop_goes_on(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    (tmp_path / "sidecar.npz").symlink_to("/dev/full")
    write(checkpoint, 1)
    assert checkpoint.faults == 1 and "space" in checkpoint.fault


def test_what_a_file_names_is_on_the_disk_before_it_and_no_tick_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done, synced, replaced = list[str](), os.fsync, Path.replace

    def sync(file: int) -> None:
        assert threading.current_thread() is not threading.main_thread()
        done.append("sync " + Path(f"/proc/self/fd/{file}").readlink().name.strip(".").partition(".")[0])
        synced(file)

    def replace(path: Path, target: Path) -> Path:
        done.append(f"name {target.stem}")
        return replaced(path, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", replace)
    folder = tmp_path / "state"
    write(Checkpoint(folder), stretches={7: State(CAPACITY)}, calm=State(CAPACITY))
    before = ["sync stretch-7", "name stretch-7", "sync calm", "name calm", "sync state"]
    assert done == [*before, "sync sidecar", "name sidecar", "sync state"]


def test_a_disk_that_takes_long_is_told_and_what_it_writes_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, synced = threading.Event(), os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: slow.wait(10) and synced(file))
    checkpoint = Checkpoint(tmp_path)
    for now_ns in (1, 2):
        checkpoint.write(now_ns, {}, None, Lifetime(), {})
    assert (checkpoint.faults, checkpoint.saved_ns, checkpoint.exists()) == (0, 0, False)
    monkeypatch.setattr(checkpoint_module, "SLOW_S", 0.0)
    checkpoint.write(3, {}, None, Lifetime(), {})
    assert checkpoint.faults == 1 and re.fullmatch(f"{tmp_path}: nothing is written for [0-9]+ s", checkpoint.fault)
    slow.set()
    checkpoint.finish()
    assert (checkpoint.saved_ns, checkpoint.fault) == (1, "") and checkpoint.exists()
    write(checkpoint, 4)
    assert (checkpoint.saved_ns, checkpoint.faults) == (4, 1)


def test_a_file_system_that_cannot_sync_a_folder_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = os.fsync

    def sync(file: int) -> None:
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "no")
        synced(file)

    monkeypatch.setattr(os, "fsync", sync)
    checkpoint = Checkpoint(tmp_path)
    write(checkpoint, 5)
    assert (checkpoint.faults, checkpoint.saved_ns) == (0, 5)


def test_what_a_power_cut_has_torn_is_named_and_counted_and_the_rest_taken(tmp_path: Path) -> None:
    sliding = filled(in_turn(*[HEALTHY] * 4))
    whole, torn = sorted(sliding.stretches)
    write(Checkpoint(tmp_path), 1, sliding.stretches, sliding.last_ten())
    (tmp_path / f"stretch-{torn}.npz").write_bytes(b"")
    (tmp_path / "calm.npz").write_bytes((tmp_path / "calm.npz").read_bytes()[:5000])
    again = Sidecar(checkpoint=Checkpoint(tmp_path), compiled=False)
    assert re.fullmatch(rf"goes on from 1 stretches .* 0 findings, without stretch-{torn}\.npz: .+, without calm\.npz: .+", again.restored)
    assert list(again.sliding.stretches) == [whole] and again.judge.calm is None
    assert again.checkpoint is not None and len(again.checkpoint.unusable) == 2
    (tmp_path / "sidecar.npz").write_bytes(b"")
    again = Sidecar(checkpoint=Checkpoint(tmp_path), compiled=False)
    assert re.fullmatch(r"begins anew, without sidecar\.npz: .+", again.restored) and not again.sliding.stretches
    assert again.checkpoint is not None and len(again.checkpoint.unusable) == 1


def test_killed_it_loses_at_most_ten_seconds_and_goes_on_with_its_findings(tmp_path: Path) -> None:
    capture, state, output = tmp_path / "long.pcap", tmp_path / "state", tmp_path / "findings.jsonl"
    timed = in_turn(HEALTHY, HEALTHY, *[CONGESTED] * 40)
    capture.write_bytes(pcap(timed))
    command = [sys.executable, "-m", "int_analyzer", "sidecar", "--replay", str(capture), "--speed", "10"]
    command += ["--state", str(state), "--output", str(output)]
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and len(list(state.glob("stretch-*.npz"))) < 4:
            time.sleep(0.05)
        process.kill()
    said = [json.loads(line) for line in output.read_text().splitlines()]
    assert said[0]["event"] == "start" and all(event["event"] != "end" for event in said)
    again = Sidecar(checkpoint=Checkpoint(state), compiled=False)
    assert "1 findings" in again.restored
    assert [finding["id"] for finding in again.tracks.lasting] == [said[0]["id"]]
    kept = again.lifetime.counts()["counts"]
    # the last thing said was said when the clock stood so
    assert said[-1]["at_ns"] - kept["last_ns"] <= 10 * SECOND
    assert kept["packets"] == len([entry for entry in timed if entry[0] <= kept["last_ns"]])
    assert again.sliding.last_minute().view().counts["packets"] > 2000
    assert -process.returncode == signal.SIGKILL
