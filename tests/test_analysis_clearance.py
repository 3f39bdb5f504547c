"""Clearance: congested ports on the paths between two hosts, either way, and on any path of a host while they are congested."""

from __future__ import annotations

import dataclasses

import numpy as np
from mode import unchecked
from summaries import finding
from view_factory import MS, START, Hop, Traffic

from int_analyzer.analysis.hosts.clearance import Clearance
from int_analyzer.analysis.summary import Finding
from int_analyzer.fold.view import View

pytestmark = unchecked

ONE, OTHER, THIRD = "10.0.0.1", "10.0.0.2", "10.0.0.3"


def seen() -> View:
    traffic = Traffic()
    traffic.packet(0, Hop(1, 7), Hop(2, 5), flow=(ONE, OTHER, 50000))
    traffic.packet(1, Hop(2, 8), Hop(1, 3), flow=(OTHER, ONE, 50001))
    traffic.packet(2, Hop(1, 7), Hop(2, 6), flow=(ONE, THIRD, 50002))
    return traffic.view()


def at(node: int, port: int | None) -> Finding:
    return dataclasses.replace(finding(), node_id=node, port_id=port, start_ns=START + 10 * MS, end_ns=START + 20 * MS)


def test_a_port_on_the_way_there_or_back_is_in_the_way() -> None:
    for port, expected in (((2, 5), False), ((1, 3), False), ((2, 6), True), ((9, 9), True)):
        assert Clearance(seen(), [at(*port)]).is_clear(ONE, OTHER) is expected
        assert Clearance(seen(), [at(*port)]).is_clear(OTHER, ONE) is expected


def test_without_a_path_nothing_is_known() -> None:
    assert Clearance(seen(), []).is_clear(OTHER, THIRD) is None


def test_a_finding_about_a_host_is_no_congestion() -> None:
    host = dataclasses.replace(finding(), node_id=None, port_id=None)
    assert Clearance(seen(), [host]).is_clear(ONE, OTHER) is True


def test_a_host_is_held_up_while_any_of_its_paths_is_congested_and_a_bucket_around() -> None:
    times = START + np.array([8, 10, 15, 20, 22]) * MS
    clearance = Clearance(seen(), [at(2, 6)])
    assert clearance.was_clear(ONE, times).tolist() == [True, False, False, False, True]
    assert clearance.was_clear(THIRD, times).tolist() == [True, False, False, False, True]
    assert clearance.was_clear(OTHER, times).all()
