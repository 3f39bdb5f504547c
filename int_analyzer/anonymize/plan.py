"""What of a packet is kept, where addresses stand in it, and which checksums cover it, from the layers that the kernel entered.

Kept is what is known to be a header or telemetry. All else is dropped: payload, padding and trailers, ARP, LLDP and whatever else is not
IP, the bodies of ICMP, TCP options, unknown options of IPv4, IPv6 and Geneve. A pause frame is kept, it holds times only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from int_analyzer import watch as kernel
from int_analyzer.anonymize.checksum import Fix, Icrc, Network, Sum
from int_analyzer.anonymize.option import ipv4_options, ipv6_options, routing_addresses
from int_analyzer.anonymize.reported import Frame, report_parts
from int_analyzer.anonymize.steps import Step
from int_analyzer.formats.int_md import LOCATED_BY_MARKER, LOCATED_BY_STRUCTURE
from int_analyzer.formats.roce import BTH_BYTES, OPCODES
from int_analyzer.formats.tcp_int import KIND as TCP_INT_KIND
from int_analyzer.formats.tcp_int import KIND_NONE as TCP_INT_FILLER
from int_analyzer.formats.tcp_int import LENGTH as TCP_INT_LENGTH
from int_analyzer.schema import FORMAT_NONE
from int_analyzer.status import STATUS_CODE
from int_analyzer.wire import layer
from int_analyzer.wire.ethernet import LINK_SLL, LINK_SLL2
from int_analyzer.wire.ip import NEXT_DESTINATION, NEXT_HOP_BY_HOP, NEXT_ROUTING, PROTOCOL_GRE, PROTOCOL_TCP, PROTOCOL_UDP, of_protocol
from int_analyzer.wire.read import Buffer, u8, u16, u24
from int_analyzer.wire.tunnel import GENEVE_CLASS_INT

_OK, _FRAGMENT, _NOT_IP = STATUS_CODE["ok"], STATUS_CODE["fragment"], STATUS_CODE["not-ip"]
_LINK_TRUNCATED, _MPLS_UNKNOWN = STATUS_CODE["link-truncated"], STATUS_CODE["mpls-payload-unknown"]
_ETHERTYPE_PAUSE, _PAUSE_BYTES = 0x8808, 20
_ICMP, _ICMPV6 = 1, 58
_ICMP_BYTES = 4
"""Type, code, checksum: behind these ICMP quotes packets and names addresses."""
_TCP_BYTES = 20
_INT_HEAD = 16
"""Bytes of an INT header that could not be read: shim and metadata header, which say why."""
_REPORT_HEAD, _REPORT_LARGEST = 12, 60
_GENEVE_INT_TYPES = (1, 2, 3)
_HPCC_LARGEST = 2 + 15 * 8
_ROCE_PORT = 4791
_SLL_ADDRESS = {LINK_SLL: (6, 4, 2, 16), LINK_SLL2: (12, 11, 1, 20)}
"""Where a cooked header has the address of its link, where its length, in how many bytes, and its own size."""


@dataclass
class Plan:
    """kept: intervals [begin, end); end: where the packet is cut; macs, ipv4, ipv6: where addresses begin; fixes: checksums, those of
    outer headers first; frames: packets inside reports that the kernel does not enter."""

    kept: list[tuple[int, int]] = field(default_factory=list)
    end: int = 0
    macs: list[int] = field(default_factory=list)
    ipv4: list[int] = field(default_factory=list)
    ipv6: list[int] = field(default_factory=list)
    fixes: list[Fix] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)

    def keep(self, begin: int, end: int) -> None:
        """Keep the bytes [begin, end)."""
        if end > begin:
            self.kept.append((begin, end))
            self.room(end)

    def room(self, end: int) -> None:
        """Do not cut before `end`: a header reaches until there. What is not kept of it is zero."""
        self.end = max(self.end, end)

    def add(self, other: Plan, at: int) -> None:
        """Take over the plan of a packet that begins at `at`."""
        self.kept += [(begin + at, end + at) for begin, end in other.kept]
        self.room(other.end + at)
        self.macs += [place + at for place in other.macs]
        self.ipv4 += [place + at for place in other.ipv4]
        self.ipv6 += [place + at for place in other.ipv6]
        self.fixes += [fix.moved(at) for fix in other.fixes]
        self.frames += [Frame(frame.begin + at, frame.end + at, frame.link) for frame in other.frames]


class Planner:
    """Makes the plan of one packet. with_payload: what UDP, TCP and RoCEv2 carry is kept as well, and the ICRC mended."""

    def __init__(self, data: Buffer, steps: list[Step], with_payload: bool) -> None:
        self.plan = Plan()
        self._data = data
        self._with_payload = with_payload
        self._network: Network | None = None
        self._whole = True
        self._declared = len(data)
        self._udp, self._port, self._located = 0, 0, LOCATED_BY_STRUCTURE
        layers = {
            kernel.LINK: self._link,
            kernel.ETHERNET: self._ethernet,
            kernel.MPLS: self._mpls,
            kernel.IPV4: self._ipv4,
            kernel.IPV6: self._ipv6,
            kernel.EXTENSION: self._extension,
            kernel.GRE: self._gre,
            kernel.ERSPAN: self._erspan,
            kernel.VXLAN: self._vxlan,
            kernel.VXLAN_GPE: self._vxlan_gpe,
            kernel.GENEVE: self._geneve,
            kernel.PAYLOAD: self._found,
            kernel.INT: self._int,
            kernel.INT_CARRIED: self._int_carried,
            kernel.IOAM: self._ioam,
            kernel.IOAM_SHIM: self._ioam_shim,
            kernel.NSH: self._nsh,
            kernel.IFA: self._ifa,
            kernel.HPCC: self._hpcc,
            kernel.LUMINA: self._lumina,
            kernel.TCP_INT: self._tcp_int,
            kernel.BTH: self._bth,
            kernel.REPORT_05: self._report_05,
            kernel.REPORT_1: self._report_1,
            kernel.REPORT_2: self._report_2,
        }
        for step in steps:
            if step.layer in layers:
                layers[step.layer](step)

    # ------------------------------------------------------------------------------------------------------------ link layer

    def _link(self, step: Step) -> None:
        _, at, limit, kind, _ = step.arguments
        if kind not in _SLL_ADDRESS or step.result[1] == at:
            # of raw IP the first byte says the version
            self.plan.keep(at, min(at + (step.result[2] == _NOT_IP), limit))
            return
        address, length_at, length_bytes, size = _SLL_ADDRESS[kind]
        self.plan.keep(at, at + address)
        self.plan.keep(at + address + 8, min(step.result[1], limit))
        self.plan.room(at + size)
        length = u8(self._data, at + length_at) if length_bytes == 1 else u16(self._data, at + length_at)
        if length == 6:
            self.plan.keep(at + address, at + address + 8)
            self.plan.macs.append(at + address)
        self._keep_pause(step.result[2], at, at + size, limit)

    def _ethernet(self, step: Step) -> None:
        at, limit = step.arguments[1:3]
        end = step.result[1]
        if limit - at < 14:
            self.plan.room(limit)
            return
        self.plan.keep(at, min(end, limit))
        if step.result[2] == _LINK_TRUNCATED:
            self.plan.room(limit)
        self.plan.macs += [at, at + 6]
        self._keep_pause(step.result[2], at, end, limit)

    def _keep_pause(self, status: int, at: int, end: int, limit: int) -> None:
        if status == _NOT_IP and end - at >= 14 and u16(self._data, end - 2) == _ETHERTYPE_PAUSE:
            self.plan.keep(end, min(end + _PAUSE_BYTES, limit))

    def _mpls(self, step: Step) -> None:
        _, at, limit = step.arguments
        # the first nibble behind the labels says what follows
        self.plan.keep(at, min(step.result[1] + (step.result[2] == _MPLS_UNKNOWN), limit))

    # --------------------------------------------------------------------------------------------------------------- network

    def _ipv4(self, step: Step) -> None:
        at = step.arguments[1]
        _, payload, limit, declared, status, *_ = step.result
        plan, data = self.plan, self._data
        if payload == at:
            self._broken(at, step.arguments[2], 4, 4, 4 * (u8(data, at) & 0xF) if step.arguments[2] > at else 0)
            return
        plan.room(payload)
        begin = at + 20
        plan.keep(at, begin)
        plan.ipv4 += [at + 12, at + 16]
        for kept, addresses in ipv4_options(data, begin, payload):
            plan.keep(*kept)
            plan.ipv4 += addresses
        plan.fixes.append(Sum(at + 10, at, payload, payload))
        self._network = Network(4, at, at + 16)
        self._declared = declared
        self._whole = status != _FRAGMENT and u16(data, at + 6) & 0x3FFF == 0
        self._behind_ip(u8(data, at + 9), payload, limit, declared, status)

    def _ipv6(self, step: Step) -> None:
        at = step.arguments[1]
        following, payload, limit, declared, status, *_ = step.result
        if status != _OK:
            self._broken(at, step.arguments[2], 6, 1, 40)
            return
        self.plan.keep(at, at + 40)
        self.plan.ipv6 += [at + 8, at + 24]
        self._network, self._declared, self._whole = Network(6, at, at + 24), declared, True
        self._behind_ip(following, payload, limit, declared, status)

    def _broken(self, at: int, limit: int, version: int, size: int, header: int) -> None:
        """Of an IP header that cannot be read only what says why: no address, and nothing of what is no IP header."""
        if at < limit:
            self.plan.keep(at, min(at + (size if u8(self._data, at) >> 4 == version else 1), limit))
            self.plan.room(min(at + max(20, header), limit))

    def _extension(self, step: Step) -> None:
        _, at, limit, declared, protocol = step.arguments
        following, end, status, _ = step.result
        if end == at or self._network is None:
            return
        plan, data = self.plan, self._data
        stop = min(end, limit)
        plan.room(stop)
        if protocol in (NEXT_HOP_BY_HOP, NEXT_DESTINATION):
            plan.keep(at, min(at + 2, stop))
            for kept, addresses in ipv6_options(data, at + 2, stop):
                plan.keep(*kept)
                plan.ipv6 += addresses
        elif protocol == NEXT_ROUTING:
            plan.keep(at, min(at + 8, stop))
            addresses, last = routing_addresses(data, at, stop)
            plan.ipv6 += addresses
            for address in addresses:
                plan.keep(address, address + 16)
            if last:
                self._network = self._network._replace(destination=last)
        else:
            plan.keep(at, stop)
            self._whole = False
        if end <= limit:
            self._behind_ip(following, end, limit, declared, status)

    def _behind_ip(self, protocol: int, at: int, limit: int, declared: int, status: int) -> None:
        """UDP and TCP, which the kernel reads in its loop, and the beginning of ICMP."""
        if status == _FRAGMENT:
            if self._with_payload:
                self.plan.keep(at, limit)
            return
        kind = of_protocol(protocol)
        if kind == layer.UDP:
            self._udp_header(at, limit)
        elif kind == layer.TCP:
            self.plan.keep(at, limit if self._with_payload else min(at + _TCP_BYTES, limit))
            if limit - at >= _TCP_BYTES:
                self.plan.room(min(at + 4 * (u8(self._data, at + 12) >> 4), limit))
            self._sum(at + 16, at, declared, limit, PROTOCOL_TCP)
        elif protocol in (_ICMP, _ICMPV6):
            self.plan.keep(at, min(at + _ICMP_BYTES, limit))
            if protocol == _ICMPV6:
                self._sum(at + 2, at, declared, limit, protocol)

    def _udp_header(self, at: int, limit: int) -> None:
        self.plan.keep(at, min(at + 8, limit))
        if limit - at < 8:
            return
        end = at + u16(self._data, at + 4)
        self._udp, self._port = at, u16(self._data, at + 2)
        self._sum(at + 6, at, end, limit, PROTOCOL_UDP)
        if self._with_payload:
            self.plan.keep(at + 8, min(end, limit))

    def _sum(self, at: int, begin: int, end: int, limit: int, protocol: int = 0) -> None:
        if at + 2 <= limit:
            # what a fragment's checksum covers is in other packets too
            self.plan.fixes.append(Sum(at, begin, end if self._whole else limit + 1, limit, self._network if protocol else None, protocol))

    # --------------------------------------------------------------------------------------------------------------- tunnels

    def _gre(self, step: Step) -> None:
        _, at, limit = step.arguments[:3]
        if limit - at < 4:
            return
        flags = u16(self._data, at)
        size = 4 if flags & 0x4007 else 4 + 4 * (flags & 0xB000).bit_count()
        self.plan.keep(at, min(at + size, limit))
        if flags & 0x8000 and size > 4:
            self._sum(at + 4, at, self._declared, limit)

    def _erspan(self, step: Step) -> None:
        _, at, limit = step.arguments[:3]
        if step.result[4] == 0:
            known = limit > at and u8(self._data, at) >> 4 in (1, 2)
            self.plan.keep(at, min(at + (20 if known else 2), limit))
            self.plan.room(min(at + 20, limit))
        else:
            self.plan.keep(at, min(step.result[1], limit))

    def _vxlan(self, step: Step) -> None:
        _, at, limit = step.arguments
        self.plan.keep(at, min(at + 8, limit))

    def _vxlan_gpe(self, step: Step) -> None:
        _, at, limit = step.arguments[:3]
        self.plan.keep(at, min(max(step.result[1], at + 8), limit))

    def _geneve(self, step: Step) -> None:
        _, at, limit = step.arguments
        self.plan.keep(at, min(at + 8, limit))
        if limit - at < 8:
            return
        option, end = at + 8, min(at + 8 + 4 * (u8(self._data, at) & 0x3F), limit)
        self.plan.room(end)
        while end - option >= 4:
            following = option + 4 + 4 * (u8(self._data, option + 3) & 0x1F)
            kind = u24(self._data, option)
            is_int = kind // 256 == GENEVE_CLASS_INT and kind % 256 in _GENEVE_INT_TYPES
            # IOAM in classes of a profile keeps itself
            self.plan.keep(option, min(following, end) if is_int else option + 4)
            option = following

    # ------------------------------------------------------------------------------------------------------------- telemetry

    def _found(self, step: Step) -> None:
        kind, at, self._located, version = step.result
        if kind == layer.REPORT and version == FORMAT_NONE:
            self.plan.keep(at, min(at + 1, step.arguments[2]))

    def _int(self, step: Step) -> None:
        at, limit, located = step.arguments[1], step.arguments[2], step.arguments[5]
        payload, npt, self._port = step.result[4:7]
        self.plan.keep(at - 8 if located == LOCATED_BY_MARKER else at, min(payload or at + _INT_HEAD, limit))
        if payload and npt == 2:
            self._behind_ip(u8(self._data, at + 3), payload, limit, self._declared, _OK)

    def _int_carried(self, step: Step) -> None:
        _, at, limit, declared = step.arguments[:4]
        behind = step.result[4]
        self.plan.keep(at, min(behind or at + _INT_HEAD, limit, declared))

    def _ioam(self, step: Step) -> None:
        at, end, limit = step.arguments[1:4]
        self.plan.keep(at, min(end, limit))

    def _ioam_shim(self, step: Step) -> None:
        at, limit = step.arguments[1:3]
        self.plan.keep(at, min(at + 4, limit))

    def _nsh(self, step: Step) -> None:
        at, limit = step.arguments[1:3]
        # metadata of NSH may be anything
        self.plan.keep(at, min(at + 8, limit))
        self.plan.room(min(step.result[1], limit))

    def _ifa(self, step: Step) -> None:
        at, limit, declared = step.arguments[1:4]
        protocol, skip, tail = step.result[4:7]
        self.plan.keep(at, min(at + 4, limit))
        if protocol < 0:
            self._ifa_refused(at, limit)
            return
        self._declared = declared - tail
        self._whole = self._whole and skip == 0
        self._behind_ip(protocol, at + 4, min(limit, self._declared), self._declared, _OK)
        if skip == 0:
            return
        metadata = at + 4 + _transport_bytes(self._data, at + 4, protocol)
        self.plan.keep(metadata, min(metadata + skip, limit))
        self.plan.keep(declared - tail, min(declared, limit))

    def _ifa_refused(self, at: int, limit: int) -> None:
        """Of IFA whose stack cannot be read the headers that say why."""
        if limit - at < 4 or u8(self._data, at + 1) not in (PROTOCOL_UDP, PROTOCOL_TCP, PROTOCOL_GRE):
            return
        transport, protocol = at + 4, u8(self._data, at + 1)
        self.plan.keep(transport, min(transport + (_TCP_BYTES if protocol == PROTOCOL_TCP else 8), limit))
        if limit - transport >= 8 and (protocol != PROTOCOL_TCP or limit - transport >= _TCP_BYTES):
            metadata = transport + _transport_bytes(self._data, transport, protocol)
            self.plan.keep(metadata, min(metadata + 4, limit))

    def _hpcc(self, step: Step) -> None:
        at, limit, declared = step.arguments[1:4]
        self.plan.keep(at, min(step.result[3] or at + _HPCC_LARGEST, limit, declared))

    def _lumina(self, step: Step) -> None:
        frame = step.arguments[2]
        # a time and a sequence number, not addresses
        self.plan.macs = [place for place in self.plan.macs if place not in (frame, frame + 6)]
        self.plan.fixes = [fix for fix in self.plan.fixes if not (isinstance(fix, Sum) and fix.at == step.arguments[1] + 6)]
        self._port = _ROCE_PORT

    def _tcp_int(self, step: Step) -> None:
        at, limit = step.arguments[1:3]
        if step.result != FORMAT_NONE:
            option = at + _TCP_BYTES
            while u8(self._data, option) != TCP_INT_KIND or u8(self._data, option + 1) != TCP_INT_LENGTH:
                size = 1 if u8(self._data, option) == TCP_INT_FILLER else u8(self._data, option + 1)
                self.plan.keep(option, option + min(size, 2))
                option += size
            self.plan.keep(option, min(option + TCP_INT_LENGTH, limit))

    def _bth(self, step: Step) -> None:
        _, at, limit, declared = step.arguments[:4]
        if limit - at < BTH_BYTES:
            self.plan.keep(at, limit)
            return
        size = BTH_BYTES + (int(OPCODES[u8(self._data, at)]) & 0xFF)
        self.plan.keep(at, min(at + size, limit))
        if self._with_payload and self._network is not None and self._whole and declared <= limit and declared - at >= size + 4:
            self.plan.fixes.append(Icrc(self._network, self._udp, at, declared, self._port))

    def _report_05(self, step: Step) -> None:
        self._report(step, step.result[2], step.result[0] == _OK)

    def _report_1(self, step: Step) -> None:
        self._report(step, step.result[3], step.result[0] == _OK)

    def _report(self, step: Step, behind: int, good: bool) -> None:
        _, at, limit = step.arguments[:3]
        self.plan.keep(at, min(behind if good else at + _REPORT_HEAD, limit))
        if not good:
            self.plan.room(min(at + _REPORT_LARGEST, limit))

    def _report_2(self, step: Step) -> None:
        _, at, cursor, limit, declared = step.arguments[:5]
        rows, kind, followed = step.result[3:6]
        for kept, frame in report_parts(self._data, at, cursor, limit, declared, rows > 0, followed if kind else -1):
            if kept is not None:
                self.plan.keep(*kept)
            if frame is not None:
                self.plan.frames.append(frame)


def _transport_bytes(data: Buffer, at: int, protocol: int) -> int:
    """Bytes of the transport header that IFA stands behind."""
    if protocol == PROTOCOL_UDP:
        return 8
    if protocol == PROTOCOL_TCP:
        return max(4 * (u8(data, at + 12) // 16), _TCP_BYTES)
    return 4 + 4 * (u8(data, at) & 0xB0).bit_count()


def merged(intervals: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Intervals in order, those that touch or overlap as one."""
    begin, end = -1, -1
    for first, last in sorted(intervals):
        if first > end:
            if end > begin:
                yield begin, end
            begin, end = first, last
        end = max(end, last)
    if end > begin:
        yield begin, end
