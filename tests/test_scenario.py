"""Every scenario contains its situation, its truth says what really was, and nothing of that is in what the mirror saw."""

from __future__ import annotations

import dataclasses
import functools
import ipaddress
import json
import tomllib
from typing import Any

import numpy as np
import pytest
from simulated import owners

from int_analyzer import _jit
from int_analyzer.errors import ScenarioError
from int_analyzer.profile import parse_profile
from int_analyzer.synth.clock import EPOCH_NS
from int_analyzer.synth.emission import EMISSIONS
from int_analyzer.synth.fabric import build_fabric, write_profile
from int_analyzer.synth.ground import Ground
from int_analyzer.synth.packets import operator_profile
from int_analyzer.synth.scenario import BY_ID, SCENARIOS, Knobs, Performance, perform_scenario, simulate_scenario
from int_analyzer.synth.trace import (
    ACKNOWLEDGE,
    READ_REQUEST,
    RESPONSE_FIRST,
    SEND_ONLY,
    SYNDROME_SEQUENCE_ERROR,
    WRITE_FIRST,
    WRITE_LAST,
    Trace,
)
from int_analyzer.synth.truth import FILLED_BYTES, was_held_up

INCASTS = ("incast", "pfc-chain", "microburst", "two-roots", "skewed-clocks", "holes", "sampled", "storm", "straggler-link", "hot-expert")
CONGESTED = (*INCASTS, "slow-link", "slow-incast", "polarised", "slow-receiver")
CALM = ("healthy", "lossy-cable", "path-change", "loop", "straggler-host", "storage-slow", "prepare-slow")
SEEDS = (1, 2, 3)
# Plain Python simulates seventy thousand packet-hops a second: there, one seed and less time, as long as the situation needs.
if _jit.DISABLED:
    SEEDS = (1,)
SHORT_SECONDS = {"storage-slow": 0.03, "prepare-slow": 0.03, "sampled": 0.012, "microburst": 0.008}


@functools.cache
def perform(name: str, seed: int = 1) -> Performance:
    return perform_scenario(name, Knobs(seed=seed, seconds=SHORT_SECONDS.get(name, 0.005) if _jit.DISABLED else None))


def trace_of(name: str, seed: int = 1) -> Trace:
    return perform(name, seed).trace


def link_of(trace: Trace, port: dict[str, Any]) -> int:
    """The link on which a port of the truth sends."""
    links = trace.fabric.links
    node = np.array([trace.fabric.node_id(int(site)) for site in links.source])
    return int(np.flatnonzero((node == port["node_id"]) & (links.source_port == port["port"]))[0])


def roots_of(trace: Trace) -> list[int]:
    return [link_of(trace, root) for root in trace.truth["congested"]]


def victims_of(trace: Trace, *lists: str) -> set[int]:
    """Ports that the truth names beside roots, in these of its lists."""
    return {link_of(trace, port) for root in trace.truth["congested"] for key in lists or ("victim_ports",) for port in root[key]}


def switch_links(trace: Trace) -> Any:
    return np.flatnonzero(trace.fabric.links.source >= trace.fabric.hosts)


def bucket_means(trace: Trace, width_ns: int = 1_000_000) -> dict[tuple[int, int], float]:
    """By (node, port): the highest mean depth of the data queue in any stretch of time, as the mirror saw it."""
    hops = trace.hops
    bucket = (trace.packets.time_ns[owners(trace.packets)] - EPOCH_NS) // width_ns
    data = hops.queue_id == 3
    rows, place = np.unique(np.column_stack((hops.node_id, hops.egress_port, bucket))[data], axis=0, return_inverse=True)
    means = np.bincount(place.ravel(), hops.queue_depth_bytes[data]) / np.bincount(place.ravel())
    highest: dict[tuple[int, int], float] = {}
    for (node, port, _), mean in zip(rows.tolist(), means.tolist(), strict=True):
        highest[node, port] = max(highest.get((node, port), 0.0), mean)
    return highest


def port_key(trace: Trace, link: int) -> tuple[int, int]:
    links = trace.fabric.links
    return trace.fabric.node_id(int(links.source[link])), int(links.source_port[link])


def test_the_scenarios_are_those_that_are_judged() -> None:
    assert sorted(BY_ID) == sorted((*CONGESTED, *CALM))
    assert all(scenario.doc and scenario.answer for scenario in SCENARIOS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CONGESTED)
def test_the_root_is_deep_and_nothing_but_roots_and_victims_is(name: str, seed: int) -> None:
    trace, ground = perform(name, seed)
    roots, victims = roots_of(trace), victims_of(trace, "victim_ports", "overloaded_ports")
    assert roots
    calm = [link for link in switch_links(trace).tolist() if link not in victims and link not in roots]
    assert ground.depth_bytes[roots].max(axis=1).min() > 3 * FILLED_BYTES
    seen = bucket_means(trace)
    lowest_root = min(seen.get(port_key(trace, root), 0.0) for root in roots)
    highest_other = max(seen.get(port_key(trace, link), 0.0) for link in calm)
    # Of sampled captures a stretch of time may hold one packet only.
    assert lowest_root > 3 * highest_other
    assert highest_other < FILLED_BYTES


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CALM)
def test_where_nothing_queues_no_port_stays_deep(name: str, seed: int) -> None:
    trace, ground = perform(name, seed)
    assert max(bucket_means(trace).values()) < 15_000
    assert ground.paused_ns.sum() == 0
    assert all(root["cause"] == "degraded-link" for root in trace.truth["congested"])


def test_healthy_traffic_loads_every_host_by_about_60_percent() -> None:
    trace, ground = perform("healthy")
    fabric = trace.fabric
    seconds = ground.width_ns * (ground.sent_bytes.shape[1] - 1) / 1e9
    load = 8 * ground.sent_bytes[: 2 * fabric.hosts].sum(axis=1) / seconds / fabric.links.speed_bps[0]
    assert 0.5 < load.mean() < 0.75
    assert load.max() < 0.9
    assert trace.truth["nothing"]
    assert trace.truth["congested"] == trace.truth["events"] == trace.truth["hosts"] == []


@pytest.mark.parametrize("name", list(BY_ID))
def test_truth_can_be_written_and_names_what_the_capture_has(name: str) -> None:
    trace = trace_of(name)
    truth = json.loads(json.dumps(trace.truth))
    assert truth["scenario"] == name
    end = int(trace.packets.time_ns[-1])
    for entry in truth["congested"]:
        assert EPOCH_NS <= entry["from_ns"] < entry["to_ns"] <= end + 1_000_000
        links = trace.fabric.links
        assert entry["towards"] == trace.fabric.site_name(int(links.target[link_of(trace, entry)]))
        known = {
            (str(ipaddress.IPv4Address(int(src))), str(ipaddress.IPv4Address(int(dst))), int(port))
            for src, dst, port in zip(trace.flows.src_ip, trace.flows.dst_ip, trace.flows.udp_source_port, strict=True)
        }
        assert {(flow["src_ip"], flow["dst_ip"], flow["udp_sport"]) for flow in entry["culprits"]} <= known
    for event in truth["events"]:
        assert EPOCH_NS < event["start_ns"] <= event["end_ns"] < end
    addresses = {str(ipaddress.IPv4Address(trace.fabric.address(host))) for host in range(trace.fabric.hosts)}
    assert all(entry["host"] in addresses and EPOCH_NS < entry["from_ns"] < end for entry in truth["hosts"])
    assert truth["nothing"] == (name == "healthy")


@pytest.mark.parametrize("name", list(BY_ID))
def test_the_profile_tells_nothing_of_the_scenario(name: str) -> None:
    trace = trace_of(name)
    fabric = build_fabric(4, 2, 4)
    text = operator_profile(trace, EMISSIONS["roce"])
    assert text == write_profile(fabric)
    profile = parse_profile(tomllib.loads(text))
    assert all(profile.port_speed_bps(*port_key(trace, link)) == fabric.links.speed_bps[link] for link in switch_links(trace))


def test_the_seed_moves_the_root_and_its_time() -> None:
    told = [trace_of("slow-link", seed).truth["congested"][0] for seed in (1, 2, 3, 4, 5, 6)]
    assert len({(root["node_id"], root["port"]) for root in told}) >= 4
    assert len({root["from_ns"] for root in told}) == 6


def test_a_trace_is_made_again_from_its_seed() -> None:
    one, other = (simulate_scenario("incast", Knobs(seed=4, seconds=0.002)) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip((*one.packets, *one.hops), (*other.packets, *other.hops), strict=True))
    assert one.truth == other.truth


def test_incast_ends_at_a_host_and_its_senders_are_the_culprits() -> None:
    trace = trace_of("incast")
    root = trace.truth["congested"][0]
    hops, packets = trace.hops, trace.packets
    here = (hops.node_id == root["node_id"]) & (hops.egress_port == root["port"]) & (hops.queue_id == 3)
    packet = owners(packets)[here]
    during = (packets.time_ns[packet] > root["from_ns"]) & (packets.time_ns[packet] < root["to_ns"])
    size = packets.payload_bytes[packet][during]
    ports = {culprit["udp_sport"] for culprit in root["culprits"]}
    culprit = np.isin(trace.flows.udp_source_port[packets.flow[packet][during]], list(ports))
    assert root["cause"] == "overload"
    assert len(root["culprits"]) >= 8
    assert size[culprit].sum() > 0.6 * size.sum()


def test_a_slow_link_carries_a_tenth_of_its_speed_and_only_there_a_queue_grows() -> None:
    trace, ground = perform("slow-link")
    root, link = trace.truth["congested"][0], roots_of(trace)[0]
    start = root["from_ns"] - EPOCH_NS
    # Not to the end: the truth counts the time in which the queue empties at full speed, too.
    within = ground.stretches(start + 100_000, start + (root["to_ns"] - root["from_ns"]) // 2)
    carried = 8e9 * ground.sent_bytes[link, within].mean() / ground.width_ns
    assert carried == pytest.approx(0.1 * trace.fabric.links.speed_bps[link], rel=0.15)
    assert root["cause"] == "degraded-link"


def test_a_slow_receiver_pauses_its_leaf_port_and_the_spines_wait() -> None:
    trace, ground = perform("slow-receiver")
    fabric, link = trace.fabric, roots_of(trace)[0]
    leaf = int(fabric.links.source[link]) - fabric.hosts
    down = {fabric.to_leaf(spine, leaf) for spine in range(fabric.spines)}
    assert ground.paused_ns[link].sum() > 100_000
    assert down & victims_of(trace)
    assert all(ground.paused_ns[victim].sum() > 0 for victim in victims_of(trace))
    assert trace.truth["congested"][0]["cause"] == "paused-port"


def test_a_filled_port_is_a_victim_if_it_was_paused_while_it_was_filled() -> None:
    depth = np.array([[0, 2 * FILLED_BYTES, FILLED_BYTES, 0]] * 4)
    paused = np.array([[0, 0, 0, 0], [0, 0, 7, 0], [9, 0, 0, 9], [0, 5, 0, 0]])
    ground = Ground(depth, 0 * depth, paused, 0 * depth, width_ns=50)
    assert [was_held_up(ground, link, 0, 199) for link in range(4)] == [False, True, False, True]
    assert not was_held_up(ground, 3, 100, 199)


def test_a_chain_of_pauses_goes_two_tiers_up_in_order() -> None:
    trace = trace_of("pfc-chain")
    root = trace.truth["congested"][0]
    victims = root["victim_ports"]
    roles = [victim["node"].rstrip("0123456789") for victim in victims]
    assert {"spine", "leaf"} == set(roles)
    assert roles[0] == "spine"
    times = [victim["from_ns"] for victim in victims]
    assert times == sorted(times)
    assert times[0] >= root["from_ns"] - 50_000
    assert trace.truth["counted"]["dropped_full"] == 0


def test_polarised_flows_leave_the_siblings_idle() -> None:
    trace, ground = perform("polarised")
    fabric, link, root = trace.fabric, roots_of(trace)[0], trace.truth["congested"][0]
    leaf = int(fabric.links.source[link]) - fabric.hosts
    within = ground.stretches(root["from_ns"] - EPOCH_NS, root["to_ns"] - EPOCH_NS)
    sent = {spine: ground.sent_bytes[fabric.to_spine(leaf, spine), within].sum() for spine in range(fabric.spines)}
    busiest = max(sent, key=lambda spine: sent[spine])
    assert fabric.to_spine(leaf, busiest) == link
    assert all(load < 0.3 * sent[busiest] for spine, load in sent.items() if spine != busiest)


def test_microbursts_are_short_and_the_port_is_idle_between_them() -> None:
    trace, ground = perform("microburst")
    root, link = trace.truth["congested"][0], roots_of(trace)[0]
    bursts = [(burst["from_ns"] - EPOCH_NS, burst["to_ns"] - EPOCH_NS) for burst in root["bursts"]]
    assert len(bursts) >= 3
    assert all(50_000 <= end - start <= 700_000 for start, end in bursts)
    quiet = np.ones(ground.sent_bytes.shape[1], dtype=bool)
    for start, end in bursts:
        assert ground.depth_bytes[link, ground.stretches(start, end)].max() > FILLED_BYTES
        quiet[ground.stretches(start, end)] = False
    assert ground.depth_bytes[link, quiet].max() < FILLED_BYTES


def test_an_incast_lies_behind_a_slow_link() -> None:
    trace, _ = perform("slow-incast")
    (link, host_link), (slow, crowded) = roots_of(trace), trace.truth["congested"]
    links = trace.fabric.links
    assert (slow["cause"], crowded["cause"]) == ("degraded-link", "overload")
    assert max(slow["from_ns"], crowded["from_ns"]) < min(slow["to_ns"], crowded["to_ns"])
    packets, hops = trace.packets, trace.hops
    over, into = (
        (hops.node_id == trace.fabric.node_id(int(links.source[at]))) & (hops.egress_port == links.source_port[at])
        for at in (link, host_link)
    )
    owner = np.repeat(np.arange(len(packets.time_ns)), packets.hop_count)
    assert len(np.intersect1d(owner[over], owner[into])) > 20


def test_two_roots_are_on_two_leaves() -> None:
    nodes = {root["node_id"] for root in trace_of("two-roots").truth["congested"]}
    assert len(nodes) == 2


def test_a_lossy_cable_loses_on_one_link_and_senders_are_told() -> None:
    trace, ground = perform("lossy-cable")
    packets = trace.packets
    assert ground.drops.sum(axis=1).nonzero()[0].tolist() == roots_of(trace)
    refused = (packets.opcode == ACKNOWLEDGE) & (packets.syndrome == SYNDROME_SEQUENCE_ERROR)
    assert refused.sum() > 0
    assert trace.truth["counted"]["retransmitted"] > 0


def test_no_packet_takes_the_failed_cable_after_the_change() -> None:
    trace = trace_of("path-change")
    event = trace.truth["events"][0]
    time = trace.packets.time_ns[owners(trace.packets)]
    for port in event["ports"]:
        here = (trace.hops.node_id == port["node_id"]) & (trace.hops.egress_port == port["port"])
        assert (time[here] < event["start_ns"]).any()
        assert not (time[here] > event["start_ns"] + 100_000).any()
    assert event["kind"] == "path-change"


def test_packets_run_in_the_loop_while_it_lasts() -> None:
    trace = trace_of("loop")
    event = trace.truth["events"][0]
    packets, hops = trace.packets, trace.hops
    looped = []
    for row in np.flatnonzero(packets.hop_count > 3).tolist():
        first = packets.first_hop[row]
        nodes = hops.node_id[first : first + packets.hop_count[row]].tolist()
        if len(set(nodes)) < len(nodes):
            looped.append(row)
            assert {node for node in nodes if nodes.count(node) > 1} <= set(event["nodes"])
    assert looped
    times = packets.time_ns[looped]
    assert (times > event["start_ns"]).all() and (times < event["end_ns"] + 500_000).all()
    assert trace.truth["counted"]["dropped_ttl"] > 0


def test_skewed_clocks_are_off_by_what_the_truth_says() -> None:
    trace = trace_of("skewed-clocks")
    hops, told = trace.hops, trace.truth["clocks"]
    time = trace.packets.time_ns[owners(trace.packets)]
    off = {node: hops.egress_time_ns[hops.node_id == int(node)] - time[hops.node_id == int(node)] for node in told}
    assert all(abs(np.median(off[node]) - told[node]["offset_ns"]) < 100_000 for node in told)
    assert max(abs(clock["offset_ns"]) for clock in told.values()) > 10_000_000
    assert any(clock["drift_ppm"] for clock in told.values())
    assert (hops.latency_ns > 0).all()


def test_a_third_of_the_nodes_is_silent_but_not_that_of_the_root() -> None:
    trace = trace_of("holes")
    silent = trace.truth["telemetry"]["silent_nodes"]
    assert len(silent) == 2
    assert not np.isin(trace.hops.node_id, silent).any()
    assert trace.truth["congested"][0]["node_id"] in trace.hops.node_id


def test_one_packet_in_100_tells_and_half_of_that_is_lost() -> None:
    trace = trace_of("sampled")
    told = trace.truth["telemetry"]
    assert trace.packets.telemetry.all()
    assert told["mirrored"] / trace.truth["counted"]["delivered"] == pytest.approx(0.01, rel=0.25)
    assert told["lost"] / told["mirrored"] == pytest.approx(0.5, abs=0.15)


def test_a_storm_is_many_flows_and_three_of_them_are_large() -> None:
    trace = trace_of("storm")
    milliseconds = (trace.packets.time_ns[-1] - EPOCH_NS) / 1e6
    assert len(np.unique(trace.packets.flow)) > 900 * milliseconds
    sizes = np.sort(np.bincount(trace.packets.flow, trace.packets.payload_bytes))
    assert sizes[-3] > 50 * sizes[-4]
    assert len(trace.truth["congested"][0]["culprits"]) == 3


def test_the_straggler_sends_on_late_and_the_others_do_not() -> None:
    trace = trace_of("straggler-host")
    told = trace.truth["hosts"][0]
    packets, flows = trace.packets, trace.flows
    slow = int(ipaddress.IPv4Address(told["host"]))
    size = np.bincount(packets.flow, packets.payload_bytes, minlength=len(flows.src_ip))
    ring = np.flatnonzero(size > 0.5 * size.max()).tolist()
    begins = {flow: packets.time_ns[(packets.flow == flow) & (packets.opcode == WRITE_FIRST)] for flow in ring}
    ends = {flow: packets.time_ns[(packets.flow == flow) & (packets.opcode == WRITE_LAST)] for flow in ring}
    late = {}
    for flow in ring:
        before = next(other for other in ring if flows.dst_ip[other] == flows.src_ip[flow])
        steps = min(len(begins[flow]) - 1, len(ends[before]), len(ends[flow]))
        ready = np.maximum(ends[before][:steps], ends[flow][:steps])
        waited = begins[flow][1 : steps + 1] - ready
        late[int(flows.src_ip[flow])] = float(np.median(waited[ready > told["from_ns"]]))
    assert late.pop(slow) > 0.9 * told["late_ns"]
    assert max(late.values()) < 0.5 * told["late_ns"]


def test_a_hot_expert_gets_more_than_the_others() -> None:
    trace = trace_of("hot-expert")
    told = trace.truth["hosts"][0]
    during = trace.packets.time_ns > told["from_ns"]
    received = np.bincount(trace.flows.dst_host[trace.packets.flow[during]], trace.packets.payload_bytes[during], trace.fabric.hosts)
    assert trace.fabric.site_name(int(received.argmax())) == told["name"]
    assert received.max() > 2 * np.median(received)


@pytest.mark.parametrize("name", ["storage-slow", "prepare-slow"])
def test_who_is_late_in_storage_is_late_and_nobody_else(name: str) -> None:
    trace = trace_of(name)
    told = trace.truth["hosts"][0]
    packets, flows = trace.packets, trace.flows
    assert told["cause"] == name
    waited: dict[int, list[int]] = {}
    for request in np.flatnonzero((packets.opcode == READ_REQUEST) & (packets.time_ns > told["from_ns"])).tolist():
        flow, time = packets.flow[request], packets.time_ns[request]
        if name == "prepare-slow":
            answers = packets.time_ns[(packets.flow == flow ^ 1) & (packets.opcode == RESPONSE_FIRST) & (packets.time_ns > time)]
            if len(answers):
                waited.setdefault(int(flows.dst_ip[flow]), []).append(int(answers[0] - time))
        else:
            commands = packets.time_ns[(packets.flow == flow ^ 1) & (packets.opcode == SEND_ONLY) & (packets.time_ns < time)]
            if len(commands):
                waited.setdefault(int(flows.src_ip[flow]), []).append(int(time - commands[-1]))
    typical = {host: float(np.median(times)) for host, times in waited.items()}
    assert typical.pop(int(ipaddress.IPv4Address(told["host"]))) > 0.9 * told["late_ns"]
    assert max(typical.values()) < 0.5 * told["late_ns"]


def test_a_large_fabric_has_the_situation_too() -> None:
    knobs = Knobs(seed=2, leaves=8, spines=4, hosts=4) if _jit.DISABLED else Knobs(seed=2, leaves=32, spines=16)
    trace = simulate_scenario("two-roots", dataclasses.replace(knobs, seconds=0.004))
    assert len(trace.truth["congested"]) == 2
    seen = bucket_means(trace)
    others = victims_of(trace) | set(roots_of(trace))
    calm = max(mean for port, mean in seen.items() if port not in {port_key(trace, link) for link in others})
    assert min(seen[port_key(trace, root)] for root in roots_of(trace)) > 3 * calm


def test_packets_asked_for_are_about_the_packets_made() -> None:
    trace = simulate_scenario("lossy-cable", Knobs(seconds=0.004, packets=20_000))
    assert len(trace.packets.time_ns) == pytest.approx(20_000, rel=0.15)


@pytest.mark.parametrize(
    ("name", "knobs", "word"),
    [
        ("nonsense", Knobs(), "no scenario is called 'nonsense'"),
        ("incast", Knobs(leaves=1), "a fabric needs at least"),
        ("incast", Knobs(seconds=0.00001), "never fills"),
        ("prepare-slow", Knobs(seconds=0.00001), "the capture ends before the host is slow"),
    ],
)
def test_what_cannot_be_simulated_is_said(name: str, knobs: Knobs, word: str) -> None:
    with pytest.raises(ScenarioError, match=word):
        simulate_scenario(name, knobs)
