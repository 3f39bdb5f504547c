"""What a RoCEv2 packet says of itself: what it carries, what tells it from copies, and how many PSNs its message takes."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined
from int_analyzer.columns import get
from int_analyzer.fold.order import IDENTIFIED, TTL_SHIFT
from int_analyzer.schema import HAS_PAYLOAD

LONGEST = 1 << 22
"""PSNs that one message is believed to take: half of what serial arithmetic can tell apart."""


@inlined
def payload_bytes(columns: Any, row: int) -> int:
    """Bytes that RoCEv2 row `row` carries."""
    return get(columns, "roce.payload_bytes", row) if get(columns, "roce.present", row) & HAS_PAYLOAD != 0 else 0


@inlined
def identity_of(columns: Any, packet: int) -> int:
    """What tells a copy from a retransmission: order.py."""
    identity = get(columns, "packets.ttl", packet) << TTL_SHIFT
    if get(columns, "packets.ip_version", packet) == 4:
        identity |= get(columns, "packets.ip_id", packet) | IDENTIFIED
    return identity


@inlined
def packets_of(size: int, mtu: int) -> int:
    """PSNs that a message of so many bytes takes."""
    return min(max((size + mtu - 1) // mtu, 1), LONGEST)
