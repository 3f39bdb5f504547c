"""Paths, links and where ports lead to, of the paths of a view."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from view_factory import Hop, Traffic

from int_analyzer.analysis.paths import Reach, crossings, reach_of_ports
from int_analyzer.analysis.summarise import summarise
from int_analyzer.fold.view import View

A, B, C, D = Hop(1, 1, ingress=9), Hop(2, 2, ingress=8), Hop(3, 3, ingress=7), Hop(4, 4, ingress=6)


def view_of(*paths: tuple[Hop, ...]) -> View:
    """As many packets of each path as it is named."""
    traffic = Traffic()
    for at, hops in enumerate(paths):
        traffic.packet(at, *hops)
    return traffic.view()


def test_paths_come_by_packets_then_by_their_ports_the_shorter_first() -> None:
    view = view_of((D, B), (B, C, D), (B, C), (A, C), (A, C))
    assert [[hop.node_id for hop in path.hops] for path in summarise(view).paths] == [[1, 3], [2, 3], [2, 3, 4], [4, 2]]


def test_a_path_without_packets_is_left_out_and_moves_no_other() -> None:
    view = view_of((D,), (C,), (B,), (A,))
    empty = replace(view, paths=replace(view.paths, packets=np.array([1, 0, 1, 1])))
    assert [path.hops[0].node_id for path in summarise(empty).paths] == [1, 2, 4]


def test_links_have_the_sums_of_the_paths_over_them() -> None:
    view = view_of((A, B, C), (A, B), (A, D), (A, B, C))
    links = {(link.source.node_id, link.to_node_id, link.to_port): link.packets for link in summarise(view).links}
    assert links == {(1, 2, "8"): 3, (1, 4, "6"): 1, (2, 3, "7"): 2, (2, None, None): 1, (3, None, None): 2, (4, None, None): 1}


def test_reach_tells_next_and_last_nodes_and_what_goes_on() -> None:
    reach = reach_of_ports(view_of((A, B, C), (A, B), (A, D), (A, B, C)))
    assert reach[1, 1] == Reach(frozenset({2, 4}), frozenset({2, 3, 4}), 4, 0)
    assert reach[2, 2] == Reach(frozenset({3}), frozenset({3}), 2, 1)
    assert (reach[3, 3].ending, len(reach)) == (2, 4)


def test_crossings_are_of_the_queues_asked_for() -> None:
    view = view_of((A, B, C), (B, A))
    queue = view.paths.queues[0][1]
    assert crossings(view, [queue]) == {queue: [(0, 1), (1, 0)]}
