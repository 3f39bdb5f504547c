"""Unpacking of compressed captures, piece by piece, such that everything before a fault comes out and memory stays bounded.

Sources: RFC 1952 (gzip), RFC 8878 (zstd).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)

_CHUNK = 64 * 1024
_PIECE = 256 * 1024
"""Bytes unpacked at most by one call of zlib: a file of zeros unpacks a thousandfold."""

_BLOCK_RLE = 1


class BrokenStream(Exception):
    """The bytes that hold a capture end early or cannot be unpacked any further: the reason."""


class Reader:
    """Bytes of a file in order, as many as asked for; `consumed` counts what was read from the file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._pending = b""
        self.consumed = 0

    @property
    def position(self) -> int:
        """Offset in the file of the next byte that is handed out."""
        return self.consumed - len(self._pending)

    def chunk(self) -> bytes:
        """The next bytes, at most 64 KiB; empty at the end."""
        if self._pending:
            chunk, self._pending = self._pending, b""
            return chunk
        return self._read(_CHUNK)

    def take(self, count: int) -> bytes:
        """The next `count` bytes, fewer only at the end."""
        while len(self._pending) < count and (more := self._read(max(_CHUNK, count - len(self._pending)))):
            self._pending += more
        taken, self._pending = self._pending[:count], self._pending[count:]
        return taken

    def peek(self, count: int) -> bytes:
        """The next `count` bytes without taking them."""
        taken = self.take(count)
        self.give_back(taken)
        return taken

    def give_back(self, data: bytes) -> None:
        """Put bytes back in front."""
        self._pending = data + self._pending

    def _read(self, count: int) -> bytes:
        try:
            data = self._file.read(count)
        except OSError as error:
            raise BrokenStream(f"cannot be read on: {error.strerror or error}") from error
        if data is None:
            raise BrokenStream("no data yet: the source is not blocking")
        self.consumed += len(data)
        return data


def pieces(reader: Reader) -> Iterator[bytes]:
    """The bytes of the capture in order, unpacked if the first bytes are those of gzip or zstd. Raises BrokenStream."""
    magic = reader.peek(4)
    if is_compressed(magic):
        return _gunzip(reader) if magic.startswith(GZIP_MAGIC) else _unzstd(reader)
    return iter(reader.chunk, b"")


def is_compressed(magic: bytes) -> bool:
    """Whether a file with these first four bytes is unpacked here."""
    return magic.startswith((GZIP_MAGIC, ZSTD_MAGIC)) or _ZSTD_SKIPPABLE.match(magic) is not None


def _gunzip(reader: Reader) -> Iterator[bytes]:
    while True:
        decoder = zlib.decompressobj(wbits=31)
        while not decoder.eof:
            data = decoder.unconsumed_tail or reader.chunk()
            if not data:
                yield decoder.flush()
                raise BrokenStream("gzip stream ends early")
            saved = decoder.copy()
            try:
                piece = decoder.decompress(data, _PIECE)
            except zlib.error as error:
                # zlib drops what the failing call had unpacked: unpack it again up to the byte at fault
                at = reader.position - len(data)
                for byte in data:
                    try:
                        piece = saved.decompress(bytes((byte,)))
                    except zlib.error:
                        break
                    yield piece
                    at += 1
                raise BrokenStream(f"gzip stream is damaged at byte {at} of the file ({_reason(error)})") from error
            yield piece
        reader.give_back(decoder.unused_data)
        # tape and block devices pad with zeros
        while (rest := reader.chunk()) and not (rest := rest.lstrip(b"\0")):
            continue
        if not rest:
            return
        reader.give_back(rest)
        if reader.peek(2) != GZIP_MAGIC:
            raise BrokenStream(f"what follows the gzip stream at byte {reader.position} of the file is not gzip")


def _reason(error: zlib.error) -> str:
    return str(error).rpartition(": ")[2]


def _unzstd(reader: Reader) -> Iterator[bytes]:
    """Frame by frame and block by block: a block unpacks to 128 KiB at most, and a bad one costs only itself."""
    import zstandard

    while magic := reader.take(4):
        at = reader.position - len(magic)
        if _ZSTD_SKIPPABLE.match(magic):
            _skip(reader, int.from_bytes(_exactly(reader, 4), "little"))
            continue
        if magic != ZSTD_MAGIC:
            raise BrokenStream(f"what follows the zstd stream at byte {at} of the file is not zstd")
        decoder = zstandard.ZstdDecompressor().decompressobj()
        try:
            yield from _frame(reader, decoder)
        except zstandard.ZstdError as error:
            raise BrokenStream(f"zstd stream is damaged before byte {reader.position} of the file ({_zstd_reason(error)})") from error


def _frame(reader: Reader, decoder: Any) -> Iterator[bytes]:
    descriptor = _exactly(reader, 1)
    single_segment, checksum = descriptor[0] & 0x20, descriptor[0] & 0x04
    dictionary_bytes = (0, 1, 2, 4)[descriptor[0] & 0x03]
    content_size_bytes = (1 if single_segment else 0, 2, 4, 8)[descriptor[0] // 0x40]
    header = _exactly(reader, (0 if single_segment else 1) + dictionary_bytes + content_size_bytes)
    yield decoder.decompress(ZSTD_MAGIC + descriptor + header)
    last = 0
    while not last:
        head = _exactly(reader, 3)
        word = int.from_bytes(head, "little")
        last, kind, size = word & 1, word // 2 & 3, word // 8
        yield decoder.decompress(head + _exactly(reader, 1 if kind == _BLOCK_RLE else size))
    if checksum:
        yield decoder.decompress(_exactly(reader, 4))


def _exactly(reader: Reader, count: int) -> bytes:
    data = reader.take(count)
    if len(data) < count:
        raise BrokenStream("zstd stream ends early")
    return data


def _skip(reader: Reader, count: int) -> None:
    while count > 0:
        skipped = len(_exactly(reader, min(count, _CHUNK)))
        count -= skipped


def _zstd_reason(error: Exception) -> str:
    return str(error).rpartition(": ")[2]
