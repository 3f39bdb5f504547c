"""The simulation: event after event until the end, in one kernel; its memory is enlarged here when the kernel asks for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer import _jit
from int_analyzer._jit import kernel
from int_analyzer.synth.event import ARRIVE, DRAINED, FREE, PAUSE, POST, READY, RESPOND, RESUME, TIMER, drop_first
from int_analyzer.synth.port import account_pause, lose, serve, set_paused
from int_analyzer.synth.receiver import look_for_room, receive, respond
from int_analyzer.synth.sender import kick, look_for_progress, post, refill
from int_analyzer.synth.state import (
    A_KIND,
    A_LINK,
    A_TIME,
    A_VALUE,
    ACTION_COUNT,
    ACTION_NEXT,
    ACTION_WORDS,
    ACTIONS,
    C_STATE,
    DROPPED_DOWN,
    END,
    EVENTS,
    HOP_WORDS,
    IDLE,
    L_BYTE_TIME,
    L_DRAIN_TIME,
    L_LEVEL,
    L_LEVEL_AT,
    L_LOSS,
    L_PAUSED,
    L_TARGET,
    L_UP,
    L_WAKING,
    LINK_WORDS,
    LINKS,
    LOOP_SPINE,
    M_POST_AT,
    MAXIMUM_HOPS,
    MESSAGE_WORDS,
    MESSAGES,
    NEVER,
    NOW,
    P_OVER,
    PACKET_WORDS,
    POOL_USED,
    S_IS_SWITCH,
    SEEN,
    SEEN_HOPS,
    SEEN_WORDS,
    SET_BYTE_TIME,
    SET_DRAIN,
    SET_LOOP,
    SET_LOSS,
    SET_UP,
    TIMED,
    TIMED_NEXT,
    World,
)
from int_analyzer.synth.switch import cut, forward

OVER, POOL_FULL, HEAP_FULL, SEEN_FULL, SEEN_HOPS_FULL = range(5)
"""Why the kernel came back."""
NEW_PACKETS, NEW_EVENTS = 8, 32
"""No event makes more of them than this … but for a link that goes up again or down, which makes none."""


@kernel
def advance(w: World) -> int:
    """Run until the end or until an array is full: why it came back. Called again, it goes on."""
    state, heap = w.state, w.heap
    while True:
        if state[POOL_USED] + NEW_PACKETS * PACKET_WORDS > w.pool.shape[0]:
            return POOL_FULL
        if 2 * (state[EVENTS] + NEW_EVENTS) > heap.shape[0]:
            return HEAP_FULL
        if (state[SEEN] + NEW_PACKETS) * SEEN_WORDS > w.seen.shape[0]:
            return SEEN_FULL
        if (state[SEEN_HOPS] + NEW_PACKETS * MAXIMUM_HOPS) * HOP_WORDS > w.seen_hops.shape[0]:
            return SEEN_HOPS_FULL
        time = heap[0] if state[EVENTS] > 0 else NEVER
        if take_action(w, time) or post_timed(w, time):
            continue
        if time > state[END]:
            finish(w)
            return OVER
        state[NOW] = time
        what = heap[1]
        drop_first(w)
        happen(w, what & 15, what >> 4)


@kernel
def happen(w: World, kind: int, record: int) -> None:
    """One event."""
    state = w.state
    if kind == ARRIVE:
        link = w.pool[record + P_OVER]
        site = state[link + L_TARGET]
        if state[link + L_UP] == 0:
            lose(w, record, link, DROPPED_DOWN)
        elif state[site + S_IS_SWITCH] != 0:
            forward(w, record, site)
        else:
            receive(w, record)
    elif kind == FREE:
        state[record + L_WAKING] = 0
        serve(w, record)
        refill(w, record)
    elif kind == READY:
        state[record + C_STATE] = IDLE
        kick(w, record)
    elif kind == POST:
        post(w, record)
    elif kind == RESPOND:
        respond(w, record)
    elif kind == TIMER:
        look_for_progress(w, record)
    elif kind == PAUSE:
        set_paused(w, record, 1)
    elif kind == RESUME:
        set_paused(w, record, 0)
        refill(w, record)
    elif kind == DRAINED:
        look_for_room(w, record)


@kernel
def post_timed(w: World, time: int) -> bool:
    """Post the next of the messages that are posted by time, if that is due before `time`."""
    state = w.state
    if state[TIMED_NEXT] == state[TIMED]:
        return False
    message = state[MESSAGES] + state[TIMED_NEXT] * MESSAGE_WORDS
    if state[message + M_POST_AT] > min(time, state[END]):
        return False
    state[TIMED_NEXT] += 1
    state[NOW] = state[message + M_POST_AT]
    post(w, message)
    return True


@kernel
def take_action(w: World, time: int) -> bool:
    """Do the next thing that is done to the fabric, if that is due before `time`."""
    state = w.state
    if state[ACTION_NEXT] == state[ACTION_COUNT]:
        return False
    action = state[ACTIONS] + state[ACTION_NEXT] * ACTION_WORDS
    due = state[action + A_TIME]
    following = state[MESSAGES] + state[TIMED_NEXT] * MESSAGE_WORDS
    if due > min(time, state[END]) or (state[TIMED_NEXT] < state[TIMED] and state[following + M_POST_AT] < due):
        return False
    state[ACTION_NEXT] += 1
    state[NOW] = due
    act(w, state[action + A_KIND], state[action + A_LINK], state[action + A_VALUE])
    return True


@kernel
def act(w: World, kind: int, link: int, value: int) -> None:
    """Change something of the fabric."""
    state = w.state
    if kind == SET_BYTE_TIME:
        state[link + L_BYTE_TIME] = value
    elif kind == SET_UP and value == 0:
        cut(w, link)
    elif kind == SET_UP:
        state[link + L_UP] = 1
    elif kind == SET_LOSS:
        state[link + L_LOSS] = value
    elif kind == SET_DRAIN:
        state[link + L_DRAIN_TIME] = value
        state[link + L_LEVEL_AT] = state[NOW]
        state[link + L_LEVEL] = 0
    elif kind == SET_LOOP:
        state[LOOP_SPINE] = value


@kernel
def finish(w: World) -> None:
    """Account for pauses that are not over."""
    state = w.state
    state[NOW] = state[END]
    links = (state[MESSAGES] - state[LINKS]) // LINK_WORDS
    for number in range(links):
        link = state[LINKS] + number * LINK_WORDS
        if state[link + L_PAUSED] != 0:
            account_pause(w, link)


def run(world: World, compiled: bool = True) -> World:
    """Run a simulation to its end. Returns the world, its arrays possibly enlarged. compiled=False runs the same kernel as plain Python."""
    arrays = {POOL_FULL: "pool", HEAP_FULL: "heap", SEEN_FULL: "seen", SEEN_HOPS_FULL: "seen_hops"}
    step = _jit.compiled(advance) if compiled else advance
    while (reason := int(step(_given(world, step)))) != OVER:
        array = getattr(world, arrays[reason])
        world = world._replace(**{arrays[reason]: np.concatenate((array, np.zeros_like(array)))})
    return world


def _given(world: World, step: Any) -> World:
    """Views whose elements are Python's integers, for the uncompiled kernel: they neither wrap nor take numpy's time."""
    return World(*(memoryview(array) for array in world)) if step is advance else world
