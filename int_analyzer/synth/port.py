"""A port: its two queues, the link behind it, and the pauses on it."""

from __future__ import annotations

from int_analyzer._jit import kernel
from int_analyzer.synth.chance import draw
from int_analyzer.synth.event import ARRIVE, FREE, PAUSE, RESUME, push
from int_analyzer.synth.state import (
    CONTROL,
    CROSSED,
    DATA,
    DROPPED_CABLE,
    ECN_CAPABLE,
    G_BYTES,
    G_DEPTH,
    G_DROPS,
    G_PAUSED,
    GROUND_BUCKETS,
    GROUND_WIDTH,
    GROUND_WORDS,
    INITIAL_TTL,
    L_BUSY_UNTIL,
    L_BYTE_TIME,
    L_BYTES,
    L_COUNT,
    L_DELAY,
    L_HEAD,
    L_HEAD_CONTROL,
    L_HELD,
    L_LOSS,
    L_NUMBER,
    L_PAUSED,
    L_PAUSED_SINCE,
    L_PAUSING,
    L_SOURCE,
    L_TAIL,
    L_TARGET,
    L_WAKING,
    MIRROR_POINTS,
    NONE,
    NOW,
    P_ACK_REQ,
    P_BYTES,
    P_DEPTH,
    P_ECN,
    P_EXCEEDED,
    P_FLOW,
    P_HELD,
    P_HOPS,
    P_INDEX,
    P_MESSAGE,
    P_MSN,
    P_NEXT,
    P_OPCODE,
    P_OVER,
    P_PAYLOAD,
    P_STARTED,
    P_SYNDROME,
    P_TELEMETRY,
    P_TTL,
    PACKET_WORDS,
    PAUSES,
    PFC,
    POOL_FREE,
    POOL_LIVE,
    POOL_USED,
    S_IS_SWITCH,
    S_PIPELINE,
    XOFF,
    XON,
    World,
)
from int_analyzer.synth.telemetry import add_hop, count_sent, mirror

BOTH_ENDS, ALL_SWITCHES = 2, 3
"""Values of MIRROR_POINTS."""
GAP_BYTES = 20
"""Preamble and gap between frames (IEEE 802.3 §4.4.2)."""


@kernel
def new_packet(w: World, flow: int, message: int, index: int, opcode: int, header_bytes: int, payload_bytes: int) -> int:
    """A packet, not yet anywhere."""
    state, pool = w.state, w.pool
    packet = state[POOL_FREE]
    if packet != NONE:
        state[POOL_FREE] = pool[packet + P_NEXT]
    else:
        packet = state[POOL_USED]
        state[POOL_USED] = packet + PACKET_WORDS
    state[POOL_LIVE] += 1
    pool[packet + P_NEXT] = NONE
    pool[packet + P_FLOW] = flow
    pool[packet + P_MESSAGE] = message
    pool[packet + P_INDEX] = index
    pool[packet + P_OPCODE] = opcode
    pool[packet + P_BYTES] = header_bytes + ((payload_bytes + 3) & ~3)
    pool[packet + P_HELD] = 0
    pool[packet + P_PAYLOAD] = payload_bytes
    pool[packet + P_ACK_REQ] = 0
    pool[packet + P_ECN] = ECN_CAPABLE
    pool[packet + P_TTL] = INITIAL_TTL
    pool[packet + P_SYNDROME] = 0
    pool[packet + P_MSN] = 0
    pool[packet + P_TELEMETRY] = 0
    pool[packet + P_HOPS] = 0
    pool[packet + P_EXCEEDED] = 0
    return packet


@kernel
def free_packet(w: World, packet: int) -> None:
    """A packet that is nowhere any more."""
    w.pool[packet + P_NEXT] = w.state[POOL_FREE]
    w.state[POOL_FREE] = packet
    w.state[POOL_LIVE] -= 1


@kernel
def ground_row(w: World, link: int, time: int) -> int:
    """Row of `ground` for a link at a time."""
    state = w.state
    bucket = min(time // state[GROUND_WIDTH], state[GROUND_BUCKETS] - 1)
    return (state[link + L_NUMBER] * state[GROUND_BUCKETS] + bucket) * GROUND_WORDS


@kernel
def lose(w: World, packet: int, link: int, counter: int) -> None:
    """A packet is lost at the port or on the cable of `link`; counted under `counter`."""
    w.state[counter] += 1
    w.ground[ground_row(w, link, w.state[NOW]) + G_DROPS] += 1
    free_packet(w, packet)


@kernel
def enqueue(w: World, link: int, packet: int, traffic_class: int) -> None:
    """Put a packet into a queue of the port that sends on `link`; it is sent at once if nothing is in its way."""
    state, pool = w.state, w.pool
    depth = state[link + L_BYTES + traffic_class]
    pool[packet + P_NEXT] = NONE
    pool[packet + P_DEPTH] = depth
    if state[link + L_HEAD + traffic_class] == NONE:
        state[link + L_HEAD + traffic_class] = packet
    else:
        pool[state[link + L_TAIL + traffic_class] + P_NEXT] = packet
    state[link + L_TAIL + traffic_class] = packet
    depth += pool[packet + P_BYTES]
    state[link + L_BYTES + traffic_class] = depth
    if traffic_class == DATA:
        state[link + L_COUNT] += 1
        row = ground_row(w, link, state[NOW])
        w.ground[row + G_DEPTH] = max(w.ground[row + G_DEPTH], depth)
    serve(w, link)


@kernel
def serve(w: World, link: int) -> None:
    """Send the next packet of a port, if the link is free and one may go."""
    state, pool = w.state, w.pool
    now = state[NOW]
    if state[link + L_BUSY_UNTIL] > now:
        if state[link + L_WAKING] == 0:
            state[link + L_WAKING] = 1
            push(w, state[link + L_BUSY_UNTIL], FREE, link)
        return
    traffic_class = CONTROL
    if state[link + L_HEAD_CONTROL] == NONE:
        if state[link + L_HEAD] == NONE or state[link + L_PAUSED] != 0:
            return
        traffic_class = DATA
    packet = state[link + L_HEAD + traffic_class]
    state[link + L_HEAD + traffic_class] = pool[packet + P_NEXT]
    state[link + L_BYTES + traffic_class] -= pool[packet + P_BYTES]
    if traffic_class == DATA:
        state[link + L_COUNT] -= 1
    state[CROSSED] += 1

    site = state[link + L_SOURCE]
    if state[site + S_IS_SWITCH] != 0:
        release(w, packet, traffic_class)
        if pool[packet + P_TELEMETRY] != 0:
            add_hop(w, packet, link, traffic_class)
        if is_mirrored(w, packet, link):
            mirror(w, packet, site, 0)
    duration = (pool[packet + P_BYTES] + GAP_BYTES) * state[link + L_BYTE_TIME]
    end = now + duration
    state[link + L_BUSY_UNTIL] = end
    w.ground[ground_row(w, link, now) + G_BYTES] += pool[packet + P_BYTES] + GAP_BYTES
    count_sent(w, link, pool[packet + P_BYTES] + GAP_BYTES)
    pool[packet + P_OVER] = link
    pool[packet + P_STARTED] = now
    if state[link + L_LOSS] != 0 and draw(w) >> 8 < state[link + L_LOSS]:
        lose(w, packet, link, DROPPED_CABLE)
    else:
        push(w, end + state[link + L_DELAY] + state[state[link + L_TARGET] + S_PIPELINE], ARRIVE, packet)
    if state[link + L_HEAD] != NONE or state[link + L_HEAD_CONTROL] != NONE:
        state[link + L_WAKING] = 1
        push(w, end, FREE, link)


@kernel
def is_mirrored(w: World, packet: int, link: int) -> bool:
    """Whether the switch that sends a packet on `link` is one of its mirror points."""
    state = w.state
    last = state[state[link + L_TARGET] + S_IS_SWITCH] == 0
    first = state[state[w.pool[packet + P_OVER] + L_SOURCE] + S_IS_SWITCH] == 0
    return last or state[MIRROR_POINTS] == ALL_SWITCHES or (first and state[MIRROR_POINTS] == BOTH_ENDS)


@kernel
def hold(w: World, packet: int, traffic_class: int) -> None:
    """Count a packet to what its switch holds for the link over which it came; pause that link when it is too much."""
    state, pool = w.state, w.pool
    size = pool[packet + P_BYTES]
    pool[packet + P_HELD] = size
    if traffic_class == CONTROL:
        return
    over = pool[packet + P_OVER]
    state[over + L_HELD] += size
    if state[PFC] != 0 and state[over + L_PAUSING] == 0 and state[over + L_HELD] > state[XOFF]:
        state[over + L_PAUSING] = 1
        state[PAUSES] += 1
        push(w, state[NOW] + state[over + L_DELAY], PAUSE, over)


@kernel
def release(w: World, packet: int, traffic_class: int) -> None:
    """Count a packet off again; let its link go on when there is room."""
    state, pool = w.state, w.pool
    if traffic_class == CONTROL:
        return
    over = pool[packet + P_OVER]
    state[over + L_HELD] -= pool[packet + P_HELD]
    if state[over + L_PAUSING] != 0 and state[over + L_HELD] < state[XON]:
        state[over + L_PAUSING] = 0
        push(w, state[NOW] + state[over + L_DELAY], RESUME, over)


@kernel
def set_paused(w: World, link: int, paused: int) -> None:
    """Class DATA of a link is paused or goes on; the time paused is kept in `ground`."""
    state = w.state
    if paused == state[link + L_PAUSED]:
        return
    state[link + L_PAUSED] = paused
    if paused != 0:
        state[link + L_PAUSED_SINCE] = state[NOW]
    else:
        account_pause(w, link)
        serve(w, link)


@kernel
def account_pause(w: World, link: int) -> None:
    """Write the time since a link was paused into the stretches of time that it covers."""
    state, width = w.state, w.state[GROUND_WIDTH]
    since = state[link + L_PAUSED_SINCE]
    while since < state[NOW]:
        until = min((since // width + 1) * width, state[NOW])
        w.ground[ground_row(w, link, since) + G_PAUSED] += until - since
        since = until
    state[link + L_PAUSED_SINCE] = since
