"""What carries telemetry, as branches: link layer, IP, UDP, tunnels and mirrors, along the steps of the kernel."""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer.dissect.branch import REPLACED, Branch, of_bytes, of_header
from int_analyzer.dissect.headers import int_md, network, tunnel
from int_analyzer.dissect.ioam_option import add_contents, ioam_option
from int_analyzer.dissect.stack import carried_int
from int_analyzer.dissect.trace import Step
from int_analyzer.formats.int_md import LOCATED_BY_MARKER
from int_analyzer.formats.tcp_int import KIND as TCP_INT_KIND
from int_analyzer.formats.tcp_int import KIND_NONE as TCP_INT_FILLER
from int_analyzer.formats.tcp_int import LENGTH as TCP_INT_LENGTH
from int_analyzer.schema import FORMAT_NONE
from int_analyzer.settings import CSIG_TYPE, CSIG_WIDE_TYPE, Settings
from int_analyzer.watch import IOAM
from int_analyzer.wire import ethernet as link_layer
from int_analyzer.wire.ip import NEXT_DESTINATION, NEXT_FRAGMENT, NEXT_HOP_BY_HOP, NEXT_ROUTING, OPTION_IOAM, OPTION_IOAM_DIRECT, OPTION_MRI
from int_analyzer.wire.layer import ETHERNET, INT
from int_analyzer.wire.read import Buffer, u8

_TAGS = {
    link_layer.ETHERTYPE_VLAN: network.VLAN,
    link_layer.ETHERTYPE_QINQ: network.VLAN,
    link_layer.ETHERTYPE_QINQ_OLD: network.VLAN,
    link_layer.ETHERTYPE_QINQ_OTHER: network.VLAN,
}
_LINKS = {link_layer.LINK_SLL: network.SLL, link_layer.LINK_SLL2: network.SLL2}
_IPV4_END, _IPV4_NOP = 0, 1


def ethernet(data: Buffer, step: Step) -> Iterator[Branch]:
    """Ethernet and its tags."""
    _, at, limit, settings = step.arguments
    branch = of_header(network.ETHERNET, data, at, limit)
    yield branch
    yield from _tags(data, at + 14, step.result[1], limit, branch.number("type"), settings)


def link(data: Buffer, step: Step) -> Iterator[Branch]:
    """A link layer other than Ethernet, and its tags."""
    _, at, limit, link_type, settings = step.arguments
    header = _LINKS.get(link_type)
    if header is not None:
        branch = of_header(header, data, at, limit)
        yield branch
        yield from _tags(data, at + header.bytes, step.result[1], limit, branch.number("type"), settings)


def _tags(data: Buffer, at: int, end: int, limit: int, ethertype: int | None, settings: Settings) -> Iterator[Branch]:
    # a tag that is cut is where the kernel stopped: it is shown as far as it goes
    tags = _TAGS | {int(settings.numbers[CSIG_WIDE_TYPE]): network.CSIG_WIDE, int(settings.numbers[CSIG_TYPE]): network.CSIG}
    while ethertype in tags and at < limit and (at < end or at + tags[ethertype].bytes > limit):
        branch = of_header(tags[ethertype], data, at, limit)
        yield branch
        at += tags[ethertype].bytes
        ethertype = branch.number("type")


def mpls(data: Buffer, step: Step) -> Iterator[Branch]:
    """Label stack and the control word in front of an inner Ethernet frame."""
    _, at, limit = step.arguments
    kind, end, _ = step.result
    while at < limit:
        branch = of_header(network.MPLS, data, at, limit)
        yield branch
        at += 4
        if branch.number("bottom") != 0 or at >= max(end, 4):
            break
    if kind == ETHERNET:
        yield of_header(network.MPLS_CONTROL, data, at, limit)


def ipv4(data: Buffer, step: Step, mri: dict[int, Step]) -> Iterator[Branch]:
    """IPv4 header with its options; `mri` is the step of its MRI option by where that begins."""
    at, limit = step.arguments[1:3]
    branch = of_header(network.IPV4, data, at, limit)
    words = branch.number("header_length") or 0
    if words > 5:
        branch.branches = list(_ipv4_options(data, at + 20, min(at + 4 * words, limit), mri))
    yield branch


def _ipv4_options(data: Buffer, at: int, end: int, mri: dict[int, Step]) -> Iterator[Branch]:
    while at < end:
        kind = u8(data, at)
        if kind in (_IPV4_END, _IPV4_NOP):
            yield of_header(network.IPV4_FILLER, data, at, end)
            at += 1
            if kind == _IPV4_END:
                break
            continue
        option = of_header(network.IPV4_OPTION, data, at, end)
        length = option.number("length") or 0
        following = at + length
        if kind & 0x1F == OPTION_MRI:
            option.branches.append(_mri(data, at + 2, min(following, end), mri.get(at)))
        else:
            option.values += of_bytes("", "ip.option", "data", "", data, at + 2, min(following, end)).values
        yield option
        if length < 2:
            break
        at = following


def _mri(data: Buffer, at: int, end: int, step: Step | None) -> Branch:
    branch = of_header(network.MRI, data, at, end)
    begin, size = at + network.MRI.bytes, network.MRI_SWITCH.bytes
    if step is None:
        branch.values += of_bytes("", "mri", "data", "not read", data, begin, end).values
        return branch
    if step.hops and not step.is_kept:
        branch.remarks.append(REPLACED)
    for position, hop in enumerate(step.hops):
        # newest first on the wire
        switch = of_header(network.MRI_SWITCH, data, begin + (len(step.hops) - 1 - position) * size, end, f"hop {hop.number}")
        switch.hop, switch.node, switch.is_row = hop.number, switch.number("node_id"), step.is_kept
        branch.branches.append(switch)
    return branch


def ipv6(data: Buffer, step: Step) -> Iterator[Branch]:
    """IPv6 fixed header."""
    at, limit = step.arguments[1:3]
    yield of_header(network.IPV6, data, at, limit)


def extension(data: Buffer, step: Step, ioam: dict[int, Step]) -> Iterator[Branch]:
    """One IPv6 extension header; `ioam` are the steps of its IOAM options by where these begin."""
    _, at, limit, _, protocol = step.arguments
    header = network.EXTENSIONS[protocol]
    branch = of_header(header, data, at, limit)
    end = min(at + 8 * ((branch.number("length") or 0) + 1), limit)
    if protocol in (NEXT_HOP_BY_HOP, NEXT_DESTINATION):
        branch.branches = list(_options(data, at + 2, end, ioam))
    elif protocol == NEXT_ROUTING:
        branch.values += of_bytes("", header.name, "data", "by type", data, at + 4, end).values
    elif protocol != NEXT_FRAGMENT:
        raise ValueError(f"no extension header: {protocol}")
    yield branch


def _options(data: Buffer, at: int, end: int, ioam: dict[int, Step]) -> Iterator[Branch]:
    while at < end:
        kind = u8(data, at)
        if kind == 0:
            yield of_header(network.PAD1, data, at, end)
            at += 1
            continue
        length = u8(data, at + 1) if at + 1 < end else 0
        following = at + 2 + length
        if kind in (OPTION_IOAM, OPTION_IOAM_DIRECT):
            yield ioam_option(data, at, min(following, end), ioam.get(at))
        else:
            option = of_header(network.IPV6_OPTION, data, at, end)
            option.values += of_bytes("", "ipv6.option", "data", "", data, at + 2, min(following, end)).values
            yield option
        at = following


def gre(data: Buffer, step: Step) -> Iterator[Branch]:
    """GRE header with its optional words."""
    at, limit = step.arguments[1:3]
    branch = of_header(tunnel.GRE, data, at, limit)
    position = at + 4
    for name, header in (
        ("checksum_present", tunnel.GRE_CHECKSUM),
        ("key_present", tunnel.GRE_KEY),
        ("sequence_present", tunnel.GRE_SEQUENCE),
    ):
        if branch.number(name) and not branch.number("routing_present"):
            branch.values += header.read(data, position, limit)
            position += 4
    yield branch


def erspan(data: Buffer, step: Step) -> Iterator[Branch]:
    """ERSPAN header of type II or III; type I has none."""
    at, limit = step.arguments[1:3]
    if step.result[4] == 0 and limit <= at:
        return
    if step.result[1] == at and step.result[4] != 0:
        yield Branch("ERSPAN type I", "erspan", f"{tunnel.ERSPAN_SPEC} §4.1", at, remarks=["no header of its own"], size=0)
        return
    third = u8(data, at) >> 4 == 2
    header = tunnel.ERSPAN_3 if third else tunnel.ERSPAN_2
    # without a tunnel bit the kernel has kept nothing of it, even where only the subheader is cut
    branch = of_header(header if step.result[4] else header.without_columns(), data, at, limit)
    yield branch
    begin = at + tunnel.ERSPAN_3.bytes
    if third and branch.number("subheader") and begin < limit:
        platform = tunnel.ERSPAN_PLATFORMS.get(u8(data, begin) >> 2, tunnel.ERSPAN_PLATFORM_OTHER)
        yield of_header(platform if step.result[4] else platform.without_columns(), data, begin, limit)


def vxlan(data: Buffer, step: Step) -> Iterator[Branch]:
    """VXLAN header."""
    _, at, limit = step.arguments
    yield of_header(tunnel.VXLAN, data, at, limit)


def vxlan_gpe(data: Buffer, step: Step) -> Iterator[Branch]:
    """VXLAN-GPE header."""
    _, at, limit = step.arguments
    yield of_header(tunnel.VXLAN_GPE, data, at, limit)


def geneve(data: Buffer, step: Step, carried: dict[int, Step]) -> Iterator[Branch]:
    """Geneve header and its options; `carried` are the steps of its INT and IOAM options by where these begin."""
    _, at, limit = step.arguments
    branch = of_header(tunnel.GENEVE, data, at, limit)
    end = min(at + 8 + 4 * (branch.number("options_length") or 0), limit)
    option = at + 8
    while option < end and not branch.number("version"):
        inside = of_header(tunnel.GENEVE_OPTION, data, option, end)
        following = option + 4 + 4 * (inside.number("length") or 0)
        known = carried.get(option)
        if known is not None and known.layer == IOAM:
            add_contents(data, inside, known.arguments[4], option + 4, min(following, end), known)
        elif known is not None:
            inside.branches = list(carried_int(data, known))
        else:
            inside.values += of_bytes("", "geneve.option", "data", "", data, option + 4, min(following, end)).values
        branch.branches.append(inside)
        option = following
    yield branch


def nsh(data: Buffer, step: Step) -> Iterator[Branch]:
    """NSH with its metadata."""
    _, at, limit = step.arguments
    branch = of_header(tunnel.NSH, data, at, limit)
    end = min(at + 4 * (branch.number("length") or 0), limit)
    branch.values += of_bytes("", "nsh", "metadata", "", data, at + tunnel.NSH.bytes, end).values
    yield branch


def lumina(data: Buffer, step: Step) -> Iterator[Branch]:
    """What a Lumina switch wrote into fields of the headers before."""
    _, at, frame = step.arguments[:3]
    if frame >= 0:
        yield of_header(tunnel.LUMINA_FRAME, data, frame, len(data))
    yield of_header(tunnel.LUMINA_UDP, data, at + 6, len(data))


def tcp_int(data: Buffer, step: Step) -> Iterator[Branch]:
    """The TCP-INT option of a TCP header that has one."""
    if step.result == FORMAT_NONE:
        return
    option = step.arguments[1] + network.TCP.bytes
    while u8(data, option) != TCP_INT_KIND or u8(data, option + 1) != TCP_INT_LENGTH:
        option += 1 if u8(data, option) == TCP_INT_FILLER else u8(data, option + 1)
    yield of_header(network.TCP_INT, data, option, step.arguments[2])


def udp(data: Buffer, at: int, limit: int) -> Branch:
    """UDP header."""
    return of_header(network.UDP, data, at, limit)


def tcp(data: Buffer, step: Step) -> Iterator[Branch]:
    """TCP header with its options as bytes, unless INT stands between the two: then they are shown behind INT."""
    at, limit = step.arguments[1:3]
    branch = of_header(network.TCP, data, at, limit)
    end = min(at + 4 * (branch.number("header_length") or 0), limit)
    if not _options_behind_int(data, step):
        branch.values += of_bytes("", "tcp", "options", "", data, at + network.TCP.bytes, end).values
    yield branch


def tcp_options(data: Buffer, step: Step, at: int, limit: int) -> Iterator[Branch]:
    """TCP options from `at` on, behind the INT that `step` has found between them and the fixed header."""
    size = 4 * (u8(data, step.arguments[1] + 12) >> 4) - network.TCP.bytes
    end = min(at + size, limit)
    if _options_behind_int(data, step) and end > at:
        yield of_bytes("TCP options", "tcp", "options", "behind INT", data, at, end, network.TCP.spec)


def _options_behind_int(data: Buffer, step: Step) -> bool:
    at, (kind, begin, _, located) = step.arguments[1], step.result
    marker = int_md.MARKER.bytes if located == LOCATED_BY_MARKER else 0
    return bool(kind == INT and begin - marker == at + network.TCP.bytes and u8(data, at + 12) >> 4 > 5)
