"""From a trace to a capture file, in pieces: the columns of a batch, their bytes, the file."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from int_analyzer.capture.records import KIND_PCAP, KIND_PCAPNG
from int_analyzer.encode import Encoder
from int_analyzer.output import STANDARD, opened, replacing
from int_analyzer.synth.emission import Emission, detection
from int_analyzer.synth.fabric import write_profile
from int_analyzer.synth.rows import IPV6_HOSTS, Rows
from int_analyzer.synth.trace import Trace

Progress = Callable[[int, int], None]
"""Called with the packets written so far and all packets."""

_ADDRESSES = ("src_ip", "dst_ip", "host")
"""Keys of a truth document whose values are addresses of hosts."""
SMALL = 20_000
"""Packets that plain Python writes before the compiled kernels could be loaded."""


def write_capture(
    trace: Trace,
    output: str,
    emission: Emission,
    *,
    mirror: int = 0,
    snaplen: int = 0,
    progress: Progress | None = None,
    compiled: bool | None = None,
) -> int:
    """Write what the collector captures of a trace: packets written.

    `output` is a file, pcapng if its name says so (.gz and .zst are compressed), or "-". `mirror` is what stands around mirrored packets
    (a value of rows.MIRRORS), `snaplen` the most bytes kept of a packet, 0 for all. Raises SourceError.
    """
    rows = Rows(trace, emission, mirror)
    kind = KIND_PCAPNG if output.removesuffix(".gz").removesuffix(".zst").endswith(".pcapng") else KIND_PCAP
    done = 0
    with opened(output) as file:
        for packets, piece in _pieces(rows, kind, snaplen, len(rows) > SMALL if compiled is None else compiled):
            file.write(piece)
            done += packets
            if progress is not None:
                progress(done, len(rows))
    return done


def write_companions(trace: Trace, output: str, emission: Emission) -> list[Path]:
    """Write what belongs beside a capture: the truth, the operator's profile, and counters where some were read.

    Their paths; none beside what is no file.
    """
    capture = Path(output)
    if output == STANDARD or not capture.is_file():
        return []
    stem = capture.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".pcap").removesuffix(".pcapng")
    texts = {
        capture.with_name(f"{stem}.truth.json"): json.dumps(told_truth(trace.truth, emission), indent=2, ensure_ascii=False) + "\n",
        capture.with_name(f"{stem}.profile.toml"): operator_profile(trace, emission),
    }
    if trace.counters:
        texts[capture.with_name(f"{stem}.counters.csv")] = trace.counters
    for path, text in texts.items():
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
    return list(texts)


def told_truth(truth: dict[str, Any], emission: Emission) -> dict[str, Any]:
    """A truth document with the addresses of hosts as they stand in the capture: IPv6 where the format needs it."""
    return {key: _told(key, value) for key, value in truth.items()} if emission.ip_version == 6 else truth


def _told(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _told(name, entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_told(key, entry) for entry in value]
    return str(ipaddress.IPv6Address(IPV6_HOSTS | int(ipaddress.IPv4Address(value)))) if key in _ADDRESSES else value


def operator_profile(trace: Trace, emission: Emission) -> str:
    """What an operator of the fabric knows, as the text of a profile: where telemetry stands, units, names, link speeds."""
    found, known = detection(emission), write_profile(trace.fabric, emission.depth_unit)
    return f"{found}\n{known}" if found else known


def _pieces(rows: Rows, kind: int, snaplen: int, compiled: bool) -> Iterator[tuple[int, memoryview | bytes]]:
    """Pieces of the file, with the packets that are whole in each."""
    encoder = Encoder(rows.surroundings, kind, snaplen, compiled)
    yield 0, encoder.head()
    for columns in rows.batches():
        yield from encoder.pieces(columns)
