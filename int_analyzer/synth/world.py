"""The memory of a simulation, laid out: fabric, traffic and settings become the records of state.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.synth.address import hash_flow
from int_analyzer.synth.chance import mix
from int_analyzer.synth.fabric import Fabric
from int_analyzer.synth.rate import ALPHA_ONE
from int_analyzer.synth.state import (
    ACK_EVERY,
    ACTION_COUNT,
    ACTION_WORDS,
    ACTIONS,
    C_ALPHA,
    C_CAP_BPS,
    C_FLOW,
    C_LAST,
    C_LINE_BPS,
    C_MESSAGE,
    C_NEXT_WAITING,
    C_PORT,
    C_RATE_BPS,
    C_RESPONDS,
    C_TARGET_BPS,
    C_UNACKED_MESSAGE,
    CONTEXT_WORDS,
    DEPENDENTS,
    ECN,
    ECN_HIGH,
    ECN_LOW,
    ECN_MOST,
    END,
    F_HASH,
    F_NOTIFIED_AT,
    F_NUMBER,
    F_REQUESTS,
    F_RESPONSES,
    F_REVERSE,
    F_SOURCE,
    F_TARGET,
    FLOW_WORDS,
    GROUND_BUCKETS,
    GROUND_WIDTH,
    GROUND_WORDS,
    HEADROOM,
    HOP_BYTES,
    HOP_WORDS,
    HOSTS,
    L_BYTE_TIME,
    L_DELAY,
    L_HEAD,
    L_HEAD_CONTROL,
    L_NOMINAL_BYTE_TIME,
    L_NUMBER,
    L_REVERSE,
    L_SOURCE,
    L_TAIL,
    L_TAIL_CONTROL,
    L_TARGET,
    L_UP,
    L_WAITING,
    L_WAITING_LAST,
    LEAVES,
    LINK_WORDS,
    LINKS,
    LOOP_HOST,
    LOOP_LEAF,
    LOOP_SPINE,
    M_BYTES,
    M_DELAY,
    M_DONE,
    M_FLOW,
    M_FOLLOWER_COUNT,
    M_FOLLOWERS,
    M_KIND,
    M_MISSING,
    M_NEXT,
    M_NEXT_READ,
    M_PACKETS,
    M_POST_AT,
    M_POSTED,
    M_THINK_TIME,
    MESSAGE_WORDS,
    MESSAGES,
    MIRROR_ALL,
    MIRROR_POINTS,
    MTU,
    NONE,
    NUMBERS,
    PACKET_WORDS,
    PER_LEAF,
    PFC,
    PICOSECONDS,
    POLARISED_LEAF,
    POLARISED_SHARE,
    POLARISED_SPINE,
    POOL_FREE,
    QUEUE_LIMIT,
    REPORT_LOSS,
    S_IS_SWITCH,
    S_NUMBER,
    S_PIPELINE,
    S_TELLS,
    SEED,
    SEEN_WORDS,
    SITE_WORDS,
    SITES,
    SPINES,
    TELEMETRY_BYTES,
    TELEMETRY_EVERY,
    TIMED,
    TIMEOUT,
    WINDOW,
    XOFF,
    XON,
    World,
)
from int_analyzer.synth.trace import Flows
from int_analyzer.synth.traffic import KINDS, NOT_BY_TIME, Traffic

BIT_PICOSECONDS = 8 * 10**12
GROUND_NS = 50_000
"""Width of the stretches of time of ground truth, or a multiple of it …"""
GROUND_ROWS = 1 << 21
"""… when a large fabric for a long time would need more rows than this."""
NOT_YET = -(1 << 50)


@dataclass(frozen=True)
class Settings:
    """How switches, hosts and telemetry behave. Sizes in bytes, times in ns."""

    seed: int = 1
    seconds: float = 0.03
    mtu: int = 4096
    pfc: bool = True
    pause_above: int = 300_000
    resume_below: int = 250_000
    headroom: int = 64_000
    queue_limit: int = 1_000_000
    ecn: bool = True
    ecn_low: int = 40_000
    ecn_high: int = 200_000
    ecn_most: float = 0.2
    window_packets: int = 128
    ack_every: int = 16
    timeout_ns: int = 16_777_216
    pipeline_ns: int = 400
    telemetry_every: int = 1
    telemetry_bytes: int = 24
    hop_bytes: int = 32
    mirror_all: bool = True
    mirror_points: int = 1
    report_loss: float = 0.0
    silent_sites: frozenset[int] = frozenset()
    polarised: tuple[int, int, float] | None = None
    loop: tuple[int, int] | None = None
    hash_without_ports: int | None = None


@dataclass(frozen=True)
class Action:
    """Something that is done to a link (by number) at a time; `value` is as the kind needs it."""

    at_ns: int
    kind: int
    link: int
    value: int


def byte_time(bps: float) -> int:
    """Picoseconds that a byte takes."""
    return round(BIT_PICOSECONDS / bps)


def build_world(fabric: Fabric, traffic: Traffic, wire: Flows, actions: list[Action], settings: Settings) -> World:
    """A world at time 0. `wire` is how the flows of the traffic are called; messages are laid out in `message_order`."""
    links, flows, messages = len(fabric.links.source), 2 * len(traffic.connections), len(traffic.messages)
    followers = sum(len(message.after) for message in traffic.messages)
    sizes = {
        "numbers": NUMBERS,
        "links": links * LINK_WORDS,
        "messages": messages * MESSAGE_WORDS,
        "followers": followers,
        "actions": len(actions) * ACTION_WORDS,
        "sites": fabric.sites * SITE_WORDS,
        "flows": flows * FLOW_WORDS,
        "contexts": 2 * flows * CONTEXT_WORDS,
    }
    starts = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    state = np.zeros(sum(sizes.values()), dtype=np.int64)

    def table(name: str, words: int) -> Any:
        return state[starts[name] : starts[name] + sizes[name]].reshape(-1, words)

    _fill_numbers(state, fabric, actions, settings, starts)
    _fill_sites(table("sites", SITE_WORDS), fabric, settings)
    _fill_links(table("links", LINK_WORDS), fabric, starts)
    _fill_flows(table("flows", FLOW_WORDS), table("contexts", CONTEXT_WORDS), fabric, traffic, wire, settings, starts)
    _fill_messages(state, table("messages", MESSAGE_WORDS), traffic, settings, starts)
    for row, action in zip(table("actions", ACTION_WORDS), sorted(actions, key=lambda action: action.at_ns), strict=True):
        row[:] = action.at_ns * PICOSECONDS, action.kind, starts["links"] + action.link * LINK_WORDS, action.value
    buckets = int(state[GROUND_BUCKETS])
    return World(
        state=state,
        pool=np.zeros(1024 * PACKET_WORDS, dtype=np.int64),
        heap=np.zeros(1 << 14, dtype=np.int64),
        seen=np.zeros((1 << 14) * SEEN_WORDS, dtype=np.int64),
        seen_hops=np.zeros((1 << 15) * HOP_WORDS, dtype=np.int64),
        ground=np.zeros(links * buckets * GROUND_WORDS, dtype=np.int64),
    )


def message_order(traffic: Traffic) -> Any:
    """Numbers of messages in the order in which they are laid out: those posted by time first, in order of time."""
    times = np.array([message.at_ns for message in traffic.messages], dtype=np.int64)
    return np.argsort(np.where(times == NOT_BY_TIME, np.iinfo(np.int64).max, times), kind="stable")


def _fill_numbers(state: Any, fabric: Fabric, actions: list[Action], settings: Settings, starts: dict[str, int]) -> None:
    end = round(settings.seconds * 1e12)
    finest = GROUND_NS * PICOSECONDS
    width = finest * max(-(-len(fabric.links.source) * (end // finest + 1) // GROUND_ROWS), 1)
    leaf, spine, share = settings.polarised or (NONE, NONE, 0.0)
    loop_host, loop_leaf = settings.loop or (NONE, NONE)
    values = {
        LINKS: starts["links"],
        MESSAGES: starts["messages"],
        DEPENDENTS: starts["followers"],
        ACTIONS: starts["actions"],
        SITES: starts["sites"],
        HOSTS: fabric.hosts,
        LEAVES: fabric.leaves,
        SPINES: fabric.spines,
        PER_LEAF: fabric.hosts_per_leaf,
        ACTION_COUNT: len(actions),
        SEED: mix(settings.seed),
        END: end,
        PFC: settings.pfc,
        XOFF: settings.pause_above,
        XON: settings.resume_below,
        HEADROOM: settings.headroom,
        QUEUE_LIMIT: settings.queue_limit,
        ECN: settings.ecn,
        ECN_LOW: settings.ecn_low,
        ECN_HIGH: settings.ecn_high,
        ECN_MOST: round(settings.ecn_most * 65536),
        MTU: settings.mtu,
        WINDOW: settings.window_packets,
        ACK_EVERY: settings.ack_every,
        TIMEOUT: settings.timeout_ns * PICOSECONDS,
        TELEMETRY_EVERY: settings.telemetry_every,
        TELEMETRY_BYTES: settings.telemetry_bytes,
        HOP_BYTES: settings.hop_bytes,
        MIRROR_ALL: settings.mirror_all,
        MIRROR_POINTS: settings.mirror_points,
        REPORT_LOSS: round(settings.report_loss * 65536),
        POLARISED_LEAF: leaf,
        POLARISED_SPINE: spine,
        POLARISED_SHARE: round(share * 256),
        LOOP_SPINE: NONE,
        LOOP_HOST: loop_host,
        LOOP_LEAF: loop_leaf,
        GROUND_WIDTH: width,
        GROUND_BUCKETS: end // width + 1,
        POOL_FREE: NONE,
    }
    for number, value in values.items():
        state[number] = value


def _fill_sites(sites: Any, fabric: Fabric, settings: Settings) -> None:
    switches = np.arange(fabric.sites) >= fabric.hosts
    sites[:, S_NUMBER] = np.arange(fabric.sites) - np.where(switches, fabric.hosts, 0)
    sites[:, S_IS_SWITCH] = switches
    sites[:, S_PIPELINE] = np.where(switches, settings.pipeline_ns * PICOSECONDS, 0)
    sites[:, S_TELLS] = switches & ~np.isin(np.arange(fabric.sites), list(settings.silent_sites))


def _fill_links(links: Any, fabric: Fabric, starts: dict[str, int]) -> None:
    number = np.arange(len(links))
    links[:, L_SOURCE] = starts["sites"] + fabric.links.source * SITE_WORDS
    links[:, L_TARGET] = starts["sites"] + fabric.links.target * SITE_WORDS
    links[:, L_NUMBER] = number
    links[:, L_REVERSE] = starts["links"] + (number ^ 1) * LINK_WORDS
    links[:, L_BYTE_TIME] = np.rint(BIT_PICOSECONDS / fabric.links.speed_bps)
    links[:, L_NOMINAL_BYTE_TIME] = links[:, L_BYTE_TIME]
    links[:, L_DELAY] = fabric.links.delay_ns * PICOSECONDS
    links[:, L_UP] = 1
    for empty in (L_HEAD, L_HEAD_CONTROL, L_TAIL, L_TAIL_CONTROL, L_WAITING, L_WAITING_LAST):
        links[:, empty] = NONE


def _fill_flows(
    flows: Any, contexts: Any, fabric: Fabric, traffic: Traffic, wire: Flows, settings: Settings, starts: dict[str, int]
) -> None:
    cap = np.array([connection.cap_bps for connection in traffic.connections], dtype=np.int64)
    number = np.arange(len(flows))
    flows[:, F_NUMBER] = number
    flows[:, F_REVERSE] = starts["flows"] + (number ^ 1) * FLOW_WORDS
    flows[:, F_SOURCE] = wire.src_host
    flows[:, F_TARGET] = wire.dst_host
    # The leaf of the source is the only one that chooses.
    without_ports = wire.src_host // fabric.hosts_per_leaf == (NONE if settings.hash_without_ports is None else settings.hash_without_ports)
    port = np.where(without_ports, 0, wire.udp_source_port.astype(np.int64))
    flows[:, F_HASH] = hash_flow(wire.src_ip.astype(np.int64), wire.dst_ip.astype(np.int64), port)
    flows[:, F_REQUESTS] = starts["contexts"] + 2 * number * CONTEXT_WORDS
    flows[:, F_RESPONSES] = flows[:, F_REQUESTS] + CONTEXT_WORDS
    flows[:, F_NOTIFIED_AT] = NOT_YET

    of_flow = np.repeat(number, 2)
    line = fabric.links.speed_bps[2 * flows[of_flow, F_SOURCE]]
    contexts[:, C_FLOW] = starts["flows"] + of_flow * FLOW_WORDS
    contexts[:, C_PORT] = starts["links"] + 2 * flows[of_flow, F_SOURCE] * LINK_WORDS
    contexts[:, C_RESPONDS] = np.arange(len(contexts)) & 1
    contexts[:, C_LINE_BPS] = contexts[:, C_RATE_BPS] = contexts[:, C_TARGET_BPS] = line
    contexts[:, C_CAP_BPS] = np.where(np.repeat(cap, 4) > 0, np.repeat(cap, 4), line)
    contexts[:, C_ALPHA] = ALPHA_ONE
    for empty in (C_MESSAGE, C_LAST, C_UNACKED_MESSAGE, C_NEXT_WAITING):
        contexts[:, empty] = NONE


def _fill_messages(state: Any, rows: Any, traffic: Traffic, settings: Settings, starts: dict[str, int]) -> None:
    order = message_order(traffic)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = starts["messages"] + np.arange(len(order)) * MESSAGE_WORDS
    messages = traffic.messages
    in_order = [messages[number] for number in order.tolist()]
    size = np.array([message.size for message in in_order], dtype=np.int64)
    rows[:, M_FLOW] = starts["flows"] + np.array([message.flow for message in in_order], dtype=np.int64) * FLOW_WORDS
    rows[:, M_KIND] = [KINDS[message.kind] for message in in_order]
    rows[:, M_BYTES] = size
    rows[:, M_PACKETS] = np.maximum(-(-size // settings.mtu), 1)
    rows[:, M_POST_AT] = np.array([message.at_ns for message in in_order], dtype=np.int64) * PICOSECONDS
    rows[:, M_MISSING] = [len(message.after) for message in in_order]
    rows[:, M_DELAY] = np.array([message.delay_ns for message in in_order], dtype=np.int64) * PICOSECONDS
    rows[:, M_THINK_TIME] = np.array([message.think_ns for message in in_order], dtype=np.int64) * PICOSECONDS
    for column in (M_NEXT, M_NEXT_READ, M_POSTED, M_DONE):
        rows[:, column] = NONE
    state[TIMED] = sum(message.at_ns != NOT_BY_TIME for message in messages)
    awaited = np.array([before for message in messages for before in message.after], dtype=np.int64)
    waiting = np.repeat(np.arange(len(messages)), [len(message.after) for message in messages])
    by_awaited = np.argsort(awaited, kind="stable")
    state[starts["followers"] : starts["followers"] + len(awaited)] = place[waiting[by_awaited]]
    count = np.bincount(awaited, minlength=len(messages))
    first = starts["followers"] + np.cumsum(count) - count
    rows[:, M_FOLLOWERS], rows[:, M_FOLLOWER_COUNT] = first[order], count[order]
