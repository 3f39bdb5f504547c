"""Writing of bytes, checksums and the CRC: machine code against plain Python, and both against what they ought to be."""

from __future__ import annotations

import random
import struct
import zlib
from typing import Any

import numpy as np
import pytest

from int_analyzer import _jit
from int_analyzer.wire import write
from int_analyzer.wire.checksum import internet_sum
from int_analyzer.wire.icrc import crc32, crc32_of_word, swapped

needs_jit = pytest.mark.skipif(_jit.DISABLED, reason="NUMBA_DISABLE_JIT: there is one life only")
WIDTHS = {
    "put_u8": (1, "big"),
    "put_u16": (2, "big"),
    "put_u24": (3, "big"),
    "put_u32": (4, "big"),
    "put_u48": (6, "big"),
    "put_u64": (8, "big"),
    "put_le16": (2, "little"),
    "put_le32": (4, "little"),
}
VALUES = (0, 1, 0x0123456789ABCDEF, 0x80FF, -1, -(1 << 63))


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_jit)], ids=["plain", "compiled"])
@pytest.mark.parametrize("name", WIDTHS)
def test_a_store_writes_its_bytes_and_no_others(name: str, compiled: bool) -> None:
    width, order = WIDTHS[name]
    put = getattr(write, name)
    call = _caller(_jit.compiled(put)) if compiled else put
    for value in VALUES:
        content = np.full(16, 0xA5, dtype=np.uint8)
        call(content if compiled else memoryview(content), 3, value)
        stored = (value % (1 << 8 * width)).to_bytes(width, "big" if order == "big" else "little")
        assert content.tobytes() == b"\xa5" * 3 + stored + b"\xa5" * (13 - width)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_jit)], ids=["plain", "compiled"])
@pytest.mark.parametrize(("begin", "end"), [(3, 3), (3, 4), (3, 11), (3, 29), (5, 2)])
def test_zeros_stand_where_they_are_put_and_nowhere_else(begin: int, end: int, compiled: bool) -> None:
    content = np.full(32, 0xA5, dtype=np.uint8)
    put = _caller(_jit.compiled(write.put_zeros)) if compiled else write.put_zeros
    put(content if compiled else memoryview(content), begin, end)
    size = max(end - begin, 0)
    assert content.tobytes() == b"\xa5" * begin + bytes(size) + b"\xa5" * (32 - begin - size)


@needs_jit
def test_machine_code_computes_the_crc_of_zlib() -> None:
    content, machine = random.Random(1).randbytes(300), _jit.compiled(crc32)
    buffer: Any = np.frombuffer(content, dtype=np.uint8)
    for begin in range(9):
        for end in range(begin, 300, 7):
            start = zlib.crc32(content[:begin])
            assert machine(buffer, begin, end, start) == crc32(content, begin, end, start) == zlib.crc32(content[:end])


@needs_jit
def test_machine_code_computes_the_crc_of_a_word() -> None:
    machine, draw = _jit.compiled(crc32_of_word), random.Random(2)
    for _ in range(100):
        word, start = draw.randrange(1 << 32), draw.randrange(1 << 32)
        assert machine(word, start) == crc32_of_word(word, start) == zlib.crc32(struct.pack("!I", word), start)


@needs_jit
def test_machine_code_computes_the_internet_sum() -> None:
    draw, machine = random.Random(3), _jit.compiled(internet_sum)
    for size in range(80):
        content = draw.choice([bytes(size), b"\xff" * size, draw.randbytes(size)])
        buffer: Any = np.frombuffer(content, dtype=np.uint8)
        assert machine(buffer, 0, size) == internet_sum(content, 0, size)


def test_the_internet_sum_of_the_example_of_rfc_1071() -> None:
    assert internet_sum(bytes.fromhex("0001f203f4f5f6f7"), 0, 8) == 0xDDF2


def test_a_word_is_turned_around() -> None:
    assert swapped(0x01020304) == 0x04030201


def _caller(store: Any) -> Any:
    import numba

    @numba.njit
    def call(buffer: Any, at: Any, value: Any) -> None:
        store(buffer, at, value)

    return call
