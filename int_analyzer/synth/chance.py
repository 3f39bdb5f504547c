"""Chance inside a simulation: numbers that depend on the seed and on how many were drawn before, the same compiled or not."""

from __future__ import annotations

from int_analyzer._jit import kernel
from int_analyzer.synth.state import DRAWS, SEED, World

_ODD = 0x45D9F3B
"""27 bits: its product with 32 bits fits 63."""


@kernel
def mix(value: int) -> int:
    """32 bits that depend on all of the lower 32 bits of `value` (outside kernels also of an array)."""
    value = value & 0xFFFFFFFF
    value = ((value ^ (value >> 16)) * _ODD) & 0xFFFFFFFF
    value = ((value ^ (value >> 16)) * _ODD) & 0xFFFFFFFF
    return value ^ (value >> 16)


@kernel
def draw(w: World) -> int:
    """The next 32 random bits."""
    w.state[DRAWS] += 1
    return mix(mix(w.state[DRAWS]) + w.state[SEED])
