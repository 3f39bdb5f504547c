"""The telemetry that a switch adds to a packet when it sends it on, and the mirror at the last port."""

from __future__ import annotations

from int_analyzer._jit import kernel
from int_analyzer.synth.chance import draw
from int_analyzer.synth.state import (
    H_CAME,
    H_CLASS,
    H_DEPTH,
    H_EGRESS,
    H_INGRESS,
    H_SENT,
    H_UTILISATION,
    H_WENT,
    HOP_BYTES,
    HOP_WORDS,
    L_NOMINAL_BYTE_TIME,
    L_SENT,
    L_SOURCE,
    L_WINDOW_AT,
    L_WINDOW_BEFORE,
    L_WINDOW_BYTES,
    MAXIMUM_HOPS,
    MIRROR_ALL,
    NOW,
    P_ACK_REQ,
    P_BYTES,
    P_CAME,
    P_DEPTH,
    P_ECN,
    P_EXCEEDED,
    P_FIRST_HOP,
    P_FLOW,
    P_HOPS,
    P_INDEX,
    P_IP_ID,
    P_MESSAGE,
    P_MSN,
    P_OPCODE,
    P_OVER,
    P_PAYLOAD,
    P_SYNDROME,
    P_TELEMETRY,
    P_TTL,
    REPORT_LOSS,
    REPORTS_LOST,
    S_DROPPED,
    S_MIRRORED,
    S_REPORTED,
    S_TELLS,
    SEEN,
    SEEN_HOPS,
    SEEN_WORDS,
    Z_ACK_REQ,
    Z_DROPPED,
    Z_ECN,
    Z_EXCEEDED,
    Z_FIRST_HOP,
    Z_FLOW,
    Z_HOPS,
    Z_INDEX,
    Z_IP_ID,
    Z_MESSAGE,
    Z_MIRRORED,
    Z_MSN,
    Z_OPCODE,
    Z_PAYLOAD,
    Z_REPORTED,
    Z_SITE,
    Z_SYNDROME,
    Z_TELEMETRY,
    Z_TIME,
    Z_TTL,
    World,
)
from int_analyzer.synth.trace import UTILISATION_FULL

WINDOW_PICOSECONDS = 10_000_000
"""Utilisation is that of the current and of the last stretch of this length."""


@kernel
def count_sent(w: World, link: int, size: int) -> None:
    """Count bytes that begin to be sent."""
    roll_window(w, link)
    w.state[link + L_WINDOW_BYTES] += size
    w.state[link + L_SENT] += size


@kernel
def roll_window(w: World, link: int) -> None:
    """Begin the stretch of utilisation that it is time for."""
    state = w.state
    now = state[NOW]
    behind = now - state[link + L_WINDOW_AT]
    if behind >= WINDOW_PICOSECONDS:
        state[link + L_WINDOW_BEFORE] = state[link + L_WINDOW_BYTES] if behind < 2 * WINDOW_PICOSECONDS else 0
        state[link + L_WINDOW_BYTES] = 0
        state[link + L_WINDOW_AT] = now - now % WINDOW_PICOSECONDS


@kernel
def utilisation(w: World, link: int) -> int:
    """Of the current and the last stretch, in ten-thousandths of what the port is sold with."""
    state = w.state
    roll_window(w, link)
    elapsed = state[NOW] - state[link + L_WINDOW_AT] + WINDOW_PICOSECONDS
    sent = state[link + L_WINDOW_BYTES] + state[link + L_WINDOW_BEFORE]
    return min(sent * state[link + L_NOMINAL_BYTE_TIME] * UTILISATION_FULL // elapsed, UTILISATION_FULL)


@kernel
def add_hop(w: World, packet: int, link: int, traffic_class: int) -> None:
    """Let the switch that sends on `link` add its telemetry to a packet, if it does that and there is room."""
    state, pool = w.state, w.pool
    if state[state[link + L_SOURCE] + S_TELLS] == 0:
        return
    hops = pool[packet + P_HOPS]
    if hops == MAXIMUM_HOPS:
        pool[packet + P_EXCEEDED] = 1
        return
    hop = packet + P_FIRST_HOP + hops * HOP_WORDS
    pool[hop + H_EGRESS] = link
    pool[hop + H_INGRESS] = pool[packet + P_OVER]
    pool[hop + H_CLASS] = traffic_class
    pool[hop + H_CAME] = pool[packet + P_CAME]
    pool[hop + H_WENT] = state[NOW]
    pool[hop + H_DEPTH] = pool[packet + P_DEPTH]
    pool[hop + H_UTILISATION] = utilisation(w, link)
    pool[hop + H_SENT] = state[link + L_SENT]
    pool[packet + P_HOPS] = hops + 1
    pool[packet + P_BYTES] += state[HOP_BYTES]


@kernel
def mirror(w: World, packet: int, site: int, dropped: int) -> None:
    """Let a switch mirror a packet with the hops that it tells of, or report it as dropped; what gets lost behind the mirror is counted."""
    state, pool, seen, seen_hops = w.state, w.pool, w.seen, w.seen_hops
    telemetry = pool[packet + P_TELEMETRY]
    if telemetry == 0 and state[MIRROR_ALL] == 0:
        return
    if dropped != 0:
        # A stream of its own.
        mirrored = reported = state[site + S_DROPPED]
        state[site + S_DROPPED] += 1
    else:
        mirrored, reported = state[site + S_MIRRORED], state[site + S_REPORTED]
        state[site + S_MIRRORED] += 1
        state[site + S_REPORTED] += telemetry
    if state[REPORT_LOSS] != 0 and draw(w) >> 16 < state[REPORT_LOSS]:
        state[REPORTS_LOST] += 1
        return
    row = state[SEEN] * SEEN_WORDS
    first, hops = state[SEEN_HOPS], pool[packet + P_HOPS]
    state[SEEN] += 1
    state[SEEN_HOPS] = first + hops
    seen[row + Z_TIME] = state[NOW]
    seen[row + Z_FLOW] = pool[packet + P_FLOW]
    seen[row + Z_MESSAGE] = pool[packet + P_MESSAGE]
    seen[row + Z_INDEX] = pool[packet + P_INDEX]
    seen[row + Z_OPCODE] = pool[packet + P_OPCODE]
    seen[row + Z_PAYLOAD] = pool[packet + P_PAYLOAD]
    seen[row + Z_ACK_REQ] = pool[packet + P_ACK_REQ]
    seen[row + Z_ECN] = pool[packet + P_ECN]
    seen[row + Z_TTL] = pool[packet + P_TTL]
    seen[row + Z_IP_ID] = pool[packet + P_IP_ID]
    seen[row + Z_SYNDROME] = pool[packet + P_SYNDROME]
    seen[row + Z_MSN] = pool[packet + P_MSN]
    seen[row + Z_FIRST_HOP] = first
    seen[row + Z_HOPS] = hops
    seen[row + Z_TELEMETRY] = telemetry
    seen[row + Z_EXCEEDED] = pool[packet + P_EXCEEDED]
    seen[row + Z_DROPPED] = dropped
    seen[row + Z_SITE] = site
    seen[row + Z_MIRRORED] = mirrored
    seen[row + Z_REPORTED] = reported
    for k in range(hops * HOP_WORDS):
        seen_hops[first * HOP_WORDS + k] = pool[packet + P_FIRST_HOP + k]
