"""Addresses → addresses: a keyed permutation under which two that share their first n bits still share exactly the first n bits.

This is the construction of Crypto-PAn (Xu, Fan, Ammar, Moon 2002): bit i is flipped or not, by a pseudo-random function of the i bits
before it. The function is BLAKE2b with the key. Along a few well-known prefixes no bit is flipped, so that what an address is for stays:
multicast is multicast, a private or global address keeps its class, broadcast and "unspecified" stay what they are.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import NamedTuple

_CACHED = 1 << 16
"""Addresses whose image is remembered; more only cost time."""


class Kept(NamedTuple):
    """A prefix under which no bit is flipped: its first bits as a whole address, their number, and bits kept behind it."""

    value: int
    bits: int
    behind: int = 0


class Permutation:
    """A permutation of the addresses of `bits` bits. `name` keeps those of one key apart; bits at `steady` positions never change."""

    def __init__(self, key: bytes, name: str, bits: int, kept: tuple[Kept, ...], steady: frozenset[int] = frozenset()) -> None:
        self.bits = bits
        self._steady = steady
        self._key = key
        self._name = name.encode()
        self._kept = kept
        self.of: Callable[[int], int] = functools.lru_cache(_CACHED)(self._of)

    def _of(self, address: int) -> int:
        image = address
        for position in range(self._untouched(address), self.bits):
            if position not in self._steady and self._flips(address >> (self.bits - position), position):
                image ^= 1 << (self.bits - 1 - position)
        return image

    def _untouched(self, address: int) -> int:
        """Bits at the beginning that stay: those along a kept prefix, and the one where the address leaves it."""
        longest = 0
        for kept in self._kept:
            differing = (address ^ kept.value) >> (self.bits - kept.bits)
            common = kept.bits - differing.bit_length()
            longest = max(longest, common + 1 if common < kept.bits else kept.bits + kept.behind)
        return longest

    def _flips(self, prefix: int, position: int) -> bool:
        text = position.to_bytes(1, "big") + prefix.to_bytes(self.bits // 8, "big")
        return hashlib.blake2b(text, digest_size=1, key=self._key, person=self._name).digest()[0] & 1 == 1


def ipv4(key: bytes) -> Permutation:
    """IPv4: 0.0.0.0, broadcast and the class (unicast A, B, C; multicast) stay."""
    return Permutation(key, "ipv4", 32, (Kept(0, 32), Kept(0xE0000000, 4), Kept(0xFFFFFFFF, 32)))


def ipv6(key: bytes) -> Permutation:
    """IPv6: :: stays, and the kind: global unicast (2000::/3), unique local, link-local, multicast with its flags and scope."""
    return Permutation(key, "ipv6", 128, (Kept(0, 128), Kept(0xFE80 << 112, 10), Kept(0xFF << 120, 8, behind=8)))


def mac(key: bytes) -> Permutation:
    """MAC: broadcast, the groups of IEEE 802.1 and in each address the group and local bits stay; a vendor becomes one other vendor."""
    return Permutation(key, "mac", 48, (Kept((1 << 48) - 1, 48), Kept(0x0180C2000000, 40, behind=8)), steady=frozenset((6, 7)))
