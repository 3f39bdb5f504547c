"""The sending half of the transport: messages cut into packets, paced, kept in a window, sent again from a point on (go-back-N)."""

from __future__ import annotations

from int_analyzer._jit import kernel
from int_analyzer.synth.event import READY, TIMER, push
from int_analyzer.synth.port import enqueue, new_packet
from int_analyzer.synth.rate import pause_after
from int_analyzer.synth.state import (
    ACK_EVERY,
    C_ARMED,
    C_ASKED,
    C_END,
    C_FLOW,
    C_HIGHEST,
    C_INDEX,
    C_LAST,
    C_MESSAGE,
    C_NEXT_WAITING,
    C_PORT,
    C_PROGRESS,
    C_RESPONDS,
    C_STATE,
    C_TIME,
    C_UNACKED,
    C_UNACKED_MESSAGE,
    DATA,
    F_MSN,
    F_REQUESTS,
    F_REVERSE,
    IDLE,
    L_COUNT,
    L_IP_ID,
    L_WAITING,
    L_WAITING_LAST,
    M_BYTES,
    M_FIRST,
    M_FLOW,
    M_KIND,
    M_NEXT,
    M_NEXT_READ,
    M_PACKETS,
    M_POSTED,
    M_RECEIVED,
    MTU,
    NONE,
    NOW,
    P_ACK_REQ,
    P_BYTES,
    P_IP_ID,
    P_MSN,
    P_SYNDROME,
    READ,
    RETRANSMITTED,
    SCHEDULED,
    SENT,
    TIMEOUT,
    TIMEOUTS,
    WAITING,
    WINDOW,
    WRITE,
    World,
)
from int_analyzer.synth.trace import (
    READ_REQUEST,
    RESPONSE_FIRST,
    RESPONSE_ONLY,
    SEND_FIRST,
    SEND_ONLY,
    SYNDROME_ACK,
    WRITE_FIRST,
    WRITE_ONLY,
)

HEADER_BYTES = 14 + 4 + 20 + 8 + 12 + 4
"""Ethernet with its check sequence, IPv4, UDP, BTH, ICRC."""
RETH_BYTES, AETH_BYTES, CNP_BYTES = 16, 4, 16
PORT_QUEUE_PACKETS = 2
"""So many packets of contexts stand in a host's port; further contexts wait their turn."""


@kernel
def send_from_host(w: World, flow: int, packet: int, traffic_class: int) -> None:
    """Put a packet into the port of the host where its flow starts."""
    state = w.state
    port = state[state[flow + F_REQUESTS] + C_PORT]
    w.pool[packet + P_IP_ID] = state[port + L_IP_ID]
    state[port + L_IP_ID] = (state[port + L_IP_ID] + 1) & 0xFFFF
    state[SENT] += 1
    enqueue(w, port, packet, traffic_class)


@kernel
def may_send(w: World, context: int) -> bool:
    """Whether a context has a packet that its window allows."""
    state = w.state
    if state[context + C_MESSAGE] == NONE:
        return False
    return state[context + C_RESPONDS] != 0 or state[context + C_INDEX] - state[context + C_UNACKED] < state[WINDOW]


@kernel
def kick(w: World, context: int) -> None:
    """Let a context that does nothing send, or wait for its time or its turn, if it may."""
    state = w.state
    if state[context + C_STATE] != IDLE or not may_send(w, context):
        return
    if state[context + C_TIME] > state[NOW]:
        state[context + C_STATE] = SCHEDULED
        push(w, state[context + C_TIME], READY, context)
        return
    port = state[context + C_PORT]
    if state[port + L_COUNT] < PORT_QUEUE_PACKETS:
        emit(w, context)
        return
    state[context + C_STATE] = WAITING
    state[context + C_NEXT_WAITING] = NONE
    if state[port + L_WAITING] == NONE:
        state[port + L_WAITING] = context
    else:
        state[state[port + L_WAITING_LAST] + C_NEXT_WAITING] = context
    state[port + L_WAITING_LAST] = context


@kernel
def refill(w: World, port: int) -> None:
    """Let contexts that wait for a host's port send, in their turn, as long as it has room."""
    state = w.state
    while state[port + L_WAITING] != NONE and state[port + L_COUNT] < PORT_QUEUE_PACKETS:
        context = state[port + L_WAITING]
        state[port + L_WAITING] = state[context + C_NEXT_WAITING]
        state[context + C_STATE] = IDLE
        if may_send(w, context):
            emit(w, context)


@kernel
def emit(w: World, context: int) -> None:
    """Send one packet of a context, and say when the next may go."""
    state, pool = w.state, w.pool
    message, index = state[context + C_MESSAGE], state[context + C_INDEX]
    place, last = index - state[message + M_FIRST], state[message + M_PACKETS] - 1
    responds = state[context + C_RESPONDS]
    kind = state[message + M_KIND]
    flow = state[context + C_FLOW]
    if kind == READ and responds == 0:
        packet = new_packet(w, flow, message, index, READ_REQUEST, HEADER_BYTES + RETH_BYTES, 0)
        following = state[message + M_FIRST] + last + 1
    else:
        payload = state[MTU] if place < last else state[message + M_BYTES] - last * state[MTU]
        first = RESPONSE_FIRST if responds != 0 else WRITE_FIRST if kind == WRITE else SEND_FIRST
        opcode = first + (1 if place > 0 else 0) + (1 if place > 0 and place == last else 0)
        if last == 0:
            opcode = RESPONSE_ONLY if responds != 0 else WRITE_ONLY if kind == WRITE else SEND_ONLY
        header = HEADER_BYTES
        if kind == WRITE and place == 0:
            header += RETH_BYTES
        if responds != 0 and (place == 0 or place == last):
            header += AETH_BYTES
        packet = new_packet(w, flow, message, index, opcode, header, payload)
        following = index + 1
        if responds == 0 and (place == last or index % state[ACK_EVERY] == state[ACK_EVERY] - 1):
            pool[packet + P_ACK_REQ] = 1
        if responds != 0:
            pool[packet + P_SYNDROME] = SYNDROME_ACK
            pool[packet + P_MSN] = state[state[flow + F_REVERSE] + F_MSN]
    state[context + C_INDEX] = following
    if place == last or following > index + 1:
        state[context + C_MESSAGE] = state[message + (M_NEXT_READ if responds != 0 else M_NEXT)]
        if responds != 0 and state[context + C_MESSAGE] != NONE:
            state[context + C_INDEX] = state[state[context + C_MESSAGE] + M_FIRST]
    if responds == 0:
        if index < state[context + C_HIGHEST]:
            state[RETRANSMITTED] += 1
        state[context + C_HIGHEST] = max(state[context + C_HIGHEST], following)
        if kind == READ or pool[packet + P_ACK_REQ] != 0:
            watch(w, context, following)
    size = pool[packet + P_BYTES]
    # The port first: what it does with the packet does not depend on the pacing, but the packet's place may be free soon.
    send_from_host(w, flow, packet, DATA)
    state[context + C_TIME] = max(state[context + C_TIME], state[NOW]) + pause_after(w, context, size)
    if may_send(w, context):
        state[context + C_STATE] = SCHEDULED
        push(w, state[context + C_TIME], READY, context)


@kernel
def watch(w: World, context: int, following: int) -> None:
    """A packet asks for an answer: all before index `following` must be acknowledged in time."""
    state = w.state
    if state[context + C_ASKED] <= state[context + C_UNACKED]:
        state[context + C_PROGRESS] = state[NOW]
    state[context + C_ASKED] = max(state[context + C_ASKED], following)
    if state[context + C_ARMED] == 0:
        state[context + C_ARMED] = 1
        push(w, state[context + C_PROGRESS] + state[TIMEOUT], TIMER, context)


@kernel
def look_for_progress(w: World, context: int) -> None:
    """The timer of a context has run out: send again what was not acknowledged for too long."""
    state = w.state
    state[context + C_ARMED] = 0
    if state[context + C_ASKED] <= state[context + C_UNACKED]:
        return
    due = state[context + C_PROGRESS] + state[TIMEOUT]
    if due <= state[NOW]:
        state[TIMEOUTS] += 1
        state[context + C_PROGRESS] = state[NOW]
        due = state[NOW] + state[TIMEOUT]
        go_back(w, context)
    if state[context + C_ARMED] == 0:
        state[context + C_ARMED] = 1
        push(w, due, TIMER, context)


@kernel
def go_back(w: World, context: int) -> None:
    """Send again from the first packet that is not acknowledged."""
    state = w.state
    if state[context + C_UNACKED_MESSAGE] == NONE:
        return
    state[context + C_INDEX] = state[context + C_UNACKED]
    state[context + C_MESSAGE] = state[context + C_UNACKED_MESSAGE]
    kick(w, context)


@kernel
def acknowledge(w: World, context: int, following: int) -> None:
    """All before index `following` has arrived; a READ is only as far as its responses are."""
    state = w.state
    message = state[context + C_UNACKED_MESSAGE]
    unacked = state[context + C_UNACKED]
    while message != NONE and unacked < following:
        first, count = state[message + M_FIRST], state[message + M_PACKETS]
        there = min(following, first + count)
        if state[message + M_KIND] == READ:
            there = min(there, first + state[message + M_RECEIVED])
        unacked = max(unacked, there)
        if there < first + count:
            break
        message = state[message + M_NEXT]
    if unacked == state[context + C_UNACKED]:
        return
    state[context + C_UNACKED] = unacked
    state[context + C_UNACKED_MESSAGE] = message
    state[context + C_PROGRESS] = state[NOW]
    if state[context + C_INDEX] < unacked:
        # It had gone back behind what has arrived after all.
        state[context + C_INDEX] = unacked
        state[context + C_MESSAGE] = message
    kick(w, context)


@kernel
def post(w: World, message: int) -> None:
    """A message is handed to its flow."""
    state = w.state
    context = state[state[message + M_FLOW] + F_REQUESTS]
    state[message + M_POSTED] = state[NOW]
    state[message + M_FIRST] = state[context + C_END]
    state[context + C_END] += state[message + M_PACKETS]
    if state[context + C_LAST] != NONE:
        state[state[context + C_LAST] + M_NEXT] = message
    state[context + C_LAST] = message
    if state[context + C_MESSAGE] == NONE:
        state[context + C_MESSAGE] = message
    if state[context + C_UNACKED_MESSAGE] == NONE:
        state[context + C_UNACKED_MESSAGE] = message
    kick(w, context)
