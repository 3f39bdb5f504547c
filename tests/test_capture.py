"""Framing of captures: what is read from pcap and pcapng, and what is left of them when they are damaged."""

from __future__ import annotations

import io
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import capture_bytes as make
import numpy as np
import pytest

from int_analyzer.capture import Source, open_source
from int_analyzer.capture.damage import DAMAGED, TRUNCATED_TAIL, UNUSABLE_INTERFACE
from int_analyzer.capture.interface import KNOWN_LINKS
from int_analyzer.capture.records import (
    INTERFACE_BINARY,
    INTERFACE_FCS_BYTES,
    INTERFACE_RESOLUTION,
    INTERFACE_SNAPLEN,
    RECORD_SIZE,
    RECORD_WARNINGS,
    next_record,
    ticks_to_ns,
)
from int_analyzer.capture.walk import Record, records
from int_analyzer.errors import CaptureError
from int_analyzer.status import WARNING_BIT

PCAPS = Path(__file__).parent.parent / "pcaps"
CAPTURES = sorted(PCAPS.glob("*/*.pcap"))
NEWEST = 2**63 - 1


def read(data: bytes, **options: Any) -> tuple[list[Record], Source]:
    """Records of a capture in memory, and its source."""
    source = open_source(io.BytesIO(data), **options)
    return list(records(source)), source


def packets(data: bytes, **options: Any) -> list[bytes]:
    return [record.data for record in read(data, **options)[0]]


def refusal(data: bytes) -> str:
    with pytest.raises(CaptureError) as caught:
        read(data)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ----------------------------------------------------------------------------------------------------------- classic pcap


@pytest.mark.parametrize(("order", "decimals"), make.PCAP_MAGICS)
def test_every_magic_decides_byte_order_and_unit(order: str, decimals: int) -> None:
    data = make.pcap_header(order, decimals) + make.pcap_record(b"abc", 4294967295, 999999, original=77, order=order)
    (record,), source = read(data)
    assert record == Record(b"abc", 4294967295 * 10**9 + 999999 * 10 ** (9 - decimals), 3, 77, 0, 1)
    assert (source.kind, source.damages) == ("pcap", [])


def test_a_header_without_records_is_an_empty_capture() -> None:
    found, source = read(make.pcap_header())
    assert (found, source.damages) == ([], [])


def test_kuznetzov_is_refused_by_name() -> None:
    for magic in ("34cdb2a1", "a1b2cd34"):
        assert "Kuznetzov" in refusal(bytes.fromhex(magic) + make.small_pcap()[4:])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"\xd4", "1 of 4 bytes"),
        (make.pcap_header()[:23], "23 of 24 bytes"),
        (make.section()[:27], "27 of 28 bytes"),
        (make.section(options=make.option(4, b"x" * 20))[:40], "inside its first section header"),
        (b"\x0a\x0d\x0d\x0a" + bytes(40), "byte-order magic"),
        (make.section(version=(2, 0)), "version 2.0"),
        (make.pcap_header(version=(543, 0)), "version 543.0"),
        (b"# A title\n", "not a pcap or pcapng capture"),
        (b"\xfd7zXZ\x00\x00", "xz"),
        (make.pcap_header(link=147), "unknown link type 147"),
        (make.section() + make.interface(link=147) + make.interface(link=148) + make.enhanced(b"x"), "unknown link type 147"),
        (make.section() + make.interface(link=147) + make.section(">") + make.interface(">", link=148), "unknown link type 147"),
    ],
)
def test_what_is_not_a_capture_is_refused_in_one_line(data: bytes, words: str) -> None:
    assert words in refusal(data)


def test_one_known_link_type_is_enough() -> None:
    head = make.section() + make.interface(link=147)
    assert packets(head + make.interface(link=1) + make.enhanced(b"x")) == [b"x"]
    assert packets(head + make.enhanced(b"x") + make.section(">") + make.interface(">")) == [b"x"]


@pytest.mark.parametrize("link", sorted(KNOWN_LINKS))
def test_known_link_types_pass_through(link: int) -> None:
    assert {1, 101, 12, 14, 113, 228, 229, 276} == KNOWN_LINKS
    (first,), _ = read(make.pcap_header(link=link) + make.pcap_record(b"x"))
    (second,), _ = read(make.section() + make.interface(link=link) + make.enhanced(b"x"))
    assert (first.link, second.link) == (link, link)


def test_fcs_bytes_come_from_the_link_type_word_and_from_the_option() -> None:
    for word, expected in ((0x24000001, 4), (0x14000001, 2), (0x20000001, 0), (1, 0)):
        source = open_source(io.BytesIO(make.pcap_header(link=word)))
        assert next(source.windows()).interfaces[0, INTERFACE_FCS_BYTES] == source.interfaces[0].fcs_bytes == expected
        assert source.interfaces[0].link == 1
    # a length below 8 cannot be one in bits
    for value, expected in ((32, 4), (0, 0), (16, 2), (4, 4)):
        _, source = read(make.section() + make.interface(options=make.option(13, bytes((value,)))))
        assert source.interfaces[0].fcs_bytes == expected


def test_a_huge_snap_length_costs_nothing_and_odd_records_are_warned_of() -> None:
    data = make.pcap_header(snaplen=0xFFFFFFFF) + make.pcap_record(b"x" * 10)
    assert packets(data) == [b"x" * 10]
    window = next(open_source(io.BytesIO(make.pcap_header(snaplen=4) + make.pcap_record(b"x" * 10, 0, 1000000, 9))).windows())
    assert window.interfaces[0, INTERFACE_SNAPLEN] == 4
    record = [0] * RECORD_SIZE
    next_record(memoryview(window.buffer), window.position, window.stop, window.framing, window.interfaces, record)
    names = ("snaplen-exceeded", "captured-beyond-original", "timestamp-fraction")
    assert record[RECORD_WARNINGS] == sum(WARNING_BIT[name] for name in names)


# ----------------------------------------------------------------------------------------------------------------- pcapng


def test_every_packet_block_is_read_and_other_blocks_are_skipped() -> None:
    found, source = read(make.small_pcapng())
    assert found == [Record(b"first", 7, 5, 5, 0, 1), Record(b"second", 0, 6, 6, 0, 1), Record(b"third", 3000, 5, 5, 0, 1)]
    assert (source.kind, source.sections, source.writer, source.damages) == ("pcapng", 2, "writer", [])
    assert [(interface.section, interface.number, interface.name) for interface in source.interfaces] == [(0, 0, "eth0"), (1, 0, "")]


def test_each_section_has_its_byte_order_and_its_own_interfaces() -> None:
    first = make.section(">") + make.interface(">", link=1) + make.interface(">", link=101) + make.enhanced(b"a", 5, 1, ">")
    second = make.section("<") + make.interface("<", link=228) + make.enhanced(b"b", 6, 0, "<")
    found, source = read(first + second + first)
    assert [(record.data, record.time_ns, record.interface, record.link) for record in found] == [
        (b"a", 5000, 1, 101),
        (b"b", 6000, 0, 228),
        (b"a", 5000, 1, 101),
    ]
    assert source.sections == 3


def test_an_interface_of_an_earlier_section_is_not_known_any_more() -> None:
    data = make.section() + make.interface() + make.enhanced(b"a") + make.section() + make.enhanced(b"b")
    found, source = read(data)
    assert [record.data for record in found] == [b"a"]
    assert "not described" in source.damages[0].reason
    assert source.damages[0].offset == data.rindex(make.enhanced(b"b"))


def test_several_interfaces_keep_their_own_clock() -> None:
    clocks = [(9, 0), (6, -5), (0x80 | 10, 100), (3, 1_700_000_000), (12, 7)]
    data = make.section() + b"".join(make.interface(options=make.clock(*each)) for each in clocks)
    data += b"".join(make.enhanced(b"x", 12_345_678, number) for number in range(len(clocks)))
    expected = [12_345_678, 12_345_678_000 - 5 * 10**9, 12_345_678 * 10**9 // 1024 + 100 * 10**9]
    expected += [12_345_678 * 10**6 + 1_700_000_000 * 10**9, 12_345 + 7 * 10**9]
    assert [record.time_ns for record in read(data)[0]] == expected


def test_a_time_of_zero_ticks_is_still_moved_by_the_offset() -> None:
    data = make.section() + make.interface(options=make.clock(6, 1_700_000_000)) + make.enhanced(b"x", 0)
    assert read(data)[0][0].time_ns == 1_700_000_000 * 10**9


@pytest.mark.parametrize("binary", [0, 1])
def test_times_are_exact_for_every_resolution(binary: int) -> None:
    generator = np.random.default_rng(binary)
    for resolution in range(64 if binary else 20):
        unit = Fraction(1, (2 if binary else 10) ** resolution)
        edge = min(int(Fraction(NEWEST, 10**9) / unit), 2**64 - 1)
        chosen = [int(generator.integers(0, 2**64, dtype=np.uint64)) >> shift for shift in range(0, 64, 3)]
        for ticks in [0, 1, edge - 1, edge, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, *chosen]:
            exact = int(ticks * unit * 10**9)
            got = ticks_to_ns(ticks >> 32, ticks & 0xFFFFFFFF, resolution, binary)
            # the last second before the year 2262 may be refused
            assert got == exact or (got == -1 and exact > NEWEST - 10**9), (resolution, ticks)


def test_a_time_beyond_64_bits_is_none() -> None:
    head = make.section() + make.interface(options=make.clock(0, 9_000_000_000))
    assert [record.time_ns for record in read(head + make.enhanced(b"x", 9_000_000_000) + make.enhanced(b"x", 2**64 - 1))[0]] == [0, 0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (make.clock(20), "if_tsresol 14"),
        (make.clock(0x80 | 64), "if_tsresol c0"),
        (make.option(9, b""), "if_tsresol"),
        (make.clock(6, 2**62), "if_tsoffset"),
        (make.option(14, b"\x01"), "if_tsoffset"),
        (struct.pack("<HH", 2, 400) + b"eth0", "runs past its block"),
    ],
)
def test_an_unusable_clock_leaves_the_packets_without_time(options: bytes, words: str) -> None:
    data = make.section() + make.interface(options=options) + make.enhanced(b"x", 5)
    (record,), source = read(data)
    assert (record.data, record.time_ns) == (b"x", 0)
    (damage,) = source.damages
    assert (damage.offset, damage.kind) == (28, UNUSABLE_INTERFACE)
    assert words in damage.reason


def test_the_last_usable_resolutions_are_used() -> None:
    for resolution in (19, 0x80 | 63):
        source = open_source(io.BytesIO(make.section() + make.interface(options=make.clock(resolution))))
        window = next(source.windows())
        while window.position < window.stop:
            assert source.control(window)
        assert window.interfaces[0, INTERFACE_RESOLUTION] == resolution & 0x7F
        assert window.interfaces[0, INTERFACE_BINARY] == resolution >> 7
        assert source.damages == []


def test_descriptions_are_kept_for_the_report() -> None:
    options = (
        make.option(2, b"eth\x1b0") + make.option(3, "Färö".encode()) + make.option(8, struct.pack("<Q", 10**11)) + make.option(0, b"")
    )
    _, source = read(make.section() + make.interface(link=113, snaplen=96, options=options))
    (interface,) = source.interfaces
    assert (interface.name, interface.description, interface.speed_bps) == ("eth\ufffd0", "Färö", 10**11)
    assert (interface.link, interface.snaplen) == (113, 96)


def test_a_simple_packet_is_as_long_as_snap_length_and_block_allow() -> None:
    head = make.section() + make.interface(snaplen=6)
    assert packets(head + make.simple(b"12345678", 100)) == [b"123456"]
    assert packets(head + make.simple(b"123", 3)) == [b"123"]
    assert packets(make.section() + make.interface() + make.simple(b"12345678", 100)) == [b"12345678"]


def test_many_interfaces_are_read_in_time_and_counted_out() -> None:
    described = make.interface()
    _, source = read(make.section() + described * 65536 + make.enhanced(b"x", 0, 65535))
    assert (source.damages, len(source.interfaces)) == ([], 4096)
    found, source = read(make.section() + described * 65537 + make.enhanced(b"x"))
    assert (found, "more than 65536" in source.damages[0].reason) == ([], True)


# ----------------------------------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("make_capture", [make.small_pcap, make.small_pcapng])
@pytest.mark.parametrize("window_bytes", [None, 16])
def test_cut_at_every_byte_leaves_a_prefix(make_capture: Any, window_bytes: int | None) -> None:
    data = make_capture()
    whole, _ = read(data)
    boundaries = {24, 45, 61, len(data)} if data[0] == 0xD4 else None
    header = 24 if data[0] == 0xD4 else 44
    for length in range(len(data)):
        if length < header:
            refusal(data[:length])
            continue
        found, source = read(data[:length], window_bytes=window_bytes)
        assert found == whole[: len(found)]
        assert all(damage.kind == TRUNCATED_TAIL for damage in source.damages)
        assert len(source.damages) <= 1
        if source.damages:
            assert source.damages[0].offset + (source.damages[0].lost_bytes or 0) == length
        if boundaries is not None:
            assert bool(source.damages) == (length not in boundaries)


@pytest.mark.parametrize("make_capture", [make.small_pcap, make.small_pcapng])
@pytest.mark.parametrize("value", [0, 0xFF, 0x80])
def test_any_byte_may_be_anything(make_capture: Any, value: int) -> None:
    data = make_capture()
    for at in range(len(data)):
        changed = data[:at] + bytes((value,)) + data[at + 1 :]
        try:
            found, source = read(changed)
        except CaptureError:
            assert at < 60, "only what stands in a header refuses the file"
            continue
        assert sum(record.captured for record in found) <= len(data)
        assert all(0 <= damage.offset <= len(data) for damage in source.damages)


def test_a_broken_record_ends_a_pcap_and_says_how_much_is_lost() -> None:
    data = make.pcap_header() + make.pcap_record(b"good") + struct.pack("<IIII", 0, 0, 0x7FFFFFFF, 0) + bytes(100)
    path_like, source = read(data)
    assert [record.data for record in path_like] == [b"good"]
    (damage,) = source.damages
    assert (damage.offset, damage.kind, damage.lost_bytes) == (44, DAMAGED, 116)
    assert str(damage) == "at byte 44: record length is impossible (116 bytes not read)"


@pytest.mark.parametrize("window_bytes", [None, 28, 64])
@pytest.mark.parametrize(
    "broken",
    [
        struct.pack("<III", 6, 13, 0) + bytes(4),
        struct.pack("<III", 6, 0x7FFFFFF0, 0) + bytes(64),
        struct.pack("<III", 5, 4000, 0) + bytes(64),
        make.enhanced(b"x", number=9),
        make.section()[:8] + bytes(20),
        make.section(version=(3, 0)),
        make.interface()[:-4] + bytes(4),
        make.section()[:12] + bytes(33),
    ],
)
def test_reading_goes_on_at_the_next_section(broken: bytes, window_bytes: int | None) -> None:
    broken += bytes(-len(broken) % 4)
    lure = make.SECTION.to_bytes(4, "little")
    before = make.section() + make.interface() + make.enhanced(b"a")
    after = make.section(">") + make.interface(">") + make.enhanced(b"b", order=">")
    junk = make.enhanced(b"lost") + lure + bytes(8) + b"!" + lure + b"\x1a\x2b\x3c\x4d" * 8 + bytes(3)
    found, source = read(before + broken + junk + after, window_bytes=window_bytes)
    assert [record.data for record in found] == [b"a", b"b"]
    (damage,) = source.damages
    assert (damage.kind, damage.offset, damage.lost_bytes) == (DAMAGED, len(before), len(broken + junk))


def test_damages_without_number_are_counted_and_not_all_kept() -> None:
    broken = make.section() + make.interface() + make.block(99, b"")[:-4] + bytes(4)
    found, source = read(broken * 1500 + make.small_pcapng())
    assert len(found) == 3
    assert (len(source.damages), source.damage_count) == (1000, 1500)


def test_finish_reports_a_cut_record_once() -> None:
    source = open_source(io.BytesIO(make.small_pcap()[:-1]))
    windows = source.windows()
    window = next(windows)
    window.position = 61
    source.finish(window)
    source.finish(window)
    assert list(windows) == []
    assert [(damage.kind, damage.offset, damage.lost_bytes) for damage in source.damages] == [(TRUNCATED_TAIL, 61, 23)]


# ------------------------------------------------------------------------------------------------------------- both lives


def test_the_compiled_walk_reads_the_same() -> None:
    clocks = [9, 6, 0x80 | 63, 0x80 | 33, 0x80 | 20, 12, 19, 0]
    data = make.section(">") + b"".join(make.interface(">", options=make.clock(each, 1, ">")) for each in clocks)
    for ticks in (0, 1, 2**32 + 17, 2**62 + 12345, 2**63 + 54321, 2**64 - 1):
        data += b"".join(make.enhanced(b"x", ticks, number, ">") for number in range(len(clocks)))
    for capture in (data, make.small_pcap(), make.small_pcapng(), data[:-7]):
        source = open_source(io.BytesIO(capture))
        assert list(records(source, compiled=True)) == read(capture)[0]


def test_real_captures_are_there() -> None:
    assert len(CAPTURES) >= 40


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_real_captures_read_as_by_scapy(path: Path, tmp_path: Path) -> None:
    from scapy.utils import RawPcapNgReader, RawPcapReader

    with open_source(path) as source:
        ours = list(records(source))
        assert source.damages == []
        assert source.consumed == source.size == path.stat().st_size
    with RawPcapReader(str(path)) as theirs:
        scale = 1 if theirs.nano else 1000
        link = theirs.linktype
        expected = [Record(data, seen.sec * 10**9 + seen.usec * scale, seen.caplen, seen.wirelen, 0, link) for data, seen in theirs]
    assert ours == expected
    rewritten = tmp_path / "again.pcapng"
    described = make.section() + make.interface(link=link, options=make.clock(9))
    rewritten.write_bytes(described + b"".join(make.enhanced(each.data, each.time_ns, original=each.original) for each in ours))
    with open_source(rewritten) as source:
        assert list(records(source)) == ours
    with RawPcapNgReader(str(rewritten)) as blocks:
        packed = [(data, seen.tshigh * 2**32 + seen.tslow, seen.wirelen) for data, seen in blocks]
    assert packed == [(each.data, each.time_ns, each.original) for each in ours]
