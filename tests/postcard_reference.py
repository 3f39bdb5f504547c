"""The slow, obvious twin of joining postcards: lists of packets by identity, cut where the gap is long, sorted by TTL."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from int_analyzer import schema

if TYPE_CHECKING:
    from fold_reference import Packet

REPORTS = (schema.FORMAT_REPORT_05, schema.FORMAT_REPORT_1, schema.FORMAT_REPORT_2, schema.FORMAT_INT_MX)
Path = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Made:
    """A packet put together: the postcard nearest the source, its path, whether a hop is missing, and if it tells of changes."""

    packet: Packet
    time: int
    path: Path
    hole: bool
    whole: bool


def is_postcard(packet: Packet) -> bool:
    """Whether this is one node's report of one packet, and nothing else."""
    own = len(packet.hops) == 1 and packet.hops[0].flags & schema.HOP_FROM_REPORT
    return bool(own and packet.reports and packet.telemetry in REPORTS and packet.ip)


def identity(packet: Packet) -> tuple[Any, ...] | None:
    """What all postcards of a packet have in common, None if they have nothing or this is none."""
    if not is_postcard(packet):
        return None
    number = packet.ip_id if packet.ip == 4 else 0
    if packet.roce is not None:
        return packet.flow_key, packet.roce[0], packet.psn, number
    return (packet.flow_key, number) if number else None


def _place(packet: Packet) -> tuple[int, ...]:
    hop = packet.hops[0]
    return (*hop.key, -1 if hop.ingress is None else hop.ingress)


def _cut(cards: Iterable[Packet]) -> Iterable[list[Packet]]:
    """Postcards of one identity, packet by packet."""
    piece: list[Packet] = []
    for card in sorted(cards, key=lambda card: card.time):
        limit = 1_000_000_000 if card.roce is not None else 100_000_000
        if piece and card.time - piece[-1].time > limit:
            yield piece
            piece = []
        piece.append(card)
    yield piece


def _groups(cards: Sequence[Packet]) -> list[tuple[list[Packet], int]]:
    """Postcards of each packet from the highest TTL on, then by time, without those of a node that told before; and how many these are."""
    by_identity: dict[Any, list[Packet]] = defaultdict(list)
    for card in cards:
        by_identity[identity(card)].append(card)
    groups = []
    for piece in itertools.chain.from_iterable(_cut(found) for found in by_identity.values()):
        seen: set[tuple[int | None, int]] = set()
        hops = []
        for card in sorted(piece, key=lambda card: (-card.ttl, card.time)):
            if (card.hops[0].node, card.ttl) not in seen:
                hops.append(card)
                seen.add((card.hops[0].node, card.ttl))
        groups.append((hops, len(piece) - len(hops)))
    return groups


def put_together(cards: Sequence[Packet]) -> list[Made]:
    """All packets that these postcards tell of."""
    return [made for made, _, _ in _put_together(cards)]


def counts(cards: Sequence[Packet]) -> Counter[str]:
    """What became of postcards, by the names of the view."""
    total = Counter(dict.fromkeys(("joined", "by_arrival", "alone", "unordered", "duplicated", "unidentified"), 0))
    known = [card for card in cards if identity(card) is not None]
    for _, reason, tied in _put_together(known):
        total[reason[0]] += reason[1]
        total["by_arrival"] += reason[1] if tied and reason[0] == "joined" else 0
    total["duplicated"] = sum(twice for _, twice in _groups(known))
    total["unidentified"] = sum(is_postcard(card) for card in cards) - len(known)
    total["total"] = len(known) + total["unidentified"]
    return total


def _put_together(cards: Sequence[Packet]) -> list[tuple[Made, tuple[str, int], bool]]:
    groups = [hops for hops, _ in _groups(cards)]
    votes: dict[Any, Counter[Path]] = defaultdict(Counter)
    for hops in groups:
        if _tied(hops) and not any(one.ttl == two.ttl and one.time == two.time for one, two in itertools.pairwise(hops)):
            path = tuple(map(_place, hops))
            votes[tuple(sorted(path))][path] += 1
    result = []
    for hops in groups:
        path = tuple(map(_place, hops))
        time = min((card.time for card in hops if card.time), default=0)
        if _tied(hops):
            ballot = votes[tuple(sorted(path))]
            top = ballot.most_common(1)
            if not top or 4 * top[0][1] < 3 * ballot.total():
                result += [(Made(card, card.time, (_place(card),), False, False), ("unordered", 1), True) for card in hops]
                continue
            path = top[0][0]
        hole = any(one.ttl - two.ttl > 1 for one, two in itertools.pairwise(hops))
        reason = ("alone", 1) if len(hops) == 1 else ("joined", len(hops))
        result.append((Made(hops[0], time, path, hole, len(hops) > 1 and not hole), reason, _tied(hops)))
    return result


def _tied(hops: Sequence[Packet]) -> bool:
    return len({card.ttl for card in hops}) < len(hops)


def _is_part(part: Path, whole: Path) -> bool:
    return any(picked == part for picked in itertools.combinations(whole, len(part)))


def moves(made: Sequence[Made]) -> dict[Any, tuple[Path, int, int, Path | None]]:
    """By flow: last path, changes, the time of the last and the path before it.

    A path that is part of another may be that one with reports missing.
    """
    flows: dict[Any, list[Made]] = defaultdict(list)
    for packet in made:
        flows[packet.packet.flow_key].append(packet)
    result = {}
    for flow, packets in flows.items():
        packets.sort(key=lambda packet: packet.time)
        whole = [packet for packet in packets if packet.whole]
        last = whole[0].path if whole else packets[-1].path
        changes, at, before = 0, 0, None
        for packet in whole:
            if _is_part(last, packet.path):
                last = packet.path
            elif not _is_part(packet.path, last):
                last, changes, at, before = packet.path, changes + 1, packet.time, last
        result[flow] = (last, changes, at, before)
    return result
