"""Tunnel and mirror headers: GRE, ERSPAN, VXLAN, VXLAN-GPE, Geneve, NSH; fields that Lumina rewrites."""

from __future__ import annotations

from int_analyzer.dissect.field import Field, Form, Header, flag, reserved
from int_analyzer.dissect.headers.network import ETHERTYPES

GRE = Header(
    "gre",
    "GRE",
    "RFC 2784 §2.1, RFC 2890 §2",
    (
        flag("checksum_present", "C"),
        flag("routing_present", "R"),
        flag("key_present", "K"),
        flag("sequence_present", "S"),
        flag("strict_route", "s"),
        Field("recursion", 3),
        Field("flags", 5, form=Form.HEX),
        Field("version", 3),
        Field("protocol", 16, "what follows", Form.HEX, names=ETHERTYPES),
    ),
)
GRE_CHECKSUM = Header("gre", "GRE checksum", "RFC 2784 §2.1", (Field("checksum", 16, form=Form.HEX), reserved(16)))
GRE_KEY = Header("gre", "GRE key", "RFC 2890 §2.1", (Field("key", 32, form=Form.HEX),))
GRE_SEQUENCE = Header("gre", "GRE sequence", "RFC 2890 §2.2", (Field("sequence", 32, column="mirrors.sequence"),))

ERSPAN_SPEC = "draft-foschiano-erspan-03"
_SESSION = (
    Field("version", 4, names={1: "type II", 2: "type III"}),
    Field("vlan_id", 12, "of the mirrored frame", column="mirrors.vlan_id"),
    Field("cos", 3, "class of service", column="mirrors.cos"),
)
ERSPAN_2 = Header(
    "erspan",
    "ERSPAN type II",
    f"{ERSPAN_SPEC} §4.2",
    (
        *_SESSION,
        Field(
            "encapsulation",
            2,
            "En",
            names={0: "without VLAN", 1: "ISL", 2: "802.1Q, tag taken off", 3: "tag kept in the frame"},
            column="mirrors.encapsulation",
        ),
        flag("truncated", "the mirror cut the frame", "mirrors.truncated"),
        Field("session_id", 10, column="mirrors.session_id"),
        reserved(12),
        Field("index", 20, "port and direction, by platform", column="mirrors.index"),
    ),
)
ERSPAN_3 = Header(
    "erspan",
    "ERSPAN type III",
    f"{ERSPAN_SPEC} §4.3",
    (
        *_SESSION,
        Field("bso", 2, names={0: "good", 1: "short", 2: "oversized", 3: "bad CRC or alignment"}, column="mirrors.encapsulation"),
        flag("truncated", "the mirror cut the frame", "mirrors.truncated"),
        Field("session_id", 10, column="mirrors.session_id"),
        Field("timestamp", 32, "unit by granularity", column="mirrors.timestamp_raw"),
        Field("security_group", 16, "SGT", column="mirrors.security_group"),
        flag("ethernet", "P: the payload is an Ethernet protocol frame"),
        Field("frame_type", 5, names={0: "Ethernet", 2: "IP"}),
        Field("hw_id", 6, column="mirrors.hw_id"),
        Field("direction", 1, names={0: "ingress", 1: "egress"}, column="mirrors.direction"),
        Field(
            "granularity",
            2,
            "unit of the timestamp",
            names={0: "100 µs", 1: "100 ns", 2: "ns, IEEE 1588", 3: "platform's"},
            column="mirrors.granularity",
        ),
        flag("subheader", "O: a platform subheader follows"),
    ),
)
_PLATFORM = Field("platform_id", 6, column="mirrors.platform_id")
_PLATFORM_SPEC = f"{ERSPAN_SPEC} §4.3, platform subheader"


def _platform(*fields: Field) -> Header:
    return Header("erspan.platform", "ERSPAN platform subheader", _PLATFORM_SPEC, (_PLATFORM, *fields))


_SECONDS = _platform(Field("switch_id", 10), Field("port_index", 16), Field("seconds", 32, "of the timestamp", unit="s"))
_SOURCE = _platform(reserved(6), Field("source_index", 20), Field("timestamp_upper", 32))
ERSPAN_PLATFORMS = {
    1: _platform(reserved(14), Field("domain", 12, "VSM domain"), Field("port_index", 32)),
    3: _platform(reserved(12), Field("port_index", 14), Field("timestamp_upper", 32)),
    5: _SECONDS,
    6: _SECONDS,
    7: _SOURCE,
    8: _SOURCE,
}
"""Platform subheaders by platform id."""
ERSPAN_PLATFORM_OTHER = _platform(Field("info", 58, form=Form.HEX))

_VNI = (Field("vni", 24, "network identifier"), reserved(8))
VXLAN = Header("vxlan", "VXLAN", "RFC 7348 §5", (reserved(4), flag("vni_valid", "I"), reserved(3), reserved(24), *_VNI))
GPE_PROTOCOLS = {1: "IPv4", 2: "IPv6", 3: "Ethernet", 4: "NSH", 8: "INT v1.0", 0x80: "INT v2.0", 0x81: "IOAM", 0x82: "INT v2.1"}
VXLAN_GPE = Header(
    "vxlan_gpe",
    "VXLAN-GPE",
    "draft-ietf-nvo3-vxlan-gpe-12 §3",
    (
        reserved(2),
        Field("version", 2),
        flag("vni_valid", "I"),
        flag("protocol_valid", "P"),
        flag("bum", "B"),
        flag("oam", "O"),
        reserved(16),
        Field("next_protocol", 8, "what follows", Form.HEX, names=GPE_PROTOCOLS),
        *_VNI,
    ),
)
GENEVE = Header(
    "geneve",
    "Geneve",
    "RFC 8926 §3.4",
    (
        Field("version", 2),
        Field("options_length", 6, unit="words"),
        flag("control", "O"),
        flag("critical", "C: an option must be understood"),
        reserved(6),
        Field("protocol", 16, "what follows", Form.HEX, names=ETHERTYPES),
        *_VNI,
    ),
)
GENEVE_OPTION = Header(
    "geneve.option",
    "Geneve option",
    "RFC 8926 §3.5",
    (
        Field("class", 16, form=Form.HEX, names={0x0103: "INT"}),
        flag("critical", "must be understood"),
        Field("type", 7),
        reserved(3),
        Field("length", 5, "without these four bytes", unit="words"),
    ),
)
NSH = Header(
    "nsh",
    "NSH",
    "RFC 8300 §2.2-2.3",
    (
        Field("version", 2),
        flag("oam", "O"),
        reserved(1),
        Field("ttl", 6),
        Field("length", 6, unit="words"),
        reserved(4),
        Field("metadata_type", 4, names={1: "fixed", 2: "variable"}),
        Field("next_protocol", 8, "what follows", names={1: "IPv4", 2: "IPv6", 3: "Ethernet", 4: "NSH", 5: "MPLS", 6: "IOAM"}),
        Field("path", 24, "service path"),
        Field("index", 8, "service index"),
    ),
)
_LUMINA = "Lumina, SIGCOMM 2023"
LUMINA_FRAME = Header(
    "lumina",
    "Lumina, in the addresses of the frame",
    _LUMINA,
    (
        Field("timestamp", 48, "of the switch", unit="ns", column="mirrors.timestamp_raw"),
        Field("sequence_upper", 16),
        Field("sequence", 32, column="mirrors.sequence"),
    ),
)
LUMINA_UDP = Header(
    "lumina", "Lumina, in the UDP checksum", _LUMINA, (Field("original_port", 16, "UDP source port", column="packets.src_port"),)
)
