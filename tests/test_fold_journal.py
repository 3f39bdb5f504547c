"""The journal in the fold: what the slow twin marks, nothing twice, the latest where there are too many, and whole again after a merge."""

from __future__ import annotations

import numpy as np
import pytest
from roce_reference import US, expected_marks, fill, folded, known_marks
from roce_traffic import MTU, Wire, traffic

from int_analyzer.fold.journal import Journal
from int_analyzer.fold.state import Capacity, State

LIVES = [pytest.param(False, id="plain"), pytest.param(True, id="compiled")]


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize("seed", range(6))
def test_the_journal_marks_what_the_twin_marks(seed: int, compiled: bool) -> None:
    packets = traffic(seed)
    marks = expected_marks(packets)
    assert len(marks) > 100
    assert known_marks(folded(packets, compiled, batch=170).view()) == marks


def test_copies_and_retransmissions_leave_no_mark() -> None:
    wire = Wire()
    wire.message("send", 1)
    wire.acknowledge(wire.psn - 1)
    sent = wire.message("write", 3)
    marks = known_marks(folded(wire.packets).view())
    wire.copy(sent[0], ttl=60)
    wire.wait(2_000 * US)
    for packet in sent:
        wire.again(packet)
    assert known_marks(folded(wire.packets).view()) == marks
    assert [mark[-1] for mark in marks] == [MTU, 3 * MTU, MTU]


@pytest.mark.parametrize("cut", range(1, 14))
def test_a_message_that_a_boundary_cut_is_whole_after_the_merge(cut: int) -> None:
    wire = Wire()
    for _ in range(2):
        wire.message("write", 3)
        wire.acknowledge(wire.psn - 1)
        wire.message("send", 2)
        wire.acknowledge(wire.psn - 1)
    assert len(wire.packets) == 14
    merged = folded(wire.packets[:cut])
    merged.merge(folded(wire.packets[cut:]))
    assert known_marks(merged.view()) == known_marks(folded(wire.packets).view())


def test_merging_numbers_directions_anew() -> None:
    one, other = Wire(here=1, there=2), Wire(here=3, there=4, psn=7000)
    for wire in (one, other):
        wire.message("write", 2)
        wire.acknowledge(wire.psn - 1)
    merged = folded(one.packets)
    merged.merge(folded(other.packets))
    assert known_marks(merged.view()) == sorted([*known_marks(folded(one.packets).view()), *known_marks(folded(other.packets).view())])


def test_of_too_many_marks_the_latest_stay_and_the_others_are_counted() -> None:
    wire = Wire()
    for _ in range(40):
        wire.message("send", 1)
        wire.acknowledge(wire.psn - 1)
    marks = known_marks(folded(wire.packets).view())
    state = State()
    state.connections.journal = Journal(16)
    state.fold(fill(wire.packets), False)
    journal = state.view().journal
    assert 8 <= len(journal.time_ns) <= 16
    assert journal.forgotten + len(journal.time_ns) == 40
    assert known_marks(state.view()) == marks[-len(journal.time_ns) :]


def test_merged_journals_keep_to_the_maximum() -> None:
    wire = Wire()
    for _ in range(40):
        wire.message("send", 1)
        wire.acknowledge(wire.psn - 1)
    halves = [folded(wire.packets[:40]), folded(wire.packets[40:])]
    halves[0].connections.journal.maximum = 16
    halves[0].merge(halves[1])
    journal = halves[0].view().journal
    assert (len(journal.time_ns), journal.forgotten) == (16, 24)
    np.testing.assert_array_equal(journal.time_ns, folded(wire.packets).view().journal.time_ns[-16:])


def test_marks_of_forgotten_directions_go_with_them() -> None:
    packets = []
    for number in range(60):
        wire = Wire(psn=1000 * number, here_qp=100 + number, there_qp=5000 + number, time=1_700_000_000_000_000_000 + number * 100 * US)
        wire.message("write", 2)
        wire.acknowledge(wire.psn - 1)
        packets += wire.packets
    view = folded(packets, capacity=Capacity(connections=32)).view()
    assert view.journal.forgotten > 0
    assert view.journal.forgotten + len(view.journal.time_ns) == 120
    last = [mark for mark in expected_marks(packets) if mark[1][2] in set(view.connections.dest_qp.tolist())]
    assert known_marks(view) == last
