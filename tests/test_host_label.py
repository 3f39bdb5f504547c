"""Labels of hosts: slow, suspect and healthy ones as they were simulated, what they waited, and what that cost."""

from __future__ import annotations

import pytest
from roce_reference import US, Packet, folded
from roce_traffic import Wire
from simulated_capture import analysed, captured
from test_delay import SECONDS, SEED
from work_traffic import ring

from int_analyzer.analysis.delays.delay import find_delays
from int_analyzer.analysis.delays.slow_message import SlowMessages
from int_analyzer.analysis.hosts.clearance import Clearance
from int_analyzer.analysis.hosts.host_label import label_hosts
from int_analyzer.analysis.hosts.job import find_jobs
from int_analyzer.analysis.hosts.message import match_marks
from int_analyzer.analysis.summary import HostSummary
from int_analyzer.analysis.units import queue_units
from int_analyzer.host import Hosts
from int_analyzer.profile import Cost, Profile

HOUR_NS = 3_600_000_000_000


def hosts_in(packets: list[Packet], profile: Profile | None = None) -> dict[str, HostSummary]:
    """Labels from messages and jobs alone."""
    profile, view = profile or Profile(), folded(packets).view()
    units, messages = queue_units(view, profile), match_marks(view.journal)
    jobs, troubles = find_jobs(view.connections, messages, profile, Clearance(view, []), 0)
    slow = SlowMessages(view, profile, units, find_delays(view, units, messages), [], jobs)
    return {host.host: host for host in label_hosts(slow, jobs, None, troubles)}


@pytest.mark.parametrize("name", ["straggler-host", "storage-slow", "prepare-slow"])
def test_the_host_that_is_late_is_slow_since_then_and_nobody_else(name: str) -> None:
    summary = analysed(name, SEED, SECONDS[name]).summary
    (true,) = captured(name, SEED, SECONDS[name])[2]["hosts"]
    (slow,) = (host for host in summary.hosts if host.label == "slow")
    (finding,) = (finding for finding in summary.findings if finding.role == "host")
    assert slow == summary.hosts[0]
    assert (slow.host, slow.since_ns) == (true["host"], finding.start_ns)
    assert true["cause"].replace("-", " ") in slow.evidence[0]
    assert {host.label for host in summary.hosts[1:]} == {"healthy"}


def test_a_member_behind_a_congested_link_is_suspect_only() -> None:
    hosts = analysed("straggler-link", SEED, SECONDS["straggler-link"]).summary.hosts
    assert [host.label for host in hosts].count("suspect") == 1 and "slow" not in {host.label for host in hosts}
    assert "ring 1" in hosts[0].evidence[0] and hosts[0].jobs == ["ring 1"]


def test_all_members_of_a_ring_wait_for_the_slow_one_and_it_for_nobody() -> None:
    summary = analysed("straggler-host", SEED, SECONDS["straggler-host"]).summary
    (job,) = summary.jobs
    stalls = {host.host: host.stall_ns for host in summary.hosts if host.stall_of == "ring"}
    assert set(stalls) == {member.host for member in job.members}
    slow = stalls.pop(summary.hosts[0].host)
    assert slow is not None and all(stall is not None and stall > 5 * slow for stall in stalls.values())


def test_waiting_costs_what_the_profile_says() -> None:
    hosts = analysed("straggler-host", SEED, SECONDS["straggler-host"]).summary.hosts
    for host in hosts:
        assert host.currency == "USD"
        assert host.cost is None if host.stall_ns is None else host.cost == pytest.approx(host.stall_ns * 36.0 / HOUR_NS)


def late_write(wire: Wire, late_ns: int) -> None:
    wire.message("write", 2)
    wire.wait(late_ns)
    wire.acknowledge(wire.psn - 1)


def test_times_in_which_several_messages_to_a_host_are_late_count_once() -> None:
    one, other = Wire(), Wire(here=3, psn=5000, here_qp=18, there_qp=35)
    for wire in (one, other):
        for _ in range(6):
            late_write(wire, 0)
    other.time = one.time + 40 * US
    for wire in (one, other):
        late_write(wire, 100 * US)
    packets = sorted([*one.packets, *other.packets], key=lambda packet: packet.time)
    hosts = hosts_in(packets, Profile(cost=Cost(30.0, "EUR")))
    assert (hosts["10.0.0.2"].stall_ns, hosts["10.0.0.2"].slow_messages, hosts["10.0.0.2"].stall_of) == (140 * US, 2, "messages")
    assert hosts["10.0.0.2"].cost == pytest.approx(140 * US / HOUR_NS * 30.0) and hosts["10.0.0.2"].currency == "EUR"
    # who sends is not kept waiting; whether it ever waits for others nothing tells
    assert (hosts["10.0.0.1"].stall_ns, hosts["10.0.0.1"].stall_of, hosts["10.0.0.1"].cost) == (None, "unknown", None)
    assert {host.label for host in hosts.values()} == {"healthy"}


def test_who_reads_waits_for_what_it_reads() -> None:
    wire = Wire()
    for late in (*[0] * 6, 100 * US):
        begin = wire.psn
        wire.send("read request", size=0, dma=1024)
        wire.psn = begin + 1
        wire.wait(late)
        wire.answer("response only", begin, 1024)
    hosts = hosts_in(wire.packets)
    assert (hosts["10.0.0.1"].stall_ns, hosts["10.0.0.2"].stall_ns) == (100 * US, None)
    assert hosts["10.0.0.1"].cost is None and hosts["10.0.0.1"].currency is None


def test_hosts_that_are_not_healthy_come_first_by_name() -> None:
    packets, _ = ring(4, 30, lambda member, step: 300.0 if member == 2 and step > 12 else 0.0)
    hosts = hosts_in(packets, Profile(hosts=Hosts(names={"10.0.0.3": "gpu-3"})))
    first = next(iter(hosts.values()))
    assert (first.host, first.name, first.label) == ("10.0.0.3", "gpu-3", "slow")
    waited = [host.stall_ns for host in list(hosts.values())[1:]]
    assert waited == sorted(waited, key=lambda stall: -(stall or 0))
