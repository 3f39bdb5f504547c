"""A switch: where a packet goes on, what is marked, paused or dropped on the way into a queue."""

from __future__ import annotations

from int_analyzer._jit import kernel
from int_analyzer.synth.chance import draw, mix
from int_analyzer.synth.port import account_pause, enqueue, hold, lose, release
from int_analyzer.synth.state import (
    CONTROL,
    DATA,
    DROPPED_DOWN,
    DROPPED_FULL,
    DROPPED_TTL,
    ECN,
    ECN_CAPABLE,
    ECN_HIGH,
    ECN_LOW,
    ECN_MOST,
    F_HASH,
    F_TARGET,
    HEADROOM,
    HOSTS,
    L_BYTES,
    L_COUNT,
    L_DELAY,
    L_HEAD,
    L_HELD,
    L_PAUSED,
    L_SOURCE,
    L_UP,
    LEAVES,
    LINK_WORDS,
    LINKS,
    LOOP_HOST,
    LOOP_LEAF,
    LOOP_SPINE,
    MARKED,
    NONE,
    P_BYTES,
    P_CAME,
    P_DEPTH,
    P_ECN,
    P_FLOW,
    P_NEXT,
    P_OPCODE,
    P_OVER,
    P_STARTED,
    P_TELEMETRY,
    P_TTL,
    PER_LEAF,
    PFC,
    POLARISED_LEAF,
    POLARISED_SHARE,
    POLARISED_SPINE,
    QUEUE_LIMIT,
    S_IS_SWITCH,
    S_NUMBER,
    SPINES,
    TELEMETRY_BYTES,
    TELEMETRY_EVERY,
    XOFF,
    World,
)
from int_analyzer.synth.telemetry import add_hop, mirror
from int_analyzer.synth.trace import CNP

ECN_MARKED = 3


@kernel
def host_link(w: World, host: int) -> int:
    """The link from a leaf down to host number `host`."""
    return w.state[LINKS] + (2 * host + 1) * LINK_WORDS


@kernel
def leaf_link(w: World, leaf: int, spine: int) -> int:
    """The link from a leaf up to a spine, both by number; its reverse is the record behind it."""
    return w.state[LINKS] + 2 * (w.state[HOSTS] + leaf * w.state[SPINES] + spine) * LINK_WORDS


@kernel
def choose_spine(w: World, leaf: int, target_leaf: int, entropy: int) -> int:
    """Equal-cost choice by hash among the spines with both links up; NONE without any.

    When a link fails only the flows that used it move.
    """
    state = w.state
    spines = state[SPINES]
    if state[POLARISED_LEAF] == leaf and (entropy >> 20) & 0xFF < state[POLARISED_SHARE]:
        return state[POLARISED_SPINE]
    for attempt in range(8 * spines):
        spine = mix(entropy + attempt) % spines
        if state[leaf_link(w, leaf, spine) + L_UP] != 0 and state[leaf_link(w, target_leaf, spine) + LINK_WORDS + L_UP] != 0:
            return spine
    return NONE


@kernel
def route(w: World, packet: int, site: int) -> int:
    """The link on which the switch `site` sends a packet on; NONE if none is up."""
    state = w.state
    flow = w.pool[packet + P_FLOW]
    host = state[flow + F_TARGET]
    target_leaf = host // state[PER_LEAF]
    switch = state[site + S_NUMBER]
    if switch < state[LEAVES]:
        if switch == target_leaf:
            return host_link(w, host)
        spine = choose_spine(w, switch, target_leaf, state[flow + F_HASH])
        return NONE if spine == NONE else leaf_link(w, switch, spine)
    spine = switch - state[LEAVES]
    if spine == state[LOOP_SPINE] and host == state[LOOP_HOST]:
        target_leaf = state[LOOP_LEAF]
    return leaf_link(w, target_leaf, spine) + LINK_WORDS


@kernel
def forward(w: World, packet: int, site: int) -> None:
    """A packet has come to a switch: put it into the queue of the port where it goes on, or drop it."""
    state, pool = w.state, w.pool
    over = pool[packet + P_OVER]
    pool[packet + P_CAME] = pool[packet + P_STARTED] + state[over + L_DELAY]
    pool[packet + P_TTL] -= 1
    traffic_class = CONTROL if pool[packet + P_OPCODE] == CNP else DATA
    if state[state[over + L_SOURCE] + S_IS_SWITCH] == 0 and draw(w) % state[TELEMETRY_EVERY] == 0:
        pool[packet + P_TELEMETRY] = 1
        pool[packet + P_BYTES] += state[TELEMETRY_BYTES]
    link = route(w, packet, site)
    if link == NONE or state[link + L_UP] == 0:
        lose(w, packet, over, DROPPED_DOWN)
        return
    depth = state[link + L_BYTES + traffic_class]
    full = depth + pool[packet + P_BYTES] > state[QUEUE_LIMIT]
    if state[PFC] != 0:
        full = traffic_class == DATA and state[over + L_HELD] + pool[packet + P_BYTES] > state[XOFF] + state[HEADROOM]
    if full or pool[packet + P_TTL] == 0:
        pool[packet + P_DEPTH] = depth
        if pool[packet + P_TELEMETRY] != 0:
            add_hop(w, packet, link, traffic_class)
            mirror(w, packet, site, 1)
        lose(w, packet, link, DROPPED_FULL if full else DROPPED_TTL)
        return
    if state[ECN] != 0 and pool[packet + P_ECN] == ECN_CAPABLE and marks(w, depth):
        pool[packet + P_ECN] = ECN_MARKED
        state[MARKED] += 1
    hold(w, packet, traffic_class)
    enqueue(w, link, packet, traffic_class)


@kernel
def marks(w: World, depth: int) -> bool:
    """Whether a packet that finds so many bytes in its queue is marked: never below, rising, always above (as RED)."""
    state = w.state
    if depth <= state[ECN_LOW]:
        return False
    if depth > state[ECN_HIGH]:
        return True
    return (draw(w) >> 16) * (state[ECN_HIGH] - state[ECN_LOW]) < state[ECN_MOST] * (depth - state[ECN_LOW])


@kernel
def cut(w: World, link: int) -> None:
    """A link goes down: what waits for it is lost."""
    state, pool = w.state, w.pool
    state[link + L_UP] = 0
    for traffic_class in range(2):
        packet = state[link + L_HEAD + traffic_class]
        while packet != NONE:
            following = pool[packet + P_NEXT]
            release(w, packet, traffic_class)
            lose(w, packet, link, DROPPED_DOWN)
            packet = following
        state[link + L_HEAD + traffic_class] = NONE
        state[link + L_BYTES + traffic_class] = 0
    state[link + L_COUNT] = 0
    if state[link + L_PAUSED] != 0:
        account_pause(w, link)
        state[link + L_PAUSED] = 0
