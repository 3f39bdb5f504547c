"""Longer captures out of short real ones: the same frames again and again, with capture times that go on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from capture_bytes import pcap_header, pcap_record

from int_analyzer.capture import open_source
from int_analyzer.capture.walk import Record, records

ROOT = Path(__file__).parent.parent
CONGESTED = ROOT / "pcaps/bmv2-laofan-int-md-v2.1/s4-coll.pcap"
"""Five seconds; node 2 port 2 is congested from about +1.7 s to +4.1 s."""
HEALTHY = ROOT / "pcaps/bmv2-laofan-int-md-v2.1-healthy/s4-coll.pcap"
"""Five seconds of the same switches and flows."""

SECOND = 1_000_000_000
START = 1_800_000_000 * SECOND
LENGTH = 5 * SECOND

Timed = tuple[int, bytes]
"""Capture time and frame."""


def frames(path: Path) -> list[Timed]:
    """The frames of a capture, with times from 0 on."""
    with open_source(str(path)) as source:
        found: list[Record] = list(records(source))
    return [(record.time_ns - found[0].time_ns, record.data) for record in found]


def in_turn(*paths: Path, start: int = START, every: int = 3) -> list[Timed]:
    """Captures of five seconds one after the other, every third frame of each (or another): plain Python takes its time."""
    known = {path: frames(path)[::every] for path in set(paths)}
    return [(start + number * LENGTH + time, data) for number, path in enumerate(paths) for time, data in known[path]]


def pcap(timed: Iterable[Timed]) -> bytes:
    """A nanosecond pcap."""
    return pcap_header(decimals=9) + b"".join(pcap_record(data, time // SECOND, time % SECOND) for time, data in timed)
