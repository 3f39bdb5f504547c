"""Sequence numbers: loss told from reordering, duplicates, restarts and senders that do not count; and drops by reason."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from fold_reference import START, Mirror, Packet, Report, fill
from hypothesis import given, settings
from hypothesis import strategies as st

from int_analyzer import schema
from int_analyzer.fold import sequences
from int_analyzer.fold.state import State
from int_analyzer.fold.view import SequenceView

LIVES = [pytest.param(False, id="plain"), pytest.param(True, id="compiled")]


def reported(numbers: Sequence[int], version: int = schema.FORMAT_REPORT_1, first_ns: int = START, compiled: bool = False) -> State:
    """A state of one report a packet, 1 µs apart."""
    state = State()
    packets = [Packet(first_ns + 1000 * row) for row in range(len(numbers))]
    reports = [Report(number, version=version, packet=row) for row, number in enumerate(numbers)]
    state.fold(fill(packets, reports), compiled)
    return state


def told(view: SequenceView) -> tuple[int, int, int, int, bool]:
    """Received, lost, reordered, duplicated, static of the only stream."""
    assert len(view.kind) == 1
    return int(view.received[0]), int(view.lost[0]), int(view.reordered[0]), int(view.duplicated[0]), bool(view.static[0])


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize(
    ("numbers", "right"),
    [
        ([1, 2, 3], (3, 0, 0, 0, False)),
        ([1, 2, 5], (3, 2, 0, 0, False)),
        ([1, 3, 2, 4], (4, 0, 1, 0, False)),  # late, not lost
        ([2, 1, 3], (3, 0, 1, 0, False)),  # late, before the first
        ([1, 2, 2, 3], (4, 0, 0, 1, False)),
        ([1, 3, 2, 2], (4, 0, 1, 1, False)),
        ([1, 70, 5], (3, 68, 0, 0, False)),  # later than the window: lost
        ([10, 74, 11], (3, 62, 1, 0, False)),  # just within it
        ([9, 9, 9, 9], (4, 0, 0, 0, True)),
        ([9], (1, 0, 0, 0, False)),
        ([5_000_000, 5_000_002, 0, 1, 3], (5, 2, 0, 0, False)),  # a restart, and a loss on each side of it
        ([5_000_000, 9, 5_000_001], (3, 0, 0, 0, False)),  # a stray number alone is no restart
    ],
)
def test_numbers_tell_loss_from_the_rest(numbers: list[int], right: tuple[int, int, int, int, bool], compiled: bool) -> None:
    assert told(reported(numbers, compiled=compiled).view().sequences) == right


@pytest.mark.parametrize(("version", "bits"), [(schema.FORMAT_REPORT_2, 22), (schema.FORMAT_REPORT_1, 32), (schema.FORMAT_REPORT_05, 32)])
def test_numbers_wrap_at_the_width_of_their_version(version: int, bits: int) -> None:
    top = 1 << bits
    view = reported([top - 2, top - 1, 1, 0, 3], version).view().sequences
    assert told(view) == (5, 1, 1, 0, False)
    assert view.kind == [schema.FORMAT_BY_ID[version].name]


def test_a_narrower_number_of_a_dialect_wraps_where_it_ends() -> None:
    pieces = [[65534, 65535, 1], [2, 3]]
    states = [State(), State()]
    for piece, state in enumerate(states):
        reports = [Report(number, packet=row, bits=16) for row, number in enumerate(pieces[piece])]
        state.fold(fill([Packet(START + 9000 * piece + 1000 * row) for row in range(len(reports))], reports), compiled=False)
    assert told(states[0].view().sequences) == (3, 1, 0, 0, False)
    states[0].merge(states[1])
    assert told(states[0].view().sequences) == (5, 1, 0, 0, False)


@given(st.integers(0, (1 << 22) - 1), st.lists(st.booleans(), min_size=2, max_size=300), st.integers(1, 8), st.data())
@settings(max_examples=60, deadline=None)
def test_loss_is_what_did_not_come_of_the_range(first: int, came: list[bool], window: int, data: st.DataObject) -> None:
    numbers = [first + at for at, there in enumerate([True, *came, True]) if there]
    order = sorted(range(len(numbers)), key=lambda at: at + data.draw(st.integers(0, window)))
    sent = [numbers[at] % (1 << 22) for at in order]
    received, lost, _, duplicated, _ = told(reported(sent, schema.FORMAT_REPORT_2).view().sequences)
    assert (received, lost, duplicated) == (len(sent), len(came) + 2 - len(sent), 0)


@given(st.integers(0, (1 << 22) - 1), st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_pieces_in_a_row_lose_what_the_whole_loses(first: int, came: list[bool], cut: int) -> None:
    sent = [(first + at) % (1 << 22) for at, there in enumerate([True, *came]) if there]
    state = reported(sent[:cut], schema.FORMAT_REPORT_2)
    state.merge(reported(sent[cut:], schema.FORMAT_REPORT_2, START + 1000 * cut))
    assert told(state.view().sequences) == told(reported(sent, schema.FORMAT_REPORT_2).view().sequences)


def test_interleaved_pieces_lose_nothing_that_the_other_saw() -> None:
    state = reported(range(0, 200, 2))
    state.merge(reported(range(1, 200, 2), first_ns=START + 500))
    assert told(state.view().sequences) == (200, 0, 0, 0, False)


@pytest.mark.parametrize("missing", [[], [7, 300, 301]])
def test_a_stream_captured_twice_is_all_duplicates(missing: list[int]) -> None:
    numbers = [number for number in range(1154) if number not in missing]
    state = reported(numbers)
    state.merge(reported(numbers, first_ns=START + 700))
    assert told(state.view().sequences) == (2 * len(numbers), len(missing), 0, len(numbers), False)


def test_captures_that_overlap_in_part_count_what_cannot_be_new() -> None:
    state = reported(range(1000))
    state.merge(reported(range(500, 1500), first_ns=START + 500_000))
    assert told(state.view().sequences) == (2000, 0, 0, 500, False)


def test_numbers_late_across_pieces_are_not_lost() -> None:
    state = reported([1, 2, 4])
    state.merge(reported([3, 5], first_ns=START + 9000))
    assert told(state.view().sequences)[:2] == (5, 0)
    state.merge(reported([5, 7], first_ns=START + 99000))  # 5 twice
    assert told(state.view().sequences)[:2] == (7, 1)


def test_a_piece_that_begins_later_may_hold_the_lower_numbers() -> None:
    state = reported([5, 7, 9])
    state.merge(reported([4, 6, 8], first_ns=START + 500))
    assert told(state.view().sequences)[:2] == (6, 0)


def test_a_piece_of_one_stray_number_is_no_restart() -> None:
    state = reported([5_000_000, 5_000_001])
    state.merge(reported([9], first_ns=START + 9000))
    state.merge(reported([5_000_003, 5_000_004], first_ns=START + 19000))
    assert told(state.view().sequences)[:2] == (5, 1)


def test_a_restart_between_pieces_is_no_loss() -> None:
    state = reported([5_000_000, 5_000_002])
    state.merge(reported([0, 1], first_ns=START + 9000))
    assert told(state.view().sequences)[:2] == (4, 1)


def test_streams_are_told_apart_by_version_node_and_subsystem() -> None:
    reports = [
        Report(5, node, hw, version) for node in (1, 2) for hw in (0, 1) for version in (schema.FORMAT_REPORT_1, schema.FORMAT_REPORT_2)
    ]
    state = State()
    state.fold(fill([Packet(START)], reports), compiled=False)
    view = state.view()
    assert len(view.sequences.kind) == 8
    assert view.counts["reports"] == 8
    assert sorted(set(zip(view.sequences.node_id.tolist(), view.sequences.stream.tolist(), strict=True))) == [
        (1, 0),
        (1, 1),
        (2, 0),
        (2, 1),
    ]


def test_reports_of_one_datagram_share_a_number() -> None:
    state = State()
    reports = [Report(number, position=position) for number in (4, 5, 7) for position in range(3)]
    state.fold(fill([Packet(START)], reports), compiled=False)
    assert told(state.view().sequences) == (3, 1, 0, 0, False)


@pytest.mark.parametrize("compiled", LIVES)
def test_mirrors_count_by_source_and_session(compiled: bool) -> None:
    mirrors = [Mirror(1), Mirror(3), Mirror(1, session=6), Mirror(9, source=0x0A000002), Mirror(None), Mirror(4, session=None)]
    state = State()
    state.fold(fill([Packet(START)], mirrors=mirrors), compiled)
    view = state.view().sequences
    streams = sorted(zip(view.source, view.node_id.tolist(), view.received.tolist(), view.lost.tolist(), strict=True))
    assert streams == [("10.0.0.1", -1, 1, 0), ("10.0.0.1", 5, 2, 1), ("10.0.0.1", 6, 1, 0), ("10.0.0.2", 5, 1, 0)]
    assert set(view.kind) == {"erspan"}
    assert state.view().counts["mirrors"] == 6


def test_drops_are_counted_by_node_and_reason() -> None:
    state, other = State(), State()
    state.fold(
        fill([Packet(START)], [Report(1, 1, reason=80), Report(2, 1, reason=80), Report(3, 2, reason=7), Report(4, 2)]), compiled=False
    )
    other.fold(fill([Packet(START)], [Report(5, 1, reason=80), Report(6, 3, reason=0)]), compiled=False)
    state.merge(other)
    assert state.view().drops == {(1, 80): 3, (2, 7): 1, (3, 0): 1}


def test_streams_beyond_the_maximum_are_counted_and_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "MAXIMUM_STREAMS", 70)
    state = State()
    state.fold(fill([Packet(START)], [Report(1, node, reason=node % 100) for node in range(200)]), compiled=False)
    view = state.view()
    assert len(view.sequences.kind) == len(view.drops) == 70
    assert view.counts["streams_ignored"] == 2 * 130


def test_a_long_stream_may_wrap_more_than_once() -> None:
    step = 1 << 17
    numbers = (np.arange(0, 3 * (1 << 22), step) % (1 << 22)).tolist()
    assert told(reported(numbers, schema.FORMAT_REPORT_2).view().sequences)[:2] == (len(numbers), (len(numbers) - 1) * (step - 1))
