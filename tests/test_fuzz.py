"""Bytes that nobody thought of: hypothesis makes packets and captures, the kernel and the twin must agree and never raise."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import capture_bytes
import golden_packet
import mutate
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_decode import DIALECTS, agree
from test_decode import PROFILES as PLAIN_PROFILES

from int_analyzer.capture import open_source
from int_analyzer.columns import N_PACKETS
from int_analyzer.decode import Decoder
from int_analyzer.errors import CaptureError

WORKED = [*mutate.worked_packets().values(), *(data for data, *_ in list(mutate.corner_cases().values())[::5])]
WORKED += [golden_packet.load(path).data[:400] for path in golden_packet.PATHS]
BOUNDED = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)

link_types = st.sampled_from((1, 1, 1, 101, 113, 228, 229, 276))
PROFILES = {**PLAIN_PROFILES, **DIALECTS}
profiles = st.sampled_from(sorted(PROFILES))


@st.composite
def damaged(draw: Any) -> bytes:
    """A worked packet with pieces overwritten, cut out, doubled, or taken from another one."""
    data = bytearray(draw(st.sampled_from(WORKED)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        kind = draw(st.sampled_from(("write", "cut", "double", "other", "tail")))
        if kind == "write":
            data[at : at + 4] = draw(st.binary(min_size=1, max_size=4))
        elif kind == "cut":
            del data[at : at + draw(st.integers(1, 16))]
        elif kind == "double":
            data[at:at] = data[at : at + draw(st.integers(1, 32))]
        elif kind == "other":
            other = draw(st.sampled_from(WORKED))
            data[at:] = other[at:]
        else:
            data += draw(st.binary(max_size=24))
    return bytes(data)


FOUND = {
    "no report after all, and the DSCP hint stands": (
        "by DSCP",
        "02000000000b02002900000a0800455e007c12340000401153dd0a0000939393939393939393939393932b00" + "00" * 68,
    ),
    "reserved bits only, no words per hop: a division by zero": (
        "by DSCP",
        "02000000000b02000000000a0800455e003a12340000401153f50a0000010a000002c00012b7005000001005000026000000010068060000000000000600000005"
        "0a40ffff00000123",
    ),
    "a truncated ERSPAN header has no flags": (
        "by port",
        "02000000009902000000000108004500002b00084000402fe22aac100001ac100009100022eb0000004d20c8ffffffffffffff03815d15230bee6553f1000200",
    ),
    "a reporting node whose id is all ones": (
        "by port",
        "0200000000990200000000010800450000d2123440004011a382c0000201c000026300007ffe00be0000161401ffffffffffffffffffffffffffffffffffff80"
        "ffffffa4f38cd200020000000002000000000108004568009612344000",
    ),
}
"""What fuzzing found once, so that it is never found again."""


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_once_stays_mended(name: str) -> None:
    profile, packet = FOUND[name]
    agree([bytes.fromhex(packet)], 1, PROFILES[profile])


@BOUNDED
@given(damaged(), st.integers(0, 80), profiles, link_types)
def test_damaged_packets_are_read_alike_by_kernel_and_twin(data: bytes, more: int, profile: str, link_type: int) -> None:
    agree([(data, len(data) + more, 0)], link_type, PROFILES[profile])


@BOUNDED
@given(st.binary(max_size=200), link_types, profiles)
def test_any_bytes_are_read_alike_by_kernel_and_twin(data: bytes, link_type: int, profile: str) -> None:
    agree([data], link_type, PROFILES[profile])


@BOUNDED
@given(st.binary(max_size=300), st.sampled_from(("pcap", "pcapng")), st.integers(0, 120))
def test_any_bytes_behind_a_capture_header_never_raise(junk: bytes, kind: str, keep: int) -> None:
    start = capture_bytes.small_pcap() if kind == "pcap" else capture_bytes.small_pcapng()
    content = start[: max(24, keep)] + junk
    try:
        with open_source(io.BytesIO(content), window_bytes=97) as source:
            packets = sum(int(columns.counts[N_PACKETS]) for columns in Decoder(compiled=False).batches(source))
    except CaptureError as error:
        assert str(error)
        return
    assert packets <= len(content) // 12


def test_a_coverage_guided_fuzzer_finds_nothing(tmp_path: Path) -> None:
    """atheris over the plain kernel, 15 seconds; the corpus is the worked packets."""
    pytest.importorskip("atheris", reason="atheris is not installed (pip install atheris)")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, packet in enumerate(WORKED):
        (corpus / str(number)).write_bytes(bytes([number % len(PROFILES)]) + packet)
    script = Path(__file__).parent / "fuzz_packets.py"
    done = subprocess.run(
        [sys.executable, str(script), str(corpus), "-max_total_time=15", "-max_len=400", f"-artifact_prefix={tmp_path}/"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Done" in done.stderr or "DONE" in done.stderr
    shutil.rmtree(corpus)
