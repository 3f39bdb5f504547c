"""Messages from marks: whole ones and those known by one packet, by PSN, over its wrap, and against a naive pairing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from mode import unchecked
from roce_reference import US, WRAP, expected_marks, folded
from roce_traffic import MTU, Wire, traffic

from int_analyzer.analysis.hosts.message import UNSEEN, Messages, match_marks
from int_analyzer.fold.transport import KINDS
from int_analyzer.fold.view import View

pytestmark = unchecked


def told(view: View, messages: Messages) -> list[tuple[object, ...]]:
    """(direction, kind, begin, end, packets, bytes) of every whole message."""
    seen, messages = view.connections, messages.of(messages.whole)
    keys = list(zip(seen.src, seen.dst, seen.dest_qp.tolist(), strict=True))
    kinds = ["response" if response else KINDS[kind] for kind, response in zip(messages.kind, messages.response, strict=True)]
    columns = (messages.begin_ns, messages.end_ns, messages.packets, messages.bytes)
    rows = zip(messages.direction.tolist(), kinds, *(column.tolist() for column in columns), strict=True)
    return sorted((keys[direction], *rest) for direction, *rest in rows)


def matched(wire: Wire) -> list[tuple[object, ...]]:
    view = folded(wire.packets).view()
    return [row[1:] for row in told(view, match_marks(view.journal))]


@pytest.mark.parametrize("psn", [1000, WRAP - 4])
def test_a_message_lasts_from_its_first_to_its_last_packet(psn: int) -> None:
    wire = Wire(psn=psn)
    for packets in (4, 1, 3):
        wire.message("write", packets)
    begin = wire.packets[0].time
    assert matched(wire) == [
        ("write", begin, begin + 3 * US, 4, 4 * MTU),
        ("write", begin + 4 * US, begin + 4 * US, 1, MTU),
        ("write", begin + 5 * US, begin + 7 * US, 3, 3 * MTU),
    ]


def test_a_message_without_its_first_or_last_packet_is_none() -> None:
    wire = Wire()
    wire.message("send", 3, lost=(0,))
    wire.message("send", 3, lost=(2,))
    wire.message("send", 3, lost=(1,))
    assert [row[3:] for row in matched(wire)] == [(3, 3 * MTU)]


def test_a_message_is_known_by_its_first_or_its_last_packet_alone() -> None:
    wire = Wire(psn=100)
    begun = wire.message("write", 3, lost=(2,))[0].time
    ended = wire.message("send", 3, lost=(0,))[-1].time
    messages = match_marks(folded(wire.packets).view().journal)
    rows = zip(messages.begin_ns, messages.end_ns, messages.psn, messages.last_psn, messages.bytes, messages.whole, strict=True)
    assert list(rows) == [(begun, UNSEEN, 100, UNSEEN, 3 * MTU, False), (UNSEEN, ended, UNSEEN, 105, UNSEEN, False)]


def test_the_begin_of_one_message_and_the_end_of_the_next_are_not_taken_for_one() -> None:
    wire = Wire(psn=100)
    wire.message("write", 3)
    wire.message("write", 3, lost=(2,))
    wire.message("write", 3, lost=(0,))
    messages = match_marks(folded(wire.packets).view().journal)
    assert messages.whole.tolist() == [True, False, False]
    assert (messages.psn.tolist(), messages.last_psn.tolist()) == ([100, 103, UNSEEN], [102, UNSEEN, 108])


def test_packets_that_overtake_each_other_are_matched_by_psn() -> None:
    wire = Wire()
    first, second = wire.message("write", 2), wire.message("write", 2)
    moved = dataclasses.replace(first[1], time=second[0].time + US // 2)
    wire.packets = sorted([first[0], moved, *second], key=lambda packet: packet.time)
    assert [row[2] - row[1] for row in matched(wire)] == [5 * US // 2, US]  # type: ignore[operator]


def test_no_marks_make_no_messages() -> None:
    assert len(match_marks(folded([]).view().journal).kind) == 0


@pytest.mark.parametrize("seed", range(4))
def test_messages_are_those_of_a_naive_pairing(seed: int) -> None:
    packets = traffic(seed, loss=0.0, late=0.0)
    restarts = {key for key, *_ in told_restarts(packets)}
    open_since: dict[tuple[object, ...], tuple[int, int, int]] = {}
    wanted = []
    for time, key, kind, begins, ends, psn, size in expected_marks(packets):
        stream = (key, kind == "response")
        if begins and ends:
            wanted.append((key, kind, time, time, 1))
            open_since.pop(stream, None)
        elif begins:
            open_since[stream] = (time, psn, size)
        elif stream in open_since:
            begun, first, _ = open_since.pop(stream)
            wanted.append((key, kind, begun, time, (psn - first) % WRAP + 1))
    view = folded(packets).view()
    got = [row[:5] for row in told(view, match_marks(view.journal))]
    assert len(wanted) > 50
    assert [row for row in got if row[0] not in restarts] == sorted(row for row in wanted if row[0] not in restarts)


def told_restarts(packets: list) -> list[tuple[tuple[str, str, int], int]]:  # type: ignore[type-arg]
    """Directions on which a connection began anew: there PSNs do not order messages."""
    seen = folded(packets).view().connections
    keys = zip(seen.src, seen.dst, seen.dest_qp.tolist(), strict=True)
    return [(key, int(count)) for key, count in zip(keys, seen.restarts, strict=True) if count]


def test_psns_of_messages_go_on_beyond_the_wrap() -> None:
    wire = Wire(psn=WRAP - 3)
    for _ in range(4):
        wire.message("write", 2)
    messages = match_marks(folded(wire.packets).view().journal)
    np.testing.assert_array_equal(messages.psn, WRAP - 3 + 2 * np.arange(4))
