"""Writing of Ethernet headers, with VLAN and CSIG tags where the packet has them (IEEE 802.3, 802.1Q, draft-ravi-ippm-csig-01)."""

from __future__ import annotations

from int_analyzer._jit import kernel
from int_analyzer.schema import ABSENT16
from int_analyzer.settings import CSIG_ETHERTYPE
from int_analyzer.wire.ethernet import ABSENT_CSIG, ETHERTYPE_VLAN
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u16, put_u48

_LOCAL = 0x02 << 40
"""Locally administered: nobody's hardware."""


@kernel
def ethernet_bytes(vlan: int, csig: int) -> int:
    """Bytes of a header; `vlan` is ABSENT16 without a tag, `csig` ABSENT_CSIG."""
    return 14 + (0 if vlan == ABSENT16 else 4) + (0 if csig == ABSENT_CSIG else 4)


@kernel
def put_ethernet(buffer: Buffer, at: int, source: int, destination: int, vlan: int, csig: int, ethertype: int) -> None:
    """A header between stations that are called after the last 32 bits of their IP addresses; `csig` is a compact tag."""
    put_u48(buffer, at, _LOCAL | destination & 0xFFFFFFFF)
    put_u48(buffer, at + 6, _LOCAL | source & 0xFFFFFFFF)
    at += 12
    if vlan != ABSENT16:
        put_u16(buffer, at, ETHERTYPE_VLAN)
        put_u16(buffer, at + 2, vlan)
        at += 4
    if csig != ABSENT_CSIG:
        put_u16(buffer, at, CSIG_ETHERTYPE)
        put_u16(buffer, at + 2, csig)
        at += 4
    put_u16(buffer, at, ethertype)
