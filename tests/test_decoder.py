"""The decoder over sources: the same rows whatever the container, the window and the batch."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import capture_bytes
import kernel
import numpy as np
import pytest
import zstandard

from int_analyzer import schema
from int_analyzer.capture import open_source
from int_analyzer.columns import N_PACKETS
from int_analyzer.decode import Decoder

PCAPS = Path(__file__).parent.parent / "pcaps"
CAPTURE = PCAPS / "bmv2-laofan-int-md-v2.1" / "s4-coll.pcap"


def decoded(source: Any, packets: int = 8192, compiled: bool = False) -> list[dict[str, Any]]:
    decoder = Decoder(compiled=compiled, packets=packets)
    found = []
    for columns in decoder.batches(source):
        assert decoder.first_packet == len(found)
        found += [kernel.rows(columns, row) for row in range(int(columns.counts[N_PACKETS]))]
    return found


def expected() -> list[dict[str, Any]]:
    with open_source(CAPTURE) as source:
        return decoded(source)


def test_a_file_is_decoded_to_its_last_packet() -> None:
    found = expected()
    assert len(found) == 1154 and sum(len(packet["hops"]) for packet in found) == 3462


@pytest.mark.parametrize("packets", [1, 100, 1154, 5000])
def test_the_size_of_a_batch_changes_nothing(packets: int) -> None:
    with open_source(CAPTURE) as source:
        assert decoded(source, packets) == expected()


@pytest.mark.parametrize("window", [300, 4096, 100_000])
def test_a_stream_in_windows_of_any_size_gives_the_same_rows(window: int) -> None:
    for content in (CAPTURE.read_bytes(), gzip.compress(CAPTURE.read_bytes()), zstandard.compress(CAPTURE.read_bytes())):
        with open_source(io.BytesIO(content), window_bytes=window) as source:
            assert decoded(source) == expected()


def test_a_capture_cut_at_any_byte_gives_a_prefix_and_says_so() -> None:
    content = CAPTURE.read_bytes()[:5000]
    whole = expected()
    for size in range(24, len(content), 13):
        with open_source(io.BytesIO(content[:size])) as source:
            found = decoded(source)
            assert found == whole[: len(found)]
            end = 24 + sum(16 + packet["packet"]["captured_bytes"] for packet in found)
            assert [damage.offset for damage in source.damages] == ([] if size == end else [end])


def test_compiled_decoding_of_a_source_gives_the_same_rows() -> None:
    with open_source(CAPTURE) as source:
        assert decoded(source, compiled=True) == expected()


def test_presence_bits_of_unread_columns_are_unset() -> None:
    with open_source(PCAPS / "linux-ioam-spine-to-leaf" / "l3-h5.pcap") as source:
        for columns in Decoder(compiled=False).batches(source):
            present = columns.hops.present[: columns.rows("hops")]
            assert np.all(present & schema.HAS_DEPTH) and not np.any(present & schema.HAS_LATENCY)


def test_a_pcapng_of_two_sections_in_both_byte_orders_gives_the_same_rows() -> None:
    import naive

    _, records = naive.read_pcap(CAPTURE)
    content = b""
    for order, half in (("<", records[:600]), (">", records[600:])):
        content += capture_bytes.section(order) + capture_bytes.interface(order, options=capture_bytes.clock(9, order=order))
        content += b"".join(capture_bytes.enhanced(data, time_ns, original=original, order=order) for time_ns, original, data in half)
    for window in (None, 2000):
        with open_source(io.BytesIO(content), window_bytes=window) as source:
            assert decoded(source) == expected()
