"""Protocol numbers that more than one layer knows."""

from __future__ import annotations

from int_analyzer import schema

WELL_KNOWN = {4791: "roce", 4789: "vxlan", 8472: "vxlan", 4790: "vxlan-gpe", 6081: "geneve"}
ETHERNET, IPV4, IPV6 = 0x6558, 0x0800, 0x86DD
MPLS = (0x8847, 0x8848)
NSH = 0x894F
RECIRCULATED = {0xBF04: 0x0800, 0xBF05: 0x8847}
"""EtherTypes of reports that fabric-tna sends through its switch again, and what they hold."""
VLAN_TAGS = (0x8100, 0x88A8, 0x9100, 0x9200)
EXTENSION_HEADERS = (0, 43, 44, 60)
TUNNEL_BIT = {name: bit for bit, name in schema.TUNNELS.items()}
