"""The slow, obvious twin of the decoder: struct and int.from_bytes only, one packet at a time, nothing shared with the package but
names of columns, statuses and warnings. Where the two disagree, one of them misread the formats.

`decode_packet(data, link_type)` gives {"packet", "hops", "roce", "reports", "mirrors", "dialect"}: dictionaries with the names of the
columns in int_analyzer/schema.py. Values that are not there are None. 64-bit columns are unsigned here.
"""

# Decisions: what exactly is a status, a warning, a column where the formats leave a choice
# ==========================================================================================
# Extents. Every layer has `end` (how far its parent says it goes, on the wire: starts as max(original, captured) bytes, then IP
#   length, UDP length, report end, …) and the reader has `avail` = the smallest of captured and all ends so far. A header must lie
#   inside `avail`; lengths are compared with the `end` of their parent.
# First non-ok status wins and stays, also over not-udp, not-ip, fragment. Some statuses do not stop the reading; marked → on.
# status_at = offset in the captured bytes of the header that could not be read (beyond them if a length leads there); 0 if ok.
#
# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# link      link type not 1, 12, 14, 101, 113, 228, 229, 276       link-type-unknown                  0
#           Ethernet < 14, SLL < 16, SLL2 < 20, RAW: 0 bytes       link-truncated                     start of that header
#           RAW nibble neither 4 nor 6                             not-ip                             0
#           tag (TCI + next type, 4 bytes) not whole               link-truncated                     TCI (just behind the type)
#           9th tag (8100 88A8 9100 9200, CSIG 9900 counts)        vlan-limit                         TCI of the 9th
#           EtherType not tag, 0800, 86DD, 8847, 8848              not-ip                             just behind the type
#           vlan_id = last 802.1Q-like tag read (CSIG is none); an untagged inner Ethernet leaves the outer one's in place
#           csig = the 16 bits of the first CSIG tag read, in any Ethernet header, outside or inside. All ones are no tag: the next counts.
# mpls      label not whole; nothing behind the bottom label       mpls-truncated                     that label; behind the labels
#           17th label                                             mpls-limit                         17th label
#           behind the bottom: 4 with IHL ≥ 5 → IPv4, 6 → IPv6, 0 → 4 bytes and Ethernet; else mpls-payload-unknown at payload
# ipv4      < 20 bytes, or options not whole (of IHL)              ipv4-truncated                     IPv4 header
#           version ≠ 4 or IHL < 5                                 ipv4-header-length                 IPv4 header
#           total length 0                                         w ipv4-total-length-zero           (IP ends where parent ends)
#           0 < total length < IHL·4                               ipv4-total-length                  IPv4 header
#           total length > parent                                  w ip-length-beyond-packet; inside a report w report-inner-cut
#           total length < parent                                  w ip-length-short
#           offset ≠ 0                                             fragment                           behind the IP header
#           MF with offset 0                                       w fragment-first → on
#           option whose number (low 5 bits) is 31: format mri; its length ≠ 4 + 8·count, < 4 or beyond header: mri-length → on, at
#           the option, no hops. Other option damage is ignored (the walk of the options ends).
#           mri: the first option of a header whose length is right counts (also with count 0, also in a later fragment). Hops in path
#           order (newest first on the wire), node and depth always present, ones too. telemetry mri, telemetry_bytes = option length,
#           dialect none, telemetry_flags, instructions, namespace, remaining_hops 0. A telemetry header read later replaces it, so does
#           the list of an inner IPv4 header.
#           Address, ports, protocol, … columns are written only once the header passed its checks; a new IP header resets ports to 0,
#           ip_id to 0 (IPv6). Nothing else of an outer packet survives.
# ipv6      < 40 bytes; version ≠ 6                                ipv6-truncated; ipv6-version       IPv6 header
#           payload length 0: IP ends where its parent ends (ip_bytes 40). Length against parent: the warnings of IPv4.
#           extension headers read: 0, 43, 44, 60; all others are transports (51, 50, 59, … → not-udp)
#           9th extension header                                   ipv6-extension-limit               9th header
#           first 2 bytes (44: 8 bytes) not in avail, or end beyond declared IP end    ipv6-extension-truncated    that header
#           end beyond avail only (cut): its options are walked as far as avail goes, then ipv6-extension-truncated at that header
#           option beyond its extension header (length byte too)   ipv6-option-length → on with next header       option
#           fragment offset ≠ 0                                    fragment                           behind the fragment header
#           offset 0 and M                                         w fragment-first → on
# transport not 17, 47, 4, 41, 6                                   not-udp                            transport header
# tcp       ports if 4 bytes are there. INT is looked for only where int_dscp matches or the profile has a marker, and not behind INT
#           (NPT 2); else                                          not-udp                            TCP header (so all of tcp-*)
#           looked for: 20 bytes not whole; then data offset < 5; then options not whole:
#                                                                  tcp-truncated; tcp-header-length; tcp-truncated
#           places in order: behind the options, behind the fixed 20 bytes. At each: marker with INT at +8, then DSCP with INT here.
#           Taken where its structure holds (as for DSCP over UDP): statuses, warnings and columns as over UDP located so; lengths are
#           held against the end of IP; not not-udp then, nothing behind INT is read. Holds nowhere: not-udp, nothing else is written.
# udp       < 8 bytes; length < 8                                  udp-truncated; udp-length          UDP header (udp-length: ports set)
#           length > IP payload (declared)                         w udp-length-beyond-ip, clipped to it. Not in a first fragment.
#           length < IP payload                                    w udp-length-short, UDP length believed
# gre       4 bytes / optional words not whole                     gre-truncated                      GRE header (so all of gre-*)
#           version ≠ 0; then R bit                                gre-version; gre-routing
#           protocols: profile gre_int_protocols (before all others) → INT in a tunnel, v2 shim; 88BE, 22EB, 6558, 0800, 86DD, 8847, 8848;
#           else gre-protocol-unknown. Behind INT the shim's EtherType: 6558, 0800, 86DD, 8847, 8848; else gre-protocol-unknown.
#           tunnels: gre bit for plain GRE only, erspan bits for ERSPAN only
# erspan    88BE without S: type I. Else by Ver: 1 → II, 2 → III, other → erspan-version. Not whole: erspan-truncated. At ERSPAN header;
#           no mirror row then. tunnels bits (all layers) are set once the header itself passed its checks.
#           Ver 1 in 22EB, Ver 2 in 88BE                           w erspan-version-protocol
#           T                                                      w erspan-truncated-flag
#           III FT 0 Ethernet, 2 IP by nibble; other FT, or neither 4 nor 6: erspan-payload-opaque, at the payload (mirror row stands)
# vxlan     8 bytes not whole                                      vxlan-truncated                    VXLAN header (so all of vxlan-*)
#           I not set                                              w vxlan-flag (GPE too)
#           GPE Ver (flags >> 4 & 3) ≠ 0                           vxlan-gpe-version
#           GPE P = 0 → Ethernet; 1 IPv4, 2 IPv6, 3 Ethernet; 0x80, 0x82 → INT in a tunnel, v2 shim, 0x08 → v1 shim, on with the shim's
#           next protocol 1, 2, 3; else vxlan-gpe-protocol-unknown (also a second INT header). tunnels bit is set in front of INT.
# geneve    8 bytes or its options not whole                       geneve-truncated                   Geneve header
#           version ≠ 0                                            geneve-version                     Geneve header
#           option header or data beyond the option length         geneve-options-overrun → on        that option
#           an option with the critical bit (all are unknown)      w geneve-critical
#           class 0x0103 or of profile geneve_int_classes, type 1 / 3: INT-MD / INT-MX, no shim, header behind the option header, stack to
#           the option's end; all its statuses at the option, all → on. Option < 3 words: int-length-too-small. Other types: as any option.
#           protocols 6558, 0800, 86DD; else geneve-protocol-unknown, Geneve header
# tunnel    levels: MPLS stack, IP in IP, GRE (with its ERSPAN), VXLAN, GPE, Geneve count 1 each. 5th: tunnel-limit, at its header
#           (first label, inner IP, GRE, VXLAN, Geneve header).
#
# UDP payload, in this order:
#   1 after an INT header: only by dst_port (4791, tunnels), no second INT, no report
#   2 dst port in profile int_ports → INT, believed (statuses below). 3 marker matches → INT at +8, believed.
#   4 DSCP matches: INT if its structure holds; else as below, but where nothing explains the payload (4791: BTH not plausible; other
#     port: no tunnel port, no report port, no structure) the INT status stands.
#   5 profile report_ports → report, believed
#   6 4791: plausible BTH (12 bytes, opcode known, low 6 bits of byte 4 and low 7 of byte 8 zero) → RoCE; shim and header of INT that
#     explain each other (type, NPT, version, HopML against bitmap) → INT, its lengths judged by name; else RoCE
#   7 tunnel ports. 8 INT by structure, report by structure (order 2.0, 1.0, 0.5; not inside a report). Else: ok.
# int       (INT header at `off`, all statuses have status_at = shim, but where said)
#           layouts by first byte: 01, 02 → v1 shim (length counts the shim); high nibble 1, 2, 3 → v2. Else int-shim-type.
#           in a tunnel (GPE, GRE): layout by the protocol number of the tunnel, believed, no NPT, no original_dscp, no 0.5; all else is
#           the same. "UDP end" is the tunnel's there; → on is with the next protocol, behind int-version-unknown if a byte is there.
#           Reserved bits are ignored everywhere (but not in MX by structure, below).
#           order of checks: 4 bytes in avail (int-shim-truncated) · type · NPT 3 int-npt-reserved · length < 3 words (destination: v1 < 1)
#           int-length-too-small · beyond declared UDP end int-length-beyond-udp · destination (v1 02, v2 type 2): int-destination → on
#           behind it · header in avail (v1 4+8, v2 4+12; int-shim-truncated)
#           · version (v1: 0, 1; v2: 2) int-version-unknown → on behind it if it is there and, on 4791, a plausible BTH is there
#           · [format bit is set from here on] · NPT 1 with original port = dst port or in int_ports: int-port-loop (not if DSCP/marker)
#           · stack > 0 and bitmap 0: int-bitmap-zero · stack > 0 and HopML 0 (stack ≠ source-only words): int-hop-length-zero
#           · (stack − source only) mod HopML ≠ 0: int-stack-not-whole-hops · HopML against bitmap under no dialect:
#           int-hop-length-mismatch → on, hop rows with present = HOP_OPAQUE only, dialect none. If no header is skipped, stop.
#           domain words count only if DS Instruction ≠ 0 and the domain is in the profile. Source only: both 0 and declared fit →
#           declared. DS Instruction ≠ 0 with domain 0: w int-domain-default.
#           Reserved bits 8-14 (v2 9-14): one word each, or none at all (second try, within each dialect).
#           Dialects in order: see DIALECTS; Ver 0: then INT 0.5 (InsCnt = popcount, tail, whole hops = TotalHop, Total ≤ Max, L ≥ 4).
#           First that fits; a layout (words by bit) other than the first that fits also: w int-dialect-ambiguous. Dialect other than
#           int-1.0, int-2.x, int-0.5: w int-dialect. Numbers: DIALECT_NUMBERS (result["dialect"] has the name).
#           INT 0.5 (tail inside avail, its protocol that of the carrier: 17 UDP, 6 TCP; InsCnt ≥ 1): tried where a Ver 0 stack fits no
#           dialect (v1.0 view of bitmap, HopML or whole hops fails); dst_port from the tail, on behind it. Fits neither: status of the
#           v1.0 view. Items of 4 bytes: 0 node, 1 ports, 2 latency, 3 queue, 4, 5 times, 7 utilisation; 6 and 8-15 have no column.
#           flags C, E (bits 6, 7); remaining_hops = Max − Total; original_dscp = low 6 bits of the tail's last byte, 0 is absent.
#           MX: Ver 2, else int-version-unknown; NPT as for MD; on behind it. By structure also: reserved 27 bits 0, bitmap ≠ 0, bit 15 of
#           bitmap 0. telemetry int-mx, instructions, namespace, telemetry_flags D, telemetry_bytes as for MD, remaining_hops 0, dialect
#           none; hops of an earlier header are gone; original_dscp and w int-domain-default are MD's only.
#           by structure on other ports: all checks pass (int-stack-truncated does), type MD or MX, no domain data, bitmap not 0,
#           reserved bits of word 0 zero
#           NPT: located by port and NPT 0, or by DSCP/marker and NPT ≠ 0: w int-npt (where reading goes on behind INT), and NPT 0
#           counts. NPT 2: protocol byte gives the next header, `protocol` column becomes it, ports those of the inner UDP/TCP.
#           original_dscp: v1 byte 3 >> 2; v2, NPT 0 as written: byte 3 >> 2, if byte 3 is 0 byte 2 >> 2 (laofan). NPT 1, 2: None.
#           stack cut by the capture or a cut report: int-stack-truncated, status_at = first hop that is not whole; whole hops are kept
#           at their true position (the lengths tell how many there were), all with HOP_TRUNCATED_PATH.
#           Source-only data cut: nothing is missing, ok.
#           E: w int-hop-exceeded, M: w int-mtu-exceeded. v1 flags bits 6, 7, 8 = C, E, M; v2 bits 4, 5, 6 = D, E, M.
#           telemetry_bytes = shim + header + stack (0.5: + tail; Geneve: option header + header + stack), + 8 for a marker, + 8 for NPT 2.
#           telemetry, dialect, instructions, namespace, … are set when the checks pass (opaque included), also with an empty stack.
#           Several telemetry headers: the last one read that passes wins with its hops; formats collects all.
#   items   a whole item of ones is absent (node id too); half a port word of ones (INT, reports) stays 65535.
#           Level-2 ids go to the hop's ports only if bit 1 is not in the bitmap.
#           w metadata-zero: stack hop whose bitmap has one of bits 1, 2, 4, 5 and whose words are all 0 but the node id.
#           w node-repeated: INT, MRI, report and IOAM hops, at the end.
# report    all reports of a datagram are walked before the inner packet is followed. A piece beyond UDP end: report-length, else beyond
#   avail: report-truncated (a report whose header or metadata is not whole gets no row).
#           believed by port: version not 0, 1, 2: report-type.
#   v1      Length < 4 report-length; NProt > 2 report-type; both no row. Length ≠ 4 + popcount: w report-length-mismatch, items not
#           read. RepMdBits ≠ 0 → hop (with the header's time). ONOS: spec D, Q, F all 0 → bits 17-19. metadata_bits = 6-bit value.
#           By structure: lengths match and inner plausible. inner_type 0.
#   v2      walk until < 4 bytes are left. RepType > 2 or InType > 5 report-type; end > UDP end report-length; MD Length contradicts
#           report-metadata-length; status_at = individual header, that report gets no row, walk ends. RepMdBits bit 0: one word, if
#           that does not fit none. DSMdBits ≠ 0: MD Length ≥ words is enough. RepType 0: MD Length 0. RepType 2: row, nothing followed.
#           Length 0 and InType 3-5 with a plausible inner packet behind the metadata: w report-length-zero, to the datagram's end;
#           other length 0 with RepType 1: report-length. RepType 0 or 2 with length 0 is an empty report (row).
#           order: type · end · metadata beyond the report's end report-length · RepType 0 with MD · avail · MD Length
#           followed = first report with an inner packet (InType 3-5, or the first TLV of type 1-3), else report 0; its metadata is the hop
#           (RepMdBits ≠ 0 without bit 0). w report-more if a later one has an inner packet too. TLV beyond its report:
#           report-length at the TLV → on with the next report (row stands); TLV header not in avail: report-truncated there, walk ends.
#           By structure: the chain holds to exactly the UDP end (0-3 bytes rest; cut captures: as far as seen), InType 3-5 inner plausible,
#           and one report has a plausible inner packet or RepType 1 with RepMdBits.
#   v0.5    NProto > 2: report-type. 0: row without metadata, node_id 0, no hop. 1 drop header: node, ports, queue id, reason. 2 local:
#           node, ports, queue, egress time. 1 and 2 give the hop (items of ones are absent). metadata_bits, inner_type, intermediate
#           are 0; the header's time is always present. Its Ethernet frame must be plausible, structure or not: else report-type, no row.
#   plausible inner: Ethernet (14 bytes, tags skipped) with 0800 + nibble 4 and IHL ≥ 5, 86DD + nibble 6, 8847, 8848; IPv4; IPv6 likewise
#   inner   a layer's *-truncated (link, mpls, ipv4, ipv6, ipv6-extension, udp, tcp, gre, erspan, vxlan, geneve, bth, bth-extension) inside
#           a report becomes report-inner-truncated (same status_at). 0 bytes left where a BTH would begin, inside a report: ok.
#   hop     appended last, HOP_FROM_REPORT; not if the newest stack hop has the same node id. telemetry = report format if no other.
#           ports: level 1, level 2 only without bit 1; queue_id of occupancy, else of drop. Fixed-header time of v1 is always present.
# ioam      option 0x31 or 0x11 in HBH or DSTOPT. All rejects → on; status_at = option, no hops.
#           length < 2, or type 0 with length < 10: ioam-truncated. IOAM type ≠ 0: format ioam-other only.
#           order: NodeLen ≠ type (or 0 words without bit 22 while there is space) ioam-node-length · RemainingLen > space
#           ioam-remaining-length · L with type ≠ 0x800000 ioam-loopback-type · whole nodes / snapshots (ioam-snapshot-overrun)
#           whole: r = space mod node, filled mod node must be 0 or r, else ioam-not-whole-nodes. r ≠ 0: w ioam-space-rest. Nodes are read
#           from RemainingLen on. (bit 22: no such check)
#           O: w ioam-overflow. bits 12-21: w ioam-unassigned-bits.
#           cut: ioam-stack-truncated, status_at = first node not whole (like INT). Trace header itself cut: only ipv6-extension-truncated.
#           parts of ones (8, 16, 24, 32, 56, 64 bit, each alone) are absent; wide wins, short is the fallback. Transit delay with the
#           overflow bit is absent. buffer_id is 0 for IOAM. telemetry_bytes = 2 + option length. remaining_hops = RemainingLen.
# roce      < 12 bytes: bth-truncated. Opcode unknown: bth-opcode-unknown, row without payload, with ICRC if there. At the BTH.
#           known: RC 00-14 16 17 1C 1D, UC 20-2B, RD 40-55, UD 64 65, CNP 81, XRC A0-B4 B6 B7. CNP has 16 reserved bytes (not payload);
#           RD: RDETH, requests DETH too (also RESYNC); XRC requests XRCETH. FLUSH: FETH + RETH.
#           declared UDP payload < 12 + ext + pad + 4: bth-payload-negative at the BTH (no payload, no ICRC; whole extensions are kept)
#           extension not in avail: bth-extension-truncated at the first that is not whole; the whole ones are kept; payload stands
#           payload, ICRC by declared UDP end (clipped by declared IP end, not by a parent that is shorter); ICRC absent if not in avail.
#           TVer ≠ 0: w bth-version.
# packet    columns without an `absent` value are 0 where nothing was read. captured < original: w captured-short, > :
#           w captured-beyond-original. snaplen-exceeded and timestamp-fraction belong to the capture reader.

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from int_analyzer import schema

WELL_KNOWN = {4791: "roce", 4789: "vxlan", 8472: "vxlan", 4790: "vxlan-gpe", 6081: "geneve"}
ETHERNET, IPV4, IPV6 = 0x6558, 0x0800, 0x86DD
MPLS = (0x8847, 0x8848)
VLAN_TAGS = (0x8100, 0x88A8, 0x9100, 0x9200)
CSIG_TAG = 0x9900
EXTENSION_HEADERS = (0, 43, 44, 60)
TUNNEL_BIT = {name: bit for bit, name in schema.TUNNELS.items()}

# version of the metadata header → (dialect, words of a timestamp, words of the level-2 ids), the specification first
DIALECTS = {
    1: (("int-1.0", 1, 2), ("geant10", 2, 1), ("int-1.0-time64", 2, 2), ("int-1.0-level2-16", 1, 1)),
    2: (("int-2.x", 2, 2), ("int-2.x-time32", 1, 2), ("int-2.x-level2-16", 2, 1)),
    0: (("onos-basic", 1, 2),),
}
SPECIFIED = ("int-1.0", "int-2.x", "int-0.5", None)
DIALECT_NUMBERS = {
    name: number
    for number, name in enumerate(
        (
            None,
            "int-2.x",
            "int-1.0",
            "geant10",
            "onos-basic",
            "int-2.x-time32",
            "int-2.x-level2-16",
            "int-1.0-time64",
            "int-1.0-level2-16",
            "int-0.5",
        )
    )
}

ITEMS = {
    **dict.fromkeys(range(16), ""),
    **dict(enumerate(("node", "ports", "latency", "queue", "ingress_time", "egress_time", "ports2", "utilisation", "buffer"))),
}
"""Metadata item by bit of an instruction bitmap (v2)."""
ITEMS_1 = {**ITEMS, 8: ""}
ITEMS_05 = {**ITEMS, 6: "", 8: ""}
"""Bit 8 is reserved before v2; bit 6 of v0.5 is queue id and congestion status, which have no columns."""

INSIDE_REPORT = {
    name + "-truncated"
    for name in ("link", "mpls", "ipv4", "ipv6", "ipv6-extension", "udp", "tcp", "gre", "erspan", "vxlan", "geneve", "bth", "bth-extension")
}

# Extension headers by opcode (wire-format reference §6.2): the RC list, from which the other transports follow.
_RC = {
    **dict.fromkeys((0x00, 0x01, 0x02, 0x04, 0x07, 0x08, 0x0E), ()),
    **dict.fromkeys((0x03, 0x05, 0x09), ("immdt",)),
    **dict.fromkeys((0x06, 0x0A, 0x0C, 0x1D), ("reth",)),
    0x0B: ("reth", "immdt"),
    **dict.fromkeys((0x0D, 0x0F, 0x10, 0x11), ("aeth",)),
    0x12: ("aeth", "atomicack"),
    **dict.fromkeys((0x13, 0x14), ("atomic",)),
    **dict.fromkeys((0x16, 0x17), ("ieth",)),
    0x1C: ("feth", "reth"),
}
_RESPONSES = range(0x0D, 0x13)
OPCODES: dict[int, tuple[str, ...]] = dict(_RC)
OPCODES |= {0x20 | op: _RC[op] for op in range(0x0C)}
OPCODES |= {0x40 | op: ("rdeth", *_RC[op]) if op in _RESPONSES else ("rdeth", "deth", *_RC[op]) for op in range(0x15)}
OPCODES |= {0x55: ("rdeth", "deth"), 0x64: ("deth",), 0x65: ("deth", "immdt"), 0x81: ("cnp",)}
OPCODES |= {0xA0 | op: _RC[op] if op in _RESPONSES else ("xrceth", *_RC[op]) for op in (*range(0x15), 0x16, 0x17)}
EXTENSION_BYTES = {
    "immdt": 4, "reth": 16, "aeth": 4, "atomicack": 8, "atomic": 28, "ieth": 4, "feth": 4, "rdeth": 4, "deth": 8, "xrceth": 4, "cnp": 16,
}  # fmt: skip


class Stop(Exception):
    """Reading ends here: status name and offset."""

    def __init__(self, status: str, at: int) -> None:
        super().__init__(status)
        self.status = status
        self.at = at


def bits(value: int) -> int:
    """Number of bits set."""
    return bin(value).count("1")


def blank(table: tuple[schema.Column, ...]) -> dict[str, Any]:
    """A row with every kernel column not there (None), `present` 0."""
    row: dict[str, Any] = dict.fromkeys(schema.kernel_columns(table))
    if "present" in row:
        row["present"] = 0
    return row


class Reader:
    """Reads one packet. `end` arguments are declared ends, `limit` arguments are what may be touched (never beyond `end`)."""

    def __init__(self, data: bytes, original: int, time_ns: int, profile: dict[str, Any]) -> None:
        self.data = data
        self.profile = profile
        self.warnings: set[str] = set()
        self.status = "ok"
        self.status_at = 0
        self.formats = 0
        self.in_report = False
        # Hops of a cut stack that were not captured: those nearest the source.
        self.missing = 0
        self.dialect: str | None = None
        self.stack: list[dict[str, Any]] = []
        self.report_hop: dict[str, Any] | None = None
        self.report_format = 0
        self.roce: dict[str, Any] | None = None
        self.reports: list[dict[str, Any]] = []
        self.mirrors: list[dict[str, Any]] = []
        self.packet = {column.name: None if column.absent is not None else 0 for column in schema.PACKETS if column.source == "kernel"}
        self.packet.update(time_ns=time_ns, captured_bytes=len(data), original_bytes=original)

    # ---------------------------------------------------------------------------------------------------------- bytes and faults

    def u(self, at: int, size: int) -> int:
        """Big-endian unsigned number; whoever asks has checked that it is there."""
        piece = self.data[at : at + size]
        assert len(piece) == size, "a reading beyond the captured bytes"
        return int.from_bytes(piece, "big")

    def fail(self, status: str, at: int) -> None:
        """Note a status; the first one stays."""
        if self.status == "ok":
            if self.in_report and status in INSIDE_REPORT:
                status = "report-inner-truncated"
            self.status, self.status_at = status, at

    def need(self, at: int, size: int, limit: int, status: str, header: int | None = None) -> None:
        """Stop unless the bytes are there."""
        if at + size > limit:
            raise Stop(status, at if header is None else header)

    def found(self, format_id: int) -> None:
        """Count a format."""
        self.formats |= 1 << format_id

    def telemetry(self, format_id: int, hops: list[dict[str, Any]], missing: int = 0, dialect: str | None = None, **columns: int) -> None:
        """A telemetry header that passes: its columns and hops (in path order) replace those of the one before."""
        self.packet.update(telemetry_flags=0, instructions=0, namespace=0, remaining_hops=0)
        self.packet.update(telemetry=format_id, dialect=DIALECT_NUMBERS[dialect], **columns)
        self.dialect, self.stack, self.missing = dialect, hops, missing

    def descend(self, level: int, at: int) -> int:
        """One tunnel level further in."""
        if level >= 4:
            raise Stop("tunnel-limit", at)
        return level + 1

    # ------------------------------------------------------------------------------------------------------------ link, Ethernet

    def link(self, link_type: int, end: int, limit: int) -> None:
        """The frame by its link type (§3.3)."""
        if link_type == 1:
            self.ethernet(0, end, limit, 0)
        elif link_type in (12, 14, 101):
            self.need(0, 1, limit, "link-truncated")
            self.ip_by_nibble(0, end, limit, 0, "not-ip")
        elif link_type == 228:
            self.ipv4(0, end, limit, 0)
        elif link_type == 229:
            self.ipv6(0, end, limit, 0)
        elif link_type == 113:
            self.need(0, 16, limit, "link-truncated")
            self.ethertype(self.u(14, 2), 16, end, limit, 0)
        elif link_type == 276:
            self.need(0, 20, limit, "link-truncated")
            self.ethertype(self.u(0, 2), 20, end, limit, 0)
        else:
            raise Stop("link-type-unknown", 0)

    def ethernet(self, at: int, end: int, limit: int, level: int) -> None:
        """A frame from its destination address on."""
        self.need(at, 14, limit, "link-truncated")
        self.ethertype(self.u(at + 12, 2), at + 14, end, limit, level)

    def ethertype(self, kind: int, at: int, end: int, limit: int, level: int) -> None:
        """What an EtherType announces, tags first (§4.1, CSIG §17)."""
        tags = 0
        while kind in VLAN_TAGS or kind == CSIG_TAG:
            tags += 1
            if tags > 8:
                raise Stop("vlan-limit", at)
            self.need(at, 4, limit, "link-truncated")
            tag = self.u(at, 2)
            if kind != CSIG_TAG:
                self.packet["vlan_id"] = tag & 0x0FFF
            elif self.packet["csig"] is None and tag != 0xFFFF:
                self.packet["csig"] = tag
            kind = self.u(at + 2, 2)
            at += 4
        if kind == IPV4:
            self.ipv4(at, end, limit, level)
        elif kind == IPV6:
            self.ipv6(at, end, limit, level)
        elif kind in MPLS:
            self.mpls(at, end, limit, level)
        else:
            raise Stop("not-ip", at)

    def mpls(self, at: int, end: int, limit: int, level: int) -> None:
        """Label stack; what is behind it shows in its first nibble (§4.1)."""
        level = self.descend(level, at)
        labels = 0
        bottom = False
        self.packet["tunnels"] |= TUNNEL_BIT["mpls"]
        while not bottom:
            labels += 1
            if labels > 16:
                raise Stop("mpls-limit", at)
            self.need(at, 4, limit, "mpls-truncated")
            bottom = bool(self.data[at + 2] & 1)
            at += 4
        self.need(at, 1, limit, "mpls-truncated")
        first = self.data[at]
        if first >> 4 == 4 and first & 15 >= 5:
            self.ipv4(at, end, limit, level)
        elif first >> 4 == 6:
            self.ipv6(at, end, limit, level)
        elif first >> 4 == 0:
            self.ethernet(at + 4, end, limit, level)
        else:
            raise Stop("mpls-payload-unknown", at)

    # ------------------------------------------------------------------------------------------------------------------------ IP

    def ip_by_nibble(self, at: int, end: int, limit: int, level: int, otherwise: str) -> None:
        """IPv4 or IPv6, told by the version."""
        version = self.data[at] >> 4
        if version == 4:
            self.ipv4(at, end, limit, level)
        elif version == 6:
            self.ipv6(at, end, limit, level)
        else:
            raise Stop(otherwise, at)

    def ip_end(self, declared: int, end: int) -> int:
        """Compare the end that the IP header declares with that of its parent."""
        if declared > end:
            self.warnings.add("report-inner-cut" if self.in_report else "ip-length-beyond-packet")
        elif declared < end:
            self.warnings.add("ip-length-short")
        return declared

    def ip_columns(self, **columns: int) -> None:
        """A new IP header: its columns replace those of the packet around it."""
        self.packet.update(src_port=0, dst_port=0, ip_id=0)
        self.packet.update(columns)

    def ipv4(self, at: int, end: int, limit: int, level: int) -> None:
        """IPv4 header, options, payload (§4.2)."""
        self.need(at, 20, limit, "ipv4-truncated")
        header = 4 * (self.data[at] & 15)
        if self.data[at] >> 4 != 4 or header < 20:
            raise Stop("ipv4-header-length", at)
        self.need(at, header, limit, "ipv4-truncated")
        total = self.u(at + 2, 2)
        if 0 < total < header:
            raise Stop("ipv4-total-length", at)
        if total:
            ip_end = self.ip_end(at + total, end)
        else:
            self.warnings.add("ipv4-total-length-zero")
            ip_end = end
        limit = min(limit, ip_end)
        protocol = self.data[at + 9]
        self.ip_columns(
            ip_version=4,
            src_hi=0,
            src_lo=self.u(at + 12, 4),
            dst_hi=0,
            dst_lo=self.u(at + 16, 4),
            protocol=protocol,
            dscp=self.data[at + 1] >> 2,
            ecn=self.data[at + 1] & 3,
            ttl=self.data[at + 8],
            ip_id=self.u(at + 4, 2),
            ip_bytes=total,
        )
        self.ipv4_options(at + 20, at + header)
        at += header
        fragment = self.u(at - header + 6, 2)
        if fragment & 0x1FFF:
            raise Stop("fragment", at)
        if fragment & 0x2000:
            self.warnings.add("fragment-first")
        self.transport(protocol, at, ip_end, limit, level, bool(fragment & 0x2000))

    def ipv4_options(self, at: int, end: int) -> None:
        """Only the MRI option matters (§20 `mri`); the first that is whole counts."""
        read = False
        while at < end and self.data[at] != 0:
            if self.data[at] == 1:
                at += 1
                continue
            size = self.data[at + 1] if at + 1 < end else 0
            if self.data[at] & 31 == 31:
                self.found(schema.FORMAT_MRI)
                if size < 4 or at + size > end or size != 4 + 8 * self.u(at + 2, 2):
                    self.fail("mri-length", at)
                elif not read:
                    read = True
                    self.mri(at, size)
            if size < 2:
                return
            at += size

    def mri(self, at: int, size: int) -> None:
        """An MRI option whose length is right: the wire has the newest hop first."""
        hops = []
        for position in range(at + 4, at + size, 8):
            hop = blank(schema.HOPS)
            hop.update(node_id=self.u(position, 4), queue_depth_raw=self.u(position + 4, 4), present=schema.HAS_NODE | schema.HAS_DEPTH)
            hops.append(hop)
        self.telemetry(schema.FORMAT_MRI, hops[::-1], telemetry_bytes=size)

    def ipv6(self, at: int, end: int, limit: int, level: int) -> None:
        """IPv6 header, extension headers, payload (§4.2)."""
        self.need(at, 40, limit, "ipv6-truncated")
        if self.data[at] >> 4 != 6:
            raise Stop("ipv6-version", at)
        length = self.u(at + 4, 2)
        ip_end = self.ip_end(at + 40 + length, end) if length else end
        limit = min(limit, ip_end)
        traffic_class = self.u(at, 2) >> 4 & 0xFF
        following = self.data[at + 6]
        self.ip_columns(
            ip_version=6,
            src_hi=self.u(at + 8, 8),
            src_lo=self.u(at + 16, 8),
            dst_hi=self.u(at + 24, 8),
            dst_lo=self.u(at + 32, 8),
            protocol=following,
            dscp=traffic_class >> 2,
            ecn=traffic_class & 3,
            ttl=self.data[at + 7],
            ip_bytes=40 + length,
        )
        at += 40
        first_fragment = False
        headers = 0
        while following in EXTENSION_HEADERS:
            headers += 1
            if headers > 8:
                raise Stop("ipv6-extension-limit", at)
            self.need(at, 8 if following == 44 else 2, limit, "ipv6-extension-truncated")
            kind, following = following, self.data[at]
            if kind == 44:
                size = 8
            else:
                size = 8 * (self.data[at + 1] + 1)
            if at + size > ip_end:
                raise Stop("ipv6-extension-truncated", at)
            if kind in (0, 60):
                self.ipv6_options(at + 2, at + size, limit)
            self.need(at, size, limit, "ipv6-extension-truncated")
            self.packet["protocol"] = following
            if kind == 44:
                fragment = self.u(at + 2, 2)
                if fragment & 0xFFF8:
                    raise Stop("fragment", at + size)
                if fragment & 1:
                    self.warnings.add("fragment-first")
                    first_fragment = True
            at += size
        self.transport(following, at, ip_end, limit, level, first_fragment)

    def ipv6_options(self, at: int, end: int, limit: int) -> None:
        """Options of a hop-by-hop or destination header that ends at `end`; what is beyond `limit` was not captured."""
        while at < min(end, limit):
            kind = self.data[at]
            if kind == 0:
                at += 1
                continue
            if at + 2 > end:
                self.fail("ipv6-option-length", at)
                return
            if at + 2 > limit:
                return
            size = self.data[at + 1]
            if at + 2 + size > end:
                self.fail("ipv6-option-length", at)
                return
            if kind in (0x31, 0x11):
                self.ioam(at, size, limit)
            at += 2 + size

    # --------------------------------------------------------------------------------------------------- transport and tunnels

    def transport(
        self, protocol: int, at: int, end: int, limit: int, level: int, first_fragment: bool = False, after_int: bool = False
    ) -> None:
        """What the IP protocol number announces."""
        if protocol == 17:
            self.udp(at, end, limit, level, first_fragment, after_int)
        elif protocol == 47:
            self.gre(at, end, limit, level)
        elif protocol == 4:
            self.ipv4(at, end, limit, self.descend(level, at))
        elif protocol == 41:
            self.ipv6(at, end, limit, self.descend(level, at))
        elif protocol == 6:
            self.tcp(at, end, limit, after_int)
        else:
            raise Stop("not-udp", at)

    def tcp(self, at: int, end: int, limit: int, after_int: bool) -> None:
        """TCP: its ports, and INT behind or in front of its options where the profile says what to look for (§7)."""
        if at + 4 <= limit:
            self.packet.update(src_port=self.u(at, 2), dst_port=self.u(at + 2, 2))
        if not after_int and (self.profile["marker"] is not None or self.dscp_matches()):
            self.need(at, 20, limit, "tcp-truncated")
            header = 4 * (self.data[at + 12] >> 4)
            if header < 20:
                raise Stop("tcp-header-length", at)
            self.need(at, header, limit, "tcp-truncated")
            if self.tcp_int(at + header, end, limit) or (header > 20 and self.tcp_int(at + 20, end, limit)):
                return
        raise Stop("not-udp", at)

    def tcp_int(self, at: int, end: int, limit: int) -> bool:
        """INT at this place of a TCP segment, by marker, then by DSCP; nothing behind it is read. False if none holds there."""
        port = self.packet["dst_port"]
        marked = self.marker_at(at, limit)
        for located, shim, looked_for in (("marker", at + 8, marked), ("dscp", at, self.dscp_matches())):
            if looked_for:
                measured = self.int_measure(shim, end, limit, port, located, protocol=6)
                if measured["holds"]:
                    self.int_over_ports(measured, located)
                    self.packet["dst_port"] = measured["original"]
                    return True
        return False

    def gre(self, at: int, end: int, limit: int, level: int) -> None:
        """GRE with its optional words (§4.3), ERSPAN behind it (§5.1)."""
        level = self.descend(level, at)
        self.need(at, 4, limit, "gre-truncated")
        flags, protocol = self.u(at, 2), self.u(at + 2, 2)
        if flags & 7:
            raise Stop("gre-version", at)
        if flags & 0x4000:
            raise Stop("gre-routing", at)
        position = at + 4
        if flags & 0x8000:
            position += 4
        if flags & 0x2000:
            position += 4
        sequence_at = None
        if flags & 0x1000:
            sequence_at = position
            position += 4
        self.need(at, position - at, limit, "gre-truncated")
        sequence = None if sequence_at is None else self.u(sequence_at, 4)
        if protocol in self.profile["gre_int_protocols"]:
            self.packet["tunnels"] |= TUNNEL_BIT["gre"]
            behind = self.int_in_tunnel(position, end, limit, v1=False)
            if behind is None:
                return
            protocol, position = self.u(position + 2, 2), behind
        elif protocol in (0x88BE, 0x22EB):
            self.erspan(position, end, limit, level, protocol, sequence)
            return
        if protocol == ETHERNET:
            self.packet["tunnels"] |= TUNNEL_BIT["gre"]
            self.ethernet(position, end, limit, level)
        elif protocol in (IPV4, IPV6, *MPLS):
            self.packet["tunnels"] |= TUNNEL_BIT["gre"]
            self.ethertype(protocol, position, end, limit, level)
        else:
            raise Stop("gre-protocol-unknown", at)

    def erspan(self, at: int, end: int, limit: int, level: int, protocol: int, sequence: int | None) -> None:
        """ERSPAN type I, II or III, and the mirror row."""
        row = blank(schema.MIRRORS)
        row.update(packet=0, outer_src_hi=self.packet["src_hi"], outer_src_lo=self.packet["src_lo"], sequence=sequence)
        row["present"] = 0 if sequence is None else 1
        if protocol == 0x88BE and sequence is None:
            row["kind"] = 1
            self.mirrors.append(row)
            self.packet["tunnels"] |= TUNNEL_BIT["erspan-1"]
            self.ethernet(at, end, limit, level)
            return
        self.need(at, 8, limit, "erspan-truncated")
        version = self.data[at] >> 4
        word = self.u(at, 4)
        row.update(
            vlan_id=word >> 16 & 0xFFF, cos=word >> 13 & 7, encapsulation=word >> 11 & 3, truncated=word >> 10 & 1, session_id=word & 0x3FF
        )
        row["present"] |= 2
        if version not in (1, 2):
            raise Stop("erspan-version", at)
        frame_type = 0
        if version == 1:
            row.update(kind=2, index=self.u(at + 4, 4) & 0xFFFFF)
            row["present"] |= 4
            payload = at + 8
        else:
            self.need(at, 12, limit, "erspan-truncated")
            tail = self.u(at + 10, 2)
            payload = at + 12
            row.update(kind=3, timestamp_raw=self.u(at + 4, 4), security_group=self.u(at + 8, 2))
            row.update(hw_id=tail >> 4 & 0x3F, direction=tail >> 3 & 1, granularity=tail >> 1 & 3)
            row["present"] |= 8
            frame_type = tail >> 10 & 0x1F
            if tail & 1:
                self.need(at, 20, limit, "erspan-truncated")
                subheader = self.u(at + 12, 8)
                row.update(platform_id=subheader >> 58, platform_info=subheader & ((1 << 58) - 1))
                row["present"] |= 16
                payload = at + 20
        if (version == 1) != (protocol == 0x88BE):
            self.warnings.add("erspan-version-protocol")
        if row["truncated"]:
            self.warnings.add("erspan-truncated-flag")
        self.mirrors.append(row)
        self.packet["tunnels"] |= TUNNEL_BIT["erspan-2" if version == 1 else "erspan-3"]
        if frame_type == 0:
            self.ethernet(payload, end, limit, level)
        elif frame_type == 2 and payload < limit:
            self.ip_by_nibble(payload, end, limit, level, "erspan-payload-opaque")
        else:
            raise Stop("erspan-payload-opaque", payload)

    def vxlan(self, at: int, end: int, limit: int, level: int) -> None:
        """VXLAN (§4.4)."""
        level = self.descend(level, at)
        self.need(at, 8, limit, "vxlan-truncated")
        if not self.data[at] & 0x08:
            self.warnings.add("vxlan-flag")
        self.packet["tunnels"] |= TUNNEL_BIT["vxlan"]
        self.ethernet(at + 8, end, limit, level)

    def vxlan_gpe(self, at: int, end: int, limit: int, level: int) -> None:
        """VXLAN-GPE (§4.4), with an INT header behind it or none."""
        level = self.descend(level, at)
        self.need(at, 8, limit, "vxlan-truncated")
        flags = self.data[at]
        if flags >> 4 & 3:
            raise Stop("vxlan-gpe-version", at)
        if not flags & 0x08:
            self.warnings.add("vxlan-flag")
        following = self.data[at + 3] if flags & 0x04 else 3
        payload = at + 8
        if following in (0x80, 0x82, 0x08):
            self.packet["tunnels"] |= TUNNEL_BIT["vxlan-gpe"]
            behind = self.int_in_tunnel(payload, end, limit, v1=following == 0x08)
            if behind is None:
                return
            following, payload = self.data[payload + 3], behind
        if following not in (1, 2, 3):
            raise Stop("vxlan-gpe-protocol-unknown", at)
        self.packet["tunnels"] |= TUNNEL_BIT["vxlan-gpe"]
        (self.ipv4, self.ipv6, self.ethernet)[following - 1](payload, end, limit, level)

    def geneve(self, at: int, end: int, limit: int, level: int) -> None:
        """Geneve and its options (§4.4)."""
        level = self.descend(level, at)
        self.need(at, 8, limit, "geneve-truncated")
        if self.data[at] >> 6:
            raise Stop("geneve-version", at)
        payload = at + 8 + 4 * (self.data[at] & 0x3F)
        self.need(at, payload - at, limit, "geneve-truncated")
        protocol = self.u(at + 2, 2)
        option = at + 8
        while option < payload:
            # The options and their total are whole words: an option header is always there.
            size = 4 + 4 * (self.data[option + 3] & 0x1F)
            if option + size > payload:
                self.fail("geneve-options-overrun", option)
                break
            kind = self.data[option + 2]
            if kind & 0x80:
                self.warnings.add("geneve-critical")
            if self.u(option, 2) in (0x0103, *self.profile["geneve_int_classes"]) and kind in (1, 3):
                self.int_option(option, size, limit, kind)
            option += size
        if protocol not in (ETHERNET, IPV4, IPV6):
            raise Stop("geneve-protocol-unknown", at)
        self.packet["tunnels"] |= TUNNEL_BIT["geneve"]
        if protocol == ETHERNET:
            self.ethernet(payload, end, limit, level)
        else:
            self.ethertype(protocol, payload, end, limit, level)

    def udp(self, at: int, end: int, limit: int, level: int, first_fragment: bool, after_int: bool) -> None:
        """UDP header, then whatever its payload is found to be."""
        self.need(at, 8, limit, "udp-truncated")
        port, length = self.u(at + 2, 2), self.u(at + 4, 2)
        self.packet.update(src_port=self.u(at, 2), dst_port=port)
        if length < 8:
            raise Stop("udp-length", at)
        udp_end = at + length
        if udp_end > end and not first_fragment:
            self.warnings.add("udp-length-beyond-ip")
            udp_end = end
        elif udp_end < end:
            self.warnings.add("udp-length-short")
        limit = min(limit, udp_end)
        if after_int:
            self.payload_by_port(port, at + 8, udp_end, limit, level)
        else:
            self.payload(port, at + 8, udp_end, limit, level)

    def payload_by_port(self, port: int, at: int, end: int, limit: int, level: int) -> bool:
        """UDP payload of a well-known port; False if the port says nothing."""
        known = WELL_KNOWN.get(port)
        if known == "roce":
            self.transport_roce(at, end, limit)
        elif known == "vxlan":
            self.vxlan(at, end, limit, level)
        elif known == "vxlan-gpe":
            self.vxlan_gpe(at, end, limit, level)
        elif known == "geneve":
            self.geneve(at, end, limit, level)
        return known is not None

    def marker_at(self, at: int, limit: int) -> bool:
        """The probe marker of the profile stands here."""
        marker = self.profile["marker"]
        return marker is not None and at + 8 <= limit and self.u(at, 8) == marker

    def dscp_matches(self) -> bool:
        """The DSCP is one that the profile names as a hint for INT."""
        expected = self.profile["int_dscp"]
        return expected is not None and self.packet["dscp"] & expected[1] == expected[0]

    def payload(self, port: int, at: int, end: int, limit: int, level: int) -> None:
        """UDP payload outside INT: configured ports, hints, well-known ports, structure, in this order."""
        profile = self.profile
        if port in profile["int_ports"]:
            self.int_apply(self.int_measure(at, end, limit, port, "port"), at, end, limit, level, port, "port")
            return
        if self.marker_at(at, limit):
            self.int_apply(self.int_measure(at + 8, end, limit, port, "marker"), at + 8, end, limit, level, port, "marker")
            return
        hinted = None
        if self.dscp_matches():
            hinted = self.int_measure(at, end, limit, port, "dscp")
            if hinted["holds"]:
                self.int_apply(hinted, at, end, limit, level, port, "dscp")
                return
        if port in profile["report_ports"] and not self.in_report:
            self.report_by_port(at, end, limit, level)
            return
        if port != 4791 and self.payload_by_port(port, at, end, limit, level):
            return
        if port == 4791 and self.plausible_bth(at, limit):
            self.transport_roce(at, end, limit)
            return
        measured = self.int_measure(at, end, limit, port, "structure")
        if port == 4791 and self.int_head(at, limit):
            located = "structure" if hinted is None else "dscp"
            self.int_apply(self.int_measure(at, end, limit, port, located), at, end, limit, level, port, located)
        elif port != 4791 and self.int_surely(measured, at):
            self.int_apply(measured, at, end, limit, level, port, "structure")
        elif port != 4791 and not self.in_report and self.report_by_structure(at, end, limit, level):
            pass
        elif hinted is not None:
            self.int_apply(hinted, at, end, limit, level, port, "dscp")
        elif port == 4791:
            self.transport_roce(at, end, limit)

    # ---------------------------------------------------------------------------------------------------------------------- RoCE

    def plausible_bth(self, at: int, limit: int) -> bool:
        """A BTH that looks like one: known opcode, reserved bits zero."""
        return at + 12 <= limit and self.data[at] in OPCODES and not self.data[at + 4] & 0x3F and not self.data[at + 8] & 0x7F

    def transport_roce(self, at: int, end: int, limit: int) -> None:
        """BTH, extension headers, data, ICRC (§6)."""
        if self.in_report and at >= limit:
            return
        self.need(at, 12, limit, "bth-truncated")
        self.found(schema.FORMAT_ROCE)
        opcode, flags = self.data[at], self.data[at + 1]
        pad = flags >> 4 & 3
        row = self.roce = blank(schema.ROCE)
        row.update(packet=0, opcode=opcode, se=flags >> 7, migreq=flags >> 6 & 1, pad=pad, transport_version=flags & 15)
        row.update(pkey=self.u(at + 2, 2), fecn=self.data[at + 4] >> 7, becn=self.data[at + 4] >> 6 & 1, dest_qp=self.u(at + 5, 3))
        row.update(ack_req=self.data[at + 8] >> 7, psn=self.u(at + 9, 3))
        if flags & 15:
            self.warnings.add("bth-version")
        position = at + 12
        if opcode not in OPCODES:
            self.fail("bth-opcode-unknown", at)
            if end - 4 >= position:
                self.icrc(row, end, limit)
            return
        size = sum(EXTENSION_BYTES[name] for name in OPCODES[opcode])
        payload = end - position - size - pad - 4
        if payload < 0:
            self.fail("bth-payload-negative", at)
        else:
            row["payload_bytes"] = payload
            row["present"] |= schema.HAS_PAYLOAD
        for name in OPCODES[opcode]:
            if position + EXTENSION_BYTES[name] > limit:
                self.fail("bth-extension-truncated", position)
                break
            self.extension(name, position, row)
            position += EXTENSION_BYTES[name]
        if payload >= 0:
            self.icrc(row, end, limit)

    def icrc(self, row: dict[str, Any], end: int, limit: int) -> None:
        """The last 4 bytes of the UDP payload as declared, if they were captured (§6.3)."""
        if end <= limit:
            row["icrc_raw"] = self.u(end - 4, 4)
            row["present"] |= schema.HAS_ICRC

    def extension(self, name: str, at: int, row: dict[str, Any]) -> None:
        """One extension header."""
        if name == "reth":
            row.update(virtual_address=self.u(at, 8), rkey=self.u(at + 8, 4), dma_bytes=self.u(at + 12, 4))
            row["present"] |= schema.HAS_RETH | schema.HAS_RKEY
        elif name == "aeth":
            row.update(syndrome=self.data[at], msn=self.u(at + 1, 3))
            row["present"] |= schema.HAS_AETH
        elif name == "immdt":
            row["immediate"] = self.u(at, 4)
            row["present"] |= schema.HAS_IMMEDIATE
        elif name == "ieth":
            row["rkey"] = self.u(at, 4)
            row["present"] |= schema.HAS_RKEY
        elif name == "deth":
            row.update(queue_key=self.u(at, 4), source_qp=self.u(at + 5, 3))
            row["present"] |= schema.HAS_DETH
        elif name == "atomic":
            row.update(virtual_address=self.u(at, 8), rkey=self.u(at + 8, 4), swap_add=self.u(at + 12, 8), compare=self.u(at + 20, 8))
            row["present"] |= schema.HAS_ATOMIC | schema.HAS_RKEY
        elif name == "atomicack":
            row["original_data"] = self.u(at, 8)
            row["present"] |= schema.HAS_ATOMIC_ACK

    # ----------------------------------------------------------------------------------------------------------------------- INT

    @staticmethod
    def measurement(at: int, port: int = 0) -> dict[str, Any]:
        """Nothing known yet of an INT header. `status` None: every check passes; `holds`: believed by structure."""
        return {"status": None, "at": at, "start": at, "kind": "", "next": None, "holds": False, "npt": 0, "format": 0, "original": port,
                "v1": False, "loop": False, "dscp": None}  # fmt: skip

    def int_measure(self, at: int, end: int, limit: int, port: int, located: str, protocol: int = 17) -> dict[str, Any]:
        """Check an INT header over UDP or TCP (§12), write nothing."""
        result = self.measurement(at, port)
        if at + 4 > limit:
            result["status"] = "int-shim-truncated"
            return result
        first = self.data[at]
        v1 = first in (1, 2)
        if not v1 and first >> 4 not in (1, 2, 3):
            result["status"] = "int-shim-type"
            return result
        npt = 0 if v1 else first >> 2 & 3
        if npt == 3:
            result["status"] = "int-npt-reserved"
            return result
        original = self.u(at + 2, 2) if npt == 1 else port
        loop = npt == 1 and located in ("port", "structure") and (original == port or original in self.profile["int_ports"])
        result.update(npt=npt, original=original, loop=loop)
        if v1:
            result["dscp"] = self.data[at + 3] >> 2
        elif not npt:
            # One switch program stores it in the first of the two bytes (capture bmv2-laofan-int-md-v2.1).
            result["dscp"] = (self.data[at + 3] or self.data[at + 2]) >> 2
        self.int_shim(result, at, end, limit, v1, first if v1 else first >> 4)
        behind = at + 4 * self.data[at + 2]
        if (
            first == 1
            and result.get("version") == 0
            and result["status"] not in (None, "int-stack-truncated")
            and self.int_05(at, behind, limit, result["word"], result["bitmap"], protocol)
        ):
            total = result["word"] & 255
            layout = [(bit, 1) for bit in range(16) if result["bitmap"] & 0x8000 >> bit]
            result.update(status=None, at=at, kind="05", next=behind, format=schema.FORMAT_INT_05, holds=True, dialect="int-0.5")
            result.update(original=self.u(behind - 3, 2), dscp=(self.data[behind - 1] & 63) or None)
            result.update(hops=total, whole=total, layout=layout, hop_bytes=4 * len(layout), ambiguous=False)
        return result

    def int_shim(self, result: dict[str, Any], at: int, end: int, limit: int, v1: bool, kind: int) -> None:
        """The length of a shim whose 4 bytes are there (v1 counts the shim in it), then the header behind it."""
        words = self.data[at + 2] if v1 else self.data[at + 1]
        behind = at + 4 * words + (0 if v1 else 4)
        if words < (1 if v1 and kind == 2 else 0 if kind == 2 else 3):
            result["status"] = "int-length-too-small"
        elif behind > end:
            result["status"] = "int-length-beyond-udp"
        elif kind == 2:
            result.update(status="int-destination", next=behind, v1=v1)
        else:
            self.int_header(result, at + 4, behind, limit, v1, kind)

    def int_header(self, result: dict[str, Any], at: int, behind: int, limit: int, v1: bool, kind: int) -> None:
        """The metadata header (MD or MX) at `at`, whose stack ends at `behind`."""
        size = 8 if v1 else 12
        if at + size > limit:
            result["status"] = "int-shim-truncated"
            return
        word, bitmap = self.u(at, 4), self.u(at + 4, 2)
        version = word >> 28
        result.update(next=behind, v1=v1)
        if version not in ((0, 1) if v1 else (2,)):
            result["status"] = "int-version-unknown"
            return
        result["format"] = schema.FORMAT_INT_MD_1 if v1 else schema.FORMAT_INT_MX if kind == 3 else schema.FORMAT_INT_MD_2
        result["kind"] = "mx" if kind == 3 else "md"
        if result["loop"]:
            result.update(status="int-port-loop", next=None)
            return
        result.update(word=word, bitmap=bitmap, header_end=at + size, version=version, domain=0 if v1 else self.u(at + 6, 2))
        if kind == 3:
            result["holds"] = not word & 0x07FFFFFF and bitmap != 0 and not bitmap & 1
            return
        result["ds_instruction"] = 0 if v1 else self.u(at + 8, 2)
        self.int_stack(result, behind, limit)

    def int_head(self, at: int, limit: int) -> bool:
        """On the RoCEv2 port, what is no BTH is INT if shim and metadata header explain each other; lengths are judged by name then."""
        if at + 12 > limit:
            return False
        first, word, bitmap = self.data[at], self.u(at + 4, 4), self.u(at + 8, 2)
        version, hop_words = word >> 28, word >> 8 & 31
        if first == 1:
            if version == 0 and self.int_05(at, at + 4 * self.data[at + 2], limit, word, bitmap, 17):
                return True
            empty = self.data[at + 2] == 3
            expected = version in (0, 1)
        else:
            if first >> 4 == 3 and first >> 2 & 3 != 3:
                return version == 2 and not word & 0x07FFFFFF and bitmap != 0 and not bitmap & 1
            empty = self.data[at + 1] == 3
            expected = version == 2 and first >> 4 == 1 and first >> 2 & 3 != 3
        if bitmap == 0:
            return expected and empty and hop_words == 0
        return expected and any(sum(size for _, size in layout) == hop_words for layout in self.layouts(version, bitmap))

    def int_surely(self, measured: dict[str, Any], at: int) -> bool:
        """On any other port all lengths must hold, no domain may be needed, and reserved bits must be zero."""
        if not measured["holds"]:
            return False
        if measured["kind"] != "md":
            return True
        reserved = 0x007FE000 if measured["v1"] else 0x01FFE000
        return not measured["word"] & reserved and measured["bitmap"] != 0 and not measured["source_bytes"] and not measured["extra_words"]

    @staticmethod
    def layouts(version: int, bitmap: int) -> list[list[tuple[int, int]]]:
        """Words by bit under every dialect of a version, reserved bits with a word each or with none."""
        found = []
        for _dialect, time_words, level2_words in DIALECTS[version]:
            for reserved_words in (1, 0):
                layout = []
                for bit in range(16):
                    if bitmap & 0x8000 >> bit:
                        reserved = (9 if version == 2 else 8) <= bit <= 14
                        size = time_words if bit in (4, 5) else level2_words if bit == 6 else reserved_words if reserved else 1
                        layout.append((bit, size))
                found.append(layout)
        return found

    def int_05(self, at: int, behind: int, limit: int, word: int, bitmap: int, protocol: int) -> bool:
        """INT v0.5 with a tail, all its lengths in agreement (§8); the tail names the protocol that carries it."""
        count, most, total = word >> 16 & 31, word >> 8 & 255, word & 255
        stack = behind - at - 16
        return (
            behind <= limit
            and self.data[at] == 1
            and stack >= 0
            and count >= 1
            and count == bits(bitmap)
            and stack == 4 * count * total
            and total <= most
            and self.data[behind - 4] == protocol
        )

    def int_stack(self, result: dict[str, Any], behind: int, limit: int) -> None:
        """The checks of the stack: whole hops, and words per hop against the bitmap under every dialect (§10.2, §12)."""
        word, bitmap, start, version = result["word"], result["bitmap"], result["header_end"], result["version"]
        hop_words = word >> 8 & 31
        stack = behind - start
        source_words = extra_words = 0
        if result["ds_instruction"]:
            source_words, extra_words = self.profile["domains"].get(result["domain"], (0, 0))
        result.update(layout=None, dialect=None, hops=0, extra_words=extra_words, hop_bytes=4 * hop_words, ambiguous=False, source_bytes=0)
        if stack > 0 and bitmap == 0:
            result.update(status="int-bitmap-zero", next=None)
            return
        if hop_words == 0 and stack not in (0, 4 * source_words):
            result.update(status="int-hop-length-zero", next=None)
            return
        if hop_words:
            for source in (4 * source_words, 0):
                if stack >= source and (stack - source) % (4 * hop_words) == 0:
                    result.update(hops=(stack - source) // (4 * hop_words), source_bytes=source)
                    break
            else:
                result.update(status="int-stack-not-whole-hops", next=None)
                return
        fitting = []
        for number, layout in enumerate(self.layouts(version, bitmap)):
            if sum(size for _, size in layout) + extra_words == hop_words:
                fitting.append((DIALECTS[version][number // 2][0], layout))
        if not fitting:
            result["status"] = "int-hop-length-mismatch"
        else:
            result["dialect"], result["layout"] = fitting[0]
            result["ambiguous"] = any(layout != fitting[0][1] for _, layout in fitting)
            result["holds"] = True
        whole = 0
        while whole < result["hops"] and start + (whole + 1) * 4 * hop_words <= limit:
            whole += 1
        result["whole"] = whole
        if whole < result["hops"]:
            result["cut"] = start + whole * 4 * hop_words
            if result["status"] is None:
                result.update(status="int-stack-truncated", at=result["cut"])

    def int_apply(self, result: dict[str, Any], at: int, end: int, limit: int, level: int, port: int, located: str) -> None:
        """Write what was measured over UDP, and read on behind the INT header."""
        npt = self.int_over_ports(result, located)
        behind = result["next"]
        if behind is None:
            return
        if npt == 2:
            protocol = self.data[at + 3]
            self.packet["protocol"] = protocol
            self.packet.update(src_port=0, dst_port=0)
            self.transport(protocol, behind, end, min(limit, end), level, after_int=True)
            return
        self.packet["dst_port"] = result["original"]
        if result["status"] == "int-version-unknown":
            # Only if the skip lands on something: a header of an unknown version may have another idea of its length.
            if behind >= limit or (result["original"] == 4791 and not self.plausible_bth(behind, limit)):
                return
        self.payload_by_port(result["original"], behind, end, limit, level)

    def int_over_ports(self, result: dict[str, Any], located: str) -> int:
        """INT over UDP or TCP, where the shim has an NPT; gives the NPT that counts."""
        npt = result["npt"]
        if result["next"] is not None:
            if located in ("dscp", "marker"):
                if npt:
                    self.warnings.add("int-npt")
                    result["original"] = self.packet["dst_port"]
                npt = 0
            elif located == "port" and not npt and not result["v1"]:
                self.warnings.add("int-npt")
        if self.int_take(result, (8 if located == "marker" else 0) + (8 if npt == 2 else 0)) and result["kind"] != "mx":
            self.packet["original_dscp"] = result["dscp"]
        return npt

    def int_in_tunnel(self, at: int, end: int, limit: int, v1: bool) -> int | None:
        """INT behind a VXLAN-GPE or GRE header (§10.1): believed; gives where reading goes on, None if nowhere."""
        result = self.measurement(at)
        if at + 4 > limit:
            result["status"] = "int-shim-truncated"
        else:
            kind = self.data[at] if v1 else self.data[at] >> 4
            if kind in ((1, 2) if v1 else (1, 2, 3)):
                self.int_shim(result, at, end, limit, v1, kind)
            else:
                result["status"] = "int-shim-type"
        self.int_take(result)
        behind: int | None = result["next"]
        if result["status"] == "int-version-unknown" and behind is not None and behind >= limit:
            return None
        return behind

    def int_option(self, at: int, size: int, limit: int, kind: int) -> None:
        """INT in a Geneve option of `size` bytes (§7, §11): believed, and never the end of reading."""
        result = self.measurement(at)
        if size < 4 + 12:
            result["status"] = "int-length-too-small"
        else:
            self.int_header(result, at + 4, at + size, limit, v1=False, kind=kind)
        self.int_take(result)

    def int_take(self, result: dict[str, Any], around: int = 0) -> bool:
        """Write what was measured: format, status, and if they count, columns and hops. `around`: bytes that belong to INT beside it."""
        status = result["status"]
        if result["format"]:
            self.found(result["format"])
        if status:
            self.fail(status, result["at"])
        if not result["kind"] or status not in (None, "int-stack-truncated", "int-hop-length-mismatch"):
            return False
        word = result["word"]
        size = result["next"] - result["start"] + around
        if result["kind"] == "mx":
            flags = word >> 27 & 1
            self.telemetry(
                result["format"], [], telemetry_flags=flags, instructions=result["bitmap"], namespace=result["domain"], telemetry_bytes=size
            )
            return True
        remaining = word & 255
        if result["kind"] == "05":
            flags = (word >> 25 & 1) << 3 | (word >> 24 & 1) << 1
            remaining = (word >> 8 & 255) - remaining
        elif result["v1"]:
            flags = (word >> 25 & 1) << 3 | (word >> 24 & 1) << 1 | (word >> 23 & 1) << 2
        else:
            flags = word >> 27 & 1 | (word >> 26 & 1) << 1 | (word >> 25 & 1) << 2
        if flags & 2:
            self.warnings.add("int-hop-exceeded")
        if flags & 4:
            self.warnings.add("int-mtu-exceeded")
        if result["ambiguous"]:
            self.warnings.add("int-dialect-ambiguous")
        if result["dialect"] not in SPECIFIED:
            self.warnings.add("int-dialect")
        if result["ds_instruction"] and result["domain"] == 0:
            self.warnings.add("int-domain-default")
        self.telemetry(
            result["format"],
            self.int_hops(result),
            result["hops"] - result["whole"],
            result["dialect"],
            telemetry_flags=flags,
            instructions=result["bitmap"],
            namespace=result["domain"],
            remaining_hops=remaining,
            telemetry_bytes=size,
        )
        if status and "cut" in result:
            self.fail("int-stack-truncated", result["cut"])
        return True

    def int_hops(self, result: dict[str, Any]) -> list[dict[str, Any]]:
        """Hop rows: the wire has the newest first, the rows have the oldest first (§10.3)."""
        hops = []
        names = ITEMS_05 if result["kind"] == "05" else ITEMS_1 if result["v1"] else ITEMS
        for number in range(result["whole"]):
            if result["layout"] is None:
                hop = blank(schema.HOPS)
                hop["present"] = schema.HOP_OPAQUE
            else:
                hop = self.int_hop(result["header_end"] + number * result["hop_bytes"], result["layout"], result["bitmap"], names)
            if result["whole"] < result["hops"]:
                hop["present"] |= schema.HOP_TRUNCATED_PATH
            hops.append(hop)
        return hops[::-1]

    def int_hop(self, at: int, layout: list[tuple[int, int]], bitmap: int, names: dict[int, str]) -> dict[str, Any]:
        """One hop block by its layout (words by bit)."""
        hop = blank(schema.HOPS)
        metadata_zero = bool(bitmap & 0x6C00)
        for bit, words in layout:
            value = self.u(at, 4 * words) if words else 0
            at += 4 * words
            if bit and value:
                metadata_zero = False
            if words and value != (1 << 32 * words) - 1:
                self.item(hop, names[bit], value, words, level2=not bitmap & 0x4000)
        if metadata_zero:
            self.warnings.add("metadata-zero")
        return hop

    @staticmethod
    def item(hop: dict[str, Any], name: str, value: int, words: int, level2: bool) -> None:
        """One metadata item that is there (§7.1)."""
        if name == "node":
            hop["node_id"] = value
            hop["present"] |= schema.HAS_NODE
        elif name == "ports" or (name == "ports2" and level2):
            half = 16 * words
            hop.update(ingress_port=value >> half, egress_port=value & (1 << half) - 1)
            hop["present"] |= schema.HAS_INGRESS_PORT | schema.HAS_EGRESS_PORT
        elif name == "latency":
            hop["hop_latency_raw"] = value
            hop["present"] |= schema.HAS_LATENCY
        elif name == "queue":
            hop.update(queue_id=value >> 24, queue_depth_raw=value & 0xFFFFFF)
            hop["present"] |= schema.HAS_QUEUE | schema.HAS_DEPTH
        elif name == "ingress_time":
            hop["ingress_time_raw"] = value
            hop["present"] |= schema.HAS_INGRESS_TIME
        elif name == "egress_time":
            hop["egress_time_raw"] = value
            hop["present"] |= schema.HAS_EGRESS_TIME
        elif name == "utilisation":
            hop["tx_utilisation_raw"] = value
            hop["present"] |= schema.HAS_UTILISATION
        elif name == "buffer":
            hop.update(buffer_id=value >> 24, buffer_depth_raw=value & 0xFFFFFF)
            hop["present"] |= schema.HAS_BUFFER

    # ------------------------------------------------------------------------------------------------------------------- reports

    def plausible_ip(self, at: int, limit: int, version: int) -> bool:
        """The first byte fits an IP header of this version."""
        if at >= limit or self.data[at] >> 4 != version:
            return False
        return version == 6 or self.data[at] & 15 >= 5

    def plausible_ethernet(self, at: int, limit: int) -> bool:
        """A frame that, behind up to 8 tags, begins with IP or MPLS."""
        if at + 14 > limit:
            return False
        kind = self.u(at + 12, 2)
        at += 14
        tags = 0
        while (kind in VLAN_TAGS or kind == CSIG_TAG) and tags < 8 and at + 4 <= limit:
            kind = self.u(at + 2, 2)
            at += 4
            tags += 1
        if kind == IPV4:
            return self.plausible_ip(at, limit, 4)
        if kind == IPV6:
            return self.plausible_ip(at, limit, 6)
        return kind in MPLS

    def plausible(self, inner: tuple[str, int, int], limit: int) -> bool:
        """The packet inside a report begins like one."""
        kind, at, end = inner
        limit = min(limit, end)
        if kind == "ethernet":
            return self.plausible_ethernet(at, limit)
        return self.plausible_ip(at, limit, 4 if kind == "ipv4" else 6)

    def follow(self, inner: tuple[str, int, int], limit: int, level: int) -> None:
        """Read the packet inside a report."""
        kind, at, end = inner
        self.in_report = True
        read = {"ethernet": self.ethernet, "ipv4": self.ipv4, "ipv6": self.ipv6}[kind]
        read(at, end, min(limit, end), level)

    def report_by_port(self, at: int, end: int, limit: int, level: int) -> None:
        """A datagram to a configured report port."""
        self.reach(at, 1, end, limit)
        version = self.data[at] >> 4
        if version == 0:
            row, hop, inner = self.report_05(at, end, limit)
            if not self.plausible(inner, limit):
                raise Stop("report-type", at)
            self.accept(schema.FORMAT_REPORT_05, row, hop, inner, limit, level)
        elif version == 1:
            row, hop, inner_1 = self.report_1(at, end, limit)
            self.accept(schema.FORMAT_REPORT_1, row, hop, inner_1, limit, level)
        elif version == 2:
            self.reach(at, 8, end, limit)
            self.accept_2(self.report_2(at, end, limit), limit, level)
        else:
            raise Stop("report-type", at)

    def report_by_structure(self, at: int, end: int, limit: int, level: int) -> bool:
        """A datagram that is a report by its lengths and by the packet inside. False if it is none."""
        if at >= limit:
            return False
        version = self.data[at] >> 4
        before = set(self.warnings)
        try:
            if version == 0:
                row, hop, inner = self.report_05(at, end, limit)
                if self.plausible(inner, limit):
                    self.accept(schema.FORMAT_REPORT_05, row, hop, inner, limit, level)
                    return True
            elif version == 1:
                row, hop, inner_1 = self.report_1(at, end, limit)
                if "report-length-mismatch" not in self.warnings and inner_1 and self.plausible(inner_1, limit):
                    self.accept(schema.FORMAT_REPORT_1, row, hop, inner_1, limit, level)
                    return True
            elif version == 2 and at + 8 <= limit:
                walked = self.report_2(at, end, limit)
                if walked["status"] in (None, "report-truncated") and self.evidence_2(walked, limit):
                    self.accept_2(walked, limit, level)
                    return True
        except Stop:
            if self.in_report:
                raise
        self.warnings = before
        return False

    def reach(self, at: int, size: int, end: int, limit: int) -> None:
        """A piece of a report must be inside the datagram and captured."""
        if at + size > end:
            raise Stop("report-length", at)
        if at + size > limit:
            raise Stop("report-truncated", at)

    def report_05(self, at: int, end: int, limit: int) -> tuple[dict[str, Any], dict[str, Any] | None, tuple[str, int, int]]:
        """Telemetry report v0.5 (§13.1): its row, its hop, its inner frame. Raises Stop if it is not whole."""
        self.reach(at, 1, end, limit)
        kind = self.data[at] & 15
        if kind > 2:
            raise Stop("report-type", at)
        size = (12, 24, 28)[kind]
        self.reach(at, size, end, limit)
        word = self.u(at, 4)
        row = blank(schema.REPORTS)
        row.update(packet=0, report=0, version=schema.FORMAT_REPORT_05, report_type=kind, inner_type=0, hw_id=word & 63, node_id=0)
        row.update(dropped=word >> 23 & 1, congested=word >> 22 & 1, tracked=word >> 21 & 1, intermediate=0, metadata_bits=0)
        row.update(sequence=self.u(at + 4, 4), ingress_time_raw=self.u(at + 8, 4))
        row["present"] = schema.HAS_REPORT_INGRESS_TIME
        hop = None
        if kind:
            row["node_id"] = self.u(at + 12, 4)
            hop = blank(schema.HOPS)
            self.item(hop, "node", row["node_id"], 1, level2=False)
            self.item(hop, "ingress_time", row["ingress_time_raw"], 1, level2=False)
            self.report_item(row, hop, "ports", self.u(at + 16, 4), 1, level2=False)
            self.report_item(row, hop, "drop" if kind == 1 else "queue", self.u(at + 20, 4), 1, level2=False)
            if kind == 2:
                self.report_item(row, hop, "egress_time", self.u(at + 24, 4), 1, level2=False)
        return row, hop, ("ethernet", at + size, end)

    def report_1(self, at: int, end: int, limit: int) -> tuple[dict[str, Any], dict[str, Any] | None, tuple[str, int, int] | None]:
        """Telemetry report v1.0 (§13.2): its row, its hop, its inner packet. Raises Stop if it is not whole."""
        self.reach(at, 4, end, limit)
        word = self.u(at, 4)
        length, protocol, metadata = word >> 24 & 15, word >> 21 & 7, word >> 15 & 0x3F
        if length < 4:
            raise Stop("report-length", at)
        if protocol > 2:
            raise Stop("report-type", at)
        self.reach(at, 4 * length, end, limit)
        row = blank(schema.REPORTS)
        flags = word >> 6 & 7
        if not flags:
            # The ONOS report header has D, Q, F before its reserved bits (§20 `onos-basic` report).
            flags = word >> 12 & 7
        row.update(packet=0, report=0, version=schema.FORMAT_REPORT_1, report_type=protocol, inner_type=0, hw_id=word & 63)
        row.update(node_id=self.u(at + 4, 4), sequence=self.u(at + 8, 4), ingress_time_raw=self.u(at + 12, 4))
        row.update(dropped=flags >> 2, congested=flags >> 1 & 1, tracked=flags & 1, intermediate=0, metadata_bits=metadata)
        row["present"] = schema.HAS_REPORT_INGRESS_TIME
        hop = None
        if length != 4 + bits(metadata):
            self.warnings.add("report-length-mismatch")
        elif metadata:
            hop = blank(schema.HOPS)
            self.item(hop, "node", row["node_id"], 1, level2=False)
            self.item(hop, "ingress_time", row["ingress_time_raw"], 1, level2=False)
            position = at + 16
            for bit, name in enumerate(("ports", "latency", "queue", "egress_time", "drop", "utilisation")):
                if metadata & 32 >> bit:
                    self.report_item(row, hop, name, self.u(position, 4), 1, level2=False)
                    position += 4
        inner = at + 4 * length
        return row, hop, (("ethernet", "ipv4", "ipv6")[protocol], inner, end) if inner < end else None

    def accept(
        self,
        format_id: int,
        row: dict[str, Any],
        hop: dict[str, Any] | None,
        inner: tuple[str, int, int] | None,
        limit: int,
        level: int,
    ) -> None:
        """Take over a v0.5 or v1.0 report."""
        self.found(format_id)
        self.reports.append(row)
        self.report_hop, self.report_format = hop, format_id
        if inner:
            self.follow(inner, limit, level)

    def report_item(self, row: dict[str, Any], hop: dict[str, Any], name: str, value: int, words: int, level2: bool) -> None:
        """One metadata item of a report, into its row and into its hop."""
        if value == (1 << 32 * words) - 1:
            return
        if name == "drop":
            row["drop_reason"] = value >> 16 & 0xFF
            row["present"] |= schema.HAS_REPORT_DROP
            for target in (row, hop):
                if target["queue_id"] is None:
                    target["queue_id"] = value >> 24
            hop["present"] |= schema.HAS_QUEUE
            return
        self.item(hop, name, value, words, level2)
        half = 16 * words
        if name == "ports":
            row.update(ingress_port=value >> half, egress_port=value & (1 << half) - 1)
            row["present"] |= schema.HAS_REPORT_PORTS
        elif name == "ports2":
            row.update(ingress_port_2=value >> half, egress_port_2=value & (1 << half) - 1)
            row["present"] |= schema.HAS_REPORT_L2
        elif name == "latency":
            row["hop_latency_raw"] = value
            row["present"] |= schema.HAS_REPORT_LATENCY
        elif name == "queue":
            row.update(queue_id=value >> 24, queue_depth_raw=value & 0xFFFFFF)
            row["present"] |= schema.HAS_REPORT_QUEUE
        elif name == "ingress_time":
            row["ingress_time_raw"] = value
            row["present"] |= schema.HAS_REPORT_INGRESS_TIME
        elif name == "egress_time":
            row["egress_time_raw"] = value
            row["present"] |= schema.HAS_REPORT_EGRESS_TIME
        elif name == "utilisation":
            row["tx_utilisation_raw"] = value
            row["present"] |= schema.HAS_REPORT_UTILISATION
        elif name == "buffer":
            row.update(buffer_id=value >> 24, buffer_depth_raw=value & 0xFFFFFF)
            row["present"] |= schema.HAS_REPORT_BUFFER

    def report_2(self, at: int, end: int, limit: int) -> dict[str, Any]:
        """Walk a v2.0 datagram (§13.3): rows, hops and inner packets; `status` and `at` where the walk broke off."""
        group, node = self.u(at, 4), self.u(at + 4, 4)
        walked: dict[str, Any] = {"rows": [], "hops": [], "inner": [], "status": None, "at": 0, "soft": None}
        position = at + 8
        try:
            while position + 4 <= end:
                position = self.report_2_single(position, end, limit, group, node, walked)
        except Stop as stop:
            walked.update(status=stop.status, at=stop.at)
        return walked

    def report_2_single(self, at: int, end: int, limit: int, group: int, node: int, walked: dict[str, Any]) -> int:
        """One individual report: appended to `walked`; gives where the next one begins."""
        self.reach(at, 4, end, limit)
        word = self.u(at, 4)
        kind, inner_type, length, words = word >> 28, word >> 24 & 15, word >> 16 & 255, word >> 8 & 255
        if kind > 2 or inner_type > 5:
            raise Stop("report-type", at)
        fixed = 8 if kind == 1 else 0
        start = at + 4 + fixed + 4 * words
        inner_kind = {3: "ethernet", 4: "ipv4", 5: "ipv6"}.get(inner_type)
        zero = length == 0 and inner_kind is not None and kind != 2 and start < end and self.plausible((inner_kind, start, end), limit)
        if zero or length == 255:
            report_end = end
        elif length == 0 and kind == 1:
            raise Stop("report-length", at)
        else:
            report_end = at + 4 + 4 * length
        if report_end > end or start > report_end:
            raise Stop("report-length", at)
        if kind == 0 and words:
            raise Stop("report-metadata-length", at)
        row = blank(schema.REPORTS)
        row.update(packet=0, report=len(walked["rows"]), version=schema.FORMAT_REPORT_2, report_type=kind, inner_type=inner_type)
        row.update(hw_id=group >> 22 & 63, sequence=group & 0x3FFFFF, node_id=node, metadata_bits=0)
        row.update(dropped=word >> 7 & 1, congested=word >> 6 & 1, tracked=word >> 5 & 1, intermediate=word >> 4 & 1)
        hop = None
        if kind == 1:
            if start > limit:
                raise Stop("report-truncated", at)
            hop = self.report_2_metadata(at, words, row)
        if zero:
            self.warnings.add("report-length-zero")
        walked["rows"].append(row)
        walked["hops"].append(hop)
        walked["inner"].append(None)
        if kind != 2 and inner_kind is not None and start < report_end:
            walked["inner"][-1] = (inner_kind, start, report_end)
        elif kind != 2 and inner_type == 1:
            while start + 4 <= report_end:
                self.reach(start, 4, report_end, limit)
                tlv = self.u(start, 4)
                tlv_end = start + 4 + 4 * (tlv >> 16 & 255)
                if tlv_end > report_end:
                    walked["soft"] = walked["soft"] or ("report-length", start)
                    break
                tlv_kind = {1: "ethernet", 2: "ipv4", 3: "ipv6"}.get(tlv >> 28)
                if tlv_kind and tlv_end > start + 4 and walked["inner"][-1] is None:
                    walked["inner"][-1] = (tlv_kind, start + 4, tlv_end)
                start = tlv_end
        return report_end

    def report_2_metadata(self, at: int, words: int, row: dict[str, Any]) -> dict[str, Any] | None:
        """Metadata of a RepType 1 report into its row; gives its hop."""
        bitmap, ds_bits = self.u(at + 4, 2), self.u(at + 8, 2)
        items = []
        for bit in range(1, 16):
            if bitmap & 0x8000 >> bit:
                items.append((("drop" if bit == 15 else ITEMS[bit]), 2 if bit in (4, 5, 6) else 1))
        total = sum(size for _, size in items)
        skipped = None
        for reserved in (1, 0) if bitmap & 0x8000 else (0,):
            if words == total + reserved or (ds_bits and words >= total + reserved):
                skipped = reserved
                break
        if skipped is None:
            raise Stop("report-metadata-length", at)
        row["metadata_bits"] = bitmap
        hop = blank(schema.HOPS)
        self.item(hop, "node", row["node_id"], 1, level2=False)
        position = at + 12 + 4 * skipped
        for name, size in items:
            self.report_item(row, hop, name, self.u(position, 4 * size), size, level2=not bitmap & 0x4000)
            position += 4 * size
        return hop if bitmap & 0x7FFF else None

    def evidence_2(self, walked: dict[str, Any], limit: int) -> bool:
        """A v2.0 datagram that nobody configured is believed by what is in it."""
        strong = False
        for row, inner in zip(walked["rows"], walked["inner"], strict=True):
            plausible = inner is not None and self.plausible(inner, limit)
            if inner is not None and row["inner_type"] >= 3 and not plausible:
                return False
            strong = strong or plausible or (row["report_type"] == 1 and row["metadata_bits"] != 0)
        return strong and walked["soft"] is None

    def accept_2(self, walked: dict[str, Any], limit: int, level: int) -> None:
        """Take over the reports of a v2.0 datagram and follow the first packet in it."""
        self.found(schema.FORMAT_REPORT_2)
        self.reports.extend(walked["rows"])
        faults = [fault for fault in (walked["soft"], walked["status"] and (walked["status"], walked["at"])) if fault]
        for status, at in faults:
            self.fail(status, at)
        with_packet = [number for number, inner in enumerate(walked["inner"]) if inner is not None]
        if len(with_packet) > 1:
            self.warnings.add("report-more")
        if walked["rows"]:
            followed = with_packet[0] if with_packet else 0
            self.report_hop, self.report_format = walked["hops"][followed], schema.FORMAT_REPORT_2
            if with_packet:
                self.follow(walked["inner"][followed], limit, level)

    # ---------------------------------------------------------------------------------------------------------------------- IOAM

    def ioam(self, at: int, size: int, limit: int) -> None:
        """An IOAM option (§14.2): `size` bytes behind its 2-byte head, which lie inside the extension header."""
        if size < 2:
            self.fail("ioam-truncated", at)
            return
        if at + 4 > limit:
            return
        if self.data[at + 3] != 0:
            self.found(schema.FORMAT_IOAM_OTHER)
            return
        if size < 10:
            self.found(schema.FORMAT_IOAM_TRACE)
            self.fail("ioam-truncated", at)
            return
        if at + 12 > limit:
            return
        self.found(schema.FORMAT_IOAM_TRACE)
        namespace, word, trace_type = self.u(at + 4, 2), self.u(at + 6, 2), self.u(at + 8, 3)
        node_bytes, flags, remaining = 4 * (word >> 11), word >> 7 & 15, word & 127
        space = size - 10
        start = at + 12
        expected = 4 * bits(trace_type & 0xFF0FFC) + 4 * bits(trace_type & 0x001000) + 8 * bits(trace_type & 0x00E000)
        snapshot = bool(trace_type & 2)
        if node_bytes != expected or (node_bytes == 0 and not snapshot and space > 0):
            self.fail("ioam-node-length", at)
            return
        if 4 * remaining > space:
            self.fail("ioam-remaining-length", at)
            return
        if flags & 4 and trace_type != 0x800000:
            self.fail("ioam-loopback-type", at)
            return
        first, end = start + 4 * remaining, start + space
        nodes: list[int] = []
        cut = None
        if snapshot:
            position = first
            while position < end:
                if position + node_bytes + 4 > end:
                    self.fail("ioam-snapshot-overrun", at)
                    return
                if position + node_bytes + 4 > limit:
                    cut = position
                    break
                behind = position + node_bytes + 4 + 4 * self.data[position + node_bytes]
                if behind > end:
                    self.fail("ioam-snapshot-overrun", at)
                    return
                if behind > limit:
                    cut = position
                    break
                nodes.append(position)
                position = behind
        elif node_bytes:
            rest = space % node_bytes
            if (end - first) % node_bytes not in (0, rest):
                self.fail("ioam-not-whole-nodes", at)
                return
            if rest:
                self.warnings.add("ioam-space-rest")
            for number in range((end - first) // node_bytes):
                position = first + number * node_bytes
                if position + node_bytes > limit:
                    cut = position
                    break
                nodes.append(position)
        if flags & 8:
            self.warnings.add("ioam-overflow")
        if trace_type & 0x000FFC:
            self.warnings.add("ioam-unassigned-bits")
        self.dialect = None
        self.packet.update(
            telemetry=schema.FORMAT_IOAM_TRACE,
            dialect=0,
            telemetry_flags=flags,
            instructions=trace_type,
            namespace=namespace,
            remaining_hops=remaining,
            telemetry_bytes=2 + size,
        )
        hops = [self.ioam_node(position, trace_type) for position in nodes]
        self.missing = 0 if snapshot or not node_bytes else (end - first) // node_bytes - len(nodes)
        if cut is not None:
            self.fail("ioam-stack-truncated", cut)
            for hop in hops:
                hop["present"] |= schema.HOP_TRUNCATED_PATH
        self.stack = hops[::-1]

    def ioam_node(self, at: int, trace_type: int) -> dict[str, Any]:
        """One node's data, in bit order (§14.3)."""
        hop = blank(schema.HOPS)
        seconds = fraction = None

        def keep(name: str, value: int, width: int, bit: int) -> None:
            if value != (1 << width) - 1:
                hop[name] = value
                hop["present"] |= bit

        for bit in range(22):
            if not trace_type & 0x800000 >> bit:
                continue
            size = 8 if bit in (8, 9, 10) else 4
            value = self.u(at, size)
            at += size
            if bit in (0, 8):
                width = 8 * size - 8
                keep("hop_limit", value >> width, 8, schema.HAS_HOP_LIMIT)
                keep("node_id", value & (1 << width) - 1, width, schema.HAS_NODE)
            elif bit in (1, 9):
                width = 4 * size
                keep("ingress_port", value >> width, width, schema.HAS_INGRESS_PORT)
                keep("egress_port", value & (1 << width) - 1, width, schema.HAS_EGRESS_PORT)
            elif bit == 2:
                seconds = value
            elif bit == 3:
                fraction = value
            elif bit == 4 and not value >> 31:
                hop["hop_latency_raw"] = value
                hop["present"] |= schema.HAS_LATENCY
            elif bit in (5, 10):
                keep("namespace_data", value, 8 * size, schema.HAS_DATA)
            elif bit == 6:
                keep("queue_depth_raw", value, 32, schema.HAS_DEPTH)
            elif bit == 11 and value != 0xFFFFFFFF:
                hop.update(buffer_id=0, buffer_depth_raw=value)
                hop["present"] |= schema.HAS_BUFFER
        if seconds is not None and fraction is not None and 0xFFFFFFFF not in (seconds, fraction):
            hop["ingress_time_raw"] = seconds << 32 | fraction
            hop["present"] |= schema.HAS_INGRESS_TIME
        return hop

    # ---------------------------------------------------------------------------------------------------------------------- result

    def result(self) -> dict[str, Any]:
        """Everything that was read."""
        hops = list(self.stack)
        if self.report_hop is not None:
            if not self.packet["telemetry"]:
                self.packet["telemetry"] = self.report_format
            if not hops or hops[-1]["node_id"] is None or hops[-1]["node_id"] != self.report_hop["node_id"]:
                self.report_hop["present"] |= schema.HOP_FROM_REPORT
                hops.append(self.report_hop)
        for number, hop in enumerate(hops):
            hop.update(packet=0, hop=self.missing + number)
        nodes = [hop["node_id"] for hop in hops if hop["node_id"] is not None]
        if len(set(nodes)) < len(nodes):
            self.warnings.add("node-repeated")
        self.packet.update(
            formats=self.formats,
            hop_count=len(hops),
            first_hop=0,
            roce_row=None if self.roce is None else 0,
            report_count=len(self.reports),
            status=self.status,
            status_at=min(self.status_at, 0xFFFF),
            warnings=self.warnings,
        )
        return {
            "packet": self.packet,
            "hops": hops,
            "roce": self.roce,
            "reports": self.reports,
            "mirrors": self.mirrors,
            "dialect": self.dialect,
        }


def decode_packet(
    data: bytes, link_type: int, original: int | None = None, time_ns: int = 0, profile: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Decode one captured packet.

    `profile` may hold int_ports, int_dscp (value, mask), marker (64-bit number), report_ports, domains {id: (source-only words, words
    in every hop)}, geneve_int_classes and gre_int_protocols.
    """
    settings: dict[str, Any] = {"int_ports": (), "int_dscp": None, "marker": None, "report_ports": (), "domains": {}}
    settings |= {"geneve_int_classes": (), "gre_int_protocols": (), **(profile or {})}
    captured = len(data)
    if original is None:
        original = captured
    reader = Reader(bytes(data), original, time_ns, settings)
    if captured < original:
        reader.warnings.add("captured-short")
    elif captured > original:
        reader.warnings.add("captured-beyond-original")
    try:
        reader.link(link_type, max(original, captured), captured)
    except Stop as stop:
        reader.fail(stop.status, stop.at)
    return reader.result()


def read_pcap(path: str | Path) -> tuple[int, list[tuple[int, int, bytes]]]:
    """Link type and records (time in ns, original length, bytes) of a classic pcap that is whole."""
    content = Path(path).read_bytes()
    magic = content[:4]
    order = "<" if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    (value,) = struct.unpack(order + "I", magic)
    if value not in (0xA1B2C3D4, 0xA1B23C4D):
        raise ValueError(f"{path}: not a classic pcap")
    unit = 1000 if value == 0xA1B2C3D4 else 1
    (link_type,) = struct.unpack_from(order + "I", content, 20)
    records = []
    at = 24
    while at < len(content):
        seconds, fraction, captured, original = struct.unpack_from(order + "IIII", content, at)
        records.append((seconds * 1_000_000_000 + fraction * unit, original, content[at + 16 : at + 16 + captured]))
        at += 16 + captured
    return link_type & 0xFFFF, records
