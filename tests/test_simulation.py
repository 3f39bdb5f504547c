"""The simulation keeps to physics: nothing is lost or made, links have a speed, queues have an order, waiting takes its time."""

from __future__ import annotations

import time

import numpy as np
import pytest
from simulated import Simulated, owners, simulate, small_fabric

from int_analyzer import _jit
from int_analyzer.synth import state as place
from int_analyzer.synth.fabric import build_fabric
from int_analyzer.synth.port import GAP_BYTES
from int_analyzer.synth.sender import HEADER_BYTES, RETH_BYTES
from int_analyzer.synth.trace import CNP, READ_REQUEST, RESPONSE_FIRST, RESPONSE_LAST, UTILISATION_FULL, WRITE_FIRST, WRITE_LAST, WRITE_ONLY
from int_analyzer.synth.traffic import Traffic
from int_analyzer.synth.world import Action, byte_time

MTU = 4096
BITS = 8


def incast(senders: int = 5, size: int = 400_000) -> Traffic:
    traffic = Traffic()
    for sender in range(senders):
        traffic.send_at(1000 * sender, traffic.connect(3 + sender, 0), size)
    return traffic


def all_to_all(size: int = 30_000, hosts: int = 9) -> Traffic:
    traffic, chance = Traffic(), np.random.default_rng(5)
    for source in range(hosts):
        for target in range(hosts):
            if source != target:
                traffic.send_at(chance.uniform(0, 200_000), traffic.connect(source, target), size)
    return traffic


def done(result: Simulated) -> bool:
    return bool((result.messages[:, place.M_DONE] > 0).all())


def test_compiled_and_plain_python_simulate_the_same() -> None:
    traffic = incast(3, 60_000)
    actions = [Action(10_000, place.SET_LOSS, small_fabric().to_host(0), (1 << 24) // 20)]
    machine, plain = (simulate(traffic, actions, compiled=compiled, seconds=0.001, ecn_low=20_000) for compiled in (True, False))
    for name, array in machine.world._asdict().items():
        other = getattr(plain.world, name)
        used = min(len(array), len(other))
        assert np.array_equal(array[:used], other[:used]), name


def test_a_seed_makes_one_trace_and_another_seed_another() -> None:
    first, again, other = (simulate(incast(3, 60_000), seconds=0.001, seed=seed, report_loss=0.1) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first.packets, again.packets, strict=True))
    assert len(other.packets.time_ns) != len(first.packets.time_ns) or not np.array_equal(other.packets.ip_id, first.packets.ip_id)


def test_a_lone_packet_takes_the_time_of_its_bits_and_its_way() -> None:
    traffic, fabric = Traffic(), small_fabric()
    traffic.send_at(0, traffic.connect(0, 8), 1000)
    result = simulate(traffic, fabric=fabric, seconds=0.001, telemetry_bytes=0, hop_bytes=0, pipeline_ns=400)
    wire_bits = (HEADER_BYTES + RETH_BYTES + 1000 + GAP_BYTES) * BITS
    at_host, at_uplink = wire_bits / 25, wire_bits / 40
    sent = result.packets.opcode == WRITE_ONLY
    hops = slice(0, 3)
    assert result.packets.hop_count[sent].tolist() == [3]
    assert result.hops.latency_ns[hops] == pytest.approx([at_host + 400, at_uplink + 400, at_uplink + 400], abs=1)
    assert result.hops.queue_depth_bytes[hops].tolist() == [0, 0, 0]
    between = result.hops.ingress_time_ns[1:3] - result.hops.egress_time_ns[0:2]
    assert between == pytest.approx([300, 300], abs=1)
    assert result.packets.ttl[sent].tolist() == [61]


@pytest.mark.parametrize("options", [{}, {"ecn": False}, {"pfc": False, "queue_limit": 100_000}])
def test_every_packet_sent_is_delivered_or_dropped_or_on_its_way(options: dict[str, object]) -> None:
    result = simulate(incast(), seconds=0.0005, **options)
    lost = [place.DROPPED_FULL, place.DROPPED_TTL, place.DROPPED_CABLE, place.DROPPED_DOWN]
    assert result.count(place.SENT) == result.count(place.DELIVERED) + sum(map(result.count, lost)) + result.count(place.POOL_LIVE)
    assert result.count(place.POOL_LIVE) > 0
    assert result.count(place.DELIVERED) > 100


def test_no_link_carries_more_than_its_speed() -> None:
    fabric = small_fabric()
    result = simulate(incast(), fabric=fabric, seconds=0.001)
    room = result.ground.width_ns * fabric.links.speed_bps / BITS / 1e9
    longest = MTU + 300
    assert (result.ground.sent_bytes <= room[:, None] + longest).all()
    busiest = fabric.to_host(0)
    assert result.ground.sent_bytes[busiest].max() > 0.99 * room[busiest]


def test_what_comes_from_one_port_to_another_keeps_its_order() -> None:
    result = simulate(all_to_all(), seconds=0.001)
    hops = result.hops
    way = np.column_stack((hops.node_id, hops.ingress_port, hops.egress_port, hops.queue_id)).astype(np.int64)
    order = np.lexsort((hops.ingress_time_ns, *way.T))
    same = (way[order][1:] == way[order][:-1]).all(axis=1)
    assert same.sum() > 100
    assert (np.diff(hops.egress_time_ns[order])[same] > 0).all()


def test_no_time_runs_backwards_at_a_node() -> None:
    packets, hops = (result := simulate(all_to_all(), seconds=0.001)).packets, result.hops
    assert (np.diff(packets.time_ns) >= 0).all()
    assert (hops.egress_time_ns > hops.ingress_time_ns).all()
    last = packets.first_hop + packets.hop_count - 1
    for port in np.unique(np.column_stack((packets.mirror_node, hops.egress_port[last])), axis=0).tolist():
        here = (packets.mirror_node == port[0]) & (hops.egress_port[last] == port[1])
        assert (np.diff(hops.egress_time_ns[last][here]) > 0).all()


def test_a_packet_waits_as_long_as_what_stands_before_it_takes() -> None:
    fabric = small_fabric()
    result = simulate(incast(), fabric=fabric, seconds=0.001, telemetry_bytes=0, hop_bytes=0)
    hops = result.hops
    at_root = (hops.node_id == fabric.node_id(fabric.leaf_site(0))) & (hops.egress_port == 1) & (hops.queue_id == 3)
    depth, waited = hops.queue_depth_bytes[at_root], hops.latency_ns[at_root]
    frames = -(-depth // (MTU + HEADER_BYTES))
    least = depth * BITS / 25
    most = (depth + GAP_BYTES * (frames + 1) + 2 * (MTU + HEADER_BYTES + RETH_BYTES + GAP_BYTES)) * BITS / 25 + 400
    assert depth.max() > 100_000
    assert (waited >= least).all()
    assert (waited <= most).all()


def test_a_queue_fills_where_too_much_comes_and_pauses_go_back_from_there() -> None:
    fabric = small_fabric()
    result = simulate(incast(6, 1_000_000), fabric=fabric, seconds=0.001, ecn=False, pause_above=100_000, resume_below=80_000)
    root, ground = fabric.to_host(0), result.ground
    assert ground.paused_ns[root].sum() == 0
    assert ground.depth_bytes[root].max() > 100_000
    down = [fabric.to_leaf(spine, 0) for spine in range(2)]
    assert any(ground.paused_ns[link].sum() > 0 and ground.depth_bytes[link].max() > 50_000 for link in down)
    elsewhere = [fabric.to_host(host) for host in range(1, 9)]
    assert ground.depth_bytes[elsewhere].max() < 20_000
    assert ground.paused_ns[elsewhere].sum() == 0


def test_with_pauses_nothing_is_dropped_and_without_them_full_queues_drop() -> None:
    with_pauses = simulate(incast(6), seconds=0.003, ecn=False)
    without = simulate(incast(6), seconds=0.003, ecn=False, pfc=False, queue_limit=150_000, timeout_ns=500_000)
    assert with_pauses.count(place.DROPPED_FULL) == 0
    assert without.count(place.DROPPED_FULL) > 0
    assert done(with_pauses) and done(without)


def test_a_full_queue_is_reported_by_the_switch_that_dropped() -> None:
    fabric = small_fabric()
    result = simulate(incast(6), fabric=fabric, seconds=0.002, ecn=False, pfc=False, queue_limit=150_000)
    packets = result.packets
    dropped = packets.dropped != 0
    last = packets.first_hop[dropped] + packets.hop_count[dropped] - 1
    assert dropped.sum() == result.count(place.DROPPED_FULL)
    assert (result.hops.node_id[last] == packets.mirror_node[dropped]).all()
    assert (result.hops.queue_depth_bytes[last] > 150_000 - 2 * MTU).all()
    for node in np.unique(packets.mirror_node[dropped]).tolist():
        of_node = dropped & (packets.mirror_node == node)
        assert packets.report_sequence[of_node].tolist() == list(range(int(of_node.sum())))


def test_what_a_cable_loses_is_refused_and_sent_again_until_all_is_there() -> None:
    fabric = small_fabric()
    lossy = fabric.to_host(0)
    actions = [Action(0, place.SET_LOSS, lossy, (1 << 24) // 100)]
    result = simulate(incast(2), actions, fabric, seconds=0.004, timeout_ns=300_000)
    assert done(result)
    assert result.count(place.DROPPED_CABLE) > 0
    assert result.count(place.RETRANSMITTED) >= result.count(place.DROPPED_CABLE) - result.count(place.TIMEOUTS)
    assert 0 < result.count(place.SEQUENCE_NAKS) <= result.count(place.DROPPED_CABLE)
    assert result.ground.drops.sum(axis=1).nonzero()[0].tolist() == [lossy]


@pytest.mark.parametrize("lossy_way", [None, "to", "from"])
def test_reads_are_answered_whole_even_over_a_lossy_cable(lossy_way: str | None) -> None:
    traffic, fabric = Traffic(), small_fabric()
    flow = traffic.connect(0, 8)
    for _ in range(20):
        after = [len(traffic.messages) - 1] if traffic.messages else []
        if after:
            traffic.send_after(after, flow, 50_000, "read", think_ns=2000)
        else:
            traffic.send_at(0, flow, 50_000, "read")
    link = fabric.to_host(8 if lossy_way == "to" else 0)
    one_in = 6 if lossy_way == "to" else 50
    actions = [Action(0, place.SET_LOSS, link, (1 << 24) // one_in)] if lossy_way else []
    result = simulate(traffic, actions, fabric, seconds=0.02, timeout_ns=200_000)
    packets = result.packets
    assert done(result)
    responses = (packets.opcode >= RESPONSE_FIRST) & (packets.opcode <= RESPONSE_LAST)
    assert packets.payload_bytes[responses].sum() >= 0.9 * 20 * 50_000
    requests = packets.opcode == READ_REQUEST
    assert requests.sum() >= 18
    assert set(packets.psn[responses & (packets.opcode == RESPONSE_FIRST)].tolist()) <= set(packets.psn[requests].tolist())
    assert (result.count(place.DROPPED_CABLE) > 0) == (lossy_way is not None)


def test_psns_of_a_flow_count_up_by_one_and_messages_are_cut_at_the_mtu() -> None:
    traffic = Traffic()
    flow = traffic.connect(0, 8)
    traffic.send_at(0, flow, 3 * MTU + 5)
    traffic.send_at(0, flow, 10)
    result = simulate(traffic, seconds=0.001)
    packets = result.packets
    data = packets.flow == flow
    first = int(result.flows.first_psn[flow])
    assert packets.psn[data].tolist() == [(first + index) & 0xFFFFFF for index in range(5)]
    assert packets.opcode[data].tolist() == [WRITE_FIRST, WRITE_FIRST + 1, WRITE_FIRST + 1, WRITE_LAST, WRITE_ONLY]
    assert packets.payload_bytes[data].tolist() == [MTU, MTU, MTU, 5, 10]
    assert packets.dma_bytes[data][[0, 4]].tolist() == [3 * MTU + 5, 10]
    assert packets.ack_req[data].tolist() == [0, 0, 0, 1, 1]


def test_acknowledgements_count_messages_and_name_the_last_packet() -> None:
    traffic = Traffic()
    flow = traffic.connect(0, 8)
    for _ in range(3):
        traffic.send_at(0, flow, 2 * MTU)
    result = simulate(traffic, seconds=0.001)
    packets = result.packets
    answers = packets.flow == flow + 1
    assert packets.msn[answers].tolist() == [1, 2, 3]
    assert ((packets.psn[answers] - result.flows.first_psn[flow]) & 0xFFFFFF).tolist() == [1, 3, 5]


def test_marked_packets_slow_their_senders_down() -> None:
    fabric = small_fabric()
    marking, not_marking = (simulate(incast(4, 2_000_000), fabric=fabric, seconds=0.003, ecn=ecn, pfc=False) for ecn in (True, False))
    root = fabric.to_host(0)
    late = slice(20, None)
    assert marking.count(place.MARKED) > 0
    assert marking.ground.depth_bytes[root, late].max() < 0.7 * not_marking.ground.depth_bytes[root, late].max()
    notified = marking.packets.opcode == CNP
    assert notified.sum() > 0
    assert (marking.packets.ecn[notified] == 0).all()
    assert set(marking.hops.queue_id[np.isin(owners(marking.packets), np.flatnonzero(notified))].tolist()) == {6}
    assert not (not_marking.packets.opcode == CNP).any()


def test_a_slow_host_pauses_its_leaf() -> None:
    fabric = small_fabric()
    slow = fabric.to_host(0)
    result = simulate(incast(2), [Action(0, place.SET_DRAIN, slow, byte_time(2e9))], fabric, seconds=0.002, ecn=False)
    assert result.ground.paused_ns[slow].sum() > 1_000_000
    carried = result.ground.sent_bytes[slow, 20:].sum() * BITS / (result.ground.width_ns * (result.ground.sent_bytes.shape[1] - 21))
    assert carried == pytest.approx(2, rel=0.2)


def test_a_flow_keeps_its_path_and_many_flows_use_all_spines() -> None:
    fabric = build_fabric(3, 4, 6)
    result = simulate(all_to_all(5000, 18), fabric=fabric, seconds=0.001)
    packets, hops = result.packets, result.hops
    across = packets.hop_count == 3
    spine = hops.node_id[packets.first_hop[across] + 1]
    of_flow = {flow: set(spine[packets.flow[across] == flow].tolist()) for flow in np.unique(packets.flow[across]).tolist()}
    assert all(len(spines) == 1 for spines in of_flow.values())
    counted = np.bincount([spines.pop() for spines in of_flow.values()])[1:]
    assert len(counted) == 4
    assert counted.min() > 0.5 * counted.mean()


def test_flows_leave_a_link_that_fails_and_no_others_move() -> None:
    fabric = small_fabric()
    traffic = Traffic()
    flows = [traffic.connect(source, 8) for source in (0, 1, 2) for _ in range(6)]
    for flow in flows:
        for part in range(10):
            traffic.send_at(50_000 * part, flow, 1000)
    link = fabric.to_spine(0, 0)
    actions = [Action(250_000, place.SET_UP, which, 0) for which in (link, link ^ 1)]
    packets, hops = (result := simulate(traffic, actions, fabric, seconds=0.001)).packets, result.hops
    forward = (packets.flow % 2 == 0) & (packets.hop_count == 3)
    spine = hops.node_id[packets.first_hop + 1]
    start = packets.time_ns.min()
    before, after = forward & (packets.time_ns < start + 240_000), forward & (packets.time_ns > start + 260_000)
    used = {flow: (set(spine[before & (packets.flow == flow)]), set(spine[after & (packets.flow == flow)])) for flow in flows}
    assert {frozenset(old) for old, _ in used.values()} == {frozenset({1}), frozenset({2})}
    assert all(new == {2} for _, new in used.values())


def test_one_packet_in_many_tells_and_lost_reports_leave_gaps() -> None:
    result = simulate(all_to_all(200_000), seconds=0.001, telemetry_every=10, report_loss=0.3)
    packets = result.packets
    share = packets.telemetry.mean()
    assert 0.07 < share < 0.13
    assert (packets.hop_count[packets.telemetry == 0] == 0).all()
    for node in np.unique(packets.mirror_node).tolist():
        sequence = packets.mirror_sequence[packets.mirror_node == node]
        assert (np.diff(sequence) > 0).all()
        assert 0.2 < 1 - len(sequence) / (sequence[-1] + 1) < 0.4
    mirrored = len(packets.time_ns) + result.count(place.REPORTS_LOST)
    assert result.count(place.REPORTS_LOST) / mirrored == pytest.approx(0.3, abs=0.05)


def test_a_silent_switch_stands_on_no_path_but_forwards() -> None:
    fabric = small_fabric()
    silent = fabric.leaf_site(0)
    result = simulate(all_to_all(), fabric=fabric, seconds=0.001, silent_sites=frozenset({silent}))
    assert done(result)
    assert fabric.node_id(silent) not in result.hops.node_id
    assert fabric.node_id(fabric.leaf_site(1)) in result.hops.node_id


def test_utilisation_is_that_of_the_port() -> None:
    traffic, fabric = Traffic(), small_fabric()
    traffic.send_at(0, traffic.connect(3, 0, 10e9), 600_000)
    hops = simulate(traffic, fabric=fabric, seconds=0.0005).hops
    to_host = (hops.node_id == fabric.node_id(fabric.leaf_site(0))) & (hops.egress_port == 1)
    steady = hops.tx_utilisation[to_host][20:-5]
    assert steady.mean() / UTILISATION_FULL == pytest.approx(10 / 25, abs=0.05)


@pytest.mark.skipif(_jit.DISABLED or _jit.BOUNDSCHECK, reason="speed is that of machine code")
def test_a_core_simulates_a_million_packet_hops_a_second() -> None:
    traffic = all_to_all(1_000_000)
    simulate(traffic, seconds=0.0001)
    best = 0.0
    for _ in range(3):
        began = time.process_time()
        result = simulate(traffic, seconds=0.01)
        best = max(best, result.count(place.CROSSED) / (time.process_time() - began))
    # A loose bound: the kernel alone does three times as much, this includes layout and tables, on a machine that others use, too.
    assert best > 500_000
