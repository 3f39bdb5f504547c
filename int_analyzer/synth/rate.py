"""How fast a context sends: paced, slowed down by congestion notifications, recovering in steps (after DCQCN, SIGCOMM 2015 §3).

What a timer would do is made up for when the rate is next asked for, so that no rate needs events of its own.
"""

from __future__ import annotations

from int_analyzer._jit import kernel
from int_analyzer.synth.state import (
    C_ALPHA,
    C_CAP_BPS,
    C_LINE_BPS,
    C_RATE_BPS,
    C_SINCE,
    C_STEPS,
    C_TARGET_BPS,
    NOW,
    World,
)

STEP_PICOSECONDS = 55_000_000
"""Between two recovery steps, and between two decays of alpha."""
FAST_STEPS = 5
"""Steps back towards the rate before the notification; from then on that rate rises, too."""
ADDITIVE_SHARE = 150
"""A rising step is the line rate divided by this."""
LEAST_SHARE = 250
"""The lowest rate is the line rate divided by this."""
ALPHA_ONE = 1 << 20
ALPHA_SHIFT = 4
"""A notification moves alpha by 1/16 of its way."""
MOST_STEPS = 200
"""After so many steps without notification every rate is the line rate."""
BIT_PICOSECONDS = 8 * 10**12


@kernel
def recover(w: World, context: int) -> None:
    """Take the steps that were due since the last one."""
    state = w.state
    due = (state[NOW] - state[context + C_SINCE]) // STEP_PICOSECONDS
    if due == 0:
        return
    state[context + C_SINCE] += due * STEP_PICOSECONDS
    line = state[context + C_LINE_BPS]
    if due > MOST_STEPS or state[context + C_RATE_BPS] == line:
        state[context + C_RATE_BPS] = line
        state[context + C_TARGET_BPS] = line
        state[context + C_ALPHA] = state[context + C_ALPHA] if due <= MOST_STEPS else 0
        return
    for _ in range(due):
        state[context + C_STEPS] += 1
        if state[context + C_STEPS] > FAST_STEPS:
            state[context + C_TARGET_BPS] = min(state[context + C_TARGET_BPS] + line // ADDITIVE_SHARE, line)
        state[context + C_RATE_BPS] = (state[context + C_RATE_BPS] + state[context + C_TARGET_BPS] + 1) // 2
        state[context + C_ALPHA] -= state[context + C_ALPHA] >> ALPHA_SHIFT


@kernel
def slow_down(w: World, context: int) -> None:
    """A congestion notification has come."""
    state = w.state
    recover(w, context)
    rate, alpha = state[context + C_RATE_BPS], state[context + C_ALPHA]
    state[context + C_TARGET_BPS] = rate
    state[context + C_RATE_BPS] = max(rate - rate * alpha // (2 * ALPHA_ONE), state[context + C_LINE_BPS] // LEAST_SHARE)
    state[context + C_ALPHA] = alpha + ((ALPHA_ONE - alpha) >> ALPHA_SHIFT)
    state[context + C_STEPS] = 0
    state[context + C_SINCE] = state[NOW]


@kernel
def pause_after(w: World, context: int, size: int) -> int:
    """Picoseconds from a packet of `size` bytes to the next one of the same context."""
    recover(w, context)
    rate = min(w.state[context + C_RATE_BPS], w.state[context + C_CAP_BPS])
    return size * BIT_PICOSECONDS // rate
