"""Units of raw values, guessed from what they look like. A guess says what it rests on; where nothing can be known there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from int_analyzer.analysis.units import latency_hint
from int_analyzer.draft.node_tally import NodeTally
from int_analyzer.draft.port_tally import PortTally
from int_analyzer.profile import DEPTH_UNITS, IOAM_TIMES, TIME_UNITS
from int_analyzer.report.figure import count, duration, share

_ENOUGH = 8
"""Fewer values than this show no unit; nor does a depth that never exceeds it."""
_DISTINCT = 4
_MOST, _FEW = 0.9, 0.01
_MOST_PAIRS = 0.8
"""Single packets are late by queues downstream."""
_EXACT = 0.05
"""A clock of another unit (1.28 ns, …) is off by more, a clock of this unit by far less."""
_SMALLEST_CELL = 32
_ID_BITS = (1 << 64) - 1
"""The kernel keeps 64-bit ids as the bits of an int64."""
_IOAM_ENOUGH, _PTP_ENOUGH = 3, 20
"""Of ns (0 … 10^9) three in a row are not below 10^6 by chance; of 2^-32 s twenty are not below 10^9."""


class Guess(NamedTuple):
    """A key of [units] with its guessed value (None: no guess), what that rests on, and what could be said."""

    key: str
    value: str | None
    reason: str
    choices: tuple[str, ...]


class _Question(NamedTuple):
    key: str
    choices: tuple[str, ...]
    answer: Callable[[NodeTally], str | None]
    explain: Callable[[NodeTally, str], str]
    regret: Callable[[NodeTally], str]


def guess_units(nodes: dict[int, NodeTally], ports: dict[tuple[int, int], PortTally]) -> tuple[list[Guess], dict[int, list[Guess]]]:
    """(guesses for all nodes, guesses of single nodes by id where nodes contradict each other)."""
    common: list[Guess] = []
    single: dict[int, list[Guess]] = {}
    for question in _QUESTIONS:
        answers = {node: value for node in sorted(nodes) if (value := question.answer(nodes[node])) is not None}
        values = sorted(set(answers.values()))
        if len(values) == 1:
            # who shows most says why
            clearest = max(answers, key=lambda node: (nodes[node].depths_above_zero, nodes[node].hops, -node))
            reason = question.explain(nodes[clearest], values[0]) + _where(clearest, len(answers), len(nodes))
            common.append(Guess(question.key, values[0], reason, question.choices))
            continue
        if values:
            common.append(Guess(question.key, None, f"nodes differ ({', '.join(values)}): see each", question.choices))
            for node, value in answers.items():
                single.setdefault(node, []).append(Guess(question.key, value, question.explain(nodes[node], value), question.choices))
            continue
        hint = _by_rate(nodes, ports) if question.key == "hop_latency" else None
        if hint is not None:
            common.append(Guess(question.key, *hint, question.choices))
        else:
            common.append(Guess(question.key, None, question.regret(_merged(list(nodes.values()))), question.choices))
    return common, single


def contradicts(tally: NodeTally) -> bool:
    """Whether hop latency and the node's times tell different stories in most hops."""
    agreed = max(tally.equal, tally.thousand, tally.thousandth)
    return tally.compared >= _ENOUGH and agreed < (1 - _MOST) * tally.compared


def _depth(tally: NodeTally) -> str | None:
    if tally.depths_above_zero < _ENOUGH or len(tally.depth_values) < _DISTINCT or tally.depth_max < _ENOUGH:
        return None
    if tally.depths_below_frame < _FEW * tally.depths_above_zero:
        return "bytes"
    if tally.depths_beyond_count >= _FEW * tally.depths_above_zero:
        return "cells"
    return "packets" if tally.depth_min == 1 else None


def _explain_depth(tally: NodeTally, value: str) -> str:
    looks = f"{value}: {count(tally.depths_above_zero)} values above 0, from {count(tally.depth_min)} to {count(tally.depth_max)}"
    if tally.depth_step > 1:
        looks += f", all multiples of {tally.depth_step}"
    else:
        looks += " in steps of 1"
    if value == "cells":
        return f"{looks}, more than packets would be"
    return f"{looks} (cells of {tally.depth_step} bytes?)" if value == "bytes" and tally.depth_step >= _SMALLEST_CELL else looks


def _regret_depth(tally: NodeTally) -> str:
    if tally.depths == 0:
        return "queue depth is never reported"
    if tally.depth_max == 0:
        return "queue depth is always 0"
    return f"queue depth goes up to {count(tally.depth_max)}: nothing can be known of its unit"


def _time(tally: NodeTally) -> str | None:
    by_clock = _clock(tally)
    if by_clock is not None or tally.pairs >= _ENOUGH:
        return by_clock
    # Without a usable capture clock: hop latency and time difference 1000 apart are µs and ns.
    relation = _relation(tally)
    return {1000: "ns", -1000: "us"}.get(relation) if relation is not None else None


def _clock(tally: NodeTally) -> str | None:
    """The unit by which the node's clock keeps up with the capture's."""
    if tally.pairs < _ENOUGH:
        return None
    for unit, near, size, (passed, advanced) in (
        ("ns", tally.pairs_ns, 1, tally.captured_ns),
        ("us", tally.pairs_us, 1000, tally.captured_us),
    ):
        if near >= _MOST_PAIRS * tally.pairs and abs(passed / advanced / size - 1) <= _EXACT:
            return unit
    return None


def _explain_time(tally: NodeTally, value: str) -> str:
    steps = f"; their steps are {count(tally.time_step)}" if tally.time_step > 1 else ""
    if _clock(tally) is None:
        return f"{_word(value)}: egress − ingress {_relation_words(tally)}{steps}"
    passed, advanced = tally.captured_ns if value == "ns" else tally.captured_us
    return f"{_word(value)}: one unit passes in {duration(passed / advanced)} of capture time ({count(tally.times)} times){steps}"


def _regret_time(tally: NodeTally) -> str:
    if tally.times == 0:
        return "ingress and egress times are never reported" + (" but in IOAM" if tally.ioam_times else ", or always 0")
    if tally.pairs < _ENOUGH:
        return "too few times, or no capture times to compare them with"
    return "a unit of the nodes' times is neither 1 ns nor 1 µs of capture time"


def _relation(tally: NodeTally) -> int | None:
    """1: latency = time difference, 1000: difference = 1000 × latency, −1000: the reverse; None: not known."""
    if tally.compared < _ENOUGH:
        return None
    for relation, hops in ((1, tally.equal), (1000, tally.thousand), (-1000, tally.thousandth)):
        if hops >= _MOST * tally.compared:
            return relation
    return None


def _relation_words(tally: NodeTally) -> str:
    relation = _relation(tally)
    hops = {1: tally.equal, 1000: tally.thousand, -1000: tally.thousandth}.get(relation or 0, 0)
    words = {1: "equals hop latency", 1000: "is 1000 × hop latency", -1000: "is hop latency ÷ 1000"}.get(relation or 0, "")
    return f"{words} in {share(hops / tally.compared)} of {count(tally.compared)} hops"


def _latency(tally: NodeTally) -> str | None:
    return {("ns", 1): "ns", ("us", 1): "us", ("ns", 1000): "us", ("us", -1000): "ns"}.get((_time(tally) or "", _relation(tally) or 0))


def _explain_latency(tally: NodeTally, value: str) -> str:
    return f"{_word(value)}: egress − ingress time in {_word(_time(tally) or '')} {_relation_words(tally)}"


def _regret_latency(tally: NodeTally) -> str:
    if tally.latencies == 0:
        return "hop latency is never reported" + (" (it is taken from the times)" if tally.times else "")
    return "hop latency stands beside nothing that tells its unit"


def _by_rate(nodes: dict[int, NodeTally], ports: dict[tuple[int, int], PortTally]) -> tuple[str, str] | None:
    """(unit of hop latency, what it rests on) if depth ÷ latency is the rate at which the deepest queue was seen to send packets."""
    for (node, port), tally in sorted(ports.items(), key=lambda item: (-item[1].busy_depth, item[0])):
        if _depth(nodes[node]) != "packets" or not _ENOUGH <= tally.busy_latencies == tally.busy or contradicts(nodes[node]):
            continue
        depth, latency = tally.busy_depth / tally.busy, tally.busy_latency / tally.busy
        if tally.busy_ns == 0 or latency_hint(depth, tally.busy / tally.busy_ns, latency) is None:
            return None
        unit = "us" if depth * tally.busy_ns / tally.busy > 30 * latency else "ns"
        return unit, f"{_word(unit)}: depth ÷ hop latency is the packet rate of node {node} port {port} while packets waited there"
    return None


def _ioam(tally: NodeTally) -> str | None:
    posix, ntp = (days >= _MOST * tally.ioam_times for days in tally.ioam_days)
    if tally.ioam_times < _IOAM_ENOUGH or not (posix or ntp):
        return None
    if ntp:
        return "ntp"
    if tally.ioam_beyond_us == 0:
        return "posix"
    return "ptp" if tally.ioam_beyond_ns == 0 and tally.ioam_times >= _PTP_ENOUGH else None


def _explain_ioam(tally: NodeTally, value: str) -> str:
    looks = {"posix": "fraction below 10^6", "ptp": "fraction below 10^9, not below 10^6", "ntp": "seconds since 1900"}[value]
    return f"{value}: {looks} in all {count(tally.ioam_times)} times, seconds as in the capture"


def _regret_ioam(tally: NodeTally) -> str:
    return "no IOAM times" if tally.ioam_times == 0 else "IOAM times are few, or not of the capture's day"


def _merged(tallies: list[NodeTally]) -> NodeTally:
    merged = NodeTally()
    for tally in tallies:
        merged.merge(tally)
    return merged


def _where(node: int, alike: int, of_all: int) -> str:
    others = f", and {count(alike - 1)} more alike" if alike > 1 else ""
    unknown = f"; {count(of_all - alike)} more show nothing of it" if alike < of_all else ""
    return f", at node {node & _ID_BITS}{others}{unknown}"


def _word(unit: str) -> str:
    return "µs" if unit == "us" else unit


_QUESTIONS = (
    _Question("queue_depth", DEPTH_UNITS, _depth, _explain_depth, _regret_depth),
    _Question("hop_latency", TIME_UNITS, _latency, _explain_latency, _regret_latency),
    _Question("time", TIME_UNITS, _time, _explain_time, _regret_time),
    _Question("ioam_time", IOAM_TIMES, _ioam, _explain_ioam, _regret_ioam),
)
