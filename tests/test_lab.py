"""The laboratory: topologies, frames, plans, namespaces that vanish, and Linux as a data plane."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import socket
from collections import Counter, defaultdict
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether
from summaries import finding

from int_analyzer.analysis.summary import Event, Summary
from int_analyzer.cli import main
from int_analyzer.errors import LabError, TopologyError
from int_analyzer.lab import requirement, trial
from int_analyzer.lab.fabric import Run
from int_analyzer.lab.frame import Flow
from int_analyzer.lab.kernel import KernelFabric
from int_analyzer.lab.queue_rate import QueueRate
from int_analyzer.lab.scenario import SCENARIOS, Plan, make_plan
from int_analyzer.lab.telemetry import Telemetry, telemetry_of
from int_analyzer.lab.topology import Topology, load_topology
from int_analyzer.lab.trial import run_trials
from int_analyzer.lab.truth import document_of
from int_analyzer.lab.verdict import sentence_of
from int_analyzer.result import analyze
from int_analyzer.scoring.score import score
from int_analyzer.scoring.truth import read_truth, truth_of

MISSING = [one for one in requirement.requirements(requirement.KERNEL) if not one.present]
needs_namespaces = pytest.mark.skipif(bool(MISSING), reason=", ".join(f"no {one.name}" for one in MISSING))

HOP_LIMIT = 64
PCAPS = Path(__file__).parent.parent / "pcaps"
OWN_CAPTURES = sorted(path.parent.name for path in PCAPS.glob("*/profile.toml"))

SMALL = """
switches:
  s1: {id: 1, ports: {1: h1, 2: h2}}
hosts:
  h1: 10.0.0.1
  h2: 10.0.0.2
"""


@pytest.fixture
def fabric() -> Topology:
    return load_topology("leaf-spine")


def write(folder: Path, text: str) -> str:
    path = folder / "fabric.yaml"
    path.write_text(text)
    return str(path)


def test_the_shipped_topology_has_two_equal_ways_between_leaves_and_one_to_its_own_host(fabric: Topology) -> None:
    assert fabric.next_hops("l1", fabric.hosts["h5"]) == ["s1", "s2"]
    assert fabric.next_hops("s1", fabric.hosts["h5"]) == ["l3"]
    assert fabric.next_hops("l3", fabric.hosts["h5"]) == ["h5"]
    assert len(list(fabric.links())) == 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("id: 1", "id: x"), "switches.s1.id: 'x' is no number from 1 to 16777214"),
        (("2: h2", "2: h9"), "hosts.h2: is at 0 switches, not at one"),
        (("h2: 10.0.0.2", "h2: 10.0.0"), "hosts.h2: Expected 4 octets in '10.0.0'"),
        (("2: h2", "2: h2, 3: s9"), "switches.s1.ports.3: s9 is no switch and no host"),
        (("2: h2", "2: h1"), "switches.s1.ports: two ports lead to one neighbour"),
        (("{id: 1", "{id: 1, speed: 5"), "switches.s1.speed: nothing reads this key"),
        (("hosts:", "guests:"), "hosts: is missing"),
        (("  s1:", "  leaf-one:"), "switches.leaf-one: is no name"),
        (("  h2: 10", "  h2: 10.0.0.3\n  monitor: 10"), "hosts.monitor: is no name"),
        (("switches:", "switches: ["), "while parsing a flow"),
    ],
)
def test_a_wrong_topology_says_where_and_why(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in SMALL
    with pytest.raises(TopologyError) as caught:
        load_topology(write(tmp_path, SMALL.replace(*change, 1)))
    assert message in str(caught.value)


def test_an_unknown_topology_names_those_that_there_are() -> None:
    with pytest.raises(TopologyError, match="there are: leaf-spine"):
        load_topology("torus")


@pytest.mark.parametrize("addresses", [("10.0.1.3", "10.0.2.4"), ("2001:db8::1", "2001:db8::2")])
@pytest.mark.parametrize("trace_nodes", [0, 6])
def test_a_frame_carries_the_icrc_that_an_independent_implementation_computes(addresses: tuple[str, str], trace_nodes: int) -> None:
    flow = Flow("02:00:00:00:00:01", "02:00:00:00:00:02", *addresses, 50_000, 0x11, 0xFF_FFFE, message=3, trace_nodes=trace_nodes)
    opcodes, numbers = [], []
    for frame in itertools.islice(flow.frames(), 4):
        packet = Ether(frame)
        carried = frame[-4:]
        if not trace_nodes:  # scapy would take the hop-by-hop header into its sum
            packet[BTH].icrc = None
            assert bytes(packet)[-4:] == carried
        opcodes.append(packet[BTH].opcode)
        numbers.append(packet[BTH].psn)
        assert len(frame) == 14 + (20 + packet.len - 20 if packet.version == 4 else 40 + packet.plen)
    assert opcodes == [6, 7, 8, 6]
    assert numbers == [0xFF_FFFE, 0xFF_FFFF, 0, 1]


def test_a_trace_does_not_change_the_icrc() -> None:
    plain = Flow("02:00:00:00:00:01", "02:00:00:00:00:02", "2001:db8::1", "2001:db8::2", 50_000, 0x11, 7)
    traced = Flow("02:00:00:00:00:01", "02:00:00:00:00:02", "2001:db8::1", "2001:db8::2", 50_000, 0x11, 7, trace_nodes=6)
    without, with_trace = next(plain.frames()), next(traced.frames())
    assert without[-4:] == with_trace[-4:]
    assert len(with_trace) - len(without) == 136


def offered(plan: Plan, topology: Topology, at_s: float) -> dict[tuple[str, str], float]:
    """What every switch port is offered at a time, in fractions of what it carries, if hashes split evenly."""
    loads: dict[tuple[str, str], float] = defaultdict(float)
    slow = {(one.node, one.neighbour): one.fraction for one in plan.slowdowns if one.from_s <= at_s < one.to_s}
    astray = {(one.node, one.host): one.neighbour for one in plan.detours if one.from_s <= at_s < one.to_s}
    for demand in plan.demands:
        load = sum(phase[2] for phase in demand.phases if phase[0] <= at_s < phase[1])
        frontier = {topology.hosts[demand.source].switch: load}
        for _ in range(HOP_LIMIT - 1):
            ahead: dict[str, float] = defaultdict(float)
            for node, share in frontier.items():
                hops = topology.next_hops(node, topology.hosts[demand.destination], plan.pinned)
                if (node, demand.destination) in astray:
                    hops = [astray[node, demand.destination]]
                for hop in hops:
                    loads[node, hop] += share / len(hops) / slow.get((node, hop), 1.0)
                    if hop in topology.switches:
                        ahead[hop] += share / len(hops)
            frontier = ahead
    return loads


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_plan_overloads_the_port_that_it_names_and_no_other(fabric: Topology, scenario: str, seed: int) -> None:
    plan = make_plan(scenario, fabric, 5_000.0, seed)
    named = {(one.node, one.neighbour) for one in plan.congested}
    seen = set()
    for at_s in (0.5, 2.5, *(one.from_s + 0.001 for one in (*plan.congested, *plan.detours))):
        overloaded = {port for port, load in offered(plan, fabric, at_s).items() if load > 1.0}
        assert overloaded <= named
        seen |= overloaded
    assert seen == named
    assert make_plan(scenario, fabric, 5_000.0, seed) == plan


def test_a_link_is_slow_from_when_it_was_made_slow_and_not_from_when_that_was_planned(fabric: Topology) -> None:
    lab = KernelFabric(fabric)
    plan = make_plan("slow-link", fabric, lab.packets_per_second, 1)
    turned_ns = {1.0: 5_001_400_000_000, 2.0: 5_002_000_300_000}
    run = Run(5_000_000_000_000, turned_ns, (), {point: {"packets": 0, "dropped": 0} for point in lab.points()}, 0, {})
    (congested,) = document_of(lab, plan, run, 1, "")["congested"]
    assert (congested["from_ns"], congested["to_ns"]) == tuple(turned_ns.values())


def test_an_unknown_scenario_names_those_that_there_are(fabric: Topology) -> None:
    with pytest.raises(LabError, match="no scenario rain; there are: idle, incast"):
        make_plan("rain", fabric, 5_000.0, 1)


@pytest.mark.parametrize("seed", range(5))
def test_a_loop_returns_everything_for_a_host_to_its_leaf_and_nothing_else(fabric: Topology, seed: int) -> None:
    plan = make_plan("loop", fabric, 5_000.0, seed)
    detour = plan.detours[0]
    there, back = (detour.node, detour.neighbour), (detour.neighbour, detour.node)
    calm, astray = (offered(plan, fabric, at_s) for at_s in (0.5, detour.from_s + 0.001))
    changed = {port for port in calm if astray[port] != pytest.approx(calm[port])}
    assert changed == {there, back, (detour.node, detour.host)}
    assert astray[detour.node, detour.host] == 0
    assert 0.3 < astray[there] - calm[there] < 0.9


TRUTH: dict[str, Any] = {"congested": [{"node": "l1", "port": "l1-h1", "node_id": 101, "port_id": 1013, "from_ns": 2_000_000_000}]}
LOOPED: dict[str, Any] = {
    "congested": [],
    "events": [{"kind": "loop", "start_ns": 5, "ports": [{"node": "l1", "port": "l1-s1", "node_id": 101, "port_id": 1011}]}],
}


HELD_UP: dict[str, Any] = {"congested": [], "waited_for_processor_ns": {"l1": 99_999_999, "s1": 812_000_000}}


@pytest.mark.parametrize(
    ("summary", "truth", "sentence"),
    [
        (Summary(), TRUTH, "nothing found; made to congest: l1 port l1-h1"),
        (Summary(), HELD_UP, "nothing found; made to congest: nothing; this machine let s1 wait for 812 ms"),
        (
            Summary(findings=[finding(node="l1", port="l1-h1", node_id=101, port_id=1013, start_ns=2_500_000_000)]),
            TRUTH,
            "named first: l1 port l1-h1, 500 ms from when it began; made to congest: l1 port l1-h1",
        ),
        (Summary(findings=[finding(node="s1", port="s1-l1")]), {"congested": []}, "named first: s1 port s1-l1; made to congest: nothing"),
        (Summary(), LOOPED, "nothing found; made to congest: nothing; told: nothing; made to happen: loop at l1 port l1-s1"),
        (
            Summary(events=[Event("loop", "l1", "l1-s1", 101, 1011, 5, 9, 1, 1, [])]),
            LOOPED,
            "nothing found; made to congest: nothing; told: loop at l1 port l1-s1; made to happen: loop at l1 port l1-s1",
        ),
    ],
)
def test_a_verdict_says_what_was_named_and_what_was_true(summary: Summary, truth: dict[str, Any], sentence: str) -> None:
    known = truth_of(truth)
    assert sentence_of(summary, known, score(summary, known)) == sentence


def test_the_topology_of_the_page_is_read_and_shows_what_is_left_out(tmp_path: Path) -> None:
    page = (PCAPS.parent / "docs" / "lab.md").read_text()
    loaded = load_topology(write(tmp_path, "".join(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))))
    assert (set(loaded.switches), set(loaded.hosts)) == ({"s1", "l1", "l2"}, {"h1", "h2", "h3"})
    assert loaded.hosts["h1"].ipv6 == "2001:db8::a00:103"
    shown = telemetry_of(loaded)
    assert replace(shown, watch=({},)) == Telemetry(ip=4)
    assert {field.name for field in fields(shown)} == set(loaded.sections["telemetry"])


@pytest.mark.parametrize("folder", OWN_CAPTURES)
def test_what_our_program_was_made_to_show_is_said(folder: str) -> None:
    truth = read_truth(PCAPS / folder / "truth.json")
    captures = [str(PCAPS / folder / capture["file"]) for capture in truth.document["captures"]]
    for profile in (None, PCAPS / folder / "profile.toml"):
        summary = analyze(captures, profile).summary
        reached = score(summary, truth)
        assert reached.top1, sentence_of(summary, truth, reached)


@needs_namespaces
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_linux_was_made_to_show_is_said(tmp_path: Path, fabric: Topology, scenario: str) -> None:
    (done,) = run_trials(KernelFabric(fabric), scenario, 3, tmp_path)
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert done.score.top1, done.sentence
    hops = done.result.hops
    assert set(hops.node_id) == set(truth["topology"]["node_ids"].values())
    assert set(hops.egress_port) <= set(truth["topology"]["interface_ids"].values())
    delivered = Counter(done.result.roce.dest_qp)
    for flow in truth["flows"]:
        assert flow["packets_sent"] > 0
        assert delivered[flow["dest_qp"]] <= flow["packets_sent"]
        if scenario == "idle":
            assert delivered[flow["dest_qp"]] == flow["packets_sent"]
    assert not [file.name for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_what_is_missing_is_said_at_once_and_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LabError, match=r"missing: ip: install iproute2; tc: install iproute2; .*simple_switch_grpc: install BMv2"):
        requirement.check(requirement.BMV2)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("80010002 00000001 61 00000000 08 0000 00000001 00", "the switch answers set_egress_queue_rate with 1"),
        ("80010003 00000001 61 00000000 08 0000 00000001 00", "the switch refuses set_egress_queue_rate"),
        ("80010002 0000", "the switch has closed its Thrift connection"),
    ],
)
def test_a_switch_that_does_not_obey_is_an_error(monkeypatch: pytest.MonkeyPatch, reply: str, message: str) -> None:
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(socket, "create_connection", lambda *_: ours)
    theirs.send(bytes.fromhex(reply))
    theirs.shutdown(socket.SHUT_WR)
    with contextlib.closing(theirs), contextlib.closing(QueueRate()) as queues, pytest.raises(LabError, match=message):
        queues.set_rate(1, 5)


def test_a_switch_that_keeps_silent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(0.05)
    monkeypatch.setattr(socket, "create_connection", lambda *_: ours)
    silent = pytest.raises(LabError, match="the switch does not answer set_egress_queue_depth: timed out")
    with contextlib.closing(theirs), contextlib.closing(QueueRate()) as queues, silent:
        queues.set_depth(1, 5)


@needs_namespaces
def test_the_command_runs_a_scenario_and_says_whether_the_answer_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "kernel", "--scenario", "idle", "-o", str(tmp_path / "idle")]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("NO CONGESTION")
    assert "Right: nothing found; made to congest: nothing." in said.out
    assert f"are in {tmp_path / 'idle'}" in said.err
    monkeypatch.setattr(trial, "score", lambda *_: replace(score(Summary(), truth_of({"congested": []})), top1=False, false_findings=2))
    monkeypatch.setattr(trial, "sentence_of", lambda *_: "named first: the moon")
    assert main(["lab", "kernel", "--scenario", "idle", "--runs", "2", "-o", str(tmp_path / "many")]) == 1
    said = capsys.readouterr()
    assert said.out.splitlines()[1].split()[:5] == ["idle", "2", "0", "%", "4"]
    assert said.err.splitlines()[1] == "idle seed 2: wrong, named first: the moon"
    assert sorted(path.name for path in (tmp_path / "many").iterdir()) == ["idle-1", "idle-2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kernel", "--scenario", "rain", "-o", "x"], "no scenario rain"),
        (["kernel", "--scenario", "idle", "--topology", "no.yaml", "-o", "x"], "no.yaml: No such file or directory"),
        (["kernel", "--scenario", "idle"], "Missing option '--output'"),
    ],
)
@needs_namespaces
def test_a_wrong_command_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lab", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert list(tmp_path.iterdir()) == []


@needs_namespaces
def test_a_recorder_that_lost_packets_fails_the_trial(tmp_path: Path, fabric: Topology, monkeypatch: pytest.MonkeyPatch) -> None:
    lossy = json.dumps({"captures": [{"file": "x.pcap", "dropped": 3}]})
    monkeypatch.setattr(KernelFabric, "build", lambda *_: None)
    monkeypatch.setattr(KernelFabric, "run", lambda *_: None)
    monkeypatch.setattr(trial, "document_of", lambda *_: json.loads(lossy))
    with pytest.raises(LabError, match="3 packets were not recorded: this machine is too slow"):
        run_trials(KernelFabric(fabric), "idle", 1, tmp_path)
