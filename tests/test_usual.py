"""The straight line of usual packets gives what the loop over layers gives, and is the way that usual packets take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kernel
import mode
import mutate
import pytest
from test_decode import CAPTURES, CORNERS, INSIDE, PROFILES, WORKED, recorded

from int_analyzer import decode

pytestmark = mode.unchecked


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Packets are decoded with and without the straight line, by the kernel as plain Python: the rows are the same."""

    def compare(packets: list[kernel.Packet], link_type: int = 1, profile: dict[str, Any] | None = None) -> None:
        straight = kernel.decode(packets, link_type, profile, compiled=False)
        with monkeypatch.context() as patch:
            patch.setattr(decode, "usual_packet", lambda *_: False)
            assert straight == kernel.decode(packets, link_type, profile, compiled=False)

    return compare


def whole(packets: list[bytes]) -> list[kernel.Packet]:
    """Packets of which nothing was cut off."""
    return [(data, len(data), 7) for data in packets]


@pytest.mark.parametrize("name", CAPTURES)
def test_recorded_packets_are_read_alike(name: str, both: Callable[..., None]) -> None:
    link_type, packets = recorded(name)
    data, original, time_ns = packets[len(packets) // 2]
    both(packets[:100] + [(cut, original, time_ns) for cut in list(mutate.cuts(data))[::3]], link_type)


@pytest.mark.parametrize("profile", PROFILES)
def test_worked_packets_whole_cut_and_damaged_are_read_alike(profile: str, both: Callable[..., None]) -> None:
    for number, data in enumerate(WORKED.values()):
        cut = [(short, len(data), 7) for short in list(mutate.cuts(data))[number % 5 :: 5]]
        both(whole([data, *list(mutate.byte_changes(data, 1))[number % 29 :: 29]]) + cut, 1, PROFILES[profile])


def test_corner_cases_are_read_alike(both: Callable[..., None]) -> None:
    for data, profile, *_ in CORNERS.values():
        both(whole([data, *list(mutate.cuts(data))[:: max(1, len(data) // 8)]]), 1, profile)


@pytest.mark.parametrize("profile", PROFILES)
def test_options_in_front_of_what_is_not_usual_count_once(profile: str, both: Callable[..., None]) -> None:
    both(whole(list(mutate.ioam_mixture(len(profile), 300, INSIDE))), 1, PROFILES[profile])


USUAL = {
    "INT-MD behind UDP": ("bmv2-laofan-int-md-v2.1/s1-s2.pcap", "hops"),
    "INT-MD v1.0 behind UDP": ("bmv2-geant-int-v1.0/s1-s2.pcap", "hops"),
    "RoCEv2": ("bmv2-laofan-int-md-v2.1/s4-h3.pcap", "roce"),
    "IOAM in hop-by-hop options": ("linux-ioam-spine-to-leaf/l3-h5.pcap", "hops"),
}


@pytest.mark.parametrize("kind", USUAL)
def test_usual_packets_take_the_straight_line(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, table = USUAL[kind]
    monkeypatch.setattr(decode, "decode_packet", lambda *_: pytest.fail("not by the straight line"))
    link_type, packets = recorded(name)
    assert all(row[table] for row in kernel.decode(packets[:100], link_type, compiled=False))
