"""What a state must know after some packets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from int_analyzer import schema

from .limit import CNP_WINDOW_NS, REORDER_NS, VERIFIED
from .packet import Packet
from .tracker import Tracker


def expected(packets: Sequence[Packet]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """What a state must know after these packets, in the form of `known`."""
    return expected_in_turns([packets])


def _told(packets: Sequence[Packet]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """The same, and how many acknowledgements made each pair."""
    tracker = _tracked(packets)
    result = {}
    for key, direction in tracker.directions.items():
        while direction.peer is None and direction.runs:
            direction.close(direction.runs[0], None)
        counters, requests, responses = direction.counters, direction.requests.counters, direction.responses.counters
        last = max(packet.time for packet in packets if packet.key == key)
        for order in (direction.requests, direction.responses):
            old = [time for time in order.holes.values() if (last >> 10) - (time >> 10) << 10 > REORDER_NS]
            order.counters["unfilled"] += len(old)
            order.gaps += old
        result[key] = {
            "peer": direction.peer.key if direction.peer is not None else None,
            "matches": direction.matches if direction.peer is not None else 0,
            **{
                what: requests[what] + responses[what]
                for what in ("data", "retransmitted", "out_of_order", "duplicates", "unfilled", "rewinds", "restarts")
            },
            **{what: counters[what] for what in ("packets", "bytes", "timeouts", "nak", "rnr", "other", "acks", "ce", "partial")},
            **{what: counters[what] for what in ("send", "write", "read", "atomic", "immediates", "invalidates", "completed_bytes")},
            "gaps": (
                *_span([time >> 10 << 10 for time in (*direction.requests.gaps, *direction.responses.gaps)]),
                max(direction.requests.longest, direction.responses.longest),
            ),
            "rewound": _span([*direction.requests.rewound, *direction.responses.rewound]),
            "cnp": (len(direction.notified), _densest(direction.notified)),
            "cnp_delays": (len(delays := direction.delays), sum(delays), min(delays, default=0), max(delays, default=0)),
            "icrc": tuple(counters["icrc", state] for state in (schema.ICRC_OK, schema.ICRC_BAD, schema.ICRC_CUT)),
            "resent": (len(direction.resent), math.floor(1e6 * max(direction.resent, default=0))),
            "unanswered": counters["unanswered"] + len(direction.runs),
            "fct": (len(direction.fct), sum(direction.fct), max(direction.fct, default=0)),
            "one_sided": (len(direction.one_sided), sum(direction.one_sided), max(direction.one_sided, default=0)),
            "rtt": (len(direction.rtt), sum(direction.rtt), min(direction.rtt, default=0), max(direction.rtt, default=0)),
        }
    return result


def _tracked(packets: Sequence[Packet]) -> Tracker:
    tracker = Tracker()
    for packet in packets:
        tracker.count(packet)
    return tracker


_PEERS = ("peer", "matches")


def expected_in_turns(turns: Sequence[Sequence[Packet]]) -> dict[tuple[str, str, int], dict[str, Any]]:
    """What a state must know after turns of which nothing goes on in the next: each is a capture of its own, and counts add up."""
    whole: dict[tuple[str, str, int], dict[str, Any]] = {}
    for turn in turns:
        for key, now in _told(turn).items():
            before = whole.get(key, now)
            if before is not now:
                now = {what: _added(what, before[what], now[what]) for what in now} | _later_peer(before, now)
            whole[key] = now
    # two turns may have paired them differently
    parted = [key for key, direction in whole.items() if direction["peer"] is not None and whole[direction["peer"]]["peer"] != key]
    for key, direction in whole.items():
        if key in parted:
            direction |= {"peer": None, "matches": 0}
        direction["verified"] = direction.pop("matches") >= VERIFIED and direction["peer"] is not None
    return whole


def _later_peer(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    if now["peer"] is None:
        return {what: before[what] for what in _PEERS}
    return {"matches": now["matches"] + (before["matches"] if before["peer"] == now["peer"] else 0)}


def _added(what: str, before: Any, now: Any) -> Any:
    if what in _PEERS:
        return now
    if what == "rewound":
        return _span([time for time in (*before, *now) if time])
    if what == "gaps":
        return *_span([time for time in (*before[:2], *now[:2]) if time]), max(before[2], now[2])
    if what in ("fct", "one_sided"):
        return before[0] + now[0], before[1] + now[1], max(before[2], now[2])
    if what in ("resent", "cnp"):
        return before[0] + now[0], max(before[1], now[1])
    if what in ("rtt", "cnp_delays"):
        least = min((times[2] for times in (before, now) if times[0]), default=0)
        return before[0] + now[0], before[1] + now[1], least, max(before[3], now[3])
    return tuple(map(sum, zip(before, now, strict=True))) if isinstance(now, tuple) else before + now


def expected_marks(packets: Sequence[Packet]) -> list[tuple[Any, ...]]:
    """What the journal must hold: time, direction, kind, whether a message begins and ends, PSN, bytes."""
    return sorted(_tracked(packets).marks)


def _densest(notified: list[Packet]) -> int:
    """CNPs in the window that has most of them without a break: one that comes back to a window begins it anew."""
    runs = itertools.groupby(packet.time // CNP_WINDOW_NS for packet in notified)
    return max((len(list(run)) for _, run in runs), default=0)


def _span(times: list[int]) -> tuple[int, int]:
    """The first and the last, 0 if there is none."""
    return min(times, default=0), max(times, default=0)
