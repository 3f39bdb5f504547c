"""The fabric whose switches are BMv2 (simple_switch_grpc) with the program of p4/bmv2, and a monitor that every switch reports to."""

from __future__ import annotations

import contextlib
import random
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from int_analyzer.lab.constant import MODE_IOAM
from int_analyzer.lab.entry import MONITOR_MAC, MONITOR_PORT, entries_of
from int_analyzer.lab.fabric import CapturePoint, Fabric
from int_analyzer.lab.frame import Flow
from int_analyzer.lab.scenario import Slowdown
from int_analyzer.lab.telemetry import MODES, Telemetry, telemetry_of
from int_analyzer.lab.topology import MONITOR, NOWHERE, Host, Topology, interface, port_mac

if TYPE_CHECKING:
    from int_analyzer.lab.switch import Bmv2Switch

_LINK_PACKETS = 500
"""Packets a second through a port. BMv2 forwards some ten thousand on a core, and all switches share the cores of this machine."""
_QUEUE_PACKETS = 100
_STREAMS = {"report": socket.IPPROTO_UDP, "erspan": socket.IPPROTO_GRE}
_FRAME_BYTES = 1098  # Ethernet, IPv4, UDP, BTH, 1024 bytes, ICRC


class Bmv2Fabric(Fabric):
    """BMv2 switches."""

    data_plane = "BMv2 simple_switch_grpc"
    program = "p4/bmv2/int.p4"
    link_bps = _LINK_PACKETS * _FRAME_BYTES * 8
    packets_per_second = _LINK_PACKETS

    def __init__(self, topology: Topology, telemetry: Telemetry | None = None) -> None:
        super().__init__(topology)
        self.telemetry = telemetry if telemetry is not None else telemetry_of(topology)
        self.units = {"queue_depth": "packets", "packet_bytes": _FRAME_BYTES, "time": "us"}
        # an IOAM trace has its transit delay in nanoseconds (RFC 9197 §4.4.2.5), INT what the device has
        self.units["hop_latency"] = "ns" if MODES[self.telemetry.mode] == MODE_IOAM else "us"
        self._switches: dict[str, Bmv2Switch] = {}

    def build_switches(self) -> None:
        # gRPC and P4Runtime shell take a second to load: only who starts a switch pays for it
        from int_analyzer.lab.switch import Bmv2Switch

        folder = Path(self._exit.enter_context(tempfile.TemporaryDirectory(prefix="int-analyzer-lab-")))
        monitor = self.network.add_node(MONITOR)
        for switch in self.topology.switches.values():
            node, name = self.network.nodes[switch.name], interface(switch.name, MONITOR)
            there = interface(MONITOR, switch.name)
            self.network.add_link(node, name, port_mac(switch, MONITOR_PORT), monitor, there, MONITOR_MAC)
            ports = {port: interface(switch.name, neighbour) for port, neighbour in switch.ports.items()}
            process = Bmv2Switch(self.network, node, {**ports, MONITOR_PORT: name}, folder)
            self._switches[switch.name] = self._exit.enter_context(contextlib.closing(process))
        for switch in self.topology.switches.values():
            process = self._switches[switch.name]
            process.install()
            process.apply(entries_of(self.topology, switch, self.telemetry, self.pinned), self.telemetry.copies)
            for port in switch.ports:
                process.queues.set_rate(port, _LINK_PACKETS)
                process.queues.set_depth(port, _QUEUE_PACKETS)

    def flow(self, source: Host, destination: Host, number: int, chance: random.Random) -> Flow:
        return Flow(
            source.mac,
            self.mac(source.switch, source.name),
            self.address(source),
            self.address(destination),
            source_port=chance.randrange(0xC000, 0x10000),
            dest_qp=0x11 + number,
            first_psn=chance.randrange(0x100_0000),
        )

    def address(self, host: Host) -> str:
        return host.ipv6 if self.telemetry.six else host.ipv4

    def port_id(self, node: str, port: int) -> int:
        return port

    def points(self) -> list[CapturePoint]:
        """What the monitor receives, a file for each switch; reports and mirrored copies of the same packets are two streams."""
        streams = _STREAMS if len(self.telemetry.copies) > 1 else {"": None}
        return [
            CapturePoint(MONITOR, interface(MONITOR, name), "in", f"{name}-{MONITOR}.pcap", stream, protocol)
            for stream, protocol in streams.items()
            for name in self.topology.switches
        ]

    def redirect(self, node: str, host: Host, neighbour: str | None) -> None:
        astray = {host.name: neighbour} if neighbour is not None else NOWHERE
        entries = entries_of(self.topology, self.topology.switches[node], self.telemetry, self.pinned, astray)
        self._switches[node].apply(entries, self.telemetry.copies)

    def waited_ns(self) -> dict[str, dict[str, int]]:
        return {name: switch.waited_ns() for name, switch in self._switches.items()}

    def slow_down(self, slowdown: Slowdown, fraction: float) -> None:
        port = self.topology.switches[slowdown.node].port_to(slowdown.neighbour)
        self._switches[slowdown.node].queues.set_rate(port, max(1, int(_LINK_PACKETS * fraction)))
