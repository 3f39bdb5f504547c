"""Who fills a queue that stays full, second after second: the slices know how low it was before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from test_sidecar_sliding import FIRST, columns_of
from traffic import HEALTHY, SECOND, START, in_turn

from int_analyzer.columns import Columns
from int_analyzer.fold.queues import DEPTH_LOW, LATENCY_LOW, key_of
from int_analyzer.fold.state import State
from int_analyzer.sidecar.checkpoint import Checkpoint
from int_analyzer.sidecar.marks import MOST, Marks
from int_analyzer.sidecar.service import Sidecar
from int_analyzer.sidecar.sliding import CAPACITY, GRACE_NS

NODE, PORT, QUEUE = 2, 2, 0
FULL_SINCE, LATER = 5, 8
"""Second from which the queue is full all the time, and from which other flows fill it."""


def tenth(number: int, second: int) -> Columns:
    """A tenth of a second of calm traffic, but that node 2 port 2 is full from a second on, and filled by other flows from another on."""
    begin = START + second * SECOND + number * SECOND // 10
    calm = [(time, frame) for time, frame in in_turn(HEALTHY) if 0 <= time - START - number * SECOND // 10 - SECOND < SECOND // 10]
    columns = columns_of([(time - SECOND + second * SECOND, frame) for time, frame in calm])
    assert columns.packets.time_ns[0] >= begin
    hops, used = columns.hops, columns.rows("hops")
    there = np.flatnonzero((hops.node_id[:used] == NODE) & (hops.egress_port[:used] == PORT))
    if second >= FULL_SINCE:
        hops.queue_depth_raw[there] = 70
        hops.hop_latency_raw[there] = 90_000
    if second >= LATER:
        columns.packets.src_port[: columns.rows("packets")] = 1111
    return columns


def run(sidecar: Sidecar, begin: int, end: int) -> dict[int, tuple[set[int | None], int]]:
    """Feed seconds: of each second after which something lasts, source ports of the culprits, and packets that they were seen with."""
    lane, said = sidecar.sliding.lanes[0] if sidecar.sliding.lanes else sidecar.sliding.lane(), {}
    for second in range(begin, end):
        for number in range(10):
            lane.fold(tenth(number, second), 0, FIRST + second + 1)
            if number == 2:
                # the second before is closed while this one is open
                sidecar.tick(START + second * SECOND + GRACE_NS)
                for found in sidecar.tracks.lasting:
                    culprits = found["culprits"]
                    said[second - 1] = {flow["src_port"] for flow in culprits}, sum(flow["packets"] for flow in culprits)
    return said


def test_who_fills_a_queue_that_is_never_low_is_said_of_every_second_and_not_of_the_first_alone() -> None:
    said = run(Sidecar(compiled=False), 0, 21)
    assert list(said) == list(range(FULL_SINCE + 1, 20))
    before, after = {49153, 49154}, {1111}
    assert [said[second][0] for second in (FULL_SINCE + 1, LATER - 1)] == [before] * 2
    # as long as there is something of both in the last ten seconds; what was a smaller part of it is said no more
    assert said[LATER + 3][0] == before | after
    assert all(ports == after for second, (ports, _) in said.items() if second >= LATER + 9)
    seconds = [packets for _, packets in said.values()]
    each = seconds[-1] / 10
    assert all(packets > (number + 0.5) * each for number, packets in enumerate(seconds[:6]))


def test_after_a_restart_it_is_known_how_low_the_queue_was(tmp_path: Path) -> None:
    sidecar = Sidecar(checkpoint=Checkpoint(tmp_path), compiled=False)
    run(sidecar, 0, 10)
    sidecar.save(START + 10 * SECOND)
    assert sidecar.checkpoint is not None
    sidecar.checkpoint.finish()
    again = Sidecar(checkpoint=Checkpoint(tmp_path), compiled=False)
    said = run(again, 11, 15)
    assert said[13][0] == {1111} and (again.marks.rows == sidecar.marks.rows).all()


def test_marks_are_those_of_before_for_as_long_as_something_is_found_and_bounded() -> None:
    low, high = State(CAPACITY), State(CAPACITY)
    low.fold(tenth(0, 0), compiled=False)
    high.fold(tenth(0, FULL_SINCE), compiled=False)
    node, port = key_of(NODE, PORT, QUEUE)
    (row,) = (row for row in low.queues.table.data if (row[0], row[1]) == (node, port))
    marks = Marks()
    for states in ([high, low], [high]):
        marks.update([(NODE, PORT, QUEUE), (77, 1, None)], states)
        assert marks.rows[:, [LATENCY_LOW, DEPTH_LOW]].tolist() == [row[[LATENCY_LOW, DEPTH_LOW]].tolist()]
    places = [(int(row[0]), int(row[1] >> 9) - 1, int(row[1] & 511) - 1) for row in low.queues.table.data]
    assert len(places) > 1
    marks.update(places * MOST, [low])
    assert len(marks.rows) == len(places)
    marks.update([], [low])
    assert len(marks.rows) == 0


def test_what_comes_after_is_judged_by_the_marks_too_and_other_queues_are_left_alone() -> None:
    low, high = State(CAPACITY), State(CAPACITY)
    low.fold(tenth(0, 0), compiled=False)
    high.fold(tenth(0, FULL_SINCE), compiled=False)
    before = high.queues.table.data.copy()
    marks = Marks()
    marks.update([(NODE, PORT, QUEUE)], [low])
    high.queues.lower(marks.rows, fast=False)
    changed = np.flatnonzero((high.queues.table.data != before).any(axis=1))
    assert len(changed) == 1 and before[changed[0], :2].tolist() == list(key_of(NODE, PORT, QUEUE))
    assert len(high.view().pairs.queue[high.view().pairs.queue == changed[0]]) == 0
    high.fold(tenth(1, FULL_SINCE), compiled=False)
    assert len(high.view().pairs.queue[high.view().pairs.queue == changed[0]]) > 0
