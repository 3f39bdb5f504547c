"""The fabric that is simulated: leaves, spines, hosts, and the links between them, two directions each.

A leaf's ports 1 … h lead to its hosts, h + 1 … h + s to the spines; a spine's ports 1 … l lead to the leaves. Profile, packets and truth
use the same numbers. A *site* is a host, a leaf or a spine, numbered in this order; a *link* is one direction of a cable:

    cable = link // 2      host i ↔ its leaf: cable i      leaf i ↔ spine j: cable hosts + i × spines + j
    link 2 × cable leads up, link 2 × cable + 1 down; the queue of a link is that of the port which sends on it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

FIRST_SPINE_ID, FIRST_LEAF_ID = 1, 1001
GIGABIT = 1_000_000_000
SPEEDS_BPS = tuple(gigabit * GIGABIT for gigabit in (10, 25, 40, 50, 100, 200, 400, 800))
"""Speeds that ports are sold with."""
CELL_BYTES = 208
"""Switch memory is given out in cells; queue depths are told in them."""


class Links(NamedTuple):
    """Directed links: sites and port numbers at both ends (0 at a host), nominal speed, propagation delay."""

    source: Any
    source_port: Any
    target: Any
    target_port: Any
    speed_bps: Any
    delay_ns: Any


class Fabric(NamedTuple):
    """A two-tier fabric. Hosts are numbered leaf by leaf."""

    leaves: int
    spines: int
    hosts_per_leaf: int
    links: Links

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return self.leaves * self.hosts_per_leaf

    @property
    def sites(self) -> int:
        """Number of hosts, leaves and spines."""
        return self.hosts + self.leaves + self.spines

    def leaf_of(self, host: int) -> int:
        """The leaf (0 …) of a host."""
        return host // self.hosts_per_leaf

    def leaf_site(self, leaf: int) -> int:
        """Site of a leaf."""
        return self.hosts + leaf

    def spine_site(self, spine: int) -> int:
        """Site of a spine."""
        return self.hosts + self.leaves + spine

    def to_host(self, host: int) -> int:
        """The link from a host's leaf down to it."""
        return 2 * host + 1

    def to_spine(self, leaf: int, spine: int) -> int:
        """The link from a leaf up to a spine."""
        return 2 * (self.hosts + leaf * self.spines + spine)

    def to_leaf(self, spine: int, leaf: int) -> int:
        """The link from a spine down to a leaf."""
        return self.to_spine(leaf, spine) + 1

    def node_id(self, site: int) -> int:
        """The id by which telemetry calls a switch; 0 for a host."""
        if site < self.hosts:
            return 0
        switch = site - self.hosts
        return FIRST_LEAF_ID + switch if switch < self.leaves else FIRST_SPINE_ID + switch - self.leaves

    def site_name(self, site: int) -> str:
        """host3, leaf1, spine2: counted from 0."""
        if site < self.hosts:
            return f"host{site}"
        switch = site - self.hosts
        return f"leaf{switch}" if switch < self.leaves else f"spine{switch - self.leaves}"

    def port_name(self, link: int) -> str:
        """What the sending port of a link is called: where it leads to."""
        return f"to-{self.site_name(int(self.links.target[link]))}"

    def address(self, host: int) -> int:
        """IPv4 address of a host: 10.(leaf + 1).0.(place + 1)."""
        return 10 << 24 | (self.leaf_of(host) + 1) << 16 | (host % self.hosts_per_leaf + 1)


def build_fabric(
    leaves: int,
    spines: int,
    hosts_per_leaf: int,
    host_gigabit: int = 25,
    uplink_gigabit: int | None = None,
    delay_ns: int = 300,
) -> Fabric:
    """A fabric in which every leaf has a link to every spine.

    Without `uplink_gigabit` the uplinks of a leaf together carry what its hosts can send, and none is slower than a host's link.
    """
    hosts = leaves * hosts_per_leaf
    host_bps = host_gigabit * GIGABIT
    uplink_bps = uplink_gigabit * GIGABIT if uplink_gigabit else _next_speed(max(host_bps, host_bps * hosts_per_leaf / spines))
    host, leaf = np.arange(hosts), np.repeat(np.arange(leaves), spines)
    spine = np.tile(np.arange(spines), leaves)
    low = np.concatenate((host, hosts + leaf))
    low_port = np.concatenate((np.zeros(hosts, dtype=np.int64), hosts_per_leaf + 1 + spine))
    high = np.concatenate((hosts + host // hosts_per_leaf, hosts + leaves + spine))
    high_port = np.concatenate((host % hosts_per_leaf + 1, leaf + 1))
    speed = np.concatenate((np.full(hosts, host_bps), np.full(leaves * spines, uplink_bps)))
    return Fabric(
        leaves,
        spines,
        hosts_per_leaf,
        Links(
            source=np.column_stack((low, high)).ravel(),
            source_port=np.column_stack((low_port, high_port)).ravel(),
            target=np.column_stack((high, low)).ravel(),
            target_port=np.column_stack((high_port, low_port)).ravel(),
            speed_bps=np.repeat(speed, 2),
            delay_ns=np.full(2 * len(speed), delay_ns),
        ),
    )


def write_profile(fabric: Fabric, depth_unit: str = "cells") -> str:
    """The fabric's profile as TOML text: what an operator knows of it. `depth_unit` is "cells" or "bytes"."""
    lines = ["[units]", f'queue_depth = "{depth_unit}"']
    if depth_unit == "cells":
        lines.append(f"cell_bytes = {CELL_BYTES}")
    lines += ['hop_latency = "ns"', 'time = "ns"', 'ioam_time = "ptp"']
    links = fabric.links
    for site in range(fabric.hosts, fabric.sites):
        role = "leaf" if site < fabric.hosts + fabric.leaves else "spine"
        node = fabric.node_id(site)
        lines += ["", f"[node.{node}]", f'name = "{fabric.site_name(site)}"', f'role = "{role}"', "", f"[node.{node}.ports]"]
        for link in np.flatnonzero(links.source == site).tolist():
            port, speed = int(links.source_port[link]), float(links.speed_bps[link])
            lines.append(f'{port} = {{ name = "{fabric.port_name(link)}", speed_bps = {speed:.0f} }}')
    return "\n".join(lines) + "\n"


def _next_speed(bps: float) -> int:
    return next((speed for speed in SPEEDS_BPS if speed >= bps), SPEEDS_BPS[-1])
