"""What a source of counters calls a port or a host → the ids and addresses by which the capture knows it."""

from __future__ import annotations

import ipaddress
import re

from int_analyzer.counter import PORT, Metric
from int_analyzer.profile import Profile

Place = tuple[int | None, int | None, str | None]
"""Node id, port id, address of a host."""

_WITH_PORT = re.compile(r"(.+):\d+")


class Places:
    """Names of a profile, the other way round. What a Prometheus adds to a name (":9100") is taken off if the whole is no name."""

    def __init__(self, profile: Profile) -> None:
        self._nodes = {node.name: number for number, node in profile.nodes.items() if node.name}
        self._ports = {
            (number, port.name): port_id for number, node in profile.nodes.items() for port_id, port in node.ports.items() if port.name
        }
        self._hosts = {name: address for address, name in profile.hosts.names.items()}

    def find(self, metric: Metric, node: str, port: str, host: str) -> Place | None:
        """The place of a series; None if nobody knows it."""
        if metric.of != PORT:
            address = self._host(host)
            return None if address is None else (None, None, address)
        node_id = self._node(node)
        port_id = None if node_id is None else self._port(node_id, port)
        return None if port_id is None else (node_id, port_id, None)

    def _node(self, text: str) -> int | None:
        for name in _names(text):
            found = self._nodes.get(name, _number(name))
            if found is not None:
                return found
        return None

    def _port(self, node_id: int, text: str) -> int | None:
        return self._ports.get((node_id, text), _number(text))

    def _host(self, text: str) -> str | None:
        for name in _names(text):
            found = self._hosts.get(name) or _address(name)
            if found is not None:
                return found
        return None


def _names(text: str) -> list[str]:
    """A name as it stands, and without a port behind it."""
    cut = _WITH_PORT.fullmatch(text)
    return [text] if cut is None else [text, cut[1].strip("[]")]


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def _address(text: str) -> str | None:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None
