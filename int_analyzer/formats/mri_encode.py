"""Writing of the MRI option of the P4 tutorials (the layout: formats/mri.py)."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import kernel
from int_analyzer.columns import get
from int_analyzer.wire.ip import OPTION_MRI
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u8, put_u16, put_u32

_HEAD, _HOP = 4, 8
MAXIMUM_HOPS = 4
"""More do not fit into the 40 bytes that IPv4 has for options."""


@kernel
def mri_bytes(hops: int) -> int:
    """Bytes of an option with `hops` hops."""
    return _HEAD + _HOP * hops


@kernel
def put_mri(buffer: Buffer, at: int, columns: Any, row: int, hops: int) -> None:
    """The option with the packet's first `hops` hops."""
    put_u8(buffer, at, OPTION_MRI)
    put_u8(buffer, at + 1, mri_bytes(hops))
    put_u16(buffer, at + 2, hops)
    first = get(columns, "packets.first_hop", row)
    for wire in range(hops):
        item = at + _HEAD + _HOP * (hops - 1 - wire)
        put_u32(buffer, item, get(columns, "hops.node_id", first + wire))
        put_u32(buffer, item + 4, get(columns, "hops.queue_depth_raw", first + wire))
