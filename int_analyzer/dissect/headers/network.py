"""Link and network headers: Ethernet, tags, Linux cooked captures, MPLS, IPv4, IPv6, UDP, TCP."""

from __future__ import annotations

from int_analyzer.dissect.field import DEPTH, LATENCY, Field, Form, Header, flag, reserved

ETHERTYPES = {
    0x0800: "IPv4",
    0x86DD: "IPv6",
    0x8100: "VLAN",
    0x88A8: "QinQ",
    0x9100: "QinQ, old",
    0x9200: "QinQ, old",
    0x9900: "CSIG",
    0x8847: "MPLS",
    0x8848: "MPLS, multicast",
    0x6558: "Ethernet",
    0x0806: "ARP",
    0x88CC: "LLDP",
    0x8808: "MAC control",
    0x88BE: "ERSPAN I or II",
    0x22EB: "ERSPAN III",
    0x894F: "NSH",
    0xBF04: "report over IPv4",
    0xBF05: "report over MPLS",
}
PROTOCOLS = {
    0: "hop-by-hop options",
    1: "ICMP",
    4: "IPv4",
    6: "TCP",
    17: "UDP",
    41: "IPv6",
    43: "routing header",
    44: "fragment header",
    47: "GRE",
    50: "ESP",
    51: "AH",
    58: "ICMPv6",
    59: "no next header",
    60: "destination options",
    131: "IFA",
}
_ECN = {0: "not-ECT", 1: "ECT(1)", 2: "ECT(0)", 3: "CE"}


def _type(doc: str = "what follows") -> Field:
    return Field("type", 16, doc, Form.HEX, names=ETHERTYPES)


ETHERNET = Header(
    "eth", "Ethernet", "IEEE 802.3 §3.2", (Field("destination", 48, form=Form.MAC), Field("source", 48, form=Form.MAC), _type())
)
VLAN = Header(
    "vlan",
    "VLAN tag",
    "IEEE 802.1Q §9.6",
    (Field("priority", 3), flag("drop_eligible", "DEI"), Field("vlan_id", 12), _type()),
)
CSIG = Header(
    "csig",
    "CSIG tag",
    "draft-ravi-ippm-csig-01, compact form",
    (
        Field("signal", 3, "what is summarised", names={0: "min(ABW)", 1: "min(ABW/C)", 2: "max(hop delay)", 3: "max(nQD)"}),
        reserved(1),
        Field("value", 5, "bucket of 32"),
        Field("locator", 7, "where the bottleneck is"),
        _type(),
    ),
)
CSIG_WIDE = Header(
    "csig",
    "CSIG tag",
    "draft-ravi-ippm-csig-01, expanded form, whose fields no public text places",
    (Field("wide", 48, form=Form.HEX), _type()),
)
TCP_INT = Header(
    "tcpint",
    "TCP-INT option",
    "p4lang/p4app-TCP-INT",
    (
        Field("kind", 8, form=Form.HEX),
        Field("length", 8, unit="bytes"),
        Field("tag_frequency", 4, column="options.flags"),
        Field("link_speed", 4, "code"),
        Field("value", 8, "queue depth or utilisation of the bottleneck", column="options.utilisation_raw"),
        Field("hop_id", 8, "TTL at the bottleneck", column="options.hop_id"),
        Field("latency", 24, unit=LATENCY, column="options.hop_latency_raw"),
        Field("echoed_value", 8, "of the other direction"),
        Field("echoed_link_speed", 4),
        Field("echoed_hop_id", 4),
        Field("echoed_latency", 16),
    ),
)
SLL = Header(
    "sll",
    "Linux cooked capture",
    "LINKTYPE_LINUX_SLL",
    (
        Field("packet_type", 16, names={0: "to us", 1: "broadcast", 2: "multicast", 3: "to another host", 4: "from us"}),
        Field("device_type", 16, "ARPHRD"),
        Field("address_length", 16, unit="bytes"),
        Field("address", 64, form=Form.BYTES),
        _type(),
    ),
)
SLL2 = Header(
    "sll2",
    "Linux cooked capture v2",
    "LINKTYPE_LINUX_SLL2",
    (
        _type(),
        reserved(16),
        Field("interface", 32),
        Field("device_type", 16, "ARPHRD"),
        Field("packet_type", 8, names={0: "to us", 1: "broadcast", 2: "multicast", 3: "to another host", 4: "from us"}),
        Field("address_length", 8, unit="bytes"),
        Field("address", 64, form=Form.BYTES),
    ),
)
MPLS = Header(
    "mpls",
    "MPLS label",
    "RFC 3032 §2.1",
    (Field("label", 20), Field("traffic_class", 3), flag("bottom", "bottom of the stack"), Field("ttl", 8)),
)
MPLS_CONTROL = Header(
    "mpls.control",
    "MPLS control word",
    "RFC 4385 §3",
    (reserved(4), Field("flags", 4, form=Form.HEX), Field("fragmentation", 2), Field("length", 6), Field("sequence", 16)),
)
IPV4 = Header(
    "ip",
    "IPv4",
    "RFC 791 §3.1",
    (
        Field("version", 4, column="packets.ip_version"),
        Field("header_length", 4, unit="words"),
        Field("dscp", 6, "differentiated services", column="packets.dscp"),
        Field("ecn", 2, "congestion notification", names=_ECN, column="packets.ecn"),
        Field("total_length", 16, unit="bytes", column="packets.ip_bytes"),
        Field("identification", 16, form=Form.HEX, column="packets.ip_id"),
        reserved(1),
        flag("dont_fragment", "DF"),
        flag("more_fragments", "MF"),
        Field("fragment_offset", 13, unit="× 8 bytes"),
        Field("ttl", 8, column="packets.ttl"),
        Field("protocol", 8, "what follows", names=PROTOCOLS),
        Field("checksum", 16, form=Form.HEX),
        Field("source", 32, form=Form.IPV4, column="packets.src_lo"),
        Field("destination", 32, form=Form.IPV4, column="packets.dst_lo"),
    ),
)
IPV4_FILLER = Header("ip.option", "IPv4 option", "RFC 791 §3.1", (Field("type", 8, names={0: "end of options", 1: "no operation"}),))
IPV4_OPTION = Header(
    "ip.option",
    "IPv4 option",
    "RFC 791 §3.1",
    (
        flag("copied", "in all fragments"),
        Field("class", 2),
        Field("number", 5, names={7: "record route", 4: "timestamp", 20: "router alert", 31: "MRI"}),
        Field("length", 8, "with these two bytes", unit="bytes"),
    ),
)
MRI = Header("mri", "MRI option", "p4lang/tutorials, exercise mri", (Field("count", 16, "switches in the list"),))
MRI_SWITCH = Header(
    "mri.switch",
    "switch",
    "p4lang/tutorials, exercise mri",
    (
        Field("node_id", 32, column="hops.node_id"),
        Field("queue_depth", 32, "when the packet was enqueued", unit=DEPTH, column="hops.queue_depth_raw"),
    ),
)
IPV6 = Header(
    "ipv6",
    "IPv6",
    "RFC 8200 §3",
    (
        Field("version", 4, column="packets.ip_version"),
        Field("dscp", 6, "differentiated services", column="packets.dscp"),
        Field("ecn", 2, "congestion notification", names=_ECN, column="packets.ecn"),
        Field("flow_label", 20, form=Form.HEX),
        Field("payload_length", 16, unit="bytes"),
        Field("next_header", 8, "what follows", names=PROTOCOLS),
        Field("hop_limit", 8, column="packets.ttl"),
        Field("source", 128, form=Form.IPV6),
        Field("destination", 128, form=Form.IPV6),
    ),
)
_NEXT = (Field("next_header", 8, "what follows", names=PROTOCOLS), Field("length", 8, "behind the first 8 bytes", unit="× 8 bytes"))
HOP_BY_HOP = Header("ipv6.hop_by_hop", "IPv6 hop-by-hop options", "RFC 8200 §4.3", _NEXT)
DESTINATION = Header("ipv6.destination", "IPv6 destination options", "RFC 8200 §4.6", _NEXT)
ROUTING = Header(
    "ipv6.routing", "IPv6 routing header", "RFC 8200 §4.4", (*_NEXT, Field("type", 8), Field("segments_left", 8, "nodes still to visit"))
)
FRAGMENT = Header(
    "ipv6.fragment",
    "IPv6 fragment header",
    "RFC 8200 §4.5",
    (
        _NEXT[0],
        reserved(8),
        Field("offset", 13, unit="× 8 bytes"),
        reserved(2),
        flag("more", "more fragments follow"),
        Field("identification", 32, form=Form.HEX),
    ),
)
EXTENSIONS = {0: HOP_BY_HOP, 43: ROUTING, 44: FRAGMENT, 60: DESTINATION}
"""By the next header value that announces them."""
PAD1 = Header("ipv6.option", "IPv6 option", "RFC 8200 §4.2", (Field("type", 8, form=Form.HEX, names={0: "Pad1"}),))
IPV6_OPTION = Header(
    "ipv6.option",
    "IPv6 option",
    "RFC 8200 §4.2",
    (
        Field("type", 8, form=Form.HEX, names={1: "PadN", 0x31: "IOAM, may change", 0x11: "IOAM", 0x05: "router alert", 0xC2: "jumbo"}),
        Field("length", 8, "without these two bytes", unit="bytes"),
    ),
)
UDP = Header(
    "udp",
    "UDP",
    "RFC 768",
    (
        Field("source_port", 16),
        Field("destination_port", 16, names={4791: "RoCEv2", 4789: "VXLAN", 4790: "VXLAN-GPE", 6081: "Geneve", 8472: "VXLAN, Linux"}),
        Field("length", 16, unit="bytes"),
        Field("checksum", 16, form=Form.HEX),
    ),
)
TCP = Header(
    "tcp",
    "TCP",
    "RFC 9293 §3.1",
    (
        Field("source_port", 16),
        Field("destination_port", 16),
        Field("sequence", 32),
        Field("acknowledgement", 32),
        Field("header_length", 4, unit="words"),
        reserved(4),
        Field(
            "flags",
            8,
            form=Form.BITS,
            names={0x80: "CWR", 0x40: "ECE", 0x20: "URG", 0x10: "ACK", 8: "PSH", 4: "RST", 2: "SYN", 1: "FIN"},
        ),
        Field("window", 16),
        Field("checksum", 16, form=Form.HEX),
        Field("urgent", 16),
    ),
)
