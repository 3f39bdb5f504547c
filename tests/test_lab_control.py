"""The control plane against a stand-in of a switch: runs where BMv2 is not installed. The real one is in the files test_p4_…."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from switch_double import Switch, serve

from int_analyzer.errors import LabError, TopologyError
from int_analyzer.lab import control, requirement
from int_analyzer.lab.bmv2 import Bmv2Fabric
from int_analyzer.lab.entry import Entry, entries_of
from int_analyzer.lab.telemetry import Telemetry, telemetry_of
from int_analyzer.lab.topology import Topology, load_topology
from int_analyzer.lab.trial import run_trials

PROGRAMS = Path(requirement.__file__).parent / "programs"
NAMESPACES = all(one.present for one in requirement.requirements(requirement.KERNEL))


@pytest.fixture
def fabric() -> Topology:
    return load_topology("leaf-spine")


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[Switch]:
    made = Switch()
    server = serve(made, address(tmp_path))
    yield made
    server.stop(None).wait()


def address(folder: Path) -> str:
    return f"unix:{folder / 's'}"


def install(folder: Path) -> None:
    control.install_program(address(folder), "l1", PROGRAMS / "bmv2.p4info.txtpb", PROGRAMS / "bmv2.json")


def apply(folder: Path, fabric: Topology, telemetry: Telemetry) -> control.Change:
    return control.apply_entries(address(folder), "l1", entries_of(fabric, fabric.switches["l1"], telemetry), telemetry.copies)


def test_tables_are_brought_from_what_they_hold_to_what_they_must_hold(tmp_path: Path, fabric: Topology, switch: Switch) -> None:
    install(tmp_path)
    # 2 ports to hosts, 4 ports, 6 hosts in two address families, one group of 2, one watch, the clone session; 2 default actions
    assert apply(tmp_path, fabric, Telemetry()) == (2 + 4 + 12 + 2 + 1 + 1, 2, 0)
    before = len(switch.log)
    assert apply(tmp_path, fabric, Telemetry()) == (0, 0, 0)
    assert len(switch.log) == before
    assert apply(tmp_path, fabric, Telemetry(format="both")) == (0, 1, 0)
    assert switch.log[before:] == [("MODIFY", "packet_replication_engine_entry")]
    assert apply(tmp_path, fabric, Telemetry()) == (0, 1, 0)
    assert apply(tmp_path, fabric, Telemetry(mtu=9000)) == (0, 4, 0)
    assert apply(tmp_path, fabric, Telemetry(mtu=9000, watch=())) == (0, 0, 1)


def test_an_interrupt_waits_until_the_switch_is_left_whole(tmp_path: Path, fabric: Topology, switch: Switch) -> None:
    install(tmp_path)
    handler = signal.getsignal(signal.SIGINT)
    asked = []

    def interrupt_once() -> None:
        if not asked:
            asked.append(os.kill(os.getpid(), signal.SIGINT))

    switch.on_write = interrupt_once
    with pytest.raises(KeyboardInterrupt):
        apply(tmp_path, fabric, Telemetry())
    assert signal.getsignal(signal.SIGINT) is handler
    assert apply(tmp_path, fabric, Telemetry()) == (0, 0, 0)


def test_a_switch_that_does_not_come_does_not_hold_back_an_interrupt(tmp_path: Path) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        install(tmp_path)
    timer.join()


def test_a_counter_is_read_in_the_order_of_its_cells(tmp_path: Path, switch: Switch) -> None:
    install(tmp_path)
    switch.counts = [7, 0, 3]
    assert control.read_counter(address(tmp_path), "l1", "passed_by") == [7, 0, 3]


def test_a_program_that_is_refused_is_one_line(tmp_path: Path, switch: Switch) -> None:
    switch.refuse_program = True
    with pytest.raises(LabError, match=r"^l1: the switch refuses its program"):
        install(tmp_path)


def test_a_switch_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "_PATIENCE_S", 0.2)
    with pytest.raises(LabError, match=r"^l1: no P4Runtime server at unix:"):
        install(tmp_path)


def test_an_entry_that_does_not_fit_the_program_names_its_table(tmp_path: Path, switch: Switch) -> None:
    install(tmp_path)
    with pytest.raises(LabError, match=r"^l1: table node: 'number' is not a valid action parameter name"):
        control.apply_entries(address(tmp_path), "l1", [Entry("node", "set_node", {"number": "1"})], ())


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ([], "telemetry: is no table"),
        ({"mood": "md"}, "telemetry.mood: nothing reads this key"),
        ({"mode": "mdx"}, "telemetry.mode: 'mdx' is none of md, mx, xd, ioam"),
        ({"mode": 1}, "telemetry.mode: 1 cannot stand here"),
        ({"hops": -1}, "telemetry.hops: -1 cannot stand here"),
        ({"sample": 0}, "telemetry.sample: 0 cannot stand here"),
        ({"format": "all"}, "telemetry.format: 'all' is none of report, erspan, both"),
        ({"ip": 5}, "telemetry.ip: 5 is no version of IP: 4 or 6"),
        ({"ip": 4, "mode": "ioam"}, "telemetry.ip: 4 cannot stand here: an IOAM trace is an option of IPv6"),
        ({"items": "node"}, "telemetry.items: is no list"),
        ({"items": ["nodes"]}, "telemetry.items: 'nodes' is none of node, ports"),
        ({"watch": [1]}, "telemetry.watch.0: is no table"),
        ({"watch": [{"sauce": 1}]}, "telemetry.watch.0.sauce: nothing reads this key"),
        ({"watch": [{}, {"source": "10.0.0.1/8"}]}, "telemetry.watch.1.source: 10.0.0.1/8 has host bits set"),
        ({"watch": [{"dscp": "x"}]}, "telemetry.watch.0.dscp: 'x' is no number"),
    ],
)
def test_a_wrong_telemetry_section_says_where_and_why(fabric: Topology, section: Any, message: str) -> None:
    with pytest.raises(TopologyError) as caught:
        telemetry_of(Topology("t", fabric.switches, fabric.hosts, {"telemetry": section}))
    assert message in str(caught.value)


def test_what_is_asked_for_wins_over_the_file(fabric: Topology) -> None:
    section = {"mode": "xd", "hops": 5, "items": ["node", "queue"]}
    read = telemetry_of(Topology("t", fabric.switches, fabric.hosts, {"telemetry": section}), mode="mx", mark=None)
    assert (read.mode, read.hops, read.mark, read.instructions) == ("mx", 5, "port", 0x9000)


@pytest.mark.parametrize(
    ("telemetry", "address"),
    [
        (Telemetry(), "10.0.1.3"),
        (Telemetry(ip=4), "10.0.1.3"),
        (Telemetry(ip=6), "2001:db8::a00:103"),
        (Telemetry(mode="xd", ip=6), "2001:db8::a00:103"),
        (Telemetry(mode="ioam"), "2001:db8::a00:103"),
    ],
)
def test_hosts_speak_the_ip_that_is_asked_for_or_that_the_mode_needs(fabric: Topology, telemetry: Telemetry, address: str) -> None:
    made = Bmv2Fabric(fabric, telemetry)
    h1, h3 = fabric.hosts["h1"], fabric.hosts["h3"]
    assert made.address(h1) == address
    assert made.flow(h1, h3, 0, random.Random(1)).source == address


def test_what_a_switch_believes_wrongly_is_one_route_and_is_mended(tmp_path: Path, fabric: Topology, switch: Switch) -> None:
    install(tmp_path)
    apply(tmp_path, fabric, Telemetry())
    wrong = entries_of(fabric, fabric.switches["l1"], Telemetry(), astray={"h1": "s2"})
    assert control.apply_entries(address(tmp_path), "l1", wrong, Telemetry().copies) == (0, 2, 0)  # one in each address family
    assert apply(tmp_path, fabric, Telemetry()) == (0, 2, 0)


@pytest.fixture
def doubles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever starts a switch now gets the stand-in."""
    double = tmp_path / "bin" / "simple_switch_grpc"
    double.parent.mkdir()
    double.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).parent / "switch_double.py"} "$@"\n')
    double.chmod(0o755)
    monkeypatch.setenv("PATH", str(double.parent), prepend=":")


@pytest.mark.skipif(not NAMESPACES, reason="no namespaces")
@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize(
    ("scenario", "sentence"),
    [
        ("slow-link", r"nothing found; made to congest: s\d port s\d-l\d"),
        ("loop", r"nothing found; made to congest: nothing; told: nothing; made to happen: loop at l\d port l\d-s\d"),
    ],
)
def test_a_fabric_of_switches_that_forward_nothing_is_built_and_shows_nothing(
    tmp_path: Path, fabric: Topology, scenario: str, sentence: str
) -> None:
    requirement.check(requirement.BMV2)
    (trial,) = run_trials(Bmv2Fabric(fabric), scenario, 1, tmp_path / "out")
    assert not trial.score.top1
    assert re.match(sentence, trial.sentence)
    waited = json.loads((tmp_path / "out" / "truth.json").read_text())["waited_for_processor_ns"]
    assert list(waited) == list(fabric.switches)
    assert 0 < sum(waited.values()) < len(waited) * 4_000_000_000
    assert sorted(path.name for path in (tmp_path / "out").glob("*.pcap")) == [f"{name}-monitor.pcap" for name in sorted(fabric.switches)]


@pytest.mark.skipif(not NAMESPACES, reason="no namespaces")
@pytest.mark.usefixtures("doubles")
def test_reports_and_mirrored_packets_are_recorded_and_judged_apart(tmp_path: Path, fabric: Topology) -> None:
    out = tmp_path / "out"
    trials = run_trials(Bmv2Fabric(fabric, Telemetry(format="both")), "idle", 1, out)
    assert [trial.stream for trial in trials] == ["report", "erspan"]
    assert all(trial.score.top1 for trial in trials)
    recorded = [f"{name}-monitor.pcap" for name in fabric.switches]
    for trial in trials:
        assert {path.name for path in (out / trial.stream).iterdir()} == {*recorded, "truth.json", "profile.toml"}
        truth = json.loads((out / trial.stream / "truth.json").read_text())
        assert [capture["file"] for capture in truth["captures"]] == recorded
    assert {path.name for path in out.iterdir()} == {"report", "erspan"}


@pytest.mark.skipif(not NAMESPACES, reason="no namespaces")
def test_a_switch_that_cannot_start_says_what_it_said(tmp_path: Path, fabric: Topology, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "bin" / "simple_switch_grpc"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho no such library\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(broken.parent), prepend=":")
    monkeypatch.setattr(control, "_PATIENCE_S", 0.2)
    with pytest.raises(LabError, match=r"no P4Runtime server .*simple_switch_grpc said: no such library"):
        run_trials(Bmv2Fabric(fabric), "idle", 1, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
