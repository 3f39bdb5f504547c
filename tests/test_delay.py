"""Delays of messages: as the slow twin has them, at the ports that really caused them, by hand, and never more than the whole."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from delay_reference import delays_in, messages_in
from delay_traffic import CALM, IN_NS, calm, send
from mode import simulated
from roce_reference import START, US, WRAP, folded
from roce_traffic import Wire
from simulated_capture import analysed, captured, viewed

from int_analyzer.analysis.delays.delay import Delays, find_delays
from int_analyzer.analysis.hosts.message import match_marks
from int_analyzer.analysis.summarise import examine
from int_analyzer.analysis.summary import Finding, MessageDelay
from int_analyzer.analysis.units import queue_units
from int_analyzer.cli import main
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile, Units
from int_analyzer.result import analyze

SECONDS = {
    "straggler-link": 0.012,
    "incast": 0.012,
    "hot-expert": 0.016,
    "slow-receiver": 0.012,
    "storage-slow": 0.03,
    "straggler-host": 0.012,
    "prepare-slow": 0.03,
}
SEED = 1003


def delays_of(view: View, profile: Profile = IN_NS) -> Delays:
    return find_delays(view, queue_units(view, profile), match_marks(view.journal))


def told(view: View, profile: Profile = IN_NS) -> list[MessageDelay]:
    return examine(view, profile)[1].list_worst(None)


def parts_of(delay: MessageDelay) -> dict[Any, int]:
    """ns by node, or by where else."""
    assert delay.parts is not None
    return {part.at.node_id if part.at is not None else part.where: part.ns for part in delay.parts}


# ------------------------------------------------------------------------------------------------------------ simulated fabrics


@pytest.mark.parametrize("name", ["straggler-link", "incast", "prepare-slow"])
def test_every_message_lost_its_time_where_the_slow_twin_says(name: str) -> None:
    view, profile = viewed(name, SEED, SECONDS[name])
    delays = delays_of(view, profile)
    seen, queues, messages = view.connections, view.queues, delays.messages
    ours = {}
    for row, message in enumerate(delays.rows.tolist()):
        direction = messages.direction[message]
        first, last = np.searchsorted(delays.parts.message, [row, row + 1])
        keys = [(int(queues.node_id[at]), int(queues.port[at]), int(queues.queue_id[at])) for at in delays.parts.queue[first:last]]
        lost = dict(zip(keys, delays.parts.ns[first:last].tolist(), strict=True))
        key = (seen.src[direction], seen.dst[direction], int(messages.begin_ns[message]), int(messages.psn[message]) % WRAP)
        ours[key] = int(delays.time[row]), float(delays.usual[row]), lost
    expected = delays_in(messages_in(analysed(name, SEED, SECONDS[name])))
    assert len(expected) > 900
    for message, usual, lost in expected:
        time, known, found = ours[message.src, message.dst, message.begin, message.psn]
        assert time == message.time
        assert known == pytest.approx(usual, nan_ok=True)
        for queue in {*found, *lost}:
            assert found.get(queue, 0) == pytest.approx(lost.get(queue, 0), abs=2)


def root_of(finding: Finding, findings: list[Finding]) -> Finding:
    return next((other for other in findings if other.id == finding.root), finding)


@pytest.mark.parametrize("name", ["straggler-link", "incast", "slow-receiver"])
def test_most_slow_messages_lost_their_time_at_the_true_root_or_where_it_held_them_up(name: str) -> None:
    result = analysed(name, SEED, SECONDS[name])
    (true,) = captured(name, SEED, SECONDS[name])[2]["congested"]
    summary = result.summary
    by_id = {finding.id: finding for finding in summary.findings}
    assert summary.messages is not None and summary.messages.slow > 20
    at_root = blamed = 0
    for delay in summary.messages.worst:
        assert delay.how == "packets" and delay.parts is not None
        assert sum(part.ns for part in delay.parts) == delay.time_ns and all(part.ns >= 0 for part in delay.parts)
        if delay.blame == "queue":
            blamed += 1
            finding = delay.parts[0].finding
            root = root_of(by_id[finding], summary.findings) if finding is not None else None
            at_root += root is not None and (root.node, root.port_id) == (true["node"], true["port"])
    assert at_root > blamed / 2 and blamed > len(summary.messages.worst) / 2


@pytest.mark.parametrize("name", ["straggler-link", "hot-expert"])
def test_the_finding_says_which_messages_and_jobs_its_queue_delayed(name: str) -> None:
    summary = analysed(name, SEED, SECONDS[name]).summary
    root = summary.findings[0]
    (job,) = summary.jobs
    assert root.role == "root" and root.delays is not None
    assert root.delays.jobs == [job.name] and root.delays.messages >= root.delays.connections > 3
    assert 20_000 <= root.delays.worst_ns <= root.delays.sum_ns


@pytest.mark.parametrize("name", ["storage-slow", "straggler-host", "prepare-slow"])
def test_no_port_is_blamed_for_what_a_host_does(name: str) -> None:
    summary = analysed(name, SEED, SECONDS[name]).summary
    assert summary.messages is not None and summary.messages.judged > 500
    assert [delay for delay in summary.messages.worst if delay.blame == "queue"] == []
    assert [finding for finding in summary.findings if finding.delays is not None] == []


def test_what_sampled_telemetry_cannot_tell_of_a_message_is_told_by_its_flow_or_not_at_all() -> None:
    summary = analysed("straggler-link", SEED, SECONDS["straggler-link"], 10).summary
    assert summary.messages is not None
    worst = summary.messages.worst
    assert {delay.how for delay in worst} <= {"flow", "unknown"} and any(delay.how == "flow" for delay in worst)
    for delay in worst:
        if delay.parts is None:
            assert delay.reason and delay.blame == "unknown"
        else:
            assert sum(part.ns for part in delay.parts) == delay.time_ns and min(part.ns for part in delay.parts) >= 0


# ------------------------------------------------------------------------------------------------------------ by hand


@pytest.mark.parametrize("compiled", [False, True])
def test_what_the_first_packet_waited_counts_from_before_it_was_seen(compiled: bool) -> None:
    wire = Wire()
    calm(wire)
    send(wire, [(500, 100_500), *[CALM] * 3])
    (delay,) = told(folded(wire.packets, compiled).view())
    assert (delay.time_ns, delay.fct_ns, delay.usual_ns) == (104 * US, 4 * US, 4 * US)
    assert parts_of(delay) == {2: 100 * US, "usual": 4 * US}
    assert (delay.blame, delay.how, delay.usual_of, delay.answered) == ("queue", "packets", "pair", True)


def test_packets_that_wait_together_do_not_add_up() -> None:
    wire = Wire()
    calm(wire)
    send(wire, [(500, 100_500)] * 4)
    (delay,) = told(folded(wire.packets).view())
    assert delay.time_ns == 104 * US
    assert parts_of(delay) == {2: 100 * US, "usual": 4 * US}


def test_a_queue_is_told_no_more_than_the_time_between_two_packets_the_last_queue_first() -> None:
    wire = Wire()
    calm(wire)
    send(wire, [CALM, (70_500, 20_500), (500, 500), (500, 500)], gap=49 * US)
    (delay,) = told(folded(wire.packets).view())
    # the second came 50 µs after the first: 20 of them in the last queue, 30 in the one before; the others came late by themselves
    assert parts_of(delay) == {1: 30 * US, 2: 20 * US, "elsewhere": 97 * US, "usual": 4 * US}
    assert delay.blame == "elsewhere"


def test_the_answer_has_its_own_way_back() -> None:
    wire = Wire()
    calm(wire)
    send(wire, [CALM] * 4, answer=(500, 60_500))
    late = wire.packets[-1]
    wire.packets[-1] = dataclasses.replace(late, time=late.time + 80 * US)
    (delay,) = told(folded(wire.packets).view())
    (part, *rest) = delay.parts or []
    assert part.at is not None and (part.at.node_id, part.at.port_id, part.ns) == (2, 2, 60 * US)
    assert [(other.where, other.ns) for other in rest] == [("elsewhere", 20 * US), ("usual", 4 * US)]


def test_a_read_is_over_with_its_last_response_and_late_by_what_that_waited() -> None:
    wire = Wire()

    def read(waited: int) -> None:
        begin = wire.psn
        request = wire.send("read request", size=0, dma=2 * 1024)
        wire.packets[-1] = dataclasses.replace(request, hops=CALM)
        wire.psn = begin + 2
        wire.wait(waited)
        for number, place in enumerate(("first", "last")):
            response = wire.answer(f"response {place}", begin + number, 1024)
            wire.packets[-1] = dataclasses.replace(response, hops=(500, 500 + waited) if number == 0 else CALM)

    for _ in range(6):
        read(0)
    read(90 * US)
    (delay,) = told(folded(wire.packets).view())
    assert (delay.kind, delay.time_ns, delay.usual_ns) == ("read", 92 * US, 2 * US)
    assert parts_of(delay) == {2: 90 * US, "usual": 2 * US}


def test_time_before_packets_without_telemetry_is_not_seen() -> None:
    wire = Wire()
    calm(wire)
    send(wire, [CALM, (500, 40_500), (), CALM], gap=39 * US)
    (delay,) = told(folded(wire.packets).view())
    assert parts_of(delay) == {2: 40 * US, "elsewhere": 77 * US - 40 * US, "not-seen": 40 * US, "usual": 4 * US}


def test_a_message_whose_last_packet_was_overtaken_by_the_next_message_is_told_by_its_flow() -> None:
    wire = Wire()
    calm(wire)
    packets = send(wire, [(500, 60_500)] * 4, gap=30 * US)
    (following,) = wire.message("write", 1)
    last = packets[3]
    wire.packets = [packet for packet in wire.packets if packet not in (last, following)]
    at = wire.packets.index(packets[2]) + 1
    wire.packets[at:at] = [dataclasses.replace(following, time=last.time - US, hops=CALM), last]
    (delay,) = told(folded(wire.packets).view())
    assert delay.how == "flow" and parts_of(delay)[2] > 60 * US


@pytest.mark.parametrize("cut", range(1, 5))
def test_a_message_that_a_boundary_cut_before_its_last_packet_is_told_by_its_flow(cut: int) -> None:
    wire, other = Wire(), Wire(here_qp=18, there_qp=35, psn=9000)
    calm(wire)
    packets = send(wire, [(500, 60_500)] * 4, gap=30 * US)
    at = wire.packets.index(packets[0]) + cut
    # what waits is known by what does not: the later piece has to see that too
    other.time = packets[cut - 1].time
    calm(other, 1)
    state = folded(wire.packets[:at])
    state.merge(folded(sorted([*other.packets, *wire.packets[at:]], key=lambda packet: packet.time)))
    (delay,) = told(state.view())
    (whole,) = told(folded(wire.packets).view())
    assert (delay.begin_ns, delay.blame) == (whole.begin_ns, "queue")
    # which direction an answer is to is not known without a request
    assert (delay.how, delay.answered) == (("packets", False) if cut == 4 else ("flow", True))
    assert cut == 4 or delay.end_ns == whole.end_ns


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("lost", [1, 2])
def test_time_until_packets_were_sent_again_is_told_apart(lost: int, compiled: bool) -> None:
    wire = Wire()
    calm(wire)
    sent = wire.message("write", 4)
    wire.packets[-4:] = [dataclasses.replace(packet, hops=CALM) for number, packet in enumerate(sent) if number != lost]
    wire.wait(900 * US)
    again = [dataclasses.replace(wire.again(packet), hops=CALM) for packet in sent[lost:]]
    wire.packets[-len(again) :] = again
    wire.packets.append(dataclasses.replace(wire.acknowledge(wire.psn - 1), hops=CALM))
    del wire.packets[-2]
    calm(wire, count=2)
    (delay,) = told(folded(wire.packets, compiled).view())
    assert delay.blame == "resent" and parts_of(delay) == {"resent": delay.delay_ns, "usual": 4 * US}
    (part, _) = delay.parts or []
    assert delay.delay_ns >= 900 * US and part.evidence == "packets were sent again" and part.at is None


def test_that_a_receiver_was_not_ready_is_said_of_what_was_sent_again() -> None:
    wire = Wire()
    calm(wire)
    sent = wire.message("write", 4)
    wire.packets[-4:] = [dataclasses.replace(packet, hops=CALM) for packet in sent]
    wire.answer("acknowledge", sent[1].psn, syndrome=0x20 | 5)
    wire.wait(500 * US)
    again = [dataclasses.replace(wire.again(packet), hops=CALM) for packet in sent[1:]]
    wire.packets[-3:] = again
    wire.acknowledge(wire.psn - 1)
    (delay,) = told(folded(wire.packets).view())
    part = next(part for part in delay.parts or [] if part.where == "resent")
    assert part.evidence == "packets were sent again, also as the receiver was not ready"


def test_queues_have_their_rows_after_a_merge() -> None:
    one, other = Wire(), Wire(here=3, there=4, psn=7000)
    calm(other, packets=1)
    calm(one)
    send(one, [(500, 100_500), *[CALM] * 3])
    for packet in other.packets:
        other.packets[other.packets.index(packet)] = dataclasses.replace(packet, hops=(500, 500, 500))
    state = folded(other.packets)
    state.merge(folded(one.packets))
    (delay,) = told(state.view())
    assert parts_of(delay) == {2: 100 * US, "usual": 4 * US}


@pytest.mark.parametrize(("unit", "reason"), [("unknown", "unit"), ("us", "")])
def test_a_latency_in_other_units_is_told_by_the_flow_if_it_is_known(unit: str, reason: str) -> None:
    wire = Wire()
    calm(wire)
    send(wire, [(500, 60_500)] * 4, gap=30 * US)
    (delay,) = told(folded(wire.packets).view(), Profile(units=Units(hop_latency=unit)))
    if reason:
        assert (delay.how, delay.parts, delay.blame) == ("unknown", None, "unknown") and reason in delay.reason
    else:
        assert delay.how == "flow" and delay.parts is not None
        assert sum(part.ns for part in delay.parts) == delay.time_ns


def test_without_telemetry_nothing_is_said_but_that_it_was_slow() -> None:
    wire = Wire()
    for number in range(7):
        wire.message("write", 4)
        wire.wait(90 * US if number == 6 else 0)
        wire.acknowledge(wire.psn - 1)
    (delay,) = told(folded(wire.packets).view())
    assert (delay.how, delay.parts, delay.delay_ns) == ("unknown", None, 90 * US)
    assert delay.reason == "no packet of it carries telemetry"


def test_without_an_answer_a_message_lasts_to_its_last_packet() -> None:
    wire = Wire(transport="UC")
    for number in range(7):
        wire.message("write", 2)
        if number == 6:
            wire.packets[-1] = dataclasses.replace(wire.packets[-1], time=wire.packets[-1].time + 50 * US)
    (delay,) = told(folded(wire.packets).view())
    assert (delay.answered, delay.time_ns, delay.usual_ns) == (False, 51 * US, US)


def test_the_first_answer_ever_seen_completes_only_the_message_that_it_names() -> None:
    wire = Wire()
    wire.message("write", 2)
    wire.wait(500 * US)
    for _ in range(6):
        wire.message("write", 2)
        wire.acknowledge(wire.psn - 1)
    delays = delays_of(folded(wire.packets).view())
    assert delays.completions.answered.tolist() == [False, *[True] * 6]
    assert len(delays.slow) == 0


def test_few_messages_have_nothing_to_be_compared_with() -> None:
    wire = Wire(time=START)
    calm(wire, count=4)
    send(wire, [(500, 100_500), *[CALM] * 3])
    delays = delays_of(folded(wire.packets).view())
    assert np.isnan(delays.usual).all() and len(delays.slow) == 0


@pytest.mark.parametrize("compiled", [False, True])
def test_broken_times_break_nothing(compiled: bool) -> None:
    wire = Wire()
    calm(wire)
    packets = send(wire, [CALM, (500, 0xFFFFFFFF), CALM])
    at = wire.packets.index(packets[1])
    wire.packets[at:] = [dataclasses.replace(packet, time=(1 << 62) + packet.time % 1000) for packet in wire.packets[at:]]
    (delay,) = told(folded(wire.packets, compiled).view())
    assert delay.parts is not None and sum(part.ns for part in delay.parts) == delay.time_ns > 1 << 60


@simulated
@pytest.mark.parametrize("loss", [0.01, 0.2])
def test_what_a_mirror_lost_makes_no_message_slow(loss: float, tmp_path: Path) -> None:
    path = tmp_path / "healthy.pcap"
    assert main(["generate", "healthy", "-o", str(path), "--seed", "1004", "--seconds", "0.004", "--loss", str(loss)]) == 0
    summary = analyze(path, tmp_path / "healthy.profile.toml").summary
    assert summary.messages is not None and summary.messages.judged > 500
    assert summary.messages.slow == 0 and not any(host.stall_ns for host in summary.hosts)
    assert any("packets are missing" in note for note in summary.messages.notes)
