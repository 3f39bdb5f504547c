"""RoCEv2: BTH, extension headers, data, ICRC."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# roce      < 12 bytes: bth-truncated. Opcode unknown: bth-opcode-unknown, row without payload, with ICRC if there. At the BTH.
#           known: RC 00-14 16 17 1C 1D, UC 20-2B, RD 40-55, UD 64 65, CNP 81, XRC A0-B4 B6 B7. CNP has 16 reserved bytes (not payload);
#           RD: RDETH, requests DETH too (also RESYNC); XRC requests XRCETH. FLUSH: FETH + RETH.
#           declared UDP payload < 12 + ext + pad + 4: bth-payload-negative at the BTH (no payload, no ICRC; whole extensions are kept)
#           extension not in avail: bth-extension-truncated at the first that is not whole; the whole ones are kept; payload stands
#           payload, ICRC by declared UDP end (clipped by declared IP end, not by a parent that is shorter); ICRC absent if not in avail.
#           TVer ≠ 0: w bth-version.
#           icrc_check, in this order: cut (no ICRC), fragment, unknown-opcode, zero (ICRC 0), ok (matches what is left of the packet
#           without all that stands between its headers), altered (Lumina; a UDP length beyond IP's; IPv4 options, IPv6 extension headers
#           or anything else between IP and UDP; anything between UDP and BTH but INT over UDP that was read without a fault), bad.

from __future__ import annotations

import zlib
from typing import Any

from int_analyzer import schema

from .base import Base, blank

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


class Roce(Base):
    """The transport of RoCEv2."""

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
        whole = self.status == "ok"
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
            row["icrc_check"] = self.icrc_state(row, at, end, whole)
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
        row["icrc_check"] = self.icrc_state(row, at, end, whole)

    def icrc(self, row: dict[str, Any], end: int, limit: int) -> None:
        """The last 4 bytes of the UDP payload as declared, if they were captured (§6.3)."""
        if end <= limit:
            row["icrc_raw"] = self.u(end - 4, 4)
            row["present"] |= schema.HAS_ICRC

    def icrc_state(self, row: dict[str, Any], at: int, end: int, whole: bool) -> int:
        """What the ICRC says of the packet (§6.3)."""
        if row["icrc_raw"] is None:
            return schema.ICRC_CUT
        if self.is_fragment:
            return schema.ICRC_FRAGMENT
        if row["opcode"] not in OPCODES:
            return schema.ICRC_OPCODE
        if row["icrc_raw"] == 0:
            return schema.ICRC_ZERO
        header = 20 if self.packet["ip_version"] == 4 else 40
        ip, udp = bytearray(self.data[self.ip_at : self.ip_at + header]), bytearray(self.data[self.udp_at : self.udp_at + 8])
        transport = bytearray(self.data[at : end - 4])
        size = 8 + len(transport) + 4
        if header == 20:
            ip[0], ip[1], ip[8], ip[9], ip[10:12] = 0x45, 0xFF, 0xFF, 17, b"\xff\xff"
            ip[2:4] = (20 + size & 0xFFFF).to_bytes(2, "big")
        else:
            ip[0:4], ip[4:6], ip[6], ip[7] = b"\x6f\xff\xff\xff", (size & 0xFFFF).to_bytes(2, "big"), 17, 0xFF
        udp[2:8] = self.packet["dst_port"].to_bytes(2, "big") + (size & 0xFFFF).to_bytes(2, "big") + b"\xff\xff"
        transport[4] = 0xFF
        if zlib.crc32(b"\xff" * 8 + ip + udp + transport).to_bytes(4, "little") == self.data[end - 4 : end]:
            return schema.ICRC_OK
        if (
            "udp-length-beyond-ip" in self.warnings
            or any(mirror["kind"] == 4 for mirror in self.mirrors)
            or self.udp_at != self.ip_at + header
        ):
            return schema.ICRC_ALTERED
        if at != self.udp_at + 8 and not (self.behind_int and whole):
            return schema.ICRC_ALTERED
        return schema.ICRC_BAD

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
