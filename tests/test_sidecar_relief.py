"""What follows a part of the connections while following all is too much: when it begins, when it ends, and what is said of it."""

from __future__ import annotations

import io

import pytest
from test_sidecar_polling import HOSTS, SECONDS, roce_of, sent
from traffic import SECOND

from int_analyzer.capture import open_source
from int_analyzer.live.replay import Replay
from int_analyzer.sidecar import relief
from int_analyzer.sidecar.page_document import page_document
from int_analyzer.sidecar.polling import USUAL
from int_analyzer.sidecar.relief import ALL, BUSY_SECONDS, HOLD_NS, LONGEST_HOLD_NS, Load, Relief
from int_analyzer.sidecar.service import Sidecar

HOLD = HOLD_NS // SECOND


def seconds_until_a_switch(machine: Relief, begin: int, busy: float = 0.0, lost: int = 0) -> int:
    """How many equal seconds it takes."""
    for number in range(3 * LONGEST_HOLD_NS // SECOND):
        if machine.look((begin + number) * SECOND, 1000, lost, busy):
            return number
    raise AssertionError("never")


def test_packets_that_are_lost_relieve_at_once_and_a_busy_processor_after_some_seconds() -> None:
    machine = Relief()
    assert machine.connections == ALL and seconds_until_a_switch(machine, 0, lost=3) == 0
    assert machine.connections == USUAL and machine.reason == "3 packets lost in a second"
    machine = Relief()
    assert seconds_until_a_switch(machine, 0, busy=0.9) == BUSY_SECONDS - 1
    assert machine.reason == f"90 % of a processor for {BUSY_SECONDS} seconds"


def test_a_busy_second_now_and_then_changes_nothing() -> None:
    machine = Relief()
    assert not any(machine.look(second * SECOND, 1000, 0, 0.9 if second % BUSY_SECONDS else 0.1) for second in range(100))


def test_without_connections_there_is_nothing_to_relieve() -> None:
    machine = Relief()
    assert not any(machine.look(second * SECOND, 0, 50, 0.9) for second in range(100))


def test_all_are_followed_again_after_a_calm_that_nothing_interrupted() -> None:
    machine = Relief()
    seconds_until_a_switch(machine, 0, lost=1)
    for second in range(1, 10 * HOLD):
        # between calm and busy, and once in a while a packet too many
        assert not machine.look(second * SECOND, 1000, int(second % 20 == 0), 0.1 if second % 2 else 0.6)
    assert seconds_until_a_switch(machine, 10 * HOLD) == HOLD - 2
    assert machine.connections == ALL and machine.switches == 2 and machine.describe() == "all are followed"


def test_each_try_that_was_too_early_doubles_the_calm_that_is_waited_for() -> None:
    machine, now, waited = Relief(), 0, []
    for _ in range(8):
        now += seconds_until_a_switch(machine, now, lost=1) + 1
        calm = seconds_until_a_switch(machine, now) + 1
        waited.append(calm)
        now += calm
    assert waited == [min(HOLD << tries, LONGEST_HOLD_NS // SECOND) for tries in range(8)]
    # after a long time in which all could be followed, it begins anew
    now += LONGEST_HOLD_NS // SECOND
    now += seconds_until_a_switch(machine, now, lost=1) + 1
    assert seconds_until_a_switch(machine, now) + 1 == HOLD


def test_a_clock_that_was_set_back_makes_nobody_wait_for_it() -> None:
    machine = Relief()
    machine.look(10_000 * SECOND, 1000, 1, 0.0)
    assert seconds_until_a_switch(machine, 0) == HOLD


def watched(machine: Relief | None, lost_at: int | None = None) -> tuple[Sidecar, list[str]]:
    """A sidecar of which packets were lost after so many seconds, and what it said of connections."""
    sidecar, said = Sidecar(relief=machine), list[str]()
    sidecar.on_notice.append(said.append)
    began: list[int] = []

    def reach(now_ns: int) -> None:
        began.append(now_ns)
        if lost_at is not None and now_ns - began[0] >= lost_at * SECOND:
            replay.losses.own = 7
        sidecar.reach(now_ns)

    with open_source(io.BytesIO(sent())) as source:
        replay = Replay(source, float("inf"), reach)
        sidecar.replay(sidecar.add(replay, on_wall_clock=False), lambda seconds: False)
    return sidecar, said


@pytest.fixture
def by_losses_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy this machine is."""
    monkeypatch.setattr(relief, "BUSY", float("inf"))
    monkeypatch.setattr(relief, "CALM", float("inf"))


@pytest.mark.usefixtures("by_losses_alone")
def test_a_sidecar_that_loses_packets_polls_and_says_so_everywhere() -> None:
    exposition = pytest.importorskip("int_analyzer.sidecar.exposition", reason="needs the extra sidecar")
    web = pytest.importorskip("int_analyzer.sidecar.web", reason="needs the extra sidecar")
    sidecar, said = watched(Relief(), lost_at=5)
    assert said == ["connections: 1 of 8 parts at a time are followed: 7 packets lost in a second"]
    tracking = roce_of(sidecar).tracking
    assert tracking.mode == "polling" and tracking.connections_share == 1
    # about half of the ten seconds were followed as a whole
    assert 0.3 < tracking.time_share < 0.8 and 0.3 < tracking.packets_share < 0.8
    assert roce_of(sidecar).directions == HOSTS
    assert page_document(sidecar)["roce"][0][1].startswith("polling, 1 of 8 at a time (7 packets lost in a second): 100 % of them, ")
    assert web.health_of(sidecar) == ("degraded", said)
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in exposition.Exposition(sidecar).collect()
        for sample in family.samples
    }
    assert samples["int_analyzer_connection_tracking_info", "polling"] == 1
    assert samples["int_analyzer_connection_switches_total",] == 1
    assert samples["int_analyzer_connection_coverage_ratio", "time"] == tracking.time_share


@pytest.mark.usefixtures("by_losses_alone")
def test_when_it_is_calm_all_are_followed_again_and_what_was_polled_is_still_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relief, "HOLD_NS", 3 * SECOND)
    sidecar, said = watched(Relief(), lost_at=SECONDS - 7)
    assert len(said) == 2 and said[1] == "connections: all are followed" and sidecar.connections == ALL
    assert roce_of(sidecar).tracking.mode == "polling"
    assert page_document(sidecar)["roce"][0][1].startswith("all again: ")


def test_a_processor_that_is_busier_than_it_may_be_relieves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relief, "BUSY", 0.0)
    sidecar, said = watched(Relief())
    assert len(said) == 1 and said[0].endswith(f" of a processor for {BUSY_SECONDS} seconds")
    assert roce_of(sidecar).tracking.mode == "polling"


@pytest.mark.usefixtures("by_losses_alone")
def test_what_is_followed_as_a_whole_in_subsets_is_what_is_followed_without() -> None:
    automatic, said = watched(Relief())
    plain, _ = watched(None)
    assert said == [] and roce_of(automatic) == roce_of(plain)


def test_the_load_is_that_since_the_last_look() -> None:
    sidecar = Sidecar()
    with open_source(io.BytesIO(sent())) as source:
        worker = sidecar.add(Replay(source, 1.0, sidecar.reach), on_wall_clock=False)
        load = Load()
        worker.intake.losses.own, worker.intake.losses.kernel, worker.fold_s = 5, 2, 1000.0
        lost, busy = load.look(sidecar.workers)
        assert lost == 7 and busy > 1
        assert load.look(sidecar.workers) == (0, 0.0)
