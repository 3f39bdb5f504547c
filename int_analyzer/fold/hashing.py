"""Hashing and widening that give the same number compiled and uncompiled."""

from __future__ import annotations

import numpy as np

from int_analyzer._jit import compiled, inlined, kernel, reader

# Odd 64-bit multipliers, as signed numbers (SplitMix64, MurmurHash3 and xxHash constants).
FACTOR_0 = 0x9E3779B97F4A7C15 - (1 << 64)
FACTOR_1 = 0xBF58476D1CE4E5B9 - (1 << 64)
FACTOR_2 = 0x94D049BB133111EB - (1 << 64)
FACTOR_3 = 0xFF51AFD7ED558CCD - (1 << 64)
FACTOR_4 = 0xC4CEB9FE1A85EC53 - (1 << 64)
FACTOR_5 = 0xC2B2AE3D27D4EB4F - (1 << 64)


@kernel
def _machine_product(a: int, b: int) -> int:
    return a * b


@reader(lambda: compiled(_machine_product))
def product(a: int, b: int) -> int:
    """Lower 64 bits of a × b as a signed number: what the machine's multiplication leaves."""
    return ((a * b + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


@kernel
def _as_int64(value: int) -> int:
    return np.int64(value)  # type: ignore[return-value]


@reader(lambda: compiled(_as_int64))
def wide(value: int) -> int:
    """A column's value as int64 (uncompiled it is a Python int already): uint64 with int64 would become a float."""
    return value


@inlined
def mixed(value: int) -> int:
    """Spread every bit of a 64-bit number over all others."""
    value ^= value >> 32
    value = product(value, FACTOR_1)
    value ^= value >> 29
    value = product(value, FACTOR_2)
    return value ^ (value >> 32)
