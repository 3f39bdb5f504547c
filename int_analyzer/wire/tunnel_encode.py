"""Writing of an NSH without metadata (RFC 8300 §2, metadata type 2)."""

from __future__ import annotations

from int_analyzer._jit import kernel
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.write import put_u8, put_u16, put_u32

NSH_BYTES = 8
_LIFE, _VARIABLE_CONTEXT = 63, 2
_FIRST_PATH = 1 << 8 | 0xFF
"""Service path 1, at its beginning."""


@kernel
def put_nsh(buffer: Buffer, at: int, following: int) -> None:
    """The header; `following` is its next protocol."""
    put_u16(buffer, at, _LIFE << 6 | NSH_BYTES // 4)
    put_u8(buffer, at + 2, _VARIABLE_CONTEXT)
    put_u8(buffer, at + 3, following)
    put_u32(buffer, at + 4, _FIRST_PATH)
