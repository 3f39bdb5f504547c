"""How fast a queue empties where it is never empty: what of its latency is no wait, or that this cannot be told."""

from __future__ import annotations

import pytest
from mode import unchecked
from test_analysis import BYTES_NS, background, only
from view_factory import Hop, Traffic

from int_analyzer.analysis.summarise import summarise
from int_analyzer.profile import Node, PortProfile, Profile

pytestmark = unchecked


@pytest.mark.parametrize(("speed", "depth", "empty"), [(400e9, 700_000, 5_000), (25e9, 60_000, 25_000), (10e9, 30_000, 20_000)])
@pytest.mark.parametrize(("rate", "cause"), [(1, "overload"), (0.3, "paused-port")])
def test_what_a_hop_takes_at_least_is_no_wait_although_the_queue_is_never_empty(
    speed: float, depth: int, empty: int, rate: float, cause: str
) -> None:
    """A queue that is the only one of its node; latency is `empty` + depth ÷ rate at which it empties."""
    traffic = Traffic()
    background(traffic)
    for number in range(4000):
        deep = round(depth * (0.6 + 0.8 * (number * 0.618 % 1)) * (0.8 + number % 320 / 800))
        traffic.packet(number * 25_000, Hop(7, 1, deep, round(empty + 8e9 * deep / (rate * speed))))
    finding = only(summarise(traffic.view(), Profile(units=BYTES_NS.units, nodes={7: Node(ports={1: PortProfile(speed_bps=speed)})})))
    assert finding.cause == cause
    (sentence,) = (sentence for sentence in finding.evidence if "it empties at" in sentence)
    assert sentence.startswith("it empties at 30 %" if rate == 0.3 else ("it empties at 100 %", "it empties at >99.9 %"))


@pytest.mark.parametrize(("empty", "known"), [(25_000, False), (400, True)])
def test_of_a_queue_that_is_always_as_deep_it_is_unknown_how_fast_it_empties_unless_it_cannot_be_slower(empty: int, known: bool) -> None:
    traffic = Traffic()
    background(traffic)
    traffic.stream(0, 100, 40, lambda _: (Hop(7, 1, 60_000, empty + 19_200),))
    finding = only(summarise(traffic.view(), Profile(units=BYTES_NS.units, nodes={7: Node(ports={1: PortProfile(speed_bps=25e9)})})))
    said = [sentence for sentence in finding.evidence if "it empties at" in sentence]
    assert [sentence.split(" of its link speed")[0] for sentence in said] == ["it empties at a rate of at least 98 %"] * known
    assert not known or finding.cause == "overload"


@pytest.mark.parametrize(
    ("rate", "told"), [(None, ("unknown", "1.3 % of its link speed was seen to pass")), (0.7, ("paused-port", "it empties at 70 %"))]
)
def test_that_little_is_seen_to_pass_proves_no_pause_unless_the_queue_empties_slowly(rate: float | None, told: tuple[str, str]) -> None:
    """Deep all the time: what is seen is 1.3 % of what the link can carry, and the rest may carry no telemetry."""
    traffic = Traffic()
    background(traffic)
    for number in range(4000):
        deep = 40_000 + 40_000 * (number % 320) // 320
        wait = None if rate is None else round(8e9 * deep / (rate * 24.6e9))
        traffic.packet(number * 25_000, Hop(7, 1, deep, wait))
    profile = Profile(units=BYTES_NS.units, nodes={7: Node(ports={1: PortProfile(speed_bps=24.6e9)})})
    finding = only(summarise(traffic.view(), profile))
    assert finding.cause == told[0] and any(sentence.startswith(told[1]) for sentence in finding.evidence)


def test_a_queue_that_is_never_empty_does_not_tell_what_a_hop_of_its_node_takes_at_least() -> None:
    """Of node 7, both ports are deep all the time; latency of port 1 varies, and not with its depth."""
    traffic = Traffic()
    background(traffic)
    for port, depth in ((1, 60_000), (2, 300_000)):
        traffic.stream(0, 100, 40, lambda at, port=port, depth=depth: (Hop(7, port, depth, 190_000 + 1000 * (int(at) % 3)),))
    speeds = {port: PortProfile(speed_bps=25e9) for port in (1, 2)}
    summary = summarise(traffic.view(), Profile(units=BYTES_NS.units, nodes={7: Node(ports=speeds)}))
    assert not any("it empties at" in sentence for finding in summary.findings if finding.port_id == 1 for sentence in finding.evidence)
