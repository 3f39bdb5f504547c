"""What the layers have in common: their numbers and the meaning of the bounds that they hand on.

Every layer takes (buffer, at, limit, declared, …): `at` where its header begins, `limit` the end of bytes that are there (captured, and
inside every enclosing length), `declared` where the enclosing header says that the packet ends; `declared` is larger than `limit`
when the packet was cut. It returns the next layer, where that begins, its bounds, a status and warnings.
"""

END, ETHERNET, IPV4, IPV6, EXTENSION, UDP, TCP, INT, BTH, REPORT, ERSPAN, IFA, HPCC, LUMINA = range(14)
MPLS, GRE, VXLAN, VXLAN_GPE, GENEVE, NSH = range(14, 20)
FIRST_TUNNEL = MPLS
"""Layers from here on are counted as tunnel levels."""

TUNNEL_MPLS, TUNNEL_GRE, TUNNEL_ERSPAN_1, TUNNEL_ERSPAN_2, TUNNEL_ERSPAN_3 = 0x01, 0x02, 0x04, 0x08, 0x10
TUNNEL_VXLAN, TUNNEL_VXLAN_GPE, TUNNEL_GENEVE, TUNNEL_NSH, TUNNEL_LUMINA = 0x20, 0x40, 0x80, 0x100, 0x200

MAXIMUM_TAGS, MAXIMUM_LABELS, MAXIMUM_EXTENSIONS, MAXIMUM_TUNNELS = 8, 16, 8, 4
