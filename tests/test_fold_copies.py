"""A packet that several mirror points saw counts once in every queue that it crossed, in its flow, and on its path."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from fold_reference import MS, START, Hop, Packet, fill, folded, merged
from known_view import known

from int_analyzer import schema
from int_analyzer.analysis.summarise import summarise
from int_analyzer.fold import copies
from int_analyzer.fold.state import State
from int_analyzer.profile import Profile

LIVES = [pytest.param(False, id="plain"), pytest.param(True, id="compiled")]
ROUTES = ((11, 21, 12), (11, 22, 12), (13, 21, 12), (12, 21, 11, 31))
HOP_BYTES = 28


def sent(count: int, seed: int = 1) -> list[Packet]:
    """Packets as their last switch sees them, in order; each with the times of its hops."""
    random = np.random.default_rng(seed)
    packets = []
    for number in range(count):
        route, at, hops = ROUTES[int(random.integers(len(ROUTES)))], START + 1000 * number, []
        for node in route:
            latency = int(random.exponential(800)) + 300
            hops.append(Hop(node, port=int(route[-1]), latency=latency, depth=latency // 64, begin=at, end=at + latency))
            at += latency + 500
        roce = (7, 17) if random.random() < 0.9 else None
        flow, size = 1 + ROUTES.index(route), int(random.integers(100, 4000))
        packets.append(Packet(at, tuple(hops), flow, size, roce, psn=number, ip_id=number & 0xFFFF, ttl=64 - len(route)))
    return packets


def mirrored(packets: Sequence[Packet], points: Sequence[int]) -> list[Packet]:
    """What mirror points see that stand so many hops from the source: each a stack as long, and the bytes of so many hops less."""
    seen = []
    for packet in packets:
        for point in sorted({min(point, len(packet.hops)) for point in points}):
            less = HOP_BYTES * (len(packet.hops) - point)
            time = packet.hops[point - 1].end
            assert time is not None
            ttl = packet.ttl + len(packet.hops) - point
            seen.append(dataclasses.replace(packet, time=time, hops=packet.hops[:point], size=packet.size - less, ttl=ttl))
    return sorted(seen, key=lambda packet: packet.time)


def twin(seen: Sequence[Packet]) -> dict[str, Any]:
    """What is to be counted: of every packet every hop when it is seen first, and its path as far as it is known in the end."""
    hops: set[Any] = set()
    flows: set[Any] = set()
    queues: Counter[Any] = Counter()
    sizes: Counter[Any] = Counter()
    of_flows: Counter[Any] = Counter()
    longest: dict[Any, tuple[int, ...]] = {}
    for packet in seen:
        identity = (packet.flow_key, packet.psn, packet.ip_id, packet.hops[0])
        of_flows[packet.flow_key] += identity not in flows
        flows.add(identity)
        for place, hop in enumerate(packet.hops):
            if (identity, place) not in hops:
                queues[hop.key] += 1
                sizes[hop.key] += packet.crossed
            hops.add((identity, place))
        longest[identity] = max(longest.get(identity, ()), tuple(hop.node or 0 for hop in packet.hops), key=len)
    return {"queues": queues, "bytes": sizes, "flows": of_flows, "paths": Counter(longest.values()), "copies": len(seen) - len(flows)}


def told(state: State) -> dict[str, Any]:
    """The same of a state."""
    view = state.view()
    seen, nodes = known(view), view.queues.node_id.tolist()
    paths: Counter[Any] = Counter()
    for queues, packets in zip(view.paths.queues, view.paths.packets.tolist(), strict=True):
        paths[tuple(nodes[queue] for queue in queues)] += packets
    keys = [tuple(key) for key in zip(view.queues.node_id.tolist(), view.queues.port.tolist(), view.queues.queue_id.tolist(), strict=True)]
    assert view.queues.latency_histograms.counts().tolist() == view.queues.packets.tolist()
    return {
        "queues": Counter(dict(zip(keys, view.queues.packets.tolist(), strict=True))),
        "bytes": Counter(dict(zip(keys, view.queues.bytes.tolist(), strict=True))),
        "flows": Counter({key: values[0] for key, values in seen["flows"].items()}),
        "paths": +paths,
        "copies": view.counts["copies"],
    }


def watching() -> State:
    """A state that has met a copy before, so that it watches every packet."""
    state = State()
    state._seen[copies.WATCHING] = 1
    return state


def folded_on(state: State, packets: Sequence[Packet], compiled: bool = False) -> State:
    """The state with these packets folded in."""
    for begin in range(0, len(packets), 500):
        state.fold(fill(packets[begin : begin + 500]), compiled)
    return state


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize("points", [(1,), (1, 9), (1, 2, 9), (2, 3), (1, 2, 3, 4)], ids=str)
def test_every_hop_counts_once_wherever_mirrors_stand(points: tuple[int, ...], compiled: bool) -> None:
    seen = mirrored(sent(1200), points)
    assert told(folded_on(watching(), seen, compiled)) == twin(seen)


@pytest.mark.parametrize("compiled", LIVES)
def test_copies_may_come_in_any_order(compiled: bool) -> None:
    seen = mirrored(sent(1000), (1, 2, 9))
    order = np.argsort(np.arange(len(seen)) + np.random.default_rng(3).integers(0, 60, len(seen)))
    shuffled = [seen[at] for at in order]
    assert told(folded_on(watching(), shuffled, compiled)) == twin(shuffled)


def test_the_same_mirror_point_twice_counts_once() -> None:
    packets = sent(400)
    twice = [packet for packet in packets for _ in range(2)]
    once, both = told(folded_on(watching(), packets)), told(folded_on(watching(), twice))
    assert both == once | {"copies": 400}


@pytest.mark.parametrize("compiled", LIVES)
def test_until_a_copy_is_found_one_packet_in_eight_is_watched(compiled: bool) -> None:
    seen = mirrored(sent(2000), (1, 9))
    right, got = twin(seen), told(folded_on(State(), seen, compiled))
    assert 0 < right["copies"] - got["copies"] < 20
    assert sum(got["queues"].values()) - sum(right["queues"].values()) == right["copies"] - got["copies"]


@pytest.mark.parametrize("phase", range(8))
def test_a_source_that_samples_every_eighth_packet_hides_no_copies(phase: int) -> None:
    seen = mirrored([packet for packet in sent(4000) if packet.psn % 8 == phase and packet.roce is not None], (1, 9))
    right, got = twin(seen)["copies"], told(folded(seen))["copies"]
    assert right > 400 and right - got < 40


def by_a_coarse_clock(count: int = 400, **rest: Any) -> list[Packet]:
    """Packets of eight flows in one millisecond of switches that tell of no finer times; equal PSNs in all flows."""
    tick = 7
    hops = tuple(Hop(node, latency=0, depth=0, begin=tick, end=tick) for node in (11, 12))
    return [Packet(START + 2500 * number, hops, 1 + number % 8, psn=number // 8, **rest) for number in range(count)]


@pytest.mark.parametrize(
    "rest",
    [{"ip": 6, "roce": None}, {"roce": None}, {"ip": 6}, {}],
    ids=["IPv6", "IPv4 without an identification", "RoCEv2 over IPv6", "RoCEv2 without an identification"],
)
def test_packets_of_one_tick_of_a_coarse_clock_are_no_copies(rest: dict[str, Any]) -> None:
    packets = by_a_coarse_clock(**rest)
    view = folded_on(watching(), packets).view()
    assert view.counts["copies"] == 0 and view.queues.packets.tolist() == [len(packets)] * 2
    assert view.flows.packets.sum() == len(packets)


def test_what_else_the_first_hop_says_tells_packets_of_one_tick_apart() -> None:
    one = by_a_coarse_clock(1)[0]
    again = [
        dataclasses.replace(one, hops=(dataclasses.replace(one.hops[0], **said), one.hops[1])) for said in ({"depth": 3}, {"latency": 9})
    ]
    assert folded_on(watching(), [one, *again]).view().counts["copies"] == 0
    assert folded_on(watching(), [one, *again, *again]).view().counts["copies"] == 2


@pytest.mark.parametrize(
    ("late", "copies_told"), [(0, 1), (45 * MS, 1), (-45 * MS, 1), (60 * MS, 0), (-60 * MS, 0), (4000 * MS, 0)], ids=str
)
def test_what_comes_later_than_a_network_holds_a_packet_is_another_one(late: int, copies_told: int) -> None:
    one = sent(1)[0]
    again = dataclasses.replace(one, time=one.time + late)
    assert folded_on(watching(), [one, again]).view().counts["copies"] == copies_told


def test_pieces_of_a_capture_lose_only_copies_that_lie_across_their_ends() -> None:
    seen = mirrored(sent(2000), (1, 9))
    whole, pieces = twin(seen), told(merged(folded_on(watching(), seen[:1900]), folded_on(watching(), seen[1900:])))
    assert 0 <= whole["copies"] - pieces["copies"] < 20


def test_a_merged_state_goes_on_telling_copies() -> None:
    packets = sent(600)
    state = watching()
    other = folded_on(watching(), mirrored(sent(50, seed=9), (9,)))
    folded_on(state, mirrored(packets, (1,)))
    state.merge(other)
    folded_on(state, mirrored(packets, (9,)))
    assert state.view().counts["copies"] == 600


def test_a_retransmission_is_no_copy() -> None:
    first = sent(1)[0]
    later = [dataclasses.replace(hop, begin=(hop.begin or 0) + MS, end=(hop.end or 0) + MS) for hop in first.hops]
    again = dataclasses.replace(first, time=first.time + MS, hops=tuple(later))
    state = folded_on(watching(), [first, again])
    assert state.view().counts["copies"] == 0
    assert state.view().queues.packets.tolist() == [2] * len(first.hops)


def test_a_packet_that_the_network_made_two_of_counts_where_they_part() -> None:
    one = sent(1)[0]
    elsewhere = dataclasses.replace(one, hops=(one.hops[0], Hop(99, latency=5, begin=1, end=6)))
    state = folded_on(watching(), [one, elsewhere])
    assert known(state.view())["queues"].keys() >= {hop.key for hop in (*one.hops, *elsewhere.hops)}
    assert state.view().queues.packets.tolist() == [1] * (len(one.hops) + 1)
    assert sorted(state.view().paths.packets.tolist()) == [1, 1]


def test_without_times_nothing_is_told_and_it_is_said() -> None:
    bare = [dataclasses.replace(hop, begin=None, end=None) for hop in sent(1)[0].hops]
    packets = [dataclasses.replace(packet, hops=tuple(bare), flow=1, roce=(7, 17)) for packet in sent(400)]
    twice = sorted(
        (dataclasses.replace(packet, time=packet.time + late, ttl=packet.ttl - late) for packet in packets for late in (0, 1)),
        key=lambda packet: packet.time,
    )
    view = folded_on(watching(), twice).view()
    assert view.counts["copies"] == 0 and view.queues.packets.tolist() == [800] * len(bare)
    quality = summarise(view, Profile()).quality
    assert quality is not None
    assert any("about 400 packets count twice" in reason for reason in quality.trust_reasons)


def test_hops_of_packets_that_are_in_no_flow_are_judged() -> None:
    told_of_nothing = Packet(START, sent(1)[0].hops[:1], ip=0, roce=None, telemetry=0, reports=1)
    quality = summarise(folded_on(State(), [told_of_nothing] * 20).view(), Profile()).quality
    assert quality is not None and (quality.hops, quality.copies) == (20, 0)


def test_reports_of_single_nodes_are_not_said_to_count_twice() -> None:
    cards = [
        dataclasses.replace(
            packet,
            hops=(dataclasses.replace(hop, flags=schema.HOP_FROM_REPORT),),
            time=hop.end or 0,
            ttl=64 - place,
            reports=1,
            telemetry=schema.FORMAT_REPORT_2,
        )
        for packet in sent(400)
        for place, hop in enumerate(packet.hops)
    ]
    view = folded_on(State(), [dataclasses.replace(card, flow=1, roce=(7, 17)) for card in cards]).view()
    quality = summarise(view, Profile()).quality
    assert view.connections.duplicates.sum() > 400 and quality is not None
    assert not any("count twice" in reason for reason in quality.trust_reasons)


def test_copies_are_said_and_cost_no_trust() -> None:
    seen = mirrored(sent(1000), (1, 9))
    once = summarise(folded_on(watching(), mirrored(sent(1000), (9,))).view(), Profile()).quality
    quality = summarise(folded_on(watching(), seen).view(), Profile()).quality
    assert once is not None and quality is not None
    assert (quality.copies, quality.hops, quality.trust) == (1000, once.hops, once.trust)
    assert any(reason.startswith("50 % of the packets with telemetry were seen before") for reason in quality.trust_reasons)


def test_paths_on_which_no_packet_ended_are_not_listed() -> None:
    seen = mirrored(sent(300), (1, 9))
    summary = summarise(folded_on(watching(), seen).view(), Profile())
    assert sum(path.packets for path in summary.paths) == 300
    assert all(path.packets for path in summary.paths) and all(link.packets for link in summary.links)
