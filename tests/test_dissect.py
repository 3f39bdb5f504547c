"""Headers as declared, and packets taken apart: the same as the kernel, byte by byte and row by row."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import kernel
import mutate
import pytest
from dissected import PCAPS, PROFILE, WORKED, declared_headers, disagreements, every, hop_branches, of_bytes, text_of, worked

from int_analyzer import schema, watch
from int_analyzer.capture import open_source
from int_analyzer.decode import Decoder
from int_analyzer.dissect.dissection import read_packets
from int_analyzer.dissect.field import Header
from int_analyzer.dissect.headers import int_md, ioam, network, report, roce, tunnel
from int_analyzer.formats.dialect import DIALECTS, LAYOUT_05, NO_LAYOUT, bits_set, words_per_hop
from int_analyzer.formats.report_2 import metadata_words
from int_analyzer.formats.roce import OPCODES
from int_analyzer.profile import Profile, parse_profile

CAPTURES = sorted(PCAPS.glob("*/*.pcap"))


# ------------------------------------------------------------------------------------------------- declarations and the kernel


def test_the_kernel_calls_its_layers_by_the_names_that_the_trace_watches() -> None:
    seen: set[str] = set()

    def note(name: str, layer: Any) -> Any:
        seen.add(name)
        return layer

    watch.watched(note)
    assert seen == watch.LAYERS


def test_every_header_has_a_name_a_specification_and_whole_bytes() -> None:
    headers = declared_headers()
    assert len(headers) > 80
    for header in headers:
        assert header.name and header.title and header.spec and header.bytes > 0, header


def test_every_column_that_a_field_names_is_one_of_the_schema() -> None:
    known = {f"{table}.{column.name}" for table, columns in schema.TABLES.items() for column in columns}
    named = {field.column for header in declared_headers() for field in header.fields if field.column}
    assert named and named <= known


def test_a_header_that_is_not_whole_bytes_cannot_be_declared() -> None:
    with pytest.raises(ValueError, match="whole number of bytes"):
        Header("x", "x", "x", (network.IPV4.fields[0],))


def test_fields_of_known_headers_lie_where_the_specifications_draw_them() -> None:
    for header, places in (
        (int_md.MD_1, {"copy": 6, "hop_exceeded": 7, "mtu_exceeded": 8, "hop_words": 19, "remaining_hops": 24, "instructions": 32}),
        (int_md.MD_2, {"discard": 4, "hop_exceeded": 5, "mtu_exceeded": 6, "hop_words": 19, "domain": 48, "domain_flags": 80}),
        (int_md.MX, {"discard": 4, "instructions": 32, "domain": 48}),
        (int_md.MD_05, {"copy": 6, "instruction_count": 11, "maximum_hops": 16, "total_hops": 24, "instructions": 32}),
        (report.REPORT_1, {"length": 4, "protocol": 8, "metadata_bits": 11, "dropped": 23, "hw_id": 26, "node_id": 32}),
        (report.REPORT_1_EARLY_FLAGS, {"dropped": 17, "hw_id": 26}),
        (report.GROUP_2, {"hw_id": 4, "sequence": 10, "node_id": 32}),
        (report.REPORT_2, {"length": 8, "metadata_length": 16, "dropped": 24, "intermediate": 27}),
        (ioam.TRACE, {"node_words": 16, "overflow": 21, "remaining_words": 25, "trace_type": 32}),
        (roce.BTH, {"pad": 10, "pkey": 16, "fecn": 32, "dest_qp": 40, "ack_req": 64, "psn": 72}),
        (tunnel.ERSPAN_3, {"session_id": 22, "timestamp": 32, "security_group": 64, "hw_id": 86, "granularity": 93, "subheader": 95}),
    ):
        assert {name: header.offset_of(name) for name in places} == places, header.title


def test_extension_headers_add_up_to_the_sizes_of_the_kernels_opcode_table() -> None:
    for opcode, carries in enumerate(OPCODES):
        assert sum(header.bytes for header in roce.extensions(int(carries))) == carries & 0xFF, hex(opcode)


def test_a_hop_is_as_long_as_the_kernel_says_for_every_bitmap_and_dialect() -> None:
    for dialect in (dialect for dialect in DIALECTS if dialect.layout != NO_LAYOUT):
        for instructions in range(0, 0x10000, 7):
            if dialect.layout == 1 and instructions & 0x0080:
                continue
            if dialect.layout == LAYOUT_05:
                items = int_md.hop_layout_05(instructions, dialect.time_words)
                expected = 4 * words_per_hop(instructions, dialect.time_words, dialect.level2_words)
                assert sum(item.bytes for item in items) == expected, (dialect.name, hex(instructions))
                continue
            items = int_md.hop_layout(dialect.layout, instructions, dialect.time_words, dialect.level2_words, 1, 0)
            words = words_per_hop(instructions, dialect.time_words, dialect.level2_words)
            assert sum(item.bytes for item in items) == 4 * words, (dialect.name, hex(instructions))


def test_metadata_of_reports_is_as_long_as_the_kernel_says() -> None:
    for bits in range(0x8000):
        items = report.metadata_2(bits, metadata_words(bits))
        assert sum(item.bytes for item in items) == 4 * metadata_words(bits), hex(bits)
    assert all(len(report.metadata_1(bits)) == bits_set(bits) for bits in range(64))


def test_a_node_of_a_trace_is_as_long_as_its_type_says() -> None:
    for bit in range(2, 24):
        words = 2 if bit in (13, 14, 15) else 1
        assert sum(item.bytes for item in ioam.node_layout(1 << bit)) == 4 * words, bit


# ------------------------------------------------------------------------------------------------ what is shown and what is true


@pytest.mark.parametrize("name", list(WORKED))
@pytest.mark.parametrize("profile", [PROFILE, Profile()], ids=["profile", "alone"])
def test_what_is_shown_of_a_worked_packet_is_what_the_kernel_says(name: str, profile: Profile) -> None:
    data = bytes.fromhex(WORKED[name]["hex"])
    packet = of_bytes(data, profile)
    assert list(disagreements(packet)) == []
    said = kernel.decode([(data, len(data), 0)], profile=kernel_profile() if profile is PROFILE else None, compiled=False)[0]
    assert packet.status.name == said["packet"]["status"] and {entry.name for entry in packet.warnings} == said["packet"]["warnings"]
    assert (packet.status_at or 0) == said["packet"]["status_at"]
    assert [strip(row) for row in packet.rows["hops"]] == [strip(row) for row in said["hops"]]


def kernel_profile() -> dict[str, Any]:
    return {"int_ports": [54321], "int_dscp": (0x17, 0x3F), "report_ports": [32766], "domains": {0x5453: (2, 0)}}


def strip(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in schema.kernel_columns(schema.HOPS)}


@pytest.mark.parametrize("capture", CAPTURES, ids=[f"{path.parent.name}/{path.name}" for path in CAPTURES])
def test_what_is_shown_of_a_capture_is_what_its_tables_say(capture: Path) -> None:
    decoder = Decoder(Profile().settings(), compiled=False)
    with open_source(str(capture)) as source:
        columns = next(decoder.batches(source))
        count = columns.rows("packets")
        packets = [kernel.rows(columns, row) for row in range(count)]
    numbers = sorted({*range(min(count, 12)), *range(0, count, 97), count - 1})
    for number, packet in zip(numbers, read_packets(str(capture), numbers, Profile()), strict=True):
        assert packet.number == number and list(disagreements(packet)) == []
        assert [strip(row) for row in packet.rows["hops"]] == [{**strip(row), "packet": number} for row in packets[number]["hops"]]
        assert packet.status.name == packets[number]["packet"]["status"]
        assert {entry.name for entry in packet.warnings} == packets[number]["packet"]["warnings"]


@pytest.mark.parametrize("name", list(WORKED))
def test_a_packet_that_is_cut_anywhere_is_shown_as_far_as_it_goes(name: str) -> None:
    data = bytes.fromhex(WORKED[name]["hex"])
    for length in range(len(data)):
        packet = of_bytes(data[:length], original=len(data))
        assert list(disagreements(packet)) == [], length
        assert max([branch.end for branch in every(packet)], default=0) == length


def as_profile(twin: dict[str, Any] | None) -> Profile:
    """A profile as the twin takes it: but for the domains all of it is what a profile says in `detect`."""
    detect = {name: list(value) if isinstance(value, tuple) else value for name, value in (twin or {}).items()}
    domains = [{"id": number, "source_only_words": source, "hop_words": hop} for number, (source, hop) in detect.pop("domains", {}).items()]
    if "int_dscp" in detect:
        detect["int_dscp"] = "{}/{}".format(*detect["int_dscp"])
    return parse_profile({"detect": detect, "domain": domains})


@pytest.mark.parametrize("name", sorted(mutate.corner_cases()))
def test_a_corner_case_is_shown_as_the_kernel_reads_it(name: str) -> None:
    data, twin, status, warnings = mutate.corner_cases()[name]
    profile = as_profile(twin)
    packet = of_bytes(data, profile)
    assert (packet.status.name, {entry.name for entry in packet.warnings}) == (status, warnings)
    for cut in (data, *list(mutate.cuts(data))[::3]):
        packet = of_bytes(cut, profile, original=len(data))
        assert list(disagreements(packet)) == [], cut.hex()
    assert packet.status.name in text_of(packet, profile)


@pytest.mark.parametrize("name", ["01", "03", "05", "08", "11"])
def test_tunnels_mirrors_and_link_types_are_shown_as_the_kernel_reads_them(name: str) -> None:
    data = worked(name)
    wrapped = [(1, frame) for _, frame in (*mutate.tunnels(data), *mutate.nested(data, 7, 12))]
    for link, frame in (*wrapped, *(mutate.links(data) if mutate.is_plain(data) else ())):
        for cut in (frame, *list(mutate.cuts(frame))[::7]):
            assert list(disagreements(of_bytes(cut, link=link, original=len(frame)))) == [], (link, cut.hex())


def test_every_opcode_is_shown_as_the_kernel_reads_it() -> None:
    for opcode in range(256):
        for size in (4, 20, 48):
            data = mutate.opcode_frame(opcode, size)
            assert list(disagreements(of_bytes(data))) == [] and list(disagreements(of_bytes(data[:-6], original=len(data)))) == [], opcode


@pytest.mark.parametrize("dialect", ["int-2.x", "int-1.0", "onos-basic", "geant10"])
def test_hops_of_every_dialect_are_shown_as_the_kernel_reads_them(dialect: str) -> None:
    for seed in range(40):
        hops = mutate.random_hops(seed, seed % 7)
        instructions = random.Random(seed).randrange(0x10000) | 0x8000
        data = mutate.int_md_packet(hops, dialect=dialect, instructions=instructions)
        packet = of_bytes(data, Profile())
        assert list(disagreements(packet)) == [], data.hex()
        assert len(hop_branches(packet)) == len(hops) or packet.status.reject


def test_damaged_packets_are_shown_and_agree() -> None:
    chance = random.Random(4791)
    for attempt in range(3000):
        data = bytearray(bytes.fromhex(chance.choice(list(WORKED.values()))["hex"]))
        for _ in range(chance.choice((1, 1, 2, 8))):
            data[chance.randrange(12, len(data))] = chance.choice((0, 0xFF, chance.randrange(256)))
        packet = of_bytes(bytes(data), chance.choice((PROFILE, Profile())))
        assert list(disagreements(packet)) == [], data.hex()
        if attempt % 10 == 0:
            assert packet.status.name in text_of(packet)


def test_every_byte_of_a_worked_packet_is_shown() -> None:
    for name, entry in WORKED.items():
        data = bytes.fromhex(entry["hex"])
        seen = set()
        for branch in every(of_bytes(data)):
            for value in branch.values:
                seen |= set(range(value.at, value.at + len(value.raw)))
        assert sorted(set(range(len(data))) - seen) == [], name
