"""Jobs: rings and rounds of all-to-all found in traffic, the late member and not its victims, and nothing where there is no job."""

from __future__ import annotations

import ipaddress
import random

import numpy as np
import pytest
from mode import unchecked
from roce_reference import START, US, Packet, folded
from roce_traffic import traffic
from work_traffic import ring, rounds

from int_analyzer.analysis.hosts.all_to_all import find_all_to_all
from int_analyzer.analysis.hosts.clearance import Clearance
from int_analyzer.analysis.hosts.job import find_jobs
from int_analyzer.analysis.hosts.message import match_marks
from int_analyzer.analysis.hosts.ring import Ring, find_rings
from int_analyzer.analysis.hosts.trouble import Trouble, find_slow_member
from int_analyzer.analysis.hosts.work_summary import JobSummary
from int_analyzer.host import Hosts
from int_analyzer.profile import Profile

pytestmark = unchecked

MEMBERS = 5


def rings_in(packets: list[Packet]) -> list[Ring]:
    view = folded(packets).view()
    return find_rings(view.connections, match_marks(view.journal))


def jobs_in(packets: list[Packet], profile: Profile | None = None) -> tuple[list[JobSummary], list[Trouble]]:
    view = folded(packets).view()
    return find_jobs(view.connections, match_marks(view.journal), profile or Profile(), Clearance(view, []), view.journal.forgotten)


def late_from(member: int, step: int, micro: float = 300) -> object:
    return lambda one, number: micro if one == member and number >= step else 0.0


def test_a_ring_without_trouble_is_a_ring_and_nobody_is_late() -> None:
    packets, _ = ring(MEMBERS, 40, lambda member, step: 0.0)
    (job,), troubles = jobs_in(packets)
    assert troubles == []
    assert (job.kind, job.inferred, job.group, job.steps) == ("ring", True, None, 40)
    assert [member.host for member in job.members] == [f"10.0.0.{number}" for number in range(1, 6)]
    assert {member.label for member in job.members} == {"healthy"}
    # 3 packets in 2 µs, then 5 µs of its own
    assert job.step.p50 == 7 * US and job.step_variance_ns == 0
    assert (job.iterations, job.iteration_jitter_ns) == (3, 0)
    # ten chunks of 2 µs, nine gaps of 5 µs, one of 200 µs
    assert job.iteration_ns == 265 * US and job.communication_share == pytest.approx(65 / 265)


@pytest.mark.parametrize("member", range(MEMBERS))
def test_the_late_member_is_named_and_its_victims_are_not(member: int) -> None:
    packets, begins = ring(MEMBERS, 40, late_from(member, 15))  # type: ignore[arg-type]
    (job,), (trouble,) = jobs_in(packets)
    assert (trouble.host, trouble.cause, trouble.times) == (f"10.0.0.{member + 1}", "slow-compute", 25)
    assert trouble.excess == 300 * US
    assert trouble.start_ns == START + round(begins[15][member] * US) - 300 * US
    assert trouble.end_ns == START + round(begins[39][member] * US)
    labels = {one.host: one.label for one in job.members}
    assert labels.pop(trouble.host) == "slow" and set(labels.values()) == {"healthy"}
    waits = {one.host: one.wait_ns for one in job.members}
    assert waits.pop(trouble.host) < 0.1 * min(waits.values())  # type: ignore[operator,type-var]


@pytest.mark.parametrize("member", range(MEMBERS))
@pytest.mark.parametrize("begin", [17, 24])
def test_who_was_late_before_the_capture_began_is_named_too(member: int, begin: int) -> None:
    packets, _ = ring(MEMBERS, 50, late_from(member, 8), begin=begin)  # type: ignore[arg-type]
    _, (trouble,) = jobs_in(packets)
    assert (trouble.host, trouble.excess) == (f"10.0.0.{member + 1}", 300 * US)
    assert trouble.times >= 50 - begin - 2


def test_gaps_are_those_of_the_definition_although_marks_are_missing() -> None:
    packets, begins = ring(MEMBERS, 60, lambda member, step: 40 * random.Random(100 * step + member).random())
    chance = random.Random(4)
    (found,) = rings_in([packet for packet in packets if "write" not in packet.what or chance.random() > 0.1])
    expected = np.array(begins).T
    known = ~np.isnan(found.begin)
    assert 0.6 < known.mean() < 0.95
    shift = found.origin_ns - START
    np.testing.assert_allclose(found.begin[known] + shift, expected[:, : found.begin.shape[1]][known] * US, atol=1)
    ends = expected + 2
    before = np.maximum(np.roll(ends, 1, axis=0), ends)[:, :-1]
    gaps = np.concatenate([np.full((MEMBERS, 1), np.nan), expected[:, 1:] - before], axis=1)[:, : found.gap.shape[1]]
    told = ~np.isnan(found.gap)
    assert told.mean() > 0.4
    np.testing.assert_allclose(found.gap[told], gaps[told] * US, atol=2)


def halved(packets: list[Packet], seed: int) -> list[Packet]:
    """What is left of them where every second one is missing in the capture."""
    chance = random.Random(seed)
    return [packet for packet in packets if chance.random() < 0.5]


@pytest.mark.parametrize("member", range(MEMBERS))
def test_the_late_member_is_named_although_half_of_the_packets_are_missing(member: int) -> None:
    packets, _ = ring(MEMBERS, 200, late_from(member, 60))  # type: ignore[arg-type]
    _, (trouble,) = jobs_in(halved(packets, member))
    assert (trouble.host, trouble.cause) == (f"10.0.0.{member + 1}", "slow-compute")
    assert trouble.excess == pytest.approx(300 * US, rel=0.05)


def test_nobody_is_late_in_a_ring_of_which_half_of_the_packets_are_missing() -> None:
    packets, _ = ring(MEMBERS, 200, lambda member, step: 0.0)
    (job,), troubles = jobs_in(halved(packets, 1))
    assert job.kind == "ring" and troubles == []


def test_a_congested_path_acquits_the_member() -> None:
    packets, _ = ring(MEMBERS, 40, late_from(2, 15))  # type: ignore[arg-type]
    view = folded(packets).view()
    (found,) = find_rings(view.connections, match_marks(view.journal))

    class Congested(Clearance):
        def is_clear(self, one: str, other: str) -> bool | None:
            return {one, other} != {"10.0.0.2", "10.0.0.3"}

    assert find_slow_member(found, 2, Congested(view, [])) is None
    clear = find_slow_member(found, 2, Clearance(view, []))
    assert clear is not None and clear.confidence < 0.6 and "in doubt" in clear.evidence[-1]
    jobs, troubles = find_jobs(view.connections, match_marks(view.journal), Profile(), Congested(view, []), 0)
    assert troubles == [] and jobs[0].members[2].label == "suspect"
    assert "a hop on its paths is congested" in jobs[0].members[2].reason


def test_a_group_of_the_profile_names_the_job() -> None:
    packets, _ = ring(MEMBERS, 20, lambda member, step: 0.0)
    groups = {"all": (ipaddress.ip_network("10.0.0.0/8"),), "job7": (ipaddress.ip_network("10.0.0.0/29"),)}
    (job,), _ = jobs_in(packets, Profile(hosts=Hosts(groups=groups)))
    assert (job.group, job.inferred) == ("job7", False)


@pytest.mark.parametrize("seed", range(8))
def test_random_traffic_is_no_job(seed: int) -> None:
    assert jobs_in(traffic(seed)) == ([], [])


def test_hosts_in_a_circle_that_do_not_wait_for_each_other_are_no_ring() -> None:
    packets, _ = ring(MEMBERS, 40, lambda member, step: 0.0)
    # one member sends as it likes, long before anything has come to it
    moved = [packet.at(START + (packet.time - START) // 3) if packet.key[0] == "10.0.0.3" else packet for packet in packets]
    assert rings_in(sorted(moved, key=lambda packet: packet.time)) == []


def test_rounds_of_all_to_all_tell_who_gets_how_much() -> None:
    packets = rounds(5, 9, lambda target, number: 8 if target == 3 and number >= 4 else 2)
    (job,), (trouble,) = jobs_in(packets)
    assert (job.kind, job.steps, job.inferred) == ("all-to-all", 9, True)
    assert job.balance == pytest.approx((4 * 2 + 5 * 8) / ((4 * 2 + 5 * 8 + 4 * 9 * 2) / 5))
    assert (trouble.host, trouble.cause, trouble.times, trouble.unit) == ("10.0.0.4", "hot-expert", 5, "bytes")
    labels = {member.host: member.label for member in job.members}
    assert labels == {f"10.0.0.{number}": "slow" if number == 4 else "healthy" for number in range(1, 6)}


def test_an_even_all_to_all_has_no_hot_expert() -> None:
    (job,), troubles = jobs_in(rounds(5, 6, lambda target, number: 3))
    assert (job.balance, troubles) == (1.0, [])


def test_the_hot_expert_is_named_although_half_of_the_packets_are_missing() -> None:
    packets = rounds(8, 12, lambda target, number: 8 if target == 3 and number >= 4 else 2)
    (job,), (trouble,) = jobs_in(halved(packets, 5))
    assert (job.kind, len(job.members)) == ("all-to-all", 8)
    assert (trouble.host, trouble.cause) == ("10.0.0.4", "hot-expert") and trouble.times >= 6
    (job,), troubles = jobs_in(halved(rounds(8, 12, lambda target, number: 3), 5))
    assert job.kind == "all-to-all" and troubles == []


def test_all_to_all_without_silences_is_no_job() -> None:
    packets = rounds(5, 9, lambda target, number: 8 if target == 3 else 2, quiet=20)
    view = folded(packets).view()
    assert find_all_to_all(view.connections, match_marks(view.journal)) is None


def test_what_was_forgotten_is_said() -> None:
    packets, _ = ring(MEMBERS, 20, lambda member, step: 0.0)
    view = folded(packets).view()
    (job,), _ = find_jobs(view.connections, match_marks(view.journal), Profile(), Clearance(view, []), 12)
    assert job.notes == ["12 earlier messages were forgotten: only the latest are judged"]


def test_what_is_late_while_any_path_of_the_host_is_congested_is_not_its_fault() -> None:
    packets, begins = ring(MEMBERS, 60, late_from(2, 20))  # type: ignore[arg-type]
    view = folded(packets).view()
    (found,) = find_rings(view.connections, match_marks(view.journal))
    until = START + round(begins[40][2] * US)

    class Before(Clearance):
        def was_clear(self, host: str, times_ns: np.ndarray) -> np.ndarray:
            return times_ns > until if host == "10.0.0.3" else np.ones(len(times_ns), dtype=bool)

    trouble = find_slow_member(found, 2, Before(view, []))
    assert trouble is not None and trouble.times == 19
    until = START + round(begins[57][2] * US)
    assert find_slow_member(found, 2, Before(view, [])) is None
