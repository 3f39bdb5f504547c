"""Captures of traces: what decoding gives back, what is lost and counted, what others say of the bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kernel
import pytest
from test_encode import EXPECTED_WARNINGS, differences
from trace_factory import small_trace

from int_analyzer import schema
from int_analyzer.capture import open_source
from int_analyzer.columns import N_PACKETS
from int_analyzer.decode import Decoder
from int_analyzer.packet_encode import IN_PACKET
from int_analyzer.profile import load_profile
from int_analyzer.synth.emission import EMISSIONS, Emission
from int_analyzer.synth.packets import operator_profile, write_capture
from int_analyzer.synth.rows import MIRRORS, Rows

TRACE = small_trace()


def told(emission: Emission, mirror: int) -> list[dict[str, Any]]:
    """Rows of the trace as they are given to the encoder, but for lengths."""
    return [
        kernel.rows(columns, row) for columns in Rows(TRACE, emission, mirror).batches() for row in range(int(columns.counts[N_PACKETS]))
    ]


def read(path: Path, profile: Path) -> list[dict[str, Any]]:
    decoder = Decoder(load_profile(str(profile)).settings(), compiled=False)
    with open_source(str(path)) as source:
        return [kernel.rows(columns, row) for columns in decoder.batches(source) for row in range(int(columns.counts[N_PACKETS]))]


@pytest.mark.parametrize("mirror", MIRRORS)
@pytest.mark.parametrize("name", EMISSIONS)
def test_a_capture_decodes_to_the_rows_of_its_trace(name: str, mirror: str, tmp_path: Path) -> None:
    emission = EMISSIONS[name]
    profile = tmp_path / "profile.toml"
    profile.write_text(operator_profile(TRACE, emission))
    write_capture(TRACE, str(tmp_path / "x.pcap"), emission, mirror=MIRRORS[mirror], compiled=False)
    found, expected = read(tmp_path / "x.pcap", profile), told(emission, MIRRORS[mirror])
    assert len(found) == len(expected) > 0
    made = ("captured_bytes", "original_bytes", "ip_bytes", "telemetry_bytes")
    for got, wanted in zip(found, expected, strict=True):
        got["packet"]["warnings"] -= EXPECTED_WARNINGS
        got["packet"] |= dict.fromkeys(made)
        wanted["packet"] |= dict.fromkeys(made)
        got["roce"] |= {"icrc_raw": None, "present": got["roce"]["present"] & ~schema.HAS_ICRC & ~schema.HAS_PAYLOAD}
        wanted["roce"] |= {"icrc_raw": None, "payload_bytes": got["roce"]["payload_bytes"]}
        wanted["roce"]["present"] &= ~schema.HAS_ICRC & ~schema.HAS_PAYLOAD
        assert differences(got, wanted) == {}


def test_every_telemetry_that_can_be_written_is_emitted() -> None:
    assert {emission.telemetry for emission in EMISSIONS.values()} == {schema.FORMAT_NONE, *IN_PACKET}
    assert {emission.report for emission in EMISSIONS.values()} == {
        schema.FORMAT_NONE,
        schema.FORMAT_REPORT_05,
        schema.FORMAT_REPORT_1,
        schema.FORMAT_REPORT_2,
    }
