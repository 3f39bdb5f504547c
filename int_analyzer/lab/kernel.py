"""The fabric whose switches are Linux: IPv6 forwarding that fills IOAM traces, and token buckets as the links' rates.

The kernel puts in what it knows when it forwards (Documentation/networking/ioam6-sysctl.rst, net/ipv6/ioam6.c): the depth is the bytes
that wait at the output at that moment, the time is that of forwarding, the waiting itself shows at the next node.
"""

from __future__ import annotations

import platform
import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from int_analyzer.lab.constant import IOAM_NAMESPACE
from int_analyzer.lab.fabric import CapturePoint, Fabric
from int_analyzer.lab.frame import Flow
from int_analyzer.lab.network import Node
from int_analyzer.lab.scenario import Slowdown
from int_analyzer.lab.topology import Host, Switch, interface

_LINK_BPS = 50_000_000
_BUCKET_BYTES = 3100  # two frames: the bucket must not hide short queues
_QUEUE_BYTES = 200_000
_FRAME_BYTES = 1246  # Ethernet, IPv6, trace for 6 nodes, UDP, BTH, 1024 bytes, ICRC
_TRACE_NODES = 6


class KernelFabric(Fabric):
    """Linux nodes."""

    data_plane = f"Linux kernel {platform.release()} IPv6 IOAM pre-allocated trace"
    program = "none (kernel forwarding)"
    link_bps = _LINK_BPS
    packets_per_second = _LINK_BPS / 8 / _FRAME_BYTES
    units: Mapping[str, object] = MappingProxyType({"queue_depth": "bytes", "ioam_time": "posix"})

    def build_switches(self) -> None:
        for name in self.topology.switches:
            self._build_switch(self.network.nodes[name])

    def _build_switch(self, node: Node) -> None:
        switch = self.topology.switches[node.name]
        interfaces = {port: interface(node.name, neighbour) for port, neighbour in switch.ports.items()}
        keys: dict[str, object] = {"ipv6/conf/all/forwarding": 1, "ipv6/ioam6_id": switch.id, "ipv6/fib_multipath_hash_policy": 1}
        for port, name in interfaces.items():
            keys[f"ipv6/conf/{name}/ioam6_enabled"] = 1
            keys[f"ipv6/conf/{name}/ioam6_id"] = self.port_id(node.name, port)
        node.configure(keys)
        node.run(["ip", "ioam", "namespace", "add", str(IOAM_NAMESPACE)])
        lines = []
        for port, neighbour in switch.ports.items():
            # a gateway needs an address that nobody has to own
            lines.append(f"neigh add {_gateway(port)} lladdr {self.mac(neighbour, node.name)} dev {interfaces[port]} nud permanent")
        for host in self.topology.hosts.values():
            lines.append(f"route add {self._route(switch, host, self.topology.next_hops(node.name, host, self.pinned))}")
        node.run(["ip", "-6", "-batch", "-"], lines)
        node.run(["tc", "-batch", "-"], [_bucket("add", name, 1.0) for name in interfaces.values()])

    def address(self, host: Host) -> str:
        return host.ipv6

    def port_id(self, node: str, port: int) -> int:
        """The id of a port in the traces (16 bits): node and port in decimal, so that a person can read it."""
        return self.topology.switches[node].id * 10 + port

    def flow(self, source: Host, destination: Host, number: int, chance: random.Random) -> Flow:
        return Flow(
            source.mac,
            self.mac(source.switch, source.name),
            source.ipv6,
            destination.ipv6,
            source_port=chance.randrange(0xC000, 0x10000),
            dest_qp=0x11 + number,
            first_psn=chance.randrange(0x100_0000),
            trace_nodes=_TRACE_NODES,
        )

    def points(self) -> list[CapturePoint]:
        """Where packets leave for the hosts: there the traces are complete."""
        points = []
        for host in self.topology.hosts.values():
            name = interface(host.switch, host.name)
            points.append(CapturePoint(host.switch, name, "out", f"{name}.pcap"))
        return points

    def redirect(self, node: str, host: Host, neighbour: str | None) -> None:
        switch = self.topology.switches[node]
        hops = [neighbour] if neighbour is not None else self.topology.next_hops(node, host, self.pinned)
        self.network.nodes[node].run(["ip", "-6", "-batch", "-"], [f"route replace {self._route(switch, host, hops)}"])

    def _route(self, switch: Switch, host: Host, hops: Sequence[str]) -> str:
        ways = " ".join(f"nexthop via {_gateway(switch.port_to(hop))} dev {interface(switch.name, hop)}" for hop in hops)
        return f"{host.ipv6}/128 {ways}"

    def slow_down(self, slowdown: Slowdown, fraction: float) -> None:
        node = self.network.nodes[slowdown.node]
        node.run(["tc", "-batch", "-"], [_bucket("change", interface(slowdown.node, slowdown.neighbour), fraction)])


def _gateway(port: int) -> str:
    return f"fe80::{port:x}"


def _bucket(verb: str, name: str, fraction: float) -> str:
    rate = int(_LINK_BPS * fraction)
    return f"qdisc {verb} dev {name} root tbf rate {rate}bit burst {_BUCKET_BYTES} limit {_QUEUE_BYTES}"
