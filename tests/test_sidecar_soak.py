"""A sidecar under full load, warm, for as long as INT_ANALYZER_SOAK_SECONDS says: nothing of it grows with time."""

from __future__ import annotations

import os
import re

import pytest
from mode import speed
from namespace import needs_namespaces
from soak import Soaked, soak

pytestmark = [needs_namespaces, speed]

SECONDS = float(os.environ.get("INT_ANALYZER_SOAK_SECONDS", "30"))
GROWTH = 1.05


@pytest.fixture(scope="module")
def soaked() -> Soaked:
    return soak(SECONDS, per_second=200_000)


def test_every_packet_is_accounted_for(soaked: Soaked) -> None:
    told = re.search(r"mirror0: (\d+) packets, .*not folded: (\d+) dropped by the kernel, (\d+) shed, (\d+) of another time", soaked.said)
    assert told is not None, soaked.said
    assert sum(map(int, told.groups())) == soaked.came > 1000 * soaked.seconds


def test_memory_is_flat(soaked: Soaked) -> None:
    assert soaked.growth < GROWTH, soaked.resident
