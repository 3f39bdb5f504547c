"""Events: what happened on the way besides congestion."""

from __future__ import annotations

from mode import unchecked
from view_factory import MS, START, Hop, Traffic

from int_analyzer.analysis.event import SPRAYED_CHANGES
from int_analyzer.analysis.summarise import summarise
from int_analyzer.analysis.summary import Event
from int_analyzer.host import Hosts
from int_analyzer.profile import Profile

pytestmark = unchecked

FLOWS = [("10.0.0.1", "10.0.0.9", 49152 + number) for number in range(4)]


def events(traffic: Traffic) -> list[Event]:
    return summarise(traffic.view()).events


def up(spine: int) -> tuple[Hop, ...]:
    """Leaf 1, a spine (which leaf 1 reaches by port 10 + spine), leaf 2."""
    return Hop(1, 10 + spine, ingress=1), Hop(spine, 2, ingress=1), Hop(2, 1, ingress=10 + spine)


def test_a_failed_link_is_named_by_the_port_that_fell_silent() -> None:
    traffic = Traffic()
    for number, flow in enumerate(FLOWS):
        traffic.stream(0, 50, 2, lambda at, first=5 + number % 2: up(first if at < 20 else 6), flow=flow)
    (event,) = events(traffic)
    assert (event.kind, event.node_id, event.port_id, event.flows) == ("path-change", 1, 15, 2)
    assert 0 <= event.start_ns - START - 20 * MS < MS
    assert any("nothing was seen there since" in sentence for sentence in event.evidence)
    assert any("node 1 port 16 (2)" in sentence for sentence in event.evidence)


def test_flows_that_move_at_other_times_are_other_events() -> None:
    traffic = Traffic()
    for number, flow in enumerate(FLOWS[:2]):
        traffic.stream(0, 400, 1, lambda at, moves=100 + 200 * number: up(5 if at < moves else 6), flow=flow)
    assert [round((event.start_ns - START) / MS) for event in events(traffic)] == [100, 300]


def test_a_steady_flow_is_no_event() -> None:
    traffic = Traffic()
    for number, flow in enumerate(FLOWS):
        traffic.stream(0, 50, 2, lambda at, spine=5 + number: up(spine), flow=flow)
    assert events(traffic) == []


def test_a_sprayed_flow_is_said_once_and_blames_no_link() -> None:
    traffic = Traffic()
    traffic.stream(0, 50, 1, lambda at: up(5 + round(at) % 2))
    (event,) = events(traffic)
    assert (event.kind, event.node, event.flows, event.packets) == ("spraying", None, 1, 50)


def test_so_few_changes_are_still_told_as_changes() -> None:
    traffic = Traffic()
    traffic.stream(0, SPRAYED_CHANGES, 1, lambda at: up(5 + round(at) % 2))
    assert [event.kind for event in events(traffic)] == ["path-change"]


def test_a_loop_names_its_nodes_and_where_it_begins() -> None:
    traffic = Traffic()
    around = (*up(5)[:2], Hop(1, 15, ingress=15), *up(5)[1:])
    traffic.stream(0, 10, 2, lambda at: up(5))
    traffic.stream(10, 20, 2, lambda at: around)
    (event,) = (event for event in events(traffic) if event.kind == "loop")
    assert (event.node_id, event.port_id, event.packets, event.flows) == (1, 15, 20, 1)
    assert event.start_ns == START + 10 * MS
    assert "1 and 5 more than once" in event.evidence[0]


def test_a_port_whose_packets_arrive_in_two_places_has_an_unseen_node_behind_it() -> None:
    traffic = Traffic()
    for number, flow in enumerate(FLOWS):
        there = 2 + number % 2
        traffic.stream(0, 30, 2, lambda at, there=there: (Hop(1, 15, ingress=1), Hop(there, 1, ingress=9)), flow=flow)
    (event,) = events(traffic)
    assert (event.kind, event.node_id, event.port_id) == ("unseen-node", 1, 15)
    assert "2 port 9, 3 port 9" in event.evidence[0]


def test_a_stray_packet_makes_no_unseen_node() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 5, lambda at: (Hop(1, 15, ingress=1), Hop(2, 1, ingress=9)))
    traffic.stream(100, 102, 5, lambda at: (Hop(1, 15, ingress=1), Hop(3, 1, ingress=9)), flow=FLOWS[1])
    assert events(traffic) == []


def test_flows_are_called_by_the_names_of_their_hosts() -> None:
    traffic = Traffic()
    traffic.stream(0, 50, 2, lambda at: up(5 if at < 20 else 6))
    named = Profile(hosts=Hosts({"10.0.0.1": "gpu-1"}))
    (event,) = summarise(traffic.view(), named).events
    assert "gpu-1:49152 > 10.0.0.9:4791" in event.evidence[0]
