"""What makes a finding less sure: lost reports, sampled telemetry, holes in paths, clocks of captures that differ. Each is said."""

from __future__ import annotations

import pytest
from mode import unchecked
from view_factory import Hop, Traffic

from int_analyzer.analysis.summarise import summarise
from int_analyzer.analysis.summary import Finding, Summary
from int_analyzer.profile import Profile, Units

pytestmark = unchecked

BYTES_NS = Profile(units=Units(queue_depth="bytes", hop_latency="ns"))


def incast(per_ms: int = 6, holes: int = 0) -> Traffic:
    """Port 201 of leaf 3 is full from 40 to 66 ms; `per_ms` packets tell of it, and of these every so many has a hole in its path."""
    traffic = Traffic()
    for number, (leaf, to_leaf) in enumerate([(1, 2), (2, 1), (1, 4), (2, 4)]):
        for at in range(100):
            hops = Hop(leaf, 101), Hop(11, to_leaf), Hop(to_leaf, 202)
            traffic.packet(at * 1_000_000, *hops, flow=("10.0.1.1", "10.0.1.2", 1000 + number))
    for number in range(100 * per_ms):
        at = number * 1_000_000 // per_ms
        full = 40_000_000 <= at < 66_000_000
        hops = Hop(1, 101), Hop(11, 3), Hop(3, 201, *((400_000, 2_500_000) if full else (0, 10)))
        traffic.packet(at, *hops, flow=("10.0.1.1", "10.0.3.1", 49152), hole=holes > 0 and number % holes == 0)
    return traffic


def judged(traffic: Traffic) -> tuple[Summary, Finding]:
    summary = summarise(traffic.view(), BYTES_NS)
    (finding,) = summary.findings
    assert (finding.node_id, finding.port_id) == (3, 201)
    return summary, finding


def lossy() -> Traffic:
    traffic = incast()
    traffic.streams.append(("erspan", 1, 60, 40, False))
    return traffic


def backwards() -> Traffic:
    traffic = incast()
    traffic.counts["time_backwards"] = 200
    return traffic


@pytest.mark.parametrize(
    ("traffic", "doubt"),
    [
        (lossy(), "40 % of the reports or mirrored packets are lost"),
        (incast(per_ms=1), "only 26 packets above the threshold"),
        (incast(holes=2), " % of the packets have holes in their path"),
        (backwards(), "time goes backwards at 20 % of the packets"),
    ],
    ids=["loss", "sampling", "holes", "clocks"],
)
def test_what_is_missing_or_out_of_step_takes_from_the_confidence_and_is_said(traffic: Traffic, doubt: str) -> None:
    _, sure = judged(incast())
    _, finding = judged(traffic)
    assert finding.confidence < sure.confidence
    assert any(doubt in sentence for sentence in finding.evidence)
    assert not any(doubt in sentence for sentence in sure.evidence)


def test_more_loss_takes_more() -> None:
    values = []
    for lost in (0, 10, 40, 60):
        traffic = incast()
        traffic.streams.append(("erspan", 1, 100 - lost, lost, False))
        values.append(judged(traffic)[1].confidence)
    assert values == sorted(values, reverse=True) and len(set(values)) > 2


def test_of_sparse_telemetry_the_report_says_what_it_cannot_know() -> None:
    traffic = Traffic()
    for at in range(200):
        traffic.packet(at * 500_000, Hop(1, 101), Hop(11, 2), Hop(2, 202))
    traffic.counts |= {"roce_packets": 20_000, "roce_with_telemetry": 200}
    quality = summarise(traffic.view(), BYTES_NS).quality
    assert quality is not None and quality.trust == "fair"
    (reason,) = (reason for reason in quality.trust_reasons if "carry telemetry" in reason)
    assert reason.startswith("only 1 % of the RoCEv2 packets") and "loop" in reason and reason.endswith("is not known")
