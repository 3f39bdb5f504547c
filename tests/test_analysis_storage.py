"""Segments of storage I/O: DPL, RTT and DAL as they are defined, NA where they are not, and a verdict that names the late side."""

from __future__ import annotations

import numpy as np
import pytest
from mode import unchecked
from roce_reference import US, WRAP, folded
from work_traffic import Disk, together

from int_analyzer.analysis.hosts.clearance import Clearance
from int_analyzer.analysis.hosts.message import match_marks
from int_analyzer.analysis.hosts.storage import Storage, segment
from int_analyzer.analysis.hosts.trouble import find_slow_storage
from int_analyzer.analysis.hosts.verdict import judge_storage
from int_analyzer.fold.view import View

pytestmark = unchecked


def segmented(disks: list[Disk]) -> tuple[View, Storage]:
    view = folded(together(disks)).view()
    storage = segment(view.connections, match_marks(view.journal))
    assert storage is not None
    return view, storage


@pytest.mark.parametrize("psn", [1000, (WRAP - 12) // 2])
def test_the_segments_of_a_write_are_those_of_its_definition(psn: int) -> None:
    disk = Disk(psn=psn)
    for number in range(4):
        disk.write(begun=60 + number, dpl=8 + number, ended=7)
    _, storage = segmented([disk])
    np.testing.assert_array_equal(storage.dpl.value_ns, [8000, 9000, 10_000, 11_000])
    np.testing.assert_array_equal(storage.dal.value_ns, [67_000, 68_000, 69_000, 70_000])
    assert (storage.commands, storage.writes, storage.reads, storage.overlapping, storage.inline) == (4, 4, 0, 0, 0)
    assert (storage.addresses, storage.hosts, storage.targets) == (["10.0.0.1", "10.0.0.9"], [0], [1])


def test_a_read_has_no_dpl_and_its_dal_ends_with_the_first_write() -> None:
    disk = Disk()
    for dal in (50, 60, 70):
        disk.read(dal)
    _, storage = segmented([disk])
    assert len(storage.dpl.value_ns) == 0
    np.testing.assert_array_equal(storage.dal.value_ns, [50_000, 60_000, 70_000])


def test_several_reads_of_one_write_each_have_a_dpl_and_together_one_dal() -> None:
    disk = Disk()
    for _ in range(3):
        disk.command()
        disk.fetch(60, 8)
        disk.fetch(2, 9)
        disk.complete(7)
    _, storage = segmented([disk])
    assert sorted(storage.dpl.value_ns) == [8000] * 3 + [9000] * 3
    assert storage.dal.value_ns.tolist() == [67_000] * 3


def test_dal_is_not_known_where_commands_overlap_but_dpl_is() -> None:
    disk = Disk()
    disk.write()
    for _ in range(3):
        disk.command()
        disk.command(after=1)
        disk.fetch(60, 8)
        disk.fetch(5, 8)
        disk.complete(5)
        disk.complete(5)
    view, storage = segmented([disk])
    assert len(storage.dal.value_ns) == 1 and len(storage.dpl.value_ns) == 7
    # the last command of all is not complete for all that is known
    assert storage.overlapping == 5
    summary = judge_storage(view, storage, Clearance(view, []))
    assert summary.hosts[0].dal.count == 1 and "no header says whose the data is" in summary.notes[0]


def test_commands_that_carry_their_data_have_no_segments_and_a_reason() -> None:
    disk = Disk()
    disk.write()
    for _ in range(3):
        disk.command()
        disk.complete(20)
    view, storage = segmented([disk])
    assert (storage.inline, storage.writes, storage.commands) == (3, 1, 4)
    assert "completed without data" in judge_storage(view, storage, Clearance(view, [])).notes[0]


def test_traffic_that_only_writes_is_no_storage() -> None:
    disk = Disk()
    for _ in range(5):
        disk.deliver(50)
    view = folded(disk.packets).view()
    assert segment(view.connections, match_marks(view.journal)) is None


def several(late: dict[tuple[str, int], float], since: int = 4) -> list[Disk]:
    """Three hosts at two targets, twelve I/Os each; from one of them on some are late: ("dpl", host) or ("dal", target) → µs."""
    disks = [Disk(host=host, target=target, number=10 * host + target) for host in (1, 2, 3) for target in (8, 9)]
    for number in range(12):
        for disk in disks:
            dpl, dal = (late.get(key, 0) if number >= since else 0 for key in (("dpl", disk.host), ("dal", disk.target)))
            disk.write(begun=60 + dal, dpl=8 + dpl)
    return disks


@pytest.mark.parametrize(
    ("late", "host", "cause", "verdict"),
    [(("dpl", 2), "10.0.0.2", "prepare-slow", "compute"), (("dal", 9), "10.0.0.9", "storage-slow", "storage")],
)
def test_the_late_side_is_named_with_its_time(late: tuple[str, int], host: str, cause: str, verdict: str) -> None:
    disks = several({late: 400})
    view, storage = segmented(disks)
    (trouble,) = find_slow_storage(storage, Clearance(view, []))
    assert (trouble.host, trouble.cause, trouble.times) == (host, cause, 16 if cause == "prepare-slow" else 24)
    assert trouble.excess == pytest.approx(400_000, rel=0.01)
    assert "no telemetry shows the paths" in trouble.evidence[-1] and trouble.confidence < 0.6
    started = min(packet.time for disk in disks for packet in disk.packets)
    assert trouble.start_ns - started > 4 * 170 * US
    summary = judge_storage(view, storage, Clearance(view, []))
    verdicts = {place.host or place.target: place.verdict for place in (*summary.hosts, *summary.targets)}
    assert verdicts.pop(host) == verdict
    assert set(verdicts.values()) == {"healthy"}
    place = next(place for place in (*summary.hosts, *summary.targets) if host in (place.host, place.target))
    assert place.since_ns == trouble.start_ns and place.rtt.p50 == pytest.approx(2 * US, rel=0.01)


def test_where_all_are_alike_nobody_is_late() -> None:
    view, storage = segmented(several({("dal", 8): 400, ("dal", 9): 400}, since=0))
    assert find_slow_storage(storage, Clearance(view, [])) == []


def test_a_little_later_is_not_late() -> None:
    view, storage = segmented(several({("dpl", 2): 40}))
    assert find_slow_storage(storage, Clearance(view, [])) == []


def test_a_host_whose_only_target_is_slow_hears_so() -> None:
    disks = [Disk(host=host, target=target, number=10 * host + target) for host, target in ((1, 8), (2, 8), (3, 9), (4, 9))]
    for disk in disks:
        for number in range(10):
            disk.write(begun=460 if disk.target == 9 and number > 3 else 60)
    view, storage = segmented(disks)
    summary = judge_storage(view, storage, Clearance(view, []))
    assert [place.verdict for place in summary.hosts] == ["healthy", "healthy", "storage", "storage"]
    assert [trouble.host for trouble in find_slow_storage(storage, Clearance(view, []))] == ["10.0.0.9"]
