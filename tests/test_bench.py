"""The C twin of the benchmarks and our kernel fill the same columns; what the benchmarks are made of works."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import build, columns_header, compare, target, traffic
from benchmarks.build import Twin, TwinError
from int_analyzer import _jit, schema
from int_analyzer.status import STATUSES

ROOT = Path(__file__).parent.parent
REAL = ROOT / "pcaps" / "bmv2-laofan-int-md-v2.1" / "s2-s4.pcap"
SNAPLENS = (64, 80, 96, 114, 150, 200, 250, 299)
PACKETS = 20_000 if not _jit.DISABLED else 500
"""Generated packets: plain Python reads them a hundred times slower."""


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Twin:
    try:
        return build.compile_twin(tmp_path_factory.mktemp("twin"))
    except TwinError as error:
        pytest.skip(f"no C twin: {error}")


def records(capture: Path) -> Iterator[tuple[bytes, bytes]]:
    """Header and bytes of every record of a little-endian pcap."""
    data, at = capture.read_bytes(), 24
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        yield data[at : at + 16], data[at + 16 : end]
        at = end


def write(capture: Path, packets: list[tuple[bytes, int]]) -> Path:
    """A capture of (bytes, original length) a microsecond apart."""
    with capture.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for number, (packet, original) in enumerate(packets):
            file.write(struct.pack("<IIII", 1_700_000_000, number * 1000, len(packet), original) + packet)
    return capture


@pytest.mark.parametrize("kind", traffic.KINDS)
def test_generated_traffic_gives_the_columns_of_the_twin(twin: Twin, tmp_path: Path, kind: str) -> None:
    capture = tmp_path / "traffic.pcap"
    traffic.write(capture, PACKETS if kind == "int-dscp" else PACKETS // 8, seed=7, kind=kind)
    result = compare.compare(twin, capture)
    assert result.difference == ""
    assert result.beyond == 0
    assert (result.hops > 0) == (kind != "roce")


@pytest.mark.parametrize("snaplen", SNAPLENS)
def test_cut_packets_give_the_columns_of_the_twin(twin: Twin, tmp_path: Path, snaplen: int) -> None:
    packets = []
    for kind in traffic.KINDS:
        traffic.write(tmp_path / kind, 200, seed=snaplen, kind=kind)
        packets += [(data[:snaplen], len(data)) for _, data in records(tmp_path / kind)]
    assert compare.compare(twin, write(tmp_path / "cut.pcap", packets)).difference == ""


def test_a_real_capture_gives_the_columns_of_the_twin(twin: Twin) -> None:
    result = compare.compare(twin, REAL)
    assert result.difference == ""
    assert result.beyond == 0
    assert result.hops > 1000


def test_worked_packets_cut_at_every_length_give_the_columns_of_the_twin(twin: Twin, tmp_path: Path) -> None:
    packets = []
    for entry in json.loads((ROOT / "tests" / "golden" / "worked-packets.json").read_text()):
        data = bytes.fromhex(entry["hex"])
        packets += [(data[:length], len(data)) for length in range(len(data) + 1)]
    result = compare.compare(twin, write(tmp_path / "worked.pcap", packets))
    assert result.difference == ""
    assert result.packets > 1000 and result.hops > 100


def test_a_difference_is_found_and_named(twin: Twin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = tmp_path / "traffic.pcap"
    traffic.write(capture, 100)
    honest = compare.twins

    def forged(twin: Twin, capture: Path) -> compare.Tables:
        tables = honest(twin, capture)
        tables["packets"]["ttl"][70] += 1
        return tables

    monkeypatch.setattr(compare, "twins", forged)
    assert compare.compare(twin, capture).difference.startswith("packets.ttl of packet 70: ")


def test_the_header_of_the_twin_has_every_column_and_status() -> None:
    header = columns_header.header()
    for table in columns_header.TABLES:
        for column in schema.kernel_columns(schema.TABLES[table]):
            assert f'{{"{table}", "{column}", ' in header
    for status in STATUSES:
        assert f"STATUS_{status.name.upper().replace('-', '_')} = {status.code}," in header


def test_traffic_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        traffic.write(tmp_path / name, 500, seed=seed)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() != (tmp_path / "c").read_bytes()


def test_traffic_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="do not hold the headers"):
        traffic.write(tmp_path / "small", 10, size=200)


@pytest.mark.parametrize(
    ("key", "ratio", "said"),
    [
        ("decode_over_c", 1.0, "met"),
        ("decode_over_c", 1.3, "within bound"),
        ("decode_over_c", 1.5, "WORSE THAN BOUND"),
        ("tcpdump_over_decode", 25.0, "met"),
        ("tcpdump_over_decode", 11.0, "WORSE THAN BOUND"),
        ("tcpdump_over_decode", None, "not measured"),
    ],
)
def test_a_ratio_is_judged_by_its_target_and_bound(key: str, ratio: float | None, said: str) -> None:
    entry = next(entry for entry in target.TARGETS if entry.key == key)
    assert target.verdict(entry, ratio) == said
    assert said in target.table({key: ratio}, {})
