"""What tshark does not read, or reads otherwise for a reason of its own. It is not compared, and counted under these names.

The habits were seen with tshark 4.0; a version that has lost one shows nothing new here, it is only still not compared.
"""

from __future__ import annotations

REPORT = "telemetry report: tshark alone has no dissector, and our columns are those of the reported packet"
REPORTS = "several telemetry reports in a datagram: whose packet a layer is cannot be told"
INT = "INT, and the RoCEv2 behind it: tshark alone has no dissector and takes the INT header for a BTH"
INT_PORT = "UDP ports of INT v2: ours are those that the INT source had replaced"
INT_OTHER = "INT that the dissector reads as another kind, or whose hops it does not show"
INT_TUNNEL = "packet behind INT in VXLAN-GPE: tshark does not know the next protocol"
REJECTED = "not read to the end here: {status}"
IOAM_TUNNEL = "IOAM in Geneve, VXLAN-GPE or NSH, and what stands behind it: tshark reads it in IPv6 only"
OTHER = "{format}: tshark has no dissector, and what stands behind it is another packet for it"
LUMINA = "packet whose fields Lumina has rewritten: ours are the original ones"
ETHERTYPE = "packet behind EtherType {value:#06x}: tshark does not know it"
PSEUDOWIRE = "packet in an MPLS pseudowire: tshark guesses whether there is a control word, and without one where we see one"
ERSPAN_IP = "packet in ERSPAN III of frame type IP: tshark shows it as data"
SOURCE_PORT = "RoCEv2 whose source port is another protocol's: tshark lets the smaller port decide"
ROCE_REJECTED = "RoCEv2 that is not read to the end here: {status}"
LUA_CUT = "RoCEv2 in a packet that is cut: a Lua dissector hands on what is there as if it was all"
FRAGMENT = "ICRC of a fragment: tshark takes the last bytes of the fragment for it"
TUNNELS = "packet in more than 4 tunnels, which are not followed here"
REVERSED = "source port of RoCEv2: tshark reads either port as RoCEv2, we read the destination port"
OPCODE = "extension headers of XRC, RD, CNP, FLUSH, ATOMIC WRITE and vendor opcodes: tshark does not know them"
IOAM_SEVERAL = "several IOAM traces in one packet: ours is the last"
MALFORMED = "packet that tshark gives up as malformed before its transport header"
TIMELESS = "time of a packet that has none in the capture"

WHOLE_PACKET = frozenset(("link", "ethernet", "mpls", "ip", "udp", "gre", "erspan", "vxlan", "geneve", "tunnel", "ioam", "report"))
"""Layers of statuses (status.STATUSES) after which nothing but the record is compared. Behind a rejected IOAM option or report the
reading goes on, and how far it came the status no longer says."""

OPCODES_READ = frozenset((*range(0x15), 0x16, 0x17, *range(0x20, 0x2C), 0x64, 0x65))
"""Opcodes whose extension headers tshark reads as IBTA Vol.1 has them: RC, UC, UD. It labels 0x80 "CNP" (the prefix), where CNP is
0x81, and takes RD for a vendor's "DC" with other headers."""

UNKNOWN_ETHERTYPES = frozenset((0x9200, 0x9900, 0xBF04, 0xBF05))
"""What is read here and ends the packet for tshark: an old QinQ type, CSIG, recirculated reports."""

HEURISTICS = ("infiniband.payload", "infiniband.mad.cm.private")
"""Tables of dissectors that guess from RDMA data what it may be (RPC over RDMA, NVMe, iSER …). A wrong guess ends the packet before
its ICRC is shown, so they are switched off."""

NOT_HEURISTIC = frozenset(("ethertype",))
"""Named in those tables, but what reads every Ethernet frame: stays on."""

PREFERENCES = {
    # headers of a fragment are compared where they stand, not where the last one is put together
    "ip.defragment": "FALSE",
    "ipv6.defragment": "FALSE",
    "ip.decode_tos_as_diffserv": "TRUE",
    "ip.security_flag": "FALSE",
    "ip.try_heuristic_first": "FALSE",
    "ipv6.exthdr_under_root_protocol_tree": "FALSE",
    "udp.try_heuristic_first": "FALSE",
    "tcp.desegment_tcp_streams": "FALSE",
}
"""What somebody's own Wireshark preferences must not change. None is of infiniband: that would take RoCE's port from a Lua dissector."""
