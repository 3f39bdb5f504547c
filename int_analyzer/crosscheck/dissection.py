"""What tshark made of one packet: the layers that we read too, in order, and the values of their fields."""

from __future__ import annotations

import ipaddress
import itertools
from typing import Any, NamedTuple

ETHERNET = frozenset(("eth", "vlan", "ieee8021ad", "sll", "raw"))
_NETWORK = frozenset(("ip", "ipv6"))
_FRAME = ETHERNET - {"sll", "raw"}
# What may follow a layer and is read here. tshark goes on into more (GTP, MPLS in UDP, what an ICMP message quotes, …).
_FOLLOWS: dict[str, frozenset[str]] = {
    "": ETHERNET | _NETWORK,
    **dict.fromkeys(ETHERNET, _FRAME - {"eth"} | _NETWORK | {"mpls"}),
    "mpls": _NETWORK | {"mpls", "eth"},
    **dict.fromkeys(_NETWORK, _NETWORK | {"udp", "tcp", "gre"}),
    "gre": _NETWORK | {"eth", "mpls", "erspan"},
    **dict.fromkeys(("erspan", "vxlan", "geneve"), _NETWORK | {"eth"}),
    "udp": frozenset(("vxlan", "geneve", "infiniband", "int", "intreport")),
    "tcp": frozenset(),
    "infiniband": frozenset(),
    # of a Lua dissector
    "int": _NETWORK | {"infiniband", "udp", "tcp"},
    "intreport": _NETWORK | {"eth"},
}
_DATA = "data"
_GRE_ERSPAN = (0x88BE, 0x22EB)
_NEXT_HEADERS = {0: "ipv6.hopopts.nxt", 60: "ipv6.dstopts.nxt", 43: "ipv6.routing.nxt", 44: "ipv6.fraghdr.nxt"}


class Layer:
    """One of pyshark's XML layers: the numbers that its fields hold, by tshark's name of the field."""

    def __init__(self, layer: Any) -> None:
        self.name = str(layer.layer_name).lower()
        self._layer = layer
        self._names = set(layer.field_names)

    def fields(self, name: str) -> list[Any]:
        """All occurrences of a field, in their order. pyshark searches long for a name that is not there."""
        known = name.replace(self.name + ".", "").replace(".", "_").replace("-", "_").lower()
        found = self._layer.get_field(name) if known in self._names else None
        return [] if found is None else list(found.all_fields)

    def values(self, name: str) -> list[int]:
        """Values of all occurrences that stand in the packet's bytes."""
        return [int(field.raw_value, 16) for field in self.fields(name) if field.raw_value]

    def value(self, name: str) -> int | None:
        """Value of the first occurrence, None if there is none."""
        return next(iter(self.values(name)), None)

    def shown(self, name: str, within: Any = None) -> int | None:
        """The number that the first occurrence (`within` a field) shows: a field of a Lua dissector may be some bits of its bytes."""
        for field in self.fields(name):
            if within is None or 0 <= int(field.pos) - int(within.pos) < int(within.size):
                return int(field.show, 0)
        return None

    def address(self, name: str) -> str | None:
        """Text of an IPv4 or IPv6 address."""
        found = self.fields(name)
        return str(ipaddress.ip_address(bytes.fromhex(found[0].raw_value))) if found and found[0].raw_value else None


class Mirror(NamedTuple):
    """An ERSPAN header with the GRE and the IP header in front of it."""

    erspan: Layer
    gre: Layer
    network: Layer | None

    @property
    def kind(self) -> int:
        """1, 2, 3: type I, II, III."""
        version = self.erspan.value("erspan.version")
        return 1 if version is None else version + 1


class Dissection:
    """The chain of layers of one packet as far as we read such layers ourselves; `behind` is the name of the layer it ends at."""

    def __init__(self, packet: Any) -> None:
        self.packet = packet
        self.chain: list[Layer] = []
        self.behind = ""
        previous = ""
        for found in packet.layers:
            name = str(found.layer_name).lower()
            if name in _FOLLOWS[previous]:
                self.chain.append(Layer(found))
                self.behind, previous = "", name
            elif name == _DATA:
                # bytes that a layer hands on unread; a layer may stand behind them
                self.behind = name
            else:
                self.behind = name
                break

    @property
    def malformed(self) -> bool:
        """Whether tshark gave up in the last layer of the chain."""
        return self.behind == "_ws.malformed"

    def last(self, *names: str) -> Layer | None:
        """The innermost layer of these names."""
        return next((layer for layer in reversed(self.chain) if layer.name in names), None)

    @property
    def network(self) -> Layer | None:
        """The innermost IP header."""
        return self.last("ip", "ipv6")

    @property
    def transport(self) -> Layer | None:
        """The last UDP or TCP header behind the innermost IP header."""
        network = self.network
        if network is None:
            return None
        behind = self.chain[self.chain.index(network) + 1 :]
        return next((layer for layer in reversed(behind) if layer.name in ("udp", "tcp")), None)

    @property
    def version(self) -> int:
        """4, 6, or 0 if there is no IP header."""
        network = self.network
        return 0 if network is None else 4 if network.name == "ip" else 6

    @property
    def protocol(self) -> int | None:
        """IP protocol behind the extension headers of the innermost IP header."""
        network = self.network
        if network is None:
            return None
        if network.name == "ip":
            return network.value("ip.proto")
        protocol = network.value("ipv6.nxt")
        waiting = {name: network.values(name) for name in _NEXT_HEADERS.values()}
        while protocol in _NEXT_HEADERS and waiting[_NEXT_HEADERS[protocol]]:
            protocol = waiting[_NEXT_HEADERS[protocol]].pop(0)
        return protocol

    @property
    def vlan(self) -> int | None:
        """VLAN of the last tag."""
        tag = self.last("vlan", "ieee8021ad")
        return None if tag is None else tag.value(f"{tag.name}.id")

    @property
    def ethertype(self) -> int | None:
        """What the last Ethernet header or tag says that follows."""
        layer = self.last(*ETHERNET)
        if layer is None:
            return None
        return next((value for name in ("vlan.etype", "ieee8021ah.etype", "ieee8021ad.etype", "eth.type", "sll.etype")
                     if (value := layer.value(name)) is not None), None)  # fmt: skip

    @property
    def tunnels(self) -> set[str]:
        """Tunnels and mirrors by the names of schema.TUNNELS."""
        found = set()
        for layer in self.chain:
            if layer.name == "gre" and layer.value("gre.proto") not in _GRE_ERSPAN:
                found.add("gre")
            elif layer.name == "vxlan":
                found.add("vxlan" if layer.value("vxlan.next_proto") is None else "vxlan-gpe")
            elif layer.name in ("mpls", "geneve", "nsh"):
                found.add(layer.name)
        return found | {f"erspan-{mirror.kind}" for mirror in self.mirrors}

    @property
    def levels(self) -> int:
        """Tunnel levels as they are counted here: a label stack, an IP header behind an IP header, GRE, VXLAN, Geneve, NSH."""
        names = ["", *(layer.name for layer in self.chain)]
        pairs = list(itertools.pairwise(names))
        stacks = sum(after == "mpls" and before != "mpls" for before, after in pairs)
        inner = sum(after in _NETWORK and before in _NETWORK for before, after in pairs)
        return stacks + inner + sum(name in ("gre", "vxlan", "geneve", "nsh") for name in names)

    @property
    def mirrors(self) -> list[Mirror]:
        """ERSPAN headers from the outside in."""
        found = []
        for position, layer in enumerate(self.chain):
            if layer.name == "erspan":
                network = next((outer for outer in reversed(self.chain[:position]) if outer.name in _NETWORK), None)
                found.append(Mirror(layer, self.chain[position - 1], network))
        return found
