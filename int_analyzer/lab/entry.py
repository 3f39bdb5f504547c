"""What the tables of each switch must hold for a topology: plain data, made without a switch.

Names of tables, keys, actions and parameters are those of p4/.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from int_analyzer.lab.constant import INT_NPT_DSCP
from int_analyzer.lab.telemetry import MARKS, MODES, Telemetry
from int_analyzer.lab.topology import NOWHERE, Host, Switch, Topology, port_mac

KEYED_TABLES = ("ingress_edge", "watchlist", "route", "ecmp", "egress_edge")
"""Tables with entries; the others have only a default action."""

MONITOR_PORT = 256
"""Of every switch: there is no such port in a topology file (1 to 255)."""
MONITOR_MAC, MONITOR_ADDRESS = "02:ff:00:00:00:01", "10.255.0.1"

_MAPPED = 0xFFFF << 32
"""IPv4 addresses stand in 128-bit keys as IPv4-mapped ones (RFC 4291 §2.5.5.2)."""


@dataclass(frozen=True)
class Entry:
    """A table entry; in a table without keys it is the default action. Values are written as P4Runtime shell reads them."""

    table: str
    action: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    priority: int = 0


def entries_of(
    topology: Topology, switch: Switch, telemetry: Telemetry, pinned: Mapping[str, str] = NOWHERE, astray: Mapping[str, str] = NOWHERE
) -> Iterator[Entry]:
    """All entries of one switch. `pinned`: switches that use one of their equal-cost neighbours for everything; `astray`: hosts that this
    one believes behind a neighbour."""
    yield Entry("node", "set_node", {"id": str(switch.id)})
    yield _monitor(switch, telemetry)
    yield from _edges(topology, switch, telemetry)
    yield from _routes(topology, switch, pinned, astray)
    yield from _watchlist(telemetry)


def _monitor(switch: Switch, telemetry: Telemetry) -> Entry:
    return Entry(
        "monitor",
        "set_report",
        {
            "src_mac": port_mac(switch, MONITOR_PORT),
            "dst_mac": MONITOR_MAC,
            "src": str(ipaddress.IPv4Address("10.254.0.0") + switch.id),
            "dst": MONITOR_ADDRESS,
            "length": str(telemetry.snap),
            "queue_threshold": str(telemetry.queue_threshold),
            "latency_shift": str(telemetry.latency_shift),
            "quiet": str(int(telemetry.quiet)),
        },
    )


def _edges(topology: Topology, switch: Switch, telemetry: Telemetry) -> Iterator[Entry]:
    for port, neighbour in switch.ports.items():
        to_host = neighbour in topology.hosts
        if to_host:
            yield Entry("ingress_edge", "from_host", keys={"standard.ingress_port": str(port)})
        yield Entry("egress_edge", "link", {"mtu": str(telemetry.mtu), "to_host": str(int(to_host))}, {"standard.egress_port": str(port)})


def _routes(topology: Topology, switch: Switch, pinned: Mapping[str, str], astray: Mapping[str, str]) -> Iterator[Entry]:
    groups: dict[tuple[str, ...], int] = {}
    for host in topology.hosts.values():
        hops = [astray[host.name]] if host.name in astray else topology.next_hops(switch.name, host, pinned)
        if len(hops) == 1:
            action, parameters = "to_port", _to(topology, switch, hops[0])
        else:
            group = groups.setdefault(tuple(hops), len(groups) + 1)
            action, parameters = "to_group", {"group": str(group), "members": str(len(hops))}
        for address in (_MAPPED | int(ipaddress.IPv4Address(host.ipv4)), int(ipaddress.IPv6Address(host.ipv6))):
            yield Entry("route", action, parameters, {"meta.dst": f"{ipaddress.IPv6Address(address)}/128"})
    for members, group in groups.items():
        for index, hop in enumerate(members):
            yield Entry("ecmp", "to_port", _to(topology, switch, hop), {"meta.ecmp_group": str(group), "meta.ecmp_index": str(index)})


def _to(topology: Topology, switch: Switch, neighbour: str) -> dict[str, str]:
    port = switch.port_to(neighbour)
    there: Switch | Host = topology.switches.get(neighbour) or topology.hosts[neighbour]
    dst_mac = there.mac if isinstance(there, Host) else port_mac(there, there.port_to(switch.name))
    return {"port": str(port), "src_mac": port_mac(switch, port), "dst_mac": dst_mac}


def _watchlist(telemetry: Telemetry) -> Iterator[Entry]:
    parameters = {
        "mode": str(MODES[telemetry.mode]),
        "npt": str(MARKS[telemetry.mark] if telemetry.mode in ("md", "mx") else INT_NPT_DSCP),
        "instructions": str(telemetry.instructions),
        "hops": str(telemetry.hops),
        "sample": str(telemetry.sample),
    }
    for number, watch in enumerate(telemetry.watch):
        keys = {}
        for name, key in (("source", "meta.src"), ("destination", "meta.dst")):
            if name in watch:
                keys[key] = _masked(watch[name])
        if "dscp" in watch:
            keys["meta.dscp"] = f"{watch['dscp']}&&&0x3f"
        if "dest_qp" in watch:
            keys["hdr.bth.dest_qp"] = f"{watch['dest_qp']}&&&0xffffff"
        # the first in the file wins
        yield Entry("watchlist", "watch", parameters, keys, priority=len(telemetry.watch) - number)


def _masked(prefix: str) -> str:
    network = ipaddress.ip_network(prefix)
    address, mask = int(network.network_address), int(network.netmask)
    if network.version == 4:
        address, mask = _MAPPED | address, (1 << 128) - (1 << 32) | mask
    return f"{ipaddress.IPv6Address(address)}&&&{ipaddress.IPv6Address(mask)}"
