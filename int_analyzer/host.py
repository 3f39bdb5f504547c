"""Hosts by address: what they are called, and the groups they belong to (a job, a rack, a storage pool), as a profile says it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from functools import cached_property

from int_analyzer.toml_table import Table

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Hosts:
    """Names by address (as `ipaddress` writes it), and the networks of every group."""

    names: dict[str, str] = field(default_factory=dict)
    groups: dict[str, tuple[Network, ...]] = field(default_factory=dict)

    def name_of(self, address: str) -> str | None:
        """What the host at an address is called; None if nobody said."""
        return self.names.get(address)

    def groups_of(self, address: str) -> list[str]:
        """Groups that an address belongs to, by name."""
        known = self._groups_of_address.get(address)
        if known is None:
            place = ipaddress.ip_address(address)
            known = [name for name, networks in self.groups.items() if any(place in network for network in networks)]
            self._groups_of_address[address] = known
        return known

    @cached_property
    def _groups_of_address(self) -> dict[str, list[str]]:
        return {}


def read_hosts(hosts: Table, groups: Table) -> Hosts:
    """Hosts from the tables [host."ADDRESS"] and [group.NAME]. Raises ProfileError."""
    names: dict[str, str] = {}
    address_of: dict[str, str] = {}
    for key in hosts.values:
        address = _address(hosts, key)
        if address in names:
            raise hosts.error(key, f"is the same address as {address}")
        name = hosts.table(key, ("name",)).text("name")
        if name is None:
            raise hosts.error(key, "needs a name")
        if name in address_of:
            raise hosts.error(key, f"{name!r} is the name of {address_of[name]} too")
        names[address], address_of[name] = name, address
    members = {name: groups.table(name, ("hosts",)) for name in groups.values}
    what = 'host names, addresses and networks ("10.0.1.0/24")'
    return Hosts(
        names=names,
        groups={name: tuple(_network(table, entry, address_of) for entry in table.texts("hosts", what)) for name, table in members.items()},
    )


def _address(table: Table, text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise table.error(text, "is no IP address") from None


def _network(table: Table, text: str, address_of: dict[str, str]) -> Network:
    try:
        return ipaddress.ip_network(address_of.get(text, text))
    except ValueError as error:
        raise table.error("hosts", f"{text!r} is neither a named host nor an address or network: {error}") from None
