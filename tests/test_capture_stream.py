"""Where captures come from: mapped files, compressed files, pipes, standard input, folders and patterns."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import capture_bytes as make
import numpy as np
import pytest
import zstandard
from mode import unchecked

from int_analyzer.capture import expand, open_source
from int_analyzer.capture.damage import BROKEN_STREAM, TRUNCATED_TAIL
from int_analyzer.capture.mapping import MappedFile
from int_analyzer.capture.stream import Stream
from int_analyzer.capture.walk import Record, records
from int_analyzer.errors import CaptureError, SourceError

pytestmark = unchecked

SKIPPABLE = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"


def long_pcap(count: int = 3000, link: int = 1) -> bytes:
    """Records of varying length whose content hardly compresses at first and very well towards the end."""
    noise = np.random.default_rng(1).integers(0, 256, 300 * count, dtype=np.uint8).tobytes()
    bodies = (noise[300 * i : 300 * i + i % 293] if i < count // 2 else bytes(i % 293) for i in range(count))
    return make.pcap_header(link=link) + b"".join(make.pcap_record(body, i) for i, body in enumerate(bodies))


def zstd(data: bytes, **options: Any) -> bytes:
    return zstandard.ZstdCompressor(**options).compress(data)


def unsized(data: bytes) -> bytes:
    """A zstd stream written without knowing its size, in flushed pieces."""
    writer = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    parts = [writer.compress(data[at : at + 7777]) + writer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for at in range(0, len(data), 7777)]
    return b"".join(parts) + writer.flush()


def halves(pack: Callable[[bytes], bytes], between: bytes = b"") -> Callable[[bytes], bytes]:
    """Two members or frames; the cut lies inside a record."""
    return lambda data: pack(data[: len(data) // 2]) + between + pack(data[len(data) // 2 :])


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "gzip members": halves(gzip.compress),
    "gzip padded": lambda data: gzip.compress(data) + bytes(1000),
    "zstd": zstd,
    "zstd checksum": lambda data: zstd(data, write_checksum=True),
    "zstd frames": halves(zstd, SKIPPABLE),
    "zstd without size": unsized,
    "zstd skippable first": lambda data: SKIPPABLE + zstd(data),
}


def expected_records(data: bytes) -> list[Record]:
    with open_source(io.BytesIO(data)) as source:
        found = list(records(source))
    assert source.damages == []
    return found


@pytest.mark.parametrize("packing", PACKINGS)
def test_every_packing_reads_the_same_from_file_and_pipe(packing: str, tmp_path: Path) -> None:
    data = long_pcap()
    packed = PACKINGS[packing](data)
    path = tmp_path / "misleading.txt"
    path.write_bytes(packed)
    expected = expected_records(data)
    assert len(expected) == 3000
    for window_bytes in (None, 1000):
        with open_source(path, window_bytes=window_bytes) as source:
            assert list(records(source)) == expected
            assert (source.damages, source.size, source.consumed) == ([], len(packed), len(packed))
    with open_source(io.BytesIO(packed), window_bytes=1000) as source:
        assert list(records(source)) == expected
        assert source.size is None


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd"])
def test_standard_input_is_read(packing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = long_pcap(300)
    readable, writable = os.pipe()
    writer = threading.Thread(target=lambda: [os.write(writable, PACKINGS[packing](data)), os.close(writable)])
    writer.start()
    with os.fdopen(readable, "r") as text:
        monkeypatch.setattr(sys, "stdin", text)
        with open_source("-") as source:
            assert (source.path, source.size) == ("-", None)
            assert list(records(source)) == expected_records(data)
        assert not text.closed
    writer.join()


def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.pcap"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(make.small_pcapng(),))
    writer.start()
    with open_source(fifo) as source:
        assert len(list(records(source))) == 3
    writer.join()


@pytest.mark.parametrize("window_bytes", [1, 24, 61, 1000])
def test_a_window_grows_until_a_record_fits(window_bytes: int) -> None:
    bodies = [b"a", b"b" * 100_000, b"c", b"d" * 3000]
    data = make.pcap_header() + b"".join(make.pcap_record(body) for body in bodies)
    with open_source(io.BytesIO(data), window_bytes=window_bytes) as source:
        assert [record.data for record in records(source)] == bodies
    blocks = make.section(options=make.option(4, b"x" * 500)) + make.interface() + b"".join(make.enhanced(body) for body in bodies)
    with open_source(io.BytesIO(blocks), window_bytes=window_bytes) as source:
        assert [record.data for record in records(source)] == bodies


@pytest.mark.parametrize("window_bytes", [None, 5000])
def test_buffers_are_of_one_kind(tmp_path: Path, window_bytes: int | None) -> None:
    path = tmp_path / "capture"
    data = long_pcap()
    sizes = set()
    for packing in ("plain", "gzip"):
        path.write_bytes(PACKINGS[packing](data))
        with open_source(path, window_bytes=window_bytes) as source:
            for window in source.windows():
                flags = window.buffer.flags
                assert (window.buffer.dtype, window.buffer.ndim, flags.c_contiguous, flags.writeable) == (np.uint8, 1, True, False)
                assert window.buffer.flags.aligned
                assert (window.interfaces.shape, window.interfaces.dtype) == ((1, 8), np.int64)
                assert window.start == window.position <= window.stop <= len(window.buffer)
                sizes.add(len(window.buffer))
                start = window.base + window.position
                assert bytes(window.buffer[window.position : window.stop]) == data[start : start + window.stop - window.position]
                window.position = window.stop if window.last else window.stop - 7
    assert max(sizes) <= max(len(data), 4 * 1024 * 1024)


def test_a_mapped_file_is_let_go_of_behind_the_reader_and_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "capture.pcap"
    path.write_bytes(long_pcap(20_000))
    source = open_source(path, window_bytes=100_000)
    kept = [(window.buffer, window.position) for window in consume(source)]
    source.close()
    assert len(kept) > 20
    assert all(buffer is kept[0][0] for buffer, _ in kept)
    assert kept[0][0].tobytes() == path.read_bytes()


def consume(source: Any) -> Any:
    for window in source.windows():
        yield window
        window.position = window.stop


@pytest.mark.parametrize("window_bytes", [None, 50])
def test_a_mapped_file_has_the_same_damage_as_a_stream(tmp_path: Path, window_bytes: int | None) -> None:
    lost = make.section()[:8] + bytes(400)
    pcapng = make.small_pcapng() + lost + make.small_pcapng()
    pcap = make.small_pcap() + b"\xff" * 99
    path = tmp_path / "capture"
    for data, count, offset, bytes_lost in ((pcapng, 6, len(make.small_pcapng()), len(lost)), (pcap, 3, len(make.small_pcap()), 99)):
        path.write_bytes(data)
        with open_source(path, window_bytes=window_bytes) as source, open_source(io.BytesIO(data)) as stream:
            assert isinstance(source._hold, MappedFile)
            assert list(records(source)) == list(records(stream))
            assert source.damages == stream.damages
        assert [(damage.offset, damage.lost_bytes) for damage in source.damages] == [(offset, bytes_lost)]
        with open_source(path) as source:
            assert len(list(records(source))) == count


def test_streams_do_not_grow_with_their_length() -> None:
    stream = Stream(io.BytesIO(gzip.compress(bytes(30_000_000))), 100_000)
    while not stream.last:
        assert stream.extend(stream.stop - 1000)
        assert len(stream.buffer) == 100_000
    assert stream.size == 30_000_000


def test_a_huge_expansion_is_unpacked_in_pieces() -> None:
    for packed in (gzip.compress(bytes(50_000_000)), zstd(bytes(50_000_000))):
        stream = Stream(io.BytesIO(packed), 10_000)
        assert stream.stop == 10_000
        assert len(stream._piece) < 300_000


# ----------------------------------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("packing", ["gzip", "gzip members", "zstd", "zstd checksum", "zstd frames", "zstd without size"])
def test_a_compressed_file_cut_anywhere_gives_a_prefix_and_says_so(packing: str) -> None:
    data = long_pcap(4000 if packing.startswith("zstd") else 300)
    expected = expected_records(data)
    packed = PACKINGS[packing](data)
    # a zstd block comes out whole or not at all
    least = 140_000 if packing.startswith("zstd") else 100
    most = 0
    for length in [*range(1, 40), *range(40, len(packed), len(packed) // 40), len(packed) - 1]:
        try:
            source = open_source(io.BytesIO(packed[:length]), window_bytes=3000)
        except CaptureError as error:
            assert length < least, error
            continue
        found = list(records(source))
        assert found == expected[: len(found)]
        most = max(most, len(found))
        (damage,) = source.damages
        # cut between two members, the stream is whole and the capture is not
        assert (damage.kind, "ends early" in damage.reason) == (BROKEN_STREAM, True) or damage.kind == TRUNCATED_TAIL
    assert most > len(expected) // 2


@pytest.mark.parametrize("packing", ["gzip", "zstd", "zstd checksum", "zstd without size"])
@pytest.mark.parametrize("value", [0, 0xFF])
def test_a_compressed_file_may_hold_any_byte(packing: str, value: int) -> None:
    packed = PACKINGS[packing](long_pcap(120))
    for at in [*range(30), *range(30, len(packed), 97), *range(len(packed) - 9, len(packed))]:
        try:
            with open_source(io.BytesIO(packed[:at] + bytes((value,)) + packed[at + 1 :]), window_bytes=3000) as source:
                list(records(source))
        except CaptureError as error:
            assert "\n" not in str(error)


def test_everything_before_a_fault_in_a_gzip_stream_is_used() -> None:
    data = long_pcap(600)
    packed = gzip.compress(data)
    wrong_sum = packed[:-8] + bytes(8)
    with open_source(io.BytesIO(wrong_sum)) as source:
        assert list(records(source)) == expected_records(data)
    (damage,) = source.damages
    assert (damage.kind, damage.offset, damage.lost_bytes) == (BROKEN_STREAM, len(data), None)
    assert "incorrect data check" in damage.reason
    # an impossible block type in the middle, behind a byte-aligned flush
    writer = zlib.compressobj(wbits=31)
    head = writer.compress(data[:20_000]) + writer.flush(zlib.Z_FULL_FLUSH)
    with open_source(io.BytesIO(head + b"\x07" * 50)) as source:
        found = list(records(source))
    assert sum(len(record.data) + 16 for record in found) + 24 > 20_000 - 309
    assert f"damaged at byte {len(head)} of the file" in source.damages[0].reason
    assert source.damages[0].offset == 20_000


def test_a_bad_zstd_block_costs_itself_alone() -> None:
    data = long_pcap(6000)
    packed = unsized(data)
    found = []
    with open_source(io.BytesIO(packed[:-1] + bytes((packed[-1] ^ 1,)))) as source:
        found = list(records(source))
    assert found == expected_records(data)
    assert "zstd stream is damaged" in source.damages[0].reason


def test_what_follows_a_compressed_stream_is_reported() -> None:
    for packing in ("gzip", "zstd"):
        with open_source(io.BytesIO(PACKINGS[packing](make.small_pcap()) + b"something")) as source:
            assert len(list(records(source))) == 3
        assert "is not " + packing in source.damages[0].reason


def test_a_compressed_file_that_holds_no_capture_is_refused() -> None:
    for packed in (gzip.compress(b"hello"), zstd(b"hello"), gzip.compress(b""), zstd(b""), gzip.compress(make.small_pcap())[:12]):
        with pytest.raises(CaptureError):
            open_source(io.BytesIO(packed))


def test_a_failing_read_is_damage() -> None:
    class Failing(io.RawIOBase):
        given = False

        def read(self, size: int = -1) -> bytes:
            if self.given:
                raise OSError(5, "Input/output error")
            self.given = True
            return make.small_pcap()[:61]

    with open_source(Failing()) as source:  # type: ignore[arg-type]
        assert len(list(records(source))) == 2
    assert source.damages[0].reason == "cannot be read on: Input/output error"


# ---------------------------------------------------------------------------------------------------------------- listing


def test_a_source_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "missing", "no such file"), (tmp_path, "is a folder"), ("", "no such file"), ("a\0b", "null")):
        with pytest.raises(SourceError, match=words):
            open_source(path)


def test_a_file_that_is_no_capture_is_closed_again(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(b"")
    with pytest.raises(CaptureError, match="at byte 0: the file is empty"):
        open_source(path)


def test_a_file_that_cannot_be_mapped_is_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(make.small_pcap())

    def refuse(*_: object) -> None:
        raise OSError(19, "No such device")

    monkeypatch.setattr(MappedFile, "__init__", refuse)
    with open_source(path) as source:
        assert len(list(records(source))) == 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    names = ("b.pcap", "a.pcapng.gz", "c.CAP", "d.dmp.zst", "ring.pcap10", "ring.pcap2", "README.md", "truth.json", "x.pcap.txt")
    for name in names:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "e.pcap").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "below").mkdir()
    (tmp_path / "only" / "below" / "f.pcap").write_bytes(b"")
    return tmp_path


def test_a_folder_gives_its_captures_in_order(folder: Path) -> None:
    expected = ["a.pcapng.gz", "b.pcap", "c.CAP", "d.dmp.zst", "ring.pcap2", "ring.pcap10"]
    assert expand([folder]) == [str(folder / name) for name in expected]


def test_arguments_are_kept_in_order_and_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "link.pcap").symlink_to("b.pcap")
    assert expand(["-", "README.md", "b.pcap", "./b.pcap", "link.pcap", "deep", "-"]) == ["-", "README.md", "b.pcap", "deep/e.pcap"]
    assert expand([]) == []


def test_patterns_match_files_and_folders(folder: Path) -> None:
    assert expand([f"{folder}/ring*"]) == [f"{folder}/ring.pcap2", f"{folder}/ring.pcap10"]
    assert expand([f"{folder}/[de]*"]) == [f"{folder}/d.dmp.zst", f"{folder}/deep/e.pcap"]
    assert expand([f"{folder}/**/*.pcap"]) == [f"{folder}/b.pcap", f"{folder}/deep/e.pcap", f"{folder}/only/below/f.pcap"]
    literal = folder / "odd[1].pcap"
    literal.write_bytes(b"")
    assert expand([literal]) == [str(literal)]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("missing.pcap", "no such file or folder"),
        ("", "no such file or folder"),
        ("empty", "no captures in this folder"),
        ("only", "only in folders below"),
        ("none*.pcap", "nothing matches"),
        ("dangling.pcap", "does not exist"),
        ("a\0b", "null"),
    ],
)
def test_an_argument_that_names_nothing_is_one_clear_line(folder: Path, monkeypatch: pytest.MonkeyPatch, argument: str, words: str) -> None:
    monkeypatch.chdir(folder)
    (folder / "dangling.pcap").symlink_to("nowhere")
    with pytest.raises(SourceError) as caught:
        expand([argument])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_capture_without_permission_is_refused(folder: Path) -> None:
    (folder / "b.pcap").chmod(0)
    for refused in (lambda: expand([folder / "b.pcap"]), lambda: expand([folder]), lambda: open_source(folder / "b.pcap")):
        with pytest.raises(SourceError, match="no permission"):
            refused()
    (folder / "deep").chmod(0)
    with pytest.raises(SourceError, match="no permission"):
        expand([folder / "deep"])
    (folder / "deep").chmod(0o700)
