"""Connections in the fold: against the slow twin on random traffic, and each trap of the transport by hand."""

from __future__ import annotations

import numpy as np
import pytest
from roce_reference import START, US, WRAP, Packet, expected, folded, known
from roce_traffic import MTU, Wire, traffic

from int_analyzer import _jit
from int_analyzer.fold.state import Capacity, State
from int_analyzer.fold.view import View

LIVES = [pytest.param(False, id="plain"), pytest.param(True, id="compiled")]


def compare(packets: list[Packet], compiled: bool = False) -> None:
    told, wanted = known(folded(packets, compiled, batch=170).view()), expected(packets)
    assert told.keys() == wanted.keys()
    for key, values in wanted.items():
        assert told[key] == values, key


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize("seed", range(12))
def test_connections_are_what_the_twin_knows(seed: int, compiled: bool) -> None:
    compare(traffic(seed), compiled)


@pytest.mark.parametrize("seed", range(100, 106))
def test_heavy_loss_and_reordering_are_what_the_twin_knows(seed: int) -> None:
    compare(traffic(seed, loss=0.15, late=0.3, copies=0.3))
