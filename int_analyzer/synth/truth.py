"""What really happened in a simulation, as the document that stands beside a capture: the same form as beside captures of real networks.

Ports are roots by what was done to the fabric; when they were congested, and which ports waited for them, was measured in the queues. A
port on the way to a root that filled although it was never paused waited for nobody: the same flows were too much for it, too.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

import numpy as np

from int_analyzer.errors import ScenarioError
from int_analyzer.synth.address import hash_flow, spine_of
from int_analyzer.synth.clock import EPOCH_NS, Clocks
from int_analyzer.synth.fabric import Fabric
from int_analyzer.synth.ground import Ground
from int_analyzer.synth.observation import QUEUE_IDS
from int_analyzer.synth.scene import Root, Scene
from int_analyzer.synth.state import (
    CROSSED,
    DATA,
    DELIVERED,
    DEPENDENTS,
    DROPPED_CABLE,
    DROPPED_DOWN,
    DROPPED_FULL,
    DROPPED_TTL,
    M_DONE,
    M_POSTED,
    MARKED,
    MESSAGE_WORDS,
    MESSAGES,
    NOTIFIED,
    PAUSES,
    PICOSECONDS,
    POOL_LIVE,
    REPORTS_LOST,
    RETRANSMITTED,
    SEEN,
    SENT,
    SEQUENCE_NAKS,
    TIMEOUTS,
    World,
)
from int_analyzer.synth.trace import Flows
from int_analyzer.synth.world import Settings, message_order

VERSION = 1
FILLED_BYTES = 30_000
"""A queue with so much in it is congested: more than even traffic at 60 % load ever leaves waiting."""
AFTERMATH = 0.25
"""A queue may need so much of the capture's time to empty after what filled it has ended."""
HOW = {
    "overload": "more is sent to the port than its link carries",
    "imbalance": "the hash of the node sends most flows to this port",
    "degraded-link": "the link does not carry what it is sold with",
    "paused-port": "the host behind the port takes packets slowly and pauses it",
}
_COUNTED = {
    "sent": SENT,
    "delivered": DELIVERED,
    "dropped_full": DROPPED_FULL,
    "dropped_ttl": DROPPED_TTL,
    "dropped_cable": DROPPED_CABLE,
    "dropped_down": DROPPED_DOWN,
    "in_flight": POOL_LIVE,
    "retransmitted": RETRANSMITTED,
    "sequence_naks": SEQUENCE_NAKS,
    "timeouts": TIMEOUTS,
    "marked": MARKED,
    "cnps": NOTIFIED,
    "pauses": PAUSES,
    "packet_hops": CROSSED,
}


def tell_truth(scene: Scene, settings: Settings, clocks: Clocks, flows: Flows, world: World, ground: Ground) -> dict[str, Any]:
    """The truth document. Raises ScenarioError if the situation did not arise."""
    fabric = scene.fabric
    when = _times_of(scene, world)
    return {
        "version": VERSION,
        "scenario": scene.name,
        "seed": scene.seed,
        "data_plane": "simulation",
        "topology": {"leaves": fabric.leaves, "spines": fabric.spines, "hosts_per_leaf": fabric.hosts_per_leaf},
        "nothing": not scene.roots and not scene.events and not scene.hosts,
        "congested": [_root(scene, root, flows, ground, when) for root in scene.roots],
        "events": [_event(scene, event, flows) for event in scene.events],
        "hosts": [_host(scene, trouble, when) for trouble in scene.hosts],
        "clocks": {
            str(fabric.node_id(site)): {
                "offset_ns": int(clocks.offset_ns[site]),
                "drift_ppm": float(clocks.drift_ppb[site]) / 1000,
                "at_ns": EPOCH_NS,
            }
            for site in range(fabric.hosts, fabric.sites)
        },
        "telemetry": {
            "one_packet_in": settings.telemetry_every,
            "report_loss": settings.report_loss,
            "mirror_points": settings.mirror_points,
            "mirrored": int(world.state[SEEN] + world.state[REPORTS_LOST]),
            "lost": int(world.state[REPORTS_LOST]),
            "silent_nodes": sorted(fabric.node_id(site) for site in settings.silent_sites),
        },
        "counted": {word: int(world.state[number]) for word, number in _COUNTED.items()},
    }


def _root(scene: Scene, root: Root, flows: Flows, ground: Ground, when: Callable[[int], tuple[int, int]]) -> dict[str, Any]:
    start, end = root.start_ns, root.end_ns
    entry = _port(scene.fabric, root.link) | {"queue": int(QUEUE_IDS[DATA]), "cause": root.cause, "how": HOW[root.cause]}
    if root.bursts:
        times = [_burst(when, burst) for burst in root.bursts]
        entry["bursts"] = [{"from_ns": EPOCH_NS + first, "to_ns": EPOCH_NS + last} for first, last in times]
        start, end = times[0][0], times[-1][1]
    elif root.fills:
        filled = ground.filled(root.link, FILLED_BYTES, start, min(end + int(AFTERMATH * scene.end_ns), scene.end_ns))
        if filled is None:
            raise ScenarioError(f"{scene.name}: with these settings the queue that is to be congested never fills")
        start, end = max(filled[0], start), filled[1]
    filled_ports = find_filled(scene.fabric, ground, root.link, start, end, links_of(scene.fabric, flows, root.culprits))
    victims = [(link, since) for link, since in filled_ports if was_held_up(ground, link, start, end)]
    overloaded = [(link, since) for link, since in filled_ports if (link, since) not in victims]
    return entry | {
        "from_ns": EPOCH_NS + start,
        "to_ns": EPOCH_NS + end,
        "culprits": [_flow(flows, flow) for flow in root.culprits],
        "victim_ports": [_port(scene.fabric, link) | {"from_ns": EPOCH_NS + since} for link, since in victims],
        "overloaded_ports": [_port(scene.fabric, link) | {"from_ns": EPOCH_NS + since} for link, since in overloaded],
    }


def was_held_up(ground: Ground, link: int, start_ns: int, end_ns: int) -> bool:
    """Whether a link was paused at some time while its queue was filled."""
    within = ground.stretches(start_ns, end_ns)
    return bool((ground.paused_ns[link, within] > 0)[ground.depth_bytes[link, within] >= FILLED_BYTES].any())


def find_filled(fabric: Fabric, ground: Ground, root: int, start_ns: int, end_ns: int, on_the_way: set[int]) -> list[tuple[int, int]]:
    """Ports that filled on the way to the root, or because the node behind them paused them: (link, since), in order of time.

    The search goes from the root backwards, port by port; `on_the_way` are links of the flows that fill the root.
    """
    within = ground.stretches(start_ns, end_ns)
    held = ground.paused_ns[:, within] > 0
    held[list(on_the_way)] = True
    held &= ground.depth_bytes[:, within] >= FILLED_BYTES
    source, target = fabric.links.source, fabric.links.target
    found: dict[int, int] = {}
    reached = {int(source[root])}
    while reached:
        new = [
            link
            for link in np.flatnonzero(held.any(axis=1) & np.isin(target, list(reached)) & (source >= fabric.hosts)).tolist()
            if link not in found and link != root
        ]
        found |= {link: (int(np.argmax(held[link])) + within.start) * ground.width_ns for link in new}
        reached = {int(source[link]) for link in new}
    return sorted(found.items(), key=lambda item: item[1])


def links_of(fabric: Fabric, flows: Flows, chosen: list[int]) -> set[int]:
    """Links between leaves and spines over which flows go by their hash."""
    found = set()
    for flow in chosen:
        near, far = (fabric.leaf_of(int(hosts[flow])) for hosts in (flows.src_host, flows.dst_host))
        if near != far:
            entropy = hash_flow(*(int(values[flow]) for values in (flows.src_ip, flows.dst_ip, flows.udp_source_port)))
            spine = spine_of(entropy, fabric.spines)
            found |= {fabric.to_spine(near, spine), fabric.to_leaf(spine, far)}
    return found


def _event(scene: Scene, event: dict[str, Any], flows: Flows) -> dict[str, Any]:
    fabric, ports = scene.fabric, event["links"]
    return {
        "kind": event["kind"],
        "start_ns": EPOCH_NS + event["start"],
        "end_ns": EPOCH_NS + event["end"],
        "ports": [_port(fabric, link) for link in ports],
        "nodes": sorted({fabric.node_id(int(fabric.links.source[link])) for link in ports}),
    }


def _host(scene: Scene, trouble: dict[str, Any], when: Callable[[int], tuple[int, int]]) -> dict[str, Any]:
    host = trouble["host"]
    if trouble["message"] is None or when(trouble["message"])[0] < 0:
        raise ScenarioError(f"{scene.name}: with these settings the capture ends before the host is slow")
    start = when(trouble["message"])[0] - trouble["waited_ns"]
    return {
        "host": str(ipaddress.IPv4Address(scene.fabric.address(host))),
        "name": scene.fabric.site_name(host),
        "cause": trouble["cause"],
        "from_ns": EPOCH_NS + start,
        "late_ns": trouble["late_ns"],
    }


def _port(fabric: Fabric, link: int) -> dict[str, Any]:
    source, port = int(fabric.links.source[link]), int(fabric.links.source_port[link])
    return {
        "node": fabric.site_name(source),
        "node_id": fabric.node_id(source),
        "port": port,
        "port_id": port,
        "towards": fabric.site_name(int(fabric.links.target[link])),
    }


def _flow(flows: Flows, flow: int) -> dict[str, Any]:
    return {
        "src_ip": str(ipaddress.IPv4Address(int(flows.src_ip[flow]))),
        "dst_ip": str(ipaddress.IPv4Address(int(flows.dst_ip[flow]))),
        "udp_sport": int(flows.udp_source_port[flow]),
        "dest_qp": int(flows.dest_qp[flow]),
    }


def _burst(when: Callable[[int], tuple[int, int]], messages: list[int]) -> tuple[int, int]:
    times = [when(message) for message in messages]
    return min(posted for posted, _ in times), max(done for _, done in times)


def _times_of(scene: Scene, world: World) -> Callable[[int], tuple[int, int]]:
    """When a message was posted and complete, in ns; −1: not in the time of the simulation."""
    state = world.state
    rows = state[int(state[MESSAGES]) : int(state[DEPENDENTS])].reshape(-1, MESSAGE_WORDS)
    place = np.empty(len(rows), dtype=np.int64)
    place[message_order(scene.traffic)] = np.arange(len(rows))

    def times(message: int) -> tuple[int, int]:
        posted, done = rows[place[message], [M_POSTED, M_DONE]].tolist()
        return posted // PICOSECONDS, done // PICOSECONDS

    return times
