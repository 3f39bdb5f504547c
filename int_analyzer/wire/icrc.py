"""The invariant CRC of RoCEv2: CRC-32 over what no switch on the way may change (IBTA Vol.1 §9.8.1, Annex A17 §17.9.3)."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from int_analyzer._jit import compiled, kernel, reader
from int_analyzer.wire.read import Buffer, le32, u8, u16, u32

ICRC_BYTES = 4

_BTH_HEAD = 8
_UDP = 17
_POLYNOMIAL = 0xEDB88320
_ONES = 0xFFFFFFFF


def _tables() -> Any:
    """int64[8, 256]: row n is the CRC of a byte followed by n zeros, without the complements before and after."""
    rows = np.zeros((8, 256), dtype=np.int64)
    row = np.arange(256, dtype=np.int64)
    for _ in range(8):
        row = np.where(row & 1, (row >> 1) ^ _POLYNOMIAL, row >> 1)
    rows[0] = row
    for n in range(1, 8):
        rows[n] = (rows[n - 1] >> 8) ^ row[rows[n - 1] & 0xFF]
    return rows


_TABLES = _tables()
_T0, _T1, _T2, _T3, _T4, _T5, _T6, _T7 = (np.ascontiguousarray(row) for row in _TABLES)


@kernel
def _crc32_by_eight(buffer: Buffer, begin: int, end: int, crc: int) -> int:
    state, at = crc ^ _ONES, begin
    while at + 8 <= end:
        low, high = state ^ le32(buffer, at), le32(buffer, at + 4)
        state = (
            _T7[low & 0xFF]
            ^ _T6[(low >> 8) & 0xFF]
            ^ _T5[(low >> 16) & 0xFF]
            ^ _T4[(low >> 24) & 0xFF]
            ^ _T3[high & 0xFF]
            ^ _T2[(high >> 8) & 0xFF]
            ^ _T1[(high >> 16) & 0xFF]
            ^ _T0[(high >> 24) & 0xFF]
        )
        at += 8
    while at < end:
        state = (state >> 8) ^ _T0[(state ^ u8(buffer, at)) & 0xFF]
        at += 1
    return state ^ _ONES


def _compiled_crc32() -> Any:
    return compiled(_crc32_by_eight)


@reader(_compiled_crc32)
def crc32(buffer: Buffer, begin: int, end: int, crc: int) -> int:
    """CRC-32 of [begin, end), going on from `crc` (0 at the beginning)."""
    return zlib.crc32(buffer[begin:end], crc)


@kernel
def _crc32_of_word_by_four(word: int, crc: int) -> int:
    state = crc ^ _ONES
    return (
        _T3[(state ^ (word >> 24)) & 0xFF]
        ^ _T2[((state >> 8) ^ (word >> 16)) & 0xFF]
        ^ _T1[((state >> 16) ^ (word >> 8)) & 0xFF]
        ^ _T0[((state >> 24) ^ word) & 0xFF]
        ^ _ONES
    )


def _compiled_crc32_of_word() -> Any:
    return compiled(_crc32_of_word_by_four)


@reader(_compiled_crc32_of_word)
def crc32_of_word(word: int, crc: int) -> int:
    """CRC-32 of a 32-bit word in network order, going on from `crc`."""
    return zlib.crc32((int(word) & _ONES).to_bytes(4, "big"), crc)


@kernel
def icrc(buffer: Buffer, version: int, network: int, udp: int, bth: int, end: int, port: int) -> int:
    """The ICRC that belongs into the last 4 bytes before `end`, to be read as one big-endian word.

    `network`, `udp` and `bth` are where the headers begin, `port` is the destination port that the sender wrote. What stands between
    the headers (telemetry, IPv4 options, IPv6 extension headers) was not there when the sender computed it, and is left out.
    """
    size = end - bth
    # the local route header that InfiniBand has here counts as ones
    crc = crc32_of_word(_ONES, crc32_of_word(_ONES, 0))
    if version == 4:
        crc = crc32_of_word(0x45FF0000 | (28 + size) & 0xFFFF, crc)  # DSCP and ECN
        crc = crc32_of_word(u32(buffer, network + 4), crc)
        crc = crc32_of_word(0xFF000000 | _UDP << 16 | 0xFFFF, crc)  # TTL and header checksum
        crc = crc32(buffer, network + 12, network + 20, crc)
    else:
        crc = crc32_of_word(0x6FFFFFFF, crc)  # traffic class and flow label
        crc = crc32_of_word((8 + size) << 16 | _UDP << 8 | 0xFF, crc)  # hop limit
        crc = crc32(buffer, network + 8, network + 40, crc)
    crc = crc32_of_word(u16(buffer, udp) << 16 | port, crc)
    crc = crc32_of_word((8 + size) << 16 | 0xFFFF, crc)  # UDP checksum
    crc = crc32_of_word(u32(buffer, bth), crc)
    crc = crc32_of_word(0xFF000000 | u32(buffer, bth + 4), crc)  # FECN, BECN and the bits beside them
    return swapped(crc32(buffer, bth + _BTH_HEAD, end - ICRC_BYTES, crc))


@kernel
def swapped(word: int) -> int:
    """A 32-bit word with its bytes in the other order: the CRC goes onto the wire least significant byte first."""
    return (word & 0xFF) << 24 | (word & 0xFF00) << 8 | (word >> 8) & 0xFF00 | word >> 24
