"""Walk of the records of a capture file: the first step of the fused kernel. Rare blocks are left to Python (capture/pcapng.py).

A ring that the kernel shares (TPACKET_V3) is walked too: its records lie as struct tpacket3_hdr says, chained by offsets.

Sources: libpcap sf-pcap.c and sf-pcapng.c; draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; <linux/if_packet.h>.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.status import WARNING_BIT
from int_analyzer.wire.read import Buffer, le16, le32, prefetch, u16, u32

# framing: int64[8]
FRAMING_KIND, FRAMING_LITTLE = 0, 1
KIND_PCAP, KIND_PCAPNG, KIND_RING = 0, 1, 2

# interfaces: int64[n, 8], a row per pcapng interface of the current section; row 0 alone for a classic pcap
INTERFACE_LINK, INTERFACE_SNAPLEN, INTERFACE_FCS_BYTES, INTERFACE_OFFSET_NS = 0, 1, 2, 3
INTERFACE_RESOLUTION, INTERFACE_BINARY = 4, 5
"""RESOLUTION is v of 10^-v s, or of 2^-v s where BINARY is 1; −1 marks an interface whose resolution cannot be used (time 0)."""

# record: int64[16], what `next_record` fills; then where a datagram with several reports is gone on with (decode.py)
DATA, CAPTURED, ORIGINAL, TIME_NS, INTERFACE, LINK, NEXT_RECORD, RECORD_WARNINGS, DAMAGE = 0, 1, 2, 3, 4, 5, 6, 7, 8
PART, REPORT, NEXT_REPORT = 9, 10, 11
"""Part of the record that is decoded, where its report begins, where the next one does (0: there is none)."""
RECORD_SIZE = 16

# what `next_record` returns
IS_RECORD, NEEDS_MORE, NEEDS_CONTROL, IS_DAMAGED = 0, 1, 2, 3

# record[DAMAGE]
DAMAGE_BLOCK_LENGTH, DAMAGE_INTERFACE, DAMAGE_RECORD_LENGTH = 1, 2, 3
DAMAGES = {
    DAMAGE_BLOCK_LENGTH: "block length is below 12, not a multiple of 4, or not repeated at its end",
    DAMAGE_INTERFACE: "packet of an interface that was not described",
    DAMAGE_RECORD_LENGTH: "record length is impossible",
}

# struct tpacket3_hdr: offsets of its words, in the byte order of the machine; offset 0 in RING_NEXT marks the last record
RING_NEXT, RING_SECONDS, RING_NANOSECONDS, RING_CAPTURED, RING_ORIGINAL, RING_STATUS, RING_DATA = 0, 4, 8, 12, 16, 20, 24
RING_TCI, RING_TPID = 32, 36
RING_HEADER = 48

MAXIMUM_RECORD = 256 * 1024 * 1024
"""A longer record is damage, not data."""

SECTION_HEADER, INTERFACE_DESCRIPTION, OLD_PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 0x0A0D0D0A, 1, 2, 3, 6

_BEYOND_ORIGINAL = WARNING_BIT["captured-beyond-original"]
_BEYOND_SNAPLEN = WARNING_BIT["snaplen-exceeded"]
_FRACTION = WARNING_BIT["timestamp-fraction"]
_SHORT = WARNING_BIT["captured-short"]


_AHEAD, _RING_AHEAD = 4, 2
"""How many records of the size of this one ahead are asked for."""


@inlined
def _ask_for(buffer: Buffer, at: int, size: int) -> None:
    """Ask for the headers of a record at `at`, and for its end, where the ICRC stands."""
    prefetch(buffer, at)
    prefetch(buffer, at + 64)
    prefetch(buffer, at + 128)
    prefetch(buffer, at + 192)
    prefetch(buffer, at + size - 4)


@inlined
def next_record(buffer: Buffer, position: int, stop: int, framing: Any, interfaces: Any, record: Any) -> int:
    """Find the record at `position` and fill `record`; returns IS_RECORD, NEEDS_MORE, NEEDS_CONTROL or IS_DAMAGED.

    Other pcapng blocks are skipped on the way: record[NEXT_RECORD] is where to go on, in every case.
    """
    if framing[FRAMING_KIND] == KIND_PCAP:
        return _pcap_record(buffer, position, stop, framing, interfaces, record)
    if framing[FRAMING_KIND] == KIND_RING:
        return _ring_record(buffer, position, stop, framing, interfaces, record)
    return _pcapng_record(buffer, position, stop, framing, interfaces, record)


@inlined
def _pcap_record(buffer: Buffer, position: int, stop: int, framing: Any, interfaces: Any, record: Any) -> int:
    record[NEXT_RECORD] = position
    if stop - position < 16:
        return NEEDS_MORE
    if framing[FRAMING_LITTLE] == 1:
        seconds, fraction = le32(buffer, position), le32(buffer, position + 4)
        captured, original = le32(buffer, position + 8), le32(buffer, position + 12)
    else:
        seconds, fraction = u32(buffer, position), u32(buffer, position + 4)
        captured, original = u32(buffer, position + 8), u32(buffer, position + 12)
    if captured > MAXIMUM_RECORD:
        record[DAMAGE] = DAMAGE_RECORD_LENGTH
        return IS_DAMAGED
    following = position + 16 + captured
    if following > stop:
        return NEEDS_MORE
    _ask_for(buffer, following + _AHEAD * (captured + 16), captured + 16)
    warnings = 0
    nanoseconds = interfaces[0, INTERFACE_RESOLUTION] == 9
    if fraction >= (1000000000 if nanoseconds else 1000000):
        warnings |= _FRACTION
    if captured > original:
        warnings |= _BEYOND_ORIGINAL
    elif captured < original:
        warnings |= _SHORT
    snaplen = interfaces[0, INTERFACE_SNAPLEN]
    if snaplen > 0 and captured > snaplen:
        warnings |= _BEYOND_SNAPLEN
    record[DATA] = position + 16
    record[CAPTURED] = captured
    record[ORIGINAL] = original
    record[TIME_NS] = seconds * 1000000000 + (fraction if nanoseconds else fraction * 1000)
    record[INTERFACE] = 0
    record[LINK] = interfaces[0, INTERFACE_LINK]
    record[NEXT_RECORD] = following
    record[RECORD_WARNINGS] = warnings
    return IS_RECORD


@kernel
def _word(buffer: Buffer, offset: int, little: int) -> int:
    return le32(buffer, offset) if little == 1 else u32(buffer, offset)


@kernel
def _half(buffer: Buffer, offset: int, little: int) -> int:
    return le16(buffer, offset) if little == 1 else u16(buffer, offset)


@kernel
def _ring_record(buffer: Buffer, position: int, stop: int, framing: Any, interfaces: Any, record: Any) -> int:
    little = framing[FRAMING_LITTLE]
    record[NEXT_RECORD] = position
    if stop - position < RING_HEADER:
        return NEEDS_MORE
    captured, original = _word(buffer, position + RING_CAPTURED, little), _word(buffer, position + RING_ORIGINAL, little)
    data = position + _half(buffer, position + RING_DATA, little)
    step = _word(buffer, position + RING_NEXT, little)
    following = position + step if step != 0 else stop
    if step % 8 != 0 or data < position + RING_HEADER or data + captured > following or following > stop:
        record[DAMAGE] = DAMAGE_RECORD_LENGTH
        return IS_DAMAGED
    _ask_for(buffer, following + _RING_AHEAD * step, step)
    record[DATA] = data
    record[CAPTURED] = captured
    record[ORIGINAL] = original
    record[TIME_NS] = _word(buffer, position + RING_SECONDS, little) * 1000000000 + _word(buffer, position + RING_NANOSECONDS, little)
    record[INTERFACE] = 0
    record[LINK] = interfaces[0, INTERFACE_LINK]
    record[NEXT_RECORD] = following
    record[RECORD_WARNINGS] = _SHORT if captured < original else 0
    return IS_RECORD


@kernel
def _pcapng_record(buffer: Buffer, position: int, stop: int, framing: Any, interfaces: Any, record: Any) -> int:
    little = framing[FRAMING_LITTLE]
    while True:
        record[NEXT_RECORD] = position
        if stop - position < 12:
            return NEEDS_MORE
        block = _word(buffer, position, little)
        if block == SECTION_HEADER or block == INTERFACE_DESCRIPTION:
            return NEEDS_CONTROL
        length = _word(buffer, position + 4, little)
        if length < 12 or length % 4 != 0 or length > MAXIMUM_RECORD:
            record[DAMAGE] = DAMAGE_BLOCK_LENGTH
            return IS_DAMAGED
        if position + length > stop:
            return NEEDS_MORE
        if _word(buffer, position + length - 4, little) != length:
            record[DAMAGE] = DAMAGE_BLOCK_LENGTH
            return IS_DAMAGED
        if block == ENHANCED_PACKET or block == SIMPLE_PACKET or block == OLD_PACKET:
            break
        position += length
    _ask_for(buffer, position + (1 + _AHEAD) * length, length)
    minimum = 16 if block == SIMPLE_PACKET else 32
    if length < minimum:
        record[DAMAGE] = DAMAGE_BLOCK_LENGTH
        return IS_DAMAGED
    interface = 0
    if block == ENHANCED_PACKET:
        interface = _word(buffer, position + 8, little)
    elif block == OLD_PACKET:
        interface = _half(buffer, position + 8, little)
    if interface >= interfaces.shape[0]:
        record[DAMAGE] = DAMAGE_INTERFACE
        return IS_DAMAGED
    snaplen = interfaces[interface, INTERFACE_SNAPLEN]
    warnings = 0
    if block == SIMPLE_PACKET:
        original = _word(buffer, position + 8, little)
        captured = min(original, length - 16)
        if snaplen > 0 and captured > snaplen:
            captured = snaplen
        record[DATA] = position + 12
        record[TIME_NS] = 0
    else:
        captured = _word(buffer, position + 20, little)
        original = _word(buffer, position + 24, little)
        if captured > length - 32:
            record[DAMAGE] = DAMAGE_RECORD_LENGTH
            return IS_DAMAGED
        record[DATA] = position + 28
        high, low = _word(buffer, position + 12, little), _word(buffer, position + 16, little)
        time_ns = ticks_to_ns(high, low, interfaces[interface, INTERFACE_RESOLUTION], interfaces[interface, INTERFACE_BINARY])
        offset_ns = interfaces[interface, INTERFACE_OFFSET_NS]
        if time_ns < 0 or (offset_ns > 0 and time_ns > 9223372036854775807 - offset_ns):
            record[TIME_NS] = 0
        else:
            record[TIME_NS] = time_ns + offset_ns
    if captured > original:
        warnings |= _BEYOND_ORIGINAL
    elif captured < original:
        warnings |= _SHORT
    if snaplen > 0 and captured > snaplen:
        warnings |= _BEYOND_SNAPLEN
    record[CAPTURED] = captured
    record[ORIGINAL] = original
    record[INTERFACE] = interface
    record[LINK] = interfaces[interface, INTERFACE_LINK]
    record[NEXT_RECORD] = position + length
    record[RECORD_WARNINGS] = warnings
    return IS_RECORD


@kernel
def ticks_to_ns(high: int, low: int, resolution: int, binary: int) -> int:
    """Ticks (two 32-bit words, unsigned) of 10^-resolution or 2^-resolution seconds in nanoseconds, rounded down; −1 if out of range.

    Exact for 0 ≤ resolution ≤ 19 (decimal) or 63 (binary), in 64-bit signed arithmetic: nested divisions round down as one would.
    """
    if resolution < 0:
        return -1
    if binary == 0:
        scale = 1
        if resolution <= 9:
            for _ in range(9 - resolution):
                scale *= 10
            if high >= 0x80000000 or (high << 32) | low > 9223372036854775807 // scale:
                return -1
            return ((high << 32) | low) * scale
        for _ in range(resolution - 9):
            scale *= 10
        return ((high << 31) | (low >> 1)) // (scale // 2)
    if resolution <= 32:
        # the bits of `high` that no 64-bit nanosecond count can hold are refused before they are shifted out
        if high > 9223372035 >> (32 - resolution):
            return -1
        seconds = (high << (32 - resolution)) + (low >> resolution)
        if seconds > 9223372035:
            return -1
        return seconds * 1000000000 + (((low & ((1 << resolution) - 1)) * 1000000000) >> resolution)
    shift = resolution - 32
    upper = (high & ((1 << shift) - 1)) * 1000000000
    return (high >> shift) * 1000000000 + ((upper + ((low * 1000000000) >> 32)) >> shift)
