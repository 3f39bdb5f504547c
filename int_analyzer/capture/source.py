"""A capture as a source of windows: the bytes, how they are framed, and what was wrong with them.

A consumer walks a window with `records.next_record` and advances `window.position`. It leaves the window when the kernel needs more
bytes, when `control` returns False, and after it has reported damage; then it asks for the next one. Sources: as in records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from int_analyzer.capture import pcap, pcapng
from int_analyzer.capture.damage import BROKEN_STREAM, DAMAGED, TRUNCATED_TAIL, UNUSABLE_INTERFACE, Damage
from int_analyzer.capture.interface import KNOWN_LINKS, MAXIMUM_INTERFACES, Interface, InterfaceTable
from int_analyzer.capture.mapping import MappedFile
from int_analyzer.capture.records import (
    FRAMING_KIND,
    FRAMING_LITTLE,
    INTERFACE_DESCRIPTION,
    KIND_PCAP,
    KIND_PCAPNG,
)
from int_analyzer.capture.stream import Stream
from int_analyzer.errors import CaptureError

_DAMAGES_KEPT = 1000
_LOOK_AHEAD = 4 * 1024 * 1024
"""Bytes searched for an interface of a known link type before a pcapng file is refused."""

_MAGIC_BYTES = 6
_STRANGERS = (
    (b"\xfd7zXZ\x00", "compressed with xz: unpack it first"),
    (b"BZh", "compressed with bzip2: unpack it first"),
    (b"\x04\x22\x4d\x18", "compressed with lz4: unpack it first"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"snoop\x00", "a snoop capture: convert it with editcap -F pcapng"),
    (b"GMBU", "a Microsoft Network Monitor capture: convert it with editcap -F pcapng"),
    (b"RTSS", "a Microsoft Network Monitor capture: convert it with editcap -F pcapng"),
)


@dataclass(slots=True)
class Window:
    """Bytes `[start, stop)` of `buffer` to be walked from `position`; `base` is the capture offset of buffer[0].

    buffer: uint8[:], read-only, contiguous, valid until the next window is asked for. framing: int64[8]. interfaces: int64[n, 8];
    both as of `position`. last: nothing follows `stop`.
    """

    buffer: Any
    start: int
    stop: int
    base: int
    last: bool
    framing: Any
    interfaces: Any
    position: int


class Source:
    """An open capture: `kind` is "pcap" or "pcapng", `size` the bytes of its file (None for a pipe).

    damages: the first thousand, in order; damage_count: all. sections: section headers seen so far (1 for a pcap); writer: what
    the first one says about hardware, system and application. Raises CaptureError if the bytes are not a capture that can be read.
    """

    def __init__(self, path: str, hold: MappedFile | Stream, size: int | None, file: BinaryIO | None = None) -> None:
        self.path = path
        self.size = size
        self.damages: list[Damage] = []
        self.damage_count = 0
        self.sections = 0
        self.writer = ""
        self._hold = hold
        self._file = file
        self._window: Window | None = None
        self._stopped_at: int | None = None
        self._table = InterfaceTable()
        self._framing = np.zeros(8, dtype=np.int64)
        self.kind = self._open()

    @property
    def consumed(self) -> int:
        """Bytes of the file read so far (of a compressed file: as they lie there)."""
        if isinstance(self._hold, MappedFile):
            return self._window.position if self._window else 0
        return self._hold.consumed

    @property
    def interfaces(self) -> list[Interface]:
        """Interfaces described so far, in order, over all sections (the first 4096)."""
        return self._table.described

    def __enter__(self) -> Source:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file. Windows already given out stay readable."""
        self._hold.close()
        if self._file is not None:
            self._file.close()

    def windows(self) -> Iterator[Window]:
        """Windows from the first record on, each beginning where the consumer left the one before. Can be gone through once."""
        hold = self._hold
        position = pcap.HEADER_BYTES if self.kind == "pcap" else 0
        while True:
            window = Window(hold.buffer, position, hold.stop, hold.base, hold.last, self._framing, self._table.rows, position)
            self._begin(window)
            yield window
            if window.last:
                self.finish(window)
            if self._stopped_at is not None:
                resumed = self._resume(window, self._stopped_at)
                if resumed is None:
                    return
                position = resumed
            elif window.last:
                return
            elif hold.extend(window.position):
                position = hold.start
            else:
                self.damage(window.base + window.position, "no record ends within the bytes that one may have")
                return

    def control(self, window: Window) -> bool:
        """Read the section header or interface description at `window.position` and step over it.

        False if the window must be left: more bytes are needed, or the block is broken and was reported.
        """
        data, at = memoryview(window.buffer), window.position
        try:
            if data[at : at + 4] == pcapng.SECTION_MAGIC:
                length = self._section(data, at, window.stop)
            else:
                length = self._interface(data, at, window.stop, window.base)
        except pcapng.MalformedBlock as error:
            self.damage(window.base + at, str(error))
            return False
        if length is None:
            return False
        window.interfaces = self._table.rows
        window.position = at + length
        return True

    def damage(self, offset: int, reason: str) -> None:
        """Report that the bytes at capture offset `offset` cannot be read; the next window begins behind the damage, if one does."""
        self._report(Damage(offset, reason))
        self._stopped_at = offset

    def finish(self, window: Window) -> None:
        """Report what a `last` window left: a record that is cut, a stream that broke. `windows` does so too; twice does no harm."""
        if self._stopped_at is not None or not window.last:
            return
        left = window.stop - window.position
        offset = window.base + window.position
        if self._hold.failure:
            self._report(Damage(window.base + window.stop, self._hold.failure, BROKEN_STREAM))
        elif left:
            self._report(Damage(offset, f"the last {'record' if self.kind == 'pcap' else 'block'} is cut", TRUNCATED_TAIL))
        else:
            return
        self._stopped_at = offset

    def _begin(self, window: Window) -> None:
        self._window = window
        self._stopped_at = None

    def _report(self, damage: Damage) -> None:
        self.damage_count += 1
        if len(self.damages) < _DAMAGES_KEPT:
            self.damages.append(damage)

    def _section(self, data: memoryview, at: int, stop: int) -> int | None:
        section = pcapng.read_section(data, at, stop)
        if section is None:
            return None
        self._framing[FRAMING_LITTLE] = section.little
        self._table.clear()
        if not self.sections:
            self.writer = ", ".join(filter(None, (section.hardware, section.system, section.application)))
        self.sections += 1
        return section.length

    def _interface(self, data: memoryview, at: int, stop: int, base: int) -> int | None:
        if len(self._table) == MAXIMUM_INTERFACES:
            raise pcapng.MalformedBlock(f"more than {MAXIMUM_INTERFACES} interfaces in one section")
        little = bool(self._framing[FRAMING_LITTLE])
        found = pcapng.read_interface(data, at, stop, little, max(self.sections - 1, 0), len(self._table))
        if found is None:
            return None
        interface, length, reasons = found
        self._table.append(interface)
        for reason in reasons:
            self._report(Damage(base + at, reason, UNUSABLE_INTERFACE))
        return length

    def _resume(self, window: Window, offset: int) -> int | None:
        """Where in the bytes at hand a section begins after damage at capture offset `offset`; None if nothing can be read any more.

        A section begins at a multiple of 4 of the file. This is one pass over the rest, however often the capture is damaged.
        """
        hold = self._hold
        damage = self.damages[-1] if self.damage_count <= _DAMAGES_KEPT else Damage(offset, "")
        damage.lost_bytes = None
        # never back to where the consumer already was: each damage costs at least a byte
        at = max(offset - hold.base, window.position) + 1
        while self.kind == "pcapng":
            at += -(hold.base + at) % 4
            found = hold.find(pcapng.SECTION_MAGIC, at, hold.stop)
            following: bool | None = None
            if found >= 0:
                at = found
                following = (hold.base + at) % 4 == 0 and pcapng.is_section(memoryview(hold.buffer), at, hold.stop)
            if following:
                damage.lost_bytes = hold.base + at - offset
                if damage.kind == TRUNCATED_TAIL:
                    damage.kind, damage.reason = DAMAGED, "block length is larger than what follows"
                return at
            if found >= 0 and (following is False or hold.last):
                at += 1
            elif hold.last:
                break
            else:
                # the magic itself may be cut by the end of these bytes
                at = found if found >= 0 else max(at, hold.stop - 3)
                position = hold.base + at
                if not hold.extend(min(at, hold.stop)):
                    break
                at = position - hold.base
        # nothing marks the beginning of a record of a classic pcap
        if hold.size is not None and not hold.failure:
            damage.lost_bytes = hold.size - offset
        return None

    def _open(self) -> str:
        hold = self._hold
        while hold.stop < _MAGIC_BYTES and not hold.last and hold.extend(0):
            continue
        magic = bytes(hold.buffer[: min(hold.stop, _MAGIC_BYTES)])
        if not magic:
            raise self._error(hold.failure or "the file is empty")
        if magic[:4] == pcapng.SECTION_MAGIC[: len(magic)]:
            self._framing[FRAMING_KIND] = KIND_PCAPNG
            self._open_pcapng()
            return "pcapng"
        if magic[:4] in pcap.MODIFIED_MAGICS:
            raise self._error("Kuznetzov's modified pcap (24 bytes before each packet) is not read: convert it with editcap -F pcap")
        if magic[:4] not in pcap.MAGICS:
            raise self._error(_describe(magic, hold.last))
        self._framing[FRAMING_KIND] = KIND_PCAP
        self._open_pcap()
        return "pcap"

    def _open_pcap(self) -> None:
        self._need(pcap.HEADER_BYTES, "pcap")
        header = pcap.read_header(memoryview(self._hold.buffer))
        if header.version[0] != 2:
            raise self._error(f"pcap version {header.version[0]}.{header.version[1]} is not read (2.x is)", 4)
        if header.interface.link not in KNOWN_LINKS:
            raise self._error(f"unknown link type {header.interface.link}", pcap.LINK_AT)
        self._framing[FRAMING_LITTLE] = header.little
        self._table.append(header.interface)
        self.sections = 1

    def _open_pcapng(self) -> None:
        self._need(pcapng.SECTION_BYTES, "pcapng")
        hold = self._hold
        try:
            while (section := pcapng.read_section(memoryview(hold.buffer), 0, hold.stop)) is None:
                if hold.last or not hold.extend(0):
                    raise self._error("the file ends inside its first section header" + (f": {hold.failure}" if hold.failure else ""))
        except pcapng.MalformedBlock as error:
            raise self._error(str(error)) from error
        self._refuse_unknown_links(section)

    def _refuse_unknown_links(self, section: pcapng.Section) -> None:
        """Look ahead for an interface that can be decoded; refuse the file if there are only others."""
        hold = self._hold
        while True:
            unknown: tuple[int, int] | None = None
            for link, at in self._links_ahead(section):
                if link in KNOWN_LINKS:
                    return
                unknown = unknown or (link, at)
            if hold.last or hold.stop >= _LOOK_AHEAD or not hold.extend(0):
                break
        if unknown is not None:
            raise self._error(f"unknown link type {unknown[0]}", unknown[1])

    def _links_ahead(self, section: pcapng.Section) -> Iterator[tuple[int, int]]:
        """Link type and place of the interfaces described in whole blocks of the bytes at hand, up to the first damage."""
        data, stop = memoryview(self._hold.buffer), min(self._hold.stop, _LOOK_AHEAD)
        at, little = section.length, bool(section.little)
        while stop - at >= 12:
            kind, length = pcapng.block_head(data, at, little)
            try:
                if data[at : at + 4] == pcapng.SECTION_MAGIC:
                    following = pcapng.read_section(data, at, stop)
                    if following is None:
                        return
                    little, length = bool(following.little), following.length
                elif kind == INTERFACE_DESCRIPTION:
                    found = pcapng.read_interface(data, at, stop, little, 0, 0)
                    if found is None:
                        return
                    yield found[0].link, at
            except pcapng.MalformedBlock:
                # whoever walks the file reports it
                return
            if length < 12 or length % 4:
                return
            at += length

    def _need(self, count: int, kind: str) -> None:
        hold = self._hold
        while hold.stop < count:
            if hold.last or not hold.extend(0):
                reason = f"shorter than a {kind} file header: {hold.stop} of {count} bytes"
                raise self._error(f"{reason}: {hold.failure}" if hold.failure else reason)

    def _error(self, reason: str, offset: int = 0) -> CaptureError:
        return CaptureError(self.path, offset, reason)


def _describe(magic: bytes, whole: bool) -> str:
    for beginning, what in _STRANGERS:
        if magic.startswith(beginning):
            return f"not a pcap or pcapng capture but {what}"
    if whole and len(magic) < 4:
        return f"shorter than the magic of a capture: {len(magic)} of 4 bytes"
    return f"not a pcap or pcapng capture: it begins with {magic[:4].hex(' ')}"
