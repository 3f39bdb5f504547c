"""Byte access: the only shifts in the project. Big-endian as on the wire, little-endian (le…) for capture files.

One vocabulary, three readings. Uncompiled: `int.from_bytes` over a memoryview. Compiled: one unaligned load and a byte swap.
Compiled under NUMBA_BOUNDSCHECK=1: byte by byte with every index checked. Each takes (buffer, offset) and gives an int64; a
64-bit field keeps its bits (all ones is -1). Callers prove the bounds first: compiled, nothing else does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from int_analyzer import _jit
from int_analyzer._jit import reader

Buffer = Any
"""uint8[:] (read-only, contiguous) when compiled; memoryview of the same bytes when not."""


def _load(width: int, little: bool = False) -> Callable[[], Any]:
    def build() -> Any:
        from int_analyzer import _load as load

        return load.checked(width, little) if _jit.BOUNDSCHECK else load.unaligned(width, little)

    return build


def _prefetch() -> Any:
    from int_analyzer import _load as load

    return load.prefetch()


@reader(_load(1))
def u8(buffer: Buffer, offset: int) -> int:
    return buffer[offset]


@reader(_load(2))
def u16(buffer: Buffer, offset: int) -> int:
    return int.from_bytes(buffer[offset : offset + 2], "big")


@reader(_load(3))
def u24(buffer: Buffer, offset: int) -> int:
    return int.from_bytes(buffer[offset : offset + 3], "big")


@reader(_load(4))
def u32(buffer: Buffer, offset: int) -> int:
    return int.from_bytes(buffer[offset : offset + 4], "big")


@reader(_load(6))
def u48(buffer: Buffer, offset: int) -> int:
    return int.from_bytes(buffer[offset : offset + 6], "big")


@reader(_load(7))
def u56(buffer: Buffer, offset: int) -> int:
    return int.from_bytes(buffer[offset : offset + 7], "big")


@reader(_load(8))
def u64(buffer: Buffer, offset: int) -> int:
    return int.from_bytes(buffer[offset : offset + 8], "big", signed=True)


@reader(_load(2, little=True))
def le16(buffer: Buffer, offset: int) -> int:
    return int.from_bytes(buffer[offset : offset + 2], "little")


@reader(_load(4, little=True))
def le32(buffer: Buffer, offset: int) -> int:
    return int.from_bytes(buffer[offset : offset + 4], "little")


@reader(_prefetch)
def prefetch(buffer: Buffer, offset: int) -> None:
    """Ask for the cache line at `offset` (may lie beyond the buffer; nothing is read)."""
