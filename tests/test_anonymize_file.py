"""int-analyzer anonymize: files, pipes and devices, formats of captures, keys, and what is said of wrong use."""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import subprocess
import sys
from pathlib import Path

import capture_bytes
import pytest
from test_anonymize import PCAPS, PLAIN, ROOT, Captured

from int_analyzer.capture import open_source
from int_analyzer.capture.walk import records
from int_analyzer.cli import main

# ---------------------------------------------------------------------------------------------------------------- the capture


def copy(tmp_path: Path, content: bytes, *options: str, name: str = "out") -> bytes:
    (tmp_path / "in").write_bytes(content)
    assert main(["anonymize", str(tmp_path / "in"), str(tmp_path / name), "--seed", "1", *options]) == 0
    return (tmp_path / name).read_bytes()


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("decimals", [6, 9])
def test_a_pcap_stays_a_pcap_of_its_byte_order_and_clock(order: str, decimals: int, tmp_path: Path) -> None:
    with_fcs = capture_bytes.pcap_header(order, decimals, link=0x24000001)
    content = with_fcs + b"".join(capture_bytes.pcap_record(PLAIN, 7, number, original=500, order=order) for number in range(3))
    after = copy(tmp_path, content)
    assert after[:20] == content[:20] and int.from_bytes(after[20:24], "little" if order == "<" else "big") == 1
    shown = list(records(open_source(io.BytesIO(after))))
    assert [record.time_ns for record in shown] == [record.time_ns for record in records(open_source(io.BytesIO(content)))]
    assert {record.original for record in shown} == {500}


def small_pcapng() -> bytes:
    """Two sections of both byte orders, several clocks, every kind of packet block, and texts that name somebody."""
    comment = capture_bytes.option(1, b"seen at host4711") + capture_bytes.option(2, b"\1\0\0\0") + capture_bytes.option(0, b"")
    texts = capture_bytes.option(2, b"eth0") + capture_bytes.option(3, b"host4711") + capture_bytes.option(4, b"\x0a\0\0\1\xff\xff\xff\0")
    first = capture_bytes.section(options=capture_bytes.option(4, b"host4711") + capture_bytes.option(0, b""))
    first += capture_bytes.interface(options=texts + capture_bytes.clock(9, offset=100))
    first += capture_bytes.interface(snaplen=300, options=capture_bytes.clock(0x80 | 20))
    first += capture_bytes.enhanced(PLAIN, 5, 0, options=comment) + capture_bytes.enhanced(PLAIN, 1 << 40, 1)
    names = capture_bytes.block(4, struct.pack("<HH", 1, 13) + b"\x0a\0\0\1host4711\0" + bytes(3) + bytes(4))
    second = capture_bytes.section(">") + capture_bytes.interface(">") + capture_bytes.old(PLAIN, 3, order=">")
    return first + names + capture_bytes.simple(PLAIN) + second


def test_a_pcapng_keeps_its_sections_clocks_and_directions_and_loses_its_texts(tmp_path: Path) -> None:
    content = small_pcapng()
    after = copy(tmp_path, content)
    assert b"host4711" in content and b"host4711" not in after and b"\x0a\0\0\1" not in after
    before, shown = (open_source(io.BytesIO(part)) for part in (content, after))
    was, now = list(records(before)), list(records(shown))
    assert before.damage_count == shown.damage_count == 0 and len(now) == 4
    for first, second in zip(was, now, strict=True):
        assert (first.original, first.interface, first.link) == (second.original, second.interface, second.link)
    # a packet without a time gets its interface's offset, for it has to become another kind of block
    assert [record.time_ns for record in now[:2] + now[3:]] == [record.time_ns for record in was[:2] + was[3:]]
    assert capture_bytes.option(2, b"\1\0\0\0") in after
    assert [(interface.name, interface.resolution, interface.offset_s, interface.snaplen) for interface in shown.interfaces] == [
        ("eth0", 9, 100, 0), ("", 20, 0, 300), ("", 6, 0, 0)]  # fmt: skip


def test_times_are_shifted_by_whole_seconds_on_every_clock(tmp_path: Path) -> None:
    pcap = capture_bytes.pcap_header() + capture_bytes.pcap_record(PLAIN, 1000, 5)
    for content in (pcap, small_pcapng()):
        shift = 500 if content is pcap else 7
        was = [record.time_ns for record in records(open_source(io.BytesIO(content)))]
        now = [record.time_ns for record in records(open_source(io.BytesIO(copy(tmp_path, content, "--shift-time", str(shift)))))]
        assert [second - first for first, second in zip(was, now, strict=True) if first] == [shift * 10**9] * sum(map(bool, was))


def test_a_shift_out_of_range_is_one_line_and_no_file(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "in").write_bytes(capture_bytes.pcap_header() + capture_bytes.pcap_record(PLAIN, 1000, 5))
    assert main(["anonymize", str(tmp_path / "in"), str(tmp_path / "out"), "--shift-time", "-2000"]) == 2
    assert "--shift-time" in capsys.readouterr().err and [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_output_is_compressed_by_its_name(ending: str, tmp_path: Path) -> None:
    content = capture_bytes.pcap_header() + capture_bytes.pcap_record(PLAIN, 1, 2)
    plain, packed = copy(tmp_path, content), copy(tmp_path, content, name=f"out.pcap.{ending}")
    assert packed[:2] != plain[:2] and b"out.pcap" not in packed
    assert [record.data for record in records(open_source(tmp_path / f"out.pcap.{ending}"))] == [
        record.data for record in records(open_source(io.BytesIO(plain)))
    ]
    if ending == "gz":
        assert gzip.decompress(packed) == plain


def test_a_pipe_is_read_and_written() -> None:
    capture = (PCAPS / "linux-ioam/zi3-w3.pcap").read_bytes()
    command = [sys.executable, "-m", "int_analyzer", "anonymize", "-", "-", "--seed", "3"]
    done = subprocess.run(command, input=capture, capture_output=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert len(list(records(open_source(io.BytesIO(done.stdout))))) == 13 and done.stderr.startswith(b"13 packets, ")


def test_the_rest_of_a_damaged_capture_is_written_and_the_damage_said(tmp_path: Path, capsys: Captured) -> None:
    content = capture_bytes.pcap_header() + capture_bytes.pcap_record(PLAIN, 1, 2) * 3
    after = copy(tmp_path, content[:-10])
    assert len(list(records(open_source(io.BytesIO(after))))) == 2
    assert "the last record is cut" in capsys.readouterr().err


def test_without_a_key_every_run_gives_other_addresses(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(capture_bytes.pcap_header() + capture_bytes.pcap_record(PLAIN, 1, 2))
    for name in ("first", "second"):
        assert main(["anonymize", str(tmp_path / "in"), str(tmp_path / name)]) == 0
    assert (tmp_path / "first").read_bytes() != (tmp_path / "second").read_bytes()


def test_a_key_file_gives_the_same_addresses_again(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(capture_bytes.pcap_header() + capture_bytes.pcap_record(PLAIN, 1, 2))
    (tmp_path / "key").write_text("a secret")
    outputs = []
    for name in ("first", "second"):
        assert main(["anonymize", str(tmp_path / "in"), str(tmp_path / name), "--key", str(tmp_path / "key")]) == 0
        outputs.append((tmp_path / name).read_bytes())
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["absent.pcap", "out"], "no such file"),
        (["in", "in"], "is the capture itself"),
        (["in", "absent/out"], "No such file"),
        (["in", "out", "--key", "absent"], "absent"),
        (["in", "out", "--key", "empty"], "the key is empty"),
        (["in", "out", "--key", "in", "--seed", "1"], "exclude each other"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(
    arguments: list[str], part: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_bytes(capture_bytes.pcap_header())
    (tmp_path / "empty").write_bytes(b"")
    code = main(["anonymize", *arguments])
    output = capsys.readouterr()
    assert code == 2 and output.out == "" and output.err.count("\n") == 1 and part in output.err
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.part").exists()


def test_a_device_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert main(["anonymize", str(PCAPS / "linux-ioam" / "zi3-w3.pcap"), str(pipe), "--seed", "1"]) == 0
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
