"""A node that spreads flows otherwise than its peers is named with what differs; chance, moved flows and large flows are no difference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from mode import unchecked
from view_factory import MS, Hop, Traffic

from int_analyzer.analysis.spread import Difference, find_differences
from int_analyzer.analysis.summarise import summarise
from int_analyzer.fold.view import View
from int_analyzer.profile import Node, Profile, Units

pytestmark = unchecked

LEAVES = (1, 2, 3, 4)
Choice = Callable[[np.random.Generator, int, str, str, int], int]
"""Which spine (0 …) a leaf chooses for a flow: source, destination and number among the flows between the same two."""


def by_flow(spines: int, odd: int = 0, weights: tuple[float, ...] = ()) -> Choice:
    """By chance, flow by flow; leaf `odd` with other weights."""
    return lambda rng, leaf, src, dst, flow: int(rng.choice(spines, p=weights if leaf == odd else None))


def fabric(choose: Choice, spines: int = 2, per_pair: int = 4, seed: int = 1, size: Callable[[int], int] = lambda flow: 1000) -> View:
    """Leaves with three hosts each, all of which send to all of the other leaves, `per_pair` flows a pair."""
    rng, traffic = np.random.default_rng(seed), Traffic()
    number = 0
    for leaf in LEAVES:
        for target in LEAVES:
            for pair in range(9):
                src, dst = f"10.0.{leaf}.{pair // 3}", f"10.0.{target}.{pair % 3}"
                for flow in range(per_pair if leaf != target else 0):
                    spine = 11 + choose(rng, leaf, src, dst, flow)
                    number += 1
                    traffic.packet(
                        number * 1000, Hop(leaf, spine), Hop(spine, target), Hop(target, pair % 3), flow=(src, dst, 50_000 + number)
                    )
                    traffic.packets[-1] = (*traffic.packets[-1][:3], size(number), False)
    return traffic.view()


def only(view: View) -> Difference:
    (found,) = find_differences(view)
    return found


@pytest.mark.parametrize("spines", [2, 4])
@pytest.mark.parametrize("seed", range(12))
def test_an_even_hash_is_no_difference(spines: int, seed: int) -> None:
    assert find_differences(fabric(by_flow(spines), spines, seed=seed)) == []


@pytest.mark.parametrize("odd", LEAVES)
def test_a_leaf_with_other_weights_is_named_and_no_other(odd: int) -> None:
    found = only(fabric(by_flow(2, odd, (0.22, 0.78)), per_pair=8, seed=odd))
    assert (found.node_id, found.next_id, found.port_id) == (odd, 12, 12)
    assert 0.68 < found.share < 0.88 and 0.4 < found.elsewhere < 0.6 and found.deviation < 0.1
    assert found.together is None and found.never_used == []
    assert sorted(found.peers) == [leaf for leaf in LEAVES if leaf != odd]


def test_an_uplink_that_only_one_leaf_does_not_use_is_named() -> None:
    view = fabric(by_flow(4, 3, (0.33, 0.33, 0.34, 0.0)), 4)
    assert only(view).never_used == [14]
    (event,) = [event for event in summarise(view).events if event.kind == "configuration-difference"]
    assert any("sends nothing over 14" in sentence and "fewer uplinks" in sentence for sentence in event.evidence)


def test_a_difference_of_flows_without_bytes_is_named_at_a_port_that_the_node_uses() -> None:
    found = only(fabric(by_flow(3, 1, (0.0, 0.5, 0.5)), 3, per_pair=8, size=lambda flow: 0))
    assert found.node_id == 1 and found.next_id in (12, 13) and found.never_used == [11]


def of_pairs(odd: int) -> Choice:
    """Leaf `odd` chooses by the two hosts alone, the others by the flow."""

    def choose(rng: np.random.Generator, leaf: int, src: str, dst: str, flow: int) -> int:
        if leaf != odd:
            return int(rng.integers(2))
        return int(np.random.default_rng([*map(int, f"{src}.{dst}".split("."))]).random() < 0.75)

    return choose


def test_a_hash_without_ports_is_told_from_other_weights() -> None:
    found = only(fabric(of_pairs(2)))
    assert found.node_id == 2
    assert found.together == 1.0 and found.together_elsewhere is not None and found.together_elsewhere < 0.6


def test_where_all_leaves_hash_without_ports_their_uneven_shares_are_chance() -> None:
    def choose(rng: np.random.Generator, leaf: int, src: str, dst: str, flow: int) -> int:
        return int(np.random.default_rng([*map(int, f"{src}.{dst}".split("."))]).random() < 0.5)

    assert find_differences(fabric(choose, per_pair=12)) == []


def test_nearly_all_flows_over_one_spine_do_not_mean_that_ports_are_left_out() -> None:
    assert only(fabric(by_flow(2, 1, (0.02, 0.98)))).together is None


def test_a_large_flow_is_no_configuration() -> None:
    assert find_differences(fabric(by_flow(2), size=lambda flow: 1_000_000 if flow == 7 else 1000)) == []


def test_flows_that_a_failed_link_moved_count_where_they_were() -> None:
    traffic, rng = Traffic(), np.random.default_rng(2)
    for number in range(400):
        leaf, target = 1 + number % 4, 1 + (number + 1 + number // 4 % 3) % 4
        spine = int(rng.integers(11, 13))
        flow = (f"10.0.{leaf}.1", f"10.0.{target}.1", 50_000 + number)
        traffic.packet(number * 1000, Hop(leaf, spine), Hop(spine, target), Hop(target, 1), flow=flow)
        after = 12 if leaf == 1 else spine
        traffic.packet(9 * MS + number * 1000, Hop(leaf, after), Hop(after, target), Hop(target, 1), flow=flow)
    view = traffic.view()
    assert (view.flows.path_changes == 1).sum() > 30
    assert find_differences(view) == []


def test_two_leaves_do_not_say_which_of_them_is_odd() -> None:
    view = fabric(lambda rng, leaf, *_: int(rng.random() < (0.5 if leaf == 1 else 0.9)))
    assert len(find_differences(view)) <= len(LEAVES)
    traffic = Traffic()
    for number in range(400):
        leaf = 1 + number % 2
        spine = 11 + (number // 2 % 10 == 0 if leaf == 1 else number // 2 % 2)
        traffic.packet(
            number, Hop(leaf, spine), Hop(spine, 3 - leaf), Hop(3 - leaf, 1), flow=(f"10.0.{leaf}.1", "10.0.9.1", 50_000 + number)
        )
    assert find_differences(traffic.view()) == []


def test_a_port_that_is_congested_for_want_of_balance_has_the_difference_in_its_evidence() -> None:
    traffic, rng = Traffic(), np.random.default_rng(5)
    for number in range(4000):
        leaf = 1 + number % 4
        target = 1 + (leaf + number // 4 % 3) % 4
        flow = number // 4 % 100
        spine = 12 if np.random.default_rng([leaf, flow]).random() < (0.85 if leaf == 1 else 0.5) else 11
        depth = 60_000 if leaf == 1 and spine == 12 and 40 <= number // 40 < 80 else 0
        hops = (Hop(leaf, spine, depth, None), Hop(spine, target, 0, None), Hop(target, 1, 0, None))
        traffic.packet(number * MS // 40 + int(rng.integers(1000)), *hops, flow=(f"10.0.{leaf}.1", f"10.0.{target}.1", 50_000 + flow))
    profile = Profile(units=Units(queue_depth="bytes", hop_latency="ns"), nodes={1: Node("leaf1"), 12: Node("spine2")})
    (finding,) = summarise(traffic.view(), profile).findings
    assert (finding.node_id, finding.port_id, finding.cause) == (1, 12, "imbalance")
    (told,) = [sentence for sentence in finding.evidence if sentence.startswith("configuration difference: ")]
    assert "leaf1 sends 9" in told and "over spine2" in told and told.endswith("the weights or the hash of its equal-cost links differ")
