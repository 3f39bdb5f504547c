"""Time at ports of hosts that were paused: against what the simulation paused, and by hand where the evidence is short."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_capture import viewed
from test_delay import SEED

from int_analyzer.analysis.congestion import Episode, find_congestion
from int_analyzer.analysis.delays.pause import Hold, find_holds
from int_analyzer.analysis.delays.slow_message import MAYBE_PAUSED, SlowMessages
from int_analyzer.analysis.finding import findings_by_queue
from int_analyzer.analysis.summarise import examine
from int_analyzer.analysis.summary import MessagesSummary
from int_analyzer.analysis.units import queue_units
from int_analyzer.counter import METRICS
from int_analyzer.evidence.series import Counters, build_series
from int_analyzer.synth.clock import EPOCH_NS
from int_analyzer.synth.scenario import Knobs, Performance, perform_scenario

SECONDS = 0.014
MS = 1_000_000


def told(name: str, counters: Counters | None = None, seed: int = SEED) -> tuple[SlowMessages, MessagesSummary]:
    summary, slow = examine(*viewed(name, seed, SECONDS), counters=counters)
    assert summary.messages is not None and summary.messages.slow > 50
    return slow, summary.messages


def paused_ns(performance: Performance, host: str, begin_ns: int, end_ns: int) -> float:
    """For how long a host's port was really paused in a time, by stretches of 50 µs."""
    ground, fabric = performance.ground, performance.trace.fabric
    (number,) = (one for one in range(fabric.hosts) if fabric.address(one) == int.from_bytes(map(int, host.split(".")), "big"))
    link, width = fabric.to_host(number) - 1, ground.width_ns
    begins = np.arange(ground.paused_ns.shape[1]) * width + EPOCH_NS
    inside = np.clip(np.minimum(begins + width, end_ns) - np.maximum(begins, begin_ns), 0, None)
    return float((ground.paused_ns[link] * inside / width).sum())


@pytest.mark.parametrize("name", ["slow-receiver", "pfc-chain"])
def test_hosts_are_told_to_be_paused_while_they_were_and_little_is_left_elsewhere(name: str) -> None:
    slow, messages = told(name)
    assert messages.host_paused_ns > 0.08 * messages.delay_ns
    assert messages.elsewhere_ns < 0.15 * messages.host_paused_ns
    performance = perform_scenario(name, Knobs(seed=SEED, seconds=SECONDS))
    delays, seen = slow.delays, slow.view.connections
    claimed = wrong = 0.0
    for row in delays.slow[delays.paused[delays.slow] > 0].tolist():
        message, direction = delays.rows[row], slow.direction[row]
        last, end = int(delays.messages.end_ns[message]), int(delays.completions.end_ns[message])
        really = paused_ns(performance, seen.src[direction], end - int(delays.time[row]), last)
        really += paused_ns(performance, seen.dst[direction], last, end)
        claimed, wrong = claimed + float(delays.paused[row]), wrong + max(float(delays.paused[row]) - really, 0)
    assert wrong < 0.01 * claimed


def test_a_paused_host_is_named_with_the_queue_that_held_it_up_and_its_finding() -> None:
    slow, messages = told("pfc-chain")
    parts = [part for delay in messages.worst for part in delay.parts or [] if part.where == "host-paused"]
    by_id = {finding.id: finding for finding in slow.findings}
    assert len(parts) > 5
    for part in parts:
        assert part.at is not None and part.finding is not None and part.evidence == "the queue next to the host was held up"
        assert by_id[part.finding].role == "victim" and part.host is not None
        # 10.(leaf + 1).0.x is next to a leaf
        assert part.at.node == f"leaf{int(part.host.split('.')[1]) - 1}"


def test_a_queue_that_is_not_known_to_be_held_up_may_have_paused_a_host_unless_its_node_counted_the_pauses() -> None:
    slow, messages = told("slow-link", seed=1)
    (finding,) = slow.findings
    assert messages.host_paused_ns == 0 and finding.cause == "degraded-link"
    parts = [part for delay in messages.worst for part in delay.parts or [] if part.where == "elsewhere"]
    assert any(part.evidence == MAYBE_PAUSED and part.at is not None and part.at.node == finding.node for part in parts)

    def counted(amount: float) -> MessagesSummary:
        times, values = [finding.start_ns - MS, finding.end_ns + MS], [10.0, 10.0 + amount]
        series = [build_series(METRICS["pfc_pauses_sent"], (finding.node_id, port, None), times, values) for port in range(1, 7)]
        return told("slow-link", Counters(series), seed=1)[1]

    assert counted(0).host_paused_ns == 0
    surely = counted(500)
    assert surely.host_paused_ns > 0.8 * messages.elsewhere_ns and surely.elsewhere_ns + surely.host_paused_ns == messages.elsewhere_ns
    part = next(part for delay in surely.worst for part in delay.parts or [] if part.where == "host-paused")
    assert part.evidence == "the node next to the host counted pauses that it sent to it"


@pytest.mark.parametrize("name", ["straggler-link", "incast"])
def test_holds_are_the_congested_queues_at_the_first_node_of_each_host(name: str) -> None:
    view, profile = viewed(name, SEED, SECONDS)
    summary, _ = examine(view, profile)
    congestions, *_ = find_congestion(view, queue_units(view, profile), profile.thresholds)
    holds = find_holds(view, congestions, findings_by_queue(view, summary.findings))
    assert holds
    for hold in holds:
        assert profile.node_name(int(view.queues.node_id[hold.queue])) == f"leaf{int(hold.host.split('.')[1]) - 1}"


def test_the_overlap_with_several_episodes_is_what_lies_in_them() -> None:
    epoch = 1_780_000_000_000_000_000
    episodes = tuple(Episode(epoch + begin, epoch + end, 1, 1, epoch) for begin, end in ((100, 200), (200, 250), (400, 500)))
    hold = Hold("10.0.0.1", 0, True, episodes)
    times = np.array([(0, 100), (0, 1000), (150, 220), (260, 390), (450, 450), (240, 410), (490, 700)]) + epoch
    assert hold.overlap(times[:, 0], times[:, 1]).tolist() == [0, 250, 70, 0, 0, 20, 10]
