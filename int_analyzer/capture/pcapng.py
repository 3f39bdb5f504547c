"""The two pcapng blocks that Python reads: section header and interface description. The kernel walks all others.

Source: draft-ietf-opsawg-pcapng §3.1 (block), §3.5 (options), §4.1 (section header), §4.2 (interface description).

    section header         0A0D0D0A | length | 1A2B3C4D | major u16 | minor u16 | section length i64 | options | length
    interface description  00000001 | length | link type u16 | reserved u16 | snaplen u32            | options | length
    option                 code u16 | length u16 | value, padded to 4
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from int_analyzer.capture.interface import UNUSABLE, Interface

SECTION_MAGIC = b"\x0a\x0d\x0d\x0a"
"""The block type of a section header: a palindrome, readable before the byte order is known."""

SECTION_BYTES = 28
INTERFACE_BYTES = 20
MAXIMUM_CONTROL = 16 * 1024 * 1024
"""A longer section header or interface description is damage (libpcap has the same bound)."""

BYTE_ORDER_AT = 8
_BYTE_ORDERS: dict[bytes, Literal["little", "big"]] = {b"\x1a\x2b\x3c\x4d": "big", b"\x4d\x3c\x2b\x1a": "little"}

_END, _NAME, _DESCRIPTION, _SPEED, _RESOLUTION, _FCS, _OFFSET = 0, 2, 3, 8, 9, 13, 14
_HARDWARE, _SYSTEM, _APPLICATION = 2, 3, 4
_TEXT_BYTES = 256
_LARGEST_OFFSET_S = 9_223_372_035


class MalformedBlock(Exception):
    """A section header or interface description that cannot be understood: the reason."""


class Section(NamedTuple):
    """A section header: byte order (1 little-endian), bytes of the block, version, and who wrote it."""

    little: int
    length: int
    version: tuple[int, int]
    hardware: str = ""
    system: str = ""
    application: str = ""


class _Option(NamedTuple):
    code: int
    value: memoryview
    whole: bool


def read_section(data: memoryview, at: int, stop: int) -> Section | None:
    """The section header at `at`; None if more bytes than `stop` are needed. Raises MalformedBlock."""
    if stop - at < BYTE_ORDER_AT + 4:
        return None
    order = _BYTE_ORDERS.get(bytes(data[at + BYTE_ORDER_AT : at + BYTE_ORDER_AT + 4]))
    if order is None:
        raise MalformedBlock("byte-order magic of the section header is neither 1A2B3C4D nor its reverse")
    length = _block_length(data, at, order, SECTION_BYTES, "section header")
    if at + length > stop:
        return None
    _check_end(data, at, length, order, "section header")
    version = (int.from_bytes(data[at + 12 : at + 14], order), int.from_bytes(data[at + 14 : at + 16], order))
    if version[0] != 1:
        raise MalformedBlock(f"pcapng version {version[0]}.{version[1]} is not read (1.x is)")
    texts = {option.code: _text(option.value) for option in _options(data, at + 24, at + length - 4, order) if option.whole}
    return Section(int(order == "little"), length, version, texts.get(_HARDWARE, ""), texts.get(_SYSTEM, ""), texts.get(_APPLICATION, ""))


def read_interface(
    data: memoryview, at: int, stop: int, little: bool, section: int, number: int
) -> tuple[Interface, int, list[str]] | None:
    """The interface description at `at`: (interface, bytes of the block, what is wrong with its options).

    None if more bytes than `stop` are needed. Raises MalformedBlock. An interface whose clock cannot be known or computed
    with has the resolution UNUSABLE: its packets are read, without times.
    """
    if stop - at < 8:
        return None
    order: Literal["little", "big"] = "little" if little else "big"
    length = _block_length(data, at, order, INTERFACE_BYTES, "interface description")
    if at + length > stop:
        return None
    _check_end(data, at, length, order, "interface description")
    reasons: list[str] = []
    name, description = "", ""
    speed: int | None = None
    resolution, binary, offset, fcs, seen_resolution = 6, False, 0, 0, False
    usable = True
    for code, value, whole in _options(data, at + 16, at + length - 4, order):
        if not whole:
            reasons.append("an option of an interface description runs past its block")
            usable = usable and seen_resolution
        elif code == _NAME:
            name = _text(value)
        elif code == _DESCRIPTION:
            description = _text(value)
        elif code == _SPEED and len(value) == 8:
            speed = int.from_bytes(value, order)
        elif code == _RESOLUTION:
            seen_resolution = True
            resolution, binary = (value[0] & 0x7F, value[0] >= 0x80) if len(value) == 1 else (UNUSABLE, False)
            if not 0 <= resolution <= (63 if binary else 19):
                reasons.append(f"if_tsresol {bytes(value[:8]).hex() or 'without a value'} cannot be used: packets without times")
                usable = False
        elif code == _OFFSET:
            offset = int.from_bytes(value, order, signed=True) if len(value) == 8 else _LARGEST_OFFSET_S + 1
            if abs(offset) > _LARGEST_OFFSET_S:
                reasons.append(f"if_tsoffset {bytes(value[:8]).hex() or 'without a value'} cannot be used: packets without times")
                offset, usable = 0, False
        elif code == _FCS and len(value) == 1:
            fcs = _fcs_bytes(value[0])
    interface = Interface(
        section=section,
        number=number,
        link=int.from_bytes(data[at + 8 : at + 10], order),
        snaplen=int.from_bytes(data[at + 12 : at + 16], order),
        fcs_bytes=fcs,
        resolution=resolution if usable else UNUSABLE,
        binary=binary and usable,
        offset_s=offset,
        name=name,
        description=description,
        speed_bps=speed,
    )
    return interface, length, reasons


def is_section(data: memoryview, at: int, stop: int) -> bool | None:
    """Whether a section header begins at `at`, told from everything that one must have; None if more bytes are needed."""
    try:
        section = read_section(data, at, stop)
    except MalformedBlock:
        return False
    return None if section is None else True


def block_head(data: memoryview, at: int, little: bool) -> tuple[int, int]:
    """Type and length of the block at `at` (8 bytes must be there)."""
    order: Literal["little", "big"] = "little" if little else "big"
    return int.from_bytes(data[at : at + 4], order), int.from_bytes(data[at + 4 : at + 8], order)


def _block_length(data: memoryview, at: int, order: Literal["little", "big"], minimum: int, what: str) -> int:
    length = int.from_bytes(data[at + 4 : at + 8], order)
    if length < minimum or length % 4 or length > MAXIMUM_CONTROL:
        raise MalformedBlock(f"length {length} of the {what} is impossible")
    return length


def _check_end(data: memoryview, at: int, length: int, order: Literal["little", "big"], what: str) -> None:
    if int.from_bytes(data[at + length - 4 : at + length], order) != length:
        raise MalformedBlock(f"length of the {what} is not repeated at its end")


def _options(data: memoryview, at: int, stop: int, order: Literal["little", "big"]) -> Iterator[_Option]:
    """Options up to the end mark or the end of the block; a last one that runs past it is not `whole`."""
    while stop - at >= 4:
        code, length = int.from_bytes(data[at : at + 2], order), int.from_bytes(data[at + 2 : at + 4], order)
        if code == _END:
            return
        if at + 4 + length > stop:
            yield _Option(code, data[at + 4 : stop], False)
            return
        yield _Option(code, data[at + 4 : at + 4 + length], True)
        at += 4 + length + -length % 4


def _text(value: memoryview) -> str:
    """Printable text of a name: bounded, without control characters, whatever the file holds."""
    text = bytes(value[:_TEXT_BYTES]).decode("utf-8", errors="replace").rstrip("\0")
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _fcs_bytes(value: int) -> int:
    # the draft says bits and gives the example 4; no FCS has fewer than 8 bits, so a smaller value is one in bytes
    return value if value < 8 else value // 8
