"""Byte access for writing: the mirror of `wire.read`. Big-endian as on the wire, little-endian (put_le…) for capture files.

Each takes (buffer, offset, value) and stores the lowest bits of an int64. As in reading, callers have made sure of the room: compiled,
nothing else does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from int_analyzer import _jit
from int_analyzer._jit import compiled, kernel, reader
from int_analyzer.wire.read import Buffer


def _store(width: int, little: bool = False) -> Callable[[], Any]:
    def build() -> Any:
        from int_analyzer import _load as load

        return load.checked_store(width, little) if _jit.BOUNDSCHECK else load.unaligned_store(width, little)

    return build


@reader(_store(1))
def put_u8(buffer: Buffer, offset: int, value: int) -> None:
    buffer[offset] = value & 0xFF


@reader(_store(2))
def put_u16(buffer: Buffer, offset: int, value: int) -> None:
    buffer[offset : offset + 2] = (int(value) & 0xFFFF).to_bytes(2, "big")


@reader(_store(3))
def put_u24(buffer: Buffer, offset: int, value: int) -> None:
    buffer[offset : offset + 3] = (int(value) & 0xFFFFFF).to_bytes(3, "big")


@reader(_store(4))
def put_u32(buffer: Buffer, offset: int, value: int) -> None:
    buffer[offset : offset + 4] = (int(value) & 0xFFFFFFFF).to_bytes(4, "big")


@reader(_store(6))
def put_u48(buffer: Buffer, offset: int, value: int) -> None:
    buffer[offset : offset + 6] = (int(value) & 0xFFFFFFFFFFFF).to_bytes(6, "big")


@reader(_store(8))
def put_u64(buffer: Buffer, offset: int, value: int) -> None:
    buffer[offset : offset + 8] = (int(value) & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "big")


@reader(_store(2, little=True))
def put_le16(buffer: Buffer, offset: int, value: int) -> None:
    buffer[offset : offset + 2] = (int(value) & 0xFFFF).to_bytes(2, "little")


@reader(_store(4, little=True))
def put_le32(buffer: Buffer, offset: int, value: int) -> None:
    buffer[offset : offset + 4] = (int(value) & 0xFFFFFFFF).to_bytes(4, "little")


@kernel
def _zeros_by_eight(buffer: Buffer, begin: int, end: int) -> None:
    at = begin
    while at + 8 <= end:
        put_u64(buffer, at, 0)
        at += 8
    while at < end:
        put_u8(buffer, at, 0)
        at += 1


def _compiled_zeros() -> Any:
    return compiled(_zeros_by_eight)


@reader(_compiled_zeros)
def put_zeros(buffer: Buffer, begin: int, end: int) -> None:
    """Zeros in [begin, end); nothing if that ends before it begins."""
    if begin < end:
        buffer[begin:end] = bytes(end - begin)
