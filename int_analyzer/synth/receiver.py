"""The receiving half of the transport: acknowledges, refuses what comes out of order, answers READs, notifies of congestion."""

from __future__ import annotations

from int_analyzer._jit import kernel
from int_analyzer.synth.event import DRAINED, PAUSE, POST, RESPOND, RESUME, push
from int_analyzer.synth.port import free_packet, new_packet
from int_analyzer.synth.rate import slow_down
from int_analyzer.synth.sender import AETH_BYTES, CNP_BYTES, HEADER_BYTES, acknowledge, go_back, kick, send_from_host
from int_analyzer.synth.state import (
    C_INDEX,
    C_LAST,
    C_MESSAGE,
    CONTROL,
    DATA,
    DELIVERED,
    F_EXPECTED,
    F_MSN,
    F_NOTIFIED_AT,
    F_REFUSED,
    F_REQUESTS,
    F_RESPONSES,
    F_REVERSE,
    L_DELAY,
    L_DRAIN_TIME,
    L_LEVEL,
    L_LEVEL_AT,
    L_PAUSING,
    M_DELAY,
    M_DONE,
    M_FIRST,
    M_FLOW,
    M_FOLLOWER_COUNT,
    M_FOLLOWERS,
    M_MISSING,
    M_NEXT_READ,
    M_PACKETS,
    M_RECEIVED,
    M_THINK_TIME,
    NONE,
    NOTIFIED,
    NOW,
    P_ACK_REQ,
    P_BYTES,
    P_ECN,
    P_FLOW,
    P_INDEX,
    P_MESSAGE,
    P_MSN,
    P_OPCODE,
    P_OVER,
    P_SYNDROME,
    PAUSES,
    SEQUENCE_NAKS,
    XOFF,
    XON,
    World,
)
from int_analyzer.synth.switch import ECN_MARKED
from int_analyzer.synth.trace import ACKNOWLEDGE, CNP, READ_REQUEST, RESPONSE_FIRST, RESPONSE_ONLY, SYNDROME_ACK, SYNDROME_SEQUENCE_ERROR

NOTIFY_PICOSECONDS = 50_000_000
"""Least time between two congestion notifications of a flow."""


@kernel
def receive(w: World, packet: int) -> None:
    """A packet has come to its host."""
    state, pool = w.state, w.pool
    state[DELIVERED] += 1
    link = pool[packet + P_OVER]
    if state[link + L_DRAIN_TIME] != 0:
        fill(w, link, pool[packet + P_BYTES])
    flow, message = pool[packet + P_FLOW], pool[packet + P_MESSAGE]
    index, opcode = pool[packet + P_INDEX], pool[packet + P_OPCODE]
    marked, wants_ack, syndrome = pool[packet + P_ECN] == ECN_MARKED, pool[packet + P_ACK_REQ] != 0, pool[packet + P_SYNDROME]
    free_packet(w, packet)
    back = state[flow + F_REVERSE]
    if marked and opcode != ACKNOWLEDGE:
        notify(w, flow, back)
    if opcode == CNP:
        slow_down(w, state[back + F_REQUESTS])
        slow_down(w, state[back + F_RESPONSES])
    elif opcode == ACKNOWLEDGE:
        requests = state[back + F_REQUESTS]
        if syndrome == SYNDROME_SEQUENCE_ERROR:
            acknowledge(w, requests, index)
            go_back(w, requests)
        else:
            acknowledge(w, requests, index + 1)
    elif RESPONSE_FIRST <= opcode <= RESPONSE_ONLY:
        take_response(w, back, message, index)
    else:
        take_request(w, flow, back, message, index, opcode, wants_ack)


@kernel
def take_request(w: World, flow: int, back: int, message: int, index: int, opcode: int, wants_ack: bool) -> None:
    """A packet of a SEND or WRITE, or a READ request, that came on `flow`."""
    state = w.state
    expected = state[flow + F_EXPECTED]
    if index > expected:
        if state[flow + F_REFUSED] == 0:
            state[flow + F_REFUSED] = 1
            state[SEQUENCE_NAKS] += 1
            answer(w, flow, back, expected, SYNDROME_SEQUENCE_ERROR)
        return
    if opcode == READ_REQUEST:
        if index == expected:
            state[flow + F_EXPECTED] = state[message + M_FIRST] + state[message + M_PACKETS]
            state[flow + F_REFUSED] = 0
            state[flow + F_MSN] = (state[flow + F_MSN] + 1) & 0xFFFFFF
            push(w, state[NOW] + state[message + M_THINK_TIME], RESPOND, message)
        else:
            respond_again(w, state[back + F_RESPONSES], message, index)
        return
    if index == expected:
        state[flow + F_EXPECTED] = index + 1
        state[flow + F_REFUSED] = 0
        if index == state[message + M_FIRST] + state[message + M_PACKETS] - 1:
            state[flow + F_MSN] = (state[flow + F_MSN] + 1) & 0xFFFFFF
            complete(w, message)
    if wants_ack:
        answer(w, flow, back, state[flow + F_EXPECTED] - 1, SYNDROME_ACK)


@kernel
def take_response(w: World, flow: int, message: int, index: int) -> None:
    """A response to a READ that was asked for on `flow`; one behind a gap is ignored, and asked for again in time."""
    state = w.state
    if index != state[message + M_FIRST] + state[message + M_RECEIVED]:
        return
    state[message + M_RECEIVED] += 1
    if state[message + M_RECEIVED] == state[message + M_PACKETS]:
        complete(w, message)
    acknowledge(w, state[flow + F_REQUESTS], index + 1)


@kernel
def respond(w: World, message: int) -> None:
    """The data of a READ is ready: send the responses behind those of earlier READs."""
    state = w.state
    context = state[state[state[message + M_FLOW] + F_REVERSE] + F_RESPONSES]
    if state[context + C_MESSAGE] == NONE:
        state[context + C_MESSAGE] = message
        state[context + C_INDEX] = state[message + M_FIRST]
    if state[context + C_LAST] != NONE:
        state[state[context + C_LAST] + M_NEXT_READ] = message
    state[context + C_LAST] = message
    kick(w, context)


@kernel
def respond_again(w: World, context: int, message: int, index: int) -> None:
    """A READ is asked for again from `index` on; not while its responses are still to come, or before its data is ready."""
    state = w.state
    current = state[context + C_MESSAGE]
    if state[context + C_LAST] == NONE or state[state[context + C_LAST] + M_FIRST] < state[message + M_FIRST]:
        return
    if current != NONE and state[current + M_FIRST] <= index and state[context + C_INDEX] <= index:
        return
    state[context + C_MESSAGE] = message
    state[context + C_INDEX] = index
    kick(w, context)


@kernel
def complete(w: World, message: int) -> None:
    """A message is wholly there: what waited for it comes one step nearer."""
    state = w.state
    state[message + M_DONE] = state[NOW]
    first = state[message + M_FOLLOWERS]
    for place in range(first, first + state[message + M_FOLLOWER_COUNT]):
        follower = state[place]
        state[follower + M_MISSING] -= 1
        if state[follower + M_MISSING] == 0:
            push(w, state[NOW] + state[follower + M_DELAY], POST, follower)


@kernel
def answer(w: World, flow: int, back: int, index: int, syndrome: int) -> None:
    """Acknowledge or refuse, on `back`, what came on `flow`."""
    packet = new_packet(w, back, NONE, index, ACKNOWLEDGE, HEADER_BYTES + AETH_BYTES, 0)
    w.pool[packet + P_SYNDROME] = syndrome
    w.pool[packet + P_MSN] = w.state[flow + F_MSN]
    send_from_host(w, back, packet, DATA)


@kernel
def notify(w: World, flow: int, back: int) -> None:
    """Tell the sender of `flow` that a packet was marked, unless it was told just now."""
    state = w.state
    if state[NOW] - state[flow + F_NOTIFIED_AT] < NOTIFY_PICOSECONDS:
        return
    state[flow + F_NOTIFIED_AT] = state[NOW]
    state[NOTIFIED] += 1
    packet = new_packet(w, back, NONE, 0, CNP, HEADER_BYTES + CNP_BYTES, 0)
    w.pool[packet + P_ECN] = 0
    send_from_host(w, back, packet, CONTROL)


@kernel
def drained_level(w: World, link: int) -> int:
    """Bytes that a slow host has not taken yet."""
    state = w.state
    drained = (state[NOW] - state[link + L_LEVEL_AT]) // state[link + L_DRAIN_TIME] if state[link + L_DRAIN_TIME] != 0 else 1 << 60
    return max(state[link + L_LEVEL] - drained, 0)


@kernel
def fill(w: World, link: int, size: int) -> None:
    """A slow host takes a packet into its memory, and pauses its leaf if that is too full."""
    state = w.state
    level = drained_level(w, link) + size
    state[link + L_LEVEL] = level
    state[link + L_LEVEL_AT] = state[NOW]
    if level > state[XOFF] and state[link + L_PAUSING] == 0:
        state[link + L_PAUSING] = 1
        state[PAUSES] += 1
        push(w, state[NOW] + state[link + L_DELAY], PAUSE, link)
        push(w, state[NOW] + (level - state[XON]) * state[link + L_DRAIN_TIME], DRAINED, link)


@kernel
def look_for_room(w: World, link: int) -> None:
    """A slow host that paused its leaf lets it go on if it has room again."""
    state = w.state
    level = drained_level(w, link)
    if level > state[XON]:
        push(w, state[NOW] + (level - state[XON]) * state[link + L_DRAIN_TIME], DRAINED, link)
        return
    state[link + L_PAUSING] = 0
    push(w, state[NOW] + state[link + L_DELAY], RESUME, link)
