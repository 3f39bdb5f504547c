"""Why a port is congested, whose traffic it is, and what the summary says of links, paths, losses and trust."""

from __future__ import annotations

import pytest
from mode import unchecked
from view_factory import MS, Hop, Traffic

from int_analyzer.analysis.paths import build_graph
from int_analyzer.analysis.summarise import summarise
from int_analyzer.analysis.summary import Finding, Quality, Summary
from int_analyzer.profile import Node, PortProfile, Profile, Units

pytestmark = unchecked

BYTES_NS = Profile(units=Units(queue_depth="bytes", hop_latency="ns"))


def only(summary: Summary) -> Finding:
    assert len(summary.findings) == 1
    return summary.findings[0]


def quality(summary: Summary) -> Quality:
    assert summary.quality is not None
    return summary.quality


def hot(at: float, depth: int = 60_000) -> int:
    return depth if 40 <= at < 80 else 0


def uplinks(loads: dict[int, tuple[int, int]], congested: int) -> Traffic:
    """Leaf 1 with an uplink per entry: port n leads over spine 10 + n to leaf 2; (packets per ms, flows) each."""
    traffic = Traffic()
    for port, (per_ms, flows) in loads.items():
        for flow in range(flows):
            traffic.stream(
                0,
                100,
                per_ms,
                lambda at, port=port: (
                    Hop(1, port, hot(at) if port == congested else 0, None),
                    Hop(10 + port, 2, 0, None),
                    Hop(2, 9, 0, None),
                ),
                flow=("10.0.0.1", f"10.0.2.{port}", flow),
            )
    return traffic


def test_a_port_that_carries_more_than_its_idle_siblings_is_an_imbalance() -> None:
    finding = only(summarise(uplinks({1: (4, 2), 2: (1, 1), 3: (1, 1)}, congested=1).view(), BYTES_NS))
    assert (finding.node_id, finding.port_id, finding.cause) == (1, 1, "imbalance")
    assert any("2 equal-cost sibling ports calm (port 2, 3)" in sentence and "2.4 ×" in sentence for sentence in finding.evidence)


def test_a_port_that_carries_less_than_its_calm_siblings_is_a_slow_link() -> None:
    finding = only(summarise(uplinks({1: (1, 1), 2: (4, 1), 3: (4, 1)}, congested=1).view(), BYTES_NS))
    assert (finding.port_id, finding.cause) == (1, "degraded-link")


@pytest.mark.parametrize(
    ("speed", "drops", "words"),
    [
        (40e6, {}, "at 80 % of its link speed"),
        (16e6, {(1, 71): 5}, "packets that were dropped here are counted"),
        (16e6, {(2, 71): 5}, "more than it can carry: packets count twice"),
    ],
)
def test_more_than_a_link_can_carry_is_not_said_to_have_passed(speed: float, drops: dict[tuple[int, int], int], words: str) -> None:
    traffic = Traffic(drops=drops)
    traffic.stream(0, 100, 4, lambda at: (Hop(1, 1, hot(at), None), Hop(2, 9, 0, None)))
    ports = {1: Node(ports={1: PortProfile(speed_bps=speed)})}
    evidence = only(summarise(traffic.view(), Profile(units=BYTES_NS.units, nodes=ports))).evidence
    (said,) = (sentence for sentence in evidence if "of its link speed" in sentence)
    assert words in said and ("that is 200 %" in said) == (speed == 16e6) and ("dropped" in said) == ((1, 71) in drops)


def last_hop(before: int, during: int) -> Traffic:
    """Packets per ms through the host port 9 of leaf 2, before and while it is congested."""
    traffic = Traffic()
    for begin, end, rate in ((0, 40, before), (40, 80, during), (80, 100, before)):
        traffic.stream(begin, end, rate, lambda at: (Hop(1, 5, 0, None), Hop(2, 9, hot(at), None)))
    return traffic


def test_a_last_port_of_which_less_comes_out_while_packets_wait_is_paused() -> None:
    finding = only(summarise(last_hop(8, 2).view(), BYTES_NS))
    assert (finding.node_id, finding.port_id, finding.cause) == (2, 9, "paused-port")
    assert any("grew although less passed" in sentence for sentence in finding.evidence)


def test_an_inner_port_of_which_less_comes_out_while_packets_wait_is_a_degraded_link() -> None:
    traffic = Traffic()
    for begin, end, rate in ((0, 40, 8), (40, 80, 2)):
        traffic.stream(begin, end, rate, lambda at: (Hop(1, 5, hot(at), None), Hop(2, 9, 0, None)))
    finding = only(summarise(traffic.view(), BYTES_NS))
    assert (finding.node_id, finding.port_id, finding.cause) == (1, 5, "degraded-link")


def test_the_cause_is_unknown_when_the_load_did_not_change() -> None:
    finding = only(summarise(last_hop(4, 4).view(), BYTES_NS))
    assert finding.cause == "unknown"
    assert any("cannot be told" in sentence for sentence in finding.evidence)


@pytest.mark.parametrize(("speed", "cause"), [(8e6 * 4 / 0.9, "overload"), (8e6 * 400, "unknown")])
def test_the_speed_of_a_link_tells_line_rate_but_little_that_is_seen_tells_no_pause(speed: float, cause: str) -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda _: (Hop(1, 5, 0, None), Hop(2, 9, 60_000, None)))
    profile = Profile(units=BYTES_NS.units, nodes={2: Node(ports={9: PortProfile(speed_bps=speed)})})
    assert only(summarise(traffic.view(), profile)).cause == cause


def test_traffic_without_telemetry_is_noticed_by_depth_and_wait() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda at: (Hop(1, 5, hot(at), hot(at) * 5 + 1), Hop(2, 9)))
    finding = only(summarise(traffic.view(), BYTES_NS))
    assert finding.cause == "overload"
    assert finding.culprits == [] and len(finding.victims) == 1
    assert any("culprit carries no telemetry" in sentence for sentence in finding.evidence)


@pytest.mark.parametrize(("every", "named"), [(1, 1), (5, 0)])
def test_of_a_burst_shorter_than_a_bucket_what_was_seen_in_its_own_time_counts(every: int, named: int) -> None:
    """A byte a ns leaves while 250 packets of 1000 bytes come in a quarter of a millisecond, each of which tells, or one in `every`."""
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda _: (Hop(1, 5, 0, 1), Hop(2, 9, 0, 1)), flow=("x", "y", 1))
    for number in range(0, 250, every):
        depth = min(3200 * number, 400_000)
        traffic.packet(50 * MS + 1000 * number, Hop(1, 5, 0, 1), Hop(2, 9, depth, depth + 1), flow=("a", "b", 1))
    assert len(only(summarise(traffic.view(), BYTES_NS)).culprits) == named


def test_a_short_wait_says_nothing_about_traffic_that_is_not_seen() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda at: (Hop(1, 5, hot(at), hot(at) // 10 + 1), Hop(2, 9)))
    finding = only(summarise(traffic.view(), BYTES_NS))
    assert finding.culprits != []


def test_a_queue_that_empties_slower_than_its_link_is_slow_and_one_that_does_not_is_nobodys_victim() -> None:
    def traffic(gigabit: float) -> Traffic:
        """60 kB wait in front of port 5 for as long as a link of this speed needs; all of it goes on to port 9, which is full too."""
        made = Traffic()
        wait = round(8 * 60_000 / gigabit)
        made.stream(0, 100, 4, lambda at: (Hop(1, 5, hot(at), wait * (hot(at) > 0) + 1), Hop(2, 9, hot(at), wait * (hot(at) > 0) + 1)))
        return made

    nodes = {node: Node(ports={port: PortProfile(speed_bps=10e9)}) for node, port in ((1, 5), (2, 9))}
    profile = Profile(units=BYTES_NS.units, nodes=nodes)
    full = summarise(traffic(10).view(), profile).findings
    assert [(finding.role, finding.cause) for finding in full] == [("root", "overload")] * 2
    slow = summarise(traffic(1).view(), profile).findings
    assert [(finding.node_id, finding.role, finding.cause) for finding in slow] == [
        (2, "root", "paused-port"),
        (1, "victim", "back-pressure"),
    ]
    assert any("empties at 10 % of its link speed" in sentence for sentence in slow[0].evidence)


def test_what_a_fast_link_sends_in_ten_microseconds_is_no_queue() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda at: (Hop(1, 5, hot(at), None), Hop(2, 9)))
    for gigabit, found in ((40, 1), (100, 0)):
        profile = Profile(units=BYTES_NS.units, nodes={1: Node(ports={5: PortProfile(speed_bps=gigabit * 1e9)})})
        assert len(summarise(traffic.view(), profile).findings) == found


def test_traffic_without_telemetry_is_noticed_by_the_rise_of_an_ioam_depth() -> None:
    traffic = Traffic(formats={"ioam-trace": 1})
    traffic.stream(0, 100, 4, lambda at: (Hop(1, 5, hot(at), None), Hop(2, 9, 0, None)))
    finding = only(summarise(traffic.view()))
    assert finding.cause == "overload" and finding.culprits == []


def test_culprits_fill_and_victims_wait() -> None:
    traffic = Traffic()
    for number in range(3):
        traffic.stream(0, 100, 8, lambda at: (Hop(2, 9, hot(at), None),), flow=("elephant", "h", number))
    for number in range(40):
        for at in (30 + number, 41.5 + number / 2):
            traffic.packet(round(at * MS), Hop(2, 9, hot(at), None), flow=("mouse", "h", number), size=100)
    finding = only(summarise(traffic.view(), BYTES_NS))
    assert [share.src for share in finding.culprits] == ["elephant"] * 3
    assert sum(share.share for share in finding.culprits) == pytest.approx(1, abs=0.05)
    assert {share.src for share in finding.victims} == {"mouse"}


def test_missing_values_are_none_with_a_reason() -> None:
    traffic = Traffic()
    traffic.stream(0, 50, 2, lambda _: (Hop(1, 5, None, None), Hop(2, -1, None, None, queue=-1)))
    summary = summarise(traffic.view())
    assert summary.findings == []
    second = next(queue for queue in summary.queues if queue.at.node_id == 2)
    assert (second.at.port, second.at.port_id, second.at.queue) == ("?", None, None)
    assert (second.latency.p50, second.depth.max, second.tail_latency_ratio) == (None, None, None)
    assert second.latency.why_absent and second.depth.why_absent
    assert summary.paths[0].share_of_latency is None
    assert quality(summary).trust == "low"


def test_an_empty_view_says_that_nothing_is_known() -> None:
    summary = summarise(Traffic().view())
    assert (summary.findings, summary.links, summary.paths, summary.queues) == ([], [], [], [])
    assert (quality(summary).trust, quality(summary).trust_reasons) == ("none", ["no packets"])
    assert quality(summary).telemetry_share is None


def test_packets_without_telemetry_cannot_show_a_congested_port() -> None:
    traffic = Traffic()
    traffic.packet(0)
    assert quality(summarise(traffic.view())).trust == "none"


def test_links_and_graph_follow_the_paths() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 8, lambda at: (Hop(1, 5, 0, 100), Hop(11, 2, hot(at), 300, ingress=8), Hop(2, 9, 0, 100, ingress=7)))
    profile = Profile(units=BYTES_NS.units, nodes={11: Node("s1", role="core")})
    summary = summarise(traffic.view(), profile)
    links = {(link.source.node, link.source.port): link for link in summary.links}
    assert (links["1", "5"].to_node, links["1", "5"].to_port, links["s1", "2"].to_node_id) == ("s1", "8", 2)
    assert (links["2", "9"].to_node, links["2", "9"].to_port) == (None, None)
    assert links["s1", "2"].latency.p50 == pytest.approx(300, rel=0.01) and links["s1", "2"].latency.unit == "ns"
    assert summary.paths[0].share_of_latency == pytest.approx([0.2, 0.6, 0.2])

    graph = build_graph(summary, profile)
    assert graph.nodes[11] == {"name": "s1", "role": "core"}
    assert graph.nodes[1]["role"] == "leaf" and graph.nodes["2:9"]["role"] == "outside"
    edge = graph.get_edge_data(11, 2)[0]
    assert (edge["egress_port"], edge["ingress_port"], edge["packets"], edge["finding"], edge["role"]) == ("2", "7", 800, "F1", "root")
    assert edge["depth_max"] == 60_000 and edge["depth_unit"] == "bytes"


def test_the_tail_latency_ratio_is_p99_over_p50() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 10, lambda at: (Hop(1, 5, 0, 1000 if round(at * 10) % 50 == 0 else 100),))
    assert summarise(traffic.view()).queues[0].tail_latency_ratio == pytest.approx(10, rel=0.02)


@pytest.mark.parametrize(
    ("change", "trust", "reason"),
    [
        ({"statuses": {"ok": 600, "int-stack-truncated": 200}}, "low", "25 % of the packets could not be read"),
        ({"statuses": {"ok": 780, "bth-truncated": 20}}, "fair", "most of them: bth-truncated"),
        ({"statuses": {"ok": 500, "not-udp": 300}, "streams": [("report-1.0", 4, 900, 0, False)]}, "high", "every packet was read"),
        ({}, "fair", "loss cannot be known: nothing is numbered"),
        ({"streams": [("report-1.0", 4, 900, 100, False)]}, "low", "10 % of the reports"),
        ({"streams": [("report-1.0", 4, 980, 20, False)]}, "fair", "2 % of the reports"),
        ({"streams": [("report-1.0", 4, 900, 0, True)]}, "fair", "loss is unknown"),
        ({"counts": {"time_backwards": 200}}, "low", "time goes backwards"),
        ({"evicted": 7}, "fair", "were forgotten"),
        ({"counts": {"hops_ignored": 12_000}}, "low", "12 000 hops are left out: there are too many queues"),
        ({"counts": {"paths_ignored": 1}}, "fair", "1 packets are on a path that is left out"),
        ({"counts": {"links_ignored": 2}}, "fair", "2 pairs of hops do not tell of clocks: there are too many links"),
        ({"counts": {"streams_ignored": 3, "reports": 1000}}, "fair", "3 reports or mirrored packets are not checked for loss"),
    ],
)
def test_trust_has_reasons(change: dict[str, object], trust: str, reason: str) -> None:
    traffic = Traffic(**change)  # type: ignore[arg-type]
    traffic.stream(0, 100, 8, lambda at: (Hop(1, 5, 1500 if int(at) % 2 else 0, 100),))
    found = quality(summarise(traffic.view(), BYTES_NS))
    assert found.trust == trust
    assert any(reason in entry for entry in found.trust_reasons)


def test_holes_zeros_and_damages_lower_trust_and_confidence() -> None:
    traffic = Traffic()
    for number in range(400):
        at = number / 4
        traffic.packet(round(at * MS), Hop(2, 9, hot(at), None), Hop(3, 1, 0, 0, all_zero=True), hole=number % 4 == 0)
    summary = summarise(traffic.view(), BYTES_NS, damages=[{"file": "x.pcap", "offset": 24, "reason": "cut"}])
    found = quality(summary)
    assert found.trust == "low" and found.damages[0]["offset"] == 24
    assert any("25 % of the paths have holes" in reason for reason in found.trust_reasons)
    assert any("all zero" in reason for reason in found.trust_reasons)
    whole = Traffic()
    whole.stream(0, 100, 4, lambda at: (Hop(2, 9, hot(at), None), Hop(3, 1, 0, 0)))
    assert only(summary).confidence < only(summarise(whole.view(), BYTES_NS)).confidence


def test_losses_and_drops_are_listed() -> None:
    traffic = Traffic(streams=[("report-2.0", 4, 90, 10, False), ("report-1.0", 4, 90, 0, True)], drops={(1, 89): 27})
    traffic.packet(0, Hop(1, 1))
    found = quality(summarise(traffic.view(), Profile(nodes={4: Node("sink")})))
    assert [(loss["node"], loss["lost"], loss["loss_share"]) for loss in found.losses] == [("sink", 10, 0.1), ("sink", None, None)]
    assert found.drops == [{"node": "1", "node_id": 1, "reason": 89, "reports": 27}]


def test_latency_unit_is_hinted_at_when_depth_and_rate_agree() -> None:
    traffic = Traffic()
    # 60 packets deep at 0.2 packets a µs: a wait of 300 µs, reported in µs.
    traffic.stream(0, 10, 200, lambda at: (Hop(1, 5, 60 if at > 2 else 1, 300 if at > 2 else 5),))
    assert any("about 1 µs" in note for note in quality(summarise(traffic.view())).assumptions)


def test_a_link_that_carries_less_than_the_parallel_ones_without_a_queue_is_slow() -> None:
    traffic = Traffic()
    for spine, per_ms in ((11, 1), (12, 4), (13, 4)):
        slow = 60_000 if spine == 11 else 0
        traffic.stream(0, 100, per_ms, lambda _, s=spine, d=slow: (Hop(1, 90 + s, 0, None), Hop(s, 2, d, None), Hop(2, 9, 0, None)))
    finding = only(summarise(traffic.view(), BYTES_NS))
    assert (finding.node_id, finding.port_id, finding.cause) == (11, 2, "degraded-link")
    assert any("2 calm ports that lead to the same place carry 4 × as much" in sentence for sentence in finding.evidence)


def test_mirrors_before_and_behind_a_port_together_know_what_comes_after_it() -> None:
    traffic = Traffic()
    for port, per_ms in ((1, 8), (2, 1)):
        hops = (Hop(1, port, 0, None), Hop(10 + port, 2, 0, None), Hop(2, 9, 0, None))
        for seen in (1, 2, 3):
            traffic.stream(0, 40, per_ms, lambda _, hops=hops, seen=seen: hops[:seen])
        hot_hops = (Hop(1, port, 60_000 if port == 1 else 0, None), *hops[1:])
        for seen in (1, 2, 3):
            traffic.stream(40, 80, per_ms, lambda _, hops=hot_hops, seen=seen: hops[:seen])
    finding = only(summarise(traffic.view(), BYTES_NS))
    assert (finding.node_id, finding.port_id, finding.cause) == (1, 1, "imbalance")
    assert "everything downstream on the same paths is calm" in finding.evidence


def test_a_flow_known_with_and_without_its_queue_pair_is_one_culprit() -> None:
    traffic = Traffic()
    traffic.stream(0, 100, 4, lambda at: (Hop(2, 9, hot(at), None),), flow=("a", "b", 1))
    traffic.stream(0, 100, 4, lambda at: (Hop(2, 9, hot(at), None),), flow=("a", "b", 2))
    view = traffic.view()
    view.flows.src_port[1] = 1
    view.flows.dest_qp[1] = -1
    culprits = only(summarise(view, BYTES_NS)).culprits
    assert [(share.flow, share.share) for share in culprits] == [("a:1 > b:4791 qp 0x11", 1.0)]
