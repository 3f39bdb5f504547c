"""A fabric in a network of namespaces, and a scenario run on it: what all data planes have in common."""

from __future__ import annotations

import json
import random
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

from int_analyzer.errors import LabError
from int_analyzer.lab.frame import Flow
from int_analyzer.lab.network import Network
from int_analyzer.lab.recorder import open_point
from int_analyzer.lab.scenario import END_S, Demand, Plan, Slowdown
from int_analyzer.lab.topology import NOWHERE, Host, Topology, interface, port_mac

_SECOND = 1_000_000_000
_LEAD_S = 0.5
"""From the order to send to the first packet: time for the sender to start."""
_DRAIN_S = 0.5
"""After the last packet: time for the queues to empty."""
_GOLDEN_RATIO = 0.6180339887
"""The fractions of its multiples are spread evenly, however many are taken."""


@dataclass(frozen=True)
class CapturePoint:
    """What is recorded: the interface of a node, which direction counts there, and the file.

    Where one interface brings several streams of the same packets, each is analysed by itself: `stream` is its folder, `protocol` the
    one of IPv4 that it has.
    """

    node: str
    interface: str
    direction: str
    file: str
    stream: str = ""
    protocol: int | None = None

    @property
    def path(self) -> Path:
        """The file, in the folder of a run."""
        return Path(self.stream, self.file)


@dataclass(frozen=True)
class Run:
    """What happened: when the scenario began, when the turns of the plan were done (by the seconds that they were planned for), the flows
    with what was sent of each, what was recorded at each point, how many packets were left out because the sender could not send them in
    time, and for how long the thread of each switch that waited longest for a processor did so: as long its ports were paused. A switch of
    the kernel is not there."""

    start_ns: int
    turned_ns: Mapping[float, int]
    flows: tuple[tuple[Demand, Flow, int], ...]
    captured: Mapping[CapturePoint, Mapping[str, int]]
    skipped: int
    waited_ns: Mapping[str, int]


class Fabric(ABC):
    """Nodes, links and hosts of a topology; a data plane says what a switch is. Use it as a context."""

    data_plane: ClassVar[str]
    program: ClassVar[str]
    link_bps: ClassVar[int]
    packets_per_second: ClassVar[float]
    """What a link carries, in packets of the flows."""
    units: Mapping[str, object]
    """What the values in the telemetry mean, as the profile's table has it."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.network = Network()
        self.pinned = NOWHERE
        self._exit = ExitStack()

    def __enter__(self) -> Fabric:
        self._exit.enter_context(self.network)
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    @abstractmethod
    def build_switches(self) -> None:
        """Make the namespaces of the switches, whose links are there, forward."""

    @abstractmethod
    def flow(self, source: Host, destination: Host, number: int, chance: random.Random) -> Flow:
        """The packets of a flow between two hosts."""

    @abstractmethod
    def address(self, host: Host) -> str:
        """The address of a host in the captures."""

    @abstractmethod
    def port_id(self, node: str, port: int) -> int:
        """The number of a port in the telemetry."""

    @abstractmethod
    def points(self) -> list[CapturePoint]:
        """Where the monitor sits."""

    @abstractmethod
    def slow_down(self, slowdown: Slowdown, fraction: float) -> None:
        """Let a port carry a fraction of its rate from now on."""

    @abstractmethod
    def redirect(self, node: str, host: Host, neighbour: str | None) -> None:
        """Let a switch send what goes to a host to one neighbour from now on; None: as is right."""

    def waited_ns(self) -> dict[str, dict[str, int]]:
        """How long each thread of the switches that are processes has waited for a processor so far, by switch and thread."""
        return {}

    def build(self, plan: Plan) -> None:
        """All nodes and links, then the switches."""
        topology, network, self.pinned = self.topology, self.network, plan.pinned
        for name in (*topology.switches, *topology.hosts):
            network.add_node(name)
        for a, b in topology.links():
            network.add_link(network.nodes[a], interface(a, b), self.mac(a, b), network.nodes[b], interface(b, a), self.mac(b, a))
        self.build_switches()

    def mac(self, node: str, neighbour: str) -> str:
        """The hardware address of a node's interface towards a neighbour."""
        if node in self.topology.hosts:
            return self.topology.hosts[node].mac
        switch = self.topology.switches[node]
        return port_mac(switch, switch.port_to(neighbour))

    def run(self, plan: Plan, folder: Path, seed: int) -> Run:
        """Send what the plan says and record at all points meanwhile."""
        with ExitStack() as sockets:
            recorder, points = self._start_recorder(folder, sockets)
            # the seed of the plan's choices and that of the ports and queue pairs must not be one sequence
            chance = random.Random(f"flows {seed}")
            flows = [
                self.flow(self.topology.hosts[demand.source], self.topology.hosts[demand.destination], number, chance)
                for number, demand in enumerate(plan.demands)
            ]
            start_ns = time.time_ns() + int(_LEAD_S * _SECOND)
            sender = self._start_sender(plan, flows, start_ns, sockets)
            before = self.waited_ns()
            turned_ns = {}
            for at_s, turn in sorted(self._turns(plan), key=itemgetter(0)):
                _sleep_until(start_ns + int(at_s * _SECOND))
                turn()
                turned_ns[at_s] = time.time_ns()
            sent = json.loads(_output(sender, "the sender"))
            _sleep_until(start_ns + int((END_S + _DRAIN_S) * _SECOND))
            waited_ns = {
                name: max(ns - before[name].get(thread, 0) for thread, ns in threads.items())
                for name, threads in self.waited_ns().items()
                if threads
            }
            recorder.terminate()
            captured = json.loads(_output(recorder, "the recorder"))
        counts = {points[path]: count for path, count in captured.items()}
        sent_of = tuple(zip(plan.demands, flows, sent["sent"], strict=True))
        return Run(start_ns, turned_ns, sent_of, counts, sent["skipped"], waited_ns)

    def _turns(self, plan: Plan) -> Iterator[tuple[float, Callable[[], None]]]:
        """What changes while packets are sent, and when."""
        for slowdown in plan.slowdowns:
            yield slowdown.from_s, partial(self.slow_down, slowdown, slowdown.fraction)
            yield slowdown.to_s, partial(self.slow_down, slowdown, 1.0)
        for detour in plan.detours:
            host = self.topology.hosts[detour.host]
            yield detour.from_s, partial(self.redirect, detour.node, host, detour.neighbour)
            yield detour.to_s, partial(self.redirect, detour.node, host, None)

    def _start_recorder(self, folder: Path, sockets: ExitStack) -> tuple[Any, dict[str, CapturePoint]]:
        arguments, descriptors, points = [], [], {}
        for point in self.points():
            with self.network.nodes[point.node].entered():
                opened = sockets.enter_context(open_point(point.interface, point.protocol))
            path = folder / point.path
            path.parent.mkdir(exist_ok=True)
            points[str(path)] = point
            descriptors.append(opened.fileno())
            arguments.append(f"{path}:{opened.fileno()}:{point.direction}")
        recorder = self.network.start_module("int_analyzer.lab.recorder", *arguments, descriptors=descriptors)
        assert recorder.stdout is not None
        if recorder.stdout.readline() != b"\n":
            raise LabError("the recorder did not start")
        return recorder, points

    def _start_sender(self, plan: Plan, flows: list[Flow], start_ns: int, sockets: ExitStack) -> Any:
        opened = {}
        for name, host in self.topology.hosts.items():
            with self.network.nodes[name].entered():
                opened[name] = sockets.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
                opened[name].bind((interface(name, host.switch), 0))
        streams = [
            {
                "socket": opened[demand.source].fileno(),
                "flow": asdict(flow),
                "phases": [(begin, end, load * self.packets_per_second) for begin, end, load in demand.phases],
                # flows of one rate must not send in step: that would be a burst
                "offset": number * _GOLDEN_RATIO % 1,
            }
            for number, (demand, flow) in enumerate(zip(plan.demands, flows, strict=True))
        ]
        # what it is kept from sending in time is left out, and congestion begins later than was planned
        sender = self.network.start_module("int_analyzer.lab.sender", descriptors=[one.fileno() for one in opened.values()], at_once=True)
        assert sender.stdin is not None
        sender.stdin.write(json.dumps({"start_ns": start_ns, "streams": streams}).encode())
        sender.stdin.close()
        return sender


def _sleep_until(moment_ns: int) -> None:
    ahead = moment_ns - time.time_ns()
    if ahead > 0:
        time.sleep(ahead / _SECOND)


def _output(program: Any, name: str) -> str:
    text = program.stdout.read().decode()
    if program.wait() != 0:
        raise LabError(f"{name} ended with exit code {program.returncode}")
    return str(text)
