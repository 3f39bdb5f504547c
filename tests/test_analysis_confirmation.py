"""Counters beside findings: they make them surer, or less sure, choose between links, and say what iterations wait for."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from mode import unchecked
from roce_reference import folded
from test_analysis_lossy_link import HOSTS, LEAVES, SPINES, crossing, fabric, losses
from view_factory import MS, START, Hop, Traffic
from work_traffic import ring

from int_analyzer.analysis.confidence import BEST
from int_analyzer.analysis.losses.lossy_link import Losses, LossyLink, find_lossy_link
from int_analyzer.analysis.outside.confirmation import ends_of_links, weigh_link
from int_analyzer.analysis.outside.gpu import find_bounds, with_gpus
from int_analyzer.analysis.outside.testimony import REFUTED, Witness
from int_analyzer.analysis.span import capture_span
from int_analyzer.analysis.summarise import summarise
from int_analyzer.analysis.summary import Summary
from int_analyzer.counter import METRICS
from int_analyzer.evidence.series import Counters, build_series
from int_analyzer.fold.view import View
from int_analyzer.profile import Node, PortProfile, Profile, Units

pytestmark = unchecked

SECOND = 1_000_000_000
PORTS = [(leaf, port) for leaf in LEAVES for port in (*SPINES, *range(HOSTS))] + [(spine, leaf) for spine in SPINES for leaf in LEAVES]


def counted(metric: str, rises: dict[tuple[int, int], float], ports: Sequence[tuple[int, int]] = PORTS) -> Counters:
    """A counter of all ports, read every second around the capture; it rises by so much in the second of the capture."""
    times = [START + second * SECOND - SECOND // 2 for second in range(-3, 5)]
    series = [
        build_series(METRICS[metric], (*port, None), times, [100.0 + (rises.get(port, 0) if time > START else 0) for time in times])
        for port in ports
    ]
    return Counters(series, ["switches.csv"])


def of_hosts(metric: str, values: dict[str, float]) -> Counters:
    """Levels of hosts."""
    return Counters(
        [build_series(METRICS[metric], (None, None, host), [START, START + SECOND], [value, value]) for host, value in values.items()]
    )


def test_the_ends_of_a_link_are_the_port_that_sends_and_that_which_receives() -> None:
    traffic = Traffic()
    traffic.packet(0, Hop(1, 12, ingress=3), Hop(12, 2, ingress=31), Hop(2, 5, ingress=32))
    assert ends_of_links(traffic.view()) == {(1, 12, 12): [(1, 12), (12, 31)], (12, 2, 2): [(12, 2), (2, 32)], (2, 5, None): [(2, 5)]}


def lossy(rate: float = 0.002) -> tuple[LossyLink | None, LossyLink | None, LossyLink | None]:
    """What is found of loss on the link from leaf 1 to spine 12: alone, with errors there, and with errors elsewhere."""
    view, _ = fabric()
    lost = losses(view, {(1, 12): rate})
    alone = find_lossy_link(view, None, lost)
    here, there = (weigh_link(view, Profile(), alone, lost, counted("symbol_errors", {port: 5000})) for port in ((1, 12), (13, 2)))
    return alone, here, there


def test_symbol_errors_on_the_link_leave_a_quarter_of_the_doubt_and_errors_elsewhere_take_from_it() -> None:
    alone, here, there = lossy()
    assert alone is not None and here is not None and there is not None
    assert (here.node_id, here.port_id) == (there.node_id, there.port_id) == (1, 12)
    assert 1 - here.confidence == pytest.approx((1 - alone.confidence) / 4)
    assert there.confidence == pytest.approx(alone.confidence * REFUTED)
    assert "5000 symbol errors at node 1 port 12 from" in here.evidence[-1] and "0 before and 0 since" in here.evidence[-1]
    assert there.evidence[-1].startswith("against it: no symbol errors at node 1 port 12")
    assert there.evidence[-1].endswith("but 5000 symbol errors at node 13 port 2")


def test_errors_that_every_port_has_are_no_evidence() -> None:
    view, _ = fabric()
    lost = losses(view, {(1, 12): 0.002})
    alone = find_lossy_link(view, None, lost)
    found = weigh_link(view, Profile(), alone, lost, counted("symbol_errors", dict.fromkeys(PORTS, 400.0)))
    assert found is not None and found.evidence[-1].startswith("against it: 400 symbol errors at node 1 port 12")


def test_counters_of_other_ports_or_times_say_nothing() -> None:
    view, _ = fabric()
    lost = losses(view, {(1, 12): 0.002})
    alone = find_lossy_link(view, None, lost)
    assert weigh_link(view, Profile(), alone, lost, counted("symbol_errors", {}, [(3, 1)])) == alone
    assert weigh_link(view, Profile(), alone, lost, counted("drops", {(1, 12): 5000})) == alone
    late = [dataclasses.replace(one, time_ns=one.time_ns + 3600 * SECOND) for one in counted("symbol_errors", {}).series]
    assert weigh_link(view, Profile(), alone, lost, Counters(late)) == alone


def test_a_port_without_errors_that_only_sends_is_nothing_against_its_link() -> None:
    view, _ = fabric()
    lost = losses(view, {(1, 12): 0.002})
    alone = find_lossy_link(view, None, lost)
    assert weigh_link(view, Profile(), alone, lost, counted("symbol_errors", {}, [(1, 12), (3, 1)])) == alone
    received = weigh_link(view, Profile(), alone, lost, counted("symbol_errors", {}, [(12, 1), (3, 1)]))
    assert received is not None and received.evidence[-1].startswith("against it: no symbol errors at node 12 port 1")


CHAIN = [(1, 2), (2, 1), (2, 3), (3, 2), (1, 4), (4, 1), (4, 3), (3, 4)]


def lossy_chain() -> tuple[View, Losses, LossyLink]:
    """Twelve flows from node 1 to node 3, half of them over node 2, where they lose packets; and what is found by that alone.

    One more comes there from node 5, too small to tell the two links apart.
    """
    traffic = Traffic()
    for number in range(13):
        middle = 2 if number < 6 or number == 12 else 4
        first = 5 if number == 12 else 1
        hops = Hop(first, middle), Hop(middle, 3, ingress=first), Hop(3, number, ingress=middle)
        traffic.packet(number * 1000, *hops, flow=(f"10.0.0.{number}", f"10.0.1.{number}", 50000 + number))
    view = traffic.view()
    lost = losses(view, {(2, 3): 0.01})
    lost.packets[12], lost.events[12] = 100, 0
    alone = find_lossy_link(view, None, lost)
    assert alone is not None and len(alone.rivals) == 1
    return view, lost, alone


def test_errors_choose_between_links_that_the_same_connections_cross() -> None:
    view, lost, alone = lossy_chain()
    for bad in ((1, 2), (2, 3)):
        found = weigh_link(view, Profile(), alone, lost, counted("symbol_errors", {bad: 900}, CHAIN))
        assert found is not None and (found.node_id, found.port_id) == bad
        assert found.rivals == [] and found.doubt == "" and found.confidence > 0.8
        assert "none at 1 other links" in found.evidence[-1]
    for read in ([(1, 2)], [(1, 2), (2, 3)]):
        both = weigh_link(view, Profile(), alone, lost, counted("symbol_errors", dict.fromkeys(read, 900), [*read, (1, 4), (4, 3)]))
        assert both is not None and len(both.rivals) == 1 and both.doubt.startswith("as good an explanation: node ")


def test_a_rival_of_which_only_the_sender_was_read_stays_one() -> None:
    view, lost, alone = lossy_chain()
    read = [(2, 1), (2, 3), (1, 4), (4, 3)]
    found = weigh_link(view, Profile(), alone, lost, counted("symbol_errors", {(2, 1): 900}, read))
    assert found is not None and (found.node_id, found.port_id) == (1, 2)
    assert found.rivals == [(2, 3, 3)] and "none at" not in found.evidence[-1]


@pytest.mark.parametrize("bad", [(1, 2), (2, 3)])
def test_a_link_that_errors_choose_has_the_losses_of_its_own_paths(bad: tuple[int, int]) -> None:
    view, lost, alone = lossy_chain()
    found = weigh_link(view, Profile(), alone, lost, counted("symbol_errors", {bad: 900}, CHAIN))
    rows = [flow for flow in range(13) if crossing(view, flow, bad)]
    assert found is not None and (found.node_id, found.port_id) == bad
    assert (found.directions, found.packets, found.events) == (len(rows), lost.packets[rows].sum(), lost.events[rows].sum())
    assert found.flows == rows


def test_a_link_with_errors_needs_less_certainty_from_its_losses() -> None:
    view, _ = fabric()
    found = 0
    for seed in range(8):
        lost = losses(view, {(1, 12): 0.0006}, seed=seed, packets=800)
        if find_lossy_link(view, None, lost) is not None:
            continue
        link = weigh_link(view, Profile(), None, lost, counted("symbol_errors", {(1, 12): 5000}))
        found += link is not None and (link.node_id, link.port_id) == (1, 12)
        assert weigh_link(view, Profile(), None, lost, counted("symbol_errors", {(13, 2): 5000})) is None
        assert weigh_link(view, Profile(), None, lost, counted("symbol_errors", {})) is None
    assert found >= 2


@pytest.mark.parametrize("ports", [1, 2, 3, 4, 19])
def test_a_port_stands_out_from_the_others_however_few_are_read(ports: int) -> None:
    view, _ = fabric()
    named = PORTS[:ports]
    for bad in named[:3]:
        rises = dict.fromkeys(named, 10.0) | {bad: 5000.0}
        witness = Witness(view, Profile(), counted("symbol_errors", rises, named))
        assert [(one.at, rise.amount) for one, rise in witness.risen("symbol_errors", START, START + MS)] == [(bad, 5000.0)]
    even = Witness(view, Profile(), counted("symbol_errors", dict.fromkeys(named, 10.0), named))
    assert len(even.risen("symbol_errors", START, START + MS)) == (ports == 1)


def test_errors_without_losses_are_no_finding() -> None:
    view, _ = fabric()
    assert weigh_link(view, Profile(), None, losses(view, {}), counted("symbol_errors", {(1, 12): 5000})) is None


def test_network_cards_of_the_senders_are_told() -> None:
    view, _ = fabric()
    lost = losses(view, {(1, 12): 0.002})
    cards = [
        build_series(
            METRICS["retransmissions"], (None, None, host), [START - SECOND, START + SECOND], [0.0, 40.0 if "0.1." in host else 1.0]
        )
        for host in sorted(set(view.flows.src))
    ]
    found = weigh_link(view, Profile(), find_lossy_link(view, None, lost), lost, Counters(cards))
    assert found is not None
    assert (
        "network cards of 3 hosts that send over it count 120 retransmissions meanwhile, 40 in the median; those of 9 others 1"
        in found.evidence
    )


def paused(depth_at: int) -> Traffic:
    """The last hop to a host empties slowly from 40 to 80 ms."""
    traffic = Traffic()
    traffic.stream(
        0, 100, 8, lambda at: (Hop(1, 2, 0, None), Hop(2, 9, depth_at if 40 <= at < 80 else 0, 400_000 if 40 <= at < 80 else 100))
    )
    return traffic


PAUSED = Profile(units=Units(queue_depth="bytes", hop_latency="ns"), nodes={2: Node(ports={9: PortProfile(speed_bps=25e9)})})


@pytest.mark.parametrize(("rise", "sign"), [(250.0, 1), (0.0, -1)])
def test_pauses_received_confirm_a_paused_port_and_none_speaks_against_it(rise: float, sign: int) -> None:
    view = paused(200_000).view()
    (alone,) = summarise(view, PAUSED).findings
    assert (alone.node_id, alone.port_id, alone.cause) == (2, 9, "paused-port")
    counters = counted("pfc_pauses_received", {(2, 9): rise}, [(2, 9), (1, 2)])
    (told,) = summarise(view, PAUSED, counters=counters).findings
    assert (told.confidence - alone.confidence) * sign > 0 and told.confidence <= BEST
    assert told.evidence[:-1] == alone.evidence
    assert told.evidence[-1].startswith(
        "250 pauses received at node 2 port 9" if rise else "against it: no pauses received at node 2 port 9"
    )


def test_a_summary_without_counters_has_no_part_of_them_and_with_some_says_how_fine_they_are() -> None:
    view = paused(200_000).view()
    assert summarise(view).outside is None
    outside = summarise(view, counters=counted("drops", {(2, 9): 50})).outside
    assert outside is not None and outside.interval_ns == SECOND
    assert outside.series == {"drops": len(PORTS)} and outside.readings == 8 * len(PORTS)
    nothing = summarise(view, counters=Counters(strangers=["drops x"])).outside
    assert nothing is not None and nothing.strangers == 1
    assert nothing.notes == ["no series names a known port or host: nothing is joined"]


def test_why_nothing_is_joined_is_told() -> None:
    view = paused(200_000).view()
    for counters, reason in ((Counters(strangers=["drops x"]), "no series names a known port or host"), (Counters(), "no series was read")):
        outside = summarise(view, counters=counters).outside
        assert outside is not None and outside.notes == [f"{reason}: nothing is joined"]
    timeless = summarise(Traffic().view(), counters=Counters()).outside
    assert timeless is not None and timeless.notes == ["the capture has no times: nothing is joined"]


def test_one_stray_time_does_not_stretch_the_time_that_counters_are_asked_for() -> None:
    traffic = paused(200_000)
    view = traffic.view()
    assert capture_span(view) == (view.counts["first_ns"], view.counts["last_ns"])
    for years, kept in ((-20, 1), (20, 0)):
        stray = dataclasses.replace(traffic, packets=list(traffic.packets))
        stray.packet(years * 365 * 86_400 * SECOND, Hop(1, 2))
        span = capture_span(stray.view())
        assert span is not None and span[kept] == (view.counts["last_ns"] if kept else view.counts["first_ns"])
        assert span[1] - span[0] < SECOND


def test_series_of_one_port_are_added_up() -> None:
    view, _ = fabric()
    one = counted("symbol_errors", {(1, 12): 2})
    witness = Witness(view, Profile(), Counters(one.series * 2))
    testimony = witness.ask("symbol_errors", [(1, 12)], START, START + MS)
    assert testimony.speaks and "4 symbol errors at node 1 port 12 from" in testimony.sentence
    assert f"at {len(PORTS) - 1} other ports 0 in the median" in testimony.sentence
    assert Witness(view, Profile(), one).ask("symbol_errors", [(1, 12)], START, START + MS).speaks is False
    assert [(found.at, rise.amount) for found, rise in witness.risen("symbol_errors", START, START + MS)] == [((1, 12), 4)]


def trained(late: float = 0.0) -> Summary:
    """A ring of five hosts; the third takes `late` µs longer from step 15 on."""
    packets, _ = ring(5, 40, lambda member, step: late if member == 2 and step >= 15 else 0.0)
    return summarise(folded(packets).view())


@pytest.mark.parametrize(
    ("busy", "communication", "bound"),
    [(0.9, 0.3, "compute"), (0.5, 0.6, "network"), (0.4, 0.1, "host"), (0.7, 0.6, "mixed"), (0.3, None, "mixed")],
)
def test_iterations_are_bound_by_what_their_gpus_wait_for(busy: float, communication: float | None, bound: str) -> None:
    (job,) = [dataclasses.replace(job, communication_share=communication) for job in trained().jobs]
    hosts = {member.host: busy for member in job.members[:3]}
    (found,) = find_bounds([job], of_hosts("gpu_busy", hosts), START, START + SECOND)
    assert found.bound == bound and found.busy == pytest.approx(busy) and (found.members, found.measured) == (5, 3)
    (stalled,) = find_bounds([job], of_hosts("gpu_stalled", {host: 1 - value for host, value in hosts.items()}), START, START + SECOND)
    assert stalled.bound == bound
    assert find_bounds([job], Counters(), 0, 1) == []


@pytest.mark.parametrize(
    ("own", "others", "sign", "words"),
    [
        (0.97, 0.5, 1, "busy 97 % of the time, those of 4 other members 50 % in the median: it computes while they wait"),
        (0.1, 0.5, -1, "it is late, but not because it computes"),
        (0.55, 0.5, 0, "those of 4 other members 50 % in the median"),
    ],
)
def test_gpus_say_whether_a_late_host_computes(own: float, others: float, sign: int, words: str) -> None:
    summary = trained(late=300)
    (alone,) = [finding for finding in summary.findings if finding.role == "host"]
    counters = of_hosts("gpu_busy", {f"10.0.0.{host}": own if host == 3 else others for host in range(1, 6)})
    (told,) = with_gpus(Profile(), [alone], summary.jobs, counters)
    assert words in told.evidence[-1]
    assert (told.confidence > alone.confidence) - (told.confidence < alone.confidence) == sign
    assert with_gpus(Profile(), [alone], summary.jobs, of_hosts("gpu_busy", {"10.0.0.3": own})) == [alone]


def test_a_summary_of_a_job_says_what_it_is_bound_by() -> None:
    packets, _ = ring(5, 40, lambda member, step: 300 if member == 2 and step >= 15 else 0.0)
    counters = of_hosts("gpu_busy", {f"10.0.0.{host}": 0.95 if host == 3 else 0.3 for host in range(1, 6)})
    at_work = [dataclasses.replace(one, time_ns=np.array([START, START + SECOND])) for one in counters.series]
    summary = summarise(folded(packets).view(), counters=Counters(at_work))
    assert summary.outside is not None
    (job,) = summary.outside.jobs
    assert (job.bound, job.members, job.measured) == ("network", 5, 5)
    (finding,) = [finding for finding in summary.findings if finding.role == "host"]
    assert finding.evidence[-1].endswith("it computes while they wait")
