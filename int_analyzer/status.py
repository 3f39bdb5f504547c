"""Why reading of a packet stopped, and what was odd that did not stop it: names, codes and bits, declared once."""

from __future__ import annotations

from typing import NamedTuple


class Status(NamedTuple):
    """Why reading of a packet stopped: code in the column, name, layer, meaning. `reject` is False where nothing is wrong."""

    code: int
    name: str
    layer: str
    doc: str
    reject: bool = True


_HARMLESS = ("ok", "not-ip", "not-udp", "fragment")

STATUSES: tuple[Status, ...] = tuple(
    Status(code, name, layer, doc, name not in _HARMLESS)
    for code, (name, layer, doc) in enumerate(
        (
            ("ok", "", "read to the end of what is understood"),
            ("not-ip", "ethernet", "neither IPv4 nor IPv6 (ARP, LLDP, PFC pause, …)"),
            ("not-udp", "ip", "TCP, ICMP or another protocol that carries nothing read here"),
            ("fragment", "ip", "not the first fragment: the transport header is in another packet"),
            ("link-type-unknown", "link", "the interface's link type is not one of those read"),
            ("link-truncated", "link", "captured bytes end inside the link-layer header"),
            ("vlan-limit", "ethernet", "more than 8 VLAN tags"),
            ("mpls-truncated", "mpls", "captured bytes end inside the label stack"),
            ("mpls-limit", "mpls", "more than 16 labels without a bottom of stack"),
            ("mpls-payload-unknown", "mpls", "what follows the labels is neither IPv4, IPv6 nor a control word with Ethernet"),
            ("ipv4-truncated", "ip", "captured bytes end inside the IPv4 header"),
            ("ipv4-header-length", "ip", "IHL is below 5 or the version nibble is not 4"),
            ("ipv4-total-length", "ip", "total length is smaller than the header"),
            ("ipv6-truncated", "ip", "captured bytes end inside the IPv6 header"),
            ("ipv6-version", "ip", "the version nibble is not 6"),
            ("ipv6-extension-truncated", "ip", "an extension header runs past the packet"),
            ("ipv6-extension-limit", "ip", "more than 8 extension headers"),
            ("ipv6-option-length", "ip", "an option runs past its extension header"),
            ("udp-truncated", "udp", "captured bytes end inside the UDP header"),
            ("udp-length", "udp", "UDP length is below 8"),
            ("gre-truncated", "gre", "captured bytes end inside the GRE header"),
            ("gre-version", "gre", "GRE version is not 0 (1 is PPTP)"),
            ("gre-routing", "gre", "GRE with source routing"),
            ("gre-protocol-unknown", "gre", "GRE carries a protocol that is not read"),
            ("erspan-truncated", "erspan", "captured bytes end inside the ERSPAN header"),
            ("erspan-version", "erspan", "ERSPAN version is neither 1 (type II) nor 2 (type III)"),
            ("erspan-payload-opaque", "erspan", "ERSPAN III frame type is neither Ethernet nor IP"),
            ("vxlan-truncated", "vxlan", "captured bytes end inside the VXLAN header"),
            ("vxlan-gpe-version", "vxlan", "VXLAN-GPE version is not 0"),
            ("vxlan-gpe-protocol-unknown", "vxlan", "VXLAN-GPE carries a protocol that is not read"),
            ("geneve-truncated", "geneve", "captured bytes end inside the Geneve header"),
            ("geneve-version", "geneve", "Geneve version is not 0"),
            ("geneve-options-overrun", "geneve", "a Geneve option runs past the option length"),
            ("geneve-protocol-unknown", "geneve", "Geneve carries a protocol that is not read"),
            ("tunnel-limit", "tunnel", "more than 4 tunnel levels"),
            ("bth-truncated", "roce", "captured bytes end inside the BTH"),
            ("bth-extension-truncated", "roce", "captured bytes end inside the extension headers of the opcode"),
            ("bth-opcode-unknown", "roce", "the opcode is reserved or vendor-defined: extension headers are not read"),
            ("bth-payload-negative", "roce", "headers, pad and ICRC need more bytes than the UDP length gives"),
            ("int-shim-truncated", "int", "captured bytes end inside the INT shim or metadata header"),
            ("int-shim-type", "int", "shim type is not one that is defined"),
            ("int-npt-reserved", "int", "next protocol type 3 is reserved"),
            ("int-port-loop", "int", "the original port of NPT 1 is an INT port again"),
            ("int-length-beyond-udp", "int", "the shim length runs past the UDP payload"),
            ("int-length-too-small", "int", "the shim length does not even hold the metadata header"),
            ("int-version-unknown", "int", "metadata header version is not one that is read; skipped by its length"),
            ("int-bitmap-zero", "int", "no instruction bit is set but the stack is not empty"),
            ("int-hop-length-zero", "int", "per-hop length is 0 but the stack is not empty"),
            ("int-hop-length-mismatch", "int", "per-hop length contradicts the instruction bitmap under every dialect: hops stay opaque"),
            ("int-stack-not-whole-hops", "int", "the stack is not a whole number of hops"),
            ("int-stack-truncated", "int", "captured bytes end inside the stack: the most recent hops are kept"),
            ("int-destination", "int", "INT destination header: has no defined body, skipped by its length"),
            ("report-truncated", "report", "captured bytes end inside a telemetry report header"),
            ("report-length", "report", "a report's length runs past the datagram or does not hold its own header"),
            ("report-metadata-length", "report", "metadata length contradicts the metadata bits"),
            ("report-type", "report", "report type or inner type is reserved"),
            ("report-inner-truncated", "report", "the reported packet ends inside its headers"),
            ("ioam-truncated", "ioam", "an IOAM option is too short for its header"),
            ("ioam-node-length", "ioam", "NodeLen contradicts the trace type"),
            ("ioam-remaining-length", "ioam", "RemainingLen is larger than the data space"),
            ("ioam-not-whole-nodes", "ioam", "filled bytes are not a whole number of nodes"),
            ("ioam-snapshot-overrun", "ioam", "an opaque state snapshot runs past the data space"),
            ("ioam-stack-truncated", "ioam", "captured bytes end inside the trace data: the most recent nodes are kept"),
            ("ioam-loopback-type", "ioam", "loopback flag with a trace type other than node id only"),
            ("ioam-option-type", "ioam", "an IOAM option type that is unassigned, or that protects integrity: skipped"),
            ("ioam-option-limit", "ioam", "more than 64 IOAM options without node data"),
            ("ioam-pot-type", "ioam", "proof of transit type is not 0"),
            ("ioam-e2e-sequence", "ioam", "an edge-to-edge option with both sequence numbers"),
            ("ioam-dex-length", "ioam", "a direct export option's length contradicts its extension flags"),
            ("ioam-shim-truncated", "ioam", "captured bytes end inside an IOAM header behind VXLAN-GPE or NSH"),
            ("ioam-shim-length", "ioam", "an IOAM header behind VXLAN-GPE or NSH runs past the packet"),
            ("mri-length", "ip", "the MRI option's length contradicts its count"),
            ("tcp-truncated", "tcp", "captured bytes end inside the TCP header"),
            ("tcp-header-length", "tcp", "the TCP data offset is below 5"),
            ("nsh-truncated", "nsh", "captured bytes end inside the NSH"),
            ("nsh-version", "nsh", "NSH version is not 0"),
            ("nsh-length", "nsh", "NSH length does not hold the header of its metadata type"),
            ("nsh-protocol-unknown", "nsh", "NSH carries a protocol that is not read"),
            ("ifa-truncated", "ifa", "captured bytes end inside the IFA header or the IFA metadata header"),
            ("ifa-version", "ifa", "IFA version is neither 2 nor 3"),
            ("ifa-optional-header", "ifa", "checksum or fragment header: their layout is not read"),
            ("ifa-next-header", "ifa", "IFA in front of a transport that is neither UDP, TCP nor GRE"),
            ("ifa-length", "ifa", "the metadata stack runs past the IP packet"),
            ("ifa-not-whole-hops", "ifa", "the metadata stack is not a whole number of 32-byte records: skipped"),
            ("ifa-stack-truncated", "ifa", "captured bytes end inside the metadata stack"),
            ("hpcc-truncated", "hpcc", "captured bytes end inside the HPCC header: the oldest hops are kept"),
            ("hpcc-length", "hpcc", "the HPCC header runs past the UDP payload"),
        )
    )
)
STATUS_CODE = {entry.name: entry.code for entry in STATUSES}

# Warnings: bits of `warnings`; the packet is read on.


class Warning_(NamedTuple):
    """Something odd that did not stop the reading: bit, name, meaning."""

    bit: int
    name: str
    doc: str


_WARNINGS = (
    ("captured-short", "fewer bytes captured than were on the wire"),
    ("captured-beyond-original", "the record claims more captured bytes than the packet had"),
    ("snaplen-exceeded", "the record is longer than the snap length of its file or interface"),
    ("timestamp-fraction", "the record's time fraction is a whole second or more"),
    ("ipv4-total-length-zero", "total length 0 (segmentation offload): captured length used"),
    ("ip-length-beyond-packet", "the IP length claims more bytes than there are: clipped"),
    ("ip-length-short", "bytes follow the end of the IP packet (padding or a trailer)"),
    ("udp-length-beyond-ip", "the UDP length claims more bytes than the IP packet: clipped"),
    ("udp-length-short", "the UDP length is shorter than the IP payload"),
    ("fragment-first", "first fragment: what follows the fragment is missing"),
    ("erspan-version-protocol", "ERSPAN version and GRE protocol do not belong together: version believed"),
    ("erspan-truncated-flag", "the mirror says that it cut the frame"),
    ("vxlan-flag", "VXLAN I flag not set"),
    ("geneve-critical", "an unknown critical Geneve option"),
    ("bth-version", "BTH transport version is not 0"),
    ("int-dialect", "the layout is not the specification's; a dialect explains it (column dialect)"),
    ("int-dialect-ambiguous", "more than one dialect explains the lengths; the first of the profile is used"),
    ("int-domain-default", "domain-specific bits set with domain 0"),
    ("int-npt", "NPT contradicts how the header was located"),
    ("int-hop-exceeded", "E: a node found the hop count exhausted, the path has a hole"),
    ("int-mtu-exceeded", "M: a node found no room under the MTU, the path has a hole"),
    ("node-repeated", "a node id stands twice in the stack: a loop or a duplicate id"),
    ("metadata-zero", "a hop whose metadata is all zero"),
    ("report-length-zero", "report length 0 although contents follow: read to the end of the datagram"),
    ("report-length-mismatch", "header length contradicts the metadata bits: skipped by length"),
    ("report-inner-cut", "the reported packet is cut; its own lengths are larger"),
    ("ioam-overflow", "O: a node found no room in the trace, the path has a hole"),
    ("ioam-unassigned-bits", "trace type has unassigned bits: read as 4 bytes each"),
    ("ioam-space-rest", "the data space is not a whole number of nodes"),
    ("report-limit", "more than 255 reports in the datagram: those behind this one are not read"),
)
WARNINGS: tuple[Warning_, ...] = tuple(Warning_(bit, *entry) for bit, entry in enumerate(_WARNINGS))
WARNING_BIT = {entry.name: 1 << entry.bit for entry in WARNINGS}
