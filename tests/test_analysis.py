"""Localisation on views by hand: which port is named, in which role, for which cause, and what is left unsaid."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from mode import unchecked
from view_factory import MS, START, Hop, Traffic

from int_analyzer.analysis.summarise import summarise
from int_analyzer.analysis.summary import Finding, Summary
from int_analyzer.profile import Node, PortProfile, Profile, Units

pytestmark = unchecked

BYTES_NS = Profile(units=Units(queue_depth="bytes", hop_latency="ns"))

# Leaves 1, 2 and 3, spines 11 and 12; ports 101, 102 of a leaf lead to the spines, port n of a spine to leaf n, 201… to hosts.


def path(leaf: int, spine: int, to_leaf: int, to_host: int, **deep: tuple[int, int]) -> tuple[Hop, ...]:
    """A path over three nodes, calm but where `up`, `down` or `host` give (depth, latency)."""

    def hop(node: int, port: int, place: str) -> Hop:
        depth, latency = deep.get(place, (0, 10))
        return Hop(node, port, depth, latency)

    return hop(leaf, 90 + spine, "up"), hop(spine, to_leaf, "down"), hop(to_leaf, to_host, "host")


def background(traffic: Traffic, until_ms: float = 100, per_ms: int = 1) -> None:
    """Calm traffic over all other ports, so that there is a fabric to compare with."""
    for number, (leaf, spine, to_leaf) in enumerate([(1, 11, 2), (1, 12, 2), (2, 11, 1), (2, 12, 1)]):
        traffic.stream(0, until_ms, per_ms, lambda _, p=(leaf, spine, to_leaf): path(*p, 202), flow=("10.0.1.1", "10.0.1.2", 1000 + number))


def during(begin: float, end: float, value: tuple[int, int]) -> Callable[[float], tuple[int, int]]:
    return lambda at: value if begin <= at < end else (0, 10)


def stopping(begin: float, end: float, value: tuple[int, int]) -> Callable[[float], tuple[int, int]]:
    """As `during`, of a port that is paused again and again: packets wait longer in one ms than in another."""
    depth, wait = value
    return lambda at: (depth, round(wait * (0.9 + 0.1 * (int(at) % 3)))) if begin <= at < end else (0, 10)


def named(summary: Summary) -> list[tuple[int, int | None, str]]:
    return [(finding.node_id, finding.port_id, finding.role) for finding in summary.findings]


def only(summary: Summary) -> Finding:
    assert len(summary.findings) == 1, named(summary)
    return summary.findings[0]


def incast(depth: int = 40_000, latency: int = 2_500_000, begin: float = 40, end: float = 70) -> Traffic:
    """Two senders to one host of leaf 3; its port 201 fills while more is sent."""
    traffic = Traffic()
    background(traffic)
    fill = during(begin, end, (depth, latency))
    for number, leaf in enumerate((1, 2)):
        flow = (f"10.0.{leaf}.1", "10.0.3.1", 2000 + number)
        traffic.stream(0, 100, 2, lambda at, leaf=leaf: path(leaf, 11, 3, 201, host=fill(at)), flow=flow)
        traffic.stream(begin, end, 6, lambda at, leaf=leaf: path(leaf, 11, 3, 201, host=fill(at)), flow=flow)
    return traffic


def test_healthy_traffic_gives_no_finding() -> None:
    traffic = Traffic()
    background(traffic)
    traffic.stream(0, 100, 4, lambda at: path(1, 11, 3, 201, host=(int(at) % 3 * 1500, 500 + int(at) % 7)))
    for profile in (None, BYTES_NS):
        assert summarise(traffic.view(), profile).findings == []
    traffic.streams = [("report-2.0", 3, 900, 0, False)]
    assert summarise(traffic.view(), BYTES_NS).quality.trust == "high"  # type: ignore[union-attr]


def test_one_hot_queue_is_named_with_its_time_flows_and_cause() -> None:
    finding = only(summarise(incast().view(), BYTES_NS))
    assert (finding.node_id, finding.port_id, finding.role, finding.cause) == (3, 201, "root", "overload")
    # Of the last bucket, the time is that of the last packet that still found the queue filled.
    assert finding.start_ns == START + 40 * MS and 0 <= START + 70 * MS - finding.end_ns < MS
    assert (finding.peak_depth, finding.depth_unit, finding.peak_latency, finding.latency_unit) == (40_000, "bytes", 2_500_000, "ns")
    assert finding.packets == 480 and finding.episodes == 1
    assert {share.src for share in finding.culprits} == {"10.0.1.1", "10.0.2.1"}
    assert finding.culprits[0].flow == "10.0.1.1:2000 > 10.0.3.1:4791 qp 0x11"
    assert 0.8 < finding.confidence < 1
    assert any("× 4" in sentence for sentence in finding.evidence)


def test_a_burst_begins_and_ends_with_its_packets_not_with_time_buckets() -> None:
    traffic = incast(end=50)
    for number in range(20):
        traffic.packet(round((61.3 + number / 100) * MS), *path(1, 11, 3, 201, host=(600_000, 30_000)))
    traffic.stream(63, 90, 1, lambda at: path(1, 11, 3, 201))
    finding = only(summarise(traffic.view(), BYTES_NS))
    assert finding.end_ns == START + round(61.49 * MS)
    assert any("judged in steps of 1 ms" in sentence for sentence in finding.evidence)


def test_episodes_of_one_queue_are_one_finding() -> None:
    traffic = incast(end=50)
    fill = during(60, 65, (60_000, 30_000))
    traffic.stream(60, 65, 8, lambda at: path(1, 11, 3, 201, host=fill(at)))
    finding = only(summarise(traffic.view(), BYTES_NS))
    assert finding.episodes == 2
    assert finding.start_ns == START + 40 * MS and 0 <= START + 65 * MS - finding.end_ns < MS
    assert finding.peak_depth == 60_000


def test_back_pressure_makes_one_root_and_victims_that_name_it() -> None:
    traffic = Traffic()
    background(traffic)
    host, down, up = during(40, 80, (90_000, 9_000)), during(45, 80, (50_000, 5_000)), during(50, 80, (30_000, 3_000))
    for leaf in (1, 2):
        traffic.stream(
            0, 100, 4, lambda at, leaf=leaf: path(leaf, 11, 3, 201, host=host(at), down=down(at), up=up(at)), flow=(f"h{leaf}", "h9", 7)
        )
    summary = summarise(traffic.view(), BYTES_NS)
    assert named(summary) == [(3, 201, "root"), (11, 3, "victim"), (1, 101, "victim"), (2, 101, "victim")]
    root, *victims = summary.findings
    assert all(victim.root == root.id and victim.cause == "back-pressure" and victim.culprits == [] for victim in victims)
    assert root.victim_ports == ["node 11 port 3", "node 1 port 101", "node 2 port 101"]
    assert any("walk ends at node 3 port 201" in sentence for sentence in victims[1].evidence)


def test_a_queue_upstream_at_another_time_is_a_root_of_its_own() -> None:
    traffic = Traffic()
    background(traffic)
    host, up = during(40, 60, (90_000, 9_000)), during(5, 30, (30_000, 3_000))
    traffic.stream(0, 100, 4, lambda at: path(1, 11, 3, 201, host=host(at), up=up(at)))
    assert {(node, port, role) for node, port, role in named(summarise(traffic.view(), BYTES_NS))} == {(3, 201, "root"), (1, 101, "root")}


def test_what_waited_before_a_flow_moved_counts_for_the_path_it_had_then() -> None:
    traffic = Traffic()
    background(traffic)
    hot = during(40, 60, (60_000, 6_000))
    for begin, end, spine in ((40, 60, 11), (60, 70, 12)):
        traffic.stream(begin, end, 4, lambda at, spine=spine: path(1, spine, 3, 201, up=hot(at), host=hot(at)), flow=("a", "b", 1))
    traffic.stream(0, 100, 1, lambda at: path(1, 11, 2, 202, up=hot(at)), flow=("a", "c", 1))
    assert set(named(summarise(traffic.view(), BYTES_NS))) == {(3, 201, "root"), (1, 101, "victim")}


def test_a_port_that_the_flows_of_a_root_overload_on_their_way_comes_after_it_however_many_wait_there() -> None:
    traffic = Traffic()
    background(traffic)
    up, host = during(40, 60, (900_000, 720_000)), during(40, 60, (60_000, 48_000))
    traffic.stream(0, 100, 4, lambda at: path(1, 11, 3, 201, up=up(at), host=host(at)))
    fast = Profile(
        units=BYTES_NS.units, nodes={node: Node(ports={port: PortProfile(speed_bps=10e9)}) for node, port in ((1, 101), (3, 201))}
    )
    summary = summarise(traffic.view(), fast)
    assert named(summary) == [(3, 201, "root"), (1, 101, "root")]
    assert summary.findings[1].impact > summary.findings[0].impact
    assert any("too much for this port, too" in sentence for sentence in summary.findings[1].evidence)


def test_a_port_of_which_half_waits_for_elsewhere_is_told_by_its_weight() -> None:
    traffic = Traffic()
    background(traffic)
    up, host = during(20, 80, (900_000, 720_000)), during(20, 80, (20_000, 16_000))
    traffic.stream(0, 100, 11, lambda at: path(1, 11, 3, 201, up=up(at), host=host(at)), flow=("a", "x", 1))
    traffic.stream(0, 100, 9, lambda at: path(1, 11, 2, 202, up=up(at)), flow=("b", "y", 2))
    ports = {node: Node(ports={port: PortProfile(speed_bps=10e9)}) for node, port in ((1, 101), (3, 201))}
    assert named(summarise(traffic.view(), Profile(units=BYTES_NS.units, nodes=ports))) == [(1, 101, "root"), (3, 201, "root")]


def test_a_circle_through_a_queue_that_is_seldom_seen_ends_at_a_congested_one() -> None:
    traffic = Traffic()
    background(traffic)
    slow = stopping(40, 60, (60_000, 480_000))
    for at in range(0, 60, 2):
        traffic.packet(at * MS, Hop(1, 101, *slow(at)), Hop(11, 2, 0, 10), Hop(2, 202, 0, 10), flow=("h1", "y", 1))
    for at in range(30):
        traffic.packet(at * MS, Hop(1, 101, 0, 10), Hop(11, 3, 0, 10), Hop(3, 201, 0, 10), flow=("h1", "x", 2))
    for at in (42, 50, 58):
        traffic.packet(at * MS, Hop(11, 3, 60_000, 480_000), Hop(1, 101, *slow(at)), Hop(4, 5, 0, 10), flow=("h2", "x", 3))
    assert (1, 101, "root") in named(summarise(traffic.view(), TENTH))


def test_two_unrelated_roots_are_both_named_the_heavier_first() -> None:
    traffic = incast()
    fill = during(20, 90, (20_000, 2_000))
    traffic.stream(0, 100, 3, lambda at: path(1, 12, 2, 205, host=fill(at)), flow=("10.0.1.7", "10.0.2.5", 99))
    summary = summarise(traffic.view(), BYTES_NS)
    assert named(summary) == [(3, 201, "root"), (2, 205, "root")]
    assert all(finding.root is None and finding.victim_ports == [] for finding in summary.findings)


def partly_waiting(others_begin: float) -> Traffic:
    """A third of what waits at leaf 1 goes on to the congested port 201 of leaf 3; the rest begins at a time in ms."""
    traffic = Traffic()
    background(traffic)
    hot = during(40, 80, (60_000, 6_000))
    traffic.stream(0, 100, 2, lambda at: path(1, 11, 3, 201, up=hot(at), host=hot(at)), flow=("a", "b", 1))
    for host in (203, 204):
        traffic.stream(others_begin, 100, 2, lambda at, host=host: path(1, 11, 3, host, up=hot(at)), flow=("a", "c", host))
    return traffic


def test_a_queue_of_which_more_passes_and_that_waits_only_in_part_for_another_is_a_root() -> None:
    summary = summarise(partly_waiting(others_begin=40).view(), BYTES_NS)
    assert set(named(summary)) == {(1, 101, "root"), (3, 201, "root")}


def test_a_queue_held_up_as_a_whole_is_a_victim_although_it_waits_only_in_part() -> None:
    summary = summarise(partly_waiting(others_begin=0).view(), BYTES_NS)
    assert named(summary) == [(3, 201, "root"), (1, 101, "victim")]
    assert any("held up as a whole" in sentence for sentence in summary.findings[1].evidence)


@pytest.mark.parametrize(
    ("wait", "sibling", "role"),
    [(12_000, 12, "victim"), (12_000, 6, "root"), (6_000, 12, "root")],
    ids=["slower than the one behind it, and others carry more", "no port carries more", "as fast as the one behind it"],
)
def test_where_link_speeds_are_unknown_a_queue_that_empties_slower_than_the_one_behind_it_waits_for_it_if_links_can_carry_more(
    wait: int, sibling: int, role: str
) -> None:
    """As above, of a port of which more passes; `sibling`: packets a ms on the other port of leaf 1 that leads on, twice those here or as
    many."""
    traffic = Traffic()
    up, host = during(40, 80, (60_000, wait)), during(40, 80, (60_000, 6_000))
    traffic.stream(0, 100, 2, lambda at: path(1, 11, 3, 201, up=up(at), host=host(at)), flow=("a", "b", 1))
    for other in (203, 204):
        traffic.stream(40, 100, 2, lambda at, other=other: path(1, 11, 3, other, up=up(at)), flow=("a", "c", other))
    traffic.stream(0, 100, sibling, lambda _: path(1, 12, 2, 202), flow=("a", "d", 1))
    for leaf, spine in ((2, 11), (2, 12)):
        traffic.stream(0, 100, 1, lambda _, leaf=leaf, spine=spine: path(leaf, spine, 1, 202), flow=("e", "f", spine))
    summary = summarise(traffic.view(), BYTES_NS)
    assert (1, 101, role) in named(summary) and (3, 201, "root") in named(summary)
    told = [sentence for finding in summary.findings for sentence in finding.evidence if "of the rate of that one" in sentence]
    assert [sentence[:14] for sentence in told] == ["it empties at "] * (role == "victim")


def stopped(every: int, flows: int = 20, again: float = 60) -> Traffic:
    """Port 101 of leaf 1 is hardly let out from 45 to 60 ms, when what waits in it is for leaf 2.

    Meanwhile port 3 of spine 11 is full of packets for a host of leaf 3, one in a ms of each of the `flows`. Of these one in `every` comes
    from leaf 1, until 45 ms and from `again` on.
    """
    traffic = Traffic()
    background(traffic)
    full, hot = during(40, 80, (60_000, 480_000)), stopping(45, 60, (60_000, 480_000))
    for number in range(flows):
        leaf, port = (1, number) if number % every == 0 else (2, number)
        for begin, end in ((0, 45), (again, 100)) if leaf == 1 else ((0, 100),):
            traffic.stream(
                begin, end, 1, lambda at, leaf=leaf: path(leaf, 11, 3, 201, down=full(at), host=full(at)), flow=(f"h{leaf}", "x", port)
            )
    traffic.stream(0, 100, 3, lambda at: path(1, 11, 2, 202, up=hot(at)), flow=("h1", "y", 1))
    return traffic


TENTH = Profile(units=BYTES_NS.units, nodes={node: Node(ports={port: PortProfile(speed_bps=10e9)}) for node, port in ((1, 101), (11, 3))})


def test_a_port_stopped_for_what_it_sent_before_is_a_victim_although_what_waits_in_it_is_for_others() -> None:
    summary = summarise(stopped(every=2).view(), TENTH)
    assert named(summary) == [(3, 201, "root"), (11, 3, "victim"), (1, 101, "victim")]
    assert any("10 % of its link speed" in sentence and "holds it up as a whole" in sentence for sentence in summary.findings[2].evidence)
    assert any("walk ends at node 3 port 201" in sentence for sentence in summary.findings[2].evidence)


def test_a_steady_rate_does_not_speak_against_waiting_for_the_queue_that_most_goes_on_to() -> None:
    """A port that is paused for a packet at a time sends as evenly as a slow link."""
    traffic = Traffic()
    background(traffic)
    slow, full = during(45, 60, (60_000, 480_000)), during(40, 80, (60_000, 480_000))
    for leaf, up in ((1, slow), (2, during(0, 0, (0, 0)))):
        traffic.stream(0, 100, 3, lambda at, leaf=leaf, up=up: path(leaf, 11, 3, 201, up=up(at), host=full(at)), flow=(f"h{leaf}", "x", 1))
    assert named(summarise(traffic.view(), TENTH)) == [(3, 201, "root"), (1, 101, "victim")]


def test_of_the_last_port_that_is_seen_a_steady_rate_says_nothing() -> None:
    traffic = Traffic()
    background(traffic)
    slow = during(40, 80, (60_000, 480_000))
    for leaf in (1, 2):
        traffic.stream(0, 100, 3, lambda at, leaf=leaf: path(leaf, 11, 3, 201, host=slow(at)), flow=(f"h{leaf}", "x", 1))
    host = Profile(units=BYTES_NS.units, nodes={3: Node(ports={201: PortProfile(speed_bps=10e9)})})
    finding = only(summarise(traffic.view(), host))
    assert (finding.role, finding.cause) == ("root", "paused-port")


def test_a_slow_link_that_does_not_fill_the_congested_port_behind_it_is_a_root_of_its_own() -> None:
    summary = summarise(stopped(every=20).view(), TENTH)
    assert set(named(summary)) == {(3, 201, "root"), (11, 3, "victim"), (1, 101, "root")}


@pytest.mark.parametrize(
    ("crowded_from", "wait", "role"), [(40, 480_000, "victim"), (60, 480_000, "root"), (60, 48_000, "root"), (43, 480_000, "victim")]
)
def test_a_port_that_is_slow_before_anything_behind_it_is_congested_is_slow_by_itself(crowded_from: int, wait: int, role: str) -> None:
    traffic = Traffic()
    background(traffic)
    slow, full = during(40, 80, (60_000, wait)), during(crowded_from, 80, (60_000, 480_000))
    for number in range(20):
        traffic.stream(0, 100, 1, lambda at: path(1, 11, 3, 201, down=slow(at), host=full(at)), flow=("h1", "x", number))
    summary = summarise(traffic.view(), TENTH)
    assert set(named(summary)) == {(3, 201, "root"), (11, 3, role)}
    if role == "root" and wait == 480_000:
        (finding,) = (finding for finding in summary.findings if finding.node_id == 11)
        assert finding.cause == "degraded-link"
        assert any("10 % of its link speed while all is calm behind it" in sentence for sentence in finding.evidence)
        assert not any("of the waiting is for a congested queue" in sentence for sentence in finding.evidence)


@pytest.mark.parametrize(("second", "role"), [((53, 80), "victim"), ((75, 80), "root")])
def test_a_port_may_be_stopped_by_one_and_then_by_another(second: tuple[int, int], role: str) -> None:
    """Port 101 of leaf 1 is hardly let out from 45 to 60 ms; the ports behind it that it fills are full until 51 ms, and in `second`."""
    traffic = Traffic()
    background(traffic)
    slow = stopping(45, 60, (60_000, 480_000))
    for to_leaf, to_host, full in ((3, 201, during(40, 51, (60_000, 480_000))), (4, 203, during(*second, (60_000, 480_000)))):
        for number in range(20):
            leaf, begins = (1, ((0, 45), (60, 100))) if number % 2 == 0 else (2, ((0, 100),))
            for begin, end in begins:
                way = partial(path, leaf, 11, to_leaf, to_host)
                traffic.stream(
                    begin,
                    end,
                    1,
                    lambda at, way=way, full=full: way(down=full(at), host=full(at)),
                    flow=(f"h{leaf}", "x", number + 100 * to_leaf),
                )
    traffic.stream(0, 100, 3, lambda at: path(1, 11, 2, 202, up=slow(at)), flow=("h1", "y", 1))
    assert (1, 101, role) in named(summarise(traffic.view(), TENTH))


@pytest.mark.parametrize(("flows", "role"), [(20, "root"), (2, "victim")])
def test_where_few_are_seen_to_wait_a_port_fills_what_it_sends_to_at_other_times(flows: int, role: str) -> None:
    summary = summarise(stopped(every=2, flows=flows, again=80).view(), TENTH)
    assert (1, 101, role) in named(summary) and (3, 201, "root") in named(summary)


@pytest.mark.parametrize(("deep", "role"), [((42, 50, 58), "victim"), ((), "root"), ((42,), "root")])
def test_where_few_packets_are_seen_a_slow_port_may_wait_for_one_by_way_of_a_third(deep: tuple[int, ...], role: str) -> None:
    """Port 101 of leaf 1 is slow for packets to leaf 2; port 3 of spine 11, which it fills, is seen now and then from 40 to 60 ms."""
    traffic = Traffic()
    background(traffic)
    slow, full = stopping(40, 60, (60_000, 480_000)), during(40, 80, (60_000, 6_000))
    traffic.stream(0, 100, 4, lambda at: path(2, 12, 3, 201, host=full(at)), flow=("h2", "x", 1))
    for begin in range(0, 60, 2):
        traffic.packet(begin * MS, *path(1, 11, 2, 202, up=slow(begin)), flow=("h1", "y", 1))
    for leaf in (1, 2):
        traffic.stream(0, 30, 1, lambda _, leaf=leaf: path(leaf, 11, 3, 201), flow=(f"h{leaf}", "x", 2))
    for at in deep:
        traffic.packet(at * MS, *path(2, 11, 3, 201, down=(60_000, 480_000), host=full(at)), flow=("h2", "x", 2))
    summary = summarise(traffic.view(), TENTH)
    assert set(named(summary)) == {(3, 201, "root"), (1, 101, role)}
    if role == "victim":
        assert any("walk ends at node 3 port 201" in sentence for sentence in summary.findings[1].evidence)


def test_a_queue_that_is_full_from_the_first_packet_to_the_last_empties_no_faster_for_that() -> None:
    traffic = Traffic()
    background(traffic)
    full = stopping(0, 100, (60_000, 480_000))
    traffic.stream(0, 100, 20, lambda at: path(1, 11, 3, 201, down=full(at), host=full(at)))
    summary = summarise(traffic.view(), TENTH)
    assert named(summary) == [(3, 201, "root"), (11, 3, "victim")]


def test_queues_that_wait_for_each_other_in_a_circle_end_the_walk() -> None:
    traffic = Traffic()
    background(traffic)
    first, second = during(40, 80, (60_000, 6_000)), during(42, 80, (50_000, 5_000))
    traffic.stream(0, 100, 2, lambda at: (Hop(1, 5, *first(at)), Hop(2, 6, *second(at))), flow=("a", "b", 1))
    traffic.stream(0, 100, 2, lambda at: (Hop(2, 6, *second(at)), Hop(1, 5, *first(at))), flow=("b", "a", 1))
    summary = summarise(traffic.view(), BYTES_NS)
    assert named(summary) == [(1, 5, "root"), (2, 6, "victim")]
    assert any("circle" in sentence for sentence in summary.findings[0].evidence)
    assert summary.findings[0].confidence < 0.6
