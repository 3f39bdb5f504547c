"""A RoCEv2 packet by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from int_analyzer import schema

START = 1_700_000_000_000_000_000
US = 1_000
WRAP = 1 << 24

OPERATIONS = {
    "send first": 0x00,
    "send middle": 0x01,
    "send last": 0x02,
    "send last immediate": 0x03,
    "send only": 0x04,
    "send only immediate": 0x05,
    "write first": 0x06,
    "write middle": 0x07,
    "write last": 0x08,
    "write last immediate": 0x09,
    "write only": 0x0A,
    "write only immediate": 0x0B,
    "read request": 0x0C,
    "response first": 0x0D,
    "response middle": 0x0E,
    "response last": 0x0F,
    "response only": 0x10,
    "acknowledge": 0x11,
    "atomic acknowledge": 0x12,
    "compare swap": 0x13,
    "fetch add": 0x14,
    "send last invalidate": 0x16,
    "send only invalidate": 0x17,
    "datagram": 0x64,
    "datagram immediate": 0x65,
    "notification": 0x81,
}
NAMES = {code: name for name, code in OPERATIONS.items()}
TRANSPORTS = {"RC": 0x00, "UC": 0x20, "XRC": 0xA0}


@dataclass(frozen=True)
class Packet:
    """A RoCEv2 packet; hosts are small numbers, `identification` is that of IPv4, `what` an operation by name."""

    time: int
    src: int
    dst: int
    dest_qp: int
    what: str
    psn: int
    size: int = 0
    ask: bool = False
    syndrome: int = 0
    dma: int | None = None
    identification: int = 0
    ttl: int = 63
    ecn: int = 2
    ip: int = 4
    transport: str = "RC"
    icrc: int = schema.ICRC_UNSAMPLED
    hops: tuple[int, ...] = ()
    """Hop latencies at nodes 1, 2, … on the way."""

    @property
    def opcode(self) -> int:
        code = OPERATIONS[self.what]
        return code if code >= 0x60 else code | TRANSPORTS[self.transport]

    @property
    def key(self) -> tuple[str, str, int]:
        return name(self.src, self.ip), name(self.dst, self.ip), self.dest_qp

    def at(self, time: int, **changes: Any) -> Packet:
        """The same packet at another time."""
        return replace(self, time=time, **changes)


def name(host: int, ip: int = 4) -> str:
    """The address of a host."""
    return f"10.0.0.{host}" if ip == 4 else f"2001::{host:x}"
