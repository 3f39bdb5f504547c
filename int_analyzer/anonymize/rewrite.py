"""One packet, anonymised."""

from __future__ import annotations

from itertools import pairwise

from int_analyzer.anonymize import prefix
from int_analyzer.anonymize.plan import Plan, Planner, merged
from int_analyzer.anonymize.steps import Kernel
from int_analyzer.profile import Profile

_DEPTH = 4
"""Packets inside reports inside packets: more levels than any telemetry has."""


class Rewriter:
    """Anonymises packets with one key. with_payload: keep what UDP, TCP and RoCEv2 carry."""

    def __init__(self, key: bytes, profile: Profile | None = None, with_payload: bool = False) -> None:
        self._kernel = Kernel((profile or Profile()).settings())
        self._with_payload = with_payload
        self._mac, self._ipv4, self._ipv6 = prefix.mac(key), prefix.ipv4(key), prefix.ipv6(key)

    def packet(self, data: bytes, original: int, link: int) -> bytes:
        """The anonymised packet, shorter than `data` where its end is dropped. original: its bytes on the wire; link: its link type."""
        plan = self._plan(data, original, link, _DEPTH)
        intervals = list(merged(plan.kept))
        new = bytearray(data)
        for permutation, places in ((self._mac, plan.macs), (self._ipv4, plan.ipv4), (self._ipv6, plan.ipv6)):
            size = permutation.bits // 8
            for at in places:
                new[at : at + size] = permutation.of(int.from_bytes(data[at : at + size], "big")).to_bytes(size, "big")
        for (_, begin), (end, _) in pairwise([(0, 0), *intervals, (plan.end, plan.end)]):
            new[begin:end] = bytes(end - begin)
        # from the inside out: a checksum outside covers those inside
        for fix in reversed(plan.fixes):
            fix.apply(data, new)
        return bytes(new[: plan.end])

    def _plan(self, data: bytes, original: int, link: int, depth: int) -> Plan:
        plan = Planner(data, self._kernel.steps(memoryview(data), original, link), self._with_payload).plan
        waiting, plan.frames = plan.frames, []
        for begin, end, inner in waiting if depth else ():
            plan.add(self._plan(data[begin:end], end - begin, inner, depth - 1), begin)
        return plan
