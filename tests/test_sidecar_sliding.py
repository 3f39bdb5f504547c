"""States of one second and what slides over them: the same as a fold of all packets at once."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import numpy as np
import pytest
from summaries import finding
from traffic import CONGESTED, HEALTHY, LENGTH, SECOND, START, Timed, in_turn, pcap

from int_analyzer.analysis.summary import Finding
from int_analyzer.capture import open_source
from int_analyzer.columns import Columns
from int_analyzer.decode import Decoder
from int_analyzer.fold.state import State
from int_analyzer.sidecar.lifetime import Lifetime
from int_analyzer.sidecar.sliding import CAPACITY, GRACE_NS, JUMP_NS, OPEN, SLICES, STRETCHES, Sliding
from int_analyzer.sidecar.track import CALM_AGAIN, CONFIRMED, HOLD_NS, ROLE_CONFIRMED, UNJUDGED, UPDATE_NS, Tracks

FIRST = START // SECOND


def columns_of(timed: list[Timed]) -> Columns:
    """A batch."""
    decoder = Decoder(compiled=False)
    return next(iter(decoder.batches(open_source(io.BytesIO(pcap(timed))))))


def state_of(timed: list[Timed]) -> State:
    state = State(CAPACITY)
    state.fold(columns_of(timed), compiled=False)
    return state


def by_second(timed: list[Timed]) -> dict[int, list[Timed]]:
    seconds: dict[int, list[Timed]] = {}
    for entry in timed:
        seconds.setdefault(entry[0] // SECOND, []).append(entry)
    return seconds


def counted(state: State) -> dict[str, Any]:
    """What merges exactly: counts, and per queue packets, bytes, latencies and depths."""
    view = state.view()
    order = np.lexsort((view.queues.queue_id, view.queues.port, view.queues.node_id))
    names = ("node_id", "port", "packets", "bytes", "latency_sum", "latency_max", "depth_sum", "depth_max", "first_ns", "last_ns")
    counts = {name: count for name, count in view.counts.items() if name != "time_backwards"}
    return {"counts": counts, **{name: getattr(view.queues, name)[order].tolist() for name in names}}


def filled(timed: list[Timed]) -> Sliding:
    """All packets folded second by second, as they would come."""
    sliding = Sliding(compiled=False)
    lane = sliding.lane()
    for number, entries in by_second(timed).items():
        lane.fold(columns_of(entries), sliding.oldest, number + 1)
        sliding.advance((number + 1) * SECOND + GRACE_NS)
    return sliding


def test_the_last_ten_seconds_are_those_of_their_packets() -> None:
    timed = in_turn(HEALTHY, HEALTHY, CONGESTED, HEALTHY)
    sliding = filled(timed)
    assert counted(sliding.last_ten()) == counted(state_of([entry for entry in timed if entry[0] >= (sliding.end - 10) * SECOND]))


def test_the_last_ten_seconds_are_those_of_their_packets_at_every_second_and_what_comes_late_among_them() -> None:
    timed = in_turn(HEALTHY, CONGESTED, HEALTHY, CONGESTED, HEALTHY, every=20)
    silent, chosen = FIRST + 12, np.random.default_rng(7)
    late = chosen.integers(0, 12, len(timed)) * (chosen.random(len(timed)) < 0.2)
    late[[entry[0] // SECOND == silent for entry in timed]] = 4
    arriving: dict[int, dict[int, list[Timed]]] = {}
    for entry, seconds in zip(timed, late.tolist(), strict=True):
        number = entry[0] // SECOND
        arriving.setdefault(number + seconds, {}).setdefault(number, []).append(entry)
    sliding = Sliding(compiled=False)
    lane = sliding.lane()
    came: list[Timed] = []
    for now in range(FIRST, FIRST + 36):
        for entries in arriving.get(now, {}).values():
            came += entries
            lane.fold(columns_of(entries), sliding.oldest, now)
        sliding.advance((now + 1) * SECOND + GRACE_NS)
        within = [entry for entry in came if now - 9 <= entry[0] // SECOND <= now]
        assert counted(sliding.last_ten()) == counted(state_of(within) if within else State(CAPACITY)), now - FIRST
        minute = [entry for entry in came if entry[0] // SECOND >= sliding.oldest]
        assert counted(sliding.last_minute()) == counted(state_of(minute)), now - FIRST
    assert lane.late > 50 and lane.lost == 0


def test_a_second_costs_three_merges_on_average(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = in_turn(*[HEALTHY] * 8, every=50)
    merged: list[int] = []
    merge = State.merge

    def counting(state: State, other: State) -> None:
        merged.append(1)
        merge(state, other)

    sliding = Sliding(compiled=False)
    lane = sliding.lane()
    monkeypatch.setattr(State, "merge", counting)
    for number, entries in by_second(timed).items():
        if number == FIRST + 20:
            merged.clear()
        lane.fold(columns_of(entries), sliding.oldest, number + 1)
        sliding.advance((number + 1) * SECOND + GRACE_NS)
        sliding.last_ten()
    assert 0 < len(merged) <= 3 * 20


def test_the_last_minute_forgets_what_is_older() -> None:
    timed = in_turn(*[HEALTHY] * 17)
    sliding = filled(timed)
    assert sorted(sliding.stretches) == [FIRST // 10 + number for number in range(2, 9)][-STRETCHES - 1 :]
    kept = [entry for entry in timed if entry[0] // SECOND >= sliding.oldest]
    assert sliding.last_minute().view().counts["packets"] == len(kept) < len(timed)
    assert len(sliding.slices) <= SLICES + 1


def test_lanes_together_are_one() -> None:
    timed = in_turn(CONGESTED)
    sliding, lifetime = Sliding(compiled=False), Lifetime()
    lanes = [sliding.lane(), sliding.lane()]
    for number, entries in by_second(timed).items():
        for lane, part in zip(lanes, (entries[::2], entries[1::2]), strict=True):
            lane.fold(columns_of(part), 0, number + 1)
        for piece in sliding.advance((number + 1) * SECOND + GRACE_NS):
            lifetime.add(piece)
    assert counted(sliding.last_ten()) == counted(state_of(timed))
    # each goes forward in time, side by side
    assert sliding.last_ten().view().counts["time_backwards"] == lifetime.counts()["counts"]["time_backwards"] == 0


def test_a_slice_is_open_until_its_packets_can_have_come() -> None:
    sliding = Sliding(compiled=False)
    lane = sliding.lane()
    lane.fold(columns_of(by_second(in_turn(HEALTHY))[FIRST + 1]), 0, FIRST + 2)
    assert sliding.advance((FIRST + 2) * SECOND + GRACE_NS - 1) == []
    assert len(sliding.advance((FIRST + 2) * SECOND + GRACE_NS)) == 1


def test_what_is_too_old_or_from_the_future_is_counted_and_left_out() -> None:
    sliding = filled(in_turn(HEALTHY))
    lane, batch = sliding.lanes[0], columns_of(by_second(in_turn(HEALTHY))[FIRST])
    before = lane.packets
    assert not lane.fold(batch, FIRST + 1, FIRST + 5)
    assert not lane.fold(batch, FIRST - 5, FIRST - 1)
    assert lane.lost == 2 * batch.rows("packets") and lane.packets == before


def test_damaged_times_open_a_bounded_number_of_slices() -> None:
    sliding = Sliding(compiled=False)
    lane = sliding.lane()
    frame = in_turn(HEALTHY)[0][1]
    for number in range(OPEN + 5):
        lane.fold(columns_of([(START + number * 10**14, frame)]), 0, START)
    assert (lane.packets, lane.lost) == (OPEN, 5)


@pytest.mark.parametrize("change", [-3600 * SECOND, -3 * SECOND, JUMP_NS + 2 * SECOND])
def test_a_clock_that_was_set_begins_anew(change: int) -> None:
    sliding = filled(in_turn(HEALTHY))
    now = sliding.end * SECOND + GRACE_NS
    assert sliding.stepped(now + change) and sliding.steps == 1
    assert sliding.last_ten().view().counts["packets"] == 0


@pytest.mark.parametrize("change", [-SECOND, 0, SECOND, 50 * SECOND])
def test_a_clock_that_goes_on_or_trembles_was_not_set(change: int) -> None:
    sliding = filled(in_turn(HEALTHY))
    assert not sliding.stepped(sliding.end * SECOND + GRACE_NS + change) and sliding.steps == 0


def found(**changes: object) -> Finding:
    return finding(**{"start_ns": START, "end_ns": START + SECOND, **changes})


def test_one_judgement_makes_no_finding_and_two_do() -> None:
    tracks = Tracks()
    assert tracks.update(START, [found()]) == [] == tracks.lasting
    assert [event.event for event in tracks.update(START + SECOND, [found()])] == ["start"]
    assert CONFIRMED == 2 and tracks.started == {"root": 1}


def test_a_judgement_alone_leaves_no_trace() -> None:
    tracks = Tracks()
    for at in range(0, 60, 2):
        assert tracks.update(START + at * SECOND, [found()]) == []
        assert tracks.update(START + (at + 1) * SECOND, []) == []


def test_a_finding_ends_when_it_was_not_seen_for_some_time_and_not_before() -> None:
    tracks = Tracks()
    for at in (0, 1):
        tracks.update(START + at * SECOND, [found()])
    last = START + SECOND
    assert tracks.update(last + HOLD_NS, []) == []
    assert [event.event for event in tracks.update(last + HOLD_NS + 1, [])] == ["end"]
    assert tracks.lasting == []


@pytest.mark.parametrize(
    ("role", "polled", "reason"), [("root", True, CALM_AGAIN), ("host", False, CALM_AGAIN), ("host", True, UNJUDGED)], ids=str
)
def test_a_host_that_is_judged_no_more_is_not_called_calm(role: str, polled: bool, reason: str) -> None:
    tracks = Tracks()
    for at in (0, 1):
        tracks.update(START + at * SECOND, [found(role=role)])
    assert [event.reason for event in tracks.update(START + 2 * SECOND + HOLD_NS, [], polled=polled)] == [reason]


def test_a_role_is_changed_only_when_several_judgements_say_so() -> None:
    tracks = Tracks()
    for at in (0, 1):
        tracks.update(START + at * SECOND, [found()])
    roles = []
    for at in range(2, 2 + ROLE_CONFIRMED):
        events = tracks.update(START + at * SECOND, [found(role="victim", cause="back-pressure")])
        roles.append((tracks.lasting[0]["role"], [event.event for event in events]))
    assert roles == [("root", []), ("root", []), ("victim", ["update"])]
    for at in range(10, 20):
        role, cause = ("root", "overload") if at % 2 else ("victim", "back-pressure")
        tracks.update(START + at * SECOND, [found(role=role, cause=cause)])
        assert tracks.lasting[0]["role"] == "victim"


def test_a_finding_is_said_again_when_it_doubles_and_every_ten_seconds() -> None:
    tracks = Tracks()
    said = []
    for at in range(26):
        for event in tracks.update(START + at * SECOND, [found(peak_depth=79.0 if at < 5 else 200.0)]):
            said.append((at, event.event, event.reason))
    assert said == [(1, "start", ""), (5, "update", "grown"), (15, "update", "lasts"), (25, "update", "lasts")]
    assert UPDATE_NS == 10 * SECOND


def test_a_victim_names_its_root_by_the_id_that_lasts() -> None:
    tracks = Tracks()
    pair = [found(id="F1"), found(id="F2", role="victim", root="F1", node="1", node_id=1)]
    tracks.update(START, pair)
    # the next judgement counts otherwise
    tracks.update(START + SECOND, [found(id="F1", role="victim", root="F2", node="1", node_id=1), found(id="F2")])
    root, victim = tracks.lasting
    assert (root["role"], victim["role"]) == ("root", "victim")
    assert victim["root"] == root["id"] != victim["id"]


def test_findings_are_kept_and_taken_back() -> None:
    tracks = Tracks()
    for at in (0, 1, 2):
        tracks.update(START + at * SECOND, [found()])
    again = Tracks()
    again.restore(tracks.kept())
    assert dataclasses.asdict(again._tracks["2-2-0"]) == dataclasses.asdict(tracks._tracks["2-2-0"])
    assert [event.event for event in again.update(START + 3 * SECOND, [found()])] == []


def test_a_second_without_packets_is_an_empty_one() -> None:
    timed = [entry for entry in in_turn(HEALTHY, HEALTHY) if not LENGTH <= entry[0] - START < LENGTH + SECOND]
    assert filled(timed).slice(FIRST + 5).view().counts["packets"] == 0
