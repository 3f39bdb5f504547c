"""The link that explains losses: found where paths with loss share one, and never where they do not."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from mode import unchecked
from roce_reference import folded
from roce_traffic import Wire
from view_factory import MS, START, Hop, Traffic

from int_analyzer.analysis.losses.lossy_link import Losses, find_lossy_link, losses_by_direction
from int_analyzer.fold.view import View

pytestmark = unchecked

LEAVES, SPINES, HOSTS = range(1, 5), range(11, 14), 3
"""Host h of leaf l is 10.0.l.h, at port h of its leaf; port s of a leaf leads to spine s, port l of a spine to leaf l."""


def fabric() -> tuple[View, list[tuple[str, str]]]:
    """A leaf-spine in which every host sends to every other, each pair over a spine of its own; and the hosts of each path."""
    traffic, pairs = Traffic(), []
    number, rng = 0, np.random.default_rng(3)
    for source in LEAVES:
        for target in LEAVES:
            for one in range(HOSTS):
                for other in range(HOSTS):
                    if (source, one) == (target, other):
                        continue
                    number += 1
                    spine = int(rng.choice(SPINES))
                    up = [Hop(source, spine), Hop(spine, target, ingress=source)] if source != target else []
                    flow = (f"10.0.{source}.{one}", f"10.0.{target}.{other}", 50000 + number)
                    traffic.packet(number * 1000, *up, Hop(target, other, ingress=spine if up else -1), flow=flow)
                    pairs.append(flow[:2])
    return traffic.view(), pairs


def crossing(view: View, flow: int, link: tuple[int, int]) -> bool:
    queues = view.paths.queues[int(view.flows.path[flow])]
    return link in {(int(view.queues.node_id[queue]), int(view.queues.port[queue])) for queue in queues}


def losses(view: View, rate: dict[tuple[int, int], float], background: float = 0.0, seed: int = 1, packets: int = 2000) -> Losses:
    """A connection on every flow; loss per packet by link, and everywhere."""
    rng = np.random.default_rng(seed)
    flows = len(view.flows.src)
    sizes = rng.integers(packets // 2, packets * 2, flows)
    chance = [background + sum(value for link, value in rate.items() if crossing(view, flow, link)) for flow in range(flows)]
    return Losses(
        flow=np.arange(flows),
        path=view.flows.path,
        packets=sizes,
        events=rng.poisson(sizes * np.array(chance)),
        first_ns=START + np.arange(flows),
        last_ns=START + 1000 + np.arange(flows),
        error_ns=np.zeros(flows, dtype=np.int64),
        src=view.flows.src,
        dst=view.flows.dst,
    )


@pytest.mark.parametrize("link", [(1, 12), (12, 3), (13, 1)])
@pytest.mark.parametrize("background", [0.0, 1e-5])
def test_loss_on_one_link_of_the_fabric_is_found(link: tuple[int, int], background: float) -> None:
    view, _ = fabric()
    found = find_lossy_link(view, None, losses(view, {link: 0.002}, background))
    assert found is not None
    assert (found.node_id, found.port_id) == link
    assert START <= found.start_ns < found.end_ns
    assert all(crossing(view, flow, link) for flow in found.events_of)
    assert found.confidence > 0.7 and found.rivals == []
    assert found.directions_with_loss >= 5
    assert found.to_node_id == link[1]


def test_loss_on_the_last_link_is_found_though_all_of_it_goes_to_one_host() -> None:
    view, _ = fabric()
    found = find_lossy_link(view, None, losses(view, {(3, 1): 0.003}))
    assert found is not None
    assert (found.node_id, found.port_id, found.to_node_id) == (3, 1, None)


def test_naks_of_packets_lead_to_the_cable_that_lost_them() -> None:
    traffic, packets, rng = Traffic(), [], np.random.default_rng(4)
    for number in range(16):
        spine = 11 + number % 2
        hops = (Hop(1, spine), Hop(spine, 2), Hop(2, number % 4))
        traffic.packet(number * 1000, *hops, flow=(f"10.0.0.{number}", f"10.0.0.{100 + number % 4}", 50000 + number))
        wire = Wire(psn=int(rng.integers(0, 1 << 24)), here=number, there=100 + number % 4, here_qp=200 + number, there_qp=17)
        for _ in range(30):
            sent = wire.message("write", 8)
            if spine == 12 and rng.random() < 0.2:
                lost = int(rng.integers(0, 8))
                wire.answer("acknowledge", sent[lost].psn, syndrome=0x60)
                for packet in sent[lost:]:
                    wire.again(packet)
            elif rng.random() < 0.1:
                # a receiver that is not ready says nothing of cables
                wire.answer("acknowledge", sent[0].psn, syndrome=0x20 | 3)
                for packet in sent:
                    wire.again(packet)
            wire.acknowledge(wire.psn - 1)
        packets += wire.packets
    traffic.connections = folded(sorted(packets, key=lambda packet: packet.time)).connections
    view = traffic.view()
    found = find_lossy_link(view)
    assert found is not None
    candidates = {(found.node_id, found.port_id), *((node, port) for node, port, _ in found.rivals)}
    assert candidates == {(1, 12), (12, 2)}
    assert found.events == int(view.connections.naks.sum()) and found.ratio_elsewhere == 0


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("background", [1e-5, 3e-4, 5e-3])
def test_general_loss_is_no_link(seed: int, background: float) -> None:
    view, _ = fabric()
    assert find_lossy_link(view, None, losses(view, {}, background, seed)) is None


@pytest.mark.parametrize("seed", range(20))
def test_two_lossy_links_are_not_one(seed: int) -> None:
    view, _ = fabric()
    assert find_lossy_link(view, None, losses(view, {(1, 12): 0.002, (13, 4): 0.002}, seed=seed)) is None


@pytest.mark.parametrize("seed", range(20))
def test_a_single_lossy_connection_or_host_is_no_link_of_the_fabric(seed: int) -> None:
    view, _ = fabric()
    clean = losses(view, {}, 0.0, seed)
    rng = np.random.default_rng(seed)
    alone = clean.events.copy()
    alone[rng.integers(0, len(alone))] = 40
    assert find_lossy_link(view, None, dataclasses.replace(clean, events=alone)) is None
    host = view.flows.src[int(rng.integers(0, len(alone)))]
    sent = np.array([rng.poisson(9) if src == host else 0 for src in view.flows.src])
    # a host's flows leave its leaf by three ports: none of them has all
    assert find_lossy_link(view, None, dataclasses.replace(clean, events=sent)) is None


def test_a_link_whose_losses_all_are_of_one_host_may_be_the_host() -> None:
    traffic = Traffic()
    for number in range(12):
        # only the first host's way leads over the first spine
        hops = (Hop(1, 2), Hop(2, 3), Hop(3, number)) if number < 6 else (Hop(4, 4), Hop(5, 3), Hop(3, number))
        source = "10.0.0.1" if number < 6 else f"10.0.0.{number}"
        traffic.packet(number * 1000, *hops, flow=(source, f"10.0.1.{number}", 50000 + number))
    found = find_lossy_link(traffic.view(), None, losses(traffic.view(), {(2, 3): 0.01}))
    assert found is not None
    assert any("share a host" in sentence for sentence in found.evidence)


def test_links_that_the_same_connections_cross_cannot_be_told_apart_and_are_named() -> None:
    traffic = Traffic()
    for number in range(12):
        hops = (Hop(1, 2), Hop(2, 3), Hop(3, number)) if number < 6 else (Hop(1, 4), Hop(4, 3), Hop(3, number))
        traffic.packet(number * 1000, *hops, flow=(f"10.0.0.{number}", f"10.0.1.{number}", 50000 + number))
    view = traffic.view()
    found = find_lossy_link(view, None, losses(view, {(2, 3): 0.01}))
    assert found is not None
    assert {(found.node_id, found.port_id), *((node, port) for node, port, _ in found.rivals)} == {(1, 2), (2, 3)}
    assert found.confidence <= 0.5
    assert found.doubt.startswith("as good an explanation: node ")


def test_without_clean_traffic_elsewhere_nothing_is_said() -> None:
    traffic = Traffic()
    for number in range(6):
        traffic.packet(number * 1000, Hop(1, 2), Hop(2, 3), flow=(f"10.0.0.{number}", "10.0.1.9", 50000 + number))
    view = traffic.view()
    assert find_lossy_link(view, None, losses(view, {(1, 2): 0.01})) is None
    assert find_lossy_link(view, None, losses(view, {})) is None


def connected(view: View, **numbers: Any) -> View:
    """The view with a connection on every flow, of which everything is 0 that is not given."""
    flows = len(view.flows.src)
    empty: Any = view.connections
    none = {
        field.name: np.zeros(flows, dtype=np.int64)
        for field in dataclasses.fields(empty)
        if field.name not in ("src", "dst", "transport", "messages", "evicted")
    }
    known = {"src": view.flows.src, "dst": view.flows.dst, "transport": ["RC"] * flows, "flow": np.arange(flows)}
    return dataclasses.replace(view, connections=dataclasses.replace(empty, **none | known | numbers))


def test_losses_of_a_view_are_retransmissions_begun_without_what_waited_for_a_receiver() -> None:
    view, _ = fabric()
    flows = len(view.flows.src)
    moved = dataclasses.replace(view.flows, path_changes=(np.arange(flows) == 2).astype(np.int64))
    found = losses_by_direction(
        connected(
            dataclasses.replace(view, flows=moved),
            transport=["RC", "UC"] * (flows // 2),
            flow=np.arange(flows) - (np.arange(flows) == 5),
            data=np.full(flows, 100),
            rewinds=np.full(flows, 7),
            rnr_naks=np.arange(flows) % 3,
            unfilled=np.full(flows, 11),
        )
    )
    assert len(found.path) == flows - 1
    # 0 and 4 are RC, 1 and 3 are UC; 2 has changed its path
    assert found.events[:4].tolist() == [7, 11, 11, 6]


def test_of_unreliable_transport_gaps_tell_when_with_their_error() -> None:
    view, _ = fabric()
    flows = len(view.flows.src)
    found = losses_by_direction(
        connected(
            view,
            transport=["RC", "UC"] * (flows // 2),
            data=np.full(flows, 100),
            first_rewind_ns=np.full(flows, START + 1),
            last_rewind_ns=np.full(flows, START + 2),
            first_gap_ns=np.full(flows, START + 30),
            last_gap_ns=np.full(flows, START + 40),
            longest_gap_ns=np.full(flows, 5000),
        )
    )
    assert (found.first_ns - START).tolist()[:2] == [1, 30] and (found.last_ns - START).tolist()[:2] == [2, 40]
    assert found.error_ns.tolist()[:2] == [0, 5000 + 1024]


def test_a_link_that_loses_what_nobody_sends_again_is_told_with_when_that_may_have_begun() -> None:
    view, _ = fabric()
    gaps = dataclasses.replace(losses(view, {(1, 12): 0.01}), error_ns=np.full(len(view.flows.src), 6024))
    found = find_lossy_link(view, None, gaps)
    assert found is not None and (found.node_id, found.port_id) == (1, 12) and not found.resent
    lossy = sorted(found.events_of)
    assert found.start_ns == START + lossy[0] - 6024 and found.error_ns == 6024
    assert "times that a packet is missing" in found.evidence[0]
    assert "gaps in PSNs tell when: a packet was lost up to 6.02 µs before the next one came" in found.evidence


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        (0, 0, (0, 0)),  # nothing lost
        (10, 60, (7, 0)),
        (10, 101, (6, 0)),  # one of them is what the change itself lost
        (100, 101, None),  # all of it may be
        (10, 900, None),  # lost before and after
    ],
)
def test_what_moved_once_tells_of_both_paths_if_it_lost_before_only(first: int, last: int, told: tuple[int, int] | None) -> None:
    view, _ = fabric()
    flows = len(view.flows.src)
    mine = np.arange(flows) == 3
    at = np.where(mine, START + 100 * MS, 0)
    changed = dataclasses.replace(
        view.flows,
        path_changes=mine.astype(np.int64),
        path_change_ns=at,
        path_before=np.where(mine, 9, -1),
        first_ns=np.full(flows, START),
        last_ns=np.full(flows, START + 400 * MS),
    )
    found = losses_by_direction(
        connected(
            dataclasses.replace(view, flows=changed),
            data=np.full(flows, 100),
            rewinds=np.where(mine & (last > 0), 7, 0),
            first_rewind_ns=np.where(mine & (last > 0), START + first * MS, 0),
            last_rewind_ns=np.where(mine & (last > 0), START + last * MS, 0),
        )
    )
    rows = np.flatnonzero(found.flow == 3)
    if told is None:
        assert len(rows) == 0
    else:
        assert found.path[rows].tolist() == [9, view.flows.path[3]]
        assert found.packets[rows].tolist() == [25, 75] and tuple(found.events[rows].tolist()) == told
