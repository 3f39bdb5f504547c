"""Namespaces that vanish, and the two programs in them: the sender and the recorder."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from int_analyzer.errors import LabError
from int_analyzer.lab import recorder, requirement, sender
from int_analyzer.lab.frame import Flow
from int_analyzer.lab.network import Network, waited_ns
from int_analyzer.lab.sender import due_times
from int_analyzer.reading import read

MISSING = [one for one in requirement.requirements(requirement.KERNEL) if not one.present]
needs_namespaces = pytest.mark.skipif(bool(MISSING), reason=", ".join(f"no {one.name}" for one in MISSING))


def test_packets_of_a_phase_are_due_evenly() -> None:
    phases = [(0.0, 1.0, 4.0), (2.0, 2.5, 2.0)]
    assert list(due_times(1_000, phases, 0.0)) == [1_000, 250_001_000, 500_001_000, 750_001_000, 2_000_001_000]
    assert list(due_times(1_000, phases, 0.5)) == [125_001_000, 375_001_000, 625_001_000, 875_001_000, 2_250_001_000]


@needs_namespaces
def test_a_node_sees_neither_the_host_nor_its_neighbours() -> None:
    outside = set(Path("/sys/class/net").iterdir())
    before = Path("/proc/self/ns/net").readlink()
    with Network() as network:
        a, b = network.add_node("a"), network.add_node("b")
        network.add_link(a, "a-b", "02:00:00:00:00:01", b, "b-a", "02:00:00:00:00:02")
        for node, port in ((a, "a-b"), (b, "b-a")):
            with node.entered():
                text = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
            assert [line.split(":")[1].split("@")[0].strip() for line in text.splitlines()] == ["lo", port]
        assert Path("/proc/self/ns/net").readlink() != before
    assert Path("/proc/self/ns/net").readlink() == before
    assert set(Path("/sys/class/net").iterdir()) == outside


@needs_namespaces
def test_what_a_program_complains_of_becomes_one_line() -> None:
    with Network() as network, pytest.raises(LabError, match=r"^a: ip link set eth7 up: Cannot find device \"eth7\"$"):
        network.add_node("a").run(["ip", "link", "set", "eth7", "up"])


@needs_namespaces
def test_a_program_that_must_not_wait_goes_before_others_and_says_how_long_it_waited() -> None:
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with Network() as network:
        before_others, like_others = network.start(None, command, at_once=True), network.start(None, command)
        for program in (before_others, like_others):
            assert program.stdout is not None
            program.stdout.readline()
            assert waited_ns(program).keys() == {str(program.pid)}
        assert os.sched_getscheduler(before_others.pid) == os.SCHED_RR
        assert os.sched_getscheduler(like_others.pid) == os.SCHED_OTHER


BELOW = ["unshare", "--user", "--map-root-user", sys.executable, "-m", "int_analyzer", "lab"]


def run_below_a_user_namespace(*arguments: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("unshare") is None or subprocess.run([*BELOW[:3], "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("user namespaces are not permitted here")
    return subprocess.run([*BELOW, *arguments], capture_output=True, text=True, check=False)


@needs_namespaces
def test_root_of_a_user_namespace_is_told_that_linux_nodes_need_more(tmp_path: Path) -> None:
    done = run_below_a_user_namespace("kernel", "--scenario", "idle", "-o", str(tmp_path))
    assert done.returncode == 2
    assert "missing: root of the machine: run it as root: a user namespace may not add IOAM namespaces" in done.stderr


@needs_namespaces
@pytest.mark.skipif(shutil.which("simple_switch_grpc") is None, reason="no simple_switch_grpc")
def test_bmv2_switches_need_no_root_of_the_machine(tmp_path: Path) -> None:
    done = run_below_a_user_namespace("bmv2", "--scenario", "incast", "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Right: named first: " in done.stdout


HELD = """
import signal, sys, time
# a shell that runs the tests in the background has SIGINT ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
from int_analyzer.lab.network import Network
with Network() as network:
    program = network.start(network.add_node("a"), ["sleep", "60"])
    print(program.pid, flush=True)
    time.sleep(60)
"""


@needs_namespaces
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_a_lab_ends_its_programs_end_with_it(number: signal.Signals) -> None:
    lab = subprocess.Popen([sys.executable, "-c", HELD], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert lab.stdout is not None
    inside = int(lab.stdout.readline())
    assert Path(f"/proc/{inside}").exists()
    lab.send_signal(number)
    lab.wait(10)
    lab.stdout.close()
    deadline = time.monotonic() + 5
    while _runs(inside) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(inside)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_sender_leaves_out_what_is_too_late_and_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    flow = Flow("02:00:00:00:00:01", "02:00:00:00:00:02", "10.0.1.3", "10.0.2.4", 50_000, 0x11, 7)
    # four packets are due before the sender has begun, four while it runs
    plan = {
        "start_ns": time.time_ns() - 400_000_000,
        "streams": [{"socket": ours.detach(), "flow": asdict(flow), "phases": [], "offset": 0.0}],
    }
    plan["streams"][0]["phases"] = [(0.0, 0.04, 100.0), (0.5, 0.54, 100.0)]
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(plan)))
    sender.main()
    said = json.loads(capsys.readouterr().out)
    assert said["sent"][0] + said["skipped"] == 8
    assert 4 <= said["skipped"] < 8
    expected = list(itertools.islice(flow.frames(), said["sent"][0]))
    assert [theirs.recv(65535) for _ in expected] == expected
    theirs.close()


@needs_namespaces
def test_a_point_of_one_protocol_has_no_other() -> None:
    frame = next(Flow("02:00:00:00:00:01", "02:00:00:00:00:02", "10.0.1.3", "10.0.2.4", 50_000, 0x11, 7).frames())
    others = [frame[:23] + bytes((protocol,)) + frame[24:] for protocol in (socket.IPPROTO_GRE, socket.IPPROTO_TCP)]
    with Network() as network, contextlib.ExitStack() as sockets:
        a, b = network.add_node("a"), network.add_node("b")
        network.add_link(a, "a-b", "02:00:00:00:00:01", b, "b-a", "02:00:00:00:00:02")
        with b.entered():
            point = sockets.enter_context(recorder.open_point("b-a", socket.IPPROTO_GRE))
        with a.entered():
            source = sockets.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            source.bind(("a-b", 0))
        for one in (frame, *others, frame, others[0]):
            source.send(one)
        point.settimeout(20)
        assert [point.recv(65535), point.recv(65535)] == [others[0]] * 2
        point.settimeout(0.5)
        with pytest.raises(TimeoutError):
            point.recv(65535)


@needs_namespaces
def test_a_recorder_keeps_one_direction_with_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = list(itertools.islice(Flow("02:00:00:00:00:01", "02:00:00:00:00:02", "10.0.1.3", "10.0.2.4", 50_000, 0x11, 7).frames(), 3))
    with Network() as network, contextlib.ExitStack() as sockets:
        a, b = network.add_node("a"), network.add_node("b")
        network.add_link(a, "a-b", "02:00:00:00:00:01", b, "b-a", "02:00:00:00:00:02")
        points = {}
        for node, name, direction in ((a, "a-b", "in"), (a, "a-b", "out"), (b, "b-a", "in")):
            with node.entered():
                points[f"{tmp_path / node.name}-{direction}"] = recorder.open_point(name).detach()
        with a.entered():
            source = sockets.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            source.bind(("a-b", 0))
        before = time.time_ns()
        for frame in frames:
            source.send(frame)
        monkeypatch.setattr(sys, "argv", ["recorder", *(f"{path}:{number}:{path[-3:].strip('-')}" for path, number in points.items())])
        handler = signal.getsignal(signal.SIGTERM)
        # asked to end before it begins, it still takes what waits in the sockets
        monkeypatch.setattr(signal, "signal", lambda number, end: end(number, None))
        recorder.main()
        assert signal.getsignal(signal.SIGTERM) == handler
    counts = {Path(path).name: count for path, count in json.loads(capsys.readouterr().out).items()}
    assert {name: count["packets"] for name, count in counts.items()} == {"a-in": 0, "a-out": 3, "b-in": 3}
    (batch,) = ((one.packets, one.roce) for one in read(str(tmp_path / "b-in")))
    assert list(batch[1].psn) == [7, 8, 9]
    assert all(before <= stamp <= time.time_ns() for stamp in batch[0].time_ns)
