"""A fabric as a YAML file declares it: switches with numbered ports, hosts with addresses; links are what two sides agree on."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from int_analyzer.errors import TopologyError

MONITOR = "monitor"
"""The node that is no part of a fabric but hears from all of it."""

NOWHERE: Mapping[str, str] = MappingProxyType({})
"""Neighbours by name, for no name."""

_BUILT_IN = "topologies"
_NAME = re.compile(r"[A-Za-z0-9]{1,7}")
"""Two names and a dash are the name of an interface, which has 15 characters at most (IFNAMSIZ)."""
_EMBEDDED = int(ipaddress.IPv6Address("2001:db8::"))
"""IPv6 addresses of hosts: the documentation prefix with the IPv4 address as its last 32 bits (RFC 3849)."""


@dataclass(frozen=True)
class Switch:
    """A switch: its id in telemetry, its role, and the neighbour at each of its ports."""

    name: str
    id: int
    role: str
    ports: Mapping[int, str]

    def port_to(self, neighbour: str) -> int:
        return next(port for port, name in self.ports.items() if name == neighbour)


@dataclass(frozen=True)
class Host:
    """A host at one port of one switch."""

    name: str
    ipv4: str
    switch: str
    port: int

    @property
    def ipv6(self) -> str:
        return str(ipaddress.IPv6Address(_EMBEDDED | int(ipaddress.IPv4Address(self.ipv4))))

    @property
    def mac(self) -> str:
        return _mac(0, int(ipaddress.IPv4Address(self.ipv4)))


@dataclass(frozen=True)
class Topology:
    """Switches and hosts by name, and whatever else the file says, by section."""

    name: str
    switches: Mapping[str, Switch]
    hosts: Mapping[str, Host]
    sections: Mapping[str, Any]

    def links(self) -> Iterator[tuple[str, str]]:
        """Pairs of neighbours, each once, switches before their hosts."""
        for switch in self.switches.values():
            for neighbour in switch.ports.values():
                if neighbour in self.hosts or switch.name < neighbour:
                    yield switch.name, neighbour

    def hosts_of(self, switch: str) -> list[Host]:
        return [host for host in self.hosts.values() if host.switch == switch]

    def next_hops(self, switch: str, host: Host, pinned: Mapping[str, str] = NOWHERE) -> list[str]:
        """The neighbours on all shortest ways from a switch to a host; of a switch that is pinned to one of them, that one."""
        distance = self._distances(host.switch)
        if switch == host.switch:
            return [host.name]
        hops = [name for name in self.switches[switch].ports.values() if distance.get(name, len(distance)) == distance[switch] - 1]
        return [pinned[switch]] if pinned.get(switch) in hops else hops

    def _distances(self, target: str) -> dict[str, int]:
        found, frontier = {target: 0}, [target]
        for name in frontier:
            for neighbour in self.switches[name].ports.values():
                if neighbour in self.switches and neighbour not in found:
                    found[neighbour] = found[name] + 1
                    frontier.append(neighbour)
        return found


def interface(node: str, neighbour: str) -> str:
    """The name of a node's interface towards a neighbour."""
    return f"{node}-{neighbour}"


def port_mac(switch: Switch, port: int) -> str:
    """The hardware address of a switch port: locally administered, from its ids."""
    return _mac(1 + port, switch.id)


def load_topology(name: str) -> Topology:
    """Read a topology file; a bare name is one of those that come with this package."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        try:
            text = path.read_text()
        except OSError as error:
            raise TopologyError(name, "", error.strerror or str(error)) from error
    else:
        folder = resources.files(__package__) / _BUILT_IN
        file = folder / f"{name}.yaml"
        if not file.is_file():
            known = ", ".join(sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")))
            raise TopologyError(name, "", f"no topology of this name; there are: {known}; or give a .yaml file")
        text = file.read_text()
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise TopologyError(name, "", " ".join(str(error).split())) from error
    return _Reader(name).topology(document)


class _Reader:
    """Checks a document while it becomes a topology; what is wrong is named by its dotted key."""

    def __init__(self, path: str) -> None:
        self._path = path

    def topology(self, document: Any) -> Topology:
        top = self._table(document, "")
        switches = {name: self._switch(name, entry) for name, entry in self._table(top.get("switches"), "switches").items()}
        addresses = self._table(top.get("hosts"), "hosts")
        for section, names in (("switches", switches), ("hosts", addresses)):
            for name in names:
                if not isinstance(name, str) or not _NAME.fullmatch(name) or name == MONITOR:
                    raise self._error(f"{section}.{name}", "is no name: one to seven letters and digits, and not monitor")
        ids = [switch.id for switch in switches.values()]
        if len(set(ids)) != len(ids):
            raise self._error("switches", "two switches have one id")
        hosts = {name: self._host(name, address, switches) for name, address in addresses.items()}
        for switch in switches.values():
            for port, neighbour in switch.ports.items():
                if neighbour in hosts:
                    continue
                if neighbour not in switches:
                    raise self._error(f"switches.{switch.name}.ports.{port}", f"{neighbour} is no switch and no host")
                if switch.name not in switches[neighbour].ports.values():
                    raise self._error(f"switches.{switch.name}.ports.{port}", f"{neighbour} has no port to {switch.name}")
        sections = {key: value for key, value in top.items() if key not in ("name", "switches", "hosts")}
        return Topology(str(top.get("name", Path(self._path).stem)), switches, hosts, sections)

    def _switch(self, name: str, entry: Any) -> Switch:
        key = f"switches.{name}"
        table = self._table(entry, key)
        unknown = set(table) - {"id", "role", "ports"}
        if unknown:
            raise self._error(f"{key}.{min(unknown)}", "nothing reads this key")
        ports = self._table(table.get("ports"), f"{key}.ports")
        if len(set(ports.values())) != len(ports):
            raise self._error(f"{key}.ports", "two ports lead to one neighbour")
        numbers = {self._number(port, f"{key}.ports.{port}", 1, 255): str(neighbour) for port, neighbour in ports.items()}
        # 24 bits: the node id of an IOAM trace (RFC 9197 §4.4.2.1)
        return Switch(name, self._number(table.get("id"), f"{key}.id", 1, 0xFF_FFFE), str(table.get("role", "switch")), numbers)

    def _host(self, name: str, address: Any, switches: Mapping[str, Switch]) -> Host:
        key = f"hosts.{name}"
        at = [switch for switch in switches.values() if name in switch.ports.values()]
        if len(at) != 1:
            raise self._error(key, f"is at {len(at)} switches, not at one")
        try:
            ipv4 = ipaddress.IPv4Address(address)
        except ValueError as error:
            raise self._error(key, str(error)) from error
        return Host(name, str(ipv4), at[0].name, at[0].port_to(name))

    def _table(self, value: Any, key: str) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise self._error(key, "is missing" if value is None else "is no table")
        return value

    def _number(self, value: Any, key: str, low: int, high: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self._error(key, f"{value!r} is no number from {low} to {high}")
        return value

    def _error(self, key: str, reason: str) -> TopologyError:
        return TopologyError(self._path, key, reason)


def _mac(kind: int, number: int) -> str:
    octets = (0x02, kind & 0xFF, *number.to_bytes(4, "big"))
    return ":".join(f"{octet:02x}" for octet in octets)
